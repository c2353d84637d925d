/* Large islands of which few contacts act: solved as the islands of those (solve/acting.h). */
#include <math.h>
#include <string.h>

#include "perp/solve.h"
#include "perp_test.h"

/* Masses on a line, each near the next: a contact between any two neighbours connects all of them. */
enum { MASSES = 500, CONTACTS = MASSES - 1, MEMBERS = 2 };

typedef struct line {
    int32_t dof[MASSES + 1];
    double M[MASSES], k[MASSES];
    double J[2 * MEMBERS * CONTACTS], b[MEMBERS * CONTACTS];
    perp_constraint constraint[MEMBERS * CONTACTS];
    int32_t member[MEMBERS * CONTACTS];
    perp_group group[CONTACTS];
    perp_contact_problem problem;
} line;

static double uniform(uint64_t* state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

/* u = v_i+1 - v_i + b, b: the gap over the step. members = 2: each pair has a second, wider gap, and is
 * admissible if one of them is. */
static void make_line(line* l, double speed, int members, uint64_t seed)
{
    memset(l, 0, sizeof *l);
    for (int i = 0; i < MASSES; ++i) {
        l->dof[i + 1] = i + 1;
        l->M[i] = 0.5 + uniform(&seed);
        l->k[i] = l->M[i] * speed * (2.0 * uniform(&seed) - 1.0);
    }
    int n = 0;
    for (int i = 0; i < CONTACTS; ++i) {
        const double gap = uniform(&seed);
        l->group[i] = (perp_group){.member = l->member + n, .count = members, .primary = members};
        for (int m = 0; m < members; ++m, ++n) {
            l->constraint[n] = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT,
                                                 .block = {i, i + 1},
                                                 .row = n,
                                                 .rows = 1,
                                                 .jac = 2 * (size_t)n,
                                                 .cone = PERP_CONE_NONE};
            l->J[2 * n] = -1.0;
            l->J[2 * n + 1] = 1.0;
            l->b[n] = gap * (1.0 - 0.5 * m);
            l->member[n] = n;
        }
    }
    l->problem = (perp_contact_problem){.block_count = MASSES,
                                        .constraint_count = n,
                                        .group_count = members > 1 ? CONTACTS : 0,
                                        .dof_count = MASSES,
                                        .row_count = n,
                                        .dof = l->dof,
                                        .M = l->M,
                                        .k = l->k,
                                        .J = l->J,
                                        .b = l->b,
                                        .constraint = l->constraint,
                                        .group = l->group};
}

static void solve_line(const line* l, const char* solver, int32_t threads, bool warm, double* v,
                       double* p, perp_report* report)
{
    perp_context* context = NULL;
    perp_contact_solver* made = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_context_set_threads(context, threads));
    REQUIRE_OK(perp_contact_solver_create(context, solver, NULL, 0, &made));
    if (!warm) {
        memset(v, 0, MASSES * sizeof *v);
        memset(p, 0, MEMBERS * CONTACTS * sizeof *p);
    }
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = 1e-10;
    REQUIRE_OK(perp_contact_solve(made, &l->problem, &options, warm, v, p, NULL, report));
    CHECK_EQ_INT(report->outcome, PERP_OUTCOME_SOLVED);
    perp_contact_solver_destroy(made);
    perp_context_destroy(context);
}

static double largest_difference(const double* a, const double* b, int n)
{
    double most = 0.0;
    for (int i = 0; i < n; ++i) {
        most = !(fabs(a[i] - b[i]) <= most) ? fabs(a[i] - b[i]) : most;
    }
    return most;
}

/* Without friction there is one answer: that of a pivoting method on the whole. */
TEST(islands_of_what_acts_have_the_answer_of_the_whole)
{
    static line l;
    double v[MASSES], p[MEMBERS * CONTACTS], w[MASSES], q[MEMBERS * CONTACTS];
    for (uint64_t seed = 1; seed <= 3; ++seed) {
        perp_report report = {0};
        make_line(&l, 0.5, 1, seed);
        solve_line(&l, "auto", 1, false, v, p, &report);
        CHECK(strstr(report.detail, "constraints act") != NULL);
        solve_line(&l, "pivot", 1, false, w, q, &report);
        CHECK(largest_difference(v, w, MASSES) <= 1e-9);
        CHECK(largest_difference(p, q, CONTACTS) <= 1e-9);
    }
}

/* Impacts that travel through joints, which the sweeps do not see: the contacts that act are known
 * after several rounds only. */
TEST(contacts_that_the_answer_violates_are_added)
{
    static line l;
    double v[MASSES], p[MEMBERS * CONTACTS], w[MASSES], q[MEMBERS * CONTACTS];
    perp_report report = {0};
    make_line(&l, 0.0, 1, 7);
    for (int i = 1; i < CONTACTS;
         i += 3) { /* a row of the equality: the two masses move together */
        l.constraint[i].kind = PERP_CONSTRAINT_EQUALITY;
        l.b[i] = 0.0;
    }
    for (int i = 0; i < MASSES; i += 60) { /* a fast mass meets masses at rest */
        l.k[i] = 10.0 * l.M[i];
    }
    solve_line(&l, "auto", 1, false, v, p, &report);
    CHECK(strstr(report.detail, "constraints act") != NULL);
    solve_line(&l, "pivot", 1, false, w, q, &report);
    CHECK(largest_difference(v, w, MASSES) <= 1e-8);
}

TEST(members_of_a_group_act_together)
{
    static line l;
    double v[MASSES], p[MEMBERS * CONTACTS];
    perp_report report = {0};
    make_line(&l, 0.5, 2, 3);
    solve_line(&l, "auto", 1, false, v, p, &report);
    CHECK(strstr(report.detail, "constraints act") != NULL);
    for (int i = 0; i < CONTACTS; ++i) { /* the wider gap decides, and its contact pushes */
        CHECK(v[i + 1] - v[i] + l.b[2 * i] >= -1e-9);
        CHECK(p[2 * i + 1] == 0.0);
    }
}

TEST(threads_and_warm_starts_give_the_same_bits)
{
    static line l;
    double v[MASSES], p[MEMBERS * CONTACTS], w[MASSES], q[MEMBERS * CONTACTS];
    perp_report report = {0};
    make_line(&l, 0.5, 1, 5);
    solve_line(&l, "auto", 1, false, v, p, &report);
    solve_line(&l, "auto", 3, false, w, q, &report);
    CHECK(memcmp(v, w, sizeof v) == 0);
    CHECK(memcmp(p, q, CONTACTS * sizeof *p) == 0);
    solve_line(&l, "auto", 1, true, w, q, &report);
    CHECK(largest_difference(v, w, MASSES) <= 1e-12);
}
