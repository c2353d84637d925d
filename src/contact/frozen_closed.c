/* src/contact/frozen_closed.c - frozen contacts of a point with a face, and of two points, in
 * closed form: see frozen.h.
 *
 * Notation   docs/notation.md, "Derivatives of a contact": q base points, n from A to B, p = q + sigma r n surface points
 *
 * With a face the normal turns with its body, and the distance is n . (q_B - q_A); of two points
 * the normal is their direction. Most contacts of balls and boxes are of these kinds; the general
 * system costs about ten times as much.
 */
#include <string.h>

#include "contact/frozen.h"

typedef enum closed_kind { NOT_CLOSED, WITH_FACE, OF_POINTS } closed_kind;

/* *face: the side of the face. */
static closed_kind kind_of(const perpi_frozen_contact* frozen, int* face)
{
    const perpi_feature_kind a = frozen->feature[0].kind, b = frozen->feature[1].kind;
    *face = a == PERPI_FEATURE_FACE ? 0 : 1;
    if (a == PERPI_FEATURE_POINT && b == PERPI_FEATURE_POINT) {
        return OF_POINTS;
    }
    return (a == PERPI_FEATURE_FACE && b == PERPI_FEATURE_POINT) ||
                   (a == PERPI_FEATURE_POINT && b == PERPI_FEATURE_FACE)
               ? WITH_FACE
               : NOT_CLOSED;
}

static double radius_of(const perp_model* model, const perpi_frozen_contact* frozen, int side)
{
    const perpi_frozen_feature* f = &frozen->feature[side];
    return perpi_feature_radius(&model->shape[f->shape], f);
}

bool perpi_closed_solve(const perp_model* model, const perpi_pose* pose,
                        const perpi_frozen_contact* frozen, perpi_contact_point* at,
                        perpi_contact_geometry* geometry)
{
    static const double LEAST = 1e-6; /* of the size: points closer than this have no direction */
    int face;
    const closed_kind kind = kind_of(frozen, &face);
    if (kind == NOT_CLOSED) {
        return false;
    }
    const double r[2] = {radius_of(model, frozen, 0), radius_of(model, frozen, 1)};
    perpi_pose world[2];
    vec3 q[2], n = at->n, place[2];
    for (int s = 0; s < 2; ++s) {
        const perpi_frozen_feature* f = &frozen->feature[s];
        const perpi_shape* shape = &model->shape[f->shape];
        world[s] = perpi_frozen_pose(model, pose, frozen, s);
        if (f->kind == PERPI_FEATURE_POINT) {
            place[s] = perpi_feature_vertex(shape, f->index);
        } else {
            vec3 out;
            const double offset = perpi_feature_face(shape, f->index, &out);
            place[s] = v3_madd(at->place[s], offset - v3_dot(out, at->place[s]), out);
            n = v3_unit(m3_mul(world[s].R, s == 0 ? out : v3_neg(out)));
        }
        q[s] = perpi_pose_point(&world[s], place[s]);
    }
    const vec3 way = v3_sub(q[1], q[0]);
    double distance = v3_dot(n, way);
    if (kind == OF_POINTS) {
        const double length = v3_norm(way);
        if (!(length > LEAST * perpi_frozen_size(model, frozen))) {
            return false;
        }
        /* with A's centre behind that of B the normal points the other way */
        distance = distance < 0.0 ? -length : length;
        n = v3_scale(1.0 / distance, way);
    } else { /* the point of the face is the foot of the other one */
        place[face] = v3_add(
            place[face],
            m3_tmul(world[face].R, v3_scale(face == 0 ? 1.0 : -1.0, v3_madd(way, -distance, n))));
    }
    if (!(v3_dot(n, at->n) > 0.0)) {
        return false;
    }
    at->place[0] = place[0];
    at->place[1] = place[1];
    at->n = n;
    at->gap = distance - r[0] - r[1];
    const vec3 on_a = kind == WITH_FACE && face == 0 ? v3_madd(q[1], -distance + r[0], n)
                                                     : v3_madd(q[0], r[0], n);
    *geometry =
        (perpi_contact_geometry){.point_a = on_a,
                                 .point_b = v3_madd(on_a, at->gap, n),
                                 .normal = n,
                                 .tangent = perpi_frozen_tangent(model, frozen->tangent_y, n),
                                 .gap = at->gap};
    return true;
}

static void put(double out[3][12], int column, vec3 a)
{
    out[0][column] = a.x;
    out[1][column] = a.y;
    out[2][column] = a.z;
}

bool perpi_closed_derivative(const perp_model* model, const perpi_pose* pose,
                             const perpi_frozen_contact* frozen, perpi_contact_derivative* d)
{
    int face;
    const closed_kind kind = kind_of(frozen, &face);
    const perpi_contact_point at = perpi_frozen_start(pose, frozen);
    const double r[2] = {radius_of(model, frozen, 0), radius_of(model, frozen, 1)};
    const double distance = at.gap + r[0] + r[1];
    if (kind == NOT_CLOSED ||
        (kind == OF_POINTS && !(fabs(distance) > 1e-13 * perpi_frozen_size(model, frozen)))) {
        return false;
    }
    vec3 q[2];
    for (int s = 0; s < 2; ++s) {
        const perpi_pose world = perpi_frozen_pose(model, pose, frozen, s);
        q[s] = perpi_pose_point(&world, at.place[s]);
    }
    memset(d, 0, sizeof *d);
    for (int column = 0; column < 12; ++column) {
        const int body = column / 6, k = column % 6;
        if (model->dimension == 2 && k != 0 && k != 1 && k != 5) {
            continue;
        }
        const vec3 e = v3(k % 3 == 0, k % 3 == 1, k % 3 == 2);
        const vec3 dq =
            k < 3 ? e : v3_cross(e, v3_sub(q[body], pose[frozen->body[body]].x)); /* of its body */
        const double sign = body == 0 ? -1.0 : 1.0;
        vec3 dn = v3(0, 0, 0);
        double dgap = sign * v3_dot(at.n, dq);
        if (kind == OF_POINTS) {
            dn = v3_scale(sign / distance, v3_madd(dq, -v3_dot(at.n, dq), at.n));
        } else if (body == face && k >= 3) {
            dn = v3_cross(e, at.n); /* the way between the points is along n */
        }
        /* of a face the point follows that of the other side */
        const int own = kind == WITH_FACE ? 1 - face : 0;
        vec3 dp[2];
        dp[own] = v3_scale(own == 0 ? r[0] : -r[1], dn);
        if (body == own) {
            dp[own] = v3_add(dp[own], dq);
        }
        const vec3 across = v3_madd(v3_scale(dgap, at.n), at.gap, dn);
        dp[1 - own] = v3_madd(dp[own], own == 0 ? 1.0 : -1.0, across);
        d->gap[column] = dgap;
        put(d->normal, column, dn);
        put(d->point_a, column, dp[0]);
        put(d->point_b, column, dp[1]);
        if (dn.x != 0.0 || dn.y != 0.0 || dn.z != 0.0) {
            put(d->tangent, column,
                perpi_frozen_tangent_change(model, frozen->tangent_y, at.n, dn));
        }
    }
    return true;
}
