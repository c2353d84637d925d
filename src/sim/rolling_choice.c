/* src/sim/rolling_choice.c - where in the step a body that rolls has its contact, if perp may choose.
 *
 * At the middle for bodies with a smooth surface (ellipsoid, superquadric, cylinder, capsule): coins, eggs,
 * rattlebacks. Their steps are of second order while they roll, spin or slide on one contact with a fixed
 * body (step/roll.c), and E does not go up and down by (h/2) m g . v. At the start everywhere else. A ball with
 * its centre of mass in the middle has no such oscillation on a level floor, and rolls with one problem a step as
 * before. The choice is made from the scene, the motion decides step by step and body by body: other bodies do not
 * change it. Each middle step searches the contacts of all bodies 10 to 18 times: not in scenes of many bodies.
 */
#include "sim/internal.h"

enum { MOST_BODIES = 16 };
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

bool perpi_body_can_roll(const perp_model* model, int32_t body)
{
    return model->body[body].dofs > 0 && why_not_body(model, &model->body[body]) == NULL;
}

static const char* why_not_model(const perp_model* model)
{
    const char* reason = NULL;
    int32_t dynamic = 0, rolling = 0;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->type == PERP_BODY_KINEMATIC) {
            return "bodies with a prescribed motion";
        }
        if (body->layer.soft) {
            return "soft bodies";
        }
        if (body->dofs > 0 && reason == NULL) {
            reason = why_not_body(model, body);
        }
        dynamic += body->dofs > 0;
        rolling += perpi_body_can_roll(model, i);
    }
    for (size_t i = 0; i < model->shape_count; ++i) {
        if (model->surface[i].moving) {
            return "belts";
        }
    }
    return dynamic > MOST_BODIES ? "many bodies"
           : rolling > 0         ? NULL
           : dynamic > 0         ? reason
                                 : "no body that moves";
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
                          : (perp_joint_choice){true, "smooth bodies that may roll alone"};
}
