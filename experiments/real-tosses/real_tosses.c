/* experiments/real-tosses - measured tosses of a cube: what the parameters are, and how well tosses
 * are predicted.
 *
 * Data: tosses of an acrylic cube onto a table, poses at 148 Hz [Pfrommer, Halm, Posa 2020], not
 * part of this repository:
 * --data FILE, by default ../shared/data/cube-tosses/training.csv. Without them tosses are made by simulation with known
 * parameters and noise, and the experiment says whether it finds these again.
 *
 * Every fifth toss is held out. Three estimates, each for what its part of the data tells:
 *   flight   rows before the first contact: gravity (the scale of the lengths), centre of mass, ratios of the inertia;
 *   impacts  the first 0.2 s: radius of the corners, inertia, friction at corners, stiffness and damping of the layer (or
 *            restitution), by a robust loss: after some impacts a toss depends on its start so much that
 *            least squares over whole runs would fit the wrong tosses;
 *   slides   whole tosses: friction of the faces.
 * A prediction starts from the rows before the first contact (at most 40) and sees nothing else of its
 * toss. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/study.h"
#include "perp/scene.h"

#define FOLDER "experiments/real-tosses/"
#define WIDTH 0.1048 /* of the cube, by the authors: the unit of the literature's metric */
#define RATE 148.0
#define DEGREES 57.29577951308232

enum { COLUMNS = 13, MOST_ROWS = 1000, MOST_TOSSES = 1000 };

/* x, y, z, quaternion, velocity, angular velocity in the body frame */
typedef struct toss {
    int64_t number;
    int32_t rows;
    double (*row)[COLUMNS];
} toss;

typedef struct tosses {
    toss* toss;
    int32_t count;
} tosses;

static const char header[] = "toss,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz";

/* ---- quaternions ------------------------------------------------------------------------------*/

/* Angle of the rotation from a to b; either may have either sign. */
static double angle_between(const double* a, const double* b)
{
    const double w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    const double x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2];
    const double y = a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1];
    const double z = a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0];
    return 2.0 * atan2(sqrt(x * x + y * y + z * z), fabs(w));
}

/* The world's z axis in the frame of the body. */
static void up_in_body(const double* q, double up[3])
{
    up[0] = 2.0 * (q[1] * q[3] - q[0] * q[2]);
    up[1] = 2.0 * (q[2] * q[3] + q[0] * q[1]);
    up[2] = q[0] * q[0] - q[1] * q[1] - q[2] * q[2] + q[3] * q[3];
}

/* Which of six faces is on top: 0, 1 for -x, +x, ... */
static int face_on_top(const double* q)
{
    double up[3];
    int best = 0;
    up_in_body(q, up);
    for (int i = 1; i < 3; ++i) {
        best = fabs(up[i]) > fabs(up[best]) ? i : best;
    }
    return 2 * best + (up[best] > 0.0);
}

/* Height of the lowest corner of a cube with sharp corners. */
static double lowest_corner(const double* row)
{
    double up[3];
    up_in_body(row + 3, up);
    return row[2] - 0.5 * WIDTH * (fabs(up[0]) + fabs(up[1]) + fabs(up[2]));
}

/* ---- data -------------------------------------------------------------------------------------*/

static void* allocate(size_t size)
{
    void* memory = calloc(1, size);
    if (memory == NULL) {
        fprintf(stderr, "real-tosses: out of memory\n");
        exit(3);
    }
    return memory;
}

static void add_row(tosses* all, int64_t number, const double* value, int columns)
{
    toss* last = all->count > 0 ? &all->toss[all->count - 1] : NULL;
    if (last == NULL || last->number != number) {
        if (all->count == MOST_TOSSES) {
            fprintf(stderr, "real-tosses: more than %d tosses\n", MOST_TOSSES);
            exit(2);
        }
        last = &all->toss[all->count++];
        *last = (toss){.number = number, .row = allocate(MOST_ROWS * sizeof *last->row)};
    }
    if (last->rows < MOST_ROWS) {
        memcpy(last->row[last->rows++], value, (size_t)columns * sizeof *value);
    }
}

