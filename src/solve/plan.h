/* src/solve/plan.h - "auto" as data: which methods are tried on a problem, in which order and with how
 * much effort. */
#ifndef PERPI_SOLVE_PLAN_H
#define PERPI_SOLVE_PLAN_H

#include "perp/solve.h"

/* How an entry is run; flags. */
enum {
    PERPI_PLAIN = 0,
    PERPI_TIGHT = 1, /* a fraction of the tolerance, within PERPI_FEW iterations */
    PERPI_COLD = 2,  /* cold start: a warm start can stall the method */
    PERPI_SHORT = 4, /* within PERPI_FEW iterations */
    PERPI_BRIEF = 8, /* within PERPI_VERY_FEW iterations */
    PERPI_PROBE =
        16, /* as PERPI_TIGHT, within PERPI_PROBES iterations; its point is dropped if it fails */
    PERPI_LONG = 32,   /* with PERPI_TIGHT: without a limit of iterations */
    PERPI_MEDIUM = 64, /* within PERPI_SOME iterations */
    PERPI_BOUNDED =
        128, /* within as many iterations as take seconds: PERPI_WORK / (unknowns)^2, at least PERPI_FEW */
};

enum {
    PERPI_FEW = 200,
    PERPI_VERY_FEW = 20,
    PERPI_SOME = 800,
    PERPI_PROBES = 8,
    PERPI_PLAN_MOST = 12, /* entries of a plan, fewer than this */
};

#define PERPI_WORK 5e10

typedef struct perpi_entry {
    const char* name; /* of the method; NULL ends a plan */
    unsigned how;
} perpi_entry;

const perpi_entry* perpi_plan_lcp(const perp_lcp* problem);
extern const perpi_entry perpi_plan_mlcp[], perpi_plan_ncp[], perpi_plan_friction[];
/* For one island. A plan for problems with groups begins with its `grouped` method. work: 2 block_count. */
const perpi_entry* perpi_plan_contact(const perp_contact_problem* problem, bool warm,
                                      int32_t* work);

#endif
