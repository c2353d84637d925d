/* src/sim/impact.c - impacts: velocity jumps without duration.
 *
 * Sources    Newton's and Poisson's laws of impact with Coulomb friction; Poisson in two phases as
 *            in [GP95]. The papers' steppers have none (e = 0).
 *
 * An impact is a separate contact problem, at the current pose and without forces:
 *     M (v+ - v-) = J' p,   0 <= p_n  perp  u_n+ + d >= 0,   p_t in F(mu p_n), most dissipative
 *   Newton         d = e u_n-                      for an impacting contact
 *   Poisson        compression: d = 0; then decompression from there, whose impulses are e times
 *                  those of compression, or more where bodies would meet again
 *   elsewhere      d = max(gap, 0) / h: resting contacts take part and do not rebound
 * d is the contact's drift[0], so that the recorded numbers define the whole problem. The u_n- of
 * Newton's law is that of velocities which the joints allow: the velocities of a plain step satisfy
 * the joints at the pose before, and their component along a joint, of order h, is no approach
 * velocity.
 *
 * Poisson's decompression prescribes impulses where a contact problem prescribes velocities.
 * decompress.c writes it as a contact problem with more rows. The normal velocities found are then
 * the d = -u_n of the problem above, which has the same solution and gives the certificate.
 *
 * A contact is impacting if the plain step has to stop it (it has an impulse there) and it
 * approaches faster than the forces of one step can explain, on both sides together. So resting and
 * pressed contacts never rebound. Neither law prevents an increase of energy where friction or
 * several contacts are coupled. So the coefficients are multiplied by a factor in [0, 1] that
 * conserves the energy, found by Chandrupatla's method (inverse quadratic interpolation where that
 * is safe, else bisection). With 0 the energy cannot increase.
 */
#include <string.h>

#include "linalg/dense.h"
#include "sim/decompress.h"
#include "sim/internal.h"
#include "step/frames.h"
#include "step/joint_rows.h"

/* Limit of evaluations of the law in one impact. A continuous energy takes about 8; for a
 * discontinuous one this many bisections reduce the interval to 1e-5. An evaluation without a
 * solution is expensive and counts as several. */
enum { MAX_EVALUATIONS = 20, UNSOLVED_COUNTS = 5 };
/* Of an evaluation after one without a solution: those that have one take 10 to 100. */
enum { FEW_ITERATIONS = 200 };
/* Changes of the kinetic energy, and intervals of the factor, below these are rounding. */
static const double ENERGY_TOLERANCE = 1e-12, PART_TOLERANCE = 1e-13;
/* Relative to the kinetic energy: an impact without restitution that gives more is not taken.
 * Groups that overlap, or whose members change places, part their bodies in it. */
static const double LARGEST_GAIN = 1e-3;

void perpi_divide_by_mass(const perpi_formulation* f, double* x)
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

/* Work of the impulses on prescribed bodies and belts. With it, the balance of kinetic energy is
 * that of relative motion. */
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

/* Speed that a side of a contact gains along the normal from dv; both sides by their absolute
 * values. gain: their signed sum. */
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

/* ---- which contacts are impacting ---------------------------------------------------------------------*/

static perp_status reserve_impact(perpi_step* step, size_t dofs, size_t rows, size_t contacts)
{
    perp_status status =
        perpi_grow(step->context, &step->impact->work, &step->impact->work_capacity,
                   3 * dofs + rows + contacts, sizeof(double));
    if (status == PERP_OK) {
        status = perpi_grow(step->context, &step->impact->hit, &step->impact->hit_capacity,
                            contacts, sizeof *step->impact->hit);
    }
    return status;
}

/* Sum of the normal impulses of the step on a body; body -1: of all contacts. */
static double sum_impulses(const perpi_step* step, int32_t body)
{
    double sum = 0.0;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        const perp_contact* c = &step->to->contacts.item[i];
        sum += body < 0 || c->body_a == body || c->body_b == body ? fabs(c->impulse[0]) : 0.0;
    }
    return sum;
}

/* How far a step leaves the speed of a contact undetermined: the tolerance of its problem times the
 * speeds that the contact impulses of the step would give its two bodies, one by one. In a grip the
 * forces at two opposite contacts balance, and a contact whose bodies are not accelerated along its
 * normal by any force approaches at such a speed: it would be taken for an impact, step after
 * step. all: a bound of the impulses on any body; negative: those on each are summed. */
