/* src/model/joints/joint_type.c - the types of joints, and parts of their rows. */
#include "model/joints/joint_type.h"

#include <math.h>

#define DECLARE(NAME, name) extern const perpi_joint_ops perpi_joint_##name;
#define ENTRY(NAME, name) [PERP_JOINT_##NAME] = &perpi_joint_##name,
PERP_JOINT_TYPES(DECLARE)
static const perpi_joint_ops* const types[] = {PERP_JOINT_TYPES(ENTRY)};

const perpi_joint_ops* perpi_joint_ops_of(perp_joint_type type)
{
    return types[type];
}

bool perpi_joint_one_degree(perp_joint_type type)
{
    return types[type]->driven;
}

/* Between two dynamic bodies the rows act at a point between their two points, this part of the way
 * from a to b; -1: each at its own. A particle has no lever arm: its own point. */
static double shared_place(const perpi_joint_at* at)
{
    const perp_model* model = at->model;
    bool both = true, particle[2] = {false, false};
    for (int i = 0; i < 2; ++i) {
        const int32_t body = at->joint->body[i];
        both = both && body >= 0 && model->body[body].dofs > 0;
        particle[i] = body >= 0 && model->body[body].particle;
    }
    return !both ? -1.0 : particle[0] ? 0.0 : particle[1] ? 1.0 : 0.5;
}

/* dir . d with both points at their poses; on_b: dir rotates with a, and the row acts at the point
 * of b. */
perpi_row perpi_position_row(const perpi_joint_at* at, vec3 dir, bool on_b, double b)
{
    const perpi_joint_side* s = at->side;
    return (perpi_row){.dir = dir,
                       .arm = {v3_sub(on_b ? s[1].point : s[0].point, s[0].centre),
                               v3_sub(s[1].point, s[1].centre)},
                       .b = b};
}

perpi_row perpi_angle_row(vec3 dir, double b)
{
    return (perpi_row){.angular = true, .dir = dir, .b = b};
}

void perpi_joint_hold(perpi_joint_view* view, perpi_row row)
{
    const int kind = row.angular ? 1 : 0;
    view->row[view->rows++] = row;
    view->error[kind] = sqrt(view->error[kind] * view->error[kind] + row.b * row.b);
}

