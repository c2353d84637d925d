/* perp/study.h - studies: many runs of one scene, and the database of their results.
 *
 *     perp_study_load(context, "grasp-map.json", &study);
 *     perp_sweep_def def = perp_sweep_def_default();
 *     def.out = "grasp-map.db";
 *     perp_sweep_run(context, study, &def, &report);
 *
 * A study file names a scene, what varies in it and how (docs/studies.md). Run `id` (1, 2, ...) has
 * the same values on any machine: draws are functions of the seed and the id. Results are rows of
 * an SQLite database; a run that fails, exceeds its limit or crashes is a row too.
 */
#ifndef PERP_STUDY_H
#define PERP_STUDY_H

#include "perp/record.h"
#include "perp/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the study file --------------------------------------------------------------------------- */

typedef struct perp_study perp_study;

/* Reads a study and its scene, whose path is relative to the study's folder. PERP_ERROR_INPUT:
 * "FILE: /vary/mu/grid: ...". */
PERP_API PERP_NODISCARD perp_status perp_study_load(perp_context* context, const char* path,
                                                    perp_study** study);
/* The same from memory; origin names it in messages, and the scene is looked for beside it. */
PERP_API PERP_NODISCARD perp_status perp_study_parse(perp_context* context, const char* text,
                                                     size_t length, const char* origin,
                                                     perp_study** study);
PERP_API void perp_study_destroy(perp_study* study);

PERP_API const char* perp_study_name(const perp_study* study);
PERP_API const char* perp_study_text(const perp_study* study); /* as it was read */
PERP_API const char* perp_study_scene_path(const perp_study* study);
/* The scene; runs change it (perp_study_run). */
PERP_API perp_scene* perp_study_scene(perp_study* study);
/* Number of runs: grid points times trials. Ids go from 1 to it. */
PERP_API int64_t perp_study_run_count(const perp_study* study);
PERP_API int64_t perp_study_trials(const perp_study* study);

typedef enum perp_vary_kind {
    PERP_VARY_GRID = 0, /* equidistant numbers: an axis of the grid */
    PERP_VARY_VALUES,   /* listed values: an axis of the grid */
    PERP_VARY_UNIFORM,  /* drawn */
    PERP_VARY_NORMAL,   /* drawn */
    PERP_VARY_CHOICE,   /* one of listed values, drawn with equal probability */
    PERP_VARY_UNKNOWN,  /* of a design: chosen by its method */
    PERP_VARY_CASE,     /* of a design: set by each case */
} perp_vary_kind;
PERP_API const char* perp_vary_kind_name(perp_vary_kind kind);

typedef struct perp_vary {
    const char* name; /* a parameter of the scene, or a JSON pointer into it */
    perp_vary_kind kind;
    double low,
        high; /* ends of a grid, bounds of a uniform distribution; mean and standard deviation */
    int64_t count; /* of a grid, of listed values; else 0 */
} perp_vary;
PERP_API int32_t perp_study_vary_count(const perp_study* study);
PERP_API perp_vary perp_study_vary(const perp_study* study, int32_t vary);

/* What a varied name is set to. */
typedef struct perp_vary_value {
    double number;
    const char* text; /* a string instead of the number; NULL: a number */
} perp_vary_value;
/* 1 <= run <= perp_study_run_count. */
PERP_API perp_vary_value perp_study_value(const perp_study* study, int64_t run, int32_t vary);

PERP_API int32_t perp_study_measure_count(const perp_study* study);
PERP_API const char* perp_study_measure_name(const perp_study* study, int32_t measure);

typedef enum perp_study_keep {
    PERP_KEEP_NONE = 0, /* no files */
    PERP_KEEP_FAILED,   /* recording and problem file of runs that failed */
    PERP_KEEP_ALL,      /* also recordings of all others */
} perp_study_keep;
PERP_API perp_study_keep perp_study_kept(const perp_study* study);

/* ---- one run ---------------------------------------------------------------------------------- */

