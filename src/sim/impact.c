/* src/sim/impact.c - impacts: steps of no duration, in which velocities jump.
 *
 * Sources    Newton's and Poisson's laws of impact with Coulomb friction; Poisson in two phases as
 *            in [GP95]. The papers' steppers have none (e = 0).
 *
 * An impact is a contact problem of its own, with the pose as it is, without forces:
 *     M (v+ - v-) = J' p,   0 <= p_n  perp  u_n+ + d >= 0,   p_t in F(mu p_n), most dissipative
 *   Newton         d = e u_n-                      where the contact is struck
 *   Poisson        compression: d = 0; then decompression from there, whose impulses are e times
 *                  those of compression, or more where bodies would meet again
 *   elsewhere      d = max(gap, 0) / h: what only rests there takes part, and does not bounce
 * d is what the contact's drift[0] says: so that recorded numbers tell the whole problem. The u_n- of
 * Newton's law is that of velocities which the joints allow: those of a plain step satisfied the joints
 * at the pose before, and the part along a joint, of size h, is no speed of approach.
 *
 * Poisson's decompression asks for impulses where a contact problem asks for velocities. decompress.c
 * writes it as a contact problem with more rows; the normal velocities found are then the d = -u_n of
 * the problem above, which has the same answer, and its certificate.
 *
 * Struck is a contact that the plain step would have to stop (it has an impulse there), and that
 * comes nearer faster than the forces of one step can make it, on both sides together: what rests or
 * is pressed never bounces. Neither law keeps the energy from growing, where friction or several
 * contacts couple. So the coefficients are multiplied by a part in [0, 1] with which it is kept, found
 * by Chandrupatla's method (inverse quadratic interpolation where that is safe, else bisection); with 0
 * it cannot grow.
 */
#include <string.h>

#include "linalg/dense.h"
#include "sim/decompress.h"
#include "sim/internal.h"
#include "step/joint_rows.h"

/* Evaluations of the law in one impact: a smooth energy takes about 8; where it jumps, as many halve the
 * interval to 1e-5. One without an answer takes long, and counts as several. */
enum { MAX_EVALUATIONS = 20, UNSOLVED_COUNTS = 5 };
/* Change of the kinetic energy that is rounding; an interval of the part that is. */
static const double ENERGY_TOLERANCE = 1e-12, PART_TOLERANCE = 1e-13;

void perpi_sim_divide_by_mass(const perpi_formulation* f, double* x)
{
    const double* M = f->M;
    double L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX];
    for (int32_t i = 0; i < f->problem.block_count; ++i) {
        const int32_t n = f->dof[i + 1] - f->dof[i];
        if (perpi_chol_factor(n, M, L)) {
            perpi_chol_solve(n, L, x + f->dof[i]);
        }
        M += n * n;
    }
}

static double kinetic_energy(const perpi_formulation* f, const double* v)
{
    const double* M = f->M;
    double twice = 0.0;
    for (int32_t i = 0; i < f->problem.block_count; ++i) {
        const int32_t n = f->dof[i + 1] - f->dof[i];
        for (int32_t a = 0; a < n; ++a) {
            for (int32_t c = 0; c < n; ++c) {
                twice += v[f->dof[i] + a] * M[a * n + c] * v[f->dof[i] + c];
            }
        }
        M += n * n;
    }
    return 0.5 * twice;
}

/* x += J' p over the constraints from `first` on. */
static void add_impulses(const perpi_formulation* f, int32_t first, const double* p, double* x)
{
    for (int32_t i = first; i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const double* J = f->J + c->jac;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            if (block < 0) {
                continue;
            }
            const int32_t n = f->dof[block + 1] - f->dof[block];
            perpi_matvec_transposed_add(c->rows, n, J, p + c->row, x + f->dof[block]);
            J += (size_t)c->rows * (size_t)n;
        }
    }
}

/* Work that prescribed bodies and belts take from the impulses: with it, the balance of kinetic
 * energy is that of relative motion. */
static double given_work(const perpi_formulation* f, const perp_contact* contact, const double* p)
{
    double work = 0.0;
    for (int32_t i = 0; i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        for (int32_t r = 0; r < c->rows; ++r) {
            const double target = i < f->contact_count && r == 0 ? contact[i].drift[0] : 0.0;
            work += p[c->row + r] * (f->b[c->row + r] - target);
        }
    }
    return work;
}

