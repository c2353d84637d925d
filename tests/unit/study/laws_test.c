/* The method `laws`: pairs of states that a simulation or a formula gave, from which friction,
 * restitution and sizes are found again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perp/set.h"
#include "perp_test.h"
#include "study/laws.h"

static perp_context* context;
static char* text;
static size_t length;

static const char ELLIPSE[] =
    "{\"dimension\": 2, \"gravity\": [0, 0], \"step\": 0.001, \"duration\": 0.01,"
    " \"parameters\": {\"mu\": 0.2, \"rebound\": 0.5, \"I\": 4.0e-4, \"m\": 1},"
    " \"friction\": {\"pairs\": [{\"a\": \"part\", \"b\": \"ground\", \"mu\": \"mu\", "
    "\"restitution\": \"rebound\"}]},"
    " \"bodies\": [{\"name\": \"ground\", \"type\": \"static\", \"shapes\": [{\"type\": "
    "\"halfplane\", \"normal\": [0, 1], \"offset\": 0}]},"
    "  {\"name\": \"part\", \"type\": \"dynamic\", \"mass\": \"m\", \"inertia\": \"I*m\", "
    "\"position\": [0, 100],"
    "   \"shapes\": [{\"type\": \"superellipse\", \"radii\": [0.035, 0.025], \"exponent\": 2}]}]}";

static perp_study* make(const char* scene, const char* keys)
{
    char* study = NULL;
    size_t size = 0;
    perp_study* s = NULL;
    FILE* f = fopen("laws-scene.json", "w");
    fputs(scene, f);
    fclose(f);
    f = fopen("laws-data.csv", "w");
    fwrite(text, 1, length, f);
    fclose(f);
    f = open_memstream(&study, &size);
    fprintf(
        f,
        "{\"scene\": \"laws-scene.json\", \"data\": \"laws-data.csv\", \"method\": \"laws\", %s}",
        keys);
    fclose(f);
    CHECK_OK(perp_context_create(NULL, &context));
    if (perp_study_parse(context, study, size, "laws.json", &s) != PERP_OK) {
        s = NULL;
    }
    free(study);
    return s;
}

static void clean_up(perp_study* s)
{
    perp_study_destroy(s);
    perp_context_destroy(context);
    free(text);
    text = NULL;
}

/* ---- impacts ------------------------------------------------------------------------------------*/

#define IMPACTS                                                                                    \
    "\"observe\": {\"p\": {\"position\": \"part\", \"columns\": [\"x\", \"y\"]},"                  \
    " \"a\": {\"orientation\": \"part\", \"columns\": [\"a\"]},"                                   \
    " \"v\": {\"velocity\": \"part\", \"columns\": [\"vx\", \"vy\"]},"                             \
    " \"w\": {\"angular_velocity\": \"part\", \"columns\": [\"w\"]}},"                             \
    " \"after\": {\"v\": [\"vx1\", \"vy1\"], \"w\": \"w1\"}, "

typedef struct planar {
    double pose[3], before[3], after[3];
} planar;

/* A uniform number in (-1, 1). */
static double draw(uint64_t* state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)*state * 0x1p-63;
}

/* Newton's law with Coulomb's friction for an ellipse of mass 1, in closed form: sticking, or
 * sliding towards it. */
static void bounce(planar* i, double mu, double e, double k)
{
    const double a = 0.035, b = 0.025, c = cos(i->pose[2]), s = sin(i->pose[2]);
    const double height = sqrt(a * a * s * s + b * b * c * c);
    const double x = -a * a * s / height, y = -b * b * c / height;
    const double rx = c * x - s * y, ry = s * x + c * y;
    const double nn = 1 + rx * rx / k, tt = 1 + ry * ry / k, nt = -rx * ry / k;
    const double u_n = i->before[1] + rx * i->before[2], u_t = i->before[0] - ry * i->before[2];
    double p_n = (-tt * (1 + e) * u_n + nt * u_t) / (nn * tt - nt * nt);
    double p_t = (-nn * u_t + nt * (1 + e) * u_n) / (nn * tt - nt * nt);
    if (!(fabs(p_t) <= mu * p_n)) {
        const double side = p_t > 0 ? 1 : -1;
        p_n = -(1 + e) * u_n / (nn + side * mu * nt);
        p_t = side * mu * p_n;
    }
    i->after[0] = i->before[0] + p_t;
    i->after[1] = i->before[1] + p_n;
    i->after[2] = i->before[2] + (rx * p_n - ry * p_t) / k;
}

