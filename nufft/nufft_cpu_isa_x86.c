/* nufft_cpu_isa_x86.c: the widest vectors that this processor and its system support. */
#include <stdlib.h>
#include <string.h>

#include "nufft/nufft_cpu.h"

extern const cpu_tiles CPU_TILES(portable), CPU_TILES(avx2), CPU_TILES(avx512);

static bool wanted(const cpu_tiles *tiles, const char *name)
{
    return !name || strcmp(name, tiles->name) == 0;
}

const cpu_tiles *PRECISE(cpu_choose_tiles)(void)
{
    const char *name = getenv("MTIP_CPU_KERNELS");
    if (wanted(&CPU_TILES(avx512), name) && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return &CPU_TILES(avx512);
    if (wanted(&CPU_TILES(avx2), name) && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("fma"))
        return &CPU_TILES(avx2);
    return &CPU_TILES(portable);
}
