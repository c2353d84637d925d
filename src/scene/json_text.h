/* src/scene/json_text.h - from a file or a piece of memory to a JSON tree. */
#ifndef PERPI_JSON_TEXT_H
#define PERPI_JSON_TEXT_H

#include <jansson.h>

#include "base/context.h"

enum {
    PERPI_JSON_SIZE_LIMIT = 64 * 1024 * 1024, /* bytes */
    PERPI_JSON_NESTING_LIMIT = 100,
};

/* The whole file, zero-terminated, to be freed by the caller. A path that cannot be opened, a
 * directory and a file beyond the limit are PERP_ERROR_INPUT. */
PERP_NODISCARD perp_status perpi_json_read_file(perp_context* context, const char* path,
                                                char** text, size_t* length);

/* The tree of a text with // comments. Messages begin with origin and say line and column.
 * Duplicate keys, more than 100 levels and any value but UTF-8 JSON are PERP_ERROR_INPUT. */
PERP_NODISCARD perp_status perpi_json_parse(perp_context* context, const char* text, size_t length,
                                            const char* origin, json_t** root);

/* Whether a scene may have a body that rolls (sim/rolling_choice.c). */
bool perpi_json_may_roll(const json_t* root);

/* *named: a copy of the text of a scene in which what it does not name is named: "contact" is model, of a scene with joints
 * "joint_direction" is direction, and of one with round bodies "contact_direction". To be freed by the caller; NULL if the text names
 * them, or is no JSON object. */
PERP_NODISCARD perp_status perpi_json_name_defaults(perp_context* context, const char* text,
                                                    size_t length, const char* model,
                                                    const char* direction, char** named);

#endif
