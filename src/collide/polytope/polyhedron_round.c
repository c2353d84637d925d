/* src/collide/polytope/polyhedron_round.c - a convex polyhedron with a plane, a ball and a capsule.
 *
 * All coordinates are in the polyhedron's frame. Where features are grouped [W14 4.6], the faces near
 * a ball, moved out by its radius, and the plane that touches the rounded edge or vertex nearest to
 * it are one group: one of them must hold. Any ball of a capsule's axis belongs to the capsule, so a
 * constraint on it is always valid; which balls are used is chosen below. Faces of the far side, behind
 * which the ball lies and which face away from it, are members only if there is a path past the near side;
 * then a second group keeps the ball in front of the near side, or of a plane through its centre that
 * touches an edge of the silhouette: see src/contact/polyhedra_far.c.
 *
 * Source     [W14 4.6]; src/collide/polytope/polygon.c has the same in the plane
 */
#include "collide/polytope/polyhedron.h"
#include "collide/narrow/round.h"
#include "shape/polyhedron.h"

enum { MEMBERS = 8, PLANES = 8, STACK = 64, BALLS = 32 };

#define FACING 1e-9 /* cosine: normals at a right angle do not face away from each other */
#define DEPTH 1.01  /* times the depth of the ball: faces up to this depth count as open */

/* Feature numbers; the last bits are which ball of a capsule, in a group or not. */
enum { AT_FACE = 0, AT_EDGE = 1, AT_VERTEX = 2, AT_PATH = 3 };

typedef struct placed {
    const perpi_polyhedron* p;
    const perpi_pose* pose;
    double size;
} placed;

static uint32_t feature_of(int kind, int32_t index, uint32_t ball)
{
    return (uint32_t)kind << 22 | (uint32_t)index << 7 | (ball & 63U) << 1;
}

/* ---- a plane --------------------------------------------------------------------------------------- */

/* Of a plane and a polyhedron, in the polyhedron's frame: the gap of x is height + up . x. */
typedef struct above_plane {
    const perpi_polyhedron* p;
    vec3 up;
    double height;
} above_plane;

static double gap_of(const above_plane* a, int32_t vertex)
{
    return a->height + v3_dot(a->up, a->p->vertex[vertex]);
}

/* Whether a neighbour of a vertex keeps it open: if the gap of the neighbour is not negative at the end of
 * the step, that of the vertex is positive, for every rotation within `room` of `spin`.
 *
 * Rotation by w changes the difference of the gaps of x and y by up . (R x - R y - (x - y)), which is
 * up . (w x (x - y)) up to |w|^2 / 2 |x - y|. A neighbour that is left out itself has such a neighbour, and
 * so on down to one that is not. Overlap may be kept for a step: it counts as 0. */
static bool neighbour_keeps_open(const above_plane* a, int32_t vertex, double gap, vec3 spin,
                                 double room)
{
    const perpi_polyhedron* p = a->p;
    const vec3 x = p->vertex[vertex], tilt = v3_cross(a->up, spin);
    const double angle = v3_norm(spin) + room, slope = room + 0.5 * angle * angle;
    for (int32_t k = p->around_start[vertex]; k < p->around_start[vertex + 1]; ++k) {
        const int32_t* end = p->edge[p->around[k]].vertex;
        const int32_t other = end[0] == vertex ? end[1] : end[0];
        const vec3 d = v3_sub(x, p->vertex[other]);
        const double below = gap_of(a, other);
        const double rise = gap - (below > 0.0 ? below : 0.0) + v3_dot(tilt, d);
        if (rise > 0.0 && rise * rise > slope * slope * v3_dot(d, d)) {
            return true;
        }
    }
    return false;
}

/* For every rotation that the step may have. */
static bool cannot_touch(const above_plane* a, const perpi_pose* pose, int32_t vertex, double gap,
                         const perpi_candidate_list* list)
{
    if (!(gap > 0.0)) {
        return false;
    }
    if (neighbour_keeps_open(a, vertex, gap, v3(0, 0, 0), list->turn_most)) {
        return true;
    }
    bool open = list->spins > 0 && isfinite(list->turn);
    for (int32_t k = 0; open && k < list->spins; ++k) {
        open = neighbour_keeps_open(a, vertex, gap, m3_tmul(pose->R, list->spin[k]), list->turn);
    }
    return open;
}

