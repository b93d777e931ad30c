set terminal pngcairo size 900,560 font "Sans,11"
set output "throughput.png"
set linetype 1 lc rgb "#000000" pt 7
set linetype 2 lc rgb "#0072b2" pt 5
set linetype 3 lc rgb "#d55e00" pt 9
set linetype 4 lc rgb "#009e73" pt 13
set linetype 5 lc rgb "#cc79a7" pt 11
set linetype 6 lc rgb "#e69f00" pt 4
set linetype 7 lc rgb "#56b4e9" pt 6
set linetype 8 lc rgb "#888888" pt 8
set linetype cycle 8
set style data linespoints
set grid lt 1 lc rgb "#cccccc" lw 0.5
set datafile separator tab

$panel0_0 << END
100	1.0354229637316341
END
$panel0_1 << END
100	1.0079131279836258
END
$panel0_2 << END
100	1.0541552916239076
END
$panel0_3 << END
100	1.9059486900010592
END
$panel0_4 << END
100	1.9426858183939144
END
$panel0_5 << END
100	6.183215590790143
END
$panel0_6 << END
100	7.983752616335611
END
$panel0_7 << END
100	1.9696342162555514
END
$panel0_8 << END
100	4.234069238277733
END
$panel0_9 << END
100	7.161138865417659
END
$panel0_10 << END
100	10.112708666262664
END
$panel0_11 << END
100	10.568001214643788
END
$panel0_12 << END
100	8.079329840919126
END
$panel0_13 << END
100	11.652209149323944
END
set logscale xy
set xlabel "Mbit/s"
set ylabel "steps a second"
set xrange [80:1250]
set key outside right top
set multiplot layout 1,1
set title "perceptron, 4 ranks"
plot $panel0_0 using 1:2 lt 1 dt 1 lw 2 title "dense", $panel0_1 using 1:2 lt 2 dt 1 lw 2 title "dense, vendor's order", $panel0_2 using 1:2 lt 3 dt 1 lw 2 title "dense, overlap", $panel0_3 using 1:2 lt 4 dt 1 lw 2 title "fp16", $panel0_4 using 1:2 lt 5 dt 1 lw 2 title "TopK-0.1", $panel0_5 using 1:2 lt 6 dt 1 lw 2 title "TopK-0.01", $panel0_6 using 1:2 lt 7 dt 1 lw 2 title "PowerSGD", $panel0_7 using 1:2 lt 8 dt 1 lw 2 title "PacTrain 50 %", $panel0_8 using 1:2 lt 9 dt 2 lw 2 title "PacTrain 80 %", $panel0_9 using 1:2 lt 10 dt 2 lw 2 title "PacTrain 90 %", $panel0_10 using 1:2 lt 11 dt 2 lw 2 title "PacTrain 95 %", $panel0_11 using 1:2 lt 12 dt 2 lw 2 title "PacTrain 90 %, ternary", $panel0_12 using 1:2 lt 13 dt 2 lw 2 title "PacTrain 90 %, overlap", $panel0_13 using 1:2 lt 14 dt 2 lw 2 title "PacTrain 90 %, ternary, overlap"
unset multiplot
