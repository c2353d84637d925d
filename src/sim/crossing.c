/* src/sim/crossing.c - the side check of a step: no body passes through another.
 *
 * When a trial step has been computed, and before it is accepted, the pairs of convex pieces whose
 * relative motion is long enough to change sides (collide/crossing.h) are followed from the start
 * of the step to its end. For a pair that has crossed, the step is computed again with the missing
 * constraint:
 *   1. all feature pairs of the two as plain contacts: no groups, open ones included, within the
 *      distance of the motion that was found, whatever margin the scene sets;
 *   2. if these were present already, or did not help: an additional contact between the points
 *      that
 *      touched first, along the normal there. Its gap at the start is chosen so that the linearised
 *      motion of the step ends where the true one does, which accounts for rotation. Features of
 *      the pair that push the other way are left out;
 *   3. if the smaller body turns by more than a radian in the step, or 2 failed MAX_CANDIDATES
 *      times,
 *      or had no solution: instead of its point, the ball about its centre of mass that contains
 *      the
 *      piece is kept on the side of the first contact. This holds for every rotation;
 *   4. if that changed nothing (the ball overlaps the other body already, and slides along it past an edge): the
 *      ball is pushed back, by a quarter of the way that the pair moved on, then by twice that (PUSH_PART).
 * If the pair still crosses after MAX_CROSSINGS solves, the step fails.
 *
 * Pieces of one body may overlap, and a floor may consist of several pieces: a first contact on a
 * face that another piece covers is ignored.
 */
#include <string.h>

#include "sim/internal.h"
#include "step/layer_core.h"

enum {
    MAX_CANDIDATES = 4,
    PUSH_DOUBLED = 3, /* times: rotation may take back more than all of the way */
};
/* Relative to the smaller thickness: pairs that move further, or penetrate deeper, are checked.
 * Half the sum of both would suffice (collide/crossing.c); the smaller value leaves a reserve
 * for rotated bodies. */
static const double CHECK_AT = 0.5;
/* Steppers without a gap term: the part of the depth beyond CHECK_AT that a step corrects. A
 * step at speed u penetrates by h u at most, so the correction velocity is u / 4 or less: a
 * sixteenth of the initial kinetic energy. */
static const double PART_RATE = 0.25;
/* The part of the way beyond the first contact by which a ball is pushed back, the first time. */
static const double PUSH_PART = 0.25;
/* Relative to the thickness, and of a unit vector: the additional contact is the one that is there already. */
static const double SAME_CONTACT = 1e-9;
/* Reserve over the motion found, as in margin.c. */
static const double RESERVE = 1.1;
/* Relative to the thickness of the pair: how deep an active contact may penetrate in an adaptive
 * step. */
static const double ACTING_DEPTH = 0.25;
/* Relative to the thickness of the pair: at this distance from the face a point must be outside
 * all other pieces, so that the face belongs to the outer surface. */
static const double COVER = 1e-3;

perp_status perpi_sides_create(perp_context* context, const perp_model* model, perpi_sides* x)
{
    x->broad.context = context;
    perp_status status = perpi_alloc(context, model->shape_count, sizeof(double), &x->thickness);
    if (status == PERP_OK) {
        status = perpi_alloc(context, model->body_count, sizeof(double), &x->radius);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, model->body_count, sizeof(double), &x->travel);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, model->body_count, sizeof *x->path, &x->path);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &x->broad.item, &x->broad.item_capacity, model->shape_count,
                            sizeof *x->broad.item);
    }
    if (status != PERP_OK) {
        return status;
    }
    /* the smaller thickness of the thinnest pair that can meet; two points cannot */
    double thin[2] = {INFINITY, INFINITY};
    bool points = false;
    for (size_t b = 0; b < model->body_count; ++b) {
        double least = INFINITY;
        for (int32_t k = 0; k < model->body[b].shape_count; ++k) {
            const int32_t i = model->body[b].shape + k;
            const perpi_shape* shape = &model->shape[i];
            if (shape->intangible || !perpi_shape_ops_of(shape->type)->bounded) {
                x->thickness[i] = INFINITY;
                continue;
            }
            x->thickness[i] = perpi_shape_thickness(shape);
            x->radius[b] = fmax(x->radius[b], perpi_shape_radius(shape));
            points = points || !(x->thickness[i] > 0.0);
            least = x->thickness[i] > 0.0 ? fmin(least, x->thickness[i]) : least;
        }
        if (least < thin[0]) {
            thin[1] = thin[0];
            thin[0] = least;
        } else if (least < thin[1]) {
            thin[1] = least;
        }
    }
    x->least = points || thin[1] < INFINITY ? thin[0] : INFINITY;
    x->depth = INFINITY; /* not known */
    return PERP_OK;
}

