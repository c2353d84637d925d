/* cli/page_pack.c - a recording as the columns of a page.
 *
 * The recording is read frame by frame in three passes and never held in memory as a whole: first
 * the extent of the motion and the scalars per frame; then the number of keys for each accuracy,
 * which is abandoned for an accuracy as soon as it exceeds the budget; then the keys and contacts
 * themselves. Memory: at most a few times the page's budget, and a little per body.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "measures.h"
#include "page.h"

#define FRAMES_MAX 30000 /* in a page; a longer recording gives every k-th frame */
#define LEVELS 11        /* accuracies that are tried: sizes times 1e-6, 3e-6, 1e-5, ... 1e-1 */
#define FINEST 1e-6      /* of the size */
#define INTEGER_MAX 1e9  /* of a quantised number */
#define STEPS_PER_NEAR 8 /* quantisation steps in the accuracy */

enum {
    KINETIC,
    POTENTIAL,
    TOTAL,
    LINEAR,
    ANGULAR = LINEAR + 3,
    DYNAMICS = ANGULAR + 3,
    NORMAL,
    FRICTION,
    JOINTS,
    ITERATIONS,
    RESIDUAL,
    CONTACTS,
    PENETRATION,
    JOINT_ERROR, /* a length */
    MOMENTUM_ERROR,
    LEDGER = MOMENTUM_ERROR + 2, /* all its entries, summed since the first frame */
    SCALARS = LEDGER + PERP_LEDGER_COUNT,
};

/* planar NULL: only in space; the ledger has names of its own */
static const struct {
    const char *name, *planar;
    bool worst; /* over the recorded frames since the page's last one */
} scalars[LEDGER] = {
    [KINETIC] = {"energy.kinetic", "energy.kinetic", false},
    [POTENTIAL] = {"energy.potential", "energy.potential", false},
    [TOTAL] = {"energy.total", "energy.total", false},
    [LINEAR] = {"momentum.x", "momentum.x", false},
    [LINEAR + 1] = {"momentum.y", "momentum.y", false},
    [LINEAR + 2] = {"momentum.z", NULL, false},
    [ANGULAR] = {"angular.x", NULL, false},
    [ANGULAR + 1] = {"angular.y", NULL, false},
    [ANGULAR + 2] = {"angular.z", "angular", false},
    [DYNAMICS] = {"certificate.dynamics", "certificate.dynamics", true},
    [NORMAL] = {"certificate.normal", "certificate.normal", true},
    [FRICTION] = {"certificate.friction", "certificate.friction", true},
    [JOINTS] = {"certificate.joints", "certificate.joints", true},
    [ITERATIONS] = {"solver.iterations", "solver.iterations", true},
    [RESIDUAL] = {"solver.residual", "solver.residual", true},
    [CONTACTS] = {"solver.contacts", "solver.contacts", false},
    [PENETRATION] = {"solver.penetration", "solver.penetration", true},
    [JOINT_ERROR] = {"joint_error", "joint_error", true},
    [MOMENTUM_ERROR] = {"momentum_error.linear", "momentum_error.linear", true},
    [MOMENTUM_ERROR + 1] = {"momentum_error.angular", "momentum_error.angular", true},
};

typedef struct track_key {
    int32_t body, frame;
    double x[3], q[4];
    float v[3], w[3];
} track_key;

typedef struct contact_row {
    int32_t body[2];
    float point[3], normal[3], tangent[3];
    float gap, mu;
    float impulse[4];
    float slip[2];
    uint8_t cone, directions, state;
    double key;
} contact_row;

#define ROW_BYTES (2 * 4 + 9 * 4 + 2 * 4 + 4 * 4 + 2 * 4 + 3 + 8) /* in the page */

/* Of a body, from the first pass. */
typedef struct body_span {
    double first_q[7], first_v[6];
    double low[3], high[3];
    double reach;
    bool moves;
} body_span;

typedef struct packer {
    perp_context* context;
    perp_recording* recording;
    perp_scene* scene;
    const perp_model* model;
    bool planar;
    int32_t bodies;
    size_t nq, nv; /* numbers of a body */
    double step, gravity;
    int64_t recorded, stride, frames;

    double* time;
    double* scalar[SCALARS];
    double worst[SCALARS];
    perp_ledger ledger; /* so far */
    body_span* span;
    double size, accuracy;
    page_joints joints;
    int64_t touches, pushes; /* contacts in the page's frames; of these, with an impulse */

    page_door* door; /* of one accuracy; body by body */
    double* last_v;
    track_key* key;
    size_t key_count, key_capacity;
    contact_row* row;
    int32_t* row_end; /* per page frame, rows so far */
    size_t row_count, row_capacity;
    page_keys features;
    bool pushing_only;
    int64_t contacts_every;

    page_bytes plain;
    json_t* columns;
    page_status result;
    perp_status status;
} packer;

