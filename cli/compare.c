/* cli/compare.c - `perp compare`: how far two recordings of the same bodies are apart.
 *
 * Times: every frame of either recording within the time that both cover. A side without a frame at
 * that time is interpolated: positions, planar angles and energies linearly, orientations along the
 * shortest arc. Between two such times both motions are linear, so that the distance of two centres,
 * a convex function, has its maximum at one of them: what is reported is the maximum over all times.
 */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- each side alone --------------------------------------------------------------------------*/

/* The larger one; a NaN wins, and stays. */
static double worse(double a, double b)
{
    return isnan(a) || b <= a ? a : b;
}

static void take_worst(perp_contact_residual* worst, const perp_contact_residual* c)
{
    worst->dynamics = worse(worst->dynamics, c->dynamics);
    worst->normal = worse(worst->normal, c->normal);
    worst->friction = worse(worst->friction, c->friction);
    worst->joints = worse(worst->joints, c->joints);
}

static void take_frame(compare_side* s, int64_t k, const perp_frame* f)
{
    if (k == 0) {
        s->begin = f->time;
        s->energy_begin = f->energy.total;
        s->steps = -f->step;
    }
    if (k + 1 == s->frames) {
        s->end = f->time;
        s->energy_end = f->energy.total;
        s->steps += f->step;
        s->contacts_final = f->info.contacts;
    }
    if (k == 0) {
        return; /* no step has led here */
    }
    take_worst(&s->certificate, &f->info.certificate);
    s->contacts_max = f->info.contacts > s->contacts_max ? f->info.contacts : s->contacts_max;
    s->penetration_max =
        f->info.penetration > s->penetration_max ? f->info.penetration : s->penetration_max;
    s->iterations_sum += f->info.report.iterations;
    s->iterations_max = f->info.report.iterations > s->iterations_max ? f->info.report.iterations
                                                                      : s->iterations_max;
    s->unsolved += f->info.accepted_unsolved;
}

static int fail(const cli_args* args, perp_context* context, perp_status status)
{
    cli_leave_quickly();
    return cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
}

static int open_side(const cli_args* args, perp_context* context, compare_side* s, const char* path)
{
    s->path = path;
    perp_status status = perp_recording_open(context, path, &s->recording);
    if (status == PERP_OK) {
        const char* text = perp_recording_scene_text(s->recording);
        status = perp_scene_parse(context, text, strlen(text), path, NULL, 0, &s->scene);
    }
    s->frames = status == PERP_OK ? perp_recording_frame_count(s->recording) : 0;
    for (int64_t k = 0; status == PERP_OK && k < s->frames; ++k) {
        perp_frame frame;
        status = perp_recording_frame(s->recording, k, &frame);
        if (status == PERP_OK) {
            take_frame(s, k, &frame);
        }
    }
    return status == PERP_OK ? CLI_DONE : fail(args, context, status);
}

/* ---- traversal of a recording -----------------------------------------------------------------*/

/* The frames before and after a time, copied. */
typedef struct walk {
    perp_recording* recording;
    int64_t frames, next; /* the frame to read next */
    int32_t nq, nv;
    double time[2], energy[2];
    double* q[2];
    double* v[2];
    double* at; /* q at the time asked for */
    double energy_at;
    bool between;
} walk;

static bool walk_begin(walk* w, const compare_side* s)
{
    const perp_model* model = perp_scene_model(s->scene);
    const bool planar = perp_model_dimension(model) == 2;
    const int32_t bodies = perp_model_body_count(model);
    *w = (walk){.recording = s->recording,
                .frames = s->frames,
                .nq = bodies * (planar ? 3 : 7),
                .nv = bodies * (planar ? 3 : 6)};
    const size_t q = (size_t)w->nq + 1, v = (size_t)w->nv + 1;
    w->q[0] = calloc(q, sizeof(double));
    w->q[1] = calloc(q, sizeof(double));
    w->v[0] = calloc(v, sizeof(double));
    w->v[1] = calloc(v, sizeof(double));
    w->at = calloc(q, sizeof(double));
    return w->q[0] != NULL && w->q[1] != NULL && w->v[0] != NULL && w->v[1] != NULL &&
           w->at != NULL;
}

