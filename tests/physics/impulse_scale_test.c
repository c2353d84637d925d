/* No accepted step has impulses out of proportion to the momentum of the scene.
 *
 * The check is made from masses, velocities and contact impulses alone, not with the residuals of the
 * library: in every step the largest normal impulse is compared with
 *     sum m |v| before and after + sum m |g| h + (sum m) (largest overlap) / h.
 * Bodies that wedge each other may need impulses many times that; a million times is no answer. A step
 * that has no sane answer fails with a message.
 *
 * PERP_IMPULSE_SCENES=N runs N scenes of each contact model and prints the rates. */
#include "perp_test.h"
#include "support/generate.h"
#include "support/random_scene.h"
#include "support/scene_sim.h"

#include "model/model.h"

#define OUT_OF_PROPORTION 1e6

typedef struct tally {
    int scenes, failed, runaway, fallbacks;
    int64_t steps;
    double most; /* largest ratio of an accepted step */
    double certificate;
} tally;

static double momentum_of(const scene_sim* s)
{
    const perp_model* model = perp_scene_model(s->scene);
    double sum = 0.0;
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        const double* v = perp_sim_body(s->sim, i).velocity;
        if (model->body[i].type == PERP_BODY_DYNAMIC) {
            sum += model->body[i].mass * sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        }
    }
    return sum;
}

static double mass_of(const scene_sim* s)
{
    const perp_model* model = perp_scene_model(s->scene);
    double sum = 0.0;
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        sum += model->body[i].type == PERP_BODY_DYNAMIC ? model->body[i].mass : 0.0;
    }
    return sum;
}

/* One step; false if it failed. */
static bool step_and_compare(scene_sim* s, double h, double* ratio)
{
    const double before = momentum_of(s), mass = mass_of(s);
    if (perp_sim_step(s->sim) != PERP_OK) {
        return false;
    }
    int32_t count;
    double deepest = 0.0, most = 0.0;
    const perp_contact* contact = perp_sim_contacts(s->sim, &count);
    for (int32_t i = 0; i < count; ++i) {
        deepest = fmax(deepest, -contact[i].gap);
        most = fmax(most, contact[i].impulse[0]);
    }
    *ratio = most / (before + momentum_of(s) + mass * (9.81 * h + deepest / h));
    return true;
}

static void run_scene(const random_scene_spec* spec, tally* t)
{
    char* text = random_scene(spec);
    scene_sim s = scene_sim_open("%s", text);
    free(text);
    CHECK(s.sim != NULL);
    bool runaway = false, failed = false;
    const double h = s.sim != NULL ? perp_scene_run_settings(s.scene).step : 1.0;
    while (s.sim != NULL && !failed && !perp_sim_finished(s.sim)) {
        double ratio = 0.0;
        failed = !step_and_compare(&s, h, &ratio);
        if (failed) {
            CHECK(strstr(perp_context_error(s.context), "step ") != NULL);
            if (getenv("PERP_IMPULSE_MESSAGES") != NULL) {
                printf("  seed %d %s: %s\n", (int)spec->seed, spec->contact,
                       perp_context_error(s.context));
            }
            break;
        }
        const perp_step_info info = perp_sim_step_info(s.sim);
        t->steps += 1;
        t->most = fmax(t->most, ratio);
        t->certificate = fmax(t->certificate, info.certificate.worst);
        t->fallbacks += info.fallbacks > 0;
        if (!(ratio <= OUT_OF_PROPORTION)) {
            runaway = true;
        }
    }
    t->scenes += 1;
    t->failed += failed;
    t->runaway += runaway;
    scene_sim_close(&s);
}

static int scenes_to_run(int otherwise)
{
    const char* text = getenv("PERP_IMPULSE_SCENES");
    return text != NULL && atoi(text) > 0 ? atoi(text) : otherwise;
}

#ifdef PERP_TEST_SANITIZED
enum { SCENES = 1 };
#else
enum { SCENES = 12 }; /* PERP_IMPULSE_SCENES asks for more */
#endif

TEST(no_accepted_step_has_impulses_out_of_proportion)
{
    static const char* const model[] = {"corrective", "peg", "lnc", "standard"};
    const int count = scenes_to_run(perp_test_full() ? SCENES : SCENES / 3 + 1);
    printf("  contact      scenes  runaway  failed  steps  with fallback  largest ratio  "
           "certificate\n");
    for (int m = 0; m < 4; ++m) {
        tally t = {0};
        for (int i = 0; i < count; ++i) {
            run_scene(&(random_scene_spec){.seed = (uint64_t)(1000 * m + i + 1),
                                           .dimension = 2,
                                           .contact = model[m],
                                           .stepper = "stewart-trinkle",
                                           .steps = 40},
                      &t);
        }
        printf("  %-12s %6d %8d %7d %6lld %14d %14.3g %12.2g\n", model[m], t.scenes, t.runaway,
               t.failed, (long long)t.steps, t.fallbacks, t.most, t.certificate);
        CHECK_EQ_INT(t.runaway, 0);
        CHECK_AT_MOST(t.certificate, 1e-8);
    }
}

