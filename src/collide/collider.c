/* src/collide/collider.c - creates a collider, takes its settings, and knows which bodies may collide. See collide.h. */
#include <string.h>

#include "base/threads.h"
#include "collide/collider.h"

/* For the types of shapes that the model has. */
static void find_routines(perpi_collider* c)
{
    bool present[PERP_SHAPE_TYPE_COUNT] = {false};
    for (size_t i = 0; i < c->model->shape_count; ++i) {
        present[c->model->shape[i].type] = true;
    }
    for (size_t i = 0; i < c->model->shape_count; ++i) {
        const perpi_polyhedron* p = c->model->shape[i].polyhedron;
        c->leaves = c->leaves || (p != NULL && p->face_count > PERPI_MANY_FACES);
        c->many_vertices =
            c->many_vertices || (p != NULL && p->vertex_count >= PERPI_MANY_VERTICES);
    }
    c->polyhedra = present[PERP_SHAPE_BOX] || present[PERP_SHAPE_POLYHEDRON];
    for (int a = 0; a < PERP_SHAPE_TYPE_COUNT; ++a) {
        for (int b = 0; b < PERP_SHAPE_TYPE_COUNT; ++b) {
            if (present[a] && present[b]) {
                routine *plain = &c->plain[a][b], *grouped = &c->grouped[a][b];
                plain->find =
                    perpi_pair_find(false, (perp_shape_type)a, (perp_shape_type)b, &plain->flipped);
                grouped->find = perpi_pair_find(true, (perp_shape_type)a, (perp_shape_type)b,
                                                &grouped->flipped);
            }
        }
    }
}

perp_status perpi_collider_create(perp_context* context, const perp_model* model,
                                  perpi_collider** collider)
{
    perpi_collider* c = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *c, &c);
    if (status != PERP_OK) {
        return status;
    }
    c->context = context;
    c->model = model;
    c->broad.context = context;
    c->list.context = context;

    find_routines(c);
    size_t planes = 0, restricted = 0;
    for (size_t i = 0; i < model->shape_count; ++i) {
        planes += perpi_shape_ops_of(model->shape[i].type)->bounded ? 0 : 1;
    }
    for (size_t i = 0; i < model->body_count; ++i) {
        restricted += model->body[i].restricted ? 1 : 0;
    }
    size_t places = 0;
    if (restricted > 0) {
        for (places = 64; places < 8 * restricted && places < (size_t)1 << 20;) {
            places *= 2;
        }
        c->cache_mask = places - 1;
    }
    status = perpi_alloc(context, model->shape_count, sizeof *c->pose, &c->pose);
    if (status == PERP_OK) {
        status = perpi_alloc(context, model->body_count, sizeof *c->last_pose, &c->last_pose);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, model->body_count, sizeof *c->moved, &c->moved);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, model->shape_count, sizeof *c->placed, &c->placed);
    }
    for (size_t i = 0; status == PERP_OK && i < model->shape_count; ++i) {
        const perpi_pose* p = &model->shape[i].local;
        const mat3 one = m3_identity();
        c->placed[i] = p->x.x == 0.0 && p->x.y == 0.0 && p->x.z == 0.0 && p->q.w == 1.0 &&
                       memcmp(&p->R, &one, sizeof one) == 0;
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, planes, sizeof *c->plane, &c->plane);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, places, sizeof *c->cache, &c->cache);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &c->broad.item, &c->broad.item_capacity, model->shape_count,
                            sizeof *c->broad.item);
    }
    if (status != PERP_OK) {
        perpi_collider_destroy(c);
        return status;
    }
    *collider = c;
    return PERP_OK;
}

void perpi_collider_destroy(perpi_collider* collider)
{
    if (collider == NULL) {
        return;
    }
    perp_context* context = collider->context;
    perpi_broad_free(&collider->broad);
    perpi_free(context, collider->pose);
    perpi_free(context, collider->placed);
    perpi_free(context, collider->plane);
    perpi_free(context, collider->cache);
    perpi_free(context, collider->list.item);
    perpi_free(context, collider->list.leaves);
    perpi_free(context, collider->still);
    perpi_free(context, collider->record);
    perpi_free(context, collider->last);
    perpi_free(context, collider->last_item);
    perpi_free(context, collider->last_pose);
    perpi_free(context, collider->moved);
    for (int32_t i = 1; collider->lane != NULL && i < PERPI_LANES_MOST; ++i) {
        perpi_free(context, collider->lane[i].item);
        perpi_free(context, collider->lane[i].leaves);
    }
    perpi_free(context, collider->lane);
    perpi_reach_free(context, collider->reach);
    perpi_free(context, collider);
}

void perpi_collider_set_rule(perpi_collider* collider, const perpi_candidate_rule* rule,
                             const perpi_candidate_exception* exception, size_t count)
{
    collider->rule = rule;
    collider->exception = exception;
    collider->exception_count = count;
}

void perpi_collider_set_turn(perpi_collider* collider, const perpi_turn* turn, int32_t count)
{
    collider->turn = turn;
    collider->spins = count;
}

void perpi_collider_set_turn_most(perpi_collider* collider, const double* most)
{
    collider->turn_most = most;
}

void perpi_collider_set_motion(perpi_collider* collider, const perpi_body_motion* motion,
                               bool again)
{
    collider->motion = motion;
    collider->again = motion != NULL && again;
}

void perpi_collider_set_sides(perpi_collider* collider, const perpi_candidate_side* side,
                              size_t count, bool always)
{
    collider->side = side;
    collider->side_count = side != NULL ? count : 0;
    collider->side_always = always;
}

bool perpi_collider_has_many_vertices(const perpi_collider* collider)
{
    return collider->many_vertices;
}

double perpi_collider_deepest(const perpi_collider* collider)
{
    return collider->list.deepest;
}

int32_t perpi_collider_overflow(const perpi_collider* collider)
{
    return collider->list.overflow;
}

size_t perpi_collider_candidates(const perpi_collider* collider)
{
    return collider->candidates;
}

/* ---- which bodies may collide --------------------------------------------------------------------------- */

bool perpi_collider_allows(perpi_collider* c, int32_t a, int32_t b)
{
    if (!c->model->body[a].restricted && !c->model->body[b].restricted) {
        return c->model->joined_count == 0 || !perpi_model_joined(c->model, a, b);
    }
    const uint64_t hash = ((uint64_t)(uint32_t)a << 32 | (uint32_t)b) * 0x9E3779B97F4A7C15ULL;
    answer* place = &c->cache[(size_t)(hash >> 40) & c->cache_mask];
    if (place->a != a || place->b != b) {
        *place = (answer){a, b, perp_model_pair_collides(c->model, a, b)};
    }
    return place->collides;
}

static bool collider_allows(void* user, int32_t a, int32_t b)
{
    return perpi_collider_allows(user, a, b);
}

perp_status perpi_collider_find_reach(perpi_collider* c, const perpi_collider* like)
{
    perpi_reach_free(c->context, c->reach);
    return like != NULL ? perpi_reach_copy(c->context, c->model, like->reach, &c->reach)
                        : perpi_reach_find(c->context, c->model, collider_allows, c, &c->reach);
}

int32_t perpi_collider_out_of_reach(const perpi_collider* collider)
{
    return perpi_reach_count(collider->reach);
}