typedef enum perp_run_status {
    PERP_RUN_OK = 0,
    PERP_RUN_FAILED,  /* the scene could not be built with these values, or a step failed */
    PERP_RUN_TIMEOUT, /* beyond the limit of seconds or steps */
    PERP_RUN_CRASHED, /* the process ended */
} perp_run_status;
/* "ok", "failed", "timeout", "crashed". */
PERP_API const char* perp_run_status_name(perp_run_status status);

typedef struct perp_run_row {
    int64_t id;
    perp_run_status status;
    const char* outcome;   /* name of the stop that held, "end", or "" */
    const double* measure; /* measure_count of them; NaN: none */
    int32_t measure_count;
    double certificate;  /* worst residual of all steps; NaN: there was no step */
    double energy_error; /* largest unexplained change of energy of a step, relative to its terms */
    int64_t steps;       /* impacts not counted */
    double seconds;      /* of CPU */
    const char* recording; /* path, or "" */
    const char* message;   /* "" of a run that ended well */
    /* of a design by gradients: derivatives of its measures by the unknowns, a JSON text; NULL or "": none */
    const char* gradient;
} perp_run_row;

typedef struct perp_run_options {
    const char* recording; /* file to record to; NULL: none */
    const char* problem;   /* file for the problem of a step that could not be solved; NULL: none */
    double seconds;        /* limit of CPU time; 0: none */
    int64_t steps;         /* limit; 0: none */
    /* User code, or NULL: prepare adds it to a new simulation; finish is called before the simulation is
     * destroyed, and may return a message of its own for a failed step (NULL: none). */
    perp_status (*prepare)(void* user, perp_sim* sim);
    const char* (*finish)(void* user, perp_sim* sim);
    void* user;
} perp_run_options;
PERP_API perp_run_options perp_run_options_default(void);

/* Builds the scene with the values that were set (perp_scene_set_number), simulates it to its end,
 * and fills the row. Everything that can go wrong with the run is in the row. row: id and recording
 * are left; its arrays and strings belong to the runner. */
typedef struct perp_runner perp_runner;
PERP_API PERP_NODISCARD perp_status perp_runner_create(perp_context* context, perp_runner** runner);
PERP_API void perp_runner_destroy(perp_runner* runner);
PERP_API PERP_NODISCARD perp_status perp_runner_run(perp_runner* runner, perp_scene* scene,
                                                    const perp_run_options* options,
                                                    perp_run_row* row);
/* Run `id` of a study: sets its values, then the same. NULL options: limits of the study, no files.
 * The limits of the study hold where the options have none. */
PERP_API PERP_NODISCARD perp_status perp_study_run(perp_study* study, perp_runner* runner,
                                                   int64_t id, const perp_run_options* options,
                                                   perp_run_row* row);

/* ---- results ---------------------------------------------------------------------------------- */

typedef struct perp_results perp_results;

/* Opens a database for reading, and the study in it. */
PERP_API PERP_NODISCARD perp_status perp_results_open(perp_context* context, const char* path,
                                                      perp_results** results);
PERP_API void perp_results_close(perp_results* results);
PERP_API perp_study* perp_results_study(perp_results* results);
/* The user's code (plugins) of the runs; "" if none. */
PERP_API const char* perp_results_user_code(const perp_results* results);
/* Calls fn with every row in the order of ids, until it returns false. Strings are valid during the call. */
PERP_API PERP_NODISCARD perp_status perp_results_each(
    perp_results* results, bool (*fn)(void* user, const perp_run_row* row), void* user);
/* One row. PERP_ERROR_INPUT: there is none of that id. Valid until the next call. */
PERP_API PERP_NODISCARD perp_status perp_results_row(perp_results* results, int64_t id,
                                                     perp_run_row* row);
/* Joins databases of one study (shards). A run in several of them must be the same in all, but for
 * its seconds; one that crashed or timed out gives way to one that did not. */
PERP_API PERP_NODISCARD perp_status perp_results_merge(perp_context* context,
                                                       const char* const* path, int32_t count,
                                                       const char* out, int64_t* rows);

/* ---- a sweep ---------------------------------------------------------------------------------- */

typedef struct perp_sweep_report perp_sweep_report;