static double speed_noise(const perpi_step* step, const perp_contact* c, double all)
{
    const int32_t body[2] = {c->body_a, c->body_b};
    double speed = 0.0;
    for (int side = 0; side < 2; ++side) {
        const perpi_body* b = &step->model->body[body[side]];
        if (b->dofs > 0) {
            speed += (all < 0.0 ? sum_impulses(step, body[side]) : all) / b->mass;
        }
    }
    return step->tolerance * speed;
}

perp_status perpi_find_impacting(perpi_step* step, double h, bool* any)
{
    const perpi_formulation* f = step->formulation;
    const size_t dofs = (size_t)f->problem.dof_count, count = step->to->contacts.count;
    *any = false;
    const perp_status status = reserve_impact(step, dofs, 0, count);
    if (status != PERP_OK || step->from->impacts_in_a_row >= PERPI_IMPACTS_IN_A_ROW) {
        return status;
    }
    double *v = step->impact->work, *dv = step->impact->work + dofs;
    memset(v, 0, dofs * sizeof *v); /* blocks that are no bodies */
    perpi_formulation_gather_v(f, step->model, step->v_from, v);
    memcpy(dv, f->k, dofs * sizeof *dv);
    perpi_divide_by_mass(f, dv);
    for (size_t i = 0; i < dofs; ++i) {
        dv[i] -= v[i];
    }
    const double all = sum_impulses(step, -1);
    for (size_t i = 0; i < count; ++i) {
        const perp_contact* c = &step->to->contacts.item[i];
        const double e = perp_model_pair_restitution(step->model, c->body_a, c->body_b);
        /* a solver may leave an impulse of the size of rounding at an open contact */
        const bool pushed = e > 0.0 && c->impulse[0] > 0.0 && perpi_row_holds(step, (int32_t)i);
        step->impact->hit[i] = (perpi_hit){0};
        if (!pushed && c->group == 0) {
            continue;
        }
        const double gap = step->stepper->touching ? 0.0 : c->gap / h;
        const double u = perpi_formulation_speed(f, (int32_t)i, 0, v) + f->b[f->constraint[i].row] -
                         gap - c->drift[0];
        double gain;
        const double gained = gained_speed(f, (int32_t)i, dv, &gain);
        const double moved = step->stepper->touching ? 0.0 : h * c->drift[0];
        bool fast = -u > fmax(gained, perpi_found_closing(step, c->key));
        /* the bound first: the sums take time that grows with the contacts */
        fast = fast && (-u > speed_noise(step, c, all) || -u > speed_noise(step, c, -1.0));
        step->impact->hit[i] = (perpi_hit){.e = pushed && fast ? e : 0.0,
                                           .u = u,
                                           .gap = c->gap + moved,
                                           .bend = perpi_found_gain(step, c->key, gain),
                                           .fast = fast};
        *any = *any || step->impact->hit[i].e > 0.0;
    }
    return PERP_OK;
}

/* ---- the problem of an impact ----------------------------------------------------------------------*/

static perp_status formulate_impact(perpi_step* step)
{
    perpi_formulation* f = step->impact->f;
    perp_status status =
        perpi_formulate_other(f, step->model, PERPI_PURPOSE_IMPACT, step->nominal_h,
                              &(perpi_placed){step->q_from, step->v_from, step->to->contacts.item,
                                              (int32_t)step->to->contacts.count, step->input});
    const size_t dofs = (size_t)f->problem.dof_count, rows = (size_t)f->problem.row_count;
    if (status == PERP_OK) {
        status = perpi_step_room(step, f);
    }
    return status == PERP_OK ? reserve_impact(step, dofs, rows, step->to->contacts.count) : status;
}

static perp_solve_options solve_options(const perpi_step* step)
{
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = step->tolerance;
    options.max_iter = step->impact->few ? FEW_ITERATIONS : 0;
    options.cancel = step->cancel;
    options.user = step->cancel_user;
    return options;
}

/* Solves the problem with the current drifts; warm: from the current point, else from the
 * velocities before the impact and no impulses. */
