# Figure 5.25 of [W14] as numbers.
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set output "area.png"
set title "Two rectangles after one step at 1 rad/s"
set xlabel "h (s)"; set ylabel "area of overlap (m^2)"; set logscale xy; set key left top
plot 0.5*(1-cos(x)) dt 3 lc rgb "#7f7f7f" title "(1 - cos h)/2", \
     "area.dat" using 1:2 with points pt 6 ps 2 title "paper", "" using 1:3 with points pt 7 title "ours"
