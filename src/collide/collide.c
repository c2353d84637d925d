/* src/collide/collide.c - broad phase, then one pair routine per candidate. See collide.h. */
#include <string.h>

#include "collide/broad.h"
#include "collide/collide.h"
#include "collide/narrow/patch.h"
#include "collide/polytope/polyhedron.h"

/* Times the scene's length: a shallower overlap is rounding. */
#define SIDE_DEPTH 1e-9

/* A shape without bounds, at its world pose. */
typedef struct endless {
    int32_t shape, body;
    vec3 n;
    double offset;
} endless;

/* Cached answer of the model for a pair of bodies of which one is restricted; the model compares
 * names, which is slow. An entry is overwritten when another pair needs its place: only speed
 * depends on the cache. */
typedef struct answer {
    int32_t a, b; /* a < b; equal: empty */
    bool collides;
} answer;

/* The routine of two types of shapes, looked up once: the list of pairs is long. */
typedef struct routine {
    perpi_pair_fn find;
    bool flipped;
} routine;

struct perpi_collider {
    perp_context* context;
    routine plain[PERP_SHAPE_TYPE_COUNT][PERP_SHAPE_TYPE_COUNT];
    routine grouped[PERP_SHAPE_TYPE_COUNT][PERP_SHAPE_TYPE_COUNT];
    const perp_model* model;
    perpi_broad broad;
    perpi_pose* pose; /* of each shape, world */
    bool* placed;     /* of each shape: it has the frame of its body */
    endless* plane;
    size_t plane_count;
    answer* cache;
    size_t cache_mask;
    size_t candidates;
    const perpi_candidate_rule* rule;
    const perpi_candidate_exception* exception;
    size_t exception_count;
    const perpi_turn* turn; /* per body, or NULL */
    int32_t spins;
    const perpi_candidate_side* side; /* of pairs, or NULL */
    size_t side_count, side_next;
    bool side_always;
    perpi_candidate_list list;
    perpi_still_pair* still; /* by the hash of the pair's shapes */
    size_t still_count;      /* a power of two, or 0 */
    bool polyhedra;          /* the model has some */
    uint32_t pass;
};

