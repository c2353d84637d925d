/* src/shape/polyhedron_hull.c - the convex hull of points, by Qhull.
 *
 * The points are moved to the middle of their box and scaled to size 1 before Qhull is called; the
 * vertices of the result are those given, bit by bit. Qhull merges facets that lie in one
 * plane up to the tolerance below; the result is checked, because a merged hull can be invalid.
 *
 * Source     Barber, Dobkin, Huhdanpaa: The Quickhull algorithm for convex hulls, ACM TOMS 22 (1996)
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libqhull_r/qhull_ra.h>

#include "shape/polyhedron.h"

/* Relative to the size of the point set: closer points are equal, a thinner set is flat. */
static const double SHORT = 1e-9;
/* Neighbouring faces are merged if their planes are this near to each other's centres. Two
 * attempts: the second for input for which the first tolerance gives no valid surface. */
static char command_wide[] = "qhull C-1e-10 Pp";
static char command_exact[] = "qhull C-0 Pp";

/* ---- the points -------------------------------------------------------------------------------- */

/* The input of Qhull: distinct points, scaled. */
typedef struct cloud {
    int32_t count;
    double* x;      /* 3 count, within the unit cube around 0 */
    int32_t* given; /* index in the caller's array */
    double size;    /* diagonal of the box */
    vec3 middle;
} cloud;

typedef struct ranked_point {
    double key;
    int32_t index;
} ranked_point;

static int compare_points(const void* a, const void* b)
{
    const ranked_point *x = a, *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static perp_status measure_cloud(perp_context* context, const double* point, int32_t count,
                                 cloud* c)
{
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = 0; i < count; ++i) {
        for (int k = 0; k < 3; ++k) {
            const double x = point[3 * (size_t)i + (size_t)k];
            if (!(fabs(x) <= 1e100)) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "vertices/%d/%d: must be finite and not beyond 1e100, got %g",
                                  (int)i, k, x);
            }
            lo[k] = x < lo[k] ? x : lo[k];
            hi[k] = x > hi[k] ? x : hi[k];
        }
    }
    c->middle = v3(0.5 * (lo[0] + hi[0]), 0.5 * (lo[1] + hi[1]), 0.5 * (lo[2] + hi[2]));
    c->size = hypot(hypot(hi[0] - lo[0], hi[1] - lo[1]), hi[2] - lo[2]);
    if (!(c->size > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "vertices: all are the same point");
    }
    if (!(c->size >= 1e-100)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "vertices: a size of %g is out of range",
                          c->size);
    }
    return PERP_OK;
}

static vec3 scaled(const cloud* c, const double* point, int32_t i)
{
    return v3_scale(1.0 / c->size, v3_sub(v3_from(point + 3 * (size_t)i), c->middle));
}

static perp_status find_same_points(perp_context* context, const double* point, int32_t count,
                                    const cloud* c, int32_t* same)
{
    ranked_point* rank = NULL;
    const perp_status status = perpi_alloc(context, (size_t)count, sizeof *rank, &rank);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < count; ++i) {
        rank[i] = (ranked_point){scaled(c, point, i).x, i};
    }
    /* sorted along x, so that only near ones are compared */
    qsort(rank, (size_t)count, sizeof *rank, compare_points);
    for (int32_t i = 0; i < count; ++i) {
        const vec3 p = scaled(c, point, rank[i].index);
        int32_t first = rank[i].index;
        for (int way = -1; way <= 1; way += 2) {
            for (int32_t k = i + way;
                 k >= 0 && k < count && fabs(rank[k].key - rank[i].key) <= SHORT; k += way) {
                if (rank[k].index < first &&
                    v3_norm(v3_sub(scaled(c, point, rank[k].index), p)) <= SHORT) {
                    first = rank[k].index;
                }
            }
        }
        same[rank[i].index] = first;
    }
    for (int32_t i = 0; i < count; ++i) {
        same[i] = same[same[i]]; /* chains: earlier points are final */
    }
    perpi_free(context, rank);
    return PERP_OK;
}

perp_status perpi_weld(perp_context* context, const double* point, int32_t count, int32_t* same)
{
    cloud c = {0};
    const perp_status status = measure_cloud(context, point, count, &c);
    return status == PERP_OK ? find_same_points(context, point, count, &c, same) : status;
}

