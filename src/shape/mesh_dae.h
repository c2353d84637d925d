/* src/shape/mesh_dae.h - COLLADA (.dae): triangles, polygons and their places. See docs/scene.md. */
#ifndef PERPI_MESH_DAE_H
#define PERPI_MESH_DAE_H

#include "shape/mesh_file.h"

/* Fills the mesh, which is empty; what was filled stays on failure. */
PERP_NODISCARD perp_status perpi_mesh_read_dae(perp_context* context, const char* text,
                                               size_t length, const char* origin,
                                               perpi_mesh_data* mesh);

#endif
