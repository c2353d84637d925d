/* src/study/stub.c - until the scene side is merged. */
#include "base/context.h"
#include "perp/scene.h"
#define W __attribute__((weak))
W perp_status perp_scene_set_number(perp_scene* s, const char* n, double v)
{
    (void)s;
    (void)n;
    (void)v;
    return PERP_OK;
}
W perp_status perp_scene_set_string(perp_scene* s, const char* n, const char* v)
{
    (void)s;
    (void)n;
    (void)v;
    return PERP_OK;
}
W perp_status perp_scene_rebuild(perp_scene* s)
{
    (void)s;
    return PERP_OK;
}
W int32_t perp_sim_measure_count(const perp_sim* s)
{
    (void)s;
    return 0;
}
W double perp_sim_measure(const perp_sim* s, int32_t m)
{
    (void)s;
    (void)m;
    return 0.0;
}
W const char* perp_sim_outcome(const perp_sim* s)
{
    (void)s;
    return "end";
}
