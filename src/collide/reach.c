/* src/collide/reach.c - see reach.h.
 *
 * Notation   chain: the joints from body a to body b; joint i turns or slides by u_i, 0 at the start of the
 *            simulation. P_i: the frame of joint i on the nearer body, Q_i: on the farther one. The pose of b in a is
 *            the product of P_i M(u_i) Q_i^-1 over the chain, with M(u) a rotation about z or a shift along z
 *
 * Within |u_i - c_i| <= w_i, let the joints move from the middle c one after the other, the last
 * first. The axis z_i of joint i is then where it is at the middle. If it turns, it moves a point
 * of b across z_i, by at most w_i rho_i, where rho_i, the distance of the point from the axis, is
 * at most that at the middle, plus what the joints after i have moved the point; if it slides, by
 * at most w_i along z_i. Along a direction n this is at most |n x z_i| w_i rho_i, or
 * |n . z_i| w_i. If a and b are apart by g along n at the middle, they stay apart by g less the sum of these. If that does
 * not exceed the clearance, the part is divided across the joint with the largest term. A part in whose
 * middle they are no farther apart than the clearance ends the search: the pair can meet.
 */
#include "collide/reach.h"

#include <math.h>
#include <string.h>

#include "collide/narrow/gjk.h"
#include "shape/polyhedron.h"

enum {
    CHAIN_MOST = 8,     /* joints of a chain that is examined */
    DEPTH_MOST = 40,    /* divisions one within the other */
    LONG_CHAIN = 4,     /* joints from which on a proof takes too many parts: */
    TESTS_OF_LONG = 50, /* distances of two shapes for one pair of bodies, */
    TESTS_OF_SHORT = 500,
    TESTS_IN_ALL = 15000,
    BODIES_MOST = 400, /* with more nothing is examined */
};

/* Ranges are widened by this part of them, and by this angle or part of the bodies' size: limits
 * are constraints on velocities, which positions exceed by rounding and by the second order of a
 * step. */
static const double WIDER = 0.01, WIDER_ANGLE = 0.01, WIDER_SHIFT = 0.01;
/* Times the sizes of both bodies: what is proved to remain between them. Steps that move them further search. */
static const double CLEARANCE = 0.1;
static const double ROUNDING = 1e-6; /* likewise: of the proof, and where static bodies are */
static const double SAME_PLACE = 1e-9;
static const double PI = 3.14159265358979323846;

typedef struct frame {
    vec3 x;
    mat3 R;
} frame;

typedef struct chain_joint {
    frame P, Q;
    int32_t body[2]; /* nearer, farther; -1: the world, or a static body */
    perp_joint_type type;
    double low, high; /* of u, widened */
    double lever;     /* the farthest that a point of b can be from its point */
} chain_joint;

typedef struct reach_pair {
    int32_t a, b;
    int32_t first, count; /* joints of the chain */
    double clearance;
} reach_pair;

struct perpi_reach {
    const perp_model* model;
    reach_pair* pair; /* by (a, b) */
    size_t pair_count, pair_capacity;
    chain_joint* joint;
    size_t joint_count, joint_capacity;
};

static frame frame_mul(const frame* a, const frame* b)
{
    return (frame){v3_add(a->x, m3_mul(a->R, b->x)), m3_mm(a->R, b->R)};
}

static frame frame_inverse(const frame* a)
{
    const mat3 R = m3_transpose(a->R);
    return (frame){v3_neg(m3_mul(R, a->x)), R};
}

static frame frame_motion(const chain_joint* j, double u)
{
    frame f = {v3(0, 0, 0), m3_identity()};
    if (j->type == PERP_JOINT_REVOLUTE) {
        const double c = cos(u), s = sin(u);
        f.R = (mat3){{{c, -s, 0}, {s, c, 0}, {0, 0, 1}}};
    } else if (j->type == PERP_JOINT_PRISMATIC) {
        f.x.z = u;
    }
    return f;
}

/* ---- chains ------------------------------------------------------------------------------------------ */

/* A static body has the world's frame; -1: the world itself. */
static int32_t node_of(const perp_model* model, int32_t body)
{
    const bool world = body < 0 || model->body[body].type == PERP_BODY_STATIC;
    return world ? (int32_t)model->body_count : body;
}

static bool is_link(perp_joint_type type)
{
    return type == PERP_JOINT_REVOLUTE || type == PERP_JOINT_PRISMATIC || type == PERP_JOINT_FIXED;
}

