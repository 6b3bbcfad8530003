/* bench_nufft_run.h: one case of the benchmark on a device. */
#ifndef BENCH_NUFFT_RUN_H
#define BENCH_NUFFT_RUN_H

#include "bench_nufft_case.h"

/* Milliseconds by the device's clock; processor: of all threads together, the least of a run, which
   on a busy machine is the steadier figure. */
typedef struct bench_time {
    double median, least, processor;
} bench_time;

typedef struct bench_result {
    nufft_info info;
    double plan;              /* ms */
    bench_time set;           /* set_points */
    bench_time exec;          /* a transform, points set before */
    bench_time total, copies; /* both; and with copies of points, input and output (pageable) */
    nufft_times stages;       /* ms in one transform */
    int outputs;
    double error; /* over so many outputs, see bench_error; of the last run timed for exec */
} bench_result;

/* Keeps the numbers of the last problem, in host memory and on the device. */
typedef struct bench_session bench_session;

/* dev must outlive it. outputs: how many are compared. repeat: timed runs; 0: as many as take a
   tenth of a second, between 5 and 50. */
status bench_session_create(const device *dev, int outputs, int repeat, bench_session **session);
/* Accepts NULL. */
void bench_session_destroy(bench_session *session);

/* STATUS_UNSUPPORTED for a method that the device does not have for this case. */
status bench_run(bench_session *session, const bench_case *c, bench_result *result);

/* Whether c's method is there for the case, and another than `other`. */
status bench_method_differs(const device *dev, const bench_case *c, nufft_method other,
                            bool *differs);

#endif
