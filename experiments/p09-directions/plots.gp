# Figures 13, 15 and 16 of [P09]: the error that n directions leave, and what a solve costs.
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set logscale xy
set xtics (3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
set xrange [2.7:71]
set xlabel "directions n"

set output "errors.png"
set title "Tripod that slides and spins: polygon against quadratic cone at t = 1, 16 launches"
set ylabel "largest distance of a foot (m)"
set format y "%.0e"
set key bottom left
fit_slope(file) = real(system(sprintf("awk '$1>=8{x=log($1);y=log($2);n++;a+=x;b+=y;c+=x*x;d+=x*y}END{print (n*d-a*b)/(n*c-a*a)}' %s", file)))
plot "errors.dat" using 1:4:3 with filledcurves lc rgb "#d6e6f4" title "h = 0.005: smallest to largest", \
     "" using 1:2 with linespoints pt 7 lc rgb "#1f77b4" \
        title sprintf("h = 0.005: root mean square, n^{%.2f} from n = 8", fit_slope("errors.dat")), \
     "errors-fine.dat" using 1:2 with linespoints pt 5 lc rgb "#d62728" \
        title sprintf("h = 0.0005: root mean square, n^{%.2f} from n = 8", fit_slope("errors-fine.dat")), \
     "" using 1:(1-cos(pi/$1)) with lines dt 2 lc rgb "#7f7f7f" title "1 - cos(π/n)"

set output "errors-plates.png"
set title "Particle on a shaken plate: largest distance from the quadratic cone in 6 s"
set ylabel "m"
plot "errors-centrifuge.dat" using 1:2 with linespoints pt 7 lc rgb "#1f77b4" title "centrifuge", \
     "errors-scaled-circle.dat" using 1:2 with linespoints pt 5 lc rgb "#d62728" title "scaled circle", \
     0.1/x**2 dt 2 lc rgb "#7f7f7f" title "slope -2", 0.03/x dt 3 lc rgb "#7f7f7f" title "slope -1"

set output "times.png"
set title "Time of one solve, median over the steps (three contacts; filled: warm start, open: cold)"
set ylabel "microseconds"
set format y "%g"
set yrange [4:300]
set key top left
plot "times-warm.dat" using 1:2 with linespoints pt 7 lc rgb "#d62728" title "polygon, lemke", \
     "times-cold.dat" using 1:2 with linespoints pt 6 dt 2 lc rgb "#d62728" title "polygon, lemke, cold", \
     "times-warm.dat" using 1:3 with linespoints pt 5 lc rgb "#1f77b4" title "polygon, auto", \
     "times-cold.dat" using 1:3 with linespoints pt 4 dt 2 lc rgb "#1f77b4" title "polygon, auto, cold", \
     "times-warm.dat" using 1:4 with lines lw 2 lc rgb "#2ca02c" title "quadratic, auto", \
     "times-cold.dat" using 1:4 with lines lw 2 dt 2 lc rgb "#2ca02c" title "quadratic, auto, cold"
