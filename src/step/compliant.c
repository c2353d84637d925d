/* src/step/compliant.c - rigid cores with soft layers.
 *
 * Source     [B09 3.5.2, (3.88)-(3.93)]; the layers themselves: layers.c
 * Departure  the gap is linearised as in stewart_trinkle.c, which makes the step one contact problem;
 *            the paper's closest points as unknowns are the stepper geometric-implicit's.
 *            "midpoint": the layer's force is that of the middle of the step,
 *                M (v' - v) = h f + J' p,  q' = q + h (v + v') / 2,  p = h K (delta + delta') / 2 + C (delta' - delta)
 *            which keeps the energy of an undamped layer. First order as printed, second with
 *            midpoint as long as contacts stay closed.
 */
#include "step/step.h"

#include <stddef.h>

#include "collide/narrow/patch.h"
#include "step/layer_core.h"
#include "step/layers.h"

static perp_status compliant_advance(const perpi_step_input* in, double* q, double* v)
{
    const perp_model* model = in->model;
    const double theta = perpi_step_theta(in);
    const perp_status status = perpi_advance(in, q, v); /* with the velocity of the middle */
    const int32_t stride = perpi_v_stride(model);
    for (int32_t i = 0; theta != 1.0 && i < (int32_t)model->body_count; ++i) {
        for (int32_t j = 0; j < model->body[i].dofs; ++j) {
            double* at = &v[i * stride + j];
            *at = (*at - (1.0 - theta) * in->v[i * stride + j]) / theta;
        }
    }
    return status;
}

/* From the velocities at the middle of a midpoint step, which it solves for, to those of its
 * end. */
static void extend_to_end(perpi_step* step)
{
    const double theta = step->formulation->theta;
    const int32_t stride = perpi_v_stride(step->model);
    double* v = step->to->v;
    for (int32_t i = 0; theta != 1.0 && i < (int32_t)step->model->body_count; ++i) {
        for (int32_t j = i * stride; j < i * stride + step->model->body[i].dofs; ++j) {
            v[j] = (v[j] - (1.0 - theta) * step->from->v[j]) / theta;
        }
    }
}

/* The step is solved again if a layer is compressed to a core that was not in the problem.
 * Midpoint steps are also solved again if a layer was touched or left within the step, until the
 * parts of the step in which the layers act agree; or until they no longer converge, because
 * contacts alternate or the accuracy of the solver is reached. If they do not agree, layers
 * return more energy than they stored: then the step is an Euler step, which never gains energy. */
static perp_status compliant_solve(perpi_step* step)
{
    enum {
        MAX_REVISIONS = 40,
        IDLE_REVISIONS = 8, /* successive solves that do not halve the difference */
    };
    /* tolerated differences of the parts: where another solve no longer halves them; and at the
     * last solve, beyond which the step is an Euler step */
    static const double REVISED_ENOUGH = 1e-9, REVISED_CLOSE = 1e-6;
    perpi_formulation* f = step->formulation;
    perpi_contact_list* contacts = &step->to->contacts;
    const bool midpoint = step->settings.midpoint;
    double off = 0.0, least = INFINITY;
    int32_t idle = 0;
    perp_status status = perpi_solve_semi_implicit(step);
    for (int i = 0; i < MAX_REVISIONS && idle < IDLE_REVISIONS && status == PERP_OK; ++i) {
        const bool pressed = perpi_layers_press(f, step->model, contacts->item);
        if (midpoint && !pressed) {
            status = perpi_layers_revise(f, step->model, i, step->v_problem, step->p_problem,
                                         contacts->item, &off);
        }
        if (status != PERP_OK || (off == 0.0 && !pressed)) {
            break;
        }
        idle = !pressed && off <= 0.5 * least      ? 0
               : !pressed && off <= REVISED_ENOUGH ? IDLE_REVISIONS
                                                   : idle + 1;
        least = !pressed && off < least ? off : least;
        const bool last = i + 1 == MAX_REVISIONS || idle >= IDLE_REVISIONS;
        if (last && midpoint && !(off <= REVISED_CLOSE)) {
            perpi_layers_to_euler(contacts->item, (int32_t)contacts->count);
        }
        extend_to_end(step);
        const int32_t iterations = step->report.iterations;
        const perpi_step_input in = perpi_step_inputs(step);
        status = perpi_step_formulate(step, &in, step->to->v);
        if (status == PERP_OK) {
            status = perpi_step_solve_to(step, step->tolerance);
        }
        step->report.iterations += iterations;
    }
    return status;
}

