/* src/solve/interior/interior_bodies.h - an interior point method in the space of the bodies' velocities, which
 * finds a starting point for Newton's method. See interior_bodies.c. */
#ifndef PERPI_INTERIOR_BODIES_H
#define PERPI_INTERIOR_BODIES_H

#include "solve/frictional/body_matrix.h"
#include "solve/interior/second_order_cone.h"

typedef struct perpi_interior_bodies perpi_interior_bodies;

PERP_NODISCARD perp_status perpi_interior_bodies_create(perp_context* context,
                                                        perpi_interior_bodies** s);
void perpi_interior_bodies_destroy(perpi_interior_bodies* s);

/* Called with the impulses of each iterate; returns their residual. */
typedef double (*perpi_interior_residual)(void* user, const double* p, bool* stop);

/* What is done where the central path turns back; see interior_bodies_descend.c, interior_bodies_track.c. */
typedef enum perpi_interior_folds {
    PERPI_FOLDS_LEAVE,       /* tau only falls: to another branch, by steps with less coupling */
    PERPI_FOLDS_FOLLOW,      /* tau grows again; ... */
    PERPI_FOLDS_FOLLOW_TIGHT /* ... the points are always near the curve */
} perpi_interior_folds;

typedef struct perpi_interior_task {
    const perp_contact_problem* P;
    const perpi_delassus* delassus;
    perpi_body_matrix* matrix;  /* analysed */
    double regularisation;      /* of u by the change of p, in scaled rows */
    double target;              /* residual at which to stop */
    perpi_interior_folds folds; /* of a curve */
    const double* from; /* of a curve that descends: impulses near which it begins (NULL: 0), ... */
    double warmth;      /* ... and sqrt(tau) there, relative to the velocities without impulses */
    int32_t limit;      /* factorisations */
    perpi_interior_residual residual;
    void* user;
} perpi_interior_task;

/* Starts cold; every iterate is passed to `residual`, which keeps the best. factorisations: how many were
 * made. PERP_OK also where no iterate is good. */
PERP_NODISCARD perp_status perpi_interior_bodies_run(perpi_interior_bodies* s,
                                                     const perpi_interior_task* task,
                                                     int32_t* factorisations);

/* The central path of the problem with compliance `regularisation`, followed as a curve. Begins at the start;
 * perpi_interior_track goes on from where it stands, until task->target is reached or task->limit
 * factorisations have been made. PERP_OK also where no iterate is good. */
PERP_NODISCARD perp_status perpi_interior_track_begin(perpi_interior_bodies* s,
                                                      const perpi_interior_task* task);
void perpi_interior_track(perpi_interior_bodies* s, const perpi_interior_task* task,
                          int32_t* factorisations);

/* ---- shared by the files of the method: interior_bodies.c, _point.c, _direction.c, _track.c, _descend.c,
 * _pairs.c, _cones.c ----*/

#define PERPI_INTERIOR_TURN 0.7 /* rad: the direction of sliding turns by no more in a step */

enum {
    PERPI_INTERIOR_DIRECTIONS = 4
}; /* affine, centred, correction, best; or see interior_bodies_track.c */

typedef enum perpi_interior_law {
    LAW_NORMAL,
    LAW_CONE,
    LAW_EQUALITY,
    LAW_BOUNDED
} perpi_interior_law;

/* A step of all unknowns. The arrays follow those of `perpi_interior_bodies`. */
typedef struct perpi_interior_direction {
    double *x, *p, *z, *w;
    double *p_scaled, *z_scaled;         /* P dp, P^-1 dz of cones */
    double *g1, *g2, *rp, *ru, *s, *phi; /* polar contacts */
    double *low, *up;                    /* of a_low, a_up */
} perpi_interior_direction;

/* The central path as a curve; see interior_bodies_track.c. */
typedef struct perpi_interior_curve {
    bool on;           /* residuals are those of the problem with compliance, and fall with tau */
    double tau, first; /* tau of the point, and of the first one */
    double theta;      /* length of the next step */
    double kept;       /* tau of the kept point (`good`); 0: there is none */
    perpi_interior_folds folds;
    bool strict;         /* points have to be near the curve: after a return */
    int32_t corrections; /* since the last point from which a step was made */
    int32_t returns;     /* to the kept point, or to a larger tau */
    int32_t again;       /* corrections that the kept point may still have after a return */
    double off;          /* distance from the curve at the last correction */
    /* of one that descends: */
    double size;     /* of the velocities without impulses */
    double left;     /* part of tau that a step leaves at least */
    double damping;  /* part of a correction that is taken */
    int32_t here;    /* corrections at the present tau; ... */
    bool rough;      /* ... one of them did not come nearer */
    int32_t reduced; /* iterations for which the coupling stays reduced */
} perpi_interior_curve;

