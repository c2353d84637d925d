/* src/sim/measure.h - measures and stops of a simulation: their expressions and accumulators.
 *
 * The accumulators are one array of doubles, part of the state: a snapshot and a recorded frame keep it.
 */
#ifndef PERPI_SIM_MEASURE_H
#define PERPI_SIM_MEASURE_H

#include "base/expr.h"
#include "sim/quantity.h"

/* ---- expressions of quantities and parameters ------------------------------------------------------*/

/* What names stand for. */
typedef struct perpi_measure_names {
    perp_context* context;
    const perp_model* model;
    const perp_parameter* parameter;
    int32_t parameter_count;
    bool* used;              /* per parameter: set if an expression has it; NULL: not asked */
    perp_quantity* quantity; /* those that expressions have, each once; grown */
    size_t quantity_count, quantity_capacity;
    bool of_step; /* set if one of them belongs to a step */
    /* Measures that stand before the expression: their values have the slots 0, 1, ..., those of quantities
     * follow after slot_base. */
    const perp_measure_def* measure;
    int32_t measure_count, slot_base;
    const bool* measure_of_step; /* NULL: not known */
    int32_t* use;                /* measures that expressions have; grown */
    size_t use_count, use_capacity;
} perpi_measure_names;

/* *of_step: it has a quantity of a step. */
PERP_NODISCARD perp_status perpi_measure_compile(perpi_measure_names* names, const char* text,
                                                 perpi_expr** expr, bool* of_step);
/* Names and numbers of a definition; messages begin with the member. */
PERP_NODISCARD perp_status perpi_measures_check_def(perp_context* context, const perp_sim_def* def);

/* ---- along a simulation ----------------------------------------------------------------------------*/

/* From sim->asked; nothing if it has neither measures nor stops. Begins at the present state. */
PERP_NODISCARD perp_status perpi_measures_create(perp_sim* sim);
void perpi_measures_destroy(perp_sim* sim);
/* Begins anew at the present state. */
void perpi_measures_begin(perp_sim* sim);
/* After a step; after the caller has set the state. */
void perpi_measures_step(perp_sim* sim);
void perpi_measures_edit(perp_sim* sim);
/* Whether a stop was not a number; PERP_ERROR_NUMERIC then. */
bool perpi_measures_failed(const perp_sim* sim);
PERP_NODISCARD perp_status perpi_measures_check(const perp_sim* sim);

/* The compiled expression of a measure; *of_step: it has a quantity of a step. And the quantities
 * that its slots stand for, those of all measures. */
const perpi_expr* perpi_measures_expr(const perp_sim* sim, int32_t measure, bool* of_step);
const perp_quantity* perpi_measures_quantities(const perp_sim* sim, int32_t* count);

/* The accumulators; size 0: there are none. */
int32_t perpi_measures_size(const perp_sim* sim);
const double* perpi_measures_state(const perp_sim* sim);
/* Takes accumulators of the same measures; of others (or size 0) they begin at the present state. */
void perpi_measures_restore(perp_sim* sim, const void* state, int32_t size);

#endif