/* A CSV file whose first column is the toss; `skip` columns after it are left out. False: there is none. */
static bool read_tosses(const char* path, int skip, int columns, tosses* all)
{
    FILE* f = fopen(path, "r");
    char line[1000];
    *all = (tosses){.toss = allocate(MOST_TOSSES * sizeof *all->toss)};
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        double value[COLUMNS + 2] = {0};
        char* at = line;
        const int64_t number = strtoll(at, &at, 10);
        int n = 0;
        while (*at == ',' && n < skip + columns) {
            value[n++] = strtod(at + 1, &at);
        }
        if (n == skip + columns) { /* not the line of names */
            add_row(all, number, value + skip, columns);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return f != NULL && all->count > 0;
}

static void free_tosses(tosses* all)
{
    for (int32_t i = 0; i < all->count; ++i) {
        free(all->toss[i].row);
    }
    free(all->toss);
    *all = (tosses){0};
}

static void write_row(FILE* f, int64_t number, const double* row)
{
    fprintf(f, "%lld", (long long)number);
    for (int i = 0; i < COLUMNS; ++i) {
        fprintf(f, ",%.9g", row[i]);
    }
    fprintf(f, "\n");
}

/* Every fifth toss is held out. */
static bool is_held_out(int32_t i)
{
    return i % 5 == 2;
}

static int ascending(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

/* The height at which the centre of the cube rests: half of its width, as the cameras see it. */
static double rest_height(const tosses* all)
{
    static double z[MOST_TOSSES];
    int32_t n = 0;
    for (int32_t i = 0; i < all->count; ++i) {
        if (!is_held_out(i)) {
            z[n++] = all->toss[i].row[all->toss[i].rows - 1][2];
        }
    }
    qsort(z, (size_t)n, sizeof *z, ascending);
    return z[n / 2];
}

static int32_t rows_in_flight(const toss* t)
{
    int32_t n = 0;
    while (n < t->rows && lowest_corner(t->row[n]) > 0.05 * WIDTH) {
        ++n;
    }
    return n;
}

/* Flights of all tosses that are not held out; of these every `thin`-th to fit contact to; those held out. */
static void write_parts(const report* r, const tosses* all, int thin)
{
    FILE *fit = report_file(r, "fit.csv"), *held = report_file(r, "held-out.csv"),
         *flight = report_file(r, "flight.csv");
    fprintf(fit, "%s\n", header);
    fprintf(held, "%s\n", header);
    fprintf(flight, "%s\n", header);
    int taken = 0;
    for (int32_t i = 0; i < all->count; ++i) {
        const toss* t = &all->toss[i];
        const int32_t in_flight = rows_in_flight(t);
        const bool to_fit = !is_held_out(i) && taken++ % thin == 0;
        for (int32_t k = 0; k < t->rows; ++k) {
            if (to_fit || is_held_out(i)) {
                write_row(to_fit ? fit : held, t->number, t->row[k]);
            }
            if (!is_held_out(i) && in_flight >= 8 && k < in_flight) {
                write_row(flight, t->number, t->row[k]);
            }
        }
    }
    fclose(fit);
    fclose(held);
    fclose(flight);
}

/* ---- scenes with values -----------------------------------------------------------------------*/

typedef struct number_set {
    struct {
        char name[24];
        double value;
    } item[40];
    int count;
} number_set;

static void set_number(number_set* set, const char* name, double value)
{
    int i = 0;
    while (i < set->count && strcmp(set->item[i].name, name) != 0) {
        ++i;
    }
    if (i == set->count) {
        (void)snprintf(set->item[set->count++].name, sizeof set->item[i].name, "%s", name);
    }
    set->item[i].value = value;
}

static double get_number(const number_set* set, const char* name)
{
    for (int i = 0; i < set->count; ++i) {
        if (strcmp(set->item[i].name, name) == 0) {
            return set->item[i].value;
        }
    }
    return NAN;
}

/* DIR/NAME.scene.json: the scene with those of the numbers that it has, its step multiplied. */
static void write_scene(perp_context* context, const report* r, const char* scene_name,
                        const number_set* set, double step_factor, const char* name)
{
    char path[300], file[300];
    perp_scene* scene = NULL;
    (void)snprintf(path, sizeof path, FOLDER "%s.json", scene_name);
    study_require(context, perp_scene_load(context, path, NULL, 0, &scene));
    for (int i = 0; i < set->count; ++i) {
        if (perp_scene_parameter_find(scene, set->item[i].name) >= 0) {
            study_require(context,
                          perp_scene_set_number(scene, set->item[i].name, set->item[i].value));
        }
    }
    const double h = perp_sim_def_from_scene(scene).step;
    study_require(context, perp_scene_set_number(scene, "/step", step_factor * h));
    study_require(context, perp_scene_rebuild(scene));
    (void)snprintf(file, sizeof file, "%s.scene.json", name);
    study_write(r, file, "%s", perp_scene_text(scene));
    perp_scene_destroy(scene);
}

/* ---- estimates --------------------------------------------------------------------------------*/

static double cpu_seconds(void)
{
    double sum = 0.0;
    for (int i = 0; i < 2; ++i) {
        struct rusage u;
        (void)getrusage(i == 0 ? RUSAGE_SELF : RUSAGE_CHILDREN, &u);
        sum += (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
               1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    }
    return sum;
}

/* What the columns observe: the tracked centre, which is not the centre of mass, and the
 * orientation; with velocities for predictions that start from one row. */
static const char poses[] =
    "\"place\": { \"position\": \"cube\", \"columns\": [\"x\", \"y\", \"z\"],\n"
    "                          \"sensor\": { \"at\": [\"cx\", \"cy\", \"cz\"] } },\n"
    "               \"turn\": { \"orientation\": \"cube\", \"columns\": [\"qw\", \"qx\", \"qy\", "
    "\"qz\"] }";
static const char velocities[] =
    ",\n               \"speed\": { \"velocity\": \"cube\", \"columns\": [\"vx\", \"vy\", "
    "\"vz\"],\n"
    "                          \"sensor\": { \"at\": [\"cx\", \"cy\", \"cz\"] } },\n"
    "               \"spin\": { \"angular_velocity\": \"cube\", \"frame\": \"body\",\n"
    "                         \"columns\": [\"wx\", \"wy\", \"wz\"] }";

/* How a prediction starts: from all rows before the first contact, or from the first row and its velocities. */
typedef enum start_kind { FLIGHT, FIRST_ROW } start_kind;

/* DIR/NAME.json, a study of DIR/NAME.scene.json; to be freed. */
static char* write_study(const report* r, const char* name, start_kind start, const char* rest)
{
    char file[300];
    (void)snprintf(file, sizeof file, "%s.json", name);
    study_write(r, file,
                "{ \"name\": \"%s\", \"scene\": \"%s.scene.json\",\n"
                "  \"rate\": 148, \"trajectory\": \"toss\", %s\n"
                "  \"observe\": { %s%s },\n  %s }\n",
                name, name, start == FLIGHT ? "\"start\": { \"rows\": 40, \"flight\": true }," : "",
                poses, start == FLIGHT ? "" : velocities, rest);
    return study_path(r, file);
}

/* Fits NAME.scene.json; the values found are added to the set. Returns the CPU time. */
static double fit(perp_context* context, report* r, const char* name, const char* rest,
                  number_set* set, const char* fitted)
{
    char text[200];
    perp_study* study = NULL;
    perp_estimate* estimate = NULL;
    const perp_estimate_def def = perp_estimate_def_default();
    char* path = write_study(r, name, FLIGHT, rest);
    const double begin = cpu_seconds();
    study_require(context, perp_study_load(context, path, &study));
    study_require(context, perp_estimate_run(context, study, &def, &estimate));
    const double seconds = cpu_seconds() - begin;
    for (int32_t i = 0; i < perp_estimate_count(estimate); ++i) {
        const perp_estimated x = perp_estimate_value(estimate, i);
        (void)snprintf(text, sizeof text, "%s: %s", name, x.name);
        report_note(r, text, x.value);
        (void)snprintf(text, sizeof text, "%s: %s, half of the interval of 95 %%", name, x.name);
        report_note(r, text, 0.5 * (x.high - x.low));
        set_number(set, x.name, x.value);
    }
    if (fitted != NULL) {
        char* to = study_path(r, fitted);
        study_require(context, perp_estimate_save(estimate, to));
        free(to);
    }
    perp_estimate_destroy(estimate);
    perp_study_destroy(study);
    free(path);
    return seconds;
}

static double fit_flight(perp_context* context, report* r, number_set* set)
{
    write_scene(context, r, "flight", set, 1.0, "flight");
    return fit(context, r, "flight",
               "\"data\": \"flight.csv\", \"noise\": { \"place\": 4e-5, \"turn\": 5e-4 }, "
               "\"loss\": \"huber\",\n"
               "  \"stop\": { \"iterations\": 8, \"tolerance\": 0.01 },\n"
               "  \"unknown\": { \"g\": {\"bounds\": [9, 10.5]},\n"
               "    \"cx\": {\"bounds\": [-0.02, 0.02], \"scale\": 0.005},\n"
               "    \"cy\": {\"bounds\": [-0.02, 0.02], \"scale\": 0.005},\n"
               "    \"cz\": {\"bounds\": [-0.02, 0.02], \"scale\": 0.005},\n"
               "    \"jy\": {\"bounds\": [0.6, 1.5]}, \"jz\": {\"bounds\": [0.6, 1.5]} }",
               set, NULL);
}

/* ---- predictions ------------------------------------------------------------------------------*/

typedef struct metrics {
    double position, rotation, face, loss; /* % of the width, degrees, part, Acosta's */
    double
        bounded; /* position / 9 + rotation / 8, each of a toss at most 25: a toss that ends on another face counts once */
    int32_t failed;
} metrics;

/* The literature's: means over the rows of a toss, then over tosses. each: NULL, or a line a toss. */
static metrics compare_tosses(const tosses* a, const tosses* b, FILE* each)
{
    metrics m = {.failed = b->count - a->count};
    for (int32_t i = 0, j = 0; i < a->count; ++i) {
        const toss *p = &a->toss[i], *t;
        while (b->toss[j].number != p->number) {
            ++j; /* it failed */
        }
        t = &b->toss[j];
        double place = 0.0, turn = 0.0, loss = 0.0;
        for (int32_t k = 0; k < t->rows; ++k) {
            const double *x = p->row[k], *y = t->row[k];
            const double d2 = (x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]) +
                              (x[2] - y[2]) * (x[2] - y[2]);
            const double angle = angle_between(x + 3, y + 3);
            place += sqrt(d2) / t->rows;
            turn += angle / t->rows;
            loss += (d2 / (0.5 * WIDTH) + angle * angle) / t->rows;
        }
        const bool same =
            face_on_top(p->row[t->rows - 1] + 3) == face_on_top(t->row[t->rows - 1] + 3);
        m.position += 100.0 * place / WIDTH / b->count;
        m.rotation += DEGREES * turn / b->count;
        m.loss += loss / b->count;
        m.face += (double)same / b->count;
        m.bounded +=
            (fmin(100.0 * place / WIDTH, 25.0) / 9.0 + fmin(DEGREES * turn, 25.0) / 8.0) / b->count;
        if (each != NULL) {
            fprintf(each, "%lld %.6g %.6g %d\n", (long long)t->number, 100.0 * place / WIDTH,
                    DEGREES * turn, same);
        }
    }
    return m;
}

/* Predicts DIR/DATA with DIR/NAME.scene.json. */
static tosses predict(perp_context* context, const report* r, const char* name, const char* data,
                      start_kind start)
{
    char file[300];
    perp_study* study = NULL;
    perp_estimate* estimate = NULL;
    tosses rows;
    const perp_estimate_def def = perp_estimate_def_default();
    char *path = write_study(r, name, start, "\"noise\": 0.001"), *from = study_path(r, data);
    const char* const list[] = {from};
    (void)snprintf(file, sizeof file, "%s.predicted.csv", name);
    char* to = study_path(r, file);
    study_require(context, perp_study_load(context, path, &study));
    study_require(context, perp_estimate_predict(context, study, list, 1, &def, &estimate));
    study_require(context, perp_estimate_save_rows(estimate, to));
    (void)read_tosses(to, 1, 7, &rows);
    perp_estimate_destroy(estimate);
    perp_study_destroy(study);
    free(to);
    free(from);
    free(path);
    return rows;
}

/* ---- contact ----------------------------------------------------------------------------------*/

/* The damping that fits the first impact best is a little small for those that follow, of edges and
 * faces: a factor by whole tosses of those to fit. */
static double choose_damping(perp_context* context, report* r, number_set* set)
{
    static const double factor[] = {1.0, 1.08, 1.16, 1.24};
    const double begin = cpu_seconds(), c = get_number(set, "c");
    double best = INFINITY, chosen = 1.0;
    tosses all;
    char* path = study_path(r, "fit.csv");
    (void)read_tosses(path, 0, COLUMNS, &all);
    free(path);
    for (size_t i = 0; i < sizeof factor / sizeof factor[0]; ++i) {
        set_number(set, "c", factor[i] * c);
        write_scene(context, r, "soft", set, 1.0, "soft-damping");
        tosses rows = predict(context, r, "soft-damping", "fit.csv", FLIGHT);
        const metrics m = compare_tosses(&rows, &all, NULL);
        free_tosses(&rows);
        if (m.bounded < best) {
            best = m.bounded;
            chosen = factor[i];
        }
    }
    free_tosses(&all);
    set_number(set, "c", chosen * c);
    report_note(r, "soft: factor of the damping by whole tosses", chosen);
    return cpu_seconds() - begin;
}

/* Impacts, then slides. */
static double fit_contact(perp_context* context, report* r, const char* model, number_set* set,
                          const char* fitted)
{
    char name[100], rest[1500];
    (void)snprintf(name, sizeof name, "%s-impacts", model);
    (void)snprintf(rest, sizeof rest,
                   "\"data\": \"fit.csv\", \"horizon\": 0.2, \"noise\": { \"place\": 0.001, "
                   "\"turn\": 0.015 },\n"
                   "  \"loss\": \"cauchy\", \"stop\": { \"iterations\": 6, \"tolerance\": 0.1 },\n"
                   "  \"unknown\": { \"mu_corner\": {\"bounds\": [0.05, 0.5]},\n"
                   "    \"r\": {\"bounds\": [0.001, 0.015]},\n"
                   "    \"ix\": {\"bounds\": [5e-4, 2e-3]}, %s }",
                   strcmp(model, "soft") == 0
                       ? "\"k\": {\"bounds\": [1e4, 1e6]}, \"c\": {\"bounds\": [10, 1000]}"
                       : "\"e_n\": {\"bounds\": [0, 0.8]}");
    write_scene(context, r, model, set, 1.0, name);
    double seconds = fit(context, r, name, rest, set, NULL);
    if (strcmp(model, "soft") == 0) {
        seconds += choose_damping(context, r, set);
    }
    (void)snprintf(name, sizeof name, "%s-slides", model);
    write_scene(context, r, model, set, 1.0, name);
    seconds += fit(context, r, name,
                   "\"data\": \"fit.csv\", \"noise\": { \"place\": 0.004, \"turn\": 0.06 }, "
                   "\"loss\": \"cauchy\",\n"
                   "  \"stop\": { \"iterations\": 3, \"tolerance\": 0.2 },\n"
                   "  \"unknown\": { \"mu_face\": {\"bounds\": [0.05, 0.5]} }",
                   set, fitted);
    return seconds;
}

static void report_metrics(report* r, const char* name, metrics m)
{
    static const char* const what[] = {"position (% of the width)", "rotation (degrees)",
                                       "on the same face (%)", "loss of Acosta et al."};
    const double value[] = {m.position, m.rotation, 100.0 * m.face, m.loss};
    char text[200];
    for (int i = 0; i < 4; ++i) {
        (void)snprintf(text, sizeof text, "%s: %s", name, what[i]);
        report_note(r, text, value[i]);
    }
}

/* Predicts with a scene that has the values; each row of the table. */
static metrics score(perp_context* context, report* r, FILE* table, const char* name,
                     const char* scene, const number_set* set, double step_factor, start_kind start,
                     const tosses* held)
{
    char file[100];
    write_scene(context, r, scene, set, step_factor, name);
    tosses rows = predict(context, r, name, "held-out.csv", start);
    (void)snprintf(file, sizeof file, "%s.dat", name);
    FILE* each = report_file(r, file);
    const metrics m = compare_tosses(&rows, held, each);
    fclose(each);
    free_tosses(&rows);
    fprintf(table, "%-34s %6.2f %6.2f %6.1f %8.4f %3d\n", name, m.position, m.rotation,
            100.0 * m.face, m.loss, m.failed);
    report_metrics(r, name, m);
    return m;
}

/* ---- the floor --------------------------------------------------------------------------------*/

/* Standard normal numbers, the same everywhere. */
static double normal(uint64_t* state)
{
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return sum;
}

/* Adds measurement noise to poses. */
static void add_noise(double* row, double place, double turn, uint64_t* state)
{
    double by[3], q[4];
    for (int i = 0; i < 3; ++i) {
        row[i] += place * normal(state);
        by[i] = 0.5 * turn * normal(state);
    }
    memcpy(q, row + 3, sizeof q); /* a small rotation in the world frame, then a unit quaternion */
    row[3] = q[0] - by[0] * q[1] - by[1] * q[2] - by[2] * q[3];
    row[4] = q[1] + by[0] * q[0] + by[1] * q[3] - by[2] * q[2];
    row[5] = q[2] + by[1] * q[0] + by[2] * q[1] - by[0] * q[3];
    row[6] = q[3] + by[2] * q[0] + by[0] * q[2] - by[1] * q[1];
    const double length =
        sqrt(row[3] * row[3] + row[4] * row[4] + row[5] * row[5] + row[6] * row[6]);
    for (int i = 3; i < 7; ++i) {
        row[i] /= length;
    }
}

/* The same metrics between two predictions whose first rows differ by the noise of the measurement. */
static metrics measure_floor(perp_context* context, const report* r, const tosses* held,
                             double place, double turn)
{
    static double row[COLUMNS];
    uint64_t state = 19;
    FILE* f = report_file(r, "noisy.csv");
    fprintf(f, "%s\n", header);
    for (int32_t i = 0; i < held->count; ++i) {
        for (int32_t k = 0; k < held->toss[i].rows; ++k) {
            memcpy(row, held->toss[i].row[k], sizeof row);
            add_noise(row, place, turn, &state);
            write_row(f, held->toss[i].number, row);
        }
    }
    fclose(f);
    tosses a = predict(context, r, "soft", "held-out.csv", FLIGHT),
           b = predict(context, r, "soft", "noisy.csv", FLIGHT);
    const metrics m = compare_tosses(&a, &b, NULL);
    free_tosses(&a);
    free_tosses(&b);
    return m;
}

/* ---- tosses by simulation ---------------------------------------------------------------------*/

static const struct {
    const char* name;
    double value;
} made[] = {{"g", 9.7},     {"cz", -0.004}, {"jy", 0.97},     {"jz", 0.92},
            {"ix", 0.0009}, {"w", 0.0515},  {"r", 0.0055},    {"mu_corner", 0.19},
            {"k", 1.1e5},   {"c", 150.0},   {"mu_face", 0.25}};

/* Without the data: tosses of a cube with known parameters, with noise. */
static void simulate_tosses(perp_context* context, const report* r, tosses* all)
{
    enum { TOSSES = 24, ROWS = 80 };
    number_set set = {0};
    perp_scene* scene = NULL;
    uint64_t state = 7;
    for (size_t i = 0; i < sizeof made / sizeof made[0]; ++i) {
        set_number(&set, made[i].name, made[i].value);
    }
    write_scene(context, r, "soft", &set, 1.0, "made");
    char* path = study_path(r, "made.scene.json");
    *all = (tosses){.toss = allocate(MOST_TOSSES * sizeof *all->toss)};
    for (int64_t k = 1; k <= TOSSES; ++k) {
        perp_sim* sim = NULL;
        study_require(context, perp_scene_load(context, path, NULL, 0, &scene));
        study_require(context, perp_sim_create_from_scene(context, scene, &sim));
        perp_body_state s = perp_sim_body(sim, 1);
        double length = 0.0;
        for (int i = 0; i < 4; ++i) {
            s.orientation[i] = normal(&state);
            length += s.orientation[i] * s.orientation[i];
        }
        for (int i = 0; i < 3; ++i) {
            s.orientation[i] /= sqrt(length);
            s.velocity[i] = i < 2 ? 0.8 * normal(&state) : 0.1 * normal(&state);
            s.angular_velocity[i] = 2.5 * normal(&state);
        }
        s.orientation[3] /= sqrt(length);
        s.position[2] = 0.15 + 0.02 * fabs(normal(&state));
        study_require(context, perp_sim_set_body(sim, 1, &s));
        for (int row = 0; row < ROWS; ++row) {
            double value[COLUMNS] = {0};
            while (perp_sim_time(sim) < row / RATE - 1e-9) {
                study_require(context, perp_sim_step(sim));
            }
            s = perp_sim_body(sim, 1);
            /* the tracked centre: (0, 0, cz) in the body */
            const double *q = s.orientation, c = get_number(&set, "cz");
            value[0] = s.position[0] + c * 2.0 * (q[1] * q[3] + q[0] * q[2]);
            value[1] = s.position[1] + c * 2.0 * (q[2] * q[3] - q[0] * q[1]);
            value[2] = s.position[2] + c * (q[0] * q[0] - q[1] * q[1] - q[2] * q[2] + q[3] * q[3]);
            memcpy(value + 3, q, 4 * sizeof *q);
            add_noise(value, 3e-5, 5e-4, &state);
            add_row(all, k, value, COLUMNS);
        }
        perp_sim_destroy(sim);
        perp_scene_destroy(scene);
    }
    free(path);
}

/* ---- the experiment ---------------------------------------------------------------------------*/

/* What each part of the model is worth: the fitted soft scene with one thing as out of the box. */
static void take_away(perp_context* context, report* r, FILE* table, const number_set* soft,
                      const tosses* held)
{
    static const struct {
        const char *name, *number[3];
        double value[3];
    } less[] = {
        {"without-centre-of-mass", {"cx", "cy", "cz"}, {0.0, 0.0, 0.0}},
        {"without-inertia", {"ix", "jy", "jz"}, {0.00081, 1.0, 1.0}},
        {"without-scale", {"g", "w", NULL}, {9.81, 0.0524, 0.0}},
        {"without-round-corners", {"r", NULL, NULL}, {0.0005, 0.0, 0.0}},
        {"with-one-friction", {"mu_corner", "mu_face", NULL}, {0.18, 0.18, 0.0}},
    };
    for (size_t i = 0; i < sizeof less / sizeof less[0]; ++i) {
        number_set set = *soft;
        for (int k = 0; k < 3 && less[i].number[k] != NULL; ++k) {
            set_number(&set, less[i].number[k], less[i].value[k]);
        }
        (void)score(context, r, table, less[i].name, "soft", &set, 1.0, FLIGHT, held);
    }
}

static void check_made(report* r, const number_set* soft)
{
    for (size_t i = 0; i < sizeof made / sizeof made[0]; ++i) {
        char text[100];
        const double ours = get_number(soft, made[i].name);
        (void)snprintf(text, sizeof text, "simulated tosses: %s", made[i].name);
        if (strcmp(made[i].name, "k") == 0 || strcmp(made[i].name, "c") == 0) {
            /* a valley with several minima (correlation 0.96): one of them is found */
            report_note(r, text, ours);
        } else {
            report_add(r, text, NAN, made[i].value, ours, 0.05 * fabs(made[i].value));
        }
    }
}

int main(int argc, char** argv)
{
    report r;
    perp_context* context = NULL;
    tosses all, held;
    number_set flight = {0}, soft, rigid, none = {0};
    const char* data = "../shared/data/cube-tosses/training.csv";
    const bool full = study_option(&argc, argv, "--full");
    for (int i = 1; i + 1 < argc; ++i) {
        if (strcmp(argv[i], "--data") == 0) {
            data = argv[i + 1];
            memmove(argv + i, argv + i + 2, (size_t)(argc - i - 1) * sizeof *argv);
            argc -= 2;
        }
    }
    report_begin(&r, "real-tosses", argc, argv);
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 3;
    }
    const bool measured = read_tosses(data, 0, COLUMNS, &all);
    if (!measured) {
        fprintf(stderr, "real-tosses: no data in %s: tosses by simulation instead\n", data);
        free_tosses(&all);
        simulate_tosses(context, &r, &all);
    }
    write_parts(&r, &all, full || !measured ? 1 : 2);
    const double height = rest_height(&all);
    free_tosses(&all);
    char* path = study_path(&r, "held-out.csv");
    (void)read_tosses(path, 0, COLUMNS, &held);
    free(path);
    report_note(&r, "measured tosses (0: by simulation)", measured);
    report_note(&r, "tosses held out", held.count);

    double seconds = fit_flight(context, &r, &flight);
    set_number(&flight, "w", height);
    soft = rigid = flight;
    const double soft_seconds = fit_contact(context, &r, "soft", &soft, "fitted.json");
    report_note(&r, "CPU seconds of the fit: flight", seconds);
    report_note(&r, "CPU seconds of the fit: impacts and slides, soft", soft_seconds);
    const double rigid_seconds = fit_contact(context, &r, "rigid", &rigid, "rigid.fitted.json");
    report_note(&r, "CPU seconds of the fit: impacts and slides, rigid", rigid_seconds);

    FILE* table = report_file(&r, "table.txt");
    fprintf(table, "%-34s %6s %6s %6s %8s %3s\n", "held out", "pos %", "deg", "face %", "loss",
            "failed");
    if (measured) {
        (void)score(context, &r, table, "plain", "plain", &none, 1.0, FIRST_ROW, &held);
        (void)score(context, &r, table, "plain-flight", "plain", &none, 1.0, FLIGHT, &held);
    }
    const metrics best = score(context, &r, table, "soft", "soft", &soft, 1.0, FLIGHT, &held);
    const metrics half =
        score(context, &r, table, "soft-half-step", "soft", &soft, 0.5, FLIGHT, &held);
    (void)score(context, &r, table, "rigid", "rigid", &rigid, 1.0, FLIGHT, &held);
    if (measured) {
        (void)score(context, &r, table, "soft-first-row", "soft", &soft, 1.0, FIRST_ROW, &held);
        take_away(context, &r, table, &soft, &held);
    }
    const metrics floor_of = measure_floor(context, &r, &held, 3e-5, 5e-4);
    fprintf(table, "%-34s %6.2f %6.2f %6.1f %8.4f\n", "floor", floor_of.position, floor_of.rotation,
            100.0 * floor_of.face, floor_of.loss);
    fclose(table);
    report_metrics(&r, "floor", floor_of);
    if (measured) {
        report_add(&r, "held out: position (% of the width)", NAN, 0.0, best.position, 9.0);
        report_add(&r, "held out: rotation (degrees)", NAN, 0.0, best.rotation, 8.0);
        report_add(&r, "held out: not on the same face (%)", NAN, 0.0, 100.0 - 100.0 * best.face,
                   5.0);
        report_add(&r, "failed predictions", NAN, 0.0, best.failed, 0.0);
        report_note(&r, "half the step: change of position (% of the width)",
                    half.position - best.position);
        report_note(&r, "half the step: change of rotation (degrees)",
                    half.rotation - best.rotation);
        report_add(&r, "CPU seconds of the fit", NAN, 0.0, seconds + soft_seconds, 180.0);
    } else {
        check_made(&r, &soft);
    }
    free_tosses(&held);
    perp_context_destroy(context);
    return report_end(&r);
}
