# Figure 6.4 of [B09] (20 of [P09]) for the paper's plate and ours, and the history of the search.
set terminal pngcairo size 1000,950 font "sans,11" noenhanced
set output "figure-6.4.png"
set multiplot layout 2,2
set grid lc rgb "#dddddd"; set key off; set size ratio -1; set xlabel "x (cm)"; set ylabel "y (cm)"
set xrange [-8:8]; set yrange [-8:8]
do for [m in "start paper ours"] {
    set title m.": 6 s from an ellipse; dashed: (-0.2 x, 0.2 y)"
    plot for [i=0:11] "path-".m.".dat" index i with lines lw 2, \
         for [i=0:11] "path-".m.".dat" index i every ::0::0 with points pt 7 ps 0.8 lc rgb "#2f9e44", \
         for [i=0:11] [s=0:6] '+' using (5*cos(2*pi*(i+0.5)/12)*exp(-0.2*$1)):(2.5*sin(2*pi*(i+0.5)/12)*exp(0.2*$1)) with lines dt 2 lc rgb "black"
}
set size noratio; set logscale y; set key top right; set xrange [*:*]; set yrange [*:*]
set xlabel "evaluation"; set ylabel "best objective so far"; set title "Search"
there = ""
do for [n in "quick saddle-nelder-mead saddle-cma-es"] { if (system("test -s ".n."-history.dat && echo 1") eq "1") { there = there." ".n } }
plot for [n in there] n."-history.dat" using 1:3 with lines lw 2 title n, 2.57 with lines dt 2 lc rgb "black" title "paper: 2.57"
unset multiplot
