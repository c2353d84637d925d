/* src/record/verify.c - verification of a recording.
 *
 * Four checks: the hashes; the laws, formulated again from the recorded numbers and the scene and
 * evaluated at the recorded velocities and impulses; the energy ledger against the recorded
 * energies (verify_ledger.c); and a second run, which must give the same bits. Wrenches and
 * callbacks of user code in C are not in a recording: such runs fail the second and the last check.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "record/disk.h"
#include "record/recording.h"
#include "record/verify_ledger.h"
#include "sim/sim.h"
#include "step/joint_rows.h"
#include "step/pack.h"
#include "step/repair.h"
#include "step/step.h"

typedef struct verifier {
    perp_context* context;
    perp_recording* recording;
    perp_verification* verification;
    perp_scene* scene;
    perp_sim* sim; /* simulation of the second run; also gives the lengths of the steps */
    perpi_tally tally;
    perp_status (*prepare)(void* user, perp_sim* sim); /* NULL: no user code */
    void* user;
    /* the laws */
    const perpi_stepper_ops* stepper;
    perpi_step_settings settings;
    perpi_formulation* formulation;
    double time, *q, *v;       /* the start of the step */
    double h_next;             /* and the length to try there, of an adaptive step */
    double *q_start, *v_start; /* the same, displaced after an impact */
    uint8_t* part;             /* per body: roll.c */
    double* q_end;             /* the end of the step without projection */
    double* v_end;
    perpi_joint_input* input;
    perp_joint_record* joint; /* of the frame before */
    double* memory;           /* likewise */
    double *v_problem, *p_problem, *work, *start;
    size_t v_capacity, p_capacity, work_capacity, start_capacity;
} verifier;

static void set_detail(perp_verification* verification, const char* format, ...) PERP_PRINTF(2, 3);
static void set_detail(perp_verification* verification, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(verification->message, sizeof verification->message, format, args);
    va_end(args);
}

/* ---- 1. the hashes ----------------------------------------------------------------------------*/

static perp_status check_hashes(verifier* x)
{
    perp_recording* r = x->recording;
    perp_verification* verification = x->verification;
    verification->complete = r->complete;
    verification->finished = perp_recording_finished(r);
    (void)snprintf(verification->note, sizeof verification->note, "%s", perp_recording_note(r));
    verification->frames = r->frames;
    verification->format_version = r->header.format_version;
    if (r->damage[0] != '\0') {
        set_detail(verification, "damaged: %s", r->damage);
        return PERP_OK;
    }
    for (int64_t k = 0; k < r->committed; ++k) {
        bool fits = false;
        const perp_status status = perpi_recording_frame_fits(r, k, &fits);
        if (status == PERP_ERROR_MEMORY) {
            return status;
        }
        if (status != PERP_OK || !fits) {
            set_detail(verification, "damaged: the hash of frame %lld does not fit", (long long)k);
            return PERP_OK;
        }
    }
    verification->intact = true;
    return PERP_OK;
}

/* ---- 2. the laws ------------------------------------------------------------------------------*/

static void take_worst(perp_verification* verification, const perp_contact_residual* r,
                       int64_t frame)
{
    perp_contact_residual* w = &verification->worst;
    const double now[4] = {r->dynamics, r->normal, r->friction, r->joints};
    double* const worst[4] = {&w->dynamics, &w->normal, &w->friction, &w->joints};
    for (int i = 0; i < 4; ++i) {
        if (!(now[i] <= *worst[i])) {
            *worst[i] = now[i];
        }
    }
    if (verification->worst_frame < 0 || !(r->worst <= w->worst)) {
        w->worst = r->worst;
        w->worst_constraint = r->worst_constraint;
        verification->worst_frame = frame;
    }
}

