/* src/base/file.c - see file.h. */
#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static perp_status too_large(perp_context* context, const char* path, size_t limit)
{
    return perpi_fail(context, PERP_ERROR_INPUT, "%s: file too large: the limit is %zu MB", path,
                      limit / ((size_t)1024 * 1024));
}

/* Known to be too large before a byte is read? A pipe cannot tell; a directory says LONG_MAX. */
static bool seeks_beyond(FILE* file, size_t limit)
{
    if (fseek(file, 0, SEEK_END) != 0) {
        clearerr(file);
        return false;
    }
    const long size = ftell(file);
    rewind(file);
    return size > 0 && size != LONG_MAX && (size_t)size > limit;
}

static perp_status read_all(perp_context* context, const char* path, FILE* file, size_t limit,
                            char** text, size_t* length)
{
    if (seeks_beyond(file, limit)) {
        return too_large(context, path, limit);
    }
    char* buffer = NULL;
    size_t capacity = 0, used = 0;
    perp_status status = PERP_OK;
    for (;;) {
        status = perpi_grow(context, &buffer, &capacity, used + 4096 + 1, 1);
        if (status != PERP_OK) {
            break;
        }
        errno = 0;
        const size_t n = fread(buffer + used, 1, capacity - used - 1, file);
        used += n;
        if (ferror(file)) {
            const bool directory = errno == EISDIR;
            status = perpi_fail(context, directory ? PERP_ERROR_INPUT : PERP_ERROR_IO,
                                "%s: cannot read: %s", path, strerror(errno));
            break;
        }
        if (used > limit) {
            status = too_large(context, path, limit);
            break;
        }
        if (n == 0) {
            break;
        }
    }
    if (status != PERP_OK) {
        perpi_free(context, buffer);
        return status;
    }
    buffer[used] = '\0';
    *text = buffer;
    *length = used;
    return PERP_OK;
}

perp_status perpi_file_read(perp_context* context, const char* path, size_t limit, char** text,
                            size_t* length)
{
    FILE* file = fopen(path, "rb");
    if (file == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: cannot open: %s", path, strerror(errno));
    }
    const perp_status status = read_all(context, path, file, limit, text, length);
    fclose(file);
    return status;
}

perp_status perpi_file_beside(perp_context* context, const char* from, const char* name,
                              char** path)
{
    const char* slash = strrchr(from, '/');
    const size_t folder = slash == NULL || name[0] == '/' ? 0 : (size_t)(slash - from) + 1;
    const size_t length = strlen(name);
    char* joined = NULL;
    const perp_status status = perpi_alloc(context, folder + length + 1, 1, &joined);
    if (status != PERP_OK) {
        return status;
    }
    memcpy(joined, from, folder);
    memcpy(joined + folder, name, length);
    *path = joined;
    return PERP_OK;
}

perp_status perpi_file_write(perp_context* context, const char* path, const char* text,
                             size_t length)
{
    errno = 0;
    FILE* file = fopen(path, "wb");
    if (file == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: cannot write: %s", path, strerror(errno));
    }
    const bool written = fwrite(text, 1, length, file) == length;
    const int error = errno;
    if (fclose(file) != 0 || !written) {
        return perpi_fail(context, PERP_ERROR_IO, "%s: cannot write: %s", path,
                          strerror(written ? errno : error));
    }
    return PERP_OK;
}