/* ---- frames -----------------------------------------------------------------------------------*/

static bool is_kept(const packer* p, int64_t k)
{
    return k % p->stride == 0 || k == p->recorded - 1;
}

/* Page frame of a recorded frame that is kept. */
static int64_t page_frame(const packer* p, int64_t k)
{
    return k == p->recorded - 1 ? p->frames - 1 : k / p->stride;
}

static bool read_frame(packer* p, int64_t k, perp_frame* frame)
{
    p->status = perp_recording_frame(p->recording, k, frame);
    p->result = p->status == PERP_OK ? PAGE_OK : PAGE_FAILED;
    return p->status == PERP_OK;
}

static void* reserve(packer* p, size_t count, size_t size)
{
    void* memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        p->result = PAGE_NO_MEMORY;
    }
    return memory;
}

static bool push(packer* p, void** array, size_t count, size_t* capacity, size_t size)
{
    if (count < *capacity) {
        return true;
    }
    const size_t wide = *capacity < 1024 ? 1024 : *capacity + *capacity / 2;
    void* memory = realloc(*array, wide * size);
    if (memory == NULL) {
        p->result = PAGE_NO_MEMORY;
        return false;
    }
    *array = memory;
    *capacity = wide;
    return true;
}

static page_sample sample_of(const packer* p, const perp_frame* frame, int32_t body, int64_t at)
{
    const double* q = frame->q + (size_t)body * p->nq;
    page_sample s = {.frame = (int32_t)at, .x = {q[0], q[1], q[2]}, .q = {1, 0, 0, 0}};
    if (!p->planar) {
        memcpy(s.q, q + 3, sizeof s.q);
    }
    return s;
}

/* ---- first pass: what it spans, and numbers per frame -------------------------------------------*/

static void note_scalars(packer* p, int64_t k, const perp_frame* frame)
{
    double value[SCALARS] = {
        [KINETIC] = frame->energy.kinetic,
        [POTENTIAL] = frame->energy.potential,
        [TOTAL] = frame->energy.total,
        [DYNAMICS] = frame->info.certificate.dynamics,
        [NORMAL] = frame->info.certificate.normal,
        [FRICTION] = frame->info.certificate.friction,
        [JOINTS] = frame->info.certificate.joints,
        [ITERATIONS] = frame->info.report.iterations,
        [RESIDUAL] = frame->info.report.residual,
        [CONTACTS] = frame->info.contacts,
        [PENETRATION] = frame->info.penetration,
        [MOMENTUM_ERROR] = frame->info.momentum_error[0],
        [MOMENTUM_ERROR + 1] = frame->info.momentum_error[1],
    };
    perp_ledger_add(&p->ledger, &frame->info.ledger);
    for (int32_t i = 0; i < PERP_LEDGER_COUNT; ++i) {
        value[LEDGER + i] = perp_ledger_entry(&p->ledger, i);
    }
    for (int32_t i = 0; i < frame->joint_count; ++i) {
        const double off = frame->joints[i].error[0];
        value[JOINT_ERROR] = !(off <= value[JOINT_ERROR]) ? off : value[JOINT_ERROR];
    }
    const bool kept = is_kept(p, k);
    if (kept) {
        page_momentum(p->model, frame, value + LINEAR);
        p->time[page_frame(p, k)] = frame->time;
    }
    for (int i = 0; i < SCALARS; ++i) {
        if (i < LEDGER && scalars[i].worst) {
            p->worst[i] = !(value[i] <= p->worst[i]) ? value[i] : p->worst[i]; /* a NaN stays */
            value[i] = p->worst[i];
        }
        if (kept) {
            p->scalar[i][page_frame(p, k)] = value[i];
            p->worst[i] = 0.0;
        }
    }
}

static void note_span(packer* p, int64_t k, const perp_frame* frame)
{
    for (int32_t b = 0; b < p->bodies; ++b) {
        body_span* s = &p->span[b];
        const double* q = frame->q + (size_t)b * p->nq;
        const double* v = frame->v + (size_t)b * p->nv;
        if (k == 0) {
            memcpy(s->first_q, q, p->nq * sizeof *q);
            memcpy(s->first_v, v, p->nv * sizeof *v);
            for (int i = 0; i < 3; ++i) {
                s->low[i] = s->high[i] = q[i];
            }
            continue;
        }
        s->moves = s->moves || memcmp(s->first_q, q, p->nq * sizeof *q) != 0 ||
                   memcmp(s->first_v, v, p->nv * sizeof *v) != 0;
        for (int i = 0; i < 3; ++i) {
            s->low[i] = q[i] < s->low[i] ? q[i] : s->low[i];
            s->high[i] = q[i] > s->high[i] ? q[i] : s->high[i];
        }
    }
}

