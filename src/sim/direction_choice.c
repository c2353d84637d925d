/* src/sim/direction_choice.c - where in the step joints have the directions of their forces, if
 * perp may choose.
 *
 * At the middle in open mechanisms whose bodies meet nothing and whose joints are equalities only:
 * pendulums, chains, arms without motors. There every step is a middle step, of second order, and
 * the energy of the state keeps its value; with the directions of the start it goes up and down by
 * (h/2) m g . v. At the start everywhere else. Contacts, limits, ropes and restitution have laws of
 * the end of a step: a run that goes from one kind of step to the other and back changes its energy
 * by (h/2) m g . v each time. Near a singular configuration of a closed loop middle steps do not
 * converge. joint_correction has nothing to do in a middle step, which closes the joints at its end;
 * velocities satisfy them on average over it.
 */
#include "sim/internal.h"

enum {
    MOST_JOINTS = 256,   /* beyond this the search for loops is slow */
    MOST_CORRECTED = 32, /* beyond this, with joint_correction, a middle step costs too much */
};

/* A ball that holds a body whatever the mechanism does. */
typedef struct ball {
    vec3 centre;
    double radius;
} ball;

static vec3 place_of(const perp_model* model, const perpi_joint* j)
{
    const int32_t b = j->body[1];
    return b >= 0 ? perpi_pose_point(&model->body[b].pose, j->at[1]) : j->at[1];
}

static bool is_fixed(const perp_model* model, int32_t body)
{
    return body < 0 || model->body[body].type == PERP_BODY_STATIC;
}

static bool keeps_a_point(const perpi_joint* j)
{
    return j->type == PERP_JOINT_FIXED || j->type == PERP_JOINT_REVOLUTE ||
           j->type == PERP_JOINT_SPHERICAL || j->type == PERP_JOINT_UNIVERSAL;
}

/* Whether joints lead from the body to a fixed point, in an open mechanism. way: how far the place
 * where the last of them is on the body can be from that point. came: the joint from which the
 * search came, -1: none. */
static bool find_anchor(const perp_model* model, int32_t body, int32_t came, vec3* anchor,
                        vec3* place, double* way)
{
    for (int32_t k = 0; k < (int32_t)model->joint_count; ++k) {
        const perpi_joint* j = &model->joint[k];
        if (k == came || !keeps_a_point(j) || (j->body[0] != body && j->body[1] != body)) {
            continue;
        }
        const int32_t other = j->body[0] == body ? j->body[1] : j->body[0];
        const vec3 here = place_of(model, j);
        if (is_fixed(model, other)) {
            *anchor = *place = here;
            *way = 0.0;
            return true;
        }
        if (model->body[other].dofs > 0 && find_anchor(model, other, k, anchor, place, way)) {
            *way += v3_norm(v3_sub(here, *place));
            *place = here;
            return true;
        }
    }
    return false;
}

static ball ball_of(const perp_model* model, int32_t i)
{
    const perpi_body* body = &model->body[i];
    ball b = {body->pose.x, body->reach};
    vec3 place;
    double way;
    if (body->type != PERP_BODY_STATIC) {
        b.radius = find_anchor(model, i, -1, &b.centre, &place, &way)
                       ? way + v3_norm(v3_sub(body->pose.x, place)) + body->reach
                       : INFINITY;
    }
    return b;
}

static bool is_tangible(const perp_model* model, int32_t body)
{
    bool tangible = false;
    for (int32_t k = 0; k < model->body[body].shape_count; ++k) {
        tangible = tangible || !model->shape[model->body[body].shape + k].intangible;
    }
    return tangible;
}

/* Whether a static body of planes, or a bounded one, is out of reach of the ball. */
static bool is_beyond(const perp_model* model, int32_t i, const ball* b)
{
    const perpi_body* body = &model->body[i];
    bool beyond = body->type == PERP_BODY_STATIC;
    for (int32_t k = 0; beyond && k < body->shape_count; ++k) {
        const perpi_shape* s = &model->shape[body->shape + k];
        const perpi_pose at = perpi_pose_mul(&body->pose, &s->local);
        const bool plane = s->type == PERP_SHAPE_PLANE || s->type == PERP_SHAPE_HALFPLANE;
        const double height = v3_dot(m3_mul(at.R, s->normal), v3_sub(b->centre, at.x)) - s->offset;
        beyond = s->intangible || (plane && height > b->radius);
    }
    return beyond;
}

