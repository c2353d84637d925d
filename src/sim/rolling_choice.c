/* src/sim/rolling_choice.c - where in the step a body that rolls has its contact, if perp may choose.
 *
 * At the middle for one body with a smooth surface (ellipsoid, superquadric, cylinder, capsule) beside fixed
 * bodies only: coins, eggs, rattlebacks. Its steps are of second order while it rolls, spins or
 * slides on one contact (step/roll.c), and E does not go up and down by (h/2) m g . v. At the start everywhere
 * else. A ball with its centre of mass in the middle has no such oscillation on a level floor, and rolls
 * with one problem a step as before. The choice is made from the scene, the motion decides step by step.
 */
#include "sim/internal.h"

/* Coordinates of a centre relative to the size. */
static const double CENTRED = 1e-9;

static bool is_smooth(perp_shape_type type)
{
    return type == PERP_SHAPE_ELLIPSOID || type == PERP_SHAPE_SUPERQUADRIC ||
           type == PERP_SHAPE_SUPERELLIPSE || type == PERP_SHAPE_CYLINDER ||
           type == PERP_SHAPE_CAPSULE || type == PERP_SHAPE_SPHERE || type == PERP_SHAPE_CIRCLE;
}

/* A ball, or a disc in the plane, about the centre of mass. */
static bool is_centred_ball(const perpi_shape* s)
{
    return (s->type == PERP_SHAPE_SPHERE || s->type == PERP_SHAPE_CIRCLE) &&
           v3_norm(s->local.x) <= CENTRED * s->radius;
}

static const char* why_not_body(const perp_model* model, const perpi_body* body)
{
    bool ball = true;
    int32_t tangible = 0;
    for (int32_t k = 0; k < body->shape_count; ++k) {
        const perpi_shape* s = &model->shape[body->shape + k];
        if (s->intangible) {
            continue;
        }
        if (!is_smooth(s->type)) {
            return "a body with corners or edges";
        }
        ball = ball && is_centred_ball(s);
        tangible += 1;
    }
    return body->particle || tangible == 0 ? "no surface that could roll" : ball ? "a ball" : NULL;
}

static const char* why_not_model(const perp_model* model)
{
    int32_t dynamic = 0;
    for (size_t i = 0; i < model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->type == PERP_BODY_KINEMATIC) {
            return "bodies with a prescribed motion";
        }
        if (body->layer.soft) {
            return "soft bodies";
        }
        const char* reason = body->dofs > 0 ? why_not_body(model, body) : NULL;
        if (reason != NULL) {
            return reason;
        }
        dynamic += body->dofs > 0;
    }
    for (size_t i = 0; i < model->shape_count; ++i) {
        if (model->surface[i].moving) {
            return "belts";
        }
    }
    return dynamic != 1 ? "not one body" : NULL;
}

perp_joint_choice perp_rolling_choose(const perp_model* model, const perp_sim_def* def)
{
    const perpi_stepper_ops* stepper = perpi_stepper_named(def->stepper);
    const char* reason =
        stepper == NULL || !stepper->midway ? "for the stepper 'stewart-trinkle' only"
        : def->error > 0.0                  ? "the step is adaptive"
        : def->linear_rotation              ? "the rotation is linear"
        : model->bounces                    ? "restitution"
        : model->joint_count > 0            ? "joints"
        : model->spring_count > 0 || model->controller_count > 0 || model->support_points > 0
            ? "springs, controllers and supports"
        : model->massless_count > 0 ? "bodies without mass"
                                    : why_not_model(model);
    if (def->rolling_middle) {
        return (perp_joint_choice){true, reason};
    }
    if (!def->rolling_choice) {
        return (perp_joint_choice){false, "named by the scene"};
    }
    return reason != NULL ? (perp_joint_choice){false, reason}
                          : (perp_joint_choice){true, "one smooth body beside fixed ones"};
}
