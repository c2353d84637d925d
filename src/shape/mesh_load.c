/* src/shape/mesh_load.c - mesh files for models that are built in C. */
#include "shape/mesh_repair.h"

#include <math.h>

#include "perp/shape.h"

struct perp_mesh_file {
    perp_context* context;
    perpi_mesh_data data;
};

perp_status perp_mesh_load(perp_context* context, const char* path, const double scale[3],
                           perp_mesh_file** mesh)
{
    for (int i = 0; scale != NULL && i < 3; ++i) {
        if (!(fabs(scale[i]) > 0.0) || !isfinite(scale[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "scale: must be finite and not 0, got %g",
                              scale[i]);
        }
    }
    perp_mesh_file* m = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *m, &m);
    if (status != PERP_OK) {
        return status;
    }
    m->context = context;
    status = perpi_mesh_read(context, path, &m->data);
    perpi_mesh_report report;
    if (status == PERP_OK) {
        status = perpi_mesh_repair(context, &m->data, &report); /* a picture may have holes */
    }
    char text[512];
    if (status == PERP_OK && perpi_mesh_report_text(&report, text, sizeof text)) {
        perpi_log(context, PERP_LOG_WARNING, "%s: %s", path, text);
    }
    if (status != PERP_OK) {
        perp_mesh_destroy(m);
        return status;
    }
    if (scale != NULL) {
        perpi_mesh_scale(&m->data, scale);
    }
    *mesh = m;
    return PERP_OK;
}

void perp_mesh_destroy(perp_mesh_file* mesh)
{
    if (mesh != NULL) {
        perp_context* context = mesh->context;
        perpi_mesh_free(context, &mesh->data);
        perpi_free(context, mesh);
    }
}

void perp_mesh_fill(const perp_mesh_file* mesh, perp_shape_def* def)
{
    def->vertices = mesh->data.vertex;
    def->vertex_count = (int32_t)mesh->data.vertex_count;
    def->triangles = mesh->data.triangle;
    def->triangle_count = (int32_t)mesh->data.triangle_count;
}
