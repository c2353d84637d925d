# Rows of the problem over time, as figure 4.16 of [W14] compares them.
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set output "sizes.png"
set title "Box of polygons, h = 0.01, {/Symbol m} = 0.25: rows of the complementarity problem"
set xlabel "time (s)"; set ylabel "rows"; set key left top
plot "sizes.dat" index 0 using 1:4 with lines lc rgb "#2ca02c" title "standard, (4.52)", \
     "" index 0 using 1:9 with lines lc rgb "#d62728" title "PEG, (4.53)", \
     "" index 0 using 1:10 with lines dt 2 lc rgb "#d62728" title "PEG, (4.55)", \
     "" index 0 using 1:11 with lines lc rgb "#9467bd" title "PEG, every member with friction", \
     "" index 0 using 1:12 with lines lc rgb "#ff7f0e" title "PEG, what switching ends with"
