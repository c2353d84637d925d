/* Measures and stops as part of a simulation: samples, NaN, snapshots, clones, edits. */
#include "perp/perp.h"
#include "perp_test.h"
#include "support/scene_sim.h"

/* A body in free flight, x = v t, y falls; `measures` and `stop` are put in. */
static scene_sim open_flight(const char* rest)
{
    return scene_sim_open("{'dimension': 2, 'gravity': [0, -10], 'step': 0.125, 'duration': 1,"
                          " 'parameters': {'v': 2, 'w': '3*v'}, 'bodies': [{'name': 'p', 'mass': 1,"
                          " 'inertia': 1, 'velocity': ['v', 0]}, {'name': 'e.x', 'mass': 1,"
                          " 'inertia': 1}]%s}",
                          rest);
}

static double value(const scene_sim* s, const char* name)
{
    const int32_t i = s->sim != NULL ? perp_sim_measure_find(s->sim, name) : -1;
    CHECK(i >= 0);
    return i >= 0 ? perp_sim_measure(s->sim, i) : 1e300;
}

static void run(scene_sim* s)
{
    if (s->sim == NULL) {
        TEST_PRINT("%s", s->error);
        CHECK(false);
        return;
    }
    CHECK_OK(perp_sim_run(s->sim));
}

TEST(a_stop_ends_the_run_and_names_its_outcome)
{
    scene_sim s = open_flight(", 'stop': [{'name': 'late', 'when': 't >= 0.75'},"
                              " {'name': 'far', 'when': 'p.position.x > 1 and not 0'},"
                              " {'name': 'as far', 'when': 'p.position.x > 1'}]");
    CHECK_EQ_STR(perp_sim_outcome(s.sim), "");
    run(&s);
    CHECK_EQ_STR(perp_sim_outcome(s.sim), "far"); /* the first of two that hold */
    CHECK_EQ_INT(perp_sim_stopped(s.sim), 1);
    CHECK(perp_sim_time(s.sim) == 0.625); /* 2 * 0.5 is not > 1 */
    CHECK_EQ_INT(perp_sim_step(s.sim), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(s.context), "ended at its stop 'far'");
    CHECK_OK(perp_sim_reset(s.sim));
    CHECK_EQ_INT(perp_sim_stopped(s.sim), -1);
    scene_sim_close(&s);

    scene_sim now = open_flight(", 'stop': [{'name': 'at once', 'when': 'w == 6'}]");
    run(&now);
    CHECK_EQ_INT(perp_sim_step_count(now.sim), 0);
    CHECK_EQ_STR(perp_sim_outcome(now.sim), "at once");
    scene_sim_close(&now);
}

/* Samples at k h, k = 0 .. 8, all exact in binary. */
TEST(every_kind_of_measure_is_what_its_name_says)
{
    scene_sim s = open_flight(
        ", 'measures': {'end': 'p.position.x + w', 'max': {'max': '(t - 0.5)^2'},"
        " 'min': {'min': '(t - 0.5)^2'}, 'area': {'integral': 'if(t < 0.5, 0, 1)'},"
        " 'mean': {'mean': 'p.position.x'}, 'line': {'first_time': 'p.position.x >= 0.875'},"
        " 'strict': {'first_time': 'p.position.x > 1'}, 'word': {'first_time': 'not (t < 0.6)'},"
        " 'never': {'first_time': 't > 5'}, 'start': {'first_time': 't >= 0'},"
        " 'dots': 'e.x.position.y', 'brackets': '[e.x].position.y',"
        " 'three': 'max(hypot(2, 3, 6), 5, 6)'}");
    CHECK(isnan(value(&s, "never")) && value(&s, "start") == 0.0 && value(&s, "end") == 6.0);
    run(&s);
    CHECK(value(&s, "end") == 8.0);
    CHECK(value(&s, "max") == 0.25);
    CHECK(value(&s, "min") == 0.0);
    CHECK(value(&s, "area") == 0.5 + 0.0625); /* half a step of the jump */
    CHECK(value(&s, "mean") == 1.0);
    CHECK(value(&s, "line") == 0.4375); /* between the steps at 0.375 and 0.5 */
    CHECK(value(&s, "strict") == 0.5);  /* where the line crosses, though no step holds before */
    CHECK(value(&s, "word") == 0.625);  /* no comparison: the end of the step */
    CHECK(isnan(value(&s, "never")));
    CHECK(value(&s, "start") == 0.0);
    CHECK(value(&s, "dots") == value(&s, "brackets") && value(&s, "dots") < -4.0);
    CHECK(value(&s, "three") == 7.0);
    CHECK_EQ_STR(perp_sim_outcome(s.sim), "end");
    CHECK(perp_sim_measure_begin(s.sim) == 0.0);
    scene_sim_close(&s);
}

