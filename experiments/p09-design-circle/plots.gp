# Figures 6.1 to 6.3 of [B09] (17 to 19 of [P09]), ours, and the history of the search.
set terminal pngcairo size 1000,1500 font "sans,11" noenhanced
set output "figures-6.1-6.3.png"
set multiplot layout 4,2
set grid lc rgb "#dddddd"
do for [m in "start paper-contact paper-equations ours"] {
    set title m.": 41.89 s from 4, 5, 6, 7, 8 cm"
    set size ratio -1; set key off; set xlabel "x (cm)"; set ylabel "y (cm)"
    set xrange [-10:10]; set yrange [-10:10]; unset y2tics; unset y2label; set ytics mirror
    plot for [i=0:4] "path-".m.".dat" index i with lines lw 1.5
    set title m.": two periods at 4 cm"
    set size noratio; set key top right; set xlabel "time (periods)"; set ylabel "slip speed (cm/s)"; set y2label "distance (mm)"
    set xrange [0:2]; set yrange [0:*]; set ytics nomirror; set y2tics; set y2range [0:0.25]
    plot "periods-".m.".dat" using 1:3 with lines lc rgb "#1c7ed6" title "slip", \
         "" using 1:($2 > 0 ? $2 : 0) axes x1y2 with lines lc rgb "#c2255c" title "distance"
}
unset multiplot
set terminal pngcairo size 800,520 font "sans,11" noenhanced
set output "history.png"
unset y2tics; unset y2label; set ytics mirror; set size noratio; set logscale y
set xrange [*:*]; set yrange [*:*]; set xlabel "evaluation"; set ylabel "best objective so far"; set key top right
set title "Search for the circle"
file(n) = n."-history.dat"
there = ""
do for [n in "quick quick-bobyqa quick-sbplx quick-cma-es free contact"] { if (system("test -s ".file(n)." && echo 1") eq "1") { there = there." ".n } }
plot for [n in there] file(n) using 1:3 with lines lw 2 title n