/* The body frame of a side of a joint in the frame of its node. */
static frame side_frame(const perp_model* model, const perpi_joint* joint, int side)
{
    const frame f = {joint->at[side], q4_matrix(joint->frame[side])};
    const int32_t body = joint->body[side];
    if (body < 0 || model->body[body].type != PERP_BODY_STATIC) {
        return f;
    }
    const frame placed = {model->body[body].pose.x, model->body[body].pose.R};
    return frame_mul(&placed, &f);
}

static chain_joint chain_joint_of(const perp_model* model, const perpi_joint* joint, bool reversed)
{
    const int near = reversed ? 1 : 0;
    chain_joint c = {.P = side_frame(model, joint, near),
                     .Q = side_frame(model, joint, 1 - near),
                     .type = joint->type};
    for (int i = 0; i < 2; ++i) {
        const int32_t node = node_of(model, joint->body[i == 0 ? near : 1 - near]);
        c.body[i] = node < (int32_t)model->body_count ? node : -1;
    }
    if (joint->type == PERP_JOINT_FIXED) {
        return c;
    }
    const bool turns = joint->type == PERP_JOINT_REVOLUTE;
    double low = turns ? -PI : -INFINITY, high = turns ? PI : INFINITY;
    if (joint->has_limits) {
        const double zero = joint->start - (turns ? 0.0 : joint->rest[0]);
        const double range = joint->limits[1] - joint->limits[0];
        const double wider = WIDER * range + (turns ? WIDER_ANGLE : WIDER_SHIFT * joint->size);
        low = joint->limits[0] - zero - wider;
        high = joint->limits[1] - zero + wider;
        if (turns && !(high - low < 2.0 * PI)) {
            low = -PI;
            high = PI;
        }
    }
    c.low = reversed ? -high : low;
    c.high = reversed ? -low : high;
    return c;
}

/* Breadth first from one node over all links: up[n] is the joint by which n was reached, from[n]
 * the node before it. */
typedef struct paths {
    int32_t *up, *from, *queue;
} paths;

static void find_paths(const perp_model* model, int32_t start, const paths* p)
{
    const int32_t nodes = (int32_t)model->body_count + 1;
    int32_t count = 0;
    for (int32_t i = 0; i < nodes; ++i) {
        p->up[i] = p->from[i] = -1;
    }
    p->from[start] = start;
    p->queue[count++] = start;
    for (int32_t at = 0; at < count; ++at) {
        for (int32_t k = 0; k < (int32_t)model->joint_count; ++k) {
            const perpi_joint* joint = &model->joint[k];
            if (!is_link(joint->type)) {
                continue;
            }
            const int32_t a = node_of(model, joint->body[0]), b = node_of(model, joint->body[1]);
            const int32_t next = a == p->queue[at] ? b : b == p->queue[at] ? a : -1;
            if (next >= 0 && p->from[next] < 0) {
                p->from[next] = p->queue[at];
                p->up[next] = k;
                p->queue[count++] = next;
            }
        }
    }
}

/* The joints from the start of the paths to a node; 0: there is no chain, or a long one. */
static int32_t chain_to(const perp_model* model, const paths* p, int32_t node, chain_joint* chain)
{
    int32_t count = 0, at = node;
    while (p->from[at] >= 0 && p->from[at] != at && count <= CHAIN_MOST) {
        at = p->from[at];
        count += 1;
    }
    if (p->from[node] < 0 || count > CHAIN_MOST) {
        return 0;
    }
    at = node;
    for (int32_t i = count - 1; i >= 0; --i) {
        const perpi_joint* joint = &model->joint[p->up[at]];
        chain[i] = chain_joint_of(model, joint, node_of(model, joint->body[0]) == at);
        if (!isfinite(chain[i].low) || !isfinite(chain[i].high) || chain[i].low > chain[i].high) {
            return 0;
        }
        at = p->from[at];
    }
    return count;
}

/* ---- the distance of two bodies ----------------------------------------------------------------------- */

/* A convex set that contains a shape, in the frame of a: its polyhedron, or its box. */
typedef struct cover {
    const perpi_polyhedron* p;
    frame at;
    vec3 half;
    int32_t* farthest;
} cover;