static planar random_impact(uint64_t* state)
{
    planar i = {.pose = {draw(state), 0.03 + 0.01 * draw(state), 3.0 * draw(state)},
                .before = {-0.6 + 0.4 * draw(state), -2.5 + 0.3 * draw(state), 8 * draw(state)}};
    return i;
}

/* The table, with noise in the velocities after. Poses are off in height, as measured ones are. */
static void make_impacts_in(double unit, int count, double mu, double e, double k, double noise)
{
    uint64_t state = 7;
    FILE* f = open_memstream(&text, &length);
    fputs("x,y,a,vx,vy,w,vx1,vy1,w1\n", f);
    for (int n = 0; n < count; ++n) {
        planar i = random_impact(&state);
        bounce(&i, mu, e, k);
        for (int c = 0; c < 3; ++c) {
            i.after[c] += noise * draw(&state) / (c == 2 ? sqrt(k) : 1.0);
        }
        const double row[9] = {unit * i.pose[0],   unit * i.pose[1],   i.pose[2],
                               unit * i.before[0], unit * i.before[1], i.before[2],
                               unit * i.after[0],  unit * i.after[1],  i.after[2]};
        for (int c = 0; c < 9; ++c) {
            fprintf(f, "%.17g%s", row[c], c < 8 ? "," : "\n");
        }
    }
    fclose(f);
}

static void make_impacts(int count, double mu, double e, double k, double noise)
{
    make_impacts_in(1.0, count, mu, e, k, noise);
}

static double total(const perpi_laws* laws)
{
    double sum = 0.0;
    for (int32_t i = 0; i < laws->pair_count; ++i) {
        sum += laws->pair[i].loss;
    }
    return sum;
}

TEST(impacts_by_the_law_have_no_residual_and_are_predicted)
{
    enum { COUNT = 40 };
    make_impacts(COUNT, 0.18, 0.53, 4.0e-4, 0.0);
    perp_study* s = make(ELLIPSE, IMPACTS
                         "\"unknown\": {\"mu\": {\"start\": 0.1}, \"rebound\": {\"start\": 0.6}}");
    REQUIRE(s != NULL);
    perpi_predictor* p = NULL;
    perpi_laws* laws = NULL;
    const double truth[2] = {0.18, 0.53}, other[2] = {0.15, 0.53};
    REQUIRE_OK(perpi_predictor_create(context, s, &p));
    REQUIRE_OK(perpi_laws_create(context, p, s->estimate, &laws));
    REQUIRE_OK(perpi_laws_use(laws, &s->estimate->data, false));
    REQUIRE_EQ_INT(laws->pair_count, COUNT);
    REQUIRE_OK(perpi_laws_evaluate(laws, truth, false));
    CHECK_AT_MOST(total(laws), 1e-20);
    for (int i = 0; i < COUNT; ++i) {
        double error = NAN;
        REQUIRE_OK(perpi_laws_impact(laws, &laws->pair[i], truth, &error));
        CHECK_AT_MOST(error, 1e-8);
    }
    REQUIRE_OK(perpi_laws_evaluate(laws, other, false));
    CHECK(total(laws) > 1e-3);
    laws->residual_kind = PERPI_LAWS_PREDICTION;
    REQUIRE_OK(perpi_laws_evaluate(laws, truth, false));
    CHECK_AT_MOST(total(laws), 1e-14);
    perpi_laws_destroy(laws);
    perpi_predictor_destroy(p);
    clean_up(s);
}

/* Envelope theorem: at fixed impulses the derivative is that of the least loss; impulses of the
 * neighbours are found anew here. */
