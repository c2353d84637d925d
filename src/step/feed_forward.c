/* src/step/feed_forward.c - see feed_forward.h. */
#include "step/feed_forward.h"

#include "step/formulate.h"
#include "step/joint_rows.h"

double perpi_feed_forward(const perp_model* model, const double* q, const perpi_controller* c)
{
    vec3 axis = c->axis, at = v3(0, 0, 0);
    bool turns = false;
    if (!c->gravity) {
        return 0.0;
    }
    if (c->joint >= 0) {
        const perpi_joint* joint = &model->joint[c->joint];
        perpi_joint_line(model, q, joint, &at, &axis);
        turns = joint->type != PERP_JOINT_PRISMATIC;
        axis = v3_scale(c->moved_sign, axis);
    }
    double effort = 0.0;
    for (int32_t i = 0; i < c->moved_count; ++i) {
        const perpi_body* body = &model->body[c->moved[i]];
        const vec3 center = perpi_state_pose(model, q, c->moved[i]).x;
        const vec3 along = turns ? v3_cross(axis, v3_sub(center, at)) : axis;
        effort -= body->mass * v3_dot(body->gravity, along);
    }
    return effort;
}
