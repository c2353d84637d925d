/* experiments/b09-disc - [B09 3.5, 3.5.3.1], figure 3.6: a disc that rolls on a plane, as a curve and as
 * polygons.
 *
 * A unit disc of mass 1 starts at (0, 1) with (-3, 0, 3): rolling, friction 0.4. As an implicit curve
 * it keeps its energy. Regular polygons of the same mass and inertia, inscribed, lose energy at every
 * corner that lands; with the step fixed more edges help up to a limit, with the edges fixed smaller
 * steps do. The paper shows curves, no numbers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/report.h"
#include "common/scene.h"

static const double DURATION = 4.0;

typedef struct result {
    double loss; /* relative, of the kinetic energy, at the end */
    double certificate, failures;
} result;

static char* polygon_text(int edges)
{
    char* text = malloc((size_t)edges * 64 + 64);
    char* at = text + sprintf(text, "\"type\":\"polygon\",\"vertices\":[");
    for (int i = 0; i < edges; ++i) {
        const double angle = 2.0 * 3.14159265358979323846 * (i + 0.5) / edges;
        /* one edge is level and below */
        at += sprintf(at, "%s[%.17g,%.17g]", i > 0 ? "," : "", sin(angle), -cos(angle));
    }
    sprintf(at, "]");
    return text;
}

/* The problem of the last step as an NCP, (3.101) and (3.102), from the motion before the step. */
typedef struct ncp_check {
    perp_reformulation* reformulation;
    perp_ncp_solver* solver;
    double certificate, apart;
    int failures;
} ncp_check;

static void check_ncp(const scene_run* run, const double* v_before, ncp_check* n)
{
    enum { MOST = 64 };
    const perp_contact_problem* P = perp_sim_problem(run->sim);
    perp_ncp ncp;
    double z[MOST], v[MOST], p[MOST] = {0}, work[4096];
    perp_report made = {0};
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = 1e-12;
    if (n->reformulation == NULL &&
        (perp_reformulation_create(run->context, &n->reformulation) != PERP_OK ||
         perp_ncp_solver_create(run->context, "fischer-newton", NULL, 0, &n->solver) != PERP_OK)) {
        n->failures += 1;
        return;
    }
    memcpy(v, v_before, (size_t)P->dof_count * sizeof *v);
    if (perp_contact_to_ncp(n->reformulation, P, &ncp) != PERP_OK || ncp.n > MOST ||
        perp_contact_residual_work(P) > 4096) {
        n->failures += 1;
        return;
    }
    p[0] = 0.1; /* a positive p_n: with 0 the friction rows are degenerate */
    perp_reformulation_ncp_guess(n->reformulation, P, v, p, z);
    if (perp_ncp_solve(n->solver, &ncp, &options, true, z, &made) != PERP_OK) {
        n->failures += 1;
        return;
    }
    perp_reformulation_ncp_reconstruct(n->reformulation, P, z, v, p);
    const double residual = perp_contact_check_residual(P, v, p, work).worst;
    n->failures += !(residual <= 1e-9);
    n->certificate = fmax(n->certificate, residual);
    for (int i = 0; i < 3; ++i) {
        n->apart = fmax(n->apart, fabs(v[i] - perp_sim_v(run->sim)[3 + i]));
    }
}

static result roll(const char* stepper, const char* shape, double height, double h, FILE* curve,
                   ncp_check* ncp)
{
    scene_run run = scene_run_open(
        "{\"dimension\":2,\"gravity\":[0,-9.81],\"step\":%.17g,\"duration\":%.17g,\"stepper\":\"%"
        "s\","
        "\"friction\":{\"default\":0.4},\"bodies\":[{\"name\":\"ground\",\"type\":\"static\","
        "\"shapes\":[{\"type\":\"halfplane\",\"normal\":[0,1]}]},{\"name\":\"disc\",\"mass\":1,"
        "\"inertia\":0.5,\"position\":[0,%.17g],\"velocity\":[-3,0],\"angular_velocity\":3,"
        "\"shapes\":[{%s}]}]}",
        h, DURATION, stepper, height, shape);
    const double before = perp_sim_energy(run.sim).kinetic;
    result r = {0};
    const int64_t every = (int64_t)(0.01 / h + 0.5);
    while (!perp_sim_finished(run.sim)) {
        const char* error;
        double v_before[3];
        memcpy(v_before, perp_sim_v(run.sim) + 3, sizeof v_before);
        if (!scene_run_step(&run, &error)) {
            fprintf(stderr, "%s, h = %g: %s\n", stepper, h, error);
            r.failures += 1;
            break;
        }
        r.certificate = fmax(r.certificate, perp_sim_step_info(run.sim).certificate.worst);
        if (ncp != NULL) {
            check_ncp(&run, v_before, ncp);
        }
        if (curve != NULL && perp_sim_step_count(run.sim) % every == 0) {
            fprintf(curve, "%.17g %.17g\n", perp_sim_time(run.sim),
                    perp_sim_energy(run.sim).kinetic);
        }
    }
    if (ncp != NULL) {
        perp_ncp_solver_destroy(ncp->solver);
        perp_reformulation_destroy(ncp->reformulation);
    }
    r.loss = 1.0 - perp_sim_energy(run.sim).kinetic / before;
    scene_run_close(&run);
    return r;
}

