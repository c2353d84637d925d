# How far a capsule that is held sinks; the band is the public report (mujoco issue 3328).
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set output "creep.png"
set title "A hand holds a capsule of 45 g: how far it sinks"
set xlabel "time (s)"; set ylabel "m"
set logscale y; set yrange [1e-18:1e-2]; set format y "10^{%L}"; set key right center
least(y) = y < 1e-18 ? 1e-18 : y
plot [0:10] "+" using 1:(50e-6*$1):(155e-6*$1) with filledcurves lc rgb "#f2c6c6" title "regularised friction, reported", \
     for [i=0:10:2] "creep.dat" index i using 1:(least($2)) with lines lw 2 lc rgb "#1f77b4" title (i==0 ? "perp, tolerance 1e-8" : ""), \
     for [i=1:11:2] "creep.dat" index i using 1:(least($2)) with lines lw 2 lc rgb "#2ca02c" title (i==1 ? "perp, tolerance 1e-12" : "")
