/* src/contact/frozen.c - frozen features at their poses: see frozen.h. */
#include "contact/frozen.h"

#include "collide/narrow/rod.h"
#include "shape/polyhedron.h"
#include "shape/smooth.h"

static bool is_polyhedron(const perpi_shape* s)
{
    return s->type == PERP_SHAPE_BOX || s->type == PERP_SHAPE_POLYHEDRON;
}

static bool is_plane(const perpi_shape* s)
{
    return s->type == PERP_SHAPE_PLANE || s->type == PERP_SHAPE_HALFPLANE;
}

static bool is_ball(const perpi_shape* s)
{
    return s->type == PERP_SHAPE_PARTICLE || s->type == PERP_SHAPE_SPHERE ||
           s->type == PERP_SHAPE_CIRCLE;
}

/* ---- polygons and rims ---------------------------------------------------------------------------- */

int32_t perpi_planar_count(const perpi_shape* shape)
{
    return shape->type == PERP_SHAPE_BOX2      ? 4
           : shape->type == PERP_SHAPE_POLYGON ? shape->count
                                               : 0;
}

vec3 perpi_planar_vertex(const perpi_shape* shape, int32_t i)
{
    static const double x[4] = {-1, 1, 1, -1}, y[4] = {-1, -1, 1, 1};
    return shape->type == PERP_SHAPE_BOX2
               ? v3(x[i] * shape->half.x, y[i] * shape->half.y, 0)
               : v3(shape->vertex[2 * (size_t)i], shape->vertex[2 * (size_t)i + 1], 0);
}

vec3 perpi_planar_normal(const perpi_shape* shape, int32_t i)
{
    static const double x[4] = {0, 1, 0, -1}, y[4] = {-1, 0, 1, 0};
    return shape->type == PERP_SHAPE_BOX2
               ? v3(x[i], y[i], 0)
               : v3(shape->edge[2 * (size_t)i], shape->edge[2 * (size_t)i + 1], 0);
}

vec3 perpi_rim_point(const perpi_shape* shape, int32_t k)
{
    const perpi_rod rod = {.a = {0, 0, 1},
                           .u = {1, 0, 0},
                           .w = {0, 1, 0},
                           .l = 0.5 * shape->length,
                           .r = shape->radius};
    return perpi_rod_rim(&rod, k < PERPI_RIM ? -1.0 : 1.0, k % PERPI_RIM);
}

static int32_t next_on_rim(int32_t k)
{
    return k - k % PERPI_RIM + (k + 1) % PERPI_RIM;
}

/* ---- which features a shape has -------------------------------------------------------------------- */

static bool has_feature(const perpi_shape* s, const perpi_frozen_feature* f)
{
    const bool rod = s->type == PERP_SHAPE_CAPSULE || s->type == PERP_SHAPE_CYLINDER;
    const bool end = f->index == -1 || f->index == 1;
    switch (f->kind) {
    case PERPI_FEATURE_POINT:
        return is_ball(s) || (s->type == PERP_SHAPE_CAPSULE && end) ||
               (s->type == PERP_SHAPE_CYLINDER && f->index >= 0 && f->index < 2 * PERPI_RIM) ||
               (is_polyhedron(s) && f->index >= 0 && f->index < s->polyhedron->vertex_count) ||
               (f->index >= 0 && f->index < perpi_planar_count(s));
    case PERPI_FEATURE_LINE:
        return rod || (is_polyhedron(s) && f->index >= 0 && f->index < s->polyhedron->edge_count);
    case PERPI_FEATURE_FACE:
        return is_plane(s) || (s->type == PERP_SHAPE_CYLINDER && end) ||
               (is_polyhedron(s) && f->index >= 0 && f->index < s->polyhedron->face_count) ||
               (f->index >= 0 && f->index < perpi_planar_count(s));
    case PERPI_FEATURE_RIM:
    case PERPI_FEATURE_CORNER: return s->type == PERP_SHAPE_CYLINDER && end;
    case PERPI_FEATURE_SIDE: return s->type == PERP_SHAPE_CYLINDER;
    case PERPI_FEATURE_CUT:
        return s->type == PERP_SHAPE_CAPSULE ||
               (s->type == PERP_SHAPE_CYLINDER && f->index >= 0 && f->index < 2 * PERPI_RIM);
    case PERPI_FEATURE_SURFACE: return perpi_shape_is_smooth(s->type) && !is_ball(s);
    }
    return false;
}

static bool is_cut(const perpi_frozen_feature* f)
{
    return f->kind == PERPI_FEATURE_CUT || f->kind == PERPI_FEATURE_SIDE ||
           f->kind == PERPI_FEATURE_CORNER;
}

