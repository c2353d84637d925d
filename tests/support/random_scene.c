#include "support/random_scene.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perp/base.h"
#include "support/generate.h"
#include "support/quotes.h"

typedef struct writer {
    char* text;
    size_t used, capacity;
    uint64_t random;
} writer;

static void put(writer* w, const char* format, ...) PERP_PRINTF(2, 3);
static void put(writer* w, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(w->text + w->used, w->capacity - w->used, format, args);
    va_end(args);
    if (n < 0 || w->used + (size_t)n >= w->capacity) {
        abort(); /* a test's own mistake */
    }
    scene_quotes(w->text + w->used);
    w->used += (size_t)n;
}

static double between(writer* w, double low, double high)
{
    return generate_uniform(&w->random, low, high);
}

static int one_of(writer* w, int count)
{
    return (int)(generate_bits(&w->random) % (uint64_t)count);
}

/* A power of ten between the two, uniform in the exponent. */
static double power_between(writer* w, double low, double high)
{
    return pow(10.0, between(w, log10(low), log10(high)));
}

static void put_polygon(writer* w, double size)
{
    const int points = 3 + one_of(w, 6), star = one_of(w, 2);
    put(w, "{'type':'polygon','vertices':[");
    for (int i = 0; i < points * (1 + star); ++i) {
        const double angle = 2.0 * M_PI * i / (points * (1 + star));
        const double r = star && i % 2 == 0 ? 0.45 * size : size;
        put(w, "%s[%.17g,%.17g]", i > 0 ? "," : "", r * cos(angle), r * sin(angle));
    }
    put(w, "]}");
}

static void put_shape(writer* w, int dimension, double size)
{
    if (dimension == 2) {
        switch (one_of(w, 4)) {
        case 0:
            put(w, "{'type':'box','size':[%.17g,%.17g]}", size * between(w, 0.6, 1.4),
                size * between(w, 0.6, 1.4));
            return;
        case 1: put(w, "{'type':'circle','radius':%.17g}", 0.7 * size); return;
        default: put_polygon(w, size); return;
        }
    }
    switch (one_of(w, 4)) {
    case 0: put(w, "{'type':'sphere','radius':%.17g}", 0.6 * size); return;
    case 1:
        put(w, "{'type':'capsule','radius':%.17g,'length':%.17g}", 0.4 * size, 0.8 * size);
        return;
    default:
        put(w, "{'type':'box','size':[%.17g,%.17g,%.17g]}", size * between(w, 0.6, 1.4),
            size * between(w, 0.6, 1.4), size * between(w, 0.6, 1.4));
    }
}

static void put_friction(writer* w)
{
    static const double mu[] = {0.0, 0.3, 1.0};
    const double value = mu[one_of(w, 3)];
    if (one_of(w, 2) == 0) {
        put(w, "'friction':{'cone':'quadratic','default':%g},", value);
    } else {
        put(w, "'friction':{'cone':'polygon','default':%g,'directions':%d},", value,
            4 + 2 * one_of(w, 3));
    }
}

/* Bodies stand on a grid and fly towards its middle. */
static void put_body(writer* w, int dimension, int i, double size, double speed, double mass)
{
    const double at[2] = {3.0 * size * (i % 3), 2.0 * size + 3.0 * size * (double)(i / 3)};
    const double to[2] = {3.0 * size - at[0], 3.5 * size - at[1]};
    const double length = hypot(to[0], to[1]) + 1e-3 * size, v = speed * between(w, 0.3, 1.0);
    const double spin = speed / size * between(w, -1.5, 1.5) * (one_of(w, 3) == 0 ? 3.0 : 0.5);
    put(w, ",{'name':'b%d','mass':%.17g,'shapes':[", i, mass);
    put_shape(w, dimension, size * between(w, 0.7, 1.0));
    if (dimension == 2) {
        put(w,
            "],'position':[%.17g,%.17g],'angle':%.17g,'velocity':[%.17g,%.17g],"
            "'angular_velocity':%.17g}",
            at[0], at[1], between(w, 0.0, 6.0), v * to[0] / length, v * to[1] / length, spin);
    } else {
        put(w,
            "],'position':[%.17g,0,%.17g],'orientation':[1,%.17g,%.17g,%.17g],"
            "'velocity':[%.17g,%.17g,%.17g],'angular_velocity':[%.17g,%.17g,0]}",
            at[0], at[1], between(w, -1, 1), between(w, -1, 1), between(w, -1, 1),
            v * to[0] / length, 0.1 * v * between(w, -1, 1), v * to[1] / length, 0.3 * spin,
            0.3 * spin);
    }
}

char* random_scene(const random_scene_spec* spec)
{
    writer w = {.capacity = 1 << 16, .random = spec->seed * 0x9E3779B97F4A7C15u + 1u};
    w.text = malloc(w.capacity);
    if (w.text == NULL) {
        return NULL;
    }
    const double size = power_between(&w, 0.005, 3.0);
    const double h = power_between(&w, 1e-3, 2e-2);
    const double speed = size / h * between(&w, 0.1, 1.0); /* up to a body's size in a step */
    const double spread = one_of(&w, 3) == 0 ? 1e3 : 3.0, mass = power_between(&w, 1e-2, 1e3);
    const int bodies = 3 + one_of(&w, 4), floor = one_of(&w, 3) == 0;
    const char* const along = spec->dimension == 2 ? "0," : "0,0,";
    put(&w, "{'dimension':%d,'step':%.17g,'duration':%.17g,'contact':'%s',", spec->dimension, h,
        h * (spec->steps + (one_of(&w, 2) == 0 ? 0.0 : between(&w, 0.0, 1.0))), spec->contact);
    put(&w, "'stepper':'%s','record':{'every':%d},", spec->stepper,
        spec->record_every > 0 ? spec->record_every : 1);
    put_friction(&w);
    const bool impacts = strcmp(spec->stepper, "stewart-trinkle") == 0;
    if (spec->restitution && impacts) {
        put(&w, "'restitution':{'law':'newton','e':%.17g},", between(&w, 0.1, 1.0));
    }
    if (spec->joints && one_of(&w, 2) == 0 && impacts) {
        put(&w, "'joint_correction':true,");
    }
    if (spec->joints && impacts && spec->seed % 3 == 0) { /* draws no random number */
        put(&w, "'joint_direction':'middle',");
    }
    put(&w, "'gravity':[%s%.17g],'bodies':[", along, floor ? -9.81 : 0.0);
    put(&w, "{'name':'floor','type':'static','position':[%s%.17g],'shapes':[{", along,
        (floor ? -0.5 : -50.0) * size);
    put(&w,
        spec->dimension == 2 ? "'type':'box','size':[%.17g,%.17g]}]}"
                             : "'type':'box','size':[%.17g,%.17g,%.17g]}]}",
        100.0 * size, spec->dimension == 2 ? size : 100.0 * size, size);
    for (int i = 0; i < bodies; ++i) {
        put_body(&w, spec->dimension, i, size, speed,
                 mass * power_between(&w, 1.0 / spread, spread));
    }
    put(&w, "]");
    if (spec->joints) { /* the first two are neighbours */
        put(&w, ",'joints':[{'name':'j','type':'revolute','a':'b0','b':'b1',");
        put(&w,
            spec->dimension == 2 ? "'at':[%.17g,%.17g]}]" : "'at':[%.17g,0,%.17g],'axis':[0,1,0]}]",
            1.5 * size, 2.0 * size);
    }
    put(&w, "}");
    return w.text;
}
