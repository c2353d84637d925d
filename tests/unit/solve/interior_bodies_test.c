/* tests/unit/solve/interior_bodies_test.c - the interior point method in the space of the bodies'
 * velocities, and newton-bodies from its start, on columns of particles that are solved by hand.
 *
 * A column: COUNT particles of mass 1 on top of each other, each pulled down by 1 and sideways by `pull`. The
 * contact below particle i carries the weight COUNT - i and the friction that the particles above it
 * need. */
#include <math.h>
#include <stdlib.h>

#include "perp/solve.h"
#include "conform/stewart_trinkle.h"
#include "perp_test.h"
#include "solve/interior/interior_bodies.h"

enum { COUNT = 12, COPIES = 2, DOFS = 4 * COUNT + 2, CONTACTS = COUNT * COPIES };

typedef struct column {
    int32_t dof[COUNT + 3];
    double M[16 * COUNT + 2], k[DOFS], J[2 * 16 * CONTACTS + 2];
    double b[4 * CONTACTS + 2], lower[4 * CONTACTS + 2], upper[4 * CONTACTS + 2];
    double compliance[4 * CONTACTS + 2];
    perp_constraint constraint[CONTACTS + 2];
    perp_contact_problem P;
} column;

typedef struct recipe {
    int32_t rows; /* of a contact: its particles have so many velocities */
    perp_cone cone;
    double mu_ground, mu, e;
    double pull[2];
    bool joints; /* two more blocks, held by an equality and by a bounded row */
} recipe;

static void add_contact(column* c, const recipe* r, int32_t i)
{
    const int32_t n = r->rows, at = c->P.constraint_count++, row = c->P.row_count;
    const size_t jac = 2 * 16 * (size_t)at;
    c->constraint[at] = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT,
                                          .block = {i - 1, i},
                                          .row = row,
                                          .rows = n,
                                          .jac = jac,
                                          .cone = r->cone,
                                          .mu = i == 0 ? r->mu_ground : r->mu,
                                          .e = {r->e, r->e, r->e}};
    double* J = c->J + jac;
    for (int32_t side = i == 0 ? 1 : 0; side < 2; ++side) {
        for (int32_t k = 0; k < n; ++k, J += n) {
            J[k] = side == 0 ? -1.0 : 1.0;
        }
    }
    c->P.row_count += n;
}

/* m = 2, k = 4, law on v + 1 + p / 2: an equality gives p = -3, v = 1/2; -2 <= p <= 2 gives p = -2, v = 1. */
static void add_joint(column* c, perp_constraint_kind kind)
{
    perp_contact_problem* P = &c->P;
    const int32_t block = P->block_count++, row = P->row_count++, at = P->constraint_count++;
    c->dof[block + 1] = c->dof[block] + 1;
    c->k[P->dof_count++] = 4.0;
    c->constraint[at] = (perp_constraint){
        .kind = kind, .block = {block, -1}, .row = row, .rows = 1, .jac = 2 * 16 * CONTACTS};
    c->J[2 * 16 * CONTACTS] = 1.0;
    c->b[row] = 1.0;
    c->lower[row] = -2.0;
    c->upper[row] = 2.0;
    c->compliance[row] = 0.5;
}

static column* make(const recipe* r)
{
    column* c = calloc(1, sizeof *c);
    if (c == NULL) {
        abort();
    }
    double* M = c->M;
    const int32_t n = r->rows;
    for (int32_t i = 0; i < COUNT; ++i) {
        c->dof[i + 1] = c->dof[i] + n;
        for (int32_t k = 0; k < n; ++k, M += n) {
            M[k] = 1.0;
            c->k[c->dof[i] + k] = k == 0 ? -1.0 : k < 3 ? r->pull[k - 1] : 0.0;
        }
    }
    c->P.block_count = COUNT;
    c->P.dof_count = n * COUNT;
    for (int32_t i = 0; i < CONTACTS; ++i) {
        add_contact(c, r, i / COPIES);
    }
    if (r->joints) {
        M[0] = M[1] = 2.0;
        add_joint(c, PERP_CONSTRAINT_EQUALITY);
        add_joint(c, PERP_CONSTRAINT_BOUNDED);
    }
    c->P.dof = c->dof;
    c->P.M = c->M;
    c->P.k = c->k;
    c->P.J = c->J;
    c->P.b = c->b;
    c->P.lower = c->lower;
    c->P.upper = c->upper;
    c->P.compliance = c->compliance;
    c->P.constraint = c->constraint;
    return c;
}