/* Every vertex within the margin; of many, those that can touch. Feature: the vertex. */
perp_status perpi_plane_polyhedron(const perpi_shape* a, const perpi_pose* pose_a,
                                   const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                   perpi_candidate_list* list)
{
    const perpi_polyhedron* p = b->polyhedron;
    const vec3 n = m3_mul(pose_a->R, a->normal);
    const double offset = v3_dot(n, pose_a->x) + a->offset;
    const vec3 down = v3_neg(m3_tmul(pose_b->R, n));
    const double center = v3_dot(n, pose_b->x) - offset;
    /* early exit for most pairs: the lowest vertex is found quickly */
    const int32_t lowest = perpi_polyhedron_support(p, down, 0);
    if (!(center - v3_dot(down, p->vertex[lowest]) <= margin)) {
        return PERP_OK;
    }
    const above_plane above = {p, v3_neg(down), center};
    const bool lean = p->vertex_count >= PERPI_MANY_VERTICES && isfinite(list->turn_most);
    for (int32_t i = 0; i < p->vertex_count; ++i) {
        const double height = center - v3_dot(down, p->vertex[i]);
        if (!(height <= margin + 1e-9 * p->size) ||
            (lean && cannot_touch(&above, pose_b, i, height, list))) {
            continue;
        }
        const vec3 x = perpi_pose_point(pose_b, p->vertex[i]);
        const double gap = v3_dot(n, x) - offset;
        if (gap <= margin) {
            const perp_status status =
                perpi_candidate_add(list, (uint32_t)i, v3_madd(x, -gap, n), x, n, gap);
            if (status != PERP_OK) {
                return status;
            }
        }
    }
    return PERP_OK;
}

/* ---- points and faces ------------------------------------------------------------------------------ */

static double box_distance2(const perpi_face_node* node, vec3 lo, vec3 hi)
{
    double d2 = 0.0;
    for (int i = 0; i < 3; ++i) {
        const double under = v3_get(node->lo, i) - v3_get(hi, i);
        const double over = v3_get(lo, i) - v3_get(node->hi, i);
        const double d = under > over ? under : over;
        d2 += d > 0.0 ? d * d : 0.0;
    }
    return d2;
}

/* A place on the surface: the face, edge or vertex nearest to a point. */
typedef struct nearest {
    vec3 q;
    double d; /* distance */
    int kind;
    int32_t index;
} nearest;

static double height_over(const perpi_polyhedron* p, int32_t f, vec3 x)
{
    return v3_dot(p->normal[f], x) - p->offset[f];
}

/* The nearest point of a face to x. */
static nearest nearest_on_face(const perpi_polyhedron* p, int32_t f, vec3 x)
{
    const double h = height_over(p, f, x);
    nearest best = {v3_madd(x, -h, p->normal[f]), fabs(h), AT_FACE, f};
    bool over = true;
    double least = INFINITY;
    nearest border = best;
    for (int32_t c = p->face_start[f]; c < p->face_start[f + 1]; ++c) {
        const int32_t next = c + 1 < p->face_start[f + 1] ? c + 1 : p->face_start[f];
        const vec3 a = p->vertex[p->corner[c]], e = v3_sub(p->vertex[p->corner[next]], a);
        const vec3 in = v3_cross(p->normal[f], e), d = v3_sub(x, a);
        if (v3_dot(in, d) >= 0.0) {
            continue;
        }
        over = false;
        const double t = v3_dot(e, d) / v3_dot(e, e);
        nearest here = {.kind = AT_EDGE, .index = p->side[c]};
        here.q = v3_madd(a, perpi_clamp(t, 0.0, 1.0), e);
        if (t <= 0.0 || t >= 1.0) {
            here.kind = AT_VERTEX;
            here.index = p->corner[t <= 0.0 ? c : next];
            here.q = p->vertex[here.index];
        }
        here.d = v3_norm(v3_sub(x, here.q));
        if (here.d < least) {
            least = here.d;
            border = here;
        }
    }
    return over ? best : border;
}