void perpi_sides_destroy(perp_context* context, perpi_sides* x)
{
    perpi_free(context, x->thickness);
    perpi_free(context, x->radius);
    perpi_free(context, x->travel);
    perpi_free(context, x->path);
    perpi_free(context, x->passage);
    perpi_free(context, x->missing);
    perpi_broad_free(&x->broad);
}

/* ---- bounds of the motion -------------------------------------------------------------------- */

/* An upper bound of the displacement of any point of the body between the two poses. */
static double travel_of(const perpi_step* step, double h, const double* q, int32_t i)
{
    const perp_model* model = step->model;
    const int32_t n = perpi_q_stride(model);
    const double *from = q + (size_t)i * (size_t)n, *to = step->to->q + (size_t)i * (size_t)n;
    const double r = step->sides->radius[i];
    const double x = to[0] - from[0], y = to[1] - from[1];
    if (model->dimension == 2) {
        return sqrt(x * x + y * y) + fabs(to[2] - from[2]) * r;
    }
    const double z = to[2] - from[2];
    double chord = 0.0;
    for (int k = 3; k < 7; ++k) {
        chord += (to[k] - from[k]) * (to[k] - from[k]);
    }
    /* angle <= 2.23 |difference of the quaternions| up to half a turn; beyond it use the rate */
    const double w = v3_norm(perpi_state_rate(model, step->to->v, i));
    return sqrt(x * x + y * y + z * z) + fmax(2.23 * sqrt(chord), h * w) * r;
}

/* The rotation vector from one pose to the next; of the equivalent ones the nearest to h times
 * the rate. */
static vec3 turn_of(quat from, quat to, vec3 guess)
{
    const vec3 r = q4_log(q4_mul(to, q4_conj(from)));
    const double angle = v3_norm(r), half = 3.14159265358979323846, whole = 2.0 * half;
    if (!(v3_norm(v3_sub(r, guess)) > 0.5 * half) || !(angle > 0.0)) {
        return r;
    }
    const double k = round((v3_dot(r, guess) / angle - angle) / whole);
    return v3_scale((angle + k * whole) / angle, r);
}

static perpi_path path_of(const perpi_step* step, double h, const double* q, const double* v,
                          int32_t i)
{
    const perp_model* model = step->model;
    const perpi_pose to = perpi_state_pose(model, step->to->q, i);
    perpi_path path = {.start = perpi_state_pose(model, q, i)};
    path.dx = v3_sub(to.x, path.start.x);
    if (model->dimension == 2) {
        path.turn = v3(0.0, 0.0, step->to->q[3 * i + 2] - q[3 * i + 2]);
    } else {
        path.turn =
            turn_of(path.start.q, to.q, v3_scale(h, perpi_state_rate(model, step->to->v, i)));
    }
    if (v != NULL && model->body[i].dofs > 0) { /* a parabola with initial velocity v */
        const vec3 start = v3_scale(h, perpi_state_velocity(model, v, i));
        path.bend = v3_sub(path.dx, start);
        path.dx = start;
    }
    return path;
}

/* Bounding box of the motion of a shape. */
static perpi_bounds swept_bounds(const perpi_shape* shape, const perpi_path* path)
{
    const perpi_pose pose = perpi_pose_mul(&path->start, &shape->local);
    perpi_bounds box = perpi_shape_ops_of(shape->type)->bounds(shape, &pose);
    const double turn = v3_norm(path->turn), r = perpi_shape_radius(shape);
    const double out = turn * r < 2.0 * r ? turn * r : 2.0 * r;
    /* control points of the parabola: 0, dx / 2, dx + bend */
    const vec3 a = v3_scale(0.5, path->dx), b = v3_add(path->dx, path->bend);
    const double from[3] = {a.x, a.y, a.z}, to[3] = {b.x, b.y, b.z};
    double lo[3], hi[3];
    for (int k = 0; k < 3; ++k) {
        lo[k] = v3_get(box.lo, k) + perpi_smaller(0.0, perpi_smaller(from[k], to[k])) - out;
        hi[k] = v3_get(box.hi, k) + perpi_larger(0.0, perpi_larger(from[k], to[k])) + out;
    }
    return (perpi_bounds){v3_from(lo), v3_from(hi)};
}

