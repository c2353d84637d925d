/* src/base/context.c - see context.h and perp/base.h. */
#include "base/context.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context_lanes.h"

enum { MESSAGE_SIZE = 2048 };

typedef struct piece_list {
    const void** item;
    size_t count, capacity;
} piece_list;

struct perp_context {
    perp_allocator allocator;
    perp_log_fn log;
    void* log_user;
    uint64_t allocations;
    piece_list pieces[PERPI_PIECE_COUNT];
    char message[MESSAGE_SIZE];
    perp_context* root; /* of a lane's context: whose allocator and pieces it uses; else NULL */
    perpi_context_lanes lanes;
    bool shared; /* lanes use the allocator too: one at a time */
    pthread_mutex_t lock;
};

_Noreturn void perpi_assert_failed(const char* condition, const char* file, int line)
{
    /* The one place that writes to stderr and stops: a bug in the library or a broken contract. */
    fprintf(stderr, "perp: assertion failed: %s (%s:%d)\n", condition, file, line);
    abort();
}

static void* libc_resize(void* user, void* p, size_t size)
{
    (void)user;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

perp_context_def perp_context_def_default(void)
{
    return (perp_context_def){.allocator = {.resize = libc_resize}};
}

perp_status perp_context_create(const perp_context_def* def, perp_context** context)
{
    perp_context_def chosen = def != NULL ? *def : perp_context_def_default();
    if (chosen.allocator.resize == NULL) {
        chosen.allocator.resize = libc_resize;
    }
    perp_context* c = chosen.allocator.resize(chosen.allocator.user, NULL, sizeof *c);
    if (c == NULL) {
        return PERP_ERROR_MEMORY;
    }
    memset(c, 0, sizeof *c);
    c->allocator = chosen.allocator;
    c->log = chosen.log;
    c->log_user = chosen.log_user;
    c->allocations = 1;
    *context = c;
    return PERP_OK;
}

void perp_context_destroy(perp_context* context)
{
    if (context == NULL) {
        return;
    }
    perpi_threads_stop(context->lanes.pool);
    for (int32_t i = 0; i < PERPI_LANES_MOST; ++i) {
        perpi_free(context, context->lanes.lane[i]);
    }
    if (context->shared) {
        (void)pthread_mutex_destroy(&context->lock);
        context->shared = false;
    }
    const piece_list* owned = &context->pieces[PERPI_PIECE_OWNED];
    for (size_t i = 0; i < owned->count; ++i) {
        perpi_free(context, (void*)owned->item[i]);
    }
    for (int kind = 0; kind < PERPI_PIECE_COUNT; ++kind) {
        perpi_free(context, context->pieces[kind].item);
    }
    context->allocator.resize(context->allocator.user, context, 0);
}

const char* perp_context_error(const perp_context* context)
{
    return context->message;
}

uint64_t perp_context_allocations(const perp_context* context)
{
    uint64_t sum = context->allocations;
    for (int32_t i = 0; i < PERPI_LANES_MOST; ++i) {
        sum += context->lanes.lane[i] != NULL ? context->lanes.lane[i]->allocations : 0;
    }
    return sum;
}

/* ---- threads ---------------------------------------------------------------------------------------*/

perp_status perp_context_set_threads(perp_context* context, int32_t threads)
{
    if (threads < 0 || threads > PERPI_LANES_MOST) {
        return perpi_fail(context, PERP_ERROR_INPUT, "threads is %d: 0 (default) to %d",
                          (int)threads, (int)PERPI_LANES_MOST);
    }
    if (threads != context->lanes.threads) {
        perpi_threads_stop(context->lanes.pool);
        context->lanes.pool = NULL;
        context->lanes.refused = 0;
        context->lanes.threads = threads;
    }
    return PERP_OK;
}

int32_t perp_context_threads(const perp_context* context)
{
    return context->lanes.threads;
}

perpi_context_lanes* perpi_context_lanes_of(perp_context* context)
{
    return context->root != NULL || context->lanes.inside ? NULL : &context->lanes;
}

perp_status perpi_lane_context(perp_context* context, int32_t lane, perp_context** own)
{
    if (lane == 0) {
        *own = context;
        return PERP_OK;
    }
    PERP_ASSERT(context->root == NULL && !context->lanes.inside);
    if (context->lanes.lane[lane] == NULL) {
        perp_context* made = NULL;
        const perp_status status = perpi_alloc(context, 1, sizeof *made, &made);
        if (status != PERP_OK) {
            return status;
        }
        made->root = context;
        context->lanes.lane[lane] = made;
        if (!context->shared) {
            (void)pthread_mutex_init(&context->lock, NULL);
            context->shared = true;
        }
    }
    *own = context->lanes.lane[lane];
    return PERP_OK;
}

const char* perp_status_name(perp_status status)
{
    switch (status) {
    case PERP_OK: return "ok";
    case PERP_ERROR_INPUT: return "bad input";
    case PERP_ERROR_MEMORY: return "out of memory";
    case PERP_ERROR_IO: return "input/output error";
    case PERP_ERROR_UNSUPPORTED: return "not built yet";
    case PERP_ERROR_NUMERIC: return "not a finite number";
    case PERP_ERROR_SOLVE: return "not solved";
    case PERP_ERROR_CANCELLED: return "cancelled";
    }
    return "unknown status";
}

const char* perp_outcome_name(perp_outcome outcome)
{
    switch (outcome) {
    case PERP_OUTCOME_UNSET: return "unset";
    case PERP_OUTCOME_SOLVED: return "solved";
    case PERP_OUTCOME_MAX_ITER: return "max-iter";
    case PERP_OUTCOME_TIME_LIMIT: return "time-limit";
    case PERP_OUTCOME_RAY: return "ray";
    case PERP_OUTCOME_NO_SOLUTION: return "no-solution";
    case PERP_OUTCOME_BREAKDOWN: return "breakdown";
    case PERP_OUTCOME_CANCELLED: return "cancelled";
    }
    return "unknown outcome";
}

perp_status perpi_fail(perp_context* context, perp_status status, const char* format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(context->message, sizeof context->message, format, args);
    va_end(args);
    return status;
}

perp_status perpi_fail_prefix(perp_context* context, perp_status status, const char* prefix)
{
    char old[MESSAGE_SIZE];
    memcpy(old, context->message, sizeof old);
    const int n = snprintf(context->message, sizeof context->message, "%s: ", prefix);
    if (n >= 0 && (size_t)n < sizeof context->message) {
        size_t room = sizeof context->message - (size_t)n - 1;
        size_t length = strlen(old);
        length = length < room ? length : room;
        memcpy(context->message + n, old, length);
        context->message[(size_t)n + length] = '\0';
    }
    return status;
}

void perpi_log(perp_context* context, perp_log_level level, const char* format, ...)
{
    if (context->log == NULL) {
        return;
    }
    char text[MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    context->log(context->log_user, level, text);
}

static void* call_allocator(perp_context* context, void* p, size_t size)
{
    perp_context* owner = context->root != NULL ? context->root : context;
    if (!owner->lanes.inside) {
        return owner->allocator.resize(owner->allocator.user, p, size);
    }
    (void)pthread_mutex_lock(&owner->lock);
    void* made = owner->allocator.resize(owner->allocator.user, p, size);
    (void)pthread_mutex_unlock(&owner->lock);
    return made;
}

static void* resize(perp_context* context, void* p, size_t size)
{
    context->allocations += 1;
    return call_allocator(context, p, size);
}

perp_status perpi_alloc(perp_context* context, size_t count, size_t size, void* p)
{
    void* memory = NULL;
    if (size != 0 && count > SIZE_MAX / size) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "out of memory: size overflow");
    }
    if (count != 0 && size != 0) {
        memory = resize(context, NULL, count * size);
        if (memory == NULL) {
            return perpi_fail(context, PERP_ERROR_MEMORY, "out of memory (%zu bytes)",
                              count * size);
        }
        memset(memory, 0, count * size);
    }
    memcpy(p, &memory, sizeof memory);
    return PERP_OK;
}