/* Speed that a side of a contact gains along the normal from dv; both sides by their size. gain: with
 * their signs. */
static double gained_speed(const perpi_formulation* f, int32_t contact, const double* dv,
                           double* gain)
{
    const perp_constraint* c = &f->constraint[contact];
    const double* J = f->J + c->jac;
    double sum = 0.0;
    *gain = 0.0;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        if (block < 0) {
            continue;
        }
        const int32_t n = f->dof[block + 1] - f->dof[block];
        double u = 0.0;
        for (int32_t i = 0; i < n; ++i) {
            u += J[i] * dv[f->dof[block] + i];
        }
        sum += fabs(u);
        *gain += u;
        J += (size_t)c->rows * (size_t)n;
    }
    return sum;
}

/* ---- which contacts are struck ---------------------------------------------------------------------*/

static perp_status room(perp_sim* sim, size_t dofs, size_t rows, size_t contacts)
{
    perp_status status = perpi_grow(sim->context, &sim->hit_work, &sim->hit_work_capacity,
                                    3 * dofs + rows + contacts, sizeof(double));
    if (status == PERP_OK) {
        status =
            perpi_grow(sim->context, &sim->hit, &sim->hit_capacity, contacts, sizeof *sim->hit);
    }
    return status;
}

perp_status perpi_sim_find_struck(perp_sim* sim, double h, bool* any)
{
    const perpi_formulation* f = sim->formulation;
    const size_t dofs = (size_t)f->problem.dof_count, count = sim->next.count;
    *any = false;
    const perp_status status = room(sim, dofs, 0, count);
    if (status != PERP_OK || sim->info.impacts_in_a_row >= PERPI_IMPACTS_IN_A_ROW) {
        return status;
    }
    double *v = sim->hit_work, *dv = sim->hit_work + dofs;
    memset(v, 0, dofs * sizeof *v); /* blocks that are no bodies */
    perpi_formulation_gather_v(f, sim->model, sim->v_from, v);
    memcpy(dv, f->k, dofs * sizeof *dv);
    perpi_sim_divide_by_mass(f, dv);
    for (size_t i = 0; i < dofs; ++i) {
        dv[i] -= v[i];
    }
    for (size_t i = 0; i < count; ++i) {
        const perp_contact* c = &sim->next.item[i];
        const double e = perp_model_pair_restitution(sim->model, c->body_a, c->body_b);
        /* a solver may leave an open contact an impulse of the size of rounding */
        const bool pushed = e > 0.0 && c->impulse[0] > 0.0 && perpi_sim_row_holds(sim, (int32_t)i);
        sim->hit[i] = (perpi_hit){0};
        if (!pushed && c->group == 0) {
            continue;
        }
        const double gap = sim->stepper->touching ? 0.0 : c->gap / h;
        const double u = perpi_formulation_speed(f, (int32_t)i, 0, v) + f->b[f->constraint[i].row] -
                         gap - c->drift[0];
        double gain;
        const double gained = gained_speed(f, (int32_t)i, dv, &gain);
        const double moved = sim->stepper->touching ? 0.0 : h * c->drift[0];
        const bool fast = -u > fmax(gained, perpi_sim_found_pull(sim, c->key));
        sim->hit[i] = (perpi_hit){.e = pushed && fast ? e : 0.0,
                                  .u = u,
                                  .gap = c->gap + moved,
                                  .bend = perpi_sim_found_gain(sim, c->key, gain),
                                  .fast = fast};
        *any = *any || sim->hit[i].e > 0.0;
    }
    return PERP_OK;
}

/* ---- the problem of an impact ----------------------------------------------------------------------*/

static perp_status formulate(perp_sim* sim)
{
    perpi_formulation* f = sim->impact;
    perp_status status =
        perpi_formulate_other(f, sim->model, PERPI_PURPOSE_IMPACT, sim->def.step, sim->q_from,
                              sim->v_from, sim->next.item, (int32_t)sim->next.count, sim->input);
    const size_t dofs = (size_t)f->problem.dof_count, rows = (size_t)f->problem.row_count;
    if (status == PERP_OK) {
        status = perpi_sim_room(sim, dofs, rows);
    }
    return status == PERP_OK ? room(sim, dofs, rows, sim->next.count) : status;
}

static perp_solve_options solve_options(const perp_sim* sim)
{
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = sim->def.tolerance;
    options.cancel = sim->cancel;
    options.user = sim->cancel_user;
    return options;
}

