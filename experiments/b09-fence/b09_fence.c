/* experiments/b09-fence - [B09 3.4.6]: a particle on a plane between a wall and a moving fence, without
 * inertia.
 *
 * As printed: wall at x = 1, fence at x = 0.5 + 0.4 sin t, y = t. Not printed, and ours: the particle
 * starts at (0.7, 0), mass 1, g = 9.81, mu = 0.3 everywhere, h = 0.01, seven seconds.
 *
 * With friction the motion is unique. The fence pushes the particle in x as far as it comes. Along y it
 * can pull with mu_2 times its push, and the friction of the plane points against the motion. While the
 * fence slips, the force has the slope mu_2, and so
 *     round cone (Model-DQC)             dy = mu_2 dx
 *     diamond of W_f, E in (3.63)-(3.64) dy = dx    the normal of the side on which (1, mu_2) lies
 *     square of (3.49)                   dy = 0     likewise
 * and never more than the fence's own dy. (3.49) and (3.63) contradict each other, and so do their
 * motions; perp has the diamond. The square is the same scene turned by 45 degrees, its
 * plane's coefficient larger by sqrt 2.
 *
 * Model-DLC is also solved as printed, (3.41)-(3.43), by complementary pivoting: with E of (3.64)
 * transposed, as the sizes of (3.43) demand, and friction in y only at wall and fence, as footnote 9
 * says, unlike (3.65).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/report.h"
#include "common/scene.h"

static const double h = 0.01, T = 7.0, mass = 1.0, g = 9.81, start_x = 0.7;

static double fence_x(double t)
{
    return 0.5 + 0.4 * sin(t);
}

typedef struct path {
    double off;       /* largest distance from the closed form */
    double force_off; /* of the push, while the fence slips */
    double certificate;
    double end[2];
    int pushed, undetermined, failures;
    int freedom;
} path;

typedef enum cone_kind { ROUND, DIAMOND, SQUARE, NONE } cone_kind;

/* The exact motion of the discrete model, and what the fence pushes with. */
static double closed_form(cone_kind cone, double mu, double t, double q[2])
{
    const double to = fence_x(t + h);
    if (!(to > q[0])) {
        return 0.0;
    }
    const double dx = to - q[0];
    const double slope = cone == ROUND ? mu : cone == DIAMOND ? 1.0 : 0.0;
    const double dy = cone == NONE ? 0.0 : fmin(slope * dx, h);
    const double weight = mu * mass * g;
    q[0] = to;
    q[1] += dy;
    return cone == NONE      ? 0.0
           : cone == DIAMOND ? weight / (1.0 + mu)
           : cone == SQUARE  ? weight
                             : weight / sqrt(1.0 + mu * mu);
}

/* (x, y) of the experiment in the scene, which is turned by `turn`. */
static scene_run open_scene(cone_kind cone, double mu, double turn)
{
    const double c = cos(turn), s = sin(turn), ground = cone == SQUARE ? sqrt(2.0) * mu : mu;
    return scene_run_open(
        "{\"gravity\":[0,0,-9.81],\"step\":%.17g,\"duration\":%.17g,\"stepper\":\"quasistatic\","
        "\"friction\":{\"cone\":\"%s\",\"directions\":4,\"default\":%.17g,\"pairs\":[{\"a\":"
        "\"ground\",\"b\":\"particle\",\"mu\":%.17g}]},\"bodies\":[{\"name\":\"ground\",\"type\":"
        "\"static\",\"shapes\":[{\"type\":\"plane\",\"normal\":[0,0,1]}]},{\"name\":\"wall\","
        "\"type\":\"static\",\"shapes\":[{\"type\":\"plane\",\"normal\":[%.17g,%.17g,0],\"offset\":"
        "-1}]},{\"name\":\"fence\",\"type\":\"kinematic\",\"motion\":{\"position\":["
        "\"(0.5+0.4*sin(t))*%.17g-t*%.17g\",\"(0.5+0.4*sin(t))*%.17g+t*%.17g\",0]},\"shapes\":[{"
        "\"type\":\"plane\",\"normal\":[%.17g,%.17g,0]}]},{\"name\":\"particle\",\"mass\":1,"
        "\"position\":[%.17g,%.17g,0],\"shapes\":[{\"type\":\"particle\"}]}]}",
        h, T,
        cone == NONE    ? "none"
        : cone == ROUND ? "quadratic"
                        : "polygon",
        mu, ground, -c, -s, c, s, s, c, c, s, start_x * c, start_x * s);
}