TEST(the_gradient_of_the_loss_is_that_of_differences)
{
    make_impacts(30, 0.18, 0.53, 4.0e-4, 0.05);
    for (int poisson = 0; poisson < 2; ++poisson) {
        char scene[2000];
        snprintf(scene, sizeof scene, "{%s %s",
                 poisson ? "\"restitution\": {\"law\": \"poisson\", \"e\": 0.5}," : "",
                 ELLIPSE + 1);
        perp_study* s = make(scene, IMPACTS "\"unknown\": {\"mu\": {}, \"rebound\": {}, \"I\": {}, "
                                            "\"/bodies/1/shapes/0/radii/0\": {}}");
        REQUIRE(s != NULL);
        perpi_predictor* p = NULL;
        perpi_laws* laws = NULL;
        REQUIRE_OK(perpi_predictor_create(context, s, &p));
        REQUIRE_OK(perpi_laws_create(context, p, s->estimate, &laws));
        REQUIRE_OK(perpi_laws_use(laws, &s->estimate->data, false));
        double at[4] = {0.15, 0.5, 4.4e-4, 0.035}, gradient[4] = {0, 0, 0, 0};
        REQUIRE_OK(perpi_laws_evaluate(laws, at, true));
        const perpi_laws_pair* last = &laws->pair[laws->pair_count - 1];
        for (size_t row = 0; row < last->residual + (size_t)last->rows; ++row) {
            for (size_t j = 0; j < 4; ++j) {
                gradient[j] += laws->derivative[4 * row + j] * laws->residual[row];
            }
        }
        for (int j = 0; j < 4; ++j) {
            const double value = at[j], step = 1e-5 * value;
            at[j] = value + step;
            REQUIRE_OK(perpi_laws_evaluate(laws, at, false));
            const double high = total(laws);
            at[j] = value - step;
            REQUIRE_OK(perpi_laws_evaluate(laws, at, false));
            const double low = total(laws);
            at[j] = value;
            CHECK_NEAR(gradient[j], (high - low) / (2 * step), 1e-4 * fabs(gradient[j]));
        }
        perpi_laws_destroy(laws);
        perpi_predictor_destroy(p);
        perp_study_destroy(s);
        perp_context_destroy(context);
    }
    free(text);
    text = NULL;
}

/* ---- estimates ----------------------------------------------------------------------------------*/

static perp_estimate* run(perp_study* s)
{
    perp_estimate* estimate = NULL;
    perp_estimate_def def = perp_estimate_def_default();
    def.jobs = 1;
    CHECK_OK(perp_estimate_run(context, s, &def, &estimate));
    return estimate;
}

/* Both residuals; the inertia over the mass is found, the mass itself is not. */
TEST(friction_restitution_and_inertia_of_noisy_impacts_are_found_and_a_mass_is_not)
{
    static const double truth[3] = {0.18, 0.53, 4.5e-4};
    static const char* const residual[] = {"laws", "prediction"};
    for (int kind = 0; kind < 2; ++kind) {
        char keys[1200];
        make_impacts(150, truth[0], truth[1], truth[2], 0.05);
        snprintf(
            keys, sizeof keys,
            IMPACTS
            "\"unknown\": {\"mu\": {\"start\": 0.1, \"bounds\": [0, 1]}, \"rebound\": "
            "{\"start\": 0.8, \"bounds\": [0, 1]}, \"I\": {\"start\": 3e-4, \"bounds\": [1e-4, "
            "1e-3]}, \"m\": {\"bounds\": [0.1, 10]}}, \"options\": {\"residual\": \"%s\"}",
            residual[kind]);
        perp_study* s = make(ELLIPSE, keys);
        REQUIRE(s != NULL);
        perp_estimate* x = run(s);
        REQUIRE(x != NULL);
        CHECK(perp_estimate_converged(x));
        for (int i = 0; i < 3; ++i) {
            const perp_estimated found = perp_estimate_value(x, i);
            CHECK(found.identifiable);
            CHECK_NEAR(found.value, truth[i], 4.0 * found.deviation);
            CHECK_AT_MOST(found.deviation, 0.05 * truth[i]);
            CHECK(found.low < found.value && found.value < found.high);
        }
        const perp_estimated mass = perp_estimate_value(x, 3);
        CHECK(!mass.identifiable && isinf(mass.low) && isinf(mass.high));
        CHECK_CONTAINS(perp_estimate_json(x), "kinetic_energy_error");
        perp_estimate_destroy(x);
        clean_up(s);
    }
}