/* For the types of shapes that the model has. */
static void find_routines(perpi_collider* c)
{
    bool present[PERP_SHAPE_TYPE_COUNT] = {false};
    for (size_t i = 0; i < c->model->shape_count; ++i) {
        present[c->model->shape[i].type] = true;
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
    perpi_free(context, collider->still);
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

void perpi_collider_set_sides(perpi_collider* collider, const perpi_candidate_side* side,
                              size_t count, bool always)
{
    collider->side = side;
    collider->side_count = side != NULL ? count : 0;
    collider->side_always = always;
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

/* ---- world poses and boxes ---------------------------------------------------------------------- */

/* A sum is finite only if all its terms are. */
static bool is_finite(vec3 a)
{
    return isfinite(a.x + a.y + a.z);
}

/* False if the pose has an entry that is not finite or out of range. */
static bool place_shape(perpi_collider* c, const perpi_pose* body_pose, int32_t body, int32_t shape,
                        double margin)
{
    const perpi_shape* s = &c->model->shape[shape];
    const perpi_shape_ops* ops = perpi_shape_ops_of(s->type);
    const perpi_pose pose = c->placed[shape] ? *body_pose : perpi_pose_mul(body_pose, &s->local);
    c->pose[shape] = pose;
    if (!ops->bounded) {
        const vec3 n = m3_mul(pose.R, s->normal);
        const double offset = v3_dot(n, pose.x) + s->offset + margin;
        c->plane[c->plane_count++] = (endless){shape, body, n, offset};
        return is_finite(n) && isfinite(offset);
    }
    perpi_bounds bounds = ops->bounds(s, &pose);
    const vec3 m = v3(margin, margin, margin);
    bounds.lo = v3_sub(bounds.lo, m);
    bounds.hi = v3_add(bounds.hi, m);
    c->broad.item[c->broad.item_count++] =
        (perpi_broad_item){bounds, shape, body, c->model->body[body].type == PERP_BODY_DYNAMIC};
    return is_finite(bounds.lo) && is_finite(bounds.hi);
}

static perp_status place_shapes(perpi_collider* c, const perpi_pose* pose, const double* margin)
{
    const perp_model* model = c->model;
    c->broad.item_count = 0;
    c->plane_count = 0;
    for (size_t b = 0; b < model->body_count; ++b) {
        const perpi_body* body = &model->body[b];
        for (int32_t i = 0; i < body->shape_count; ++i) {
            if (model->shape[body->shape + i].intangible) {
                continue;
            }
            if (!place_shape(c, &pose[b], (int32_t)b, body->shape + i, margin[b])) {
                return perpi_fail(c->context, PERP_ERROR_NUMERIC,
                                  "body '%s': its pose or its contact margin is not finite",
                                  body->name != NULL ? body->name : "");
            }
        }
    }
    return PERP_OK;
}

/* Planes have no bounding box: each is tested against the box of every bounded shape. */
static perp_status find_plane_pairs(perpi_collider* c)
{
    for (size_t k = 0; k < c->plane_count; ++k) {
        const endless* p = &c->plane[k];
        const bool moves = c->model->body[p->body].type == PERP_BODY_DYNAMIC;
        for (size_t i = 0; i < c->broad.item_count; ++i) {
            const perpi_broad_item* item = &c->broad.item[i];
            if (item->body == p->body || !(moves || item->dynamic)) {
                continue;
            }
            const vec3 lo = item->bounds.lo, hi = item->bounds.hi;
            const double lowest = p->n.x * (p->n.x > 0.0 ? lo.x : hi.x) +
                                  p->n.y * (p->n.y > 0.0 ? lo.y : hi.y) +
                                  p->n.z * (p->n.z > 0.0 ? lo.z : hi.z);
            if (!(lowest <= p->offset)) {
                continue;
            }
            const perp_status status =
                perpi_broad_add(&c->broad, p->body, p->shape, item->body, item->shape);
            if (status != PERP_OK) {
                return status;
            }
        }
    }
    return PERP_OK;
}

/* ---- the narrow phase ---------------------------------------------------------------------------- */

static bool may_collide(perpi_collider* c, int32_t a, int32_t b)
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

bool perpi_collider_allows(perpi_collider* collider, int32_t a, int32_t b)
{
    return may_collide(collider, a, b);
}

static void sort_features(perpi_candidate* item, size_t count)
{
    for (size_t i = 1; i < count; ++i) {
        const perpi_candidate t = item[i];
        size_t k = i;
        for (; k > 0 && item[k - 1].feature > t.feature; --k) {
            item[k] = item[k - 1];
        }
        item[k] = t;
    }
}

static const perpi_candidate_rule* rule_of(const perpi_collider* c, const perpi_broad_pair* pair)
{
    for (size_t i = 0; i < c->exception_count; ++i) {
        if (c->exception[i].shape_a == pair->shape_a && c->exception[i].shape_b == pair->shape_b) {
            return c->exception[i].rule;
        }
    }
    return c->rule;
}

/* The spacing of the springs of a patch between the pair; 0: the pair has no patch. */
static double patch_of(const perpi_collider* c, const perpi_broad_pair* pair)
{
    const perpi_layer* a = &c->model->body[pair->body_a].layer;
    const perpi_layer* b = &c->model->body[pair->body_b].layer;
    if (!(a->patch > 0.0) && !(b->patch > 0.0)) {
        return 0.0;
    }
    return perpi_model_layer(c->model, pair->body_a, pair->body_b).patch;
}

/* Adds an expected rotation unless a nearly equal one is in the list. */
static void add_spin(perpi_candidate_list* list, vec3 spin)
{
    for (int32_t i = 0; i < list->spins; ++i) {
        const vec3 off = v3_sub(spin, list->spin[i]);
        if (v3_dot(off, off) <= 0.01 * list->turn * list->turn) {
            return;
        }
    }
    list->spin[list->spins++] = spin;
}

/* The known side of the pair, or NULL. Pairs are visited in the order of the sides, so one pass
 * suffices. */
static const perpi_candidate_side* side_of(perpi_collider* c, const perpi_broad_pair* p)
{
    while (c->side_next < c->side_count) {
        const perpi_candidate_side* s = &c->side[c->side_next];
        const bool before = s->body_a != p->body_a     ? s->body_a < p->body_a
                            : s->body_b != p->body_b   ? s->body_b < p->body_b
                            : s->shape_a != p->shape_a ? s->shape_a < p->shape_a
                                                       : s->shape_b < p->shape_b;
        if (!before) {
            const bool same = s->body_a == p->body_a && s->body_b == p->body_b &&
                              s->shape_a == p->shape_a && s->shape_b == p->shape_b;
            return same ? s : NULL;
        }
        c->side_next += 1;
    }
    return NULL;
}

/* Whether the candidates found would separate the pair towards another side than the known one. For
 * a pair that is apart this is decided only with `side_always`, when it cannot have moved around
 * the other body. */
static bool on_wrong_side(const perpi_collider* c, const perpi_candidate_side* side, size_t first)
{
    const perpi_candidate* worst = NULL; /* the most open member of the least open group */
    const perpi_candidate* open = NULL;  /* the most open candidate */
    for (size_t i = first; i < c->list.count; ++i) {
        open = open == NULL || c->list.item[i].gap > open->gap ? &c->list.item[i] : open;
        const perpi_candidate* most = &c->list.item[i];
        for (size_t k = first; most->group != 0 && k < c->list.count; ++k) {
            const perpi_candidate* t = &c->list.item[k];
            most = t->group == most->group && t->gap > most->gap ? t : most;
        }
        worst = worst == NULL || most->gap < worst->gap ? most : worst;
    }
    if (worst == NULL) {
        return c->side_always;
    }
    if (c->side_always && v3_dot(open->normal, side->normal) < 0.0) {
        return true;
    }
    return v3_dot(worst->normal, side->normal) < 0.0 &&
           (c->side_always || worst->gap < -SIDE_DEPTH * c->model->length);
}

/* ---- memory of pairs that do not turn ---------------------------------------------------------------- */

/* Room for twice the pairs; what was remembered is lost when it grows. Only speed depends on it. */
static perp_status reserve_memory(perpi_collider* c)
{
    size_t count = 64;
    c->pass += 1;
    while (count < 2 * c->broad.pair_count) {
        count *= 2;
    }
    if (count <= c->still_count || !c->polyhedra || c->rule == NULL) {
        return PERP_OK;
    }
    perpi_still_pair* still = NULL;
    const perp_status status = perpi_alloc(c->context, count, sizeof *still, &still);
    if (status == PERP_OK) {
        perpi_free(c->context, c->still);
        c->still = still;
        c->still_count = count;
    }
    return status;
}

/* The memory of a pair; NULL: another pair has it in this pass, or there is none. */
static perpi_still_pair* memory_of(perpi_collider* c, const perpi_broad_pair* pair)
{
    if (c->still_count == 0) {
        return NULL;
    }
    const uint64_t hash =
        ((uint64_t)(uint32_t)pair->shape_a << 32 | (uint32_t)pair->shape_b) * 0x9E3779B97F4A7C15ULL;
    perpi_still_pair* memory = &c->still[(size_t)(hash >> 32) & (c->still_count - 1)];
    if (memory->pass == c->pass) {
        return NULL;
    }
    memory->pass = c->pass;
    return memory;
}

static perp_status narrow_phase(perpi_collider* c, const perpi_broad_pair* pair,
                                const double* margin)
{
    const perpi_shape* shape = c->model->shape;
    perpi_candidate_list* list = &c->list;
    const perpi_candidate_rule* rule = rule_of(c, pair);
    const bool overlap_only = rule != NULL && rule->overlap_only;
    list->rule = overlap_only ? NULL : rule;
    list->group = 0;
    list->secondary = false;
    const routine* known =
        &(list->rule != NULL ? c->grouped
                             : c->plain)[shape[pair->shape_a].type][shape[pair->shape_b].type];
    const perpi_pair_fn find = known->find;
    const bool flipped = known->flipped;
    if (find == NULL) {
        return PERP_OK;
    }
    list->body_a = pair->body_a;
    list->body_b = pair->body_b;
    list->shape_a = pair->shape_a;
    list->shape_b = pair->shape_b;
    list->flipped = flipped;
    list->still = list->rule != NULL ? memory_of(c, pair) : NULL;
    list->spins = 0;
    list->turn = INFINITY;
    if (c->turn != NULL) {
        const perpi_turn *a = &c->turn[pair->body_a], *b = &c->turn[pair->body_b];
        list->turn = a->slack + b->slack;
        for (int32_t i = 0; i < c->spins; ++i) {
            const vec3 spin = v3_sub(b->spin[i], a->spin[i]);
            add_spin(list, flipped ? v3_neg(spin) : spin);
        }
    }
    const size_t first = list->count;
    const int32_t one = flipped ? pair->shape_b : pair->shape_a;
    const int32_t two = flipped ? pair->shape_a : pair->shape_b;
    const double reach = margin[pair->body_a] + margin[pair->body_b], patch = patch_of(c, pair);
    const int32_t owner =
        c->model->body[pair->body_a].layer.patch == patch ? pair->body_a : pair->body_b;
    perp_status status =
        patch > 0.0 ? perpi_patch_find(&shape[one], &c->pose[one], &shape[two], &c->pose[two],
                                       patch, owner, reach, list)
                    : find(&shape[one], &c->pose[one], &shape[two], &c->pose[two], reach, list);
    const perpi_candidate_side* side = c->side_count > 0 ? side_of(c, pair) : NULL;
    if (status == PERP_OK && side != NULL && !(patch > 0.0) && on_wrong_side(c, side, first)) {
        bool other;
        const perpi_pair_fn sided =
            perpi_pair_sided(shape[pair->shape_a].type, shape[pair->shape_b].type, &other);
        if (sided != NULL) {
            const int32_t s = other ? pair->shape_b : pair->shape_a;
            const int32_t t = other ? pair->shape_a : pair->shape_b;
            list->count = first;
            list->flipped = other;
            list->sided = true;
            list->side = other ? v3_neg(side->normal) : side->normal;
            status = sided(&shape[s], &c->pose[s], &shape[t], &c->pose[t], reach, list);
            list->sided = false;
        }
    }
    if (overlap_only) {
        size_t kept = first;
        for (size_t i = first; i < list->count; ++i) {
            if (list->item[i].gap < 0.0) {
                list->item[kept++] = list->item[i];
            }
        }
        list->count = kept;
    }
    if (list->count > first) {
        sort_features(list->item + first, list->count - first);
    }
    return status;
}

perp_status perpi_collide(perpi_collider* collider, const perpi_pose* pose, const double* margin,
                          const perpi_candidate** candidate, size_t* count)
{
    perpi_collider* c = collider;
    c->broad.pair_count = 0;
    c->list.count = 0;
    c->list.deepest = 0.0;
    c->list.overflow = 0;
    c->side_next = 0;
    perp_status status = place_shapes(c, pose, margin);
    if (status == PERP_OK) {
        status = find_plane_pairs(c);
    }
    if (status == PERP_OK) {
        status = perpi_broad_find(&c->broad);
    }
    if (status == PERP_OK) {
        status = perpi_broad_sort(&c->broad, c->model->body_count, c->model->shape_count);
    }
    if (status == PERP_OK) {
        status = reserve_memory(c);
    }
    c->candidates = c->broad.pair_count;
    for (size_t i = 0; i < c->broad.pair_count && status == PERP_OK; ++i) {
        const perpi_broad_pair* pair = &c->broad.pair[i];
        if (may_collide(c, pair->body_a, pair->body_b)) {
            status = narrow_phase(c, pair, margin);
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    *candidate = c->list.item;
    *count = c->list.count;
    return PERP_OK;
}
