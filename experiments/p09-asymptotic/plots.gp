# Figures 5 and 6a of [P09]: mean velocity per period against the theory without sticking.
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set xlabel "time (s)"; set ylabel "mean velocity of the particle (cm/s)"
set output "figure-5.png"
set key bottom right
set title "Axis 5 cm below the plate: the particle always slides"
plot "slides.dat" using 1:3 with points pt 7 ps 0.5 lc rgb "#1f77b4" title "simulated, a period each", \
     "" using 1:4 with lines lw 2 lc rgb "#d62728" title "theory at the particle's r"
set output "figure-6a.png"
set title "Axis 2 cm below the plate: the particle sticks in part of each period"
plot "sticks.dat" using 1:3 with points pt 7 ps 0.5 lc rgb "#1f77b4" title "simulated, a period each", \
     "" using 1:4 with lines lw 2 lc rgb "#d62728" title "theory without sticking"
set output "velocity-of-r.png"
set key top right
set title "The same over the place on the plate"
set xlabel "r (cm)"; set xrange [-0.2:4.2]
plot "slides.dat" using 2:3 with points pt 7 ps 0.5 lc rgb "#1f77b4" title "axis 5 cm below", \
     "" using 2:4 with lines lw 2 lc rgb "#1f77b4" title "theory", \
     "sticks.dat" using 2:3 with points pt 5 ps 0.5 lc rgb "#d62728" title "axis 2 cm below: sticks", \
     "" using 2:4 with lines lw 2 lc rgb "#d62728" title "theory without sticking"
