/* src/scene/notice.c - see notice.h. */
#include "scene/notice.h"

#include <stdio.h>
#include <string.h>

perp_status perpi_notice_add(perpi_notices* notices, const char* format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char* c = text; *c != '\0'; ++c) { /* names cannot break lines */
        *c = (unsigned char)*c < ' ' ? '?' : *c;
    }
    for (const perpi_notice* n = notices->first; n != NULL; n = n->next) {
        if (strcmp(n->text, text) == 0) {
            return PERP_OK;
        }
    }
    perpi_notice* notice = NULL;
    char* copy = NULL;
    const size_t size = strlen(text) + 1;
    perp_status status = perpi_arena_take(notices->arena, 1, sizeof *notice, &notice);
    if (status == PERP_OK) {
        status = perpi_arena_take(notices->arena, size, 1, &copy);
    }
    if (status != PERP_OK) {
        return status;
    }
    memcpy(copy, text, size);
    *notice = (perpi_notice){.text = copy};
    if (notices->last != NULL) {
        notices->last->next = notice;
    } else {
        notices->first = notice;
    }
    notices->last = notice;
    notices->count += 1;
    return PERP_OK;
}

perp_status perpi_notices_report(perp_context* context, const char* origin,
                                 const perpi_notices* notices, bool strict)
{
    char text[4096] = "";
    size_t used = 0;
    if (notices->count == 0) {
        return PERP_OK;
    }
    if (notices->count == 1) {
        (void)snprintf(text, sizeof text, " %s", notices->first->text);
    }
    for (const perpi_notice* n = notices->first; notices->count > 1 && n != NULL; n = n->next) {
        const int n_written = snprintf(text + used, sizeof text - used, "\n  - %s", n->text);
        if (n_written < 0 || used + (size_t)n_written + 8 >= sizeof text) {
            (void)snprintf(text + used, sizeof text - used, "\n  - ...");
            break;
        }
        used += (size_t)n_written;
    }
    if (strict) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: refused by --strict:%s", origin, text);
    }
    perpi_log(context, PERP_LOG_WARNING, "%s:%s", origin, text);
    return PERP_OK;
}
