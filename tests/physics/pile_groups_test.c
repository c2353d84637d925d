/* Piles of boxes with groups of contacts, large enough for predicted choices of the acting members
 * (src/solve/frictional/switching.c): the laws hold, the search without prediction agrees, and the bits
 * depend neither on threads, nor on a snapshot, nor on the unit of length. */
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "perp/solve.h"
#include "perp_test.h"
#include "solve/frictional/augmented_newton.h"
#include "support/scene_sim.h"

enum { BOXES = 6, STEPS = 20, PREDICTED_ROWS = 300 };

#define TOLERANCE 1e-8

/* ---- Newton's method for members that are closed together, counted (PerpTests.cmake wraps it) -----------*/

static struct {
    int runs, solved;
    int with_pushes; /* runs in which another group has a fixed push, on a block of fewer velocities */
    int wrong;       /* ... that counts as a closed member */
} closed_runs;

/* Every entry is left true, as an earlier problem may leave it: later runs must not depend on that. */
static void spoil(const bool* closed, int32_t count)
{
    memset((bool*)closed, true, (size_t)count * sizeof *closed);
}

perp_status __real_perpi_newton_closed(void* self, const perp_contact_problem* P,
                                       const bool* closed, const perp_solve_options* options,
                                       double* v, double* p, perp_report* report);
perp_status __wrap_perpi_newton_closed(void* self, const perp_contact_problem* P,
                                       const bool* closed, const perp_solve_options* options,
                                       double* v, double* p, perp_report* report);
perp_status __wrap_perpi_newton_closed(void* self, const perp_contact_problem* P,
                                       const bool* closed, const perp_solve_options* options,
                                       double* v, double* p, perp_report* report)
{
    bool pushes = false;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const int32_t* block = P->constraint[i].block;
        bool bodies = true;
        for (int side = 0; side < 2; ++side) {
            bodies =
                bodies && (block[side] < 0 || P->dof[block[side] + 1] - P->dof[block[side]] == 6);
        }
        pushes = pushes || !bodies;
        closed_runs.wrong += closed[i] && !bodies;
    }
    const perp_status status = __real_perpi_newton_closed(self, P, closed, options, v, p, report);
    closed_runs.runs += 1;
    closed_runs.solved += report->residual <= TOLERANCE;
    closed_runs.with_pushes += pushes;
    spoil(closed, P->constraint_count);
    return status;
}

/* ---- piles -----------------------------------------------------------------------------------------------*/

/* Boxes in layers of two, turned a little and thrown onto each other. L: units of length per metre. */
static scene_sim open_pile(uint64_t seed, double L, const char* more)
{
    static char text[20000];
    size_t used = (size_t)snprintf(
        text, sizeof text,
        "{'gravity':[0,0,%.17g],'step':0.005,'duration':%.17g,'margin':%.17g,'contact':'peg',"
        "'friction':{'cone':'quadratic','default':0.5}%s,'bodies':[{'name':'floor','type':'static',"
        "'shapes':[{'type':'box','size':[%.17g,%.17g,%.17g],'position':[0,0,%.17g]}]}",
        -9.75 * L, 0.005 * STEPS, 0.02 * L, more, 4 * L, 4 * L, 0.5 * L, -0.25 * L);
    for (int32_t i = 0; i < BOXES; ++i) {
        double r[6];
        for (int k = 0; k < 6; ++k) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            r[k] = (double)(seed >> 11) / 9007199254740992.0;
        }
        const double x = 0.131 * (i % 2) + 0.03 * r[0], y = 0.03 * r[1],
                     z = 0.0505 + 0.102 * (i / 2);
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            ",{'name':'b%d','mass':%.17g,'position':[%.17g,%.17g,%.17g],'velocity':[0,0,%.17g],"
            "'angular_velocity':[%.17g,%.17g,%.17g],'shapes':[{'type':'box','size':[%.17g,%.17g,"
            "%.17g]}]}",
            (int)i, 1.0 + r[2], x * L, y * L, z * L, -0.5 * L, 6 * r[3] - 3, 6 * r[4] - 3,
            6 * r[5] - 3, 0.1 * L, 0.1 * L, 0.1 * L);
    }
    snprintf(text + used, sizeof text - used, "]}");
    scene_sim s = scene_sim_open("%s", text);
    CHECK_EQ_STR(s.error, "");
    return s;
}

static bool same_bits(size_t n, const double* a, const double* b)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

