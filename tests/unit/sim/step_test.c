/* One step, from outside: the margin that contacts enter with, the ledger, impacts and their times, the
 * length of adaptive steps, the order of fallbacks. */
#include "perp_test.h"
#include "support/scene_sim.h"

#define PLANE "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"

/* ---- the margin rule -----------------------------------------------------------------------------
 * A pair's margin is the sum of its bodies', and a body's 1.1 times what a point of it moves in a free
 * step, h |v + h f/m| + h |omega| r, with 1e-6 of its size for rounding. */

static int candidates(double gap, const char* motion, const char* margin)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-10],'step':0.1,'duration':1,'contact':'standard'%s,'bodies':[" PLANE
        "{'name':'ball','mass':1,'inertia':[0.1,0.1,0.1],'position':[0,0,%.17g],%s"
        "'shapes':[{'type':'sphere','radius':0.5}]}]}",
        margin, 0.5 + gap, motion);
    const int count = s.sim != NULL && perp_sim_step(s.sim) == PERP_OK
                          ? perp_sim_step_info(s.sim).candidates
                          : -1;
    scene_sim_close(&s);
    return count;
}

TEST(a_contact_enters_within_the_free_motion_of_the_step)
{
    static const struct {
        const char* motion;
        double travel;
    } body[] = {
        {"", 0.1},                                               /* h |h g| */
        {"'velocity':[0,0,-2],", 0.3},                           /* h (2 + 1) */
        {"'velocity':[0,0,1],", 0.0},                            /* at rest at the end */
        {"'velocity':[4,0,-2],", 0.5},                           /* h |(4, 0, -3)| */
        {"'velocity':[0,0,1],'angular_velocity':[0,0,6],", 0.3}, /* h 6 r */
        {"'velocity':[0,0,-2],'angular_velocity':[0,6,0],", 0.3 + 0.3},
    };
    for (size_t i = 0; i < sizeof body / sizeof body[0]; ++i) {
        const double margin = 1.1 * body[i].travel, rounding = 4e-6;
        CHECK_EQ_INT(candidates(margin * 0.99999, body[i].motion, ""), 1);
        CHECK_EQ_INT(candidates(margin * 1.00001 + rounding, body[i].motion, ""), 0);
    }
}

TEST(a_margin_of_the_scene_is_that_of_the_pair)
{
    CHECK_EQ_INT(candidates(0.1999, "'velocity':[0,0,-9],", ",'margin':0.2"), 1);
    CHECK_EQ_INT(candidates(0.2001, "'velocity':[0,0,1],", ",'margin':0.2"), 0);
}

/* The second disc is at rest and has no margin of its own to reach the third, until the first strikes
 * it: the step is solved again with that contact. */
TEST(a_body_that_came_further_than_its_margin_makes_the_step_repeat)
{
    scene_sim s =
        scene_sim_open("{'dimension':2,'step':0.02,'duration':1,'contact':'standard','bodies':["
                       "{'name':'a','mass':1,'inertia':1,'velocity':[10,0],"
                       "'shapes':[{'type':'circle','radius':0.5}]},"
                       "{'name':'b','mass':1,'inertia':1,'position':[1.001,0],"
                       "'shapes':[{'type':'circle','radius':0.5}]},"
                       "{'name':'c','mass':1,'inertia':1,'position':[2.051,0],"
                       "'shapes':[{'type':'circle','radius':0.5}]}]}");
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    CHECK_EQ_INT(perp_sim_step_info(s.sim).rounds, 2);
    CHECK_EQ_INT(perp_sim_step_info(s.sim).candidates, 2);
    const double* q = perp_sim_q(s.sim);
    CHECK_AT_LEAST(q[6] - q[3], 1.0 - 1e-9);
    CHECK_AT_LEAST(q[3] - q[0], 1.0 - 1e-9);
    scene_sim_close(&s);
}

/* ---- the ledger ----------------------------------------------------------------------------------*/

