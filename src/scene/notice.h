/* src/scene/notice.h - what an importer changed or left out, reported in one block at its end. */
#ifndef PERPI_NOTICE_H
#define PERPI_NOTICE_H

#include "base/arena.h"

typedef struct perpi_notice {
    const char* text;
    struct perpi_notice* next;
} perpi_notice;

typedef struct perpi_notices {
    perpi_arena* arena; /* of the texts */
    int32_t count;
    perpi_notice *first, *last;
} perpi_notices;

/* Adds a line. The same line is not repeated. */
PERP_NODISCARD perp_status perpi_notice_add(perpi_notices* notices, const char* format, ...)
    PERP_PRINTF(2, 3);

/* Logs them as one warning. strict: fails with PERP_ERROR_INPUT instead, if there are any. */
PERP_NODISCARD perp_status perpi_notices_report(perp_context* context, const char* origin,
                                                const perpi_notices* notices, bool strict);

#endif
