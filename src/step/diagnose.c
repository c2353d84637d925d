/* src/step/diagnose.c - messages that explain why a step has no solution. */
#include <stdio.h>

#include "step/step.h"

/* ", furthest off between 'a' and 'b'", or in a joint; "" for the dynamics. */
static void name_constraint(const perpi_step* step, char where[256])
{
    const int32_t worst = step->residual.worst_constraint;
    const perpi_formulation* f = step->formulation;
    where[0] = '\0';
    if (worst >= f->contact_count && worst < f->contact_count + f->joint_count) {
        const int32_t joint = f->place[worst - f->contact_count].joint;
        snprintf(where, 256, ", furthest off in joint '%.120s'", step->model->joint[joint].name);
    } else if (worst >= 0 && (size_t)worst < step->to->contacts.count) {
        const perp_contact* contact = &step->to->contacts.item[worst];
        snprintf(where, 256, ", furthest off between '%.60s' and '%.60s'",
                 step->model->body[contact->body_a].name, step->model->body[contact->body_b].name);
    }
}

/* For a residual in the dynamics: the two bodies of the largest impulse. */
static void name_largest(const perpi_step* step, char where[256])
{
    const perp_contact* largest = NULL;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        const perp_contact* c = &step->to->contacts.item[i];
        largest = largest == NULL || c->impulse[0] > largest->impulse[0] ? c : largest;
    }
    if (largest != NULL) {
        snprintf(where, 256, ", with the largest impulse between '%.60s' and '%.60s'",
                 step->model->body[largest->body_a].name, step->model->body[largest->body_b].name);
    }
}

/* The body that a contact with a prescribed one pushes, and in which direction; -1: there is none. */
static int32_t pushed_body(const perpi_step* step, const perp_contact* c, int32_t* by,
                           vec3* direction)
{
    const bool a_free = step->model->body[c->body_a].dofs > 0;
    const bool b_free = step->model->body[c->body_b].dofs > 0;
    const vec3 n = v3_from(c->normal);
    *by = a_free ? c->body_b : c->body_a;
    *direction = b_free ? n : v3_neg(n);
    return a_free == b_free ? -1 : a_free ? c->body_a : c->body_b;
}

/* ": body 'a' is held between ..." if a moving prescribed body presses a body against another prescribed one;
 * else "". */
static void name_jam(const perpi_step* step, char text[320])
{
    static const double AGAINST = -0.5; /* cosine between the two pushes */
    text[0] = '\0';
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        int32_t mover, other;
        vec3 push, back;
        const int32_t body = pushed_body(step, &step->to->contacts.item[i], &mover, &push);
        if (body < 0 || step->model->body[mover].type != PERP_BODY_KINEMATIC) {
            continue;
        }
        for (size_t k = 0; k < step->to->contacts.count; ++k) {
            if (pushed_body(step, &step->to->contacts.item[k], &other, &back) == body &&
                other != mover && v3_dot(push, back) < AGAINST) {
                (void)snprintf(text, 320,
                               "; '%.80s' is between '%.80s' and '%.80s', whose motions are "
                               "prescribed: is it jammed?",
                               step->model->body[body].name, step->model->body[mover].name,
                               step->model->body[other].name);
                return;
            }
        }
    }
}

void perpi_step_name_worst(const perpi_step* step, bool or_largest, char where[256])
{
    name_constraint(step, where);
    if (or_largest && where[0] == '\0') {
        name_largest(step, where);
    }
}

perp_status perpi_step_diagnose(const perpi_step* step)
{
    const perp_report* report = &step->report;
    const perp_contact_residual* residual = &step->residual;
    char where[256];
    name_constraint(step, where);
    char why[160] = "", jam[320];
    name_jam(step, jam);
    if (residual->runaway > 0.0) {
        snprintf(why, sizeof why,
                 " by impulses %.0e times the motion they act on: the constraints contradict each "
                 "other",
                 residual->runaway);
    } else if (report->outcome == PERP_OUTCOME_NO_SOLUTION && !step->stepper->equilibrium_search) {
        snprintf(why, sizeof why, ": the constraints contradict each other");
    }
    return perpi_fail(
        step->context, PERP_ERROR_SOLVE,
        "step %lld (t = %.9g): the problem of %d contacts and %d joints was not solved: %s ended "
        "with '%s' after %d iterations, residual %.3g (dynamics %.1e, normal %.1e, "
        "friction %.1e, joints %.1e)%s%s%s%s%s",
        (long long)step->from->step + 1, step->from->time, (int)step->to->contacts.count,
        (int)step->model->joint_count, report->solver, perp_outcome_name(report->outcome),
        (int)report->iterations, residual->worst, residual->dynamics, residual->normal,
        residual->friction, residual->joints, where, why, report->detail[0] != '\0' ? ": " : "",
        report->detail, jam);
}
