/* src/model/held.c - the bodies beyond a joint, whose weight a controller with feed-forward of gravity holds.
 *
 * The tree is that of perp/robot.h: joints in the order of the model, without those that close a loop, ropes
 * and gears; static and kinematic bodies are the ground.
 */
#include "model/model.h"

int32_t perpi_component(const int32_t* up, int32_t i)
{
    while (up[i] != i) {
        i = up[i];
    }
    return i;
}

/* The components of the tree without one joint; the ground is body_count. false: that joint closes a loop. */
static bool find_components(const perp_model* model, int32_t without, int32_t* up, int32_t side[2])
{
    const int32_t n = (int32_t)model->body_count;
    bool tree = true;
    for (int32_t i = 0; i <= n; ++i) {
        up[i] = i < n && model->body[i].dofs == 0 ? n : i;
    }
    for (int32_t k = 0; k < (int32_t)model->joint_count; ++k) {
        const perpi_joint* joint = &model->joint[k];
        if (joint->type == PERP_JOINT_GEAR || joint->type == PERP_JOINT_ROPE || k == without) {
            continue;
        }
        const int32_t a = perpi_component(up, joint->body[0] < 0 ? n : joint->body[0]),
                      b = perpi_component(up, joint->body[1] < 0 ? n : joint->body[1]);
        /* the larger number under the smaller, all under the ground */
        const int32_t high = a == n || (b != n && a < b) ? b : a;
        up[high] = high == a ? b : a;
    }
    const int32_t* body = model->joint[without].body;
    for (int s = 0; s < 2; ++s) {
        side[s] = perpi_component(up, body[s] < 0 ? n : body[s]);
    }
    tree = side[0] != side[1];
    return tree;
}

perp_status perpi_controller_find_moved(const perp_model* model, perpi_controller* c)
{
    perp_context* context = model->context;
    const int32_t n = (int32_t)model->body_count;
    perpi_free(context, c->moved);
    c->moved = NULL;
    c->moved_count = 0;
    if (!c->gravity) {
        return PERP_OK;
    }
    int32_t* up = NULL;
    perp_status status = perpi_alloc(context, (size_t)n + 1, sizeof *c->moved, &c->moved);
    if (status == PERP_OK && c->joint < 0) {
        c->moved[c->moved_count++] = c->body;
        return PERP_OK;
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)n + 1, sizeof *up, &up);
    }
    int32_t side[2];
    if (status == PERP_OK && !find_components(model, c->joint, up, side)) {
        status = perpi_fail(context, PERP_ERROR_INPUT,
                            "feed_forward: joint '%s' is part of a loop of joints: gravity is fed "
                            "forward in trees",
                            model->joint[c->joint].name);
    }
    if (status == PERP_OK) {
        /* the ground is held, else the side with the first body */
        const bool b_moves = side[0] == n || (side[1] != n && side[0] < side[1]);
        c->moved_sign = b_moves ? 1.0 : -1.0;
        for (int32_t i = 0; i < n; ++i) {
            if (model->body[i].dofs > 0 && perpi_component(up, i) == side[b_moves ? 1 : 0]) {
                c->moved[c->moved_count++] = i;
            }
        }
    }
    perpi_free(context, up);
    return status;
}

perp_status perpi_controllers_find_moved(perp_model* model)
{
    perp_status status = PERP_OK;
    for (size_t i = 0; i < model->controller_count && status == PERP_OK; ++i) {
        status = perpi_controller_find_moved(model, &model->controller[i]);
    }
    return status;
}