static const vec3 AXIS[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/* Between two dynamic bodies the rows act at the midpoint of the two points: impulses at two points
 * would change the angular momentum of the pair by d x p. The rows are then inexact by the joint's
 * error. */
void perpi_joint_hold_point(const perpi_joint_at* at, perpi_joint_view* view)
{
    const vec3 d = at->d;
    const double part = shared_place(at);
    const perpi_joint_side* s = at->side;
    vec3 arm[2] = {v3_sub(s[0].point, s[0].centre), v3_sub(s[1].point, s[1].centre)};
    if (part >= 0.0) {
        arm[0] = v3_madd(arm[0], part, d);
        arm[1] = v3_madd(arm[1], part - 1.0, d);
    }
    for (int i = 0; i < at->model->dimension; ++i) {
        const double b = v3_get(d, i);
        view->row[view->rows++] = (perpi_row){.dir = AXIS[i], .arm = {arm[0], arm[1]}, .b = b};
        view->error[0] = sqrt(view->error[0] * view->error[0] + b * b);
    }
}

void perpi_joint_hold_orientation(const perpi_joint_at* at, perpi_joint_view* view)
{
    const perpi_joint_side* s = at->side;
    if (at->planar) {
        perpi_joint_hold(view,
                         perpi_angle_row(AXIS[2], s[1].angle - s[0].angle - at->joint->angle));
        return;
    }
    const vec3 turn = q4_log(q4_mul(s[1].q, q4_conj(s[0].q)));
    for (int i = 0; i < 3; ++i) {
        perpi_joint_hold(view, perpi_angle_row(AXIS[i], v3_get(turn, i)));
    }
}

/* z of both frames parallel: the rotation that takes one to the other has no component along z. */
void perpi_joint_hold_axis(const perpi_joint_at* at, perpi_joint_view* view)
{
    const perpi_joint_side* s = at->side;
    const vec3 a = m3_column(s[0].F, 2), b = m3_column(s[1].F, 2);
    const vec3 cross = v3_cross(a, b);
    const double sine = v3_norm(cross);
    const double scale = sine > 1e-8 ? atan2(sine, v3_dot(a, b)) / sine : 1.0;
    for (int i = 0; i < 2; ++i) {
        const vec3 e = m3_column(s[0].F, i);
        perpi_joint_hold(view, perpi_angle_row(e, scale * v3_dot(e, cross)));
    }
}

/* Angle of b about z of a, in (-pi, pi]: the twist of the relative rotation. */
double perpi_joint_twist(const perpi_joint_at* at)
{
    const perpi_joint_side* s = at->side;
    const quat r = q4_mul(q4_conj(s[0].q), s[1].q);
    return r.w < 0.0 ? 2.0 * atan2(-r.z, -r.w) : 2.0 * atan2(r.z, r.w);
}

void perpi_joint_coordinate(perpi_joint_view* view, perpi_row row)
{
    view->coordinate[view->coordinates++] = row;
}

/* ---- derivatives ------------------------------------------------------------------------------------*/

perpi_row_change perpi_position_change(const perpi_joint_shift* by, vec3 dir, bool on_b, double b)
{
    return (perpi_row_change){.dir = dir,
                              .arm = {v3_sub(on_b ? by->point[1] : by->point[0], by->centre[0]),
                                      v3_sub(by->point[1], by->centre[1])},
                              .b = b};
}

perpi_row_change perpi_carried_change(const perpi_joint_at* at, const perpi_joint_shift* by,
                                      vec3 dir)
{
    const vec3 turned = v3_cross(by->turn[0], dir);
    return perpi_position_change(by, turned, true, v3_dot(turned, at->d) + v3_dot(dir, by->d));
}

void perpi_joint_hold_change(perpi_joint_change* change, perpi_row_change row)
{
    change->row[change->rows++] = row;
}

void perpi_joint_coordinate_change(perpi_joint_change* change, perpi_row_change row)
{
    change->coordinate[change->coordinates++] = row;
}

void perpi_joint_hold_point_change(const perpi_joint_at* at, const perpi_joint_shift* by,
                                   perpi_joint_change* change)
{
    const double part = shared_place(at);
    for (int i = 0; i < at->model->dimension; ++i) {
        perpi_row_change row = perpi_position_change(by, v3(0, 0, 0), false, v3_get(by->d, i));
        if (part >= 0.0) {
            row.arm[0] = v3_madd(row.arm[0], part, by->d);
            row.arm[1] = v3_madd(row.arm[1], part - 1.0, by->d);
        }
        perpi_joint_hold_change(change, row);
    }
}

/* J_l(r)^-1 x: exp(r + J_l(r)^-1 x) = exp(x) exp(r) to first order in x. */
static vec3 turn_log_change(vec3 r, vec3 x)
{
    const double a = v3_norm(r);
    const double half = 0.5 * a;
    const double c = a < 1e-4 ? 1.0 / 12.0 + a * a / 720.0 : (1.0 - half / tan(half)) / (a * a);
    const vec3 once = v3_cross(r, x);
    return v3_madd(v3_madd(x, -0.5, once), c, v3_cross(r, once));
}

void perpi_joint_hold_orientation_change(const perpi_joint_at* at, const perpi_joint_shift* by,
                                         perpi_joint_change* change)
{
    const perpi_joint_side* s = at->side;
    if (at->planar) {
        perpi_joint_hold_change(change, (perpi_row_change){.b = by->turn[1].z - by->turn[0].z});
        return;
    }
    /* exp(turn_b) Q exp(-turn_a) = exp(turn_b - Q turn_a) Q to first order */
    const quat Q = q4_mul(s[1].q, q4_conj(s[0].q));
    const vec3 left = v3_sub(by->turn[1], q4_rotate(Q, by->turn[0]));
    const vec3 turn = turn_log_change(q4_log(Q), left);
    for (int i = 0; i < 3; ++i) {
        perpi_joint_hold_change(change, (perpi_row_change){.b = v3_get(turn, i)});
    }
}

void perpi_joint_hold_axis_change(const perpi_joint_at* at, const perpi_joint_shift* by,
                                  perpi_joint_change* change)
{
    const perpi_joint_side* s = at->side;
    const vec3 a = m3_column(s[0].F, 2), b = m3_column(s[1].F, 2);
    const vec3 da = v3_cross(by->turn[0], a), db = v3_cross(by->turn[1], b);
    const vec3 cross = v3_cross(a, b), dcross = v3_add(v3_cross(da, b), v3_cross(a, db));
    const double sine = v3_norm(cross), cosine = v3_dot(a, b);
    const double angle = atan2(sine, cosine);
    const double scale = sine > 1e-8 ? angle / sine : 1.0;
    /* d(angle / sine) by the cosine, of which d is -sine d(angle) */
    const double slope = sine > 1e-4 ? (angle * cosine - sine) / (sine * sine * sine) : -1.0 / 3.0;
    const double dscale = slope * (v3_dot(da, b) + v3_dot(a, db));
    for (int i = 0; i < 2; ++i) {
        const vec3 e = m3_column(s[0].F, i), de = v3_cross(by->turn[0], e);
        const double along = v3_dot(e, cross);
        perpi_joint_hold_change(
            change,
            (perpi_row_change){
                .dir = de, .b = dscale * along + scale * (v3_dot(de, cross) + v3_dot(e, dcross))});
    }
}

perpi_row_change perpi_axis_change(const perpi_joint_at* at, const perpi_joint_shift* by, double b)
{
    return (perpi_row_change){.dir = v3_cross(by->turn[0], at->z), .b = b};
}

double perpi_joint_twist_change(const perpi_joint_at* at, const perpi_joint_shift* by)
{
    const perpi_joint_side* s = at->side;
    const quat r = q4_mul(q4_conj(s[0].q), s[1].q);
    const vec3 x = m3_tmul(s[0].F, v3_sub(by->turn[1], by->turn[0])); /* r becomes (1, x/2) r */
    const double dw = -0.5 * (x.x * r.x + x.y * r.y + x.z * r.z);
    const double dz = 0.5 * (x.z * r.w + x.x * r.y - x.y * r.x);
    return 2.0 * (r.w * dz - r.z * dw) / (r.w * r.w + r.z * r.z);
}
