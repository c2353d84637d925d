/* experiments/b09-compliant-disc - the disc of [B09 3.5.3.3] that falls on a soft half-plane.
 *
 * m = 1, I = 0.5, r = 1, from y = 1.5 at rest, k = 1000, no damping, no friction, h = 1e-4.
 * 1. Figure 3.11: deepest deflection 0.05: the disc meets the core, and loses its speed there.
 * 2. Figure 3.12: 1 m: it never does.
 * Each with the scheme of (3.103)-(3.110), beside the recursion that these amount to, written out here,
 * and with midpoint steps. The paper's "energy within 1e-5 J" cannot come from its scheme, which loses
 * energy as any implicit Euler spring does; midpoint steps keep it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/report.h"
#include "common/scene.h"

static const double G = 9.81, K = 1000.0, M = 1.0, H = 1e-4, DURATION = 1.0;

/* The scheme by hand: a body at y over a layer without damping. */
typedef struct point {
    double y, v, delta, core;
} point;

static void step_by_hand(point* s, double limit)
{
    double v = (M * s->v - H * M * G - H * K * s->y) / (M + H * H * K);
    double delta = -(s->y + H * v);
    s->core = 0.0;
    if (!(delta > 0.0)) { /* p = h k delta' >= 0 */
        v = s->v - H * G;
        delta = 0.0;
    } else if (delta > limit) {
        delta = limit;
        v = (-limit - s->y) / H;
        s->core = M * (v - s->v + H * G) - H * K * delta;
    }
    s->v = v;
    s->y += H * v;
    s->delta = delta;
}

typedef struct result {
    double core_time, core_impulse; /* NaN, 0: never met */
    double deepest;                 /* deflection */
    double speed;                   /* at the end of the step after the core was met */
    double by_hand; /* largest deviation of y, v, delta and energy from the recursion */
    double lost;    /* energy after the last core impulse (or from the start) to the end */
    double drift;   /* largest change of energy in that time */
    double certificate;
} result;

static result simulate(const report* r, const char* file, double limit, bool midpoint)
{
    FILE* f = report_file(r, file);
    scene_run run = scene_run_open(
        "{\"dimension\":2,\"gravity\":[0,-9.81],\"step\":%.17g,\"duration\":%.17g,"
        "\"stepper\":{\"type\":\"compliant\",\"midpoint\":%s},\"friction\":{\"cone\":\"none\"},"
        "\"bodies\":[{\"name\":\"ground\",\"type\":\"static\",\"compliance\":{\"stiffness\":%.17g,"
        "\"max_deflection\":%.17g},\"shapes\":[{\"type\":\"halfplane\",\"normal\":[0,1]}]},"
        "{\"name\":\"disc\",\"mass\":1,\"inertia\":0.5,\"position\":[0,1.5],\"shapes\":["
        "{\"type\":\"circle\",\"radius\":1}]}]}",
        H, DURATION, midpoint ? "true" : "false", K, limit);
    result out = {.core_time = NAN, .speed = NAN};
    point hand = {.y = 0.5};
    double start = perp_sim_energy(run.sim).total;
    bool met = false;
    fprintf(f, "# t y vy total_energy spring_impulse core_impulse deflection\n");
    const char* error;
    while (!perp_sim_finished(run.sim)) {
        if (!scene_run_step(&run, &error)) {
            fprintf(stderr, "b09-compliant-disc: %s\n", error);
            break;
        }
        const double t = perp_sim_time(run.sim), energy = perp_sim_energy(run.sim).total;
        const perp_body_state b = perp_sim_body(run.sim, 1);
        int32_t count;
        const perp_contact* contacts = perp_sim_contacts(run.sim, &count);
        const perp_contact c = count > 0 ? contacts[0] : (perp_contact){0};
        fprintf(f, "%.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", t, b.position[1], b.velocity[1],
                energy, c.impulse[0] - c.layer.core, c.layer.core, c.layer.end[0]);
        if (met && isnan(out.speed)) {
            out.speed = b.velocity[1];
        }
        if (c.layer.core > 0.0) {
            out.core_time = isnan(out.core_time) ? t : out.core_time;
            out.core_impulse += c.layer.core;
            met = true;
        }
        out.deepest = fmax(out.deepest, c.layer.end[0]);
        /* a core impulse dissipates energy; measure from after it */
        start = c.layer.core > 0.0 ? energy : start;
        out.lost = start - energy;
        out.drift = c.layer.core > 0.0 ? 0.0 : fmax(out.drift, fabs(out.lost));
        step_by_hand(&hand, limit);
        const double by_hand =
            0.5 * M * hand.v * hand.v + M * G * (1.0 + hand.y) + 0.5 * K * hand.delta * hand.delta;
        const double off[] = {b.position[1] - 1.0 - hand.y, b.velocity[1] - hand.v,
                              c.layer.end[0] - hand.delta, c.layer.core - hand.core,
                              energy - by_hand};
        for (int i = 0; i < 5; ++i) {
            out.by_hand = !(fabs(off[i]) <= out.by_hand) ? fabs(off[i]) : out.by_hand;
        }
        out.certificate = fmax(out.certificate, perp_sim_step_info(run.sim).certificate.worst);
    }
    scene_run_close(&run);
    fclose(f);
    return out;
}