/* The fit does not depend on the unit of length, and its file predicts other impacts. */
TEST(metres_and_millimetres_give_the_same_coefficients_and_the_fitted_study_predicts)
{
    double found[2][2];
    for (int mm = 0; mm < 2; ++mm) {
        char scene[2000];
        const double unit = mm ? 1000.0 : 1.0;
        make_impacts_in(unit, 80, 0.18, 0.53, 4.0e-4, 0.1);
        snprintf(scene, sizeof scene, "%s", ELLIPSE);
        if (mm) { /* 0.035 -> 35.00 and the inertia by 1e6 */
            memcpy(strstr(scene, "0.035"), "35.00", 5);
            memcpy(strstr(scene, "0.025"), "25.00", 5);
            memcpy(strstr(scene, "4.0e-4"), "400.00", 6);
        }
        perp_study* s =
            make(scene,
                 IMPACTS "\"unknown\": {\"mu\": {\"start\": 0.1}, \"rebound\": {\"start\": 0.6}}");
        REQUIRE(s != NULL);
        perp_estimate* x = run(s);
        REQUIRE(x != NULL);
        found[mm][0] = perp_estimate_value(x, 0).value;
        found[mm][1] = perp_estimate_value(x, 1).value;
        REQUIRE_OK(perp_estimate_save(x, "laws-fitted.json"));
        perp_estimate_destroy(x);
        perp_study* fitted = NULL;
        const char* const path[] = {"laws-data.csv"};
        perp_estimate_def def = perp_estimate_def_default();
        REQUIRE_OK(perp_study_load(context, "laws-fitted.json", &fitted));
        REQUIRE_OK(perp_estimate_predict(context, fitted, path, 1, &def, &x));
        CHECK_CONTAINS(perp_estimate_json(x), "\"kinetic_energy_error\"");
        CHECK_CONTAINS(perp_estimate_json(x), "\"failed\": 0");
        perp_estimate_destroy(x);
        perp_study_destroy(fitted);
        clean_up(s);
    }
    CHECK_NEAR(found[1][0], found[0][0], 1e-6);
    CHECK_NEAR(found[1][1], found[0][1], 1e-6);
}

/* Every impact sticks: noise makes a minimum at the largest ratio of impulses, but any larger mu
 * explains them as well. */
TEST(friction_that_only_has_a_lower_limit_is_not_a_confident_number)
{
    static const double start[] = {0.05, 1.0};
    for (int i = 0; i < 2; ++i) {
        char keys[800];
        make_impacts(60, 2.0, 0.5, 4.0e-4, 0.03);
        snprintf(keys, sizeof keys,
                 IMPACTS "\"unknown\": {\"mu\": {\"start\": %g, \"bounds\": [0, 5]}, \"rebound\": "
                         "{\"start\": 0.6}}",
                 start[i]);
        perp_study* s = make(ELLIPSE, keys);
        REQUIRE(s != NULL);
        perp_estimate* x = run(s);
        REQUIRE(x != NULL);
        CHECK(!perp_estimate_value(x, 0).identifiable && isinf(perp_estimate_value(x, 0).high));
        CHECK_NEAR(perp_estimate_value(x, 1).value, 0.5, 4.0 * perp_estimate_value(x, 1).deviation);
        perp_estimate_destroy(x);
        clean_up(s);
    }
}

/* ---- motions with times -------------------------------------------------------------------------*/

static const char BOX[] =
    "{\"dimension\": 2, \"gravity\": [0, -9.81], \"step\": 0.0005, \"duration\": 1,"
    " \"parameters\": {\"mu\": 0.3, \"rebound\": 0.4, \"height\": 0.0},"
    " \"friction\": {\"pairs\": [{\"a\": \"part\", \"b\": \"ground\", \"mu\": \"mu\", "
    "\"restitution\": \"rebound\"}]},"
    " \"bodies\": [{\"name\": \"ground\", \"type\": \"static\", \"shapes\": [{\"type\": "
    "\"halfplane\", \"normal\": [0, 1], \"offset\": \"height\"}]},"
    "  {\"name\": \"part\", \"type\": \"dynamic\", \"mass\": 0.4, \"inertia\": 6e-4, \"position\": "
    "[0, 0.3], \"velocity\": [1.5, 0], \"angular_velocity\": 3,"
    "   \"shapes\": [{\"type\": \"box\", \"size\": [0.1, 0.1]}]}]}";

