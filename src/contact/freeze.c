/* src/contact/freeze.c - which features a contact is made of: see derivative.h.
 *
 * The key names shapes and a feature number, whose meaning depends on the routine that found the
 * contact, and so on the contact model: which of two routines it was is not stored. Rules, in this
 * order; the first pair of features whose contact is the stored one (point, normal, gap) is taken:
 *   1. a plane with anything, two boxes, two polygons: decoded from the number;
 *   2. two polyhedra: of the vertices, edges and faces at the stored points, the pair that has the number;
 *   3. else: features of each shape at the stored point with the stored normal, those with more dimensions first (face,
 *      line, rim, point), then lines and ends that are cut by the other's face. So a ball over the border of
 *      a face belongs to the face, and the end of a capsule next to another capsule's side is a point with a line.
 * Rule 3 decides ties, where two pairs of features have the same contact: there the geometry has
 * one-sided derivatives only, and rules 1 and 2 choose as the collider did.
 */
#include "contact/frozen.h"

#include "collide/narrow/rod.h"
#include "collide/polytope/polygon_pair.h"
#include "collide/polytope/polyhedron.h"
#include "shape/smooth.h"

enum { FEATURES = 24, AGAIN = 32, BOX_KIND = 20 };

/* Of the size, and radians: a feature is at a point, has a normal. */
#define NEAR 1e-6
/* The same of the contact of the features and the stored one: exact routines; iterations (rims, surfaces). */
#define SAME 1e-8
#define ITERATED 1e-5
/* Of the distance from the world's origin: rounding. */
#define FAR 1e-13

typedef struct found_features {
    perpi_frozen_feature item[FEATURES];
    int count;
} found_features;

/* A contact with the order of the shapes as the pair's routine has it. */
typedef struct freeze_case {
    const perp_model* model;
    const perpi_pose* pose;
    const perp_contact* contact;
    perpi_frozen_contact* frozen;
    int32_t shape[2];      /* of A and B */
    int first;             /* the side that is the routine's first shape */
    uint32_t number;       /* of the feature */
    vec3 point[2], out[2]; /* in the frames of the shapes: point, outward normal */
    double size;
} freeze_case;

static const perpi_shape* shape_of(const freeze_case* c, int side)
{
    return &c->model->shape[c->shape[side]];
}

static bool has_polyhedron(const freeze_case* c, int side)
{
    const perpi_shape* s = shape_of(c, side);
    return (s->type == PERP_SHAPE_BOX || s->type == PERP_SHAPE_POLYHEDRON) && s->polyhedron != NULL;
}

static bool is_plane(const perpi_shape* s)
{
    return s->type == PERP_SHAPE_PLANE || s->type == PERP_SHAPE_HALFPLANE;
}

/* ---- one pair of features --------------------------------------------------------------------------- */

static bool is_iterated(const freeze_case* c)
{
    for (int s = 0; s < 2; ++s) {
        const perpi_shape* shape = shape_of(c, s);
        if (shape->type == PERP_SHAPE_CYLINDER ||
            c->frozen->feature[s].kind == PERPI_FEATURE_SURFACE) {
            return true;
        }
    }
    return false;
}

