/* src/solve/frictional/augmented_newton.c - semismooth Newton in the space of the bodies' velocities, inside
 * the method of multipliers.
 *
 * Source     the proximal point method on the impulses (Rockafellar 1976: method of multipliers) with
 *            a semismooth Newton method for each of its problems, as is done for large degenerate
 *            conic programs; the convex problems with s = mu |u_t| held are those of De Saxce and of
 *            [Acary, Cadoux, Lemarechal, Malick 2011]; the other law of a proximal step is the
 *            augmented Lagrangian of [Alart, Curnier 1991]
 * Notation   M = L L', Y = L^-1 J', x = L' v, y = L^-1 k, so that the dynamics read x = y + Y p.
 *            A proximal step around the impulses c (weights omega = lambda w, w the diagonal of
 *            W = Y' Y) asks for p with u(x) + omega (p - c) in place of u in the laws. That makes p
 *            an explicit function p(u) of each contact, and leaves x alone unknown. It is written in
 *            differences from the centre, z = x - y - Y c, d = p - c, u = u_c + Y' z, which are small
 *            near the answer: rounding is then not divided by lambda:
 *                f(z) = z - Y d(u_c + Y' z) = 0,   f' = I + Y D Y',  D = -dd/du >= 0 or nearly so
 * Why        f' has a block for each body and for each pair of bodies that touch, however many
 *            contacts they share, and is regular however redundant those are: in a wall of bricks
 *            it is several times smaller and far sparser than W.
 * Method     far from the solution: s fixed in each step, f the gradient of a convex function, line
 *            search on it; then s is updated. Near it: p(u) the law itself, f' unsymmetric, search
 *            on |f|; the multipliers then converge as fast as lambda is small. lambda falls while
 *            the Newton iterations are few. Polygonal cones are replaced by circular ones in the
 *            first phase.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "linalg/dense.h"
#include "linalg/wide.h"
#include "problem/cone.h"
#include "problem/operators.h"
#include "problem/reformulate/reformulate.h"
#include "solve/builtin.h"
#include "solve/frictional/augmented_newton.h"
#include "solve/frictional/body_matrix.h"
#include "solve/frictional/friction_local.h"
#include "solve/interior/interior_bodies.h"
#include "solve/monitor.h"

enum {
    ROWS_MAX = PERPI_BODY_ROWS_MAX,
    SIDE = PERPI_BODY_SIDE,
    HALVINGS = 10,
    GRAIN = 1000, /* constraints for a thread to gain */
};

#define LAMBDA_MAX 1.0
#define LAMBDA_MIN 1e-12
#define LAMBDA_CONVEX 1e-5    /* smallest lambda of convex steps, between which s changes */
#define LAMBDA_CHANGED 0.1    /* largest first lambda after a change at few contacts */
#define LAMBDA_ROOT 0.1       /* first lambda, relative to the root of the residual; ... */
#define LAMBDA_ROOT_PILE 0.05 /* ... from LOCAL_MIN constraints on */
#define INNER_RATIO 3e-3      /* |f| of a proximal step, relative to the residual where it began */
#define COARSE 1e-6 /* an accuracy beyond which nothing more is done for the next step's sake */
/* Of the residual of a pile (LOCAL_MIN): beyond options.enough a proximal step that leaves more of it is the last. */
#define QUICKLY 0.3
#define NEAR 0.02        /* residual below which the law itself is tried */
#define LOOSE 0.5        /* of the contacts act: Newton's method goes first */
#define CHOICE_NEAR 1e-3 /* residual below which choices are made again */
#define FALLING 0.3    /* of the residual, within the budget of a run that goes on while it falls */
#define SOFT 1e-8      /* regularisation of the interior point method */
#define START 1e-2     /* residual of its best point from which Newton's method is tried */
#define HAND_OVER 1e-4 /* residual from which Newton's method mostly converges in some ten steps */

/* A step of the law counts as good where it leaves the residual below GROWTH_MAX times what it was and
 * DRIFT_MAX times the least: without the second, many steps that each lose a little can climb from 1e-2 to 1
 * and stay there. */
#define GROWTH_MAX 10.0
#define DRIFT_MAX 1e3

/* A proximal step that leaves more than STILL of the residual was too short: impulses of redundant
 * contacts move by u / lambda. The next one is ten times longer, unless a lambda of a third of that
 * has failed lately. */
#define STILL 0.7
#define FAILED_RATIO 3.0

/* Compliance of the problem whose central path is followed, relative to the diagonal of W: this part of the
 * tolerance, within these bounds. Its answer then has a residual of at most that part. */
#define CURVE_PART 0.1
#define CURVE_SOFT_MIN 1e-11
#define CURVE_SOFT_MAX 1e-4
/* sqrt(tau) where the path begins, relative to the velocities without impulses. On 14 steps of a heap of 1,000 boxes 3 is
 * as good, 0.3 and less take more factorisations; not so where few contacts have to change. */
#define WARMTH 1.0
#define WARMTH_LOCAL 0.3
#define TRIED                                                                                      \
    0.5 /* of the residual from which Newton's method failed: before, it is not tried again */
#define CURVE_CLOSE 1e-3 /* residual of its best point from which Newton's method is tried */

enum {
    INTERIOR_MIN = 12,   /* constraints: smaller problems are Newton's at once */
    LOOSE_MIN = 1000,    /* constraints between bodies: fewer are factored quickly in any case */
    LOOSE_BUDGET = 150,  /* Newton steps */
    LOCAL_MIN = 100,     /* constraints: from here on local changes are looked for */
    QUICK_MIN = 100,     /* constraints, where choices are made: lambda falls as next_step says */
    STILL_STEPS = 3,     /* Newton steps of a proximal step that changed little */
    FAILED_MAX = 3,      /* proximal steps in a row, before the convex law is taken; ... */
    FAILED_NEAR_MAX = 8, /* ... below a residual of HAND_OVER, where it would lead away */
    LOCAL_LEAST = 2,     /* constraints ... */
    LOCAL_PART = 50,     /* ... and one of so many: a local change */
    MOST = 4000,         /* factorisations and Newton steps of a solve: all that follows, once */
    DESCENT_LIMIT = 800, /* factorisations */
    DESCENT_PIECE = 60,  /* Newton's method is tried after so many */
    CURVE_LIMIT = 650,   /* factorisations: one step of pile300 in 40 comes to a closed branch */
    CURVE_TIGHT_LIMIT = 1500, /* the longest took 1,220 */
    MANY_A_VELOCITY = 2,      /* constraints a velocity: few bodies, mostly without a solution */
    CURVE_MORE = 25,          /* Newton steps from its best point, as LOCAL_BUDGET, ... */
    CURVE_PIECE = 150,        /* ... after so many factorisations */
    START_BUDGET = 20,        /* the same as LOCAL_BUDGET from an interior point; ... */
    START_NEAR = 40,          /* ... with a residual below HAND_OVER */
    LOCAL_BUDGET = 25,   /* Newton steps in which the residual falls to FALLING of what it was */
    CHOICE_BUDGET = 300, /* factorisations, where choices are made meanwhile; ... */
    CHOICE_MOST = 900,   /* ... where none has changed for CHOICE_STILL of them */
    CHOICE_STILL = 100,
    PAIR_BUDGET = 40, /* the same after a change, where members of a group are closed together */
    MORE = 3,         /* Newton steps beyond options.enough */
    IDLE_MAX = 5, /* Newton steps on the law that do not halve |f|, before it is given up; ... */
    IDLE_FAR_MAX = 8, /* ... where it is tried from a residual above NEAR */
};