static void walk_end(walk* w)
{
    free(w->q[0]);
    free(w->q[1]);
    free(w->v[0]);
    free(w->v[1]);
    free(w->at);
}

/* Moves one frame on. */
static perp_status walk_step(walk* w)
{
    perp_frame f;
    const perp_status status = perp_recording_frame(w->recording, w->next, &f);
    if (status != PERP_OK) {
        return status;
    }
    double* q = w->q[0];
    double* v = w->v[0];
    w->q[0] = w->q[1];
    w->v[0] = w->v[1];
    w->time[0] = w->time[1];
    w->energy[0] = w->energy[1];
    w->q[1] = q;
    w->v[1] = v;
    memcpy(q, f.q, (size_t)w->nq * sizeof *q);
    memcpy(v, f.v, (size_t)w->nv * sizeof *v);
    w->time[1] = f.time;
    w->energy[1] = f.energy.total;
    w->next += 1;
    return PERP_OK;
}

/* The shortest arc from a to b, part u of it. */
static void slerp(const double a[4], const double b[4], double u, double out[4])
{
    const double cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    const double sign = cosine < 0.0 ? -1.0 : 1.0;
    double s = 0.0, d = 0.0; /* |a + b|, |a - b| up to the sign of b */
    for (int i = 0; i < 4; ++i) {
        s += (a[i] + sign * b[i]) * (a[i] + sign * b[i]);
        d += (a[i] - sign * b[i]) * (a[i] - sign * b[i]);
    }
    const double angle = 2.0 * atan2(sqrt(d), sqrt(s)), sine = sin(angle);
    const double from = sine > 1e-12 ? sin((1.0 - u) * angle) / sine : 1.0 - u;
    const double to = sine > 1e-12 ? sin(u * angle) / sine : u;
    for (int i = 0; i < 4; ++i) {
        out[i] = from * a[i] + to * sign * b[i];
    }
}

/* Moves to time t, and interpolates there. slack: times nearer than this are the same. */
static perp_status walk_to(walk* w, double t, double slack, bool planar)
{
    perp_status status = PERP_OK;
    while (status == PERP_OK && w->next < w->frames && (w->next < 1 || w->time[1] < t - slack)) {
        status = walk_step(w);
    }
    if (status != PERP_OK) {
        return status;
    }
    /* time[0] < t <= time[1] */
    w->between = w->next > 1 && w->time[1] > t + slack;
    if (!w->between) {
        memcpy(w->at, w->q[1], (size_t)w->nq * sizeof *w->at);
        w->energy_at = w->energy[1];
        return PERP_OK;
    }
    const double u = (t - w->time[0]) / (w->time[1] - w->time[0]);
    for (int32_t i = 0; i < w->nq; ++i) {
        w->at[i] = w->q[0][i] + u * (w->q[1][i] - w->q[0][i]);
    }
    for (int32_t i = 3; !planar && i < w->nq; i += 7) {
        slerp(w->q[0] + i, w->q[1] + i, u, w->at + i);
    }
    w->energy_at = w->energy[0] + u * (w->energy[1] - w->energy[0]);
    return PERP_OK;
}

/* The time of the first frame after t; infinite if there is none. */
static perp_status walk_after(walk* w, double t, double slack, double* time)
{
    perp_frame f;
    *time = w->time[1];
    if (w->time[1] > t + slack) {
        return PERP_OK;
    }
    *time = INFINITY;
    for (int64_t k = w->next; k < w->frames; ++k) {
        const perp_status status = perp_recording_frame(w->recording, k, &f);
        if (status != PERP_OK) {
            return status;
        }
        if (f.time > t + slack) {
            *time = f.time;
            return PERP_OK;
        }
    }
    return PERP_OK;
}

/* ---- both sides -------------------------------------------------------------------------------*/

