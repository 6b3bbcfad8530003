#include "core/median.h"

static void swap(double *a, double *b)
{
    const double kept = *a;
    *a = *b;
    *b = kept;
}

/* Those below the pivot, then those above it; what equals it may stand in either part. Both ends of
   what is left to look at move towards each other (Hoare, Commun. ACM 4, 321, 1961). */
double median_upper(int64_t n, double *values)
{
    int64_t low = 0, high = n - 1;
    const int64_t middle = n / 2;
    while (low < high) {
        const double pivot = values[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i <= j) swap(values + i++, values + j--);
        }
        if (middle <= j)
            high = j;
        else if (middle >= i)
            low = i;
        else
            break;
    }
    return values[middle];
}