typedef struct bodies_settings {
    double regularisation;
    int32_t steps;
    int32_t interior;
} bodies_settings;

static const perp_setting bodies_setting[] = {
    {"regularisation", PERP_SETTING_DOUBLE, offsetof(bodies_settings, regularisation), 1e-10, 1.0,
     "largest first lambda, relative to the diagonal of W"},
    {"steps", PERP_SETTING_INT, offsetof(bodies_settings, steps), 1, 100000,
     "Newton steps after which a proximal step is given up"},
    {"interior", PERP_SETTING_INT, offsetof(bodies_settings, interior), 0, 1000,
     "factorisations of the interior point method that finds a start; 0: none"},
};

static void bodies_settings_default(void* settings)
{
    *(bodies_settings*)settings =
        (bodies_settings){.regularisation = 1e-3, .steps = 40, .interior = 40};
}

typedef struct bodies {
    perp_context* context;
    bodies_settings set;
    perpi_delassus delassus;
    perpi_body_matrix matrix;
    perpi_interior_bodies* interior;
    double* vector;
    size_t vector_capacity;
    /* views into vector; rows: */
    double *w, *c, *uc, *d, *u, *best, *start_best, *first, *trial_d, *trial_u, *s, *du, *zero, *D;
    /* velocities: */
    double *x, *z, *f, *step, *trial, *v;
    double* work;
    perpi_row_terms terms; /* of the residuals of a solve */
    const bool* closed;    /* per constraint, NULL: none; contacts whose gap is to be zero */
    const double* given;   /* the same: contacts whose normal impulse is given, else NaN */
} bodies;

static void bodies_destroy(void* self)
{
    bodies* s = self;
    if (s == NULL) {
        return;
    }
    perpi_delassus_free(s->context, &s->delassus);
    perpi_body_matrix_free(&s->matrix);
    perpi_interior_bodies_destroy(s->interior);
    perpi_free(s->context, s->vector);
    perpi_free(s->context, s);
}

static perp_status bodies_create(perp_context* context, const void* settings, void** self)
{
    bodies* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    s->set = *(const bodies_settings*)settings;
    status = perpi_body_matrix_create(context, &s->matrix);
    if (status == PERP_OK) {
        status = perpi_interior_bodies_create(context, &s->interior);
    }
    if (status != PERP_OK) {
        bodies_destroy(s);
        return status;
    }
    *self = s;
    return PERP_OK;
}

static perp_status augmented_reserve(bodies* s, const perp_contact_problem* P)
{
    const size_t nr = (size_t)P->row_count, nv = (size_t)P->dof_count;
    const perp_status status = perpi_grow(
        s->context, &s->vector, &s->vector_capacity,
        15 * nr + ROWS_MAX * nr + 6 * nv + perp_contact_residual_work(P), sizeof(double));
    if (status != PERP_OK) {
        return status;
    }
    double* at = s->vector;
    double** const rows[] = {&s->w,    &s->c,          &s->uc,    &s->d,       &s->u,
                             &s->best, &s->start_best, &s->first, &s->trial_d, &s->trial_u,
                             &s->s,    &s->du,         &s->zero,  &s->terms.W, &s->terms.pushed};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i, at += nr) {
        *rows[i] = at;
    }
    memset(s->zero, 0, nr * sizeof *s->zero);
    s->D = at;
    at += ROWS_MAX * nr;
    double** const dofs[] = {&s->x, &s->z, &s->f, &s->step, &s->trial, &s->v};
    for (size_t i = 0; i < sizeof dofs / sizeof dofs[0]; ++i, at += nv) {
        *dofs[i] = at;
    }
    s->work = at;
    s->terms.known = false;
    return perpi_delassus_fill(s->context, P, &s->delassus);
}

static double norm(int32_t n, const double* x)
{
    return sqrt(perpi_dot(n, x, x));
}

/* ---- the impulses of a proximal step -------------------------------------------------------------------*/

static bool is_ellipsoid(const perp_constraint* c)
{
    return c->cone == PERP_CONE_ELLIPSOID;
}

static double compliance(const perp_contact_problem* P, int32_t row)
{
    return P->compliance != NULL ? P->compliance[row] : 0.0;
}

/* w: the diagonal of W; a contact's tangential rows have the largest of theirs, in the coordinates
 * p_t / e, e u_t of an ellipsoid, in which its friction set is a ball. */
static void augmented_set_weights(bodies* s, const perp_contact_problem* P)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        double widest = 0.0;
        for (int32_t r = 0; r < c->rows; ++r) {
            double t = 0.0;
            for (int side = 0; side < 2; ++side) {
                if (c->block[side] >= 0) {
                    const double* Y = perpi_delassus_side(&s->delassus, c, side) + SIDE * r;
                    t += perpi_dot(SIDE, Y, Y);
                }
            }
            t += compliance(P, c->row + r);
            s->w[c->row + r] = t > 0.0 ? t : 1.0;
            if (r > 0) {
                const double e = is_ellipsoid(c) ? c->e[r - 1] : 1.0;
                widest = e * e * t > widest ? e * e * t : widest;
            }
        }
        for (int32_t r = 1; r < c->rows && c->kind == PERP_CONSTRAINT_CONTACT; ++r) {
            s->w[c->row + r] = widest > 0.0 ? widest : 1.0;
        }
    }
}

/* Equality and bounded rows: each on its own. */
static void rows_answer(const bodies* s, const perp_contact_problem* P, const perp_constraint* c,
                        double lambda, const double* u, double* d, double* D)
{
    const int32_t m = c->rows;
    if (D != NULL) {
        memset(D, 0, (size_t)(m * m) * sizeof *D);
    }
    for (int32_t r = 0; r < m; ++r) {
        const int32_t k = c->row + r;
        const double soft = compliance(P, k);
        double rho = 1.0 / (lambda * s->w[k] + soft);
        d[k] = -rho * (u[k] + soft * s->c[k]);
        if (c->kind == PERP_CONSTRAINT_BOUNDED) {
            const double low = P->lower[k] - s->c[k], high = P->upper[k] - s->c[k];
            if (d[k] < low || d[k] > high) {
                d[k] = d[k] < low ? low : high;
                rho = 0.0;
            }
        }
        if (D != NULL) {
            D[r * m + r] = rho;
        }
    }
}

