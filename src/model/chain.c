/* src/model/chain.c - frames without mass, and the chains of joints that they belong to. */
#include "model/joints/joint_type.h"
#include "model/model.h"

/* Joints that can hold a frame: their rows are equalities. */
static bool holds(const perpi_joint* joint)
{
    return joint->type != PERP_JOINT_ROPE && joint->type != PERP_JOINT_GEAR;
}

static int32_t other_side(const perpi_joint* joint, int32_t body)
{
    return joint->body[0] == body ? joint->body[1] : joint->body[0];
}

static bool is_frame(const perp_model* model, int32_t body)
{
    return body >= 0 && model->body[body].massless;
}

/* From a frame along its joint `side` to the last frame; *out: the joint by which the chain leaves
 * it there. -1: the chain is not complete, or is a ring. */
static int32_t last_frame(const perp_model* model, int32_t frame, int side, int32_t* out)
{
    int32_t at = frame, joint = model->body[frame].frame_joint[side];
    for (size_t i = 0; i <= model->body_count && joint >= 0; ++i) {
        const int32_t next = other_side(&model->joint[joint], at);
        if (!is_frame(model, next)) {
            *out = joint;
            return at;
        }
        const int32_t* own = model->body[next].frame_joint;
        joint = own[0] == joint ? own[1] : own[0];
        at = next;
    }
    return -1;
}

static perp_status add_chain(perp_model* model, int32_t frame)
{
    int32_t joint, end;
    const int32_t first = last_frame(model, frame, 0, &joint);
    if (first < 0 || last_frame(model, frame, 1, &end) < 0) {
        return PERP_OK; /* others follow */
    }
    perpi_chain chain = {.joints = 0};
    chain.body[0] = other_side(&model->joint[joint], first);
    int32_t at = chain.body[0], freedoms = 0;
    do {
        if (chain.joints == PERPI_CHAIN_JOINTS) {
            return perpi_fail(model->context, PERP_ERROR_INPUT,
                              "a chain of bodies without mass has at most %d joints",
                              PERPI_CHAIN_JOINTS);
        }
        at = other_side(&model->joint[joint], at);
        chain.joint[chain.joints++] = joint;
        chain.body[chain.joints] = at;
        freedoms += 6 - model->joint[joint].rows;
        const int32_t* own = is_frame(model, at) ? model->body[at].frame_joint : NULL;
        joint = own == NULL ? -1 : own[0] == joint ? own[1] : own[0];
    } while (joint >= 0);
    if (freedoms > 6) {
        return perpi_fail(model->context, PERP_ERROR_INPUT,
                          "b: joints with bodies without mass between them have at most 6 degrees "
                          "of freedom together, these have %d",
                          (int)freedoms);
    }
    const perp_status status = perpi_grow(model->context, &model->chain, &model->chain_capacity,
                                          model->chain_count + 1, sizeof *model->chain);
    if (status == PERP_OK) {
        model->chain[model->chain_count++] = chain;
        for (int i = 0; i < 2; ++i) {
            const int32_t body = chain.body[i == 0 ? 0 : chain.joints];
            if (body >= 0) {
                model->body[body].chains += 1;
            }
        }
    }
    return status;
}

perp_status perpi_chains_grow(perp_model* model)
{
    const int32_t index = (int32_t)model->joint_count - 1;
    const perpi_joint* joint = &model->joint[index];
    int32_t frame = -1;
    for (int side = 0; side < 2 && holds(joint); ++side) {
        if (!is_frame(model, joint->body[side])) {
            continue;
        }
        frame = joint->body[side];
        int32_t* own = model->body[frame].frame_joint;
        if (own[1] >= 0) {
            return perpi_fail(model->context, PERP_ERROR_INPUT,
                              "%s: '%s' has no mass and two joints already", side == 0 ? "a" : "b",
                              model->body[frame].name);
        }
        own[own[0] >= 0 ? 1 : 0] = index;
    }
    if (!holds(joint) && (is_frame(model, joint->body[0]) || is_frame(model, joint->body[1])) &&
        joint->type == PERP_JOINT_ROPE) {
        return perpi_fail(model->context, PERP_ERROR_INPUT,
                          "type: a rope cannot hold a body without mass");
    }
    return frame >= 0 && model->body[frame].frame_joint[1] >= 0 ? add_chain(model, frame) : PERP_OK;
}

perp_status perpi_chains_check(const perp_model* model)
{
    int32_t in_chains = 0;
    for (size_t i = 0; i < model->chain_count; ++i) {
        const perpi_chain* chain = &model->chain[i];
        bool mass = false;
        for (int k = 0; k < 2; ++k) {
            const int32_t end = chain->body[k == 0 ? 0 : chain->joints];
            mass = mass || (end >= 0 && model->body[end].dofs == 6);
            if (end >= 0 && model->body[end].dofs == 3) {
                return perpi_fail(model->context, PERP_ERROR_INPUT,
                                  "body '%s': a particle does not hold a body without mass",
                                  model->body[end].name);
            }
        }
        if (!mass) {
            return perpi_fail(model->context, PERP_ERROR_INPUT,
                              "body '%s': massless, and no body with mass moves with it",
                              model->body[chain->body[1]].name);
        }
        in_chains += chain->joints - 1;
    }
    for (size_t i = 0; i < model->body_count && in_chains != model->massless_count; ++i) {
        int32_t joint;
        const int32_t frame = (int32_t)i;
        if (model->body[i].massless &&
            (last_frame(model, frame, 0, &joint) < 0 || last_frame(model, frame, 1, &joint) < 0)) {
            return perpi_fail(model->context, PERP_ERROR_INPUT,
                              "body '%s': massless: it needs two joints, in a row of joints from "
                              "one body to another",
                              model->body[i].name);
        }
    }
    return PERP_OK;
}
