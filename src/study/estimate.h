/* src/study/estimate.h - an estimate: unknown parameters and start states of a scene from measured motion.
 *
 * A trajectory is a series of rows (times and measured columns). A channel is a group of columns
 * that one sensor gives: its residual is (data - prediction) / noise, in the order of the channels
 * within a row. The unknowns are the parameters, which all trajectories share, and the start
 * coordinates of each trajectory.
 */
#ifndef PERPI_ESTIMATE_H
#define PERPI_ESTIMATE_H

#include "study/read.h"
#include "study/study.h"

enum {
    PERPI_ESTIMATE_PARAMETERS = 200, /* at most */
    PERPI_ESTIMATE_CHANNELS = 1000,
    PERPI_CHANNEL_COLUMNS = 4, /* at most, of one channel */
    PERPI_CHANNEL_WIDTH = 3,   /* residuals of one row, at most */
    PERPI_START_COORDINATES = 12,
};

/* ---- channels -----------------------------------------------------------------------------------*/

typedef enum perpi_channel_kind {
    PERPI_CHANNEL_QUANTITY, /* one column: any quantity of the scene */
    PERPI_CHANNEL_POSITION, /* of the centre of mass, or of a point of the body: 3 columns, planar 2 */
    PERPI_CHANNEL_ORIENTATION, /* quaternion w, x, y, z: 4 columns, 3 residuals (rotation vector, world); planar: the
                                  angle, whose residual is wrapped to (-pi, pi] */
    PERPI_CHANNEL_VELOCITY,         /* likewise */
    PERPI_CHANNEL_ANGULAR_VELOCITY, /* planar: 1 column */
} perpi_channel_kind;

/* A number of a sensor: itself, or a parameter of the estimate. */
typedef struct perpi_sensor_number {
    double value;
    int32_t parameter; /* -1: the value */
} perpi_sensor_number;

typedef struct perpi_channel {
    const char* name;
    perpi_channel_kind kind;
    int32_t body;    /* -1: a quantity of none */
    bool body_frame; /* velocities along the axes of the body */
    perp_quantity quantity;
    const char* column[PERPI_CHANNEL_COLUMNS]; /* names in the data */
    /* of impacts: the columns after it; [0] NULL: not measured then */
    const char* after[PERPI_CHANNEL_COLUMNS];
    int32_t first_column, columns; /* among the columns of a row */
    int32_t first_residual, width; /* among the residuals of a row */
    double noise;       /* standard deviation of one residual before it is divided by it */
    double first_noise; /* given, or guessed from the data */
    bool noise_given;   /* else it is estimated */
    /* measured = scale * predicted + offset; a position or velocity is that of the point `at` of
     * the body, an orientation is that of a frame that is turned in the body by the rotation vector
     * `turn` */
    perpi_sensor_number scale, offset[3], at[3], turn[3];
    bool has_sensor; /* one of these is not as if there were none */
    int32_t
        start_coordinate; /* of a quantity: the coordinate of its body's start that it is; -1: none */
} perpi_channel;

/* ---- data ---------------------------------------------------------------------------------------*/

typedef struct perpi_trajectory {
    int64_t number; /* as in its column, or 1, 2, ... */
    const char* file;
    int64_t line; /* of its first row in the file */
    bool held_out;
    int32_t rows;
    const double* time;  /* from 0, ascending */
    const double* value; /* rows x columns; NaN: a gap */
} perpi_trajectory;

typedef struct perpi_data {
    perp_context* context;
    perpi_trajectory* trajectory;
    int32_t count;
    size_t room;
    double* number; /* rows of the file that is being read */
    size_t number_room, number_count;
    double** block; /* memory of the trajectories */
    int32_t block_count;
    size_t block_room;
    char** file;
    int32_t file_count;
    size_t file_room;
} perpi_data;

/* ---- unknowns -----------------------------------------------------------------------------------*/

