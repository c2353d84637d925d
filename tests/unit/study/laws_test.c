/* The method `laws`: pairs of states that a simulation or a formula gave, from which friction, restitution and sizes are found again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    "\"position\": [0, 1],"
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
        printf("%s\n", perp_context_error(context));
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

/* Newton's law with Coulomb's friction for an ellipse of mass 1, in closed form: sticking, or sliding towards it. */
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
static void make_impacts(int count, double mu, double e, double k, double noise)
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
        fprintf(f, "%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", i.pose[0], i.pose[1],
                i.pose[2], i.before[0], i.before[1], i.before[2], i.after[0], i.after[1],
                i.after[2]);
    }
    fclose(f);
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
    double error[COUNT];
    const double truth[2] = {0.18, 0.53}, other[2] = {0.15, 0.53};
    REQUIRE_OK(perpi_predictor_create(context, s, &p));
    REQUIRE_OK(perpi_laws_create(context, p, s->estimate, &laws));
    REQUIRE_OK(perpi_laws_use(laws, &s->estimate->data, false));
    REQUIRE_EQ_INT(laws->pair_count, COUNT);
    REQUIRE_OK(perpi_laws_evaluate(laws, truth, false));
    CHECK_AT_MOST(total(laws), 1e-20);
    REQUIRE_OK(perpi_laws_predict(laws, truth, error));
    for (int i = 0; i < COUNT; ++i) {
        CHECK_AT_MOST(error[i], 1e-8);
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

/* Envelope theorem: at fixed impulses the derivative is that of the least loss; impulses of the neighbours are found anew here. */
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
