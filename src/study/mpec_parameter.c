/* src/study/mpec_parameter.c - how parameters enter a program: by coefficients of friction alone, or by
 * other models; see mpec.h. */
#include <math.h>
#include <string.h>

#include "step/force_rows.h"
#include "study/mpec.h"

static double friction_of(const perp_model* model, const perpi_mpec_constraint* c)
{
    if (c->key != 0) {
        return perpi_model_friction(model, perpi_key_shape_a(c->key), perpi_key_shape_b(c->key));
    }
    int32_t point = c->point;
    for (size_t i = 0; point >= 0 && i < model->body_count; ++i) {
        if (point < model->body[i].support.points) {
            return model->body[i].support.mu[point];
        }
        point -= model->body[i].support.points;
    }
    return 0.0;
}

/* What a step is without friction: dynamics, rows and the state after it. */
static size_t sample_size(const perpi_mpec* m, const perpi_mpec_step* s)
{
    return (size_t)(s->dofs + 2 * s->rows + m->q_size + m->v_size);
}

static perp_status sample_step(perpi_mpec* m, const perp_model* model,
                               const perpi_mpec_trajectory* t, int32_t index, const double* probe,
                               double* out)
{
    const perpi_mpec_step* s = &m->step[t->step + (size_t)index];
    perp_status status = PERP_OK;
    for (int32_t i = 0; i < m->body_count; ++i) {
        m->pose[i] = perpi_state_pose(
            model, m->reference_q + t->reference_q + (size_t)index * (size_t)m->q_size, i);
    }
    for (int32_t i = 0; status == PERP_OK && i < s->contact_count; ++i) {
        status = perpi_contact_move(model, m->pose, &m->frozen[s->contact + (size_t)i],
                                    &m->contact[s->contact + (size_t)i]);
    }
    status = status == PERP_OK ? perpi_mpec_evaluate_reference(m, model, t, index, probe) : status;
    if (status != PERP_OK) {
        return status;
    }
    const perp_contact_problem* P = perpi_linear_problem(m->linear);
    if (P->dof_count != s->dofs || P->row_count != s->rows) {
        return perpi_fail(m->context, PERP_ERROR_UNSUPPORTED,
                          "mpec: a parameter changes the rows of the steps");
    }
    perpi_linear_dynamics(m->linear, out);
    memcpy(out + s->dofs, perpi_linear_row_speeds(m->linear), (size_t)s->rows * sizeof *out);
    double* bound = out + s->dofs + s->rows;
    for (int32_t i = 0; i < s->rows; ++i) {
        bound[i] = 0.0;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int32_t r = 0; c->kind == PERP_CONSTRAINT_BOUNDED && r < c->rows; ++r) {
            const double x = P->lower[c->row + r], y = P->upper[c->row + r];
            bound[c->row + r] = (isfinite(x) ? x : 0.0) + 2.0 * (isfinite(y) ? y : 0.0);
        }
    }
    memcpy(bound + s->rows, perpi_linear_q_next(m->linear), (size_t)m->q_size * sizeof *out);
    memcpy(bound + s->rows + m->q_size, perpi_linear_v_next(m->linear),
           (size_t)m->v_size * sizeof *out);
    return PERP_OK;
}

enum { SAMPLES = 3 }; /* values of a parameter that are compared, and steps of a trajectory */

/* Samples of the first trajectory with one parameter at a value; friction of all constraints. */
static perp_status sample_model(perpi_mpec* m, const double* parameter, const double* probe,
                                double* sample, double* mu)
{
    const perp_model* model;
    perp_status status = m->model_of.at(m->model_of.user, parameter, &model);
    const perpi_mpec_trajectory* t = &m->trajectory[0];
    for (int k = 0; status == PERP_OK && k < SAMPLES; ++k) {
        const int32_t index = k == 0 ? 0 : k == 1 ? t->steps / 2 : t->steps - 1;
        status = sample_step(m, model, t, index, probe, sample);
        sample += sample_size(m, &m->step[t->step + (size_t)index]);
    }
    for (size_t i = 0; status == PERP_OK && i < m->constraint_count; ++i) {
        mu[i] = friction_of(model, &m->constraint[i]);
    }
    return status;
}