/* Takes the two features (of A and B) if their contact is the stored one. */
static bool take_features(const freeze_case* c, perpi_frozen_feature a, perpi_frozen_feature b)
{
    perpi_frozen_contact* f = c->frozen;
    f->feature[0] = a;
    f->feature[1] = b;
    f->feature[0].shape = c->shape[0];
    f->feature[1].shape = c->shape[1];
    for (int s = 0; s < 2; ++s) {
        if (!perpi_feature_exists(c->model, f, s)) {
            return false;
        }
        const double r = perpi_feature_radius(shape_of(c, s), &f->feature[s]);
        f->feature[s].place = v3_madd(c->point[s], -r, c->out[s]);
    }
    const vec3 n = v3_from(c->contact->normal), p = v3_from(c->contact->point);
    const mat3 R = c->pose[f->body[0]].R;
    f->normal = m3_tmul(R, n);
    f->gap = c->contact->gap;
    perpi_contact_point at = perpi_frozen_start(c->pose, f);
    const double close = is_iterated(c) ? ITERATED : SAME;
    perpi_contact_geometry g;
    if (!perpi_closed_solve(c->model, c->pose, f, &at, &g) &&
        (!(perpi_frozen_error(c->model, c->pose, f, &at) <= 100.0 * close) ||
         !perpi_frozen_solve(c->model, c->pose, f, &at, &g))) {
        return false;
    }
    const double length = close * c->size + FAR * v3_norm(p);
    if (!(v3_norm(v3_sub(g.point_a, p)) <= length) || !(v3_norm(v3_sub(g.normal, n)) <= close) ||
        !(fabs(g.gap - c->contact->gap) <= length)) {
        return false;
    }
    /* as the solution is, which is more accurate than some routines */
    f->feature[0].place = at.place[0];
    f->feature[1].place = at.place[1];
    f->normal = m3_tmul(R, at.n);
    f->gap = at.gap;
    return true;
}

/* The same in the order of the pair's routine. */
static bool take_in_order(const freeze_case* c, perpi_frozen_feature one,
                          perpi_frozen_feature other)
{
    return c->first == 0 ? take_features(c, one, other) : take_features(c, other, one);
}

static perpi_frozen_feature feature(perpi_feature_kind kind, int32_t index)
{
    return (perpi_frozen_feature){.kind = kind, .index = index, .corner = -1, .cut = -1};
}

/* ---- 1: decoded from the number ------------------------------------------------------------------------ */

static bool take_with_plane(const freeze_case* c)
{
    const perpi_shape* s = shape_of(c, 1 - c->first);
    const int32_t i = (int32_t)c->number;
    static const int32_t outline[4] = {0, 1, 3, 2}; /* of the vertex with these signs */
    perpi_frozen_feature f = feature(PERPI_FEATURE_POINT, i);
    switch (s->type) {
    case PERP_SHAPE_PARTICLE:
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE:
    case PERP_SHAPE_BOX:
    case PERP_SHAPE_POLYHEDRON:
    case PERP_SHAPE_POLYGON: break;
    case PERP_SHAPE_CAPSULE: f.index = i == 0 ? -1 : 1; break;
    case PERP_SHAPE_BOX2: f.index = i >= 0 && i < 4 ? outline[i] : -1; break;
    case PERP_SHAPE_CYLINDER:
        f = i < 2 ? feature(PERPI_FEATURE_RIM, i == 0 ? -1 : 1)
                  : feature(PERPI_FEATURE_POINT, i - 2);
        break;
    default: f.kind = PERPI_FEATURE_SURFACE; break;
    }
    return take_in_order(c, feature(PERPI_FEATURE_FACE, 0), f);
}

/* Edge e of box_box.c among those of the polyhedron. */
static int32_t box_edge(const perpi_polyhedron* p, uint32_t e)
{
    const uint32_t i = e / 4, j = (i + 1) % 3, k = (i + 2) % 3;
    const int32_t low = (int32_t)((e & 1U) << j | (e >> 1 & 1U) << k);
    const int32_t high = low | (int32_t)(1U << i);
    for (int32_t n = 0; n < p->edge_count && i < 3; ++n) {
        const int32_t *v = p->edge[n].vertex, least = v[0] < v[1] ? v[0] : v[1];
        if (least == low && v[0] + v[1] == low + high) {
            return n;
        }
    }
    return -1;
}