typedef enum perpi_parameter_kind {
    PERPI_PARAMETER_SCENE,   /* a parameter of the scene, or a number of it by its pointer */
    PERPI_PARAMETER_SENSOR,  /* a number of one or more channels */
    PERPI_PARAMETER_INERTIA, /* a coordinate of the pseudo-inertia of a body */
} perpi_parameter_kind;

typedef struct perpi_parameter {
    perp_unknown info; /* bounds may be infinite */
    perpi_parameter_kind kind;
    double prior;          /* standard deviation about the start; NaN: none */
    int32_t inertia, part; /* which of the inertias, and its coordinate there */
} perpi_parameter;

/* One coordinate of the start state: 0-2 displacement of the centre of mass, 3-5 rotation vector in
 * the world frame, 6-8 velocity, 9-11 angular velocity, world; added to the nominal start. Planar:
 * 0, 1, 5, 6, 7, 11. */
typedef struct perpi_start {
    int32_t body, coordinate;
    double prior; /* standard deviation; NaN: none */
} perpi_start;

typedef enum perpi_estimate_method {
    PERPI_ESTIMATE_SHOOTING,
    PERPI_ESTIMATE_MPEC,
    PERPI_ESTIMATE_PARTICLE_FILTER,
    PERPI_ESTIMATE_MOVING_WINDOW,
    PERPI_ESTIMATE_LAWS,
} perpi_estimate_method;

typedef enum perpi_loss { PERPI_LOSS_SQUARES, PERPI_LOSS_HUBER, PERPI_LOSS_CAUCHY } perpi_loss;

typedef struct perpi_inertia perpi_inertia;

typedef struct perpi_estimate {
    perpi_channel* channel;
    int32_t channel_count;
    int32_t columns, width; /* of a row: data columns, residuals */
    perpi_parameter* parameter;
    int32_t parameter_count;
    perpi_start* start; /* of every trajectory */
    int32_t start_count;
    bool start_from_scene; /* else from the first row, where it is observed */
    int32_t start_rows; /* rows from which unobserved velocities of the start are taken; 0: none */
    bool
        start_flight; /* the start is fitted to those of these rows that are before the first contact */
    perpi_inertia* inertia;
    int32_t inertia_count;
    perpi_estimate_method method;
    perpi_loss loss;
    double loss_scale;  /* in standard deviations */
    double hold_out;    /* part of the trajectories */
    double horizon;     /* rows later than this do not count in the fit; 0: all count */
    uint64_t seed;      /* of everything that is drawn */
    int64_t iterations; /* at most */
    double tolerance;   /* relative, of a step in the unknowns, in their standard deviations */
    int32_t segments;   /* of multiple shooting; 1: none */
    int32_t window;     /* rows of a moving window */
    int64_t particles;  /* of a filter */
    const json_t*
        process_noise;        /* {NAME: standard deviation per square root of time}; NULL: none */
    const json_t* options;    /* "options" of a method: read by the method; NULL: none */
    const json_t* candidates; /* of a plan; NULL: none */
    const char* time_column;  /* NULL: rate */
    const char* trajectory_column; /* NULL: each file is one */
    double rate;
    /* Each row of the data is an impact, without times: a trajectory of two rows, before and after it. */
    bool impacts;
    perpi_data data;
    char** name; /* memory of names that are put together here */
    size_t name_count, name_room;
} perpi_estimate;

/* Whether the study has the keys of an estimate ("observe"). */
bool perpi_estimate_is(const json_t* root);
/* Keys without the scene; then with it: bodies, quantities, names, data. */
PERP_NODISCARD perp_status perpi_estimate_read(perpi_reader* r, perp_study* s);
PERP_NODISCARD perp_status perpi_estimate_bind(perpi_reader* r, perp_study* s);
void perpi_estimate_destroy(perp_context* context, perpi_estimate* e);
const char* perpi_estimate_method_word(perpi_estimate_method method);
/* A study that is no estimate must have none of its keys. */
PERP_NODISCARD perp_status perpi_estimate_refuse(perpi_reader* r, const json_t* root);
/* A copy of a text that lives as long as the estimate. */
PERP_NODISCARD perp_status perpi_estimate_keep_name(perp_context* context, perpi_estimate* e,
                                                    const char* text, const char** kept);

