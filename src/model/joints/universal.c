/* src/model/joints/universal.c - b turns about two crossing axes, z of a and x of b. */
#include "model/joints/joint_type.h"

#include <math.h>

static void universal_evaluate(const perpi_joint_at* at, perpi_joint_view* view)
{
    perpi_joint_hold_point(at, view);
    const vec3 x_a = m3_column(at->side[0].F, 0), y_a = m3_column(at->side[0].F, 1),
               z_a = m3_column(at->side[0].F, 2);
    const vec3 x_b = m3_column(at->side[1].F, 0), z_b = m3_column(at->side[1].F, 2);
    const vec3 normal = v3_cross(x_b, z_a);
    const double sine = v3_norm(normal), cosine = v3_dot(x_b, z_a);
    const vec3 e = sine > 0.0 ? v3_scale(1.0 / sine, normal) : m3_column(at->side[1].F, 1);
    /* d/dt (x_b . z_a) = (omega_b - omega_a) . (x_b x z_a) */
    perpi_joint_hold(view, perpi_angle_row(e, atan2(cosine, sine)));
    const vec3 y_c = v3_cross(z_a, x_b); /* the cross piece has x_b and z_a as axes */
    const double first = atan2(v3_dot(x_b, y_a), v3_dot(x_b, x_a));
    const double second = atan2(-v3_dot(z_b, y_c), v3_dot(z_b, z_a));
    perpi_joint_coordinate(view, perpi_angle_row(z_a, first + at->turn[0]));
    perpi_joint_coordinate(view, perpi_angle_row(x_b, second + at->turn[1]));
}

static void universal_differentiate(const perpi_joint_at* at, const perpi_joint_shift* by,
                                    perpi_joint_change* change)
{
    perpi_joint_hold_point_change(at, by, change);
    const vec3 x_a = m3_column(at->side[0].F, 0), y_a = m3_column(at->side[0].F, 1),
               z_a = m3_column(at->side[0].F, 2);
    const vec3 x_b = m3_column(at->side[1].F, 0), z_b = m3_column(at->side[1].F, 2);
    const vec3 dx_a = v3_cross(by->turn[0], x_a), dy_a = v3_cross(by->turn[0], y_a),
               dz_a = v3_cross(by->turn[0], z_a);
    const vec3 dx_b = v3_cross(by->turn[1], x_b), dz_b = v3_cross(by->turn[1], z_b);
    const vec3 normal = v3_cross(x_b, z_a);
    const vec3 dnormal = v3_add(v3_cross(dx_b, z_a), v3_cross(x_b, dz_a));
    const double sine = v3_norm(normal), dcosine = v3_dot(dx_b, z_a) + v3_dot(x_b, dz_a);
    const vec3 e = v3_scale(1.0 / sine, normal);
    perpi_joint_hold_change(
        change,
        (perpi_row_change){.dir = v3_scale(1.0 / sine, v3_madd(dnormal, -v3_dot(e, dnormal), e)),
                           .b = dcosine / sine});
    const vec3 y_c = v3_cross(z_a, x_b);
    const vec3 dy_c = v3_neg(dnormal);
    const double c1 = v3_dot(x_b, x_a), s1 = v3_dot(x_b, y_a);
    const double dc1 = v3_dot(dx_b, x_a) + v3_dot(x_b, dx_a);
    const double ds1 = v3_dot(dx_b, y_a) + v3_dot(x_b, dy_a);
    const double c2 = v3_dot(z_b, z_a), s2 = -v3_dot(z_b, y_c);
    const double dc2 = v3_dot(dz_b, z_a) + v3_dot(z_b, dz_a);
    const double ds2 = -v3_dot(dz_b, y_c) - v3_dot(z_b, dy_c);
    perpi_joint_coordinate_change(
        change, (perpi_row_change){.dir = dz_a, .b = (c1 * ds1 - s1 * dc1) / (c1 * c1 + s1 * s1)});
    perpi_joint_coordinate_change(
        change, (perpi_row_change){.dir = dx_b, .b = (c2 * ds2 - s2 * dc2) / (c2 * c2 + s2 * s2)});
}

const perpi_joint_ops perpi_joint_universal = {
    .name = "universal",
    .summary = "turns about two crossing axes, axis on a and axis2 on b",
    .rows = {-1, 4},
    .coordinates = 2,
    .has_axis = {true, true},
    .evaluate = universal_evaluate,
    .differentiate = universal_differentiate,
};