/* Contacts from a file must name bodies of the model, one of them at least with unknowns. */
static bool contacts_are_valid(const perp_model* model, const perp_frame* frame)
{
    const int32_t n = perp_model_body_count(model);
    for (int32_t i = 0; i < frame->contact_count; ++i) {
        const perp_contact* c = &frame->contacts[i];
        if (c->body_a < 0 || c->body_a >= n || c->body_b < 0 || c->body_b >= n ||
            c->body_a == c->body_b) {
            return false;
        }
    }
    return true;
}

/* The initial state of the step, displaced after an impact. */
static void displace(verifier* x)
{
    const perp_model* model = perp_scene_model(x->scene);
    const int32_t n = perp_sim_v_size(x->sim);
    const int32_t at = perpi_sim_s_size(x->sim) - perpi_offset_size(model);
    memcpy(x->q_start, x->q, (size_t)perp_sim_q_size(x->sim) * sizeof(double));
    memcpy(x->v_start, x->v, (size_t)n * sizeof(double));
    if (perpi_sim_offset(x->sim) != NULL) { /* the last part of a state's memory */
        perpi_displace(model, x->memory + at, true, x->q_start);
        perpi_carry_spin(model, x->q, x->q_start, x->v_start);
    }
}

/* With joint correction, the rows of joints contain the error at the end of the step. */
static perp_status correct_joint_rows(verifier* x, double t, double h, const perp_frame* frame)
{
    const perp_model* model = perp_scene_model(x->scene);
    memcpy(x->q_end, x->q_start, (size_t)perp_sim_q_size(x->sim) * sizeof(double));
    memcpy(x->v_end, frame->rest->v_solved, (size_t)perp_sim_v_size(x->sim) * sizeof(double));
    const perpi_step_input in = {.model = model, .t = t, .h = h, .settings = &x->settings};
    if (perpi_sim_offset(x->sim) != NULL) {
        perpi_displace(model, x->memory + perpi_sim_s_size(x->sim) - perpi_offset_size(model),
                       false, x->q_end);
    }
    const perp_status status = x->stepper->advance(&in, x->q_end, x->v_end);
    if (status == PERP_OK) {
        perpi_formulation_correct_b(x->formulation, model, h, x->q_end, x->v_problem, x->input);
    }
    return status;
}

/* Joints near a singular configuration, which close their errors slowly. */
static perp_status limit_joint_rows(verifier* x, bool all)
{
    const perpi_formulation* f = x->formulation;
    const perp_status status = perpi_grow(x->context, &x->start, &x->start_capacity,
                                          (size_t)f->problem.dof_count, sizeof(double));
    if (status == PERP_OK) {
        perpi_repair_before(f, perp_scene_model(x->scene), x->v, x->start);
        perpi_repair_limit(x->formulation, all ? NULL : perpi_sim_loops(x->sim),
                           perp_scene_model(x->scene)->dimension, x->start);
    }
    return status;
}

/* Start, length and solution of the step that led to a frame. */
typedef struct verified_step {
    double t, h;
    bool half; /* an adaptive step: checks its second half, as the end is extrapolated */
    const double* v_solved;
} verified_step;

static verified_step step_of(const verifier* x, const perp_frame* frame)
{
    verified_step s = {.half = frame->rest->clock != NULL && frame->info.kind == PERP_STEP_TIME};
    if (frame->rest->clock != NULL) {
        s.h = s.half ? 0.5 * (frame->time - x->time) : 0.0;
        s.t = x->time + s.h;
    } else {
        const int64_t tick = perpi_sim_tick_at(x->sim, x->time);
        s.t = perpi_sim_tick_time(x->sim, tick);
        s.h = perpi_sim_tick_length(x->sim, tick);
    }
    s.v_solved = s.half ? frame->rest->half_v_end : frame->rest->v_solved;
    return s;
}