/* Reads a file and adds its trajectories. PERP_ERROR_INPUT: file, row, column, remedy. */
PERP_NODISCARD perp_status perpi_data_read(perp_context* context, const perpi_estimate* e,
                                           const char* path, perpi_data* data);
void perpi_data_destroy(perpi_data* data);
/* Marks trajectories that are held out: so many of them, chosen by the seed. */
PERP_NODISCARD perp_status perpi_data_hold_out(perp_context* context, const perpi_estimate* e,
                                               perpi_data* data);
/* Noise of channels that have none, from second differences of their columns: to begin with. */
void perpi_data_guess_noise(perpi_estimate* e);

/* ---- prediction ---------------------------------------------------------------------------------*/

typedef enum perpi_derivative {
    PERPI_DERIVATIVE_NONE,
    PERPI_DERIVATIVE_FORWARD,     /* along with the run */
    PERPI_DERIVATIVE_DIFFERENCES, /* central, of whole runs */
} perpi_derivative;

typedef struct perpi_prediction_info {
    bool
        failed; /* the scene cannot follow: it could not be built, or a step failed; the context has the message */
    double time;        /* of the failure */
    int64_t steps;      /* of all runs */
    int64_t runs;       /* 1, and those of differences */
    int64_t flagged;    /* steps whose derivatives are one-sided or not unique */
    double certificate; /* the worst residual */
    perpi_derivative derivative;
} perpi_prediction_info;

typedef struct perpi_predictor perpi_predictor;

/* A part of a trajectory, and what is wanted of it. */
typedef struct perpi_prediction {
    const perpi_trajectory* trajectory;
    int32_t first, rows;     /* of the trajectory; rows 0: to its end */
    const double* parameter; /* parameter_count */
    const double* start;     /* start_count, added to the nominal start; NULL: 0 */
    const perp_body_state*
        state; /* the nominal start, of every body of the model; NULL: perpi_predictor_nominal */
    /* what `start` and the last columns of derivatives are; NULL: those of the estimate */
    const perpi_start* coordinate;
    int32_t coordinates;
    /* out, each may be NULL: */
    double* prediction; /* rows x columns */
    double* residual;   /* rows x width; NaN at gaps */
    double*
        jacobian; /* d residual: (rows * width) x (parameter_count + start_count or coordinates), 0 at gaps */
    perp_body_state* end; /* of every body at the last row */
    double* end_jacobian; /* d end: (12 * bodies) x the same columns, coordinates as of a start */
    perpi_prediction_info info;
} perpi_prediction;

/* The study's scene belongs to the predictor until it is destroyed. */
PERP_NODISCARD perp_status perpi_predictor_create(perp_context* context, perp_study* study,
                                                  perpi_predictor** predictor);
void perpi_predictor_destroy(perpi_predictor* predictor);
/* Simulates from the row `first` to the last with the parameters and the start. Between steps
 * positions and numbers are linear, rotations turn about a fixed axis. PERP_ERROR_...: with
 * info.failed the unknowns are bad (a search goes elsewhere), else the estimate must end. */
PERP_NODISCARD perp_status perpi_predictor_predict(perpi_predictor* predictor, perpi_prediction* p);
/* The same of a whole trajectory of the study's data. prediction, residual, jacobian, info may be NULL. */
PERP_NODISCARD perp_status perpi_predictor_run(perpi_predictor* predictor, int32_t trajectory,
                                               const double* parameter, const double* start,
                                               double* prediction, double* residual,
                                               double* jacobian, perpi_prediction_info* info);
