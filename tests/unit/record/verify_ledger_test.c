/* The ledger of a frame against the recorded energies: what holds, and each way not to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "perp/perp.h"
#include "perp_test.h"
#include "record/layout.h"
#include "record/verify_ledger.h"
#include "support/scene_sim.h"

static const char slider[] = "{'name': 'slider', 'gravity': [0, 0, -9.81], 'step': 0.01, "
                             "'duration': 1, 'bodies': ["
                             " {'name': 'ball', 'mass': 2, 'inertia': [1, 1, 1],"
                             "  'shapes': [{'type': 'sphere', 'radius': 0.5}]}]}";

/* A ball that slides: kinetic energy 4 at the frame before, 3.5 at this one. */
typedef struct sample {
    perp_context* context;
    perp_scene* scene;
    const perp_model* model;
    double q[7];
    perpi_ledger_start before;
    perp_frame frame;
    char why[PERPI_LEDGER_MESSAGE_SIZE];
} sample;

static bool sample_of(sample* s, const char* scene)
{
    *s = (sample){.q = {0, 0, 0, 1, 0, 0, 0}};
    if (perp_context_create(NULL, &s->context) != PERP_OK ||
        scene_parse(s->context, scene, "test", &s->scene) != PERP_OK) {
        return false;
    }
    s->model = perp_scene_model(s->scene);
    s->before = (perpi_ledger_start){.energy = {.kinetic = 4.0, .total = 4.0}, .step = 3};
    static const perpi_frame_rest none = {0};
    s->frame =
        (perp_frame){.step = 4, .rest = &none, .q = s->q, .energy = {.kinetic = 3.5, .total = 3.5}};
    s->frame.info.ledger = (perp_ledger){
        .change = -0.5, .forces = 0.25, .friction = -0.5, .step_loss = -0.25, .magnitude = 1.0};
    return true;
}

static bool sample_open(sample* s)
{
    return sample_of(s, slider);
}

static void sample_close(sample* s)
{
    perp_scene_destroy(s->scene);
    perp_context_destroy(s->context);
}

static bool holds(sample* s, const perp_ledger* ledger)
{
    perp_frame frame = s->frame;
    frame.info.ledger = *ledger;
    return perpi_ledger_holds(s->model, false, &s->before, &frame, s->why);
}

TEST(a_ledger_that_explains_the_energies_holds)
{
    sample s;
    REQUIRE(sample_open(&s));
    CHECK(holds(&s, &s.frame.info.ledger));
    /* in the order of the laws: power alone moves what has no kinetic energy */
    s.frame.energy.potential = -0.5;
    s.frame.energy.kinetic = 77.0;
    CHECK(perpi_ledger_holds(s.model, true, &s.before, &s.frame, s.why));
    sample_close(&s);
}

/* Each entry, up and down, by a number far above rounding and far below the energies. A larger magnitude
 * contradicts nothing. */
TEST(no_entry_can_be_changed_alone)
{
    sample s;
    REQUIRE(sample_open(&s));
    const perp_ledger truth = s.frame.info.ledger;
    for (int32_t i = 0; i < PERP_LEDGER_COUNT; ++i) {
        for (int sign = -1; sign <= 1; sign += 2) {
            for (double size = 1e-6; size < 10.0; size *= 100.0) {
                double entry[PERP_LEDGER_COUNT];
                perp_ledger changed;
                memcpy(entry, &truth, sizeof entry);
                entry[i] += sign * size;
                memcpy(&changed, entry, sizeof changed);
                const bool magnitude = strcmp(perp_ledger_name(i), "magnitude") == 0;
                if (!(magnitude && sign > 0)) {
                    CHECK(!holds(&s, &changed));
                }
            }
        }
    }
    sample_close(&s);
}

/* Pairs of entries that are changed together, so that the sum stays: signs and bounds remain. */
TEST(what_only_takes_energy_does_not_give_it)
{
    sample s;
    REQUIRE(sample_open(&s));
    perp_ledger l = {.change = -0.5, .friction = 1e-3, .forces = -0.501, .magnitude = 0.502};
    CHECK(!holds(&s, &l));
    CHECK_CONTAINS(s.why, "'friction'");
    l = (perp_ledger){.change = -0.5, .drag = 1e-3, .forces = -0.501, .magnitude = 0.502};
    CHECK(!holds(&s, &l));
    CHECK_CONTAINS(s.why, "'drag'");
    l = (perp_ledger){.change = -0.5, .springs = 1e-3, .forces = -0.501, .magnitude = 0.502};
    CHECK(!holds(&s, &l));
    CHECK_CONTAINS(s.why, "'springs'");
    l = (perp_ledger){.change = -0.5, .joints = 1e-3, .forces = -0.501, .magnitude = 0.502};
    CHECK(!holds(&s, &l));
    CHECK_CONTAINS(s.why, "'joints'");
    l = (perp_ledger){.change = -0.5, .step_loss = 1e-3, .forces = -0.501, .magnitude = 0.502};
    CHECK(!holds(&s, &l));
    CHECK_CONTAINS(s.why, "'scheme.step_loss'");
    l = (perp_ledger){.change = -0.5, .unexplained = 1e-6, .forces = -0.500001, .magnitude = 0.6};
    CHECK(!holds(&s, &l));
    CHECK_CONTAINS(s.why, "'unexplained'");
    /* a certificate of 1e-5 leaves room for it; so does a step that was not solved */
    s.frame.info.certificate.worst = 1e-5;
    CHECK(holds(&s, &l));
    s.frame.info.certificate.worst = 0.0;
    s.frame.info.accepted_unsolved = true;
    CHECK(holds(&s, &l));
    /* what may give or take has no sign */
    s.frame.info.accepted_unsolved = false;
    l = (perp_ledger){.change = -0.5,
                      .gap = 1.0,
                      .projection = -2.0,
                      .motors = 1.5,
                      .impacts = -1.0,
                      .magnitude = 5.5};
    CHECK(holds(&s, &l));
    sample_close(&s);
}

