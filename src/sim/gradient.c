/* src/sim/gradient.c - derivatives of a measure along a run, forward or by the adjoint.
 *
 * Method     docs/notation.md, "Derivatives of a step" and "Gradients along a run"
 *
 * A measure is a sum over samples (the states of the run) of weight times the change of its expression: at the end, at
 * the largest or smallest sample, of the trapezoidal rule, or at the two samples between which a condition becomes
 * true. Forward: displacements of the state by each parameter are carried from step to step. Adjoint: derivatives by
 * the state are carried back; a step adds what its parameters change, by its multipliers. States come from a tape; with
 * checkpoints the tape holds one segment of about sqrt(steps) steps, which is run again from a snapshot.
 */
#include "sim/gradient.h"

#include <string.h>

#include "sim/gradient_quantity.h"
#include "sim/gradient_run.h"
#include "sim/gradient_uses.h"
#include "sim/measure.h"
#include "sim/measure_timed.h"
#include "sim/tape.h"
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
    if (sim->adaptive && model->joint_count > 0) {
        return refuse(sim, "adaptive steps with joints have no derivative");
    }
    if (sim->work.settings.joint_middle) {
        return refuse(
            sim, "joint_direction 'middle' has no derivative; give \"joint_direction\": \"start\"");
    }
    if (sim->correction.project != NULL) {
        return refuse(sim, "joint_correction has no derivative; set it to false");
    }
    if (sim->user.on_step != NULL || sim->user.callback_count > 0) {
        return refuse(sim, "steps that user code takes part in have no derivative");
    }
    if (sim->def.allow_overlap) {
        return refuse(sim, "allow_overlap moves bodies at the start, which has no derivative");
    }
    for (size_t i = 0; i < sim->model->controller_count; ++i) {
        if (sim->model->controller[i].gravity) {
            return refuse(sim, "feed-forward of gravity has no derivative");
        }
    }
    for (size_t i = 0; i < sim->model->joint_count; ++i) {
        if (sim->model->joint[i].type == PERP_JOINT_GEAR || sim->model->joint[i].armature > 0.0) {
            return refuse(sim, "gears and armature of joints have no derivative");
        }
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
    return status == PERP_OK ? perpi_linear_step_create(g->context, &g->linear) : status;
}

