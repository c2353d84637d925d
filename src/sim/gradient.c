/* src/sim/gradient.c - derivatives of a measure along a run, forward or by the adjoint.
 *
 * Method     docs/notation.md, "Derivatives of a step" and "Gradients along a run"
 *
 * A measure is a sum over samples (the states of the run) of weight times the change of its
 * expression: at the end, at the largest or smallest sample, of the trapezoidal rule, or at the two
 * samples between which a condition becomes true. Forward: displacements of the state by each
 * parameter are carried from step to step. Adjoint: derivatives by the state are carried back; a
 * step adds what its parameters change, by its multipliers. States come from a tape; with
 * checkpoints the tape holds one segment of about sqrt(steps) steps, which is run again from a
 * snapshot.
 */
#include "sim/gradient.h"

#include <string.h>

#include "sim/gradient_motion.h"
#include "sim/gradient_quantity.h"
#include "sim/gradient_run.h"
#include "sim/gradient_uses.h"
#include "sim/measure.h"
#include "sim/measure_timed.h"
#include "sim/tape.h"
#include "step/gear_rows.h"
#include "step/linear_step.h"

int32_t perpi_gradient_start_size(const perp_model* model)
{
    return perpi_linear_size_of(model).total;
}

/* ---- what is refused -----------------------------------------------------------------------------*/

static perp_status refuse(const perp_sim* sim, const char* what)
{
    return perpi_fail(sim->context, PERP_ERROR_UNSUPPORTED, "gradient: %s", what);
}

/* Middle steps. Gears act through two joints; the step without the contacts of an impact is one of the start. */
static perp_status check_middle(const perp_sim* sim)
{
    const perp_model* model = sim->model;
    bool gears = false;
    for (size_t i = 0; i < model->joint_count; ++i) {
        gears = gears || model->joint[i].type == PERP_JOINT_GEAR;
    }
    if (!sim->work.settings.joint_middle || !(gears || model->bounces)) {
        return PERP_OK;
    }
    return refuse(sim, gears ? "gears have no derivative with joint_direction 'middle'; give "
                               "\"joint_direction\": \"start\""
                             : "restitution has no derivative with joint_direction 'middle'; give "
                               "\"joint_direction\": \"start\"");
}

/* Bodies that have steps of two kinds: steps of the start where perp may choose. */
static perp_status check_parts(perp_sim* sim)
{
    perpi_step_settings* settings = &sim->work.settings;
    if (!settings->rolling_middle || !perpi_sim_has_parts(sim)) {
        return PERP_OK;
    }
    if (!settings->rolling_chosen) {
        return refuse(sim, "contact_direction 'middle' has no derivative with several dynamic "
                           "bodies; give \"contact_direction\": \"auto\" or \"start\"");
    }
    settings->rolling_middle = false;
    return PERP_OK;
}

perp_status perpi_gradient_check_sim(perp_sim* sim)
{
    const perp_model* model = sim->model;
    if (strcmp(sim->stepper->name, "stewart-trinkle") != 0) {
        return perpi_fail(sim->context, PERP_ERROR_UNSUPPORTED,
                          "gradient: the stepper '%s' has no derivative; use stewart-trinkle",
                          sim->stepper->name);
    }
    if (model->impact_law == PERP_IMPACT_POISSON && model->bounces) {
        return refuse(sim, "Poisson's law of impact has no derivative; use Newton's");
    }
    perp_status middle = check_middle(sim);
    if (middle == PERP_OK) {
        middle = check_parts(sim);
    }
    if (middle != PERP_OK) {
        return middle;
    }
    for (size_t i = 0; sim->correction.project != NULL && i < model->joint_count; ++i) {
        if (model->joint[i].type == PERP_JOINT_GEAR && !perpi_gear_soft(&model->joint[i])) {
            return perpi_fail(sim->context, PERP_ERROR_UNSUPPORTED,
                              "gradient: gear '%s': rigid gears have no derivative with "
                              "joint_correction; set it to false",
                              model->joint[i].name);
        }
    }
    if (sim->user.on_step != NULL || sim->user.callback_count > 0) {
        return refuse(sim, "steps that user code takes part in have no derivative");
    }
    if (sim->def.allow_overlap) {
        return refuse(sim, "allow_overlap moves bodies at the start, which has no derivative");
    }
    if (model->massless_count > 0) {
        return refuse(sim, "bodies without mass have no derivative");
    }
    for (size_t i = 0; i < model->body_count; ++i) {
        if (model->body[i].motion.follows) {
            return perpi_fail(
                sim->context, PERP_ERROR_UNSUPPORTED,
                "gradient: body '%s' follows its motion with limited speed, which has "
                "no derivative",
                model->body[i].name);
        }
    }
    for (size_t i = 0; i < model->joint_count; ++i) {
        if (perpi_joint_ops_of(model->joint[i].type)->differentiate == NULL) {
            return perpi_fail(sim->context, PERP_ERROR_UNSUPPORTED,
                              "gradient: joint '%s': joints of type '%s' have no derivative",
                              model->joint[i].name, perpi_joint_ops_of(model->joint[i].type)->name);
        }
    }
    return PERP_OK;
}