/* The problem with the drifts as they are; warm: from the point at hand, else from the velocities before
 * and no impulses. */
static perp_status solve(perp_sim* sim, bool warm)
{
    perpi_formulation* f = sim->impact;
    perp_status status = formulate(sim);
    if (status != PERP_OK) {
        return status;
    }
    const perp_solve_options options = solve_options(sim);
    const int32_t before = sim->hit_report.iterations;
    if (!warm) {
        perpi_formulation_gather_v(f, sim->model, sim->v_from, sim->v_problem);
        memset(sim->p_problem, 0, (size_t)f->problem.row_count * sizeof *sim->p_problem);
    }
    status = perp_contact_solve(sim->solver, &f->problem, &options, warm, sim->v_problem,
                                sim->p_problem, &sim->hit_residual, &sim->hit_report);
    sim->hit_report.iterations += before;
    if (status != PERP_OK) {
        return status;
    }
    if (sim->hit_report.outcome == PERP_OUTCOME_CANCELLED ||
        (sim->cancel != NULL && sim->cancel(sim->cancel_user))) {
        return perpi_fail(sim->context, PERP_ERROR_CANCELLED, "impact after step %lld: cancelled",
                          (long long)sim->step);
    }
    if (sim->hit_report.outcome != PERP_OUTCOME_SOLVED && !sim->take_unsolved) {
        return perpi_fail(sim->context, PERP_ERROR_SOLVE,
                          "impact after step %lld (t = %.9g): the problem of %d contacts was not "
                          "solved: %s ended with '%s', residual %.3g%s%s",
                          (long long)sim->step, sim->time, (int)sim->next.count,
                          sim->hit_report.solver, perp_outcome_name(sim->hit_report.outcome),
                          sim->hit_residual.worst, sim->hit_report.detail[0] != '\0' ? ": " : "",
                          sim->hit_report.detail);
    }
    for (int32_t i = 0; i < f->problem.dof_count; ++i) {
        if (!isfinite(sim->v_problem[i])) {
            return perpi_fail(sim->context, PERP_ERROR_NUMERIC,
                              "impact after step %lld (t = %.9g): a velocity is not finite",
                              (long long)sim->step, sim->time);
        }
    }
    return PERP_OK;
}

/* d of a contact that is not struck. */
static double rest_offset(const perp_sim* sim, size_t i)
{
    const perp_contact* c = &sim->next.item[i];
    const double gap = sim->hit[i].gap;
    if (sim->stepper->touching || sim->adaptive) {
        return 0.0;
    }
    return gap > 0.0 || c->group != 0 ? gap / sim->def.step : 0.0;
}

/* Newton with the given part of the coefficients; part 0 is compression. */
static perp_status solve_newton(perp_sim* sim, double part)
{
    for (size_t i = 0; i < sim->next.count; ++i) {
        perp_contact* c = &sim->next.item[i];
        const perpi_hit* hit = &sim->hit[i];
        c->drift[0] = hit->struck ? part * hit->e * hit->u + hit->gain : rest_offset(sim, i);
    }
    sim->hit_converged = true;
    return solve(sim, false);
}

/* Poisson's decompression: impulses `part` times e times those of compression, sim->hit[i].p. The
 * velocities found become the d of a contact problem, of which they and their impulses are the
 * answer. */
static perp_status solve_poisson(perp_sim* sim, double part)
{
    const size_t count = sim->next.count;
    for (size_t i = 0; i < count; ++i) {
        perp_contact* c = &sim->next.item[i];
        const bool asked = part * sim->hit[i].e * sim->hit[i].p > 0.0;
        c->drift[0] = asked ? sim->hit[i].gain : rest_offset(sim, i);
    }
    perp_status status = formulate(sim);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_formulation* f = sim->impact;
    double* asked = sim->hit_work;
    for (size_t i = 0; i < count; ++i) {
        asked[i] = part * sim->hit[i].e * sim->hit[i].p;
    }
    perp_report report;
    const perp_solve_options options = solve_options(sim);
    perpi_formulation_gather_v(f, sim->model, sim->v_from, sim->v_problem);
    status = perpi_decompress(&sim->hit_scratch, sim->solver, &options, f, asked, sim->v_problem,
                              sim->p_problem, &report);
    if (status != PERP_OK) {
        return status;
    }
    sim->hit_converged = report.outcome == PERP_OUTCOME_SOLVED;
    sim->hit_report.iterations += report.iterations;
    for (size_t i = 0; i < count; ++i) {
        perp_contact* c = &sim->next.item[i];
        const double u =
            perpi_formulation_speed(f, (int32_t)i, 0, sim->v_problem) + f->b[f->constraint[i].row];
        c->drift[0] = asked[i] > 0.0 ? sim->hit[i].gain - fmax(u, 0.0) : c->drift[0];
    }
    return solve(sim, true);
}