typedef struct perp_sweep_def {
    size_t struct_size;              /* set by ..._default() */
    const char* out;                 /* the database */
    bool resume;                     /* go on with the database if it is there */
    int32_t jobs;                    /* workers; 0: one for each processor */
    int32_t shard, shard_count;      /* runs whose id is shard modulo shard_count; 1 of 1: all */
    const char* user_code;           /* name of the user's code, kept in the database; NULL: none */
    const perp_run_options* options; /* user code of the runs; limits and files are the study's */
    /* Called several times a second, and at the end. Returning false ends the sweep; what is done
     * stays. NULL: never. */
    bool (*progress)(void* user, const perp_sweep_report* report);
    void* user;
    /* Program and arguments, ended by NULL, of a worker that calls perp_study_serve on its standard
     * input and output;
     * NULL: workers are forked. A process with several threads must not fork them. */
    const char* const* argument;
} perp_sweep_def;
PERP_API perp_sweep_def perp_sweep_def_default(void);

typedef struct perp_outcome_count {
    char name[32]; /* cut */
    int64_t count;
} perp_outcome_count;

enum { PERP_SWEEP_OUTCOMES = 8 };

struct perp_sweep_report {
    int64_t total;     /* runs of this shard */
    int64_t found;     /* of these, in the database before */
    int64_t done;      /* in the database now, those found included */
    int64_t status[4]; /* of those done, by perp_run_status */
    /* of those with status ok, in the order in which they came; the last one counts all others, "..." */
    perp_outcome_count outcome[PERP_SWEEP_OUTCOMES];
    int32_t jobs;
    double seconds; /* wall time so far */
    bool interrupted;
};

/* Runs what is missing in forked workers, each with the scene parsed already, and writes the
 * database. The process must have one thread, unless workers are programs (argument). A worker that
 * ends is replaced, and its run is a row. PERP_ERROR_INPUT: before anything was written, as for a
 * database of another study. */
PERP_API PERP_NODISCARD perp_status perp_sweep_run(perp_context* context, perp_study* study,
                                                   const perp_sweep_def* def,
                                                   perp_sweep_report* report);

/* ---- a sweep on many machines: the parts of perp_sweep_run ------------------------------------- */

typedef struct perp_sweep perp_sweep;

/* Opens or creates the database. */
PERP_API PERP_NODISCARD perp_status perp_sweep_create(perp_context* context, perp_study* study,
                                                      const perp_sweep_def* def,
                                                      perp_sweep** sweep);
/* The next runs to do, at most `room`; fewer as the end comes near, so that all workers end
 * together. 0: all are given out. */
PERP_API int32_t perp_sweep_next(perp_sweep* sweep, int32_t room, int32_t workers, int64_t* id);
/* Puts runs back that were not done. */
PERP_API PERP_NODISCARD perp_status perp_sweep_return(perp_sweep* sweep, const int64_t* id,
                                                      int32_t count);
/* Adds a row. Rows are written about once a second. */
PERP_API PERP_NODISCARD perp_status perp_sweep_add(perp_sweep* sweep, const perp_run_row* row);
/* Writes pending rows that are older than a second; to be called now and then while no row comes. */
PERP_API PERP_NODISCARD perp_status perp_sweep_flush(perp_sweep* sweep);
PERP_API bool perp_sweep_complete(const perp_sweep* sweep);
PERP_API perp_sweep_report perp_sweep_state(const perp_sweep* sweep);
/* Writes what is pending and closes the database. */
PERP_API PERP_NODISCARD perp_status perp_sweep_finish(perp_sweep* sweep);
PERP_API void perp_sweep_destroy(perp_sweep* sweep);

/* A worker process and the pipes to it. Forked workers have the parsed scene; others are programs that call
 * perp_study_serve, started by `argument` (the program's path and its arguments, NULL-terminated). */
typedef struct perp_pool perp_pool;
typedef struct perp_pool_def {
    perp_study* study;
    int32_t jobs;
    const perp_run_options* options; /* of forked workers */
    const char* const* argument;     /* NULL: fork */
    const char* folder;              /* of recordings and problem files */
} perp_pool_def;
PERP_API PERP_NODISCARD perp_status perp_pool_create(perp_context* context,
                                                     const perp_pool_def* def, perp_pool** pool);