static bool positive_definite(const mat3* K, int32_t n)
{
    const double minor = K->m[0][0] * K->m[1][1] - K->m[0][1] * K->m[1][0];
    if (!(K->m[0][0] > 0.0) || (n > 1 && !(minor > 1e-13 * K->m[0][0] * K->m[1][1]))) {
        return false;
    }
    const vec3 row[3] = {v3(K->m[0][0], K->m[0][1], K->m[0][2]),
                         v3(K->m[1][0], K->m[1][1], K->m[1][2]),
                         v3(K->m[2][0], K->m[2][1], K->m[2][2])};
    return n < 3 ||
           v3_dot(row[0], v3_cross(row[1], row[2])) > 1e-13 * K->m[0][0] * K->m[1][1] * K->m[2][2];
}

/* Half of the least width of a shape that rests on springs. */
static double half_width(const perpi_shape* s)
{
    switch (s->type) {
    case PERP_SHAPE_PLANE:
    case PERP_SHAPE_HALFPLANE: return INFINITY;
    case PERP_SHAPE_BOX: return fmin(s->half.x, fmin(s->half.y, s->half.z));
    case PERP_SHAPE_BOX2: return fmin(s->half.x, s->half.y);
    case PERP_SHAPE_CYLINDER: return fmin(s->radius, 0.5 * s->length);
    default: return perpi_shape_ops_of(s->type)->reach(s);
    }
}

/* The bodies' shapes must form a patch between any two that may meet, with springs so close to
 * each other that nothing passes between them. */
static perp_status check_patch(perp_context* context, const perp_model* model, int32_t a, int32_t b)
{
    const perpi_body* body[2] = {&model->body[a], &model->body[b]};
    const double patch[2] = {body[0]->layer.patch, body[1]->layer.patch};
    const int finer = !(patch[0] > 0.0) || (patch[1] > 0.0 && patch[1] < patch[0]);
    for (int32_t i = 0; i < body[0]->shape_count; ++i) {
        const perpi_shape* one = &model->shape[body[0]->shape + i];
        for (int32_t k = 0; k < body[1]->shape_count; ++k) {
            const perpi_shape* two = &model->shape[body[1]->shape + k];
            if (one->intangible || two->intangible) {
                continue;
            }
            if (perpi_patch_exists(one->type, two->type)) {
                const double widest = fmin(half_width(one), half_width(two));
                if (patch[finer] <= widest) {
                    continue;
                }
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "bodies/%d/compliance/patch/spacing: must be at most %g, half of "
                                  "the least width of '%.60s', which falls through between the "
                                  "springs, got %g",
                                  finer == 0 ? a : b, widest,
                                  half_width(one) < half_width(two) ? body[0]->name : body[1]->name,
                                  patch[finer]);
            }
            return perpi_fail(
                context, PERP_ERROR_UNSUPPORTED,
                "bodies/%d/compliance/patch: a patch exists between a plane and a "
                "sphere, box or cylinder (planar: a half-plane and a circle, box or "
                "polygon), not between '%.60s' (%s) and '%.60s' (%s); leave the patch "
                "out, or keep the two from colliding",
                body[0]->layer.patch > 0.0 ? a : b, body[0]->name,
                perpi_shape_ops_of(one->type)->name, body[1]->name,
                perpi_shape_ops_of(two->type)->name);
        }
    }
    return PERP_OK;
}

