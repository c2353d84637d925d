#include "support/scene_sim.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/quotes.h"

static void start(scene_sim* s, perp_status status)
{
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(s->context, s->scene, &s->sim);
    }
    if (status != PERP_OK) {
        snprintf(s->error, sizeof s->error, "%s", perp_context_error(s->context));
        fprintf(stderr, "  scene: %s\n", s->error);
    }
}

perp_status scene_parse(perp_context* context, const char* text, const char* name,
                        perp_scene** scene)
{
    const size_t length = strlen(text);
    char* copy = malloc(length + 1);
    memcpy(copy, text, length + 1);
    scene_quotes(copy);
    const perp_status status = perp_scene_parse(context, copy, length, name, NULL, 0, scene);
    free(copy);
    return status;
}

scene_sim scene_sim_open(const char* format, ...)
{
    scene_sim s = {0};
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char* text = malloc((size_t)length + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)length + 1, format, args);
    va_end(args);
    if (perp_context_create(NULL, &s.context) == PERP_OK) {
        start(&s, scene_parse(s.context, text, "test", &s.scene));
    }
    free(text);
    return s;
}

scene_sim scene_sim_load(const char* relative)
{
    scene_sim s = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", PERP_SOURCE_DIR, relative);
    if (perp_context_create(NULL, &s.context) == PERP_OK) {
        start(&s, perp_scene_load(s.context, path, NULL, 0, &s.scene));
    }
    return s;
}

void scene_sim_close(scene_sim* s)
{
    perp_sim_destroy(s->sim);
    perp_scene_destroy(s->scene);
    perp_context_destroy(s->context);
    *s = (scene_sim){0};
}

double scene_sim_run(scene_sim* s)
{
    double worst = 0.0;
    while (!perp_sim_finished(s->sim)) {
        if (perp_sim_step(s->sim) != PERP_OK) {
            snprintf(s->error, sizeof s->error, "%s", perp_context_error(s->context));
            fprintf(stderr, "  step: %s\n", s->error);
            return INFINITY;
        }
        const double now = perp_sim_step_info(s->sim).certificate.worst;
        worst = !(now <= worst) ? now : worst;
    }
    return worst;
}

perp_body_state scene_sim_body(const scene_sim* s, const char* name)
{
    return perp_sim_body(s->sim, perp_model_body_find(perp_sim_model(s->sim), name));
}
