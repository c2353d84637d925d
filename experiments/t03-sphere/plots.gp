# Figures 8 and 9 of [T03], the convergence with h, and the error of polygons.
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set key outside right
t = 2*2/(7*0.2*9.81)
vx(x) = x < t ? 2 - 0.2*9.81*x : 10./7
wy(x) = x < t ? 0.2*9.81*x/0.4 : 10./7

set output "figure-8.png"
set title "Sphere that slides, then rolls: velocities at h = 0.12 and the exact motion (dotted)"
set xlabel "time (s)"; set ylabel "velocity (m/s, rad/s)"
set xrange [0:0.6]; set yrange [-0.2:2.2]; set samples 400
plot vx(x) dt 3 lc rgb "#1f77b4" title "v_x exact", wy(x) dt 3 lc rgb "#d62728" title "ω_y exact", \
     "figure-8-9.dat" using 1:2 with points pt 7 ps 1.3 lc rgb "#1f77b4" title "v_x", \
     "" using 1:6 with points pt 5 ps 1.3 lc rgb "#d62728" title "ω_y", \
     "" using 1:3 with points pt 4 ps 1 lc rgb "#7f7f7f" title "v_y"

set output "figure-9.png"
set title "Friction force over each step at h = 0.12, frame along the motion and turned by 45°"
set ylabel "force (N)"; set yrange [-2.3:0.3]
f(x) = x < t ? -0.2*9.81 : 0
plot f(x) dt 3 lc rgb "#1f77b4" title "c_t exact", \
     "figure-8-9.dat" using 1:9 with points pt 7 ps 1.3 lc rgb "#1f77b4" title "c_t", \
     "" using 1:10 with points pt 4 ps 1.2 lc rgb "#7f7f7f" title "c_o", \
     f(x)/sqrt(2) dt 3 lc rgb "#2ca02c" title "turned, exact", \
     "figure-9-turned.dat" using 1:9 with points pt 9 ps 1.3 lc rgb "#2ca02c" title "turned, c_t", \
     "" using 1:10 with points pt 8 ps 1.9 lc rgb "#d62728" title "turned, c_o"

set output "convergence.png"
set title "Position at t = 0.6 against the exact motion: first order in h"
set xlabel "h (s)"; set ylabel "error (m)"; set logscale xy; set autoscale
set format y "%.0e"
plot "convergence.dat" using 1:2 with linespoints pt 7 lc rgb "#1f77b4" title "error", \
     "" using 1:($1*0.3) with lines dt 2 lc rgb "#7f7f7f" title "slope 1"

set output "directions.png"
set key inside top right
set title "Launched between two directions: the error that n directions leave at t = 0.6"
set xlabel "directions"; set ylabel "error"; set logscale x 2; set logscale y
plot "directions.dat" using 1:3 with linespoints pt 7 title "position (m), launched at π/n", \
     "" using 1:4 with linespoints pt 5 title "sideways (m), launched at π/2n", \
     "" using 1:(1-cos(pi/$1)) with lines dt 2 lc rgb "#7f7f7f" title "1 - cos(π/n)"
