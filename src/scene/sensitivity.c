/* src/scene/sensitivity.c - see sensitivity.h. */
#include "scene/sensitivity.h"

#include <stdlib.h>
#include <string.h>

#include "scene/field.h"
#include "scene/reader.h"
#include "scene/variant.h"

/* Of the parameter's size. */
static const double DELTA = 1e-3;
/* With derivatives of second and fourth order as near as this the latter has an error near 1e-11. */
static const double SMOOTH = 3e-6;
enum { MODELS = PERPI_SENSITIVITY_MODELS, TRIES = 4, SHRINKS = 8 };

/* Central differences, and those to either side. second: of second order to the right and to the
 * left, where there are models. */
typedef struct difference {
    double at[MODELS], weight[MODELS], here; /* fourth order */
    double second[2][MODELS], second_here[2];
} difference;

static const difference DIFFERENCE[3] = {
    {{-2, -1, 1, 2},
     {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12},
     0,
     {{0, 0, 2, -0.5}, {0.5, -2, 0, 0}},
     {-1.5, 1.5}},
    {{1, 2, 3, 4},
     {4, -3, 4.0 / 3, -0.25},
     -25.0 / 12,
     {{2, -0.5, 0, 0}, {2, -0.5, 0, 0}},
     {-1.5, -1.5}},
    {{-1, -2, -3, -4},
     {-4, 3, -4.0 / 3, 0.25},
     25.0 / 12,
     {{-2, 0.5, 0, 0}, {-2, 0.5, 0, 0}},
     {1.5, 1.5}},
};

/* A field that a parameter changes. */
typedef struct change {
    int32_t order; /* of the field among all numbers of a model */
    int32_t owner; /* the parameter, of those with models together */
    perpi_field field;
    double value;
} change;

struct perpi_sensitivity {
    perp_context* context;
    const perp_model* model;
    double duration;
    perpi_parameter_sensitivity* of;
    int32_t count;
    perp_model** models; /* MODELS of each, owned */
    change* changes;     /* of all parameters, one after the other */
    size_t change_count, change_capacity;
    perpi_field_derivative* items;
    int32_t* bodies;
    size_t body_count, body_capacity;
    size_t* first_body; /* count + 1 */
    perpi_field* field;
    int32_t field_count;
    /* of parameters with models together: what they change, with whose it is */
    change* group_changes;
    size_t group_count, group_capacity;
    bool* tried; /* per parameter: it was in a group */
};

/* ---- models near theta -------------------------------------------------------------------------------- */

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_run(const perp_sim_def* a, const perp_sim_def* b)
{
    return same_number(a->step, b->step) && same_number(a->error, b->error) &&
           same_number(a->step_min, b->step_min) && same_number(a->step_max, b->step_max) &&
           same_number(a->duration, b->duration) && same_number(a->margin, b->margin) &&
           same_number(a->tolerance, b->tolerance) && a->directions == b->directions &&
           same_number(a->e[0], b->e[0]) && same_number(a->e[1], b->e[1]) &&
           same_number(a->e[2], b->e[2]);
}

static perp_status refuse(perpi_sensitivity* s, const char* name, const char* what)
{
    return perpi_fail(s->context, PERP_ERROR_UNSUPPORTED,
                      "'%.100s': %s changes with it: there is no derivative", name, what);
}

static void drop_models(perpi_sensitivity* s, int32_t i)
{
    for (int k = 0; k < MODELS; ++k) {
        perp_model_destroy(s->models[MODELS * i + k]);
        s->models[MODELS * i + k] = NULL;
        s->of[i].model[k] = NULL;
    }
}

static void set_weights(perpi_parameter_sensitivity* p, const difference* d)
{
    for (int k = 0; k < MODELS; ++k) {
        p->weight[k] = d->weight[k] / p->delta;
    }
    p->weight_here = d->here / p->delta;
}