/* The nearest point of the cone to z = c - (u + s e_n) / omega, and its derivative; round cones. */
PERPI_INLINE void convex_answer(int32_t m, const bodies* s, const perp_constraint* c, double lambda,
                                const double* u, double* d, double* D)
{
    const int32_t n = m - 1, k = c->row;
    const double mu = c->cone == PERP_CONE_NONE ? 0.0 : c->mu;
    const double wide = m > 1 && s->w[k + 1] > s->w[k] ? s->w[k + 1] : s->w[k];
    const double rho = 1.0 / (lambda * wide);
    double z[4], e[4] = {1.0, 1.0, 1.0, 1.0}, length = 0.0;
    for (int32_t i = 0; i < n && is_ellipsoid(c); ++i) {
        e[1 + i] = c->e[i];
    }
    z[0] = s->c[k] - rho * (u[k] + s->s[k]);
    for (int32_t i = 1; i < m; ++i) {
        z[i] = s->c[k + i] / e[i] - rho * e[i] * u[k + i];
        length += z[i] * z[i];
    }
    length = sqrt(length);
    if (D != NULL) {
        for (int32_t i = 0; i < m * m; ++i) {
            D[i] = 0.0;
        }
    }
    if (length <= mu * z[0]) {
        for (int32_t i = 0; i < m; ++i) {
            d[k + i] = -rho * e[i] * e[i] * (u[k + i] + (i == 0 ? s->s[k] : 0.0));
            if (D != NULL) {
                D[i * m + i] = rho * e[i] * e[i];
            }
        }
        return;
    }
    const double a = (z[0] + mu * length) / (1.0 + mu * mu);
    if (!(a > 0.0)) {
        for (int32_t i = 0; i < m; ++i) {
            d[k + i] = -s->c[k + i];
        }
        return;
    }
    double g[4] = {1.0, 0.0, 0.0, 0.0}; /* along the cone */
    d[k] = a - s->c[k];
    for (int32_t i = 1; i < m; ++i) {
        g[i] = length > 0.0 ? mu * (z[i] / length) : 0.0;
        d[k + i] = e[i] * a * g[i] - s->c[k + i];
    }
    if (D == NULL) {
        return;
    }
    const double across = length > 0.0 ? mu * a / length : 0.0;
    for (int32_t i = 0; i < m; ++i) {
        for (int32_t j = 0; j < m; ++j) {
            double t = g[i] * g[j] / (1.0 + mu * mu);
            if (i > 0 && j > 0 && mu > 0.0) {
                t += across * ((i == j ? 1.0 : 0.0) - g[i] * g[j] / (mu * mu));
            }
            D[i * m + j] = rho * e[i] * e[j] * t;
        }
    }
}

/* y: the nearest point of F(radius) to z. G, h: its derivatives by z and radius; G NULL: none. With friction. */
PERPI_INLINE void project_tangent(int32_t n, const perp_constraint* c, double radius,
                                  const double* z, double* y, double* G, double* h)
{
    if (n == 1) {
        y[0] = perpi_project_interval(radius, z[0]);
        if (G != NULL) {
            perpi_interval_jacobian(radius, z[0], G, h);
        }
    } else if (n == 2 && c->cone != PERP_CONE_POLYGON) {
        perpi_project_disc(radius, z, y);
        if (G != NULL) {
            perpi_disc_jacobian(radius, z, G, h);
        }
    } else {
        perpi_project_friction(c, radius, z, y);
        if (G != NULL) {
            perpi_friction_project_jacobian(c, radius, z, G, h);
        }
    }
}

/* The law itself: p_n = max(0, c_n - u_n / omega_n), closed: either sign; p_t in F(mu p_n) nearest
 * to c_t - u_t / omega_t. */
PERPI_INLINE void coulomb_answer(int32_t m, const bodies* s, const perp_constraint* c, bool closed,
                                 double lambda, const double* u, double* d, double* D)
{
    const int32_t n = m - 1, k = c->row;
    const double rho_n = 1.0 / (lambda * s->w[k]);
    const double p_n = s->c[k] - rho_n * u[k];
    if (D != NULL) {
        for (int32_t i = 0; i < m * m; ++i) {
            D[i] = 0.0;
        }
    }
    for (int32_t i = 0; i < m; ++i) {
        d[k + i] = -s->c[k + i];
    }
    if (!(p_n > 0.0) && !closed) {
        return;
    }
    d[k] = -rho_n * u[k];
    if (D != NULL) {
        D[0] = rho_n;
    }
    if (n == 0 || c->cone == PERP_CONE_NONE || !(c->mu > 0.0) || !(p_n > 0.0)) {
        return;
    }
    const double rho = 1.0 / (lambda * s->w[k + 1]), radius = c->mu * p_n;
    double z[3], y[3], e[3], G[9], h[3] = {0.0};
    for (int32_t i = 0; i < n; ++i) {
        e[i] = is_ellipsoid(c) ? c->e[i] : 1.0;
        z[i] = s->c[k + 1 + i] / e[i] - rho * e[i] * u[k + 1 + i];
    }
    project_tangent(n, c, radius, z, y, D != NULL ? G : NULL, h);
    for (int32_t i = 0; i < n; ++i) {
        d[k + 1 + i] =
            y[i] == z[i] ? -rho * e[i] * e[i] * u[k + 1 + i] : e[i] * y[i] - s->c[k + 1 + i];
        if (D == NULL) {
            continue;
        }
        D[(1 + i) * m] = e[i] * h[i] * c->mu * rho_n;
        for (int32_t j = 0; j < n; ++j) {
            D[(1 + i) * m + 1 + j] = e[i] * G[i * n + j] * rho * e[j];
        }
    }
}

/* The law of friction of a contact whose normal impulse is p_n. */
static void given_answer(const bodies* s, const perp_constraint* c, double p_n, double lambda,
                         const double* u, double* d, double* D)
{
    const int32_t m = c->rows, n = m - 1, k = c->row;
    for (int32_t i = 0; D != NULL && i < m * m; ++i) {
        D[i] = 0.0;
    }
    d[k] = p_n - s->c[k];
    if (n == 0) {
        return;
    }
    const bool rubs = c->cone != PERP_CONE_NONE;
    const double rho = 1.0 / (lambda * s->w[k + 1]), radius = rubs && p_n > 0.0 ? c->mu * p_n : 0.0;
    double z[3], y[3], e[3], G[9], h[3];
    for (int32_t i = 0; i < n; ++i) {
        e[i] = is_ellipsoid(c) ? c->e[i] : 1.0;
        z[i] = s->c[k + 1 + i] / e[i] - rho * e[i] * u[k + 1 + i];
    }
    if (rubs) {
        perpi_project_friction(c, radius, z, y);
    }
    if (rubs && D != NULL) {
        perpi_friction_project_jacobian(c, radius, z, G, h);
    }
    for (int32_t i = 0; i < n; ++i) {
        d[k + 1 + i] = rubs ? e[i] * y[i] - s->c[k + 1 + i] : -s->c[k + 1 + i];
        for (int32_t j = 0; rubs && D != NULL && j < n; ++j) {
            D[(1 + i) * m + 1 + j] = e[i] * G[i * n + j] * rho * e[j];
        }
    }
}

/* One proximal step's map. */
typedef struct proximal {
    const perp_contact_problem* P;
    double lambda;
    bool convex;
} proximal;