/* The place of the surface nearest to x, of those no farther than `within`. */
static bool find_nearest(const perpi_polyhedron* p, vec3 x, double within, nearest* out)
{
    int32_t stack[STACK], top = 0;
    double best = within;
    bool found = false;
    stack[top++] = 0;
    while (top > 0) {
        const int32_t at = stack[--top];
        const perpi_face_node* node = &p->node[at];
        if (box_distance2(node, x, x) > best * best) {
            continue;
        }
        for (int32_t i = 0; i < node->count; ++i) {
            const nearest here = nearest_on_face(p, p->order[node->first + i], x);
            if (here.d < best || (!found && here.d <= best)) {
                best = here.d;
                *out = here;
                found = true;
            }
        }
        if (node->count == 0 && top + 2 <= STACK) {
            stack[top++] = node->first;
            stack[top++] = at + 1;
        }
    }
    return found;
}

/* The face over which x is highest: the nearest one from inside. */
static int32_t highest_face(const perpi_polyhedron* p, vec3 x, double* height)
{
    int32_t best = 0;
    *height = -INFINITY;
    for (int32_t f = 0; f < p->face_count; ++f) {
        const double h = height_over(p, f, x);
        if (h > *height) {
            *height = h;
            best = f;
        }
    }
    return best;
}

/* ---- a ball ------------------------------------------------------------------------------------------ */

typedef struct member {
    vec3 n, foot; /* foot: on the polyhedron */
    double psi;
    uint32_t feature;
} member;

/* Keeps the most open members. */
static void keep_member(member* list, int32_t* count, const member* m)
{
    if (*count < MEMBERS) {
        list[(*count)++] = *m;
        return;
    }
    int32_t worst = 0;
    for (int32_t k = 1; k < MEMBERS; ++k) {
        worst = list[k].psi < list[worst].psi ? k : worst;
    }
    if (m->psi > list[worst].psi) {
        list[worst] = *m;
    }
}

/* Faces whose polygon is within near + r of the ball's centre, not deeper below than near. Where the foot on its plane is
 * further off the face than near, twice the motion of the step, the ball does not come onto the face (nor is its nearest edge
 * violated by a motion along the face); where it is further off than the polyhedron is wide, it would be left by a turn
 * with a lever longer than the polyhedron. A small body would spin, and fly through a large ball. */
static void near_faces(const perpi_polyhedron* p, vec3 x, double r, double near, uint32_t ball,
                       member* list, int32_t* count)
{
    const double lever = near < p->size ? near : p->size, beside = lever * lever;
    int32_t stack[STACK], top = 0;
    stack[top++] = 0;
    while (top > 0) {
        const int32_t at = stack[--top];
        const perpi_face_node* node = &p->node[at];
        if (box_distance2(node, x, x) > (near + r) * (near + r)) {
            continue;
        }
        for (int32_t i = 0; i < node->count; ++i) {
            const int32_t f = p->order[node->first + i];
            const double h = height_over(p, f, x);
            const double d = h - r >= -near ? nearest_on_face(p, f, x).d : INFINITY;
            if (d <= near + r && d * d - h * h <= beside) {
                const member m = {p->normal[f], v3_madd(x, -h, p->normal[f]), h - r,
                                  feature_of(AT_FACE, f, ball)};
                keep_member(list, count, &m);
            }
        }
        if (node->count == 0 && top + 2 <= STACK) {
            stack[top++] = node->first;
            stack[top++] = at + 1;
        }
    }
}

static perp_status add_members(const placed* o, const member* list, int32_t count, int32_t group,
                               perpi_candidate_list* candidates)
{
    perp_status status = PERP_OK;
    candidates->group = count > 1 ? group : 0;
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        const vec3 foot = perpi_pose_point(o->pose, list[i].foot);
        const vec3 n = m3_mul(o->pose->R, list[i].n);
        const uint32_t name = list[i].feature | (count > 1 ? 1U : 0U);
        status = perpi_candidate_add(candidates, perpi_candidate_unused(candidates, name), foot,
                                     v3_madd(foot, list[i].psi, n), n, list[i].psi);
    }
    candidates->group = 0;
    return status;
}

/* ---- the far side ---------------------------------------------------------------------------------- */