static void check_ledger(const scene_sim* s, double before, const char* what)
{
    const perp_ledger l = perp_sim_step_info(s->sim).ledger;
    const double change = perp_sim_energy(s->sim).total - before;
    double sum = 0.0, size = 0.0;
    for (int32_t i = 1; i < PERP_LEDGER_COUNT - 2;
         ++i) { /* all but change, unexplained, magnitude */
        sum += perp_ledger_entry(&l, i);
        size += fabs(perp_ledger_entry(&l, i));
    }
    const double scale = perp_sim_energy_scale(s->sim) + size;
    if (!(fabs(l.change - sum) <= 1e-9 * scale)) {
        TEST_PRINT("%s: change %g, terms %g", what, l.change, sum);
    }
    CHECK_NEAR(l.change, change, 1e-12 * scale);
    CHECK_NEAR(l.change - sum, l.unexplained, 1e-13 * scale);
    CHECK_AT_MOST(fabs(l.unexplained), 1e-9 * scale);
}

/* A ball that strikes a plane obliquely and spins: contact, friction, gap, spin all act in the first
 * steps. Quasistatic steps count the potential energy alone. */
TEST(the_ledger_of_every_stepper_closes_step_by_step)
{
    static const char* const setup[] = {"'stepper':'stewart-trinkle'",
                                        "'stepper':'anitescu-potra'",
                                        "'stepper':'implicit'",
                                        "'stepper':'geometric-implicit'",
                                        "'stepper':'compliant'",
                                        "'restitution':0.7",
                                        "'restitution':{'law':'poisson','e':0.7}",
                                        "'step':{'error':1e-4,'initial':0.01}",
                                        "'step':{'error':1e-4,'initial':0.01},'restitution':0.7"};
    for (size_t i = 0; i < sizeof setup / sizeof setup[0]; ++i) {
        scene_sim s = scene_sim_open(
            "{'gravity':[0,0,-10],%s,'duration':1,'contact':'standard','friction':{'default':0.4},"
            "'bodies':[" PLANE
            "{'name':'ball','mass':2,'inertia':[0.2,0.25,0.3],'position':[0,0,0.51],"
            "'velocity':[1,0,-2],'angular_velocity':[1,2,3],"
            "'shapes':[{'type':'sphere','radius':0.5}]}]}",
            setup[i]);
        REQUIRE(s.sim != NULL);
        for (int step = 0; step < 12; ++step) {
            const double before = perp_sim_energy(s.sim).total;
            REQUIRE_OK(perp_sim_step(s.sim));
            check_ledger(&s, before, setup[i]);
        }
        scene_sim_close(&s);
    }
}

/* One step by hand: mass 2 falls from rest for h = 0.1: v = -1, z = -0.1. Kinetic 1, potential -2: the
 * change is -1, which is the loss of the implicit step, -m |dv|^2 / 2. */
TEST(the_ledger_of_a_first_step_in_free_fall_is_known_by_hand)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-10],'step':0.1,'duration':1,'bodies':[{'name':'ball','mass':2,"
        "'inertia':[1,1,1],'shapes':[{'type':'sphere','radius':0.5}]}]}");
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    const perp_ledger l = perp_sim_step_info(s.sim).ledger;
    CHECK_NEAR(l.change, -1.0, 1e-14);
    CHECK_NEAR(l.step_loss, -1.0, 1e-14);
    CHECK_NEAR(l.unexplained, 0.0, 1e-14);
    scene_sim_close(&s);
}

/* ---- impacts -------------------------------------------------------------------------------------
 * A ball at gap d with normal velocity u, gravity g: in a step it gains G = -g h. It meets the plane at
 *     d + (u + G/2) t + G t^2 / (2 h) = 0,  with velocity u_t = u + G (1/2 + t/h),
 * and leaves with -e u_t; the state's velocity has the gain until t taken out again. The next step moves
 * the ball with v' = v+ + G for h, less t times the jump. */