static perp_status solve_impact(perpi_step* step, bool warm)
{
    perpi_formulation* f = step->impact->f;
    perp_status status = formulate_impact(step);
    if (status != PERP_OK) {
        return status;
    }
    const perp_solve_options options = solve_options(step);
    const int32_t before = step->impact->report.iterations;
    if (!warm) {
        perpi_formulation_gather_v(f, step->model, step->v_from, step->v_problem);
        memset(step->p_problem, 0, (size_t)f->problem.row_count * sizeof *step->p_problem);
    }
    status = perp_contact_solve(step->solver, &f->problem, &options, warm, step->v_problem,
                                step->p_problem, &step->impact->residual, &step->impact->report);
    step->impact->report.iterations += before;
    if (status != PERP_OK) {
        return status;
    }
    if (step->impact->report.outcome == PERP_OUTCOME_CANCELLED ||
        (step->cancel != NULL && step->cancel(step->cancel_user))) {
        return perpi_fail(step->context, PERP_ERROR_CANCELLED, "impact after step %lld: cancelled",
                          (long long)step->from->step);
    }
    step->impact->failed = step->impact->report.outcome != PERP_OUTCOME_SOLVED;
    if (step->impact->failed && !step->accept_unsolved) {
        return perpi_fail(
            step->context, PERP_ERROR_SOLVE,
            "impact after step %lld (t = %.9g): the problem of %d contacts was not "
            "solved: %s ended with '%s', residual %.3g%s%s",
            (long long)step->from->step, step->from->time, (int)step->to->contacts.count,
            step->impact->report.solver, perp_outcome_name(step->impact->report.outcome),
            step->impact->residual.worst, step->impact->report.detail[0] != '\0' ? ": " : "",
            step->impact->report.detail);
    }
    for (int32_t i = 0; i < f->problem.dof_count; ++i) {
        if (!isfinite(step->v_problem[i])) {
            return perpi_fail(step->context, PERP_ERROR_NUMERIC,
                              "impact after step %lld (t = %.9g): a velocity is not finite",
                              (long long)step->from->step, step->from->time);
        }
    }
    return PERP_OK;
}

/* d of a contact that is not impacting. What a step pushes out slowly goes on so in the next. */
static double rest_offset(const perpi_step* step, size_t i)
{
    const perp_contact* c = &step->to->contacts.item[i];
    const double gap = step->impact->hit[i].gap;
    if (step->stepper->touching || step->error > 0.0) {
        return 0.0;
    }
    return gap > 0.0 || c->group != 0 ? gap / step->nominal_h : step->impact->hit[i].slow;
}

/* Newton's law with the given factor of the coefficients; factor 0 is compression. */
static perp_status solve_newton(perpi_step* step, double part)
{
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        const perpi_hit* hit = &step->impact->hit[i];
        c->drift[0] = hit->impacting ? part * hit->e * hit->u + hit->gain : rest_offset(step, i);
    }
    step->impact->converged = true;
    return solve_impact(step, step->impact->solved);
}

/* Poisson's decompression: impulses `part` times e times those of compression,
 * step->impact->hit[i].p. The velocities found become the d of a contact problem that they and
 * their impulses solve. */
static perp_status solve_poisson(perpi_step* step, double part)
{
    const size_t count = step->to->contacts.count;
    for (size_t i = 0; i < count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        const bool asked = part * step->impact->hit[i].e * step->impact->hit[i].p > 0.0;
        c->drift[0] = asked ? step->impact->hit[i].gain : rest_offset(step, i);
    }
    perp_status status = formulate_impact(step);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_formulation* f = step->impact->f;
    double* asked = step->impact->work;
    for (size_t i = 0; i < count; ++i) {
        asked[i] = part * step->impact->hit[i].e * step->impact->hit[i].p;
    }
    perp_report report;
    const perp_solve_options options = solve_options(step);
    perpi_formulation_gather_v(f, step->model, step->v_from, step->v_problem);
    status = perpi_decompress(&step->impact->scratch, step->solver, &options, f, asked,
                              step->v_problem, step->p_problem, &report);
    if (status != PERP_OK) {
        return status;
    }
    step->impact->converged = report.outcome == PERP_OUTCOME_SOLVED;
    step->impact->report.iterations += report.iterations;
    for (size_t i = 0; i < count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        const double u =
            perpi_formulation_speed(f, (int32_t)i, 0, step->v_problem) + f->b[f->constraint[i].row];
        c->drift[0] = asked[i] > 0.0 ? step->impact->hit[i].gain - fmax(u, 0.0) : c->drift[0];
    }
    return solve_impact(step, true);
}