static perp_status build_models(perpi_sensitivity* s, perp_scene* scene, int32_t i,
                                const difference* d)
{
    perpi_parameter_sensitivity* p = &s->of[i];
    const perp_sim_def run = perp_sim_def_from_scene(scene);
    drop_models(s, i);
    for (int k = 0; k < MODELS; ++k) {
        perp_sim_def numbers;
        const char* what;
        perp_model** model = &s->models[MODELS * i + k];
        PERPI_TRY(
            perpi_scene_variant(scene, p->name, p->value + d->at[k] * p->delta, model, &numbers));
        p->model[k] = *model;
        if (!same_run(&run, &numbers)) {
            return refuse(s, p->name, "the run (step, duration, margin, tolerance or cone)");
        }
        if (!perpi_field_same_structure(s->model, *model, &what)) {
            return refuse(s, p->name, what);
        }
    }
    set_weights(p, d);
    return PERP_OK;
}

/* At the present delta, or a smaller one at which the scene can be built; *which: of DIFFERENCE. */
static perp_status build_near(perpi_sensitivity* s, perp_scene* scene, int32_t i, int* which)
{
    perp_status status = PERP_OK;
    for (int shrink = 0; shrink < SHRINKS; ++shrink) {
        for (*which = 0; *which < 3; ++*which) {
            status = build_models(s, scene, i, &DIFFERENCE[*which]);
            if (status != PERP_ERROR_INPUT) {
                return status;
            }
        }
        s->of[i].delta *= 0.125;
    }
    return status;
}

/* ---- differences of their numbers ----------------------------------------------------------------------- */

/* Adds the field to the changes of the parameter, if it is one. */
static perp_status compare_field(perpi_sensitivity* s, int32_t i, const difference* d,
                                 perpi_field f, int32_t order)
{
    perpi_parameter_sensitivity* p = &s->of[i];
    const perpi_value* value = perpi_field_value(s->model, &f);
    const bool varies = value != NULL && perpi_value_varies(value);
    const double here = perpi_field_between(s->model, s->model, f);
    double fourth = d->here * here, most = 0.0;
    double second[2] = {d->second_here[0] * here, d->second_here[1] * here};
    bool changes = false;
    for (int k = 0; k < MODELS; ++k) {
        const perp_model* m = p->model[k];
        const perpi_value* other = perpi_field_value(m, &f);
        if (other != NULL && perpi_value_varies(other) != varies) {
            return refuse(s, p->name, "whether a value varies in time");
        }
        if (varies) {
            changes = changes || perpi_field_value_differs(value, other);
            continue;
        }
        if (f.kind == PERPI_FIELD_OSCILLATION) {
            changes = changes || perpi_field_oscillation_differs(s->model, m, f.index, s->duration);
            continue;
        }
        const double there = perpi_field_between(s->model, m, f);
        if (isfinite(there) != isfinite(here)) {
            return refuse(s, p->name, "whether a number is given");
        }
        changes = changes || !same_number(there, here);
        fourth += d->weight[k] * there;
        second[0] += d->second[0][k] * there;
        second[1] += d->second[1][k] * there;
        most = perpi_larger(most, fabs(there - here));
    }
    if (!changes) {
        return PERP_OK;
    }
    const bool number = !varies && f.kind != PERPI_FIELD_OSCILLATION;
    if (number && isfinite(here)) {
        const double size = fabs(fourth) + most + 1e-6 * DELTA * fabs(here);
        const double off = perpi_larger(fabs(fourth - second[0]), fabs(fourth - second[1]));
        p->roughness = perpi_larger(p->roughness, off / size);
    }
    PERPI_TRY(perpi_grow(s->context, &s->changes, &s->change_capacity, s->change_count + 1,
                         sizeof *s->changes));
    s->changes[s->change_count++] =
        (change){order, -1, f, number && isfinite(here) ? fourth / p->delta : 0.0};
    return PERP_OK;
}