/* The start of bodies as the row says (position, orientation and velocities that channels observe
 * there), else as the scene does. state: one for each body. */
PERP_NODISCARD perp_status perpi_predictor_nominal(perpi_predictor* predictor,
                                                   const perpi_trajectory* trajectory, int32_t row,
                                                   const double* parameter, perp_body_state* state);
int32_t perpi_predictor_bodies(const perpi_predictor* predictor);
/* The scene with the parameters, not simulated: for a method that steps by itself. Valid until the next call. */
PERP_NODISCARD perp_status perpi_predictor_scene(perpi_predictor* predictor,
                                                 const double* parameter, perp_scene** scene);
/* A simulation of it at a time, for such a method; belongs to the predictor, valid until the next
 * call of it. The states of bodies are set by the caller. */
PERP_NODISCARD perp_status perpi_predictor_sim(perpi_predictor* predictor, const double* parameter,
                                               double time, perp_sim** sim);
/* What the channels would measure of the simulation's present state: `columns` numbers. */
void perpi_predictor_measure(perpi_predictor* predictor, const double* parameter, perp_sim* sim,
                             double* column);
/* Residuals of one row from measured and predicted columns: `width` numbers, NaN at gaps. */
void perpi_predictor_residual(const perpi_estimate* e, bool planar, const double* measured,
                              const double* predicted, double* residual);
/* Between two rows of predicted columns: part 0 .. 1. */
void perpi_predictor_between(const perpi_estimate* e, bool planar, const double* a, const double* b,
                             double part, double* column);
bool perpi_predictor_planar(const perpi_predictor* predictor);
/* Whether derivatives come along with the run. */
perpi_derivative perpi_predictor_derivative(const perpi_predictor* predictor);
/* Displaces a state by coordinates of a start (12 numbers). */
void perpi_state_displace(perp_body_state* state, bool planar, const double* by);
/* The coordinates that lead from a to b. */
void perpi_state_difference(const perp_body_state* a, const perp_body_state* b, bool planar,
                            double* by);

/* ---- workers ------------------------------------------------------------------------------------*/

/* Forked processes. They have what the parent had when it created them. */
typedef struct perpi_workers perpi_workers;
/* Answers one request; returns the bytes of the reply, which must be at most `room`. */
typedef size_t (*perpi_work_fn)(void* user, const void* request, size_t size, void* reply,
                                size_t room);
/* jobs 0: one for each processor; 1: no processes, work is called here. request, answer: the largest sizes. */
PERP_NODISCARD perp_status perpi_workers_create(perp_context* context, int32_t jobs, size_t request,
                                                size_t answer, perpi_work_fn work, void* user,
                                                perpi_workers** workers);
void perpi_workers_destroy(perpi_workers* workers);
int32_t perpi_workers_jobs(const perpi_workers* workers);
/* Task i of count goes to whichever worker is free; fill writes its request and returns its size,
 * take reads its reply, both here, take in the order of i: the result is the same for any number of
 * jobs. A worker that ends is PERP_ERROR_SOLVE. */
typedef struct perpi_map {
    int64_t count;
    size_t (*fill)(void* user, int64_t task, void* request);
    perp_status (*take)(void* user, int64_t task, const void* reply, size_t size);
    bool (*stop)(
        void* user); /* polled while waiting; true: ends with PERP_ERROR_CANCELLED. NULL: never */
    void* user;
} perpi_map;
PERP_NODISCARD perp_status perpi_workers_map(perpi_workers* workers, const perpi_map* map);

/* ---- answers ------------------------------------------------------------------------------------*/

enum { PERPI_ANSWER_MESSAGE = 800 };

/* Of one parameter over time: a filter, a window. */
typedef struct perpi_answer_series {
    int32_t trajectory, rows;
    double *time, *value, *low, *high; /* rows; value, low, high: rows x parameter_count */
} perpi_answer_series;