static perp_status keep_distinct(perp_context* context, const double* point, int32_t count,
                                 cloud* c)
{
    perp_status status = perpi_alloc(context, (size_t)count, sizeof *c->given, &c->given);
    if (status == PERP_OK) {
        status = perpi_alloc(context, 3 * (size_t)count, sizeof *c->x, &c->x);
    }
    if (status == PERP_OK) {
        status = find_same_points(context, point, count, c, c->given);
    }
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < count; ++i) {
        if (c->given[i] == i) {
            v3_to(scaled(c, point, i), c->x + 3 * (size_t)c->count);
            c->given[c->count++] = i;
        }
    }
    return PERP_OK;
}

/* Checks that the points span a volume: the farthest point from the first, from their line, from
 * their plane. */
static perp_status check_thick(perp_context* context, const cloud* c)
{
    const vec3 o = v3_from(c->x);
    vec3 u = {0, 0, 0}, n = {0, 0, 0};
    double far = 0.0, wide = 0.0, thick = 0.0;
    for (int32_t i = 1; i < c->count; ++i) {
        const vec3 d = v3_sub(v3_from(c->x + 3 * (size_t)i), o);
        if (v3_norm(d) > far) {
            far = v3_norm(d);
            u = v3_scale(1.0 / far, d);
        }
    }
    for (int32_t i = 1; i < c->count; ++i) {
        const vec3 across = v3_cross(u, v3_sub(v3_from(c->x + 3 * (size_t)i), o));
        if (v3_norm(across) > wide) {
            wide = v3_norm(across);
            n = v3_scale(1.0 / wide, across);
        }
    }
    for (int32_t i = 1; i < c->count; ++i) {
        const double d = fabs(v3_dot(n, v3_sub(v3_from(c->x + 3 * (size_t)i), o)));
        thick = d > thick ? d : thick;
    }
    if (!(wide > SHORT)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "vertices: all lie on one line; a polyhedron needs a volume");
    }
    if (!(thick > SHORT)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "vertices: all lie in one plane; a polyhedron needs a volume");
    }
    if (c->count < 4) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "vertices: must be at least 4 different points, got %d", (int)c->count);
    }
    return PERP_OK;
}

/* ---- Qhull -------------------------------------------------------------------------------------- */

/* The faces found by Qhull: vertices are indices into the cloud. */
typedef struct face_list {
    int32_t face_count;
    int32_t* start;
    size_t start_room;
    int32_t* corner;
    size_t corner_room;
    perp_status status; /* of the memory */
} face_list;

static void add_face(perp_context* context, qhT* qh, facetT* facet, face_list* list)
{
    setT* corners = qh_facet3vertex(qh, facet);
    const int32_t n = qh_setsize(qh, corners);
    const int32_t first = list->face_count > 0 ? list->start[list->face_count] : 0;
    list->status = perpi_grow(context, &list->start, &list->start_room,
                              (size_t)list->face_count + 2, sizeof *list->start);
    if (list->status == PERP_OK) {
        list->status = perpi_grow(context, &list->corner, &list->corner_room, (size_t)(first + n),
                                  sizeof *list->corner);
    }
    if (list->status == PERP_OK) {
        int32_t k = first;
        vertexT *vertex, **vertexp;
        FOREACHvertex_(corners)
        {
            list->corner[k++] = qh_pointid(qh, vertex->point);
        }
        list->start[++list->face_count] = first + n;
    }
    qh_settempfree(qh, &corners);
}

/* Qhull reports errors by longjmp; no resource of ours is lost by it. False: it failed. */
static bool run_qhull(perp_context* context, qhT* qh, char* command, const cloud* c, FILE* errors,
                      face_list* list)
{
    qh_zero(qh, errors);
    bool good = qh_new_qhull(qh, 3, c->count, c->x, False, command, NULL, errors) == 0;
    if (good) {
        if (setjmp(qh->errexit) == 0) {
            qh->NOerrexit = False;
            facetT* facet;
            FORALLfacets
            {
                if (list->status == PERP_OK) {
                    add_face(context, qh, facet, list);
                }
            }
        } else {
            list->face_count = 0;
        }
        qh->NOerrexit = True;
        good = list->face_count > 0;
    }
    int left = 0, bytes = 0;
    qh_freeqhull(qh, !qh_ALL);
    qh_memfreeshort(qh, &left, &bytes);
    return good;
}

/* ---- from faces to a polyhedron ----------------------------------------------------------------- */

/* Removes vertices with only two faces, which lie on the edge between them, and faces that become
 * degenerate. */