TEST(an_impact_happens_at_the_time_at_which_the_gap_closes)
{
    const double d = 0.03, u = -4.0, h = 0.01, e = 0.6, G = -10.0 * h;
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-10],'step':%.17g,'duration':1,'restitution':%g,'bodies':[" PLANE
        "{'name':'ball','mass':2,'inertia':[0.2,0.2,0.2],'position':[0,0,%.17g],"
        "'velocity':[0,0,%.17g],'shapes':[{'type':'sphere','radius':0.5}]}]}",
        h, e, 0.5 + d, u);
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    CHECK_EQ_INT(perp_sim_step_info(s.sim).kind, PERP_STEP_IMPACT);
    CHECK_EQ_INT(perp_sim_step_info(s.sim).impacts_in_a_row, 1);
    CHECK_NEAR(perp_sim_time(s.sim), 0.0, 0.0);
    const double w = u + 0.5 * G;
    const double t = 2.0 * d / (-w + sqrt(w * w - 2.0 * G / h * d)); /* the root nearer to 0 */
    const double u_t = u + G * (0.5 + t / h), v_plus = -e * u_t - (u_t - u);
    int32_t count;
    const perp_contact* c = perp_sim_contacts(s.sim, &count);
    REQUIRE(count == 1);
    CHECK_NEAR(c->impact.time, t, 1e-12);
    CHECK_NEAR(c->impact.gain, u_t - u, 1e-12);
    CHECK_NEAR(perp_sim_v(s.sim)[6 + 2], v_plus, 1e-9);
    CHECK_NEAR(c->impulse[0], 2.0 * (v_plus - u), 1e-8);
    REQUIRE_OK(perp_sim_step(s.sim));
    CHECK_EQ_INT(perp_sim_step_info(s.sim).kind, PERP_STEP_TIME);
    CHECK_NEAR(perp_sim_time(s.sim), h, 1e-15);
    CHECK_NEAR(perp_sim_q(s.sim)[7 + 2], 0.5 + d + h * (v_plus + G) - t * (v_plus - u), 1e-9);
    scene_sim_close(&s);
}

/* A contact that closes no faster than the forces of one step can make it does not bounce. */
TEST(a_body_at_rest_has_no_impact)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-10],'step':0.01,'duration':1,'restitution':1,'bodies':[" PLANE
        "{'name':'ball','mass':2,'inertia':[0.2,0.2,0.2],'position':[0,0,0.5],"
        "'shapes':[{'type':'sphere','radius':0.5}]}]}");
    REQUIRE(s.sim != NULL);
    for (int i = 0; i < 20; ++i) {
        REQUIRE_OK(perp_sim_step(s.sim));
        CHECK_EQ_INT(perp_sim_step_info(s.sim).kind, PERP_STEP_TIME);
    }
    CHECK_EQ_INT(perp_sim_impact_count(s.sim), 0);
    scene_sim_close(&s);
}

/* Poisson's law takes two calls: compression stops the ball, decompression sends it back. */
TEST(poisson_has_two_phases)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,0],'step':0.01,'duration':1,'restitution':{'law':'poisson','e':0.5},"
        "'bodies':[" PLANE "{'name':'ball','mass':2,'inertia':[0.2,0.2,0.2],'position':[0,0,0.51],"
        "'velocity':[0,0,-4],'shapes':[{'type':'sphere','radius':0.5}]}]}");
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    CHECK_EQ_INT(perp_sim_step_info(s.sim).kind, PERP_STEP_COMPRESSION);
    CHECK_NEAR(perp_sim_v(s.sim)[6 + 2], 0.0, 1e-9);
    REQUIRE_OK(perp_sim_step(s.sim));
    CHECK_EQ_INT(perp_sim_step_info(s.sim).kind, PERP_STEP_DECOMPRESSION);
    CHECK_NEAR(perp_sim_v(s.sim)[6 + 2], 2.0, 1e-9);
    REQUIRE_OK(perp_sim_step(s.sim));
    CHECK_EQ_INT(perp_sim_step_info(s.sim).kind, PERP_STEP_TIME);
    scene_sim_close(&s);
}