/* Half the diagonal of the box around moving bodies; around all bounded bodies, if none moves. */
static double size_of(const packer* p, bool moving_only)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    const int dimension = p->planar ? 2 : 3;
    for (int32_t b = 0; b < p->bodies; ++b) {
        const body_span* s = &p->span[b];
        const bool counts = moving_only ? s->moves : s->reach > 0.0;
        for (int i = 0; counts && i < dimension; ++i) {
            low[i] = fmin(low[i], s->low[i] - s->reach);
            high[i] = fmax(high[i], s->high[i] + s->reach);
        }
    }
    double sum = 0.0;
    for (int i = 0; i < dimension; ++i) {
        sum += (high[i] - low[i]) * (high[i] - low[i]);
    }
    return 0.5 * sqrt(sum);
}

static void survey(packer* p)
{
    perp_frame frame;
    for (int64_t k = 0; k < p->recorded && read_frame(p, k, &frame); ++k) {
        note_scalars(p, k, &frame);
        note_span(p, k, &frame);
        for (int32_t i = 0; is_kept(p, k) && i < frame.contact_count; ++i) {
            p->touches += 1;
            p->pushes += frame.contacts[i].impulse[0] > 0.0;
        }
        if (is_kept(p, k)) { /* the last to read this frame */
            p->status = page_joints_note(&p->joints, p->recording, k, page_frame(p, k));
            p->result = p->status == PERP_OK ? p->result : PAGE_FAILED;
        }
    }
    p->size = size_of(p, true);
    p->size = isfinite(p->size) && p->size > 0.0 ? p->size : size_of(p, false);
    p->size = isfinite(p->size) && p->size > 0.0 ? p->size : 1.0;
}

/* ---- second pass: how fine the tracks can be ------------------------------------------------------*/

/* The three components and the quantisation, together, stay within the accuracy. */
static void open_doors(const packer* p, const perp_frame* frame, double accuracy, page_door* door)
{
    for (int32_t b = 0; b < p->bodies; ++b) {
        const double reach = p->span[b].reach > 0.0 ? p->span[b].reach : p->size;
        const page_sample first = sample_of(p, frame, b, 0);
        page_door_begin(&door[b], p->planar, 0.5 * accuracy, 0.5 * accuracy / reach, &first);
    }
}

static size_t bytes_per_key(const packer* p)
{
    return p->planar ? 4 + 3 * 4 + 3 * 4 : 4 + 3 * 4 + 4 * 4 + 6 * 4;
}

/* Keys that a body has at least. */
static int64_t ends(const packer* p)
{
    int64_t count = 0;
    for (int32_t b = 0; b < p->bodies; ++b) {
        count += p->span[b].moves && p->frames > 1 ? 2 : 1;
    }
    return count;
}

static size_t scalar_bytes(const packer* p)
{
    return (size_t)p->frames * (SCALARS + 2) * sizeof(double) + page_joints_bytes(&p->joints);
}

/* Budget: half of what the scalars per frame leave, plus what the contacts do not need of their
 * half. */
static size_t track_share(const packer* p)
{
    const size_t room = PAGE_BUDGET - scalar_bytes(p), half = room / 2;
    const size_t contacts = (size_t)p->touches * ROW_BYTES;
    return contacts < half ? room - contacts : half;
}

static void choose_accuracy(packer* p)
{
    const int64_t most = (int64_t)(track_share(p) / bytes_per_key(p));
    const size_t bodies = (size_t)p->bodies;
    double accuracy[LEVELS];
    int64_t count[LEVELS];
    page_door* door = reserve(p, LEVELS * bodies, sizeof *door);
    if (door == NULL) {
        return;
    }
    for (int l = 0; l < LEVELS; ++l) {
        accuracy[l] = p->size * FINEST * pow(10.0, l / 2) * (l % 2 == 1 ? 3.0 : 1.0);
        count[l] = ends(p);
    }
    int first = 0; /* the finest that still fits */
    perp_frame frame;
    for (int64_t k = 0; k < p->recorded && first < LEVELS - 1 && read_frame(p, k, &frame); ++k) {
        if (!is_kept(p, k)) {
            continue;
        }
        const int64_t at = page_frame(p, k);
        for (int l = first; l < LEVELS; ++l) {
            if (k == 0) {
                open_doors(p, &frame, accuracy[l], door + (size_t)l * bodies);
                continue;
            }
            for (int32_t b = 0; b < p->bodies; ++b) {
                if (p->span[b].moves) {
                    const page_sample s = sample_of(p, &frame, b, at);
                    count[l] += page_door_step(&door[(size_t)l * bodies + (size_t)b], &s);
                }
            }
        }
        while (first < LEVELS - 1 && count[first] > most) {
            ++first;
        }
    }
    p->accuracy = accuracy[first];
    free(door);
}

