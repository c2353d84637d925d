/* src/sim/contact_choice.c - the contact model that `auto` selects.
 *
 * `peg` if the stepper and the step accept disjunctive groups and two bodies can meet whose
 * features form groups; else `standard`. Where no pair forms groups both models give the same
 * contacts, and `standard` is the more informative name. Mechanisms with closed loops use
 * `standard`: near singular configurations their joints gain energy with groups (planks of a taut
 * rope bridge that touch their neighbours).
 */
#include <string.h>

#include "sim/internal.h"

/* Whether a type of shape is on one body, and on several. Static bodies do not meet each other,
 * so they are counted separately. */
typedef struct presence {
    int32_t moving, fixed; /* bodies that have it, up to 2 */
} presence;

static void count_types(const perp_model* model, presence* of)
{
    for (size_t i = 0; i < model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        bool seen[PERP_SHAPE_TYPE_COUNT] = {false};
        for (int32_t k = 0; k < body->shape_count; ++k) {
            seen[model->shape[body->shape + k].type] = true;
        }
        for (int t = 0; t < PERP_SHAPE_TYPE_COUNT; ++t) {
            int32_t* count = body->type == PERP_BODY_DYNAMIC ? &of[t].moving : &of[t].fixed;
            *count += seen[t] && *count < 2;
        }
    }
}

/* If a single body carries both types of the pair, the pair cannot meet, and peg adds no cost. */
static bool groups_can_form(const perp_model* model)
{
    presence of[PERP_SHAPE_TYPE_COUNT] = {{0}};
    count_types(model, of);
    for (int a = 0; a < PERP_SHAPE_TYPE_COUNT; ++a) {
        for (int b = a; b < PERP_SHAPE_TYPE_COUNT; ++b) {
            const bool meet = a == b ? of[a].moving + of[a].fixed >= 2 && of[a].moving >= 1
                                     : (of[a].moving >= 1 && of[b].moving + of[b].fixed >= 1) ||
                                           (of[b].moving >= 1 && of[a].fixed >= 1);
            if (meet && perpi_pair_groups((perp_shape_type)a, (perp_shape_type)b)) {
                return true;
            }
        }
    }
    return false;
}

static bool has_layers(const perp_model* model)
{
    bool soft = false;
    for (size_t i = 0; i < model->body_count; ++i) {
        soft = soft || model->body[i].layer.soft;
    }
    return soft;
}

static bool is_on_a_joint(const perp_model* model, int32_t body)
{
    bool on = false;
    for (size_t k = 0; k < model->joint_count && !on; ++k) {
        on = model->joint[k].body[0] == body || model->joint[k].body[1] == body;
    }
    return on;
}

/* More joints than bodies on them: some close a loop, fixed points of the world included. */
static bool has_closed_loops(const perp_model* model)
{
    size_t links = 0;
    for (size_t i = 0; i < model->body_count && links < model->joint_count; ++i) {
        links += model->body[i].type == PERP_BODY_DYNAMIC && is_on_a_joint(model, (int32_t)i);
    }
    return links < model->joint_count;
}

perp_contact_choice perp_contact_choose(const perp_model* model, const perp_sim_def* def)
{
    const perpi_stepper_ops* stepper = perpi_stepper_named(def->stepper);
    const char* reason = stepper != NULL && stepper->touching ? "anitescu-potra does not use gaps"
                         : has_layers(model)                  ? "bodies have soft layers"
                         : !groups_can_form(model)            ? "no two bodies with corners meet"
                         : has_closed_loops(model)            ? "joints close a loop"
                                                              : NULL;
    if (strcmp(def->contact, "auto") != 0) {
        return (perp_contact_choice){def->contact, "named by the scene"};
    }
    return reason != NULL ? (perp_contact_choice){"standard", reason}
                          : (perp_contact_choice){"peg", "bodies with corners meet"};
}
