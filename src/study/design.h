/* src/study/design.h - the design part of a study: unknowns, cases, objective, constraints; the
 * candidates so far.
 *
 * A candidate has a number (an evaluation: 1, 2, ...), and so many runs: each case with each draw.
 * Run `id` belongs to evaluation (id - 1) / runs + 1, there to case r / draws + 1 and draw r %
 * draws + 1 with r = (id - 1) % runs.
 */
#ifndef PERPI_DESIGN_H
#define PERPI_DESIGN_H

#include "base/expr.h"
#include "perp/gradient.h"
#include "study/read.h"
#include "study/study.h"

enum {
    PERPI_DESIGN_UNKNOWNS = 200, /* at most, of any method */
    PERPI_DESIGN_CONSTRAINTS = 100,
};

typedef enum perpi_combine {
    PERPI_COMBINE_SUM,
    PERPI_COMBINE_MAX,
    PERPI_COMBINE_MEAN
} perpi_combine;

struct perpi_design {
    perp_unknown* unknown; /* the first columns of the study */
    int32_t unknown_count;
    const json_t* cases; /* NULL: one case that sets nothing */
    int32_t case_count;
    perpi_combine combine; /* of the cases */
    bool worst;            /* over the draws; else their mean */
    perp_design_method asked, method;
    int64_t evaluations;
    double tolerance;
    int32_t starts, population; /* 0: of the method's own choice */
    perpi_expr* minimise;
    const char* minimise_text;
    perpi_expr* constraint[PERPI_DESIGN_CONSTRAINTS];
    const char* constraint_text[PERPI_DESIGN_CONSTRAINTS];
    int32_t constraint_count;
    /* the step of the scene: its place, and its number (NaN: none) or expression (NULL: none) */
    const char* step_place;
    double step_number;
    char* step_text;
    bool step_changed;  /* in the study's scene */
    bool differentiate; /* workers add gradients to their rows */
    double* slot;       /* measures, then columns, as expressions read them */
    /* candidates: unknown_count numbers and the factor of the step, for each evaluation */
    double* candidate;
    size_t candidate_room;
    int64_t candidate_count;
};

/* Reads the keys of a design, if "unknown" is there; a sweep that has others of them is refused. */
PERP_NODISCARD perp_status perpi_design_read(perpi_reader* r, perp_study* s);
/* With the scene: compiles objective and constraints, chooses the method. */
PERP_NODISCARD perp_status perpi_design_bind(perpi_reader* r, perp_study* s);
void perpi_design_destroy(perp_context* context, perpi_design* design);
/* Of a search by gradients that has handed over: the one that goes on. */
static inline perp_design_method perpi_design_method_now(const perpi_design* d)
{
    return d->method == PERP_DESIGN_GRADIENT && !d->differentiate ? PERP_DESIGN_CMA_ES : d->method;
}
/* Adds what makes two designs the same. */
void perpi_design_identity(const perp_study* study, json_t* object);

/* Runs of one candidate. */
int64_t perpi_design_runs(const perp_study* study);
int64_t perpi_design_run_count(const perp_study* study);
perp_vary_value perpi_design_value(const perp_study* study, int64_t run, int32_t vary);
double perpi_design_step_factor(const perp_study* study, int64_t run);
/* Sets the step of the study's scene: that of the scene, or a part of it. */
PERP_NODISCARD perp_status perpi_design_set_step(perp_study* study, int64_t run);
/* Candidate of an evaluation >= 1: unknown_count + 1 numbers. */
PERP_NODISCARD perp_status perpi_design_put(perp_study* study, int64_t evaluation,
                                            const double* candidate);
const double* perpi_design_candidate(const perp_study* study, int64_t evaluation);

/* The objective of one run from its measures (NaN: none), and how far each constraint is violated
 * (negative: it holds). */
double perpi_design_cost(perp_study* study, int64_t run, const double* measure, double* violation);

/* ---- gradients --------------------------------------------------------------------------------*/

