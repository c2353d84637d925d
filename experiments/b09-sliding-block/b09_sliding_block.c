/* experiments/b09-sliding-block - [B09 7.6.2]: the friction of a block that a weight pulls over a
 * table, seen by a camera.
 *
 * As printed: a block on a table modelled in 2.5-D, a support of three points with one coefficient
 * of friction, a known weight on a string over a pulley, an overhead camera that sees x, y and the
 * angle; the estimates 0.330311 (MPEC) and 0.3246 (mean of the particle filter over the
 * trajectory). Not printed: all data and sizes. Ours: a block of 1 kg and 0.2 m x 0.12 m, mu =
 * 0.33, a weight of 0.345 kg whose string leads far along x and is taut, so that its mass is added
 * to the block's; 30 frames a second for three seconds, from a tenth of a second after the block is
 * let go, with independent normal errors of 0.5 mm and 4 mrad. The motion of the data is simulated
 * with h = 1/3000 s, the estimates use h = 1/120 s; shooting once more half of it, and mpec, with
 * shooting beside it, 1/60 s.
 *
 * Departure  velocities are not observed: differences of positions say nothing new, and their errors are correlated. In figure
 *            7.5 they are drawn as the paper does.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/scene.h"
#include "common/study.h"

/* of CPU of this process, for one estimate */
#define LIMIT_SECONDS 100.0

enum { RATE = 30, FRAMES = 91, FIRST = 3, FINE = 3000, COLUMNS = 6 };

static const double MU = 0.33, NOISE = 5e-4, TURN_NOISE = 4e-3;
/* of [B09]: MPEC, and the mean of the particle filter */
static const double PAPER_MPEC = 0.330311, PAPER_FILTER = 0.3246;

#define BLOCK                                                                                      \
    "\"parameters\": {\"mu\": %.17g, \"weight\": 0.345}, \"bodies\": [{\"name\": \"block\", "      \
    "\"mass\": \"1 + weight\", \"inertia\": 0.0055, \"position\": [%.17g, %.17g], \"angle\": "     \
    "%.17g, \"velocity\": [%.17g, %.17g], \"angular_velocity\": %.17g, \"shapes\": [{\"type\": "   \
    "\"box\", \"size\": [0.2, 0.12]}], \"support\": {\"tripod\": [[0.08, 0], [-0.06, 0.045], "     \
    "[-0.06, -0.045]], \"mu\": \"mu\", \"load\": 9.81}}], \"forces\": [{\"type\": \"wrench\", "    \
    "\"body\": \"block\", \"force\": [\"9.81 * weight\", 0], \"at\": [0.1, 0.02]}]"

/* ---- the camera -----------------------------------------------------------------------------------*/

typedef struct camera {
    double truth[FRAMES][COLUMNS]; /* x, y, angle and their rates */
    double seen[FRAMES][3];
} camera;

