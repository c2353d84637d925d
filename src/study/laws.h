/* src/study/laws.h - the method `laws`: pairs of measured states, and the loss of all of them as a
 * function of the parameters. */
#ifndef PERPI_LAWS_H
#define PERPI_LAWS_H

#include "sim/measured.h"
#include "study/estimate.h"
#include "study/laws_pair.h"

typedef enum perpi_laws_residual {
    PERPI_LAWS_CONTACT,    /* of the laws, impulses unknown */
    PERPI_LAWS_PREDICTION, /* impacts: the error of the velocities that the law of impact gives */
} perpi_laws_residual;

/* Two rows of a trajectory. */
typedef struct perpi_laws_pair {
    int32_t trajectory, row, after; /* rows */
    double time;                    /* between the poses; 0: an impact */
    double span;                    /* in which the velocities changed */
    double w_n, w_t; /* masses that weigh the laws, at the start of the search; 0: not known yet */
    /* of the last evaluation with derivatives: into the arrays of perpi_laws */
    size_t contact, impulse, residual;
    int32_t contacts, impulses, rows;
    double loss, weight; /* its loss, and its weight in a robust one */
} perpi_laws_pair;

typedef struct perpi_laws {
    perp_context* context;
    perpi_predictor* predictor;
    const perpi_estimate* e;
    const perpi_data* data;
    /* options */
    perpi_laws_residual residual_kind;
    int32_t stride; /* rows between the two states of a pair */
    double
        closed; /* contacts of an impact: so far beyond the nearest, relative to the size of the scene */
    double gap_time; /* that divides gaps; NaN: from the noise, or the time between the rows */
    /* pairs */
    perpi_laws_pair* pair;
    int32_t pair_count, skipped; /* skipped: with a gap in the data */
    size_t pair_room;
    /* the model at the last parameters */
    int32_t bodies, q_size, v_size;
    bool *has_velocity, *has_spin; /* per body: measured; else from differences of poses */
    perp_body_state* state;
    double *q, *v, *q_after, *v_after, *q_middle, *v_next; /* flat */
    double*
        mass; /* M at the start of the search: block diagonal, as the factor U of perpi_law_pair */
    size_t mass_room;
    perpi_measured* measured;
    perpi_contact_list first, last; /* contacts at the two poses */
    perpi_law_pair work;
    perpi_law_work minimise;
    double* p;
    size_t p_room;
    /* of the last evaluation with derivatives */
    perpi_law_contact* contact;
    double *impulse, *residual, *derivative; /* derivative: of each residual by each parameter */
    size_t contact_room, impulse_room, residual_room, derivative_room;
    int64_t evaluations; /* of pairs */
} perpi_laws;

PERP_NODISCARD perp_status perpi_laws_create(perp_context* context, perpi_predictor* predictor,
                                             const perpi_estimate* e, perpi_laws** laws);
void perpi_laws_destroy(perpi_laws* laws);
/* The pairs of the trajectories of the data that are held out, or of the others. */
PERP_NODISCARD perp_status perpi_laws_use(perpi_laws* laws, const perpi_data* data, bool held_out);
/* The losses of all pairs: pair[i].loss. derivatives: also contacts, impulses, residuals and their
 * derivatives, of which the part that impulses can remove is removed. PERP_ERROR_INPUT: the scene
 * cannot be built with these parameters. */
PERP_NODISCARD perp_status perpi_laws_evaluate(perpi_laws* laws, const double* parameter,
                                               bool derivatives);

/* The study's /options. */
PERP_NODISCARD perp_status perpi_laws_options(perpi_laws* laws, const char* origin);

/* Velocities after an impact by its law, into laws->v_next, and their error in the norm of the
 * kinetic energy, relative to that before: sqrt(|v+ - v+ predicted|^2 / |v|^2), norms by the masses
 * at the parameters; NaN: no contact, or no solution. */
PERP_NODISCARD perp_status perpi_laws_impact(perpi_laws* laws, const perpi_laws_pair* pair,
                                             const double* parameter, double* error);
/* States of a pair as the channels give them: laws->q, v, q_after, v_after. */
PERP_NODISCARD perp_status perpi_laws_states(perpi_laws* laws, const perpi_laws_pair* pair,
                                             const double* parameter, const perp_model* model);

#endif
