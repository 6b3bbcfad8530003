/* nufft_cpu_isa_generic.c: machines for which there is the portable table only. */
#include "nufft/nufft_cpu.h"

extern const cpu_tiles CPU_TILES(portable);

const cpu_tiles *PRECISE(cpu_choose_tiles)(void)
{
    return &CPU_TILES(portable);
}
