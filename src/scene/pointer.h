/* src/scene/pointer.h - one override: a JSON pointer (RFC 6901) and the value to put there. */
#ifndef PERPI_POINTER_H
#define PERPI_POINTER_H

#include <jansson.h>

#include "perp/scene.h"

/* A pointer that does not begin with '/' is the name of a parameter. The value is JSON text, else a
 * string. The place must exist, or be a new key of an object that exists, or "-", one past the end
 * of an array. Two optional objects are created when one of their keys is set: /friction and
 * /record. */
PERP_NODISCARD perp_status perpi_json_override(perp_context* context, const char* origin,
                                               json_t* root, const perp_override* override);

/* Puts a value, which stays the caller's, at such a place. *old: what was there, a reference of the caller's;
 * NULL: nothing. *of_file: the place is one that the contents of a file may replace. */
PERP_NODISCARD perp_status perpi_json_place(perp_context* context, const char* origin, json_t* root,
                                            const char* name, json_t* value, json_t** old,
                                            bool* of_file);

#endif