static bool same_state(const perp_sim* a, const perp_sim* b)
{
    return same_bits((size_t)perp_sim_q_size(a), perp_sim_q(a), perp_sim_q(b)) &&
           same_bits((size_t)perp_sim_v_size(a), perp_sim_v(a), perp_sim_v(b));
}

/* A snapshot, to be freed. */
static void* save(const perp_sim* sim, size_t* size)
{
    CHECK_OK(perp_sim_save(sim, NULL, size));
    void* buffer = malloc(*size);
    CHECK_OK(perp_sim_save(sim, buffer, size));
    return buffer;
}

/* Choices by one solve after another; in one solve. */
#define SEARCH ",'solver':{'type':'switching','inside':1e9}"
#define INSIDE ",'solver':{'type':'switching','inside-part':0}"

static bool is_predicted(const perp_contact_problem* P)
{
    return P != NULL && P->group_count > 0 && P->row_count > PREDICTED_ROWS;
}

/* Solves P from nothing; the residual, laws of the groups included, is recomputed here. */
static double solve(perp_context* context, const perp_contact_problem* P)
{
    const size_t nv = (size_t)P->dof_count, nr = (size_t)P->row_count;
    double* v = calloc(nv + nr + perp_contact_residual_work(P), sizeof *v);
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = TOLERANCE;
    perp_report report = {0};
    perp_contact_solver* solver = NULL;
    CHECK_OK(perp_contact_solver_create(context, "switching", NULL, 0, &solver));
    CHECK_OK(perp_contact_solve(solver, P, &options, false, v, v + nv, NULL, &report));
    perp_contact_solver_destroy(solver);
    const double residual = perp_contact_check_residual(P, v, v + nv, v + nv + nr).worst;
    free(v);
    return residual;
}

TEST(predicted_choices_obey_the_laws_of_every_group)
{
    memset(&closed_runs, 0, sizeof closed_runs);
    scene_sim s = open_pile(17, 1.0, INSIDE);
    REQUIRE(s.sim != NULL);
    int predicted = 0, not_solved = 0;
    double deepest = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const perp_step_info info = perp_sim_step_info(s.sim);
        CHECK_AT_MOST(info.certificate.worst, TOLERANCE);
        CHECK_AT_MOST(fabs(info.ledger.unexplained), TOLERANCE * perp_sim_energy_scale(s.sim));
        deepest = !(info.penetration <= deepest) ? info.penetration : deepest;
        const perp_contact_problem* P = perp_sim_problem(s.sim);
        if (is_predicted(P)) {
            const double residual = solve(s.context, P);
            predicted += 1;
            not_solved += !(residual <= TOLERANCE);
        }
    }
    TEST_PRINT("%d problems of more than %d rows, %d not solved from nothing; overlap %.1e",
               predicted, (int)PREDICTED_ROWS, not_solved, deepest);
    TEST_PRINT("closed together: %d runs, %d solved", closed_runs.runs, closed_runs.solved);
    CHECK(predicted >= 18);
    CHECK(not_solved <= 2); /* as a step, which then changes the contact model of a pair */
    CHECK_AT_MOST(deepest, 1e-7);
    CHECK(closed_runs.solved >= 2 && closed_runs.solved == closed_runs.runs);
    scene_sim_close(&s);
}

/* A problem can have several solutions, of which the two searches may find different ones. Both obey the laws;
 * in most steps they are the same. */
TEST(most_steps_are_those_of_the_search_without_prediction)
{
    scene_sim a = open_pile(5, 1.0, SEARCH);
    scene_sim b = open_pile(5, 1.0, ",'solver':{'type':'switching','inside':1e9,'predicted':1e9}");
    REQUIRE(a.sim != NULL && b.sim != NULL);
    int predicted = 0, same = 0;
    while (!perp_sim_finished(a.sim)) {
        size_t size = 0;
        void* state = save(a.sim, &size);
        REQUIRE_OK(perp_sim_restore(b.sim, state, size));
        free(state);
        REQUIRE_OK(perp_sim_step(a.sim));
        REQUIRE_OK(perp_sim_step(b.sim));
        CHECK_AT_MOST(perp_sim_step_info(b.sim).certificate.worst, TOLERANCE);
        double apart = 0.0;
        for (int32_t k = 0; k < perp_sim_v_size(a.sim); ++k) {
            const double d = fabs(perp_sim_v(a.sim)[k] - perp_sim_v(b.sim)[k]);
            apart = !(d <= apart) ? d : apart;
        }
        if (is_predicted(perp_sim_problem(a.sim))) {
            predicted += 1;
            same += apart <= 1e-7;
        }
    }
    TEST_PRINT("%d of %d predicted steps are the same", same, predicted);
    CHECK(predicted >= 15);
    CHECK(same >= 12);
    scene_sim_close(&a);
    scene_sim_close(&b);
}

