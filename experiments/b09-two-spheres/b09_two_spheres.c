/* experiments/b09-two-spheres - [B09 3.5.3.2]: a small sphere on two large ones, with torsional
 * friction.
 *
 * Parameters as printed; mass 1 and inertia 2/5, which the text leaves out, fit its figures. The
 * contact that slides from the start (1 in the paper) is the one with the sphere of radius 10, because
 * of e_r; times are those of figure 3.9. The last separation is nearer 3.7 s than the 3.6 s of the text.
 * The run is made with auto and with each NCP method: the laws in Fritz-John form must be solved at
 * every step.
 */
#include <math.h>
#include <string.h>

#include "common/report.h"
#include "common/scene.h"

enum { STEPS = 420 };
static const double MU = 0.2, E_R = 0.3;
static const double LEAST = 1e-10; /* impulses below are rounding of a contact that has opened */

typedef struct contact_trace {
    double normal, friction; /* forces; friction in the norm of the ellipsoid */
    double slip;             /* sliding speed, with e_r omega_n */
} contact_trace;

typedef struct run_trace {
    double v[STEPS][6];
    contact_trace contact[STEPS][2]; /* 0: radius 10, 1: radius 9 */
    double certificate, gap;
    int failures;
} run_trace;

static const double* cross(const double* a, const double* b, double* out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
    return out;
}

