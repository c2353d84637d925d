/* bench/chain.c - chains of links on hinges, released horizontally: cost per step, energy, gaps.
 *
 *     chain [--json FILE]
 *
 * Links of 1 m and 1 kg, h = 0.005. First 100 links for 2 s, with and without correction: the mean
 * cost of a step, how far the energy came from where it began (over the largest kinetic energy) and
 * the largest gap. Then 10 to 10,000 links for a few steps: processor time per step, the least of the
 * steps, and the slope of log(time) over log(links).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/table.h"
#include "perp/perp.h"

enum { SIZES = 7, STEPS = 12 };
static const int32_t sizes[SIZES] = {10, 32, 100, 316, 1000, 3162, 10000};

typedef struct job {
    perp_context* context;
    perp_model* model;
    perp_sim* sim;
} job;

static void must(const job* j, perp_status status)
{
    if (status != PERP_OK) {
        fprintf(stderr, "chain: %s\n", perp_context_error(j->context));
        exit(3);
    }
}

static job make(int32_t links, double duration, bool correction)
{
    job j = {0};
    if (perp_context_create(NULL, &j.context) != PERP_OK) {
        exit(3);
    }
    perp_model_def model = perp_model_def_default();
    model.name = "chain";
    model.gravity[2] = -9.81;
    must(&j, perp_model_create(j.context, &model, &j.model));
    char name[2][24] = {"world", ""};
    for (int32_t i = 0; i < links; ++i) {
        snprintf(name[1], sizeof name[1], "link %d", (int)i);
        perp_body_def body = perp_body_def_default();
        body.name = name[1];
        body.type = PERP_BODY_DYNAMIC;
        body.mass = 1.0;
        body.has_inertia = true;
        body.inertia[0] = 0.01;
        body.inertia[4] = body.inertia[8] = 1.0 / 12.0;
        body.position[0] = i + 0.5;
        must(&j, perp_model_add_body(j.model, &body, NULL));
        perp_joint_def joint = perp_joint_def_default();
        joint.name = name[1];
        joint.type = PERP_JOINT_REVOLUTE;
        joint.a = name[0];
        joint.b = name[1];
        joint.has_at = true;
        joint.at[0] = i;
        joint.axis[1] = 1.0;
        must(&j, perp_model_add_joint(j.model, &joint, NULL));
        memcpy(name[0], name[1], sizeof name[0]);
    }
    perp_sim_def def = perp_sim_def_default();
    def.step = 0.005;
    def.duration = duration;
    def.joint_correction = correction;
    def.joint_choice = false; /* steps of the start */
    must(&j, perp_sim_create(j.context, j.model, &def, &j.sim));
    return j;
}

static void drop(job* j)
{
    perp_sim_destroy(j->sim);
    perp_model_destroy(j->model);
    perp_context_destroy(j->context);
}

static double processor_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static void hundred(table* t, bool correction)
{
    job j = make(100, 2.0, correction);
    const double before = perp_sim_energy(j.sim).total;
    double gap = 0.0, most = 0.0, off = 0.0;
    const double begin = processor_seconds();
    while (!perp_sim_finished(j.sim)) {
        must(&j, perp_sim_step(j.sim));
        const perp_energy e = perp_sim_energy(j.sim);
        gap = fmax(gap, perp_sim_step_info(j.sim).joint_error[0]);
        most = fmax(most, e.kinetic);
        off = fmax(off, fabs(e.total - before));
    }
    const double spent = processor_seconds() - begin;
    const char* how = correction ? "corrected" : "plain";
    char name[80];
    snprintf(name, sizeof name, "100 links, %s: a step", how);
    table_add(t, name, 1e6 * spent / (double)perp_sim_step_count(j.sim), "us");
    snprintf(name, sizeof name, "100 links, %s: energy drift / kinetic", how);
    table_add(t, name, off / most, "");
    snprintf(name, sizeof name, "100 links, %s: largest gap", how);
    table_add(t, name, gap, "m");
    drop(&j);
}

static double slope(const double* x, const double* y, int n)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < n; ++i) {
        sx += x[i];
        sy += y[i];
        sxx += x[i] * x[i];
        sxy += x[i] * y[i];
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static void growth(table* t, bool correction)
{
    double x[SIZES], y[SIZES];
    const char* how = correction ? "corrected" : "plain";
    char name[80];
    for (int i = 0; i < SIZES; ++i) {
        job j = make(sizes[i], 1.0, correction);
        double least = INFINITY;
        for (int k = 0; k < STEPS; ++k) {
            const double begin = processor_seconds();
            must(&j, perp_sim_step(j.sim));
            const double spent = processor_seconds() - begin;
            least = k > 0 && spent > 0.0 ? fmin(least, spent) : least; /* the first one allocates */
        }
        x[i] = log(sizes[i]);
        y[i] = log(least);
        snprintf(name, sizeof name, "%d links, %s: a step", (int)sizes[i], how);
        table_add(t, name, 1e6 * least, "us");
        drop(&j);
    }
    snprintf(name, sizeof name, "exponent, %s", how);
    table_add(t, name, slope(x, y, SIZES), "");
}

int main(int argc, char** argv)
{
    table t = table_begin("chain", argc, argv);
    hundred(&t, false);
    hundred(&t, true);
    growth(&t, false);
    growth(&t, true);
    return table_end(&t);
}