static perp_status compare_models(perpi_sensitivity* s, int32_t i, const difference* d,
                                  size_t first)
{
    int32_t order = 0;
    s->change_count = first;
    s->of[i].roughness = 0.0;
    for (int kind = 0; kind < PERPI_FIELD_KIND_COUNT; ++kind) {
        const int32_t items = perpi_field_items(s->model, (perpi_field_kind)kind);
        for (int32_t index = 0; index < items; ++index) {
            const int32_t parts = perpi_field_parts(s->model, (perpi_field_kind)kind, index);
            for (int32_t part = 0; part < parts; ++part, ++order) {
                PERPI_TRY(compare_field(s, i, d, (perpi_field){(perpi_field_kind)kind, index, part},
                                        order));
            }
        }
    }
    return PERP_OK;
}

/* A power of two, so that theta + k delta has no rounding of its own. */
static double power_of_two(double x)
{
    return ldexp(1.0, (int)lround(log2(x)));
}

/* The value of a parameter, and the first delta. */
static perp_status begin(perpi_sensitivity* s, perp_scene* scene, int32_t i, double scale)
{
    perpi_parameter_sensitivity* p = &s->of[i];
    PERPI_TRY(perpi_scene_number(scene, p->name, &p->value));
    const double size = scale > 0.0 ? scale : p->value != 0.0 ? fabs(p->value) : 1.0;
    p->delta = power_of_two(DELTA * size);
    return PERP_OK;
}

static perp_status differentiate(perpi_sensitivity* s, perp_scene* scene, int32_t i, double scale)
{
    perpi_parameter_sensitivity* p = &s->of[i];
    const size_t first = s->change_count;
    PERPI_TRY(begin(s, scene, i, scale));
    double before = INFINITY;
    for (int try = 0; try < TRIES; ++try) {
        int which;
        PERPI_TRY(build_near(s, scene, i, &which));
        PERPI_TRY(compare_models(s, i, &DIFFERENCE[which], first));
        if (p->roughness <= SMOOTH || !(p->roughness < 0.5 * before) || try + 1 == TRIES) {
            break;
        }
        before = p->roughness;
        const double by = sqrt(0.3 * SMOOTH / p->roughness);
        p->delta = power_of_two(p->delta * (by > 1.0 / 64 ? by : 1.0 / 64));
    }
    p->count = (int32_t)(s->change_count - first);
    return PERP_OK;
}

/* ---- parameters of different bodies ---------------------------------------------------------------------
 *
 * A number of a body depends on what stands in that body. So parameters that stand in different
 * dynamic bodies without joints are varied together: four models serve them all. */

typedef struct group {
    int32_t* member; /* parameters */
    int32_t count;
    int32_t* owner; /* per body: the parameter that stands in it; -1: none */
    const char** name;
    double* value;
    bool* body;
} group;

enum { LEAST_GROUP = 3 };

static void free_group(perp_context* context, group* g)
{
    void* const owned[] = {g->member, g->owner, (void*)g->name, g->value, g->body};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(context, owned[i]);
    }
}

static bool may_share(const perpi_sensitivity* s, const group* g)
{
    bool any = false, good = true;
    for (size_t i = 0; i < s->model->body_count; ++i) {
        const perpi_body* b = &s->model->body[i];
        any = any || g->body[i];
        good = good && (!g->body[i] || (g->owner[i] < 0 && b->type == PERP_BODY_DYNAMIC &&
                                        b->joints == 0 && b->gears == 0));
    }
    return any && good;
}

static perp_status find_group(perpi_sensitivity* s, perp_scene* scene,
                              const perpi_sensitivity_def* def, group* g)
{
    const size_t n = (size_t)def->count + 1, bodies = s->model->body_count;
    PERPI_TRY(perpi_alloc(s->context, n, sizeof *g->member, &g->member));
    PERPI_TRY(perpi_alloc(s->context, n, sizeof *g->name, &g->name));
    PERPI_TRY(perpi_alloc(s->context, n, sizeof *g->value, &g->value));
    PERPI_TRY(perpi_alloc(s->context, bodies + 1, sizeof *g->owner, &g->owner));
    PERPI_TRY(perpi_alloc(s->context, bodies + 1, sizeof *g->body, &g->body));
    for (size_t i = 0; i < bodies; ++i) {
        g->owner[i] = -1;
    }
    for (int32_t i = 0; i < def->count; ++i) {
        memset(g->body, 0, bodies * sizeof *g->body);
        if (s->tried[i] || !perpi_scene_stands_in(scene, def->name[i], g->body) ||
            !may_share(s, g)) {
            continue;
        }
        PERPI_TRY(begin(s, scene, i, def->scale != NULL ? def->scale[i] : 0.0));
        g->name[g->count] = s->of[i].name;
        g->member[g->count++] = i;
        s->tried[i] = true;
        for (size_t k = 0; k < bodies; ++k) {
            g->owner[k] = g->body[k] ? i : g->owner[k];
        }
    }
    return PERP_OK;
}

