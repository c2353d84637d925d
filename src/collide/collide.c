/* src/collide/collide.c - broad phase, then one pair routine per candidate. See collide.h.
 *
 * The candidates of a pair depend on its poses, its margin, the expected rotations, the rule and the known
 * side alone. A pair for which all of these are the bits of the last call keeps its candidates: in a
 * second round of a step only the pairs of bodies that exceeded their margin are searched again, and what
 * rests is not searched at all. The rest is divided among threads.
 */
#include <string.h>

#include "base/threads.h"
#include "collide/collider.h"
#include "collide/narrow/patch.h"
#include "collide/reach.h"

/* Times the scene's length: a shallower overlap is rounding. */
#define SIDE_DEPTH 1e-9

enum {
    PAIR_GRAIN = 100, /* pairs for a thread to gain */
};

/* Room for what contacts change of the expected motion: of it, and of the margins. */
static const double MORE_TRAVEL = 1.1, PART_OF_MARGIN = 0.2;

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
    perpi_pose* pose = &c->pose[shape];
    *pose = c->placed[shape] ? *body_pose : perpi_pose_mul(body_pose, &s->local);
    if (!ops->bounded) {
        const vec3 n = m3_mul(pose->R, s->normal);
        const double offset = v3_dot(n, pose->x) + s->offset + margin;
        c->plane[c->plane_count++] = (endless){shape, body, n, offset};
        return is_finite(n) && isfinite(offset);
    }
    perpi_bounds bounds = ops->bounds(s, pose);
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

static bool side_before(const perpi_candidate_side* s, const perpi_broad_pair* p)
{
    return s->body_a != p->body_a     ? s->body_a < p->body_a
           : s->body_b != p->body_b   ? s->body_b < p->body_b
           : s->shape_a != p->shape_a ? s->shape_a < p->shape_a
                                      : s->shape_b < p->shape_b;
}

/* The known side of the pair, or NULL. */
static const perpi_candidate_side* side_of(const perpi_collider* c, const perpi_broad_pair* p)
{
    size_t low = 0, high = c->side_count;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (side_before(&c->side[mid], p)) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    const perpi_candidate_side* s = low < c->side_count ? &c->side[low] : NULL;
    return s != NULL && s->body_a == p->body_a && s->body_b == p->body_b &&
                   s->shape_a == p->shape_a && s->shape_b == p->shape_b
               ? s
               : NULL;
}

/* Whether the candidates found would separate the pair towards another side than the known one. For
 * a pair that is apart this is decided only with `side_always`, when it cannot have moved around
 * the other body. */
