/* tests/support/throws.c - see throws.h. */
#include "support/throws.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "perp/perp.h"
#include "support/generate.h"
#include "support/quotes.h"

const char* const throw_shape_name[THROW_SHAPES] = {"particle", "ball",   "capsule",
                                                    "box",      "convex", "notched"};
const char* const throw_model_name[THROW_MODELS] = {"standard", "peg", "lnc", "disjunctive"};
const char* const throw_stepper_name[THROW_STEPPERS] = {"stewart-trinkle", "implicit",
                                                        "geometric-implicit", "adaptive"};

#define PI 3.14159265358979323846

typedef struct text {
    char* at;
    size_t room;
} text;

static void put(text* t, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(t->at, t->room, format, args);
    va_end(args);
    scene_quotes(t->at);
    const size_t used = n > 0 && (size_t)n < t->room ? (size_t)n : 0;
    t->at += used;
    t->room -= used;
}

static double log_uniform(uint64_t* s, double low, double high)
{
    return low * pow(high / low, generate_uniform(s, 0.0, 1.0));
}

static int below(uint64_t* s, int n)
{
    return (int)(generate_bits(s) >> 33) % n;
}

static void put_vec(text* t, int dimension, const double* v)
{
    put(t, "[%.17g,%.17g", v[0], v[1]);
    if (dimension == 3) {
        put(t, ",%.17g", v[2]);
    }
    put(t, "]");
}

/* r: every point of the body is within r of its origin. */
static void put_shape(text* t, const throw_case* c, double r, uint64_t* s)
{
    const bool planar = c->dimension == 2;
    put(t, "'shapes':[{");
    switch (c->shape) {
    case THROW_PARTICLE: put(t, "'type':'particle'"); break;
    case THROW_BALL: put(t, "'type':'%s','radius':%.17g", planar ? "circle" : "sphere", r); break;
    case THROW_CAPSULE: {
        const double part = generate_uniform(s, 0.2, 0.6);
        put(t, "'type':'capsule','radius':%.17g,'length':%.17g", part * r, 2.0 * (1.0 - part) * r);
        break;
    }
    case THROW_BOX: {
        const double x = generate_uniform(s, 0.3, 1.0), y = generate_uniform(s, 0.3, 1.0);
        const double z = planar ? 0.0 : generate_uniform(s, 0.3, 1.0);
        const double f = 2.0 * r / sqrt(x * x + y * y + z * z);
        const double size[3] = {f * x, f * y, f * z};
        put(t, "'type':'box','size':");
        put_vec(t, c->dimension, size);
        break;
    }
    case THROW_CONVEX: {
        const int n = planar ? 3 + below(s, 6) : 4 + 2 * below(s, 5);
        put(t, "'type':'%s','vertices':[", planar ? "polygon" : "polyhedron");
        for (int i = 0; i < n; ++i) {
            const double a = 2.0 * PI * (i + generate_uniform(s, 0.0, 0.4)) / n;
            /* two above and two below, crosswise, so that the origin is inside */
            const double way = i % 2 == 0 ? 1.0 : -1.0;
            const double z = planar ? 0.0 : way * generate_uniform(s, 0.4, 0.8);
            const double f = r * sqrt(1.0 - z * z);
            const double v[3] = {f * cos(a), f * sin(a), r * z};
            put(t, "%s", i > 0 ? "," : "");
            put_vec(t, c->dimension, v);
        }
        put(t, "]");
        break;
    }
    default: {
        /* an L: in space a prism over it */
        static const double l[6][2] = {{-1, -1},     {1, -1},   {1, -0.4},
                                       {-0.4, -0.4}, {-0.4, 1}, {-1, 1}};
        const double f = r / sqrt(planar ? 2.0 : 2.25);
        put(t, "'type':'%s','vertices':[", planar ? "polygon" : "mesh");
        for (int i = 0; i < (planar ? 6 : 12); ++i) {
            const double v[3] = {f * l[i % 6][0], f * l[i % 6][1], i < 6 ? -0.5 * f : 0.5 * f};
            put(t, "%s", i > 0 ? "," : "");
            put_vec(t, c->dimension, v);
        }
        put(t, "]");
        if (!planar) {
            put(t, ",'decompose':true,'faces':[[0,3,2],[0,2,1],[0,5,4],[0,4,3],"
                   "[6,8,9],[6,7,8],[6,10,11],[6,9,10]");
            for (int i = 0; i < 6; ++i) {
                const int k = (i + 1) % 6;
                put(t, ",[%d,%d,%d],[%d,%d,%d]", i, k, k + 6, i, k + 6, i + 6);
            }
            put(t, "]");
        }
        break;
    }
    }
    put(t, "}]");
}

