/* src/sim/fallback.c - steps that have no answer as the scene asks for them.
 *
 * The laws of implicit and geometric-implicit hold at the end of the step. That end is found by an outer
 * iteration, and there need not be one: a corner that is pushed off one face of a body onto another, and
 * back by that; more bodies in a gap than have room there. The semi-implicit step of Stewart and Trinkle is
 * what such an iteration starts with; its laws are linearised about the start of the step, so one problem
 * decides. It is of first order too. So a step whose outer iteration fails is taken semi-implicitly, with
 * the same contact model and the fallbacks of that, and perp_step_info.semi_implicit says so: the verifier
 * checks the laws that were used.
 */
#include <math.h>
#include <stdio.h>

#include "sim/internal.h"

/* A joint that was pulled apart, by a contact in a step before or from the start, closes its error within
 * the step, and what lies between the two bodies may forbid that. Errors that are kept demand nothing: then
 * a step in which all stand still is an answer, unless motors (whose laws stay) or prescribed bodies forbid it. The next step
 * tries to close them again. */
bool perpi_sim_keep_joints(perp_sim* sim)
{
    if (sim->kept.joints || sim->model->joint_count == 0 || sim->adaptive ||
        sim->stepper->look == PERPI_LOOK_GEOMETRY) {
        return false;
    }
    sim->kept.joints = true;
    for (size_t i = 0; i < sim->model->joint_count; ++i) {
        sim->input[i].ease = INFINITY;
    }
    return true;
}

/* The body that a contact with a prescribed one pushes, and in which direction; -1: there is none. */
static int32_t pushed_body(const perp_sim* sim, const perp_contact* c, int32_t* by, vec3* direction)
{
    const bool a_free = sim->model->body[c->body_a].dofs > 0;
    const bool b_free = sim->model->body[c->body_b].dofs > 0;
    const vec3 n = v3_from(c->normal);
    *by = a_free ? c->body_b : c->body_a;
    *direction = b_free ? n : v3_neg(n);
    return a_free == b_free ? -1 : a_free ? c->body_a : c->body_b;
}

void perpi_sim_name_jam(const perp_sim* sim, char text[320])
{
    static const double AGAINST = -0.5; /* cosine between the two pushes */
    text[0] = '\0';
    for (size_t i = 0; i < sim->next.count; ++i) {
        int32_t mover, other;
        vec3 push, back;
        const int32_t body = pushed_body(sim, &sim->next.item[i], &mover, &push);
        if (body < 0 || sim->model->body[mover].type != PERP_BODY_KINEMATIC) {
            continue;
        }
        for (size_t k = 0; k < sim->next.count; ++k) {
            if (pushed_body(sim, &sim->next.item[k], &other, &back) == body && other != mover &&
                v3_dot(push, back) < AGAINST) {
                (void)snprintf(text, 320,
                               "; '%.80s' is between '%.80s' and '%.80s', whose motions are "
                               "prescribed: is it jammed?",
                               sim->model->body[body].name, sim->model->body[mover].name,
                               sim->model->body[other].name);
                return;
            }
        }
    }
}

/* The step that failed is told to whoever saves problems. */
static void tell(const perp_sim* sim)
{
    if (sim->on_fallback != NULL && sim->has_problem) {
        sim->on_fallback(sim->on_fallback_user, &sim->formulation->problem, -1, -1,
                         sim->second->name);
    }
}

static perp_status explain(perp_sim* sim, const char* first)
{
    char why[512];
    (void)snprintf(why, sizeof why, "%s", perp_context_error(sim->context));
    return perpi_fail(sim->context, PERP_ERROR_SOLVE,
                      "%.500s (a step of %s, after one of %s had failed: %.400s)", why,
                      sim->second->name, sim->stepper->name, first);
}

perp_status perpi_sim_work_out(perp_sim* sim, double h)
{
    const perpi_stepper_ops* stepper = sim->stepper;
    if (sim->second == NULL) {
        return perpi_sim_work_out_once(sim, h);
    }
    /* with keep_going: of two steps without an answer the semi-implicit one is nearer to one */
    perp_status status = sim->take_unsolved ? PERP_ERROR_SOLVE : perpi_sim_work_out_once(sim, h);
    if (status != PERP_ERROR_SOLVE) {
        return status;
    }
    char first[400];
    (void)snprintf(first, sizeof first, "%s", perp_context_error(sim->context));
    if (!sim->take_unsolved) {
        tell(sim);
    }
    sim->stepper = sim->second;
    status = perpi_sim_work_out_once(sim, h);
    sim->stepper = stepper;
    sim->info.semi_implicit = status == PERP_OK ? 1 : sim->info.semi_implicit;
    return status == PERP_ERROR_SOLVE ? explain(sim, first) : status;
}
