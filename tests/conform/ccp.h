/* tests/conform/ccp.h - reads the LCPs of shared/corpus (format: its README.md). */
#ifndef PERP_TEST_CCP_H
#define PERP_TEST_CCP_H

#include <stdio.h>
#include <string.h>

#include "conform/stewart_trinkle.h"

/* False if the file is not an LCP we can read; *t is then empty. */
static inline bool test_read_ccp_lcp(const char* path, test_lcp* t)
{
    FILE* f = fopen(path, "r");
    char word[256];
    int n = -1;
    bool good = f != NULL, matrix = false, vector = false, end = false;
    *t = (test_lcp){0};
    while (good && !end && fscanf(f, "%255s", word) == 1) {
        if (strcmp(word, "end") == 0) {
            end = true;
        } else if (strcmp(word, "n") == 0) {
            good = n < 0 && fscanf(f, "%d", &n) == 1 && n > 0 && n < 5000;
            if (good) {
                *t = test_lcp_make(n);
            }
        } else if (strcmp(word, "matrix") == 0) {
            int rows = 0, cols = 0, count = 0;
            good = n > 0 && fscanf(f, " M %d %d %d", &rows, &cols, &count) == 3 && rows == n &&
                   cols == n;
            for (int e = 0; e < count && good; ++e) {
                int i, j;
                double value;
                good = fscanf(f, "%d %d %lf", &i, &j, &value) == 3 && i >= 0 && i < n && j >= 0 &&
                       j < n;
                if (good) {
                    t->M[(size_t)i * (size_t)n + (size_t)j] = value;
                }
            }
            matrix = good;
        } else if (strcmp(word, "vector") == 0) {
            int length;
            good = n > 0 && fscanf(f, " q %d", &length) == 1 && length == n;
            for (int i = 0; i < n && good; ++i) {
                good = fscanf(f, "%lf", &t->q[i]) == 1;
            }
            vector = good;
        } else {
            good = fscanf(f, "%255s", word) == 1; /* ccp 1, name, kind */
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    if (!good || !matrix || !vector || !end) {
        test_lcp_free(t);
        *t = (test_lcp){0};
        return false;
    }
    return true;
}

#endif
