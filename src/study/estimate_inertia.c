/* src/study/estimate_inertia.c - inertia of a body as unknowns: estimate_inertia.h. */
#include "study/estimate_inertia.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/model.h"

enum { A, D1, D2, D3, S12, S23, S13, T1, T2, T3 };

perp_status perpi_inertia_read(perpi_reader* r, const json_t* value, const char* name,
                               perpi_inertia* inertia)
{
    static const char* const keys[] = {"inertia", "centre", "prior", NULL};
    PERPI_TRY(perpi_read_object(r, value, keys));
    PERPI_TRY(perpi_read_string(r, value, "inertia", &inertia->body));
    PERPI_TRY(perpi_read_bool(r, value, "centre", &inertia->centre));
    inertia->name = name;
    inertia->prior = NAN;
    PERPI_TRY(perpi_read_number(r, value, "prior", &inertia->prior));
    if (json_object_get(value, "prior") != NULL && !(inertia->prior > 0.0)) {
        return perpi_reader_fail_key(r, "prior", PERP_ERROR_INPUT, "must be a number > 0");
    }
    return PERP_OK;
}

/* ---- coordinates --------------------------------------------------------------------------------*/

/* Spatial: the upper triangular U3 of the moments about the centre of mass, divided by the mass. */
static void physical_space(const double* x, double* physical)
{
    const double m = exp(2.0 * x[A]);
    const double U[3][3] = {
        {exp(x[D1]), x[S12], x[S13]}, {0.0, exp(x[D2]), x[S23]}, {0.0, 0.0, exp(x[D3])}};
    double S[3][3];
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            S[i][j] = m * (U[i][0] * U[j][0] + U[i][1] * U[j][1] + U[i][2] * U[j][2]);
        }
    }
    const double trace = S[0][0] + S[1][1] + S[2][2];
    physical[0] = m;
    physical[1] = trace - S[0][0];
    physical[2] = trace - S[1][1];
    physical[3] = trace - S[2][2];
    physical[4] = -S[0][1];
    physical[5] = -S[1][2];
    physical[6] = -S[0][2];
}

/* False: the inertia is that of no body with a volume. */
static bool coordinates_space(double m, const mat3* I, double* x)
{
    const double half = 0.5 * (I->m[0][0] + I->m[1][1] + I->m[2][2]) / m;
    double S[3][3];
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            S[i][j] = (i == j ? half : 0.0) - I->m[i][j] / m;
        }
    }
    const double u33 = sqrt(S[2][2]), u23 = S[1][2] / u33, u13 = S[0][2] / u33;
    const double u22 = sqrt(S[1][1] - u23 * u23), u12 = (S[0][1] - u13 * u23) / u22;
    const double u11 = sqrt(S[0][0] - u12 * u12 - u13 * u13);
    const double least = 1e-9 * sqrt(half);
    x[A] = 0.5 * log(m);
    x[D1] = log(u11);
    x[D2] = log(u22);
    x[D3] = log(u33);
    x[S12] = u12;
    x[S23] = u23;
    x[S13] = u13;
    x[T1] = x[T2] = x[T3] = 0.0;
    return u11 > least && u22 > least && u33 > least;
}

void perpi_inertia_physical(const perpi_inertia* inertia, const double* coordinate,
                            double* physical)
{
    double x[PERPI_INERTIA_PARTS];
    memcpy(x, inertia->start, sizeof x);
    for (int32_t i = 0; i < inertia->parts; ++i) {
        x[i] += coordinate[i];
    }
    double all[PERPI_INERTIA_PARTS] = {0};
    if (inertia->planar) {
        all[0] = exp(x[0]);
        all[1] = exp(x[1]);
        all[2] = x[2];
        all[3] = x[3];
    } else {
        physical_space(x, all);
        memcpy(all + T1, x + T1, 3 * sizeof *x);
    }
    const size_t count = !inertia->planar ? (inertia->centre ? 10 : 7) : inertia->centre ? 4 : 2;
    memcpy(physical, all, count * sizeof *physical);
}

/* ---- with the scene -----------------------------------------------------------------------------*/

static perp_status refuse(perpi_reader* r, const perpi_inertia* inertia, const char* why)
{
    (void)perpi_reader_enter(r, "unknown");
    (void)perpi_reader_enter(r, inertia->name);
    return perpi_reader_fail_key(r, "inertia", PERP_ERROR_INPUT, "body '%.200s' %s", inertia->body,
                                 why);
}