static path follow(cone_kind cone, double mu, double turn, const report* r, const char* file)
{
    path out = {0};
    double q[2] = {start_x, 0.0};
    scene_run run = open_scene(cone, mu, turn);
    FILE* table = file != NULL ? report_file(r, file) : NULL;
    while (!perp_sim_finished(run.sim)) {
        const double t = perp_sim_time(run.sim), before = q[0];
        const char* error = NULL;
        if (!scene_run_step(&run, &error)) {
            fprintf(stderr, "%s\n", error);
            out.failures += 1;
            break;
        }
        const double force = closed_form(cone, mu, t, q);
        const perp_body_state b =
            perp_sim_body(run.sim, perp_model_body_find(perp_sim_model(run.sim), "particle"));
        const perp_step_info info = perp_sim_step_info(run.sim);
        const double x = cos(turn) * b.position[0] + sin(turn) * b.position[1];
        const double y = -sin(turn) * b.position[0] + cos(turn) * b.position[1];
        out.off = fmax(out.off, hypot(x - q[0], y - q[1]));
        out.certificate = fmax(out.certificate, info.certificate.worst);
        out.undetermined += info.freedom > 0;
        out.freedom = info.freedom > out.freedom ? info.freedom : out.freedom;
        double push = 0.0;
        int32_t count;
        const perp_contact* contact = perp_sim_contacts(run.sim, &count);
        for (int32_t i = 0; i < count; ++i) {
            push += contact[i].body_a == 2 ? contact[i].impulse[0] / h : 0.0;
        }
        if (q[0] > before) {
            out.pushed += 1;
            out.force_off = fmax(out.force_off, fabs(push - force));
        }
        out.end[0] = x;
        out.end[1] = y;
        if (table != NULL) {
            fprintf(table, "%.9g %.12g %.12g %.12g %.12g %.9g\n", t + h, x, y, fence_x(t + h),
                    t + h, push);
        }
    }
    if (table != NULL) {
        fclose(table);
    }
    scene_run_close(&run);
    return out;
}

/* ---- (3.41)-(3.43) as they are ------------------------------------------------------------------------
 * Unknowns: q (3, free), lambda_n (3), lambda_f (2 + 2 + 4), sigma (3). */

enum { N = 17, FRICTION = 6, SIGMA = 14 };

typedef struct model_dlc {
    double B[N][N], b[N], lower[N], upper[N];
    int32_t start[N + 1], row[N * N];
    double value[N * N];
    perp_mlcp problem;
} model_dlc;

static void fill_model(model_dlc* m, const double q[3], double t, double mu)
{
    static const double W_n[3][3] = {{-1, 1, 0}, {0, 0, 0}, {0, 0, 1}}; /* (3.63) */
    static const double W_f[3][8] = {
        {0, 0, 0, 0, 1, 0, -1, 0}, {-1, 1, 1, -1, 0, 1, 0, -1}, {0, 0, 0, 0, 0, 0, 0, 0}};
    static const int contact_of[8] = {0, 0, 1, 1, 2, 2, 2, 2}; /* E, 8 x 3 */
    const double moves[2] = {fence_x(t + h) - fence_x(t), h};  /* of the fence */
    const double psi[3] = {1.0 - q[0], q[0] - fence_x(t), q[2]};
    *m = (model_dlc){0};
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            m->B[i][3 + j] = W_n[i][j];
            m->B[3 + j][i] = W_n[i][j];
            m->b[3 + j] -= W_n[i][j] * q[i];
        }
        for (int j = 0; j < 8; ++j) {
            m->B[i][FRICTION + j] = W_f[i][j];
            m->B[FRICTION + j][i] = W_f[i][j];
            m->b[FRICTION + j] -= W_f[i][j] * q[i];
        }
        m->b[3 + i] += psi[i];
        m->B[SIGMA + i][3 + i] = mu;
    }
    m->b[2] = -mass * g;
    m->b[4] -= moves[0]; /* d psi_2 / dt h, exactly */
    m->b[FRICTION + 2] -= moves[1];
    m->b[FRICTION + 3] += moves[1];
    for (int j = 0; j < 8; ++j) {
        m->B[FRICTION + j][SIGMA + contact_of[j]] = 1.0;
        m->B[SIGMA + contact_of[j]][FRICTION + j] = -1.0;
    }
    int32_t entries = 0;
    for (int j = 0; j < N; ++j) {
        m->start[j] = entries;
        for (int i = 0; i < N; ++i) {
            if (m->B[i][j] != 0.0) {
                m->row[entries] = i;
                m->value[entries++] = m->B[i][j];
            }
        }
        m->lower[j] = j < 3 ? -INFINITY : 0.0;
        m->upper[j] = INFINITY;
    }
    m->start[N] = entries;
    m->problem = (perp_mlcp){
        .M = {N, N, m->start, m->row, m->value}, .q = m->b, .lower = m->lower, .upper = m->upper};
}

