/* src/sim/spring_stability.c - refuses springs that are unstable with a fixed step.
 *
 * A spring whose force is taken at the start of the step, f = -k x - d u, moves two points with the
 * effective mass m, 1/m = sum (1/m_i + the effect of the arms), by
 *     u' = u - (h/m)(k x + d u),   x' = x + h u'
 * The eigenvalues lambda^2 - (2 - h d/m - h^2 k/m) lambda + 1 - h d/m = 0 are within the unit
 * circle if and only if
 *     h^2 k + 2 h d < 4 m
 * Beyond that the motion grows without bound. Bodies rotate, so that the spring can take every
 * direction relative to the arms: m is the minimum over all directions. Joints increase the
 * effective mass; where one holds an end of the spring the bound is not sharp, and there is a
 * warning instead of a refusal.
 */
#include "sim/internal.h"

/* Largest (arm x n) . I^-1 (arm x n) over unit vectors n, by the power iteration. */
static double turning_part(const perp_model* model, const perpi_body* body, vec3 arm)
{
    if (body->particle || model->dimension == 2) {
        return body->particle ? 0.0 : v3_dot(arm, arm) / body->inertia.m[2][2];
    }
    const mat3 inverse = m3_inverse(body->inertia);
    vec3 n = fabs(arm.x) < fabs(arm.y) ? v3(1, 0.1, 0.2) : v3(0.1, 1, 0.2);
    double largest = 0.0;
    for (int i = 0; i < 60; ++i) {
        n = v3_scale(1.0 / v3_norm(n), n);
        const vec3 moved = v3_cross(m3_mul(inverse, v3_cross(arm, n)), arm);
        largest = v3_norm(moved);
        if (!(largest > 0.0)) {
            break;
        }
        n = moved;
    }
    return largest;
}

static bool on_a_joint(const perp_model* model, int32_t body)
{
    bool any = false;
    for (size_t i = 0; body >= 0 && i < model->joint_count; ++i) {
        any = any || model->joint[i].body[0] == body || model->joint[i].body[1] == body;
    }
    return any;
}

static const char* name_of(const perp_model* model, int32_t body)
{
    return body < 0 ? "world" : model->body[body].name;
}

/* An implicit spring is stable in the directions of the start of the step. An anchor off the
 * centre of a light body turns it by (h k (x - x0) r / I) h in a step. Where that mode is far
 * from resolved, h^2 k r^2/I above UNRESOLVED, a body that is hit turns by radians in a step,
 * and the rotation of the arm, which the linearised law ignores, adds energy. */
static const double UNRESOLVED = 100.0;

static void warn_of_arms(const perp_sim* sim, const perpi_spring* s)
{
    const perp_model* model = sim->model;
    const double h = sim->def.step;
    for (int side = 0; side < 2; ++side) {
        const perpi_body* body = s->body[side] >= 0 ? &model->body[s->body[side]] : NULL;
        if (body == NULL || body->dofs == 0) {
            continue;
        }
        const double stiff = h * h * s->stiffness * turning_part(model, body, s->at[side]);
        if (stiff > UNRESOLVED && !on_a_joint(model, s->body[side])) {
            perpi_log(sim->context, PERP_LOG_WARNING,
                      "the spring between '%.60s' and '%.60s' is fixed off the centre of '%.60s', "
                      "which it can turn by radians in a step: it may gain energy; take a step "
                      "below %.2g, or fix it nearer to the centre",
                      name_of(model, s->body[0]), name_of(model, s->body[1]), body->name,
                      h / sqrt(stiff));
        }
    }
}

perp_status perpi_sim_check_springs(const perp_sim* sim)
{
    const perp_model* model = sim->model;
    const double h = sim->def.step;
    const bool at_start =
        sim->stepper->evaluation == PERPI_EVALUATE_START && !sim->stepper->equilibrium_search;
    for (size_t i = 0; i < model->spring_count && at_start && !sim->adaptive; ++i) {
        const perpi_spring* s = &model->spring[i];
        if (s->implicit) {
            warn_of_arms(sim, s);
            continue;
        }
        double inverse = 0.0; /* 1/m */
        for (int side = 0; side < 2; ++side) {
            const perpi_body* body = s->body[side] >= 0 ? &model->body[s->body[side]] : NULL;
            if (body != NULL && body->dofs > 0 && !body->massless) {
                inverse += 1.0 / body->mass + turning_part(model, body, s->at[side]);
            }
        }
        const double k = s->stiffness, d = s->damping;
        if (!((h * h * k + 2.0 * h * d) * inverse > 4.0)) {
            continue;
        }
        const double m = 1.0 / inverse, root = sqrt(d * d + 4.0 * m * k);
        const double longest = 4.0 * m / (d + root);
        const bool held = on_a_joint(model, s->body[0]) || on_a_joint(model, s->body[1]);
        static const char text[] = "the explicit spring between '%.60s' and '%.60s' %s unstable: "
                                   "h^2 k + 2 h d = %.3g exceeds 4 m = "
                                   "%.3g of the points that it moves; take a step below %.3g, or "
                                   "leave out \"implicit\": false";
        const char *a = name_of(model, s->body[0]), *b = name_of(model, s->body[1]);
        const double have = h * h * k + 2.0 * h * d;
        if (!held) {
            return perpi_fail(sim->context, PERP_ERROR_INPUT, text, a, b, "is", have, 4.0 * m,
                              longest);
        }
        perpi_log(sim->context, PERP_LOG_WARNING, text, a, b, "may be", have, 4.0 * m, longest);
    }
    return PERP_OK;
}