/* The body of a scene is thrown a few times and sampled at 200 Hz: position, orientation, velocities. */
static void make_throws(const char* json, bool flat)
{
    perp_context* own = NULL;
    uint64_t state = 3;
    FILE* f = open_memstream(&text, &length);
    fputs(flat ? "toss,x,y,a,vx,vy,w\n" : "toss,x,y,z,q0,q1,q2,q3\n", f);
    REQUIRE_OK(perp_context_create(NULL, &own));
    for (int toss = 0; toss < (flat ? 6 : 4); ++toss) {
        perp_scene* scene = NULL;
        perp_sim* sim = NULL;
        REQUIRE_OK(perp_scene_parse(own, json, strlen(json), "thrown", NULL, 0, &scene));
        perp_sim_def def = perp_sim_def_from_scene(scene);
        REQUIRE_OK(perp_sim_create(own, perp_scene_model(scene), &def, &sim));
        perp_body_state b = perp_sim_body(sim, 1);
        b.angle = flat ? 3.0 * draw(&state) : 0.0;
        b.velocity[0] = 1.5 + 0.5 * draw(&state);
        for (int i = flat ? 2 : 0; i < 3; ++i) {
            b.angular_velocity[i] = 6.0 * draw(&state);
        }
        REQUIRE_OK(perp_sim_set_body(sim, 1, &b));
        for (int step = 0; step < 900; ++step) {
            if (step % 10 == 0) {
                b = perp_sim_body(sim, 1);
                const double row[7] = {b.position[0],
                                       b.position[1],
                                       flat ? b.angle : b.position[2],
                                       flat ? b.velocity[0] : b.orientation[0],
                                       flat ? b.velocity[1] : b.orientation[1],
                                       flat ? b.angular_velocity[2] : b.orientation[2],
                                       b.orientation[3]};
                fprintf(f, "%d", toss);
                for (int i = 0; i < (flat ? 6 : 7); ++i) {
                    fprintf(f, ",%.17g", row[i]);
                }
                fputs("\n", f);
            }
            REQUIRE_OK(perp_sim_step(sim));
        }
        perp_sim_destroy(sim);
        perp_scene_destroy(scene);
    }
    perp_context_destroy(own);
    fclose(f);
}

#define THROWS                                                                                     \
    "\"rate\": 200, \"trajectory\": \"toss\", \"loss\": \"cauchy\", \"observe\": {\"p\": "         \
    "{\"position\": "                                                                              \
    "\"part\", \"columns\": [\"x\", \"y\"]}, \"a\": {\"orientation\": \"part\", \"columns\": "     \
    "[\"a\"]}"
#define RATES                                                                                      \
    ", \"v\": {\"velocity\": \"part\", \"columns\": [\"vx\", \"vy\"]}, \"w\": "                    \
    "{\"angular_velocity\": "                                                                      \
    "\"part\", \"columns\": [\"w\"]}"
#define WANTED                                                                                     \
    "}, \"unknown\": {\"mu\": {\"start\": 0.5, \"bounds\": [0, 2]}, \"rebound\": {\"start\": "     \
    "0.2, \"bounds\": [0, 1]}, "                                                                   \
    "\"height\": {\"start\": 0.003, \"bounds\": [-0.02, 0.02]}}"

TEST(friction_restitution_and_the_floor_of_throws_are_found_without_a_simulation)
{
    static const struct {
        const char* keys;
        double tolerance[3];
    } variant[] = {{THROWS RATES WANTED, {0.01, 0.01, 0.0001}},
                   {THROWS WANTED, {0.02, 0.05, 0.0002}}};
    for (size_t i = 0; i < 2; ++i) {
        make_throws(BOX, true);
        perp_study* s = make(BOX, variant[i].keys);
        REQUIRE(s != NULL);
        perp_estimate* x = run(s);
        REQUIRE(x != NULL);
        CHECK_NEAR(perp_estimate_value(x, 0).value, 0.3, variant[i].tolerance[0]);
        CHECK_NEAR(perp_estimate_value(x, 1).value, 0.4, variant[i].tolerance[1]);
        CHECK_NEAR(perp_estimate_value(x, 2).value, 0.0, variant[i].tolerance[2]);
        perp_estimate_destroy(x);
        clean_up(s);
    }
}