static int32_t near_members(const placed* o, const member* list, int32_t count, const member* best,
                            member* out)
{
    const double depth = best->psi < 0.0 ? DEPTH * best->psi : 0.0;
    const double floor = depth - PERPI_CANDIDATE_TIE * o->size;
    int32_t kept = 0;
    for (int32_t i = 0; i < count; ++i) {
        if (list[i].psi >= floor || v3_dot(list[i].n, best->n) >= -FACING) {
            out[kept++] = list[i];
        }
    }
    return kept;
}

/* Members of the path group have feature numbers of their own. */
static void name_path(member* list, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        const uint32_t kind = list[i].feature >> 22, index = list[i].feature >> 7 & 0x7FFF;
        list[i].feature = feature_of(AT_PATH, (int32_t)((index << 1 | (kind == AT_FACE)) & 0x3FFF),
                                     list[i].feature >> 1 & 63);
    }
}

/* The tangent planes from the ball's centre, moved out by `step`, at an edge, moved out by r,
 * between a face that the ball is in front of and one that it is behind; only those with the
 * polyhedron on one side, and near. */
static int32_t passing_planes(const placed* o, vec3 x, double r, vec3 step, double near,
                              uint32_t ball, member* out)
{
    const perpi_polyhedron* p = o->p;
    const double tiny = PERPI_CANDIDATE_TIE * o->size;
    int32_t count = 0;
    x = v3_add(x, step);
    for (int32_t i = 0; i < p->edge_count && count < PLANES; ++i) {
        const perpi_edge* e = &p->edge[i];
        const bool front[2] = {height_over(p, e->face[0], x) >= r,
                               height_over(p, e->face[1], x) >= r};
        if (front[0] == front[1]) {
            continue;
        }
        const vec3 from = p->vertex[e->vertex[0]], d = v3_sub(p->vertex[e->vertex[1]], from);
        const vec3 w = v3_sub(x, from);
        const double at = v3_dot(w, d) / v3_dot(d, d), t = perpi_clamp(at, 0.0, 1.0);
        const vec3 off = v3_madd(w, -at, d);
        const double length = v3_norm(off);
        if (!(length > r + tiny) || !(v3_norm(v3_madd(w, -t, d)) <= near + r)) {
            continue;
        }
        const double sine = r / length, cosine = sqrt(1.0 - sine * sine);
        const vec3 unit = v3_scale(1.0 / length, off);
        const vec3 left = v3_cross(v3_scale(1.0 / v3_norm(d), d), unit);
        for (int way = -1; way <= 1; way += 2) {
            const vec3 n = v3_madd(v3_scale(sine, unit), way * cosine, left);
            const vec3 top = p->vertex[perpi_polyhedron_support(p, n, e->vertex[0])];
            if (v3_dot(n, v3_sub(x, top)) >= r - tiny && count < PLANES) {
                const int32_t index = (1 << 14 | i) & 0x7FFF;
                out[count++] = (member){n, v3_madd(from, t, d), -v3_dot(n, step),
                                        feature_of(AT_PATH, index, ball)};
            }
        }
    }
    return count;
}

/* The ends of a segment (of length 0: a ball) whose side is known: separate over the least deep
 * face of that side. */
static perp_status add_on_side(const placed* o, const perpi_segment* s, double r, double margin,
                               perpi_candidate_list* candidates)
{
    const perpi_polyhedron* p = o->p;
    const vec3 side = m3_tmul(o->pose->R, candidates->side);
    double most = -INFINITY;
    int32_t face = -1;
    for (int32_t f = 0; f < p->face_count; ++f) {
        const double h = height_over(p, f, s->c) - s->l * fabs(v3_dot(p->normal[f], s->u));
        if (v3_dot(p->normal[f], side) >= -FACING && h > most) {
            most = h;
            face = f;
        }
    }
    perp_status status = PERP_OK;
    for (uint32_t e = 0; e < (s->l > 0.0 ? 2U : 1U) && face >= 0 && status == PERP_OK; ++e) {
        const vec3 at = perpi_segment_at(s, e == 0 ? -s->l : s->l);
        const double h = height_over(p, face, at);
        const member m = {p->normal[face], v3_madd(at, -h, p->normal[face]), h - r,
                          feature_of(AT_FACE, face, s->l > 0.0 ? 61 + e : 0)};
        if (m.psi <= margin) {
            status = add_members(o, &m, 1, 0, candidates);
        }
    }
    return status;
}