TEST(a_sample_that_is_not_a_number_is_not_hidden)
{
    scene_sim s = open_flight(", 'measures': {'max': {'max': 'sqrt(0.5 - t)'}, 'last': 'log(-t)',"
                              " 'sum': {'integral': '0/(t - t)'}, 'first': {'first_time':"
                              " 'sqrt(0.5 - t) > 9'}, 'fine': {'max': 't'},"
                              " 'guarded': {'first_time': 't > 9 and sqrt(0.5 - t) > 9'}}");
    run(&s);
    CHECK(isnan(value(&s, "max")) && isnan(value(&s, "last")) && isnan(value(&s, "sum")));
    CHECK(isnan(value(&s, "first")) && isnan(value(&s, "guarded")));
    CHECK(value(&s, "fine") == 1.0);
    scene_sim_close(&s);

    scene_sim bad = open_flight(", 'stop': [{'name': 'odd', 'when': 'sqrt(0.5 - t) > 9'}]");
    CHECK_EQ_INT(perp_sim_run(bad.sim), PERP_ERROR_NUMERIC);
    CHECK_CONTAINS(perp_context_error(bad.context), "stop/0/when: 'sqrt(0.5 - t) > 9' is not a");
    CHECK(perp_sim_time(bad.sim) == 0.625);
    CHECK(!perp_sim_finished(bad.sim));
    CHECK_EQ_INT(perp_sim_step(bad.sim), PERP_ERROR_NUMERIC); /* it stays so */
    scene_sim_close(&bad);

    /* in the last step, too */
    scene_sim late = open_flight(", 'stop': [{'name': 'odd', 'when': 'sqrt(0.9 - t) > 9'}]");
    CHECK_EQ_INT(perp_sim_run(late.sim), PERP_ERROR_NUMERIC);
    CHECK(perp_sim_time(late.sim) == 1.0);
    scene_sim_close(&late);
}

/* p.position.x = 2 t, samples every 0.125. */
TEST(a_sum_takes_the_values_at_its_interval)
{
    scene_sim s =
        open_flight(", 'measures': {'even': {'sum': 'p.position.x', 'every': 0.25},"
                    " 'odd': {'sum': 'p.position.x', 'every': 0.3},"
                    " 'dense': {'sum': 'p.position.x', 'every': 0.0625},"
                    " 'late': {'sum': '1', 'every': 1.5},"
                    " 'nan': {'sum': '1 + 0*sqrt(0.5 - t)', 'every': 0.25},"
                    " 'unseen': {'sum': '1 + 0*sqrt(0.0625 - abs(t - 0.5))', 'every': 0.5},"
                    " 'step': {'sum': 'solver.contacts + 1', 'every': 'v/8'}}");
    CHECK(isnan(value(&s, "even")));
    run(&s);
    CHECK(value(&s, "even") == 0.5 + 1.0 + 1.5 + 2.0);
    CHECK(value(&s, "odd") == 0.75 + 1.25 + 2.0); /* at the first steps after 0.3, 0.6, 0.9 */
    CHECK(value(&s, "dense") == 18.0);            /* every step passes two of its times */
    CHECK(isnan(value(&s, "late")));              /* none came */
    CHECK(isnan(value(&s, "nan")) && isnan(value(&s, "unseen")));
    CHECK(value(&s, "step") == 4.0);
    scene_sim_close(&s);
}