static result roll_polygon(report* out, const char* stepper, int edges, double h,
                           const char* family)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%d-%g.dat", family, edges, h);
    FILE* curve = report_file(out, name);
    char* text = polygon_text(edges);
    const result r = roll(stepper, text, cos(3.14159265358979323846 / edges), h, curve, NULL);
    fclose(curve);
    free(text);
    return r;
}

int main(int argc, char** argv)
{
    static const int edges[] = {10, 20, 50, 100, 200, 500, 1000};
    static const double steps[] = {0.01, 0.005, 0.001, 0.0005, 0.0001};
    report r;
    char text[96];
    double certificate = 0.0, failures = 0.0, last = INFINITY;
    report_begin(&r, "b09-disc", argc, argv);

    ncp_check ncp = {0};
    FILE* curve = report_file(&r, "curve.dat");
    const result disc =
        roll("geometric-implicit", "\"type\":\"superellipse\",\"radii\":[1,1],\"exponent\":2", 1.0,
             0.01, curve, &ncp);
    fclose(curve);
    const result circle =
        roll("geometric-implicit", "\"type\":\"circle\",\"radius\":1", 1.0, 0.01, NULL, NULL);
    report_add(&r, "energy lost, implicit curve, h = 0.01 (relative)", 0, 0, disc.loss, 1e-6);
    report_add(&r, "energy lost, circle, h = 0.01 (relative)", 0, 0, circle.loss, 1e-6);
    report_add(&r, "worst certificate, implicit curve", NAN, 0,
               fmax(disc.certificate, circle.certificate), 1e-9);
    failures += disc.failures + circle.failures;
    report_add(&r, "steps of the curve that the NCP failed at", NAN, 0, ncp.failures, 0);
    report_add(&r, "worst certificate, NCP", NAN, 0, ncp.certificate, 1e-9);
    report_add(&r, "largest difference of velocities, NCP", NAN, 0, ncp.apart, 1e-9);

    bool falls = true;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; ++i) {
        const result p = roll_polygon(&r, "stewart-trinkle", edges[i], 0.01, "edges");
        snprintf(text, sizeof text, "energy lost, %d edges, h = 0.01 (relative)", edges[i]);
        report_note(&r, text, p.loss);
        falls = falls && p.loss <= last + 0.02; /* up to the noise of where corners land */
        last = p.loss;
        certificate = fmax(certificate, p.certificate);
        failures += p.failures;
    }
    report_add(&r, "more edges lose less (1: yes)", 1, 1, falls, 0);
    double loss[5];
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        const result p = roll_polygon(&r, "stewart-trinkle", 1000, steps[i], "steps");
        snprintf(text, sizeof text, "energy lost, 1000 edges, h = %g (relative)", steps[i]);
        report_note(&r, text, p.loss);
        loss[i] = p.loss;
        certificate = fmax(certificate, p.certificate);
        failures += p.failures;
    }
    report_add(&r, "0.001 to 0.0001 s are told apart by (relative)", 0, 0,
               fmax(fabs(loss[2] - loss[3]), fabs(loss[3] - loss[4])), 0.02);
    report_add(&r, "polygons lose more than the curve at every step (1: yes)", 1, 1,
               loss[0] > 1e-6 && loss[4] > 1e-6, 0);
    const result exact = roll_polygon(&r, "geometric-implicit", 1000, 0.01, "implicit");
    report_note(&r, "energy lost, 1000 edges, geometric-implicit, h = 0.01 (relative)", exact.loss);
    failures += exact.failures;
    certificate = fmax(certificate, exact.certificate);
    report_add(&r, "worst certificate, polygons", NAN, 0, certificate, 1e-9);
    report_add(&r, "steps that failed", NAN, 0, failures, 0);
    return report_end(&r);
}
