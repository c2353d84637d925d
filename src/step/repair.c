/* src/step/repair.c - slow closing of joint errors where closing them at once would gain energy.
 *
 * Method     docs/notation.md, "Joints near singular configurations"
 *
 * The rows of a joint read J v' = -error/h. In a step they do the work p . (u- + u+)/2, with u- = J
 * v before it and u+ = -error/h after it (both without the change by the spin). Where the Jacobian
 * changes little from step to step the two cancel to first order. Near a singular configuration (a
 * taut chain between two walls, a four-bar linkage at its dead point) they do not: an error of
 * second order requires unbounded velocities. A step whose joints would gain more energy than a
 * part of what they exchange is solved again with
 *     u+ = -u- + PART (u- - error/h),
 * which conserves the energy of the joints up to that part, for any configuration. The remaining error is
 * corrected in later steps. A rope that is too long does not reverse its speed, u+ >= -PART
 * error/h: it gains no more than p u+. Mechanisms without closed loops have no singular
 * configurations; they are changed only where bodies turn by radians in a step, so that the error
 * of a step is as large as an arm, and closing it would give most of the energy of the motion.
 */
#include "step/frames.h"
#include "step/joint_rows.h"
#include "step/kinetic.h"
#include "step/repair.h"

/* Relative to the energy that the joints exchange: the part that they may gain in a step. */
static const double LARGEST_GAIN = 0.05;
/* Relative to the energy of the motion: smaller gains in a step are accepted, because they
 * average out. */
static const double LEAST_GAIN = 0.03;
/* The same of open mechanisms: only where their bodies turn so far in a step that closing errors drives the
 * motion. */
static const double LEAST_GAIN_OPEN = 0.4;
/* The part of an error that is closed in a step where closing all of it would gain more energy. */
static const double PART = 0.1;

/* A body of the model that joints can move; -1: the world. */
static int32_t movable(const perp_model* model, int32_t body)
{
    return body >= 0 && model->body[body].dofs > 0 ? body : -1;
}

void perpi_repair_find_loops(const perp_model* model, int32_t* tree, bool* loop)
{
    const int32_t bodies = (int32_t)model->body_count, joints = (int32_t)model->joint_count;
    for (int32_t i = 0; i < bodies; ++i) {
        tree[i] = i;
    }
    for (int32_t k = 0; k < joints; ++k) { /* bodies that joints connect get one number */
        const int32_t a = movable(model, model->joint[k].body[0]);
        const int32_t b = movable(model, model->joint[k].body[1]);
        if (a >= 0 && b >= 0 && tree[a] != tree[b]) {
            const int32_t from = tree[a] > tree[b] ? tree[a] : tree[b];
            const int32_t to = tree[a] < tree[b] ? tree[a] : tree[b];
            for (int32_t i = 0; i < bodies; ++i) {
                tree[i] = tree[i] == from ? to : tree[i];
            }
        }
    }
    for (int32_t k = 0; k < joints; ++k) {
        const int32_t a = movable(model, model->joint[k].body[0]);
        const int32_t b = movable(model, model->joint[k].body[1]);
        const int32_t number = a >= 0 ? tree[a] : b >= 0 ? tree[b] : -1;
        int32_t links = 0, ties = 0, held = 0;
        for (int32_t i = 0; i < bodies; ++i) {
            links += tree[i] == number && model->body[i].dofs > 0;
        }
        for (int32_t m = 0; m < joints; ++m) {
            const int32_t c = movable(model, model->joint[m].body[0]);
            const int32_t d = movable(model, model->joint[m].body[1]);
            const bool here = (c >= 0 && tree[c] == number) || (d >= 0 && tree[d] == number);
            ties += here;
            held += here && (c < 0 || d < 0);
        }
        loop[k] = number >= 0 && ties > (held > 0 ? links : links - 1);
    }
}