static void stop(perp_status status, const perp_context* context)
{
    if (status != PERP_OK) {
        fprintf(stderr, "%s\n", perp_context_error(context));
        exit(3);
    }
}

/* The whole motion by (3.41)-(3.43); returns the distance at the end from that of the stepper. */
static double as_printed(perp_context* context, double mu, const double end[2], double* residual)
{
    static model_dlc m;
    perp_mlcp_solver* solver = NULL;
    double q[3] = {start_x, 0.0, 0.0};
    stop(perp_mlcp_solver_create(context, "pivot", NULL, 0, &solver), context);
    for (int step = 0; step < (int)(T / h + 0.5); ++step) {
        double z[N] = {0}, work[2 * N];
        perp_report answer;
        const perp_solve_options options = perp_solve_options_default();
        fill_model(&m, q, step * h, mu);
        memcpy(z, q, sizeof q);
        stop(perp_mlcp_solve(solver, &m.problem, &options, true, z, &answer), context);
        *residual = fmax(*residual, perp_mlcp_check_residual(&m.problem, z, work));
        memcpy(q, z, sizeof q);
    }
    perp_mlcp_solver_destroy(solver);
    return hypot(q[0] - end[0], q[1] - end[1]);
}

/* One step without friction, at t = 3, from guesses all over the strip: how many answers? */
static int many_answers(perp_context* context, double* residual, FILE* table)
{
    static model_dlc m;
    const double q[3] = {0.9, 0.0, 0.0}, t = 3.0;
    double seen[64][2];
    int count = 0;
    perp_mlcp_solver* solver = NULL;
    stop(perp_mlcp_solver_create(context, "minmap-newton", NULL, 0, &solver), context);
    fill_model(&m, q, t, 0.0);
    for (int guess = 0; guess < 64; ++guess) {
        double z[N] = {0}, work[2 * N];
        perp_report answer;
        const perp_solve_options options = perp_solve_options_default();
        z[0] = 0.6 + 0.05 * (guess % 8);
        z[1] = -0.5 + 0.15 * (guess / 8);
        z[5] = mass * g;
        z[SIGMA] = z[SIGMA + 1] = z[SIGMA + 2] = 5.0; /* without friction any slip speed will do */
        const double from[2] = {z[0], z[1]};
        stop(perp_mlcp_solve(solver, &m.problem, &options, true, z, &answer), context);
        if (!(perp_mlcp_check_residual(&m.problem, z, work) <= 1e-10)) {
            continue;
        }
        *residual = fmax(*residual, perp_mlcp_check_residual(&m.problem, z, work));
        bool fresh = true;
        for (int i = 0; i < count; ++i) {
            fresh = fresh && hypot(z[0] - seen[i][0], z[1] - seen[i][1]) > 1e-6;
        }
        if (fresh) {
            seen[count][0] = z[0];
            seen[count++][1] = z[1];
        }
        fprintf(table, "%.9g %.9g %.9g %.9g\n", from[0], from[1], z[0], z[1]);
    }
    perp_mlcp_solver_destroy(solver);
    return count;
}