static vec3 cover_support(const void* body, vec3 direction)
{
    const cover* c = body;
    const vec3 d = m3_tmul(c->at.R, direction);
    vec3 y;
    if (c->p != NULL) {
        *c->farthest = perpi_polyhedron_support(c->p, d, *c->farthest);
        y = c->p->vertex[*c->farthest];
    } else {
        y = v3(copysign(c->half.x, d.x), copysign(c->half.y, d.y), copysign(c->half.z, d.z));
    }
    return v3_add(c->at.x, m3_mul(c->at.R, y));
}

static cover cover_of(const perpi_shape* shape, const frame* body, int32_t* farthest)
{
    const frame local = {shape->local.x, shape->local.R};
    cover c = {.p = shape->polyhedron, .at = frame_mul(body, &local), .farthest = farthest};
    if (c.p == NULL) {
        const perpi_pose still = {v3(0, 0, 0), q4_identity(), m3_identity()};
        const perpi_bounds b = perpi_shape_ops_of(shape->type)->bounds(shape, &still);
        const frame middle = {v3_scale(0.5, v3_add(b.lo, b.hi)), m3_identity()};
        c.at = frame_mul(&c.at, &middle);
        c.half = v3_scale(0.5, v3_sub(b.hi, b.lo));
    }
    return c;
}

typedef struct pair_search {
    const perp_model* model;
    int32_t a, b;
    frame of_a, of_b; /* of the bodies in the frames of their nodes */
    const chain_joint* chain;
    int32_t count;
    double clearance;
    int32_t tests;       /* left */
    int32_t farthest[2]; /* scratch: vertices of the two shapes */
} pair_search;

/* ---- dividing the ranges ------------------------------------------------------------------------------- */

typedef struct part {
    double low[CHAIN_MOST], high[CHAIN_MOST];
} part;

/* The chain at the middle of a part: axes and points of the joints, and how far each moves a point of b in all. */
typedef struct middle {
    frame T; /* the node of b in that of a */
    vec3 axis[CHAIN_MOST];
    double by[CHAIN_MOST];
} middle;

static void find_middle(const pair_search* s, const part* p, middle* m)
{
    vec3 point[CHAIN_MOST];
    m->T = (frame){v3(0, 0, 0), m3_identity()};
    for (int32_t i = 0; i < s->count; ++i) {
        const chain_joint* j = &s->chain[i];
        const frame motion = frame_motion(j, 0.5 * (p->low[i] + p->high[i]));
        const frame inverse = frame_inverse(&j->Q);
        m->T = frame_mul(&m->T, &j->P);
        m->axis[i] = m3_column(m->T.R, 2);
        point[i] = m->T.x;
        m->T = frame_mul(&m->T, &motion);
        m->T = frame_mul(&m->T, &inverse);
    }
    const frame b = frame_mul(&m->T, &s->of_b);
    double after = 0.0;
    for (int32_t i = s->count - 1; i >= 0; --i) {
        const double w = 0.5 * (p->high[i] - p->low[i]);
        const double across = v3_norm(v3_cross(m->axis[i], v3_sub(b.x, point[i])));
        m->by[i] = s->chain[i].type == PERP_JOINT_REVOLUTE
                       ? w * (across + s->model->body[s->b].reach + after)
                       : w;
        after += m->by[i];
    }
}

/* How far b moves along n within the part, at most; the joint that moves it most. */
static double motion_along(const pair_search* s, const middle* m, vec3 n, int32_t* most)
{
    double sum = 0.0, largest = -1.0;
    for (int32_t i = 0; i < s->count; ++i) {
        const double share = s->chain[i].type == PERP_JOINT_REVOLUTE
                                 ? v3_norm(v3_cross(n, m->axis[i]))
                                 : fabs(v3_dot(n, m->axis[i]));
        const double term = share * m->by[i];
        sum += term;
        if (term > largest) {
            largest = term;
            *most = i;
        }
    }
    return sum;
}

typedef enum part_outcome { CAN_MEET, STAY_APART, DIVIDE } part_outcome;

