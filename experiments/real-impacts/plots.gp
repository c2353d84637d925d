# Measured impacts of an ellipse. Without the data there is nothing to draw.
if (system("test -e impacts.dat && echo 1") eq "1") {
set terminal pngcairo size 900,600 font "sans,11"
set grid lc rgb "#dddddd"

set output "map.png"
set title "One μ and one e for all impacts: rms error in the norm of the kinetic energy"
set xlabel "friction μ"; set ylabel "restitution e"
set xrange [0:0.4]; set yrange [0.3:0.8]
set contour base; set cntrparam levels discrete 13.1, 13.5, 14, 15, 17, 20, 25, 30
unset surface; set view map; set key outside right
splot "map.dat" using 1:2:3 with lines lw 2 title "rms error (%)"
unset contour; set surface; unset view

reset
set grid lc rgb "#dddddd"
set output "friction.png"
set title "Friction that the impacts had, against what would stop the slip"
set xlabel "p_t / p_n that would stick"; set ylabel "p_t / p_n measured"
set xrange [-0.4:0.5]; set yrange [-0.3:0.35]; set key bottom right
mu = 0.177
plot "impacts.dat" using 11:($12 == 0 ? $2 : NaN) with points pt 7 ps 0.4 lc rgb "#1f77b4" title "impacts", \
     "" using 11:($12 == 1 ? $2 : NaN) with points pt 7 ps 0.4 lc rgb "#2ca02c" title "the normal impulse turns the slip", \
     (x > mu ? mu : x < -mu ? -mu : x) lw 2 lc rgb "#d62728" title "Coulomb's law with the fitted μ"

set output "restitution.png"
set title "Restitution of each impact, by the angle of the ellipse"
set xlabel "angle (degrees)"; set ylabel "e"
set xrange [0:180]; set yrange [0.2:0.9]; set xtics 30
plot "impacts.dat" using ($7*57.2958):1 with points pt 7 ps 0.4 lc rgb "#1f77b4" title "impacts", \
     0.53 lw 2 lc rgb "#d62728" title "fit"

reset
set grid lc rgb "#dddddd"
set output "errors.png"
set title "Share of impacts with a smaller error (solid: inertia of an ellipse; dashed: fitted inertia)"
set xlabel "error (percent of the speed before, norm of the kinetic energy)"; set ylabel "share"
set xrange [0:30]; set yrange [0:1]; set key bottom right
plot "errors-law.dat" index 0 with lines lw 2 lc rgb "#d62728" title "one μ, one e", \
     "" index 1 with lines lw 2 dt 2 lc rgb "#d62728" notitle, \
     "errors-mu.dat" index 0 with lines lw 2 lc rgb "#ff7f0e" title "one e, μ of each impact", \
     "" index 1 with lines lw 2 dt 2 lc rgb "#ff7f0e" notitle, \
     "errors-e.dat" index 0 with lines lw 2 lc rgb "#2ca02c" title "one μ, e of each impact", \
     "" index 1 with lines lw 2 dt 2 lc rgb "#2ca02c" notitle, \
     "errors-both.dat" index 0 with lines lw 2 lc rgb "#9467bd" title "μ and e of each impact", \
     "" index 1 with lines lw 2 dt 2 lc rgb "#9467bd" notitle, \
     "errors-any.dat" index 0 with lines lw 2 lc rgb "#1f77b4" title "any impulse", \
     "" index 1 with lines lw 2 dt 2 lc rgb "#1f77b4" notitle

set output "incidence.png"
set title "Error of the fit by the angle of incidence at the contact point"
set xlabel "angle of incidence (degrees)"; set ylabel "error (percent)"
set xrange [0:30]; set yrange [0:40]; set key top right
plot "impacts.dat" using 6:($8*100) with points pt 7 ps 0.4 lc rgb "#1f77b4" title "one μ, one e", \
     "" using 6:($9*100) with points pt 7 ps 0.3 lc rgb "#ff7f0e" title "any impulse"
}
