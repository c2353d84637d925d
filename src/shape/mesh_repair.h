/* src/shape/mesh_repair.h - what is repaired in the surface of a mesh file before it is weighed.
 *
 *     vertices   nearer to an earlier one than 1e-9 of the size are welded to it; if the surface is still
 *                open and 1e-6 (the precision of files in single precision) leaves fewer open edges, 1e-6
 *     triangles  with two equal corners, and those given twice in the same sense, are dropped
 *     faces      that disagree with their neighbours are turned, the fewer of each connected part; then
 *                parts with negative volume that lie in no other part
 *     holes      of at most 8 edges and 5 % of the size are filled with triangles
 *
 * A surface that needs none of these keeps its vertices and triangles bit by bit. Larger holes are reported.
 */
#ifndef PERPI_MESH_REPAIR_H
#define PERPI_MESH_REPAIR_H

#include "shape/mesh_file.h"

enum { PERPI_MESH_HOLE_EDGES = 8 };
#define PERPI_MESH_HOLE_SIZE 0.05

typedef struct perpi_mesh_report {
    size_t welded, dropped, flipped, holes, filled; /* filled: triangles in holes */
    double tolerance;                               /* of welding, relative to the size */
    size_t faces;                                   /* before holes were filled */
    /* Edges with one face that are left, and the first hole: */
    size_t open_edges, loop_edges;
    double loop_size; /* relative to the size */
    double edge[2][3];
} perpi_mesh_report;

/* Gives vertex i the number now[i], and drops the triangles that then have equal corners; returns how many. */
size_t perpi_mesh_renumber(perpi_mesh_data* mesh, const int32_t* now);
PERP_NODISCARD perp_status perpi_mesh_repair(perp_context* context, perpi_mesh_data* mesh,
                                             perpi_mesh_report* report);
/* "3 vertices welded ..., 2 faces turned ..."; false: nothing was changed. */
bool perpi_mesh_report_text(const perpi_mesh_report* report, char* text, size_t size);
/* PERP_ERROR_INPUT if a hole is left, with its place and what to do. */
PERP_NODISCARD perp_status perpi_mesh_check_holes(perp_context* context, const char* origin,
                                                  const perpi_mesh_report* report);

#endif