/* Names of the parameters of the scene, in the order of the physical numbers. */
static const char* const space_part[] = {"mass", "xx", "yy", "zz", "xy",
                                         "yz",   "xz", "cx", "cy", "cz"};
static const char* const plane_part[] = {"mass", "inertia", "cx", "cy"};

static perp_status name_places(perpi_reader* r, perp_study* s, perpi_inertia* inertia,
                               const json_t* parameters)
{
    char prefix[220];
    size_t length = 0;
    for (const char* c = inertia->name; *c != '\0' && length < sizeof prefix - 10; ++c) {
        const bool letter =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        prefix[length++] = letter ? *c : '_';
    }
    prefix[length] = '\0';
    for (int32_t i = 0; i < inertia->parts; ++i) {
        char text[300];
        (void)snprintf(text, sizeof text, "body_%s_%s", prefix,
                       inertia->planar ? plane_part[i] : space_part[i]);
        if (json_object_get(parameters, text) != NULL) {
            return refuse(r, inertia, "needs parameters whose names the scene has already");
        }
        PERPI_TRY(perpi_estimate_keep_name(r->context, s->estimate, text, &inertia->place[i]));
    }
    return PERP_OK;
}

static json_t* matrix_json(const perpi_inertia* inertia)
{
    static const int at[3][3] = {{1, 4, 6}, {4, 2, 5}, {6, 5, 3}};
    json_t* rows = json_array();
    for (int i = 0; i < 3; ++i) {
        json_t* row = json_array();
        for (int j = 0; j < 3; ++j) {
            json_array_append_new(row, json_string(inertia->place[at[i][j]]));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

/* The place of a shape, seen from a centre of mass that moves. */
static json_t* shifted(const json_t* position, const perpi_inertia* inertia)
{
    json_t* list = json_array();
    for (size_t i = 0; i < (inertia->planar ? 2 : 3); ++i) {
        const json_t* item = json_array_get(position, i);
        const char* centre = inertia->place[(inertia->planar ? 2 : 7) + i];
        char text[600];
        if (json_is_string(item)) {
            (void)snprintf(text, sizeof text, "(%.250s) - %s", json_string_value(item), centre);
        } else {
            (void)snprintf(text, sizeof text, "%.17g - %s", json_number_value(item), centre);
        }
        json_array_append_new(list, json_string(text));
    }
    return list;
}

static const char* prepare_body(json_t* item, const perpi_inertia* inertia)
{
    json_t* shapes = json_object_get(item, "shapes");
    if (json_object_get(item, "density") != NULL) {
        return "has a density: give its mass and inertia";
    }
    json_object_set_new(item, "mass", json_string(inertia->place[0]));
    json_object_set_new(item, "inertia",
                        inertia->planar ? json_string(inertia->place[1]) : matrix_json(inertia));
    for (size_t i = 0; inertia->centre && i < json_array_size(shapes); ++i) {
        json_t* shape = json_array_get(shapes, i);
        json_object_set_new(shape, "position",
                            shifted(json_object_get(shape, "position"), inertia));
    }
    return NULL;
}

static const char* prepare_scene(json_t* root, const perpi_inertia* inertia)
{
    json_t* bodies = json_object_get(root, "bodies");
    const char* why = "is not written out in the scene's bodies";
    double physical[PERPI_INERTIA_PARTS], zero[PERPI_INERTIA_PARTS] = {0};
    for (size_t i = 0; i < json_array_size(bodies); ++i) {
        json_t* item = json_array_get(bodies, i);
        const char* name = json_string_value(json_object_get(item, "name"));
        if (name != NULL && strcmp(name, inertia->body) == 0 &&
            json_object_get(item, "copies") == NULL) {
            why = prepare_body(item, inertia);
        }
    }
    if (json_object_get(root, "parameters") == NULL) {
        json_object_set_new(root, "parameters", json_object());
    }
    perpi_inertia_physical(inertia, zero, physical);
    for (int32_t i = 0; i < inertia->parts; ++i) {
        json_object_set_new(json_object_get(root, "parameters"), inertia->place[i],
                            json_real(physical[i]));
    }
    return why;
}

static perp_status add_parameters(perpi_reader* r, perpi_estimate* e, perpi_inertia* inertia)
{
    static const char* const space[] = {"mass",       "inertia.xx", "inertia.yy", "inertia.zz",
                                        "inertia.xy", "inertia.yz", "inertia.xz", "centre.x",
                                        "centre.y",   "centre.z"};
    static const char* const plane[] = {"mass", "inertia", "centre.x", "centre.y"};
    double physical[PERPI_INERTIA_PARTS];
    const int32_t parts = inertia->parts;
    inertia->parts = 0;
    perpi_inertia_physical(inertia, NULL, physical);
    const double radius =
        inertia->planar ? sqrt(physical[1] / physical[0])
                        : sqrt((physical[1] + physical[2] + physical[3]) / (2.0 * physical[0]));
    inertia->first = e->parameter_count;
    inertia->parts = parts;
    for (int32_t i = 0; i < inertia->parts; ++i) {
        char text[300];
        const bool length = inertia->planar ? i >= 2 : i >= S12;
        if (e->parameter_count >= PERPI_ESTIMATE_PARAMETERS) {
            return refuse(r, inertia, "brings too many unknowns");
        }
        perpi_parameter* p = &e->parameter[e->parameter_count++];
        *p = (perpi_parameter){.info = {.start = 0.0,
                                        .low = -INFINITY,
                                        .high = INFINITY,
                                        .scale = length ? 0.1 * radius : 0.1},
                               .kind = PERPI_PARAMETER_INERTIA,
                               .prior = inertia->prior * (length ? radius : 1.0),
                               .inertia = (int32_t)(inertia - e->inertia),
                               .part = i};
        (void)snprintf(text, sizeof text, "%.200s.%s", inertia->name,
                       inertia->planar ? plane[i] : space[i]);
        PERPI_TRY(perpi_estimate_keep_name(r->context, e, text, &p->info.name));
    }
    return PERP_OK;
}

perp_status perpi_estimate_replace_scene(perp_study* s, const json_t* root)
{
    char* text = json_dumps(root, JSON_REAL_PRECISION(17));
    char* copy = NULL;
    perp_scene* scene = NULL;
    perp_status status =
        text != NULL ? perpi_strndup(s->context, text, strlen(text), &copy) : PERP_ERROR_MEMORY;
    free(text);
    if (status != PERP_OK) {
        return status;
    }
    perpi_free(s->context, s->scene_text);
    s->scene_text = copy;
    status = perpi_study_scene(s, &scene);
    if (status == PERP_OK) {
        perp_scene_destroy(s->scene);
        s->scene = scene;
    }
    return status;
}

perp_status perpi_inertia_bind(perpi_reader* r, perp_study* s, perpi_inertia* inertia)
{
    const perp_model* model = perp_scene_model(s->scene);
    int32_t found = -1;
    for (size_t i = 0; i < model->body_count; ++i) {
        found = strcmp(model->body[i].name, inertia->body) == 0 ? (int32_t)i : found;
    }
    if (found < 0 || model->body[found].type != PERP_BODY_DYNAMIC) {
        return refuse(r, inertia, "is no dynamic body of the scene");
    }
    const perpi_body* body = &model->body[found];
    inertia->moved = found;
    inertia->planar = model->dimension == 2;
    if (body->particle) {
        return refuse(r, inertia, "is a particle: it has a mass only");
    }
    if (inertia->centre && body->joints > 0) {
        return refuse(r, inertia, "has joints: its centre cannot be unknown");
    }
    if (inertia->planar) {
        inertia->start[0] = log(body->mass);
        inertia->start[1] = log(body->inertia.m[2][2]);
    } else if (!coordinates_space(body->mass, &body->inertia, inertia->start)) {
        return refuse(r, inertia,
                      "is flat or a rod: its inertia must be that of a body with a volume");
    }
    inertia->parts = inertia->planar ? (inertia->centre ? 4 : 2) : (inertia->centre ? 10 : 7);
    json_t* root = json_loads(perp_scene_source(s->scene), 0, NULL);
    perp_status status = name_places(r, s, inertia, json_object_get(root, "parameters"));
    if (status == PERP_OK) {
        const char* why = prepare_scene(root, inertia);
        status = why != NULL ? refuse(r, inertia, why) : perpi_estimate_replace_scene(s, root);
    }
    json_decref(root);
    return status == PERP_OK ? add_parameters(r, s->estimate, inertia) : status;
}

perp_status perpi_inertia_set(const perpi_inertia* inertia, perp_scene* scene,
                              const double* coordinate)
{
    double physical[PERPI_INERTIA_PARTS];
    perpi_inertia_physical(inertia, coordinate, physical);
    for (int32_t i = 0; i < inertia->parts; ++i) {
        PERPI_TRY(perp_scene_set_number(scene, inertia->place[i], physical[i]));
    }
    return PERP_OK;
}