/* ---- pairs that meet within the step --------------------------------------------------------- */

/* Whether the touched face lies inside another piece, so that nothing can touch it: a piece of
 * the same body, or of a floor of several bodies without relative motion. A face inside a third
 * body that penetrates there still counts. */
static bool covered(const perpi_step* step, const perpi_broad_pair* pair, const perpi_passage* p)
{
    const perp_model* model = step->model;
    const perpi_sides* x = step->sides;
    const double off = COVER * (x->thickness[pair->shape_a] + x->thickness[pair->shape_b]);
    const vec3 at[2] = {v3_madd(p->point[0], off, p->normal),
                        v3_madd(p->point[1], -off, p->normal)};
    for (int32_t b = 0; b < (int32_t)model->body_count; ++b) {
        const bool fixed_a = model->body[pair->body_a].type == PERP_BODY_STATIC;
        const bool fixed_b = model->body[pair->body_b].type == PERP_BODY_STATIC;
        const int side = b == pair->body_b || (b != pair->body_a && fixed_b) ? 1 : 0;
        const bool laid = model->body[b].type == PERP_BODY_STATIC && (fixed_a || fixed_b);
        if (b != pair->body_a && b != pair->body_b && !laid) {
            continue;
        }
        const perpi_pose pose = perpi_path_at(&x->path[b], p->first);
        if (v3_norm(v3_sub(at[side], pose.x)) > model->body[b].reach + off) {
            continue;
        }
        for (int32_t k = 0; k < model->body[b].shape_count; ++k) {
            const int32_t i = model->body[b].shape + k;
            const perpi_shape* shape = &model->shape[i];
            if (i == pair->shape_a || i == pair->shape_b || shape->intangible ||
                shape->type == PERP_SHAPE_PARTICLE) {
                continue;
            }
            if (perpi_shape_holds(shape, &pose, at[side], 0.5 * off)) {
                return true;
            }
        }
    }
    return false;
}

static perp_status place_moving(perpi_step* step, double farthest, double deepest)
{
    const perp_model* model = step->model;
    perpi_sides* x = step->sides;
    x->broad.item_count = 0;
    x->broad.pair_count = 0;
    for (int32_t b = 0; b < (int32_t)model->body_count; ++b) {
        const perpi_body* body = &model->body[b];
        for (int32_t k = 0; k < body->shape_count; ++k) {
            const int32_t i = body->shape + k;
            const perpi_shape* shape = &model->shape[i];
            if (shape->intangible || !perpi_shape_ops_of(shape->type)->bounded ||
                x->travel[b] + farthest + deepest < CHECK_AT * x->least) {
                continue;
            }
            const perpi_bounds box = swept_bounds(shape, &x->path[b]);
            if (!isfinite(v3_dot(box.lo, box.lo) + v3_dot(box.hi, box.hi))) {
                continue; /* the step fails for this reason */
            }
            x->broad.item[x->broad.item_count++] =
                (perpi_broad_item){box, i, b, body->type == PERP_BODY_DYNAMIC};
        }
    }
    return perpi_broad_find(&x->broad);
}

/* The smaller thickness; a point has none. */
static double smaller_thickness(double a, double b)
{
    return a > 0.0 && b > 0.0 ? fmin(a, b) : fmax(a, b);
}

/* Most pairs that move fast slide: then a contact of the pair has the normal that separates
 * them. */
static bool held_by_contact(const perpi_step* step, const perpi_broad_pair* pair)
{
    const perp_model* model = step->model;
    const perp_contact first = {.body_a = pair->body_a,
                                .body_b = pair->body_b,
                                .key = perpi_key_of(pair->shape_a, pair->shape_b, 0)};
    size_t low = 0, high = step->to->contacts.count;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (perpi_contact_before(&step->to->contacts.item[mid], &first)) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low == step->to->contacts.count ||
        !perpi_key_same_shapes(step->to->contacts.item[low].key, first.key)) {
        return false;
    }
    return perpi_passage_none(&model->shape[pair->shape_a], &step->sides->path[pair->body_a],
                              &model->shape[pair->shape_b], &step->sides->path[pair->body_b],
                              v3_from(step->to->contacts.item[low].normal));
}

