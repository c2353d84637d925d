/* experiments/common/particles.c - see particles.h. */
#include "common/particles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static unsigned next_random(unsigned* state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static double uniform(unsigned* state, double low, double high)
{
    return low + (high - low) * (double)next_random(state) / 16777216.0;
}

/* Text that grows. */
typedef struct writer {
    FILE* file;
    char* text;
    size_t size;
} writer;

static char* scene_text(const particles_def* def)
{
    writer w = {0};
    w.file = open_memstream(&w.text, &w.size);
    fprintf(w.file,
            "{ \"dimension\": 2, \"gravity\": [0, -9.81], \"step\": 0.05, \"duration\": 5,\n"
            "  \"parameters\": {");
    for (int i = 0; i < def->count; ++i) {
        fprintf(w.file, "%s\"mu%d\": %.17g", i > 0 ? ", " : "", i, def->mu[i]);
    }
    fprintf(w.file, "},\n  \"friction\": { \"default\": 0.5, \"pairs\": [\n");
    for (int i = 0; i < def->count; ++i) {
        fprintf(w.file, "    %s{\"a\": \"ground\", \"b\": \"p%d\", \"mu\": \"mu%d\"}\n",
                i > 0 ? ", " : "", i, i);
    }
    fprintf(w.file, "  ] },\n  \"bodies\": [\n    { \"name\": \"ground\", \"type\": \"static\", "
                    "\"shapes\": [ { \"type\": \"halfplane\", \"normal\": [0, 1] } ] }\n");
    for (int i = 0; i < def->count; ++i) {
        fprintf(w.file,
                "    , { \"name\": \"p%d\", \"mass\": 1, \"position\": [%.17g, %.17g], "
                "\"shapes\": [ { \"type\": \"particle\" } ] }\n",
                i, def->place[i], def->height[i]);
    }
    fprintf(w.file, "  ],\n  \"forces\": [\n");
    for (int i = 0; i < def->count; ++i) {
        fprintf(w.file, "    %s{ \"type\": \"wrench\", \"body\": \"p%d\", \"force\": [5, 0] }\n",
                i > 0 ? ", " : "", i);
    }
    fprintf(w.file, "  ] }\n");
    fclose(w.file);
    return w.text;
}

void particles_write(perp_context* context, const report* r, const particles_def* def)
{
    char name[128];
    char* text = scene_text(def);
    (void)snprintf(name, sizeof name, "%s-scene.json", def->name);
    study_write(r, name, "%s", text);
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    study_require(context, perp_scene_parse(context, text, strlen(text), "scene", NULL, 0, &scene));
    study_require(context, perp_sim_create_from_scene(context, scene, &sim));
    (void)snprintf(name, sizeof name, "%s.csv", def->name);
    FILE* data = report_file(r, name);
    unsigned state = def->seed * 2654435761u + 12345u;
    fprintf(data, "t");
    for (int i = 0; i < def->count; ++i) {
        fprintf(data, ",x%d,y%d", i, i);
    }
    for (int k = 0; k <= PARTICLES_STEPS; ++k) {
        fprintf(data, "\n%.17g", perp_sim_time(sim));
        for (int i = 0; i < def->count; ++i) {
            const perp_body_state b = perp_sim_body(sim, i + 1);
            for (int c = 0; c < 2; ++c) {
                fprintf(data, ",%.17g", b.position[c] + uniform(&state, -def->noise, def->noise));
            }
        }
        if (k < PARTICLES_STEPS) {
            study_require(context, perp_sim_step(sim));
        }
    }
    fprintf(data, "\n");
    fclose(data);
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    free(text);
}

static char* study_text(const particles_def* def, const char* method, bool start_estimated)
{
    writer w = {0};
    w.file = open_memstream(&w.text, &w.size);
    fprintf(w.file,
            "{ \"scene\": \"%s-scene.json\", \"data\": \"%s.csv\", \"time\": \"t\",\n"
            "  \"method\": \"%s\", \"start\": \"scene\",\n  \"observe\": {",
            def->name, def->name, method);
    for (int i = 0; i < def->count; ++i) {
        fprintf(w.file, "%s\"x%d\": \"p%d.position.x\", \"y%d\": \"p%d.position.y\"",
                i > 0 ? ", " : "", i, i, i, i);
    }
    fprintf(w.file, "},\n  \"noise\": {");
    for (int i = 0; i < def->count; ++i) {
        fprintf(w.file, "%s\"x%d\": %.17g, \"y%d\": %.17g", i > 0 ? ", " : "", i,
                def->noise / sqrt(3.0), i, def->noise / sqrt(3.0));
    }
    fprintf(w.file, "},\n  \"unknown\": {");
    for (int i = 0; i < def->count; ++i) {
        fprintf(w.file, "%s\"mu%d\": {\"start\": 1, \"bounds\": [0, 1]}", i > 0 ? ", " : "", i);
    }
    for (int i = 0; start_estimated && i < def->count; ++i) {
        fprintf(w.file, "%s\"p%d\"%s", i == 0 ? ", \"initial\": [" : ", ", i,
                i + 1 == def->count ? "]" : "");
    }
    fprintf(w.file, "} }\n");
    fclose(w.file);
    return w.text;
}

static double cpu_seconds(void)
{
    double sum = 0.0;
    const int who[2] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    for (int i = 0; i < 2; ++i) {
        struct rusage u;
        if (getrusage(who[i], &u) == 0) {
            sum += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
                   1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
        }
    }
    return sum;
}

/* The first number after a key; NAN: it is not there. */
static double number_in(const char* json, const char* key)
{
    char quoted[64];
    double value = NAN;
    (void)snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char* at = strstr(json, quoted);
    return at != NULL && sscanf(at + strlen(quoted), "%lf", &value) == 1 ? value : NAN;
}

particles_found particles_estimate(perp_context* context, const report* r, const particles_def* def,
                                   const char* method, bool start_estimated)
{
    char name[128];
    particles_found found = {0};
    perp_study* study = NULL;
    perp_estimate* estimate = NULL;
    char* text = study_text(def, method, start_estimated);
    (void)snprintf(name, sizeof name, "%s-%s-%s.json", def->name, method,
                   start_estimated ? "estimated" : "known");
    study_write(r, name, "%s", text);
    char* path = study_path(r, name);
    const double begin = cpu_seconds();
    study_require(context, perp_study_load(context, path, &study));
    const perp_estimate_def run = perp_estimate_def_default();
    study_require(context, perp_estimate_run(context, study, &run, &estimate));
    found.seconds = cpu_seconds() - begin;
    found.solved = perp_estimate_converged(estimate);
    const char* json = perp_estimate_json(estimate);
    found.iterations = (long long)number_in(json, "iterations");
    found.squares = 2.0 * number_in(json, "objective") * def->noise * def->noise / 3.0;
    const char* message = strstr(json, "\"message\":");
    (void)snprintf(found.message, sizeof found.message, "%.150s", message != NULL ? message : "");
    double sum = 0.0;
    for (int i = 0; i < def->count; ++i) {
        const double e = perp_estimate_value(estimate, i).value - def->mu[i];
        sum += e * e;
    }
    found.rms = sqrt(sum / def->count);
    found.mu = perp_estimate_value(estimate, 0).value;
    found.deviation = perp_estimate_value(estimate, 0).deviation;
    perp_estimate_destroy(estimate);
    perp_study_destroy(study);
    free(path);
    free(text);
    return found;
}
