/* src/contact/frozen.h - frozen features at their poses, and the system that their contact solves:
 * see derivative.h. */
#ifndef PERPI_CONTACT_FROZEN_H
#define PERPI_CONTACT_FROZEN_H

#include "contact/derivative.h"

/* A feature in the world. Side A has the outward normal n, side B -n. */
typedef struct perpi_placed_feature {
    vec3 origin;  /* centre of mass of its body */
    vec3 other;   /* of the other one */
    vec3 q;       /* base point; of a surface: the support point */
    int free;     /* number of parameters */
    vec3 dir[2];  /* unit: change of q with a parameter, which is a length */
    vec3 bend[2]; /* change of dir with its parameter */
    int cuts; /* the first parameters are closed by planes of the other body, not by n . dir = 0 */
    vec3 m[2], c[2]; /* unit normal and a point of the cutting planes */
    double radius;   /* p = q + radius times the outward normal */
    bool surface;
    mat3 H; /* of a surface: Hessian of its support function, world */
} perpi_placed_feature;

/* The state of the search: places in the frames of the shapes, normal in the world. */
typedef struct perpi_contact_point {
    vec3 place[2], n;
    double gap;
} perpi_contact_point;

/* Whether the shape has the feature, and the other one the planes that cut it. */
bool perpi_feature_exists(const perp_model* model, const perpi_frozen_contact* frozen, int side);
/* place: moved onto the feature. n: from A to B. */
void perpi_feature_place(const perp_model* model, const perpi_pose* pose,
                         const perpi_frozen_contact* frozen, int side, vec3 n, vec3* place,
                         perpi_placed_feature* placed);
/* A face in the frame of its shape, n . x = the value returned; a point. */
double perpi_feature_face(const perpi_shape* shape, int32_t index, vec3* n);
vec3 perpi_feature_vertex(const perpi_shape* shape, int32_t index);
/* Radius of the shape if the feature is moved out by it, else 0. */
double perpi_feature_radius(const perpi_shape* shape, const perpi_frozen_feature* feature);
/* A length of the two shapes, for tolerances and scaling; > 0. */
double perpi_frozen_size(const perp_model* model, const perpi_frozen_contact* frozen);
/* How far the point is from a solution: lengths relative to the size. */
double perpi_frozen_error(const perp_model* model, const perpi_pose* pose,
                          const perpi_frozen_contact* frozen, perpi_contact_point* x);
/* Newton's method from x. False: no solution near x, or the system is singular. */
bool perpi_frozen_solve(const perp_model* model, const perpi_pose* pose,
                        const perpi_frozen_contact* frozen, perpi_contact_point* x,
                        perpi_contact_geometry* geometry);
/* frozen_closed.c: contacts of a point with a face, and of two points, in closed form; false: it is
 * none of these, or it has no normal. x: in, its normal is near that of the solution; out: the
 * solution. tangent_y: of frozen. */
bool perpi_closed_solve(const perp_model* model, const perpi_pose* pose,
                        const perpi_frozen_contact* frozen, perpi_contact_point* x,
                        perpi_contact_geometry* geometry);
bool perpi_closed_derivative(const perp_model* model, const perpi_pose* pose,
                             const perpi_frozen_contact* frozen, perpi_contact_derivative* d);
vec3 perpi_frozen_tangent(const perp_model* model, bool tangent_y, vec3 n);
/* Its change with the normal. */
vec3 perpi_frozen_tangent_change(const perp_model* model, bool tangent_y, vec3 n, vec3 dn);
/* The start of the search: the contact as it was frozen. */
perpi_contact_point perpi_frozen_start(const perpi_pose* pose, const perpi_frozen_contact* frozen);
/* World pose of a shape of the contact. */
static inline perpi_pose perpi_frozen_pose(const perp_model* model, const perpi_pose* pose,
                                           const perpi_frozen_contact* frozen, int side)
{
    return perpi_pose_mul(&pose[frozen->body[side]],
                          &model->shape[frozen->feature[side].shape].local);
}

/* Vertices and edges of a polygon or planar box, numbered as its outline is (polygon.c). */
int32_t perpi_planar_count(const perpi_shape* shape);
vec3 perpi_planar_vertex(const perpi_shape* shape, int32_t i);
vec3 perpi_planar_normal(const perpi_shape* shape, int32_t i);
/* Point k of the rim at -z (k < 8) or +z of a cylinder, in its frame. */
vec3 perpi_rim_point(const perpi_shape* shape, int32_t k);

#endif