PERP_API void perp_pool_destroy(perp_pool* pool); /* ends the workers */
/* How many more runs the workers should be given now. */
PERP_API int32_t perp_pool_room(const perp_pool* pool);
PERP_API PERP_NODISCARD perp_status perp_pool_give(perp_pool* pool, const int64_t* id,
                                                   int32_t count);
/* Runs given and not answered. */
PERP_API int32_t perp_pool_pending(const perp_pool* pool);
/* Waits for rows, at most so many milliseconds, and calls fn with each. */
PERP_API PERP_NODISCARD perp_status perp_pool_wait(perp_pool* pool, int32_t milliseconds,
                                                   perp_status (*fn)(void* user,
                                                                     const perp_run_row* row),
                                                   void* user);
/* The loop of a worker: reads requests from `in`, runs them, writes rows to `out`; returns when `in` ends. */
PERP_API PERP_NODISCARD perp_status perp_study_serve(perp_study* study, int in, int out,
                                                     const char* folder,
                                                     const perp_run_options* options);
/* Rows as bytes, for messages between processes. size: of the buffer; returns the bytes that are needed. */
PERP_API size_t perp_run_row_pack(const perp_run_row* row, void* buffer, size_t size);
/* Reads one row of at most `size` bytes; returns the bytes used, 0 if it is not whole. Its pointers
 * point into the buffer, which must be aligned for double; packed rows are multiples of 8 bytes. */
PERP_API size_t perp_run_row_unpack(const void* buffer, size_t size, perp_run_row* row);

/* ---- a design ---------------------------------------------------------------------------------
 *
 *     perp_design_def def = perp_design_def_default();
 *     def.out = "throw.db";
 *     perp_design_run(context, study, &def, &report);
 *
 * A study with `unknown` and `minimise` is a design: a method chooses values of the unknowns (a
 * candidate), its runs (each case with each draw) give the objective, and so on until steps are
 * small or the evaluations are used up. */

typedef enum perp_design_method {
    PERP_DESIGN_AUTO = 0,
    PERP_DESIGN_NELDER_MEAD, /* of NLopt, as the next two */
    PERP_DESIGN_BOBYQA,
    PERP_DESIGN_SBPLX,
    PERP_DESIGN_CMA_ES,
    PERP_DESIGN_GRADIENT, /* quasi-Newton between bounds, by derivatives of the runs */
} perp_design_method;
PERP_API const char* perp_design_method_name(perp_design_method method);
/* Whether the library was built with NLopt. */
PERP_API bool perp_design_has_nlopt(void);

typedef struct perp_unknown {
    const char* name; /* a parameter of the scene, or a JSON pointer into it */
    double start, low, high;
    double scale; /* the first step of the search */
} perp_unknown;

typedef struct perp_design_info {
    int32_t unknown_count, case_count;
    int64_t draws;             /* of each case */
    perp_design_method method; /* never AUTO: the one that was chosen */
    const char* minimise;
    int32_t constraint_count;
    int32_t starts;
    int64_t evaluations; /* at most */
    double tolerance;
} perp_design_info;
PERP_API bool perp_study_is_design(const perp_study* study);
/* Of a design only, as the next two. */
PERP_API perp_design_info perp_study_design(const perp_study* study);
PERP_API perp_unknown perp_study_unknown(const perp_study* study, int32_t unknown);
PERP_API const char* perp_study_constraint(const perp_study* study, int32_t constraint);

