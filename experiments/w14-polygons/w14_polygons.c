/* experiments/w14-polygons - [W14 5.2.3]: polygons poured into a box, PEG against corrective.
 *
 * The set-up is that of common/pour.h, without friction. Ten seeds, h from 0.001 to 0.01; the error is the
 * area of overlap of all pairs, averaged over the steps.
 * Where PEG's overlap comes from [W14 5.3]: within a step gaps are linear in the velocities. A corner that
 * turns by a = omega h leaves its tangent by up to r a^2 / 2, and an edge that turns by a under a corner which
 * moves by s along it is off by a s. So no overlap may be deeper than
 *     r_A a_A^2 / 2 + r_B a_B^2 / 2 + max(a_A, a_B) (h |v_A - v_B| + r_A a_A + r_B a_B)
 * with the velocities of the step that made it. Every overlap of every step is compared with this
 * bound: a deeper one would be an error of the detection or of the margin. Drops from greater
 * heights follow, where bodies turn faster.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/pour.h"
#include "common/report.h"

enum { SEEDS = 10, FEW = 5, POUR_BODIES = POUR_WALLS + POUR_POLYGONS };

typedef struct result {
    double area, depth;       /* mean over the steps */
    double contacts, crossed; /* per step: contacts in the problem; groups with a violated member */
    double microseconds;      /* per solve */
    double of_bound;          /* deepest overlap, of what the turning within a step can leave */
    double spin;              /* fastest, rad/s */
    int fallbacks;
    bool finished;
} result;

/* Motion of the bodies in the step before, and how far they reach. */
typedef struct motion {
    double vx[POUR_BODIES], vy[POUR_BODIES], turn[POUR_BODIES], reach[POUR_BODIES];
} motion;

static void find_reach(perp_sim* sim, motion* m)
{
    memset(m, 0, sizeof *m);
    for (int b = POUR_WALLS; b < POUR_BODIES; ++b) {
        const perp_shape_def d = perp_model_body_shape(perp_sim_model(sim), b, 0);
        for (int32_t k = 0; k < d.vertex_count; ++k) {
            m->reach[b] = fmax(m->reach[b], hypot(d.vertices[2 * k] + d.position[0],
                                                  d.vertices[2 * k + 1] + d.position[1]));
        }
    }
}

static void note_motion(perp_sim* sim, double h, motion* m, double* spin)
{
    for (int b = POUR_WALLS; b < POUR_BODIES; ++b) {
        const perp_body_state s = perp_sim_body(sim, b);
        m->vx[b] = s.velocity[0];
        m->vy[b] = s.velocity[1];
        m->turn[b] = h * fabs(s.angular_velocity[2]);
        *spin = fmax(*spin, fabs(s.angular_velocity[2]));
    }
}

/* Largest overlap at the start of the last step, of what the step before it, m, can have left. */
static double part_of_bound(perp_sim* sim, double h, const motion* m)
{
    int32_t count;
    const perp_contact* c = perp_sim_contacts(sim, &count);
    double most = 0.0;
    for (int32_t i = 0; i < count; ++i) {
        double depth = -c[i].gap; /* of a group: the most open member */
        for (int32_t k = 0; c[i].group != 0 && k < count; ++k) {
            depth = abs(c[k].group) == abs(c[i].group) ? fmin(depth, -c[k].gap) : depth;
        }
        const int a = c[i].body_a, b = c[i].body_b;
        const double ra = m->reach[a] * m->turn[a], rb = m->reach[b] * m->turn[b];
        const double way = h * hypot(m->vx[a] - m->vx[b], m->vy[a] - m->vy[b]) + ra + rb;
        const double bound =
            0.5 * (ra * m->turn[a] + rb * m->turn[b]) + fmax(m->turn[a], m->turn[b]) * way;
        if (depth > 1e-9) { /* rounding and the tolerance of the solve are no overlap */
            most = fmax(most, depth / bound);
        }
    }
    return most;
}

