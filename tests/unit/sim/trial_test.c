/* A step is a value: it reads a state and writes a trial, and the same call gives the same trial. */
#include <string.h>

#include "perp_test.h"
#include "sim/internal.h"
#include "support/scene_sim.h"

#define FLOOR2 "{'name':'floor','type':'static','shapes':[{'type':'box','size':[8,1]}]},"
#define BOX2                                                                                       \
    "{'name':'box','density':1,'position':[0,1.2],'angle':0.3,'velocity':[1,-1],"                  \
    "'shapes':[{'type':'box','size':[1,1]}]}"

static const char* const STEPPER[] = {"stewart-trinkle",    "anitescu-potra", "implicit",
                                      "geometric-implicit", "compliant",      "quasistatic"};
enum { STEPPERS = sizeof STEPPER / sizeof STEPPER[0] };

static scene_sim open_box(const char* stepper)
{
    return scene_sim_quoted("{'dimension':2,'gravity':[0,-10],'friction':{'default':0.4},"
                            "'stepper':'%s','bodies':[" FLOOR2 BOX2 "]}",
                            stepper);
}

TEST(a_trial_leaves_the_state_as_it_is_and_can_be_repeated)
{
    static const perpi_filter all = {.closing = NULL};
    for (int i = 0; i < STEPPERS; ++i) {
        scene_sim s = open_box(STEPPER[i]);
        REQUIRE(s.sim != NULL);
        perp_sim* sim = s.sim;
        for (int k = 0; k < 5 && i != 5; ++k) { /* nothing holds the tilted box of quasistatic */
            REQUIRE_OK(perp_sim_step(sim));
        }
        double q[6], v[6], q_first[6];
        memcpy(q, sim->state.q, sizeof q);
        memcpy(v, sim->state.v, sizeof v);
        const size_t contacts = sim->state.contacts.count;
        const perp_status first =
            perpi_try_step(&sim->work, sim->stepper, &sim->state, 0.01, &all, &sim->trial);
        memcpy(q_first, sim->trial.state.q, sizeof q_first);
        const perp_status second =
            perpi_try_step(&sim->work, sim->stepper, &sim->state, 0.01, &all, &sim->trial);
        CHECK(first == second);
        CHECK(memcmp(q, sim->state.q, sizeof q) == 0);
        CHECK(memcmp(v, sim->state.v, sizeof v) == 0);
        CHECK(sim->state.contacts.count == contacts);
        if (first == PERP_OK) {
            CHECK(memcmp(q_first, sim->trial.state.q, sizeof q_first) == 0);
            CHECK(memcmp(q_first, q, sizeof q) != 0);
        }
        scene_sim_close(&s);
    }
}

/* Two halves from the state, the second from a trial: no copy of the state is needed. */
TEST(a_step_can_start_from_a_trial)
{
    static const perpi_filter all = {.closing = NULL};
    scene_sim s = open_box("stewart-trinkle");
    REQUIRE(s.sim != NULL);
    perp_sim* sim = s.sim;
    perpi_trial half = {0};
    REQUIRE_OK(perpi_trial_create(&sim->work, sim->v_solved != NULL, &half));
    REQUIRE_OK(perpi_try_step(&sim->work, sim->stepper, &sim->state, 0.005, &all, &half));
    REQUIRE_OK(perpi_try_step(&sim->work, sim->stepper, &half.state, 0.005, &all, &sim->trial));
    CHECK_NEAR(sim->trial.state.time, 0.01, 1e-15);
    CHECK(sim->trial.state.q[3] > half.state.q[3] && half.state.q[3] > sim->state.q[3]);
    perpi_trial_destroy(sim->context, &half);
    scene_sim_close(&s);
}

/* The filter leaves a contact out: the box goes on falling. */
TEST(a_filter_leaves_contacts_out)
{
    scene_sim s =
        scene_sim_quoted("{'dimension':2,'gravity':[0,-10],'contact':'standard','bodies':[" FLOOR2
                         "{'name':'ball','density':1,'position':[0,1.0],'velocity':[0,-1],"
                         "'shapes':[{'type':'circle','radius':0.5}]}]}");
    REQUIRE(s.sim != NULL);
    perp_sim* sim = s.sim;
    perpi_closing_list none = {0};
    const perpi_filter all = {.closing = &none};
    REQUIRE_OK(perpi_try_step(&sim->work, sim->stepper, &sim->state, 0.01, &all, &sim->trial));
    CHECK_EQ_INT((int)sim->trial.state.contacts.count, 1);
    CHECK_NEAR(sim->trial.state.v[4], 0.0, 1e-9);
    REQUIRE_OK(
        perpi_remember_closing(sim->context, &none, &sim->trial.state.contacts.item[0], 0.0));
    const perpi_filter without = {.closing = &none, .without = true};
    REQUIRE_OK(perpi_try_step(&sim->work, sim->stepper, &sim->state, 0.01, &without, &sim->trial));
    CHECK_EQ_INT((int)sim->trial.state.contacts.count, 0);
    CHECK_NEAR(sim->trial.state.v[4], -1.1, 1e-12);
    perpi_free(sim->context, none.item);
    scene_sim_close(&s);
}
