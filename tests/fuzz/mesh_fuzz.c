/* tests/fuzz/mesh_fuzz.c - libFuzzer entry for the mesh readers; the first byte chooses the format.
 *
 *     tests/fuzz/mesh_fuzz -max_len=4096 CORPUS
 * What is read must be a mesh that a shape can look at, solid or not.
 */
#include "shape/mesh_repair.h"
#include "shape/shape.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    perp_context* context = NULL;
    if (size == 0 || perp_context_create(NULL, &context) != PERP_OK) {
        return 0;
    }
    perpi_mesh_data mesh;
    const perpi_mesh_format format = (perpi_mesh_format)(data[0] % 4);
    if (perpi_mesh_parse(context, (const char*)data + 1, size - 1, "fuzz", format, &mesh) ==
        PERP_OK) {
        perpi_mesh_report report;
        if (perpi_mesh_repair(context, &mesh, &report) != PERP_OK) {
            abort(); /* nothing but memory may be missing */
        }
        perp_shape_def def = perp_shape_def_default(PERP_SHAPE_MESH);
        def.vertices = mesh.vertex;
        def.vertex_count = (int32_t)mesh.vertex_count;
        def.triangles = mesh.triangle;
        def.triangle_count = (int32_t)mesh.triangle_count;
        def.contactless = true;
        perpi_shape shape;
        if (perpi_shape_make(context, &def, 3, &shape) == PERP_OK) {
            perpi_shape_free(context, &shape);
        }
        perpi_mesh_free(context, &mesh);
    }
    perp_context_destroy(context);
    return 0;
}