bool perpi_feature_exists(const perp_model* model, const perpi_frozen_contact* frozen, int side)
{
    const perpi_frozen_feature *f = &frozen->feature[side], *g = &frozen->feature[1 - side];
    if (f->shape < 0 || (size_t)f->shape >= model->shape_count || g->shape < 0 ||
        (size_t)g->shape >= model->shape_count) {
        return false;
    }
    const perpi_shape* other = &model->shape[g->shape];
    if (is_cut(f) &&
        (!is_polyhedron(other) || f->cut < 0 || f->cut >= other->polyhedron->face_count ||
         f->corner < other->polyhedron->face_start[f->cut] ||
         f->corner >= other->polyhedron->face_start[f->cut + 1])) {
        return false;
    }
    return has_feature(&model->shape[f->shape], f);
}

double perpi_feature_radius(const perpi_shape* shape, const perpi_frozen_feature* feature)
{
    switch (shape->type) {
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE:
    case PERP_SHAPE_CAPSULE: return shape->radius;
    case PERP_SHAPE_CYLINDER: return feature->kind == PERPI_FEATURE_LINE ? shape->radius : 0.0;
    default: return 0.0;
    }
}

/* ---- features in the frame of their shape ------------------------------------------------------------ */

vec3 perpi_feature_vertex(const perpi_shape* s, int32_t i)
{
    if (is_polyhedron(s)) {
        return s->polyhedron->vertex[i];
    }
    if (s->type == PERP_SHAPE_CAPSULE) {
        return v3(0, 0, 0.5 * i * s->length);
    }
    if (s->type == PERP_SHAPE_CYLINDER) {
        return perpi_rim_point(s, i);
    }
    return perpi_planar_count(s) > 0 ? perpi_planar_vertex(s, i) : v3(0, 0, 0);
}

/* A point and the unit direction of a line. */
static void line_of(const perpi_shape* s, const perpi_frozen_feature* f, vec3* from, vec3* along)
{
    *from = v3(0, 0, 0);
    *along = v3(0, 0, 1);
    if (is_polyhedron(s)) {
        const perpi_edge* e = &s->polyhedron->edge[f->index];
        *from = s->polyhedron->vertex[e->vertex[0]];
        *along = v3_unit(v3_sub(s->polyhedron->vertex[e->vertex[1]], *from));
    } else if (f->kind == PERPI_FEATURE_CUT && s->type == PERP_SHAPE_CYLINDER) {
        *from = perpi_rim_point(s, f->index);
        *along = v3_unit(v3_sub(perpi_rim_point(s, next_on_rim(f->index)), *from));
    }
}

/* A face: n . x = offset. */
double perpi_feature_face(const perpi_shape* s, int32_t i, vec3* n)
{
    if (is_plane(s)) {
        *n = s->normal;
        return s->offset;
    }
    if (s->type == PERP_SHAPE_CYLINDER) {
        *n = v3(0, 0, i);
        return 0.5 * s->length;
    }
    if (is_polyhedron(s)) {
        *n = s->polyhedron->normal[i];
        return s->polyhedron->offset[i];
    }
    *n = perpi_planar_normal(s, i);
    return v3_dot(*n, perpi_planar_vertex(s, i));
}

/* Two unit directions across n; in the plane one. */
static int directions_across(const perp_model* model, vec3 n, vec3 dir[2])
{
    if (model->dimension == 2) {
        dir[0] = v3(-n.y, n.x, 0);
        return 1;
    }
    dir[0] = v3_tangent(n);
    dir[1] = v3_cross(n, dir[0]);
    return 2;
}

static void place_on_line(const perpi_shape* s, const perpi_frozen_feature* f, vec3* place,
                          perpi_placed_feature* out)
{
    vec3 from, along;
    line_of(s, f, &from, &along);
    *place = v3_madd(from, v3_dot(along, v3_sub(*place, from)), along);
    out->free = 1;
    out->dir[0] = along;
    out->cuts = f->kind == PERPI_FEATURE_CUT ? 1 : 0;
}

static void place_on_face(const perp_model* model, const perpi_shape* s,
                          const perpi_frozen_feature* f, vec3* place, perpi_placed_feature* out)
{
    vec3 n;
    const double offset = perpi_feature_face(s, f->index, &n);
    *place = v3_madd(*place, offset - v3_dot(n, *place), n);
    out->free = directions_across(model, n, out->dir);
    out->cuts = f->kind == PERPI_FEATURE_CORNER ? 2 : 0;
}

/* The rim, and the side, which is a rim at any height. */
static void place_around(const perpi_shape* s, const perpi_frozen_feature* f, vec3* place,
                         perpi_placed_feature* out)
{
    const bool side = f->kind == PERPI_FEATURE_SIDE;
    const double rho = hypot(place->x, place->y);
    const vec3 out_of = rho > 0.0 ? v3(place->x / rho, place->y / rho, 0) : v3(1, 0, 0);
    *place = v3(s->radius * out_of.x, s->radius * out_of.y,
                side ? place->z : 0.5 * f->index * s->length);
    const int around = side ? 1 : 0;
    out->free = 1 + around;
    out->cuts = around;
    out->dir[0] = v3(0, 0, 1);
    out->dir[around] = v3(-out_of.y, out_of.x, 0);
    out->bend[around] = v3_scale(-1.0 / s->radius, out_of);
}