/* ---- the whole impact ------------------------------------------------------------------------------*/

/* The energy at the time of the impact is that of v plus the velocity gained until then. This is
 * the additional work of the impulses. */
static double gained_work(const perpi_step* step, const double* p)
{
    double work = 0.0;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        work += p[step->impact->f->constraint[i].row] * step->impact->hit[i].gain;
    }
    return work;
}

/* Change of the energy by the impact, relative to the energy before it. An impact without a
 * solution counts as an unbounded increase. */
static double energy_change(const perpi_step* step, double before, double work_before)
{
    const perpi_formulation* f = step->impact->f;
    const double after = kinetic_energy(f, step->v_problem) +
                         given_work(f, step->to->contacts.item, step->p_problem) +
                         gained_work(step, step->p_problem) + work_before;
    if (!step->impact->converged) {
        return INFINITY;
    }
    const double size = before > 0.0 ? before : fabs(after);
    return size > 0.0 ? (after - before) / size : 0.0;
}

/* Without restitution an impact gives no energy but by overlap of groups: the step in time closes
 * that, too, and has forces, friction and simpler contacts against it. */
static perp_status check_gain(perpi_step* step, double change)
{
    if (change <= LARGEST_GAIN || step->accept_unsolved) {
        return PERP_OK;
    }
    return perpi_fail(
        step->context, PERP_ERROR_SOLVE,
        "impact after step %lld (t = %.9g): the contacts would give %.3g of the energy",
        (long long)step->from->step, step->from->time, change);
}

/* The next evaluation point as a fraction of the interval from a to b, whose values have
 * different signs; c: the previous point. */
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

/* Evaluates the law with a factor of the coefficients: x[0] in, x[1] the change of energy.
 * Jammed bodies may have no solution in which all rebound: that counts as an increase, unless
 * the factor is 0. */
static perp_status evaluate_law(perpi_step* step, double before, double work_before,
                                perp_status (*law)(perpi_step* step, double part), double x[2])
{
    step->impact->few = step->impact->jammed && x[0] > 0.0;
    const perp_status status = law(step, x[0]);
    step->impact->few = false;
    const bool jammed = status == PERP_ERROR_SOLVE && x[0] > 0.0;
    step->impact->jammed = step->impact->jammed || jammed;
    step->impact->evaluations += jammed ? UNSOLVED_COUNTS : 1;
    step->impact->solved = status == PERP_OK;
    x[1] = status == PERP_OK ? energy_change(step, before, work_before) : INFINITY;
    return jammed ? PERP_OK : status;
}

