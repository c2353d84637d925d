/* src/study/estimate_evaluate.c - residuals and normal equations of trajectories: estimate_evaluate.h. */
#include "study/estimate_evaluate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "study/estimate_predict.h"

/* A request: the task, parameters, start, noise, nodes. A reply: the head, residuals, H, raw, g, nodes. */
typedef struct request_head {
    int32_t trajectory, derivatives;
    double weight;
} request_head;

typedef struct reply_head {
    int32_t status, failed;
    int32_t derivative, has_derivatives;
    int64_t runs, flagged;
    double cost, gap;
    char message[PERPI_PART_MESSAGE];
} reply_head;

double perpi_loss_of(const perpi_estimate* e, double r, double* weight, double* slope)
{
    const double c = e->loss_scale, a = fabs(r);
    *weight = *slope = 1.0;
    if (e->loss == PERPI_LOSS_HUBER && a > c) {
        *weight = c / a;
        *slope = 0.0;
        return c * a - 0.5 * c * c;
    }
    if (e->loss == PERPI_LOSS_CAUCHY) {
        const double q = r / c, s = 1.0 + q * q;
        *weight = 1.0 / s;
        *slope = (1.0 - q * q) / (s * s);
        return 0.5 * c * c * log(s);
    }
    return 0.5 * r * r;
}

/* ---- in a worker --------------------------------------------------------------------------------*/

/* Rows of a trajectory at which segments begin; the last is its last row. */
static int32_t cut(const perpi_evaluator* ev, const perpi_trajectory* t, int32_t j)
{
    return (int32_t)((int64_t)(t->rows - 1) * j / (ev->nodes + 1));
}

typedef struct reply_view {
    reply_head* head;
    double *residual, *H, *raw, *g;
    size_t bytes;
} reply_view;

/* Columns of a segment among the unknowns: the parameters, then those of its start. */
static int32_t unknown_of(const perpi_evaluator* ev, int32_t segment, int32_t column)
{
    return column < ev->n ? column : segment == 0 ? column : ev->m + (segment - 1) * ev->M + column;
}

/* Adds one equation, r + row d, to the normal equations. */
static void add_equation(const perpi_evaluator* ev, int32_t segment, const double* row,
                         int32_t columns, double r, double weight, const reply_view* v)
{
    const int32_t N = ev->N;
    for (int32_t a = 0; a < columns; ++a) {
        if (row[a] == 0.0) {
            continue;
        }
        const int32_t i = unknown_of(ev, segment, a);
        v->g[i] += weight * row[a] * r;
        for (int32_t b = 0; b <= a; ++b) {
            const double x = row[a] * row[b];
            const int32_t j = unknown_of(ev, segment, b);
            v->H[i * N + j] += weight * x;
            v->raw[i * N + j] += x;
        }
    }
}

static void add_rows(const perpi_evaluator* ev, int32_t segment, int32_t rows, int32_t columns,
                     const double* residual, bool derive, const reply_view* v)
{
    for (int32_t i = 0; i < rows * ev->e->width; ++i) {
        double weight, slope;
        if (isnan(residual[i])) {
            continue;
        }
        v->head->cost += perpi_loss_of(ev->e, residual[i], &weight, &slope);
        if (derive) {
            add_equation(ev, segment, ev->jacobian + (size_t)i * (size_t)columns, columns,
                         residual[i], weight, v);
        }
    }
}

