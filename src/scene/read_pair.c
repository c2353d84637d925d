/* src/scene/read_pair.c - friction.pairs: coefficients that hold between two bodies. */
#include <math.h>

#include "scene/reader.h"

static perp_status read_pair(perpi_reader* r, const json_t* value)
{
    static const char* const known[] = {"a", "b", "mu", "directions", "restitution", NULL};
    PERPI_TRY(perpi_read_object(r, value, known));
    PERPI_TRY(perpi_require(r, value, "a"));
    PERPI_TRY(perpi_require(r, value, "b"));
    perp_pair_def def = {.mu = NAN};
    perp_impact_law law;
    PERPI_TRY(perpi_read_restitution(r, value, &def.restitution, &law, &def.has_restitution));
    PERPI_TRY(perpi_read_string(r, value, "a", &def.a));
    PERPI_TRY(perpi_read_string(r, value, "b", &def.b));
    PERPI_TRY(perpi_read_number(r, value, "mu", &def.mu));
    PERPI_TRY(perpi_read_integer(r, value, "directions", r->dimension == 2 ? 2 : 3,
                                 PERPI_DIRECTIONS_LIMIT, &def.directions));
    const perp_status status = perp_model_add_pair(r->model, &def);
    return status == PERP_OK ? status : perpi_reader_fail_member(r, status);
}

perp_status perpi_read_pairs(perpi_reader* r, const json_t* root)
{
    const json_t* pairs = json_object_get(json_object_get(root, "friction"), "pairs");
    if (pairs == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "friction");
    perpi_reader_enter(r, "pairs");
    PERPI_TRY(perpi_read_array(r, pairs));
    for (size_t i = 0; i < json_array_size(pairs); ++i) {
        const size_t item = perpi_reader_enter_item(r, i);
        PERPI_TRY(read_pair(r, json_array_get(pairs, i)));
        perpi_reader_leave(r, item);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}
