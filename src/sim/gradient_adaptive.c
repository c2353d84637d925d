/* src/sim/gradient_adaptive.c - adjoint of adaptive steps and of the impacts between them.
 *
 * Method     docs/notation.md, "Gradients along a run"
 *
 * The sequence of steps is frozen: their lengths, and which of them end at an impact. Then
 *   - an adaptive step is the combination of three steps, 2 (two halves) - (one whole);
 *   - the time of an impact is where the gap of its contact vanishes, gap(x(h)) = 0. A displacement a of the state at
 *     fixed h changes h by dh = -(d gap . a) / (d gap . dx/dh) and the state to a + dx/dh dh (the saltation term);
 *   - the last steps end at the duration: what impacts before them took longer, they are shorter.
 * Beside the derivatives y by the state, the one by its time is carried back.
 */
#include <string.h>

#include "contact/derivative.h"
#include "sim/gradient_run.h"

enum { VARIATIONS = 4 };
static const double PLACE[VARIATIONS] = {-2.0, -1.0, 1.0, 2.0};
static const double WEIGHT[VARIATIONS] = {1.0 / 12.0, -8.0 / 12.0, 8.0 / 12.0, -1.0 / 12.0};
/* Of the length of a step, where rows are active that depend on it; else of the duration: what a
 * short step changes is lost in the rounding of what it does not. */
static const double DELTA = 1e-3, DELTA_FREE = 1e-5;

typedef struct adaptive_back {
    perpi_gradient_work* g;
    size_t* frame; /* of each state of the run */
    double* room;  /* of the vectors below */
    double* by_h;  /* dx/dh of a step */
    double *whole, *half, *second, *gap, *seed;
    perpi_pose* pose;
    bool varies;    /* forces or motions depend on time */
    double by_time; /* d measure / d (time of the present state) */
} adaptive_back;

