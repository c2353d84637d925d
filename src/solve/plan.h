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
    PERPI_SEARCH =
        256, /* newton on up to PERPI_DENSE rows: within PERPI_SEARCH_WORK / (rows)^3 steps, but see below */
    PERPI_WHOLE =
        512, /* not for the parts of what acts (acting.h), after which the whole is tried */
    PERPI_MANY = 1024, /* within PERPI_SEARCH_MOST iterations */
};

enum {
    PERPI_FEW = 200,
    PERPI_VERY_FEW = 20,
    PERPI_SOME = 800,
    PERPI_PROBES = 8,
    PERPI_PLAN_MOST = 12, /* entries of a plan, fewer than this */
};

#define PERPI_WORK 5e10

/* A search of newton that has not ended after some hundred steps seldom ends: of 250 on 50 to 270 rows that took
 * more than 200 and found a solution, 240 took at most 1000. The others are ended by a limit, after seconds if
 * it is the method's own (5000 steps), and a step may solve many such problems. */
#define PERPI_SEARCH_WORK 2e9
enum { PERPI_DENSE = 300, PERPI_SEARCH_LEAST = 400, PERPI_SEARCH_MOST = 1500 };

typedef struct perpi_entry {
    const char* name; /* of the method; NULL ends a plan */
    unsigned how;
} perpi_entry;

const perpi_entry* perpi_plan_lcp(const perp_lcp* problem);
extern const perpi_entry perpi_plan_mlcp[], perpi_plan_ncp[], perpi_plan_friction[];
/* For one island. A plan for problems with groups begins with its `grouped` method. work: 2 block_count. */
const perpi_entry* perpi_plan_contact(const perp_contact_problem* problem, bool warm,
                                      int32_t* work);
/* Velocities without those of soft layers. work: 2 block_count. */
int32_t perpi_shared_dofs(const perp_contact_problem* problem, int32_t* work);

#endif
