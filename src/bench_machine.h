/* bench_machine.h: what a CPU sustains, to compare times of different machines with. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

/* With n_threads: GB/s of a triad, GFLOP/s of multiply-adds in double precision. */
double bench_bandwidth(int n_threads);
double bench_multiply_adds(int n_threads);

#endif