/* Pairs of pieces that overlap on the way from (q, v) to the next state, into sides->passage. v:
 * NULL if the path is straight. */
static perp_status find_passages(perpi_step* step, double h, const double* q, const double* v,
                                 double deepest)
{
    const perp_model* model = step->model;
    perpi_sides* x = step->sides;
    const int32_t bodies = (int32_t)model->body_count;
    double most[2] = {0.0, 0.0};
    x->passage_count = 0;
    if (!(x->least < INFINITY)) {
        return PERP_OK; /* no pair is close enough */
    }
    for (int32_t i = 0; i < bodies; ++i) {
        double t = travel_of(step, h, q, i);
        if (v != NULL) { /* the parabola is no longer than its two control segments */
            t += 2.0 * h * v3_norm(perpi_state_velocity(model, v, i));
        }
        x->travel[i] = t;
        if (t > most[0]) {
            most[1] = most[0];
            most[0] = t;
        } else if (t > most[1]) {
            most[1] = t;
        }
    }
    x->farthest = most[0] + most[1];
    x->checked = !(x->farthest + deepest < CHECK_AT * x->least);
    if (!x->checked) {
        return PERP_OK;
    }
    for (int32_t i = 0; i < bodies; ++i) {
        x->path[i] = path_of(step, h, q, v, i);
    }
    perp_status status = place_moving(step, most[0], deepest);
    if (status == PERP_OK) {
        status = perpi_broad_sort(&x->broad, model->body_count, model->shape_count);
    }
    for (size_t k = 0; status == PERP_OK && k < x->broad.pair_count; ++k) {
        const perpi_broad_pair* pair = &x->broad.pair[k];
        const int32_t a = pair->shape_a, b = pair->shape_b;
        const perpi_path *path_a = &x->path[pair->body_a], *path_b = &x->path[pair->body_b];
        const double thin = smaller_thickness(x->thickness[a], x->thickness[b]);
        const double move = v3_norm(v3_sub(path_b->dx, path_a->dx)) +
                            v3_norm(v3_sub(path_b->bend, path_a->bend)) +
                            v3_norm(path_a->turn) * perpi_shape_radius(&model->shape[a]) +
                            v3_norm(path_b->turn) * perpi_shape_radius(&model->shape[b]);
        if (move + deepest < CHECK_AT * thin || !(thin > 0.0) ||
            !perpi_collider_allows(step->collider, pair->body_a, pair->body_b) ||
            held_by_contact(step, pair)) {
            continue;
        }
        const perpi_passage p = perpi_passage_find(model->dimension, &model->shape[a], path_a,
                                                   &model->shape[b], path_b);
        if (!p.met || covered(step, pair, &p)) {
            continue;
        }
        status = perpi_grow(step->context, &x->passage, &x->passage_capacity, x->passage_count + 1,
                            sizeof *x->passage);
        if (status == PERP_OK) {
            x->passage[x->passage_count++] = (perpi_sim_passage){*pair, p};
        }
    }
    return status;
}

double perpi_pair_thickness(const perpi_step* step, uint64_t key)
{
    return step->sides->thickness[perpi_key_shape_a(key)] +
           step->sides->thickness[perpi_key_shape_b(key)];
}

perp_status perpi_path_gap(perpi_step* step, double h, const uint64_t* key, size_t count,
                           double* gap)
{
    const perpi_sides* x = step->sides;
    const perp_status status =
        find_passages(step, h, step->from->q, step->from->v, step->trial->info->penetration);
    for (size_t i = 0; status == PERP_OK && i < x->passage_count; ++i) {
        const perpi_sim_passage* met = &x->passage[i];
        bool acts = false; /* the gap of an active contact is bounded by its constraint */
        for (size_t k = 0; k < count; ++k) {
            acts = acts || (perpi_key_shape_a(key[k]) == met->pair.shape_a &&
                            perpi_key_shape_b(key[k]) == met->pair.shape_b);
        }
        /* up to a quarter of the thickness, the overlap from extrapolation is corrected in the
         * next step */
        const double allowed =
            acts
                ? ACTING_DEPTH * (x->thickness[met->pair.shape_a] + x->thickness[met->pair.shape_b])
                : 0.0;
        *gap = fmin(*gap, met->passage.beyond + allowed);
    }
    return status;
}