/* Which of the combinations that exist. */
static void choose(throw_case* c, uint64_t* s)
{
    c->dimension = 2 + below(s, 2);
    do {
        c->shape = below(s, THROW_SHAPES);
    } while (c->dimension == 2 && c->shape == THROW_CAPSULE);
    c->stepper = below(s, THROW_STEPPERS);
    const int pick = below(s, 8); /* mostly standard and peg against plates */
    c->model = pick < 3   ? THROW_STANDARD
               : pick < 6 ? THROW_PEG
               : pick < 7 ? THROW_LNC
                          : THROW_DISJUNCTIVE;
    c->model = c->model == THROW_DISJUNCTIVE && c->dimension == 3 ? THROW_LNC : c->model;
    c->model = c->stepper == THROW_ADAPTIVE ? THROW_STANDARD : c->model;
    c->plane = c->model >= THROW_LNC || below(s, 8) == 0;
}

throw_case throw_make(uint64_t number)
{
    throw_case c = {0};
    uint64_t state = 0x7468726f77ULL ^ number, *s = &state;
    state = generate_bits(s); /* a stream of its own, not one that is shifted by a draw */
    choose(&c, s);
    const int n = c.dimension;
    c.size = log_uniform(s, 0.005, 0.3);
    c.thickness = log_uniform(s, 0.001, 0.2);
    c.speed = log_uniform(s, 1.0, 50.0);
    c.h = log_uniform(s, 0.001, 0.02);
    const double r = c.shape == THROW_PARTICLE ? 0.0 : 0.5 * c.size;
    /* the plate's upper side contains the origin, tilted in every other throw */
    const double tilt = below(s, 2) == 0 ? 0.0 : generate_uniform(s, -0.5, 0.5);
    double along[3] = {cos(tilt), sin(tilt), 0.0}, up[3] = {-sin(tilt), cos(tilt), 0.0};
    if (n == 3) {
        up[2] = cos(tilt);
        up[1] = -sin(tilt);
        up[0] = 0.0;
        along[0] = 0.0;
        along[1] = cos(tilt);
        along[2] = sin(tilt);
    }
    const double down = c.speed * generate_uniform(s, 0.3, 1.0);
    const double aside = sqrt(c.speed * c.speed - down * down) * (below(s, 2) == 0 ? -1.0 : 1.0);
    const double height = r + (1e-3 + c.h * down) * generate_uniform(s, 0.0, 4.0);
    const double across = generate_uniform(s, -1.0, 1.0);
    double x[3] = {0}, v[3] = {0}, center[3] = {0};
    for (int i = 0; i < n; ++i) {
        x[i] = height * up[i] + across * along[i];
        v[i] = -down * up[i] + aside * along[i];
        center[i] = -0.5 * c.thickness * up[i];
        c.up[i] = up[i];
    }
    const double spin = below(s, 3) == 0 ? 0.0 : generate_uniform(s, -1.0, 1.0) * 0.3 / c.h;
    const int steps = 10 + below(s, 20);
    static const double friction[] = {0.0, 0.3, 0.8};

    text t = {c.scene, sizeof c.scene};
    const double gravity[3] = {0, n == 2 ? -9.81 : 0.0, -9.81};
    put(&t, "{'dimension':%d,'gravity':", n);
    put_vec(&t, n, gravity);
    if (c.stepper == THROW_ADAPTIVE) {
        put(&t, ",'step':{'error':%.17g,'initial':%.17g,'max':%.17g}", 1e-3 * c.size, c.h, c.h);
    } else {
        put(&t, ",'step':%.17g,'stepper':'%s'", c.h, throw_stepper_name[c.stepper]);
    }
    put(&t, ",'duration':%.17g,'contact':'%s','friction':{'default':%g},'bodies':[", steps * c.h,
        throw_model_name[c.model], friction[below(s, 3)]);
    put(&t, "{'name':'plate','type':'static','shapes':[{");
    if (c.plane) {
        put(&t, "'type':'%s','normal':", n == 2 ? "halfplane" : "plane");
        put_vec(&t, n, up);
    } else {
        const double size[3] = {200.0, n == 2 ? c.thickness : 200.0, c.thickness};
        put(&t, "'type':'box','size':");
        put_vec(&t, n, size);
        put(&t, ",'position':");
        put_vec(&t, n, center);
        if (n == 2) {
            put(&t, ",'angle':%.17g", tilt);
        } else {
            put(&t, ",'axis_angle':[1,0,0,%.17g]", tilt);
        }
    }
    put(&t, "}]},{'name':'body','mass':%.17g,'position':", log_uniform(s, 0.01, 10.0));
    put_vec(&t, n, x);
    put(&t, ",'velocity':");
    put_vec(&t, n, v);
    if (c.shape != THROW_PARTICLE && n == 2) {
        put(&t, ",'angle':%.17g,'angular_velocity':%.17g", generate_uniform(s, -3.0, 3.0), spin);
    } else if (c.shape != THROW_PARTICLE) {
        put(&t, ",'axis_angle':[%.17g,%.17g,1,%.17g],'angular_velocity':[%.17g,%.17g,%.17g]",
            generate_uniform(s, -2.0, 2.0), generate_uniform(s, -2.0, 2.0),
            below(s, 4) == 0 ? 0.0 : generate_uniform(s, -3.0, 3.0), spin,
            spin * generate_uniform(s, -1.0, 1.0), spin * generate_uniform(s, -1.0, 1.0));
    }
    put(&t, ",");
    put_shape(&t, &c, r, s);
    put(&t, "}]}");
    return c;
}