/* Their models, which the first of them owns. PERP_ERROR_UNSUPPORTED: they cannot be varied together. */
static perp_status build_group(perpi_sensitivity* s, perp_scene* scene, group* g)
{
    const difference* d = &DIFFERENCE[0];
    const perp_sim_def run = perp_sim_def_from_scene(scene);
    for (int k = 0; k < MODELS; ++k) {
        perp_sim_def numbers;
        const char* what;
        perp_model** model = &s->models[MODELS * g->member[0] + k];
        for (int32_t i = 0; i < g->count; ++i) {
            const perpi_parameter_sensitivity* p = &s->of[g->member[i]];
            g->value[i] = p->value + d->at[k] * p->delta;
        }
        PERPI_TRY(perpi_scene_variant_of(scene, g->name, g->value, g->count, model, &numbers));
        if (!same_run(&run, &numbers) || !perpi_field_same_structure(s->model, *model, &what)) {
            return PERP_ERROR_UNSUPPORTED;
        }
        for (int32_t i = 0; i < g->count; ++i) {
            s->of[g->member[i]].model[k] = *model;
        }
    }
    for (int32_t i = 0; i < g->count; ++i) {
        set_weights(&s->of[g->member[i]], d);
    }
    return PERP_OK;
}

/* The parameter that a field depends on; -1: none of them, -2: several. */
static int32_t owner_of(const perpi_sensitivity* s, const group* g, perpi_field f)
{
    int32_t body[PERPI_FIELD_BODIES], owner = -1;
    perpi_field_bodies(s->model, f, body);
    for (int side = 0; side < PERPI_FIELD_BODIES; ++side) {
        const int32_t own = body[side] >= 0 ? g->owner[body[side]] : -1;
        owner = own < 0 || own == owner ? owner : owner == -1 ? own : -2;
    }
    return owner;
}

/* What they change, into s->changes; false in *good: a number of none or several of them changes. */
static perp_status compare_group(perpi_sensitivity* s, const group* g, bool* good)
{
    int32_t order = 0;
    for (int kind = 0; kind < PERPI_FIELD_KIND_COUNT; ++kind) {
        const int32_t items = perpi_field_items(s->model, (perpi_field_kind)kind);
        for (int32_t index = 0; index < items; ++index) {
            const int32_t parts = perpi_field_parts(s->model, (perpi_field_kind)kind, index);
            const int32_t owner = owner_of(s, g, (perpi_field){(perpi_field_kind)kind, index, 0});
            for (int32_t part = 0; part < parts; ++part, ++order) {
                const size_t before = s->change_count;
                PERPI_TRY(compare_field(s, owner >= 0 ? owner : g->member[0], &DIFFERENCE[0],
                                        (perpi_field){(perpi_field_kind)kind, index, part}, order));
                if (s->change_count == before) {
                    continue;
                }
                *good = *good && owner >= 0;
                s->changes[before].owner = owner;
            }
        }
    }
    return PERP_OK;
}

/* Changes of one parameter of the group, after each other, as those of the others are. */
static perp_status take_from_group(perpi_sensitivity* s, int32_t i)
{
    const size_t first = s->change_count;
    for (size_t k = 0; k < s->group_count; ++k) {
        if (s->group_changes[k].owner != i) {
            continue;
        }
        PERPI_TRY(perpi_grow(s->context, &s->changes, &s->change_capacity, s->change_count + 1,
                             sizeof *s->changes));
        s->changes[s->change_count++] = s->group_changes[k];
    }
    s->of[i].count = (int32_t)(s->change_count - first);
    return PERP_OK;
}

