/* Derivatives by the motion of kinematic bodies: every kind of motion, against differences of whole runs. */
#include "perp/perp.h"
#include "perp_test.h"
#include "support/scene_sim.h"

enum { MOST = 8 };

/* A scene with one kinematic body and others on it. */
typedef struct motion_case {
    const char* name;
    const char* planar; /* settings beside the usual ones; NULL: spatial without any */
    const char* body;   /* of the kinematic body, its motion and shapes */
    const char* by[MOST];
} motion_case;

#define PLATE "'shapes': [{'type': 'plane', 'normal': [0, 0, 1]}]"
#define WAVES(x, y, z, more)                                                                       \
    "'motion': {'acceleration': {'linear': [{'amplitude': 'A', 'frequency': 'f', 'phase': 'p'}, "  \
    "0, {'amplitude': 3, 'frequency': 'f'}], 'angular': [" x ", " y ", " z "]" more "}},"
#define ROCK "{'amplitude': 'B', 'frequency': 5, 'phase': 0.3}"
#define ROLL "{'amplitude': 9, 'frequency': 5, 'phase': 'p'}"

/* The scene may count as not smooth there. */
#define AMPLITUDE_0 "an amplitude of 0"

static const motion_case CASES[] = {
    {"its velocity, without a motion",
     NULL,
     "'velocity': ['a', 'b', 0.02], 'angular_velocity': [0.03, 0, 'c']," PLATE,
     {"a", "b", "c"}},
    {"its place, with a motion that turns alone",
     NULL,
     "'position': ['a', 0, '0.02*b'], 'motion': {'axis_angle': [0, 'c', 1, '0.1*sin(6*t)']}," PLATE,
     {"a", "b", "c"}},
    {"velocities",
     NULL,
     "'motion': {'velocity': ['a*sin(8*t)', '0.1*b', 0], 'angular_velocity': [0, '0.2*a*cos(8*t)', "
     "'c']}," PLATE,
     {"a", "b", "c"}},
    {"a pose",
     NULL,
     "'motion': {'position': ['a*sin(8*t)', 0, '0.01*b*sin(20*t)'], 'orientation': [1, 0, "
     "'0.1*c*sin(9*t)', '0.2*a*t']}," PLATE,
     {"a", "b", "c"}},
    {"accelerations", NULL, WAVES("0", "0", "0", "") PLATE, {"A", "f", "p"}},
    {"turns about one axis", NULL, WAVES("0", ROCK, "0", "") PLATE, {"A", "B", "p"}},
    {"turns about two axes", NULL, WAVES(ROLL, ROCK, "0", "") PLATE, {"A", "B", "p"}},
    {"turns about three axes, from its pose",
     NULL,
     WAVES(ROLL, ROCK, "[{'amplitude': 'B', 'frequency': 10}]", ", 'symmetric': false") PLATE,
     {"A", "B", "p"}},
    {"turns that come back", NULL, WAVES(ROLL, ROCK, "0", ", 'periodic': true") PLATE, {"B", "p"}},
    {"frequencies of turns about two axes", /* has no closed form */
     NULL,
     WAVES("{'amplitude': 9, 'frequency': 'g', 'phase': 'p'}", "{'amplitude': 5, 'frequency': 'g'}",
           "0", "") PLATE,
     {"g", "p"}},
    {AMPLITUDE_0,
     NULL,
     WAVES(ROLL, "{'amplitude': 'zero', 'frequency': 5}", "0", "") PLATE,
     {"zero", "p"}},
    {"a planar plate",
     "'dimension': 2, 'gravity': [0, -9.8],",
     "'motion': {'acceleration': {'linear': [{'amplitude': 'A', 'frequency': 'f'}, 0], 'angular': "
     "{'amplitude': 'B', 'frequency': 'f', 'phase': 'p'}}},"
     "'shapes': [{'type': 'halfplane', 'normal': [0, 1]}]",
     {"A", "B", "f", "p"}},
    {"impacts",
     "'restitution': {'law': 'newton', 'e': 0.6},",
     WAVES("0", ROCK, "0", "") PLATE,
     {"A", "B", "f", "p"}},
    {"impacts on a body with a velocity",
     "'restitution': {'law': 'newton', 'e': 0.6},",
     "'velocity': ['a', 0, '0.3*b'], 'angular_velocity': [0, '0.1*c', 0]," PLATE,
     {"a", "b", "c"}},
};

static void write_case(const motion_case* c, const char* step, double height, char* text,
                       size_t size)
{
    const bool planar = c->planar != NULL && strstr(c->planar, "dimension") != NULL;
    (void)snprintf(
        text, size,
        "{%s %s 'step': %s, 'duration': 0.3, 'tolerance': 1e-12, 'friction': {'default': 0.3},"
        " 'parameters': {'a': 0.3, 'b': 0.4, 'c': 0.5, 'A': 6, 'B': 7, 'f': 4, 'p': 0.7, 'g': 5,"
        " 'zero': 0}, 'bodies': [{'name': 'plate', 'type': 'kinematic', %s},"
        " {'name': 's', 'mass': 1, 'shapes': [{'type': '%s', 'radius': 0.1}], 'position': [0.2, "
        "%s%.3g],"
        " 'velocity': %s}], 'measures': {'m': 's.position.x + 0.3*s.position.%s +"
        " 0.2*s.velocity.x + 0.1*plate.position.x'}}",
        c->planar != NULL ? c->planar : "", planar ? "" : "'gravity': [0, 0, -9.8],", step, c->body,
        planar ? "circle" : "sphere", planar ? "" : "0.3, ", height,
        planar ? "[0.1, 0]" : "[0.1, 0.2, 0]", planar ? "y" : "z");
}