/* Feature numbers of box_box.c: kind << 20 | one << 8 | other. */
static bool take_boxes(const freeze_case* c)
{
    static const int32_t vertex2[4] = {0, 1, 3, 2}, face2[4] = {3, 1, 0, 2};
    const uint32_t kind = c->number >> BOX_KIND, one = c->number >> 8 & 0xFFF;
    const uint32_t other = c->number & 0xFF;
    const bool planar = shape_of(c, 0)->type == PERP_SHAPE_BOX2;
    if (kind == 3 && !planar) {
        return take_features(
            c, feature(PERPI_FEATURE_LINE, box_edge(shape_of(c, 0)->polyhedron, one)),
            feature(PERPI_FEATURE_LINE, box_edge(shape_of(c, 1)->polyhedron, other)));
    }
    if ((kind != 1 && kind != 2) || one >= (planar ? 4U : 8U) || other >= (planar ? 4U : 6U)) {
        return false;
    }
    const perpi_frozen_feature v =
        feature(PERPI_FEATURE_POINT, planar ? vertex2[one] : (int32_t)one);
    const perpi_frozen_feature f =
        feature(PERPI_FEATURE_FACE, planar ? face2[other] : (int32_t)other);
    return kind == 1 ? take_features(c, f, v) : take_features(c, v, f);
}

/* Feature numbers of polygon_pair.h. */
static bool take_polygons(const freeze_case* c)
{
    const uint32_t pair = c->number >> 3, mask = (1U << PERPI_POLYGON_VERTEX_BITS) - 1U;
    const int32_t edge = (int32_t)(pair & mask);
    const int32_t vertex = (int32_t)(pair >> PERPI_POLYGON_VERTEX_BITS & mask);
    const perpi_frozen_feature v = feature(PERPI_FEATURE_POINT, vertex);
    const perpi_frozen_feature f = feature(PERPI_FEATURE_FACE, edge);
    return pair >> 2 * PERPI_POLYGON_VERTEX_BITS == 0 ? take_in_order(c, f, v)
                                                      : take_in_order(c, v, f);
}

/* ---- features at the stored point ---------------------------------------------------------------------- */

static void note(found_features* found, perpi_feature_kind kind, int32_t index)
{
    if (found->count < FEATURES) {
        found->item[found->count++] = feature(kind, index);
    }
}

static void faces_at(const freeze_case* c, int side, found_features* found)
{
    const perpi_polyhedron* p = shape_of(c, side)->polyhedron;
    for (int32_t i = 0; i < p->face_count; ++i) {
        if (v3_norm(v3_sub(p->normal[i], c->out[side])) <= NEAR &&
            fabs(v3_dot(p->normal[i], c->point[side]) - p->offset[i]) <= NEAR * c->size) {
            note(found, PERPI_FEATURE_FACE, i);
        }
    }
}

/* Lines of edges: two may cross a little beyond the ends. */
static void edges_at(const freeze_case* c, int side, found_features* found)
{
    const perpi_polyhedron* p = shape_of(c, side)->polyhedron;
    for (int32_t i = 0; i < p->edge_count; ++i) {
        const vec3 from = p->vertex[p->edge[i].vertex[0]];
        const vec3 u = v3_unit(v3_sub(p->vertex[p->edge[i].vertex[1]], from));
        const vec3 d = v3_sub(c->point[side], from);
        if (v3_norm(v3_madd(d, -v3_dot(d, u), u)) <= NEAR * c->size &&
            fabs(v3_dot(u, c->out[side])) <= NEAR) {
            note(found, PERPI_FEATURE_LINE, i);
        }
    }
}

static void vertices_at(const freeze_case* c, int side, found_features* found)
{
    const perpi_polyhedron* p = shape_of(c, side)->polyhedron;
    for (int32_t i = 0; i < p->vertex_count; ++i) {
        if (v3_norm(v3_sub(p->vertex[i], c->point[side])) <= NEAR * c->size) {
            note(found, PERPI_FEATURE_POINT, i);
        }
    }
}

static void planar_at(const freeze_case* c, int side, found_features* found)
{
    const perpi_shape* s = shape_of(c, side);
    for (int32_t i = 0; i < perpi_planar_count(s); ++i) {
        const vec3 n = perpi_planar_normal(s, i),
                   d = v3_sub(c->point[side], perpi_planar_vertex(s, i));
        if (v3_norm(v3_sub(n, c->out[side])) <= NEAR && fabs(v3_dot(n, d)) <= NEAR * c->size) {
            note(found, PERPI_FEATURE_FACE, i);
        }
    }
    for (int32_t i = 0; i < perpi_planar_count(s); ++i) {
        if (v3_norm(v3_sub(c->point[side], perpi_planar_vertex(s, i))) <= NEAR * c->size) {
            note(found, PERPI_FEATURE_POINT, i);
        }
    }
}