/* Whether a face of the list has the direction of the rounded edge or vertex up to rounding: the
 * ball is over its border. As a second member the border would let the solution choose between two
 * equal rows. */
static bool at_border_of(const member* list, int32_t count, const member* border)
{
    for (int32_t i = 0; i < count; ++i) {
        const vec3 d = v3_sub(list[i].n, border->n);
        if (v3_dot(d, d) < PERPI_CANDIDATE_SAME * PERPI_CANDIDATE_SAME) {
            return true;
        }
    }
    return false;
}

/* One ball at x (polyhedron's frame). ball: its number among those of a capsule. */
static perp_status add_ball(const placed* o, vec3 x, double r, double margin, uint32_t ball,
                            perpi_candidate_list* candidates)
{
    const perpi_polyhedron* p = o->p;
    double height;
    const int32_t face = highest_face(p, x, &height);
    if (!(height - r <= margin)) {
        return PERP_OK;
    }
    member best = {p->normal[face], v3_madd(x, -height, p->normal[face]), height - r,
                   feature_of(AT_FACE, face, ball)};
    bool rounded = false;
    if (height > 0.0) {
        nearest at;
        if (!find_nearest(p, x, margin + r, &at)) {
            return PERP_OK;
        }
        rounded = at.kind != AT_FACE && at.d > PERPI_CANDIDATE_VANISH * o->size;
        if (rounded) {
            best = (member){v3_scale(1.0 / at.d, v3_sub(x, at.q)), at.q, at.d - r,
                            feature_of(at.kind, at.index, ball)};
        } else if (at.kind == AT_FACE) {
            const double h = height_over(p, at.index, x);
            best = (member){p->normal[at.index], v3_madd(x, -h, p->normal[at.index]), h - r,
                            feature_of(AT_FACE, at.index, ball)};
        }
    }
    member list[MEMBERS];
    int32_t count = 0;
    if (candidates->rule != NULL) {
        near_faces(p, x, r, 2.0 * margin, ball, list, &count);
        if (rounded && count > 0 && !at_border_of(list, count, &best)) {
            keep_member(list, &count, &best);
        }
    }
    if (count == 0) {
        list[count++] = best;
    }
    /* far-side members only if there is a path past the near side */
    member near_side[MEMBERS + PLANES];
    const int32_t nears = near_members(o, list, count, &best, near_side);
    if (nears == 0 || nears == count) {
        return add_members(o, list, count, 1 + (int32_t)ball, candidates);
    }
    const int32_t planes =
        passing_planes(o, x, r, v3_scale(perpi_candidate_step_out(best.psi, margin), best.n),
                       2.0 * margin, ball, near_side + nears);
    perp_status status = PERP_OK;
    if (planes > 0) {
        status = add_members(o, list, count, 1 + (int32_t)ball, candidates);
        name_path(near_side, nears);
    }
    const int32_t group = 1 + (int32_t)ball + (planes > 0 ? BALLS : 0);
    return status == PERP_OK ? add_members(o, near_side, nears + planes, group, candidates)
                             : status;
}

/* Features: the face, edge or vertex; groups are numbered 1. */
perp_status perpi_polyhedron_ball(const perpi_shape* a, const perpi_pose* pose_a,
                                  const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                  perpi_candidate_list* list)
{
    const placed o = {a->polyhedron, pose_a, a->polyhedron->size};
    const perpi_round ball = perpi_round_of(b, pose_b);
    const vec3 x = m3_tmul(pose_a->R, v3_sub(ball.c, pose_a->x));
    if (list->sided) {
        const perpi_segment point = {x, v3(0, 0, 1), 0.0};
        return add_on_side(&o, &point, ball.r, margin, list);
    }
    return add_ball(&o, x, ball.r, margin, 0, list);
}

/* The same for the inscribed ball of another polyhedron, about its centre of mass. `number`
 * distinguishes its groups from others. */