typedef struct proximal_job {
    const bodies* s;
    const proximal* k;
    const double* u;
    double *d, *D;
} proximal_job;

/* Contact i; m: its rows. */
PERPI_INLINE void contact_answer(int32_t m, const proximal_job* job, int32_t i, double* D)
{
    const proximal* k = job->k;
    const perp_constraint* c = &k->P->constraint[i];
    if (job->s->given != NULL && !isnan(job->s->given[i])) {
        given_answer(job->s, c, job->s->given[i], k->lambda, job->u, job->d, D);
    } else if (k->convex) {
        convex_answer(m, job->s, c, k->lambda, job->u, job->d, D);
    } else {
        const bool closed = job->s->closed != NULL && job->s->closed[i];
        coulomb_answer(m, job->s, c, closed, k->lambda, job->u, job->d, D);
    }
}

static void proximal_part(int32_t begin, int32_t end, void* data)
{
    const proximal_job* job = data;
    const proximal* k = job->k;
    for (int32_t i = begin; i < end; ++i) {
        const perp_constraint* c = &k->P->constraint[i];
        double* D_i = job->D != NULL ? job->D + ROWS_MAX * (size_t)c->row : NULL;
        if (c->kind != PERP_CONSTRAINT_CONTACT) {
            rows_answer(job->s, k->P, c, k->lambda, job->u, job->d, D_i);
        } else {
            PERPI_BY_ROWS(contact_answer, c->rows, job, i, D_i);
        }
    }
}

static void proximal_impulses(const bodies* s, const proximal* k, const double* u, double* d,
                              double* D)
{
    proximal_job job = {s, k, u, d, D};
    perpi_for_parts(s->context, k->P->constraint_count, GRAIN, proximal_part, &job);
}

/* d and f at z, whose u is given. Convex: returns the function whose gradient f is,
 * |z|^2 / 2 - sum (u + s) . d + omega |d|^2 / 2; else |f|. */
static double augmented_evaluate(bodies* s, const proximal* k, const double* z, const double* u,
                                 double* d, double* f)
{
    const perp_contact_problem* P = k->P;
    proximal_impulses(s, k, u, d, NULL);
    perpi_body_add_impulses(&s->matrix, P, s->delassus.Y.at, z, -1.0, d, f);
    if (!k->convex) {
        return norm(P->dof_count, f);
    }
    double value = 0.5 * perpi_dot(P->dof_count, z, z);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const bool contact = c->kind == PERP_CONSTRAINT_CONTACT;
        const int32_t at = c->row;
        const double wide = c->rows > 1 && s->w[at + 1] > s->w[at] ? s->w[at + 1] : s->w[at];
        for (int32_t r = 0; r < c->rows; ++r) {
            const int32_t j = at + r;
            const double e = contact && r > 0 && is_ellipsoid(c) ? c->e[r - 1] : 1.0;
            const double soft = contact ? 0.0 : compliance(P, j);
            const double omega = k->lambda * (contact ? wide : s->w[j]) / (e * e) + soft;
            const double push = contact && r == 0 ? s->s[j] : soft * s->c[j];
            value -= (u[j] + push + 0.5 * omega * d[j]) * d[j];
        }
    }
    return value;
}

/* ---- Newton --------------------------------------------------------------------------------------------*/

/* step <- -f'^-1 f at s->z, s->u; false: singular. */
static bool augmented_newton_step(bodies* s, const proximal* k)
{
    const perp_contact_problem* P = k->P;
    proximal_impulses(s, k, s->u, s->d, s->D);
    if (!perpi_body_matrix_factor(&s->matrix, P, s->delassus.Y.at, s->D)) {
        return false;
    }
    for (int32_t i = 0; i < P->dof_count; ++i) {
        s->step[i] = -s->f[i];
    }
    perpi_body_matrix_solve(&s->matrix, s->step);
    for (int32_t i = 0; i < P->dof_count; ++i) {
        if (!isfinite(s->step[i])) {
            return false;
        }
    }
    return true;
}

/* The data of one solve. */
typedef struct course {
    const perp_contact_problem* P;
    perpi_monitor out;
    double now;               /* of the last point checked */
    double scale;             /* of |f| */
    int32_t rounds, interior; /* proximal steps; factorisations of the interior point method */
    /* the present run of proximal steps: */
    double lambda, least;    /* least: the least residual since the law was last changed */
    bool convex;             /* the convex law instead of the contact's */
    int32_t failed, settled; /* steps in a row; good convex steps */
    int32_t trials;          /* returns to the convex law */
    double too_small;        /* the lambda that failed last; forgotten in good steps */
    bool local;              /* the law was violated at few contacts at the start */
    bool bold;               /* lambda falls and grows by 10 */
    bool broken;
    const perpi_newton_choice* choice; /* NULL: none */
    int32_t changed;                   /* iterations at the last change by it */
    perp_status status;                /* of a change of the problem */
} course;

static void swap_arrays(double** a, double** b)
{
    double* t = *a;
    *a = *b;
    *b = t;
}

/* z + t step and its u, which is linear in t; z and u themselves may be moved. */
static void move_along(const bodies* s, const perp_contact_problem* P, double t, double* z,
                       double* u)
{
    for (int32_t i = 0; i < P->dof_count; ++i) {
        z[i] = s->z[i] + t * s->step[i];
    }
    for (int32_t i = 0; i < P->row_count; ++i) {
        u[i] = s->u[i] + t * s->du[i];
    }
}

/* z <- z + t step: a step for which the convex function falls enough, or |f|; if none does, the best
 * of those tried. False: not even a small step was any better (convex only). */
static bool augmented_line_search(bodies* s, const proximal* k, double* value)
{
    const int32_t n = k->P->dof_count;
    const double slope = k->convex ? perpi_dot(n, s->f, s->step) : 0.0;
    const double noise = k->convex ? 1e-14 * (fabs(*value) + 1e-300) : 0.0;
    double t = 1.0, best = INFINITY, best_t = 1.0;
    perpi_body_velocities(&s->matrix, k->P, s->delassus.Y.at, s->zero, s->step, s->du);
    for (int h = 0; h <= HALVINGS; ++h, t *= 0.5) {
        move_along(s, k->P, t, s->trial, s->trial_u);
        const double made = augmented_evaluate(s, k, s->trial, s->trial_u, s->trial_d, s->f);
        if (made < best) {
            best = made;
            best_t = t;
        }
        const bool good = k->convex ? made <= *value + 1e-4 * t * slope + noise
                                    : made <= (1.0 - 1e-4 * t) * *value;
        if (good || (h == HALVINGS && best_t == t)) {
            *value = made;
            swap_arrays(&s->z, &s->trial);
            swap_arrays(&s->u, &s->trial_u);
            swap_arrays(&s->d, &s->trial_d);
            return good;
        }
    }
    move_along(s, k->P, best_t, s->z, s->u);
    *value = augmented_evaluate(s, k, s->z, s->u, s->d, s->f);
    return false;
}