static double time_of(int frame)
{
    return (double)frame / RATE;
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static double uniform(unsigned long long* state)
{
    unsigned long long z = *state += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static double normal(unsigned long long* state)
{
    const double radius = sqrt(-2.0 * log(uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

static void film(const report* r, camera* c)
{
    unsigned long long state = 2009;
    FILE* csv = report_file(r, "camera.csv");
    FILE* truth = report_file(r, "truth.dat");
    scene_run run = scene_run_open("{\"dimension\": 2, \"gravity\": [0, 0], \"step\": %.17g, "
                                   "\"duration\": 10, " BLOCK "}",
                                   1.0 / FINE, MU, 0.0, 0.0, 0.4, 0.0, 0.0, 0.0);
    fprintf(csv, "t,x,y,angle,vx,vy,w\n");
    for (int frame = -FIRST; frame < FRAMES; ++frame) {
        const perp_body_state b = perp_sim_body(run.sim, 0);
        for (int i = 0; frame >= 0 && i < 3; ++i) {
            const double noise = i < 2 ? NOISE : TURN_NOISE;
            c->truth[frame][i] = i < 2 ? b.position[i] : b.angle;
            c->truth[frame][3 + i] = i < 2 ? b.velocity[i] : b.angular_velocity[2];
            c->seen[frame][i] = c->truth[frame][i] + noise * normal(&state);
        }
        if (frame >= 0) {
            const double *s = c->seen[frame], *t = c->truth[frame];
            fprintf(csv, "%.17g,%.17g,%.17g,%.17g,,,\n", time_of(frame), s[0], s[1], s[2]);
            fprintf(truth, "%.9g %.9g %.9g %.9g %.9g %.9g %.9g\n", time_of(frame), t[0], t[1], t[2],
                    t[3], t[4], t[5]);
        }
        for (int i = 0; i < FINE / RATE; ++i) {
            const char* error = NULL;
            if (!scene_run_step(&run, &error)) {
                fprintf(stderr, "%s\n", error);
                exit(3);
            }
        }
    }
    scene_run_close(&run);
    fclose(truth);
    fclose(csv);
    /* what figure 7.5 calls the observed velocities */
    FILE* rates = report_file(r, "camera-rates.dat");
    for (int frame = 1; frame < FRAMES; ++frame) {
        fprintf(rates, "%.9g", time_of(frame) - 0.5 / RATE);
        for (int i = 0; i < 3; ++i) {
            fprintf(rates, " %.9g", (c->seen[frame][i] - c->seen[frame - 1][i]) * RATE);
        }
        fputc('\n', rates);
    }
    fclose(rates);
}

/* A parabola through the first six frames by least squares: value and rate at the first one, from
 * which searches begin. */
static void first_guess(const camera* c, int column, double* value, double* rate)
{
    double A[3][4] = {{0}};
    for (int frame = 0; frame < 6; ++frame) {
        const double t = time_of(frame), f[4] = {1.0, t, t * t, c->seen[frame][column]};
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 4; ++j) {
                A[i][j] += f[i] * f[j];
            }
        }
    }
    for (int k = 0; k < 3; ++k) {
        for (int i = 0; i < 3; ++i) {
            const double factor = i == k ? 0.0 : A[i][k] / A[k][k];
            for (int j = 0; j < 4; ++j) {
                A[i][j] -= factor * A[k][j];
            }
        }
    }
    *value = A[0][3] / A[0][0];
    *rate = A[1][3] / A[1][1];
}

static void write_model(const report* r, const camera* c, const char* name, double step)
{
    double value[3], rate[3];
    for (int i = 0; i < 3; ++i) {
        first_guess(c, i, &value[i], &rate[i]);
    }
    study_write(r, name,
                "{\"name\": \"sliding-block\", \"dimension\": 2, \"gravity\": [0, 0], \"step\": "
                "%.17g, \"duration\": 3, " BLOCK "}",
                step, 0.5, value[0], value[1], value[2], rate[0], rate[1], rate[2]);
}

/* ---- estimates ------------------------------------------------------------------------------------*/

typedef struct answer {
    bool ok;
    double value, low, high, deviation;
    int rows; /* of the series */
    double time[FRAMES], mu[FRAMES], mu_low[FRAMES], mu_high[FRAMES];
    double iterations, runs;
} answer;

static double number_at(const json_t* array, size_t i)
{
    const json_t* item = json_array_get(array, i);
    return json_is_number(item) ? json_number_value(item) : NAN;
}

/* Series of mu, to DIR/NAME-mu.dat. */
static void read_series(const report* r, const char* name, const json_t* root, answer* a)
{
    const json_t* series = json_array_get(json_object_get(root, "series"), 0);
    const json_t* mu = json_object_get(series, "mu");
    const json_t* time = json_object_get(series, "time");
    char file[100];
    (void)snprintf(file, sizeof file, "%s-mu.dat", name);
    FILE* out = report_file(r, file);
    a->rows = (int)json_array_size(time);
    for (int i = 0; i < a->rows && i < FRAMES; ++i) {
        a->time[i] = number_at(time, (size_t)i);
        a->mu[i] = number_at(json_object_get(mu, "value"), (size_t)i);
        a->mu_low[i] = number_at(json_object_get(mu, "low"), (size_t)i);
        a->mu_high[i] = number_at(json_object_get(mu, "high"), (size_t)i);
        fprintf(out, "%.9g %.9g %.9g %.9g\n", a->time[i], a->mu[i], a->mu_low[i], a->mu_high[i]);
    }
    fclose(out);
}

/* What the particles predict, to DIR/NAME-path.dat. */
static void write_filtered(const report* r, const char* name, const json_t* root)
{
    static const char* const column[COLUMNS] = {"x", "y", "angle", "vx", "vy", "w"};
    const json_t* filtered = json_array_get(json_object_get(root, "filtered"), 0);
    const json_t* time = json_object_get(filtered, "time");
    if (filtered == NULL) {
        return;
    }
    char file[100];
    (void)snprintf(file, sizeof file, "%s-path.dat", name);
    FILE* out = report_file(r, file);
    for (size_t i = 0; i < json_array_size(time); ++i) {
        fprintf(out, "%.9g", number_at(time, i));
        for (int k = 0; k < COLUMNS; ++k) {
            const json_t* c = json_object_get(filtered, column[k]);
            fprintf(out, " %.9g", number_at(json_object_get(c, "value"), i));
        }
        fputc('\n', out);
    }
    fclose(out);
}

static const char* scene_of(const char* name)
{
    return strstr(name, "half") != NULL     ? "half.json"
           : strstr(name, "coarse") != NULL ? "coarse.json"
                                            : "block.json";
}

/* mpec may not end in reasonable time. */
static bool within_limit(void* user, int64_t iteration, double objective)
{
    (void)iteration;
    (void)objective;
    return (double)(clock() - *(clock_t*)user) < LIMIT_SECONDS * CLOCKS_PER_SEC;
}

/* Writes and runs the study NAME.json. Where the method is not in this build, does not take the
 * scene or takes too long: not ok. */
static answer estimate(perp_context* context, const report* r, const char* name, const char* more)
{
    answer a = {.value = NAN};
    char file[100];
    (void)snprintf(file, sizeof file, "%s.json", name);
    study_write(
        r, file,
        "{\"name\": \"%s\", \"scene\": \"%s\", \"data\": \"camera.csv\", \"time\": "
        "\"t\", \"start\": \"scene\", \"observe\": {\"x\": \"block.position.x\", \"y\": "
        "\"block.position.y\", \"angle\": \"block.angle\", \"vx\": \"block.velocity.x\", "
        "\"vy\": \"block.velocity.y\", \"w\": \"block.angular_velocity\"}, \"noise\": {\"x\": "
        "%g, \"y\": %g, \"angle\": %g, \"vx\": 1, \"vy\": 1, \"w\": 1}, \"unknown\": {\"mu\": "
        "{\"start\": 0.5, \"bounds\": [0, 1]}, \"initial\": [\"block\"]}, \"seed\": 1, %s}",
        name, scene_of(name), NOISE, NOISE, TURN_NOISE, more);
    char* path = study_path(r, file);
    perp_study* study = NULL;
    perp_estimate* found = NULL;
    clock_t begun = clock();
    perp_estimate_def def = perp_estimate_def_default();
    def.progress = within_limit;
    def.user = &begun;
    study_require(context, perp_study_load(context, path, &study));
    free(path);
    const perp_status status = perp_estimate_run(context, study, &def, &found);
    if (status == PERP_ERROR_UNSUPPORTED || status == PERP_ERROR_CANCELLED) {
        fprintf(stderr, "%s: left out: %s\n", name, perp_context_error(context));
        perp_study_destroy(study);
        return a;
    }
    study_require(context, status);
    json_t* root = json_loads(perp_estimate_json(found), 0, NULL);
    const perp_estimated mu = perp_estimate_value(found, 0);
    a.ok = perp_estimate_converged(found);
    a.value = mu.value;
    a.low = mu.low;
    a.high = mu.high;
    a.deviation = mu.deviation;
    a.iterations = json_number_value(json_object_get(root, "iterations"));
    a.runs = json_number_value(json_object_get(root, "runs"));
    read_series(r, name, root, &a);
    write_filtered(r, name, root);
    (void)snprintf(file, sizeof file, "%s-path.csv", name);
    path = study_path(r, file);
    study_require(context, perp_estimate_save_rows(found, path));
    free(path);
    json_decref(root);
    perp_estimate_destroy(found);
    perp_study_destroy(study);
    return a;
}

/* ---- summaries ------------------------------------------------------------------------------------*/

/* From a second on: root mean square of mu about the true one, and the part of the intervals that contain it. */
static void series_errors(const answer* a, double* rms, double* covered)
{
    double sum = 0.0;
    int count = 0, inside = 0;
    for (int i = 0; i < a->rows; ++i) {
        if (a->time[i] >= 1.0) {
            sum += (a->mu[i] - MU) * (a->mu[i] - MU);
            inside += a->mu_low[i] <= MU && MU <= a->mu_high[i];
            ++count;
        }
    }
    *rms = sqrt(sum / count);
    *covered = (double)inside / count;
}

static double series_mean(const answer* a)
{
    double sum = 0.0;
    int count = 0;
    for (int i = 0; i < a->rows; ++i) {
        if (a->time[i] >= 10.0 / RATE) { /* before, it is mostly the prior */
            sum += a->mu[i];
            ++count;
        }
    }
    return sum / count;
}

static void report_windows(report* r, perp_context* context)
{
    static const int length[3] = {5, 20, 50};
    double rms[3];
    for (int i = 0; i < 3; ++i) {
        char name[40], more[100], text[100];
        double covered;
        (void)snprintf(name, sizeof name, "window-%d", length[i]);
        (void)snprintf(more, sizeof more, "\"method\": \"moving-window\", \"window\": %d",
                       length[i]);
        const answer a = estimate(context, r, name, more);
        series_errors(&a, &rms[i], &covered);
        (void)snprintf(text, sizeof text, "window %d: rms error of mu", length[i]);
        report_note(r, text, rms[i]);
        (void)snprintf(text, sizeof text, "window %d: part of the intervals that contain mu",
                       length[i]);
        if (i == 0) { /* of longer ones too few are independent */
            report_add(r, text, NAN, 0.95, covered, 0.1);
        } else {
            report_note(r, text, covered);
        }
    }
    /* figure 7.7: "increasing the value of k decreases the variance" */
    report_add(r, "windows: rms errors decrease from 5 to 20 to 50 rows", 1.0, 1.0,
               rms[0] > rms[1] && rms[1] > rms[2], 0.0);
}

int main(int argc, char** argv)
{
    report r;
    static camera c;
    perp_context* context = NULL;
    const bool full = study_option(&argc, argv, "--full");
    report_begin(&r, "b09-sliding-block", argc, argv);
    study_require(NULL, perp_context_create(NULL, &context));
    film(&r, &c);
    write_model(&r, &c, "block.json", 0.25 / RATE);
    write_model(&r, &c, "half.json", 0.125 / RATE);
    write_model(&r, &c, "coarse.json", 0.5 / RATE);

    const answer shooting = estimate(context, &r, "shooting", "\"method\": \"shooting\"");
    report_add(&r, "mu, shooting over all frames", PAPER_MPEC, MU, shooting.value,
               4.0 * shooting.deviation);
    report_note(&r, "shooting: standard deviation", shooting.deviation);
    report_note(&r, "shooting: iterations", shooting.iterations);
    const answer half = estimate(context, &r, "shooting-half", "\"method\": \"shooting\"");
    report_note(&r, "shooting: change of mu at half the step, standard deviations",
                (half.value - shooting.value) / shooting.deviation);
    const answer coarse = estimate(context, &r, "shooting-coarse", "\"method\": \"shooting\"");
    const answer mpec = estimate(context, &r, "mpec-coarse", "\"method\": \"mpec\"");
    if (isfinite(mpec.value)) {
        report_add(&r, "mu, mpec over all frames, h = 1/60", PAPER_MPEC, coarse.value, mpec.value,
                   1e-6);
        report_note(&r, "mpec: iterations", mpec.iterations);
    }

    const answer filter = estimate(context, &r, "filter",
                                   full ? "\"method\": \"particle-filter\", \"particles\": 1000"
                                        : "\"method\": \"particle-filter\", \"particles\": 200");
    report_add(&r, "mu, particle filter, posterior mean after all frames", NAN, shooting.value,
               filter.value, 0.5 * shooting.deviation);
    report_add(&r, "particle filter: width of the interval over that of shooting", NAN, 1.0,
               (filter.high - filter.low) / (shooting.high - shooting.low), 0.35);
    report_note(&r, "particle filter: runs", filter.runs);
    const answer walk = estimate(context, &r, "walk",
                                 "\"method\": \"particle-filter\", \"particles\": 1000, "
                                 "\"process_noise\": {\"mu\": 0.02, \"block.velocity\": 0.003, "
                                 "\"block.angular_velocity\": 0.03}");
    report_add(&r, "mu, particle filter with process noise, mean over the trajectory", PAPER_FILTER,
               MU, series_mean(&walk), 0.01);

    report_windows(&r, context);
    const answer arrival = estimate(context, &r, "window-5-arrival",
                                    "\"method\": \"moving-window\", \"window\": 5, \"options\": "
                                    "{\"arrival\": true}");
    report_add(&r, "mu, windows of 5 rows with the information of earlier rows", NAN,
               shooting.value, arrival.value, 0.5 * shooting.deviation);
    FILE* batch = report_file(&r, "batch.dat");
    fprintf(batch, "0 %.9g %.9g\n3 %.9g %.9g\n", shooting.value, MU, shooting.value, MU);
    fclose(batch);
    perp_context_destroy(context);
    return report_end(&r);
}
