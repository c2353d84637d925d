# How far the stack of [W14 5.2.2] is from standing, by model.
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set output "stack.png"
set title "Ten staggered boxes: largest height error"
set xlabel "time (s)"; set ylabel "m"; set logscale y; set yrange [1e-17:*]; set format y "%.0e"
plot "peg.dat" using 1:($2 > 0 ? $2 : 1e-17) with lines lc rgb "#d62728" title "PEG", \
     "standard.dat" using 1:($2 > 0 ? $2 : 1e-17) with lines lc rgb "#2ca02c" title "standard", \
     "corrective.dat" using 1:($2 > 0 ? $2 : 1e-17) with lines lc rgb "#1f77b4" title "corrective"