/* Solves one proximal step around s->c; its answer is c + d. Returns |f| / scale. */
static double proximal_step(bodies* s, course* k, const proximal* prox, double target,
                            int32_t steps)
{
    const int32_t n = k->P->dof_count;
    memset(s->z, 0, (size_t)n * sizeof *s->z);
    memcpy(s->u, s->uc, (size_t)k->P->row_count * sizeof *s->u);
    double value = augmented_evaluate(s, prox, s->z, s->u, s->d, s->f);
    double off = norm(n, s->f) / k->scale, least = off;
    /* polygons have no starting point below NEAR, and Newton's method needs more steps on them */
    const int32_t idle_max = k->now < NEAR ? IDLE_MAX : IDLE_FAR_MAX;
    int32_t idle = 0;
    for (int32_t i = 0; i < steps && off > target && !perpi_monitor_spent(&k->out); ++i) {
        ++k->out.report->iterations;
        if (!augmented_newton_step(s, prox)) {
            return INFINITY;
        }
        const bool good = augmented_line_search(s, prox, &value);
        off = norm(n, s->f) / k->scale;
        idle = off <= 0.5 * least ? 0 : idle + 1;
        least = off < least ? off : least;
        if ((prox->convex && !good) || (!prox->convex && idle > idle_max)) {
            break;
        }
    }
    return off;
}

/* v: x, replaced by L^-T x. */
static void velocities_of(const bodies* s, const perp_contact_problem* P, double* v)
{
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t d = P->dof[i];
        perpi_chol_backward(P->dof[i + 1] - d, s->delassus.L + 6 * (size_t)d, v + d);
    }
}

/* x = y + Y p, and the velocities v = L^-T x. */
static void motion_of(bodies* s, const perp_contact_problem* P, const double* p, double* v)
{
    perpi_body_add_impulses(&s->matrix, P, s->delassus.Y.at, s->delassus.y.at, 1.0, p, s->x);
    memcpy(v, s->x, (size_t)P->dof_count * sizeof *v);
    velocities_of(s, P, v);
}

/* Computes the residual of the impulses p and their velocities, which are left in x. Keeps the best
 * point; true if the solve is over. */
static bool check_point(bodies* s, course* k, const double* p)
{
    const perp_contact_problem* P = k->P;
    motion_of(s, P, p, s->v);
    k->now = perpi_contact_residual_again(P, s->v, p, s->work, &s->terms).worst;
    return perpi_monitor_check(&k->out, k->now, p);
}

/* s = the largest -u_t . d over d in F(mu): what makes the convex law the contact's. */
static void set_support(bodies* s, const perp_contact_problem* P, const double* u)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        double t = 0.0;
        if (c->kind == PERP_CONSTRAINT_CONTACT && c->cone != PERP_CONE_NONE) {
            for (int32_t r = 1; r < c->rows; ++r) {
                const double e = is_ellipsoid(c) ? c->e[r - 1] : 1.0;
                t += e * e * u[c->row + r] * u[c->row + r];
            }
            t = c->mu * sqrt(t);
        }
        s->s[c->row] = t;
    }
}

/* ---- start from the interior ---------------------------------------------------------------------------*/

typedef struct interior_check {
    bodies* s;
    course* k;
    double least,
        tried; /* residuals of the best point, and of the last one that Newton's method was tried from */
} interior_check;

static double interior_residual(void* user, const double* p, bool* stop)
{
    interior_check* l = user;
    *stop = check_point(l->s, l->k, p);
    if (l->k->now < l->least) {
        l->least = l->k->now;
        memcpy(l->s->start_best, p, (size_t)l->k->P->row_count * sizeof *p);
    }
    return l->k->now;
}

/* Moves the centre s->c to the best point of the interior point method. */
static perp_status start_from_interior(bodies* s, course* k, double regularisation)
{
    const perp_contact_problem* P = k->P;
    interior_check user = {s, k, INFINITY, INFINITY};
    const perpi_interior_task task = {.P = P,
                                      .delassus = &s->delassus,
                                      .matrix = &s->matrix,
                                      .regularisation = regularisation,
                                      .target = HAND_OVER,
                                      .limit = s->set.interior,
                                      .residual = interior_residual,
                                      .user = &user};
    int32_t made = 0;
    const perp_status status = perpi_interior_bodies_run(s->interior, &task, &made);
    k->interior += made;
    k->out.report->iterations += made;
    if (user.least < INFINITY) {
        memcpy(s->c, s->start_best, (size_t)P->row_count * sizeof *s->c);
    }
    if (status == PERP_OK && !k->out.over) {
        check_point(s, k, s->c);
    }
    return status;
}

/* ---- proximal steps -------------------------------------------------------------------------------------*/

/* From the impulses s->c, whose velocities are s->x and whose residual is k->now. */
static void begin_steps(bodies* s, course* k)
{
    perpi_body_velocities(&s->matrix, k->P, s->delassus.Y.at, k->P->b, s->x, s->uc);
    set_support(s, k->P, s->uc);
    const bool pile = k->P->constraint_count >= LOCAL_MIN;
    const double near = (pile ? LAMBDA_ROOT_PILE : LAMBDA_ROOT) * sqrt(k->now);
    k->lambda = near < s->set.regularisation ? near : s->set.regularisation;
    k->least = k->now;
    k->convex = !(k->now < NEAR);
    k->failed = k->settled = 0;
}

/* The law at once, also from a point far from it: after a change at few contacts. */
static void begin_law(course* k)
{
    const double near = LAMBDA_ROOT * sqrt(k->now);
    if (k->choice != NULL) {
        k->lambda = near < LAMBDA_CHANGED ? near : LAMBDA_CHANGED;
    }
    k->convex = false;
}

/* After a step that took so many Newton steps: weight and law of the next. lambda falls gently: one that is too
 * small costs a dozen Newton steps without result. On 34 steps of a heap of 200 boxes factors of 0.1 and 10
 * need 289 factorisations in the mean, 0.3 and 4 need 210. */
static void next_step(const bodies* s, course* k, bool good, int32_t took, double before)
{
    const bool quick = k->choice != NULL && k->P->constraint_count >= QUICK_MIN && !k->bold;
    if (good) {
        k->failed = 0;
        double easy = k->bold ? 0.1 : (k->choice != NULL || quick) && took <= 2 ? 0.2 : 0.5;
        if (quick && !k->convex && took <= STILL_STEPS && k->now > STILL * before) {
            easy = 0.1;
        }
        if (quick && k->lambda * easy < FAILED_RATIO * k->too_small) {
            easy = 0.5;
        }
        k->lambda *= took <= (k->bold ? 3 : 5) ? easy : took <= 15 ? 1.0 : 3.0;
        k->too_small *= 0.5;
    } else {
        ++k->failed;
        k->too_small = k->convex ? 0.0 : k->lambda;
        k->lambda *= k->now < NEAR && !k->bold ? 3.0 : 10.0;
    }
    const int32_t failed_max = quick && k->now < HAND_OVER ? FAILED_NEAR_MAX : FAILED_MAX;
    k->settled += k->convex && good;
    if (k->convex && good && (k->now < NEAR || k->settled > 3 + k->trials)) {
        k->convex = false; /* polygons: the residual stays large while they are replaced by discs */
        k->least = k->now;
    } else if (!k->convex && k->failed >= failed_max) {
        k->convex = true;
        k->lambda = s->set.regularisation;
        k->failed = k->settled = 0;
        ++k->trials;
    } else if (k->convex && k->failed >= 6) {
        k->broken = true;
    }
}