/* One way of finding a gradient. */
typedef struct way {
    perp_gradient_mode mode;
    bool checkpoints;
} way;

static const way WAYS[] = {
    {PERP_GRADIENT_ADJOINT, false}, {PERP_GRADIENT_ADJOINT, true}, {PERP_GRADIENT_FORWARD, false}};

/* Checks a gradient against differences, relative to the largest derivative; the same bits again. */
static void check_way(perp_context* context, perp_scene* scene, const motion_case* c,
                      const perp_gradient_def* def, const double* difference, double most)
{
    perp_gradient *g = NULL, *again = NULL;
    double size = 0.0, off = 0.0;
    CHECK_EQ_INT(perp_gradient_create(context, scene, def, &g), PERP_OK);
    CHECK_EQ_INT(perp_gradient_create(context, scene, def, &again), PERP_OK);
    if (g == NULL || again == NULL) {
        fprintf(stderr, "%s: %s\n", c->name, perp_context_error(context));
    }
    for (int32_t i = 0; g != NULL && again != NULL && i < def->parameter_count; ++i) {
        size = fmax(size, fabs(difference[i]));
        off = fmax(off, fabs(perp_gradient_of(g, i) - difference[i]));
        CHECK(perp_gradient_of(g, i) == perp_gradient_of(again, i));
    }
    CHECK(g != NULL &&
          (strcmp(c->name, AMPLITUDE_0) == 0 || perp_gradient_flags_of(g).flagged == 0));
    if (!(off <= most * size)) {
        fprintf(stderr, "%s: off by %.2e\n", c->name, off / size);
    }
    CHECK_AT_MOST(off / size, most);
    perp_gradient_destroy(g);
    perp_gradient_destroy(again);
}

static void check(const motion_case* c, const char* text, size_t ways, double most)
{
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    double difference[MOST] = {0};
    perp_gradient_def def = perp_gradient_def_default();
    def.measure = "m";
    def.parameter = c->by;
    while (def.parameter_count < MOST && c->by[def.parameter_count] != NULL) {
        def.parameter_count += 1;
    }
    CHECK_EQ_INT(perp_context_create(NULL, &context), PERP_OK);
    perp_status status = scene_parse(context, text, "motion", &scene);
    status = status == PERP_OK ? perp_gradient_difference(context, scene, &def, difference, NULL)
                               : status;
    if (status != PERP_OK) {
        fprintf(stderr, "%s: %s\n", c->name, perp_context_error(context));
    }
    CHECK_EQ_INT(status, PERP_OK);
    for (size_t i = 0; status == PERP_OK && i < ways; ++i) {
        def.mode = WAYS[i].mode;
        def.checkpoints = WAYS[i].checkpoints;
        check_way(context, scene, c, &def, difference, most);
    }
    perp_scene_destroy(scene);
    perp_context_destroy(context);
}

TEST(motions_have_the_derivatives_of_differences)
{
    char text[4096];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; ++i) {
        write_case(&CASES[i], "0.01", 0.14, text, sizeof text);
        check(&CASES[i], text, 3, 1e-7);
    }
}

/* From so high that there is one impact: contacts at rest are flagged. Differences have the noise
 * of their sequence of steps. */
TEST(impacts_of_adaptive_steps_on_moving_bodies_have_the_derivatives_of_differences)
{
    char text[4096];
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; ++i) {
        if (strstr(CASES[i].name, "impacts") != NULL) {
            write_case(&CASES[i], "{'error': 1e-5, 'max': 0.02}", 0.4, text, sizeof text);
            check(&CASES[i], text, 1, 1e-5);
        }
    }
}

/* A joint, or a spring, on the kinematic body: its velocity enters other rows than those of contacts. */
TEST(motions_of_bodies_with_joints_and_springs_have_the_derivatives_of_differences)
{
    static const char* const parts[] = {
        "'joints': [{'name': 'j', 'type': 'spherical', 'a': 'plate', 'b': 's', 'at': [0.2, 0.3, "
        "0.6]}]",
        "'forces': [{'type': 'spring', 'a': 'plate', 'b': 's', 'stiffness': 30, 'damping': 1, "
        "'rest': 0.2, 'at_a': [0, 0, 1]}]"};
    char text[4096], more[8192];
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; ++k) {
        write_case(&CASES[4], "0.01", 0.14, text, sizeof text);
        char* end = strrchr(text, '}');
        *end = '\0';
        (void)snprintf(more, sizeof more, "%s, %s}", text, parts[k]);
        check(&CASES[4], more, 3, 1e-7);
    }
}
