# Figures 5.20 and 5.22 of [W14]: position error; 5.18 and 5.21: the first polygon over time.
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
do for [f in "5.20 5.22"] {
    set output "figure-".f.".png"
    set title (f eq "5.20" ? "Grasp without friction" : "Grasp with {/Symbol m} = 0.25").": position error, median and quartiles of ten polygons"
    set xlabel "h (s)"; set ylabel "m"; set logscale y; set format y "%.0e"; set key left top; set xrange [0:0.0105]
    plot "error-".f.".dat" using 1:2:3:4 with yerrorlines pt 7 lc rgb "#d62728" title "PEG", \
         "" using 1:6:7:8 with yerrorlines pt 7 lc rgb "#2ca02c" title "standard", \
         "" using 1:10:11:12 with yerrorlines pt 7 lc rgb "#1f77b4" title "corrective"
    unset logscale y; set format y "%g"; set xrange [0:2]
    set output "figure-".(f eq "5.20" ? "5.18" : "5.21").".png"
    set title "First polygon, h from 0.001 to 0.01: distance from the ground truth"
    set xlabel "time (s)"; set ylabel "m"
    plot "first-".f."-corrective.dat" using 1:5 with lines lc rgb "#1f77b4" title "corrective", \
         "first-".f."-standard.dat" using 1:5 with lines lc rgb "#2ca02c" title "standard", \
         "first-".f."-peg.dat" using 1:5 with lines lc rgb "#d62728" title "PEG"
}
