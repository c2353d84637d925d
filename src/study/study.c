/* src/study/study.c - what a study says of its runs. */
#include "study/study.h"

#include <stdio.h>
#include <string.h>

#include "study/design.h"

const char* perp_study_name(const perp_study* study)
{
    return study->name;
}

const char* perp_study_text(const perp_study* study)
{
    return study->text;
}

const char* perp_study_scene_path(const perp_study* study)
{
    return study->scene_path;
}

perp_scene* perp_study_scene(perp_study* study)
{
    return study->scene;
}

int64_t perp_study_run_count(const perp_study* study)
{
    return study->design == NULL ? study->run_count : perpi_design_run_count(study);
}

int64_t perp_study_trials(const perp_study* study)
{
    return study->trials;
}

perp_study_keep perp_study_kept(const perp_study* study)
{
    return study->keep;
}

int32_t perp_study_vary_count(const perp_study* study)
{
    return study->vary_count;
}

perp_vary perp_study_vary(const perp_study* study, int32_t vary)
{
    return study->vary[vary].info;
}

int32_t perp_study_measure_count(const perp_study* study)
{
    return perp_sim_def_from_scene(study->scene).measure_count;
}

const char* perp_study_measure_name(const perp_study* study, int32_t measure)
{
    return perp_sim_def_from_scene(study->scene).measure[measure].name;
}

/* ---- values of a run --------------------------------------------------------------------------*/

static perp_vary_value item_value(const perpi_vary* v, int64_t index)
{
    const json_t* item = json_array_get(v->item, (size_t)index);
    return json_is_string(item) ? (perp_vary_value){.text = json_string_value(item)}
                                : (perp_vary_value){.number = json_number_value(item)};
}

/* The ends are exact. */
static double grid_value(const perp_vary* v, int64_t index)
{
    if (index == v->count - 1) {
        return v->high;
    }
    return v->low + (v->high - v->low) * ((double)index / (double)(v->count - 1));
}

perp_vary_value perp_study_value(const perp_study* study, int64_t run, int32_t vary)
{
    const perpi_vary* v = &study->vary[vary];
    if (v->random == PERPI_VARY_SET) {
        return perpi_design_value(study, run, vary);
    }
    if (study->design != NULL) { /* the same draws for every candidate and case */
        run = (run - 1) % study->run_count + 1;
    }
    const int64_t block = (run - 1) / study->trials;
    if (v->random == PERPI_VARY_AXIS) {
        const int64_t index = block / v->stride % v->info.count;
        return v->info.kind == PERP_VARY_VALUES
                   ? item_value(v, index)
                   : (perp_vary_value){.number = grid_value(&v->info, index)};
    }
    const perpi_draw draw = {.seed = study->seed,
                             .block = block,
                             .trial = (run - 1) % study->trials,
                             .trials = study->trials};
    const double u = perpi_sample(study->method, &draw, v->random);
    if (v->info.kind == PERP_VARY_CHOICE) {
        const int64_t index = (int64_t)(u * (double)v->info.count);
        return item_value(v, index < v->info.count ? index : v->info.count - 1);
    }
    if (v->info.kind == PERP_VARY_NORMAL) {
        return (perp_vary_value){.number = v->info.low + v->info.high * perpi_normal_quantile(u)};
    }
    return (perp_vary_value){.number = v->info.low + (v->info.high - v->info.low) * u};
}

perp_status perpi_study_set(perp_study* study, int64_t run)
{
    for (int32_t i = 0; i < study->vary_count; ++i) {
        const perp_vary_value value = perp_study_value(study, run, i);
        const char* name = study->vary[i].info.name;
        const perp_status status = value.text != NULL
                                       ? perp_scene_set_string(study->scene, name, value.text)
                                       : perp_scene_set_number(study->scene, name, value.number);
        if (status != PERP_OK) {
            return status;
        }
    }
    return study->design != NULL ? perpi_design_set_step(study, run) : PERP_OK;
}

/* ---- names and identity -----------------------------------------------------------------------*/

void perpi_study_file(const perp_study* study, int64_t id, const char* suffix, char* text,
                      size_t size)
{
    char name[128];
    (void)snprintf(name, sizeof name, "%.120s", study->name);
    for (char* c = name; *c != '\0'; ++c) { /* a name may hold anything */
        if (*c == '/' || (unsigned char)*c < 0x20) {
            *c = '-';
        }
    }
    if (id > 0) {
        (void)snprintf(text, size, "%s.runs/%lld%s", name, (long long)id, suffix);
    } else {
        (void)snprintf(text, size, "%s.runs%s", name, suffix);
    }
}

char* perpi_study_identity(const perp_study* study)
{
    static const char* const methods[] = {"random", "sobol", "latin-hypercube"};
    json_t* object = json_object();
    json_object_set(object, "vary", json_object_get(study->root, "vary"));
    json_object_set_new(object, "method", json_string(methods[study->method]));
    json_object_set_new(object, "trials", json_integer(study->trials));
    json_object_set_new(object, "seed", json_integer((json_int_t)study->seed));
    if (study->design != NULL) {
        perpi_design_identity(study, object);
    }
    char* text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(object);
    return text;
}
