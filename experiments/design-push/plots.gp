set terminal pngcairo size 1100,900 font "sans,11"
set output "push.png"
set multiplot layout 2,2
set size ratio -1; set key off; set xlabel "x (mm)"; set ylabel "y (mm)"; set grid lc rgb "#dddddd"
set xrange [-110:370]; set yrange [-150:200]
do for [n in "start push-nelder-mead push-cma-es"] {
    if (system("test -s ".n."-part.dat && echo 1") eq "1") {
        set title n."\nthe part every 0.25 s, pusher (blue), goal (green)"
        plot n."-part.dat" with lines lc rgb "#c2255c", "goal.dat" with filledcurves fc rgb "#b2f2bb" fs transparent solid 0.5, \
             n."-pusher.dat" with lines lw 2 lc rgb "#1c7ed6", n."-path.dat" with lines dt 2 lc rgb "#495057"
    }
}
set size noratio; set logscale y; set format y "10^{%T}"; set key top right; set xrange [*:*]; set yrange [*:*]
set xlabel "evaluation"; set ylabel "best so far (mm)"; set title "Search"
there = ""
do for [n in "push-nelder-mead push-sbplx push-bobyqa push-cma-es"] { if (system("test -s ".n."-history.dat && echo 1") eq "1") { there = there." ".n } }
plot for [n in there] n."-history.dat" using 1:3 with lines lw 2 title n
unset multiplot