static bool pair_meets(const perp_model* model, int32_t i, int32_t k)
{
    const ball a = ball_of(model, i), b = ball_of(model, k);
    const double apart = v3_norm(v3_sub(a.centre, b.centre));
    return !(apart > a.radius + b.radius) && !is_beyond(model, i, &b) && !is_beyond(model, k, &a);
}

static bool can_meet(const perp_model* model)
{
    const int32_t bodies = (int32_t)model->body_count;
    bool meet = false;
    for (int32_t a = 0; a < bodies && !meet; ++a) {
        for (int32_t b = a + 1; b < bodies && !meet && is_tangible(model, a); ++b) {
            meet = is_tangible(model, b) && perp_model_pair_collides(model, a, b) &&
                   pair_meets(model, a, b);
        }
    }
    return meet;
}

/* Follows the joints of a mechanism from a body, without going back: where that does not end, they form a loop. */
static void follow(const perp_model* model, int32_t body, int32_t came, size_t* seen, int32_t* held)
{
    for (int32_t k = 0; k < (int32_t)model->joint_count && *seen <= model->joint_count; ++k) {
        const perpi_joint* j = &model->joint[k];
        if (k == came || (j->body[0] != body && j->body[1] != body)) {
            continue;
        }
        const int32_t other = j->body[0] == body ? j->body[1] : j->body[0];
        *seen += 1;
        if (other < 0 || model->body[other].dofs == 0) {
            *held += 1;
        } else {
            follow(model, other, k, seen, held);
        }
    }
}

/* Whether joints form a loop, fixed points of the world included. */
static bool is_closed(const perp_model* model)
{
    bool closed = false;
    for (int32_t i = 0; i < (int32_t)model->body_count && !closed; ++i) {
        size_t seen = 0;
        int32_t held = 0;
        if (model->body[i].dofs > 0 && model->body[i].joints > 0) {
            follow(model, i, -1, &seen, &held);
        }
        closed = seen > model->joint_count || held > 1;
    }
    return closed;
}

static bool is_plain(const perpi_joint* j)
{
    return j->type != PERP_JOINT_ROPE && j->type != PERP_JOINT_GEAR && !j->has_limits &&
           j->friction == 0.0 && j->damping == 0.0 && j->armature == 0.0 &&
           j->motor == PERP_MOTOR_NONE;
}

static bool has_plain_joints(const perp_model* model)
{
    bool plain = true;
    for (size_t i = 0; i < model->joint_count; ++i) {
        plain = plain && is_plain(&model->joint[i]);
    }
    return plain;
}

static bool has_moving_bodies(const perp_model* model)
{
    bool moving = false;
    for (size_t i = 0; i < model->body_count; ++i) {
        moving = moving || model->body[i].type == PERP_BODY_KINEMATIC;
    }
    return moving;
}

perp_joint_choice perp_joint_choose(const perp_model* model, const perp_sim_def* def)
{
    const perpi_stepper_ops* stepper = perpi_stepper_named(def->stepper);
    const char* reason =
        stepper == NULL || !stepper->midway ? "for the stepper 'stewart-trinkle' only"
        : def->error > 0.0                  ? "the step is adaptive"
        : def->linear_rotation              ? "the rotation is linear"
        : model->joint_count == 0           ? "no joints"
        : model->spring_count > 0 || model->controller_count > 0 || model->support_points > 0
            ? "springs, controllers and supports"
        : model->massless_count > 0 ? "bodies without mass"
        : has_moving_bodies(model)  ? "bodies with a prescribed motion"
        : !has_plain_joints(model) ? "joints with limits, motors, friction or damping, ropes, gears"
        : model->joint_count > MOST_JOINTS ? "more than 256 joints"
        : def->joint_correction && model->joint_count > MOST_CORRECTED
            ? "more than 32 joints, with joint_correction"
        : is_closed(model) ? "joints close a loop"
        : can_meet(model)  ? "bodies can meet"
                           : NULL;
    if (def->joint_middle || !def->joint_choice) {
        return (perp_joint_choice){def->joint_middle, "named by the scene"};
    }
    return reason != NULL
               ? (perp_joint_choice){false, reason}
               : (perp_joint_choice){true, "an open mechanism whose bodies meet nothing"};
}