/* Checks two bodies that may meet. */
static perp_status check_pair(perp_context* context, const perp_model* model, int32_t a, int32_t b,
                              const perpi_step_settings* settings)
{
    const perpi_body* A = &model->body[a];
    const perpi_body* B = &model->body[b];
    const bool soft = A->layer.soft || B->layer.soft;
    if (settings->midpoint && !soft) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "stepper/midpoint: '%.80s' and '%.80s' are both rigid, and an impact of "
                          "rigid bodies has no midpoint; give one of them a compliance",
                          A->name, B->name);
    }
    if (soft && A->dofs > 0 && B->dofs > 0 && settings->cone == PERP_CONE_ELLIPSOID) {
        return perpi_fail(context, PERP_ERROR_UNSUPPORTED,
                          "friction/cone: 'ellipsoid' has a torsional part, which the soft layer "
                          "between two moving bodies ('%.80s', '%.80s') does not carry; use "
                          "'quadratic'",
                          A->name, B->name);
    }
    if (A->layer.soft && B->layer.soft) {
        const bool smooth = A->layer.smooth || B->layer.smooth;
        const int32_t n = smooth ? 1 : model->dimension;
        if (!positive_definite(&A->layer.K, n) || !positive_definite(&B->layer.K, n)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "bodies/%d/compliance/stiffness: two soft bodies that may meet "
                              "('%.80s', '%.80s') are springs in series, which needs both "
                              "stiffnesses positive definite",
                              positive_definite(&A->layer.K, n) ? b : a, A->name, B->name);
        }
        if ((A->layer.patch > 0.0) != (B->layer.patch > 0.0)) {
            return perpi_fail(
                context, PERP_ERROR_INPUT,
                "bodies/%d/compliance/patch: '%.80s' has springs spread over a patch, "
                "'%.80s' one spring a contact: the two cannot be put in series; give "
                "both a patch, or neither",
                A->layer.patch > 0.0 ? a : b, A->layer.patch > 0.0 ? A->name : B->name,
                A->layer.patch > 0.0 ? B->name : A->name);
        }
    }
    if (A->layer.patch > 0.0 || B->layer.patch > 0.0) {
        return check_patch(context, model, a, b);
    }
    return PERP_OK;
}

static perp_status compliant_check(perp_context* context, const perp_model* model,
                                   const perpi_step_settings* settings)
{
    bool soft = false;
    for (size_t i = 0; i < model->body_count; ++i) {
        soft = soft || model->body[i].layer.soft;
    }
    if (settings->midpoint && (model->joint_count > 0 || model->spring_count > 0 ||
                               model->controller_count > 0 || model->support_points > 0)) {
        return perpi_fail(
            context, PERP_ERROR_UNSUPPORTED,
            "stepper/midpoint: does not take joints, springs, controllers and supports yet: "
            "their rows hold at the end of the step; leave midpoint out");
    }
    for (int32_t a = 0; a < (int32_t)model->body_count; ++a) {
        for (int32_t b = a + 1; (soft || settings->midpoint) && b < (int32_t)model->body_count;
             ++b) {
            if ((model->body[a].dofs == 0 && model->body[b].dofs == 0) ||
                !perp_model_pair_collides(model, a, b)) {
                continue;
            }
            const perp_status status = check_pair(context, model, a, b, settings);
            if (status != PERP_OK) {
                return status;
            }
        }
    }
    return PERP_OK;
}

static const perp_setting settings[] = {
    {"midpoint", PERP_SETTING_BOOL, offsetof(perpi_step_settings, midpoint), 0, 1,
     "forces of the layers at the middle of the step: keeps the energy of undamped layers"},
};

const perpi_stepper_ops perpi_stepper_compliant = {
    .name = "compliant",
    .summary = "soft layers around rigid cores, implicit Euler or midpoint",
    .setting = settings,
    .setting_count = sizeof settings / sizeof settings[0],
    .check = compliant_check,
    .layered = true,
    .formulate = perpi_formulate,
    .solve = compliant_solve,
    .advance = compliant_advance,
};