/* Limits are among the rows where these are those of all joints. */
static bool repairs(const perpi_formulation* f, const bool* loop, int32_t k)
{
    const int32_t slot = f->place[k].slot;
    const bool limit = slot == 1 + PERPI_LAW_LOWER || slot == 1 + PERPI_LAW_UPPER;
    return loop == NULL ? slot == 0 || limit : loop[f->place[k].joint] && slot == 0;
}

/* A rope or a limit: the others of these rows are equalities. */
static bool is_one_sided(const perp_constraint* c)
{
    return c->kind == PERP_CONSTRAINT_BOUNDED;
}

void perpi_repair_before(const perpi_formulation* f, const perp_model* model, const double* v,
                         double* before)
{
    perpi_formulation_gather_v(f, model, v, before);
    for (int32_t i = 0; model->dimension == 3 && i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (f->block_of[i] < 0 || body->particle || perpi_inertia_round(body)) {
            continue;
        }
        double* w = before + f->dof[f->block_of[i]] + 3;
        const vec3 g = m3_tmul(f->pose[i].R, f->gyroscopic[i]);
        const vec3 d = m3_mul(f->pose[i].R, m3_mul(m3_inverse(body->inertia), g));
        v3_to(v3_sub(v3_from(w), d), w);
    }
}

/* Twice the kinetic energy, and that which the forces of a step would give bodies at rest: at
 * the turning points of a swing the kinetic energy vanishes, but forces act. */
static double motion_scale(const perpi_formulation* f, const double* before, const double* v)
{
    double sum = 0.0;
    const double* M = f->M;
    for (int32_t block = 0; block < f->problem.block_count; ++block) {
        const int32_t first = f->dof[block], n = f->dof[block + 1] - first;
        for (int32_t i = 0; i < n; ++i) {
            double now = 0.0, force = f->k[first + i];
            for (int32_t k = 0; k < n; ++k) {
                now += M[i * n + k] * v[first + k];
                force -= M[i * n + k] * before[first + k];
            }
            sum += v[first + i] * now + force * force / M[i * n + i];
        }
        M += n * n;
    }
    return sum;
}

/* Twice the energy that joints and contacts give together in a step whose velocities change from before to v: p . u+ less
 * |v - before|^2_M/2. */
static double gain_of_rows(const perpi_formulation* f, const double* before, const double* v,
                           const double* p)
{
    double sum = 0.0;
    for (int32_t index = 0; index < f->contact_count + f->joint_count; ++index) {
        const perp_constraint* c = &f->constraint[index];
        const bool counts = index < f->contact_count || repairs(f, NULL, index - f->contact_count);
        for (int32_t r = 0; counts && r < c->rows; ++r) {
            const double given = f->given[c->row + r];
            sum += 2.0 * p[c->row + r] * (perpi_formulation_speed(f, index, r, v) + given);
        }
    }
    const double* M = f->M;
    for (int32_t block = 0; block < f->problem.block_count; ++block) {
        const int32_t first = f->dof[block], n = f->dof[block + 1] - first;
        for (int32_t i = 0; i < n; ++i) {
            double change = 0.0;
            for (int32_t k = 0; k < n; ++k) {
                change += M[i * n + k] * (v[first + k] - before[first + k]);
            }
            sum -= (v[first + i] - before[first + i]) * change;
        }
        M += n * n;
    }
    return sum;
}

/* The kinetic energy of the answer beyond that of the step without impulses. */
static double gain_of_all_rows(const perpi_formulation* f, const double* v)
{
    return perpi_kinetic_energy(f, v) - perpi_kinetic_energy_free(f);
}