struct perpi_interior_bodies {
    perp_context* context;
    double* memory;
    size_t memory_capacity;
    perpi_soc_scaling* cone; /* Nesterov-Todd scaling, per constraint */
    size_t cone_capacity;
    perpi_interior_law* law_of; /* per constraint */
    size_t law_capacity;
    bool* polar; /* per constraint */
    size_t polar_capacity;
    bool* sticks; /* per constraint, of a curve: see interior_bodies_pairs.c */
    size_t sticks_capacity;
    const perp_contact_problem* P;
    const perpi_body_matrix* matrix;
    /* the scaled problem: */
    double *scale, *H, *b;
    const double* y;
    /* unknowns: x (dof), p, z (rows), w, g1, g2 (constraints), low, up (rows of bounded constraints) */
    double *x, *p, *z, *w, *g1, *g2, *low, *up;
    double* good; /* a copy of all of these: the best centred point */
    /* residuals and what an iteration derives from the point */
    double *rd, *u, *rt, *rn; /* rt: rows of cones and bounded rows; rn: constraints */
    double *rd_first, *rt_first, *rn_first; /* a curve's: those of its first point */
    /* residuals that a direction removes: all of them, or those above */
    const double *rd_aim, *rt_aim, *rn_aim;
    double *rd_above, *rt_above, *rn_above; /* a curve's: what exceeds their share of the target */
    double *e, *rp, *ru;                    /* 2 a constraint; constraints */
    double *k, *S;                          /* 3 and 9 a constraint */
    double *D, *R;                          /* blocks: PERPI_BODY_ROWS_MAX a row */
    double *g, *right, *hd;                 /* scratch: rows, dof, rows */
    perpi_interior_direction dir[PERPI_INTERIOR_DIRECTIONS];
    double regularisation;
    double tau, infeasible; /* mean product; mean square of the linear residuals */
    double coupling;        /* of D_tn: 1, or less for a step over a fold */
    int32_t products;
    double centring_least;
    perpi_interior_curve curve;
};

/* Memory, scaling and start. False: a constraint has more rows than the method takes. */
PERP_NODISCARD perp_status perpi_interior_reserve(perpi_interior_bodies* s,
                                                  const perp_contact_problem* P);
bool perpi_interior_scale(perpi_interior_bodies* s, const perpi_interior_task* task);
/* x = y and every product equal: `factor` times the size of the velocities without impulses, squared. Returns its
 * root. */
double perpi_interior_start(perpi_interior_bodies* s, double factor);
/* The point with products tau that the impulses s->p and their velocities are nearest to; after perpi_interior_start.
 * See interior_bodies_pairs.c. */
void perpi_interior_start_near(perpi_interior_bodies* s, double tau);
/* How many numbers the unknowns are, from s->x on. */
size_t perpi_interior_unknowns(const perp_contact_problem* P);

/* Decides where polar coordinates are used and puts z_t opposite to p_t there; then the residuals, tau and the
 * infeasibility at the unknowns. */
void perpi_interior_residuals(perpi_interior_bodies* s);

/* The blocks D of the matrix. False: the iterate is on the boundary by rounding. */
bool perpi_interior_blocks(perpi_interior_bodies* s);
/* interior_bodies_cones.c: those of PERPI_INTERIOR_LANES contacts, cones of 2 or 3 rows without polar coordinates. */
enum { PERPI_INTERIOR_LANES = 4 };
bool perpi_interior_cone_blocks(perpi_interior_bodies* s, int32_t rows, const int32_t* contact);
/* The direction that asks for the product `target` of every pair, with the second-order terms of `of` (NULL:
 * none). */
void perpi_interior_find(perpi_interior_bodies* s, perpi_body_matrix* matrix, double target,
                         const perpi_interior_direction* of, perpi_interior_direction* d);
