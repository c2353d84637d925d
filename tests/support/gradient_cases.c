/* See gradient_cases.h. */
#include "support/gradient_cases.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing -------------------------------------------------------------------------------------*/

static uint32_t next_random(uint32_t* seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static double draw(uint32_t* seed, double low, double high)
{
    return low + (high - low) * ((double)next_random(seed) / 16777216.0);
}

static void put(gradient_case* c, const char* format, ...) PERP_PRINTF(2, 3);
static void put(gradient_case* c, const char* format, ...)
{
    const size_t used = strlen(c->text);
    va_list list;
    va_start(list, format);
    (void)vsnprintf(c->text + used, sizeof c->text - used, format, list);
    va_end(list);
    for (char* at = c->text + used; *at != '\0'; ++at) {
        *at = *at == '\'' ? '"' : *at;
    }
}

static void put_head(gradient_case* c, uint32_t* s, int dimension, double step, int steps)
{
    put(c,
        "{'dimension': %d, 'gravity': [0, %s-9.81], 'step': %g, 'duration': %.6g, 'tolerance':"
        " 1e-12, 'parameters': {'v': %.4f, 'mu': %.4f, 'm': %.4f}, 'friction': {'default': "
        "'mu'%s},",
        dimension, dimension == 3 ? "0, " : "", step, step * steps, draw(s, 0.4, 1.6),
        draw(s, 0.15, 0.6), draw(s, 0.5, 2.0),
        draw(s, 0, 1) < 0.4 ? ", 'cone': 'polygon', 'directions': 6" : "");
}

static const char* floor_of(int dimension)
{
    return dimension == 3 ? "{'type': 'plane', 'normal': [0.05, 0.02, 1]}"
                          : "{'type': 'halfplane', 'normal': [0.05, 1]}";
}

static void put_floor(gradient_case* c, int dimension)
{
    put(c, "'bodies': [{'name': 'floor', 'type': 'static', 'shapes': [%s]}", floor_of(dimension));
}

/* Spheres that fall onto a slope and onto each other. */
static void write_spheres(gradient_case* c, uint32_t* s, bool large)
{
    c->bodies = large ? 20 + (int)draw(s, 0, 31) : 2 + (int)draw(s, 0, 5);
    put_head(c, s, 3, large ? 0.002 : 0.01,
             large ? 300 + (int)draw(s, 0, 201) : 30 + (int)draw(s, 0, 40));
    put_floor(c, 3);
    for (int i = 0; i < c->bodies; ++i) {
        put(c, ", {'name': 'b%d', 'mass': %s, 'shapes': [{'type': 'sphere', 'radius': %.4f}],", i,
            i == 0 ? "'m'" : "1", draw(s, 0.1, 0.18));
        put(c, "'position': [%.4f, %.4f, %.4f], 'velocity': [%s, %.3f, %.3f],",
            0.5 * (i % 4) + draw(s, 0, 0.1), 0.5 * (i / 4 % 4) + draw(s, 0, 0.1),
            0.3 + 0.45 * (i / 16) + draw(s, 0, 0.1), i == 0 ? "'v'" : "-0.4", draw(s, -0.5, 0.5),
            draw(s, -1, 0));
        put(c, "'angular_velocity': [%.3f, %.3f, %.3f]}", draw(s, -4, 4), draw(s, -4, 4),
            draw(s, -4, 4));
    }
    put(c,
        "], 'measures': {'m': 'b0.position.x + 0.2*b0.velocity.y + 0.1*b0.angular_velocity.x'}}");
}

/* Planar boxes and circles. */
static void write_planar(gradient_case* c, uint32_t* s, bool large)
{
    c->bodies = large ? 20 + (int)draw(s, 0, 31) : 2 + (int)draw(s, 0, 4);
    put_head(c, s, 2, large ? 0.002 : 0.01,
             large ? 250 + (int)draw(s, 0, 251) : 30 + (int)draw(s, 0, 30));
    put_floor(c, 2);
    for (int i = 0; i < c->bodies; ++i) {
        put(c, ", {'name': 'b%d', 'mass': %s, 'shapes': [", i, i == 0 ? "'m'" : "0.8");
        if (i % 2 == 0) {
            put(c, "{'type': 'box', 'size': [%.3f, %.3f]}],", draw(s, 0.2, 0.4),
                draw(s, 0.1, 0.25));
        } else {
            put(c, "{'type': 'circle', 'radius': %.3f}],", draw(s, 0.1, 0.2));
        }
        put(c,
            "'position': [%.4f, %.4f], 'angle': %.3f, 'velocity': [%s, %.3f],"
            " 'angular_velocity': %.3f}",
            0.6 * (i % 10) + draw(s, 0, 0.1), 0.35 + 0.6 * (i / 10), draw(s, -1, 1),
            i == 0 ? "'v'" : "-0.3", draw(s, -1, 0), draw(s, -3, 3));
    }
    put(c, "], 'measures': {'m': 'b0.position.x + 0.2*b0.velocity.y + 0.1*b0.angular_velocity'}}");
}

/* A spatial box that falls on its corner. */
static void write_boxes(gradient_case* c, uint32_t* s)
{
    c->bodies = 1 + (int)draw(s, 0, 2);
    put_head(c, s, 3, 0.01, 20 + (int)draw(s, 0, 20));
    put_floor(c, 3);
    for (int i = 0; i < c->bodies; ++i) {
        put(c,
            ", {'name': 'b%d', 'mass': %s, 'shapes': [{'type': 'box', 'size': [%.3f, %.3f, "
            "%.3f]}],",
            i, i == 0 ? "'m'" : "1", draw(s, 0.3, 0.8), draw(s, 0.2, 0.5), draw(s, 0.1, 0.3));
        put(c,
            "'position': [%g, 0, %.3f], 'velocity': [%s, %.3f, 0], 'angular_velocity':"
            " [%.3f, %.3f, %.3f], 'orientation': [0.9, %.3f, %.3f, %.3f]}",
            1.5 * i, draw(s, 0.5, 0.6), i == 0 ? "'v'" : "0.2", draw(s, -0.5, 0.5), draw(s, -2, 2),
            draw(s, -2, 2), draw(s, -2, 2), draw(s, 0.1, 0.3), draw(s, 0.1, 0.3), draw(s, 0, 0.2));
    }
    put(c, "], 'measures': {'m': 'b0.position.x + b0.orientation.y + 0.1*b0.velocity.z'}}");
}

/* A chain of joints with a motor at its root, which swings over the floor and may strike it. */
static void write_chain(gradient_case* c, uint32_t* s, bool large)
{
    c->bodies = large ? 20 + (int)draw(s, 0, 11) : 2 + (int)draw(s, 0, 3);
    const double length = large ? 0.1 : 0.4;
    put_head(c, s, 2, large ? 0.002 : 0.01,
             large ? 200 + (int)draw(s, 0, 301) : 40 + (int)draw(s, 0, 40));
    put_floor(c, 2);
    for (int i = 0; i < c->bodies; ++i) {
        put(c,
            ", {'name': 'b%d', 'mass': %s, 'shapes': [{'type': 'box', 'size': [%.3f, 0.05]}], "
            "'position': [%.4f, 0.9], 'velocity': [0, %s]}",
            i, i == 0 ? "'m'" : "0.5", 0.9 * length, length * (i + 0.5),
            i == c->bodies - 1 && i > 0 ? "'-v'" : "0");
    }
    put(c, "], 'joints': [");
    for (int i = 0; i < c->bodies; ++i) {
        put(c, "%s{'name': 'j%d', 'type': 'revolute', 'a': '", i > 0 ? ", " : "", i);
        if (i == 0) {
            put(c, "world'");
        } else {
            put(c, "b%d'", i - 1);
        }
        put(c, ", 'b': 'b%d', 'at': [%.4f, 0.9]", i, length * i);
        if (i == 0) {
            put(c, ", 'motor': {'type': 'velocity', 'target': '%.3f*sin(5*t)', 'max_effort': %.3f}",
                draw(s, 0.5, 2), draw(s, 1, 20));
        } else if (i == 1) {
            put(c, ", 'damping': 0.05, 'limits': [-0.5, 0.6]");
        }
        put(c, "}");
    }
    put(c, "], 'measures': {'m': 'b%d.position.y + 0.1*b0.angular_velocity + j0.coordinate.1'}}",
        c->bodies - 1);
}

/* A plate that shakes, with balls and blocks on it. */
static void write_plate(gradient_case* c, uint32_t* s)
{
    c->bodies = 1 + (int)draw(s, 0, 4);
    put_head(c, s, 3, 0.01, 40 + (int)draw(s, 0, 40));
    put(c,
        "'bodies': [{'name': 'plate', 'type': 'kinematic', 'shapes': [{'type': 'box', 'size':"
        " [6, 6, 0.2]}], 'motion': {'position': ['0.03*v*sin(%.2f*t)', 0,"
        " '-0.1 + 0.01*v*cos(%.2f*t)']}}",
        draw(s, 10, 25), draw(s, 10, 25));
    for (int i = 0; i < c->bodies; ++i) {
        put(c,
            ", {'name': 'b%d', 'mass': %s, 'shapes': [{'type': 'sphere', 'radius': %.3f}],"
            " 'position': [%.3f, %.3f, %.3f], 'velocity': [%.3f, %.3f, 0]}",
            i, i == 0 ? "'m'" : "1", draw(s, 0.1, 0.2), 0.6 * i, draw(s, -0.5, 0.5),
            draw(s, 0.25, 0.4), draw(s, -0.4, 0.4), draw(s, -0.4, 0.4));
    }
    put(c,
        "], 'measures': {'m': 'b0.position.x + 0.1*b0.velocity.z + 0.1*b0.angular_velocity.y'}}");
}

/* A cart on two wheels, one with a motor, that drops onto the floor. */
static void write_cart(gradient_case* c, uint32_t* s)
{
    c->bodies = 3;
    put_head(c, s, 2, 0.01, 30 + (int)draw(s, 0, 50));
    put_floor(c, 2);
    put(c,
        ", {'name': 'b0', 'mass': 'm', 'shapes': [{'type': 'box', 'size': [0.8, 0.15]}],"
        " 'position': [0, %.3f], 'velocity': ['v', 0]}",
        0.4);
    for (int i = 1; i < 3; ++i) {
        put(c,
            ", {'name': 'b%d', 'mass': 0.4, 'shapes': [{'type': 'circle', 'radius': 0.12}],"
            " 'position': [%g, 0.25], 'velocity': ['v', 0], 'angular_velocity': %.3f}",
            i, i == 1 ? -0.3 : 0.3, draw(s, -3, 3));
    }
    put(c, "], 'joints': [");
    for (int i = 1; i < 3; ++i) {
        put(c, "%s{'name': 'j%d', 'type': 'revolute', 'a': 'b0', 'b': 'b%d', 'at': [%g, 0.25]%s",
            i > 1 ? ", " : "", i, i, i == 1 ? -0.3 : 0.3, i == 2 ? "}" : "");
        if (i == 1) {
            put(c, ", 'motor': {'type': 'velocity', 'target': '-%.3f*v', 'max_effort': %.3f}}",
                draw(s, 5, 20), draw(s, 0.2, 2));
        }
    }
    put(c, "], 'measures': {'m': 'b0.position.x + 0.2*b0.velocity.y + 0.2*b0.angle'}}");
}

void gradient_case_write(uint32_t seed, bool large, gradient_case* c)
{
    static const char* const names[GRADIENT_KINDS] = {
        "spheres",          "boxes and circles",
        "spatial boxes",    "chains with motors and limits",
        "balls on a plate", "carts"};
    static const char* const parameters[] = {"v", "mu", "m"};
    static const int large_kinds[] = {0, 1, 3};
    uint32_t s = seed * 2654435761u + 12345u;
    for (int i = 0; i < 4; ++i) {
        (void)next_random(&s);
    }
    memset(c, 0, sizeof *c);
    c->kind = large ? large_kinds[seed % 3] : (int)(seed % GRADIENT_KINDS);
    c->name = names[c->kind];
    c->parameter_count = large ? 1 : GRADIENT_CASE_MOST;
    memcpy(c->parameter, parameters, sizeof parameters);
    switch (c->kind) {
    case 0: write_spheres(c, &s, large); break;
    case 1: write_planar(c, &s, large); break;
    case 2: write_boxes(c, &s); break;
    case 3: write_chain(c, &s, large); break;
    case 4: write_plate(c, &s); break;
    default: write_cart(c, &s); break;
    }
}

/* ---- comparing -----------------------------------------------------------------------------------*/

enum { MOST_CONTACTS = 1024 };
typedef struct contact_states {
    int count;
    uint64_t key[MOST_CONTACTS];
    bool slides[MOST_CONTACTS];
} contact_states;

static void read_states(const perp_sim* sim, contact_states* out)
{
    int32_t count;
    const perp_contact* contact = perp_sim_contacts(sim, &count);
    out->count = 0;
    for (int32_t i = 0; i < count && out->count < MOST_CONTACTS; ++i) {
        const double* p = contact[i].impulse;
        if (p[0] > 0.0) {
            out->key[out->count] = contact[i].key;
            out->slides[out->count++] = hypot(p[1], p[2]) >= (1.0 - 1e-7) * contact[i].mu * p[0];
        }
    }
}

/* Contacts of a that b does not have in the same state; twice: only those that b does not have at all. */
static int count_other(const contact_states* a, const contact_states* b, bool absent)
{
    int other = 0;
    for (int i = 0; i < a->count; ++i) {
        bool found = false;
        for (int k = 0; k < b->count; ++k) {
            found = found || (a->key[i] == b->key[k] && (absent || a->slides[i] == b->slides[k]));
        }
        other += !found;
    }
    return other;
}

static perp_status count_changes(perp_context* context, const perp_scene* scene, int64_t* changes)
{
    contact_states state[2] = {{0}, {0}};
    perp_sim* sim = NULL;
    perp_status status = perp_sim_create_from_scene(context, scene, &sim);
    int now = 0;
    *changes = 0;
    while (status == PERP_OK && !perp_sim_finished(sim)) {
        status = perp_sim_step(sim);
        now = 1 - now;
        if (status == PERP_OK) {
            read_states(sim, &state[now]);
            *changes += count_other(&state[now], &state[1 - now], false) +
                        count_other(&state[1 - now], &state[now], true);
        }
    }
    perp_sim_destroy(sim);
    return status;
}

gradient_case_result gradient_case_compare(perp_context* context, const gradient_case* c)
{
    gradient_case_result r = {.off = NAN};
    perp_scene* scene = NULL;
    perp_gradient* g = NULL;
    perp_gradient_def def = perp_gradient_def_default();
    def.measure = "m";
    def.parameter = c->parameter;
    def.parameter_count = c->parameter_count;
    def.smooth = c->smooth;
    const perp_override standard = {.pointer = "/contact", .value = "standard"};
    r.status = perp_scene_parse(context, c->text, strlen(c->text), "case", &standard,
                                c->smooth > 0.0 ? 1 : 0, &scene);
    if (r.status == PERP_OK) {
        r.status = count_changes(context, scene, &r.changes);
    }
    if (r.status == PERP_OK) {
        r.status = perp_gradient_create(context, scene, &def, &g);
    }
    if (r.status == PERP_OK) {
        r.flags = perp_gradient_flags_of(g);
    }
    if (r.status == PERP_OK && r.flags.flagged == 0) {
        double difference[GRADIENT_CASE_MOST], off = 0.0, size = 0.0;
        r.status = perp_gradient_difference(context, scene, &def, difference, NULL);
        for (int32_t i = 0; r.status == PERP_OK && i < c->parameter_count; ++i) {
            const double d = fabs(difference[i] - perp_gradient_of(g, i));
            off = !(d <= off) ? d : off;
            size = fabs(difference[i]) > size ? fabs(difference[i]) : size;
        }
        r.off = size > 0.0 ? off / size : off;
    }
    perp_gradient_destroy(g);
    perp_scene_destroy(scene);
    return r;
}