perp_status perpi_polyhedron_inner(const perpi_polyhedron* p, const perpi_pose* pose_p,
                                   const perpi_polyhedron* q, const perpi_pose* pose_q,
                                   double margin, uint32_t number, perpi_candidate_list* list)
{
    const placed o = {p, pose_p, p->size};
    double r = INFINITY;
    for (int32_t f = 0; f < q->face_count; ++f) {
        r = fmin(r, -height_over(q, f, q->mass.center));
    }
    const vec3 c = perpi_pose_point(pose_q, q->mass.center);
    const perpi_segment point = {m3_tmul(pose_p->R, v3_sub(c, pose_p->x)), v3(0, 0, 1), 0.0};
    r = r > 0.0 ? r : 0.0;
    return list->sided ? add_on_side(&o, &point, r, margin, list)
                       : add_ball(&o, point.c, r, margin, number, list);
}

/* ---- a capsule --------------------------------------------------------------------------------------- */

/* Its axis in the polyhedron's frame: c + t u, |t| <= l. */
typedef struct axis {
    perpi_segment s;
    double r;
} axis;

/* The part of the axis over a face, as an interval of t; false if there is none. */
static bool clip_to_face(const perpi_polyhedron* p, int32_t f, const perpi_segment* s, double* lo,
                         double* hi)
{
    *lo = -s->l;
    *hi = s->l;
    for (int32_t c = p->face_start[f]; c < p->face_start[f + 1]; ++c) {
        const int32_t next = c + 1 < p->face_start[f + 1] ? c + 1 : p->face_start[f];
        const vec3 a = p->vertex[p->corner[c]], e = v3_sub(p->vertex[p->corner[next]], a);
        const vec3 in = v3_cross(p->normal[f], e);
        const double at = v3_dot(in, v3_sub(s->c, a)), speed = v3_dot(in, s->u);
        if (fabs(speed) <= 1e-12 * v3_norm(in)) {
            if (at < 0.0) {
                return false;
            }
            continue;
        }
        const double t = -at / speed;
        if (speed > 0.0) {
            *lo = t > *lo ? t : *lo;
        } else {
            *hi = t < *hi ? t : *hi;
        }
    }
    return *lo <= *hi;
}

/* The balls that are used: parameters on the axis. */
typedef struct chosen {
    double t[BALLS];
    double least; /* distance of the nearest one */
    int count;
} chosen;

/* Ends are added first and are kept; others only where no ball is yet. */
static void choose_ball(chosen* balls, double t, double apart, double distance)
{
    for (int i = 0; i < balls->count; ++i) {
        if (fabs(balls->t[i] - t) < apart) {
            return;
        }
    }
    if (balls->count < BALLS) {
        balls->t[balls->count++] = t;
        balls->least = distance < balls->least ? distance : balls->least;
    }
}

/* The least distance of the axis from the faces of a node, and where; over a face, the part over
 * it. Returns whether the axis passes through a face. */
typedef struct survey {
    double d, t; /* the nearest point of the axis */
    nearest at;
    bool pierced;
    chosen balls;
} survey;

static void survey_face(const placed* o, int32_t f, const axis* x, double reach, survey* out)
{
    const perpi_polyhedron* p = o->p;
    double lo, hi;
    if (clip_to_face(p, f, &x->s, &lo, &hi)) {
        const double end[2] = {lo, hi};
        double h[2];
        for (int e = 0; e < 2; ++e) {
            h[e] = height_over(p, f, perpi_segment_at(&x->s, end[e]));
        }
        out->pierced = out->pierced || (h[0] < 0.0) != (h[1] < 0.0);
        for (int e = 0; e < 2; ++e) {
            const double d = fabs(h[e]);
            if (d < out->d) {
                out->d = d;
                out->t = end[e];
                out->at = (nearest){v3_madd(perpi_segment_at(&x->s, end[e]), -h[e], p->normal[f]),
                                    d, AT_FACE, f};
            }
            if (h[e] >= 0.0 && d <= reach) {
                choose_ball(&out->balls, end[e], PERPI_CANDIDATE_SAME * o->size, d);
            }
        }
    }
    for (int32_t c = p->face_start[f]; c < p->face_start[f + 1]; ++c) {
        const perpi_edge* e = &p->edge[p->side[c]];
        if (e->face[0] != f) {
            continue; /* its other face faces the axis */
        }
        const vec3 a = p->vertex[e->vertex[0]], b = p->vertex[e->vertex[1]];
        const double length = v3_norm(v3_sub(b, a));
        const perpi_segment side = {v3_scale(0.5, v3_add(a, b)),
                                    v3_scale(1.0 / length, v3_sub(b, a)), 0.5 * length};
        const perpi_chord chord = perpi_segment_closest(&x->s, &side);
        const double d = sqrt(chord.d2);
        if (d < out->d) {
            out->d = d;
            out->t = chord.s;
            out->at = (nearest){perpi_segment_at(&side, chord.t), d, AT_EDGE, p->side[c]};
        }
    }
}