/* Whether the scene has derivatives of what the objective and the constraints need, in the first
 * cases at the start. */
PERP_NODISCARD perp_status perpi_design_check_gradient(perp_study* study, const char* user_code);
/* Whether the objective or a constraint has a measure; its gradient by the unknowns, whose names go to `name`. */
bool perpi_design_uses(const perpi_design* d, int32_t measure);
perp_gradient_def perpi_design_gradient_def(const perp_study* study, int32_t measure,
                                            const char** name);
/* After a run, whose values the study's scene has: its gradient as a JSON text, to be freed by
 * free(). NULL: out of memory. */
char* perpi_design_differentiate(perp_study* study);
/* Right after perpi_design_cost of the run: derivatives of objective and constraints by the
 * unknowns, (1 + constraints) x unknowns, then the curvature of the objective, unknowns x unknowns
 * (0: not known), from that text. False: it has none, and reason (of PERPI_DESIGN_REASON bytes)
 * says why. */
enum { PERPI_DESIGN_REASON = 300 };
bool perpi_design_slope(perp_study* study, const char* text, double* slope, int64_t* flagged,
                        char* reason);

/* ---- methods ----------------------------------------------------------------------------------*/

/* A search from z = 0 in coordinates in which first steps have the length 1. */
typedef struct perpi_search {
    int32_t n;
    const double *low, *high; /* low <= 0 <= high */
    double* step;             /* first steps, in (0, 1] */
    double tolerance;         /* steps below it end the search */
    int64_t budget;           /* calls of evaluate, candidates counted */
    uint64_t seed;
    uint32_t stream;    /* of random numbers: start and round */
    int32_t population; /* 0: the usual one */
    /* Values of count points. False: end the search. */
    bool (*evaluate)(void* user, int32_t count, const double* z, double* value);
    /* Of the last point that was evaluated alone: its gradient, and how many steps of its runs are
     * flagged. False: it has none. NULL: the method needs none. */
    bool (*slope)(void* user, double* slope, int64_t* flagged);
    /* Likewise: its curvature of Gauss and Newton, n x n. False: it is not known. */
    bool (*curvature)(void* user, double* curvature);
    /* The one-sided derivative along a direction at a point that was evaluated. False: it is not known. */
    bool (*side)(void* user, const double* z, const double* direction, double* slope);
    /* From now on points are beyond a kink, on the side that was chosen by these; for the history. */
    void (*on_side)(void* user, bool on);
    void* user;
} perpi_search;

typedef enum perpi_search_end {
    PERPI_SEARCH_CONVERGED,
    PERPI_SEARCH_BUDGET,
    PERPI_SEARCH_STOPPED,
    PERPI_SEARCH_MEMORY,
    PERPI_SEARCH_FAILED,      /* the method gave up; text says why */
    PERPI_SEARCH_HANDED_OVER, /* by gradients: another method is to go on */
} perpi_search_end;

bool perpi_nlopt_available(void);
perpi_search_end perpi_search_nlopt(perp_design_method method, const perpi_search* search,
                                    const char** text);
perpi_search_end perpi_search_cma(perp_context* context, const perpi_search* search);
/* What a search by gradients did. */
typedef struct perpi_gradient_outcome {
    int64_t steps, flagged; /* of these, with flagged gradients */
    int64_t newton;         /* of these, by the curvature of Gauss and Newton */
    int64_t turned;         /* of these, to the better side of a flagged point */
    int64_t one_sided;      /* of these, chosen by one-sided derivatives; else by values */
    bool kink;              /* it ended where no one-sided derivative is negative */
    double scale;           /* length of the last step, at most 1 */
    const char* reason;     /* of handing over */
    double z[PERPI_DESIGN_UNKNOWNS];
} perpi_gradient_outcome;
perpi_search_end perpi_search_gradient(perp_context* context, const perpi_search* search,
                                       perpi_gradient_outcome* out);
/* The usual size of a population. */
int32_t perpi_cma_population(int32_t n);

#endif