/* ---- the whole impact ------------------------------------------------------------------------------*/

/* The energy at the time of the impact is that of v plus the gain of velocity by then. With it the impulses
 * do this work besides. */
static double gained_work(const perp_sim* sim, const double* p)
{
    double work = 0.0;
    for (size_t i = 0; i < sim->next.count; ++i) {
        work += p[sim->impact->constraint[i].row] * sim->hit[i].gain;
    }
    return work;
}

/* Change of the energy since before the impact, relative to what it was. What was not found counts as
 * grown without bound. */
static double energy_change(const perp_sim* sim, double before, double work_before)
{
    const perpi_formulation* f = sim->impact;
    const double after = kinetic_energy(f, sim->v_problem) +
                         given_work(f, sim->next.item, sim->p_problem) +
                         gained_work(sim, sim->p_problem) + work_before;
    if (!sim->hit_converged) {
        return INFINITY;
    }
    const double size = before > 0.0 ? before : fabs(after);
    return size > 0.0 ? (after - before) / size : 0.0;
}

/* Where to evaluate next, as a part of the way from a to b, which have different signs; c: the point
 * before. */
static double chandrupatla_step(const double a[2], const double b[2], const double c[2])
{
    const double xi = (a[0] - b[0]) / (c[0] - b[0]), phi = (a[1] - b[1]) / (c[1] - b[1]);
    if (!(phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi)) {
        return 0.5; /* also where a value is not finite */
    }
    const double t = a[1] / (b[1] - a[1]) * (c[1] / (b[1] - c[1])) + (c[0] - a[0]) / (b[0] - a[0]) *
                                                                         (a[1] / (c[1] - a[1])) *
                                                                         (b[1] / (c[1] - b[1]));
    return t > 0.0 && t < 1.0 ? t : 0.5;
}

/* Evaluates the law with a part of the coefficients: x[0] in, x[1] the change of energy. Bodies that jam
 * may have no answer in which all bounce: that counts as a gain, unless none bounces. */
static perp_status evaluate(perp_sim* sim, double before, double work_before,
                            perp_status (*law)(perp_sim* sim, double part), double x[2])
{
    const perp_status status = law(sim, x[0]);
    const bool jammed = status == PERP_ERROR_SOLVE && x[0] > 0.0;
    sim->hit_evaluations += jammed ? UNSOLVED_COUNTS : 1;
    x[1] = status == PERP_OK ? energy_change(sim, before, work_before) : INFINITY;
    return jammed ? PERP_OK : status;
}

/* The coefficients as they are; or if the energy grows with them, the part of them that keeps it. */
static perp_status solve_within_energy(perp_sim* sim, double before, double work_before,
                                       perp_status (*law)(perp_sim* sim, double part), double* kept)
{
    double a[2] = {1.0, 0.0}, b[2] = {0.0, 0.0}, c[2], best = 0.0;
    perp_status status = evaluate(sim, before, work_before, law, a);
    *kept = 1.0;
    if (status != PERP_OK || a[1] <= ENERGY_TOLERANCE) {
        return status;
    }
    status = evaluate(sim, before, work_before, law, b);
    *kept = 0.0;
    if (status != PERP_OK || !(b[1] < 0.0)) {
        return status;
    }
    memcpy(c, a, sizeof c);
    double t = a[1] < INFINITY ? a[1] / (a[1] - b[1]) : 0.5; /* of the way from a to b */
    while (sim->hit_evaluations < MAX_EVALUATIONS && fabs(a[0] - b[0]) > PART_TOLERANCE) {
        double x[2] = {a[0] + t * (b[0] - a[0]), 0.0};
        status = evaluate(sim, before, work_before, law, x);
        if (status != PERP_OK) {
            return status;
        }
        *kept = x[0];
        best = x[1] <= ENERGY_TOLERANCE && x[0] > best ? x[0] : best;
        /* the energy is known as well as the problem is solved */
        if (x[1] <= ENERGY_TOLERANCE && x[1] >= -fmax(ENERGY_TOLERANCE, sim->hit_residual.worst)) {
            return PERP_OK;
        }
        if ((x[1] > 0.0) == (a[1] > 0.0)) {
            memcpy(c, a, sizeof c);
        } else {
            memcpy(c, b, sizeof c);
            memcpy(b, a, sizeof b);
        }
        memcpy(a, x, sizeof a);
        t = chandrupatla_step(a, b, c);
    }
    if (*kept != best) {
        *kept = best;
        status = law(sim, best);
        sim->hit_evaluations += 1;
    }
    return status;
}