/* Parameters that the data cannot tell apart: a direction in which the information vanishes. */
typedef struct perpi_combination {
    double*
        weight; /* parameter_count, of the changes in units of each parameter; the largest is 1 */
} perpi_combination;

/* Every method fills this. Memory is that of perpi_answer_create. */
typedef struct perpi_answer {
    int32_t n;      /* parameters */
    double* search; /* as a predictor takes them: a method fills it */
    double*
        unreduced; /* diagonal of the information before start states were eliminated; 0: not known */
    double *value, *low, *high; /* as they are reported; 95 % */
    bool* identifiable;         /* false: low and high are infinite */
    double* covariance;         /* n x n; NaN rows of what is not identifiable */
    bool* at_bound;
    perpi_combination* combination;
    int32_t combination_count;
    double* start; /* trajectories x start_count */
    double* noise; /* per channel, as used in the end */
    int64_t iterations, evaluations /* of trajectories, those with derivatives counted once */,
        runs;
    double objective; /* half the sum of squares (losses), priors included */
    double degrees;   /* of freedom: values minus unknowns that are identifiable */
    bool converged;
    int64_t flagged; /* steps of the last evaluation with derivatives */
    perpi_derivative derivative;
    char message[PERPI_ANSWER_MESSAGE]; /* how it ended */
    perpi_answer_series* series;
    int32_t series_count;
    json_t* more; /* further members of the answer, of a method; NULL: none */
} perpi_answer;

PERP_NODISCARD perp_status perpi_answer_create(perp_context* context, const perpi_estimate* e,
                                               perpi_answer** answer);
void perpi_answer_destroy(perp_context* context, perpi_answer* answer);

/* What a method is given. */
typedef struct perpi_estimate_run {
    perp_context* context;
    perp_study* study;
    perpi_estimate* e;
    perpi_predictor* predictor; /* of this process */
    int32_t jobs;               /* >= 1 */
    /* To be called now and then; true: the user has ended it. */
    bool (*progress)(struct perpi_estimate_run* run, int64_t iteration, double objective);
    void* user;
} perpi_estimate_run;

PERP_NODISCARD perp_status perpi_estimate_shooting(perpi_estimate_run* run, perpi_answer* answer);
PERP_NODISCARD perp_status perpi_estimate_mpec(perpi_estimate_run* run, perpi_answer* answer);
PERP_NODISCARD perp_status perpi_estimate_filter(perpi_estimate_run* run, perpi_answer* answer);
PERP_NODISCARD perp_status perpi_estimate_window(perpi_estimate_run* run, perpi_answer* answer);
PERP_NODISCARD perp_status perpi_estimate_laws(perpi_estimate_run* run, perpi_answer* answer);

/* Information below these, the first relative to the largest, the second in units of
 * perpi_parameter_size, says nothing. */
#define PERPI_INFORMATION_RELATIVE 1e-12
#define PERPI_INFORMATION_ABSOLUTE 1e-6
/* A large change of a parameter as it is reported: half the distance of its bounds, or its own size. */
double perpi_parameter_size(const perpi_estimate* e, int32_t i, double value);
/* From the information matrix of the parameters (n x n, of answer->search, start states
 * eliminated), answer->search and degrees: values, covariance, intervals, identifiable,
 * combinations. */
PERP_NODISCARD perp_status perpi_answer_intervals(perp_context* context, const perpi_estimate* e,
                                                  const double* information, perpi_answer* answer);
/* Values as they are reported of those that a predictor takes: inertias become masses and moments.
 * D: derivatives, n x n;
 * NULL: not wanted. */
void perpi_answer_physical(const perpi_estimate* e, const double* search, double* value, double* D);
/* Eigenvalues (to the diagonal of A) and eigenvectors (columns of V) of a symmetric matrix. */
void perpi_symmetric_eigen(int32_t n, double* A, double* V);
/* The two-sided 95 % quantile of Student's t with so many degrees of freedom. */
double perpi_student_quantile(double degrees);

#endif
