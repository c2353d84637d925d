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

/* ---- robots --------------------------------------------------------------------------------------*/

static bool chance(uint32_t* s, double part)
{
    return draw(s, 0, 1) < part;
}

static void put_robot_head(gradient_case* c, uint32_t* s, int dimension, const char* more)
{
    put(c,
        "{'dimension': %d, 'gravity': [0, %s-9.81], 'step': 0.01, 'duration': %.6g, 'tolerance':"
        " 1e-12, 'parameters': {'v': %.4f, 'k': %.4f, 'm': %.4f}, 'friction': {'default': %.4f},%s",
        dimension, dimension == 3 ? "0, " : "", 0.01 * (double)(15 + (int)draw(s, 0, 30)),
        draw(s, 0.4, 1.6), draw(s, 0.5, 2.0), draw(s, 0.5, 2.0), draw(s, 0.15, 0.6), more);
}

/* One joint of an arm, at its place i. */
static void put_joint(gradient_case* c, uint32_t* s, int dimension, int i, double height)
{
    static const char* const axis[] = {"[0, 1, 0]", "[0.2, 1, 0.1]", "[0, 0.3, 1]", "[1, 0.2, 0]"};
    const bool slides = chance(s, 0.25);
    put(c, "%s{'name': 'j%d', 'type': '%s', 'a': '", i > 0 ? ", " : "", i,
        slides ? "prismatic" : "revolute");
    if (i == 0) {
        put(c, "world', 'b': 'b0', 'at': [0, ");
    } else {
        put(c, "b%d', 'b': 'b%d', 'at': [%.4f, ", i - 1, i, 0.4 * i);
    }
    put(c, "%s%.4f]", dimension == 3 ? "0, " : "", height);
    if (dimension == 3) {
        put(c, ", 'axis': %s", axis[(int)draw(s, 0, 4)]);
    } else if (slides) {
        put(c, ", 'axis': [%.3f, %.3f]", draw(s, -1, 1), draw(s, 0.2, 1));
    }
    if (chance(s, 0.6)) {
        put(c, ", 'armature': '%.3f*k'", draw(s, 0.02, 0.2));
    }
    if (chance(s, 0.4)) {
        put(c, ", 'damping': %.3f", draw(s, 0.01, 0.3));
    }
    if (chance(s, 0.3)) {
        put(c, ", 'limits': [%.3f, %.3f]", draw(s, -0.6, -0.1), draw(s, 0.1, 0.6));
    }
    if (chance(s, 0.3)) {
        put(c, ", 'motor': {'type': 'velocity', 'target': '%.3f*sin(5*t)', 'max_effort': %.3f}",
            draw(s, -2, 2), draw(s, 1, 20));
    } else if (chance(s, 0.2)) {
        put(c, ", 'motor': {'type': 'effort', 'target': '%.3f*k'}", draw(s, -2, 2));
    }
    put(c, "}");
}