/* ---- third pass: keys and contacts ----------------------------------------------------------------*/

static void add_key(packer* p, int32_t body, const page_sample* s, const double* v)
{
    if (!push(p, (void**)&p->key, p->key_count, &p->key_capacity, sizeof *p->key)) {
        return;
    }
    track_key* key = &p->key[p->key_count++];
    *key = (track_key){.body = body, .frame = s->frame};
    memcpy(key->x, s->x, sizeof key->x);
    memcpy(key->q, s->q, sizeof key->q);
    for (int i = 0; i < (p->planar ? 2 : 3); ++i) {
        key->v[i] = (float)v[i];
    }
    for (int i = 0; i < (p->planar ? 1 : 3); ++i) {
        key->w[i] = (float)v[(p->planar ? 2 : 3) + i];
    }
}

static void add_keys(packer* p, int64_t k, const perp_frame* frame)
{
    const int64_t at = page_frame(p, k);
    if (k == 0) {
        open_doors(p, frame, p->accuracy, p->door);
    }
    for (int32_t b = 0; b < p->bodies; ++b) {
        const page_sample s = sample_of(p, frame, b, at);
        const double* v = frame->v + (size_t)b * p->nv;
        if (k > 0 && !p->span[b].moves) {
            continue;
        }
        if (k > 0 && page_door_step(&p->door[b], &s)) {
            add_key(p, b, &p->door[b].key, p->last_v + (size_t)b * p->nv);
        }
        if (k == 0 || k == p->recorded - 1) {
            add_key(p, b, &s, v);
        }
    }
    memcpy(p->last_v, frame->v, (size_t)p->bodies * p->nv * sizeof *p->last_v);
}

static void to_floats(const double* from, int count, float* to)
{
    for (int i = 0; i < count; ++i) {
        to[i] = (float)from[i];
    }
}

static void add_contacts(packer* p, int64_t k, const perp_frame* frame)
{
    const int64_t at = page_frame(p, k);
    const bool shown = at % p->contacts_every == 0;
    for (int32_t i = 0; shown && i < frame->contact_count; ++i) {
        const perp_contact* c = &frame->contacts[i];
        if ((p->pushing_only && !(c->impulse[0] > 0.0)) || c->body_a < 0 || c->body_b < 0 ||
            c->body_a >= p->bodies || c->body_b >= p->bodies) {
            continue;
        }
        if (!push(p, (void**)&p->row, p->row_count, &p->row_capacity, sizeof *p->row)) {
            return;
        }
        const page_touch touch =
            page_contact_motion(p->planar, p->step, p->gravity, frame->q, frame->v, c);
        const int32_t name = page_keys_name(&p->features, c->key);
        if (name < 0) {
            p->result = PAGE_NO_MEMORY;
            return;
        }
        contact_row* row = &p->row[p->row_count++];
        *row = (contact_row){
            .body = {c->body_a, c->body_b},
            .gap = (float)c->gap,
            .mu = (float)c->mu,
            .slip = {(float)touch.slip[0], (float)touch.slip[1]},
            .cone = (uint8_t)c->cone,
            .directions = (uint8_t)(c->directions < 255 ? c->directions : 255),
            .state = (uint8_t)touch.state,
            .key = name,
        };
        to_floats(c->point, 3, row->point);
        to_floats(c->normal, 3, row->normal);
        to_floats(c->tangent, 3, row->tangent);
        /* the page divides by the scene's step; the impulses of an adaptive step belong to half of
         * it */
        double impulse[4];
        for (int j = 0; j < 4; ++j) {
            const bool half = frame->adaptive_step > 0.0 && frame->info.kind == PERP_STEP_TIME;
            impulse[j] =
                half ? c->impulse[j] * (p->step / (0.5 * frame->adaptive_step)) : c->impulse[j];
        }
        to_floats(impulse, 4, row->impulse);
    }
    p->row_end[at] = (int32_t)p->row_count;
}

/* The remaining budget decides which contacts are kept. */
static void choose_contacts(packer* p, size_t used)
{
    const size_t room = used < PAGE_BUDGET ? PAGE_BUDGET - used : 0;
    const int64_t most = (int64_t)(room / ROW_BYTES);
    p->contacts_every = 1;
    p->pushing_only = p->touches > most;
    if (p->pushing_only && p->pushes > most) {
        p->contacts_every = most > 0 ? (p->pushes + most - 1) / most : p->frames;
        p->contacts_every = p->contacts_every < p->frames ? p->contacts_every : p->frames;
    }
}

