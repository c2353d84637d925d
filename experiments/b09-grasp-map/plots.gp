# Figure 4.9 of [B09], and the same map by three models of the contact geometry.
set terminal pngcairo size 1000,520 font "sans,11"
set palette defined (0 "#ffffff", 0.25 "#c6dbef", 0.5 "#6baed6", 0.75 "#2171b5", 1 "#08306b")
set cbrange [0:1]; set cblabel "share grasped"
set xrange [-10:10]; set yrange [-20:0]; set size ratio 1
set xlabel "x (mm)"; set ylabel "y (mm)"; set tics out nomirror
set output "figure-4.9.png"
set multiplot layout 1,2
set title "medium friction at the fingers"
plot "map-medium-medium.dat" using 1:2:3 with image notitle
set title "high friction at the fingers"
plot "map-medium-high.dat" using 1:2:3 with image notitle
unset multiplot
set terminal pngcairo size 1400,500 font "sans,11"
set output "models.png"
set multiplot layout 1,3
set title "curved shapes"
plot "map-curved.dat" using 1:2:3 with image notitle
set title "polygons, peg"
plot "map-polygons.dat" using 1:2:3 with image notitle
set title "polygons, standard"
plot "map-standard.dat" using 1:2:3 with image notitle
unset multiplot