/* Without gravity, 2 kg at rest: in a step of 0.01 s the rounding of a pose of 0.5 m is worth 2e-28 J. */
TEST(what_is_at_rest_has_the_energy_of_rounding)
{
    sample s;
    REQUIRE(sample_of(&s, "{'step': 0.01, 'duration': 1, 'bodies': ["
                          " {'name': 'ball', 'mass': 2, 'inertia': [1, 1, 1],"
                          "  'shapes': [{'type': 'sphere', 'radius': 0.5}]}]}"));
    s.before = (perpi_ledger_start){.step = 3};
    s.frame = (perp_frame){.step = 4, .time = 0.01, .q = s.q, .rest = s.frame.rest};
    s.frame.energy = (perp_energy){.kinetic = 5e-32, .total = 5e-32};
    CHECK(holds(&s, &(perp_ledger){.change = 5e-32, .joints = 5e-32, .magnitude = 5e-32}));
    s.frame.energy = (perp_energy){.kinetic = 1e-25, .total = 1e-25};
    CHECK(!holds(&s, &(perp_ledger){.change = 1e-25, .joints = 1e-25, .magnitude = 1e-25}));
    sample_close(&s);
}

TEST(the_change_is_the_difference_of_the_recorded_energies)
{
    sample s;
    REQUIRE(sample_open(&s));
    perp_ledger l = {.change = -0.4, .friction = -0.4, .magnitude = 0.4};
    CHECK(!holds(&s, &l));
    CHECK_CONTAINS(s.why, "recorded energies");
    sample_close(&s);
}

TEST(numbers_that_are_none_do_not_hold)
{
    sample s;
    REQUIRE(sample_open(&s));
    for (int32_t i = 0; i < PERP_LEDGER_COUNT; ++i) {
        double entry[PERP_LEDGER_COUNT];
        perp_ledger changed;
        memcpy(entry, &s.frame.info.ledger, sizeof entry);
        entry[i] = i % 2 == 0 ? (double)NAN : (double)INFINITY;
        memcpy(&changed, entry, sizeof changed);
        CHECK(!holds(&s, &changed));
    }
    s.frame.info.momentum_error[1] = (double)NAN;
    CHECK(!holds(&s, &s.frame.info.ledger));
    s.frame.info.momentum_error[1] = 0.0;
    s.frame.info.crossings = -1;
    CHECK(!holds(&s, &s.frame.info.ledger));
    sample_close(&s);
}

/* Sums of the random ledgers of n steps, of any size, hold with the rounding of their own sum. */
TEST(sums_over_many_steps_hold)
{
    sample s;
    REQUIRE(sample_open(&s));
    uint64_t seed = 5;
    for (int run = 0; run < 200; ++run) {
        perp_ledger sum = {0};
        double energy = 4.0;
        const int steps = 1 + run * 5;
        const double size = pow(10.0, run % 7 - 3);
        for (int n = 0; n < steps; ++n) {
            double r[4];
            for (int i = 0; i < 4; ++i) {
                seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
                r[i] = size * (double)(seed >> 11) / 9007199254740992.0;
            }
            perp_ledger step = {.forces = r[0], .friction = -r[1], .gap = r[2], .step_loss = -r[3]};
            step.magnitude = r[0] + r[1] + r[2] + r[3];
            const double next = energy + (step.forces + step.friction + step.gap + step.step_loss);
            step.change = next - energy;
            step.unexplained =
                step.change - step.forces - step.friction - step.gap - step.step_loss;
            energy = next;
            perp_ledger_add(&sum, &step);
        }
        s.frame.step = s.before.step + steps;
        s.frame.energy = (perp_energy){.kinetic = fabs(energy), .total = energy};
        if (!holds(&s, &sum)) {
            TEST_PRINT("%d steps: %s", steps, s.why);
        }
        CHECK(holds(&s, &sum));
    }
    sample_close(&s);
}

TEST(a_nan_in_a_step_stays_in_the_sum)
{
    perp_ledger sum = {.friction = -1.0}, step = {.friction = (double)NAN, .gap = 2.0};
    perp_ledger_add(&sum, &step);
    step = (perp_ledger){.friction = -1.0, .gap = 0.5};
    perp_ledger_add(&sum, &step);
    CHECK(isnan(sum.friction));
    CHECK_NEAR(sum.gap, 2.5, 0.0);
    CHECK(perp_ledger_name(PERP_LEDGER_COUNT) == NULL);
    CHECK_EQ_STR(perp_ledger_name(6), "friction");
    CHECK_NEAR(perp_ledger_entry(&sum, 9), 2.5, 0.0);
}
