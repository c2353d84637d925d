/* src/sim/margin.c - the contact margin, from the step and the motion.
 *
 * Source     [W14 (5.1)]: the distance that a point of a body can move in one step
 * Departure  (5.1) as printed has units of velocity in its acceleration terms (h where h^2 is
 *            meant) and subtracts the gyroscopic term without the inertia. Here: the free motion
 *            of the scheme itself, h |v + h f/m| + h |omega + h I^-1 (tau - omega x I omega)| r.
 *            Contact impulses may move a body further (a resting ball hit by another one), so the
 *            step is checked after the solve, and repeated with a larger margin if a body moved
 *            further and new features are within the margin.
 */
#include "sim/internal.h"
#include "step/smooth_step.h"

/* Keeps closed features within the margin despite rounding; relative to the body's size. */
static const double FLOOR = 1e-6;
/* Reserve over the free motion, so that small changes of speed need no second round. */
static const double RESERVE = 1.1;

/* Relative to the rotation that the margin allows: tolerance for the error of the free motion's
 * rotation before another round is needed, which takes both rotations into account. Orders of
 * features that no rotation produces need not be distinguished. */
static const double SLACK = 0.25;
/* Never more (radians): with many orders at once the groups are no longer complete. */
static const double SLACK_MAX = 0.06;

enum { LAST_RELATIVE = 2 /* rounds with motions of pairs */ };

/* Rotations matter where features form groups; in the plane the margin bounds them well enough. */
static bool turns_matter(const perpi_step* step)
{
    return step->model->dimension == 3 && step->contact_model->groups;
}

/* Distance of the body's farthest point from its centre; for unbounded bodies the size of those
 * that they can meet. */
static double reach_of(const perp_model* model, const perpi_body* body)
{
    return isfinite(body->reach) ? body->reach : model->length;
}

static double travel(double reach, double h, vec3 v, vec3 w)
{
    return h * (v3_norm(v) + v3_norm(w) * reach);
}

/* Polyhedra with many vertices have far more of them within the margin than can touch. A vertex whose
 * gap follows from those of its neighbours, if the body rotates no further than the margin allows, needs
 * no constraint. Only where the rotation is checked after the solve, and all contacts take part. */
static bool leaves_out(const perpi_step* step)
{
    return perpi_collider_has_many_vertices(step->collider) && isnan(step->margin_given) &&
           !(step->settings.smooth > 0.0) && step->offset_at < 0 && !step->stepper->touching &&
           !(step->error > 0.0) && !step->filter->without && !step->filter->closed &&
           step->stepper->evaluation <= PERPI_EVALUATE_FORCES;
}

/* A body that moves no further than its margin rotates no further than this. */
static void bound_turns(perpi_step* step)
{
    for (int32_t i = 0; step->lean && i < (int32_t)step->model->body_count; ++i) {
        step->turn_most[i] = step->margin[i] / reach_of(step->model, &step->model->body[i]);
    }
}

static double offset_travel(const perpi_step* step, int32_t body)
{
    return step->offset_at >= 0 ? perpi_offset_travel(step, body) : 0.0;
}

