/* tests/unit/solve/interior_bodies_test.c - the interior point method in the space of the bodies'
 * velocities, and newton-bodies from its start, on columns of particles that are solved by hand.
 *
 * A column: COUNT particles of mass 1 on top of each other, each pulled down by 1 and sideways by `pull`. The
 * contact below particle i carries the weight COUNT - i and the friction that the particles above it
 * need. */
#include <math.h>
#include <stdlib.h>

#include "perp/solve.h"
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

TEST(the_interior_point_method_reaches_columns_solved_by_hand)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    perpi_interior_bodies* interior = NULL;
    perpi_body_matrix matrix;
    perpi_delassus delassus = {0};
    REQUIRE_OK(perpi_interior_bodies_create(context, &interior));
    REQUIRE_OK(perpi_body_matrix_create(context, &matrix));
    for (int run = 0; run < 2 * CASES; ++run) { /* each case in both ways past folds */
        const int i = run / 2;
        column* c = make(&cases[i].make);
        watch w = {.c = c, .least = INFINITY};
        w.work = malloc(perp_contact_residual_work(&c->P) * sizeof *w.work);
        REQUIRE(w.work != NULL);
        REQUIRE_OK(perpi_delassus_fill(context, &c->P, &delassus));
        REQUIRE_OK(perpi_body_matrix_analyse(&matrix, &c->P, &delassus));
        const perpi_interior_task task = {.P = &c->P,
                                          .delassus = &delassus,
                                          .matrix = &matrix,
                                          .regularisation = 1e-8,
                                          .target = 1e-6,
                                          .gentle = run % 2 == 1,
                                          .limit = 40,
                                          .residual = residual_of,
                                          .user = &w};
        int32_t made = 0;
        CHECK_OK(perpi_interior_bodies_run(interior, &task, &made));
        if (!(w.least <= 1e-6) || made > 25) {
            printf("  %s%s: %g after %d factorisations\n", cases[i].name,
                   task.gentle ? ", gentle" : "", w.least, (int)made);
        }
        CHECK_AT_MOST(w.least, 1e-6);
        CHECK(made > 0 && made <= 25);
        check_velocities(c, &cases[i].make, cases[i].slip, w.v, 1e-4);
        free(w.work);
        free(c);
    }
    perpi_delassus_free(context, &delassus);
    perpi_body_matrix_free(&matrix);
    perpi_interior_bodies_destroy(interior);
    perp_context_destroy(context);
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
