# Errors of the tosses held out, sorted: out of the box, rigid and soft; and the table of what each part is worth.
set terminal pngcairo size 1000,440 font "sans,11"
set grid lc rgb "#dddddd"
set output "errors.png"
set multiplot layout 1,2
set key top left
set xlabel "part of the tosses held out"; set yrange [0:*]
set title "Position error, mean over a toss"
set ylabel "% of the width"; set xrange [0:1]
plot "< sort -g -k2 plain.dat | awk '{a[NR]=$2} END {for (i=1;i<=NR;++i) print i/NR, a[i]}'" with lines lw 2 lc rgb "#d62728" title "out of the box", \
     "< sort -g -k2 rigid.dat | awk '{a[NR]=$2} END {for (i=1;i<=NR;++i) print i/NR, a[i]}'" with lines lw 2 lc rgb "#2ca02c" title "rigid, fitted", \
     "< sort -g -k2 soft.dat | awk '{a[NR]=$2} END {for (i=1;i<=NR;++i) print i/NR, a[i]}'" with lines lw 2 lc rgb "#1f77b4" title "soft layer, fitted"
set title "Rotation error, mean over a toss"
set ylabel "degrees"
plot "< sort -g -k3 plain.dat | awk '{a[NR]=$3} END {for (i=1;i<=NR;++i) print i/NR, a[i]}'" with lines lw 2 lc rgb "#d62728" title "out of the box", \
     "< sort -g -k3 rigid.dat | awk '{a[NR]=$3} END {for (i=1;i<=NR;++i) print i/NR, a[i]}'" with lines lw 2 lc rgb "#2ca02c" title "rigid, fitted", \
     "< sort -g -k3 soft.dat | awk '{a[NR]=$3} END {for (i=1;i<=NR;++i) print i/NR, a[i]}'" with lines lw 2 lc rgb "#1f77b4" title "soft layer, fitted"
unset multiplot