/* A middle step: its mean velocities into x->v_end, and its end into x->q_end. */
static perp_status find_middle(verifier* x, const verified_step* s)
{
    const perp_model* model = perp_scene_model(x->scene);
    memcpy(x->q_end, x->q_start, (size_t)perp_sim_q_size(x->sim) * sizeof(double));
    memcpy(x->v_end, s->v_solved, (size_t)perp_sim_v_size(x->sim) * sizeof(double));
    const perpi_step_input in = {.model = model,
                                 .t = s->t,
                                 .h = s->h,
                                 .q = x->q_start,
                                 .v = x->v_start,
                                 .middle = true,
                                 .settings = &x->settings};
    return x->stepper->advance(&in, x->q_end, x->v_end);
}

static void set_joint_inputs(verifier* x, const perp_frame* frame, const verified_step* s)
{
    const perp_model* model = perp_scene_model(x->scene);
    for (int32_t i = 0; i < frame->joint_count; ++i) {
        x->input[i] = (perpi_joint_input){
            .turns = {x->joint[i].turns[0], x->joint[i].turns[1]},
            .target = frame->joints[i].target,
            .effort = frame->joints[i].applied,
            .ease = s->half ? perpi_adaptive_ease(x->sim, x->h_next, frame->time - x->time)
                    : frame->info.joints_kept > 0 ? INFINITY
                                                  : 1.0,
            .offset = perpi_sim_offset(x->sim) != NULL
                          ? x->memory + perpi_sim_s_size(x->sim) - perpi_offset_size(model)
                          : NULL,
        };
    }
}

/* Which bodies have a middle step: those of contacts that are of its middle. */
static void find_parts(verifier* x, const perp_frame* frame)
{
    const perp_model* model = perp_scene_model(x->scene);
    for (size_t i = 0; i < model->body_count; ++i) {
        x->part[i] = PERPI_PART_START;
    }
    for (int32_t i = 0; i < frame->contact_count; ++i) {
        const perp_contact* c = &frame->contacts[i];
        const int32_t body[2] = {c->body_a, c->body_b};
        for (int side = 0; side < 2 && c->middle != 0; ++side) {
            if (model->body[body[side]].dofs > 0) {
                x->part[body[side]] = PERPI_PART_MIDDLE;
            }
        }
    }
}

/* The problem of the step, from the recorded numbers. */
static perp_status formulate_recorded(verifier* x, const perp_frame* frame, const verified_step* s,
                                      bool acted)
{
    const perp_model* model = perp_scene_model(x->scene);
    const perpi_stepper_ops* second = perpi_sim_second_stepper(x->sim);
    const bool parts = frame->info.corrections == PERPI_STEP_PARTS;
    const bool rolls = parts || frame->info.corrections == PERPI_STEP_ROLLING;
    const bool middle = rolls || frame->info.corrections == PERPI_STEP_MIDDLE;
    if (parts) {
        find_parts(x, frame);
    }
    if (middle) {
        const perp_status status = find_middle(x, s);
        if (status != PERP_OK) {
            return status;
        }
    }
    const perpi_step_input in = {.model = model,
                                 .middle = middle,
                                 .rolls = rolls,
                                 .part = parts ? x->part : NULL,
                                 .t = s->t,
                                 .h = s->h,
                                 .q = s->half ? frame->rest->half_q : x->q_start,
                                 .v = s->half ? frame->rest->half_v : x->v_start,
                                 .contact = frame->contacts,
                                 .contact_count = frame->contact_count,
                                 .acted = acted && !middle,
                                 .joint = x->input,
                                 .s = s->half ? frame->rest->half_memory : x->memory,
                                 .q_end = middle ? x->q_end : frame->q,
                                 .v_end = middle ? x->v_end : s->v_solved,
                                 .settings = &x->settings};
    if (frame->info.semi_implicit > 0 && second != NULL) {
        return second->formulate(x->formulation, &in);
    }
    return frame->info.kind == PERP_STEP_TIME
               ? x->stepper->formulate(x->formulation, &in)
               : perpi_formulate_other(x->formulation, model, PERPI_PURPOSE_IMPACT,
                                       perpi_sim_nominal_step(x->sim),
                                       &(perpi_placed){x->q_start, x->v_start, frame->contacts,
                                                       frame->contact_count, x->input});
}