/* A measure, and those that it is a measure of. */
static perp_status check_measure(perp_sim* sim, int32_t measure)
{
    const perp_model* model = sim->model;
    const perp_measure_def* def = &sim->asked.measure[measure];
    if (def->over > 0.0 && sim->adaptive) {
        return refuse(sim, "measures over windows have a derivative with fixed steps only");
    }
    int32_t count;
    const perp_quantity* quantity = perpi_measures_quantities(sim, &count);
    bool of_step;
    const perpi_expr* expr = perpi_measures_expr(sim, measure, &of_step);
    for (int32_t i = 0; i < count; ++i) {
        if (perpi_expr_has_slot(expr, sim->asked.measure_count + i)) {
            const perp_status status =
                perpi_quantity_differentiable(sim->context, model, &quantity[i]);
            if (status != PERP_OK) {
                return status;
            }
        }
    }
    for (int32_t i = 0; i < measure; ++i) { /* they stand before it */
        if (!perpi_expr_has_slot(expr, i)) {
            continue;
        }
        if (sim->adaptive) {
            return refuse(sim,
                          "measures of other measures have a derivative with fixed steps only");
        }
        const perp_status status = check_measure(sim, i);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

perp_status perpi_gradient_check(perp_sim* sim, int32_t measure)
{
    const perp_status status = perpi_gradient_check_sim(sim);
    return status == PERP_OK ? check_measure(sim, measure) : status;
}

/* ---- the run -------------------------------------------------------------------------------------*/

size_t perpi_gradient_light_size(const perp_model* model)
{
    return 8 * model->body_count + model->shape_count + model->pair_count;
}

perpi_linear_light perpi_gradient_light(const perp_model* model, double* room)
{
    const size_t bodies = model->body_count;
    return (perpi_linear_light){.mass = room,
                                .inertia = room + bodies,
                                .gravity = room + 2 * bodies,
                                .drag = room + 5 * bodies,
                                .friction_body = room + 7 * bodies,
                                .friction_shape = room + 8 * bodies,
                                .friction_pair = room + 8 * bodies + model->shape_count};
}

/* Room for the derivatives by light numbers. */
static perp_status allocate_light(perpi_gradient_work* g)
{
    if (g->in->light_count == 0 || g->in->mode != PERP_GRADIENT_ADJOINT) {
        return PERP_OK;
    }
    const perp_status status = perpi_alloc(g->context, perpi_gradient_light_size(g->model),
                                           sizeof *g->light_room, &g->light_room);
    if (status == PERP_OK) {
        g->light = perpi_gradient_light(g->model, g->light_room);
    }
    return status;
}

double perpi_gradient_light_at(const perpi_linear_light* l, const perpi_light_number* x)
{
    switch (x->kind) {
    case PERPI_LIGHT_MASS: return l->mass[x->index];
    case PERPI_LIGHT_INERTIA: return l->inertia[x->index];
    case PERPI_LIGHT_GRAVITY: return l->gravity[3 * x->index + x->part];
    case PERPI_LIGHT_DRAG: return l->drag[2 * x->index + x->part];
    case PERPI_LIGHT_FRICTION_BODY: return l->friction_body[x->index];
    case PERPI_LIGHT_FRICTION_SHAPE: return l->friction_shape[x->index];
    case PERPI_LIGHT_FRICTION_PAIR: break;
    }
    return l->friction_pair[x->index];
}

static void add_light(perpi_gradient_work* g)
{
    for (int32_t i = 0; i < g->in->light_count; ++i) {
        const perpi_light_number* x = &g->in->light[i];
        g->gradient[x->parameter] += x->value * perpi_gradient_light_at(&g->light, x);
    }
}

perp_status perpi_gradient_allocate(perpi_gradient_work* g)
{
    const perp_sim* sim = g->sim;
    const size_t n = (size_t)g->size.total, q = (size_t)sim->work.q_size,
                 v = (size_t)sim->work.v_size;
    const size_t slots = (size_t)(g->slot_base + g->quantity_count) + 1;
    const size_t forward =
        g->in->mode == PERP_GRADIENT_FORWARD ? (2 * (size_t)g->in->parameter_count + 1) * n : 0;
    perp_status status =
        perpi_alloc(g->context, 3 * n + q + v + slots + forward, sizeof *g->room, &g->room);
    if (status == PERP_OK) {
        g->y = g->room;
        g->y_next = g->y + n;
        g->other = g->y_next + n;
        g->q = g->other + n;
        g->v = g->q + q;
        g->slot = g->v + v;
        g->forward = g->slot + slots;
        status =
            perpi_alloc(g->context, 2 * g->model->joint_count + 1, sizeof *g->joint, &g->joint);
    }
    if (status == PERP_OK) {
        status = allocate_light(g);
    }
    if (status == PERP_OK) {
        status = perpi_motions_create(g, &g->motions);
    }
    return status == PERP_OK ? perpi_linear_step_create(g->context, &g->linear) : status;
}

void perpi_gradient_free(perpi_gradient_work* g)
{
    g->sim->without = NULL;
    perpi_tape_free(&g->tape);
    perpi_tape_free(&g->without);
    perpi_uses_destroy(g->uses);
    perpi_motions_destroy(g->motions);
    perpi_linear_step_destroy(g->linear);
    perpi_roll_free(g);
    void* const owned[] = {g->before,    g->light_room,   g->room,        g->time,   g->parameter,
                           g->joint,     g->snapshot,     g->snapshot_at, g->rolled, g->memory[0],
                           g->memory[1], g->memory_other, g->loose};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(g->context, owned[i]);
    }
}

static perp_status take_snapshot(perpi_gradient_work* g)
{
    size_t size = 0;
    perp_status status = perp_sim_save(g->sim, NULL, &size);
    const size_t padded = (size + 15) / 16 * 16;
    if (status == PERP_OK) {
        status = perpi_grow(g->context, &g->snapshot, &g->snapshot_capacity,
                            g->snapshot_used + padded, 1);
    }
    if (status == PERP_OK) {
        status = perpi_grow(g->context, &g->snapshot_at, &g->snapshot_at_capacity,
                            2 * ((size_t)g->kept + 1), sizeof *g->snapshot_at);
    }
    if (status == PERP_OK) {
        status = perpi_grow(g->context, &g->before, &g->before_capacity,
                            (size_t)(g->kept + 1) * (size_t)g->tape.q_size, sizeof *g->before);
    }
    if (status == PERP_OK) {
        status = perpi_grow(g->context, &g->rolled, &g->rolled_capacity, (size_t)g->kept + 1,
                            sizeof *g->rolled);
    }
    if (status == PERP_OK) {
        memcpy(g->before + g->kept * g->tape.q_size, g->q, (size_t)g->tape.q_size * sizeof *g->q);
        g->rolled[g->kept] = g->sim->info->corrections == PERPI_STEP_ROLLING;
        g->snapshot_at[2 * g->kept] = g->snapshot_used;
        g->snapshot_at[2 * g->kept + 1] = size;
        g->kept += 1;
        status = perp_sim_save(g->sim, g->snapshot + g->snapshot_used, &size);
        g->snapshot_used += padded;
    }
    return status;
}

/* The state just reached: its time, and whether the measure took its value there. */
static perp_status note_state(perpi_gradient_work* g, double* value)
{
    const perp_status status =
        perpi_grow(g->context, &g->time, &g->time_capacity, (size_t)g->count + 1, sizeof *g->time);
    if (status != PERP_OK) {
        return status;
    }
    const double now = perp_sim_measure(g->sim, g->in->measure);
    if (g->count == 0 || now != *value) {
        g->extreme = g->count;
        g->crossing = isnan(now) ? g->crossing : g->crossing < 0 ? g->count : g->crossing;
    }
    *value = now;
    g->time[g->count++] = g->sim->state.time;
    return g->uses != NULL ? perpi_uses_note(g->uses) : PERP_OK;
}

/* Runs to the end; keeps all states, or snapshots of every stride-th. */
static perp_status run_forward(perpi_gradient_work* g, double* value)
{
    perp_sim* sim = g->sim;
    const bool all = !g->in->checkpoints || sim->adaptive;
    const int64_t total = perp_sim_step_total(sim);
    g->stride = 1;
    while (g->stride * g->stride < total) {
        ++g->stride;
    }
    perp_status status = all ? perpi_tape_reserve(&g->tape, (size_t)total + 1) : PERP_OK;
    g->extreme = 0;
    g->crossing = -1;
    *value = NAN;
    if (status == PERP_OK) {
        status = note_state(g, value);
    }
    if (status == PERP_OK) {
        status = all ? perpi_tape_push(&g->tape, sim) : take_snapshot(g);
    }
    while (status == PERP_OK && !perp_sim_finished(sim)) {
        memcpy(g->q, sim->state.q, (size_t)sim->work.q_size * sizeof *g->q);
        status = perp_sim_step(sim);
        if (status == PERP_OK) {
            status = note_state(g, value);
        }
        if (status == PERP_OK && all) {
            status = perpi_tape_push(&g->tape, sim);
        } else if (status == PERP_OK && (g->count - 1) % g->stride == 0) {
            status = take_snapshot(g);
        }
    }
    return status;
}

/* ---- backwards -----------------------------------------------------------------------------------*/

static perp_status step_back(perpi_gradient_work* g, size_t frame)
{
    const perpi_taken_step step = perpi_gradient_step(g, frame - 1, frame);
    const perpi_linear_options options = {
        .transposed = true, .threshold = g->in->threshold, .memory = true};
    bool doubtful = false;
    /* memory[0] has the derivatives by impulses of this step, memory[1] gets those of the one before */
    const size_t old = 3 * (size_t)g->tape.frame[frame - 1].contact_count;
    perp_status status = perpi_gradient_memory_room(g, g->tape.frame[frame - 1].contact_count,
                                                    step.in.contact_count, 1);
    if (status == PERP_OK) {
        memset(g->memory[1], 0, (old + 1) * sizeof *g->memory[1]);
        memset(g->memory_other, 0, (old + 1) * sizeof *g->memory_other);
        perpi_linear_step_memory(g->linear, g->memory[1], g->memory[0]);
        status = perpi_linear_step_make(g->linear, &step, &options);
    }
    if (status != PERP_OK) {
        return status;
    }
    const unsigned doubts = perpi_linear_step_report(g->linear)->flags & PERPI_GRADIENT_DOUBTS;
    if (status == PERP_OK && doubts != 0) {
        /* does the derivative depend on the choice? */
        perpi_linear_options other = options;
        other.other = (doubts & PERPI_LINEAR_WEAK) != 0;
        other.shifted = (doubts & PERPI_LINEAR_UNDETERMINED) != 0;
        status = perpi_linear_step_make(g->linear, &step, &other);
        perpi_linear_step_memory(g->linear, g->memory_other, g->memory[0]);
        doubtful = status != PERP_OK ||
                   perpi_linear_step_adjoint(g->linear, g->y_next, g->other, NULL) != PERP_OK;
        status = perpi_linear_step_make(g->linear, &step, &options);
    }
    if (status == PERP_OK) {
        status = perpi_gradient_room(g);
    }
    if (status == PERP_OK) {
        status = perpi_roll_begin(g, step.in.contact_count, (int32_t)(old / 3));
    }
    if (status != PERP_OK) {
        return status;
    }
    const int32_t size = perpi_linear_step_parameter_size(g->linear);
    double* multiplier = g->parameter + size;
    perpi_linear_step_memory(g->linear, g->memory[1], g->memory[0]);
    status = perpi_linear_step_adjoint(g->linear, g->y_next, g->y, multiplier);
    const bool immaterial = doubts != 0 && !doubtful &&
                            perpi_gradient_same(g->y, g->other, g->size.total) &&
                            perpi_gradient_same(g->memory[1], g->memory_other, (int32_t)old);
    if (status == PERP_OK && g->in->light_count > 0) {
        perpi_linear_step_light(g->linear, multiplier, &g->light);
    }
    if (status == PERP_OK) {
        status = perpi_motions_step(g->motions, step.in.t, step.in.h);
    }
    if (status == PERP_OK) {
        perpi_motions_contract(g->motions, multiplier);
    }
    for (int32_t i = 0; status == PERP_OK && i < g->in->parameter_count; ++i) {
        if (perpi_gradient_enters(g, &g->in->parameter[i])) {
            double sum = 0.0;
            status = perpi_gradient_product(g, i, multiplier, &sum);
            g->gradient[i] += sum;
            if (g->roll.begun) {
                g->roll.off[i] -= sum;
            }
        }
    }
    if (status == PERP_OK) {
        perpi_gradient_count(g, &g->tape.frame[frame], immaterial);
        perpi_roll_back(g, multiplier + size);
    }
    perpi_gradient_memory_next(g);
    return status;
}

/* The states of a segment, and one more, into the tape. */
static perp_status load_segment(perpi_gradient_work* g, int64_t segment)
{
    const size_t at = g->snapshot_at[2 * segment];
    const int64_t first = segment * g->stride, after = first + g->stride + 1;
    const int64_t end = after < g->count - 1 ? after : g->count - 1;
    perp_status status =
        perp_sim_restore(g->sim, g->snapshot + at, g->snapshot_at[2 * segment + 1]);
    g->tape.count = g->tape.contact_used = 0;
    g->without.count = g->without.contact_used = 0;
    g->q_before = segment > 0 ? g->before + segment * g->tape.q_size : NULL;
    g->rolled_before = g->rolled[segment];
    for (int64_t k = first; status == PERP_OK; ++k) {
        status = perpi_tape_push(&g->tape, g->sim);
        if (k == end || status != PERP_OK) {
            break;
        }
        status = perp_sim_step(g->sim);
    }
    return status;
}

/* No step follows the last: its impulses do not count. */
static perp_status begin_memory(perpi_gradient_work* g, size_t frame)
{
    const int32_t contacts = g->tape.frame[frame].contact_count;
    const perp_status status = perpi_gradient_memory_room(g, contacts, contacts, 1);
    if (status == PERP_OK) {
        memset(g->memory[0], 0, (3 * (size_t)contacts + 1) * sizeof *g->memory[0]);
    }
    return status;
}

static perp_status run_back(perpi_gradient_work* g)
{
    const int64_t last = g->count - 1;
    const bool all = !g->in->checkpoints;
    perp_status status = PERP_OK;
    int64_t loaded = 0; /* state at the begin of the tape */
    memset(g->y, 0, (size_t)g->size.total * sizeof *g->y);
    bool begun = false;
    for (int64_t k = last; status == PERP_OK && k >= 0; --k) {
        if (!all &&
            (k == last || (k == loaded && k > 0))) { /* the state before it is needed, too */
            const int64_t segment = k > 0 ? (k - 1) / g->stride : 0;
            status = load_segment(g, segment);
            loaded = segment * g->stride;
        }
        if (status != PERP_OK) {
            break;
        }
        const size_t frame = (size_t)(k - loaded);
        const size_t crossing[2] = {k == g->crossing ? frame - 1 : frame,
                                    k == g->crossing ? frame : frame + 1};
        perpi_roll_sample(g, -1.0);
        perpi_gradient_sample(g, k, frame, crossing, g->y);
        perpi_roll_sample(g, 1.0);
        if (k > 0) {
            double* next = g->y_next;
            g->y_next = g->y;
            g->y = next;
            status = begun ? PERP_OK : begin_memory(g, frame);
            begun = true;
            status = status == PERP_OK ? step_back(g, frame) : status;
        }
    }
    return status;
}

/* ---- all -----------------------------------------------------------------------------------------*/

/* Whether a slot stands in the expression of a measure, or of one that it is a measure of. */
static bool has_slot(const perp_sim* sim, int32_t measure, int32_t slot)
{
    bool of_step;
    const perpi_expr* expr = perpi_measures_expr(sim, measure, &of_step);
    bool any = perpi_expr_has_slot(expr, slot);
    for (int32_t i = 0; !any && i < measure; ++i) {
        any = perpi_expr_has_slot(expr, i) && has_slot(sim, i, slot);
    }
    return any;
}

perp_status perpi_gradient_check_parameters(perp_sim* sim, const perpi_gradient_input* in)
{
    bool of_step;
    int32_t count;
    const perp_quantity* quantity = perpi_measures_quantities(sim, &count);
    const perpi_expr* expr = perpi_measures_expr(sim, in->measure, &of_step);
    for (int32_t i = 0; i < count; ++i) {
        const bool used = has_slot(sim, in->measure, sim->asked.measure_count + i);
        for (int32_t k = 0; used && k < in->parameter_count; ++k) {
            if (quantity[i].kind == PERP_QUANTITY_DISTANCE && in->parameter[k].geometry) {
                return refuse(sim, "a distance has no derivative by sizes and places of shapes");
            }
        }
    }
    for (int32_t i = 0; in->direction != NULL && i < in->measure; ++i) {
        if (perpi_expr_has_slot(expr, i)) {
            return refuse(sim, "a measure of other measures has no one-sided derivative");
        }
    }
    if (in->mode == PERP_GRADIENT_FORWARD && sim->adaptive) {
        return refuse(sim, "adaptive steps have an adjoint only; leave out --forward");
    }
    return PERP_OK;
}

/* Adds what the start, and light numbers, have of the parameters. */
static void finish_back(perpi_gradient_work* g, double* start)
{
    for (int32_t i = 0; i < g->in->parameter_count; ++i) {
        g->gradient[i] += perpi_gradient_dot(g->size.total, g->y, g->in->parameter[i].start);
    }
    add_light(g);
    if (start != NULL) {
        memcpy(start, g->y, (size_t)g->size.total * sizeof *start);
    }
}

/* Whether impacts have times: fixed steps with restitution. */
static bool impacts_have_times(const perp_sim* sim)
{
    return sim->work.offset_at >= 0;
}

perp_status perpi_gradient_run(perp_sim* sim, const perpi_gradient_input* in, double* value,
                               double* gradient, double* start, perp_gradient_flags* flags)
{
    bool of_step;
    perpi_gradient_work g = {.sim = sim,
                             .context = sim->context,
                             .model = sim->model,
                             .in = in,
                             .kind = sim->asked.measure[in->measure].kind,
                             .expr = perpi_measures_expr(sim, in->measure, &of_step),
                             .slot_base = sim->asked.measure_count,
                             .size = perpi_linear_size_of(sim->model),
                             .gradient = gradient,
                             .flags = flags,
                             .first_other = NAN};
    g.quantity = perpi_measures_quantities(sim, &g.quantity_count);
    const bool forward = in->mode == PERP_GRADIENT_FORWARD;
    *flags = (perp_gradient_flags){.margin = INFINITY, .margin_time = NAN, .first_time = NAN};
    for (int32_t i = 0; i < in->parameter_count; ++i) {
        gradient[i] = 0.0;
    }
    perp_status status = perpi_gradient_check_parameters(sim, in);
    if (status != PERP_OK) {
        return status;
    }
    perpi_tape_begin(&g.tape, sim);
    perpi_tape_begin(&g.without, sim);
    sim->without = impacts_have_times(sim) ? &g.without : NULL;
    status = perpi_gradient_allocate(&g);
    if (status == PERP_OK && !forward) {
        status = perpi_uses_create(&g, &g.uses);
    }
    if (status == PERP_OK) {
        status = run_forward(&g, value);
    }
    flags->steps = g.count - 1;
    if (status == PERP_OK) {
        status = in->direction != NULL ? perpi_gradient_run_direction(&g)
                 : forward             ? perpi_gradient_run_forward(&g)
                 : sim->adaptive       ? perpi_gradient_back_adaptive(&g)
                                       : run_back(&g);
    }
    if (status == PERP_OK && !forward) {
        finish_back(&g, start);
        perpi_roll_finish(&g);
    }
    perpi_gradient_free(&g);
    return status;
}
