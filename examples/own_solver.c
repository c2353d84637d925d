/* A solver of one's own, registered from outside: damped Jacobi on the contact problem without
 * friction. perp recomputes the residual of every answer, so an iteration that stops too early is
 * reported as unsolved, whatever the method says.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perp/perp.h"

typedef struct settings {
    int32_t sweeps;
} settings;

static const perp_setting table[] = {
    {"sweeps", PERP_SETTING_INT, offsetof(settings, sweeps), 1, 1e9, "Jacobi sweeps per solve"},
};

static void defaults(void* s)
{
    ((settings*)s)->sweeps = 2000;
}

static perp_status create(perp_context* context, const void* given, void** self)
{
    (void)context;
    settings* s = malloc(sizeof *s);
    if (s == NULL) {
        return PERP_ERROR_MEMORY;
    }
    *s = *(const settings*)given;
    *self = s;
    return PERP_OK;
}

/* One block of three velocities and mass M = m E: enough for particles, to stay short. */
static perp_status solve(void* self, const perp_contact_problem* c,
                         const perp_solve_options* options, bool warm, double* v, double* p,
                         perp_report* report)
{
    const settings* s = self;
    (void)options;
    if (!warm) {
        memset(p, 0, (size_t)c->row_count * sizeof *p);
    }
    const int32_t n = c->dof_count;
    const double m = c->M[0];
    for (int32_t sweep = 0; sweep <= s->sweeps; ++sweep) {
        for (int32_t i = 0; i < n; ++i) {
            v[i] = c->k[i] / m;
        }
        for (int32_t r = 0; r < c->row_count; ++r) {
            const double* J = c->J + c->constraint[r].jac;
            for (int32_t i = 0; i < n; ++i) {
                v[i] += J[i] * p[r] / m;
            }
        }
        if (sweep == s->sweeps) {
            break; /* v belongs to p */
        }
        for (int32_t r = 0; r < c->row_count; ++r) {
            const double* J = c->J + c->constraint[r].jac;
            double u = c->b[r], W = 0.0;
            for (int32_t i = 0; i < n; ++i) {
                u += J[i] * v[i];
                W += J[i] * J[i] / m;
            }
            const double next = p[r] - 0.5 * u / W;
            p[r] = next > 0.0 ? next : 0.0;
        }
    }
    report->outcome = PERP_OUTCOME_SOLVED; /* perp sets the outcome from the residual */
    report->iterations = s->sweeps;
    return PERP_OK;
}

static const perp_method damped_jacobi = {
    .name = "damped-jacobi",
    .summary = "example: damped Jacobi for one frictionless particle",
    .takes = PERP_TAKES_NONE,
    .settings_size = sizeof(settings),
    .settings = table,
    .settings_count = 1,
    .settings_default = defaults,
    .create = create,
    .destroy = free,
    .contact = solve,
};

static const char scene_text[] =
    "{\"gravity\":[0,0,-9.81], \"step\":0.01, \"duration\":2, \"solver\":\"damped-jacobi\","
    " \"bodies\":["
    "  {\"name\":\"valley\", \"type\":\"static\", \"shapes\":["
    "    {\"type\":\"plane\", \"normal\":[0.6,0,0.8]}, {\"type\":\"plane\", "
    "\"normal\":[-0.6,0,0.8]}]},"
    "  {\"name\":\"bead\", \"mass\":1, \"position\":[0.3,0,1], "
    "\"shapes\":[{\"type\":\"particle\"}]}]}";

int main(void)
{
    perp_context* context = NULL;
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    perp_status status = perp_context_create(NULL, &context);
    if (status == PERP_OK) {
        status = perp_register_method(context, &damped_jacobi);
    }
    if (status == PERP_OK) {
        status = perp_scene_parse(context, scene_text, strlen(scene_text), "own_solver", NULL, 0,
                                  &scene);
    }
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(context, scene, &sim);
    }
    if (status == PERP_OK) {
        status = perp_sim_run(sim);
    }
    int result = 1;
    if (status == PERP_OK) {
        const perp_body_state bead = perp_sim_body(sim, 1);
        const perp_step_info info = perp_sim_step_info(sim);
        printf("the bead rests at (%.2g, %.2g, %.2g), solved by %s, certificate %.1e\n",
               bead.position[0], bead.position[1], bead.position[2], info.report.solver,
               info.certificate.worst);
        result = fabs(bead.position[2]) < 1e-6 ? 0 : 1;
    } else {
        fprintf(stderr, "%s\n", context != NULL ? perp_context_error(context) : "out of memory");
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    perp_context_destroy(context);
    return result;
}
