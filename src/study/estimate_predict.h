/* src/study/estimate_predict.h - the predictor, as its files see it. */
#ifndef PERPI_ESTIMATE_PREDICT_H
#define PERPI_ESTIMATE_PREDICT_H

#include "study/estimate.h"

struct perpi_predictor {
    perp_context* context;
    perp_study* study;
    perpi_estimate* e;
    bool planar;
    size_t bodies;
    double length; /* of the scene; 0: nothing has a size */
    perp_sim* sim; /* of the scene with the values below; NULL: none */
    double* set;   /* values that the scene has */
    bool is_set;
    double duration;        /* that the simulation must last */
    perp_body_state* state; /* of bodies, scratch */
    perp_body_state *from, *to;
    double *row_a, *row_b; /* columns at two steps */
    double* moved;         /* parameters and start coordinates */
    double *plus, *minus;  /* predictions */
    size_t plus_room, minus_room;
    perp_body_state *end, *end_plus, *end_minus;
    double* centre; /* of bodies whose centre of mass is unknown: how far it moved, body frame */
    perpi_derivative derivative;
    double* flight; /* residuals of the rows of a flight, then their columns */
    size_t flight_room;
    double* flight_column;
    int32_t flight_rows; /* that the last start was fitted to; 0: none */
    /* forward derivatives (estimate_forward.c) */
    struct perpi_scene_along* along; /* of the scene with the values above; NULL: none yet */
    const char** along_name;         /* numbers of the scene that the parameters change */
    int32_t along_names;
    double* along_by; /* d such a number / d parameter: names x parameters */
    int32_t* along_body;
    int32_t along_bodies;
    bool start_depends; /* a parameter changes the start of the scene */
    double *tangent_a,
        *tangent_b; /* d (columns in the form of residuals) by the unknowns: width x N */
    double* spread; /* d state / d unknown */
    size_t tangent_room, spread_room;
    double *flat_q, *flat_v;
};

/* What channels measure of states of bodies; quantities are left as they are. */
void perpi_measure_bodies(const perpi_predictor* p, const double* parameter,
                          const perp_body_state* state, double* column);
/* measured = scale x + offset, of one channel. */
void perpi_measure_sensor(const perpi_channel* c, const double* parameter, double* x);
double perpi_sensor_value(const perpi_sensor_number* n, const double* parameter);
/* As perpi_predictor_nominal, with the simulation p->sim at the start of the scene. */
void perpi_nominal_of_row(perpi_predictor* p, const perpi_trajectory* t, int32_t row,
                          const double* parameter, perp_body_state* state);
/* Moves of centres of mass (p->centre) by the parameters. */
void perpi_predictor_centres(perpi_predictor* p, const double* parameter);
/* The definition of simulations of the scene. */
perp_sim_def perpi_predictor_def(const perpi_predictor* p, const perp_scene* scene);
PERP_NODISCARD perp_status perpi_forward_create(perpi_predictor* p);
void perpi_forward_forget(perpi_predictor* p); /* the scene has other values */
void perpi_forward_destroy(perpi_predictor* p);
/* As perpi_predictor_simulate, with derivatives. *can: false: differences must do it. */
PERP_NODISCARD perp_status perpi_forward_predict(perpi_predictor* p, perpi_prediction* x,
                                                 bool* can);

/* One run without derivatives. */
PERP_NODISCARD perp_status perpi_predictor_simulate(perpi_predictor* p, perpi_prediction* x);
/* The start that the rows before the first contact say, at most start_rows of them: `state` in, a
 * first guess (estimate_flight.c). */
PERP_NODISCARD perp_status perpi_predictor_flight(perpi_predictor* p, const perpi_trajectory* t,
                                                  int32_t row, const double* parameter,
                                                  perp_body_state* state);
double perpi_predictor_sensor_scale(const perpi_channel* c, const double* parameter);

#endif
