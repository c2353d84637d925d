/* src/collide/polytope/polyhedron.h - pairs of convex polyhedra (a box is one too). */
#ifndef PERPI_COLLIDE_POLYHEDRON_H
#define PERPI_COLLIDE_POLYHEDRON_H

#include "collide/collide.h"
#include "shape/polyhedron.h"

/* Shapes with a polyhedron: POLYHEDRON and BOX. */
perp_status perpi_polyhedron_polyhedron(const perpi_shape* a, const perpi_pose* pose_a,
                                        const perpi_shape* b, const perpi_pose* pose_b,
                                        double margin, perpi_candidate_list* list);

/* ---- feature pairs: src/collide/polytope/polyhedron_near.c --------------------------------------------------
 *
 * Everything is in the frame of a. At the end of the step b will have turned against a by one of a few
 * expected turns and a small vector d more. Whether a pair of features is a facet of B - A is told by the
 * signs of products of an edge of one with a face's normal of the other: still . Q(d) turning, to first
 * order in d s + g . d with g of length 1. */
typedef struct perpi_product {
    vec3 still;
    vec3 turning[PERPI_SPINS]; /* after each expected turn */
    vec3 g[PERPI_SPINS];
    double s[PERPI_SPINS];
} perpi_product;

enum {
    PERPI_FACETS = 64,       /* feature pairs that can take part; the nearest are kept */
    PERPI_PRODUCTS = 64,     /* whose sign the turn can change: bits of a mask */
    PERPI_TURN_ACTIVE = 12,  /* of these so many are followed, the nearest to d = 0 */
    PERPI_TURN_CELLS = 256,  /* orders that are looked at */
    PERPI_PLACED = 64,       /* vertices and faces of b that are transformed once */
    PERPI_PLACED_EDGES = 32, /* edges of small bodies, as vectors; of bodies with more none */
    PERPI_KNOWN_FACES = 12,  /* products of so many faces are remembered */
    PERPI_PLANES = 8,        /* past the silhouette of B - A; the nearest are kept */
};

typedef enum perpi_facet_kind {
    PERPI_VERTEX_B_FACE_A,
    PERPI_VERTEX_A_FACE_B,
    PERPI_EDGE_EDGE,
    PERPI_SILHOUETTE, /* a vertex and an edge, in a plane through the origin; other: 2 edge + its body */
} perpi_facet_kind;

/* A vertex with a face, or an edge with an edge: a facet of B - A for some d. */
typedef struct perpi_facet {
    perpi_facet_kind kind;
    int32_t one, other; /* vertex and face; edge of a and edge of b */
    vec3 p_a, p_b, n;   /* n from a to b; p_b - p_a = psi n */
    double psi;
    double distance;      /* of the features themselves, not of their planes or lines */
    uint64_t plus, minus; /* it is a facet where these products are positive, and these negative */
    bool present;         /* as things stand */
    uint32_t possible;    /* bit k: with the k-th expected turn, for some d */
} perpi_facet;

typedef struct perpi_meeting {
    const perpi_polyhedron* p[2];
    mat3 R; /* from b's frame into a's */
    vec3 x;
    double margin, near, theta, size;
    bool sided; /* facets that face away from `side` do not exist */
    vec3 side;
    perpi_facet facet[PERPI_FACETS];
    int32_t count;
    perpi_product product[PERPI_PRODUCTS];
    int32_t products;
    /* by side, face and edge of the other body: 0 or 1 + 2 bit + opposite */
    uint8_t known[2][PERPI_KNOWN_FACES][PERPI_PLACED_EDGES];
    double least;  /* smallest distance of a present pair */
    double best;   /* largest psi of one */
    bool apart;    /* a present pair is open by more than the margin */
    bool overflow; /* there were more pairs than there is room for */
    vec3 vertex_b[PERPI_PLACED], normal_b[PERPI_PLACED];
    bool edges_placed[2];
    vec3 edge[2][PERPI_PLACED_EDGES];
    mat3 R_end[PERPI_SPINS]; /* R after each expected turn */
    int32_t ends;
    bool still;  /* one, and that none */
    bool orders; /* wanted: else no products are kept */
    /* the direction along which the bodies were found farthest apart, by perpi_meeting_parted; a lies
     * below `high` along it and b above `low`, farthest[] are the vertices there */
    vec3 axis;
    double high, low;
    int32_t farthest[2];
    vec3 out; /* from the origin to where planes past B - A are taken from; set by far_side */
} perpi_meeting;

void perpi_meeting_begin(perpi_meeting* m, const perpi_polyhedron* a, const perpi_pose* pose_a,
                         const perpi_polyhedron* b, const perpi_pose* pose_b, double margin,
                         double near, const perpi_candidate_list* list);
/* Takes a vertex over a face of body `side` (0: a), or two edges, if they are within `near` of each other
 * and a facet now or for some turn; a vertex also if `all` is set. */
void perpi_meeting_vertex(perpi_meeting* m, int side, int32_t face, int32_t vertex, bool all);
void perpi_meeting_edges(perpi_meeting* m, int32_t edge_a, int32_t edge_b);
/* The facet of B - A with the largest psi, over all of them; stops at one that is open by more than
 * the margin. Walks over the facets of B - A, each once. */
perpi_facet perpi_meeting_deepest(const perpi_meeting* m);

/* ---- which of them: src/collide/polytope/polyhedron_search.c -------------------------------------------------- */

/* Whether a plane was found that has the bodies on either side, by more than the margin. */
bool perpi_meeting_parted(perpi_meeting* m);
/* Fills in facet[]. Where `all_vertices` is set, also with vertices over faces that are never a facet. */
void perpi_meeting_collect(perpi_meeting* m, bool all_vertices);

/* ---- fast turns: src/collide/polytope/polyhedron_round.c -------------------------------------------------------- */

/* A ball in q keeps off p, however q turns. number: of its groups, from 1 + number on. */
perp_status perpi_polyhedron_inner(const perpi_polyhedron* p, const perpi_pose* pose_p,
                                   const perpi_polyhedron* q, const perpi_pose* pose_q,
                                   double margin, uint32_t number, perpi_candidate_list* list);

/* ---- for contact models -----------------------------------------------------------------------------*/

enum { PERPI_ANSWER_GROUPS = 24, PERPI_ANSWER_MEMBERS = 8 };

/* What a pair of polyhedra gives: feature pairs, and the touches made of them so far. */
typedef struct perpi_polyhedron_answer {
    perpi_meeting* m;
    const perpi_pose* pose; /* of a */
    perpi_candidate_list* list;
    size_t first; /* the pair's first touch */
    uint64_t name[(PERPI_ANSWER_GROUPS + 1) * PERPI_ANSWER_MEMBERS + PERPI_PLANES + PERPI_FACETS];
    int32_t names;
    int32_t same[PERPI_FACETS]; /* the first facet with the same row */
} perpi_polyhedron_answer;

PERP_NODISCARD perp_status perpi_answer_add(perpi_polyhedron_answer* a, const perpi_facet* f,
                                            int32_t group, bool secondary);
/* Pairs with a gap below that of the direction of least depth do not count. */
double perpi_meeting_least_gap(const perpi_meeting* m);
/* Whether a pair counts by itself. */
bool perpi_meeting_counts(const perpi_meeting* m, const perpi_facet* f, double floor);

#endif
