/* src/sim/compatibility.c - the table of incompatible settings, each entry with its reason.
 *
 * Properties of the model, the definition, the stepper and the contact model are bits. An entry of
 * the table names properties that exclude each other. A new stepper or contact model declares its
 * properties (perpi_stepper_ops, perpi_contact_model_ops), so the table applies to it without
 * changes.
 */
#include "sim/compatibility.h"

#include <stdio.h>
#include <string.h>

enum property {
    /* asked for */
    ADAPTIVE = 1 << 0,
    CORRECTION = 1 << 1, /* of joints, whether there are any or not */
    CORRECTED = 1 << 2,  /* and there are some */
    RESTITUTION = 1 << 3,
    SOFT = 1 << 4,
    SPATIAL = 1 << 5,
    /* the stepper's */
    NO_STEP_CONTROL = 1 << 6,
    RIGID = 1 << 7,
    NO_IMPACTS = 1 << 8,
    NO_GAPS = 1 << 9,
    GEOMETRY_AT_END = 1 << 10,
    LAWS_AT_END = 1 << 11,
    NO_INERTIA = 1 << 12,
    /* the contact model's */
    GROUPS = 1 << 13,
    OVERLAP_ONLY = 1 << 14,
    NOT_STANDARD = 1 << 15,
    PLANAR_ONLY = 1 << 16,
    /* asked for */
    MIDDLE = 1 << 17,
    NO_MIDDLE = 1 << 18,  /* the stepper's */
    FORCE_ROWS = 1 << 19, /* springs, controllers, supports */
};

typedef struct exclusion {
    uint32_t all; /* a combination that has all of these is refused */
    perp_status status;
    const char*
        message; /* $s, $c, $b: names of the stepper, the contact model, the first soft body */
} exclusion;

static const exclusion table[] = {
    {ADAPTIVE | NO_STEP_CONTROL, PERP_ERROR_INPUT,
     "step: an adaptive step goes with the stepper 'stewart-trinkle', not with '$s': give a "
     "number"},
    {ADAPTIVE | OVERLAP_ONLY, PERP_ERROR_UNSUPPORTED,
     "step: an adaptive step does not go with the contact model '$c', which has no contacts before "
     "bodies overlap: give a number, or use 'standard' or 'peg'"},
    {ADAPTIVE | CORRECTION, PERP_ERROR_UNSUPPORTED,
     "step: an adaptive step does not go with joint_correction yet: give a number"},
    {SOFT | RIGID, PERP_ERROR_INPUT,
     "stepper: '$s' takes bodies to be rigid, but '$b' has a compliance; use the stepper "
     "'compliant', or leave the compliance out"},
    {RESTITUTION | NO_IMPACTS, PERP_ERROR_INPUT,
     "stepper: '$s' has no impacts, but bodies of the scene have a restitution: use "
     "'stewart-trinkle' or 'anitescu-potra', or no restitution"},
    {GROUPS | NO_GAPS, PERP_ERROR_INPUT,
     "contact: '$c' chooses between features by their gaps, which the stepper '$s' does not use: "
     "use the contact model 'standard' or 'corrective', or the stepper 'stewart-trinkle'"},
    {OVERLAP_ONLY | GEOMETRY_AT_END, PERP_ERROR_INPUT,
     "contact: '$c' has contacts only where bodies overlap, and steps of '$s' end without overlap: "
     "use the contact model 'standard', or the stepper 'stewart-trinkle'"},
    {SOFT | NOT_STANDARD, PERP_ERROR_UNSUPPORTED,
     "contact: '$c' chooses among contacts by their gaps, and a soft layer overlaps when "
     "compressed; the "
     "stepper '$s' takes 'standard'"},
    {CORRECTED | NO_INERTIA, PERP_ERROR_INPUT,
     "joint_correction: is for steppers with inertia; '$s' closes the joints to first order "
     "in every step"},
    {CORRECTED | LAWS_AT_END, PERP_ERROR_UNSUPPORTED,
     "joint_correction: the stepper '$s' does not take it; leave it out, or use 'stewart-trinkle'"},
    {MIDDLE | NO_MIDDLE, PERP_ERROR_UNSUPPORTED,
     "joint_direction: 'middle' goes with the stepper 'stewart-trinkle', not with '$s'"},
    {MIDDLE | ADAPTIVE, PERP_ERROR_UNSUPPORTED,
     "joint_direction: 'middle' does not go with an adaptive step, which extrapolates steps of "
     "first "
     "order: give a number for step, or use 'start'"},
    {MIDDLE | FORCE_ROWS, PERP_ERROR_UNSUPPORTED,
     "joint_direction: 'middle' does not take springs, controllers and supports yet: their rows "
     "hold at the end of the step; use 'start'"},
    {PLANAR_ONLY | SPATIAL, PERP_ERROR_UNSUPPORTED,
     "contact: contact model '$c' is for planar scenes; in space use 'peg' or 'lnc'"},
};

