# Figure 3.6 of [B09].
set terminal pngcairo size 900,560 font "sans,11"
set grid lc rgb "#dddddd"
set xlabel "time (s)"; set ylabel "kinetic energy (J)"; set yrange [0:7.2]; set key left bottom
set output "edges.png"
set title "A rolling disc and polygons, h = 0.01 s"
plot "curve.dat" with lines lw 3 lc rgb "black" title "implicit curve", \
     for [n in "1000 500 200 100 50 20 10"] "edges-".n."-0.01.dat" with lines title n." edges"
set output "steps.png"
set title "1000 edges"
plot "curve.dat" with lines lw 3 lc rgb "black" title "implicit curve, h = 0.01", \
     for [h in "0.0001 0.0005 0.001 0.005 0.01"] "steps-1000-".h.".dat" with lines title "h = ".h