/* ---- the missing constraints -------------------------------------------------------------------------*/

static bool keeps_pair(const perpi_sides* x, int32_t body_a, int32_t body_b)
{
    for (size_t i = 0; i < x->missing_count; ++i) {
        if (!x->missing[i].built && x->missing[i].body[0] == body_a &&
            x->missing[i].body[1] == body_b) {
            return true;
        }
    }
    return false;
}

static bool knows_pair(const perpi_sides* x, int32_t body_a, int32_t body_b)
{
    bool known = false;
    for (size_t i = 0; i < x->missing_count; ++i) {
        known = known || (x->missing[i].body[0] == body_a && x->missing[i].body[1] == body_b);
    }
    return known;
}

bool perpi_keeps_open(const perpi_step* step, const perp_contact* c)
{
    return step->sides->missing_count > 0 && keeps_pair(step->sides, c->body_a, c->body_b);
}

static perp_status remember(perpi_step* step, const perpi_missing* m)
{
    perpi_sides* x = step->sides;
    const perp_status status = perpi_grow(step->context, &x->missing, &x->missing_capacity,
                                          x->missing_count + 1, sizeof *x->missing);
    if (status == PERP_OK) {
        x->missing[x->missing_count++] = *m;
    }
    return status;
}

/* All features of the pair as plain contacts; with them those of other pieces of the two bodies
 * that have groups. */
static perp_status add_plain_contacts(perpi_step* step, const perpi_broad_pair* pair)
{
    const perpi_sides* x = step->sides;
    const int32_t body[2] = {pair->body_a, pair->body_b};
    for (int i = 0; i < 2; ++i) {
        step->margin[body[i]] = fmax(step->margin[body[i]], RESERVE * x->travel[body[i]]);
    }
    perp_status status =
        perpi_make_exception(step, perpi_key_of(pair->shape_a, pair->shape_b, 0), NULL);
    for (size_t k = 0; status == PERP_OK && k < step->to->contacts.count; ++k) {
        const perp_contact* c = &step->to->contacts.item[k];
        if (c->group != 0 && c->body_a == pair->body_a && c->body_b == pair->body_b) {
            status = perpi_make_exception(step, c->key, NULL);
        }
    }
    return status;
}

/* The side of the smaller body, of those that can move. */
static int smaller_side(const perpi_step* step, const perpi_missing* m)
{
    const double a = perpi_shape_radius(&step->model->shape[m->shape[0]]);
    const double b = perpi_shape_radius(&step->model->shape[m->shape[1]]);
    const bool moves_a = step->model->body[m->body[0]].dofs > 0;
    const bool moves_b = step->model->body[m->body[1]].dofs > 0;
    return moves_a && (!moves_b || a < b) ? 0 : 1;
}

/* Of two dynamic bodies: the side of the particle, -1 if there is none. It has no arm, so
 * impulses act at its centre. */
static int particle_side(const perpi_step* step, const perpi_missing* m)
{
    const perpi_body *a = &step->model->body[m->body[0]], *b = &step->model->body[m->body[1]];
    return a->dofs == 0 || b->dofs == 0 ? -1 : a->particle ? 0 : b->particle ? 1 : -1;
}

/* How far the ball moved off along the normal in the step that was found: its centre, and the point
 * of the other body that is there. */
static double moved_away(const perpi_step* step, const perpi_missing* m)
{
    const perpi_path *a = &step->sides->path[m->body[0]], *b = &step->sides->path[m->body[1]];
    const vec3 between = v3_sub(b->start.x, a->start.x);
    const vec3 turned = v3_cross(m->ball == 1 ? a->turn : b->turn, between);
    return v3_dot(m->normal, v3_sub(v3_sub(b->dx, a->dx), turned));
}

