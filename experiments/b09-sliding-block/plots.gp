# Figures 7.4 to 7.7 of [B09] with our data: camera made by simulation, true mu 0.33.
set terminal pngcairo size 1000,960 font "sans,11"
set grid lc rgb "#dddddd"; set key outside top center horizontal
set xlabel "t (s)"; set xrange [0:3]; set lmargin 12
label74 = "'x (m)' 'y (m)' 'angle (rad)'"
label75 = "'v_x (m/s)' 'v_y (m/s)' 'angular velocity (rad/s)'"

set output "figure-7.4.png"
set multiplot layout 3,1 title "Figure 7.4: configuration of the block\n"
do for [i=1:3] {
    set ylabel word(label74, i)
    plot "<tr , ' ' < camera.csv" using 1:(column(i+1)) every ::1 with points pt 7 ps 0.5 lc rgb "#868e96" title "camera", \
         "<tr , ' ' < shooting-path.csv" using 1:(column(i+1)) every ::1 with lines lw 2 lc rgb "#1c7ed6" title "shooting, all frames", \
         "walk-path.dat" using 1:(column(i+1)) with lines lw 2 dt 2 lc rgb "#c2255c" title "particle filter, process noise"
}
unset multiplot

set output "figure-7.5.png"
set multiplot layout 3,1 title "Figure 7.5: velocity of the block\n"
do for [i=1:3] {
    set ylabel word(label75, i)
    plot "camera-rates.dat" using 1:(column(i+1)) with points pt 7 ps 0.5 lc rgb "#868e96" title "differences of frames", \
         "<tr , ' ' < shooting-path.csv" using 1:(column(i+4)) every ::1 with lines lw 2 lc rgb "#1c7ed6" title "shooting, all frames", \
         "walk-path.dat" using 1:(column(i+4)) with lines lw 2 dt 2 lc rgb "#c2255c" title "particle filter, process noise"
}
unset multiplot

set terminal pngcairo size 1000,560 font "sans,11"
set output "figure-7.6.png"
set ylabel "mu"; set yrange [0.25:0.41]
set title "Figure 7.6: friction by the particle filter and from all frames; bands: 95 %"
plot "walk-mu.dat" using 1:3:4 with filledcurves fc rgb "#fcc2d7" fs transparent solid 0.5 notitle, \
     "filter-mu.dat" using 1:3:4 with filledcurves fc rgb "#8ce99a" fs transparent solid 0.6 notitle, \
     "walk-mu.dat" using 1:2 with lines lw 2 lc rgb "#c2255c" title "filter, mu walks", \
     "filter-mu.dat" using 1:2 with lines lw 2 lc rgb "#2f9e44" title "filter, mu constant", \
     "batch.dat" using 1:2 with lines lw 2 lc rgb "#1c7ed6" title "shooting, all frames", \
     "batch.dat" using 1:3 with lines lw 1 dt 3 lc rgb "#000000" title "true"

set terminal pngcairo size 1000,900 font "sans,11"
set output "figure-7.7.png"
set multiplot layout 2,1 title "Figure 7.7: friction by windows of 5, 20 and 50 frames\n"
unset title
do for [i=1:2] {
    if (i == 2) { set yrange [0.325:0.335]; set title "the same, enlarged" }
    plot "window-5-mu.dat" using 1:2 with lines lc rgb "#adb5bd" lw 1.5 title "5", \
         "window-20-mu.dat" using 1:2 with lines lc rgb "#f08c00" lw 2 title "20", \
         "window-50-mu.dat" using 1:2 with lines lc rgb "#7048e8" lw 2 title "50", \
         "walk-mu.dat" using 1:2 with lines lw 2 dt 2 lc rgb "#c2255c" title "filter, mu walks", \
         "window-5-arrival-mu.dat" using 1:2 with lines lw 2 lc rgb "#2f9e44" title "5 with arrival", \
         "batch.dat" using 1:2 with lines lw 1.5 lc rgb "#1c7ed6" title "shooting, all frames"
}
unset multiplot
