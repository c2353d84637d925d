# Cost of gradients.
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set output "cost.png"
set title "Run and gradient over the run"
set xlabel "parameters"; set ylabel "ratio of processor times"; set logscale x; set key outside right
plot "< grep '^parameters ' cost.dat" using 4:($6/$5) with linespoints lw 2 title "adjoint", \
     "< grep '^parameters-forward' cost.dat" using 4:($6/$5) with linespoints lw 2 title "forward"