/* What the step leaves: velocities and impulses; poses, clocks and memories stay. */
static perp_status finish(perp_sim* sim, perp_step_kind kind, double kept)
{
    const perpi_formulation* f = sim->impact;
    const size_t joints = sim->model->joint_count;
    memcpy(sim->q_next, sim->q, (size_t)sim->q_size * sizeof *sim->q);
    memcpy(sim->v_next, sim->v, (size_t)sim->v_size * sizeof *sim->v);
    memcpy(sim->s_next, sim->s, (size_t)sim->s_size * sizeof *sim->s);
    /* of Poisson's law both phases happen at the same time and pose */
    if (kind != PERP_STEP_COMPRESSION) {
        double* p = sim->hit_work + f->problem.dof_count;
        memset(p, 0, (size_t)f->problem.row_count * sizeof *p);
        if (kind == PERP_STEP_DECOMPRESSION) {
            perpi_formulation_gather_p(f, sim->contacts.item, p);
            perpi_formulation_gather_joints(f, sim->joint, p);
        }
        for (int32_t i = 0; i < f->problem.row_count; ++i) {
            p[i] += sim->p_problem[i];
        }
        const perp_status status = perpi_sim_add_offset(sim, f, p);
        if (status != PERP_OK) {
            return status;
        }
    }
    perpi_formulation_scatter_v(f, sim->model, sim->v_problem, sim->v_next);
    if (sim->v_solved != NULL) {
        memcpy(sim->v_solved, sim->v_next, (size_t)sim->v_size * sizeof *sim->v_solved);
    }
    perpi_carry_spin(sim->model, sim->q_from, sim->q, sim->v_next);
    perpi_formulation_scatter_p(f, sim->p_problem, sim->next.item);
    if (joints > 0) {
        memcpy(sim->joint_next, sim->joint, joints * sizeof *sim->joint);
        for (size_t i = 0; i < joints; ++i) {
            memset(sim->joint_next[i].impulse, 0, sizeof sim->joint_next[i].impulse);
            memset(sim->joint_next[i].law, 0, sizeof sim->joint_next[i].law);
            sim->joint_next[i].applied = 0.0;
        }
        perpi_formulation_scatter_joints(f, sim->model, sim->p_problem, sim->joint_next);
    }
    if (sim->adaptive) {
        perpi_sim_adaptive_clear(sim);
    }
    int32_t active = 0;
    double deepest = 0.0;
    for (size_t i = 0; i < sim->next.count; ++i) {
        active += sim->next.item[i].impulse[0] > 0.0;
        deepest = fmax(deepest, sim->next.item[i].group == 0 ? -sim->next.item[i].gap : 0.0);
    }
    sim->info =
        (perp_step_info){.certificate = sim->hit_residual,
                         .report = sim->hit_report,
                         .candidates = (int32_t)sim->next.count,
                         .contacts = active,
                         .penetration = deepest,
                         .rounds = sim->hit_evaluations,
                         .accepted_unsolved = sim->hit_report.outcome != PERP_OUTCOME_SOLVED,
                         .kind = kind,
                         .impacts_in_a_row = sim->info.impacts_in_a_row + 1,
                         .restitution_kept = kept};
    perpi_sim_joint_measure(sim, sim->q_next, sim->joint_next, sim->info.joint_error);
    return perpi_sim_account(sim, f, 0.0);
}

/* To the nearest velocities that the joints allow at the pose at hand. Limits and ropes take part that the
 * last step held. */