/* ---- adaptive steps ------------------------------------------------------------------------------*/

/* A body without forces has no error, so that nothing but `max` and the end bound the length. */
TEST(an_adaptive_step_begins_with_initial_and_grows_to_max)
{
    scene_sim s = scene_sim_open("{'step':{'error':1e-6,'initial':0.001,'min':1e-6,'max':0.05},"
                                 "'duration':1,'bodies':[{'name':'ball','mass':2,'inertia':[1,1,1],"
                                 "'velocity':[1,0,5],'shapes':[{'type':'sphere','radius':0.5}]}]}");
    REQUIRE(s.sim != NULL);
    double last = 0.0, largest = 0.0;
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        const double h = perp_sim_last_step(s.sim);
        if (perp_sim_step_count(s.sim) == 1) {
            CHECK_NEAR(h, 0.001, 1e-15);
        } else if (perp_sim_time(s.sim) < 0.9) {
            CHECK_AT_LEAST(h, last * (1.0 - 1e-12));
        }
        CHECK_AT_MOST(h, 0.05 * (1.0 + 1e-12));
        last = h;
        largest = h > largest ? h : largest;
    }
    CHECK_NEAR(largest, 0.05, 1e-12);
    CHECK_NEAR(perp_sim_time(s.sim), 1.0, 0.0);
    CHECK_NEAR(perp_sim_q(s.sim)[2], 5.0, 1e-12);
    scene_sim_close(&s);
}

/* In free fall one step of h moves by h^2 g, two halves by 3/4 of that: the error is h^2 g / 4 over the size
 * 1/2 of the ball. The length aims at 0.9 of the root. Where the simulation goes on is exact. */
TEST(the_length_of_an_adaptive_step_in_free_fall_is_known_by_hand)
{
    scene_sim s =
        scene_sim_open("{'gravity':[0,0,-10],'step':{'error':1e-6,'initial':0.001,'max':0.05},"
                       "'duration':0.1,'bodies':[{'name':'ball','mass':2,'inertia':[1,1,1],"
                       "'velocity':[1,0,5],'shapes':[{'type':'sphere','radius':0.5}]}]}");
    REQUIRE(s.sim != NULL);
    const double h = 0.9 * sqrt(1e-6 * 0.5 * 4.0 / 10.0);
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
        if (perp_sim_time(s.sim) < 0.099) {
            CHECK_NEAR(perp_sim_last_step(s.sim), h, 1e-9 * h);
        }
    }
    CHECK_NEAR(perp_sim_q(s.sim)[2], 0.5 - 0.05, 1e-12);
    scene_sim_close(&s);
}

/* The error of a step doubling is of order h^2: a hundredth of the tolerance takes a tenth of the length. All steps
 * are longer than the first: shorter ones close joints in part only, which has another error. */
TEST(the_length_of_an_adaptive_step_follows_the_root_of_the_error)
{
    double mean[2];
    for (int i = 0; i < 2; ++i) {
        scene_sim s = scene_sim_open(
            "{'dimension':2,'gravity':[0,-10],'step':{'error':%g,'initial':0.0001},'duration':2,"
            "'bodies':[{'name':'rod','mass':1,'inertia':0.1,'position':[1,0],"
            "'shapes':[{'type':'circle','radius':0.2}]}],'joints':[{'name':'hinge',"
            "'type':'revolute','a':'world','b':'rod','at':[0,0]}]}",
            i == 0 ? 1e-3 : 1e-5);
        REQUIRE(s.sim != NULL);
        REQUIRE_OK(perp_sim_run(s.sim));
        mean[i] = 2.0 / (double)perp_sim_step_count(s.sim);
        scene_sim_close(&s);
    }
    CHECK_NEAR(mean[0] / mean[1], 10.0, 1.0);
}

