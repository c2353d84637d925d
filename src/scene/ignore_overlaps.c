/* src/scene/ignore_overlaps.c - see ignore_overlaps.h.
 *
 * Descriptions of robots are drawn so that neighbouring links intersect, and other importers exclude
 * such pairs too.
 */
#include "scene/ignore_overlaps.h"

#include <stdio.h>
#include <string.h>

#include "sim/internal.h"

/* Relative to the smaller body: half of what a simulation accepts at its start. */
static const double TOLERANCE = 5e-7;

static bool already(const json_t* list, const char* name)
{
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const char* other = json_string_value(json_array_get(list, i));
        if (other != NULL && strcmp(other, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the pair was not there yet; negative: out of memory. */
static int add_ignore(json_t* tree, int32_t body, const char* name)
{
    json_t* object = json_array_get(json_object_get(tree, "bodies"), (size_t)body);
    json_t* list = json_object_get(object, "ignores");
    if (already(list, name)) {
        return 0;
    }
    if (list == NULL) {
        list = json_array();
        if (json_object_set_new(object, "ignores", list) != 0) {
            return -1;
        }
    }
    return json_array_append_new(list, json_string(name)) == 0 ? 1 : -1;
}

static perp_status find_overlaps(perp_context* context, const perp_model* model,
                                 perpi_collider* collider, perpi_arena* arena,
                                 const perpi_candidate** candidate, size_t* count)
{
    perpi_pose* pose = NULL;
    double* margin = NULL;
    perp_status status = perpi_arena_take(arena, model->body_count, sizeof *pose, &pose);
    if (status == PERP_OK) {
        status = perpi_arena_take(arena, model->body_count, sizeof *margin, &margin);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < model->body_count; ++i) {
        pose[i] = model->body[i].pose;
        margin[i] = 0.0;
    }
    (void)context;
    return perpi_collide(collider, pose, margin, candidate, count);
}

perp_status perpi_ignore_overlaps(perp_context* context, const perp_model* model, json_t* source,
                                  json_t* root, perpi_notices* notices, bool* any)
{
    perpi_collider* collider = NULL;
    const perpi_candidate* candidate = NULL;
    size_t count = 0;
    perp_status status = perpi_collider_create(context, model, &collider);
    if (status == PERP_OK) {
        status = find_overlaps(context, model, collider, notices->arena, &candidate, &count);
    }
    char names[600] = "";
    int32_t pairs = 0;
    for (size_t i = 0; status == PERP_OK && i < count; ++i) {
        const perpi_candidate* c = &candidate[i];
        if (!(c->gap < -TOLERANCE * perpi_sim_pair_size(model, c))) {
            continue;
        }
        const char *a = model->body[c->body_a].name, *b = model->body[c->body_b].name;
        const int added = add_ignore(source, c->body_b, a);
        if (added < 0 || (root != source && add_ignore(root, c->body_b, a) < 0)) {
            status = perpi_fail(context, PERP_ERROR_MEMORY, "out of memory");
        }
        const size_t used = strlen(names);
        if (added > 0 && used + strlen(a) + strlen(b) + 8 < sizeof names) {
            (void)snprintf(names + used, sizeof names - used, "%s%s and %s", used > 0 ? ", " : "",
                           a, b);
        } else if (added > 0 && used + 6 < sizeof names && strstr(names, "...") == NULL) {
            (void)snprintf(names + used, sizeof names - used, ", ...");
        }
        pairs += added > 0 ? 1 : 0;
    }
    perpi_collider_destroy(collider);
    *any = pairs > 0;
    if (status == PERP_OK && pairs > 0) {
        status = perpi_notice_add(notices,
                                  "%d pair%s of links overlap%s at the start and "
                                  "do%s not collide: %s",
                                  (int)pairs, pairs == 1 ? "" : "s", pairs == 1 ? "s" : "",
                                  pairs == 1 ? "es" : "", names);
    }
    return status;
}
