/* bench/heaps.c - how the time of a step grows with the number of bodies of a heap.
 *
 *     heaps [--boxes N,...] [--spheres N,...] [--moving A,B] [--rest A,B] [--tolerance T] [--limit SECONDS]
 *           [--json FILE]
 *
 * N boxes or spheres of random size fall in LAYERS layers into a container that grows in width only, so that
 * heaps of all sizes are equally deep. Processor time of a step (all threads), averaged over the
 * same time windows for all sizes: while they move, and at rest. Contacts per body are printed:
 * where they differ, so does the problem. Memory: the most that the context held. Exponents: slope
 * of log(time) over log(bodies), least squares. --limit: processor time for one heap; what it does
 * not reach is left out. Minutes to hours: `scripts/run-bench build/release heaps`.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/table.h"
#include "perp/perp.h"

enum { LAYERS = 8, SIZES_MAX = 16, WINDOWS = 2 };
#define STEP 0.005

typedef struct settings {
    int sizes[2][SIZES_MAX]; /* boxes, spheres; ends with 0 */
    double window[WINDOWS][2];
    double tolerance, limit;
} settings;

typedef struct memory {
    size_t held, most;
} memory;

typedef struct heap_figures {
    int bodies;
    double seconds[WINDOWS];  /* mean of a step; NaN: not reached */
    double slowest[WINDOWS];  /* step of the window */
    double contacts[WINDOWS]; /* mean, with an impulse */
    double bytes, certificate;
} heap_figures;

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Keeps the size in front of each piece; 16 bytes, so that the alignment stays. */
static void* counted_resize(void* user, void* p, size_t size)
{
    memory* m = user;
    size_t* old = p != NULL ? (size_t*)p - 2 : NULL;
    const size_t before = old != NULL ? old[0] : 0;
    if (size == 0) {
        m->held -= before;
        free(old);
        return NULL;
    }
    size_t* made = realloc(old, size + 2 * sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made[0] = size;
    m->held += size - before;
    m->most = m->held > m->most ? m->held : m->most;
    return made + 2;
}

static double uniform(uint64_t* state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

static int write_body(char* at, int index, bool spheres, const double place[3], uint64_t* random)
{
    double q[4], length;
    const double a = 0.2 + 0.2 * uniform(random), b = 0.2 + 0.2 * uniform(random),
                 c = 0.2 + 0.2 * uniform(random);
    do {
        length = 0.0;
        for (int i = 0; i < 4; ++i) {
            q[i] = 2.0 * uniform(random) - 1.0;
            length += q[i] * q[i];
        }
    } while (length > 1.0 || length < 0.01);
    length = sqrt(length);
    int n = sprintf(at,
                    ",{\"name\":\"b%d\",\"density\":1000,\"position\":[%.17g,%.17g,%.17g],"
                    "\"orientation\":[%.17g,%.17g,%.17g,%.17g],\"shapes\":[",
                    index, place[0], place[1], place[2], q[0] / length, q[1] / length,
                    q[2] / length, q[3] / length);
    n += spheres ? sprintf(at + n, "{\"type\":\"sphere\",\"radius\":%.17g}]}", 0.5 * a)
                 : sprintf(at + n, "{\"type\":\"box\",\"size\":[%.17g,%.17g,%.17g]}]}", a, b, c);
    return n;
}

static char* write_scene(int bodies, bool spheres, double tolerance)
{
    char* text = malloc(2048 + 512 * (size_t)bodies);
    if (text == NULL) {
        return NULL;
    }
    const int across = (int)ceil(sqrt((double)bodies / LAYERS) - 1e-9);
    const double pitch = spheres ? 0.45 : 0.7, half = 0.5 * pitch * across;
    uint64_t random = 12345;
    int n = sprintf(text,
                    "{\"gravity\":[0,0,-9.81],\"step\":%g,\"duration\":1e6,\"tolerance\":%g,"
                    "\"friction\":{\"default\":0.5},\"bodies\":[{\"name\":\"ground\",\"type\":"
                    "\"static\",\"shapes\":[{\"type\":\"plane\",\"normal\":[0,0,1]}",
                    STEP, tolerance);
    for (int side = 0; side < 4; ++side) {
        const int sign = side % 2 == 0 ? 1 : -1;
        n += sprintf(text + n, ",{\"type\":\"plane\",\"normal\":[%d,%d,0],\"offset\":%.17g}",
                     side < 2 ? sign : 0, side < 2 ? 0 : sign, -half);
    }
    n += sprintf(text + n, "]}");
    for (int i = 0; i < bodies; ++i) {
        /* spheres exactly above each other would stand in columns */
        const double x = spheres ? 0.04 * (uniform(&random) - 0.5) : 0.0,
                     y = spheres ? 0.04 * (uniform(&random) - 0.5) : 0.0;
        const double place[3] = {-half + pitch * (i / across % across + 0.5) + x,
                                 -half + pitch * (i % across + 0.5) + y,
                                 0.5 * pitch + 0.05 + pitch * (i / (across * across))};
        n += write_body(text + n, i, spheres, place, &random);
    }
    sprintf(text + n, "]}");
    return text;
}

/* Steps to the end of the last window, or until the limit. */
static bool fall(perp_context* context, perp_sim* sim, const settings* set, heap_figures* f)
{
    double sum[WINDOWS] = {0}, contacts[WINDOWS] = {0}, spent = 0.0, last = 0.0;
    int count[WINDOWS] = {0};
    for (int w = 0; w < WINDOWS; ++w) {
        last = set->window[w][1] > last ? set->window[w][1] : last;
    }
    while (perp_sim_time(sim) < last - 0.5 * STEP && spent < set->limit) {
        const double t = perp_sim_time(sim) + 0.5 * STEP, begin = processor_seconds();
        if (perp_sim_step(sim) != PERP_OK) {
            fprintf(stderr, "heaps: %d bodies, t = %g: %s\n", f->bodies, t,
                    perp_context_error(context));
            return false;
        }
        const double seconds = processor_seconds() - begin;
        spent += seconds;
        const perp_step_info info = perp_sim_step_info(sim);
        const double worst = info.certificate.worst;
        f->certificate = !(worst <= f->certificate) ? worst : f->certificate;
        for (int w = 0; w < WINDOWS; ++w) {
            if (t > set->window[w][0] && t < set->window[w][1]) {
                sum[w] += seconds;
                contacts[w] += info.contacts;
                count[w] += 1;
                f->slowest[w] = seconds > f->slowest[w] ? seconds : f->slowest[w];
            }
        }
    }
    for (int w = 0; w < WINDOWS; ++w) {
        /* a window that the limit cut would be another window */
        const bool whole = perp_sim_time(sim) > set->window[w][1] - 0.5 * STEP && count[w] > 0;
        f->seconds[w] = whole ? sum[w] / count[w] : NAN;
        f->contacts[w] = whole ? contacts[w] / count[w] : NAN;
    }
    return true;
}

static bool measure(const settings* set, bool spheres, heap_figures* f)
{
    memory used = {0};
    perp_context_def def = perp_context_def_default();
    def.allocator = (perp_allocator){counted_resize, &used};
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    bool good = false;
    char* text = write_scene(f->bodies, spheres, set->tolerance);
    if (text == NULL || perp_context_create(&def, &context) != PERP_OK) {
        fprintf(stderr, "heaps: out of memory\n");
    } else if (perp_scene_parse(context, text, strlen(text), "heaps", NULL, 0, &scene) != PERP_OK ||
               perp_sim_create_from_scene(context, scene, &sim) != PERP_OK) {
        fprintf(stderr, "heaps: %s\n", perp_context_error(context));
    } else {
        good = fall(context, sim, set, f);
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    free(text);
    f->bytes = (double)used.most;
    return good;
}

static double exponent(const heap_figures* f, int count, int window)
{
    double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
    for (int i = 0; i < count; ++i) {
        if (isfinite(f[i].seconds[window])) {
            const double x = log(f[i].bodies), y = log(f[i].seconds[window]);
            n += 1.0;
            sx += x;
            sy += y;
            sxx += x * x;
            sxy += x * y;
        }
    }
    return n < 2.0 ? NAN : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static void print_figures(table* t, const char* kind, const settings* set, const heap_figures* f)
{
    static const char* const names[WINDOWS] = {"moving", "at rest"};
    char name[96];
    for (int w = 0; w < WINDOWS; ++w) {
        if (!isfinite(f->seconds[w])) {
            printf("%d %s: t = %g to %g s not reached within --limit\n", f->bodies, kind,
                   set->window[w][0], set->window[w][1]);
            continue;
        }
        snprintf(name, sizeof name, "%d %s, %s: step", f->bodies, kind, names[w]);
        table_add(t, name, 1e3 * f->seconds[w], "ms");
        snprintf(name, sizeof name, "%d %s, %s: slowest step", f->bodies, kind, names[w]);
        table_add(t, name, 1e3 * f->slowest[w], "ms");
        snprintf(name, sizeof name, "%d %s, %s: contacts per body", f->bodies, kind, names[w]);
        table_add(t, name, f->contacts[w] / f->bodies, "");
    }
    const double contacts = isfinite(f->contacts[1]) ? f->contacts[1] : f->contacts[0];
    snprintf(name, sizeof name, "%d %s: memory per contact", f->bodies, kind);
    table_add(t, name, f->bytes / contacts, "bytes");
    snprintf(name, sizeof name, "%d %s: largest certificate", f->bodies, kind);
    table_add(t, name, f->certificate, "");
    fflush(stdout);
}

/* Options of this program; the table's are kept in argv. */
static bool read_options(int* argc, char** argv, settings* set)
{
    int kept = 1;
    bool good = true;
    for (int i = 1; i < *argc; ++i) {
        const char *name = argv[i], *value = i + 1 < *argc ? argv[i + 1] : "";
        double* window = strcmp(name, "--moving") == 0 ? set->window[0]
                         : strcmp(name, "--rest") == 0 ? set->window[1]
                                                       : NULL;
        double* number = strcmp(name, "--tolerance") == 0 ? &set->tolerance
                         : strcmp(name, "--limit") == 0   ? &set->limit
                                                          : NULL;
        if (strcmp(name, "--boxes") == 0 || strcmp(name, "--spheres") == 0) {
            good =
                good && table_read_counts(value, 1, 1000000, SIZES_MAX, set->sizes[name[2] == 's']);
        } else if (window != NULL) {
            good = good && sscanf(value, "%lf,%lf", &window[0], &window[1]) == 2;
        } else if (number != NULL) {
            good = good && sscanf(value, "%lf", number) == 1;
        } else {
            argv[kept++] = argv[i];
            continue;
        }
        i += 1;
    }
    *argc = kept;
    return good;
}

int main(int argc, char** argv)
{
    static const char* const kinds[] = {"boxes", "spheres"};
    settings set = {.sizes = {{50, 100, 200, 500, 1000, 2000}, {1000, 2000, 5000, 10000, 20000}},
                    .window = {{1.0, 1.5}, {5.0, 5.5}},
                    .tolerance = perp_sim_def_default().tolerance,
                    .limit = 600.0};
    if (!read_options(&argc, argv, &set)) {
        fprintf(stderr, "usage: heaps [--boxes N,...] [--spheres N,...] [--moving A,B] [--rest "
                        "A,B] [--tolerance T] [--limit SECONDS] [--json FILE]\n");
        return 2;
    }
    table t = table_begin("heaps", argc, argv);
    bool good = true;
    for (int kind = 0; kind < 2; ++kind) {
        heap_figures figures[SIZES_MAX] = {0};
        int count = 0;
        for (; set.sizes[kind][count] > 0; ++count) {
            figures[count].bodies = set.sizes[kind][count];
            figures[count].seconds[0] = figures[count].seconds[1] = NAN;
            good = measure(&set, kind == 1, &figures[count]) && good;
            print_figures(&t, kinds[kind], &set, &figures[count]);
        }
        for (int w = 0; w < WINDOWS && count > 1; ++w) {
            char name[96];
            snprintf(name, sizeof name, "%s, %s: exponent of the time of a step", kinds[kind],
                     w == 0 ? "moving" : "at rest");
            table_add(&t, name, exponent(figures, count, w), "");
        }
    }
    const int written = table_end(&t);
    return good ? written : 1;
}