/* The coefficients as given; if the energy increases with them, multiplied by the factor that conserves it. */
static perp_status solve_within_energy(perpi_step* step, double before, double work_before,
                                       perp_status (*law)(perpi_step* step, double part),
                                       double* kept)
{
    double a[2] = {1.0, 0.0}, b[2] = {0.0, 0.0}, c[2], best = 0.0;
    perp_status status = evaluate_law(step, before, work_before, law, a);
    *kept = 1.0;
    if (status != PERP_OK || a[1] <= ENERGY_TOLERANCE) {
        return status;
    }
    status = evaluate_law(step, before, work_before, law, b);
    *kept = 0.0;
    if (status != PERP_OK || !(b[1] < 0.0)) {
        return status == PERP_OK ? check_gain(step, b[1]) : status;
    }
    memcpy(c, a, sizeof c);
    double t = a[1] < INFINITY ? a[1] / (a[1] - b[1]) : 0.5; /* of the way from a to b */
    while (step->impact->evaluations < MAX_EVALUATIONS && fabs(a[0] - b[0]) > PART_TOLERANCE) {
        double x[2] = {a[0] + t * (b[0] - a[0]), 0.0};
        status = evaluate_law(step, before, work_before, law, x);
        if (status != PERP_OK) {
            return status;
        }
        *kept = x[0];
        best = x[1] <= ENERGY_TOLERANCE && x[0] > best ? x[0] : best;
        /* the energy is known only to the accuracy of the solve */
        if (x[1] <= ENERGY_TOLERANCE &&
            x[1] >= -fmax(ENERGY_TOLERANCE, step->impact->residual.worst)) {
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
        status = law(step, best);
        step->impact->evaluations += 1;
    }
    return status;
}

/* Result of the impact: velocities and impulses; poses, clocks and memories are unchanged. */
static perp_status finish_impact(perpi_step* step, perp_step_kind kind, double kept)
{
    const perpi_formulation* f = step->impact->f;
    const size_t joints = step->model->joint_count;
    memcpy(step->to->q, step->from->q, (size_t)step->q_size * sizeof *step->from->q);
    memcpy(step->to->v, step->from->v, (size_t)step->v_size * sizeof *step->from->v);
    memcpy(step->to->memory, step->from->memory, (size_t)step->s_size * sizeof *step->from->memory);
    /* both phases of Poisson's law happen at the same time and pose */
    if (kind != PERP_STEP_COMPRESSION) {
        double* p = step->impact->work + f->problem.dof_count;
        memset(p, 0, (size_t)f->problem.row_count * sizeof *p);
        if (kind == PERP_STEP_DECOMPRESSION) {
            perpi_formulation_gather_p(f, step->from->contacts.item, p);
            perpi_formulation_gather_joints(f, step->from->joint, p);
        }
        for (int32_t i = 0; i < f->problem.row_count; ++i) {
            p[i] += step->p_problem[i];
        }
        const perp_status status = perpi_add_offset(step, f, p);
        if (status != PERP_OK) {
            return status;
        }
    }
    perpi_formulation_scatter_v(f, step->model, step->v_problem, step->to->v);
    if (step->trial->v_solved != NULL) {
        memcpy(step->trial->v_solved, step->to->v,
               (size_t)step->v_size * sizeof *step->trial->v_solved);
    }
    perpi_carry_spin(step->model, step->q_from, step->from->q, step->to->v);
    perpi_formulation_scatter_p(f, step->p_problem, step->to->contacts.item);
    if (joints > 0) {
        memcpy(step->to->joint, step->from->joint, joints * sizeof *step->from->joint);
        for (size_t i = 0; i < joints; ++i) {
            memset(step->to->joint[i].impulse, 0, sizeof step->to->joint[i].impulse);
            memset(step->to->joint[i].law, 0, sizeof step->to->joint[i].law);
            step->to->joint[i].applied = 0.0;
        }
        perpi_formulation_scatter_joints(f, step->model, step->p_problem, step->to->joint);
        perpi_frames_scatter(f, step->v_problem, step->to->joint);
    }
    int32_t active = 0;
    double deepest = 0.0;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        active += step->to->contacts.item[i].impulse[0] > 0.0;
        deepest = fmax(
            deepest, step->to->contacts.item[i].group == 0 ? -step->to->contacts.item[i].gap : 0.0);
    }
    *step->trial->info =
        (perp_step_info){.certificate = step->impact->residual,
                         .report = step->impact->report,
                         .candidates = (int32_t)step->to->contacts.count,
                         .contacts = active,
                         .penetration = deepest,
                         .rounds = step->impact->evaluations,
                         .accepted_unsolved = step->impact->report.outcome != PERP_OUTCOME_SOLVED,
                         .kind = kind,
                         .impacts_in_a_row = step->from->impacts_in_a_row + 1,
                         .restitution_kept = kept};
    perpi_joint_measure(step->model, step->to->q, step->to->joint, step->trial->info->joint_error);
    return perpi_account(step, f, 0.0);
}

/* Projects onto the nearest velocities that the joints allow at the current pose. Limits and
 * ropes that were active in the last step take part. */