/* The edges of a face of the other body whose planes contain the point of this one. */
static void cuts_at(const freeze_case* c, int side, perpi_feature_kind kind, int32_t index,
                    found_features* found)
{
    found_features face = {.count = 0};
    if (!has_polyhedron(c, 1 - side)) {
        return;
    }
    faces_at(c, 1 - side, &face);
    const perpi_polyhedron* p = shape_of(c, 1 - side)->polyhedron;
    for (int i = 0; i < face.count; ++i) {
        const int32_t f = face.item[i].index, first = p->face_start[f], end = p->face_start[f + 1];
        for (int32_t k = first; k < end; ++k) {
            const vec3 a = p->vertex[p->corner[k]];
            const vec3 e = v3_sub(p->vertex[p->corner[k + 1 < end ? k + 1 : first]], a);
            const vec3 d = v3_sub(c->point[1 - side], a);
            const double off = kind == PERPI_FEATURE_CORNER
                                   ? v3_norm(d)
                                   : fabs(v3_dot(v3_unit(v3_cross(p->normal[f], e)), d));
            if (off <= NEAR * c->size && found->count < FEATURES) {
                note(found, kind, index);
                found->item[found->count - 1].cut = f;
                found->item[found->count - 1].corner = k;
            }
        }
    }
}

static void capsule_at(const freeze_case* c, int side, found_features* found)
{
    const perpi_shape* s = shape_of(c, side);
    const vec3 q = v3_madd(c->point[side], -s->radius, c->out[side]);
    const double l = 0.5 * s->length;
    if (fabs(q.z) <= l + NEAR * c->size) {
        note(found, PERPI_FEATURE_LINE, 0);
    }
    for (int e = -1; e <= 1; e += 2) {
        if (fabs(q.z - e * l) <= NEAR * c->size) {
            note(found, PERPI_FEATURE_POINT, e);
        }
    }
    cuts_at(c, side, PERPI_FEATURE_CUT, 0, found);
}

static void cylinder_at(const freeze_case* c, int side, found_features* found)
{
    const perpi_shape* s = shape_of(c, side);
    const vec3 p = c->point[side], out = c->out[side];
    const double l = 0.5 * s->length, tiny = NEAR * c->size, rho = hypot(p.x, p.y);
    for (int e = -1; e <= 1; e += 2) {
        if (fabs(p.z - e * l) <= tiny && fabs(out.z - e) <= NEAR) {
            note(found, PERPI_FEATURE_FACE, e);
        }
    }
    if (fabs(out.z) <= NEAR) { /* rows across the side hold beyond the ends as well */
        note(found, PERPI_FEATURE_LINE, 0);
    }
    for (int e = -1; e <= 1; e += 2) {
        if (fabs(p.z - e * l) <= tiny && fabs(rho - s->radius) <= tiny) {
            note(found, PERPI_FEATURE_RIM, e);
        }
    }
    for (int32_t k = 0; k < 2 * PERPI_RIM; ++k) {
        if (v3_norm(v3_sub(perpi_rim_point(s, k), p)) <= tiny) {
            note(found, PERPI_FEATURE_POINT, k);
        }
    }
    /* chords of the rim, the lowest line and the end, cut by the other's face */
    for (int32_t k = 0; k < 2 * PERPI_RIM; ++k) {
        const vec3 from = perpi_rim_point(s, k), d = v3_sub(p, from);
        const vec3 u =
            v3_unit(v3_sub(perpi_rim_point(s, k - k % PERPI_RIM + (k + 1) % PERPI_RIM), from));
        if (v3_norm(v3_madd(d, -v3_dot(d, u), u)) <= tiny) {
            cuts_at(c, side, PERPI_FEATURE_CUT, k, found);
        }
    }
    if (fabs(rho - s->radius) <= tiny) {
        cuts_at(c, side, PERPI_FEATURE_SIDE, 0, found);
    }
    for (int e = -1; e <= 1; e += 2) {
        if (fabs(p.z - e * l) <= tiny) {
            cuts_at(c, side, PERPI_FEATURE_CORNER, e, found);
        }
    }
}