/* The gaps between the end of a segment and the node behind it. */
static void add_gaps(const perpi_evaluator* ev, int32_t segment, int32_t columns,
                     const perp_body_state* next, double weight, bool derive, const reply_view* v)
{
    const double root = sqrt(weight);
    double by[PERPI_START_COORDINATES];
    int32_t body = -1;
    for (int32_t i = 0; i < ev->M; ++i) {
        const perpi_start* x = &ev->coordinate[i];
        if (x->body != body) {
            body = x->body;
            perpi_state_difference(&next[body], &ev->end[body], ev->planar, by);
        }
        const double gap = by[x->coordinate] / ev->unit[i];
        v->head->cost += 0.5 * weight * gap * gap;
        v->head->gap = fabs(gap) > v->head->gap ? fabs(gap) : v->head->gap;
        if (!derive) {
            continue;
        }
        const double* E = ev->end_jacobian +
                          ((size_t)PERPI_START_COORDINATES * (size_t)body + (size_t)x->coordinate) *
                              (size_t)columns;
        /* of the segment, and of the node: two blocks in one equation */
        const int32_t N = ev->N, node = unknown_of(ev, segment + 1, ev->n + i);
        const double own = -root / ev->unit[i];
        for (int32_t a = 0; a < columns; ++a) {
            ev->row[a] = root * E[a] / ev->unit[i];
        }
        add_equation(ev, segment, ev->row, columns, root * gap, 1.0, v);
        v->g[node] += own * root * gap;
        v->H[node * N + node] += own * own;
        v->raw[node * N + node] += own * own;
        for (int32_t a = 0; a < columns; ++a) { /* nodes come last */
            v->H[node * N + unknown_of(ev, segment, a)] += own * ev->row[a];
            v->raw[node * N + unknown_of(ev, segment, a)] += own * ev->row[a];
        }
    }
}

static reply_view view_reply(const perpi_evaluator* ev, void* reply, int32_t rows, bool derivatives)
{
    const size_t N = (size_t)ev->N;
    reply_view v = {.head = reply};
    v.residual = (double*)(v.head + 1);
    v.H = v.residual + (size_t)rows * (size_t)ev->e->width;
    double* end = v.H;
    if (derivatives) {
        v.raw = v.H + N * N;
        v.g = v.raw + N * N;
        end = v.g + N;
    }
    v.bytes = (size_t)((char*)end - (char*)reply);
    return v;
}

static perp_status evaluate(perpi_evaluator* ev, const request_head* head, const double* number,
                            const perp_body_state* node, reply_view* v)
{
    const perpi_trajectory* t = &ev->e->data.trajectory[head->trajectory];
    const bool derive = head->derivatives != 0;
    for (int32_t i = 0; i < ev->e->channel_count; ++i) {
        ev->e->channel[i].noise = number[ev->N + i];
    }
    for (int32_t j = 0; j <= ev->nodes; ++j) {
        const int32_t first = cut(ev, t, j), last = cut(ev, t, j + 1);
        const int32_t columns = ev->n + (j == 0 ? ev->m : ev->M);
        perpi_prediction x = {.trajectory = t,
                              .first = first,
                              .rows = last - first + 1,
                              .parameter = number,
                              .start = j == 0 ? number + ev->n : NULL,
                              .state = j == 0 ? NULL : node + (size_t)(j - 1) * ev->bodies,
                              .coordinate = j == 0 ? NULL : ev->coordinate,
                              .coordinates = j == 0 ? 0 : ev->M,
                              .residual = v->residual + (size_t)first * (size_t)ev->e->width,
                              .jacobian = derive ? ev->jacobian : NULL,
                              .end = j < ev->nodes ? ev->end : NULL,
                              .end_jacobian = derive && j < ev->nodes ? ev->end_jacobian : NULL};
        const perp_status status = perpi_predictor_predict(ev->predictor, &x);
        v->head->runs += x.info.runs;
        v->head->flagged += x.info.flagged;
        v->head->derivative = (int32_t)x.info.derivative;
        v->head->failed = x.info.failed;
        if (status != PERP_OK) {
            return status;
        }
        add_rows(ev, j, j < ev->nodes ? x.rows - 1 : x.rows, columns, x.residual, derive, v);
        if (j < ev->nodes) {
            add_gaps(ev, j, columns, node + (size_t)j * ev->bodies, head->weight, derive, v);
        }
    }
    return PERP_OK;
}