/* One proximal step, and what follows from how it went. */
static void proximal_round(bodies* s, course* k)
{
    const perp_contact_problem* P = k->P;
    perp_report* report = k->out.report;
    const double least = k->convex ? LAMBDA_CONVEX : LAMBDA_MIN;
    k->lambda = k->lambda < least ? least : k->lambda > LAMBDA_MAX ? LAMBDA_MAX : k->lambda;
    k->scale = norm(P->dof_count, s->delassus.y.at) + norm(P->dof_count, s->x);
    k->scale = k->scale > 0.0 ? k->scale : 1.0;
    const proximal prox = {P, k->lambda, k->convex};
    const double before = k->now;
    const int32_t from = report->iterations;
    double target = INNER_RATIO * (before < 1.0 ? before : 1.0);
    target = target > 1e-16 ? target : 1e-16;
    const double off = proximal_step(s, k, &prox, target, s->set.steps);
    const int32_t took = report->iterations - from;
    ++k->rounds;
    report->iterations += took == 0; /* count a step without effect, so that the loop ends */
    for (int32_t i = 0; i < P->row_count; ++i) {
        s->trial_d[i] = s->c[i] + (isfinite(off) ? s->d[i] : 0.0);
    }
    const bool slow = P->constraint_count >= LOCAL_MIN && !(k->now < QUICKLY * before);
    k->out.over = check_point(s, k, s->trial_d) || (k->out.reached && slow && k->choice == NULL);
    if (k->out.over) {
        return;
    }
    const bool good = isfinite(k->now) && (off <= 10.0 * target || k->now < 0.5 * before) &&
                      (k->convex || (s->closed != NULL && k->now < NEAR) ||
                       (k->now < GROWTH_MAX * before && k->now < DRIFT_MAX * k->least));
    if (good) {
        memcpy(s->c, s->trial_d, (size_t)P->row_count * sizeof *s->c);
        set_support(s, P, s->u);
        perpi_body_velocities(&s->matrix, P, s->delassus.Y.at, P->b, s->x, s->uc);
        k->least = k->now < k->least ? k->now : k->least;
    } else {
        k->now = before;
    }
    next_step(s, k, good, took, before);
}

/* ---- choices ---------------------------------------------------------------------------------------------*/

/* Prepares a solve from p. */
static perp_status open_solve(bodies* s, const perp_contact_problem* P, bool warm, const double* p)
{
    perp_status status = augmented_reserve(s, P);
    if (status == PERP_OK) {
        status = perpi_body_matrix_analyse(&s->matrix, P, &s->delassus);
    }
    if (status != PERP_OK) {
        return status;
    }
    const size_t rows = (size_t)P->row_count * sizeof *p;
    augmented_set_weights(s, P);
    memcpy(s->c, p, rows);
    if (!warm) {
        memset(s->c, 0, rows);
    }
    const perp_friction_problem laws = {.constraint_count = P->constraint_count,
                                        .row_count = P->row_count,
                                        .lower = P->lower,
                                        .upper = P->upper,
                                        .constraint = P->constraint};
    perpi_friction_project_guess(&laws, s->c);
    memcpy(s->first, s->c, rows);
    return PERP_OK;
}

/* The solve goes on from p with a changed problem: most of the impulses stay right, so that Newton's method on the
 * law mostly converges. */
static void go_on_changed(bodies* s, course* k, const double* p)
{
    k->status = open_solve(s, k->P, true, p);
    if (k->status != PERP_OK) {
        k->out.over = true;
        return;
    }
    perp_report* report = k->out.report;
    k->out.best = s->best;
    k->out.count = (size_t)k->P->row_count;
    k->out.least = INFINITY;
    k->out.over = k->out.reached = false;
    k->changed = report->iterations;
    report->outcome = PERP_OUTCOME_MAX_ITER;
    memcpy(s->best, s->c, k->out.count * sizeof *s->c);
    check_point(s, k, s->c);
    begin_steps(s, k);
    begin_law(k);
}

/* Chooses again at the impulses s->c, whose residual is k->now. */
static void revise_choices(bodies* s, course* k)
{
    perp_report* report = k->out.report;
    if (k->choice != NULL && k->out.over && k->out.reached &&
        report->outcome == PERP_OUTCOME_MAX_ITER) { /* within options.enough */
        report->outcome = PERP_OUTCOME_SOLVED;
        k->now = k->out.least;
    }
    const bool solved = k->out.over && report->outcome == PERP_OUTCOME_SOLVED;
    if (k->choice == NULL || (k->out.over && !solved) ||
        !(k->now < (*k->choice->pairs ? 1.0 : CHOICE_NEAR))) {
        return;
    }
    if (solved) {
        memcpy(s->c, s->best, (size_t)k->P->row_count * sizeof *s->c);
    }
    motion_of(s, k->P, s->c, s->v);
    bool answer = solved;
    const double* p = k->choice->revise(k->choice->user, k->now, s->v, s->c, &answer);
    if (p == NULL) {
        if (answer && !k->out.over) {
            memcpy(s->best, s->c, (size_t)k->P->row_count * sizeof *s->c);
            report->outcome = PERP_OUTCOME_SOLVED;
            k->out.over = true;
        }
        return;
    }
    go_on_changed(s, k, p);
}

/* Members that act together do not converge: goes on with one of them, or ends. */
static void refuse_pairs(bodies* s, course* k)
{
    memcpy(s->c, s->best, (size_t)k->P->row_count * sizeof *s->c);
    motion_of(s, k->P, s->c, s->v);
    const double* p = k->choice->refuse(k->choice->user, s->v, s->c);
    if (p == NULL) {
        k->out.over = true;
        return;
    }
    go_on_changed(s, k, p);
}

/* ---- attempts -------------------------------------------------------------------------------------------*/

/* Proximal steps follow a flow of the impulses, which can circle around a solution. Another ratio
 * of the weights of normal and tangential rows, or longer steps (a smaller lambda), change the
 * flow; so does another starting point, by another regularisation of the interior point method. */
static const struct {
    double regularisation; /* 0: goes on from the best point */
    double normal;         /* factor on the weights of normal rows */
    bool bold;
    int32_t budget; /* factorisations */
} attempts[] = {{0.0, 1.0, true, 200},
                {0.0, 10.0, false, 150},
                {0.0, 0.1, false, 150},
                {1e-3, 1.0, false, 400},
                {1e-6, 1.0, true, 300}};

static void scale_normal_weights(bodies* s, const perp_contact_problem* P, double factor)
{
    for (int32_t i = 0; i < P->constraint_count && factor != 1.0; ++i) {
        const perp_constraint* c = &P->constraint[i];
        s->w[c->row] *= c->kind == PERP_CONSTRAINT_CONTACT ? factor : 1.0;
    }
}