static void take_gap(compare_gap* gap, double x, double time)
{
    if (!(x <= gap->max) && !isnan(gap->max)) { /* a NaN is taken, and stays */
        gap->max = x;
        gap->time = time;
    }
    gap->final = x;
}

/* The angle of the rotation between two unit quaternions, also where it is tiny. */
static double turn_between(const double a[4], const double b[4])
{
    const double w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    const double x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2];
    const double y = a[0] * b[2] - a[2] * b[0] - a[3] * b[1] + a[1] * b[3];
    const double z = a[0] * b[3] - a[3] * b[0] - a[1] * b[2] + a[2] * b[1];
    return 2.0 * atan2(sqrt(x * x + y * y + z * z), fabs(w));
}

static void measure(compare_result* r, const walk* a, const walk* b, double t, bool planar)
{
    const int32_t n = planar ? 3 : 7;
    for (int32_t i = 0; i < r->body_count; ++i) {
        compare_body* body = &r->body[i];
        const double* x = a->at + (size_t)n * (size_t)body->a;
        const double* y = b->at + (size_t)n * (size_t)body->b;
        const double dz = planar ? 0.0 : y[2] - x[2];
        const double dx = y[0] - x[0], dy = y[1] - x[1];
        take_gap(&body->distance, sqrt(dx * dx + dy * dy + dz * dz), t);
        take_gap(&body->turn, planar ? fabs(y[2] - x[2]) : turn_between(x + 3, y + 3), t);
    }
    const double gap = fabs(b->energy_at - a->energy_at);
    if (r->times == 0 || !(gap <= r->energy.max)) {
        r->energy_furthest[0] = a->energy_at;
        r->energy_furthest[1] = b->energy_at;
    }
    take_gap(&r->energy, gap, t);
    r->energy_final[0] = a->energy_at;
    r->energy_final[1] = b->energy_at;
    r->times += 1;
    r->between_a += a->between;
    r->between_b += b->between;
    r->identical = r->identical && !a->between && !b->between &&
                   memcmp(&a->time[1], &b->time[1], sizeof a->time[1]) == 0 &&
                   memcmp(a->q[1], b->q[1], (size_t)a->nq * sizeof(double)) == 0 &&
                   memcmp(a->v[1], b->v[1], (size_t)a->nv * sizeof(double)) == 0;
}

static perp_status walk_both(compare_result* r, walk* a, walk* b)
{
    const bool planar = perp_model_dimension(perp_scene_model(r->a.scene)) == 2;
    const double slack = 1e-9 * fmax(fabs(r->from), fabs(r->to));
    double t = r->from;
    for (;;) {
        double after_a = INFINITY, after_b = INFINITY;
        perp_status status = walk_to(a, t, slack, planar);
        if (status == PERP_OK) {
            status = walk_to(b, t, slack, planar);
        }
        if (status != PERP_OK) {
            return status;
        }
        measure(r, a, b, t, planar);
        status = walk_after(a, t, slack, &after_a);
        if (status == PERP_OK) {
            status = walk_after(b, t, slack, &after_b);
        }
        t = fmin(after_a, after_b);
        if (status != PERP_OK || !(t <= r->to + slack)) {
            return status;
        }
    }
}

/* Bodies with the same name. */
static bool match_bodies(compare_result* r)
{
    const perp_model* a = perp_scene_model(r->a.scene);
    const perp_model* b = perp_scene_model(r->b.scene);
    const int32_t count = perp_model_body_count(a);
    bool same_order = count == perp_model_body_count(b);
    r->body = calloc((size_t)count + 1, sizeof *r->body);
    for (int32_t i = 0; r->body != NULL && i < count; ++i) {
        const int32_t j = perp_model_body_find(b, perp_model_body_name(a, i));
        same_order = same_order && i == j;
        if (j >= 0) {
            r->body[r->body_count++] = (compare_body){
                .a = i,
                .b = j,
                .fixed = perp_model_body_info(a, i).type == PERP_BODY_STATIC &&
                         perp_model_body_info(b, j).type == PERP_BODY_STATIC,
            };
        }
    }
    r->identical = same_order && r->a.frames == r->b.frames;
    return r->body != NULL;
}