static size_t work(void* user, const void* request, size_t size, void* reply, size_t room)
{
    perpi_evaluator* ev = user;
    const request_head* head = request;
    const double* number = (const double*)(head + 1);
    const perp_body_state* node = (const perp_body_state*)(number + ev->N + ev->e->channel_count);
    const int32_t rows = ev->e->data.trajectory[head->trajectory].rows;
    reply_view v = view_reply(ev, reply, rows, head->derivatives != 0);
    (void)size;
    PERP_ASSERT(v.bytes <= room);
    memset(reply, 0, v.bytes);
    const perp_status status = evaluate(ev, head, number, node, &v);
    v.head->status = (int32_t)status;
    v.head->has_derivatives = head->derivatives;
    if (status != PERP_OK) {
        (void)snprintf(v.head->message, sizeof v.head->message, "%s",
                       perp_context_error(ev->context));
    }
    for (int32_t a = 0; head->derivatives != 0 && a < ev->N; ++a) {
        for (int32_t b = 0; b < a; ++b) {
            v.H[b * ev->N + a] = v.H[a * ev->N + b];
            v.raw[b * ev->N + a] = v.raw[a * ev->N + b];
        }
    }
    return v.bytes;
}

/* ---- in the parent ------------------------------------------------------------------------------*/

static size_t fill(void* user, int64_t task, void* request)
{
    const perpi_evaluator* ev = user;
    request_head* head = request;
    double* number = (double*)(head + 1);
    *head = (request_head){
        .trajectory = ev->used[task], .derivatives = ev->derivatives, .weight = ev->weight};
    memcpy(number, ev->parameter, (size_t)ev->n * sizeof *number);
    if (ev->own > 0) {
        memcpy(number + ev->n, ev->start + (size_t)task * (size_t)ev->own,
               (size_t)ev->own * sizeof *number);
    }
    memcpy(number + ev->N, ev->noise, (size_t)ev->e->channel_count * sizeof *number);
    perp_body_state* node = (perp_body_state*)(number + ev->N + ev->e->channel_count);
    const size_t nodes = (size_t)ev->nodes * ev->bodies;
    if (nodes > 0) {
        memcpy(node, ev->node + (size_t)task * nodes, nodes * sizeof *node);
    }
    return (size_t)((char*)(node + nodes) - (char*)request);
}

static perp_status take(void* user, int64_t task, const void* reply, size_t size)
{
    perpi_evaluator* ev = user;
    const reply_head* head = reply;
    const int32_t rows = ev->e->data.trajectory[ev->used[task]].rows;
    const size_t N = (size_t)ev->N;
    const reply_view v = view_reply(ev, (void*)(uintptr_t)reply, rows, head->has_derivatives != 0);
    perpi_part* part = &ev->part[task];
    PERP_ASSERT(v.bytes == size);
    part->status = (perp_status)head->status;
    part->failed = head->failed != 0;
    part->cost = head->cost;
    part->gap = head->gap;
    memcpy(part->message, head->message, sizeof part->message);
    memcpy(part->residual, v.residual,
           (size_t)rows * (size_t)ev->e->width * sizeof *part->residual);
    ev->evaluations += 1;
    ev->runs += head->runs;
    if (head->has_derivatives != 0) {
        memcpy(part->H, v.H, N * N * sizeof *v.H);
        memcpy(part->raw, v.raw, N * N * sizeof *v.raw);
        memcpy(part->g, v.g, N * sizeof *v.g);
        ev->flagged += head->flagged;
        ev->derivative = (perpi_derivative)head->derivative;
    }
    if (part->status != PERP_OK && !part->failed) {
        return perpi_fail(ev->context, part->status, "%s", part->message);
    }
    return PERP_OK;
}

static bool stop(void* user)
{
    const perpi_evaluator* ev = user;
    return ev->stop != NULL && ev->stop(ev->user);
}

perp_status perpi_evaluator_run(perpi_evaluator* ev, bool derivatives)
{
    ev->derivatives = derivatives;
    if (derivatives) {
        ev->flagged = 0;
    }
    return perpi_workers_map(
        ev->workers,
        &(perpi_map){.count = ev->count, .fill = fill, .take = take, .stop = stop, .user = ev});
}

/* ---- creating -----------------------------------------------------------------------------------*/