/* Relative difference below which two numbers are the same, and three on a line. */
static const double SAME = 1e-9;

static bool is_on_line(const double mu[SAMPLES])
{
    return fabs(mu[2] - 2.0 * mu[1] + mu[0]) <= SAME * (fabs(mu[0]) + fabs(mu[1]) + fabs(mu[2]));
}

/* Whether a parameter changes coefficients of friction alone, linearly; their slopes. */
static perp_status examine_parameter(perpi_mpec* m, int32_t index, double* parameter,
                                     const double* probe, size_t size, double* room)
{
    const perpi_mpec_parameter* p = &m->parameter[index];
    const size_t constraints = m->constraint_count;
    double *sample = room, *mu = room + SAMPLES * size;
    const double span = isfinite(p->high - p->low) ? p->high - p->low
                        : p->start != 0.0          ? fabs(p->start)
                                                   : 1.0;
    double by = 0.2 * span;
    by = p->start + 2.0 * by <= p->high ? by : -by;
    by = p->start + 2.0 * by >= p->low ? by : 0.0;
    perp_status status = PERP_OK;
    for (int k = 0; status == PERP_OK && k < SAMPLES; ++k) {
        parameter[index] = p->start + k * by;
        status = sample_model(m, parameter, probe, sample + (size_t)k * size,
                              mu + (size_t)k * constraints);
    }
    parameter[index] = p->start;
    if (status != PERP_OK) {
        return status;
    }
    bool friction = by != 0.0;
    for (size_t i = 0; i < size; ++i) {
        const double size_of = fabs(sample[i]) + fabs(sample[size + i]);
        friction = friction && fabs(sample[size + i] - sample[i]) <= SAME * size_of &&
                   fabs(sample[2 * size + i] - sample[i]) <= SAME * size_of;
    }
    for (size_t i = 0; i < constraints && friction; ++i) {
        const double x[SAMPLES] = {mu[i], mu[constraints + i], mu[2 * constraints + i]};
        friction = is_on_line(x) && (x[1] == x[0] || m->constraint[i].mu_count < PERPI_MPEC_MU);
    }
    m->general[index] = !friction;
    for (size_t i = 0; i < constraints && friction; ++i) {
        perpi_mpec_constraint* c = &m->constraint[i];
        const double slope = (mu[2 * constraints + i] - mu[i]) / (2.0 * by);
        if (slope != 0.0 && c->kind >= PERPI_MPEC_PLANAR) {
            c->mu_parameter[c->mu_count] = index;
            c->mu_slope[c->mu_count++] = slope;
        }
    }
    return PERP_OK;
}

perp_status perpi_mpec_examine_parameters(perpi_mpec* m)
{
    const perpi_mpec_trajectory* t = &m->trajectory[0];
    const size_t n = (size_t)m->parameter_count;
    size_t size = 0, dofs = 0;
    for (int k = 0; k < SAMPLES; ++k) {
        const perpi_mpec_step* s = &m->step[t->step + (size_t)(k == 0   ? 0
                                                               : k == 1 ? t->steps / 2
                                                                        : t->steps - 1)];
        size += sample_size(m, s);
        dofs = (size_t)s->dofs > dofs ? (size_t)s->dofs : dofs;
    }
    double* room = NULL;
    perp_status status = perpi_alloc(
        m->context, SAMPLES * (size + m->constraint_count) + n + dofs + 1, sizeof *room, &room);
    if (status != PERP_OK) {
        return status;
    }
    double *parameter = room + SAMPLES * (size + m->constraint_count), *probe = parameter + n;
    for (size_t i = 0; i < n; ++i) {
        parameter[i] = m->parameter[i].start;
    }
    for (size_t i = 0; i < dofs; ++i) { /* any velocities that are not 0 */
        probe[i] = m->speed * (1.0 + 0.37 * (double)(i % 5));
    }
    for (int32_t i = 0; status == PERP_OK && i < m->parameter_count; ++i) {
        if (m->parameter[i].of_scene) {
            status = examine_parameter(m, i, parameter, probe, size, room);
        }
    }
    perpi_free(m->context, room);
    return status;
}