static survey survey_faces(const placed* o, const axis* x, double reach)
{
    const perpi_polyhedron* p = o->p;
    survey out = {.d = INFINITY, .balls.least = INFINITY};
    const vec3 a = perpi_segment_at(&x->s, -x->s.l), b = perpi_segment_at(&x->s, x->s.l);
    const vec3 lo = v3(fmin(a.x, b.x), fmin(a.y, b.y), fmin(a.z, b.z));
    const vec3 hi = v3(fmax(a.x, b.x), fmax(a.y, b.y), fmax(a.z, b.z));
    int32_t stack[STACK], top = 0;
    stack[top++] = 0;
    while (top > 0) {
        const int32_t at = stack[--top];
        const perpi_face_node* node = &p->node[at];
        if (box_distance2(node, lo, hi) > reach * reach) {
            continue;
        }
        for (int32_t i = 0; i < node->count; ++i) {
            survey_face(o, p->order[node->first + i], x, reach, &out);
        }
        if (node->count == 0 && top + 2 <= STACK) {
            stack[top++] = node->first;
            stack[top++] = at + 1;
        }
    }
    return out;
}

/* Both ends of the part of the axis that is parallel and next to an edge. */
static void choose_along_edge(const placed* o, const axis* x, const nearest* at, double reach,
                              chosen* balls)
{
    if (at->kind != AT_EDGE) {
        return;
    }
    const perpi_edge* e = &o->p->edge[at->index];
    const vec3 a = o->p->vertex[e->vertex[0]], b = o->p->vertex[e->vertex[1]];
    const double length = v3_norm(v3_sub(b, a));
    const perpi_segment side = {v3_scale(0.5, v3_add(a, b)), v3_scale(1.0 / length, v3_sub(b, a)),
                                0.5 * length};
    perpi_chord end[2];
    if (v3_norm(v3_cross(x->s.u, side.u)) < PERPI_CANDIDATE_PARALLEL &&
        perpi_segment_overlap(&x->s, &side, PERPI_CANDIDATE_SAME * o->size, end)) {
        for (int k = 0; k < 2; ++k) {
            if (sqrt(end[k].d2) <= reach) {
                choose_ball(balls, end[k].s, PERPI_CANDIDATE_SAME * o->size, sqrt(end[k].d2));
            }
        }
    }
}

/* The axis passes through the polyhedron or lies in it: separate along the direction of least
 * depth. */
