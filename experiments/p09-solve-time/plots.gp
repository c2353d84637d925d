# Figure 16 of [P09]: time of one solve over the number of friction directions.
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set output "figure-16.png"
set title "Tripod on the circle plate: time of one solve "
set xlabel "friction directions"; set ylabel "microseconds"
set yrange [0:*]; set key top left
plot "times.dat" using 1:3 with linespoints pt 6 lc rgb "#d62728" title "LCP (lemke), from zero", \
     "" using 1:5 with lines lw 2 dt 2 lc rgb "#2ca02c" title "quadratic cone (newton), from zero", \
     "" using 1:2 with linespoints pt 7 lc rgb "#d62728" title "LCP, from the last step", \
     "" using 1:4 with lines lw 2 lc rgb "#2ca02c" title "quadratic cone, from the last step"