/* The first body with a soft layer; NULL: all are rigid. */
static const perpi_body* first_soft(const perp_model* model)
{
    for (size_t i = 0; i < model->body_count; ++i) {
        if (model->body[i].layer.soft) {
            return &model->body[i];
        }
    }
    return NULL;
}

static uint32_t properties_of(const perpi_combination* asked)
{
    const perp_model* model = asked->model;
    const perp_sim_def* def = asked->def;
    const perpi_stepper_ops* s = asked->stepper;
    const perpi_contact_model_ops* c = asked->contact;
    const struct {
        bool has;
        uint32_t bit;
    } property[] = {
        {def->error > 0.0, ADAPTIVE},
        {def->joint_correction, CORRECTION},
        {def->joint_correction && model->joint_count > 0, CORRECTED},
        {model->bounces, RESTITUTION},
        {first_soft(model) != NULL, SOFT},
        {model->dimension == 3, SPATIAL},
        {!s->step_control, NO_STEP_CONTROL},
        {!s->layered, RIGID},
        {!s->bounces, NO_IMPACTS},
        {s->touching, NO_GAPS},
        {s->evaluation == PERPI_EVALUATE_GEOMETRY, GEOMETRY_AT_END},
        {s->evaluation != PERPI_EVALUATE_START, LAWS_AT_END},
        {s->equilibrium_search, NO_INERTIA},
        {c->groups, GROUPS},
        {c->overlap_only, OVERLAP_ONLY},
        {c->groups || c->overlap_only, NOT_STANDARD},
        {c->planar, PLANAR_ONLY},
        {def->joint_middle, MIDDLE},
        {!s->midway, NO_MIDDLE},
        {model->spring_count > 0 || model->controller_count > 0 || model->support_points > 0,
         FORCE_ROWS},
    };
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof property / sizeof property[0]; ++i) {
        bits |= property[i].has ? property[i].bit : 0;
    }
    return bits;
}

/* The message of an entry with the names filled in. */
static void write_message(const perpi_combination* asked, const char* message, char text[512])
{
    const perpi_body* soft = first_soft(asked->model);
    size_t used = 0;
    for (const char* at = message; *at != '\0' && used + 1 < 512; ++at) {
        const char* name = at[0] != '$'   ? NULL
                           : at[1] == 's' ? asked->stepper->name
                           : at[1] == 'c' ? asked->contact->name
                           : soft != NULL ? soft->name
                                          : "";
        if (name != NULL) {
            const int wrote = snprintf(text + used, 512 - used, "%.80s", name);
            used += wrote > 0 ? (size_t)wrote : 0;
            at += 1;
        } else {
            text[used++] = *at;
        }
    }
    text[used < 512 ? used : 511] = '\0';
}

perp_status perpi_check_combination(perp_context* context, const perpi_combination* asked)
{
    const uint32_t bits = properties_of(asked);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
        if ((bits & table[i].all) == table[i].all) {
            char text[512];
            write_message(asked, table[i].message, text);
            return perpi_fail(context, table[i].status, "%s", text);
        }
    }
    return PERP_OK;
}