static double product(int32_t n, const double* a, const double* b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

static bool value_varies(const perpi_value* value, int count)
{
    bool any = false;
    for (int i = 0; i < count; ++i) {
        any = any || perpi_value_varies(&value[i]);
    }
    return any;
}

static bool model_varies(const perp_model* model)
{
    bool any = false;
    for (size_t i = 0; i < model->body_count; ++i) {
        any = any || model->body[i].type == PERP_BODY_KINEMATIC;
    }
    for (size_t i = 0; i < model->wrench_count; ++i) {
        any = any || value_varies(model->wrench[i].force, 3) ||
              value_varies(model->wrench[i].torque, 3);
    }
    for (size_t i = 0; i < model->shape_count; ++i) {
        any = any || value_varies(model->surface[i].velocity, 3);
    }
    for (size_t i = 0; i < model->joint_count; ++i) {
        any = any || value_varies(&model->joint[i].target, 1);
    }
    for (size_t i = 0; i < model->controller_count; ++i) {
        any = any || value_varies(&model->controller[i].target, 1);
    }
    return any;
}

/* ---- the extrapolated state ------------------------------------------------------------------------*/

/* The rotation after extrapolation, q = unit(2 b - a), by rotations of b and a: 3 x 3 each. */
static void extrapolated_turn(quat a, quat b, mat3* by_a, mat3* by_b)
{
    const quat u = {2.0 * b.w - a.w, 2.0 * b.x - a.x, 2.0 * b.y - a.y, 2.0 * b.z - a.z};
    const double length = sqrt(u.w * u.w + u.x * u.x + u.y * u.y + u.z * u.z);
    const quat unit = q4_unit(u);
    for (int k = 0; k < 3; ++k) {
        const quat half = {0.0, k == 0 ? 0.5 : 0.0, k == 1 ? 0.5 : 0.0, k == 2 ? 0.5 : 0.0};
        for (int side = 0; side < 2; ++side) {
            /* d unit = (d u - unit (unit . d u)) / length; the rotation is 2 (d unit) conj(unit) */
            const quat d = q4_mul(half, side == 0 ? a : b);
            const quat r = q4_mul(d, q4_conj(unit));
            const double s = (side == 0 ? -2.0 : 4.0) / length;
            mat3* out = side == 0 ? by_a : by_b;
            out->m[0][k] = s * r.x;
            out->m[1][k] = s * r.y;
            out->m[2][k] = s * r.z;
        }
    }
}

static quat orientation(const perpi_tape* t, size_t frame, int32_t body)
{
    const double* q = perpi_tape_q(t, frame) + 7 * (size_t)body + 3;
    return (quat){q[0], q[1], q[2], q[3]};
}

/* Whether the state is that after the two halves, not extrapolated. */
static bool is_plain(const perpi_tape* t, size_t frame)
{
    return memcmp(perpi_tape_q(t, frame), perpi_tape_q(t, frame - 1),
                  (size_t)t->q_size * sizeof(double)) == 0 &&
           memcmp(perpi_tape_v(t, frame), perpi_tape_v(t, frame - 1),
                  (size_t)t->v_size * sizeof(double)) == 0;
}

/* out = of the extrapolated state, from displacements after the second half and after the whole
 * step; transposed: second and whole from out. */
static void extrapolate(const adaptive_back* x, size_t frame, bool transposed, double* second,
                        double* whole, double* out)
{
    const perpi_gradient_work* g = x->g;
    const bool plain = is_plain(&g->tape, frame);
    const double b = plain ? 1.0 : 2.0, a = plain ? 0.0 : -1.0;
    for (int32_t i = 0; i < g->size.total; ++i) {
        if (transposed) {
            second[i] = b * out[i];
            whole[i] = a * out[i];
        } else {
            out[i] = b * second[i] + a * whole[i];
        }
    }
    for (int32_t i = 0; g->model->dimension == 3 && !plain && i < (int32_t)g->model->body_count;
         ++i) {
        mat3 by_a, by_b;
        const int32_t at = g->size.q + 6 * i + 3;
        extrapolated_turn(orientation(&g->tape, frame - 3, i), orientation(&g->tape, frame - 1, i),
                          &by_a, &by_b);
        if (transposed) {
            v3_to(m3_tmul(by_b, v3_from(out + at)), second + at);
            v3_to(m3_tmul(by_a, v3_from(out + at)), whole + at);
        } else {
            v3_to(v3_add(m3_mul(by_b, v3_from(second + at)), m3_mul(by_a, v3_from(whole + at))),
                  out + at);
        }
    }
}

/* ---- steps ---------------------------------------------------------------------------------------*/

/* The step between two frames, linearised. */
static perp_status make_step(adaptive_back* x, size_t from, size_t frame, bool transposed)
{
    perpi_gradient_work* g = x->g;
    perpi_taken_step step = perpi_gradient_step(g, from, frame);
    step.q_before = NULL; /* adaptive steps have no rule for rolling contacts */
    step.contact_before = NULL;
    step.contact_before_count = 0;
    const perpi_linear_options options = {.transposed = transposed, .threshold = g->in->threshold};
    const perp_status status = perpi_linear_step_make(g->linear, &step, &options);
    return status == PERP_OK ? perpi_gradient_room(g) : status;
}

/* d of the step by its time and its length, along (dt, dh), into g->parameter. */
static perp_status vary_time(perpi_gradient_work* g, double h, double dt, double dh)
{
    const size_t size = (size_t)perpi_linear_step_parameter_size(g->linear);
    const double own = DELTA * h, wide = DELTA_FREE * g->sim->def.duration;
    const bool free = perpi_linear_step_free(g->linear) || dh == 0.0;
    const double delta = free && wide > own ? wide : own;
    perp_status status = PERP_OK;
    memset(g->parameter, 0, size * sizeof *g->parameter);
    for (int k = 0; status == PERP_OK && k < VARIATIONS; ++k) {
        const perpi_variation by = {
            .model = g->model, .dt = PLACE[k] * delta * dt, .dh = PLACE[k] * delta * dh};
        status = perpi_linear_step_vary(g->linear, &by, WEIGHT[k] / delta, g->parameter);
    }
    return status;
}

/* dx/dh of the adaptive step that ends in `frame`, into x->by_h. */
static perp_status differentiate_length(adaptive_back* x, size_t frame, size_t from)
{
    perpi_gradient_work* g = x->g;
    const double h = g->tape.frame[frame].h;
    const size_t n = (size_t)g->size.total;
    perp_status status = make_step(x, from, frame - 3, false);
    memset(x->seed, 0, n * sizeof *x->seed);
    if (status == PERP_OK) {
        status = vary_time(g, h, 0.0, 1.0);
    }
    if (status == PERP_OK) {
        status = perpi_linear_step_forward(g->linear, x->seed, g->parameter, x->whole);
    }
    if (status == PERP_OK) {
        status = make_step(x, from, frame - 2, false);
    }
    if (status == PERP_OK) {
        status = vary_time(g, 0.5 * h, 0.0, 0.5);
    }
    if (status == PERP_OK) {
        status = perpi_linear_step_forward(g->linear, x->seed, g->parameter, x->half);
    }
    if (status == PERP_OK) {
        status = make_step(x, frame - 2, frame - 1, false);
    }
    if (status == PERP_OK) {
        status = vary_time(g, 0.5 * h, 0.5, 0.5);
    }
    if (status == PERP_OK) {
        status = perpi_linear_step_forward(g->linear, x->half, g->parameter, x->second);
    }
    if (status == PERP_OK) {
        extrapolate(x, frame, false, x->second, x->whole, x->by_h);
    }
    return status;
}

/* One of the three steps, backwards: y += of its start by seed after it. */
static perp_status part_back(adaptive_back* x, size_t from, size_t frame, const double* seed,
                             double* y)
{
    perpi_gradient_work* g = x->g;
    const double h = g->tape.frame[frame].h;
    perp_status status = make_step(x, from, frame, true);
    if (status != PERP_OK) {
        return status;
    }
    const int32_t size = perpi_linear_step_parameter_size(g->linear);
    double* multiplier = g->parameter + size;
    status = perpi_linear_step_adjoint(g->linear, seed, g->other, multiplier);
    for (int32_t i = 0; status == PERP_OK && i < g->size.total; ++i) {
        y[i] += g->other[i];
    }
    for (int32_t i = 0; status == PERP_OK && i < g->in->parameter_count; ++i) {
        if (g->in->parameter[i].steps) {
            status = perpi_gradient_vary(g, &g->in->parameter[i]);
            g->gradient[i] += product(size, g->parameter, multiplier);
        }
    }
    if (status == PERP_OK && x->varies) {
        status = vary_time(g, h, 1.0, 0.0);
        x->by_time += product(size, g->parameter, multiplier);
    }
    if (status == PERP_OK) {
        perpi_gradient_count(g, &g->tape.frame[frame], false);
    }
    return status;
}

/* ---- the time of an impact -------------------------------------------------------------------------*/

/* The contact whose gap vanishes at the impact: of those that push, the one that is met fastest.
 * NULL: none. *several: others meet at the same time. */
static const perp_contact* meeting_contact(const perpi_tape* t, size_t impact, bool* several)
{
    const perp_contact* list = perpi_tape_contact(t, impact);
    const perp_contact* best = NULL;
    int32_t count = 0;
    for (int32_t i = 0; i < t->frame[impact].contact_count; ++i) {
        if (list[i].impulse[0] > 0.0) {
            count += 1;
            best = best == NULL || list[i].impulse[0] > best->impulse[0] ? &list[i] : best;
        }
    }
    *several = count > 1;
    return best;
}

/* d gap by the state, into x->gap. */
static perp_status differentiate_gap(adaptive_back* x, size_t frame, const perp_contact* contact)
{
    perpi_gradient_work* g = x->g;
    const perp_model* model = g->model;
    const int32_t n = perpi_v_stride(model);
    perpi_contact_derivative d;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        x->pose[i] = perpi_state_pose(model, perpi_tape_q(&g->tape, frame), i);
    }
    memset(x->gap, 0, (size_t)g->size.total * sizeof *x->gap);
    const perp_status status = perpi_contact_derivative_at(model, x->pose, contact, &d);
    for (int c = 0; status == PERP_OK && c < 12; ++c) {
        const int32_t body = c < 6 ? contact->body_a : contact->body_b;
        const int32_t k = n == 6 ? c % 6 : c % 6 == 5 ? 2 : c % 6 < 2 ? c % 6 : -1;
        if (k >= 0) {
            x->gap[g->size.q + n * body + k] += d.gap[c];
        }
    }
    return status;
}

