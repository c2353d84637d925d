/* src/sim/gradient_step.c - a step of the tape as the module step takes it, its flags, and what a
 * parameter changes of it. */
#include <string.h>

#include "sim/gradient_motion.h"
#include "sim/internal.h"
#include "sim/tape.h"
#include "step/linear_step.h"

/* The offset of the poses that an impact left in the memory of a frame; NULL: there is none. */
static const double* offset_of(const perpi_gradient_work* g, const double* s)
{
    const int32_t at = g->sim->work.offset_at;
    bool any = false;
    for (int32_t i = 0; at >= 0 && i < g->tape.v_size; ++i) {
        any = any || s[at + i] != 0.0;
    }
    return any ? s + at : NULL;
}

static void join_inputs(const perpi_gradient_work* g, const perp_joint_record* start,
                        const perp_joint_record* end, double ease, perpi_joint_input* joint)
{
    for (int32_t i = 0; i < g->tape.joint_count; ++i) {
        joint[i] = (perpi_joint_input){.turns = {start[i].turns[0], start[i].turns[1]},
                                       .target = end[i].target,
                                       .effort = end[i].applied,
                                       .ease = ease};
    }
}

/* The step without the contacts of the impact that led to `frame`, into g->step_without; NULL: not known. */
static const perpi_taken_step* step_without(perpi_gradient_work* g, size_t from, size_t frame)
{
    const perpi_tape *t = &g->tape, *w = &g->without;
    const perpi_tape_frame* found = perpi_tape_find(w, t->frame[frame].step);
    if (found == NULL) {
        return NULL;
    }
    const size_t i = (size_t)(found - w->frame);
    perpi_joint_input* joint = g->joint + t->joint_count;
    join_inputs(g, perpi_tape_joint(t, from), perpi_tape_joint(w, i), 1.0, joint);
    g->step_without = (perpi_taken_step){.in = {.model = g->model,
                                                .t = t->frame[from].time,
                                                .h = found->h,
                                                .q = perpi_tape_q(t, from),
                                                .v = perpi_tape_v(t, from),
                                                .contact = perpi_tape_contact(w, i),
                                                .contact_count = found->contact_count,
                                                .joint = joint,
                                                .s = perpi_tape_s(t, from),
                                                .q_end = perpi_tape_q(t, from),
                                                .v_end = perpi_tape_v(t, from),
                                                .settings = perpi_sim_step_settings(g->sim)},
                                         .s_end = perpi_tape_s(w, i),
                                         .joint_end = perpi_tape_joint(w, i),
                                         .v_solved = perpi_tape_v_solved(w, i),
                                         .q_end = perpi_tape_q(w, i),
                                         .v_end = perpi_tape_v(w, i),
                                         .carries = g->sim->v_solved != NULL,
                                         .corrected = g->sim->correction.project != NULL,
                                         .offset = offset_of(g, perpi_tape_s(t, from))};
    return &g->step_without;
}

/* An impact of fixed steps happens in the step that follows it. */
static void make_impact(perpi_gradient_work* g, size_t from, size_t frame, perpi_taken_step* step)
{
    const int32_t at = g->sim->work.offset_at;
    step->impact = true;
    step->carries = step->corrected = false;
    step->offset_end = perpi_tape_s(&g->tape, frame) + at;
    step->h_meeting = perpi_sim_tick_length(g->sim, g->tape.frame[frame].tick);
    step->h_nominal = g->sim->work.nominal_h;
    step->without = step_without(g, from, frame);
}

/* The step that led to `frame` of the tape. */
perpi_taken_step perpi_gradient_step(perpi_gradient_work* g, size_t from, size_t frame)
{
    const perpi_tape* t = &g->tape;
    /* after an impact there is no rolling */
    const bool rolls =
        t->frame[from].kind == PERP_STEP_TIME && t->frame[frame].kind == PERP_STEP_TIME;
    const double* before = !rolls ? NULL : from > 0 ? perpi_tape_q(t, from - 1) : g->q_before;
    join_inputs(g, perpi_tape_joint(t, from), perpi_tape_joint(t, frame), t->frame[frame].ease,
                g->joint);
    perpi_taken_step step = {
        .in = {.model = g->model,
               .t = t->frame[from].time,
               .h = t->frame[frame].h,
               .q = perpi_tape_q(t, from),
               .v = perpi_tape_v(t, from),
               .contact = perpi_tape_contact(t, frame),
               .contact_count = t->frame[frame].contact_count,
               .joint = g->joint,
               .s = perpi_tape_s(t, from),
               .q_end = perpi_tape_q(t, from),
               .v_end = perpi_tape_v(t, from),
               .settings = perpi_sim_step_settings(g->sim)},
        .s_end = perpi_tape_s(t, frame),
        .joint_end = perpi_tape_joint(t, frame),
        .v_solved = perpi_tape_v_solved(t, frame),
        .q_end = perpi_tape_q(t, frame),
        .v_end = perpi_tape_v(t, frame),
        .carries = g->sim->v_solved != NULL,
        .corrected = g->sim->correction.project != NULL && !t->frame[frame].middle,
        .middle = t->frame[frame].middle,
        .rolls = t->frame[frame].rolls,
        .q_before = before,
        .contact_before = before != NULL ? perpi_tape_contact(t, from) : NULL,
        .contact_before_count = before != NULL ? t->frame[from].contact_count : 0,
        .h_before = t->frame[from].h,
        .rolled_before = before != NULL && (from > 0 ? t->frame[from].rolls : g->rolled_before),
        .offset = offset_of(g, perpi_tape_s(t, from))};
    if (t->frame[frame].kind != PERP_STEP_TIME && !g->sim->adaptive) {
        make_impact(g, from, frame, &step);
    }
    return step;
}