void perpi_gradient_free(perpi_gradient_work* g)
{
    g->sim->without = NULL;
    perpi_tape_free(&g->tape);
    perpi_tape_free(&g->without);
    perpi_uses_destroy(g->uses);
    perpi_linear_step_destroy(g->linear);
    perpi_roll_free(g);
    void* const owned[] = {g->before,    g->light_room, g->room,         g->time,
                           g->parameter, g->joint,      g->snapshot,     g->snapshot_at,
                           g->memory[0], g->memory[1],  g->memory_other, g->loose};
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
        memcpy(g->before + g->kept * g->tape.q_size, g->q, (size_t)g->tape.q_size * sizeof *g->q);
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

/* ---- samples -------------------------------------------------------------------------------------*/

/* Weight of state k in a window (measure_timed.h): the expression is linear in a step. */
double perpi_gradient_window_weight(const perpi_gradient_work* g, int64_t k,
                                    const perp_measure_def* def, double window)
{
    const double every = def->every > 0.0 ? def->every : def->over;
    const double begin = g->time[0], end = begin + window * every;
    double weight = 0.0;
    for (int side = 0; side < 2; ++side) { /* the steps before and after the state */
        const int64_t from = k - 1 + side;
        if (from < 0 || from + 1 >= g->count || !(end > begin)) {
            continue;
        }
        const double t0 = g->time[from], t1 = g->time[from + 1];
        const double a = end - def->over > t0 ? end - def->over : t0, b = end < t1 ? end : t1;
        const double part = (0.5 * (a + b) - t0) / (t1 - t0);
        weight += b > a ? (b - a) * (side == 0 ? part : 1.0 - part) : 0.0;
    }
    return weight / (def->kind == PERP_MEASURE_MEAN ? def->over : 1.0);
}

/* Weight of state k in the measure; of a condition that becomes true, of its margin. */
static double weight_of(const perpi_gradient_work* g, int64_t k)
{
    const int64_t last = g->count - 1;
    const double left = k > 0 ? g->time[k] - g->time[k - 1] : 0.0;
    const double right = k < last ? g->time[k + 1] - g->time[k] : 0.0;
    const double span = g->time[last] - g->time[0];
    const perp_measure_def* def = &g->sim->asked.measure[g->in->measure];
    if (def->over > 0.0) {
        /* the last one that has ended */
        const double every = def->every > 0.0 ? def->every : def->over;
        return perpi_gradient_window_weight(g, k, def,
                                            perpi_timed_passed(g->time[last] - g->time[0], every));
    }
    switch (g->kind) {
    case PERP_MEASURE_MAX:
    case PERP_MEASURE_MIN: return k == g->extreme ? 1.0 : 0.0;
    case PERP_MEASURE_MEAN:
        return span > 0.0 ? 0.5 * (left + right) / span : (k == last ? 1.0 : 0.0);
    case PERP_MEASURE_INTEGRAL: return 0.5 * (left + right);
    case PERP_MEASURE_SUM: {
        const double every = def->every;
        const double begin = g->time[0];
        return k == 0 ? 0.0
                      : perpi_timed_passed(g->time[k] - begin, every) -
                            perpi_timed_passed(g->time[k - 1] - begin, every);
    }
    case PERP_MEASURE_FIRST_TIME:
        return g->crossing > 0 && (k == g->crossing || k == g->crossing - 1) ? 1.0 : 0.0;
    default: return k == last ? 1.0 : 0.0;
    }
}

perpi_view perpi_gradient_view(const perpi_gradient_work* g, size_t frame)
{
    const perpi_tape* t = &g->tape;
    return (perpi_view){.model = g->model,
                        .sim = g->sim,
                        .q = perpi_tape_q(t, frame),
                        .v = perpi_tape_v(t, frame),
                        .memory = perpi_tape_s(t, frame),
                        .joint = perpi_tape_joint(t, frame)};
}

void perpi_gradient_read_slots(const perpi_gradient_work* g, const perpi_expr* expr,
                               const perpi_view* view)
{
    for (int32_t i = 0; i < g->quantity_count; ++i) {
        if (perpi_expr_has_slot(expr, g->slot_base + i)) {
            g->slot[g->slot_base + i] = perpi_quantity_at(view, &g->quantity[i]);
        }
    }
}

/* The margin of the condition at a state. */
static double margin_at(const perpi_gradient_work* g, size_t frame, int64_t k)
{
    double margin = NAN;
    const double t = g->time[k];
    const perpi_view view = perpi_gradient_view(g, frame);
    perpi_uses_read(g->uses, k);
    perpi_gradient_read_slots(g, g->expr, &view);
    (void)perpi_expr_margin(g->expr, t, g->slot, &margin);
    return margin;
}

/* d (time of the crossing) / d (margin at state k): between the states the margin is linear in time. */
static double crossing_weight(const perpi_gradient_work* g, int64_t k, double before, double after)
{
    const double span = g->time[g->crossing] - g->time[g->crossing - 1];
    const double rise = after - before;
    if (!(before <= 0.0) || !(rise > 0.0)) {
        return 0.0; /* the time of a step, which is fixed */
    }
    return span * (k == g->crossing ? before : -after) / (rise * rise);
}

/* Energies, momenta and coordinates of joints depend on the model itself, too. */
void perpi_gradient_add_quantity(const perpi_gradient_work* g, const perpi_view* view,
                                 const perp_quantity* quantity, double weight, double* gradient)
{
    const bool depends =
        quantity->kind == PERP_QUANTITY_ENERGY || quantity->kind == PERP_QUANTITY_MOMENTUM ||
        quantity->kind == PERP_QUANTITY_ANGULAR_MOMENTUM ||
        quantity->kind == PERP_QUANTITY_COORDINATE || quantity->kind == PERP_QUANTITY_RATE;
    for (int32_t i = 0; depends && i < g->in->parameter_count; ++i) {
        const perpi_gradient_parameter* p = &g->in->parameter[i];
        for (int n = 0; p->model[0] != NULL && n < PERPI_GRADIENT_MODELS; ++n) {
            perpi_view x = *view;
            x.model = p->model[n];
            gradient[i] += weight * p->weight[n] * perpi_quantity_at(&x, quantity);
        }
    }
}

double perpi_gradient_by_slot(const perpi_gradient_work* g, int32_t measure, double t, int32_t slot)
{
    bool of_step;
    const perpi_expr* expr = perpi_measures_expr(g->sim, measure, &of_step);
    double by = 0.0, margin;
    if (g->sim->asked.measure[measure].kind == PERP_MEASURE_FIRST_TIME) {
        (void)perpi_expr_margin_derivative(expr, t, g->slot, slot, &margin, &by);
        return by;
    }
    return perpi_expr_slot_derivative(expr, t, g->slot, slot);
}

/* y += weight d expression / d state; of the parameters, what the expression itself has of them. */
void perpi_gradient_add_sample(perpi_gradient_work* g, int32_t measure, int64_t k, size_t frame,
                               double weight, double* y)
{
    bool of_step;
    const perpi_expr* own = perpi_measures_expr(g->sim, measure, &of_step);
    const perpi_view view = perpi_gradient_view(g, frame);
    const double t = g->time[k];
    const bool condition = g->sim->asked.measure[measure].kind == PERP_MEASURE_FIRST_TIME;
    perpi_gradient_read_slots(g, own, &view);
    for (int32_t i = 0; i < g->quantity_count; ++i) {
        const int32_t slot = g->slot_base + i;
        if (!perpi_expr_has_slot(own, slot)) {
            continue;
        }
        const double by = perpi_gradient_by_slot(g, measure, t, slot);
        if (by != 0.0) {
            perpi_quantity_differentiate(&view, &g->quantity[i], weight * by, g->q, g->v, y);
            perpi_gradient_add_quantity(g, &view, &g->quantity[i], weight * by, g->gradient);
        }
    }
    for (int32_t i = 0; i < g->in->parameter_count; ++i) {
        const perpi_gradient_parameter* p = &g->in->parameter[i];
        perpi_expr* const* expr =
            p->expr != NULL ? p->expr + PERPI_GRADIENT_MODELS * measure : NULL;
        for (int n = 0; expr != NULL && expr[0] != NULL && n < PERPI_GRADIENT_MODELS; ++n) {
            double value = 0.0;
            if (condition) {
                (void)perpi_expr_margin(expr[n], t, g->slot, &value);
            } else {
                value = perpi_expr_eval_names(expr[n], t, g->slot);
            }
            g->gradient[i] += weight * p->weight[n] * value;
        }
    }
}

void perpi_gradient_sample(perpi_gradient_work* g, int64_t k, size_t frame,
                           const size_t crossing[2], double* y)
{
    double weight = weight_of(g, k);
    if (weight != 0.0 && g->kind == PERP_MEASURE_FIRST_TIME) {
        weight = crossing_weight(g, k, margin_at(g, crossing[0], g->crossing - 1),
                                 margin_at(g, crossing[1], g->crossing));
    }
    if (weight != 0.0 && g->uses == NULL) {
        perpi_gradient_add_sample(g, g->in->measure, k, frame, weight, y);
    }
    if (g->uses != NULL) {
        perpi_uses_sample(g->uses, k, frame, weight, y);
    }
}

/* The expression at a state. */
static double expression_at(const perpi_gradient_work* g, int64_t k, size_t frame)
{
    const perpi_view view = perpi_gradient_view(g, frame);
    perpi_gradient_read_slots(g, g->expr, &view);
    return perpi_expr_eval_names(g->expr, g->time[k], g->slot);
}

double perpi_gradient_sample_time(perpi_gradient_work* g, int64_t k, const size_t* frame)
{
    const int64_t last = g->count - 1;
    const double weight = weight_of(g, k);
    const bool area = g->kind == PERP_MEASURE_INTEGRAL || g->kind == PERP_MEASURE_MEAN;
    double by = 0.0;
    if (g->kind == PERP_MEASURE_FIRST_TIME) {
        if (weight == 0.0) {
            return 0.0;
        }
        const double before = margin_at(g, frame[g->crossing - 1], g->crossing - 1);
        const double after = margin_at(g, frame[g->crossing], g->crossing);
        const bool between = before <= 0.0 && after > before;
        const double part = between ? -before / (after - before) : 1.0;
        return k == g->crossing ? part : 1.0 - part;
    }
    if (weight != 0.0) {
        const perpi_view view = perpi_gradient_view(g, frame[k]);
        perpi_gradient_read_slots(g, g->expr, &view);
        by = weight * perpi_expr_slot_derivative(g->expr, g->time[k], g->slot, -1);
    }
    if (area) { /* the trapezoidal rule */
        const double span = g->time[last] - g->time[0];
        const double f = expression_at(g, k, frame[k]);
        const double left = k > 0 ? expression_at(g, k - 1, frame[k - 1]) + f : 0.0;
        const double right = k < last ? expression_at(g, k + 1, frame[k + 1]) + f : 0.0;
        const double edge = 0.5 * (left - right);
        by += g->kind == PERP_MEASURE_INTEGRAL ? edge : span > 0.0 ? edge / span : 0.0;
    }
    return by;
}

/* ---- one step ------------------------------------------------------------------------------------*/

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
                        const perp_joint_record* end, perpi_joint_input* joint)
{
    for (int32_t i = 0; i < g->tape.joint_count; ++i) {
        joint[i] = (perpi_joint_input){.turns = {start[i].turns[0], start[i].turns[1]},
                                       .target = end[i].target,
                                       .effort = end[i].applied,
                                       .ease = 1.0};
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
    join_inputs(g, perpi_tape_joint(t, from), perpi_tape_joint(w, i), joint);
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
                                         .offset = offset_of(g, perpi_tape_s(t, from))};
    return &g->step_without;
}