static void features_at(const freeze_case* c, int side, found_features* found)
{
    const perpi_shape* s = shape_of(c, side);
    found->count = 0;
    if (has_polyhedron(c, side)) {
        faces_at(c, side, found);
        edges_at(c, side, found);
        vertices_at(c, side, found);
        return;
    }
    switch (s->type) {
    case PERP_SHAPE_PLANE:
    case PERP_SHAPE_HALFPLANE: note(found, PERPI_FEATURE_FACE, 0); break;
    case PERP_SHAPE_PARTICLE:
    case PERP_SHAPE_SPHERE:
    case PERP_SHAPE_CIRCLE: note(found, PERPI_FEATURE_POINT, 0); break;
    case PERP_SHAPE_CAPSULE: capsule_at(c, side, found); break;
    case PERP_SHAPE_CYLINDER: cylinder_at(c, side, found); break;
    case PERP_SHAPE_BOX2:
    case PERP_SHAPE_POLYGON: planar_at(c, side, found); break;
    default:
        if (perpi_shape_is_smooth(s->type)) {
            note(found, PERPI_FEATURE_SURFACE, 0);
        }
        break;
    }
}

/* ---- 2: two polyhedra ------------------------------------------------------------------------------------ */

static bool has_number(const freeze_case* c, perpi_facet_kind kind, int32_t one, int32_t other)
{
    for (int32_t again = 0; again < AGAIN; ++again) {
        if (perpi_facet_number(kind, one, other, again) == c->number) {
            return true;
        }
    }
    return false;
}