void perpi_evaluator_destroy(perpi_evaluator* ev)
{
    if (ev == NULL) {
        return;
    }
    perp_context* context = ev->context;
    perpi_workers_destroy(ev->workers);
    for (int32_t i = 0; ev->part != NULL && i < ev->count; ++i) {
        perpi_free(context, ev->part[i].residual);
        perpi_free(context, ev->part[i].H);
        perpi_free(context, ev->part[i].raw);
        perpi_free(context, ev->part[i].g);
    }
    perpi_free(context, ev->part);
    perpi_free(context, ev->coordinate);
    perpi_free(context, ev->unit);
    perpi_free(context, ev->used);
    perpi_free(context, ev->parameter);
    perpi_free(context, ev->start);
    perpi_free(context, ev->node);
    perpi_free(context, ev->noise);
    perpi_free(context, ev->jacobian);
    perpi_free(context, ev->end_jacobian);
    perpi_free(context, ev->row);
    perpi_free(context, ev->end);
    perpi_free(context, ev);
}

/* Every coordinate of every dynamic body. */
static perp_status list_coordinates(perpi_evaluator* ev, const perp_model* model)
{
    PERPI_TRY(perpi_alloc(ev->context, PERPI_START_COORDINATES * ev->bodies, sizeof *ev->coordinate,
                          &ev->coordinate));
    for (size_t b = 0; b < ev->bodies; ++b) {
        for (int32_t i = 0; i < PERPI_START_COORDINATES; ++i) {
            const bool turns = i / 3 % 2 == 1;
            const bool exists = !ev->planar || (turns ? i % 3 == 2 : i % 3 < 2);
            if (model->body[b].type == PERP_BODY_DYNAMIC && exists &&
                !(turns && model->body[b].particle)) {
                ev->coordinate[ev->M++] =
                    (perpi_start){.body = (int32_t)b, .coordinate = i, .prior = NAN};
            }
        }
    }
    return PERP_OK;
}

/* Units of gaps: the noise of what is observed of a body, else 1e-3 of its size, or of a radian; of
 * velocities that over the time of a segment. */
static perp_status find_units(perpi_evaluator* ev, const perp_model* model)
{
    const perpi_estimate* e = ev->e;
    double longest = 0.0;
    for (int32_t k = 0; k < e->data.count; ++k) {
        const perpi_trajectory* t = &e->data.trajectory[k];
        longest = t->time[t->rows - 1] > longest ? t->time[t->rows - 1] : longest;
    }
    const double time = longest > 0.0 ? longest / (ev->nodes + 1) : 1.0;
    PERPI_TRY(perpi_alloc(ev->context, (size_t)ev->M, sizeof *ev->unit, &ev->unit));
    for (int32_t i = 0; i < ev->M; ++i) {
        const perpi_start* x = &ev->coordinate[i];
        const bool turns = x->coordinate / 3 % 2 == 1;
        double unit = 1e-3 * (turns || !(model->length > 0.0) ? 1.0 : model->length);
        for (int32_t c = 0; c < e->channel_count; ++c) {
            const perpi_channel* channel = &e->channel[c];
            const bool turning = channel->kind == PERPI_CHANNEL_ORIENTATION ||
                                 (channel->start_coordinate >= 3 && channel->start_coordinate < 6);
            const bool placing = channel->kind == PERPI_CHANNEL_POSITION ||
                                 (channel->kind == PERPI_CHANNEL_QUANTITY &&
                                  channel->start_coordinate >= 0 && channel->start_coordinate < 3);
            if (channel->body == x->body && (turns ? turning : placing)) {
                unit = channel->noise;
            }
        }
        ev->unit[i] = x->coordinate < 6 ? unit : unit / time;
    }
    return PERP_OK;
}

static perp_status allocate_parts(perpi_evaluator* ev, int32_t* longest)
{
    perp_context* context = ev->context;
    const size_t N = (size_t)ev->N;
    PERPI_TRY(perpi_alloc(context, (size_t)ev->count, sizeof *ev->part, &ev->part));
    for (int32_t i = 0; i < ev->count; ++i) {
        perpi_part* p = &ev->part[i];
        const int32_t rows = ev->e->data.trajectory[ev->used[i]].rows;
        *longest = rows > *longest ? rows : *longest;
        PERPI_TRY(perpi_alloc(context, (size_t)rows * (size_t)ev->e->width, sizeof(double),
                              &p->residual));
        PERPI_TRY(perpi_alloc(context, N * N, sizeof(double), &p->H));
        PERPI_TRY(perpi_alloc(context, N * N, sizeof(double), &p->raw));
        PERPI_TRY(perpi_alloc(context, N, sizeof(double), &p->g));
    }
    return PERP_OK;
}

