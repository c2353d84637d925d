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
};

/* One run without derivatives. */
PERP_NODISCARD perp_status perpi_predictor_simulate(perpi_predictor* p, perpi_prediction* x);

#endif
