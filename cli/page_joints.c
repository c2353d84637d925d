/* cli/page_joints.c - coordinates, rates and efforts of joints in a page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

#define JOINT_BYTES ((size_t)4 << 20) /* of a page, for all joints */

static const char* const what[PAGE_JOINT_NUMBERS] = {"coordinate", "rate", "effort"};

bool page_joints_begin(page_joints* joints, perp_context* context, const perp_model* model,
                       int64_t frames)
{
    const int32_t count = perp_model_joint_count(model);
    const size_t each = PAGE_JOINT_NUMBERS * sizeof(float) * (size_t)frames;
    *joints = (page_joints){.frames = frames};
    const size_t room = (size_t)count * PAGE_JOINT_NUMBERS + 1;
    joints->quantity = malloc(room * sizeof *joints->quantity);
    joints->joint = malloc(room * sizeof *joints->joint);
    joints->now = malloc(room * sizeof *joints->now);
    if (joints->quantity == NULL || joints->joint == NULL || joints->now == NULL) {
        return false;
    }
    for (int32_t i = 0; i < count; ++i) {
        const perp_joint_type type = perp_model_joint_info(model, i).type;
        char name[400];
        int32_t found = 0;
        if ((type != PERP_JOINT_REVOLUTE && type != PERP_JOINT_PRISMATIC) ||
            (size_t)(joints->count + 1) * each > JOINT_BYTES) {
            continue;
        }
        perp_quantity* to = joints->quantity + PAGE_JOINT_NUMBERS * joints->count;
        for (int k = 0; k < PAGE_JOINT_NUMBERS; ++k) {
            (void)snprintf(name, sizeof name, "[%.300s].%s", perp_model_joint_name(model, i),
                           what[k]);
            int32_t one = 0;
            found += perp_quantity_find(context, model, name, to + k, 1, &one) == PERP_OK &&
                     one == 1 && to[k].owner == i;
        }
        if (found == PAGE_JOINT_NUMBERS) {
            joints->joint[joints->count++] = i;
        }
    }
    joints->value = malloc((size_t)joints->count * each + 1);
    return joints->value != NULL;
}

perp_status page_joints_note(page_joints* joints, perp_recording* recording, int64_t index,
                             int64_t frame)
{
    const int32_t n = PAGE_JOINT_NUMBERS * joints->count;
    const perp_status status =
        n > 0 ? perp_recording_quantities(recording, index, joints->quantity, n, joints->now)
              : PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < n; ++i) {
        joints->value[(size_t)i * (size_t)joints->frames + (size_t)frame] = (float)joints->now[i];
    }
    return status;
}

const float* page_joints_column(const page_joints* joints, int32_t column, char* name, size_t size)
{
    if (column >= PAGE_JOINT_NUMBERS * joints->count) {
        return NULL;
    }
    (void)snprintf(name, size, "joint.%d.%s", (int)joints->joint[column / PAGE_JOINT_NUMBERS],
                   what[column % PAGE_JOINT_NUMBERS]);
    return joints->value + (size_t)column * (size_t)joints->frames;
}

size_t page_joints_bytes(const page_joints* joints)
{
    return PAGE_JOINT_NUMBERS * sizeof(float) * (size_t)joints->count * (size_t)joints->frames;
}

void page_joints_end(page_joints* joints)
{
    free(joints->quantity);
    free(joints->joint);
    free(joints->now);
    free(joints->value);
}
