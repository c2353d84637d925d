# Figures 4.4 and 4.5 of [B09] with our part and plan.
set terminal pngcairo size 1300,560 font "sans,11"
set output "figure-4.5.png"
set multiplot layout 1,2
set size ratio -1; set xlabel "x (mm)"; set ylabel "y (mm)"; set xrange [-1.2:2.2]; set yrange [-1.4:1.4]
set grid lc rgb "#dddddd"; set key top left opaque
set title "The plan: part every 0.6 s, path of the needle"
plot "found-part.dat" with lines lc rgb "#c2255c" title "part", "found-needle.dat" with lines lw 2 lc rgb "#1c7ed6" title "needle", \
     "goal.dat" with lines lw 3 dt 2 lc rgb "#2f9e44" title "goal"
set title "A neighbouring plan, which misses"
plot "missed-part.dat" with lines lc rgb "#c2255c" title "part", "missed-needle.dat" with lines lw 2 lc rgb "#1c7ed6" title "needle", \
     "goal.dat" with lines lw 3 dt 2 lc rgb "#2f9e44" title "goal"
unset multiplot
set terminal pngcairo size 900,640 font "sans,11"
set output "draws.png"
set size noratio; set xrange [*:*]; set yrange [*:*]; set xlabel "x at the end (mm)"; set ylabel "angle at the end (rad)"
set title "Ends of all plans, of the plan found and of its neighbour under draws of support points and friction"
plot "plans.dat" using 1:3 with points pt 7 ps 0.4 lc rgb "#ced4da" title "plans", \
     "verify.dat" using 1:3 with points pt 7 ps 0.6 lc rgb "#2f9e44" title "found, 200 draws", \
     "neighbour.dat" using 1:3 with points pt 7 ps 0.6 lc rgb "#c2255c" title "neighbour, 20 draws", \
     "<echo 0.9 0.4" using 1:2 with points pt 2 ps 2 lw 3 lc rgb "#000000" title "goal"
