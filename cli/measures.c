/* cli/measures.c - see measures.h. */
#include "measures.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 24 }; /* --json lists all */

static void print_more(int32_t count)
{
    if (count > ROWS) {
        printf("  ... and %d more (--json lists all)\n", (int)count - ROWS);
    }
}

static void print_value(double x)
{
    if (isnan(x)) {
        printf("none");
    } else {
        printf("%.9g", x);
    }
}

void cli_parameters_print(const perp_scene* scene)
{
    const int32_t count = perp_scene_parameter_count(scene);
    for (int32_t i = 0; i < count && i < ROWS; ++i) {
        const perp_parameter p = perp_scene_parameter(scene, i);
        printf(i == 0 ? "  parameters     " : ", ");
        cli_put_name(p.name, 0);
        printf(" %.9g%s", p.value, perp_scene_parameter_used(scene, i) ? "" : " (not used)");
    }
    printf(count > ROWS ? ", ...\n" : count > 0 ? "\n" : "");
}

void cli_measures_print(const perp_sim* sim)
{
    const int32_t count = perp_sim_measure_count(sim);
    if (count > 0) {
        printf("%smeasures%s", cli_bold(), cli_plain());
        if (perp_sim_measure_begin(sim) > 0.0) {
            printf(" since t = %.9g", perp_sim_measure_begin(sim));
        }
        printf("\n");
    }
    for (int32_t i = 0; i < count && i < ROWS; ++i) {
        printf("  ");
        cli_put_name(perp_sim_measure_name(sim, i), 14);
        printf(" ");
        print_value(perp_sim_measure(sim, i));
        printf("\n");
    }
    print_more(count);
}

void cli_warn_parameters(const perp_scene* scene)
{
    for (int32_t i = 0; i < perp_scene_parameter_count(scene); ++i) {
        if (!perp_scene_parameter_used(scene, i)) {
            cli_complain("warning: /parameters/%.200s: nothing in the scene uses this parameter",
                         perp_scene_parameter(scene, i).name);
        }
    }
}

/* ---- what a scene defines -------------------------------------------------------------------------*/

json_t* cli_measure_defs_json(const perp_scene* scene, const perp_sim* sim)
{
    const perp_sim_def def = perp_sim_def_from_scene(scene);
    json_t* object = json_object();
    for (int32_t i = 0; i < def.measure_count; ++i) {
        json_object_set_new(object, def.measure[i].name,
                            json_pack("{s:s, s:o, s:o}", "kind",
                                      perp_measure_kind_name(def.measure[i].kind), "expression",
                                      cli_text(def.measure[i].expression), "at_start",
                                      cli_number(perp_sim_measure(sim, i))));
    }
    return object;
}

json_t* cli_stops_json(const perp_scene* scene)
{
    const perp_sim_def def = perp_sim_def_from_scene(scene);
    json_t* array = json_array();
    for (int32_t i = 0; i < def.stop_count; ++i) {
        json_array_append_new(array, json_pack("{s:o, s:o}", "name", cli_text(def.stop[i].name),
                                               "when", cli_text(def.stop[i].when)));
    }
    return array;
}

void cli_measure_defs_print(const perp_scene* scene, const perp_sim* sim)
{
    const perp_sim_def def = perp_sim_def_from_scene(scene);
    if (def.measure_count > 0) {
        printf("\n%s  %-20s %-10s %12s  %s%s\n", cli_bold(), "measure", "kind", "at the start",
               "expression", cli_plain());
    }
    for (int32_t i = 0; i < def.measure_count && i < ROWS; ++i) {
        const double x = perp_sim_measure(sim, i);
        printf("  ");
        cli_put_name(def.measure[i].name, 20);
        printf(" %-10s ", perp_measure_kind_name(def.measure[i].kind));
        if (isnan(x)) {
            printf("%12s", "-");
        } else {
            printf("%12.6g", x);
        }
        printf("  ");
        cli_put(def.measure[i].expression);
        printf("\n");
    }
    print_more(def.measure_count);
    if (def.stop_count > 0) {
        printf("\n%s  %-20s %s%s\n", cli_bold(), "stop", "when", cli_plain());
    }
    for (int32_t i = 0; i < def.stop_count && i < ROWS; ++i) {
        printf("  ");
        cli_put_name(def.stop[i].name, 20);
        printf(" ");
        cli_put(def.stop[i].when);
        printf("%s\n", perp_sim_stopped(sim) == i ? "  (holds at the start)" : "");
    }
    print_more(def.stop_count);
}
