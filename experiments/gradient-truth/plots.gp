# Errors of derivatives against the exact motion.
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set output "truth.png"
set title "Derivatives of runs against those of the exact motion"
set xlabel "step (s)"; set ylabel "relative error"; set logscale xy; set key outside right
plot for [i=0:6] "truth.dat" index i using 2:3 with linespoints lw 2 title columnheader(1)
