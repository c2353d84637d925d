#include "common/scene.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require_ok(const scene_run* run, perp_status status)
{
    if (status != PERP_OK) {
        fprintf(stderr, "experiment: %s\n", perp_context_error(run->context));
        exit(3);
    }
}

scene_run scene_run_open(const char* format, ...)
{
    scene_run run = {0};
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    char* text = malloc((size_t)n + 1);
    if (text == NULL || perp_context_create(NULL, &run.context) != PERP_OK) {
        exit(3);
    }
    (void)vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    require_ok(&run,
               perp_scene_parse(run.context, text, (size_t)n, "experiment", NULL, 0, &run.scene));
    require_ok(&run, perp_sim_create_from_scene(run.context, run.scene, &run.sim));
    free(text);
    return run;
}

void scene_run_close(scene_run* run)
{
    perp_sim_destroy(run->sim);
    perp_scene_destroy(run->scene);
    perp_context_destroy(run->context);
    *run = (scene_run){0};
}

bool scene_run_step(scene_run* run, const char** error)
{
    const perp_status status = perp_sim_step(run->sim);
    if (status != PERP_OK && error != NULL) {
        *error = perp_context_error(run->context);
        return false;
    }
    require_ok(run, status);
    return true;
}

static int ascending(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

double quantile(double* value, int n, double q)
{
    if (n == 0) {
        return NAN;
    }
    qsort(value, (size_t)n, sizeof *value, ascending);
    const double at = q * (n - 1);
    const int i = (int)floor(at);
    return i + 1 < n ? value[i] + (at - i) * (value[i + 1] - value[i]) : value[n - 1];
}