/* The sets of friction forces of the plane, and where each cone lets the particle go. */
static void draw_cones(const report* r)
{
    FILE* f = report_file(r, "cones.dat");
    for (int i = 0; i <= 360; ++i) {
        const double a = i * acos(-1.0) / 180.0, c = cos(a), s = sin(a);
        const double diamond = 1.0 / (fabs(c) + fabs(s)), square = 1.0 / fmax(fabs(c), fabs(s));
        fprintf(f, "%.9g %.9g %.9g %.9g %.9g %.9g\n", c, s, diamond * c, diamond * s, square * c,
                square * s);
    }
    fclose(f);
}

int main(int argc, char** argv)
{
    const double mu = 0.3;
    report r;
    report_begin(&r, "b09-fence", argc, argv);
    perp_context* context = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 3;
    }
    draw_cones(&r);

    const path round = follow(ROUND, mu, 0.0, &r, "round.dat");
    report_add(&r, "Model-DQC: distance from the closed form (m)", NAN, 0.0, round.off, 1e-9);
    report_add(&r, "Model-DQC: push of the fence, mu m g / sqrt(1 + mu^2), largest error (N)", NAN,
               0.0, round.force_off, 1e-7);
    report_add(&r, "Model-DQC: steps with many solutions (the thesis: unique)", 0.0, 0.0,
               round.undetermined, 0.0);
    report_add(&r, "Model-DQC: y at the end (m), mu (0.9 - 0.7)", NAN, mu * 0.2, round.end[1],
               1e-4);
    report_add(&r, "Model-DQC: certificate", NAN, 0.0, round.certificate, 1e-9);
    report_note(&r, "Model-DQC: steps in which the fence pushes", round.pushed);

    const path turned = follow(ROUND, mu, 0.3, &r, NULL);
    report_add(&r, "Model-DQC, scene turned by 0.3: distance from the closed form (m)", NAN, 0.0,
               turned.off, 1e-9);
    const path strong = follow(ROUND, 3.0, 0.0, &r, "strong.dat");
    report_add(&r, "mu = 3, the fence drags while it is fast: distance from the closed form (m)",
               NAN, 0.0, strong.off, 1e-9);

    const path diamond = follow(DIAMOND, mu, 0.0, &r, "diamond.dat");
    report_add(&r, "Model-DLC, diamond of (3.63): distance from the closed form (m)", NAN, 0.0,
               diamond.off, 1e-9);
    report_add(&r, "Model-DLC, diamond: push mu m g / (1 + mu), largest error (N)", NAN, 0.0,
               diamond.force_off, 1e-7);
    const path square = follow(SQUARE, mu, acos(-1.0) / 4.0, &r, "square.dat");
    report_add(&r, "Model-DLC, square of (3.49): distance from the closed form (m)", NAN, 0.0,
               square.off, 1e-9);
    report_add(&r, "y at the end by cone: diamond less round (m); (3.49) is not (3.63)", NAN,
               (1.0 - mu) * 0.2, diamond.end[1] - round.end[1], 1e-4);

    double residual = 0.0;
    const double apart = as_printed(context, mu, diamond.end, &residual);
    report_add(&r, "(3.41)-(3.43) with E transposed, by pivoting: distance at the end (m)", NAN,
               0.0, apart, 1e-9);
    report_add(&r, "(3.41)-(3.43): largest residual", NAN, 0.0, residual, 1e-9);

    const path none = follow(NONE, 0.0, 0.0, &r, "none.dat");
    report_add(&r, "no friction: steps with many solutions (of 700; the thesis: many)", NAN, 700.0,
               none.undetermined, 0.0);
    report_add(&r, "no friction: directions left open (x, y)", 2.0, 2.0, none.freedom, 0.0);
    report_add(&r, "no friction: distance from the least motion (m)", NAN, 0.0, none.off, 1e-9);
    residual = 0.0;
    FILE* table = report_file(&r, "answers.dat");
    const int answers = many_answers(context, &residual, table);
    fclose(table);
    report_note(&r, "no friction: different answers of one step from 64 guesses", answers);
    report_add(&r, "no friction: the answer depends on the guess (1: yes, as in the thesis)", 1.0,
               1.0, answers > 1, 0.0);
    report_add(&r, "no friction: residual of the worst answer", NAN, 0.0, residual, 1e-10);
    perp_context_destroy(context);
    return report_end(&r);
}
