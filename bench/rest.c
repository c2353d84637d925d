/* bench/rest.c - how the time of a step grows with the number of bodies of a heap that rests.
 *
 *     rest [--boxes LAYERS,...] [--spheres LAYERS,...] [--steps N] [--limit SECONDS] [--json FILE]
 *
 * Square pyramids of LAYERS layers, built as they rest: unit cubes each on four (apart by an eighth), spheres each in
 * the hollow of four, the lowest layer held by a frame. 55 to 2,109 boxes, 55 to 20,540 spheres. The first
 * SETTLE steps, of which one is cold, do not count. Of the others: mean and largest processor time of a step
 * (one thread), how many were solved and not only checked, contacts per body, largest displacement and
 * certificate. Exponents: slope of log(time) over log(bodies) and log(contacts), least squares. --limit: processor
 * time for one heap; what it does not reach is left out.
 * Minutes: `scripts/run-bench build/release rest`. bench/heaps.c lets heaps fall.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/table.h"
#include "perp/perp.h"

enum { SIZES_MAX = 16, SETTLE = 5 };

typedef struct settings {
    int layers[2][SIZES_MAX]; /* boxes, spheres; ends with 0 */
    int steps;
    double limit;
} settings;

typedef struct rest_figures {
    int bodies, solved;
    double first, mean, largest; /* seconds; mean: NaN if the limit was reached */
    double contacts, displacement, certificate;
} rest_figures;

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int write_ground(char* text, int layers, bool spheres)
{
    int n = sprintf(text, "{\"gravity\":[0,0,-9.81],\"step\":0.005,\"duration\":1e6,"
                          "\"friction\":{\"default\":0.5},\"bodies\":[{\"name\":\"ground\","
                          "\"type\":\"static\",\"shapes\":[{\"type\":\"plane\","
                          "\"normal\":[0,0,1]}");
    for (int side = 0; spheres && side < 4; ++side) {
        const int sign = side % 2 == 0 ? 1 : -1;
        n += sprintf(text + n, ",{\"type\":\"plane\",\"normal\":[%d,%d,0],\"offset\":%.17g}",
                     side < 2 ? sign : 0, side < 2 ? 0 : sign, -0.5 * layers);
    }
    return n + sprintf(text + n, "]}");
}

/* Spheres of diameter 1 on a square lattice, layers sqrt(1/2) apart. */
static char* write_scene(int layers, bool spheres, int* bodies)
{
    *bodies = layers * (layers + 1) * (2 * layers + 1) / 6;
    char* text = malloc(2048 + 256 * (size_t)*bodies);
    if (text == NULL) {
        return NULL;
    }
    const double pitch = spheres ? 1.0 : 1.125, rise = spheres ? sqrt(0.5) : 1.0;
    int n = write_ground(text, layers, spheres), index = 0;
    for (int k = 0; k < layers; ++k) {
        const int across = layers - k;
        for (int i = 0; i < across * across; ++i) {
            n += sprintf(text + n,
                         ",{\"name\":\"b%d\",\"density\":1000,\"position\":[%.17g,%.17g,%.17g],"
                         "\"shapes\":[%s]}",
                         index++, pitch * (i % across - 0.5 * (across - 1)),
                         pitch * (i / across - 0.5 * (across - 1)), 0.5 + rise * k,
                         spheres ? "{\"type\":\"sphere\",\"radius\":0.5}"
                                 : "{\"type\":\"box\",\"size\":[1,1,1]}");
        }
    }
    sprintf(text + n, "]}");
    return text;
}

static double farthest(perp_sim* sim, const perp_body_state* start, int bodies)
{
    double most = 0.0;
    for (int i = 0; i <= bodies; ++i) {
        const perp_body_state now = perp_sim_body(sim, i);
        for (int k = 0; k < 3; ++k) {
            const double d = fabs(now.position[k] - start[i].position[k]);
            most = !(d <= most) ? d : most;
        }
    }
    return most;
}

static bool stand(perp_context* context, perp_sim* sim, const settings* set,
                  const perp_body_state* start, rest_figures* f)
{
    double spent = 0.0, counted = 0.0;
    int done = 0;
    for (; done < SETTLE + set->steps && spent < set->limit; ++done) {
        const double begin = processor_seconds();
        if (perp_sim_step(sim) != PERP_OK) {
            fprintf(stderr, "rest: %d bodies, step %d: %s\n", f->bodies, done + 1,
                    perp_context_error(context));
            return false;
        }
        const double seconds = processor_seconds() - begin;
        const perp_step_info info = perp_sim_step_info(sim);
        spent += seconds;
        f->first = done == 0 ? seconds : f->first;
        f->certificate =
            !(info.certificate.worst <= f->certificate) ? info.certificate.worst : f->certificate;
        if (done >= SETTLE) {
            counted += seconds;
            f->largest = seconds > f->largest ? seconds : f->largest;
            f->solved += info.report.iterations > 0;
            f->contacts = info.candidates;
        }
    }
    f->displacement = farthest(sim, start, f->bodies);
    f->mean = done == SETTLE + set->steps ? counted / set->steps : NAN;
    return true;
}