static perp_status project_on_joints(perp_sim* sim, double* v)
{
    perpi_formulation* f = sim->impact;
    for (size_t i = 0; i < sim->model->joint_count; ++i) {
        const perp_joint_record* r = &sim->joint[i];
        bool* slack = sim->input[i].slack;
        slack[0] = !(r->law[PERPI_LAW_LOWER] > 0.0);
        slack[1] = !(r->law[PERPI_LAW_UPPER] > 0.0);
        slack[2] = !(r->impulse[0] > 0.0);
    }
    perp_status status = perpi_formulate_other(f, sim->model, PERPI_PURPOSE_PROJECT, sim->def.step,
                                               sim->q_from, v, NULL, 0, sim->input);
    if (status == PERP_OK) {
        status = perpi_sim_room(sim, (size_t)f->problem.dof_count, (size_t)f->problem.row_count);
    }
    if (status != PERP_OK) {
        return status;
    }
    perp_report report;
    const perp_solve_options options = solve_options(sim);
    status = perp_contact_solve(sim->solver, &f->problem, &options, false, sim->v_problem,
                                sim->p_problem, NULL, &report);
    if (status == PERP_OK && report.outcome == PERP_OUTCOME_SOLVED) {
        perpi_formulation_scatter_v(f, sim->model, sim->v_problem, v);
    }
    return status;
}

/* Velocities at the start of the step into sim->v_next, and those with the forces of the step into
 * sim->v_to. */
static perp_status allowed_velocities(perp_sim* sim)
{
    const size_t bytes = (size_t)sim->v_size * sizeof *sim->v;
    const bool joints = sim->model->joint_count > 0;
    perp_status status = PERP_OK;
    memcpy(sim->v_next, sim->v_from, bytes);
    if (joints && sim->project == NULL) {
        status = project_on_joints(sim, sim->v_next);
    }
    if (status == PERP_OK && sim->offset_at >= 0) {
        const perpi_formulation* f = sim->formulation;
        double* pulled = sim->hit_work;
        memcpy(pulled, f->k, (size_t)f->problem.dof_count * sizeof *pulled);
        /* the velocity-product term does no work: it turns the velocity */
        for (int32_t i = 0; sim->model->dimension == 3 && i < (int32_t)sim->model->body_count;
             ++i) {
            if (sim->model->body[i].dofs == 6) {
                double* spin = pulled + f->dof[f->block_of[i]] + 3;
                v3_to(v3_sub(v3_from(spin), f->gyroscopic[i]), spin);
            }
        }
        perpi_sim_divide_by_mass(f, pulled);
        memcpy(sim->v_to, sim->v_from, bytes);
        perpi_formulation_scatter_v(f, sim->model, pulled, sim->v_to);
        status = joints ? project_on_joints(sim, sim->v_to) : status;
    }
    return status;
}

/* Gaps with the offset that earlier impacts left. */
static void effective_gaps(perp_sim* sim, double* offset)
{
    const perpi_formulation* f = sim->impact;
    if (sim->offset_at >= 0) {
        perpi_formulation_gather_v(f, sim->model, sim->s + sim->offset_at, offset);
    }
    for (size_t i = 0; i < sim->next.count; ++i) {
        sim->hit[i].gap = sim->next.item[i].gap;
        if (sim->offset_at >= 0) {
            sim->hit[i].gap += perpi_formulation_speed(f, (int32_t)i, 0, offset);
        }
    }
}

/* Normal velocities at the time of the impact, and what of them was gained by then. Forces act on the
 * velocities that the joints allow; how these turn with the joints in the step changes the Jacobian, not the
 * speed. */
static void place_in_time(perp_sim* sim)
{
    const perpi_formulation* f = sim->impact;
    const size_t dofs = (size_t)f->problem.dof_count;
    double *allowed = sim->hit_work + dofs, *pulled = sim->hit_work + 2 * dofs;
    effective_gaps(sim, allowed);
    if (sim->offset_at >= 0) {
        perpi_formulation_gather_v(f, sim->model, sim->v_next, allowed);
        perpi_formulation_gather_v(f, sim->model, sim->v_to, pulled);
    }
    for (size_t i = 0; i < sim->next.count; ++i) {
        perpi_hit* hit = &sim->hit[i];
        perp_contact* c = &sim->next.item[i];
        const int32_t k = (int32_t)i;
        c->impact = (perp_contact_impact){0};
        if (!hit->struck || sim->offset_at < 0) {
            hit->gain = 0.0;
            continue;
        }
        const double met = hit->u + hit->part * (perpi_formulation_speed(f, k, 0, pulled) -
                                                 perpi_formulation_speed(f, k, 0, allowed));
        hit->gain = (met < 0.0 ? met : 0.0) - hit->u;
        hit->u += hit->gain;
        c->impact = (perp_contact_impact){.time = hit->time, .gain = hit->gain};
    }
}

