# Figure 4.2 and table 4.1 of [B09] with our device.
set terminal pngcairo size 1200,760 font "sans,11"
set output "figure-4.2.png"
set multiplot layout 1,3
set size ratio -1; set key off; set xlabel "x (mm)"; set ylabel "y (mm)"
set title "closed end to the left"
plot "left-walls.dat" with filledcurves closed fc rgb "#adb5bd", "left-part.dat" with lines lc rgb "#c2255c", \
     "left-path.dat" using 1:2 with lines lw 2 lc rgb "#2f9e44"
set title "closed end to the right"
plot "right-walls.dat" with filledcurves closed fc rgb "#adb5bd", "right-part.dat" with lines lc rgb "#c2255c", \
     "right-path.dat" using 1:2 with lines lw 2 lc rgb "#2f9e44"
set title "a neighbour that fails"
plot "neighbour-walls.dat" with filledcurves closed fc rgb "#adb5bd", "neighbour-part.dat" with lines lc rgb "#c2255c", \
     "neighbour-path.dat" using 1:2 with lines lw 2 lc rgb "#2f9e44"
unset multiplot
set terminal pngcairo noenhanced size 1000,520 font "sans,11"
set output "neighbours.png"
set size noratio; unset xlabel; set ylabel "share of draws that end right"; set yrange [0:1.05]
set title "One parameter of the design changed (mm) by 0.2 or 0.4 of its range, until a draw fails"
set xtics rotate by -60; set style fill solid 0.8; set boxwidth 0.7; set grid y lc rgb "#dddddd"
plot "neighbours.dat" using 0:($2/$3):xtic(1) with boxes lc rgb "#1c7ed6"
