# The fields of [P09] figures 7, 17 to 20: mean velocities as arrows, and paths of 6 s.
set terminal pngcairo size 1500,1000 font "sans,11"
set output "fields.png"
set grid lc rgb "#eeeeee"
set size ratio -1
set xrange [-9:9]; set yrange [-9:9]
unset key
set xlabel "x (cm)"; set ylabel "y (cm)" offset 1,0
set multiplot layout 2,3 title "Mean velocities on shaken plates (arrows: cm/s x 0.8), paths of 6 s from the circles" font ",14"
do for [name in "circle learned-circle-contact learned-circle saddle centrifuge"] {
    field = sprintf("field-%s.dat", name)
    paths = sprintf("paths-%s.dat", name)
    set title name
    plot field using 1:2:($3*0.8):($4*0.8) with vectors filled head lc rgb "#1f77b4", \
         for [i=1:8] paths using 2*i-1:2*i with lines lw 1.5 lc rgb "#d62728", \
         for [i=1:8] paths using 2*i-1:2*i every ::0::0 with points pt 6 ps 1.2 lc rgb "#2ca02c"
}
unset multiplot
