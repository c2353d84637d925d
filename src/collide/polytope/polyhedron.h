/* src/collide/polytope/polyhedron.h - pairs of convex polyhedra (a box is one too). */
#ifndef PERPI_COLLIDE_POLYHEDRON_H
#define PERPI_COLLIDE_POLYHEDRON_H

#include "collide/collide.h"
#include "shape/polyhedron.h"

/* Shapes with a polyhedron: POLYHEDRON and BOX. */
perp_status perpi_polyhedron_polyhedron(const perpi_shape* a, const perpi_pose* pose_a,
                                        const perpi_shape* b, const perpi_pose* pose_b,
                                        double margin, perpi_candidate_list* list);

/* ---- pairs that are apart: src/collide/polytope/polyhedron_apart.c ------------------------------------------ */

/* A direction that separated the two, in the frame of the first, and by how much at which pose of
 * the second in it.
 * Zeros: none is known. */
typedef struct perpi_separation {
    bool known;
    int32_t farthest[2]; /* vertices where the next search for one begins */
    vec3 axis;
    double gap;
    mat3 R;
    vec3 x;
} perpi_separation;

/* True: they have no candidates within the margin. False: they may have. Only the cost depends on the memory. */
bool perpi_polyhedron_apart(const perpi_polyhedron* p, const perpi_pose* pose_a,
                            const perpi_polyhedron* q, const perpi_pose* pose_b, double margin,
                            perpi_separation* memory);

/* ---- pairs that do not turn: src/collide/polytope/polyhedron_still.c ------------------------------------- */

/* *done: the candidates were added; else the pair turns, or has rows of other kinds. */
PERP_NODISCARD perp_status perpi_polyhedron_still(const perpi_shape* a, const perpi_pose* pose_a,
                                                  const perpi_shape* b, const perpi_pose* pose_b,
                                                  double margin, perpi_candidate_list* list,
                                                  bool* done);

/* ---- feature pairs: src/collide/polytope/polyhedron_near.c --------------------------------------------------
 *
 * All coordinates are in the frame of a. At the end of the step b will have rotated against a by one of a few
 * expected rotations and a small further rotation vector d. Whether a pair of features is a facet of B - A
 * depends on the signs of products of an edge of one with a face normal of the other: still . Q(d) turning,
 * to first order in d: s + g . d with g of length 1. */
typedef struct perpi_product {
    vec3 still;
    vec3 turning[PERPI_SPINS]; /* after each expected rotation */
    vec3 g[PERPI_SPINS];
    double s[PERPI_SPINS];
} perpi_product;

enum {
    PERPI_FACETS = 64,       /* capacity: feature pairs; the nearest are kept */
    PERPI_PRODUCTS = 64,     /* products whose sign the rotation can change: bits of a mask */
    PERPI_TURN_ACTIVE = 12,  /* capacity: products that are followed, the nearest to d = 0 */
    PERPI_TURN_CELLS = 256,  /* capacity: orders of the products */
    PERPI_PLACED = 64,       /* capacity: vertices and faces of b that are transformed once */
    PERPI_PLACED_EDGES = 32, /* capacity: edges stored as vectors; bodies with more store none */
    PERPI_KNOWN_FACES = 12,  /* capacity: faces whose products are cached */
    PERPI_PLANES = 8,        /* capacity: planes past the silhouette of B - A; the nearest are
                              * kept */
};

/* Radians: the largest rotation for which signs of products are followed. */
#define PERPI_THETA_MAX 0.35

typedef enum perpi_facet_kind {
    PERPI_VERTEX_B_FACE_A,
    PERPI_VERTEX_A_FACE_B,
    PERPI_EDGE_EDGE,
    PERPI_SILHOUETTE, /* a vertex and an edge, in a plane through the origin; other: 2 edge + its body */
} perpi_facet_kind;

/* What a choice depends on, compared as bytes. */
typedef struct perpi_still_key {
    double R[9], x[3], margin, turn;
    const perpi_candidate_rule* rule;
    int32_t shape_a, shape_b, flipped;
} perpi_still_key;