/* Time at which the exact motion has pressed the layer in by d: y'' = -g - k y / m from y = 0. */
static double exact_time(double d)
{
    const double w = sqrt(K / M), v = sqrt(2.0 * G * 0.5), y0 = -M * G / K;
    const double a = hypot(y0, v / w), phase = atan2(v / w, -y0);
    /* y = y0 + a cos(w t + phase), falling: y(0) = 0, y'(0) = -v */
    return sqrt(2.0 * 0.5 / G) + (acos((-d - y0) / a) - phase) / w;
}

int main(int argc, char** argv)
{
    report r;
    report_begin(&r, "b09-compliant-disc", argc, argv);
    const double sag = M * G / K, deepest = sag + sqrt(sag * sag + 2.0 * sag * 0.5);

    const result one = simulate(&r, "core.dat", 0.05, false);
    const result one_mid = simulate(&r, "core-midpoint.dat", 0.05, true);
    report_add(&r, "1: time at which the core is met (s)", 0.336, exact_time(0.05), one.core_time,
               2.0 * H);
    report_add(&r, "1: deepest deflection (m)", 0.05, 0.05, one.deepest, 1e-15);
    /* the step that meets the core ends on it, the next one at rest */
    report_add(&r, "1: velocity in the step after the core was met (m/s)", 0.0, 0.0, one.speed,
               0.01);
    report_add(&r, "1: y, v, deflection, core impulse, energy against the recursion by hand", NAN,
               0.0, one.by_hand, 1e-9);
    report_note(&r, "1: core impulse (N s)", one.core_impulse);
    report_note(&r, "1: energy lost after the core, the paper's scheme (J; it says < 1e-5)",
                one.lost);
    report_add(&r, "1, midpoint: time at which the core is met (s)", 0.336, exact_time(0.05),
               one_mid.core_time, 2.0 * H);
    report_add(&r, "1, midpoint: change of energy after the core (J)", 1e-5, 0.0, one_mid.drift,
               1e-5);

    const result two = simulate(&r, "free.dat", 1.0, false);
    const result two_mid = simulate(&r, "free-midpoint.dat", 1.0, true);
    report_add(&r, "2: core impulse (N s)", 0.0, 0.0, two.core_impulse, 0.0);
    report_add(&r, "2: deepest deflection (m)", NAN, deepest, two.deepest, 3e-4);
    report_add(&r, "2: y, v, deflection, core impulse, energy against the recursion by hand", NAN,
               0.0, two.by_hand, 1e-9);
    report_note(&r, "2: energy lost, the paper's scheme (J; it says < 1e-5)", two.lost);
    report_add(&r, "2, midpoint: core impulse (N s)", 0.0, 0.0, two_mid.core_impulse, 0.0);
    report_add(&r, "2, midpoint: deepest deflection (m)", NAN, deepest, two_mid.deepest, 1e-6);
    report_add(&r, "2, midpoint: change of energy (J)", 1e-5, 0.0, two_mid.drift, 1e-5);
    report_add(&r, "certificate", NAN, 0.0,
               fmax(fmax(one.certificate, two.certificate),
                    fmax(one_mid.certificate, two_mid.certificate)),
               1e-12);
    return report_end(&r);
}