static bool on_wrong_side(const perpi_collider* c, const perpi_candidate_list* list, vec3 side,
                          size_t first)
{
    const perpi_candidate* worst = NULL; /* the most open member of the least open group */
    const perpi_candidate* open = NULL;  /* the most open candidate */
    for (size_t i = first; i < list->count; ++i) {
        open = open == NULL || list->item[i].gap > open->gap ? &list->item[i] : open;
        const perpi_candidate* most = &list->item[i];
        for (size_t k = first; most->group != 0 && k < list->count; ++k) {
            const perpi_candidate* t = &list->item[k];
            most = t->group == most->group && t->gap > most->gap ? t : most;
        }
        worst = worst == NULL || most->gap < worst->gap ? most : worst;
    }
    if (worst == NULL) {
        return c->side_always;
    }
    if (c->side_always && v3_dot(open->normal, side) < 0.0) {
        return true;
    }
    return v3_dot(worst->normal, side) < 0.0 &&
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

static routine routine_of(const perpi_collider* c, const perpi_broad_pair* pair,
                          const perpi_candidate_rule* rule)
{
    const perpi_shape* shape = c->model->shape;
    const perp_shape_type a = shape[pair->shape_a].type, b = shape[pair->shape_b].type;
    return rule != NULL && !rule->overlap_only ? c->grouped[a][b] : c->plain[a][b];
}

/* Bound of the rotation of a pair. A soft layer gives way: the gaps of several points matter at once. */
static double turn_most_of(const perpi_collider* c, const perpi_broad_pair* pair)
{
    return c->turn_most == NULL || perpi_model_layer(c->model, pair->body_a, pair->body_b).soft
               ? INFINITY
               : c->turn_most[pair->body_a] + c->turn_most[pair->body_b];
}

/* The most that points of body `to` move against the frame of `from`: rotation by w moves a point
 * at d by w x d up to |w|^2 |d| / 2. */
static double travel_against(const perpi_body_motion* from, const perpi_body_motion* to, vec3 d)
{
    const vec3 shift = v3_sub(v3_sub(to->shift, from->shift), v3_cross(from->turn, d));
    return v3_norm(shift) + 0.5 * v3_dot(from->turn, from->turn) * v3_norm(d) +
           v3_norm(v3_sub(to->turn, from->turn)) * to->reach;
}

/* The same for the two bodies of a pair, the smaller bound; d: from a to b. Two points at a
 * distance g move by up to |w| g more than two at one place; INFINITY where that is much. */
static double relative_travel(const perpi_body_motion* a, const perpi_body_motion* b, vec3 d)
{
    const double of_b = travel_against(a, b, d), of_a = travel_against(b, a, v3_neg(d));
    const double turn = v3_norm(of_b < of_a ? a->turn : b->turn);
    return turn < 0.5 ? (of_b < of_a ? of_b : of_a) / (1.0 - turn) : INFINITY;
}

static bool is_fine(const perpi_collider* c, int32_t shape)
{
    const perpi_polyhedron* p = c->model->shape[shape].polyhedron;
    return p != NULL && p->face_count > PERPI_MANY_FACES;
}

static bool has_many_faces(const perpi_collider* c, const perpi_broad_pair* pair)
{
    return is_fine(c, pair->shape_a) && is_fine(c, pair->shape_b);
}

/* A polyhedron with many faces over a plane. */
static bool is_over_plane(const perpi_collider* c, const perpi_broad_pair* pair)
{
    const int32_t a = pair->shape_a, b = pair->shape_b;
    return (c->model->shape[a].type == PERP_SHAPE_PLANE && is_fine(c, b)) ||
           (c->model->shape[b].type == PERP_SHAPE_PLANE && is_fine(c, a));
}

static double pair_travel(const perpi_broad_pair* pair, const perpi_pose* pose,
                          const perpi_body_motion* motion)
{
    return relative_travel(&motion[pair->body_a], &motion[pair->body_b],
                           v3_sub(pose[pair->body_b].x, pose[pair->body_a].x));
}

/* Within which distance features of a pair are searched. */
static double reach_of(const perpi_collider* c, const perpi_broad_pair* pair,
                       const perpi_pose* pose, const double* margin)
{
    const double sum = margin[pair->body_a] + margin[pair->body_b];
    if (c->motion == NULL || !has_many_faces(c, pair)) {
        return sum;
    }
    const double reach = MORE_TRAVEL * pair_travel(pair, pose, c->motion) + PART_OF_MARGIN * sum;
    return reach < sum ? reach : sum;
}

static double relative_turn(const perpi_broad_pair* pair, const perpi_body_motion* motion)
{
    return v3_norm(v3_sub(motion[pair->body_b].turn, motion[pair->body_a].turn));
}

/* Bound of the rotation over a plane, of a body whose motion is expected; most: by the margins. */
static double bound_turn(const perpi_collider* c, const perpi_broad_pair* pair, double most)
{
    const double turn = MORE_TRAVEL * relative_turn(pair, c->motion) + PART_OF_MARGIN * most;
    return turn < most ? turn : most;
}

/* Whether the pair moves no further than it was searched. */
static bool moves_within(const pair_record* r, const perpi_pose* pose,
                         const perpi_body_motion* motion)
{
    return (!r->relative || pair_travel(&r->pair, pose, motion) <= r->reach) &&
           (!r->turn_bound || relative_turn(&r->pair, motion) <= r->turn_most);
}

bool perpi_collider_moved_further(const perpi_collider* c, const perpi_body_motion* motion)
{
    for (size_t i = 0; i < c->last_count; ++i) {
        const pair_record* r = &c->last[i];
        if (!moves_within(r, c->last_pose, motion)) {
            return true;
        }
    }
    return false;
}

/* What the candidates of the pair depend on; also the rotations in the list. */
static void describe_pair(const perpi_collider* c, const perpi_broad_pair* pair,
                          const perpi_pose* pose, const double* margin, bool flipped,
                          perpi_candidate_list* list, pair_record* r)
{
    /* still is set already, and what was found is set by the caller */
    r->pair = *pair;
    r->rule = rule_of(c, pair);
    r->reach = reach_of(c, pair, pose, margin);
    r->patch = patch_of(c, pair);
    r->turn = INFINITY;
    r->turn_most = turn_most_of(c, pair);
    r->always = c->side_always;
    r->turn_bound = false;
    r->spins = 0;
    r->owner = c->model->body[pair->body_a].layer.patch == r->patch ? pair->body_a : pair->body_b;
    r->relative = r->reach < margin[pair->body_a] + margin[pair->body_b];
    if (c->motion != NULL && isfinite(r->turn_most) && is_over_plane(c, pair)) {
        r->turn_most = bound_turn(c, pair, r->turn_most);
        r->turn_bound = true;
    }
    list->spins = 0;
    if (c->turn != NULL) {
        const perpi_turn *a = &c->turn[pair->body_a], *b = &c->turn[pair->body_b];
        r->turn = list->turn = a->slack + b->slack;
        for (int32_t i = 0; i < c->spins; ++i) {
            const vec3 spin = v3_sub(b->spin[i], a->spin[i]);
            add_spin(list, flipped ? v3_neg(spin) : spin);
        }
        r->spins = list->spins;
        memcpy(r->spin, list->spin, (size_t)list->spins * sizeof *list->spin);
    }
    const perpi_candidate_side* side = c->side_count > 0 ? side_of(c, pair) : NULL;
    r->sided = side != NULL;
    r->side = side != NULL ? side->normal : v3(0, 0, 0);
}

/* Adds the candidates of a pair to the list. */
static perp_status narrow_phase(const perpi_collider* c, pair_record* r, const routine* known,
                                perpi_candidate_list* list)
{
    const perpi_pair_fn find = known->find;
    const bool flipped = known->flipped;
    const perpi_shape* shape = c->model->shape;
    const perpi_broad_pair* pair = &r->pair;
    const bool overlap_only = r->rule != NULL && r->rule->overlap_only;
    list->rule = overlap_only ? NULL : r->rule;
    list->group = 0;
    list->secondary = false;
    list->body_a = pair->body_a;
    list->body_b = pair->body_b;
    list->shape_a = pair->shape_a;
    list->shape_b = pair->shape_b;
    list->flipped = flipped;
    list->soft = c->model->body[pair->body_a].layer.soft || c->model->body[pair->body_b].layer.soft;
    list->still = list->rule != NULL ? r->still : NULL;
    list->separation = &r->separation;
    list->turn = r->turn;
    list->turn_most = r->turn_most;
    const size_t first = list->count;
    const int32_t one = flipped ? pair->shape_b : pair->shape_a;
    const int32_t two = flipped ? pair->shape_a : pair->shape_b;
    perp_status status =
        r->patch > 0.0
            ? perpi_patch_find(&shape[one], &c->pose[one], &shape[two], &c->pose[two], r->patch,
                               r->owner, r->reach, list)
            : find(&shape[one], &c->pose[one], &shape[two], &c->pose[two], r->reach, list);
    if (status == PERP_OK && r->sided && !(r->patch > 0.0) &&
        on_wrong_side(c, list, r->side, first)) {
        bool other;
        const perpi_pair_fn sided =
            perpi_pair_sided(shape[pair->shape_a].type, shape[pair->shape_b].type, &other);
        if (sided != NULL) {
            const int32_t s = other ? pair->shape_b : pair->shape_a;
            const int32_t t = other ? pair->shape_a : pair->shape_b;
            list->count = first;
            list->flipped = other;
            list->sided = true;
            list->side = other ? v3_neg(r->side) : r->side;
            status = sided(&shape[s], &c->pose[s], &shape[t], &c->pose[t], r->reach, list);
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

/* ---- all pairs ------------------------------------------------------------------------------------ */

static bool pair_before(const perpi_broad_pair* a, const perpi_broad_pair* b)
{
    return a->body_a != b->body_a     ? a->body_a < b->body_a
           : a->body_b != b->body_b   ? a->body_b < b->body_b
           : a->shape_a != b->shape_a ? a->shape_a < b->shape_a
                                      : a->shape_b < b->shape_b;
}

/* The record of the pair in the last call, if it has one: from *at on, or anywhere at first. */
static const pair_record* last_record(const perpi_collider* c, const perpi_broad_pair* pair,
                                      size_t* at)
{
    if (*at == SIZE_MAX) {
        size_t low = 0, high = c->last_count;
        while (low < high) {
            const size_t mid = low + (high - low) / 2;
            if (pair_before(&c->last[mid].pair, pair)) {
                low = mid + 1;
            } else {
                high = mid;
            }
        }
        *at = low;
    }
    while (*at < c->last_count && pair_before(&c->last[*at].pair, pair)) {
        *at += 1;
    }
    return *at < c->last_count && !pair_before(pair, &c->last[*at].pair) ? &c->last[*at] : NULL;
}

/* Bits, so that a NaN is never the same. */
static bool same_vector(vec3 a, vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static bool same_description(const pair_record* a, const pair_record* b)
{
    bool same = a->rule == b->rule && a->reach == b->reach && a->patch == b->patch &&
                a->owner == b->owner && a->turn == b->turn && a->turn_most == b->turn_most &&
                a->spins == b->spins && a->sided == b->sided && a->always == b->always &&
                same_vector(a->side, b->side);
    for (int32_t i = 0; same && i < a->spins; ++i) {
        same = same_vector(a->spin[i], b->spin[i]);
    }
    return same;
}

typedef struct narrow_job {
    perpi_collider* c;
    const perpi_pose* pose; /* of each body */
    const double* margin;
} narrow_job;

/* The newest expected rotation is one of those of the last call, up to the error that it allowed for. */
static bool spins_as_before(const pair_record* last, const pair_record* now)
{
    bool same = now->spins == 0 && last->spins == 0;
    for (int32_t i = 0; i < last->spins && now->spins > 0 && !same; ++i) {
        const vec3 off = v3_sub(now->spin[now->spins - 1], last->spin[i]);
        same = v3_dot(off, off) <= last->turn * last->turn;
    }
    return same;
}

/* In a further round of a step: the pair moves no further than it was searched in the last one, so that another
 * search could only find features that stay open. Then the description of the last call holds. */
static bool searched_enough(const narrow_job* job, const pair_record* last, pair_record* r)
{
    const perpi_collider* c = job->c;
    if (!c->again || !has_many_faces(c, &r->pair) || !isfinite(last->turn_most) ||
        last->rule != r->rule || last->turn != r->turn || last->sided != r->sided ||
        last->always != r->always || !same_vector(last->side, r->side) || last->patch != r->patch ||
        !(pair_travel(&r->pair, job->pose, c->motion) <= last->reach) ||
        !(relative_turn(&r->pair, c->motion) <= last->turn_most) || !spins_as_before(last, r)) {
        return false;
    }
    const pair_record now = *r;
    *r = *last;
    r->relative = true;
    r->first = now.first;
    r->still = now.still;
    return true;
}

/* The candidates of the last call, for a pair that has not changed. */
static perp_status copy_candidates(const perpi_collider* c, const pair_record* last,
                                   perpi_candidate_list* list)
{
    const perp_status status = perpi_grow(list->context, &list->item, &list->capacity,
                                          list->count + last->count, sizeof *list->item);
    if (status == PERP_OK && last->count > 0) {
        memcpy(list->item + list->count, c->last_item + last->first,
               last->count * sizeof *list->item);
        list->count += last->count;
    }
    list->deepest = last->deepest;
    list->overflow = last->overflow;
    return status;
}

/* Joints keep the pair farther apart than it is searched. */
static bool kept_apart(const narrow_job* job, const pair_record* r)
{
    return job->c->reach != NULL && !r->sided && !(r->patch > 0.0) &&
           perpi_reach_apart(job->c->reach, job->pose, r->pair.body_a, r->pair.body_b, r->reach);
}

/* The pairs of one lane, in their order; records have their places in the list of the lane. */
static perp_status narrow_lane(perpi_lane* lane, void* data)
{
    const narrow_job* job = data;
    perpi_collider* c = job->c;
    perpi_candidate_list* list = lane->index == 0 ? &c->list : &c->lane[lane->index];
    size_t begin, end, at = SIZE_MAX;
    perp_status status = PERP_OK;
    list->context = lane->context;
    list->count = 0;
    perpi_lane_part(lane, c->broad.pair_count, &begin, &end);
    for (size_t i = begin; i < end && status == PERP_OK; ++i) {
        const perpi_broad_pair* pair = &c->broad.pair[i];
        pair_record* r = &c->record[i];
        const routine known = routine_of(c, pair, rule_of(c, pair));
        lane->at = (int64_t)i;
        describe_pair(c, pair, job->pose, job->margin, known.flipped, list, r);
        r->first = list->count;
        list->deepest = 0.0;
        list->overflow = 0;
        const pair_record* last = last_record(c, pair, &at);
        r->separation = last != NULL ? last->separation : (perpi_separation){0};
        if (last != NULL && !c->moved[pair->body_a] && !c->moved[pair->body_b] &&
            (same_description(last, r) || searched_enough(job, last, r))) {
            status = copy_candidates(c, last, list);
        } else if (known.find != NULL && !kept_apart(job, r)) {
            status = narrow_phase(c, r, &known, list);
        }
        r->count = list->count - r->first;
        r->deepest = list->deepest;
        r->overflow = list->overflow;
    }
    return status;
}

/* Pairs that may collide, in place, and their memories. */
static void drop_pairs(perpi_collider* c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->broad.pair_count; ++i) {
        const perpi_broad_pair pair = c->broad.pair[i];
        if (perpi_collider_allows(c, pair.body_a, pair.body_b)) {
            c->record[kept].still = memory_of(c, &pair);
            c->broad.pair[kept++] = pair;
        }
    }
    c->broad.pair_count = kept;
}

/* Joins the lists of the lanes, in the order of the pairs. */
static perp_status join_lists(perpi_collider* c, int32_t lanes)
{
    size_t count = 0;
    for (int32_t k = 0; k < lanes; ++k) {
        count += k == 0 ? c->list.count : c->lane[k].count;
    }
    const perp_status status =
        perpi_grow(c->context, &c->list.item, &c->list.capacity, count, sizeof *c->list.item);
    for (int32_t k = 1; status == PERP_OK && k < lanes; ++k) {
        const perpi_lane lane = {.index = k, .count = lanes};
        size_t begin, end;
        perpi_lane_part(&lane, c->broad.pair_count, &begin, &end);
        for (size_t i = begin; i < end; ++i) {
            c->record[i].first += c->list.count;
        }
        if (c->lane[k].count > 0) {
            memcpy(c->list.item + c->list.count, c->lane[k].item,
                   c->lane[k].count * sizeof *c->list.item);
        }
        c->list.count += c->lane[k].count;
    }
    c->list.deepest = 0.0;
    c->list.overflow = 0;
    for (size_t i = 0; i < c->broad.pair_count; ++i) {
        const pair_record* r = &c->record[i];
        c->list.deepest = r->deepest > c->list.deepest ? r->deepest : c->list.deepest;
        c->list.overflow += r->overflow;
    }
    return status;
}

static perp_status find_candidates(perpi_collider* c, const perpi_pose* pose, const double* margin)
{
    narrow_job job = {c, pose, margin};
    perp_status status = perpi_grow(c->context, &c->record, &c->record_capacity,
                                    c->broad.pair_count, sizeof *c->record);
    if (status == PERP_OK) {
        drop_pairs(c);
    }
    const int32_t lanes = perpi_lanes_for(c->context, (int64_t)c->broad.pair_count, PAIR_GRAIN);
    if (status == PERP_OK && lanes > 1 && c->lane == NULL) {
        status = perpi_alloc(c->context, PERPI_LANES_MOST, sizeof *c->lane, &c->lane);
    }
    for (int32_t k = 0; status == PERP_OK && c->leaves && k < lanes; ++k) {
        perpi_candidate_list* list = k == 0 ? &c->list : &c->lane[k];
        if (list->leaves == NULL) {
            status = perpi_alloc(c->context, 1, perpi_leaf_memory_size(), &list->leaves);
        }
    }
    if (status == PERP_OK) {
        status = perpi_run_lanes(c->context, lanes, narrow_lane, &job);
    }
    c->list.context = c->context;
    return status == PERP_OK ? join_lists(c, lanes) : status;
}

/* What has been found becomes the last call. The lists of both calls have the same capacity, so that the
 * next call with these candidates requests no memory. */
static perp_status remember_call(perpi_collider* c, const perpi_pose* pose)
{
    perp_status status =
        perpi_grow(c->context, &c->last, &c->last_capacity, c->record_capacity, sizeof *c->last);
    if (status == PERP_OK) {
        status = perpi_grow(c->context, &c->last_item, &c->last_item_capacity, c->list.capacity,
                            sizeof *c->last_item);
    }
    if (status != PERP_OK) {
        return status;
    }
    pair_record* t = c->last;
    c->last = c->record;
    c->record = t;
    const size_t capacity = c->last_capacity;
    c->last_capacity = c->record_capacity;
    c->record_capacity = capacity;
    c->last_count = c->broad.pair_count;
    c->last_length = c->model->length;
    if (c->model->body_count > 0) {
        memcpy(c->last_pose, pose, c->model->body_count * sizeof *pose);
    }
    return PERP_OK;
}

/* Candidates of the last call move to the other list, whose place the next ones take. */
static void begin_call(perpi_collider* c, const perpi_pose* pose)
{
    perpi_candidate* item = c->last_item;
    const size_t capacity = c->last_item_capacity;
    c->last_item = c->list.item;
    c->last_item_capacity = c->list.capacity;
    c->list.item = item;
    c->list.capacity = capacity;
    c->list.count = 0;
    if (c->last_length != c->model->length) {
        c->last_count = 0;
    }
    for (size_t i = 0; i < c->model->body_count; ++i) {
        c->moved[i] = memcmp(&c->last_pose[i], &pose[i], sizeof pose[i]) != 0;
    }
}

perp_status perpi_collide(perpi_collider* collider, const perpi_pose* pose, const double* margin,
                          const perpi_candidate** candidate, size_t* count)
{
    perpi_collider* c = collider;
    c->broad.pair_count = 0;
    begin_call(c, pose);
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
    if (status == PERP_OK) {
        status = find_candidates(c, pose, margin);
    }
    if (status == PERP_OK) {
        status = remember_call(c, pose);
    }
    if (status != PERP_OK) {
        c->last_count = 0;
        return status;
    }
    *candidate = c->list.item;
    *count = c->list.count;
    return PERP_OK;
}
