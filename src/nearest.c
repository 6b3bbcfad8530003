#include "nearest.h"

#include <string.h>

enum { LONGEST = 64 };

static int min3(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Optimal string alignment distance: Levenshtein's, with a swap as one edit. */
int nearest_distance(const char *a, const char *b)
{
    int rows[3][LONGEST + 1];
    int *before = rows[0];
    int *last = rows[1];
    int *now = rows[2];
    int na = (int)strnlen(a, LONGEST);
    int nb = (int)strnlen(b, LONGEST);
    for (int j = 0; j <= nb; j++)
        last[j] = j;
    for (int i = 1; i <= na; i++) {
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            now[j] = min3(now[j - 1] + 1, last[j] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = min3(now[j], before[j - 2] + 1, now[j]);
        }
        int *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[nb];
}

int nearest_limit(const char *word)
{
    return 1 + (int)strnlen(word, LONGEST) / 4;
}