throw_result throw_run(const throw_case* c)
{
    throw_result result = {.end = THROW_FAILED, .growth = -INFINITY};
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return result;
    }
    perp_status status =
        perp_scene_parse(context, c->scene, strlen(c->scene), "throw", NULL, 0, &scene);
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(context, scene, &sim);
    }
    const perp_energy start =
        status == PERP_OK ? perp_sim_energy(sim) : (perp_energy){1.0, 0.0, 1.0};
    const double small = c->plane || c->size < c->thickness ? c->size : c->thickness;
    while (status == PERP_OK && !perp_sim_finished(sim)) {
        double depth = 0.0;
        status = perp_sim_step(sim);
        if (status == PERP_OK) {
            status = perp_sim_penetration(sim, &depth);
        }
        if (status == PERP_OK) {
            result.deepest = fmax(result.deepest, depth / small);
            const double growth = (perp_sim_energy(sim).total - start.total) / start.kinetic;
            result.growth = fmax(result.growth, growth);
        }
    }
    if (status == PERP_OK) {
        const perp_body_state b = perp_sim_body(sim, 1);
        double height = 0.5 * (c->plane ? c->size : c->thickness);
        for (int i = 0; i < c->dimension; ++i) {
            height += c->up[i] * b.position[i];
        }
        result.height = height / c->size;
        result.end = height > 0.0 ? THROW_FINE : THROW_WRONG_SIDE;
    } else {
        snprintf(result.message, sizeof result.message, "%s", perp_context_error(context));
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return result;
}