static result measure(const char* contact, unsigned seed, double h, double height, FILE* table)
{
    scene_run run =
        pour_open(&(struct pour){.contact = contact, .seed = seed, .h = h, .height = height});
    motion m;
    find_reach(run.sim, &m);
    result r = {.finished = true};
    double steps = 0.0;
    while (!perp_sim_finished(run.sim)) {
        const char* error = NULL;
        if (!scene_run_step(&run, &error)) {
            r.finished = false;
            break;
        }
        const perp_step_info info = perp_sim_step_info(run.sim);
        r.of_bound = fmax(r.of_bound, part_of_bound(run.sim, h, &m));
        note_motion(run.sim, h, &m, &r.spin);
        const double area = perp_sim_overlap_area(run.sim);
        int32_t count, crossed = 0;
        const perp_contact* c = perp_sim_contacts(run.sim, &count);
        for (int32_t i = 0; i < count; ++i) {
            /* what the standard model would have forbidden */
            crossed += c[i].group != 0 && c[i].gap < -1e-9 && c[i].impulse[0] == 0.0;
        }
        if (table != NULL) {
            fprintf(table, "%.9g %.9g %d %d\n", perp_sim_time(run.sim), area, count, crossed);
        }
        steps += 1.0;
        r.area += area;
        r.depth += info.penetration;
        r.contacts += count;
        r.crossed += crossed;
        r.microseconds += 1e6 * info.report.seconds;
        r.fallbacks += info.fallbacks;
    }
    r.area /= steps;
    r.depth /= steps;
    r.contacts /= steps;
    r.crossed /= steps;
    r.microseconds /= steps;
    scene_run_close(&run);
    return r;
}

/* From 3 and 5 m: where the corrective model does not come to the end there is no ratio. */
static int higher_drops(report* r, double* of_bound)
{
    static const char* const model[] = {"peg", "corrective"};
    const double height[] = {3.0, 5.0}, h[] = {0.002, 0.005, 0.01};
    int fallbacks = 0;
    for (int i = 0; i < 6; ++i) {
        double median[2] = {NAN, NAN}, spin = 0.0;
        int ended[2] = {0};
        for (int k = 0; k < 2; ++k) {
            double area[FEW];
            for (unsigned seed = 0; seed < FEW; ++seed) {
                const result one = measure(model[k], seed, h[i % 3], height[i / 3], NULL);
                fallbacks += one.fallbacks;
                if (k == 0) {
                    *of_bound = fmax(*of_bound, one.of_bound);
                    spin = fmax(spin, one.spin);
                }
                if (one.finished) {
                    area[ended[k]++] = one.area;
                }
            }
            median[k] = ended[k] > 0 ? quantile(area, ended[k], 0.5) : NAN;
        }
        char name[96], where[48];
        snprintf(where, sizeof where, "from %g m, h = %g", height[i / 3], h[i % 3]);
        snprintf(name, sizeof name, "%s: PEG's median overlap (m^2)", where);
        report_note(r, name, median[0]);
        snprintf(name, sizeof name, "%s: PEG's overlap, of corrective's", where);
        report_note(r, name, median[0] / median[1]);
        snprintf(name, sizeof name, "%s: corrective runs that came to the end, of 5", where);
        report_note(r, name, ended[1]);
        snprintf(name, sizeof name, "%s: fastest turn under PEG (rad/s)", where);
        report_note(r, name, spin);
    }
    return fallbacks;
}