/* All shapes of the two at the middle; *most: the joint to divide across. */
static part_outcome examine_middle(pair_search* s, const middle* m, int32_t* most)
{
    const perpi_body *a = &s->model->body[s->a], *b = &s->model->body[s->b];
    const frame at_b = frame_mul(&m->T, &s->of_b);
    part_outcome found = STAY_APART;
    double worst = INFINITY;
    for (int32_t i = a->shape; i < a->shape + a->shape_count; ++i) {
        for (int32_t k = b->shape; k < b->shape + b->shape_count; ++k) {
            const perpi_shape *one = &s->model->shape[i], *other = &s->model->shape[k];
            if (one->intangible || other->intangible) {
                continue;
            }
            const cover x = cover_of(one, &s->of_a, &s->farthest[0]);
            const cover y = cover_of(other, &at_b, &s->farthest[1]);
            vec3 axis = v3_sub(y.at.x, x.at.x);
            double gap = 0.0;
            s->farthest[0] = s->farthest[1] = 0;
            if (s->tests-- <= 0 || !perpi_gjk_farther(&x, cover_support, &y, cover_support,
                                                      s->clearance, &axis, &gap)) {
                return CAN_MEET;
            }
            const perpi_gjk closest =
                perpi_gjk_closest(&x, cover_support, &y, cover_support, axis, 0.5 * s->clearance);
            if (closest.distance > gap) {
                axis = v3_scale(1.0 / closest.distance, v3_sub(closest.b, closest.a));
                gap =
                    v3_dot(axis, v3_sub(cover_support(&y, v3_neg(axis)), cover_support(&x, axis)));
            }
            int32_t joint = 0;
            const double left = gap - motion_along(s, m, axis, &joint) - s->clearance;
            if (!(left > 0.0)) {
                found = DIVIDE;
                *most = left < worst ? joint : *most;
                worst = left < worst ? left : worst;
            }
        }
    }
    return found;
}

static bool part_is_apart(pair_search* s, const part* p, int32_t depth)
{
    middle m;
    int32_t most = 0;
    find_middle(s, p, &m);
    const part_outcome found = depth > DEPTH_MOST ? CAN_MEET : examine_middle(s, &m, &most);
    if (found != DIVIDE) {
        return found == STAY_APART;
    }
    const double cut = 0.5 * (p->low[most] + p->high[most]);
    part half = *p;
    half.high[most] = cut;
    if (!part_is_apart(s, &half, depth + 1)) {
        return false;
    }
    half.high[most] = p->high[most];
    half.low[most] = cut;
    return part_is_apart(s, &half, depth + 1);
}

/* ---- all pairs --------------------------------------------------------------------------------------------- */

static bool has_shapes(const perp_model* model, int32_t body)
{
    const perpi_body* b = &model->body[body];
    bool any = false;
    for (int32_t i = b->shape; i < b->shape + b->shape_count; ++i) {
        any = any || !model->shape[i].intangible;
    }
    return any && isfinite(b->reach);
}

static frame body_in_node(const perp_model* model, int32_t body)
{
    const perpi_body* b = &model->body[body];
    return b->type == PERP_BODY_STATIC ? (frame){b->pose.x, b->pose.R}
                                       : (frame){v3(0, 0, 0), m3_identity()};
}

/* How far a point of b can be from the point of each joint of the chain. */
static void find_levers(const perp_model* model, int32_t b, chain_joint* chain, int32_t count)
{
    double far =
        v3_norm(chain[count - 1].Q.x) + v3_norm(body_in_node(model, b).x) + model->body[b].reach;
    for (int32_t i = count - 1; i >= 0; --i) {
        if (chain[i].type == PERP_JOINT_PRISMATIC) {
            far +=
                fabs(chain[i].low) > fabs(chain[i].high) ? fabs(chain[i].low) : fabs(chain[i].high);
        }
        chain[i].lever = far;
        far += i > 0 ? v3_norm(v3_sub(chain[i].P.x, chain[i - 1].Q.x)) : 0.0;
    }
}

static perp_status keep_pair(perp_context* context, perpi_reach* reach, const pair_search* s)
{
    perp_status status = perpi_grow(context, &reach->pair, &reach->pair_capacity,
                                    reach->pair_count + 1, sizeof *reach->pair);
    if (status == PERP_OK) {
        status = perpi_grow(context, &reach->joint, &reach->joint_capacity,
                            reach->joint_count + (size_t)s->count, sizeof *reach->joint);
    }
    if (status == PERP_OK) {
        reach->pair[reach->pair_count++] =
            (reach_pair){s->a, s->b, (int32_t)reach->joint_count, s->count, s->clearance};
        memcpy(reach->joint + reach->joint_count, s->chain, (size_t)s->count * sizeof *s->chain);
        reach->joint_count += (size_t)s->count;
    }
    return status;
}