/* One candidate and its value: a row of table `evaluations`. */
typedef struct perp_evaluation {
    int64_t id;            /* 1, 2, ...; the first is the start */
    const double* unknown; /* its values */
    double objective;      /* NaN: a run has no value, and the method was given a penalty */
    const double*
        constraint;   /* the largest of each over all runs, <= 0 where it holds; NaN likewise */
    double violation; /* the largest of these, at least 0 */
    double merit;     /* what the method was given: objective, or with constraints or a penalty */
    double
        best; /* the best objective so far of a candidate that satisfies the constraints; NaN: none */
    bool feasible;
    bool half_step;      /* the best candidate once more with half the step */
    int32_t start;       /* which of the starts, from 1 */
    int64_t failed;      /* runs without a value */
    double seconds;      /* of CPU, all runs */
    const char* message; /* of the first such run, or "" */
    /* method gradient: what chose the candidate ("gradient"; "one-sided": beyond a kink, to the
     * better side; "cma-es" after it handed over), and flagged steps of the gradients of its
     * runs */
    const char* searched_by;
    int64_t flagged;
} perp_evaluation;

typedef enum perp_design_end {
    PERP_DESIGN_CONVERGED = 0, /* steps have become smaller than the tolerance */
    PERP_DESIGN_LIMIT,         /* the evaluations are used up */
    PERP_DESIGN_FLAT,          /* the objective is the same number everywhere */
    PERP_DESIGN_NO_VALUE,      /* no candidate had a value */
    PERP_DESIGN_INTERRUPTED,
} perp_design_end;
/* "converged", "evaluations", "flat", "no-value", "interrupted". */
PERP_API const char* perp_design_end_name(perp_design_end end);

typedef struct perp_design_report {
    perp_design_end end;
    int64_t evaluations;         /* without the repetition at half the step */
    int64_t found;               /* of these, whose runs were in the database before */
    int64_t limit;               /* of evaluations */
    int64_t simulations, failed; /* runs; of these without a value */
    int32_t start, starts;       /* of several starts, the present one */
    double start_value, start_violation;
    int64_t best; /* the best evaluation; 0: none has a value */
    double best_value, best_violation;
    bool feasible;     /* the best satisfies the constraints */
    bool half_step;    /* it was repeated with half the step */
    double half_value; /* NaN: it has none then */
    double half_violation;
    int32_t jobs;
    double seconds;          /* wall time so far */
    char message[400];       /* of the first run without a value; of a method that gave up */
    int32_t best_constraint; /* the constraint that the best violates most; -1: it violates none */
    /* method gradient */
    int64_t gradient_steps,
        flagged_steps;       /* steps (line searches); of these, with flagged gradients */
    int64_t newton_steps;    /* of these, by the curvature of Gauss and Newton */
    int64_t turned_steps;    /* of these, to the better side of a flagged point */
    int64_t one_sided_steps; /* of these, chosen by one-sided derivatives; the others by values */
    bool at_kink; /* a search ended where no one-sided derivative that was tried is negative */
    int64_t handed_over; /* the evaluation after which cma-es went on, the first time; 0: never */
    char handed_over_reason[400];
} perp_design_report;

typedef struct perp_design_def {
    size_t struct_size;              /* set by ..._default() */
    const char* out;                 /* the database */
    bool resume;                     /* go on with the database if it is there */
    int32_t jobs;                    /* workers; 0: one for each processor */
    const char* user_code;           /* as in perp_sweep_def */
    const perp_run_options* options; /* as in perp_sweep_def */
    /* Called several times a second, and at the end. Returning false ends the search; what is done
     * stays. NULL: never. */
    bool (*progress)(void* user, const perp_design_report* report);
    void* user;
} perp_design_def;
PERP_API perp_design_def perp_design_def_default(void);

/* Searches in forked workers, as perp_sweep_run. Every run is a row of `runs`, every candidate one
 * of `evaluations`. The method is deterministic: with resume it is given the values that the
 * database has, and goes on from there. */
PERP_API PERP_NODISCARD perp_status perp_design_run(perp_context* context, perp_study* study,
                                                    const perp_design_def* def,
                                                    perp_design_report* report);
/* The scene of a candidate and a case (0, 1, ...); what is drawn has the scene's own values.
 * PERP_ERROR_INPUT: there is no such evaluation or case, or the scene cannot be built with these
 * values. */
PERP_API PERP_NODISCARD perp_status perp_design_scene(perp_study* study, int64_t evaluation,
                                                      int32_t design_case, perp_scene** scene);