/* gradient += factor d gap / d parameter at fixed poses. */
static perp_status add_gap_by_parameters(adaptive_back* x, const perp_contact* contact,
                                         double factor)
{
    perpi_gradient_work* g = x->g;
    perpi_frozen_contact frozen;
    perp_status status = perpi_contact_freeze(g->model, x->pose, contact, &frozen);
    for (int32_t i = 0; status == PERP_OK && i < g->in->parameter_count; ++i) {
        const perpi_gradient_parameter* p = &g->in->parameter[i];
        for (int k = 0; status == PERP_OK && p->geometry && k < PERPI_GRADIENT_MODELS; ++k) {
            perpi_contact_geometry at;
            status = perpi_frozen_at(p->model[k], x->pose, &frozen, &at);
            g->gradient[i] += status == PERP_OK ? factor * p->weight[k] * at.gap : 0.0;
        }
    }
    return status;
}

/* g->y becomes that at fixed length of the step, if it ends at an impact. */
static perp_status take_event(adaptive_back* x, size_t frame, size_t impact, double by_length)
{
    perpi_gradient_work* g = x->g;
    bool several;
    const perp_contact* contact = meeting_contact(&g->tape, impact, &several);
    if (contact == NULL) {
        return PERP_OK;
    }
    perp_status status = differentiate_gap(x, frame, contact);
    if (status != PERP_OK) {
        return status;
    }
    const double speed = product(g->size.total, x->gap, x->by_h);
    const double factor = by_length / speed;
    for (int32_t i = 0; i < g->size.total; ++i) {
        g->y[i] -= factor * x->gap[i];
    }
    g->tape.frame[frame].flags |= several ? PERPI_LINEAR_CHOICE : 0;
    return add_gap_by_parameters(x, contact, -factor);
}

