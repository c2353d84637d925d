# Figures 3.11 and 3.12 of [B09]: forces, height, velocity and energy of the two experiments.
set terminal pngcairo size 1100,760 font "sans,10"
set grid lc rgb "#dddddd"
set xrange [0:1]
set key top right

set output "figure-3.11.png"
set multiplot layout 2,2 title "Unit disc on a soft half-plane whose core lies 5 cm deep"
set xlabel "time (s)"
set ylabel "core impulse (N s)"; set xrange [0.3:0.4]
plot "core.dat" using 1:6 with impulses lw 2 lc rgb "#d62728" title "core (Euler)", \
     "core-midpoint.dat" using ($1+5e-4):6 with impulses lw 2 lc rgb "#1f77b4" title "core (midpoint; 0.5 ms aside)"
set xrange [0:1]
set ylabel "spring force (N)"
plot "core.dat" using 1:($5/1e-4) with lines lw 1.5 lc rgb "#2ca02c" title "spring"
set ylabel "height (m), velocity (m/s)"
plot "core.dat" using 1:2 with lines lw 1.5 lc rgb "#1f77b4" title "height", \
     "" using 1:3 with lines lw 1.5 lc rgb "#ff7f0e" title "velocity"
set ylabel "total energy (J)"; set yrange [10:15.2]
plot "core.dat" using 1:4 with lines lw 1.5 lc rgb "#d62728" title "Euler, as printed", \
     "core-midpoint.dat" using 1:4 with lines lw 1.5 dt 2 lc rgb "#1f77b4" title "midpoint"
set autoscale y
unset multiplot

set output "figure-3.12.png"
set xrange [0:1]
set multiplot layout 2,2 title "Unit disc on a soft half-plane whose core it never meets"
set ylabel "total energy - initial (J)"
plot "free.dat" using 1:($4-14.715) with lines lw 1.5 lc rgb "#d62728" title "Euler, as printed", \
     "free-midpoint.dat" using 1:($4-14.715) with lines lw 1.5 dt 2 lc rgb "#1f77b4" title "midpoint"
set ylabel "spring force (N)"
plot "free.dat" using 1:($5/1e-4) with lines lw 1.5 lc rgb "#2ca02c" title "spring"
set ylabel "height (m)"
plot "free.dat" using 1:2 with lines lw 1.5 lc rgb "#1f77b4" title "height"
set ylabel "velocity (m/s)"
plot "free.dat" using 1:3 with lines lw 1.5 lc rgb "#ff7f0e" title "velocity"
unset multiplot