/* In space, from poses alone. */
TEST(a_cube_in_space_gives_friction_restitution_and_the_floor)
{
    static const char CUBE[] =
        "{\"gravity\": [0, 0, -9.81], \"step\": 0.0005, \"duration\": 1,"
        " \"parameters\": {\"mu\": 0.3, \"rebound\": 0.4, \"height\": 0.0},"
        " \"friction\": {\"pairs\": [{\"a\": \"part\", \"b\": \"ground\", \"mu\": \"mu\", "
        "\"restitution\": \"rebound\"}]},"
        " \"bodies\": [{\"name\": \"ground\", \"type\": \"static\", \"shapes\": [{\"type\": "
        "\"plane\", \"normal\": [0, 0, 1], \"offset\": \"height\"}]},"
        "  {\"name\": \"part\", \"type\": \"dynamic\", \"mass\": 0.4, \"inertia\": [6e-4, 7e-4, "
        "8e-4], \"position\": [0, 0, 0.3],"
        "   \"shapes\": [{\"type\": \"box\", \"size\": [0.1, 0.1, 0.1]}]}]}";
    make_throws(CUBE, false);
    perp_study* s = make(CUBE, "\"rate\": 200, \"trajectory\": \"toss\", \"loss\": \"cauchy\", "
                               "\"observe\": {\"p\": {\"position\": "
                               "\"part\", \"columns\": [\"x\", \"y\", \"z\"]}, \"q\": "
                               "{\"orientation\": \"part\", \"columns\": "
                               "[\"q0\", \"q1\", \"q2\", \"q3\"]}" WANTED);
    REQUIRE(s != NULL);
    perp_estimate* x = run(s);
    REQUIRE(x != NULL);
    CHECK_NEAR(perp_estimate_value(x, 0).value, 0.3, 0.02);
    CHECK_NEAR(perp_estimate_value(x, 1).value, 0.4, 0.05);
    CHECK_NEAR(perp_estimate_value(x, 2).value, 0.0, 0.0003);
    perp_estimate_destroy(x);
    clean_up(s);
}

/* ---- refusals -----------------------------------------------------------------------------------*/

TEST(what_is_not_a_pair_of_states_is_refused_with_the_reason)
{
    static const struct {
        const char *keys, *message;
    } bad[] = {
        {IMPACTS "\"rate\": 100, \"unknown\": {\"mu\": {}}", "/rate: the rows are impacts"},
        {"\"observe\": {\"w\": \"part.angular_velocity\"}, \"after\": {\"v\": \"w1\"}, "
         "\"unknown\": {\"mu\": {}}",
         "/after"},
        {"\"observe\": {\"p\": {\"position\": \"part\", \"columns\": [\"x\", \"y\"]}, \"a\": "
         "{\"orientation\": \"part\", \"columns\": [\"a\"]}}, \"after\": {\"a\": \"a\"}, "
         "\"unknown\": {\"mu\": {}}",
         "must have velocity and angular velocity"},
        {"\"rate\": 100, \"observe\": {\"p\": {\"position\": \"part\", \"columns\": [\"x\", "
         "\"y\"]}}, \"unknown\": {\"mu\": {}}",
         "must have the orientation of body 'part'"},
        {IMPACTS "\"unknown\": {\"mu\": {}}, \"options\": {\"strde\": 2}", "/options/strde"},
        {IMPACTS "\"unknown\": {\"mu\": {}}, \"options\": {\"residual\": \"both\"}",
         "/options/residual"},
        {IMPACTS "\"unknown\": {\"mu\": {}, \"initial\": [\"part\"]}", "/unknown/initial"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        make_impacts(3, 0.2, 0.5, 4e-4, 0.0);
        perp_study* s = make(ELLIPSE, bad[i].keys);
        if (s != NULL) {
            perp_estimate* x = NULL;
            perp_estimate_def def = perp_estimate_def_default();
            CHECK(perp_estimate_run(context, s, &def, &x) != PERP_OK);
        }
        CHECK_CONTAINS(perp_context_error(context), bad[i].message);
        clean_up(s);
    }
}