perp_status perpi_sim_impact(perp_sim* sim)
{
    const bool poisson = sim->model->impact_law == PERP_IMPACT_POISSON;
    double kept = 1.0;
    perpi_sim_start_from(sim);
    if (!sim->adaptive) {
        perpi_sim_impact_times(sim, perpi_sim_tick_length(sim, sim->tick));
    }
    const perp_status allowed = allowed_velocities(sim);
    if (allowed != PERP_OK) {
        return allowed;
    }
    perpi_sim_roll_not(sim);
    for (size_t i = 0; i < sim->next.count; ++i) {
        sim->next.item[i].drift[0] = 0.0;
    }
    perp_status status = formulate(sim); /* b is what prescribed bodies give, now */
    if (status != PERP_OK) {
        return status;
    }
    const perpi_formulation* f = sim->impact;
    perpi_formulation_gather_v(f, sim->model, sim->v_next, sim->hit_work);
    for (size_t i = 0; i < sim->next.count; ++i) {
        perpi_hit* hit = &sim->hit[i];
        const double u =
            perpi_formulation_speed(f, (int32_t)i, 0, sim->hit_work) + f->b[f->constraint[i].row];
        hit->struck = (hit->e > 0.0 || hit->struck) && u < 0.0;
        hit->u = u;
    }
    perpi_formulation_gather_v(f, sim->model, sim->v_from, sim->hit_work);
    place_in_time(sim);
    const double before = kinetic_energy(f, sim->hit_work);
    sim->hit_report = (perp_report){0};
    sim->hit_evaluations = 0;
    if (poisson) {
        status = solve_newton(sim, 0.0);
        sim->hit_evaluations = 1;
    } else {
        status = solve_within_energy(sim, before, 0.0, solve_newton, &kept);
    }
    if (status == PERP_OK) {
        status = finish(sim, poisson ? PERP_STEP_COMPRESSION : PERP_STEP_IMPACT, kept);
    }
    return status;
}

perp_status perpi_sim_decompress(perp_sim* sim)
{
    /* the contacts and impulses of compression are those of the last step */
    double kept = 1.0;
    const size_t count = sim->contacts.count;
    perp_status status = perpi_grow(sim->context, &sim->next.item, &sim->next.capacity, count,
                                    sizeof *sim->next.item);
    if (status != PERP_OK) {
        return status;
    }
    if (count > 0) {
        memcpy(sim->next.item, sim->contacts.item, count * sizeof *sim->next.item);
    }
    sim->next.count = count;
    sim->next.groups = sim->contacts.groups;
    perpi_sim_start_from(sim);
    perpi_sim_joint_input(sim);
    status = formulate(sim);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_formulation* f = sim->impact;
    for (size_t i = 0; i < count; ++i) {
        const perp_contact* c = &sim->contacts.item[i];
        sim->hit[i] =
            (perpi_hit){.e = perp_model_pair_restitution(sim->model, c->body_a, c->body_b),
                        .p = c->impulse[0],
                        .gain = c->impact.gain};
    }
    effective_gaps(sim, sim->hit_work);
    /* the energy before compression: its impulses taken back */
    const size_t dofs = (size_t)f->problem.dof_count, rows = (size_t)f->problem.row_count;
    double *v = sim->hit_work, *dv = sim->hit_work + dofs, *p = sim->hit_work + 2 * dofs;
    memset(p, 0, rows * sizeof *p);
    perpi_formulation_gather_p(f, sim->contacts.item, p);
    perpi_formulation_gather_joints(f, sim->joint, p);
    const double work = given_work(f, sim->contacts.item, p) + gained_work(sim, p);
    memset(dv, 0, dofs * sizeof *dv);
    add_impulses(f, 0, p, dv);
    perpi_sim_divide_by_mass(f, dv);
    perpi_formulation_gather_v(f, sim->model, sim->v_from, v);
    for (size_t i = 0; i < dofs; ++i) {
        v[i] -= dv[i];
    }
    const double before = kinetic_energy(f, v);
    sim->hit_report = (perp_report){0};
    sim->hit_evaluations = 0;
    status = solve_within_energy(sim, before, work, solve_poisson, &kept);
    if (status == PERP_OK) {
        status = finish(sim, PERP_STEP_DECOMPRESSION, kept);
    }
    return status;
}