/* The first touch ends a step; an impact follows it at the same time. */
TEST(an_adaptive_step_ends_where_a_gap_closes)
{
    scene_sim s = scene_sim_open(
        "{'gravity':[0,0,-10],'step':{'error':1e-5},'duration':1,'restitution':0.5,'bodies':[" PLANE
        "{'name':'ball','mass':2,'inertia':[0.2,0.2,0.2],'position':[0,0,1.3],"
        "'shapes':[{'type':'sphere','radius':0.5}]}]}");
    REQUIRE(s.sim != NULL);
    while (perp_sim_impact_count(s.sim) == 0 && !perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    CHECK_NEAR(perp_sim_time(s.sim), 0.4, 1e-11); /* sqrt(2 * 0.8 / 10) */
    CHECK_NEAR(perp_sim_v(s.sim)[6 + 2], 2.0, 1e-9);
    scene_sim_close(&s);
}

/* ---- fallbacks -----------------------------------------------------------------------------------*/

/* A solver that gives up where told, and is `auto` elsewhere. */
static bool fails_on_groups, fails_at_the_end, fails_on_gaps;

/* Whether a contact is open, but by less than 1e-6 m in a step of 0.01 s. */
static bool has_small_gap(const perp_contact_problem* problem)
{
    for (int32_t i = 0; i < problem->constraint_count; ++i) {
        const double b = problem->b[problem->constraint[i].row];
        if (b > 0.0 && b < 1e-4) {
            return true;
        }
    }
    return false;
}

static perp_status stub_create(perp_context* context, const void* settings, void** self)
{
    (void)settings;
    return perp_contact_solver_create(context, "auto", NULL, 0, (perp_contact_solver**)self);
}

static void stub_destroy(void* self)
{
    perp_contact_solver_destroy(self);
}

static perp_status stub_solve(void* self, const perp_contact_problem* problem,
                              const perp_solve_options* options, bool warm, double* v, double* p,
                              perp_report* report)
{
    if ((fails_on_groups && problem->group_count > 0) ||
        (fails_at_the_end && problem->b_error != NULL) ||
        (fails_on_gaps && has_small_gap(problem))) {
        report->outcome = PERP_OUTCOME_MAX_ITER;
        return PERP_OK;
    }
    return perp_contact_solve(self, problem, options, warm, v, p, NULL, report);
}

typedef struct heard {
    char text[128];
} heard;

static void hear(void* user, const perp_contact_problem* problem, int32_t body_a, int32_t body_b,
                 const char* simpler)
{
    heard* h = user;
    const size_t length = strlen(h->text);
    CHECK(problem != NULL);
    snprintf(h->text + length, sizeof h->text - length, "%s%d-%d:%s", length > 0 ? " " : "",
             (int)body_a, (int)body_b, simpler);
}

static const perp_contact_solver_ops stub = {
    .name = "stub",
    .summary = "gives up where the test says",
    .takes = PERP_TAKES_NONE | PERP_TAKES_POLYGON | PERP_TAKES_QUADRATIC | PERP_TAKES_GROUPS,
    .create = stub_create,
    .destroy = stub_destroy,
    .solve = stub_solve,
};

/* What a first step falls back to, in order. */
static heard fallbacks(const char* stepper, const char* contact, const char* velocity,
                       perp_step_info* info)
{
    heard h = {""};
    *info = (perp_step_info){0};
    scene_sim s = scene_sim_open(
        "{'dimension':2,'step':0.01,'duration':1,'margin':0.3,'stepper':'%s','contact':'%s',"
        "'bodies':[{'name':'base','type':'static','shapes':[{'type':'box','size':[2,2]}]},"
        "{'name':'tip','mass':1,'inertia':1,'position':[1.05,1.1],'velocity':[%s],"
        "'shapes':[{'type':'polygon','vertices':[[0,0],[0.5,1],[-0.5,1]]}]}]}",
        stepper, contact, velocity);
    perp_sim* sim = NULL;
    if (s.sim != NULL && perp_register_contact_solver(s.context, &stub) == PERP_OK) {
        perp_sim_def def = perp_sim_def_from_scene(s.scene);
        def.solver = "stub";
        if (perp_sim_create(s.context, perp_scene_model(s.scene), &def, &sim) == PERP_OK) {
            perp_sim_on_fallback(sim, hear, &h);
            const perp_status status = perp_sim_step(sim);
            CHECK_OK(status);
            *info = perp_sim_step_info(sim);
        }
    }
    perp_sim_destroy(sim);
    scene_sim_close(&s);
    return h;
}

TEST(a_pair_whose_groups_cannot_be_solved_becomes_lnc_then_standard)
{
    static const char* const table[][2] = {{"peg", "0-1:lnc 0-1:standard"},
                                           {"lnc", "0-1:standard"},
                                           {"disjunctive", "0-1:standard"},
                                           {"standard", ""},
                                           {"corrective", ""}};
    fails_on_groups = true;
    for (int i = 0; i < 5; ++i) {
        perp_step_info info;
        const heard h = fallbacks("stewart-trinkle", table[i][0], "-15,-15", &info);
        CHECK_EQ_STR(h.text, table[i][1]);
        CHECK_EQ_INT(info.fallbacks > 0, table[i][1][0] != '\0');
        CHECK_EQ_INT(info.semi_implicit, 0);
    }
    fails_on_groups = false;
}

/* A ball of radius 0.5 m above a plane, in a step that has no solution while the contact is nearly closed: below 1e-7 of
 * the radius it counts as closed, and the ball stays where it is; above, the step fails. */
TEST(a_contact_that_is_nearly_closed_counts_as_closed_where_there_is_no_solution)
{
    const struct {
        double gap;
        bool solved;
    } table[] = {{1e-8, true}, {4.9e-8, true}, {5.1e-8, false}, {1e-7, false}};
    fails_on_gaps = true;
    for (int i = 0; i < 4; ++i) {
        scene_sim s =
            scene_sim_open("{'step':0.01,'duration':1,'gravity':[0,0,-10],'contact':'standard',"
                           "'bodies':[" PLANE
                           "{'name':'ball','mass':2,'inertia':[0.2,0.2,0.2],'position':[0,0,%.17g],"
                           "'shapes':[{'type':'sphere','radius':0.5}]}]}",
                           0.5 + table[i].gap);
        REQUIRE(s.sim != NULL);
        REQUIRE_OK(perp_register_contact_solver(s.context, &stub));
        perp_sim_def def = perp_sim_def_from_scene(s.scene);
        perp_sim* sim = NULL;
        def.solver = "stub";
        REQUIRE_OK(perp_sim_create(s.context, perp_scene_model(s.scene), &def, &sim));
        const perp_status status = perp_sim_step(sim);
        CHECK_EQ_INT(status == PERP_OK, table[i].solved);
        if (table[i].solved) {
            CHECK_EQ_INT(perp_sim_step_info(sim).fallbacks, 1);
            CHECK_AT_MOST(fabs(perp_sim_v(sim)[6 + 2]), 1e-12);
            CHECK_NEAR(perp_sim_q(sim)[7 + 2], 0.5 + table[i].gap, 1e-13);
        }
        perp_sim_destroy(sim);
        scene_sim_close(&s);
    }
    fails_on_gaps = false;
}

TEST(a_step_whose_end_cannot_be_found_is_taken_semi_implicitly)
{
    fails_at_the_end = true;
    perp_step_info info;
    heard h = fallbacks("geometric-implicit", "standard", "0,-1", &info);
    CHECK_EQ_STR(h.text, "-1--1:stewart-trinkle");
    CHECK_EQ_INT(info.semi_implicit, 1);
    h = fallbacks("stewart-trinkle", "standard", "0,-1", &info);
    CHECK_EQ_STR(h.text, "");
    CHECK_EQ_INT(info.semi_implicit, 0);
    fails_at_the_end = false;
}