/* The part of the change of time by which a step is shorter: the last ones end at the duration. */
static double shortened(const adaptive_back* x, size_t frame, size_t from)
{
    const perpi_tape* t = &x->g->tape;
    const double end = x->g->sim->def.duration, begin = t->frame[from].time;
    if (t->frame[frame].time >= end) {
        return 1.0;
    }
    return t->frame[frame].time == begin + 0.5 * (end - begin) ? 0.5 : 0.0;
}

/* Contacts that take part have a gap term whose scale depends on the step's length (closed.c). */
static void flag_closed(perpi_tape* t, size_t frame)
{
    for (size_t part = frame - 3; part < frame; ++part) {
        const perp_contact* list = perpi_tape_contact(t, part);
        for (int32_t i = 0; i < t->frame[part].contact_count; ++i) {
            if (list[i].impulse[0] > 0.0) {
                t->frame[part].flags |= PERPI_LINEAR_CHOICE;
            }
        }
    }
}

/* From state k, in g->y, to the one before it. */
static perp_status time_step_back(adaptive_back* x, int64_t k)
{
    perpi_gradient_work* g = x->g;
    const size_t frame = x->frame[k], from = x->frame[k - 1];
    const size_t n = (size_t)g->size.total;
    const bool event = k + 1 < g->count && g->tape.frame[x->frame[k + 1]].kind != PERP_STEP_TIME;
    const double shorter = event ? 0.0 : shortened(x, frame, from);
    perp_status status = PERP_OK;
    flag_closed(&g->tape, frame);
    if (event || shorter != 0.0) {
        status = differentiate_length(x, frame, from);
        const double by_length = product(g->size.total, g->y, x->by_h) + x->by_time;
        x->by_time -= shorter * by_length;
        if (status == PERP_OK && event) {
            status = take_event(x, frame, x->frame[k + 1], by_length);
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    extrapolate(x, frame, true, x->second, x->whole, g->y);
    memset(x->half, 0, n * sizeof *x->half);
    memset(g->y_next, 0, n * sizeof *g->y_next);
    status = part_back(x, frame - 2, frame - 1, x->second, x->half);
    if (status == PERP_OK) {
        status = part_back(x, from, frame - 2, x->half, g->y_next);
    }
    if (status == PERP_OK && !is_plain(&g->tape, frame)) {
        status = part_back(x, from, frame - 3, x->whole, g->y_next);
    }
    double* y = g->y;
    g->y = g->y_next;
    g->y_next = y;
    return status;
}

static perp_status impact_back(adaptive_back* x, int64_t k)
{
    perpi_gradient_work* g = x->g;
    const size_t frame = x->frame[k], from = x->frame[k - 1];
    perpi_taken_step step = perpi_gradient_step(g, from, frame);
    step.impact = true;
    step.carries = step.corrected = false;
    step.q_before = NULL;
    step.contact_before = NULL;
    step.contact_before_count = 0;
    const perpi_linear_options options = {.transposed = true, .threshold = g->in->threshold};
    perp_status status = perpi_linear_step_make(g->linear, &step, &options);
    if (status == PERP_OK) {
        status = perpi_gradient_room(g);
    }
    if (status != PERP_OK) {
        return status;
    }
    const int32_t size = perpi_linear_step_parameter_size(g->linear);
    double* multiplier = g->parameter + size;
    status = perpi_linear_step_adjoint(g->linear, g->y, g->y_next, multiplier);
    for (int32_t i = 0; status == PERP_OK && i < g->in->parameter_count; ++i) {
        if (g->in->parameter[i].steps) {
            status = perpi_gradient_vary(g, &g->in->parameter[i]);
            g->gradient[i] += product(size, g->parameter, multiplier);
        }
    }
    if (status == PERP_OK) {
        perpi_gradient_count(g, &g->tape.frame[frame], false);
    }
    double* y = g->y;
    g->y = g->y_next;
    g->y_next = y;
    return status;
}

/* ---- the run -------------------------------------------------------------------------------------*/

static perp_status allocate_back(adaptive_back* x)
{
    perpi_gradient_work* g = x->g;
    const size_t n = (size_t)g->size.total;
    perp_status status = perpi_alloc(g->context, (size_t)g->count, sizeof *x->frame, &x->frame);
    if (status == PERP_OK) {
        status = perpi_alloc(g->context, 6 * n, sizeof *x->room, &x->room);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(g->context, g->model->body_count, sizeof *x->pose, &x->pose);
    }
    if (status == PERP_OK) {
        x->by_h = x->room;
        x->whole = x->by_h + n;
        x->half = x->whole + n;
        x->second = x->half + n;
        x->gap = x->second + n;
        x->seed = x->gap + n;
        size_t k = 0;
        for (size_t i = 0; i < g->tape.count; ++i) {
            if (g->tape.frame[i].role == PERPI_TAPE_STATE) {
                x->frame[k++] = i;
            }
        }
    }
    return status;
}

perp_status perpi_gradient_back_adaptive(perpi_gradient_work* g)
{
    adaptive_back x = {.g = g, .varies = model_varies(g->model)};
    perp_status status = allocate_back(&x);
    if (status == PERP_OK) {
        memset(g->y, 0, (size_t)g->size.total * sizeof *g->y);
    }
    for (int64_t k = g->count - 1; status == PERP_OK && k >= 0; --k) {
        const size_t crossing[2] = {g->crossing > 0 ? x.frame[g->crossing - 1] : 0,
                                    g->crossing > 0 ? x.frame[g->crossing] : 0};
        perpi_gradient_sample(g, k, x.frame[k], crossing, g->y);
        x.by_time += perpi_gradient_sample_time(g, k, x.frame);
        if (k > 0) {
            status = g->tape.frame[x.frame[k]].kind == PERP_STEP_TIME ? time_step_back(&x, k)
                                                                      : impact_back(&x, k);
        }
    }
    perpi_free(g->context, x.frame);
    perpi_free(g->context, x.room);
    perpi_free(g->context, x.pose);
    return status;
}