/* An impact of fixed steps happens in the step that follows it. */
static void make_impact(perpi_gradient_work* g, size_t from, size_t frame, perpi_taken_step* step)
{
    const int32_t at = g->sim->work.offset_at;
    step->impact = true;
    step->carries = false;
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
    join_inputs(g, perpi_tape_joint(t, from), perpi_tape_joint(t, frame), g->joint);
    perpi_taken_step step = {.in = {.model = g->model,
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
                             .q_before = before,
                             .contact_before = before != NULL ? perpi_tape_contact(t, from) : NULL,
                             .contact_before_count =
                                 before != NULL ? t->frame[from].contact_count : 0,
                             .h_before = t->frame[from].h,
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

perp_status perpi_gradient_room(perpi_gradient_work* g)
{
    const size_t size = (size_t)perpi_linear_step_parameter_size(g->linear);
    return perpi_grow(g->context, &g->parameter, &g->parameter_capacity, 3 * size,
                      sizeof *g->parameter);
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
    for (int32_t i = 0; status == PERP_OK && i < g->in->parameter_count; ++i) {
        if (perpi_gradient_enters(g, &g->in->parameter[i])) {
            status = perpi_gradient_vary(g, &g->in->parameter[i]);
            double sum = 0.0;
            for (int32_t k = 0; k < size; ++k) {
                sum += g->parameter[k] * multiplier[k];
            }
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
