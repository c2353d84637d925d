/* src/study/estimate_inertia.h - mass, centre of mass and inertia of a body as unknowns that are
 * always physical.
 *
 * The pseudo-inertia of a body in a frame is the 4x4 matrix J = [S, h; h', m] with the second
 * moments S = sum m r r', h = m c. It is positive definite for every body that has a volume, and
 * every such J is a body. The unknowns are the log-Cholesky coordinates of J = U U', U upper
 * triangular:
 *     U = e^a [e^d1 s12 s13 t1; 0 e^d2 s23 t2; 0 0 e^d3 t3; 0 0 0 1]
 * [Rucker, Wensing 2022], in the order a, d1, d2, d3, s12, s23, s13, t1, t2, t3, relative to those
 * of the scene.
 */
#ifndef PERPI_ESTIMATE_INERTIA_H
#define PERPI_ESTIMATE_INERTIA_H

#include "study/estimate.h"

enum { PERPI_INERTIA_PARTS = 10 };

struct perpi_inertia {
    const char* name;                       /* of the unknown */
    const char* body;                       /* its name */
    int32_t moved;                          /* the body in the model */
    const char* place[PERPI_INERTIA_PARTS]; /* parameters of the scene that the body is given by */
    double prior;                           /* of each coordinate; NaN: none */
    bool centre;                            /* the centre of mass is unknown too */
    bool planar;                            /* mass, inertia, centre: ln m, ln I, x, y */
    int32_t first, parts;                   /* of the parameters */
    double start[PERPI_INERTIA_PARTS];      /* coordinates of the scene's body */
};

PERP_NODISCARD perp_status perpi_inertia_read(perpi_reader* r, const json_t* value,
                                              const char* name, perpi_inertia* inertia);
/* With the scene: mass, inertia and places of shapes become expressions of new parameters of the
 * scene; and adds the parameters of the estimate. */
PERP_NODISCARD perp_status perpi_inertia_bind(perpi_reader* r, perp_study* s,
                                              perpi_inertia* inertia);
/* Sets them in the scene; coordinates relative to the start. */
PERP_NODISCARD perp_status perpi_inertia_set(const perpi_inertia* inertia, perp_scene* scene,
                                             const double* coordinate);
/* Mass, inertia about the centre of mass (xx, yy, zz, xy, yz, xz), centre of mass relative to the
 * scene's, in the order of the parameters, of coordinates relative to the start; planar: mass,
 * inertia, centre. */
void perpi_inertia_physical(const perpi_inertia* inertia, const double* coordinate,
                            double* physical);

/* The study's scene becomes this one. */
PERP_NODISCARD perp_status perpi_estimate_replace_scene(perp_study* s, const json_t* root);

#endif