int main(int argc, char** argv)
{
    static const char* const model[] = {"peg", "corrective"};
    const double h[] = {0.001, 0.002, 0.005, 0.01};
    report r;
    report_begin(&r, "w14-polygons", argc, argv);
    FILE* table = report_file(&r, "area.dat");
    fprintf(table,
            "# h, then for peg and corrective: median, first and third quartile of the area\n");
    double previous = NAN, of_bound = 0.0, sum[6] = {0};
    int fallbacks = 0;
    for (int i = 0; i < 4; ++i) {
        double median[2], solve[2], deep[2];
        fprintf(table, "%g", h[i]);
        for (int k = 0; k < 2; ++k) {
            double area[SEEDS], time[SEEDS], depth[SEEDS];
            int n = 0;
            for (unsigned seed = 0; seed < SEEDS; ++seed) {
                FILE* steps =
                    seed == 0 && h[i] == 0.01
                        ? report_file(&r, k == 0 ? "steps-peg.dat" : "steps-corrective.dat")
                        : NULL;
                const result one = measure(model[k], seed, h[i], 0.0, steps);
                if (steps != NULL) {
                    fclose(steps);
                    char name[96];
                    snprintf(name, sizeof name, "%s at h = 0.01: contacts per step", model[k]);
                    report_note(&r, name, one.contacts);
                    if (k == 0) {
                        report_note(&r, "peg at h = 0.01: traps passed per step", one.crossed);
                    }
                }
                fallbacks += one.fallbacks;
                of_bound = k == 0 ? fmax(of_bound, one.of_bound) : of_bound;
                if (one.finished) {
                    area[n] = one.area;
                    depth[n] = one.depth;
                    time[n++] = one.microseconds;
                }
            }
            char name[96];
            snprintf(name, sizeof name, "%s at h = %g: runs that came to the end, of 10", model[k],
                     h[i]);
            if (k == 0) {
                report_add(&r, name, 10, 10, n, 0.0);
            } else {
                report_note(&r, name, n);
            }
            median[k] = quantile(area, n, 0.5);
            deep[k] = quantile(depth, n, 0.5);
            solve[k] = quantile(time, n, 0.5);
            fprintf(table, " %.9g %.9g %.9g", median[k], quantile(area, n, 0.25),
                    quantile(area, n, 0.75));
            snprintf(name, sizeof name, "%s at h = %g: median overlap (m^2)", model[k], h[i]);
            report_note(&r, name, median[k]);
        }
        fprintf(table, "\n");
        char name[96];
        snprintf(name, sizeof name, "h = %g: PEG's overlap, of corrective's", h[i]);
        report_add(&r, name, NAN, 0.0, median[0] / median[1], 0.01);
        snprintf(name, sizeof name, "h = %g: time of a solve, PEG over corrective", h[i]);
        report_note(&r, name, solve[0] / solve[1]);
        if (i > 0) {
            snprintf(name, sizeof name, "order of PEG's overlap up to h = %g (rotation error: 2)",
                     h[i]);
            report_note(&r, name, log(median[0] / previous) / log(h[i] / h[i - 1]));
        }
        previous = median[0];
        sum[0] += log(h[i]), sum[1] += log(median[0]);
        sum[2] += log(h[i]) * log(h[i]), sum[3] += log(h[i]) * log(median[0]);
        sum[4] += log(deep[0]), sum[5] += log(h[i]) * log(deep[0]);
    }
    fclose(table);
    const double spread = 4 * sum[2] - sum[0] * sum[0];
    report_add(&r, "fitted order of PEG's depth of overlap in h (rotation error: 2)", NAN, 2.0,
               (4 * sum[5] - sum[0] * sum[4]) / spread, 0.4);
    /* an edge flat on another: depth times length; a corner in an edge: depth squared */
    report_add(&r, "fitted order of PEG's area of overlap in h (2: edges, 4: corners)", NAN, 3.0,
               (4 * sum[3] - sum[0] * sum[1]) / spread, 1.0);
    fallbacks += higher_drops(&r, &of_bound);
    report_add(&r, "PEG: deepest overlap, of what the turning within a step leaves", NAN, 0.0,
               of_bound, 1.0);
    report_note(&r, "fallbacks", fallbacks);
    return report_end(&r);
}