static perp_status allocate_arrays(verifier* x)
{
    const perp_contact_problem* problem = &x->formulation->problem;
    perp_status status = perpi_grow(x->context, &x->v_problem, &x->v_capacity,
                                    (size_t)problem->dof_count, sizeof(double));
    if (status == PERP_OK) {
        status = perpi_grow(x->context, &x->p_problem, &x->p_capacity, (size_t)problem->row_count,
                            sizeof(double));
    }
    if (status == PERP_OK) {
        status = perpi_grow(x->context, &x->work, &x->work_capacity,
                            perp_contact_residual_work(problem), sizeof(double));
    }
    return status;
}

/* The residual of the recorded answer. acted: bodies without an impulse turn as free ones, else as the step
 * expected before it was solved. */
static perp_status check_recorded(verifier* x, const perp_frame* frame, const verified_step* of,
                                  bool acted, perp_contact_residual* residual)
{
    const verified_step s = *of;
    perp_status status = formulate_recorded(x, frame, &s, acted);
    if (status == PERP_OK) {
        status = allocate_arrays(x);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perpi_point answer = {.v = s.v_solved,
                                .contact = frame->contacts,
                                .joint = frame->joints,
                                .memory = frame->rest->memory,
                                .v_start = frame->info.kind == PERP_STEP_TIME ? x->v : NULL};
    perpi_pack(x->formulation, perp_scene_model(x->scene), &answer, x->v_problem, x->p_problem);
    if (frame->info.corrections > 0) {
        status = correct_joint_rows(x, s.t, s.h, frame);
    } else if (frame->info.corrections == PERPI_STEP_MIDDLE) {
        perpi_formulation_correct_b(x->formulation, perp_scene_model(x->scene), s.h, x->q_end,
                                    x->v_problem, x->input);
        perpi_formulation_round_arms(x->formulation, perp_scene_model(x->scene), x->p_problem);
    } else if (frame->info.corrections < 0 && !x->formulation->rolls) {
        status = limit_joint_rows(x, frame->info.corrections == PERPI_REPAIR_LIMITED_ALL);
    }
    if (x->formulation->tie_count > 0) { /* impulses of chains depend on b: frames.c */
        perpi_pack(x->formulation, perp_scene_model(x->scene), &answer, x->v_problem, x->p_problem);
    }
    if (status == PERP_OK) {
        *residual = perp_contact_check_residual(&x->formulation->problem, x->v_problem,
                                                x->p_problem, x->work);
    }
    return status;
}

/* The step from (x->q, x->v) at x->time to the frame. */
static perp_status verify_step(verifier* x, const perp_frame* frame,
                               perp_contact_residual* residual)
{
    const verified_step s = step_of(x, frame);
    displace(x);
    set_joint_inputs(x, frame, &s);
    perp_status status = check_recorded(x, frame, &s, true, residual);
    bool lost = false;
    for (size_t i = 0; status == PERP_OK && i < perp_scene_model(x->scene)->body_count; ++i) {
        lost = lost || x->formulation->hold[i] == PERPI_HOLD_LOST;
    }
    if (status == PERP_OK && lost) { /* of the two that which it is */
        perp_contact_residual other = {0};
        status = check_recorded(x, frame, &s, false, &other);
        *residual = other.worst < residual->worst ? other : *residual;
    }
    return status;
}

/* Whole turns at the middle of an adaptive step are not recorded; where they may differ, the
 * step is not checked. */
static bool turns_known(const verifier* x, const perp_frame* frame)
{
    bool known = true;
    for (int32_t i = 0; frame->rest->clock != NULL && i < frame->joint_count; ++i) {
        known = known && frame->joints[i].turns[0] == x->joint[i].turns[0] &&
                frame->joints[i].turns[1] == x->joint[i].turns[1];
    }
    return known;
}

static perp_status check_laws(verifier* x)
{
    const size_t q_size = (size_t)perp_sim_q_size(x->sim) * sizeof(double);
    const size_t v_size = (size_t)perp_sim_v_size(x->sim) * sizeof(double);
    perp_status status =
        perpi_stepper_find(x->context, perp_sim_def_from_scene(x->scene).stepper, &x->stepper);
    if (status == PERP_OK) {
        x->settings = *perpi_sim_step_settings(x->sim);
    }
    if (status == PERP_OK) {
        status = perpi_formulation_create(x->context, &x->formulation);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(x->context, 1, q_size + sizeof(double), &x->q);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(x->context, 1, v_size + sizeof(double), &x->v);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(x->context, 1, q_size + sizeof(double), &x->q_start);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(x->context, 1, v_size + sizeof(double), &x->v_start);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(x->context, perp_scene_model(x->scene)->body_count + 1,
                             sizeof *x->part, &x->part);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(x->context, 1, q_size + sizeof(double), &x->q_end);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(x->context, 1, v_size + sizeof(double), &x->v_end);
    }
    const size_t joints = x->recording->header.joint_count;
    if (status == PERP_OK) {
        status = perpi_alloc(x->context, joints + 1, sizeof *x->input, &x->input);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(x->context, joints + 1, sizeof *x->joint, &x->joint);
    }
    const size_t memory = (size_t)perpi_sim_s_size(x->sim) * sizeof(double);
    if (status == PERP_OK) {
        status = perpi_alloc(x->context, 1, memory + sizeof(double), &x->memory);
    }
    int64_t step = -1, first = 0;
    for (int64_t k = 0; status == PERP_OK && k < x->recording->frames; ++k) {
        perp_frame frame;
        status = perp_recording_frame(x->recording, k, &frame);
        if (status != PERP_OK) {
            break;
        }
        x->verification->unsolved += frame.info.accepted_unsolved;
        /* Only successive steps: with `record.every` above 1 the start of a step is not
         * recorded. */
        if (k > 0 && frame.edited == 0 && frame.step == step + 1 &&
            contacts_are_valid(perp_scene_model(x->scene), &frame) && turns_known(x, &frame)) {
            perp_contact_residual residual;
            status = verify_step(x, &frame, &residual);
            if (status == PERP_OK) {
                take_worst(x->verification, &residual, k);
                x->verification->laws_checked += 1;
            }
        }
        step = frame.step;
        x->time = frame.time;
        x->h_next = frame.rest->clock != NULL ? frame.rest->clock[0] : 0.0;
        first = k == 0 ? step : first;
        x->verification->steps = step - first;
        memcpy(x->q, frame.q, q_size);
        memcpy(x->v, frame.v, v_size);
        if (joints > 0) {
            memcpy(x->joint, frame.joints, joints * sizeof *x->joint);
        }
        if (memory > 0) {
            memcpy(x->memory, frame.rest->memory, memory);
        }
    }
    return status;
}

/* ---- 3. the energy ledger ------------------------------------------------------------------------*/

static perp_status check_ledger(verifier* x)
{
    perp_verification* verification = x->verification;
    const perpi_stepper_ops* stepper =
        perpi_stepper_named(perp_sim_def_from_scene(x->scene).stepper);
    const bool quasistatic = stepper != NULL && stepper->equilibrium_search;
    return perpi_ledger_check(x->recording, perp_scene_model(x->scene), quasistatic,
                              &verification->ledger_checked, &verification->ledger_frame,
                              verification->ledger_message);
}

/* ---- 4. the second run ------------------------------------------------------------------------*/

/* Steps until the simulation is at the frame. */
static perp_status step_to_frame(verifier* x, int64_t step)
{
    x->tally = (perpi_tally){0};
    while (perp_sim_step_count(x->sim) < step) {
        const perp_status status = perp_sim_step(x->sim);
        if (status != PERP_OK) {
            return status;
        }
        perpi_tally_step(&x->tally, x->sim);
    }
    return PERP_OK;
}

/* Names the first column of frame k in which the second run differs; the frame is in memory. */
static void name_difference(const verifier* x, const perpi_block* block, int64_t k)
{
    const perp_recording* r = x->recording;
    perp_verification* verification = x->verification;
    const size_t f = (size_t)(k - r->first);
    const size_t contacts = block->rows[PERPI_AXIS_CONTACT];
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        const bool of_contacts = perpi_columns[c].axis == PERPI_AXIS_CONTACT;
        const size_t size = perpi_block_row_size(block, (perpi_column)c);
        /* numbers of contacts are equal here, because the column of their offsets is compared
         * before */
        const size_t row = of_contacts ? (size_t)r->contact_end[f] : f;
        const size_t bytes = of_contacts ? contacts * size : size;
        if (perpi_columns[c].cover != PERPI_COVER_FRAME || bytes == 0) {
            continue;
        }
        const unsigned char* recorded = r->block.data[c] + row * size;
        const unsigned char* again = block->data[c];
        if (memcmp(recorded, again, bytes) == 0) {
            continue;
        }
        int32_t entry = 0;
        while (c == PERPI_COLUMN_LEDGER &&
               memcmp(recorded + 8 * entry, again + 8 * entry, 8) == 0) {
            entry += 1;
        }
        (void)snprintf(verification->difference, sizeof verification->difference, "%s%s%s%s",
                       perpi_columns[c].path, c == PERPI_COLUMN_LEDGER ? " '" : "",
                       c == PERPI_COLUMN_LEDGER ? perp_ledger_name(entry) : "",
                       c == PERPI_COLUMN_LEDGER ? "'" : "");
        return;
    }
}