static perp_status try_group(perpi_sensitivity* s, perp_scene* scene, group* g, bool* good)
{
    perp_status status = build_group(s, scene, g);
    *good = status == PERP_OK;
    if (status == PERP_OK) {
        status = compare_group(s, g, good);
    }
    if (status == PERP_ERROR_INPUT || status == PERP_ERROR_UNSUPPORTED) {
        *good = false; /* one by one they may be varied, or be named */
        status = PERP_OK;
    }
    return status;
}

/* Keeps what a group changes, and marks its parameters. Their models are the first one's. */
static perp_status keep_group(perpi_sensitivity* s, const group* g)
{
    PERPI_TRY(perpi_grow(s->context, &s->group_changes, &s->group_capacity,
                         s->group_count + s->change_count + 1, sizeof *s->group_changes));
    for (size_t i = 0; i < s->change_count; ++i) {
        s->group_changes[s->group_count++] = s->changes[i];
    }
    for (int32_t i = 0; i < g->count; ++i) {
        perpi_parameter_sensitivity* p = &s->of[g->member[i]];
        p->shared = p->roughness <= SMOOTH;
    }
    return PERP_OK;
}

/* One group of parameters that were in none; *found: there was one. */
static perp_status differentiate_group(perpi_sensitivity* s, perp_scene* scene,
                                       const perpi_sensitivity_def* def, bool* found)
{
    group g = {0};
    bool good = false;
    perp_status status = find_group(s, scene, def, &g);
    *found = status == PERP_OK && g.count >= LEAST_GROUP;
    if (*found) {
        status = try_group(s, scene, &g, &good);
        good = good && s->of[g.member[0]].roughness <= SMOOTH;
    }
    if (status == PERP_OK && good) {
        status = keep_group(s, &g);
    }
    for (int32_t i = 0; i < g.count && !good; ++i) {
        drop_models(s, g.member[i]);
    }
    s->change_count = 0;
    free_group(s->context, &g);
    return status;
}

static perp_status differentiate_groups(perpi_sensitivity* s, perp_scene* scene,
                                        const perpi_sensitivity_def* def)
{
    bool found = def->count >= LEAST_GROUP;
    PERPI_TRY(perpi_alloc(s->context, (size_t)def->count + 1, sizeof *s->tried, &s->tried));
    while (found) {
        PERPI_TRY(differentiate_group(s, scene, def, &found));
    }
    return PERP_OK;
}

/* ---- fields of all parameters, bodies of each -------------------------------------------------------------- */

static int by_order(const void* a, const void* b)
{
    const int32_t x = ((const change*)a)->order, y = ((const change*)b)->order;
    return (x > y) - (x < y);
}

/* Numbers the fields and makes the lists. */
static perp_status number_fields(perpi_sensitivity* s)
{
    const size_t n = s->change_count;
    change* sorted = NULL;
    PERPI_TRY(perpi_alloc(s->context, n + 1, sizeof *s->field, &s->field));
    PERPI_TRY(perpi_alloc(s->context, n + 1, sizeof *s->items, &s->items));
    PERPI_TRY(perpi_alloc(s->context, n + 1, sizeof *sorted, &sorted));
    if (n > 0) {
        memcpy(sorted, s->changes, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_order);
    }
    for (size_t i = 0; i < n; ++i) {
        if (i == 0 || sorted[i].order != sorted[i - 1].order) {
            s->field[s->field_count++] = sorted[i].field;
        }
    }
    perpi_free(s->context, sorted);
    for (size_t i = 0; i < n; ++i) {
        const perpi_field f = s->changes[i].field;
        s->items[i] = (perpi_field_derivative){perpi_sensitivity_find(s, f.kind, f.index, f.part),
                                               s->changes[i].value};
    }
    size_t at = 0;
    for (int32_t i = 0; i < s->count; ++i) {
        s->of[i].item = s->items + at;
        at += (size_t)s->of[i].count;
    }
    return PERP_OK;
}

