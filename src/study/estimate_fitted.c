/* src/study/estimate_fitted.c - what is written of an estimate: the fitted study and scene, predicted rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "study/estimate_inertia.h"
#include "study/estimate_report.h"

/* The scene with the values found. */
static perp_status fitted_scene(perp_estimate* x, const char** text)
{
    perpi_predictor* predictor = NULL;
    perp_scene* scene = NULL;
    PERPI_TRY(perpi_predictor_create(x->context, x->study, &predictor));
    const perp_status status = perpi_predictor_scene(predictor, x->parameter, &scene);
    perpi_predictor_destroy(predictor);
    if (status == PERP_OK) {
        *text = perp_scene_text(scene);
    }
    return status;
}

static perp_status write_json(perp_context* context, const json_t* root, const char* path)
{
    char* text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (text == NULL) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", path);
    }
    const perp_status status = perpi_file_write(context, path, text, strlen(text));
    free(text);
    return status;
}

static json_t* numbers_json(const perpi_sensor_number* n, const double* parameter, int32_t count,
                            const double* less)
{
    json_t* list = json_array();
    for (int32_t i = 0; i < count; ++i) {
        const double value = n[i].parameter >= 0 ? parameter[n[i].parameter] : n[i].value;
        json_array_append_new(list, json_real(value - (less != NULL ? less[i] : 0.0)));
    }
    return list;
}

/* How far the centre of mass of a body moved; false: it did not. */
static bool moved_centre(const perp_estimate* x, int32_t body, double centre[3])
{
    for (int32_t i = 0; i < x->e->inertia_count; ++i) {
        const perpi_inertia* inertia = &x->e->inertia[i];
        double physical[PERPI_INERTIA_PARTS];
        if (inertia->moved == body && inertia->centre) {
            perpi_inertia_physical(inertia, x->parameter + inertia->first, physical);
            memcpy(centre, physical + (inertia->planar ? 2 : 7), 3 * sizeof *centre);
            return true;
        }
    }
    return false;
}

/* A channel with the numbers of its sensor; positions refer to the point that was the centre of mass. */
static void fit_channel(const perp_estimate* x, const perpi_channel* c, json_t* observe)
{
    const bool planar = perp_model_dimension(perp_scene_model(x->study->scene)) == 2;
    const bool point = c->kind == PERPI_CHANNEL_POSITION || c->kind == PERPI_CHANNEL_VELOCITY;
    double centre[3] = {0};
    const bool moved = point && moved_centre(x, c->body, centre);
    if (!c->has_sensor && !moved) {
        return;
    }
    json_t* sensor = json_object();
    if (c->kind == PERPI_CHANNEL_ORIENTATION) {
        json_object_set_new(
            sensor, "rotation",
            numbers_json(planar ? &c->turn[2] : c->turn, x->parameter, planar ? 1 : 3, NULL));
    } else {
        json_t* scale = numbers_json(&c->scale, x->parameter, 1, NULL);
        json_object_set(sensor, "scale", json_array_get(scale, 0));
        json_decref(scale);
        json_object_set_new(sensor, "offset",
                            numbers_json(c->offset, x->parameter, c->width, NULL));
    }
    if (point) {
        json_object_set_new(sensor, "at",
                            numbers_json(c->at, x->parameter, planar ? 2 : 3, centre));
    }
    json_object_set_new(json_object_get(observe, c->name), "sensor", sensor);
}

perp_status perp_estimate_save(perp_estimate* x, const char* path)
{
    /* impacts are predicted by the method laws with its options */
    static const char* const kept[] = {"time",   "rate",  "trajectory", "start",
                                       "method", "after", "options",    NULL};
    const char* text = NULL;
    PERPI_TRY(fitted_scene(x, &text));
    json_t *root = json_object(), *noise = json_object();
    json_t* observe = json_deep_copy(json_object_get(x->study->root, "observe"));
    char name[300], about[400];
    (void)snprintf(name, sizeof name, "%.250s-fitted", x->study->name);
    (void)snprintf(about, sizeof about,
                   "Fitted by perp estimate (%s): perp estimate THIS --predict DATA.csv gives the "
                   "errors on other data.",
                   perpi_estimate_method_word(x->e->method));
    json_object_set_new(root, "name", json_string(name));
    json_object_set_new(root, "description", json_string(about));
    for (int i = 0; kept[i] != NULL; ++i) {
        json_t* value = json_object_get(x->study->root, kept[i]);
        if (value != NULL && (i < 4 || x->e->impacts)) {
            json_object_set(root, kept[i], value);
        }
    }
    if (x->e->start_rows > 0 && json_object_get(root, "start") == NULL) {
        json_object_set_new(root, "start",
                            json_pack("{s:s, s:i}", "from", "data", "rows", (int)x->e->start_rows));
    }
    for (int32_t i = 0; i < x->e->channel_count; ++i) {
        const perpi_channel* c = &x->e->channel[i];
        json_object_set_new(noise, c->name, json_real(c->noise));
        fit_channel(x, c, observe);
    }
    json_object_set_new(root, "observe", observe);
    json_object_set_new(root, "noise", noise);
    json_object_set_new(root, "scene", json_loads(text, 0, NULL));
    const perp_status status = write_json(x->context, root, path);
    json_decref(root);
    return status;
}

perp_status perp_estimate_save_scene(perp_estimate* x, const char* path)
{
    const char* text = NULL;
    PERPI_TRY(fitted_scene(x, &text));
    return perpi_file_write(x->context, path, text, strlen(text));
}

perp_status perp_estimate_save_rows(const perp_estimate* x, const char* path)
{
    const perpi_estimate* e = x->e;
    FILE* file = fopen(path, "w");
    if (file == NULL) {
        return perpi_fail(x->context, PERP_ERROR_INPUT, "%s: cannot be written", path);
    }
    if (e->trajectory_column != NULL) {
        fprintf(file, "%s,", e->trajectory_column);
    }
    fprintf(file, "%s", e->time_column != NULL ? e->time_column : "t");
    for (int32_t i = 0; i < e->channel_count; ++i) {
        for (int32_t k = 0; k < e->channel[i].columns; ++k) {
            fprintf(file, ",%s", e->channel[i].column[k]);
        }
    }
    fprintf(file, "\n");
    for (int32_t k = 0; k < x->data->count; ++k) {
        const perpi_trajectory* t = &x->data->trajectory[k];
        for (int32_t r = 0; r < t->rows && !x->error[k].failed; ++r) {
            if (e->trajectory_column != NULL) {
                fprintf(file, "%lld,", (long long)t->number);
            }
            fprintf(file, "%.17g", t->time[r]);
            for (int32_t c = 0; c < e->columns; ++c) {
                fprintf(file, ",%.17g",
                        x->error[k].prediction[(size_t)r * (size_t)e->columns + (size_t)c]);
            }
            fprintf(file, "\n");
        }
    }
    const bool good = ferror(file) == 0;
    if (fclose(file) != 0 || !good) {
        return perpi_fail(x->context, PERP_ERROR_IO, "%s: cannot be written", path);
    }
    return PERP_OK;
}