static void gather(packer* p)
{
    perp_frame frame;
    for (int64_t k = 0; k < p->recorded && p->result == PAGE_OK && read_frame(p, k, &frame); ++k) {
        if (is_kept(p, k)) {
            add_keys(p, k, &frame);
            add_contacts(p, k, &frame);
        }
    }
}

/* ---- columns ----------------------------------------------------------------------------------*/

/* Begins a column at the end of the blob, aligned as typed arrays require. */
static json_t* column(packer* p, const char* name, const char* kind, size_t count, size_t width,
                      size_t cell)
{
    (void)page_bytes_extend(&p->plain, (8 - p->plain.size % 8) % 8);
    json_t* o = json_object();
    (void)json_object_set_new(o, "name", json_string(name));
    (void)json_object_set_new(o, "kind", json_string(kind));
    (void)json_object_set_new(o, "count", json_integer((json_int_t)count));
    (void)json_object_set_new(o, "width", json_integer((json_int_t)width));
    (void)json_object_set_new(o, "at", json_integer((json_int_t)p->plain.size));
    (void)json_object_set_new(o, "bytes", json_integer((json_int_t)(count * width * cell)));
    (void)json_array_append_new(p->columns, o);
    return o;
}

static void put_little(unsigned char* at, const void* value, size_t cell)
{
    uint64_t bits = 0;
    if (cell == 8) {
        memcpy(&bits, value, 8);
    } else if (cell == 4) {
        uint32_t narrow;
        memcpy(&narrow, value, 4);
        bits = narrow;
    } else {
        bits = *(const unsigned char*)value;
    }
    for (size_t i = 0; i < cell; ++i) {
        at[i] = (unsigned char)(bits >> (8 * i));
    }
}

/* count rows of width cells, each row `stride` bytes after the one before. */
static void put_column(packer* p, const char* name, const char* kind, const void* data,
                       size_t count, size_t width, size_t stride)
{
    const size_t cell = strcmp(kind, "f64") == 0 ? 8 : strcmp(kind, "u8") == 0 ? 1 : 4;
    (void)column(p, name, kind, count, width, cell);
    unsigned char* at = page_bytes_extend(&p->plain, count * width * cell);
    for (size_t i = 0; at != NULL && i < count; ++i) {
        const unsigned char* row = (const unsigned char*)data + i * stride;
        for (size_t j = 0; j < width; ++j) {
            put_little(at, row + j * cell, cell);
            at += cell;
        }
    }
}

/* value = origin + scale * integer, delta-coded, zigzag, in byte planes. `offset` leads to the
 * doubles of a key. */
static void put_fixed(packer* p, const char* name, size_t offset, size_t width,
                      const double* origin, const double* scale)
{
    const size_t n = p->key_count, total = n * width;
    json_t* o = column(p, name, "fixed", n, width, 4);
    (void)json_object_set_new(o, "origin", cli_numbers(origin, (int)width));
    bool alike = true;
    for (size_t j = 1; j < width; ++j) {
        alike = alike && scale[j] == scale[0];
    }
    (void)json_object_set_new(o, "scale",
                              alike ? cli_number(scale[0]) : cli_numbers(scale, (int)width));
    unsigned char* at = page_bytes_extend(&p->plain, 4 * total);
    for (size_t j = 0; at != NULL && j < width; ++j) {
        uint32_t before = 0;
        for (size_t i = 0; i < n; ++i) {
            double value;
            memcpy(&value, (const char*)&p->key[i] + offset + j * sizeof value, sizeof value);
            const double whole = round((value - origin[j]) / scale[j]);
            const int32_t integer =
                fabs(whole) <= INTEGER_MAX ? (int32_t)whole : 0; /* and not a NaN */
            const uint32_t delta = (uint32_t)integer - before;
            const uint32_t zigzag = (delta << 1) ^ ((delta & 0x80000000u) != 0 ? 0xffffffffu : 0u);
            before = (uint32_t)integer;
            for (size_t plane = 0; plane < 4; ++plane) {
                at[plane * total + j * n + i] = (unsigned char)(zigzag >> (8 * plane));
            }
        }
    }
}