/* An arm of two to four links over a floor: with gears, or corrected. */
static void write_arm(gradient_case* c, uint32_t* s, bool corrected)
{
    const int dimension = chance(s, 0.5) ? 2 : 3;
    const double height = draw(s, 0.25, 1.2);
    c->bodies = 2 + (int)draw(s, 0, 3);
    put_robot_head(c, s, dimension, corrected ? "'joint_correction': true," : "");
    put_floor(c, dimension);
    for (int i = 0; i < c->bodies; ++i) {
        const bool round = chance(s, 0.4);
        put(c, ", {'name': 'b%d', 'mass': %s, 'position': [%.3f, %s%.4f], 'velocity': [0, %s%s],",
            i, i == 0 ? "'m'" : "0.5", 0.2 + 0.4 * i, dimension == 3 ? "0, " : "", height,
            dimension == 3 ? "0, " : "", i == c->bodies - 1 ? "'-v'" : "0");
        if (round) {
            put(c, "'shapes': [{'type': '%s', 'radius': 0.06}]}",
                dimension == 3 ? "sphere" : "circle");
        } else {
            put(c, "'shapes': [{'type': 'box', 'size': [%.3f, 0.05%s]}]}", draw(s, 0.3, 0.38),
                dimension == 3 ? ", 0.06" : "");
        }
    }
    put(c, "], 'joints': [");
    for (int i = 0; i < c->bodies; ++i) {
        put_joint(c, s, dimension, i, height);
    }
    const int a = (int)draw(s, 0, c->bodies),
              b = (a + 1 + (int)draw(s, 0, c->bodies - 1)) % c->bodies;
    const bool soft = corrected || chance(s, 0.4);
    if (chance(s, 0.7)) {
        put(c, ", {'name': 'g', 'type': 'gear', 'joints': ['j%d', 'j%d'], 'ratio': '%.3f*k'", a, b,
            draw(s, -1.5, 1.5));
        if (soft) {
            put(c, ", 'stiffness': %.2f, 'damping': %.3f%s", draw(s, 5, 100), draw(s, 0.05, 1),
                chance(s, 0.4) ? ", 'max_effort': 2.5" : "");
        }
        put(c, "}");
    }
    put(c, "]");
    if (chance(s, 0.5)) {
        put(c,
            ", 'controllers': [{'type': 'pid', 'joint': 'j%d', 'kp': '%.2f*k', 'ki': %.2f, 'kd': "
            "%.2f, 'target': '0.3*sin(3*t)', 'feed_forward': 'gravity'}]",
            (int)draw(s, 0, c->bodies), draw(s, 5, 30), draw(s, 0, 5), draw(s, 0.2, 2));
    }
    if (chance(s, 0.3)) {
        put(c,
            ", 'forces': [{'type': 'spring', 'a': 'b0', 'b': 'b%d', 'stiffness': %.2f, 'damping':"
            " 0.2, 'rest': 0.3%s}]",
            c->bodies - 1, draw(s, 5, 60), chance(s, 0.5) ? ", 'implicit': true" : "");
    }
    put(c, ", 'measures': {'m': 'b%d.position.%s + 0.1*b0.angular_velocity%s + j0.coordinate.1'}}",
        c->bodies - 1, dimension == 3 ? "z" : "y", dimension == 3 ? ".y" : "");
}

/* Two to five bodies that meet in flight and bounce, some of them on a plate that shakes. */
static void write_bounces(gradient_case* c, uint32_t* s, bool plate)
{
    const int dimension = chance(s, 0.5) ? 2 : 3;
    c->bodies = plate ? 1 + (int)draw(s, 0, 3) : 2 + (int)draw(s, 0, 4);
    put_robot_head(c, s, dimension, "");
    put(c, "'restitution': %.3f, 'bodies': [", draw(s, 0.3, 0.8));
    if (plate) {
        put(c,
            "{'name': 'plate', 'type': 'kinematic', 'shapes': [{'type': 'box', 'size': [9, "
            "%s0.2]}],"
            " 'motion': {'position': ['0.03*v*sin(%.2f*t)', %s'-0.1 + 0.02*v*cos(%.2f*t)']}}, ",
            dimension == 3 ? "9, " : "", draw(s, 5, 15), dimension == 3 ? "0, " : "",
            draw(s, 5, 15));
    }
    for (int i = 0; i < c->bodies; ++i) {
        const bool round = i % 2 == 1 || chance(s, 0.5);
        put(c,
            "%s{'name': 'b%d', 'mass': %s, 'position': [%.4f, %s%.4f], 'velocity': [%s, %s%.3f],",
            i > 0 ? ", " : "", i, i == 0 ? "'m'" : "0.7", plate ? 0.8 * i : 0.36 * i,
            dimension == 3 ? "0.01, " : "", draw(s, 0.2, 0.3),
            i == 0 ? (plate ? "'0.4*v'" : "'2.5*v'") : "-0.2", dimension == 3 ? "0.1, " : "",
            draw(s, -0.5, 0.2));
        put(c, "'angular_velocity': %s%.3f%s, 'shapes': [", dimension == 3 ? "[1, " : "",
            draw(s, -3, 3), dimension == 3 ? ", 0.5]" : "");
        if (round) {
            put(c, "{'type': '%s', 'radius': %.3f}]}", dimension == 3 ? "sphere" : "circle",
                draw(s, 0.08, 0.14));
        } else {
            put(c, "{'type': 'box', 'size': [%.3f, %.3f%s]}], %s}", draw(s, 0.15, 0.25),
                draw(s, 0.1, 0.2), dimension == 3 ? ", 0.12" : "",
                dimension == 3 ? "'orientation': [0.9, 0.2, 0.3, 0.1]" : "'angle': 0.4");
        }
    }
    put(c, "], 'measures': {'m': 'b0.position.x + b%d.position.%s + 0.1*b0.velocity.x'}}",
        c->bodies - 1, dimension == 3 ? "z" : "y");
}