perp_status perpi_grow_now(perp_context* context, void* array, size_t* capacity, size_t need,
                           size_t size)
{
    size_t wanted = *capacity < 8 ? 8 : *capacity;
    while (wanted < need) {
        if (wanted > SIZE_MAX / 2) {
            return perpi_fail(context, PERP_ERROR_MEMORY, "out of memory: size overflow");
        }
        wanted *= 2;
    }
    if (wanted > SIZE_MAX / size) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "out of memory: size overflow");
    }
    void* old;
    memcpy(&old, array, sizeof old);
    unsigned char* grown = resize(context, old, wanted * size);
    if (grown == NULL) {
        return perpi_fail(context, PERP_ERROR_MEMORY, "out of memory (%zu bytes)", wanted * size);
    }
    memset(grown + *capacity * size, 0, (wanted - *capacity) * size);
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return PERP_OK;
}

void perpi_free(perp_context* context, void* p)
{
    if (p != NULL) {
        (void)call_allocator(context, p, 0);
    }
}

perp_status perpi_strndup(perp_context* context, const char* text, size_t length, char** copy)
{
    char* s = NULL;
    const perp_status status = perpi_alloc(context, length + 1, 1, &s);
    if (status != PERP_OK) {
        return status;
    }
    memcpy(s, text, length);
    *copy = s;
    return PERP_OK;
}