static int by_number(const void* a, const void* b)
{
    const int32_t x = *(const int32_t*)a, y = *(const int32_t*)b;
    return (x > y) - (x < y);
}

static perp_status list_bodies(perpi_sensitivity* s)
{
    size_t at = 0;
    for (int32_t i = 0; i < s->count; ++i) {
        const size_t first = s->body_count;
        s->first_body[i] = first;
        for (int32_t k = 0; k < s->of[i].count; ++k, ++at) {
            int32_t body[PERPI_FIELD_BODIES];
            perpi_field_bodies(s->model, s->changes[at].field, body);
            PERPI_TRY(perpi_grow(s->context, &s->bodies, &s->body_capacity,
                                 s->body_count + PERPI_FIELD_BODIES, sizeof *s->bodies));
            for (int side = 0; side < PERPI_FIELD_BODIES; ++side) {
                const bool again =
                    s->body_count > first && s->bodies[s->body_count - 1] == body[side];
                if (body[side] >= 0 && !again) {
                    s->bodies[s->body_count++] = body[side];
                }
            }
        }
        if (s->body_count > first) {
            qsort(s->bodies + first, s->body_count - first, sizeof *s->bodies, by_number);
        }
        size_t kept = first;
        for (size_t k = first; k < s->body_count; ++k) {
            if (k == first || s->bodies[k] != s->bodies[kept - 1]) {
                s->bodies[kept++] = s->bodies[k];
            }
        }
        s->body_count = kept;
    }
    s->first_body[s->count] = s->body_count;
    for (int32_t i = 0; i < s->count; ++i) { /* the array has its final place */
        s->of[i].body = s->bodies + s->first_body[i];
        s->of[i].body_count = (int32_t)(s->first_body[i + 1] - s->first_body[i]);
    }
    return PERP_OK;
}

static perp_status fill(perpi_sensitivity* s, perp_scene* scene, const perpi_sensitivity_def* def)
{
    const size_t n = (size_t)def->count;
    PERPI_TRY(perpi_alloc(s->context, n + 1, sizeof *s->of, &s->of));
    PERPI_TRY(perpi_alloc(s->context, MODELS * n + 1, sizeof *s->models, &s->models));
    PERPI_TRY(perpi_alloc(s->context, n + 1, sizeof *s->first_body, &s->first_body));
    s->count = def->count;
    for (int32_t i = 0; i < def->count; ++i) {
        char* name = NULL;
        PERPI_TRY(perpi_strndup(s->context, def->name[i], strlen(def->name[i]), &name));
        s->of[i].name = name;
    }
    if (def->share && !def->drop_models) {
        PERPI_TRY(differentiate_groups(s, scene, def));
    }
    for (int32_t i = 0; i < def->count; ++i) {
        if (s->of[i].shared) {
            PERPI_TRY(take_from_group(s, i));
        } else {
            PERPI_TRY(differentiate(s, scene, i, def->scale != NULL ? def->scale[i] : 0.0));
        }
        if (def->drop_models) {
            drop_models(s, i);
        }
    }
    PERPI_TRY(number_fields(s));
    return list_bodies(s);
}

perp_status perpi_sensitivity_create(perp_context* context, perp_scene* scene,
                                     const perpi_sensitivity_def* def,
                                     perpi_sensitivity** sensitivity)
{
    perpi_sensitivity* s = NULL;
    PERPI_TRY(perpi_alloc(context, 1, sizeof *s, &s));
    s->context = context;
    s->model = perp_scene_model(scene);
    s->duration = perp_sim_def_from_scene(scene).duration;
    const perp_status status = fill(s, scene, def);
    if (status != PERP_OK) {
        perpi_sensitivity_destroy(s);
        return status;
    }
    *sensitivity = s;
    return PERP_OK;
}