static bool measure(const settings* set, int layers, bool spheres, rest_figures* f)
{
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    bool good = false;
    char* text = write_scene(layers, spheres, &f->bodies);
    perp_body_state* start = malloc(((size_t)f->bodies + 1) * sizeof *start);
    if (text == NULL || start == NULL || perp_context_create(NULL, &context) != PERP_OK ||
        perp_context_set_threads(context, 1) != PERP_OK) {
        fprintf(stderr, "rest: out of memory\n");
    } else if (perp_scene_parse(context, text, strlen(text), "rest", NULL, 0, &scene) != PERP_OK ||
               perp_sim_create_from_scene(context, scene, &sim) != PERP_OK) {
        fprintf(stderr, "rest: %s\n", perp_context_error(context));
    } else {
        for (int i = 0; i <= f->bodies; ++i) {
            start[i] = perp_sim_body(sim, i);
        }
        good = stand(context, sim, set, start, f);
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    free(start);
    free(text);
    return good;
}

static double exponent(const rest_figures* f, int count, bool contacts)
{
    double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
    for (int i = 0; i < count; ++i) {
        if (isfinite(f[i].mean)) {
            const double x = log(contacts ? f[i].contacts : f[i].bodies), y = log(f[i].mean);
            n += 1.0;
            sx += x;
            sy += y;
            sxx += x * x;
            sxy += x * y;
        }
    }
    return n < 2.0 ? NAN : (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static void print_figures(table* t, const char* kind, const settings* set, const rest_figures* f)
{
    const struct {
        const char* what;
        double value;
        const char* unit;
    } figures[] = {
        {"step", 1e3 * f->mean, "ms"},
        {"largest step", 1e3 * f->largest, "ms"},
        {"first step (cold)", 1e3 * f->first, "ms"},
        {"part of the steps that was solved", (double)f->solved / set->steps, ""},
        {"contacts per body", f->contacts / f->bodies, ""},
        {"largest displacement", f->displacement, "m"},
        {"largest certificate", f->certificate, ""},
    };
    if (!isfinite(f->mean)) {
        printf("%d %s: not reached within --limit (first step %g s)\n", f->bodies, kind, f->first);
        return;
    }
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; ++i) {
        char name[96];
        snprintf(name, sizeof name, "%d %s: %s", f->bodies, kind, figures[i].what);
        table_add(t, name, figures[i].value, figures[i].unit);
    }
    fflush(stdout);
}

/* Options of this program; the table's are kept in argv. */
static bool read_options(int* argc, char** argv, settings* set)
{
    int kept = 1;
    bool good = true;
    for (int i = 1; i < *argc; ++i) {
        const char *name = argv[i], *value = i + 1 < *argc ? argv[i + 1] : "";
        if (strcmp(name, "--boxes") == 0 || strcmp(name, "--spheres") == 0) {
            good = good && table_read_counts(value, 0, 100, SIZES_MAX, set->layers[name[2] == 's']);
        } else if (strcmp(name, "--steps") == 0) {
            good = good && sscanf(value, "%d", &set->steps) == 1 && set->steps > 0;
        } else if (strcmp(name, "--limit") == 0) {
            good = good && sscanf(value, "%lf", &set->limit) == 1;
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
    settings set = {
        .layers = {{5, 8, 11, 14, 18}, {5, 10, 16, 25, 39}}, .steps = 100, .limit = 300.0};
    if (!read_options(&argc, argv, &set)) {
        fprintf(stderr, "usage: rest [--boxes LAYERS,...] [--spheres LAYERS,...] [--steps N] "
                        "[--limit SECONDS] [--json FILE]\n");
        return 2;
    }
    table t = table_begin("rest", argc, argv);
    bool good = true;
    for (int kind = 0; kind < 2; ++kind) {
        rest_figures figures[SIZES_MAX] = {0};
        int count = 0;
        for (; set.layers[kind][count] > 0; ++count) {
            good = measure(&set, set.layers[kind][count], kind == 1, &figures[count]) && good;
            print_figures(&t, kinds[kind], &set, &figures[count]);
        }
        for (int by = 0; count > 1 && by < 2; ++by) {
            char name[96];
            snprintf(name, sizeof name, "%s: exponent of the time over %s", kinds[kind],
                     by == 0 ? "bodies" : "contacts");
            table_add(&t, name, exponent(figures, count, by == 1), "");
        }
    }
    const int written = table_end(&t);
    return good ? written : 1;
}