TEST(a_window_is_the_part_of_the_run_before_its_end)
{
    scene_sim s =
        open_flight(", 'measures': {'mean': {'mean': 'p.position.x', 'over': 0.25},"
                    " 'part': {'mean': 't', 'over': 0.2, 'every': 0.5},"
                    " 'last': {'integral': 't', 'over': 0.1, 'every': 0.3},"
                    " 'short': {'mean': 't', 'over': 0.01, 'every': 0.03},"
                    " 'step': {'integral': 'solver.contacts + 2', 'over': 0.3, 'every': 0.4},"
                    " 'late': {'mean': '1', 'over': 1.5}}");
    CHECK(isnan(value(&s, "mean")));
    run(&s);
    CHECK(value(&s, "mean") == 1.75);                 /* [0.75, 1] */
    CHECK_NEAR(value(&s, "part"), 0.9, 1e-15);        /* [0.8, 1], within a step */
    CHECK_NEAR(value(&s, "last"), 0.1 * 0.85, 1e-15); /* [0.8, 0.9] */
    CHECK_NEAR(value(&s, "short"), 0.985, 1e-14);     /* [0.98, 0.99], shorter than a step */
    CHECK_NEAR(value(&s, "step"), 0.6, 1e-15);        /* [0.5, 0.8] */
    CHECK(isnan(value(&s, "late")));
    scene_sim_close(&s);
}

TEST(a_measure_may_use_those_before_it)
{
    scene_sim s = open_flight(
        ", 'measures': {'x': 'p.position.x', 'speed': {'mean': 'p.velocity.x', 'over': 0.25},"
        " 'most': {'max': 'x + speed'}, 'count': {'sum': 'speed', 'every': 0.25},"
        " 'hit': {'first_time': 'x >= 1'}, 'after': {'min': 'x - hit'},"
        " 'contacts': 'solver.contacts', 'none': {'max': 'contacts + 1'},"
        " 'again': {'mean': 'speed', 'over': 0.25}},"
        " 'stop': [{'name': 'enough', 'when': 'count > 5.9'}]");
    run(&s);
    CHECK_EQ_STR(perp_sim_outcome(s.sim), "enough");
    CHECK(perp_sim_time(s.sim) == 0.75);
    CHECK(value(&s, "x") == 1.5 && value(&s, "speed") == 2.0);
    CHECK(value(&s, "most") == 3.5);      /* not sampled before the first window was complete */
    CHECK(value(&s, "count") == 6.0);     /* each sum after the window that ends with it */
    CHECK(value(&s, "after") == 1 - 0.5); /* from the hit on */
    CHECK(value(&s, "none") == 1.0);
    CHECK(value(&s, "again") == 2.0);
    scene_sim_close(&s);
}