static perp_status project_on_joints(perpi_step* step, double* v)
{
    perpi_formulation* f = step->impact->f;
    for (size_t i = 0; i < step->model->joint_count; ++i) {
        const perp_joint_record* r = &step->from->joint[i];
        bool* slack = step->input[i].slack;
        slack[0] = !(r->law[PERPI_LAW_LOWER] > 0.0);
        slack[1] = !(r->law[PERPI_LAW_UPPER] > 0.0);
        slack[2] = !(r->impulse[0] > 0.0);
    }
    perp_status status =
        perpi_formulate_other(f, step->model, PERPI_PURPOSE_PROJECT, step->nominal_h,
                              &(perpi_placed){step->q_from, v, NULL, 0, step->input});
    if (status == PERP_OK) {
        status = perpi_step_room(step, f);
    }
    if (status != PERP_OK) {
        return status;
    }
    perp_report report;
    const perp_solve_options options = solve_options(step);
    status = perp_contact_solve(step->solver, &f->problem, &options, false, step->v_problem,
                                step->p_problem, NULL, &report);
    if (status == PERP_OK && report.outcome == PERP_OUTCOME_SOLVED) {
        perpi_formulation_scatter_v(f, step->model, step->v_problem, v);
    }
    return status;
}

/* Velocities at the start of the step into step->to->v, and those with the forces of the step into
 * step->v_to. */
static perp_status allowed_velocities(perpi_step* step)
{
    const size_t bytes = (size_t)step->v_size * sizeof *step->from->v;
    const bool joints = step->model->joint_count > 0;
    perp_status status = PERP_OK;
    memcpy(step->to->v, step->v_from, bytes);
    if (joints && step->correction->project == NULL) {
        status = project_on_joints(step, step->to->v);
    }
    if (status == PERP_OK && step->offset_at >= 0) {
        const perpi_formulation* f = step->formulation;
        double* pulled = step->impact->work;
        memcpy(pulled, f->k, (size_t)f->problem.dof_count * sizeof *pulled);
        /* the velocity-product term does no work: it only rotates the velocity */
        for (int32_t i = 0; step->model->dimension == 3 && i < (int32_t)step->model->body_count;
             ++i) {
            if (step->model->body[i].dofs == 6) {
                double* spin = pulled + f->dof[f->block_of[i]] + 3;
                v3_to(v3_sub(v3_from(spin), f->gyroscopic[i]), spin);
            }
        }
        perpi_divide_by_mass(f, pulled);
        memcpy(step->v_to, step->v_from, bytes);
        perpi_formulation_scatter_v(f, step->model, pulled, step->v_to);
        status = joints ? project_on_joints(step, step->v_to) : status;
    }
    return status;
}

/* Gaps with the offset that earlier impacts left. */
static void effective_gaps(perpi_step* step, double* offset)
{
    const perpi_formulation* f = step->impact->f;
    if (step->offset_at >= 0) {
        perpi_formulation_gather_v(f, step->model, step->from->memory + step->offset_at, offset);
    }
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        step->impact->hit[i].gap = step->to->contacts.item[i].gap;
        if (step->offset_at >= 0) {
            step->impact->hit[i].gap += perpi_formulation_speed(f, (int32_t)i, 0, offset);
        }
    }
}

/* Normal velocities at the time of the impact, and the part gained until then. Forces act on the
 * velocities that the joints allow; the rotation of these with the joints within the step
 * changes the Jacobian, not the speed. */