static perp_status add_pierced(const placed* o, const axis* x, double margin,
                               perpi_candidate_list* list)
{
    const perpi_polyhedron* p = o->p;
    double by_face = -INFINITY, by_edge = -INFINITY;
    int32_t face = 0, edge = 0;
    vec3 across = {0, 0, 0};
    for (int32_t f = 0; f < p->face_count; ++f) {
        const double h = height_over(p, f, x->s.c) - x->s.l * fabs(v3_dot(p->normal[f], x->s.u));
        if (h > by_face) {
            by_face = h;
            face = f;
        }
    }
    for (int32_t e = 0; e < p->edge_count; ++e) {
        const vec3 n0 = p->normal[p->edge[e].face[0]], n1 = p->normal[p->edge[e].face[1]];
        /* the directions in which the edge is outermost, and across the axis */
        if (!(v3_dot(n0, x->s.u) * v3_dot(n1, x->s.u) < 0.0)) {
            continue;
        }
        const vec3 a = p->vertex[p->edge[e].vertex[0]], b = p->vertex[p->edge[e].vertex[1]];
        vec3 w = v3_cross(x->s.u, v3_sub(b, a));
        const double length = v3_norm(w);
        if (!(length > PERPI_CANDIDATE_PARALLEL * v3_norm(v3_sub(b, a)))) {
            continue;
        }
        w = v3_scale((v3_dot(w, v3_add(n0, n1)) < 0.0 ? -1.0 : 1.0) / length, w);
        const double h = v3_dot(w, v3_sub(x->s.c, a));
        if (h > by_edge) {
            by_edge = h;
            edge = e;
            across = w;
        }
    }
    if (by_edge > by_face + PERPI_CANDIDATE_SAME * o->size) {
        const vec3 a = p->vertex[p->edge[edge].vertex[0]], b = p->vertex[p->edge[edge].vertex[1]];
        const double length = v3_norm(v3_sub(b, a));
        const perpi_segment side = {v3_scale(0.5, v3_add(a, b)),
                                    v3_scale(1.0 / length, v3_sub(b, a)), 0.5 * length};
        /* where the two cross in projection along the direction */
        perpi_segment flat = x->s;
        flat.c = v3_madd(flat.c, -by_edge, across);
        const perpi_chord chord = perpi_segment_closest(&flat, &side);
        const member m = {across, perpi_segment_at(&side, chord.t), by_edge - x->r,
                          feature_of(AT_EDGE, edge, 60)};
        return add_members(o, &m, 1, 0, list);
    }
    double end[2];
    if (!clip_to_face(p, face, &x->s, &end[0], &end[1])) {
        end[0] = end[1] = v3_dot(p->normal[face], x->s.u) > 0.0 ? -x->s.l : x->s.l;
    }
    const int ends = end[1] - end[0] > PERPI_CANDIDATE_SAME * o->size ? 2 : 1;
    perp_status status = PERP_OK;
    for (int e = 0; e < ends && status == PERP_OK; ++e) {
        const vec3 at = perpi_segment_at(&x->s, end[e]);
        const double h = height_over(p, face, at);
        const member m = {p->normal[face], v3_madd(at, -h, p->normal[face]), h - x->r,
                          feature_of(AT_FACE, face, 61 + (uint32_t)e)};
        if (m.psi <= margin) {
            status = add_members(o, &m, 1, 0, list);
        }
    }
    return status;
}

/* Features as of a ball, with the number of the ball among those chosen. */
perp_status perpi_polyhedron_capsule(const perpi_shape* a, const perpi_pose* pose_a,
                                     const perpi_shape* b, const perpi_pose* pose_b, double margin,
                                     perpi_candidate_list* list)
{
    const perpi_round round = perpi_round_of(b, pose_b);
    if (!(round.l > 0.0)) {
        return perpi_polyhedron_ball(a, pose_a, b, pose_b, margin, list);
    }
    const placed o = {a->polyhedron, pose_a, a->polyhedron->size};
    const axis x = {
        {m3_tmul(pose_a->R, v3_sub(round.c, pose_a->x)), m3_tmul(pose_a->R, round.u), round.l},
        round.r};
    if (list->sided) {
        return add_on_side(&o, &x.s, x.r, margin, list);
    }
    const double reach = margin + round.r;
    double height;
    (void)highest_face(o.p, x.s.c, &height);
    survey found = survey_faces(&o, &x, reach);
    if (found.pierced || height < 0.0) {
        return add_pierced(&o, &x, margin, list);
    }
    if (!(found.d <= reach)) {
        return PERP_OK;
    }
    choose_along_edge(&o, &x, &found.at, reach, &found.balls);
    if (found.d < found.balls.least - PERPI_CANDIDATE_TIE * o.size) {
        choose_ball(&found.balls, found.t, 0.0, found.d);
    }
    perp_status status = PERP_OK;
    for (int i = 0; i < found.balls.count && status == PERP_OK; ++i) {
        status =
            add_ball(&o, perpi_segment_at(&x.s, found.balls.t[i]), x.r, margin, (uint32_t)i, list);
    }
    return status;
}