bool perpi_repair_gains(const perpi_formulation* f, const bool* loop, const double* before,
                        const double* v, const double* p, double projection)
{
    const double motion = motion_scale(f, before, v);
    double work = 2.0 * projection, size = 0.0; /* twice each */
    double most = work; /* p . u+: no step gains more, whatever its forces do (notation.md) */
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const int32_t index = f->contact_count + k;
        const perp_constraint* c = &f->constraint[index];
        for (int32_t r = 0; repairs(f, loop, k) && r < c->rows; ++r) {
            const double given = f->given[c->row + r];
            const double u = perpi_formulation_speed(f, index, r, before) + given;
            const double end = perpi_formulation_speed(f, index, r, v) + given;
            work += p[c->row + r] * (u + end);
            most += 2.0 * p[c->row + r] * end;
            size += fabs(p[c->row + r]) * (fabs(u) + fabs(end));
        }
    }
    const double gain = most < work ? most : work;
    const double least = loop != NULL ? LEAST_GAIN : LEAST_GAIN_OPEN;
    if (!(most > least * motion)) {
        return false;
    }
    if (loop == NULL && !(2.0 * (projection + gain_of_all_rows(f, v)) > least * motion)) {
        return false; /* a motor or a weight that presses a joint on its limit takes what closing the limit gives */
    }
    if (gain > LARGEST_GAIN * size && gain > least * motion) {
        return true;
    }
    /* contacts may pass on what the joints give */
    return loop == NULL && 2.0 * projection + gain_of_rows(f, before, v, p) > least * motion;
}

bool perpi_repair_gains_still(const perpi_formulation* f, const double* before, const double* v,
                              const double* p)
{
    return gain_of_rows(f, before, v, p) > LEAST_GAIN_OPEN * motion_scale(f, before, v);
}

/* Whether a row of a constraint turns bodies only. */
static bool is_angular(const perpi_formulation* f, const perp_constraint* c, int32_t linear,
                       int32_t r)
{
    const double* J = f->J + c->jac;
    bool angular = true;
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
        for (int32_t k = 0; k < linear && k < n; ++k) {
            angular = angular && J[r * n + k] == 0.0;
        }
        J += c->rows * n;
    }
    return angular;
}

/* The part of the errors of a joint's linear and angular rows that is closed. Where bodies turn by radians in a step errors are
 * arms, and a tenth of error/h is more than the speeds: not more than a tenth of these. */
static void closed_parts(const perpi_formulation* f, int32_t index, int32_t linear,
                         const double* before, double part[2])
{
    const perp_constraint* c = &f->constraint[index];
    double speed[2] = {0.0, 0.0}, repair[2] = {0.0, 0.0};
    for (int32_t r = 0; r < c->rows; ++r) {
        const int kind = is_angular(f, c, linear, r);
        const double given = f->given[c->row + r];
        speed[kind] += fabs(perpi_formulation_speed(f, index, r, before) + given);
        repair[kind] += fabs(f->b[c->row + r] - given);
    }
    for (int kind = 0; kind < 2; ++kind) {
        part[kind] = repair[kind] > speed[kind] ? PART * (speed[kind] / repair[kind]) : PART;
    }
}

void perpi_repair_limit(perpi_formulation* f, const bool* loop, int32_t linear,
                        const double* before)
{
    for (int32_t k = 0; k < f->joint_count; ++k) {
        const int32_t index = f->contact_count + k;
        const perp_constraint* c = &f->constraint[index];
        double part[2] = {PART, PART};
        if (loop == NULL && repairs(f, loop, k)) {
            closed_parts(f, index, linear, before, part);
        }
        for (int32_t r = 0; repairs(f, loop, k) && r < c->rows; ++r) {
            const double given = f->given[c->row + r];
            const double u = perpi_formulation_speed(f, index, r, before) + given;
            const double repair = f->b[c->row + r] - given;
            const double closed = part[is_angular(f, c, linear, r)];
            if (!is_one_sided(c)) {
                f->b[c->row + r] = given + u + closed * (repair - u);
            } else if (repair < 0.0) { /* too long, or too far; others keep their gap */
                f->b[c->row + r] = given + closed * repair;
            }
        }
    }
    perpi_frames_follow(f);
}
