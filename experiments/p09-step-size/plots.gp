# Figures 10 and 11 of [P09].
set terminal pngcairo size 1000,480 font "sans,11"
set grid lc rgb "#dddddd"
set output "figure-10.png"
set multiplot layout 1,2
set size ratio -1
set xtics 1
set title "Centrifuge: 6 s of a particle"; set xlabel "x (cm)"; set ylabel "y (cm)"
set key outside right
plot "trajectories.dat" using 2:3 with lines lc rgb "#d62728" title "h = 1e-3", \
     "" using 5:6 with lines lc rgb "#ff7f0e" title "h = 5e-4", \
     "" using 14:15 with lines lc rgb "#1f77b4" title "h = 1e-4", \
     "" using 17:18 with lines dt 2 lc rgb "black" title "h = 5e-5"
set size noratio
set key top left
set title "Distance from the trajectory of h = 5e-5"; set xlabel "t (s)"; set ylabel "cm"
plot "trajectories.dat" using 1:4 with lines lc rgb "#d62728" title "h = 1e-3", \
     "" using 1:7 with lines lc rgb "#ff7f0e" title "h = 5e-4", \
     "" using 1:16 with lines lc rgb "#1f77b4" title "h = 1e-4"
unset multiplot
set terminal pngcairo size 900,560 font "sans,11"
set output "figure-11.png"
set title "Centrifuge: largest distance over 6 s"
set logscale xy
set xtics auto
set xlabel "h (s)"; set ylabel "m"; set format "%.0e"
set key bottom right
plot "errors.dat" using 1:2 with linespoints pt 7 lc rgb "#1f77b4" title "from the trajectory of h = 5e-5", \
     "" using 1:3 with linespoints pt 5 lc rgb "#d62728" title "from that of h = 1.25e-5", \
     5*x dt 2 lc rgb "#7f7f7f" title "slope 1"