static void remove_edge_vertices(face_list* list, int32_t* uses, int32_t vertex_count)
{
    for (bool again = true; again;) {
        again = false;
        memset(uses, 0, (size_t)vertex_count * sizeof *uses);
        for (int32_t k = 0; k < list->start[list->face_count]; ++k) {
            ++uses[list->corner[k]];
        }
        int32_t to = 0, faces = 0, from = 0;
        for (int32_t f = 0; f < list->face_count; ++f) {
            const int32_t begin = to, end = list->start[f + 1];
            for (; from < end; ++from) {
                if (uses[list->corner[from]] >= 3) {
                    list->corner[to++] = list->corner[from];
                } else {
                    again = true;
                }
            }
            if (to - begin < 3) {
                again = again || to > begin;
                to = begin;
            } else {
                list->start[++faces] = to;
            }
        }
        list->face_count = faces;
    }
}

static double newell_along(const cloud* c, const int32_t* corner, int32_t n, vec3 direction)
{
    const vec3 o = v3_from(c->x + 3 * (size_t)corner[0]);
    vec3 sum = {0, 0, 0};
    for (int32_t i = 1; i + 1 < n; ++i) {
        sum = v3_add(sum, v3_cross(v3_sub(v3_from(c->x + 3 * (size_t)corner[i]), o),
                                   v3_sub(v3_from(c->x + 3 * (size_t)corner[i + 1]), o)));
    }
    return v3_dot(sum, direction);
}

static void reverse(int32_t* a, int32_t n)
{
    for (int32_t i = 0; i < n / 2; ++i) {
        const int32_t t = a[i];
        a[i] = a[n - 1 - i];
        a[n - 1 - i] = t;
    }
}

/* Counter-clockwise from outside, the least index first; faces in the order of their corners: the
 * result does not depend on the order in which Qhull found them. */
static perp_status put_in_order(perp_context* context, const cloud* c, face_list* list)
{
    vec3 inside = {0, 0, 0};
    const int32_t corners = list->start[list->face_count];
    for (int32_t k = 0; k < corners; ++k) {
        inside = v3_madd(inside, 1.0 / corners, v3_from(c->x + 3 * (size_t)list->corner[k]));
    }
    int32_t* copy = NULL;
    ranked_point* rank = NULL;
    perp_status status = perpi_alloc(context, (size_t)corners, sizeof *copy, &copy);
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)list->face_count, sizeof *rank, &rank);
    }
    for (int32_t f = 0; f < list->face_count && status == PERP_OK; ++f) {
        int32_t* corner = list->corner + list->start[f];
        const int32_t n = list->start[f + 1] - list->start[f];
        const vec3 out = v3_sub(v3_from(c->x + 3 * (size_t)corner[0]), inside);
        if (newell_along(c, corner, n, out) < 0.0) {
            reverse(corner, n);
        }
        int32_t least = 0;
        for (int32_t i = 1; i < n; ++i) {
            least = corner[i] < corner[least] ? i : least;
        }
        for (int32_t i = 0; i < n; ++i) {
            copy[list->start[f] + i] = corner[(least + i) % n];
        }
        /* faces differ in their first two corners: an edge has one face to its left */
        rank[f] = (ranked_point){
            (double)copy[list->start[f]] * c->count + (double)copy[list->start[f] + 1], f};
    }
    if (status == PERP_OK) {
        qsort(rank, (size_t)list->face_count, sizeof *rank, compare_points);
        int32_t to = 0;
        int32_t* start = NULL;
        status = perpi_alloc(context, (size_t)list->face_count + 1, sizeof *start, &start);
        for (int32_t f = 0; f < list->face_count && status == PERP_OK; ++f) {
            const int32_t from = list->start[rank[f].index];
            const int32_t n = list->start[rank[f].index + 1] - from;
            memcpy(list->corner + to, copy + from, (size_t)n * sizeof *copy);
            to += n;
            start[f + 1] = to;
        }
        if (status == PERP_OK) {
            memcpy(list->start, start, ((size_t)list->face_count + 1) * sizeof *start);
        }
        perpi_free(context, start);
    }
    perpi_free(context, copy);
    perpi_free(context, rank);
    return status;
}

/* Every given point is below every face, up to the tolerance. Where that is too many tests only the
 * vertices are tested; Qhull has found the others inside. */