perp_status perpi_register(perp_context* context, perpi_piece kind, const void* ops)
{
    piece_list* list = &context->pieces[kind];
    const perp_status status =
        perpi_grow(context, &list->item, &list->capacity, list->count + 1, sizeof *list->item);
    if (status != PERP_OK) {
        return status;
    }
    list->item[list->count++] = ops;
    return PERP_OK;
}

const void* perpi_registered(const perp_context* context, perpi_piece kind, int32_t index)
{
    const perp_context* owner = context->root != NULL ? context->root : context;
    const piece_list* list = &owner->pieces[kind];
    return index >= 0 && (size_t)index < list->count ? list->item[index] : NULL;
}

/* Edit distance with insertion, deletion, substitution and exchange of neighbours, for short words. */
static int edit_distance(const char* a, const char* b)
{
    enum { MAX = 64 };
    const size_t n = strlen(a), m = strlen(b);
    if (n >= MAX || m >= MAX) {
        return MAX;
    }
    int d[MAX][MAX];
    for (size_t i = 0; i <= n; ++i) {
        for (size_t j = 0; j <= m; ++j) {
            if (i == 0 || j == 0) {
                d[i][j] = (int)(i + j);
                continue;
            }
            const int change = a[i - 1] != b[j - 1];
            int best = d[i - 1][j - 1] + change;
            best = d[i - 1][j] + 1 < best ? d[i - 1][j] + 1 : best;
            best = d[i][j - 1] + 1 < best ? d[i][j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best) {
                best = d[i - 2][j - 2] + 1;
            }
            d[i][j] = best;
        }
    }
    return d[n][m];
}

const char* perpi_nearest(const char* word, const char* const* candidates)
{
    const char* nearest = NULL;
    const int allowed = 1 + (int)(strlen(word) / 4); /* about one typing error in four letters */
    int best = allowed + 1;
    for (; *candidates != NULL; ++candidates) {
        const int d = edit_distance(word, *candidates);
        if (d < best) {
            best = d;
            nearest = *candidates;
        }
    }
    return nearest;
}

perp_status perpi_fail_unknown(perp_context* context, const char* kind, const char* word,
                               const char* const* candidates)
{
    const char* nearest = perpi_nearest(word, candidates);
    if (nearest != NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "unknown %s '%.80s': did you mean '%s'?", kind,
                          word, nearest);
    }
    char list[512] = "";
    size_t used = 0;
    for (; *candidates != NULL && used < sizeof list; ++candidates) {
        const int n =
            snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", *candidates);
        used += n > 0 ? (size_t)n : 0;
    }
    return perpi_fail(context, PERP_ERROR_INPUT, "unknown %s '%.80s': known are %s", kind, word,
                      list);
}

perp_status perpi_check_struct(perp_context* context, const char* name, size_t given, size_t size)
{
    if (given == 0 || given == size) {
        return PERP_OK;
    }
    return perpi_fail(context, PERP_ERROR_INPUT,
                      "struct_size: the program's %s has %zu bytes, the library's %zu: compile the "
                      "program with the headers of perp %s, and begin a def with %s_default()",
                      name, given, size, PERP_VERSION_STRING, name);
}
