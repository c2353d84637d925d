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
};

/* One run without derivatives. */
PERP_NODISCARD perp_status perpi_predictor_simulate(perpi_predictor* p, perpi_prediction* x);
/* The start that the rows before the first contact say, at most start_rows of them: `state` in, a first guess (estimate_flight.c). */
PERP_NODISCARD perp_status perpi_predictor_flight(perpi_predictor* p, const perpi_trajectory* t,
                                                  int32_t row, const double* parameter,
                                                  perp_body_state* state);
double perpi_predictor_sensor_scale(const perpi_channel* c, const double* parameter);

#endif