/* The push of a ball: none until one without it has changed nothing, then larger with each. */
static double push_of(const perpi_step* step, const perpi_missing* m)
{
    const perpi_sides* x = step->sides;
    const double small = SAME_CONTACT * (x->thickness[m->shape[0]] + x->thickness[m->shape[1]]);
    int32_t pushed = 0;
    bool same = false;
    for (size_t i = 0; i < x->missing_count; ++i) {
        const perpi_missing* o = &x->missing[i];
        if (o->built && o->ball == m->ball && o->shape[0] == m->shape[0] &&
            o->shape[1] == m->shape[1]) {
            pushed += o->push > 0.0;
            same = same || (fabs(o->beyond - m->beyond) <= small &&
                            v3_norm(v3_sub(o->normal, m->normal)) <= SAME_CONTACT);
        }
    }
    if (!(same || pushed > 0) || !(m->beyond < 0.0)) {
        return 0.0;
    }
    const double away = moved_away(step, m);
    const double part = PUSH_PART * (double)(1 << (pushed < PUSH_DOUBLED ? pushed : PUSH_DOUBLED));
    return (away > 0.0 ? away : 0.0) - part * m->beyond;
}

/* Points and normal of the first contact, in the bodies' frames. */
static perpi_missing contact_of(const perpi_step* step, const perpi_sim_passage* met)
{
    const perpi_passage* p = &met->passage;
    perpi_missing m = {.built = true,
                       .ball = -1,
                       .body = {met->pair.body_a, met->pair.body_b},
                       .shape = {met->pair.shape_a, met->pair.shape_b},
                       .normal = p->normal,
                       .beyond = p->beyond};
    const int dot = particle_side(step, &m);
    double end = 0.0, linear = 0.0;
    for (int i = 0; i < 2; ++i) {
        const perpi_path* path = &step->sides->path[m.body[i]];
        const perpi_pose touching = perpi_path_at(path, p->first), last = perpi_path_at(path, 1.0);
        const double sign = i == 0 ? -1.0 : 1.0;
        m.local[i] = m3_tmul(touching.R, v3_sub(p->point[i], touching.x));
        const vec3 arm = m3_mul(path->start.R, m.local[i]);
        const vec3 start = v3_add(path->start.x, arm);
        const vec3 acts =
            dot < 0 ? arm : v3_sub(step->sides->path[m.body[dot]].start.x, path->start.x);
        const vec3 move = v3_add(path->dx, v3_cross(path->turn, acts));
        end += sign * v3_dot(p->normal, perpi_pose_point(&last, m.local[i]));
        linear += sign * v3_dot(p->normal, v3_add(start, move));
    }
    m.shift = end - linear;
    m.normal_end = perpi_frame_carry(&step->sides->path[m.body[0]], &step->sides->path[m.body[1]],
                                     p->normal, p->first, 1.0);
    int32_t before = 0;
    for (size_t i = 0; i < step->sides->missing_count; ++i) {
        const perpi_missing* other = &step->sides->missing[i];
        before += other->built && other->body[0] == m.body[0] && other->body[1] == m.body[1];
    }
    const int small = smaller_side(step, &m);
    if (before >= MAX_CANDIDATES || v3_norm(step->sides->path[m.body[small]].turn) > 1.0) {
        m.ball = small;
        m.push = push_of(step, &m);
    }
    return m;
}

bool perpi_missing_points(const perpi_step* step)
{
    bool points = false;
    for (size_t i = 0; i < step->sides->missing_count; ++i) {
        points = points || step->sides->missing[i].ball < 0;
    }
    return points;
}

perp_status perpi_missing_balls(perpi_step* step, bool* changed)
{
    perpi_sides* x = step->sides;
    perp_status status = PERP_OK;
    *changed = false;
    for (size_t i = 0; i < x->missing_count; ++i) {
        perpi_missing* m = &x->missing[i];
        if (m->ball < 0) {
            m->built = true; /* replaces the plain contacts if it came from these */
            m->ball = smaller_side(step, m);
            *changed = true;
        }
    }
    if (!*changed) {
        return PERP_OK;
    }
    /* other fallbacks belonged to a problem that has changed */
    step->exception.count = 0;
    for (size_t i = 0; status == PERP_OK && i < x->missing_count; ++i) {
        const perpi_missing* m = &x->missing[i];
        status = perpi_make_exception(step, perpi_key_of(m->shape[0], m->shape[1], 0), NULL);
    }
    perpi_collider_set_rule(step->collider, step->contact_model->rule, step->exception.item,
                            step->exception.count);
    return status;
}