static void return_to_best(bodies* s, course* k)
{
    memcpy(s->c, s->best, (size_t)k->P->row_count * sizeof *s->c);
    check_point(s, k, s->c);
}

/* budget: Newton steps; falling: counted from where the residual last fell to FALLING of what it
 * was, or choices changed. */
static void run_steps(bodies* s, course* k, bool law, bool falling, int32_t budget)
{
    const perp_report* report = k->out.report;
    int32_t until = report->iterations + budget, changed = k->changed;
    double mark = k->now;
    k->broken = false;
    begin_steps(s, k);
    if (law) {
        begin_law(k);
    }
    revise_choices(s, k);
    while (!k->out.over && !k->broken && report->iterations < until) {
        proximal_round(s, k);
        revise_choices(s, k);
        if (falling && (k->now < FALLING * mark || k->changed > changed)) {
            mark = k->now;
            changed = k->changed;
            until = report->iterations + budget;
        }
        if (k->choice != NULL && !k->out.over && *k->choice->pairs &&
            (k->convex || report->iterations > k->changed + PAIR_BUDGET)) {
            refuse_pairs(s, k);
        }
        if (k->choice != NULL && report->iterations - k->interior > CHOICE_BUDGET &&
            (!(k->now < HAND_OVER) || report->iterations < k->changed + CHOICE_STILL)) {
            k->out.over = true; /* choices that contradict each other */
        }
    }
}

/* Whether the law is violated at few contacts: after a change of a few rows, or where a heap rests
 * but for a few bodies. Then Newton's method mostly finds the answer from there. s->c with the
 * velocities s->uc of its rows. */
static bool differs_locally(bodies* s, const perp_contact_problem* P)
{
    const proximal prox = {P, 1.0, false};
    double size = 0.0;
    int32_t off = 0;
    proximal_impulses(s, &prox, s->uc, s->d, NULL);
    for (int32_t i = 0; i < P->row_count; ++i) {
        const double t = s->w[i] * fabs(s->c[i]), u = fabs(s->uc[i]);
        size = t > size ? t : size;
        size = u > size ? u : size;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        bool good = true;
        for (int32_t r = c->row; r < c->row + c->rows; ++r) {
            good = good && s->w[r] * fabs(s->d[r]) <= HAND_OVER * size;
        }
        off += !good;
    }
    return off <= LOCAL_LEAST + P->constraint_count / LOCAL_PART;
}

/* Whether few of the contacts act at the start, as in sand that falls: then the systems of Newton's method are
 * far sparser than those of the interior point method, in which every contact within the margin takes part. */
static bool acts_loosely(const bodies* s, const perp_contact_problem* P)
{
    int32_t pairs = 0, acting = 0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const bool pair = c->block[0] >= 0 && c->block[1] >= 0;
        const bool open =
            c->kind == PERP_CONSTRAINT_CONTACT && !(s->c[c->row] > 0.0) && s->uc[c->row] > 0.0;
        pairs += pair;
        acting += pair && !open;
    }
    return pairs >= LOOSE_MIN && acting <= LOOSE * pairs;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Newton steps; of an answer that was found otherwise, the choices. */
static void run_from_here(bodies* s, course* k, bool falling, int32_t budget)
{
    if (!k->out.over || k->choice != NULL) {
        run_steps(s, k, false, falling, budget);
    }
}

/* Goes on along the curve until the residual is `target`, for at most `most` factorisations; Newton steps from its best
 * point. False: it is at its end, or stays where it is. */
static bool run_curve(bodies* s, course* k, perpi_interior_task* task, interior_check* seen,
                      double target, int32_t most)
{
    int32_t made = 0;
    const int32_t left = task->limit;
    task->target = target;
    task->limit = left < most ? left : most;
    perpi_interior_track(s->interior, task, &made);
    k->interior += made;
    k->out.report->iterations += made;
    task->limit = left - made;
    if (!k->out.over && seen->least < INFINITY) {
        memcpy(s->c, s->start_best, (size_t)k->P->row_count * sizeof *s->c);
        check_point(s, k, s->c);
    }
    if ((k->now < CURVE_CLOSE && k->now < TRIED * seen->tried) || !s->interior->curve.on) {
        seen->tried = k->now;
        run_from_here(s, k, true, CURVE_MORE);
    }
    return made > 0 && s->interior->curve.on && task->limit > 0;
}

/* Follows the central path as a curve to the answer; a few Newton steps from there make it accurate. Where choices are
 * made Newton's method, which makes them, goes first from where it mostly converges. */
static perp_status follow_curve(bodies* s, course* k, perpi_interior_folds folds, double warmth,
                                int32_t limit)
{
    const perp_contact_problem* P = k->P;
    const perp_solve_options* asked = k->out.options;
    const double enough = larger(asked->tolerance, asked->enough), soft = CURVE_PART * enough;
    interior_check seen = {s, k, INFINITY, INFINITY};
    perpi_interior_task task = {.P = P,
                                .delassus = &s->delassus,
                                .matrix = &s->matrix,
                                .regularisation = soft < CURVE_SOFT_MIN   ? CURVE_SOFT_MIN
                                                  : soft > CURVE_SOFT_MAX ? CURVE_SOFT_MAX
                                                                          : soft,
                                .folds = folds,
                                .from = s->first,
                                .warmth = warmth * (k->local ? WARMTH_LOCAL : WARMTH),
                                .limit = limit,
                                .residual = interior_residual,
                                .user = &seen};
    const perp_status status = perpi_interior_track_begin(s->interior, &task);
    const int32_t changed = k->changed;
    if (status == PERP_OK && k->choice != NULL && enough < HAND_OVER) {
        run_curve(s, k, &task, &seen, HAND_OVER, limit);
    }
    bool on = status == PERP_OK && s->interior->curve.on && task.limit > 0;
    while (on && !k->out.over && k->changed == changed) {
        on = run_curve(s, k, &task, &seen, enough,
                       folds == PERPI_FOLDS_LEAVE ? DESCENT_PIECE : CURVE_PIECE);
    }
    return status;
}

/* The central path, and Newton's method from its best points. Which folds it meets depends on where it begins: problems not
 * solved from one size mostly are from another. Without a guess the interior point method goes first, whose
 * impulses are more even (a pyramid at rest then needs fewer solves); few bodies with many contacts, which mostly have
 * no solution and impulses that grow along the path, have nothing else. */
