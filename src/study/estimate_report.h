/* src/study/estimate_report.h - a finished estimate: predictions of all trajectories, their errors, the report. */
#ifndef PERPI_ESTIMATE_REPORT_H
#define PERPI_ESTIMATE_REPORT_H

#include "study/estimate.h"

/* Of one trajectory. */
typedef struct perpi_errors {
    bool failed;
    char message[300];
    double* sum;                         /* per channel: of squares, in the units of the data */
    double* count;                       /* of values */
    double position, rotation;           /* mean over rows: length, radians; NaN: not observed */
    double last_position, last_rotation; /* of the last row that has them */
    double largest_position, largest_rotation;
    double
        same_face; /* 1: in the last row the same sides of bodies are on top, else 0; NaN: not observed */
    int64_t steps;
    double certificate; /* the worst of the steps */
    double
        energy; /* of an impact: error in the norm of the kinetic energy, relative to that before; NaN: none */
    double* prediction; /* rows x columns */
    double* residual;   /* rows x width */
} perpi_errors;

struct perp_estimate {
    perp_context* context;
    perp_study* study;
    perpi_estimate* e;
    const perpi_data* data; /* of the study, or those below */
    perpi_data own;
    perpi_answer* answer; /* NULL: a prediction */
    perpi_errors* error;  /* one for each trajectory */
    double* parameter;    /* as a predictor takes them */
    bool plan;
    int32_t jobs;
    json_t* root;
    char *text, *curves;
};

/* Predicts every trajectory with the values of the estimate: those that were fitted from their fitted starts. */
PERP_NODISCARD perp_status perpi_report_predict(perp_estimate* x, perpi_predictor* predictor);
/* Of one trajectory whose residuals are known: sums, means and largest errors. */
void perpi_report_measure(const perpi_estimate* e, const perpi_trajectory* t, perpi_errors* x);
/* Room for the arrays of one trajectory. */
PERP_NODISCARD perp_status perpi_report_room(const perp_estimate* x, int32_t trajectory);
/* laws_report.c: the same for impacts, by the law of impact. */
PERP_NODISCARD perp_status perpi_report_impacts(perp_estimate* x, perpi_predictor* predictor);
/* The JSON object. */
PERP_NODISCARD perp_status perpi_report_write(perp_estimate* x);
/* Whether the scene follows the data at all; else PERP_ERROR_SOLVE with the reason. */
PERP_NODISCARD perp_status perpi_report_check(const perp_estimate* x);
/* Runs the study's method; values to x->answer and x->parameter. */
PERP_NODISCARD perp_status perpi_estimate_fit(perp_estimate* x, const perp_estimate_def* def,
                                              perpi_predictor* predictor);
PERP_NODISCARD perp_status perpi_plan_run(perp_estimate* x, const perp_estimate_def* def);
/* A number, or null. */
json_t* perpi_json_number(double number);
void perpi_report_free(perp_estimate* x);

#endif