static void step_with_threads(int seed)
{
    scene_sim a = open_pile(seed, 1.0, INSIDE), b = open_pile(seed, 1.0, INSIDE);
    REQUIRE(a.sim != NULL && b.sim != NULL);
    REQUIRE_OK(perp_context_set_threads(a.context, 1));
    REQUIRE_OK(perp_context_set_threads(b.context, 2));
    perpi_threads_always(b.context);
    while (perp_sim_step_count(a.sim) <
           (perp_test_full() ? 3 : 2)) { /* threads for small problems are slow */
        REQUIRE_OK(perp_sim_step(a.sim));
        REQUIRE_OK(perp_sim_step(b.sim));
        REQUIRE(same_state(a.sim, b.sim));
    }
    scene_sim_close(&a);
    scene_sim_close(&b);
}

TEST(one_and_two_threads_give_the_same_bits)
{
    memset(&closed_runs, 0, sizeof closed_runs);
    for (int seed = 30; seed < 45 && closed_runs.runs < 2; ++seed) {
        step_with_threads(seed);
    }
    CHECK(closed_runs.runs >= 2);
}

/* Steps again by new simulations, which have no arrays left from earlier problems. */
static void step_from_snapshots(int seed, const char* solver)
{
    scene_sim a = open_pile(seed, 1.0, solver);
    REQUIRE(a.sim != NULL);
    const int32_t steps = perp_test_full() ? STEPS : STEPS / 2;
    while (perp_sim_step_count(a.sim) < steps) {
        size_t size = 0;
        void* state = save(a.sim, &size);
        scene_sim b = open_pile(seed, 1.0, solver);
        REQUIRE(b.sim != NULL);
        REQUIRE_OK(perp_sim_restore(b.sim, state, size));
        free(state);
        REQUIRE_OK(perp_sim_step(a.sim));
        REQUIRE_OK(perp_sim_step(b.sim));
        REQUIRE(same_state(a.sim, b.sim));
        scene_sim_close(&b);
    }
    scene_sim_close(&a);
}

TEST(a_step_from_a_snapshot_gives_the_same_bits)
{
    step_from_snapshots(2, INSIDE);
    memset(&closed_runs, 0, sizeof closed_runs);
    for (int seed = 4; seed <= 12 && (closed_runs.runs < 5 || closed_runs.with_pushes < 1);
         ++seed) {
        step_from_snapshots(seed, SEARCH); /* not every pile has such a step */
    }
    TEST_PRINT("closed together: %d runs, %d solved, %d beside a fixed push", closed_runs.runs,
               closed_runs.solved, closed_runs.with_pushes);
    CHECK(closed_runs.runs >= 5);
    CHECK(closed_runs.with_pushes >= 1);
    CHECK_EQ_INT(closed_runs.wrong, 0);
}

/* Units of a power of two do not round: positions and velocities are the same numbers times that power. */
TEST(a_unit_of_length_of_a_power_of_two_gives_the_same_bits)
{
    static const double L[] = {1.0, 1024.0, 1.0 / 1024.0};
    enum { UNITS = sizeof L / sizeof L[0] };
    const int units = perp_test_full() ? UNITS : 2;
    scene_sim s[UNITS];
    int different = 0;
    for (int u = 0; u < units; ++u) {
        s[u] = open_pile(14, L[u], "");
        REQUIRE(s[u].sim != NULL);
    }
    const int32_t steps = perp_test_full() ? STEPS : STEPS / 2;
    while (perp_sim_step_count(s[0].sim) < steps) {
        for (int u = 0; u < units; ++u) {
            REQUIRE_OK(perp_sim_step(s[u].sim));
        }
        for (int32_t k = 0; k < BOXES * (units - 1); ++k) {
            const int u = 1 + k / BOXES;
            char name[16];
            snprintf(name, sizeof name, "b%d", (int)(k % BOXES));
            const perp_body_state x = scene_sim_body(&s[0], name), y = scene_sim_body(&s[u], name);
            for (int i = 0; i < 3; ++i) {
                different += x.position[i] * L[u] != y.position[i];
                different += x.velocity[i] * L[u] != y.velocity[i];
                different += x.angular_velocity[i] != y.angular_velocity[i];
            }
        }
    }
    CHECK_EQ_INT(different, 0);
    for (int u = 0; u < units; ++u) {
        scene_sim_close(&s[u]);
    }
}