static double dot(const double* a, const double* b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void trace_contacts(const scene_run* run, double h, contact_trace out[2])
{
    int32_t count;
    const perp_contact* c = perp_sim_contacts(run->sim, &count);
    const perp_body_state ball = perp_sim_body(run->sim, 2);
    memset(out, 0, 2 * sizeof *out);
    for (int32_t i = 0; i < count; ++i) {
        if (!(c[i].impulse[0] > LEAST)) {
            continue;
        }
        const double r[3] = {c[i].point[0] - ball.position[0], c[i].point[1] - ball.position[1],
                             c[i].point[2] - ball.position[2]};
        double u[3], o[3];
        (void)cross(ball.angular_velocity, r, u);
        for (int k = 0; k < 3; ++k) {
            u[k] += ball.velocity[k];
        }
        (void)cross(c[i].normal, c[i].tangent, o);
        const double spin = E_R * dot(c[i].normal, ball.angular_velocity);
        contact_trace* t = &out[c[i].body_a];
        t->normal = c[i].impulse[0] / h;
        t->friction = sqrt(c[i].impulse[1] * c[i].impulse[1] + c[i].impulse[2] * c[i].impulse[2] +
                           c[i].impulse[3] / E_R * (c[i].impulse[3] / E_R)) /
                      h;
        t->slip =
            sqrt(dot(u, c[i].tangent) * dot(u, c[i].tangent) + dot(u, o) * dot(u, o) + spin * spin);
    }
}

static void simulate(const char* stepper, const char* solver, run_trace* out)
{
    const double h = 0.01;
    scene_run run = scene_run_open(
        "{\"gravity\":[0,0,0],\"step\":0.01,\"duration\":4.2,\"stepper\":\"%s\",\"solver\":\"%s\","
        "\"friction\":{\"cone\":\"ellipsoid\",\"e_t\":1,\"e_o\":1,\"e_r\":0.3,\"default\":0.2},"
        "\"bodies\":[{\"name\":\"ten\",\"type\":\"static\",\"shapes\":[{\"type\":\"sphere\","
        "\"radius\":10}]},{\"name\":\"nine\",\"type\":\"static\",\"position\":[0,11.4,0],"
        "\"shapes\":[{\"type\":\"sphere\",\"radius\":9}]},{\"name\":\"ball\",\"mass\":1,"
        "\"inertia\":[0.4,0.4,0.4],\"position\":[0,6.62105263157895,8.78417110772903],\"shapes\":[{"
        "\"type\":\"sphere\",\"radius\":1}]}],\"forces\":[{\"type\":\"wrench\",\"body\":\"ball\","
        "\"force\":[1.0,2.6,-9.81]}]}",
        stepper, solver);
    memset(out, 0, sizeof *out);
    for (int k = 0; k < STEPS; ++k) {
        const char* error;
        if (!scene_run_step(&run, &error)) {
            fprintf(stderr, "%s, %s: %s\n", stepper, solver, error);
            out->failures += 1;
            break;
        }
        const perp_step_info info = perp_sim_step_info(run.sim);
        out->failures += info.accepted_unsolved;
        out->certificate = fmax(out->certificate, info.certificate.worst);
        trace_contacts(&run, h, out->contact[k]);
        memcpy(out->v[k], perp_sim_v(run.sim) + 12, sizeof out->v[k]);
        int32_t count;
        const perp_contact* c = perp_sim_contacts(run.sim, &count);
        for (int32_t i = 0; i < count; ++i) {
            if (c[i].impulse[0] > LEAST) {
                out->gap = fmax(out->gap, fabs(c[i].gap));
            }
        }
    }
    scene_run_close(&run);
}

/* Time at the end of the last step with a force at the contact. */
static double separation(const run_trace* t, int contact)
{
    double last = 0.0;
    for (int k = 0; k < STEPS; ++k) {
        last = t->contact[k][contact].normal > 0.0 ? 0.01 * (k + 1) : last;
    }
    return last;
}

/* Time of the first step from which the contact slides. */
static double sliding_from(const run_trace* t, int contact)
{
    double since = NAN;
    for (int k = STEPS - 1; k >= 0; --k) {
        const contact_trace* c = &t->contact[k][contact];
        if (c->normal > 0.0) {
            if (!(c->slip > 1e-7)) {
                break;
            }
            since = 0.01 * (k + 1);
        }
    }
    return since;
}

int main(int argc, char** argv)
{
    static run_trace implicit, other, semi;
    static const char* const ncp[] = {"fischer-newton", "minmap-newton", "path"};
    report r;
    report_begin(&r, "b09-two-spheres", argc, argv);
    simulate("geometric-implicit", "auto", &implicit);
    report_add(&r, "steps that failed, auto", NAN, 0, implicit.failures, 0);
    report_add(&r, "worst certificate", NAN, 0, implicit.certificate, 1e-9);
    report_add(&r, "largest gap of a closed contact (length)", NAN, 0, implicit.gap, 1e-12);
    report_add(&r, "contact 1 (radius 10) slides from (s)", 0.0, 0.01, sliding_from(&implicit, 0),
               0.011);
    report_add(&r, "contact 1 separates (s)", 3.2, 3.2, separation(&implicit, 0), 0.1);
    report_add(&r, "contact 2 (radius 9) begins to slide (s)", 3.0, 3.0, sliding_from(&implicit, 1),
               0.1);
    report_add(&r, "contact 2 separates (s)", 3.6, 3.65, separation(&implicit, 1), 0.06);

    /* on the cone while sliding, inside it while rolling; the velocity is smooth */
    double off = 0.0, over = 0.0, jump = 0.0;
    FILE* forces = report_file(&r, "forces.dat");
    FILE* velocity = report_file(&r, "velocity.dat");
    for (int k = 0; k < STEPS; ++k) {
        fprintf(forces, "%.17g", 0.01 * (k + 1));
        for (int c = 0; c < 2; ++c) {
            const contact_trace* t = &implicit.contact[k][c];
            const double ratio = t->normal > 0.0 ? t->friction / (MU * t->normal) : 0.0;
            over = fmax(over, ratio - 1.0);
            off = t->slip > 1e-6 ? fmax(off, fabs(ratio - 1.0)) : off;
            fprintf(forces, " %.17g %.17g %.17g", MU * t->normal, t->friction, t->slip);
        }
        fprintf(forces, "\n");
        fprintf(velocity, "%.17g", 0.01 * (k + 1));
        for (int i = 0; i < 6; ++i) {
            fprintf(velocity, " %.17g", implicit.v[k][i]);
            jump = k > 0 ? fmax(jump, fabs(implicit.v[k][i] - implicit.v[k - 1][i])) : jump;
        }
        fprintf(velocity, "\n");
    }
    fclose(forces);
    fclose(velocity);
    report_add(&r, "friction / (mu normal) - 1 while sliding", 0, 0, off, 1e-8);
    report_add(&r, "friction / (mu normal) - 1, largest", 0, 0, over, 1e-8);
    report_add(&r, "largest change of a velocity in a step (free fall: 0.098)", NAN, 0, jump, 0.12);

    for (int i = 0; i < 3; ++i) {
        char text[96];
        double apart = 0.0;
        simulate("geometric-implicit", ncp[i], &other);
        for (int k = 0; k < STEPS; ++k) {
            for (int j = 0; j < 6; ++j) {
                apart = fmax(apart, fabs(other.v[k][j] - implicit.v[k][j]));
            }
        }
        snprintf(text, sizeof text, "steps that failed, NCP by %s", ncp[i]);
        report_add(&r, text, NAN, 0, other.failures, 0);
        snprintf(text, sizeof text, "worst certificate, NCP by %s", ncp[i]);
        report_add(&r, text, NAN, 0, other.certificate, 1e-9);
        snprintf(text, sizeof text, "largest difference of velocities, NCP by %s", ncp[i]);
        report_add(&r, text, NAN, 0, apart, 1e-7);
    }
    simulate("stewart-trinkle", "auto", &semi);
    report_note(&r, "contact 1 separates, stewart-trinkle (s)", separation(&semi, 0));
    report_note(&r, "contact 2 begins to slide, stewart-trinkle (s)", sliding_from(&semi, 1));
    report_note(&r, "contact 2 separates, stewart-trinkle (s)", separation(&semi, 1));
    report_note(&r, "largest gap of a closed contact, stewart-trinkle (length)", semi.gap);
    return report_end(&r);
}
