/* Groups of contacts with round cones, as NCPs [W14 (4.30)-(4.40)]: steps of polygons and polyhedra that
 * roll over corners, against the answers of switching. */
#include <string.h>

#include "perp_test.h"

#include "perp/solve.h"
#include "support/scene_sim.h"

static const char* const solvers[] = {"fischer-newton", "minmap-newton", "path"};
enum { SOLVERS = sizeof solvers / sizeof solvers[0] };

/* A square comes down with a corner on the corner of a table, and rolls over it. */
static const char square[] =
    "{'dimension':2,'gravity':[0,-9.81],'step':0.01,'duration':0.8,'margin':0.1,"
    "'contact':'peg','friction':{'default':0.5},'bodies':[{'name':'table','type':"
    "'static','shapes':[{'type':'box','size':[2,1],'position':[-1,-0.5]},{'type':"
    "'box','size':[4,1],'position':[0,-1.2]}]},{'name':'square','density':1,"
    "'position':[-0.01,0.4],'angle':0.6,'angular_velocity':-1,'shapes':[{'type':'box',"
    "'size':[0.5,0.5]}]}]}";

static const char octahedra[] =
    "{'dimension':3,'gravity':[0,0,-9.81],'step':0.01,'duration':1,'margin':0.1,"
    "'contact':'peg','friction':{'cone':'quadratic','default':0.3},'bodies':[{"
    "'name':'lower','type':'static','shapes':[{'type':'polyhedron','solid':"
    "'octahedron','radius':0.5}]},{'name':'upper','density':1,'position':[0.05,0.03,"
    "1.1],'angular_velocity':[1,-2,0.5],'shapes':[{'type':'polyhedron','solid':"
    "'octahedron','radius':0.5}]}]}";

typedef struct tally {
    int problems, pushing;
    int warm[SOLVERS], cold[SOLVERS];
    double kept[SOLVERS], apart[SOLVERS]; /* velocities from the reference, warm and cold */
} tally;

static double distance(size_t n, const double* a, const double* b)
{
    double worst = 0.0;
    for (size_t i = 0; i < n; ++i) {
        worst = fmax(worst, fabs(a[i] - b[i]));
    }
    return worst;
}

static bool group_pushes(const perp_contact_problem* P, const double* p)
{
    for (int32_t g = 0; g < P->group_count; ++g) {
        for (int32_t i = 0; i < P->group[g].count; ++i) {
            if (p[P->constraint[P->group[g].member[i]].row] > 0.0) {
                return true;
            }
        }
    }
    return false;
}

static perp_report solve(perp_context* context, const char* name, const perp_contact_problem* P,
                         double tolerance, bool warm, double* v, double* p)
{
    perp_report report = {0};
    perp_contact_solver* solver = NULL;
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = tolerance;
    CHECK_OK(perp_contact_solver_create(context, name, NULL, 0, &solver));
    CHECK_OK(perp_contact_solve(solver, P, &options, warm, v, p, NULL, &report));
    perp_contact_solver_destroy(solver);
    return report;
}

static void compare(perp_context* context, const perp_contact_problem* P, tally* t)
{
    const size_t nv = (size_t)P->dof_count, nr = (size_t)P->row_count;
    double* v = calloc(2 * (nv + nr), sizeof *v);
    double *p = v + nv, *v_ref = p + nr, *p_ref = v_ref + nv;
    CHECK_EQ_INT(solve(context, "switching", P, 1e-12, false, v_ref, p_ref).outcome,
                 PERP_OUTCOME_SOLVED);
    t->problems += 1;
    t->pushing += group_pushes(P, p_ref);
    for (int k = 0; k < SOLVERS; ++k) {
        memcpy(v, v_ref, (nv + nr) * sizeof *v);
        if (solve(context, solvers[k], P, 1e-11, true, v, p).outcome == PERP_OUTCOME_SOLVED) {
            t->warm[k] += 1;
            t->kept[k] = fmax(t->kept[k], distance(nv, v, v_ref));
        }
        if (solve(context, solvers[k], P, 1e-11, false, v, p).outcome == PERP_OUTCOME_SOLVED) {
            t->cold[k] += 1;
            t->apart[k] = fmax(t->apart[k], distance(nv, v, v_ref));
        }
    }
    free(v);
}

/* In the plane the interval of the polygon cone is the round one, and an MLCP: asked for as a round one
 * it goes through the NCP. */
static void compare_round(perp_context* context, const perp_contact_problem* P, tally* t)
{
    perp_contact_problem round = *P;
    perp_constraint* constraint = calloc((size_t)P->constraint_count, sizeof *constraint);
    memcpy(constraint, P->constraint, (size_t)P->constraint_count * sizeof *constraint);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (constraint[i].cone == PERP_CONE_POLYGON) {
            constraint[i].cone = PERP_CONE_QUADRATIC;
            constraint[i].directions = 0;
        }
    }
    round.constraint = constraint;
    compare(context, &round, t);
    free(constraint);
}

static tally run(const char* scene)
{
    tally t = {0};
    scene_sim s = scene_sim_open("%s", scene);
    CHECK_EQ_STR(s.error, "");
    while (s.sim != NULL && !perp_sim_finished(s.sim)) {
        CHECK_OK(perp_sim_step(s.sim));
        if (perp_sim_problem(s.sim)->group_count > 0) {
            compare_round(s.context, perp_sim_problem(s.sim), &t);
        }
    }
    scene_sim_close(&s);
    TEST_PRINT("%d problems with groups, %d where one pushes", t.problems, t.pushing);
    for (int k = 0; k < SOLVERS; ++k) {
        TEST_PRINT("%-15s from the answer: %d solved, within %.1e; from nothing: %d, %.1e",
                   solvers[k], t.warm[k], t.kept[k], t.cold[k], t.apart[k]);
        CHECK_EQ_INT(t.warm[k], t.problems);
        CHECK_AT_MOST(t.kept[k], 1e-12);
        CHECK_EQ_INT(t.cold[k], t.problems);
        CHECK_AT_MOST(t.apart[k], 1e-9);
    }
    return t;
}

TEST(a_square_rolls_over_a_corner)
{
    CHECK(run(square).pushing >= 10);
}

TEST(an_octahedron_rolls_over_the_tip_of_another)
{
    CHECK(run(octahedra).pushing >= 40);
}