typedef struct perpi_still_item {
    perpi_facet_kind kind;
    int32_t one, other; /* as in perpi_facet */
    double sigma;       /* of two edges: their normal is sigma a x b, */
    int32_t flat;       /* unless they cross in this face of a; -1: none */
    double s, t;        /* where on the two edges, at the rounded pose */
    uint32_t feature;
    int32_t group;
    bool secondary;
} perpi_still_item;

enum { PERPI_STILL_ITEMS = 16 };

/* The last choice of a pair. */
typedef struct perpi_still_pair {
    perpi_still_key key;
    bool searched, known; /* the key is set; every row can be evaluated */
    bool has_best;
    uint32_t pass; /* of the collider: when it was last used */
    int32_t count;
    perpi_still_item best, item[PERPI_STILL_ITEMS];
} perpi_still_pair;

/* Where the lines p + s u of a and p + d + t w of b cross in a plane with normal n. At an angle
 * alpha the product of the edges has an error of 1e-16 / alpha, and their closest points one of
 * 1e-16 / alpha^2. In the plane of faces that lie flat on each other the normal is known, and s and
 * t have an error of 1e-16 / alpha, along the edges, on which the gap does not depend. */
static inline void perpi_cross_in_plane(vec3 n, vec3 u, vec3 d, vec3 w, double* s, double* t)
{
    const double c = v3_dot(n, v3_cross(u, w));
    *s = v3_dot(n, v3_cross(d, w)) / c;
    *t = v3_dot(n, v3_cross(d, u)) / c;
}

/* A vertex with a face, or an edge with an edge: a facet of B - A for some d. */
typedef struct perpi_facet {
    perpi_facet_kind kind;
    int32_t one, other; /* vertex and face; edge of a and edge of b */
    vec3 p_a, p_b, n;   /* n from a to b; p_b - p_a = psi n */
    double psi;
    double distance;      /* of the features themselves, not of their planes or lines */
    uint64_t plus, minus; /* a facet where these products are positive, and these negative */
    bool present;         /* at the current pose */
    uint32_t possible;    /* bit k: after the k-th expected rotation, for some d */
} perpi_facet;

typedef struct perpi_meeting {
    const perpi_polyhedron* p[2];
    mat3 R; /* from b's frame into a's */
    vec3 x;
    double margin, near, theta, size;
    bool sided; /* facets that face away from `side` are ignored */
    vec3 side;
    perpi_facet facet[PERPI_FACETS];
    int32_t count;
    double room[PERPI_FACETS]; /* after an overflow: squared distances to the nearest others */
    perpi_product product[PERPI_PRODUCTS];
    int32_t products;
    /* by side, face and edge of the other body: 0 or 1 + 2 bit + opposite */
    uint8_t known[2][PERPI_KNOWN_FACES][PERPI_PLACED_EDGES];
    double least;          /* smallest distance of a present pair */
    double best;           /* largest psi of one */
    perpi_facet most_open; /* it; only while best is below 0 */
    bool apart;            /* a present pair is open by more than the margin */
    bool overflow;         /* overflow of the feature pairs */
    vec3 vertex_b[PERPI_PLACED], normal_b[PERPI_PLACED];
    bool edges_placed[2];
    vec3 edge[2][PERPI_PLACED_EDGES];
    mat3 R_end[PERPI_SPINS]; /* R after each expected rotation */
    int32_t ends;
    bool still;                       /* one expected rotation, and it is zero */
    bool orders;                      /* whether products are kept */
    struct perpi_leaf_memory* leaves; /* of perpi_meeting_descend, or NULL */
    /* the direction of largest separation that perpi_meeting_parted found; a lies below `high`
     * along it and b above `low`, farthest[] are the vertices there */
    vec3 axis;
    double high, low;
    int32_t farthest[2];
    vec3 out; /* from the origin to the point from which planes past B - A are taken; set by
               * far_side */
} perpi_meeting;