static void place_surface(const perpi_shape* s, const perpi_pose* pose, vec3 out_of,
                          perpi_placed_feature* out)
{
    mat3 H;
    vec3 local;
    (void)perpi_smooth_support(s, m3_tmul(pose->R, out_of), &local, &H);
    out->surface = true;
    out->q = perpi_pose_point(pose, local);
    out->H = m3_mm(pose->R, m3_mm(H, m3_transpose(pose->R)));
}

/* The planes that cut a feature, through edges of a face of the other shape; in the world. */
static void place_cuts(const perpi_shape* other, const perpi_pose* pose,
                       const perpi_frozen_feature* f, perpi_placed_feature* out)
{
    const perpi_polyhedron* p = other->polyhedron;
    const int32_t first = p->face_start[f->cut], end = p->face_start[f->cut + 1];
    for (int k = 0; k < out->cuts; ++k) {
        const int32_t from = k == 0 ? f->corner : f->corner > first ? f->corner - 1 : end - 1;
        const int32_t to = from + 1 < end ? from + 1 : first;
        const vec3 a = p->vertex[p->corner[from]];
        const vec3 e = v3_sub(p->vertex[p->corner[to]], a);
        out->m[k] = m3_mul(pose->R, v3_unit(v3_cross(p->normal[f->cut], e)));
        out->c[k] = perpi_pose_point(pose, a);
    }
}

void perpi_feature_place(const perp_model* model, const perpi_pose* pose,
                         const perpi_frozen_contact* frozen, int side, vec3 n, vec3* place,
                         perpi_placed_feature* placed)
{
    const perpi_frozen_feature* f = &frozen->feature[side];
    const perpi_shape* s = &model->shape[f->shape];
    const perpi_pose world = perpi_frozen_pose(model, pose, frozen, side);
    perpi_placed_feature out = {.origin = pose[frozen->body[side]].x,
                                .other = pose[frozen->body[1 - side]].x,
                                .radius = perpi_feature_radius(s, f)};
    switch (f->kind) {
    case PERPI_FEATURE_POINT: *place = perpi_feature_vertex(s, f->index); break;
    case PERPI_FEATURE_LINE:
    case PERPI_FEATURE_CUT: place_on_line(s, f, place, &out); break;
    case PERPI_FEATURE_FACE:
    case PERPI_FEATURE_CORNER: place_on_face(model, s, f, place, &out); break;
    case PERPI_FEATURE_RIM:
    case PERPI_FEATURE_SIDE: place_around(s, f, place, &out); break;
    case PERPI_FEATURE_SURFACE: place_surface(s, &world, side == 0 ? n : v3_neg(n), &out); break;
    }
    if (!out.surface) {
        out.q = perpi_pose_point(&world, *place);
    }
    for (int k = 0; k < out.free; ++k) {
        out.dir[k] = m3_mul(world.R, out.dir[k]);
        out.bend[k] = m3_mul(world.R, out.bend[k]);
    }
    if (out.cuts > 0) {
        const perpi_pose other = perpi_frozen_pose(model, pose, frozen, 1 - side);
        place_cuts(&model->shape[frozen->feature[1 - side].shape], &other, f, &out);
    }
    *placed = out;
}

/* ---- sizes ------------------------------------------------------------------------------------------ */

static double shape_size(const perpi_shape* s)
{
    switch (s->type) {
    case PERP_SHAPE_BOX:
    case PERP_SHAPE_BOX2: return v3_norm(s->half);
    case PERP_SHAPE_POLYHEDRON: return s->polyhedron->size;
    case PERP_SHAPE_POLYGON: {
        double most = 0.0;
        for (int32_t i = 0; i < s->count; ++i) {
            const double r = v3_norm(perpi_planar_vertex(s, i));
            most = r > most ? r : most;
        }
        return most;
    }
    case PERP_SHAPE_ELLIPSOID:
    case PERP_SHAPE_SUPERQUADRIC:
    case PERP_SHAPE_SUPERELLIPSE: return v3_norm(s->radii);
    case PERP_SHAPE_CAPSULE:
    case PERP_SHAPE_CYLINDER: return hypot(s->radius, 0.5 * s->length);
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE: return s->radius;
    default: return 0.0; /* a particle, a plane */
    }
}

double perpi_frozen_size(const perp_model* model, const perpi_frozen_contact* frozen)
{
    const double a = shape_size(&model->shape[frozen->feature[0].shape]);
    const double b = shape_size(&model->shape[frozen->feature[1].shape]);
    const double least = a > 0.0 && b > 0.0 ? (a < b ? a : b) : a > b ? a : b;
    return least > 0.0 ? least : model->length > 0.0 ? model->length : 1.0;
}