/* x, p, z, ... <- their values after a step of length t along d. */
void perpi_interior_move(perpi_interior_bodies* s, const perpi_interior_direction* d, double t);
/* The lesser of t and how far constraint i allows along d; the least of all constraints. */
typedef double (*perpi_interior_bound)(const perpi_interior_bodies* s, int32_t i,
                                       const perpi_interior_direction* d, double t);
double perpi_interior_least(const perpi_interior_bodies* s, const perpi_interior_direction* d,
                            perpi_interior_bound bound);
/* How far the boundary is along d; tau after a step of length t. */
double perpi_interior_reach(const perpi_interior_bodies* s, const perpi_interior_direction* d);
double perpi_interior_tau_after(const perpi_interior_bodies* s, const perpi_interior_direction* d,
                                double t);

/* interior_bodies_pairs.c: one number of each pair is free on a curve, the other follows. Chooses them at the
 * point; the relative changes v of those of constraint i along d, and how many; how far they stay
 * positive along d; a step of length t along d, after which every product is tau. */
void perpi_interior_choose_free(perpi_interior_bodies* s);
int32_t perpi_interior_changes(const perpi_interior_bodies* s, int32_t i,
                               const perpi_interior_direction* d, double* v);
double perpi_interior_reach_free(const perpi_interior_bodies* s, const perpi_interior_direction* d);
void perpi_interior_move_free(perpi_interior_bodies* s, const perpi_interior_direction* d, double t,
                              double tau);

/* interior_bodies_track.c, of a curve: the present point is its first one; d <- (1 - beta) d_0 + beta d_1; how much of d can be
 * taken; takes t of it, and of the change of tau by the part beta. */
enum {
    PERPI_INTERIOR_CHANGES = 4 * PERPI_BODY_ROWS_MAX + 2
}; /* numbers of perpi_interior_changes */
void perpi_interior_anchor(perpi_interior_bodies* s);
void perpi_interior_combine(const perpi_interior_bodies* s, double beta,
                            perpi_interior_direction* d);
double perpi_interior_within(const perpi_interior_bodies* s, const perpi_interior_direction* d);
void perpi_interior_take(perpi_interior_bodies* s, const perpi_interior_direction* d, double t,
                         double beta);
/* A step with terms of second order; beta is base + go, at most `most`, with a smaller go where the boundary is near. */
void perpi_interior_advance(perpi_interior_bodies* s, perpi_body_matrix* matrix, double base,
                            double go, double most);
/* interior_bodies_descend.c: a curve that descends begins near the impulses s->p, where sqrt(tau) is `warmth` times the
 * velocities without impulses; one iteration of it. made: grows by the factorisations beyond one. False: it cannot go on. */
void perpi_interior_descend_begin(perpi_interior_bodies* s, double warmth);
bool perpi_interior_descend(perpi_interior_bodies* s, perpi_body_matrix* matrix, int32_t* made);

/* Whether contact i, of m rows, has polar coordinates now: those of three rows alone may. */
PERPI_INLINE bool perpi_interior_polar(const perpi_interior_bodies* s, int32_t i, int32_t m)
{
    return m == 3 && s->polar[i];
}

/* a . b of the few rows of a constraint. */
PERPI_INLINE double perpi_interior_dot(int32_t n, const double* a, const double* b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Bounds of a row in scaled units; a bounded row whose bounds coincide is fixed. */
static inline double perpi_interior_lower(const perpi_interior_bodies* s, int32_t row)
{
    return s->P->lower[row] / s->scale[row];
}

static inline double perpi_interior_upper(const perpi_interior_bodies* s, int32_t row)
{
    return s->P->upper[row] / s->scale[row];
}

static inline bool perpi_interior_fixed(const perpi_interior_bodies* s, int32_t row)
{
    return !(s->P->upper[row] > s->P->lower[row]);
}

/* The compliance of a row of constraint c in scaled units. */
static inline double perpi_interior_compliance(const perpi_interior_bodies* s,
                                               const perp_constraint* c, int32_t row)
{
    const bool soft = s->P->compliance != NULL && c->kind != PERP_CONSTRAINT_CONTACT;
    return soft ? s->P->compliance[row] * s->scale[row] * s->scale[row] : 0.0;
}

#endif
