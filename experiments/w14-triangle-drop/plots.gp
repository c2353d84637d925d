# Figure 5.6 of [W14]: the falling triangle under three models, h from 0.001 to 0.016.
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set key outside right
set xlabel "time (s)"; set xrange [0:1.5]
do for [c = 2:4] {
    set output sprintf("figure-5.6-%s.png", word("x x y rotation", c))
    set ylabel word("x x y rotation", c)
    plot "standard.dat" using 1:c with lines lc rgb "#2ca02c" title "standard", \
         "corrective.dat" using 1:c with lines lc rgb "#1f77b4" title "corrective", \
         "peg.dat" using 1:c with lines lc rgb "#d62728" title "PEG"
}
set output "distance.png"
set title "Distance of the end from the ground truth"
set xlabel "h (s)"; set ylabel "m"; set xrange [*:*]; set logscale xy; set format y "%.0e"
plot "distance.dat" using 1:2 with linespoints pt 7 title "PEG", "" using 1:3 with linespoints title "standard", \
     "" using 1:4 with linespoints title "corrective", "" using 1:($1*0.245/0.016) with lines dt 2 title "10 % of the side h/0.016"