/* Values of the unknowns in an evaluation that was made or read; NULL: there is no such one. */
PERP_API const double* perp_design_candidate(const perp_study* study, int64_t evaluation);
/* Calls fn with every row of `evaluations`, until it returns false. */
PERP_API PERP_NODISCARD perp_status perp_results_evaluations(
    perp_results* results, bool (*fn)(void* user, const perp_evaluation* row), void* user);

/* ---- an estimate ------------------------------------------------------------------------------
 *
 *     perp_estimate_def def = perp_estimate_def_default();
 *     perp_estimate_run(context, study, &def, &estimate);
 *     perp_estimate_value(estimate, 0).value ... perp_estimate_json(estimate) ...
 *
 * A study with `observe` is an estimate: parameters of a scene, and start states, from measured
 * motion (docs/studies.md). */

PERP_API bool perp_study_is_estimate(const perp_study* study);

typedef struct perp_estimate_def {
    size_t struct_size; /* set by ..._default() */
    int32_t jobs;       /* workers; 0: one for each processor */
    /* Called now and then. Returning false ends the search with PERP_ERROR_CANCELLED. NULL: never. */
    bool (*progress)(void* user, int64_t iteration, double objective);
    void* user;
} perp_estimate_def;
PERP_API perp_estimate_def perp_estimate_def_default(void);

/* What was found, or the errors of a prediction. */
typedef struct perp_estimate perp_estimate;
PERP_API void perp_estimate_destroy(perp_estimate* estimate);

/* Fits in forked workers; the process must have one thread. The study must outlive the estimate.
 * PERP_ERROR_INPUT: bad data, or fewer values than unknowns; PERP_ERROR_SOLVE: the scene cannot be
 * simulated along the data. */
PERP_API PERP_NODISCARD perp_status perp_estimate_run(perp_context* context, perp_study* study,
                                                      const perp_estimate_def* def,
                                                      perp_estimate** estimate);
/* Predicts the trajectories of CSV files from their first rows, with the parameters where the study
 * starts them. */
PERP_API PERP_NODISCARD perp_status perp_estimate_predict(perp_context* context, perp_study* study,
                                                          const char* const* path, int32_t count,
                                                          const perp_estimate_def* def,
                                                          perp_estimate** estimate);
/* Which of the study's `candidates` would shrink the intervals most. */
PERP_API PERP_NODISCARD perp_status perp_estimate_plan(perp_context* context, perp_study* study,
                                                       const perp_estimate_def* def,
                                                       perp_estimate** estimate);

typedef struct perp_estimated {
    const char* name;
    double value;
    double low, high;  /* the interval of 95 %; infinite: the data cannot tell */
    double deviation;  /* standard deviation */
    bool identifiable; /* false: the interval is infinite */
    bool at_bound;
} perp_estimated;
/* Of an estimate that was run. */
PERP_API int32_t perp_estimate_count(const perp_estimate* estimate);
PERP_API perp_estimated perp_estimate_value(const perp_estimate* estimate, int32_t parameter);
PERP_API bool perp_estimate_converged(const perp_estimate* estimate);
/* Everything as one JSON object, as `perp estimate --json` prints it. */
PERP_API const char* perp_estimate_json(const perp_estimate* estimate);
/* Times, data and predictions of the trajectories as JSON, for plots; at most so many trajectories
 * and rows of each. */
PERP_API PERP_NODISCARD perp_status perp_estimate_curves(const perp_estimate* estimate,
                                                         int32_t trajectories, int32_t rows,
                                                         const char** text);
/* Writes the fitted study, with its scene inside: perp_estimate_predict takes it. And the fitted scene alone. */
PERP_API PERP_NODISCARD perp_status perp_estimate_save(perp_estimate* estimate, const char* path);
PERP_API PERP_NODISCARD perp_status perp_estimate_save_scene(perp_estimate* estimate,
                                                             const char* path);
/* Writes predicted rows in the form of the data: CSV. */
PERP_API PERP_NODISCARD perp_status perp_estimate_save_rows(const perp_estimate* estimate,
                                                            const char* path);

#ifdef __cplusplus
}
#endif
#endif