TEST(times_of_measures_are_checked)
{
    static const struct {
        const char *measures, *message;
    } bad[] = {
        {"{'x': {'sum': 't'}}", "measures/x/every: must be > 0, got 0"},
        {"{'x': {'sum': 't', 'every': -1}}", "measures/x/every: must be > 0, got -1"},
        {"{'x': {'sum': 't', 'every': 1, 'over': 1}}", "measures/x/over: is for \"mean\""},
        {"{'x': {'max': 't', 'every': 1}}", "measures/x/every: is for \"sum\""},
        {"{'x': {'mean': 't', 'every': 1}}", "measures/x/every: is for \"sum\""},
        {"{'x': {'mean': 't', 'over': -1}}", "measures/x/over: must be > 0, got -1"},
        {"{'x': {'mean': 't', 'over': 1, 'every': 0.5}}", "measures/x/over: must be at most every"},
        {"{'x': {'mean': 't', 'max': 't'}}", "/measures/x: must have one of"},
        {"{'x': {'over': 1}}", "/measures/x: must have one of"},
        {"{'x': 'y', 'y': 't'}", "no quantity or parameter 'y'"},
        {"{'x': {'max': 'x'}}", "no quantity or parameter 'x'"},
        {"{'speed': 't', 'x': 'sped'}", "did you mean 'speed'?"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        char rest[200];
        (void)snprintf(rest, sizeof rest, ", 'measures': %s", bad[i].measures);
        scene_sim s = open_flight(rest);
        CHECK(s.sim == NULL);
        CHECK_CONTAINS(s.error, bad[i].message);
        scene_sim_close(&s);
    }
}

static const char many[] =
    ", 'measures': {'a': {'max': 'p.position.y'}, 'b': {'integral': 'p.speed'},"
    " 'c': {'mean': 'energy.kinetic'}, 'd': {'first_time': 'p.velocity.y < -7'},"
    " 'e': {'min': 'ledger.change'}, 'f': 'p.position.x', 'g': {'integral': 'solver.residual'},"
    " 'h': {'mean': 'p.speed', 'over': 0.3, 'every': 0.35}, 'i': {'sum': 'h + e', 'every': 0.2},"
    " 'j': {'integral': 'solver.residual + 1', 'over': 0.23}},"
    " 'stop': [{'name': 'low', 'when': 'p.position.y < -4'}]";

static void check_same(const scene_sim* a, const perp_sim* b)
{
    CHECK_EQ_INT(perp_sim_measure_count(b), perp_sim_measure_count(a->sim));
    for (int32_t i = 0; i < perp_sim_measure_count(b); ++i) {
        const double x = perp_sim_measure(a->sim, i), y = perp_sim_measure(b, i);
        CHECK(memcmp(&x, &y, sizeof x) == 0);
    }
    CHECK_EQ_STR(perp_sim_outcome(b), perp_sim_outcome(a->sim));
}

TEST(a_snapshot_a_clone_and_a_reset_keep_the_measures)
{
    scene_sim s = open_flight(many);
    static char buffer[65536];
    size_t size = sizeof buffer;
    for (int i = 0; i < 4; ++i) {
        CHECK_OK(perp_sim_step(s.sim));
    }
    perp_sim* clone = NULL;
    CHECK_OK(perp_sim_save(s.sim, buffer, &size));
    CHECK_OK(perp_sim_clone(s.sim, NULL, &clone));
    CHECK_OK(perp_sim_run(s.sim));
    CHECK_OK(perp_sim_run(clone));
    check_same(&s, clone);
    perp_sim_destroy(clone);

    scene_sim other = open_flight(many);
    CHECK_OK(perp_sim_restore(other.sim, buffer, size));
    CHECK_OK(perp_sim_run(other.sim));
    check_same(&s, other.sim);
    CHECK_OK(perp_sim_reset(other.sim));
    CHECK(value(&other, "a") == 0.0 && isnan(value(&other, "d")));
    CHECK_OK(perp_sim_run(other.sim));
    check_same(&s, other.sim);
    scene_sim_close(&other);

    /* other measures begin where the snapshot was taken */
    scene_sim less = open_flight(", 'measures': {'x': {'min': 'p.position.x'}}");
    CHECK_OK(perp_sim_restore(less.sim, buffer, size));
    CHECK(perp_sim_measure_begin(less.sim) == 0.5);
    CHECK_OK(perp_sim_run(less.sim));
    CHECK(value(&less, "x") == 1.0);
    scene_sim_close(&less);
    CHECK_EQ_INT(perp_sim_restore(s.sim, buffer, size - 8), PERP_ERROR_INPUT);
    scene_sim_close(&s);
}

TEST(a_state_that_is_set_is_sampled)
{
    scene_sim s = open_flight(", 'measures': {'least': {'min': 'p.position.x'}, 'most': {'max':"
                              " 'p.position.x'}, 'area': {'integral': 'p.position.x'}}");
    const double far[3] = {8, 0, 0}, farther[3] = {100, 0, 0};
    CHECK_OK(perp_sim_set_body_pose(s.sim, 0, farther, NULL));
    CHECK_OK(
        perp_sim_set_body_pose(s.sim, 0, far, NULL)); /* another start: nothing is left of it */
    CHECK_OK(perp_sim_step(s.sim));
    CHECK(value(&s, "least") == 8.0 && value(&s, "most") == 8.25);
    CHECK_OK(perp_sim_set_body_pose(s.sim, 0, farther, NULL)); /* in the run: seen */
    CHECK(value(&s, "most") == 100.0);
    CHECK_OK(perp_sim_step(s.sim));
    CHECK(value(&s, "area") == 0.125 * (8.125 + 100.125)); /* not between 8.25 and 100 */
    scene_sim_close(&s);
}

TEST(a_warm_step_with_measures_allocates_nothing)
{
    scene_sim s = scene_sim_open(
        "{'gravity': [0, 0, -9.81], 'step': 0.01, 'duration': 10, 'bodies': [{'name': 'g',"
        " 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0, 0, 1]}]}, {'name': 'b',"
        " 'mass': 1, 'inertia': [1, 1, 1], 'position': [0, 0, 0.5], 'shapes': [{'type': 'box',"
        " 'size': [1, 1, 1]}]}, {'name': 'c', 'mass': 1, 'inertia': [1, 1, 1],"
        " 'position': [3, 0, 0.5], 'shapes': [{'type': 'box', 'size': [1, 1, 1]}]}],"
        " 'measures': {'a': {'max': 'distance.b.c'}, 'b': {'mean': 'contact.g.b.slip + b.speed'},"
        " 'c': {'first_time': 'energy.total < -9'}}, 'stop': [{'name': 'no', 'when': 'b.force.z > "
        "1e9"
        " or distance.g.b > 1'}]}");
    for (int i = 0; i < 100; ++i) {
        CHECK_OK(perp_sim_step(s.sim));
    }
    const uint64_t before = perp_context_allocations(s.context);
    for (int i = 0; i < 100; ++i) {
        CHECK_OK(perp_sim_step(s.sim));
    }
    CHECK_EQ_U64(perp_context_allocations(s.context), before);
    CHECK_NEAR(value(&s, "a"), 2.0, 1e-9);
    scene_sim_close(&s);
}

/* The motion does not depend on what is measured. */
TEST(measures_change_no_bit_of_the_motion)
{
    scene_sim a = open_flight(""), b = open_flight(many);
    for (int i = 0; i < 7; ++i) {
        CHECK_OK(perp_sim_step(a.sim));
        CHECK_OK(perp_sim_step(b.sim));
    }
    CHECK(memcmp(perp_sim_q(a.sim), perp_sim_q(b.sim),
                 (size_t)perp_sim_q_size(a.sim) * sizeof(double)) == 0);
    scene_sim_close(&a);
    scene_sim_close(&b);
}

TEST(a_definition_in_c_is_checked_and_copied)
{
    scene_sim s = open_flight("");
    perp_sim_def def = perp_sim_def_from_scene(s.scene);
    char name[] = "x", text[] = "p.position.x + k";
    perp_parameter k = {"k", 0.5};
    perp_measure_def measure = {.name = name, .kind = PERP_MEASURE_MAX, .expression = text};
    perp_stop_def stop = {"end", "1"};
    perp_sim* sim = NULL;
    def.parameter = &k;
    def.parameter_count = 1;
    def.measure = &measure;
    def.measure_count = 1;
    CHECK_OK(perp_sim_create(s.context, perp_scene_model(s.scene), &def, &sim));
    name[0] = text[0] = '?';
    CHECK_OK(perp_sim_run(sim));
    CHECK(perp_sim_measure(sim, perp_sim_measure_find(sim, "x")) == 2.5);
    CHECK_EQ_INT(perp_sim_measure_find(sim, "?"), -1);

    /* written as a scene, and read again */
    perp_scene* scene = NULL;
    CHECK_OK(perp_scene_from_sim(s.context, sim, 1, &scene));
    CHECK_CONTAINS(perp_scene_text(scene),
                   "\"measures\": {\"x\": {\"max\": \"p.position.x + k\"}}");
    CHECK_CONTAINS(perp_scene_text(scene), "\"parameters\": {\"k\": 0.5}");
    perp_scene_destroy(scene);
    perp_sim_destroy(sim);
    measure =
        (perp_measure_def){"y", PERP_MEASURE_MEAN, "p.position.x", .every = 0.5, .over = 0.25};
    CHECK_OK(perp_sim_create(s.context, perp_scene_model(s.scene), &def, &sim));
    CHECK_OK(perp_scene_from_sim(s.context, sim, 1, &scene));
    CHECK_CONTAINS(perp_scene_text(scene),
                   "{\"y\": {\"mean\": \"p.position.x\", \"over\": 0.25, \"every\": 0.5}}");
    measure.kind = PERP_MEASURE_MAX;
    measure.every = measure.over = 0.0;
    perp_scene_destroy(scene);
    perp_sim_destroy(sim);
    sim = NULL;

    measure.name = "x";
    measure.expression = "p.positon.x";
    CHECK_EQ_INT(perp_sim_create(s.context, perp_scene_model(s.scene), &def, &sim),
                 PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(s.context),
                   "measures/x: expression 'p.positon.x': no quantity "
                   "or parameter 'p.positon.x' (did you mean "
                   "'p.position.x'?)");
    measure.expression = "1";
    def.stop = &stop;
    def.stop_count = 1;
    CHECK_EQ_INT(perp_sim_create(s.context, perp_scene_model(s.scene), &def, &sim),
                 PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(s.context), "stop/0/name: 'end'");
    stop.name = "z";
    k.name = "sin";
    CHECK_EQ_INT(perp_sim_create(s.context, perp_scene_model(s.scene), &def, &sim),
                 PERP_ERROR_INPUT);
    CHECK(sim == NULL);
    scene_sim_close(&s);
}

/* Every quantity that is listed is found again by its name, and by nothing else. */
TEST(the_name_of_a_quantity_finds_it)
{
    scene_sim s = scene_sim_open(
        "{'dimension': 2, 'bodies': [{'name': 'left-link', 'mass': 1, 'inertia': 1}, {'name': "
        "'a.b',"
        " 'mass': 1, 'inertia': 1}, {'name': '0', 'mass': 1, 'inertia': 1}, {'name': 'x y',"
        " 'mass': 1, 'inertia': 1}], 'joints': [{'name': 'j/1', 'type': 'revolute',"
        " 'a': 'left-link', 'b': 'a.b', 'at': [0, 0]}], 'controllers': [{'type': 'pd',"
        " 'joint': 'j/1', 'kp': 1, 'target': 0}]}");
    if (s.sim == NULL) {
        TEST_PRINT("%s", s.error);
    }
    const perp_model* model = perp_scene_model(s.scene);
    perp_quantity q, found[8];
    int32_t count = 0, n = 0;
    char name[200];
    for (; perp_quantity_list(model, n, &q); ++n) {
        (void)perp_quantity_name(model, &q, name, sizeof name);
        CHECK_OK(perp_quantity_find(s.context, model, name, found, 8, &count));
        CHECK(count == 1 && found[0].entry == q.entry && found[0].owner == q.owner);
        CHECK(isfinite(perp_sim_quantity(s.sim, &q)));
    }
    CHECK_AT_LEAST(n, 70);
    static const char* const good[] = {
        "left-link.position.x",  "[left-link].position.x",          "distance.[x y].[a.b]",
        "distance.a.b.0",        "contact.[left-link].a.b.slip",    "controller.[j/1].effort",
        "controller.j/1.effort", "contact.[x y].[left-link].force", "[j/1].coordinate"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        CHECK_OK(perp_quantity_find(s.context, model, good[i], found, 8, &count));
    }
    static const char* const bad[] = {"left-link.position.z",
                                      "distance.0.0",
                                      "distance.0",
                                      "nobody.speed",
                                      "[left-link]",
                                      "left-link.",
                                      "",
                                      "contact.0.a.b.none",
                                      ".",
                                      "[",
                                      "[]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        CHECK_EQ_INT(perp_quantity_find(s.context, model, bad[i], found, 8, &count),
                     PERP_ERROR_INPUT);
    }
    scene_sim_close(&s);
}

