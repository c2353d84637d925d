/* cli/measures.h - parameters, measures and stops of a scene, as JSON and for people. */
#ifndef PERP_CLI_MEASURES_H
#define PERP_CLI_MEASURES_H

#include "cli.h"

/* {NAME: value}. */
json_t* cli_parameters_json(const perp_scene* scene);
json_t* cli_measures_json(const perp_sim* sim);
/* Lines of a table; nothing where there are none. */
void cli_parameters_print(const perp_scene* scene);
void cli_measures_print(const perp_sim* sim);
/* Warns on stderr of parameters that nothing uses. */
void cli_warn_parameters(const perp_scene* scene);

/* Of `perp check`: with expressions and values at the start. */
json_t* cli_measure_defs_json(const perp_scene* scene, const perp_sim* sim);
json_t* cli_stops_json(const perp_scene* scene);
void cli_measure_defs_print(const perp_scene* scene, const perp_sim* sim);

#endif
