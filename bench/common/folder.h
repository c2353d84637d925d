/* bench/common/folder.h - a scratch folder below TMPDIR, or /tmp. */
#ifndef PERP_BENCH_FOLDER_H
#define PERP_BENCH_FOLDER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BENCH_FOLDER = 1000 };

static inline bool bench_folder_make(char folder[BENCH_FOLDER], const char* name)
{
    const char* base = getenv("TMPDIR");
    const int length = snprintf(folder, BENCH_FOLDER, "%s/%s-XXXXXX",
                                base != NULL && base[0] != '\0' ? base : "/tmp", name);
    return length > 0 && length < BENCH_FOLDER && mkdtemp(folder) != NULL;
}

#endif