perp_status perpi_find_margins(perpi_step* step, double h)
{
    const perp_model* model = step->model;
    const double acting = perpi_smooth_distance(model, &step->settings, h);
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        const bool given = !isnan(step->margin_given);
        if (given && !turns_matter(step)) {
            step->margin[i] = 0.5 * step->margin_given + acting;
            continue;
        }
        vec3 v, w;
        perp_status status;
        if (body->dofs == 0) {
            status =
                perpi_prescribed_velocity(model, i, step->from->time, h, step->from->q, &v, &w);
        } else if (body->massless) {
            v = perpi_state_velocity(model, step->from->v, i);
            w = perpi_state_rate(model, step->from->v, i);
            status = PERP_OK;
        } else {
            vec3 force, torque;
            const double* extra = step->has_extra ? step->extra : NULL;
            status = perpi_external_wrench(model, step->from->time, &step->pose[i], extra, i,
                                           &force, &torque);
            v = v3_madd(perpi_state_velocity(model, step->from->v, i), h / body->mass, force);
            w = perpi_state_rate(model, step->from->v, i);
            if (!body->particle && model->dimension == 2) {
                w.z += h * torque.z / body->inertia.m[2][2];
            } else if (!body->particle) {
                w = perpi_free_rate(body, &step->pose[i], w, h, torque);
            }
        }
        if (status != PERP_OK) {
            return status;
        }
        const double reach = reach_of(model, body);
        step->margin[i] =
            RESERVE * (travel(reach, h, v, w) + offset_travel(step, i)) + FLOOR * reach + acting;
        step->motion[i] = (perpi_body_motion){v3_scale(h, v), v3_scale(h, w), reach};
        step->margin[i] = perpi_larger(step->margin[i], step->margin_least);
        const double slack = SLACK * step->margin[i] / reach;
        step->margin[i] = given ? 0.5 * step->margin_given : step->margin[i];
        step->turn[i].spin[0] = v3_scale(h, w);
        step->turn[i].slack = body->dofs == 0 ? 0.0 : slack < SLACK_MAX ? slack : SLACK_MAX;
    }
    step->lean = step->relative = leaves_out(step);
    bound_turns(step);
    step->spins = 1;
    perpi_collider_set_turn(step->collider, turns_matter(step) ? step->turn : NULL, 1);
    return PERP_OK;
}

/* Whether a body rotated differently from all of its assumed rotations; then those of this round
 * are added. */
static bool turned_otherwise(perpi_step* step, double h, const double* v_new)
{
    const perp_model* model = step->model;
    bool otherwise = false;
    for (int32_t i = 0; i < (int32_t)model->body_count && !otherwise; ++i) {
        const perpi_turn* turn = &step->turn[i];
        double off = model->body[i].dofs > 0 ? INFINITY : 0.0;
        for (int32_t k = 0; k < step->spins && off > turn->slack; ++k) {
            off = v3_norm(v3_madd(turn->spin[k], -h, perpi_state_rate(model, v_new, i)));
        }
        otherwise = off > turn->slack;
    }
    if (!otherwise) {
        return false;
    }
    step->spins += step->spins < PERPI_SPINS ? 1 : 0;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        step->turn[i].spin[step->spins - 1] = model->body[i].dofs > 0
                                                  ? v3_scale(h, perpi_state_rate(model, v_new, i))
                                                  : step->turn[i].spin[0];
    }
    perpi_collider_set_turn(step->collider, step->turn, step->spins);
    return true;
}

/* Whether two bodies moved further against each other than their pair was searched. Then this
 * motion is expected, and in the end margins alone count. */
static bool moved_further(perpi_step* step, double h, const double* v_new)
{
    for (int32_t i = 0; step->relative && i < (int32_t)step->model->body_count; ++i) {
        if (step->model->body[i].dofs > 0) {
            step->motion[i].shift = v3_scale(h, perpi_state_velocity(step->model, v_new, i));
            step->motion[i].turn = v3_scale(h, perpi_state_rate(step->model, v_new, i));
        }
    }
    const bool further =
        step->relative && perpi_collider_moved_further(step->collider, step->motion);
    step->relative = step->relative && !(further && step->attempts.rounds > LAST_RELATIVE);
    return further;
}

bool perpi_margins_exceeded(perpi_step* step, double h, const double* v_new)
{
    const perp_model* model = step->model;
    const double acting = perpi_smooth_distance(model, &step->settings, h);
    bool exceeded = turns_matter(step) && turned_otherwise(step, h, v_new);
    if (!isnan(step->margin_given)) {
        return exceeded; /* the user's margin is not changed; the rotations are */
    }
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs == 0) {
            continue;
        }
        const double came = travel(reach_of(model, body), h, perpi_state_velocity(model, v_new, i),
                                   perpi_state_rate(model, v_new, i)) +
                            offset_travel(step, i) + acting;
        if (came > step->margin[i]) {
            step->margin[i] = RESERVE * came;
            exceeded = true;
        }
    }
    bound_turns(step);
    return exceeded || moved_further(step, h, v_new);
}
