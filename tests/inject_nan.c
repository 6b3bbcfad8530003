/* inject_nan.c: a preload library: call number MTIP_NAN_AT of cblas_sgemm gives a NaN among its results. */
#include <cblas.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

static int count;

void cblas_sgemm(CBLAS_LAYOUT layout, CBLAS_TRANSPOSE of_a, CBLAS_TRANSPOSE of_b, blasint m,
                 blasint n, blasint k, float alpha, const float *a, blasint lda, const float *b,
                 blasint ldb, float beta, float *c, blasint ldc)
{
    typedef void gemm(CBLAS_LAYOUT, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, blasint, blasint, blasint,
                      float, const float *, blasint, const float *, blasint, float, float *,
                      blasint);
    const char *at = getenv("MTIP_NAN_AT");
    ((gemm *)(size_t)dlsym(RTLD_NEXT, "cblas_sgemm"))(layout, of_a, of_b, m, n, k, alpha, a, lda, b,
                                                      ldb, beta, c, ldc);
    if (at && __sync_add_and_fetch(&count, 1) == atoi(at)) c[0] = NAN;
}