static perp_status same_frame(verifier* x, perpi_block* block, int64_t k, int64_t* contact_total,
                              bool* same)
{
    uint64_t seed, recorded;
    perpi_frame_rest rest;
    const perp_frame frame = perpi_frame_of_sim(x->sim, &x->tally, 0.0, &rest);
    const perpi_span contacts = {0, (size_t)frame.contact_count};
    *contact_total += frame.contact_count;
    perpi_block_clear(block);
    perp_status status = perpi_block_append(block, &frame, *contact_total);
    if (status == PERP_OK) {
        status = perpi_recording_hash(x->recording, PERPI_COLUMN_HASH_FRAME, k - 1, &seed);
    }
    if (status == PERP_OK) {
        status = perpi_recording_hash(x->recording, PERPI_COLUMN_HASH_FRAME, k, &recorded);
    }
    if (status == PERP_OK) {
        *same = perpi_block_hash(block, PERPI_COVER_FRAME, seed, 0, contacts) == recorded;
    }
    if (status == PERP_OK && !*same) {
        name_difference(x, block, k);
    }
    return status;
}

static perp_status check_second_run(verifier* x)
{
    perp_verification* verification = x->verification;
    perpi_block block;
    int64_t contact_total = 0;
    bool same = true;
    perp_status status = PERP_OK;
    verification->rerun = true;
    const perpi_state_shape shape = perpi_recording_shape(x->recording);
    perpi_block_init(&block, x->context, &shape);
    if (x->recording->header.resumed_from_step >= 0) {
        status = perpi_recording_restore(x->recording, 0, x->sim);
    }
    if (status == PERP_OK && x->prepare != NULL) {
        status = x->prepare(x->user, x->sim);
    }
    for (int64_t k = 0; status == PERP_OK && same && k < x->recording->frames; ++k) {
        perp_frame frame;
        status = perp_recording_frame(x->recording, k, &frame);
        if (status != PERP_OK) {
            break;
        }
        if (frame.edited != 0) { /* the second run goes on from there */
            contact_total += frame.contact_count;
            verification->edited += 1;
            status = perpi_recording_restore(x->recording, k, x->sim);
            continue;
        }
        const perp_status run = step_to_frame(x, frame.step);
        if (run == PERP_ERROR_MEMORY) {
            status = run;
        } else if (run != PERP_OK) {
            set_detail(verification, "the second run stopped before frame %lld: %.380s",
                       (long long)k, perp_context_error(x->context));
            same = false;
        } else {
            status = same_frame(x, &block, k, &contact_total, &same);
        }
        if (!same) {
            verification->first_difference = k;
        }
    }
    perpi_block_free(&block);
    verification->same_bits = status == PERP_OK && same;
    return status;
}