static bool take_polyhedra(const freeze_case* c, const found_features found[2])
{
    const found_features *one = &found[c->first], *two = &found[1 - c->first];
    for (int i = 0; i < one->count; ++i) {
        for (int k = 0; k < two->count; ++k) {
            const perpi_frozen_feature *f = &one->item[i], *g = &two->item[k];
            const bool over = f->kind == PERPI_FEATURE_FACE && g->kind == PERPI_FEATURE_POINT;
            const bool under = f->kind == PERPI_FEATURE_POINT && g->kind == PERPI_FEATURE_FACE;
            const bool lines = f->kind == PERPI_FEATURE_LINE && g->kind == PERPI_FEATURE_LINE;
            if (((over && has_number(c, PERPI_VERTEX_B_FACE_A, g->index, f->index)) ||
                 (under && has_number(c, PERPI_VERTEX_A_FACE_B, f->index, g->index)) ||
                 (lines && has_number(c, PERPI_EDGE_EDGE, f->index, g->index))) &&
                take_in_order(c, *f, *g)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- 3: any features ------------------------------------------------------------------------------------- */

/* The side whose feature must be a face, -1: none. Along a face of a polyhedron all rows with a
 * cylinder have its normal, also where the end of the cylinder lies flat on it; of two cylinders
 * the number says on whose end they are. */
static int face_side(const freeze_case* c, const found_features found[2])
{
    enum { ENDS = 128, CHOICE = 1 << 23, COPY = 1 << 22 }; /* cylinder_cylinder.c, choice.c */
    const perp_shape_type other = shape_of(c, 1 - c->first)->type;
    if (other != PERP_SHAPE_CYLINDER) {
        return -1;
    }
    if (shape_of(c, c->first)->type == PERP_SHAPE_CYLINDER) {
        const uint32_t row = c->number & (COPY - 1U);
        return (c->number & CHOICE) != 0 || row >= 2 * ENDS ? -1
               : row < ENDS                                 ? c->first
                                                            : 1 - c->first;
    }
    const found_features* one = &found[c->first];
    return has_polyhedron(c, c->first) && one->count > 0 && one->item[0].kind == PERPI_FEATURE_FACE
               ? c->first
               : -1;
}

static bool take_any(const freeze_case* c, const found_features found[2])
{
    const found_features *one = &found[c->first], *two = &found[1 - c->first];
    const int face = face_side(c, found);
    for (int i = 0; i < one->count; ++i) {
        for (int k = 0; k < two->count; ++k) {
            const bool allowed =
                face < 0 ||
                (face == c->first ? one->item[i] : two->item[k]).kind == PERPI_FEATURE_FACE;
            if (allowed && take_in_order(c, one->item[i], two->item[k])) {
                return true;
            }
        }
    }
    return false;
}

static bool recognise(const freeze_case* c)
{
    const perp_shape_type a = shape_of(c, 0)->type, b = shape_of(c, 1)->type;
    const bool boxes = (a == PERP_SHAPE_BOX && b == PERP_SHAPE_BOX) ||
                       (a == PERP_SHAPE_BOX2 && b == PERP_SHAPE_BOX2);
    if (is_plane(shape_of(c, c->first))) {
        return take_with_plane(c);
    }
    if (boxes && take_boxes(c)) {
        return true;
    }
    if (perpi_planar_count(shape_of(c, 0)) > 0 && perpi_planar_count(shape_of(c, 1)) > 0 &&
        take_polygons(c)) {
        return true;
    }
    found_features found[2];
    features_at(c, 0, &found[0]);
    features_at(c, 1, &found[1]);
    return (has_polyhedron(c, 0) && has_polyhedron(c, 1) && take_polyhedra(c, found)) ||
           take_any(c, found);
}

perp_status perpi_contact_freeze(const perp_model* model, const perpi_pose* pose,
                                 const perp_contact* contact, perpi_frozen_contact* frozen)
{
    freeze_case c = {.model = model,
                     .pose = pose,
                     .contact = contact,
                     .frozen = frozen,
                     .shape = {perpi_key_shape_a(contact->key), perpi_key_shape_b(contact->key)},
                     .number = (uint32_t)(contact->key & 0xFFFFFF)};
    PERP_ASSERT((size_t)c.shape[0] < model->shape_count && (size_t)c.shape[1] < model->shape_count);
    *frozen = (perpi_frozen_contact){
        .body = {contact->body_a, contact->body_b},
        .feature = {{.shape = c.shape[0]}, {.shape = c.shape[1]}},
        .tangent_y = !(fabs(contact->normal[0]) < 0.999), /* as v3_tangent chooses */
    };
    bool flipped = false;
    (void)perpi_pair_find(false, shape_of(&c, 0)->type, shape_of(&c, 1)->type, &flipped);
    c.first = flipped ? 1 : 0;
    c.size = perpi_frozen_size(model, frozen);
    const vec3 n = v3_from(contact->normal), p = v3_from(contact->point);
    for (int s = 0; s < 2; ++s) {
        const perpi_pose world = perpi_frozen_pose(model, pose, frozen, s);
        const vec3 at = s == 0 ? p : v3_madd(p, contact->gap, n);
        c.point[s] = m3_tmul(world.R, v3_sub(at, world.x));
        c.out[s] = m3_tmul(world.R, s == 0 ? n : v3_neg(n));
    }
    if (recognise(&c)) {
        return PERP_OK;
    }
    return perpi_fail(
        model->context, PERP_ERROR_UNSUPPORTED,
        "contact of '%s' (%s) with '%s' (%s), feature %u%s: it is no pair of features "
        "that has a derivative",
        model->body[contact->body_a].name, perp_shape_name(shape_of(&c, 0)->type),
        model->body[contact->body_b].name, perp_shape_name(shape_of(&c, 1)->type),
        (unsigned)c.number, contact->group != 0 ? " (member of a group)" : "");
}
