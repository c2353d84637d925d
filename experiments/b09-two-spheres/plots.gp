# Figures 3.9 of [B09].
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set xlabel "time (s)"
set output "velocity.png"
set title "A small sphere on two large ones: its velocity"
set ylabel "m/s, rad/s"; set key left bottom
plot for [i=1:3] "velocity.dat" using 1:(column(i + 1)) with lines lw 2 title word("v_x v_y v_z", i), \
     for [i=1:3] "velocity.dat" using 1:(column(i + 4)) with lines dt 2 title word("ω_x ω_y ω_z", i)
set ylabel "force (N), speed (m/s)"; set key left top
set output "contact-1.png"
set title "Contact 1 (radius 10): slides from the start"
plot "forces.dat" using 1:2 with lines lw 4 lc rgb "#c6dbef" title "μ normal force", \
     "" using 1:3 with lines lc rgb "#1f77b4" title "friction", \
     "" using 1:4 with lines lc rgb "#d62728" title "sliding speed"
set output "contact-2.png"
set title "Contact 2 (radius 9): rolls, then slides"
plot "forces.dat" using 1:5 with lines lw 4 lc rgb "#c6dbef" title "μ normal force", \
     "" using 1:6 with lines lc rgb "#1f77b4" title "friction", \
     "" using 1:7 with lines lc rgb "#d62728" title "sliding speed"
