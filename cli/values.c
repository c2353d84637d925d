/* cli/values.c - numbers of scenes and simulations as JSON; nothing here prints. */
#include <math.h>

#include "measures.h"

perp_contact_choice cli_contact(const perp_scene* scene)
{
    const perp_sim_def def = perp_sim_def_from_scene(scene);
    return perp_contact_choose(perp_scene_model(scene), &def);
}

double cli_nominal_step(const perp_scene_run* run)
{
    return isnan(run->step) ? 1e-3 * run->duration : run->step;
}

json_t* cli_number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t* cli_numbers(const double* x, int count)
{
    json_t* array = json_array();
    for (int i = 0; i < count; ++i) {
        json_array_append_new(array, cli_number(x[i]));
    }
    return array;
}

json_t* cli_parameters_json(const perp_scene* scene)
{
    json_t* object = json_object();
    for (int32_t i = 0; i < perp_scene_parameter_count(scene); ++i) {
        const perp_parameter p = perp_scene_parameter(scene, i);
        json_object_set_new(object, p.name, cli_number(p.value));
    }
    return object;
}

json_t* cli_measures_json(const perp_sim* sim)
{
    json_t* object = json_object();
    for (int32_t i = 0; i < perp_sim_measure_count(sim); ++i) {
        json_object_set_new(object, perp_sim_measure_name(sim, i),
                            cli_number(perp_sim_measure(sim, i)));
    }
    return object;
}