/* An allocator that fails from the n-th request on. */
typedef struct meagre {
    long out, left; /* left < 0: no limit */
} meagre;

static void* meagre_resize(void* user, void* p, size_t size)
{
    meagre* m = user;
    if (size == 0) {
        m->out -= p != NULL ? 1 : 0;
        free(p);
        return NULL;
    }
    if (m->left == 0) {
        return NULL;
    }
    m->left -= m->left > 0 ? 1 : 0;
    void* q = realloc(p, size);
    m->out += p == NULL && q != NULL ? 1 : 0;
    return q;
}

TEST(a_simulation_without_memory_for_its_measures_is_not_created_and_leaks_nothing)
{
    scene_sim s = open_flight(many);
    const perp_sim_def def = perp_sim_def_from_scene(s.scene);
    bool created = false;
    for (long n = 0; !created && n < 3000; ++n) {
        meagre m = {.left = -1};
        perp_context_def of = perp_context_def_default();
        of.allocator = (perp_allocator){meagre_resize, &m};
        perp_context* context = NULL;
        perp_sim* sim = NULL;
        CHECK_OK(perp_context_create(&of, &context));
        m.left = n;
        const perp_status status = perp_sim_create(context, perp_scene_model(s.scene), &def, &sim);
        CHECK(status == PERP_OK || (status == PERP_ERROR_MEMORY && sim == NULL));
        created = status == PERP_OK;
        perp_sim_destroy(sim);
        CHECK_EQ_INT(m.out, 1);
        perp_context_destroy(context);
    }
    CHECK(created);
    scene_sim_close(&s);
}
