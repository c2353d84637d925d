set terminal pngcairo size 1300,1000 font "sans,11" noenhanced
set output "robust.png"
set multiplot layout 2,3
set size ratio -1; set key off; set xlabel "x (mm)"; set ylabel "y (mm)"; set grid lc rgb "#dddddd"
set xrange [-110:370]; set yrange [-150:200]
do for [n in "nominal-nelder-mead nominal-cma-es robust"] {
    set title n."\nfriction 0.2, 0.35, 0.5 (orange, red, violet)"
    plot "goal.dat" with filledcurves fc rgb "#b2f2bb" fs transparent solid 0.5, \
         n."-0-part.dat" with lines lc rgb "#f08c00", n."-1-part.dat" with lines lc rgb "#c2255c", n."-2-part.dat" with lines lc rgb "#7048e8", \
         n."-1-pusher.dat" with lines lw 2 lc rgb "#1c7ed6"
}
set size noratio; set key bottom right; set xrange [0:*]; set yrange [0:1]; set xlabel "miss (mm)"; set ylabel "share of 200 draws"
set title "Draws of friction that the design has not seen"
plot "nominal-nelder-mead-draws.dat" using 6:(1./200) smooth cumulative lw 2 lc rgb "#c2255c" title "nominal, Nelder-Mead", \
     "nominal-cma-es-draws.dat" using 6:(1./200) smooth cumulative lw 2 lc rgb "#f08c00" title "nominal, CMA-ES", \
     "robust-draws.dat" using 6:(1./200) smooth cumulative lw 2 lc rgb "#2f9e44" title "robust"
set size noratio; set key off; set xrange [0.2:0.5]; set yrange [0.2:0.5]; set xlabel "friction on the table"; set ylabel "friction at the pusher"
set title "robust: miss (mm)"; set palette defined (0 "#2f9e44", 1 "#ffd43b", 2 "#c2255c")
plot "robust-draws.dat" using 1:2:6 with points pt 7 ps 1 palette
unset multiplot