/* The contact candidate of an additional contact, at the poses in step->pose. */
static perpi_candidate candidate_of(const perpi_step* step, const perpi_missing* m, bool at_end)
{
    const perpi_pose *a = &step->pose[m->body[0]], *b = &step->pose[m->body[1]];
    const vec3 n = at_end ? m->normal_end : m->normal;
    vec3 on_a = perpi_pose_point(a, m->local[0]), on_b = perpi_pose_point(b, m->local[1]);
    double gap = v3_dot(n, v3_sub(on_b, on_a));
    vec3 point = v3_madd(on_b, -gap, n);
    if (m->ball >= 0) {
        const double r = perpi_shape_radius(&step->model->shape[m->shape[m->ball]]);
        /* through the centre of the ball, so that the impulse has no moment */
        on_a = m->ball == 0 ? v3_madd(a->x, r, n) : on_a;
        on_b = m->ball == 1 ? v3_madd(b->x, -r, n) : on_b;
        gap = v3_dot(n, v3_sub(on_b, on_a));
        gap = (gap > 0.0 || at_end ? gap : 0.0) - (at_end ? 0.0 : m->push);
        point = m->ball == 0 ? on_a : v3_madd(on_b, -gap, n);
    } else {
        /* at the dynamic body's point; of two dynamic bodies, halfway */
        point = step->model->body[m->body[0]].dofs == 0   ? point
                : step->model->body[m->body[1]].dofs == 0 ? on_a
                                                          : v3_scale(0.5, v3_add(on_a, point));
        gap = at_end ? gap : gap + m->shift;
        const int dot = particle_side(step, m);
        point = dot == 0 ? a->x : dot == 1 ? v3_madd(b->x, -gap, n) : point;
    }
    return (perpi_candidate){.body_a = m->body[0],
                             .body_b = m->body[1],
                             .shape_a = m->shape[0],
                             .shape_b = m->shape[1],
                             .point_a = point,
                             .point_b = v3_madd(point, gap, n),
                             .normal = n,
                             .gap = gap};
}

/* If all feature pairs in range are contacts, their gaps give the depth of overlap. Other models
 * omit some: there the depth is bounded by that of the last check plus the motion since. */
static bool holds_plainly(const perpi_step* step)
{
    return step->contact_model->rule == NULL && isnan(step->margin_given) &&
           !step->stepper->touching;
}

static perp_status add_missing_contact(perpi_step* step, const perpi_sim_passage* met)
{
    const perpi_broad_pair* pair = &met->pair;
    perpi_missing m = contact_of(step, met);
    perp_status status = PERP_OK;
    if (!holds_plainly(step) && !knows_pair(step->sides, pair->body_a, pair->body_b)) {
        m.built = false;
        m.ball = -1;
        status = add_plain_contacts(step, pair);
    }
    return status == PERP_OK ? remember(step, &m) : status;
}

/* How far the layers between the two can be compressed; 0: there are none. */
static double core_depth(const perpi_step* step, const perpi_broad_pair* pair)
{
    const perp_contact c = {.body_a = pair->body_a,
                            .body_b = pair->body_b,
                            .key = perpi_key_of(pair->shape_a, pair->shape_b, 0)};
    return perpi_model_layer(step->model, c.body_a, c.body_b).soft
               ? perpi_layer_core_depth(step->model, &c)
               : 0.0;
}

perp_status perpi_check_sides(perpi_step* step, double h, double deepest,
                              const perpi_sim_passage** crossed)
{
    perpi_sides* x = step->sides;
    *crossed = NULL;
    double depth = 0.0;
    const bool plain = holds_plainly(step);
    perp_status status =
        find_passages(step, h, step->from->q, NULL, plain ? deepest : fmax(deepest, x->depth));
    for (size_t i = 0; status == PERP_OK && i < x->passage_count; ++i) {
        const perpi_sim_passage* met = &x->passage[i];
        const double allowed = core_depth(step, &met->pair);
        if (met->passage.crossed && isinf(allowed)) {
            return perpi_fail(
                step->context, PERP_ERROR_SOLVE,
                "step %lld (t = %.9g): body '%.60s' is pressed through body '%.60s': the soft "
                "layer between them has no limit; give a max_deflection, or more stiffness",
                (long long)step->from->step + 1, step->from->time,
                step->model->body[met->pair.body_b].name, step->model->body[met->pair.body_a].name);
        }
        if (!met->passage.crossed || (allowed > 0.0 && met->passage.inside)) {
            depth = fmax(depth, met->passage.depth);
            continue; /* a soft layer may be compressed beyond the middle of a thin piece */
        }
        *crossed = met;
        status = add_missing_contact(step, met);
    }
    if (status == PERP_OK && *crossed == NULL && !plain) {
        x->depth = x->checked ? depth : x->depth + x->farthest;
    }
    if (status == PERP_OK && *crossed != NULL) {
        perpi_collider_set_rule(step->collider, step->contact_model->rule, step->exception.item,
                                step->exception.count);
    }
    return status;
}