/* The cases: `slip` is the velocity along the pull that all particles have. */
static const struct {
    const char* name;
    recipe make;
    double slip;
} cases[] = {
    {"sticks", {3, PERP_CONE_QUADRATIC, 0.25, 0.5, 1.0, {0.12, 0.16}, false}, 0.0},
    {"slides at the ground", {3, PERP_CONE_QUADRATIC, 0.25, 0.5, 1.0, {1.2, 1.6}, false}, 1.75},
    {"slides, with joints", {3, PERP_CONE_QUADRATIC, 0.25, 0.5, 1.0, {1.2, 1.6}, true}, 1.75},
    {"ellipsoid", {4, PERP_CONE_ELLIPSOID, 0.5, 1.0, 0.5, {1.2, 1.6}, false}, 1.75},
    {"planar", {2, PERP_CONE_QUADRATIC, 0.25, 0.5, 1.0, {2.0, 0.0}, false}, 1.75},
    {"smooth", {1, PERP_CONE_NONE, 0.0, 0.0, 1.0, {0.0, 0.0}, false}, 0.0},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void check_velocities(const column* c, const recipe* r, double slip, const double* v,
                             double tolerance)
{
    const double length = hypot(r->pull[0], r->pull[1]);
    for (int32_t i = 0; i < COUNT; ++i) {
        const double* v_i = v + c->dof[i];
        CHECK_NEAR(v_i[0], 0.0, tolerance);
        for (int32_t k = 1; k < r->rows; ++k) {
            CHECK_NEAR(v_i[k], k < 3 && length > 0.0 ? slip * r->pull[k - 1] / length : 0.0,
                       tolerance);
        }
    }
    if (r->joints) {
        CHECK_NEAR(v[c->dof[COUNT]], 0.5, tolerance);
        CHECK_NEAR(v[c->dof[COUNT + 1]], 1.0, tolerance);
    }
}

/* v = M^-1 (k + J' p): the particles have unit mass, the joints' blocks mass 2. */
static void motion_of(const column* c, const double* p, double* v)
{
    const perp_contact_problem* P = &c->P;
    for (int32_t i = 0; i < P->dof_count; ++i) {
        v[i] = P->k[i];
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* a = &P->constraint[i];
        const double* J = P->J + a->jac;
        for (int side = 0; side < 2; ++side) {
            if (a->block[side] < 0) {
                continue;
            }
            const int32_t d = P->dof[a->block[side]], n = P->dof[a->block[side] + 1] - d;
            for (int32_t r = 0; r < a->rows; ++r, J += n) {
                for (int32_t k = 0; k < n; ++k) {
                    v[d + k] += J[k] * p[a->row + r];
                }
            }
        }
    }
    for (int32_t i = c->dof[COUNT]; i < P->dof_count; ++i) {
        v[i] *= 0.5;
    }
}

typedef struct watch {
    const column* c;
    double least;
    double v[DOFS], trial[DOFS];
    double* work;
} watch;

static double residual_of(void* user, const double* p, bool* stop)
{
    watch* w = user;
    motion_of(w->c, p, w->trial);
    const double now = perp_contact_check_residual(&w->c->P, w->trial, p, w->work).worst;
    if (now < w->least) {
        w->least = now;
        memcpy(w->v, w->trial, sizeof w->v);
    }
    *stop = false;
    return now;
}

/* The method with what it works on. */
typedef struct bench {
    perp_context* context;
    perpi_interior_bodies* interior;
    perpi_body_matrix matrix;
    perpi_delassus delassus;
} bench;

static void open_bench(bench* m)
{
    *m = (bench){0};
    REQUIRE_OK(perp_context_create(NULL, &m->context));
    REQUIRE_OK(perpi_interior_bodies_create(m->context, &m->interior));
    REQUIRE_OK(perpi_body_matrix_create(m->context, &m->matrix));
}

static void close_bench(bench* m)
{
    perpi_delassus_free(m->context, &m->delassus);
    perpi_body_matrix_free(&m->matrix);
    perpi_interior_bodies_destroy(m->interior);
    perp_context_destroy(m->context);
}

static perpi_interior_task task_of(bench* m, const perp_contact_problem* P)
{
    CHECK_OK(perpi_delassus_fill(m->context, P, &m->delassus));
    CHECK_OK(perpi_body_matrix_analyse(&m->matrix, P, &m->delassus));
    return (perpi_interior_task){.P = P,
                                 .delassus = &m->delassus,
                                 .matrix = &m->matrix,
                                 .regularisation = 1e-8,
                                 .folds = PERPI_FOLDS_FOLLOW,
                                 .warmth = 1.0,
                                 .target = 1e-6,
                                 .limit = 40};
}

/* Largest relative error of the products of a point of the curve: p_n w = tau, p z = tau in the algebra of the
 * cones, and those of rows with their bounds. */
static double product_error(const perpi_interior_bodies* s)
{
    double error = 0.0;
    const double tau = s->curve.tau;
    for (int32_t i = 0; i < s->P->constraint_count; ++i) {
        const perp_constraint* c = &s->P->constraint[i];
        const double *p = s->p + c->row, *z = s->z + c->row;
        if (c->kind == PERP_CONSTRAINT_CONTACT) {
            error = fmax(error, fabs(p[0] * s->w[i] / tau - 1.0));
        }
        if (s->law_of[i] == LAW_CONE) {
            const double size = p[0] * z[0];
            error = fmax(error, fabs(perpi_interior_dot(c->rows, p, z) - tau) / size);
            for (int r = 1; r < c->rows; ++r) {
                error = fmax(error, fabs(p[0] * z[r] + z[0] * p[r]) / size);
            }
        }
        for (int32_t r = c->row; s->law_of[i] == LAW_BOUNDED && r < c->row + c->rows; ++r) {
            const double low = s->p[r] - perpi_interior_lower(s, r);
            const double up = perpi_interior_upper(s, r) - s->p[r];
            error = s->low[r] > 0.0 ? fmax(error, fabs(s->low[r] * low / tau - 1.0)) : error;
            error = s->up[r] > 0.0 ? fmax(error, fabs(s->up[r] * up / tau - 1.0)) : error;
        }
    }
    return error;
}

TEST(the_interior_point_method_reaches_columns_solved_by_hand)
{
    bench m;
    open_bench(&m);
    static const char* const how[] = {"", ", curve", ", descent"};
    for (int run = 0; run < 3 * CASES; ++run) {
        const int i = run / 3, curve = run % 3;
        column* c = make(&cases[i].make);
        watch w = {.c = c, .least = INFINITY};
        w.work = malloc(perp_contact_residual_work(&c->P) * sizeof *w.work);
        REQUIRE(w.work != NULL);
        perpi_interior_task task = task_of(&m, &c->P);
        task.residual = residual_of;
        task.user = &w;
        int32_t made = 0;
        if (curve > 0) {
            task.folds = curve == 2 ? PERPI_FOLDS_LEAVE : PERPI_FOLDS_FOLLOW;
            CHECK_OK(perpi_interior_track_begin(m.interior, &task));
            CHECK(curve != 2 || product_error(m.interior) <= 1e-12);
            perpi_interior_track(m.interior, &task, &made);
            /* a row beside its bound is the bound and tau / a_low, rounded */
            CHECK_AT_MOST(product_error(m.interior), 1e-5);
        } else {
            CHECK_OK(perpi_interior_bodies_run(m.interior, &task, &made));
        }
        if (!(w.least <= 1e-6) || made > 35) {
            printf("  %s%s: %g after %d factorisations\n", cases[i].name, how[curve], w.least,
                   (int)made);
        }
        CHECK_AT_MOST(w.least, 1e-6);
        CHECK(made > 0 && made <= (curve > 0 ? 35 : 25));
        check_velocities(c, &cases[i].make, cases[i].slip, w.v, 1e-4);
        free(w.work);
        free(c);
    }
    close_bench(&m);
}

/* ---- blocks of contacts ---------------------------------------------------------------------------------*/

/* p and z inside their cones of n rows, of all sizes and depths. */
static void random_point(uint64_t* random, int32_t n, perpi_interior_bodies* s)
{
    for (int32_t i = 0; i < CONTACTS; ++i) {
        double* const each[] = {s->p + n * i, s->z + n * i};
        for (int k = 0; k < 2; ++k) {
            const double size = pow(10.0, test_uniform(random, -6, 6));
            double square = 0.0;
            for (int32_t r = 1; r < n; ++r) {
                each[k][r] =
                    test_uniform(random, 0, 1) < 0.1 ? 0.0 : size * test_uniform(random, -1, 1);
                square += each[k][r] * each[k][r];
            }
            each[k][0] = sqrt(square) + size * pow(10.0, test_uniform(random, -8, 1));
        }
        s->w[i] = pow(10.0, test_uniform(random, -6, 6));
        s->polar[i] = false;
    }
}

typedef struct block {
    double D[9], R[9], k[2], S[4];
    double eta, inverse, root, w[3], lambda[3], unit[3];
} block;

static block block_of(const perpi_interior_bodies* s, int32_t n, int32_t i)
{
    const perpi_soc_scaling* c = &s->cone[i];
    const size_t row = (size_t)n * (size_t)i, m = (size_t)n;
    block b = {.eta = c->eta, .inverse = c->inverse, .root = c->root};
    memcpy(b.k, s->k + 3 * (size_t)i, (m - 1) * sizeof *b.k);
    memcpy(b.S, s->S + 9 * (size_t)i, (m - 1) * (m - 1) * sizeof *b.S);
    memcpy(b.D, s->D + PERPI_BODY_ROWS_MAX * row, m * m * sizeof *b.D);
    memcpy(b.R, s->R + PERPI_BODY_ROWS_MAX * row, m * m * sizeof *b.R);
    memcpy(b.w, c->w, m * sizeof *b.w);
    memcpy(b.lambda, c->lambda, m * sizeof *b.lambda);
    memcpy(b.unit, c->unit, m * sizeof *b.unit);
    return b;
}

/* Where fewer than four contacts have friction they are taken one by one. */
static void check_alone(perpi_interior_bodies* s, int32_t n, const block* together)
{
    enum { APART = CONTACTS / (PERPI_INTERIOR_LANES - 1) };
    for (int32_t first = 0; first < APART; ++first) {
        for (int32_t i = 0; i < CONTACTS; ++i) {
            s->law_of[i] = i % APART == first ? LAW_CONE : LAW_NORMAL;
        }
        REQUIRE(perpi_interior_blocks(s));
        for (int32_t i = first; i < CONTACTS; i += APART) {
            const block alone = block_of(s, n, i);
            CHECK(memcmp(&alone, &together[i], sizeof alone) == 0);
        }
    }
    for (int32_t i = 0; i < CONTACTS; ++i) {
        s->law_of[i] = LAW_CONE;
    }
}

TEST(four_contacts_at_once_have_the_bits_of_one_after_the_other)
{
    for (int32_t n = 2; n <= 3; ++n) {
        bench m;
        open_bench(&m);
        column* c = make(&cases[n == 2 ? 4 : 0].make);
        const perpi_interior_task task = task_of(&m, &c->P);
        perpi_interior_bodies* s = m.interior;
        REQUIRE_OK(perpi_interior_track_begin(s, &task));
        uint64_t random = 1;
        for (int trial = 0; trial < 200; ++trial) {
            block together[CONTACTS];
            random_point(&random, n, s);
            s->coupling = trial % 3 == 0 ? 0.5 : 1.0;
            s->regularisation = pow(10.0, test_uniform(&random, -12, 0));
            REQUIRE(perpi_interior_blocks(s));
            for (int32_t i = 0; i < CONTACTS; ++i) {
                together[i] = block_of(s, n, i);
            }
            check_alone(s, n, together);
            double* z = &s->z[n * (trial % CONTACTS)];
            const double normal = *z;
            *z = trial % 2 == 0 ? NAN : 0.0; /* not inside */
            CHECK(!perpi_interior_blocks(s));
            *z = normal;
        }
        free(c);
        close_bench(&m);
    }
}

/* ---- folds of the central path --------------------------------------------------------------------------*/

enum { BODIES = 8, TOUCHES = 32 };

/* Bodies of unit mass and inertia that touch each other and the ground in random places: v = 0 obeys all gaps, so
 * there is a solution (Stewart and Trinkle 1996). */
typedef struct heap {
    int32_t dof[BODIES + 1];
    double M[36 * BODIES], k[6 * BODIES], J[36 * TOUCHES], b[3 * TOUCHES];
    perp_constraint constraint[TOUCHES];
    perp_contact_problem P;
} heap;

static void random_direction(uint64_t* random, double* n)
{
    double length = 0.0;
    do {
        for (int k = 0; k < 3; ++k) {
            n[k] = test_uniform(random, -1, 1);
        }
        length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    } while (!(length > 0.1 && length < 1.0));
    for (int k = 0; k < 3; ++k) {
        n[k] /= length;
    }
}

static void cross(const double* a, const double* b, double* out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void add_touch(heap* h, uint64_t* random, int32_t i)
{
    const int32_t second = i % BODIES;
    const int32_t first = (int32_t)(test_random(random) % (BODIES + 1)) - 1;
    const int32_t other = first == second ? -1 : first;
    h->constraint[i] = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT,
                                         .block = {other, second},
                                         .row = 3 * i,
                                         .rows = 3,
                                         .jac = 36 * (size_t)i,
                                         .cone = PERP_CONE_QUADRATIC,
                                         .mu = 2.0};
    double frame[3][3], aside[3];
    random_direction(random, frame[0]);
    random_direction(random, aside);
    cross(frame[0], aside, frame[1]);
    const double length =
        sqrt(frame[1][0] * frame[1][0] + frame[1][1] * frame[1][1] + frame[1][2] * frame[1][2]);
    for (int k = 0; k < 3; ++k) {
        frame[1][k] /= length;
    }
    cross(frame[0], frame[1], frame[2]);
    double* J = h->J + 36 * i;
    for (int side = other < 0 ? 1 : 0; side < 2; ++side) {
        double arm[3], turn[3];
        random_direction(random, arm);
        for (int r = 0; r < 3; ++r, J += 6) {
            cross(arm, frame[r], turn);
            for (int k = 0; k < 3; ++k) {
                J[k] = side == 0 ? -frame[r][k] : frame[r][k];
                J[3 + k] = side == 0 ? -turn[k] : turn[k];
            }
        }
    }
    h->b[3 * i] = test_uniform(random, 0, 0.1);
}

static void make_heap(heap* h, uint64_t seed)
{
    uint64_t random = seed;
    *h = (heap){0};
    for (int32_t i = 0; i < BODIES; ++i) {
        h->dof[i + 1] = 6 * (i + 1);
        for (int k = 0; k < 6; ++k) {
            h->M[36 * i + 7 * k] = 1.0;
            h->k[6 * i + k] = test_uniform(&random, -1, 1);
        }
    }
    for (int32_t i = 0; i < TOUCHES; ++i) {
        add_touch(h, &random, i);
    }
    h->P = (perp_contact_problem){.block_count = BODIES,
                                  .dof_count = 6 * BODIES,
                                  .row_count = 3 * TOUCHES,
                                  .constraint_count = TOUCHES,
                                  .dof = h->dof,
                                  .M = h->M,
                                  .k = h->k,
                                  .J = h->J,
                                  .b = h->b,
                                  .lower = h->b,
                                  .upper = h->b,
                                  .constraint = h->constraint};
}

typedef struct heap_watch {
    const heap* h;
    const perpi_body_matrix* matrix;
    double* work;
    double least, tau; /* tau: the least so far */
    const perpi_interior_bodies* interior;
    bool turned, back; /* the determinant was negative, or the coupling reduced; tau has grown */
} heap_watch;

static double heap_residual(void* user, const double* p, bool* stop)
{
    heap_watch* w = user;
    const perp_contact_problem* P = &w->h->P;
    double v[6 * BODIES];
    memcpy(v, P->k, sizeof v);
    for (int32_t i = 0; i < TOUCHES; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const double* J = P->J + c->jac;
        for (int side = 0; side < 2; ++side) {
            for (int r = 0; c->block[side] >= 0 && r < 3; ++r, J += 6) {
                for (int k = 0; k < 6; ++k) {
                    v[6 * c->block[side] + k] += J[k] * p[c->row + r];
                }
            }
        }
    }
    const double now = perp_contact_check_residual(P, v, p, w->work).worst;
    w->least = now < w->least ? now : w->least;
    const bool reduced = w->interior->coupling < 1.0;
    const double tau = w->interior->curve.tau;
    w->turned =
        w->turned || (w->tau < INFINITY && (perpi_body_matrix_sign(w->matrix) < 0 || reduced));
    w->back = w->back || tau > 1.2 * w->tau;
    w->tau = tau < w->tau ? tau : w->tau;
    *stop = false;
    return now;
}

/* What RUNS random heaps show. */
typedef struct heap_runs {
    int solved, folded, back, longest, total;
    double error; /* largest of the products */
} heap_runs;

enum { RUNS = 200 };

static heap_runs run_heaps(perpi_interior_folds folds)
{
    bench m;
    open_bench(&m);
    heap_runs all = {0};
    for (uint64_t seed = 1; seed <= RUNS; ++seed) {
        heap* h = malloc(sizeof *h);
        heap_watch w = {.h = h, .matrix = &m.matrix, .least = INFINITY, .tau = INFINITY};
        if (h == NULL) {
            abort();
        }
        make_heap(h, seed);
        w.work = malloc(perp_contact_residual_work(&h->P) * sizeof *w.work);
        perpi_interior_task task = task_of(&m, &h->P);
        task.regularisation = 1e-10;
        task.folds = folds;
        task.target = 1e-9;
        task.limit = 1; /* one iteration after another: the watch sees each of them */
        task.residual = heap_residual;
        task.user = &w;
        CHECK_OK(perpi_interior_track_begin(m.interior, &task));
        w.interior = m.interior;
        int32_t made = 0;
        while (made < 400 && m.interior->curve.on && !(w.least <= task.target)) {
            int32_t one = 0;
            perpi_interior_track(m.interior, &task, &one);
            made += one;
            all.error = fmax(all.error, product_error(m.interior));
        }
        if (!(w.least <= 1e-9)) {
            printf("  %d: %g after %d factorisations\n", (int)seed, w.least, (int)made);
        }
        all.solved += w.least <= 1e-9;
        all.folded += w.turned;
        all.back += w.turned && w.back;
        all.longest = made > all.longest ? made : all.longest;
        all.total += made;
        free(w.work);
        free(h);
    }
    printf("  %d solved, %d with folds (tau grew in %d), %d factorisations, at most %d\n",
           all.solved, all.folded, all.back, all.total, all.longest);
    close_bench(&m);
    return all;
}

/* Followed as a curve the path reaches an answer in every problem, also where it turns back on the way: there
 * the determinant is negative, and tau grows. */
TEST(the_central_path_as_a_curve_leads_through_folds_to_an_answer)
{
    const heap_runs all = run_heaps(PERPI_FOLDS_FOLLOW);
    CHECK_EQ_INT(all.solved, RUNS);
    CHECK(all.folded >= 20 && all.back >= 20);
    CHECK_AT_MOST(all.error, 1e-9);
}

/* So it does if it is left at its folds, by steps with reduced coupling. */
TEST(the_central_path_left_at_its_folds_leads_to_an_answer)
{
    const heap_runs all = run_heaps(PERPI_FOLDS_LEAVE);
    CHECK_EQ_INT(all.solved, RUNS);
    CHECK(all.folded >= 20);
    CHECK_EQ_INT(all.back, 0);
    CHECK_AT_MOST(all.error, 1e-9);
}

static perp_report solve(perp_context* context, const column* c, double tolerance, double* v,
                         double* p)
{
    perp_contact_solver* solver = NULL;
    perp_report report = {0};
    CHECK_OK(perp_contact_solver_create(context, "newton-bodies", NULL, 0, &solver));
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = tolerance;
    const perp_status status =
        perp_contact_solve(solver, &c->P, &options, false, v, p, NULL, &report);
    if (status != PERP_OK) {
        printf("  %s\n", perp_context_error(context));
    }
    CHECK_OK(status);
    perp_contact_solver_destroy(solver);
    return report;
}

TEST(newton_bodies_goes_on_from_there_to_rounding)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    for (int i = 0; i < CASES; ++i) {
        column* c = make(&cases[i].make);
        double v[DOFS], p[4 * CONTACTS + 2];
        const perp_report report = solve(context, c, 1e-11, v, p);
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        check_velocities(c, &cases[i].make, cases[i].slip, v, 1e-9);
        free(c);
    }
    perp_context_destroy(context);
}

TEST(a_larger_tolerance_takes_fewer_factorisations_and_says_what_it_reached)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    column* c = make(&cases[1].make);
    double v[DOFS], p[4 * CONTACTS + 2];
    int32_t last = 0;
    const double tolerance[] = {1e-2, 1e-4, 1e-8, 1e-12};
    for (int i = 0; i < 4; ++i) {
        const perp_report report = solve(context, c, tolerance[i], v, p);
        CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
        CHECK_AT_MOST(report.residual, tolerance[i]);
        CHECK(report.iterations >= last);
        last = report.iterations;
    }
    CHECK(last > solve(context, c, 1e-2, v, p).iterations);
    free(c);
    perp_context_destroy(context);
}
