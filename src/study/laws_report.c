/* src/study/laws_report.c - predictions of impacts: velocities after each by the law of impact, and
 * their errors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "perp/set.h"
#include "study/estimate_report.h"
#include "study/laws.h"

/* The row before as it was measured, the row after as predicted from it. */
static perp_status predict_impact(perp_estimate* x, perpi_laws* laws, const perpi_laws_pair* pair,
                                  double* error)
{
    const perpi_estimate* e = x->e;
    const perpi_trajectory* t = &x->data->trajectory[pair->trajectory];
    perpi_errors* to = &x->error[pair->trajectory];
    const size_t columns = (size_t)e->columns, width = (size_t)e->width;
    perp_sim* sim = NULL;
    const bool planar = perpi_predictor_planar(laws->predictor);
    PERPI_TRY(perpi_laws_impact(laws, pair, x->parameter, error));
    PERPI_TRY(perpi_predictor_sim(laws->predictor, x->parameter, 0.0, &sim));
    PERPI_TRY(perp_sim_set_state(sim, laws->q, laws->v_next));
    memcpy(to->prediction, t->value, columns * sizeof *to->prediction);
    perpi_predictor_measure(laws->predictor, x->parameter, sim, to->prediction + columns);
    for (int row = 0; row < 2; ++row) {
        perpi_predictor_residual(e, planar, t->value + (size_t)row * columns,
                                 to->prediction + (size_t)row * columns,
                                 to->residual + (size_t)row * width);
    }
    for (size_t i = 0; i < width; ++i) {
        to->residual[i] = NAN; /* of the row before: it is given */
    }
    return PERP_OK;
}

static perp_status predict_all(perp_estimate* x, perpi_laws* laws, bool held_out)
{
    PERPI_TRY(perpi_laws_use(laws, x->data, held_out));
    for (int32_t i = 0; i < laws->pair_count; ++i) {
        const int32_t k = laws->pair[i].trajectory;
        double error = NAN;
        PERPI_TRY(predict_impact(x, laws, &laws->pair[i], &error));
        x->error[k].energy = error;
        x->error[k].failed = isnan(error);
        x->error[k].message[0] = '\0';
        if (x->error[k].failed) {
            (void)snprintf(x->error[k].message, sizeof x->error[k].message, "%s",
                           "no contact within reach, or no solution of the law of impact");
        }
        perpi_report_measure(x->e, &x->data->trajectory[k], &x->error[k]);
    }
    return PERP_OK;
}

perp_status perpi_report_impacts(perp_estimate* x, perpi_predictor* predictor)
{
    perpi_laws* laws = NULL;
    for (int32_t k = 0; k < x->data->count; ++k) {
        PERPI_TRY(perpi_report_room(x, k));
        x->error[k].failed = true;
        x->error[k].position = x->error[k].rotation = x->error[k].last_position =
            x->error[k].last_rotation = NAN;
        (void)snprintf(x->error[k].message, sizeof x->error[k].message, "%s",
                       "a pose or a velocity is missing");
    }
    PERPI_TRY(perpi_laws_create(x->context, predictor, x->e, &laws));
    perp_status status = perpi_laws_options(laws, x->study->origin);
    if (status == PERP_OK) {
        status = predict_all(x, laws, false);
    }
    if (status == PERP_OK) {
        status = predict_all(x, laws, true);
    }
    perpi_laws_destroy(laws);
    return status;
}