static perp_status examine_pair(perp_context* context, const perp_model* model, const paths* p,
                                int32_t a, int32_t b, int32_t* budget, perpi_reach* reach)
{
    chain_joint chain[CHAIN_MOST];
    const int32_t count = chain_to(model, p, node_of(model, b), chain);
    if (count == 0 || *budget <= 0) {
        return PERP_OK;
    }
    const double size = model->body[a].reach + model->body[b].reach;
    const int32_t most = count < LONG_CHAIN ? TESTS_OF_SHORT : TESTS_OF_LONG;
    pair_search s = {.model = model,
                     .a = a,
                     .b = b,
                     .of_a = body_in_node(model, a),
                     .of_b = body_in_node(model, b),
                     .chain = chain,
                     .count = count,
                     .clearance = (CLEARANCE + ROUNDING) * size,
                     .tests = *budget < most ? *budget : most};
    part whole;
    for (int32_t i = 0; i < count; ++i) {
        whole.low[i] = chain[i].low;
        whole.high[i] = chain[i].high;
    }
    const int32_t before = s.tests;
    const bool apart = part_is_apart(&s, &whole, 0);
    *budget -= before - s.tests;
    if (!apart) {
        return PERP_OK;
    }
    find_levers(model, b, chain, count);
    s.clearance = CLEARANCE * size;
    return keep_pair(context, reach, &s);
}

static bool has_driven_links(const perp_model* model)
{
    bool any = false;
    for (size_t i = 0; i < model->joint_count; ++i) {
        any = any || model->joint[i].type == PERP_JOINT_REVOLUTE ||
              model->joint[i].type == PERP_JOINT_PRISMATIC;
    }
    return any && model->dimension == 3 && model->body_count <= BODIES_MOST;
}

static perp_status find_all(perp_context* context, const perp_model* model,
                            bool (*collides)(void*, int32_t, int32_t), void* user, const paths* p,
                            perpi_reach* reach)
{
    const int32_t bodies = (int32_t)model->body_count;
    int32_t budget = TESTS_IN_ALL;
    perp_status status = PERP_OK;
    for (int32_t a = 0; a < bodies && status == PERP_OK; ++a) {
        if (!has_shapes(model, a)) {
            continue;
        }
        find_paths(model, node_of(model, a), p);
        for (int32_t b = a + 1; b < bodies && status == PERP_OK; ++b) {
            if (has_shapes(model, b) && (model->body[a].dofs > 0 || model->body[b].dofs > 0) &&
                collides(user, a, b)) {
                status = examine_pair(context, model, p, a, b, &budget, reach);
            }
        }
    }
    return status;
}

perp_status perpi_reach_find(perp_context* context, const perp_model* model,
                             bool (*collides)(void* user, int32_t a, int32_t b), void* user,
                             perpi_reach** out)
{
    perpi_reach* reach = NULL;
    int32_t* memory = NULL;
    const size_t nodes = model->body_count + 1;
    *out = NULL;
    if (!has_driven_links(model)) {
        return PERP_OK;
    }
    perp_status status = perpi_alloc(context, 1, sizeof *reach, &reach);
    if (status == PERP_OK) {
        status = perpi_alloc(context, 3 * nodes, sizeof *memory, &memory);
    }
    if (status == PERP_OK) {
        const paths p = {memory, memory + nodes, memory + 2 * nodes};
        reach->model = model;
        status = find_all(context, model, collides, user, &p, reach);
    }
    perpi_free(context, memory);
    if (status != PERP_OK || reach->pair_count == 0) {
        perpi_reach_free(context, reach);
        return status;
    }
    *out = reach;
    return PERP_OK;
}

perp_status perpi_reach_copy(perp_context* context, const perp_model* model,
                             const perpi_reach* from, perpi_reach** out)
{
    perpi_reach* reach = NULL;
    *out = NULL;
    if (from == NULL) {
        return PERP_OK;
    }
    perp_status status = perpi_alloc(context, 1, sizeof *reach, &reach);
    if (status == PERP_OK) {
        status = perpi_grow(context, &reach->pair, &reach->pair_capacity, from->pair_count,
                            sizeof *reach->pair);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &reach->joint, &reach->joint_capacity, from->joint_count,
                            sizeof *reach->joint);
    }
    if (status != PERP_OK) {
        perpi_reach_free(context, reach);
        return status;
    }
    reach->model = model;
    if (from->pair_count > 0) { /* and so joints */
        memcpy(reach->pair, from->pair, from->pair_count * sizeof *reach->pair);
        memcpy(reach->joint, from->joint, from->joint_count * sizeof *reach->joint);
    }
    reach->pair_count = from->pair_count;
    reach->joint_count = from->joint_count;
    *out = reach;
    return PERP_OK;
}

