/* src/shape/cell.h - a convex cell that is clipped by planes, one after the other.
 *
 * Connectivity takes precedence over coordinates: which vertices a plane cuts off is decided so that
 * the rest stays connected and the cut is one loop, independently of rounding. A cell is therefore
 * always a closed surface with a well-defined volume.
 */
#ifndef PERPI_CELL_H
#define PERPI_CELL_H

#include "shape/polyhedron.h"

/* Half-edges: origin -> origin of next; twin runs the other way in the neighbouring face. */
typedef struct perpi_cell {
    int32_t vertex_count, half_count, face_count;
    vec3* vertex;
    int32_t* leaving; /* per vertex: one of its half-edges */
    int32_t *origin, *next, *twin, *face;
    int32_t* first; /* per face: one of its half-edges */
    int32_t* tag;   /* per face: the tag of its plane */
} perpi_cell;

typedef enum perpi_cut { PERPI_CUT_NOTHING, PERPI_CUT_PART, PERPI_CUT_ALL } perpi_cut;

/* Two cells and what a cut needs, for cells of at most `faces` faces. */
typedef struct perpi_knife {
    perpi_cell cell, other;
    double* height; /* per vertex: height over the plane */
    int32_t *state, *queue, *number, *made, *crossing, *partner;
    int32_t face_room;
} perpi_knife;

PERP_NODISCARD perp_status perpi_knife_take(perpi_arena* arena, int32_t faces, perpi_knife* knife);
/* knife->cell becomes the box, with tags -1; or the polyhedron, its vertices moved and turned by the
 * pose, with the numbers of its faces as tags. */
void perpi_cell_set_box(perpi_knife* knife, vec3 lo, vec3 hi);
void perpi_cell_set_polyhedron(perpi_knife* knife, const perpi_polyhedron* p,
                               const perpi_pose* pose);
void perpi_cell_copy(perpi_knife* knife, const perpi_cell* from);
/* Cuts off n.(x - on) > tolerance. What remains is in knife->cell, unless nothing does. */
perpi_cut perpi_cell_cut(perpi_knife* knife, vec3 n, vec3 on, double tolerance, int32_t tag);
/* Computed relative to one of its vertices, which avoids cancellation for a small cell far from the
 * origin. */
double perpi_cell_volume(const perpi_cell* cell);

#endif
