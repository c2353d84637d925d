/* src/sim/margin.c - the contact margin, from the step and the motion.
 *
 * Source     [W14 (5.1)]: the distance that a point of a body can come in one step
 * Departure  (5.1) as printed has units of velocity in its acceleration terms (h where h^2 is
 *            meant) and subtracts the gyroscopic term without the inertia. Here: the free motion
 *            of the scheme itself, h |v + h f/m| + h |omega + h I^-1 (tau - omega x I omega)| r.
 *            Contact impulses may carry a body further (a resting ball that is struck): so the
 *            step is checked after the solve, and repeated with a larger margin if a body came
 *            further and new features come within reach.
 */
#include "sim/internal.h"

/* Keeps features that touch within reach whatever the rounding; a fraction of the body's size. */
static const double FLOOR = 1e-6;
/* Reserve over the free motion, so that small changes of speed do not cost a second round. */
static const double RESERVE = 1.1;

/* Of what the margin would let a body turn: by so much the turn of the free motion can be wrong before
 * it costs another round, in which both are looked at. Orders of features that no turn brings about need
 * not be told apart. */
static const double SLACK = 0.25;
/* Never more (radians): with many orders at once the groups are no longer complete. */
static const double SLACK_MAX = 0.06;

/* Turns matter where features form groups; in the plane the margin bounds them well enough. */
static bool turns_matter(const perp_sim* sim)
{
    return sim->model->dimension == 3 && perpi_sim_grouped(sim);
}

/* Distance of the body's farthest point from its centre; endless bodies count with the size of
 * what they can meet. */
static double reach_of(const perp_model* model, const perpi_body* body)
{
    return isfinite(body->reach) ? body->reach : model->length;
}

static double travel(const perp_model* model, const perpi_body* body, double h, vec3 v, vec3 w)
{
    return h * (v3_norm(v) + v3_norm(w) * reach_of(model, body));
}

perp_status perpi_sim_margins(perp_sim* sim, double h)
{
    const perp_model* model = sim->model;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        const bool given = !isnan(sim->def.margin);
        if (given && !turns_matter(sim)) {
            sim->margin[i] = 0.5 * sim->def.margin;
            continue;
        }
        vec3 v, w;
        perp_status status;
        if (body->dofs == 0) {
            status = perpi_prescribed_velocity(model, i, sim->time, h, sim->q, &v, &w);
        } else {
            vec3 force, torque;
            const double* extra = sim->has_extra ? sim->extra : NULL;
            status =
                perpi_external_wrench(model, sim->time, &sim->pose[i], extra, i, &force, &torque);
            v = v3_madd(perpi_state_velocity(model, sim->v, i), h / body->mass, force);
            w = perpi_state_rate(model, sim->v, i);
            if (!body->particle && model->dimension == 2) {
                w.z += h * torque.z / body->inertia.m[2][2];
            } else if (!body->particle) {
                w = perpi_free_rate(body, &sim->pose[i], w, h, torque);
            }
        }
        if (status != PERP_OK) {
            return status;
        }
        sim->margin[i] =
            RESERVE * (travel(model, body, h, v, w) + perpi_sim_offset_travel(sim, i)) +
            FLOOR * reach_of(model, body);
        const double slack = SLACK * sim->margin[i] / reach_of(model, body);
        sim->margin[i] = given ? 0.5 * sim->def.margin : sim->margin[i];
        sim->turn[i].spin[0] = v3_scale(h, w);
        sim->turn[i].slack = body->dofs == 0 ? 0.0 : slack < SLACK_MAX ? slack : SLACK_MAX;
    }
    sim->spins = 1;
    perpi_collider_set_turn(sim->collider, turns_matter(sim) ? sim->turn : NULL, 1);
    return PERP_OK;
}

/* Whether a body turned otherwise than any of its spins; then the spins of this round are added. */
static bool turned_otherwise(perp_sim* sim, double h, const double* v_new)
{
    const perp_model* model = sim->model;
    bool otherwise = false;
    for (int32_t i = 0; i < (int32_t)model->body_count && !otherwise; ++i) {
        const perpi_turn* turn = &sim->turn[i];
        double off = model->body[i].dofs > 0 ? INFINITY : 0.0;
        for (int32_t k = 0; k < sim->spins && off > turn->slack; ++k) {
            off = v3_norm(v3_madd(turn->spin[k], -h, perpi_state_rate(model, v_new, i)));
        }
        otherwise = off > turn->slack;
    }
    if (!otherwise) {
        return false;
    }
    sim->spins += sim->spins < PERPI_SPINS ? 1 : 0;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        sim->turn[i].spin[sim->spins - 1] = model->body[i].dofs > 0
                                                ? v3_scale(h, perpi_state_rate(model, v_new, i))
                                                : sim->turn[i].spin[0];
    }
    perpi_collider_set_turn(sim->collider, sim->turn, sim->spins);
    return true;
}

bool perpi_sim_margins_exceeded(perp_sim* sim, double h, const double* v_new)
{
    const perp_model* model = sim->model;
    bool exceeded = turns_matter(sim) && turned_otherwise(sim, h, v_new);
    if (!isnan(sim->def.margin)) {
        return exceeded; /* how far to look is the user's word; which way bodies turn is not */
    }
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs == 0) {
            continue;
        }
        const double came = travel(model, body, h, perpi_state_velocity(model, v_new, i),
                                   perpi_state_rate(model, v_new, i)) +
                            perpi_sim_offset_travel(sim, i);
        if (came > sim->margin[i]) {
            sim->margin[i] = RESERVE * came;
            exceeded = true;
        }
    }
    return exceeded;
}
