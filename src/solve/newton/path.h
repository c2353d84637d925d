/* src/solve/newton/path.h - Newton's method on the normal map, each linearisation an MLCP: the core of the
 * method `path` for MLCP and NCP. */
#ifndef PERPI_SOLVE_PATH_H
#define PERPI_SOLVE_PATH_H

#include "perp/solve.h"

/* Dimensionless: the problem is scaled first. */
typedef struct perpi_path_settings {
    double armijo;       /* fraction of the predicted decrease that a step must bring */
    double proximal;     /* smallest diagonal added when a linearisation cannot be solved */
    int32_t crash;       /* projected Newton steps before the first linearisation */
    int32_t watchdog;    /* steps that may increase the residual */
    int32_t memory;      /* number of past residuals whose maximum bounds a step */
    int32_t restarts;    /* further starting points when the search fails */
    int32_t start_steps; /* most linearisations from one starting point */
} perpi_path_settings;

enum { PERPI_PATH_SETTINGS = 7, PERPI_PATH_MEMORY = 64 };
extern const perp_setting perpi_path_setting[PERPI_PATH_SETTINGS];
void perpi_path_settings_default(void* settings);

PERP_NODISCARD perp_status perpi_path_create(perp_context* context, const void* settings,
                                             void** self);
void perpi_path_destroy(void* self);
PERP_NODISCARD perp_status perpi_path_solve_mlcp(void* self, const perp_mlcp* problem,
                                                 const perp_solve_options* options, bool warm,
                                                 double* z, perp_report* report);
PERP_NODISCARD perp_status perpi_path_solve_ncp(void* self, const perp_ncp* problem,
                                                const perp_solve_options* options, bool warm,
                                                double* z, perp_report* report);

#endif