/* Balls in a tree of soft and stiff springs over a floor, one on a motor: joints, springs, contacts together. */
static void write_walker(gradient_case* c, uint32_t* s)
{
    c->bodies = 4;
    put_robot_head(c, s, 2, "");
    put_floor(c, 2);
    const double height = draw(s, 0.26, 0.4);
    put(c,
        ", {'name': 'b0', 'mass': 'm', 'shapes': [{'type': 'box', 'size': [0.8, 0.12]}],"
        " 'position': [0, %.4f], 'velocity': ['v', 0]}",
        height + 0.12);
    for (int i = 1; i < 4; ++i) {
        put(c,
            ", {'name': 'b%d', 'mass': 0.4, 'shapes': [{'type': 'circle', 'radius': %.3f}],"
            " 'position': [%.2f, %.4f], 'velocity': ['v', 0], 'angular_velocity': %.3f}",
            i, draw(s, 0.1, 0.14), 0.35 * (i - 2), height, draw(s, -3, 3));
    }
    put(c, "], 'joints': [");
    for (int i = 1; i < 4; ++i) {
        put(c, "%s{'name': 'j%d', 'type': 'revolute', 'a': 'b0', 'b': 'b%d', 'at': [%.2f, %.4f]",
            i > 1 ? ", " : "", i, i, 0.35 * (i - 2), height);
        put(c, ", 'armature': '%.3f*k'%s}", draw(s, 0.001, 0.01),
            i == 1 ? ", 'motor': {'type': 'velocity', 'target': '-9*k', 'max_effort': 0.8}" : "");
    }
    put(c, ", {'name': 'g', 'type': 'gear', 'joints': ['j1', 'j2'], 'ratio': '%.3f*k'}",
        draw(s, 0.5, 1.5));
    if (chance(s, 0.5)) {
        put(c,
            ", {'name': 'h', 'type': 'gear', 'joints': ['j2', 'j3'], 'ratio': 1, 'stiffness':"
            " %.2f, 'damping': 0.02}",
            draw(s, 0.5, 5));
    }
    put(c, "], 'measures': {'m': 'b0.position.x + 0.2*b0.velocity.y + 0.2*b0.angle'}}");
}

void gradient_case_write_robot(uint32_t seed, gradient_case* c)
{
    static const char* const names[GRADIENT_ROBOT_KINDS] = {
        "arms with gears and rotors", "corrected arms", "bodies that meet in flight",
        "bounces on a plate", "geared carts"};
    static const char* const parameters[] = {"v", "k", "m"};
    uint32_t s = seed * 2654435761u + 777u;
    for (int i = 0; i < 4; ++i) {
        (void)next_random(&s);
    }
    memset(c, 0, sizeof *c);
    c->kind = (int)(seed % GRADIENT_ROBOT_KINDS);
    c->name = names[c->kind];
    c->parameter_count = GRADIENT_CASE_MOST;
    memcpy(c->parameter, parameters, sizeof parameters);
    switch (c->kind) {
    case 0:
    case 1: write_arm(c, &s, c->kind == 1); break;
    case 2:
    case 3: write_bounces(c, &s, c->kind == 3); break;
    default: write_walker(c, &s); break;
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
        double difference[GRADIENT_CASE_MOST], spread[GRADIENT_CASE_MOST];
        double off = 0.0, size = 0.0, noise = 0.0;
        r.status = perp_gradient_difference(context, scene, &def, difference, spread);
        for (int32_t i = 0; r.status == PERP_OK && i < c->parameter_count; ++i) {
            const double d = fabs(difference[i] - perp_gradient_of(g, i));
            off = !(d <= off) ? d : off;
            noise = fmax(noise, fabs(spread[i] * difference[i]));
            size = fabs(difference[i]) > size ? fabs(difference[i]) : size;
        }
        r.off = size > 0.0 ? off / size : off;
        r.noise = size > 0.0 ? noise / size : noise;
    }
    perp_gradient_destroy(g);
    perp_scene_destroy(scene);
    return r;
}