/* ---- the whole verification ------------------------------------------------------------------ */

/* A scene that this version cannot simulate is a result, not an error: x->sim stays NULL, with
 * the message. */
static perp_status prepare_sim(verifier* x)
{
    const char* text = perp_recording_scene_text(x->recording);
    perp_status status =
        perp_scene_parse(x->context, text, strlen(text), "the recorded scene", NULL, 0, &x->scene);
    if (status == PERP_OK) {
        /* keep_going is not in the scene. It has no effect until a whole step has failed, and
         * then the recorded run must have used it to continue. */
        perp_sim_def def = perp_sim_def_from_scene(x->scene);
        def.keep_going = true;
        status = perp_sim_create(x->context, perp_scene_model(x->scene), &def, &x->sim);
    }
    if (status == PERP_OK &&
        (perp_sim_q_size(x->sim) != x->recording->block.width[PERPI_COLUMN_Q] ||
         perp_sim_v_size(x->sim) != x->recording->block.width[PERPI_COLUMN_V] ||
         perp_model_joint_count(perp_scene_model(x->scene)) !=
             (int32_t)x->recording->header.joint_count ||
         perpi_sim_s_size(x->sim) != x->recording->header.memory_size ||
         perpi_state_shape_of(x->sim).measure_size != x->recording->header.measure_size ||
         (x->recording->header.format_version > 2 && /* old recordings keep fewer of them */
          perpi_state_shape_of(x->sim).falls_back == /* likewise */
              (x->recording->header.falls_back != 0) &&
          perpi_state_shape_of(x->sim).v_solved != (x->recording->header.v_solved != 0)) ||
         (perpi_state_shape_of(x->sim).layered != 0) != (x->recording->header.layered != 0) ||
         perpi_state_shape_of(x->sim).grouped != (x->recording->header.grouped != 0) ||
         perpi_state_shape_of(x->sim).bounces != (x->recording->header.bounces != 0) ||
         perpi_state_shape_of(x->sim).timed != (x->recording->header.bounces == 2) ||
         perpi_state_shape_of(x->sim).adaptive != (x->recording->header.adaptive != 0))) {
        status = perpi_fail(x->context, PERP_ERROR_INPUT,
                            "its bodies, joints or measures are not the recorded ones");
    }
    if (status == PERP_OK || status == PERP_ERROR_MEMORY) {
        return status;
    }
    set_detail(x->verification, "intact, but it cannot be run again: %.400s",
               perp_context_error(x->context));
    perp_sim_destroy(x->sim);
    x->sim = NULL;
    return PERP_OK;
}