/* One meaning of tolerance: above it a step has failed, whatever the stepper. */
TEST(every_accepted_step_meets_the_tolerance_of_the_scene)
{
    static const char* const stepper[] = {"implicit", "geometric-implicit", "anitescu-potra"};
    for (int k = 0; k < 3; ++k) {
        tally t = {0};
        for (int i = 0; i < 8; ++i) {
            run_scene(&(random_scene_spec){.seed = (uint64_t)(5000 + 100 * k + i),
                                           .dimension = 2 + i % 2,
                                           .contact = "standard",
                                           .stepper = stepper[k],
                                           .steps = 15},
                      &t);
        }
        printf("  %-18s %d scenes, %d failed, certificate %.2g\n", stepper[k], t.scenes, t.failed,
               t.certificate);
        CHECK(t.steps > 0);
        CHECK_AT_MOST(t.certificate, 1e-8);
    }
}

/* Two flakes of half a millimetre that pass each other: the angular momentum of the smaller one is a
 * millionth of what else there is, and was accepted with an error of 3e-7. */
TEST(geometric_implicit_steps_of_small_fast_bodies_meet_the_tolerance)
{
    for (int i = 0; i < 20; ++i) {
        const double size = 2e-4 * pow(1.3, i % 7), spin = 0.1 + 0.3 * i;
        scene_sim s = scene_sim_open(
            "{'dimension':2,'step':%.17g,'duration':%.17g,'stepper':'geometric-implicit',"
            "'friction':{'default':0},'bodies':[{'name':'a','mass':3e-4,'position':"
            "[0,%.17g],'velocity':[40,%d],'angular_velocity':%.17g,'angle':%d,'shapes':[{"
            "'type':'box','size':[%.17g,%.17g]}]},{'name':'b','mass':1e-3,'position':"
            "[%.17g,%.17g],'velocity':[-6,11],'angular_velocity':-0.5,'angle':1,'shapes':[{"
            "'type':'box','size':[%.17g,%.17g]}]}]}",
            0.4 * size, 6.0 * size, 2.0 * size, 20 + i, spin, i, size, 2.0 * size, 3.0 * size,
            2.2 * size, size, 1.8 * size);
        REQUIRE(s.sim != NULL);
        while (!perp_sim_finished(s.sim) && perp_sim_step(s.sim) == PERP_OK) {
            CHECK_AT_MOST(perp_sim_step_info(s.sim).certificate.worst, 1e-8);
        }
        scene_sim_close(&s);
    }
}

TEST(large_internal_impulses_that_are_right_are_accepted)
{
    /* a body between two springs of 1e15 N/m, each 1 mm too short, hence 1e12 N against 9.81 N */
    for (int implicit = 0; implicit < 2; ++implicit) {
        for (double k = 1e9; k <= 1e15; k *= 1e3) {
            scene_sim s =
                scene_sim_open("{'dimension':2,'gravity':[0,-9.81],'step':0.001,'duration':0.05,"
                               "'stepper':'%s','bodies':[{'name':'bob','mass':1,'position':[0,0],"
                               "'shapes':[{'type':'particle'}]}],'forces':[{'type':'spring','a':"
                               "'world','b':'bob','at_a':[0,1],'at_b':[0,0],'stiffness':%g,'rest':"
                               "0.999},{'type':'spring','a':'world','b':'bob','at_a':[0,-1],'at_"
                               "b':"
                               "[0,0],'stiffness':%g,'rest':0.999}]}",
                               implicit ? "implicit" : "stewart-trinkle", k, k);
            REQUIRE(s.sim != NULL);
            CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
            CHECK_NEAR(scene_sim_body(&s, "bob").position[1], -9.81 / (2.0 * k), 1e-9);
            scene_sim_close(&s);
        }
    }
    /* stacks, walls, piles and grasps of masses from 1 to 1e6 */
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "auto", NULL, 0, &solver));
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = 1e-8;
    for (int kind = 0; kind < GENERATE_CONTACT_KINDS; ++kind) {
        for (int seed = 1; seed <= 5; ++seed) {
            generate_contact_spec spec = generate_contact_spec_default((generate_contact_kind)kind);
            spec.seed = (uint64_t)seed;
            spec.contacts = 40;
            spec.mass_ratio = 1e6;
            generated_contact g;
            REQUIRE(generate_contact(&spec, &g));
            double* x = calloc((size_t)(g.problem.dof_count + g.problem.row_count), sizeof *x);
            perp_report report;
            CHECK_OK(perp_contact_solve(solver, &g.problem, &options, false, x,
                                        x + g.problem.dof_count, NULL, &report));
            if (report.outcome != PERP_OUTCOME_SOLVED) {
                TEST_PRINT("%s %d: residual %.3g %s", generate_contact_name[kind], seed,
                           report.residual, report.detail);
            }
            CHECK_EQ_INT(report.outcome, PERP_OUTCOME_SOLVED);
            free(x);
            generated_contact_free(&g);
        }
    }
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
}
