/* src/study/estimate_filter.h - the method particle-filter as its files see it. */
#ifndef PERPI_ESTIMATE_FILTER_H
#define PERPI_ESTIMATE_FILTER_H

#include "study/estimate_fit.h"
#include "study/particle_filter.h"

enum {
    PERPI_FILTER_BATCH = 16,       /* particles in one request to a worker */
    PERPI_FILTER_CONTACTS = 512,   /* that a particle with process noise may carry */
    PERPI_FILTER_FIRST_ROWS = 100, /* at most, to determine a start without prior */
};

/* Process noise of the velocities of a body: standard deviations per square root of time. */
typedef struct perpi_filter_shake {
    int32_t body;
    double linear, angular;
} perpi_filter_shake;

typedef struct perpi_filter_run {
    perpi_estimate_run* run;
    const perpi_estimate* e;
    perpi_answer* answer;
    perpi_workers* workers;
    int32_t n, parameters;
    perpi_prior* prior; /* n */
    /* rows of all trajectories that are not held out, one after the other */
    int32_t* trajectory; /* their indices */
    int32_t* offset;     /* count + 1: the first row of each */
    int32_t count;
    perpi_filter_group* group;
    int32_t group_count;
    /* options */
    double threshold, discount;
    int64_t passes, first_rows;
    /* process noise */
    double* walk; /* of the parameters */
    perpi_filter_shake* shake;
    int32_t shake_count, noises;
    bool dynamic;
    int32_t begun;          /* rows that are used without process noise */
    perp_body_state* state; /* of bodies */
    /* results */
    double* mean; /* of all unknowns, after the last row */
    perpi_filter_info info;
    /* one request, while workers answer it */
    const perpi_static_request* fixed;
    const perpi_dynamic_request* moving;
    /* scratch of a worker */
    double *prediction, *residual;
    size_t state_size; /* largest, of a particle */
} perpi_filter_run;

/* Options, process noise, priors, groups of rows. */
PERP_NODISCARD perp_status perpi_filter_prepare(perpi_filter_run* f);
/* Answers a request in a worker. */
size_t perpi_filter_reply(void* user, const void* request, size_t size, void* reply, size_t room);
/* The largest sizes of requests and replies. */
void perpi_filter_sizes(const perpi_filter_run* f, size_t* request, size_t* reply);
/* Callbacks of the two filters: divide the particles among the workers. */
PERP_NODISCARD perp_status perpi_filter_simulate(void* user, const perpi_static_request* request);
PERP_NODISCARD perp_status perpi_filter_advance(void* user, const perpi_dynamic_request* request);

#endif
