/* perp/measure.h - quantities of a simulation by name, measures of a run, and conditions that end it.
 *
 * A quantity is a number of a state, or of the step that led to it, with a name: "ball.position.x",
 * "hinge.rate", "distance.gear.finger", "energy.total" (docs/quantities.md lists them). Plots, exports,
 * measures and conditions use the same names.
 *
 * A measure is a number of a whole run: an expression of quantities, parameters and t, at the end of the run
 * or summarised over its steps. A stop is a condition that ends the run. Both are given in
 * perp_sim_def (a scene file has them under `measures` and `stop`) and evaluated by the simulation
 * itself: at the start and after every step, impacts included. They are part of the state:
 * snapshots, clones and recordings keep them, so that a run that is continued gives the same
 * numbers. They change nothing of the motion.
 */
#ifndef PERP_MEASURE_H
#define PERP_MEASURE_H

#include "perp/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_sim perp_sim;

/* ---- quantities ----------------------------------------------------------------------------------*/

/* What a quantity is a measure of, for grouping in plots. */
typedef enum perp_quantity_kind {
    PERP_QUANTITY_POSITION = 0,
    PERP_QUANTITY_ANGLE,
    PERP_QUANTITY_ORIENTATION,
    PERP_QUANTITY_VELOCITY,
    PERP_QUANTITY_SPIN,
    PERP_QUANTITY_FORCE,
    PERP_QUANTITY_DISTANCE,
    PERP_QUANTITY_SLIP,
    PERP_QUANTITY_COORDINATE,
    PERP_QUANTITY_RATE,
    PERP_QUANTITY_EFFORT,
    PERP_QUANTITY_JOINT_ERROR,
    PERP_QUANTITY_INTEGRAL,
    PERP_QUANTITY_ENERGY,
    PERP_QUANTITY_LEDGER,
    PERP_QUANTITY_MOMENTUM,
    PERP_QUANTITY_ANGULAR_MOMENTUM,
    PERP_QUANTITY_CERTIFICATE,
    PERP_QUANTITY_ITERATIONS,
    PERP_QUANTITY_RESIDUAL,
    PERP_QUANTITY_CONTACTS,
    PERP_QUANTITY_PENETRATION,
    PERP_QUANTITY_CROSSINGS,
    PERP_QUANTITY_MOMENTUM_ERROR,
    PERP_QUANTITY_KIND_COUNT,
} perp_quantity_kind;

/* A quantity of one model. A value: nothing is to be destroyed. */
typedef struct perp_quantity {
    perp_quantity_kind kind;
    bool of_step; /* of the last step, as a contact force; false: of the state */
    bool
        turns; /* of a joint or its controller: an angle, its rate, a torque, not a length or a force */
    int32_t entry;  /* for the library: which one of its table */
    int32_t owner;  /* body, joint or controller; -1: of the whole scene */
    int32_t second; /* the other body of a pair; -1: none */
} perp_quantity;

/* Finds quantities by name: "ball.position.x" one, "ball.position" all three. A name that is not an
 * identifier may stand in brackets, "[left-link].position.x". found: room for `room` of them, in
 * order; NULL with room 0. count: how many there are. PERP_ERROR_INPUT: there is none; the message suggests
 * the nearest. */
PERP_API PERP_NODISCARD perp_status perp_quantity_find(perp_context* context,
                                                       const perp_model* model, const char* name,
                                                       perp_quantity* found, int32_t room,
                                                       int32_t* count);
/* The quantities of a model one after the other, those of pairs of bodies excepted, which
 * are too many to list. False: there is none of that index. */
PERP_API bool perp_quantity_list(const perp_model* model, int32_t index, perp_quantity* quantity);
/* Its name, "ball.position.x", with brackets where the name of a body needs them; returns the length that
 * it has, as snprintf does. */
PERP_API size_t perp_quantity_name(const perp_model* model, const perp_quantity* quantity,
                                   char* text, size_t size);
/* Its present value. Quantities of a step are 0 before the first step, and forces and efforts after an impact,
 * which has no duration. `ledger` quantities are sums since the start of the run. */
PERP_API double perp_sim_quantity(perp_sim* sim, const perp_quantity* quantity);

/* ---- measures and stops --------------------------------------------------------------------------*/

/* A name that expressions may use. An identifier, not t, pi, e or the name of a function. */
typedef struct perp_parameter {
    const char* name;
    double value;
} perp_parameter;

typedef enum perp_measure_kind {
    PERP_MEASURE_END = 0, /* value at the end */
    PERP_MEASURE_MAX,     /* largest, smallest over the steps and the start */
    PERP_MEASURE_MIN,
    PERP_MEASURE_MEAN,       /* integral divided by the time */
    PERP_MEASURE_INTEGRAL,   /* over time, by the trapezoidal rule */
    PERP_MEASURE_FIRST_TIME, /* the first time at which it holds (is not 0); of a comparison
                                interpolated between two steps; NaN: never */
    PERP_MEASURE_SUM,        /* of the values at the multiples of `every` */
    PERP_MEASURE_KIND_COUNT,
} perp_measure_kind;
/* "end", "max", "min", "mean", "integral", "first_time", "sum". */
PERP_API const char* perp_measure_kind_name(perp_measure_kind kind);

typedef struct perp_measure_def {
    const char* name; /* unique, not empty */
    perp_measure_kind kind;
    const char* expression; /* of quantities, parameters, t and measures that stand before it */
    /* Of a sum: the time between its values, > 0. Of a mean or an integral over windows: the time from the end
     * of one window to the end of the next; 0: `over`. Else 0. */
    double every;
    /* Of a mean or an integral: the length of a window, 0 < over <= every; its value is that of the
     * last window that is complete. 0: the whole run. */
    double over;
} perp_measure_def;

typedef struct perp_stop_def {
    const char* name; /* unique, not empty, not "end" */
    const char* when; /* the run ends when this is not 0; not a number: the next step fails */
} perp_stop_def;

/* The measures of a simulation, in the order of their definition. */
PERP_API int32_t perp_sim_measure_count(const perp_sim* sim);
PERP_API const char* perp_sim_measure_name(const perp_sim* sim, int32_t measure);
PERP_API int32_t perp_sim_measure_find(const perp_sim* sim, const char* name); /* -1: none */
/* The value if the run ended now. NaN: there is none, or one of its samples was not a number. An expression
 * with a quantity of the last step has no value before the first step. */
PERP_API double perp_sim_measure(const perp_sim* sim, int32_t measure);
/* The time since which measures count: 0, unless the state came from a snapshot or recording with
 * other measures. */
PERP_API double perp_sim_measure_begin(const perp_sim* sim);
/* How the run ended: the name of the first stop that held, "end" at its duration, "" while it goes on.
 * perp_sim_finished is true in both cases. */
PERP_API const char* perp_sim_outcome(const perp_sim* sim);
/* Index of the stop that ended the run; -1: none. */
PERP_API int32_t perp_sim_stopped(const perp_sim* sim);

#ifdef __cplusplus
}
#endif
#endif