void perpi_sensitivity_destroy(perpi_sensitivity* s)
{
    if (s == NULL) {
        return;
    }
    for (int32_t i = 0; i < s->count; ++i) {
        drop_models(s, i);
        perpi_free(s->context, (char*)s->of[i].name);
    }
    perpi_free(s->context, s->of);
    perpi_free(s->context, s->models);
    perpi_free(s->context, s->changes);
    perpi_free(s->context, s->group_changes);
    perpi_free(s->context, s->tried);
    perpi_free(s->context, s->items);
    perpi_free(s->context, s->bodies);
    perpi_free(s->context, s->first_body);
    perpi_free(s->context, s->field);
    perpi_free(s->context, s);
}

/* ---- access ------------------------------------------------------------------------------------------------ */

int32_t perpi_sensitivity_count(const perpi_sensitivity* s)
{
    return s->count;
}

const perpi_parameter_sensitivity* perpi_sensitivity_of(const perpi_sensitivity* s,
                                                        int32_t parameter)
{
    return &s->of[parameter];
}

int32_t perpi_sensitivity_field_count(const perpi_sensitivity* s)
{
    return s->field_count;
}

const perpi_field* perpi_sensitivity_fields(const perpi_sensitivity* s)
{
    return s->field;
}

static bool field_before(const perpi_field* f, perpi_field_kind kind, int32_t index, int32_t part)
{
    return f->kind != kind ? f->kind < kind : f->index != index ? f->index < index : f->part < part;
}

/* The first field that is not before this one. */
static int32_t lower_bound(const perpi_sensitivity* s, perpi_field_kind kind, int32_t index,
                           int32_t part)
{
    int32_t low = 0, high = s->field_count;
    while (low < high) {
        const int32_t mid = low + (high - low) / 2;
        if (field_before(&s->field[mid], kind, index, part)) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

int32_t perpi_sensitivity_find(const perpi_sensitivity* s, perpi_field_kind kind, int32_t index,
                               int32_t part)
{
    const int32_t i = lower_bound(s, kind, index, part);
    return i < s->field_count && s->field[i].kind == kind && s->field[i].index == index &&
                   s->field[i].part == part
               ? i
               : -1;
}

int32_t perpi_sensitivity_range(const perpi_sensitivity* s, perpi_field_kind kind, int32_t index,
                                int32_t* first)
{
    *first = lower_bound(s, kind, index, 0);
    return lower_bound(s, kind, index, INT32_MAX) - *first;
}

static bool has_body(const perpi_parameter_sensitivity* p, int32_t body)
{
    return p->body_count > 0 &&
           bsearch(&body, p->body, (size_t)p->body_count, sizeof *p->body, by_number) != NULL;
}

bool perpi_sensitivity_touches(const perpi_sensitivity* s, int32_t parameter, int32_t a, int32_t b)
{
    const perpi_parameter_sensitivity* p = &s->of[parameter];
    return has_body(p, a) || (b >= 0 && has_body(p, b));
}

void perpi_sensitivity_contract(const perpi_sensitivity* s, const double* weight, double* gradient)
{
    for (int32_t i = 0; i < s->count; ++i) {
        double sum = 0.0;
        for (int32_t k = 0; k < s->of[i].count; ++k) {
            sum += s->of[i].item[k].value * weight[s->of[i].item[k].field];
        }
        gradient[i] += sum;
    }
}

void perpi_sensitivity_value(const perpi_sensitivity* s, int32_t parameter,
                             const perpi_field* field, double t, double* value, double* rate)
{
    const perpi_parameter_sensitivity* p = &s->of[parameter];
    const perpi_value* here = perpi_field_value(s->model, field);
    double speed = 0.0;
    PERP_ASSERT(here != NULL && p->model[0] != NULL);
    *value = p->weight_here * perpi_value_eval(here, t, &speed);
    *rate = p->weight_here * speed;
    for (int k = 0; k < MODELS; ++k) {
        *value += p->weight[k] * perpi_value_eval(perpi_field_value(p->model[k], field), t, &speed);
        *rate += p->weight[k] * speed;
    }
}