static perp_status allocate(perpi_evaluator* ev)
{
    perp_context* context = ev->context;
    const perpi_estimate* e = ev->e;
    int32_t longest = 0;
    const size_t nodes = (size_t)ev->nodes * ev->bodies;
    PERPI_TRY(allocate_parts(ev, &longest));
    const size_t columns = (size_t)ev->n + (size_t)(ev->m > ev->M ? ev->m : ev->M);
    PERPI_TRY(perpi_alloc(context, (size_t)ev->n, sizeof(double), &ev->parameter));
    PERPI_TRY(
        perpi_alloc(context, (size_t)ev->count * (size_t)ev->own, sizeof(double), &ev->start));
    PERPI_TRY(perpi_alloc(context, (size_t)ev->count * nodes, sizeof *ev->node, &ev->node));
    PERPI_TRY(perpi_alloc(context, (size_t)e->channel_count, sizeof(double), &ev->noise));
    PERPI_TRY(perpi_alloc(context, (size_t)longest * (size_t)e->width * columns, sizeof(double),
                          &ev->jacobian));
    PERPI_TRY(perpi_alloc(context, PERPI_START_COORDINATES * ev->bodies * columns, sizeof(double),
                          &ev->end_jacobian));
    PERPI_TRY(perpi_alloc(context, columns + (size_t)ev->N, sizeof(double), &ev->row));
    PERPI_TRY(perpi_alloc(context, ev->bodies, sizeof *ev->end, &ev->end));
    for (int32_t i = 0; i < e->channel_count; ++i) {
        ev->noise[i] = e->channel[i].noise;
    }
    return PERP_OK;
}

static perp_status start_workers(perpi_evaluator* ev, int32_t jobs)
{
    int32_t longest = 0;
    for (int32_t i = 0; i < ev->count; ++i) {
        const int32_t rows = ev->e->data.trajectory[ev->used[i]].rows;
        longest = rows > longest ? rows : longest;
    }
    const size_t request = sizeof(request_head) +
                           ((size_t)ev->N + (size_t)ev->e->channel_count) * sizeof(double) +
                           (size_t)ev->nodes * ev->bodies * sizeof(perp_body_state);
    double room[64]; /* only for its address */
    const size_t answer = view_reply(ev, room, longest, true).bytes;
    jobs = jobs < ev->count ? jobs : ev->count;
    return perpi_workers_create(ev->context, jobs, request, answer, work, ev, &ev->workers);
}

perp_status perpi_evaluator_create(perpi_estimate_run* run, bool held_out,
                                   perpi_evaluator** evaluator)
{
    perp_context* context = run->context;
    perpi_estimate* e = run->e;
    perpi_evaluator* ev = NULL;
    const perp_model* model = perp_scene_model(run->study->scene);
    PERPI_TRY(perpi_alloc(context, 1, sizeof *ev, &ev));
    *ev = (perpi_evaluator){.context = context,
                            .e = e,
                            .predictor = run->predictor,
                            .n = e->parameter_count,
                            .m = e->start_count,
                            .nodes = e->segments - 1,
                            .bodies = model->body_count,
                            .planar = model->dimension == 2};
    perp_status status = list_coordinates(ev, model);
    ev->own = ev->m + ev->nodes * ev->M;
    ev->N = ev->n + ev->own;
    if (status == PERP_OK) {
        status = find_units(ev, model);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)e->data.count, sizeof *ev->used, &ev->used);
    }
    for (int32_t i = 0; status == PERP_OK && i < e->data.count; ++i) {
        if (e->data.trajectory[i].held_out == held_out) {
            ev->used[ev->count++] = i;
        }
    }
    if (status == PERP_OK) {
        status = allocate(ev);
    }
    if (status == PERP_OK) {
        status = start_workers(ev, run->jobs);
    }
    if (status != PERP_OK) {
        perpi_evaluator_destroy(ev);
        return status;
    }
    *evaluator = ev;
    return PERP_OK;
}