static void conclude(verifier* x)
{
    perp_verification* d = x->verification;
    const char* version = x->recording->version;
    const char* end = d->finished   ? ""
                      : d->complete ? ", of a run that ended early"
                                    : ", of a run that was killed or is still running";
    if (d->message[0] != '\0') {
        return;
    }
    if (d->ledger_frame >= 0) {
        set_detail(d, "intact%s, but the energy ledger of frame %lld does not hold: %s", end,
                   (long long)d->ledger_frame, d->ledger_message);
        return;
    }
    if (!d->same_bits && d->user_code[0] != '\0') {
        set_detail(
            d,
            "intact%s, but it was recorded with user code (%.200s), without which a second run "
            "differs from frame %lld on: give that plugin to verify too",
            end, d->user_code, (long long)d->first_difference);
        return;
    }
    if (!d->same_bits) {
        set_detail(
            d,
            "intact%s, but a second run differs from frame %lld on, first in %s (recorded by perp "
            "%s "
            "in format version %d, this is %s)",
            end, (long long)d->first_difference, d->difference, version, (int)d->format_version,
            PERP_VERSION_STRING);
        return;
    }
    char edited[192] = "";
    int used = 0;
    if (d->edited > 0) {
        used = snprintf(edited, sizeof edited,
                        ", but for %lld frame%s after the program had set the state or parameters",
                        (long long)d->edited, d->edited == 1 ? "" : "s");
    }
    if (d->unsolved > 0) {
        (void)snprintf(edited + used, sizeof edited - (size_t)used,
                       "; %lld frame%s with a step that was accepted unsolved",
                       (long long)d->unsolved, d->unsolved == 1 ? "" : "s");
    }
    if (d->laws_checked == 0) {
        set_detail(d, "intact%s; the laws were not checked; a second run gives the same bits%s",
                   end, edited);
        return;
    }
    set_detail(
        d,
        "intact%s; the laws hold to %.2g in %lld of %lld steps (worst at frame %lld); a second run "
        "gives the same bits%s",
        end, d->worst.worst, (long long)d->laws_checked, (long long)d->steps,
        (long long)d->worst_frame, edited);
}

