# Figures 5.14b and 5.15 of [W14].
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set output "figure-5.14.png"
set title "Box of polyhedra: volume of overlap, median and quartiles of ten seeds"
set xlabel "h (s)"; set ylabel "m^3"; set logscale xy; set xrange [0.0008:0.0125]; set format y "%.0e"; set key left top
plot "volume.dat" using 1:2:3:4 with yerrorlines lc rgb "#d62728" title "PEG", \
     "" using 1:5:6:7 with yerrorlines lc rgb "#1f77b4" title "corrective"
set output "figure-5.15.png"
unset logscale; set xrange [*:*]; set format y "%g"
set title "Contacts in the problem and traps passed, h = 0.01"
set xlabel "time (s)"; set ylabel "per step"
plot "steps-peg.dat" using 1:3 with lines title "contacts", "" using 1:4 with lines title "traps"