/* Body by body, and within a body in time: they came in time. */
static bool sort_keys(packer* p, int32_t* start)
{
    track_key* sorted = reserve(p, p->key_count, sizeof *sorted);
    if (sorted == NULL) {
        return false;
    }
    for (size_t i = 0; i < p->key_count; ++i) {
        start[p->key[i].body + 1] += 1;
    }
    for (int32_t b = 0; b < p->bodies; ++b) {
        start[b + 1] += start[b];
    }
    for (size_t i = 0; i < p->key_count; ++i) {
        sorted[start[p->key[i].body]++] = p->key[i];
    }
    memmove(start + 1, start, (size_t)p->bodies * sizeof *start);
    start[0] = 0;
    free(p->key);
    p->key = sorted;
    p->key_capacity = p->key_count;
    /* q and -q are the same turn: take the one nearer to the key before */
    for (size_t i = 1; i < p->key_count; ++i) {
        double* q = sorted[i].q;
        const double* last = sorted[i - 1].q;
        if (sorted[i].body == sorted[i - 1].body &&
            q[0] * last[0] + q[1] * last[1] + q[2] * last[2] + q[3] * last[3] < 0.0) {
            for (int j = 0; j < 4; ++j) {
                q[j] = -q[j];
            }
        }
    }
    return true;
}

/* Origin and scale of positions (planar: the third is the angle). A very distant body reduces the
 * accuracy; the header states the result. */
static void position_scale(packer* p, double origin[3], double scale[3])
{
    for (int i = 0; i < 3; ++i) {
        double low = INFINITY, high = -INFINITY;
        for (int32_t b = 0; b < p->bodies; ++b) {
            low = fmin(low, p->span[b].low[i]);
            high = fmax(high, p->span[b].high[i]);
        }
        origin[i] = isfinite(low + high) ? 0.5 * low + 0.5 * high : 0.0;
        const double half = isfinite(high - low) ? 0.5 * (high - low) : 0.0;
        const bool angle = p->planar && i == 2;
        const double unit = angle ? p->size : 1.0;
        scale[i] = fmax(p->accuracy / unit / STEPS_PER_NEAR, half / INTEGER_MAX);
        p->accuracy = fmax(p->accuracy, scale[i] * unit * 2.0);
    }
    if (p->planar) { /* one number for all three where the accuracy allows it */
        const double least = fmin(fmin(scale[0], scale[1]), scale[2]);
        bool fits = true;
        for (int i = 0; i < 3; ++i) {
            for (int32_t b = 0; b < p->bodies; ++b) {
                fits = fits && fabs(p->span[b].high[i] - origin[i]) <= INTEGER_MAX * least &&
                       fabs(p->span[b].low[i] - origin[i]) <= INTEGER_MAX * least;
            }
        }
        for (int i = 0; fits && i < 3; ++i) {
            scale[i] = least;
        }
    } else {
        scale[0] = scale[1] = scale[2] = fmax(scale[0], fmax(scale[1], scale[2]));
    }
}

static void put_tracks(packer* p)
{
    int32_t* start = reserve(p, (size_t)p->bodies + 1, sizeof *start);
    if (start == NULL || !sort_keys(p, start)) {
        free(start);
        return;
    }
    put_column(p, "track.start", "i32", start, (size_t)p->bodies + 1, 1, sizeof *start);
    free(start);
    const size_t n = p->key_count, stride = sizeof *p->key;
    put_column(p, "track.frame", "i32", &p->key[0].frame, n, 1, stride);
    double origin[4] = {0}, scale[4];
    position_scale(p, origin, scale);
    put_fixed(p, "track.position", offsetof(track_key, x), 3, origin, scale);
    if (!p->planar) {
        const double zero[4] = {0}, unit = p->accuracy / p->size / STEPS_PER_NEAR;
        const double units[4] = {unit, unit, unit, unit};
        put_fixed(p, "track.orientation", offsetof(track_key, q), 4, zero, units);
    }
    put_column(p, "track.velocity", "f32", p->key[0].v, n, p->planar ? 2 : 3, stride);
    put_column(p, "track.spin", "f32", p->key[0].w, n, p->planar ? 1 : 3, stride);
}

static void put_contacts(packer* p)
{
    static const contact_row nothing;
    const contact_row* r = p->row_count > 0 ? p->row : &nothing;
    const size_t n = p->row_count, stride = sizeof *r;
    const struct {
        const char *name, *kind;
        const void* data;
        size_t width;
    } table[] = {
        {"contacts.body", "i32", r->body, 2},
        {"contacts.point", "f32", r->point, 3},
        {"contacts.normal", "f32", r->normal, 3},
        {"contacts.tangent", "f32", r->tangent, 3},
        {"contacts.gap", "f32", &r->gap, 1},
        {"contacts.mu", "f32", &r->mu, 1},
        {"contacts.cone", "u8", &r->cone, 1},
        {"contacts.directions", "u8", &r->directions, 1},
        {"contacts.impulse", "f32", r->impulse, 4},
        {"contacts.slip", "f32", r->slip, 2},
        {"contacts.key", "f64", &r->key, 1},
        {"contacts.state", "u8", &r->state, 1},
    };
    int32_t* offset = reserve(p, (size_t)p->frames + 1, sizeof *offset);
    if (offset == NULL) {
        return;
    }
    memcpy(offset + 1, p->row_end, (size_t)p->frames * sizeof *offset);
    put_column(p, "contacts.offset", "i32", offset, (size_t)p->frames + 1, 1, sizeof *offset);
    free(offset);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
        put_column(p, table[i].name, table[i].kind, table[i].data, n, table[i].width, stride);
    }
}