static void clean_up(verifier* x)
{
    perpi_formulation_destroy(x->formulation);
    perpi_free(x->context, x->start);
    perpi_free(x->context, x->q);
    perpi_free(x->context, x->v);
    perpi_free(x->context, x->q_start);
    perpi_free(x->context, x->v_start);
    perpi_free(x->context, x->part);
    perpi_free(x->context, x->q_end);
    perpi_free(x->context, x->v_end);
    perpi_free(x->context, x->input);
    perpi_free(x->context, x->joint);
    perpi_free(x->context, x->memory);
    perpi_free(x->context, x->v_problem);
    perpi_free(x->context, x->p_problem);
    perpi_free(x->context, x->work);
    perp_sim_destroy(x->sim);
    perp_scene_destroy(x->scene);
    perp_recording_close(x->recording);
}

perp_status perp_recording_verify(perp_context* context, const char* path,
                                  perp_verification* verification)
{
    return perp_recording_verify_with(context, path, NULL, NULL, verification);
}

perp_status perp_recording_verify_with(perp_context* context, const char* path,
                                       perp_status (*prepare)(void* user, perp_sim* sim),
                                       void* user, perp_verification* verification)
{
    perp_verification result = {.worst_frame = -1, .first_difference = -1, .ledger_frame = -1};
    result.worst.worst_constraint = -1;
    verifier x = {.context = context, .verification = &result, .prepare = prepare, .user = user};
    const perpi_quiet quiet = perpi_quiet_begin();
    perp_status status = perpi_recording_load(context, path, true, &x.recording);
    if (status == PERP_OK) {
        status = check_hashes(&x);
    }
    if (status == PERP_OK && result.intact) {
        status = prepare_sim(&x);
    }
    if (status == PERP_OK && prepare == NULL) {
        (void)snprintf(result.user_code, sizeof result.user_code, "%s",
                       perp_recording_user_code(x.recording));
    }
    if (status == PERP_OK && x.sim != NULL) {
        status = prepare == NULL ? check_laws(&x) : PERP_OK;
        if (status == PERP_OK) {
            status = check_ledger(&x);
        }
        if (status == PERP_OK) {
            status = check_second_run(&x);
        }
        if (status == PERP_OK) {
            conclude(&x);
        }
    }
    clean_up(&x);
    perpi_quiet_end(quiet);
    if (status == PERP_OK) {
        *verification = result;
    }
    return status;
}
