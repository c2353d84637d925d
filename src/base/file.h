/* src/base/file.h - a whole file in memory. */
#ifndef PERPI_FILE_H
#define PERPI_FILE_H

#include "base/context.h"

/* The whole file, zero-terminated, to be freed by the caller. A path that cannot be opened, a
 * directory and a file of more than limit bytes are PERP_ERROR_INPUT; trouble while reading is
 * PERP_ERROR_IO. Messages begin with the path. */
PERP_NODISCARD perp_status perpi_file_read(perp_context* context, const char* path, size_t limit,
                                           char** text, size_t* length);

/* `name` as seen from the folder of the file `from`; an absolute name stays. To be freed. */
PERP_NODISCARD perp_status perpi_file_beside(perp_context* context, const char* from,
                                             const char* name, char** path);

/* Replaces the file. A path that cannot be opened is PERP_ERROR_INPUT, a full disk PERP_ERROR_IO. */
PERP_NODISCARD perp_status perpi_file_write(perp_context* context, const char* path,
                                            const char* text, size_t length);

#endif