static bool encloses(const perpi_polyhedron* p, const double* point, const cloud* c)
{
    const bool all = (double)c->count * p->face_count <= 1e8;
    const int32_t count = all ? c->count : p->vertex_count;
    for (int32_t i = 0; i < count; ++i) {
        const vec3 x = all ? v3_from(point + 3 * (size_t)c->given[i]) : p->vertex[i];
        for (int32_t f = 0; f < p->face_count; ++f) {
            if (!(v3_dot(p->normal[f], x) - p->offset[f] <= SHORT * c->size)) {
                return false;
            }
        }
    }
    return true;
}

static perp_status build_hull(perp_context* context, const double* point, const cloud* c,
                              face_list* list, perpi_polyhedron** made)
{
    int32_t* number = NULL;
    vec3* vertex = NULL;
    perp_status status = perpi_alloc(context, (size_t)c->count, sizeof *number, &number);
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)c->count, sizeof *vertex, &vertex);
    }
    if (status == PERP_OK) {
        remove_edge_vertices(list, number, c->count);
        status = put_in_order(context, c, list);
    }
    if (status == PERP_OK) {
        int32_t count = 0;
        for (int32_t i = 0; i < c->count; ++i) {
            if (number[i] >= 3) {
                number[i] = count;
                vertex[count++] = v3_from(point + 3 * (size_t)c->given[i]);
            }
        }
        for (int32_t k = 0; k < list->start[list->face_count]; ++k) {
            list->corner[k] = number[list->corner[k]];
        }
        if (count > PERP_POLYHEDRON_LIMIT) {
            status =
                perpi_fail(context, PERP_ERROR_INPUT, "vertices: the hull has %d, more than %d",
                           (int)count, PERP_POLYHEDRON_LIMIT);
        } else {
            status = perpi_polyhedron_assemble(context, vertex, count, list->start, list->corner,
                                               list->face_count, made);
        }
    }
    perpi_free(context, number);
    perpi_free(context, vertex);
    return status;
}

/* One attempt with one tolerance. PERP_ERROR_INPUT: Qhull failed, or the surface is invalid. */
static perp_status try_tolerance(perp_context* context, const double* point, const cloud* c,
                                 char* command, perpi_polyhedron** made)
{
    qhT* qh = NULL;
    face_list list = {0};
    perp_status status = perpi_alloc(context, 1, sizeof *qh, &qh);
    if (status != PERP_OK) {
        return status;
    }
    char* text = NULL;
    size_t length = 0;
    FILE* errors = open_memstream(&text, &length); /* Qhull needs a file for its messages */
    if (errors == NULL) {
        perpi_free(context, qh);
        return perpi_fail(context, PERP_ERROR_MEMORY, "out of memory");
    }
    const bool good = run_qhull(context, qh, command, c, errors, &list);
    (void)fclose(errors);
    if (list.status != PERP_OK) {
        status = list.status;
    } else if (!good) {
        const size_t line = text != NULL ? strcspn(text, "\n") : 0;
        status = perpi_fail(context, PERP_ERROR_INPUT, "vertices: no hull could be found: %.*s",
                            (int)line, text != NULL ? text : "");
    } else {
        status = build_hull(context, point, c, &list, made);
    }
    free(text);
    perpi_free(context, qh);
    perpi_free(context, list.start);
    perpi_free(context, list.corner);
    if (status == PERP_OK && !encloses(*made, point, c)) {
        perpi_polyhedron_free(context, *made);
        status = perpi_fail(context, PERP_ERROR_INPUT,
                            "vertices: no hull could be found that holds all points");
    }
    return status;
}

perp_status perpi_polyhedron_hull(perp_context* context, const double* point, int32_t count,
                                  perpi_polyhedron** made, int32_t* merged)
{
    if (count < 4) {
        return perpi_fail(context, PERP_ERROR_INPUT, "vertices: must be at least 4 points, got %d",
                          (int)count);
    }
    cloud c = {0};
    perp_status status = measure_cloud(context, point, count, &c);
    if (status == PERP_OK) {
        status = keep_distinct(context, point, count, &c);
    }
    if (status == PERP_OK) {
        status = check_thick(context, &c);
    }
    perpi_polyhedron* p = NULL;
    if (status == PERP_OK) {
        status = try_tolerance(context, point, &c, command_wide, &p);
        if (status == PERP_ERROR_INPUT) {
            status = try_tolerance(context, point, &c, command_exact, &p);
        }
    }
    if (status == PERP_OK) {
        p->merged = count - c.count;
        *made = p;
        if (merged != NULL) {
            *merged = count - c.count;
        }
    }
    perpi_free(context, c.x);
    perpi_free(context, c.given);
    return status;
}