void perpi_meeting_begin(perpi_meeting* m, const perpi_polyhedron* a, const perpi_pose* pose_a,
                         const perpi_polyhedron* b, const perpi_pose* pose_b, double margin,
                         double near, const perpi_candidate_list* list);
/* Adds a vertex over a face of body `side` (0: a), or two edges, if they are within `near` of each
 * other and a facet now or for some rotation; a vertex also if `all` is set. */
void perpi_meeting_vertex(perpi_meeting* m, int side, int32_t face, int32_t vertex, bool all);
void perpi_meeting_edges(perpi_meeting* m, int32_t edge_a, int32_t edge_b);
/* The sign sigma with which sigma a x b points out of both edges; 0: none, or they are parallel. */
double perpi_meeting_sign(const perpi_meeting* m, int32_t edge_a, int32_t edge_b);
/* The facet of B - A with the largest psi, over all facets; stops at one that is open by more than
 * the margin. */
perpi_facet perpi_meeting_deepest(const perpi_meeting* m);

/* ---- search: src/collide/polytope/polyhedron_search.c --------------------------------------------------------- */

/* Whether a plane separates the bodies by more than the margin. */
bool perpi_meeting_parted(perpi_meeting* m);
/* Fills facet[]. With `all_vertices` also by vertices over faces that are never a facet. */
void perpi_meeting_collect(perpi_meeting* m, bool all_vertices);
/* The same for many near features: src/collide/polytope/polyhedron_trees.c. */
void perpi_meeting_descend(perpi_meeting* m, bool all_vertices);
/* The size of its memory, which holds nothing from one call to the next; without it the search is slower. */
size_t perpi_leaf_memory_size(void);

/* ---- fast rotations: src/collide/polytope/polyhedron_round.c ---------------------------------------------------- */

/* An inscribed ball of q against p, for any rotation of q. number: its groups are numbered from 1 +
 * number on. */
perp_status perpi_polyhedron_inner(const perpi_polyhedron* p, const perpi_pose* pose_p,
                                   const perpi_polyhedron* q, const perpi_pose* pose_q,
                                   double margin, uint32_t number, perpi_candidate_list* list);

/* ---- for contact models -----------------------------------------------------------------------------*/

enum { PERPI_ANSWER_GROUPS = 24, PERPI_ANSWER_MEMBERS = 8 };

/* The result for a pair of polyhedra: feature pairs, and the candidates made of them so far. */
typedef struct perpi_polyhedron_answer {
    perpi_meeting* m;
    const perpi_pose* pose; /* of a */
    perpi_candidate_list* list;
    size_t first; /* index of the pair's first candidate */
    uint64_t name[(PERPI_ANSWER_GROUPS + 1) * PERPI_ANSWER_MEMBERS + PERPI_PLANES + PERPI_FACETS];
    int32_t names;
    int32_t same[PERPI_FACETS]; /* the first facet with the same row */
    int32_t flat;               /* the face of a on which b lies flat; -1: none */
} perpi_polyhedron_answer;

/* The candidates of two polyhedra at their poses. a->m: the caller's; a->name: of the candidates from
 * a->first on, if no others were added. */
PERP_NODISCARD perp_status perpi_polyhedron_search(const perpi_polyhedron* p,
                                                   const perpi_pose* pose_a,
                                                   const perpi_polyhedron* q,
                                                   const perpi_pose* pose_b, double margin,
                                                   perpi_candidate_list* list,
                                                   perpi_polyhedron_answer* a);
PERP_NODISCARD perp_status perpi_answer_add(perpi_polyhedron_answer* a, const perpi_facet* f,
                                            int32_t group, bool secondary);
/* The feature number of a pair; again: how many members of groups with the same pair come before it. Members
 * whose numbers coincide with others have the next free ones. */
uint32_t perpi_facet_number(perpi_facet_kind kind, int32_t one, int32_t other, int32_t again);
/* Pairs with a gap below that of the direction of least depth are discarded. */
double perpi_meeting_least_gap(const perpi_meeting* m);
/* Whether a pair is a row without a group. */
bool perpi_meeting_counts(const perpi_meeting* m, const perpi_facet* f, double floor);

#endif