static perp_status start_inside(bodies* s, course* k)
{
    static const struct {
        perpi_interior_folds folds;
        double warmth; /* relative to that of the first */
        int32_t limit;
    } curves[] = {{PERPI_FOLDS_LEAVE, 1.0, DESCENT_LIMIT},
                  {PERPI_FOLDS_LEAVE, 3.0, DESCENT_LIMIT},
                  {PERPI_FOLDS_LEAVE, 0.3, DESCENT_LIMIT},
                  {PERPI_FOLDS_FOLLOW, 1.0, CURVE_LIMIT},
                  {PERPI_FOLDS_FOLLOW_TIGHT, 1.0, CURVE_TIGHT_LIMIT}};
    const bool redundant = k->P->constraint_count > MANY_A_VELOCITY * k->P->dof_count;
    perp_status status = PERP_OK;
    if (redundant || !(norm(k->P->row_count, s->first) > 0.0)) {
        status = start_from_interior(s, k, SOFT);
        if (status == PERP_OK && k->now < START) {
            run_from_here(s, k, true, k->now < HAND_OVER ? START_NEAR : START_BUDGET);
        }
    }
    if (redundant) {
        return status;
    }
    for (size_t i = 0; status == PERP_OK && !k->out.over && i < sizeof curves / sizeof curves[0];
         ++i) {
        status = follow_curve(s, k, curves[i].folds, curves[i].warmth, curves[i].limit);
    }
    return status;
}

/* What is done first: where the guess is nearly right, or wrong at few contacts, Newton's method from there. */
static perp_status run_first(bodies* s, course* k)
{
    const perp_contact_problem* P = k->P;
    if (!k->out.over && k->now > HAND_OVER) {
        perpi_body_velocities(&s->matrix, P, s->delassus.Y.at, P->b, s->x, s->uc);
        if (acts_loosely(s, P)) {
            run_steps(s, k, false, false, LOOSE_BUDGET);
        } else if (P->constraint_count >= LOCAL_MIN && differs_locally(s, P)) {
            k->local = true;
            run_steps(s, k, true, true, LOCAL_BUDGET);
        }
    } else {
        run_from_here(s, k, true, START_NEAR);
    }
    return k->out.over ? PERP_OK : start_inside(s, k);
}

/* From s->c, whose residual is k->now: attempts one after another, then from the best point on. */
static perp_status run_attempts(bodies* s, course* k)
{
    const perp_contact_problem* P = k->P;
    const int32_t count = (int32_t)(sizeof attempts / sizeof attempts[0]);
    if (s->set.interior > 0 && P->constraint_count >= INTERIOR_MIN) {
        perp_status status = run_first(s, k);
        for (int32_t i = 0; status == PERP_OK && i < count && !k->out.over; ++i) {
            if (attempts[i].regularisation == 0.0) {
                return_to_best(s, k);
            } else {
                status = start_from_interior(s, k, attempts[i].regularisation);
            }
            k->bold = attempts[i].bold;
            scale_normal_weights(s, P, attempts[i].normal);
            if (status == PERP_OK) {
                run_from_here(s, k, false, attempts[i].budget);
            }
            scale_normal_weights(s, P, 1.0 / attempts[i].normal);
        }
        if (status != PERP_OK) {
            return status;
        }
        if (!k->out.over) {
            return_to_best(s, k);
        }
    }
    if (!k->out.over) {
        run_steps(s, k, false, false, INT32_MAX / 2);
    }
    return PERP_OK;
}

static perp_status close_solve(bodies* s, const course* k, double* v, double* p)
{
    perp_report* report = k->out.report;
    if (!k->out.over) {
        report->outcome = PERP_OUTCOME_BREAKDOWN;
    }
    memcpy(p, s->best, (size_t)k->P->row_count * sizeof *p);
    motion_of(s, k->P, p, v);
    snprintf(report->detail, sizeof report->detail,
             "%d factorisations, %d of the interior point method; %d proximal steps",
             report->iterations, k->interior, k->rounds);
    return s->matrix.status;
}

/* Whether a constraint has too many rows for the method. */
static bool has_long_constraint(const perp_contact_problem* P, perp_report* report)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (P->constraint[i].rows > ROWS_MAX) {
            report->outcome = PERP_OUTCOME_BREAKDOWN;
            snprintf(report->detail, sizeof report->detail, "constraint %d has more than %d rows",
                     (int)i, (int)ROWS_MAX);
            return true;
        }
    }
    return false;
}

static perp_status bodies_solve(void* self, const perp_contact_problem* P,
                                const perp_solve_options* options, bool warm, double* v, double* p,
                                perp_report* report)
{
    bodies* s = self;
    if (has_long_constraint(P, report)) {
        return PERP_OK;
    }
    perp_status status = open_solve(s, P, warm, p);
    if (status != PERP_OK) {
        return status;
    }
    course k = {
        .P = P,
        .out = perpi_monitor_start(options, report, MOST, s->c, s->best, (size_t)P->row_count)};
    k.out.more = options->enough > COARSE ? 0 : MORE;
    check_point(s, &k, s->c);
    status = run_attempts(s, &k);
    return status == PERP_OK ? close_solve(s, &k, v, p) : status;
}

perp_status perpi_newton_closed(void* self, const perp_contact_problem* P, const bool* closed,
                                const perp_solve_options* options, double* v, double* p,
                                perp_report* report)
{
    bodies* s = self;
    if (has_long_constraint(P, report)) {
        return PERP_OK;
    }
    const perp_status status = open_solve(s, P, true, p);
    if (status != PERP_OK) {
        return status;
    }
    course k = {.P = P,
                .out =
                    perpi_monitor_start(options, report, 200, s->c, s->best, (size_t)P->row_count)};
    k.out.more = MORE;
    check_point(s, &k, s->c);
    s->closed = closed;
    begin_steps(s, &k);
    k.convex = false;
    while (!k.out.over && !k.convex) {
        proximal_round(s, &k);
    }
    s->closed = NULL;
    return close_solve(s, &k, v, p);
}

perp_status perpi_newton_choosing(void* self, const perp_contact_problem* P,
                                  const perpi_newton_choice* choice,
                                  const perp_solve_options* options, bool warm, double* v,
                                  double* p, perp_report* report)
{
    bodies* s = self;
    if (has_long_constraint(P, report)) {
        return PERP_OK;
    }
    perp_status status = open_solve(s, P, warm, p);
    if (status != PERP_OK) {
        return status;
    }
    course k = {.P = P,
                .out = perpi_monitor_start(options, report, CHOICE_MOST, s->c, s->best,
                                           (size_t)P->row_count),
                .choice = choice};
    k.out.more = MORE;
    s->closed = choice->closed;
    s->given = choice->given;
    check_point(s, &k, s->c);
    run_steps(s, &k, true, false, 0); /* choices at the guess */
    status = run_attempts(s, &k);
    s->closed = NULL;
    s->given = NULL;
    status = status == PERP_OK ? k.status : status;
    return status == PERP_OK ? close_solve(s, &k, v, p) : status;
}

const perp_method perpi_method_newton_bodies = {
    .name = "newton-bodies",
    .summary = "method of multipliers, semismooth Newton in the bodies' velocities; for piles; "
               "iterations: Newton steps",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_ELLIPSOID,
    .settings_size = sizeof(bodies_settings),
    .settings = bodies_setting,
    .settings_count = sizeof bodies_setting / sizeof bodies_setting[0],
    .settings_default = bodies_settings_default,
    .create = bodies_create,
    .destroy = bodies_destroy,
    .contact = bodies_solve,
};
