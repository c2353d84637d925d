/* src/scene/pointer.h - one override: a JSON pointer (RFC 6901) and the value to put there. */
#ifndef PERPI_POINTER_H
#define PERPI_POINTER_H

#include <jansson.h>

#include "perp/scene.h"

/* The value is JSON text, else a string. The place must exist, or be a new key of an object that
 * exists, or "-", one past the end of an array. Two optional objects are created when one of their
 * keys is set: /friction and /record. */
PERP_NODISCARD perp_status perpi_json_override(perp_context* context, const char* origin,
                                               json_t* root, const perp_override* override);

#endif
