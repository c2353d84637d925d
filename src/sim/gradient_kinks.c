/* src/sim/gradient_kinks.c - kinks of expressions of time, and of efforts and targets that are cut
 * off, by a parameter.
 *
 * Numbers of a model that a parameter changes are compared over ever smaller changes
 * (sensitivity.h): where that does not help there is a kink at the parameter's value, and all steps
 * are flagged. Expressions of time (forces, motors, motions, belts, controllers) are evaluated in
 * every step, with the parameter at values delta and 2 delta away to both sides. Without a kink
 * their second differences S satisfy S(2 delta) = 4 S(delta) up to delta^4; with one between these
 * values, where differences are no derivatives, they do not.
 */
#include <math.h>

#include "sim/gradient_run.h"

/* Part of the first difference by which that may fail: a kink changes the slope by more. */
static const double KINK = 1e-3;
static const double ROUNDING = 1e-14;

enum { VARIED = PERPI_GRADIENT_MODELS - 1 };

/* f: with the models of the parameter, then with its own value. */
static bool has_kink(const perpi_gradient_parameter* p, const double f[VARIED + 1])
{
    double first = 0.0, size = fabs(f[VARIED]);
    for (int n = 0; n < VARIED; ++n) {
        first = perpi_larger(first, fabs(f[n] - f[VARIED]));
        size = perpi_larger(size, fabs(f[n]));
    }
    /* to both sides: -2, -1, 1, 2; to one side, at a bound of the parameter: 1, 2, 3, 4 (sensitivity.h) */
    const bool aside = p->weight[VARIED] != 0.0;
    const double off = aside
                           ? f[VARIED] - 2.0 * f[0] + 2.0 * f[2] - f[3]
                           : f[0] + f[3] - 2.0 * f[VARIED] - 4.0 * (f[1] + f[2] - 2.0 * f[VARIED]);
    return fabs(off) > KINK * first + ROUNDING * size;
}

/* Whether a value of the model has one at time t. value_of: of an index of one kind. */
typedef double (*value_fn)(const perp_model* model, size_t index, double t);

static bool any_kink(const perpi_gradient_parameter* p, const perp_model* model, value_fn value_of,
                     size_t count, double t)
{
    for (size_t i = 0; i < count; ++i) {
        double f[VARIED + 1];
        for (int n = 0; n < VARIED; ++n) {
            f[n] = value_of(p->model[n], i, t);
        }
        f[VARIED] = value_of(model, i, t);
        if (has_kink(p, f)) {
            return true;
        }
    }
    return false;
}

static double expression_at(const perpi_value* value, double t)
{
    return value->expr != NULL ? perpi_value_at(value, t) : 0.0;
}

static double wrench_at(const perp_model* model, size_t i, double t)
{
    const perpi_wrench* w = &model->wrench[i / 6];
    return expression_at(i % 6 < 3 ? &w->force[i % 6] : &w->torque[i % 6 - 3], t);
}

/* What a motor aims at, as it is cut off (joint_rows.c). */
static double target_at(const perp_model* model, size_t i, double t)
{
    const perpi_joint* j = &model->joint[i];
    const double target = perpi_value_at(&j->target, t);
    const bool effort = j->motor == PERP_MOTOR_EFFORT;
    const bool cut = j->motor == PERP_MOTOR_POSITION && !isfinite(j->max_effort) && j->has_limits;
    const double low = effort ? -j->max_effort : cut ? j->limits[0] : -INFINITY;
    const double high = effort ? j->max_effort : cut ? j->limits[1] : INFINITY;
    return j->motor == PERP_MOTOR_NONE ? 0.0 : target < low ? low : target > high ? high : target;
}

static double motion_at(const perp_model* model, size_t i, double t)
{
    const perpi_motion* m = &model->body[i / 18].motion;
    const size_t k = i % 18;
    return expression_at(k < 3    ? &m->position[k]
                         : k < 7  ? &m->orientation[k - 3]
                         : k < 11 ? &m->axis_angle[k - 7]
                         : k < 12 ? &m->angle
                         : k < 15 ? &m->velocity[k - 12]
                                  : &m->angular_velocity[k - 15],
                         t);
}

static double belt_at(const perp_model* model, size_t i, double t)
{
    return expression_at(&model->surface[i / 3].velocity[i % 3], t);
}

static double controller_at(const perp_model* model, size_t i, double t)
{
    return expression_at(&model->controller[i].target, t);
}

bool perpi_gradient_kinks(const perpi_gradient_work* g, double t)
{
    const perp_model* model = g->model;
    for (int32_t i = 0; i < g->in->parameter_count; ++i) {
        const perpi_gradient_parameter* p = &g->in->parameter[i];
        if (p->rough) {
            return true;
        }
        if (p->steps && p->model[0] != NULL &&
            (any_kink(p, model, wrench_at, 6 * model->wrench_count, t) ||
             any_kink(p, model, target_at, model->joint_count, t) ||
             any_kink(p, model, motion_at, 18 * model->body_count, t) ||
             any_kink(p, model, belt_at, 3 * model->shape_count, t) ||
             any_kink(p, model, controller_at, model->controller_count, t))) {
            return true;
        }
    }
    return false;
}
