/* src/scene/urdf_mesh.c - the collision geometry of a robot's mesh.
 *
 * Files made for rendering are often open or much too fine. Such a mesh is replaced by its convex hull,
 * with a notice, and the robot is not refused.
 */
#include "scene/urdf.h"
#include "shape/decompose.h"
#include "shape/mesh_repair.h"

static json_t* points_json(const perpi_polyhedron* p)
{
    json_t* list = json_array();
    for (int32_t i = 0; list != NULL && i < p->vertex_count; ++i) {
        json_t* point = json_pack("[f, f, f]", p->vertex[i].x, p->vertex[i].y, p->vertex[i].z);
        if (point == NULL || json_array_append_new(list, point) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

/* A mesh with more faces is not decomposed unless that is asked for: it takes seconds, and hundreds of
 * pieces collide slowly. */
enum { CHEAP_FACES = 200 };

/* Whether the model accepts the mesh. */
static perp_status try_mesh(perp_context* context, const perpi_mesh_data* mesh, bool decompose,
                            perpi_urdf_mesh* how)
{
    perp_shape_def def = perp_shape_def_default(PERP_SHAPE_MESH);
    def.vertices = mesh->vertex;
    def.vertex_count = (int32_t)mesh->vertex_count;
    def.triangles = mesh->triangle;
    def.triangle_count = (int32_t)mesh->triangle_count;
    def.decompose = decompose || mesh->triangle_count <= CHEAP_FACES;
    perpi_shape shape = {0};
    const perp_status status = perpi_shape_make(context, &def, 3, &shape);
    if (status == PERP_OK) {
        *how = shape.mesh->piece_count > 0 ? PERPI_URDF_MESH_PIECES : PERPI_URDF_MESH_CONVEX;
        perpi_shape_free(context, &shape);
    }
    return status;
}

static perp_status take_hull(perp_context* context, const perpi_mesh_data* mesh,
                             perpi_urdf_probe* probe)
{
    perpi_polyhedron* p = NULL;
    perp_status status =
        perpi_polyhedron_hull(context, mesh->vertex, (int32_t)mesh->vertex_count, &p, NULL);
    if (status == PERP_OK) {
        probe->how = PERPI_URDF_MESH_HULL;
        probe->hull = points_json(p);
        status =
            probe->hull != NULL ? PERP_OK : perpi_fail(context, PERP_ERROR_MEMORY, "out of memory");
    } else if (status == PERP_ERROR_INPUT) {
        probe->how = PERPI_URDF_MESH_NONE;
        status = PERP_OK;
    }
    perpi_polyhedron_free(context, p);
    return status;
}

perp_status perpi_urdf_probe_mesh(perp_context* context, const char* path, const double scale[3],
                                  bool decompose, vec3 down, perpi_urdf_probe* probe)
{
    perpi_mesh_data mesh = {0};
    perp_status status = perpi_mesh_read(context, path, &mesh);
    if (status != PERP_OK) {
        return status;
    }
    perpi_mesh_report report; /* said when the scene reads the file */
    status = perpi_mesh_repair(context, &mesh, &report);
    if (status != PERP_OK) {
        perpi_mesh_free(context, &mesh);
        return status;
    }
    perpi_mesh_scale(&mesh, scale);
    for (size_t i = 0; i < mesh.vertex_count; ++i) {
        const double along = v3_dot(down, v3_from(mesh.vertex + 3 * i));
        probe->reach = along > probe->reach ? along : probe->reach;
    }
    status = try_mesh(context, &mesh, decompose, &probe->how);
    if (status == PERP_ERROR_INPUT && report.welded > 0) { /* the hull is that of all vertices */
        perpi_mesh_free(context, &mesh);
        const perp_status again = perpi_mesh_read(context, path, &mesh);
        if (again != PERP_OK) {
            return again;
        }
        perpi_mesh_scale(&mesh, scale);
    }
    if (status == PERP_ERROR_INPUT) {
        status = take_hull(context, &mesh, probe);
    }
    perpi_mesh_free(context, &mesh);
    return status;
}