static int compare(const cli_args* args, perp_context* context, compare_result* r)
{
    const perp_model* a = perp_scene_model(r->a.scene);
    const perp_model* b = perp_scene_model(r->b.scene);
    if (perp_model_dimension(a) != perp_model_dimension(b)) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "compare: %s is %s and %s is not: give two of the same kind", r->a.path,
                        perp_model_dimension(a) == 2 ? "planar" : "spatial", r->b.path);
    }
    if (!match_bodies(r)) {
        return cli_fail(args->json, CLI_FAILED, "out of memory");
    }
    if (r->body_count == 0) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "compare: no body of %s has a namesake in %s (%s has '%.60s', the other "
                        "'%.60s')",
                        r->a.path, r->b.path, r->a.path, perp_model_body_name(a, 0),
                        perp_model_body_name(b, 0));
    }
    r->from = fmax(r->a.begin, r->b.begin);
    r->to = fmin(r->a.end, r->b.end);
    if (!(r->from <= r->to)) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "compare: no time in common: %s goes from %.9g to %.9g, %s from %.9g to "
                        "%.9g",
                        r->a.path, r->a.begin, r->a.end, r->b.path, r->b.begin, r->b.end);
    }
    walk wa = {0}, wb = {0};
    const bool ready = walk_begin(&wa, &r->a) && walk_begin(&wb, &r->b);
    const perp_status status = ready ? walk_both(r, &wa, &wb) : PERP_OK;
    walk_end(&wa);
    walk_end(&wb);
    if (!ready) {
        return cli_fail(args->json, CLI_FAILED, "out of memory");
    }
    if (status != PERP_OK) {
        return fail(args, context, status);
    }
    r->furthest = -1;
    for (int32_t i = 0; i < r->body_count; ++i) {
        const double x = r->body[i].distance.max;
        if (x != 0.0 && (r->furthest < 0 || !(x <= r->body[r->furthest].distance.max))) {
            r->furthest = i;
        }
    }
    return CLI_DONE;
}

/* ---- the verb ---------------------------------------------------------------------------------*/

static int verb_compare(const cli_args* args)
{
    compare_result r = {0};
    if (args->json && cli_flag(args, "--markdown")) {
        return cli_fail(true, CLI_BAD_INPUT, "compare: --markdown or --json, not both");
    }
    perp_context* context = cli_context(args->json);
    if (context == NULL) {
        return CLI_FAILED;
    }
    int exit_status = open_side(args, context, &r.a, args->word[0]);
    if (exit_status == CLI_DONE) {
        exit_status = open_side(args, context, &r.b, args->word[1]);
    }
    if (exit_status == CLI_DONE) {
        exit_status = compare(args, context, &r);
    }
    if (exit_status == CLI_DONE && args->json) {
        compare_print_json(&r);
    } else if (exit_status == CLI_DONE) {
        compare_print_text(&r, cli_flag(args, "--markdown"));
    }
    perp_recording_close(r.a.recording);
    perp_recording_close(r.b.recording);
    perp_scene_destroy(r.a.scene);
    perp_scene_destroy(r.b.scene);
    perp_context_destroy(context);
    free(r.body);
    return exit_status;
}

static const cli_option options[] = {
    {"--markdown", NULL, "tables in markdown, for an issue or a notebook"},
    {"--json", NULL, "print one JSON object, with all bodies"},
    {0},
};

const cli_verb cli_verb_compare = {
    .name = "compare",
    .usage = "A.h5 B.h5 [--markdown|--json]",
    .summary = "how far two recordings are apart: motion, energy, certificates",
    .text =
        "Every value in which the two scenes differ is listed. Bodies are matched by name; those "
        "without a\nnamesake are named and left out. Compared is the time that both cover, at "
        "every frame of either;\na side without a frame there is interpolated.",
    .words_min = 2,
    .words_max = 2,
    .option = options,
    .run = verb_compare,
};
