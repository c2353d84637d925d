# Figure 5.27 of [W14].
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set output "figure-5.27.png"
set title "Momentum of five bodies in a row"
set xlabel "time (s)"; set ylabel "kg m/s"; set yrange [0:3.3]; set key outside right
plot for [i=2:6] "momentum.dat" using 1:i with steps lw 2 title sprintf("body %d", i-1), \
     "" using 1:7 with lines dt 2 lc rgb "#000000" title "total"
