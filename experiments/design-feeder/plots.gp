set terminal pngcairo size 900,500 font "sans,11" noenhanced
set output "feeder.png"
set xlabel "simulations"; set ylabel "best mean cost of a design over 32 draws (below 1/32: all right)"; set logscale y
set grid lc rgb "#dddddd"; set key top right; set title "Feeder: searches by CMA-ES from sampled designs"
there = ""
do for [i=1:10] { if (system(sprintf("test -s b09-search-%d-history.dat && echo 1", i)) eq "1") { there = there.sprintf(" %d", i) } }
plot for [i in there] "b09-search-".i."-history.dat" using (32*$1):3 with steps lw 1.5 title "search ".i, 1./32 with lines dt 2 lc rgb "black" title "1/32"
