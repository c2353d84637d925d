/* src/contact/border.c - contacts of round bodies at the border of two features of a polytope.
 *
 * A ball over a face touches it along the normal of the face, which does not turn when the ball
 * moves; past an edge the normal turns with it. There the contact has one-sided derivatives only.
 */
#include <math.h>

#include "contact/derivative.h"
#include "contact/frozen.h"
#include "shape/polyhedron.h"

enum { MOST_FACES = 8 }; /* that meet at a point; more are not looked at */

static bool is_polytope(const perpi_shape* s)
{
    return s->type == PERP_SHAPE_BOX || s->type == PERP_SHAPE_POLYHEDRON ||
           s->type == PERP_SHAPE_BOX2 || s->type == PERP_SHAPE_POLYGON;
}

static bool is_curved(const perpi_shape* s)
{
    return s->type == PERP_SHAPE_SPHERE || s->type == PERP_SHAPE_CIRCLE ||
           s->type == PERP_SHAPE_CAPSULE || s->type == PERP_SHAPE_ELLIPSOID ||
           s->type == PERP_SHAPE_SUPERQUADRIC || s->type == PERP_SHAPE_SUPERELLIPSE;
}

static int32_t face_count(const perpi_shape* s)
{
    return s->polyhedron != NULL ? s->polyhedron->face_count : perpi_planar_count(s);
}

/* x: the point of the polytope; n: its outward normal there; both in its frame. */
static bool at_border(const perpi_shape* s, vec3 x, vec3 n, double threshold)
{
    vec3 at[MOST_FACES];
    int count = 0;
    bool flat = false; /* along the normal of a face */
    const double size = v3_norm(x);
    for (int32_t i = 0; i < face_count(s) && count < MOST_FACES; ++i) {
        vec3 normal;
        const double offset = perpi_feature_face(s, i, &normal);
        if (offset - v3_dot(normal, x) <= threshold * size) {
            flat = flat || v3_norm(v3_sub(n, normal)) <= threshold;
            at[count++] = normal;
        }
    }
    bool border = flat && count > 1;
    for (int i = 0; i < count && count > 2; ++i) { /* at a corner, in the plane of two faces */
        for (int k = 0; k < i; ++k) {
            border = border || fabs(v3_dot(n, v3_cross(at[i], at[k]))) <= threshold;
        }
    }
    return border;
}

bool perpi_contact_at_border(const perp_model* model, const perpi_pose* pose,
                             const perp_contact* contact, double threshold)
{
    const int32_t shape[2] = {perpi_key_shape_a(contact->key), perpi_key_shape_b(contact->key)};
    const int32_t body[2] = {contact->body_a, contact->body_b};
    for (int side = 0; side < 2; ++side) {
        const perpi_shape* s = &model->shape[shape[side]];
        if (!is_polytope(s) || !is_curved(&model->shape[shape[1 - side]])) {
            continue;
        }
        const perpi_pose p = perpi_pose_mul(&pose[body[side]], &s->local);
        const vec3 n = v3_from(contact->normal);
        const vec3 x = v3_madd(v3_from(contact->point), side == 0 ? 0.0 : contact->gap, n);
        return at_border(s, m3_tmul(p.R, v3_sub(x, p.x)),
                         v3_scale(side == 0 ? 1.0 : -1.0, m3_tmul(p.R, n)), threshold);
    }
    return false;
}