void perpi_gradient_count(perpi_gradient_work* g, const perpi_tape_frame* frame, bool immaterial)
{
    perp_gradient_flags* f = g->flags;
    const perpi_linear_report* report = perpi_linear_step_report(g->linear);
    unsigned flags = report->flags | frame->flags;
    const double start = frame->time - frame->h;
    flags |= perpi_gradient_kinks(g, start) || perpi_gradient_kinks(g, frame->time)
                 ? PERPI_LINEAR_CHOICE
                 : 0;
    f->weak += (flags & PERPI_LINEAR_WEAK) != 0;
    f->undetermined += (flags & PERPI_LINEAR_UNDETERMINED) != 0;
    if (immaterial) {
        f->immaterial += 1;
        flags &= ~(unsigned)PERPI_GRADIENT_DOUBTS;
        if (g->in->mode == PERP_GRADIENT_FORWARD) { /* backwards the whole gradient tells */
            flags &= ~(unsigned)PERPI_LINEAR_ROLLS;
        }
    }
    f->choice += (flags & (PERPI_LINEAR_CHOICE | PERPI_LINEAR_ROLLS)) != 0;
    f->fallback += (flags & PERPI_LINEAR_FALLBACK) != 0;
    if (report->margin < f->margin) {
        f->margin = report->margin;
        f->margin_time = start;
    }
    if (flags == PERPI_LINEAR_ROLLS) {
        g->rolls += 1;
    } else if (flags != 0) {
        g->first_other = !(start >= g->first_other) ? start : g->first_other;
    }
    if (flags != 0) {
        f->flagged += 1;
        f->first_time = !(start >= f->first_time) ? start : f->first_time;
    }
}

bool perpi_gradient_enters(const perpi_gradient_work* g, const perpi_gradient_parameter* p)
{
    return p->steps && (!p->impacts_only || perpi_linear_step_is_impact(g->linear));
}

/* d of what a parameter changes of the step, into g->parameter. */
perp_status perpi_gradient_vary(perpi_gradient_work* g, const perpi_gradient_parameter* p)
{
    const size_t size = (size_t)perpi_linear_step_parameter_size(g->linear);
    memset(g->parameter, 0, size * sizeof *g->parameter);
    perp_status status = PERP_OK;
    for (int n = 0; n < PERPI_GRADIENT_MODELS && status == PERP_OK; ++n) {
        if (p->weight[n] == 0.0) {
            continue;
        }
        const perpi_variation by = {.model = p->model[n], .geometry = p->geometry};
        status = perpi_linear_step_vary(g->linear, &by, p->weight[n], g->parameter);
    }
    return status;
}

static bool is_chained(const perpi_gradient_work* g, const perpi_gradient_parameter* p)
{
    return p->chained && !perpi_linear_step_is_impact(g->linear);
}

perp_status perpi_gradient_change(perpi_gradient_work* g, int32_t parameter)
{
    const perpi_gradient_parameter* p = &g->in->parameter[parameter];
    if (!is_chained(g, p)) {
        return perpi_gradient_vary(g, p);
    }
    const size_t size = (size_t)perpi_linear_step_parameter_size(g->linear);
    memset(g->parameter, 0, size * sizeof *g->parameter);
    for (int32_t i = 0; i < p->light_count; ++i) {
        const perpi_light_number* x = &g->in->light[p->light_first + i];
        perpi_linear_step_light_change(g->linear, x->kind, x->index, x->part, x->value,
                                       g->parameter);
    }
    if (p->motion_count > 0) {
        perpi_motions_add(g->motions, parameter, g->parameter);
    }
    return PERP_OK;
}

perp_status perpi_gradient_product(perpi_gradient_work* g, int32_t parameter,
                                   const double* multiplier, double* product)
{
    const perpi_gradient_parameter* p = &g->in->parameter[parameter];
    perp_status status = PERP_OK;
    if (is_chained(g, p)) {
        *product =
            p->motion_count > 0 ? perpi_motions_product(g->motions, parameter, multiplier) : 0.0;
        return PERP_OK;
    }
    status = perpi_gradient_vary(g, p);
    *product =
        perpi_gradient_dot(perpi_linear_step_parameter_size(g->linear), g->parameter, multiplier);
    return status;
}

perp_status perpi_gradient_room(perpi_gradient_work* g)
{
    const size_t size = (size_t)perpi_linear_step_parameter_size(g->linear);
    return perpi_grow(g->context, &g->parameter, &g->parameter_capacity, 3 * size,
                      sizeof *g->parameter);
}
