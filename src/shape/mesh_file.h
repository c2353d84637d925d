/* src/shape/mesh_file.h - reading .poly, STL, OBJ and COLLADA. See docs/scene.md for what is read of each.
 *
 * Numbers in text are read to the nearest double; a binary STL holds floats, which are exact as
 * doubles. Messages name file and line (binary: the triangle).
 */
#ifndef PERPI_MESH_FILE_H
#define PERPI_MESH_FILE_H

#include "base/context.h"

enum {
    PERPI_MESH_SIZE_LIMIT = 256 * 1024 * 1024, /* bytes of a file */
    PERPI_MESH_TRIANGLE_LIMIT = 500000,
};

typedef struct perpi_mesh_data {
    double* vertex; /* 3 vertex_count, to be freed */
    int32_t* triangle;
    size_t vertex_count, triangle_count;
    size_t vertex_capacity, triangle_capacity; /* in numbers */
} perpi_mesh_data;

typedef enum perpi_mesh_format {
    PERPI_MESH_POLY,
    PERPI_MESH_STL, /* text or binary, decided by the length */
    PERPI_MESH_OBJ,
    PERPI_MESH_DAE, /* COLLADA: mesh_dae.h */
} perpi_mesh_format;

/* By the ending of the name, in either case. PERP_ERROR_INPUT: none of these. */
PERP_NODISCARD perp_status perpi_mesh_format_of(perp_context* context, const char* path,
                                                perpi_mesh_format* format);
/* mesh: filled on success, empty otherwise. */
PERP_NODISCARD perp_status perpi_mesh_parse(perp_context* context, const char* text, size_t length,
                                            const char* origin, perpi_mesh_format format,
                                            perpi_mesh_data* mesh);
PERP_NODISCARD perp_status perpi_mesh_read(perp_context* context, const char* path,
                                           perpi_mesh_data* mesh);
/* Scales along the axes; an odd number of negative factors reverses the faces, which keeps them
 * outward. */
void perpi_mesh_scale(perpi_mesh_data* mesh, const double scale[3]);
void perpi_mesh_free(perp_context* context, perpi_mesh_data* mesh);

#endif