perp_status perpi_moved_across(perpi_step* step, double h, double deepest, bool* across)
{
    *across = false;
    const perp_status status = find_passages(step, h, step->from->q, NULL, deepest);
    for (size_t i = 0; status == PERP_OK && i < step->sides->passage_count; ++i) {
        *across = *across || step->sides->passage[i].passage.crossed;
    }
    return status;
}

/* ---- their contacts ----------------------------------------------------------------------------------*/

/* Removes features of the pair that push to the other side; with a ball none is needed. */
static void drop_opposed(perpi_contact_list* list, const perpi_missing* m, vec3 n)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const perp_contact* c = &list->item[i];
        if (c->body_a == m->body[0] && c->body_b == m->body[1] && c->group == 0 &&
            perpi_key_shape_a(c->key) == m->shape[0] && perpi_key_shape_b(c->key) == m->shape[1] &&
            (m->ball >= 0 || v3_dot(v3_from(c->normal), n) < 0.0)) {
            continue;
        }
        list->item[kept++] = *c;
    }
    list->count = kept;
}

/* Moves the last contact to its place in the order. */
static void sort_last(perpi_contact_list* list)
{
    const perp_contact last = list->item[list->count - 1];
    size_t k = list->count - 1;
    for (; k > 0 && perpi_contact_before(&last, &list->item[k - 1]); --k) {
        list->item[k] = list->item[k - 1];
    }
    list->item[k] = last;
}

/* The additional contact; NULL: the key is one of a feature pair. */
static const perpi_missing* missing_of(const perpi_sides* x, uint64_t key)
{
    for (size_t i = 0; i < x->missing_count; ++i) {
        const perpi_missing* m = &x->missing[i];
        if (m->built && key == perpi_key_of(m->shape[1], m->shape[0], (uint32_t)i)) {
            return m;
        }
    }
    return NULL;
}

bool perpi_keeps_side(const perpi_step* step, const perp_contact* c)
{
    return missing_of(step->sides, c->key) != NULL;
}

bool perpi_pushes_back(const perpi_step* step, const perp_contact* c)
{
    const perpi_missing* m = missing_of(step->sides, c->key);
    return m != NULL && m->push > 0.0;
}

perp_status perpi_add_missing(perpi_step* step, double t, double h, bool at_end,
                              perpi_contact_list* list)
{
    const perp_model* model = step->model;
    const perpi_sides* x = step->sides;
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < x->missing_count; ++i) {
        const perpi_missing* m = &x->missing[i];
        if (!m->built) {
            continue;
        }
        const perpi_candidate candidate = candidate_of(step, m, at_end);
        drop_opposed(list, m, candidate.normal);
        status = perpi_contact_build(model, &step->rules, t, step->pose, &candidate, 1, list);
        if (status == PERP_OK) {
            /* shapes in reverse order: no feature pair has such a key */
            list->item[list->count - 1].key = perpi_key_of(m->shape[1], m->shape[0], (uint32_t)i);
            sort_last(list);
        }
    }
    for (size_t i = 0; step->stepper->touching && x->missing_count > 0 && i < list->count; ++i) {
        perp_contact* c = &list->item[i]; /* no gap term: target velocity */
        c->drift[0] = c->gap > 0.0 && keeps_pair(x, c->body_a, c->body_b) ? c->gap / h : 0.0;
        c->drift[0] = perpi_pushes_back(step, c) ? c->gap / h : c->drift[0];
    }
    return status;
}

/* ---- deep overlap without a gap term ----------------------------------------------------------------*/

void perpi_part_deep(perpi_step* step, double h)
{
    const double* thickness = step->sides->thickness;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        const int32_t a = perpi_key_shape_a(c->key), b = perpi_key_shape_b(c->key);
        const double beyond = -c->gap - CHECK_AT * smaller_thickness(thickness[a], thickness[b]);
        if (beyond > 0.0 && isfinite(beyond) && c->group == 0 && !(c->layer.theta > 0.0)) {
            c->drift[0] -= PART_RATE * beyond / h;
        }
    }
}
