# Figures 3.4 and 3.5 of [B09], with the motions that belong to them.
set terminal pngcairo size 900,620 font "sans,11"
set grid lc rgb "#dddddd"
set output "figure-3.4.png"
set title "A particle between a fence and a wall, without inertia (mu = 0.3)"
set xlabel "x (m)"; set ylabel "y (m)"; set xrange [0.45:1.1]; set yrange [-0.03:0.25]
set arrow 1 from 1,-0.03 to 1,0.25 nohead lw 4 lc rgb "#555555"
set label 1 "wall" at 1.01,0.235
set arrow 2 from 0.7,-0.03 to 0.7,0.25 nohead lw 3 dt 2 lc rgb "#1c7ed6"
set arrow 3 from 0.9,-0.03 to 0.9,0.25 nohead lw 3 dt 2 lc rgb "#1c7ed6"
set label 2 "fence: meets it" at 0.605,0.235 tc rgb "#1c7ed6"
set label 3 "fence: turns back" at 0.905,0.2 tc rgb "#1c7ed6"
set key left center opaque
plot "round.dat" using 2:3 with lines lw 3 lc rgb "#c2255c" title "round cone: dy = mu dx", \
     "diamond.dat" using 2:3 with lines lw 3 lc rgb "#e8590c" title "diamond (3.63): dy = dx", \
     "square.dat" using 2:3 with lines lw 3 lc rgb "#2f9e44" title "square (3.49): dy = 0", \
     "none.dat" using 2:3 with lines dt 2 lw 2 lc rgb "#000000" title "no friction: least motion of many"
unset arrow; unset label
set output "figure-3.5.png"
set terminal pngcairo size 720,700 font "sans,11"
set title "Force of the fence (black), friction sets, and the motion that each gives"
set xlabel "lambda_{3t} / (mu lambda_{3n})"; set ylabel "lambda_{3o} / (mu lambda_{3n})"
set xrange [-1.6:1.6]; set yrange [-1.6:1.6]; set size ratio -1; set key bottom right
set arrow from 0,0 to 1.5,0.45 lw 2 lc rgb "#000000"
set arrow from 0.958,0.287 to 1.437,0.431 lw 4 lc rgb "#c2255c"
set arrow from 0.769,0.231 to 1.122,0.585 lw 4 lc rgb "#e8590c"
set arrow from 1,0.3 to 1.5,0.3 lw 4 lc rgb "#2f9e44"
plot "cones.dat" using 1:2 with lines lw 2 lc rgb "#c2255c" title "round", \
     "" using 3:4 with lines lw 2 lc rgb "#e8590c" title "diamond, directions of (3.59)-(3.62)", \
     "" using 5:6 with lines lw 2 lc rgb "#2f9e44" title "square (3.49)"
unset arrow
set output "answers.png"
set terminal pngcairo size 900,620 font "sans,11"
set title "No friction: one step from 64 guesses (dots: where the solver started; rings: its answers)"
set xlabel "x (m)"; set ylabel "y (m)"; set size noratio; set xrange [0.5:1.05]; set yrange [-0.6:0.7]; set key off
plot "answers.dat" using 1:2:($3-$1):($4-$2) with vectors lc rgb "#bbbbbb", \
     "" using 1:2 with points pt 7 ps 0.6 lc rgb "#1c7ed6", "" using 3:4 with points pt 6 ps 1.3 lc rgb "#c2255c"
