/* src/contact/derivative.h - a contact with its features frozen: its geometry at other poses and sizes, and its
 * derivatives by small displacements of its two bodies.
 *
 * The features of a contact (a vertex and a face, two edges, a rim and a plane, two smooth
 * surfaces, ...) are named by its key, or found from its stored point and normal where the key does
 * not name them. Frozen, each is a base point with up to two free parameters, fixed in its body:
 *
 *     point    none                            vertex, centre of a ball, end of a capsule's axis, numbered point of a rim
 *     line     one, along its direction        edge, axis of a capsule or of a cylinder
 *     rim      one, along a circle             end of a cylinder
 *     face     two                             plane, face, edge of a polygon, end of a cylinder
 *     surface  none; the point is the support point along the normal   ellipsoid, superquadric, superellipse
 *     cut      one, along a line that a plane fixed in the other body cuts: the end of the part of a capsule's axis,
 *              or of a chord of a rim, that lies over a face
 *     side     two, along and around a cylinder: the end of the part of its lowest line that lies over a face
 *     corner   two, in the end of a cylinder, over a corner of the other body's face
 *
 * The surface point is the base point, moved along the normal by the radius (balls, capsules, sides
 * of cylinders). The contact is the solution of a square system: p_a + gap n = p_b, and for each
 * free parameter one equation: the normal is perpendicular to the direction of the parameter, or
 * the point lies in the cutting plane. Its linear form gives the derivatives, and Newton's method
 * on it the contact at other poses. docs/notation.md, "Derivatives of a contact", derives both.
 *
 * What the frozen contact is at the pose of the step itself is compared with the stored contact
 * (point, normal, gap); if it differs, the features were not recognised, and the call fails: a
 * derivative is never that of other features.
 *
 * Refused, PERP_ERROR_UNSUPPORTED, with a message that names the pair and the reason:
 *   - members of groups whose normal is no feature's (tangent lines and planes past a corner, directions of choice.h,
 *     edges whose normal is that of an expected rotation) unless their geometry is also that of a pair of features;
 *   - inscribed discs and balls of fast-rotating polytopes, contacts of patches (soft layers);
 *   - normals that are not defined (coincident centres, a vertex on an edge with gap 0), two parallel lines without an
 *     end, surfaces that are flat along the normal (singular system).
 * Ask for the contacts that act (impulse, or an active gap row) only: others do not enter the
 * derivative of a step.
 */
#ifndef PERPI_CONTACT_DERIVATIVE_H
#define PERPI_CONTACT_DERIVATIVE_H

#include "collide/collide.h"
#include "perp/contact.h"

/* By the twelve small displacements of its two bodies: A's translation (of the centre of mass), A's
 * rotation vector (world frame), then B's. Planar bodies use the entries x, y (0, 1) and the
 * rotation about z (5); the others are 0. A kinematic or static body has its columns as well. */
typedef struct perpi_contact_derivative {
    double gap[12];
    double normal[3][12], tangent[3][12]; /* tangent: t; that of o = n x t follows */
    double point_a[3][12], point_b[3][12];
} perpi_contact_derivative;

/* The geometry of a contact. */
typedef struct perpi_contact_geometry {
    vec3 point_a, point_b, normal, tangent;
    double gap;
} perpi_contact_geometry;

typedef enum perpi_feature_kind {
    PERPI_FEATURE_POINT,
    PERPI_FEATURE_LINE,
    PERPI_FEATURE_RIM,
    PERPI_FEATURE_FACE,
    PERPI_FEATURE_SURFACE,
    PERPI_FEATURE_CUT,
    PERPI_FEATURE_SIDE,
    PERPI_FEATURE_CORNER,
} perpi_feature_kind;

/* A feature of a shape by number, so that it exists in every model of the same structure. */
typedef struct perpi_frozen_feature {
    perpi_feature_kind kind;
    int32_t shape; /* of the model */
    int32_t
        index; /* vertex, edge or face; end (-1 or 1) of a capsule or cylinder; point k of the rim at -z: k, at
                     * +z: 8 + k, also of the chord that begins there */
    int32_t
        corner; /* CUT, SIDE, CORNER: of the other shape's face, in perpi_polyhedron.corner; the plane contains the
                     * edge that begins there, and the normal of the face */
    int32_t cut; /* that face */
    vec3
        place; /* base point in the shape's frame when frozen: the start of the search at other poses */
} perpi_frozen_feature;

typedef struct perpi_frozen_contact {
    int32_t body[2];
    perpi_frozen_feature feature[2]; /* of A and B */
    vec3 normal;                     /* in A's frame, when frozen */
    double gap;
    bool tangent_y; /* the tangent is the projection of the world y axis, else of x; not planar */
} perpi_frozen_contact;

/* pose: of every body, at which the contact was found (the start of the step; geometric-implicit: its end). */
PERP_NODISCARD perp_status perpi_contact_freeze(const perp_model* model, const perpi_pose* pose,
                                                const perp_contact* contact,
                                                perpi_frozen_contact* frozen);
/* At any poses near those, with the model or another one of the same structure (other sizes,
 * shifted shapes). Accurate to rounding. PERP_ERROR_NUMERIC: the features have no such contact
 * there. */
PERP_NODISCARD perp_status perpi_frozen_at(const perp_model* model, const perpi_pose* pose,
                                           const perpi_frozen_contact* frozen,
                                           perpi_contact_geometry* geometry);
/* The same at any poses, without a search, if a point of one body meets a face of the other; false:
 * other features. */
bool perpi_frozen_flat(const perp_model* model, const perpi_pose* pose,
                       const perpi_frozen_contact* frozen, perpi_contact_geometry* geometry);
/* At the same poses as frozen. */
PERP_NODISCARD perp_status perpi_frozen_derivative(const perp_model* model, const perpi_pose* pose,
                                                   const perpi_frozen_contact* frozen,
                                                   perpi_contact_derivative* d);

/* border.c: whether the contact of a round body with a polytope is at the border of two features, relative. */
bool perpi_contact_at_border(const perp_model* model, const perpi_pose* pose,
                             const perp_contact* contact, double threshold);
/* Freeze and differentiate. None of these allocates. */
PERP_NODISCARD perp_status perpi_contact_derivative_at(const perp_model* model,
                                                       const perpi_pose* pose,
                                                       const perp_contact* contact,
                                                       perpi_contact_derivative* d);

#endif
