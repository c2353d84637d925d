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
    const perp_model* model = at->model;
    const perpi_joint* joint = at->joint;
    const vec3 d = at->d;
    bool both = true, particle[2] = {false, false};
    for (int i = 0; i < 2; ++i) {
        both = both && joint->body[i] >= 0 && model->body[joint->body[i]].dofs > 0;
        particle[i] = joint->body[i] >= 0 && model->body[joint->body[i]].particle;
    }
    /* a particle has no lever arm: use its own point */
    const double part = particle[0] ? 0.0 : particle[1] ? 1.0 : 0.5;
    for (int i = 0; i < model->dimension; ++i) {
        perpi_row row = perpi_position_row(at, AXIS[i], false, v3_get(d, i));
        if (both) {
            row.arm[0] = v3_madd(row.arm[0], part, d);
            row.arm[1] = v3_madd(row.arm[1], part - 1.0, d);
        }
        perpi_joint_hold(view, row);
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