void perpi_reach_free(perp_context* context, perpi_reach* reach)
{
    if (reach == NULL) {
        return;
    }
    perpi_free(context, reach->pair);
    perpi_free(context, reach->joint);
    perpi_free(context, reach);
}

int32_t perpi_reach_count(const perpi_reach* reach)
{
    return reach != NULL ? (int32_t)reach->pair_count : 0;
}

/* ---- at the poses of a step ----------------------------------------------------------------------------- */

static const reach_pair* find_reach_pair(const perpi_reach* reach, int32_t a, int32_t b)
{
    size_t low = 0, high = reach->pair_count;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const reach_pair* p = &reach->pair[mid];
        if (p->a < a || (p->a == a && p->b < b)) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    const reach_pair* p = low < reach->pair_count ? &reach->pair[low] : NULL;
    return p != NULL && p->a == a && p->b == b ? p : NULL;
}

static frame frame_at(const frame* local, int32_t body, const perpi_pose* pose)
{
    if (body < 0) {
        return *local;
    }
    const frame f = {pose[body].x, pose[body].R};
    return frame_mul(&f, local);
}

/* The rotation by which a joint is off: the Frobenius norm bounds what it moves a point at distance 1. */
static double rotation_off(const mat3* E, const mat3* exact)
{
    double off = 0.0;
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 3; ++k) {
            const double e = E->m[i][k] - exact->m[i][k];
            off += e * e;
        }
    }
    return sqrt(off);
}

/* Whether a joint is within its range; *by: how far a point of b is at most from where the joint,
 * if it were closed, would have it. more: how far the joints after it have moved the point. */
static bool joint_within(const chain_joint* j, const perpi_pose* pose, double more, double* by)
{
    const frame P = frame_at(&j->P, j->body[0], pose), Q = frame_at(&j->Q, j->body[1], pose);
    const mat3 E = m3_mm(m3_transpose(P.R), Q.R);
    vec3 d = m3_tmul(P.R, v3_sub(Q.x, P.x));
    double u = 0.0;
    bool within = true;
    if (j->type == PERP_JOINT_REVOLUTE) {
        u = atan2(E.m[1][0] - E.m[0][1], E.m[0][0] + E.m[1][1]);
        within = (u >= j->low && u <= j->high) ||
                 (u - 2.0 * PI >= j->low && u - 2.0 * PI <= j->high) ||
                 (u + 2.0 * PI >= j->low && u + 2.0 * PI <= j->high);
    } else if (j->type == PERP_JOINT_PRISMATIC) {
        u = d.z;
        d.z = 0.0;
        within = u >= j->low && u <= j->high;
    }
    const frame exact = frame_motion(j, u);
    *by = v3_norm(d) + rotation_off(&E, &exact.R) * (j->lever + more);
    return within;
}

/* Static bodies are where they were when the pair was examined. */
static bool static_in_place(const perp_model* model, const perpi_pose* pose, int32_t body)
{
    const perpi_body* b = &model->body[body];
    return b->type != PERP_BODY_STATIC ||
           (v3_norm(v3_sub(pose[body].x, b->pose.x)) <= SAME_PLACE * b->reach &&
            rotation_off(&pose[body].R, &b->pose.R) <= SAME_PLACE);
}

bool perpi_reach_apart(const perpi_reach* reach, const perpi_pose* pose, int32_t a, int32_t b,
                       double margin)
{
    const reach_pair* p = reach != NULL ? find_reach_pair(reach, a, b) : NULL;
    if (p == NULL || !static_in_place(reach->model, pose, a) ||
        !static_in_place(reach->model, pose, b)) {
        return false;
    }
    double off = 0.0;
    for (int32_t i = p->first + p->count - 1; i >= p->first; --i) {
        double by;
        if (!joint_within(&reach->joint[i], pose, off, &by)) {
            return false;
        }
        off += by;
    }
    return margin + off < p->clearance;
}