/* Terms of the ledger that are 0 throughout are left out. */
static void put_ledger(packer* p)
{
    const size_t n = (size_t)p->frames;
    for (int32_t i = 0; i < PERP_LEDGER_COUNT; ++i) {
        const char* own = perp_ledger_name(i);
        const double* column = p->scalar[LEDGER + i];
        bool there = strcmp(own, "change") == 0 || strcmp(own, "unexplained") == 0;
        for (size_t k = 0; k < n; ++k) {
            there = there || column[k] != 0.0;
        }
        if (there && strcmp(own, "magnitude") != 0) {
            char name[64];
            (void)snprintf(name, sizeof name, "ledger.%s", own);
            put_column(p, name, "f64", column, n, 1, sizeof(double));
        }
    }
}

static void put_scalars(packer* p)
{
    const bool ledger = perp_recording_has_ledger(p->recording);
    put_column(p, "time", "f64", p->time, (size_t)p->frames, 1, sizeof(double));
    for (int i = 0; i < LEDGER; ++i) {
        const char* name = p->planar ? scalars[i].planar : scalars[i].name;
        const bool there = i == JOINT_ERROR      ? perp_model_joint_count(p->model) > 0
                           : i >= MOMENTUM_ERROR ? ledger
                                                 : true;
        if (name != NULL && there) {
            put_column(p, name, "f64", p->scalar[i], (size_t)p->frames, 1, sizeof(double));
        }
    }
    if (ledger) {
        put_ledger(p);
    }
    char name[64];
    const float* values;
    for (int32_t i = 0; (values = page_joints_column(&p->joints, i, name, sizeof name)) != NULL;
         ++i) {
        put_column(p, name, "f32", values, (size_t)p->frames, 1, sizeof(float));
    }
}

/* ---- all together -------------------------------------------------------------------------------*/

static bool open_recording(packer* p, perp_context* context, const char* path)
{
    p->context = context;
    p->status = perp_recording_open(context, path, &p->recording);
    if (p->status == PERP_OK) {
        const char* text = perp_recording_scene_text(p->recording);
        p->status = perp_scene_parse(context, text, strlen(text), path, NULL, 0, &p->scene);
    }
    if (p->status != PERP_OK) {
        p->result = PAGE_FAILED;
        return false;
    }
    p->model = perp_scene_model(p->scene);
    p->planar = perp_model_dimension(p->model) == 2;
    p->bodies = perp_model_body_count(p->model);
    p->nq = p->planar ? 3 : 7;
    p->nv = p->planar ? 3 : 6;
    const perp_scene_run run = perp_scene_run_settings(p->scene);
    p->step = cli_nominal_step(&run);
    p->recorded = perp_recording_frame_count(p->recording);
    p->stride = (p->recorded + FRAMES_MAX - 2) / (FRAMES_MAX - 1);
    p->stride = p->stride > 0 ? p->stride : 1;
    p->frames = (p->recorded - 1) / p->stride + 1 + ((p->recorded - 1) % p->stride != 0);
    return true;
}

static bool prepare(packer* p)
{
    const size_t bodies = (size_t)p->bodies, frames = (size_t)p->frames;
    p->columns = json_array();
    p->time = reserve(p, frames, sizeof *p->time);
    for (int i = 0; i < SCALARS; ++i) {
        p->scalar[i] = reserve(p, frames, sizeof **p->scalar);
    }
    p->row_end = reserve(p, frames, sizeof *p->row_end);
    p->span = reserve(p, bodies, sizeof *p->span);
    p->door = reserve(p, bodies, sizeof *p->door);
    p->last_v = reserve(p, bodies * p->nv, sizeof *p->last_v);
    for (int32_t b = 0; p->result == PAGE_OK && b < p->bodies; ++b) {
        p->span[b].reach = page_reach(p->model, b);
    }
    if (p->result == PAGE_OK && !page_joints_begin(&p->joints, p->context, p->model, p->frames)) {
        p->result = PAGE_NO_MEMORY;
    }
    return p->result == PAGE_OK;
}