static void set_impact_times(perpi_step* step)
{
    const perpi_formulation* f = step->impact->f;
    const size_t dofs = (size_t)f->problem.dof_count;
    double *allowed = step->impact->work + dofs, *pulled = step->impact->work + 2 * dofs;
    effective_gaps(step, allowed);
    if (step->offset_at >= 0) {
        perpi_formulation_gather_v(f, step->model, step->to->v, allowed);
        perpi_formulation_gather_v(f, step->model, step->v_to, pulled);
    }
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        perpi_hit* hit = &step->impact->hit[i];
        perp_contact* c = &step->to->contacts.item[i];
        const int32_t k = (int32_t)i;
        c->impact = (perp_contact_impact){0};
        if (!hit->impacting || step->offset_at < 0) {
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

perp_status perpi_impact_step(perpi_step* step)
{
    const bool poisson = step->model->impact_law == PERP_IMPACT_POISSON;
    double kept = 1.0;
    perpi_start_from(step);
    if (!(step->error > 0.0)) {
        perpi_impact_times(step, step->h);
    }
    const perp_status allowed = allowed_velocities(step);
    if (allowed != PERP_OK) {
        return allowed;
    }
    perpi_clear_rolling(step);
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        step->impact->hit[i].slow = step->kept.slow && c->gap == 0.0 ? fmin(c->drift[0], 0.0) : 0.0;
        c->drift[0] = 0.0;
    }
    perp_status status =
        formulate_impact(step); /* b of prescribed bodies at the time of the impact */
    if (status != PERP_OK) {
        return status;
    }
    const perpi_formulation* f = step->impact->f;
    perpi_formulation_gather_v(f, step->model, step->to->v, step->impact->work);
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        perpi_hit* hit = &step->impact->hit[i];
        const double u = perpi_formulation_speed(f, (int32_t)i, 0, step->impact->work) +
                         f->b[f->constraint[i].row];
        hit->impacting = (hit->e > 0.0 || hit->impacting) && u < 0.0;
        hit->u = u;
    }
    perpi_formulation_gather_v(f, step->model, step->v_from, step->impact->work);
    set_impact_times(step);
    const double before = kinetic_energy(f, step->impact->work);
    step->impact->report = (perp_report){0};
    step->impact->evaluations = 0;
    step->impact->solved = step->impact->jammed = step->impact->few = false;
    if (poisson) {
        status = solve_newton(step, 0.0);
        step->impact->evaluations = 1;
        status = status == PERP_OK ? check_gain(step, energy_change(step, before, 0.0)) : status;
    } else {
        status = solve_within_energy(step, before, 0.0, solve_newton, &kept);
    }
    if (status == PERP_OK) {
        status = finish_impact(step, poisson ? PERP_STEP_COMPRESSION : PERP_STEP_IMPACT, kept);
    }
    return status;
}

perp_status perpi_decompression_step(perpi_step* step)
{
    /* the contacts and impulses of compression are those of the last step */
    double kept = 1.0;
    const size_t count = step->from->contacts.count;
    perp_status status =
        perpi_grow(step->context, &step->to->contacts.item, &step->to->contacts.capacity, count,
                   sizeof *step->to->contacts.item);
    if (status != PERP_OK) {
        return status;
    }
    if (count > 0) {
        memcpy(step->to->contacts.item, step->from->contacts.item,
               count * sizeof *step->to->contacts.item);
    }
    step->to->contacts.count = count;
    step->to->contacts.groups = step->from->contacts.groups;
    perpi_start_from(step);
    perpi_joint_inputs(step);
    status = formulate_impact(step);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_formulation* f = step->impact->f;
    for (size_t i = 0; i < count; ++i) {
        const perp_contact* c = &step->from->contacts.item[i];
        step->impact->hit[i] =
            (perpi_hit){.e = perp_model_pair_restitution(step->model, c->body_a, c->body_b),
                        .p = c->impulse[0],
                        .gain = c->impact.gain};
    }
    effective_gaps(step, step->impact->work);
    /* the energy before compression: its impulses are subtracted */
    const size_t dofs = (size_t)f->problem.dof_count, rows = (size_t)f->problem.row_count;
    double *v = step->impact->work, *dv = step->impact->work + dofs,
           *p = step->impact->work + 2 * dofs;
    memset(p, 0, rows * sizeof *p);
    perpi_formulation_gather_p(f, step->from->contacts.item, p);
    perpi_formulation_gather_joints(f, step->from->joint, p);
    const double work = given_work(f, step->from->contacts.item, p) + gained_work(step, p);
    memset(dv, 0, dofs * sizeof *dv);
    add_impulses(f, 0, p, dv);
    perpi_divide_by_mass(f, dv);
    perpi_formulation_gather_v(f, step->model, step->v_from, v);
    for (size_t i = 0; i < dofs; ++i) {
        v[i] -= dv[i];
    }
    const double before = kinetic_energy(f, v);
    step->impact->report = (perp_report){0};
    step->impact->evaluations = 0;
    step->impact->solved = step->impact->jammed = step->impact->few = false;
    status = solve_within_energy(step, before, work, solve_poisson, &kept);
    if (status == PERP_OK) {
        status = finish_impact(step, PERP_STEP_DECOMPRESSION, kept);
    }
    return status;
}