/* Measures and outcome, which the last frame keeps; without them if the scene cannot be simulated here. */
static void put_measures(packer* p, json_t* o)
{
    perp_sim* sim = NULL;
    const perp_sim_def def = perp_sim_def_from_scene(p->scene);
    if (def.measure_count + def.stop_count > 0 &&
        perp_sim_create_from_scene(p->context, p->scene, &sim) == PERP_OK &&
        perp_recording_restore(p->recording, -1, sim) == PERP_OK) {
        (void)json_object_set_new(o, "measures", cli_measures_json(sim));
        (void)json_object_set_new(o, "outcome", page_text(perp_sim_outcome(sim)));
    }
    perp_sim_destroy(sim);
}

static void put_header(packer* p, const char* path, page_run* run)
{
    json_t* o = page_header(p->scene, path);
    put_measures(p, o);
    const char* note = perp_recording_note(p->recording);
    (void)json_object_set_new(o, "complete", json_boolean(perp_recording_complete(p->recording)));
    (void)json_object_set_new(o, "finished", json_boolean(perp_recording_finished(p->recording)));
    (void)json_object_set_new(o, "note", page_text(note));
    (void)json_object_set_new(o, "frames", json_integer(p->frames));
    (void)json_object_set_new(o, "frames_recorded", json_integer(p->recorded));
    (void)json_object_set_new(o, "size", cli_number(p->size));
    (void)json_object_set_new(o, "accuracy", cli_number(p->accuracy));
    (void)json_object_set_new(o, "contacts.every", json_integer(p->contacts_every));
    (void)json_object_set_new(o, "contacts.pushing_only", json_boolean(p->pushing_only));
    (void)json_object_set_new(o, "columns", json_incref(p->columns));
    run->header = o;
    run->scene = strdup(perp_scene_text(p->scene));
}

static double magnitude(json_t* header)
{
    double sum = 0.0;
    json_t* gravity = json_object_get(header, "gravity");
    for (size_t i = 0; i < json_array_size(gravity); ++i) {
        sum = hypot(sum, json_number_value(json_array_get(gravity, i)));
    }
    return sum;
}

static bool deflate_blob(packer* p, page_run* run)
{
    uLongf size = compressBound((uLong)p->plain.size);
    unsigned char* at = page_bytes_extend(&run->blob, size);
    if (p->plain.failed || at == NULL ||
        compress2(at, &size, p->plain.data, (uLong)p->plain.size, 6) != Z_OK) {
        p->result = PAGE_NO_MEMORY;
        return false;
    }
    run->blob.size = size;
    run->plain = p->plain.size;
    return true;
}

static void pack(packer* p, perp_context* context, const char* path, page_run* run)
{
    if (!open_recording(p, context, path) || !prepare(p)) {
        return;
    }
    json_t* settings = page_header(p->scene, NULL);
    p->gravity = magnitude(settings);
    json_decref(settings);
    survey(p);
    if (p->result == PAGE_OK) {
        choose_accuracy(p);
    }
    if (p->result == PAGE_OK) {
        /* the exact size of the tracks is not known yet; assume their full budget */
        choose_contacts(p, scalar_bytes(p) + track_share(p));
        gather(p);
    }
    if (p->result == PAGE_OK) {
        put_scalars(p);
        put_tracks(p);
        put_contacts(p);
    }
    if (p->result == PAGE_OK && deflate_blob(p, run)) {
        put_header(p, path, run);
        run->frames = p->frames;
        run->accuracy = p->accuracy;
        run->key_count = (int32_t)p->key_count;
        run->begin = p->time[0];
        run->end = p->time[p->frames - 1];
    }
}

page_status page_pack(perp_context* context, const char* path, page_run* run, perp_status* status)
{
    packer p = {.result = PAGE_OK, .status = PERP_OK};
    *run = (page_run){0};
    pack(&p, context, path, run);
    if (p.result != PAGE_OK) {
        page_run_free(run);
    }
    free(p.time);
    for (int i = 0; i < SCALARS; ++i) {
        free(p.scalar[i]);
    }
    free(p.span);
    free(p.door);
    free(p.last_v);
    free(p.key);
    free(p.row);
    free(p.row_end);
    page_keys_free(&p.features);
    page_joints_end(&p.joints);
    page_bytes_free(&p.plain);
    json_decref(p.columns);
    perp_recording_close(p.recording);
    perp_scene_destroy(p.scene);
    *status = p.status;
    return p.result;
}

void page_run_free(page_run* run)
{
    json_decref(run->header);
    free(run->scene);
    page_bytes_free(&run->blob);
    *run = (page_run){0};
}
