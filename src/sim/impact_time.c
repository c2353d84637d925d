/* src/sim/impact_time.c - the time of an impact within a fixed step, and its effect on the poses.
 *
 * An impact is computed before the step in which its bodies would meet. Their poses should advance
 * with the velocities before the impact up to the time t at which they meet, and with those after
 * it from there:
 *     q' = q + h v' - t M^-1 J' p
 * v' are the velocities of the step, which contain the jump M^-1 J' p of the impact over the whole
 * step. The subtracted term, the offset, is part of the state until that step has been made.
 *
 * Positions of a semi-implicit step lie on the parabola whose velocity at t_l is v_l + dv/2, dv the
 * gain of velocity in a step. With g = J dv and u = J v_l:
 *     gap + (u + g/2) t + g t^2 / (2 h) = 0,   u_t = u + g (1/2 + t/h)
 * give time and normal velocity of the meeting. The law of impact applies to u_t: the normal
 * velocity after is u+ + (u_t - u). A ball then bounces on the exact parabolas: flight and bounce
 * with e = 1 conserve sum m |v + h g/2|^2 / 2 - m g.x. docs/notation.md derives it.
 *
 * Where something prescribed takes part in the impact (a floor, a hinge), the offset is added to
 * the motion of the step. Bodies that act only on each other are displaced before the step: its
 * impulses then act at the displaced poses, and angular momentum is conserved to rounding. (For a
 * joint the first is more accurate: the offset and the motion of the step, along tangents of its
 * path, are opposite.)
 *
 * All contacts of a pair of bodies have the time of the first of them. Where impulses also pass
 * through joints or resting contacts, or through a chain of moving bodies, all of these bodies have
 * the first time: the joints stay closed, and angular momentum is conserved.
 */
#include <string.h>

#include "linalg/dense.h"
#include "sim/internal.h"
#include "step/ledger.h"

/* NULL if it is 0. */
static const double* pending_offset(const perpi_step* step)
{
    const double* offset = perpi_step_offset(step);
    bool any = false;
    for (int32_t i = 0; offset != NULL && i < step->v_size; ++i) {
        any = any || offset[i] != 0.0;
    }
    return any ? offset : NULL;
}

void perpi_displaced(const perpi_step* step, const double* offset, const double* v, double* q_to,
                     double* v_to)
{
    memcpy(q_to, step->from->q, (size_t)step->q_size * sizeof *q_to);
    memcpy(v_to, v, (size_t)step->v_size * sizeof *v_to);
    perpi_displace(step->model, offset, true, q_to);
    perpi_carry_spin(step->model, step->from->q, q_to, v_to);
}

void perpi_start_from(perpi_step* step)
{
    const double* offset = pending_offset(step);
    step->q_from = step->from->q;
    step->v_from = step->from->v;
    if (offset != NULL) {
        perpi_displaced(step, offset, step->from->v, step->q_start, step->v_start);
        step->q_from = step->q_start;
        step->v_from = step->v_start;
    }
}

double perpi_offset_energy(const perpi_step* step, bool impact)
{
    const perp_model* model = step->model;
    const double* offset = pending_offset(step);
    if (offset == NULL) {
        return 0.0;
    }
    double change =
        perpi_energy_change(model, true, step->from->q, step->from->v, step->q_from, step->v_from);
    const double* early = offset + step->v_size;
    for (int32_t i = 0; !impact && i < (int32_t)model->body_count; ++i) {
        if (early[i] == 0.0) { /* the step displaces it: gravity does work */
            const vec3 moved = perpi_state_velocity(model, offset, i);
            change -= model->body[i].mass * v3_dot(model->body[i].gravity, moved);
        }
    }
    if (impact) { /* only poses are displaced by the step; velocities are restored */
        change +=
            perpi_energy_change(model, true, step->q_from,
                                step->trial->v_solved != NULL ? step->trial->v_solved : step->to->v,
                                step->from->q, step->to->v);
    }
    return change;
}

double perpi_offset_travel(const perpi_step* step, int32_t body)
{
    const perpi_body* b = &step->model->body[body];
    const double* offset = perpi_step_offset(step);
    const double reach = isfinite(b->reach) ? b->reach : step->model->length;
    return offset == NULL ? 0.0
                          : v3_norm(perpi_state_velocity(step->model, offset, body)) +
                                v3_norm(perpi_state_rate(step->model, offset, body)) * reach;
}

/* Of a body's point. */
static vec3 offset_at(const perpi_step* step, const double* offset, int32_t body, vec3 point)
{
    const vec3 arm = v3_sub(point, step->pose[body].x);
    return v3_add(perpi_state_velocity(step->model, offset, body),
                  v3_cross(perpi_state_rate(step->model, offset, body), arm));
}

void perpi_offset_gaps(perpi_step* step, double h)
{
    const double* offset = pending_offset(step);
    const double* early = offset != NULL ? offset + step->v_size : NULL;
    for (size_t i = 0; offset != NULL && i < step->to->contacts.count; ++i) {
        perp_contact* c = &step->to->contacts.item[i];
        const vec3 n = v3_from(c->normal), on_a = v3_from(c->point);
        const vec3 a = offset_at(step, offset, c->body_a, on_a);
        const vec3 b = offset_at(step, offset, c->body_b, v3_madd(on_a, c->gap, n));
        const bool free_a = step->model->body[c->body_a].dofs > 0;
        const bool free_b = step->model->body[c->body_b].dofs > 0;
        /* the common point of both arms: halfway between two dynamic bodies, which conserves
         * momentum */
        const vec3 from_a = early[c->body_a] != 0.0 ? a : v3(0, 0, 0);
        const vec3 from_b = early[c->body_b] != 0.0 ? b : v3(0, 0, 0);
        const bool dot_a = free_a && free_b && step->model->body[c->body_a].particle;
        const bool dot_b = free_a && free_b && !dot_a && step->model->body[c->body_b].particle;
        const vec3 moved = dot_a   ? from_a /* a particle has no arm */
                           : dot_b ? from_b
                                   : v3_scale(free_a && free_b ? 0.5 : 1.0, v3_add(from_a, from_b));
        v3_to(v3_add(on_a, moved), c->point);
        /* without a gap term the poses have no effect, but on contacts of the side check, which are
         * to hold at the end of the step */
        if (!step->stepper->touching || (c->gap > 0.0 && perpi_keeps_open(step, c))) {
            c->drift[0] += v3_dot(n, v3_sub(b, a)) / h;
        }
    }
}

/* ---- change of velocity within the step ------------------------------------------------------ */

double perpi_found_gain(const perpi_step* step, uint64_t key, double gain)
{
    const perpi_closing_list* list = step->filter->closing;
    for (size_t i = 0; list != NULL && i < list->count; ++i) {
        const perpi_closing* pull = &list->item[i];
        if (pull->key == key && pull->found) {
            return pull->gain;
        }
    }
    return gain;
}

/* ---- times -----------------------------------------------------------------------------------------*/

/* The root of the parabola within the step, where one exists because the contact was active in
 * it. Where rounding leaves no root, u alone. */
static double meeting_time(double gap, double u, double g, double h, bool late)
{
    const double slope = u + 0.5 * g, square = slope * slope - 2.0 * gap * g / h;
    const double speed = square > 0.0 && slope < 0.0 ? 0.5 * (sqrt(square) - slope) : -u;
    const double first = late ? -h : 0.0, last = late ? 0.0 : h;
    const double t = speed > 0.0 ? gap / speed : 0.0;
    return t < first ? first : t > last ? last : t;
}

static bool same_group(const perp_contact* a, const perp_contact* b)
{
    return a->group == b->group || a->group == -b->group;
}

/* An impacting group closes when its last member closes: that member acts alone and takes the
 * law of restitution. */
static void choose_members(perpi_step* step, double h)
{
    perp_contact* c = step->to->contacts.item;
    size_t kept = 0;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        bool impacting = false;
        for (size_t k = 0; c[i].group != 0 && k < step->to->contacts.count; ++k) {
            impacting = impacting || (same_group(&c[i], &c[k]) && step->impact->hit[k].e > 0.0);
        }
        size_t last = i;
        double latest = -INFINITY;
        for (size_t k = 0; impacting && k < step->to->contacts.count; ++k) {
            const perpi_hit* hit = &step->impact->hit[k];
            const bool closed =
                hit->gap < 0.0 && hit->gap + h * hit->u < 0.0; /* active from the start */
            const double t = closed         ? hit->gap
                             : hit->u < 0.0 ? meeting_time(hit->gap, hit->u, hit->bend, h, false)
                                            : h;
            if (same_group(&c[i], &c[k]) && c[k].group > 0 && t > latest) {
                latest = t;
                last = k;
            }
        }
        step->impact->hit[i].chosen = impacting ? (last == i ? 1 : -1) : 0;
    }
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        if (step->impact->hit[i].chosen < 0) {
            continue;
        }
        step->impact->hit[kept] = step->impact->hit[i];
        c[kept] = c[i];
        if (step->impact->hit[kept].chosen > 0) {
            const double e = perp_model_pair_restitution(step->model, c[i].body_a, c[i].body_b);
            c[kept].group = 0;
            step->impact->hit[kept].e = step->impact->hit[kept].fast ? e : 0.0;
        }
        kept += 1;
    }
    step->to->contacts.count = kept;
}

void perpi_impact_times(perpi_step* step, double h)
{
    choose_members(step, h);
    const size_t count = step->to->contacts.count;
    for (size_t i = 0; i < count; ++i) {
        perpi_hit* hit = &step->impact->hit[i];
        hit->time = hit->e > 0.0 && step->offset_at >= 0
                        ? meeting_time(hit->gap, hit->u, hit->bend, h, step->stepper->touching)
                        : 0.0;
    }
    /* contacts of a pair follow each other */
    for (size_t i = 0, end; i < count; i = end) {
        const perp_contact* c = &step->to->contacts.item[i];
        double first = INFINITY;
        for (end = i; end < count && step->to->contacts.item[end].body_a == c->body_a &&
                      step->to->contacts.item[end].body_b == c->body_b;
             ++end) {
            const perpi_hit* hit = &step->impact->hit[end];
            first = hit->e > 0.0 && hit->time < first ? hit->time : first;
        }
        for (size_t k = i; k < end; ++k) {
            perpi_hit* hit = &step->impact->hit[k];
            hit->time = hit->e > 0.0 ? first : 0.0;
            hit->part = 0.5 + hit->time / h;
        }
    }
}

/* ---- the offset ------------------------------------------------------------------------------------*/

/* Blocks that exchange impulses in an impact. */
typedef struct island {
    int32_t parent, blocks, pairs;
    bool shares; /* a joint or a contact that is not impacting has an impulse */
    bool held;   /* a prescribed body exchanges an impulse with it */
    bool opens;  /* its offset would open a joint */
    double time; /* the first */
    double mass;
    vec3 v;         /* sum m v, after the impact */
    vec3 moment;    /* sum m s x v of its offsets s */
    mat3 spreading; /* sum m (|u|^2 - u u'), u = v - mean */
    vec3 lambda;
} island;

static int32_t find_root(const island* x, int32_t block)
{
    while (x[block].parent != block) {
        block = x[block].parent;
    }
    return block;
}

/* Without a normal impulse a contact has no friction: what a solver leaves there is rounding, and must not
 * displace another body (src/step/momentum.c has the same islands). */
static bool acts(const perpi_formulation* f, int32_t index, const double* p)
{
    const perp_constraint* c = &f->constraint[index];
    const int32_t rows = index < f->contact_count ? 1 : c->rows;
    bool any = false;
    for (int32_t r = 0; r < rows; ++r) {
        any = any || p[c->row + r] != 0.0;
    }
    return any;
}

static void join_blocks(island* x, const perpi_formulation* f, const double* p)
{
    const int32_t blocks = f->problem.block_count;
    for (int32_t i = 0; i < blocks; ++i) {
        x[i] = (island){.parent = i, .blocks = 1, .time = INFINITY};
    }
    for (int32_t i = 0; i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        if (c->block[0] < 0 || c->block[1] < 0 || !acts(f, i, p)) {
            continue;
        }
        const int32_t a = find_root(x, c->block[0]), b = find_root(x, c->block[1]);
        if (a != b) {
            const int32_t root = a < b ? a : b, other = a < b ? b : a;
            x[other].parent = root;
            x[root].blocks += x[other].blocks;
        }
    }
}

/* Times and flags of the blocks are combined in the roots. */
static void fill_islands(island* x, const perpi_formulation* f, const perp_contact* contact,
                         const double* p)
{
    int32_t last[2] = {-1, -1};
    for (int32_t i = 0; i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const int32_t any = c->block[0] >= 0 ? c->block[0] : c->block[1];
        if (any < 0 || !acts(f, i, p)) {
            continue;
        }
        island* root = &x[find_root(x, any)];
        const bool impacting = i < f->contact_count &&
                               (contact[i].impact.time != 0.0 || contact[i].impact.gain != 0.0);
        root->shares = root->shares || !impacting;
        root->held = root->held || c->block[0] < 0 || c->block[1] < 0;
        if (!impacting) {
            continue;
        }
        root->time = contact[i].impact.time < root->time ? contact[i].impact.time : root->time;
        root->pairs += contact[i].body_a != last[0] || contact[i].body_b != last[1];
        last[0] = contact[i].body_a;
        last[1] = contact[i].body_b;
    }
}

static vec3 linear_part(const perpi_step* step, const double* at)
{
    return step->model->dimension == 2 ? v3(at[0], at[1], 0.0) : v3_from(at);
}

/* K x = b, K positive semidefinite with b in its range: a small multiple of the identity is
 * added, and its effect is removed by iterative refinement. */
static vec3 solve_spreading(const mat3* K, vec3 b)
{
    const double trace = K->m[0][0] + K->m[1][1] + K->m[2][2];
    vec3 x = v3(0, 0, 0);
    if (!(trace > 0.0)) {
        return x;
    }
    mat3 shifted = *K;
    for (int k = 0; k < 3; ++k) {
        shifted.m[k][k] += 1e-9 * trace;
    }
    const mat3 inverse = m3_inverse(shifted);
    for (int k = 0; k < 3; ++k) {
        x = v3_add(x, m3_mul(inverse, v3_sub(b, m3_mul(*K, x))));
    }
    return x;
}

/* Displacing bodies on which nothing prescribed acts must not change sum x x m v: sum m s x v = 0,
 * v after the impact. The nearest offsets (in the mass norm, which keeps sum m s = 0) that satisfy
 * it are
 *     s + u x lambda,   sum m (|u|^2 - u u') lambda = -sum m s x v,   u = v - mean
 * Two bodies are then displaced along their relative velocity. */
static void keep_angular_momentum(const perpi_step* step, const perpi_formulation* f, island* x,
                                  double* moved)
{
    const perp_model* model = step->model;
    for (int pass = 0; pass < 3; ++pass) {
        for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
            if (f->block_of[i] < 0) {
                continue;
            }
            island* root = &x[find_root(x, f->block_of[i])];
            const double m = model->body[i].mass;
            double* s = moved + f->dof[f->block_of[i]];
            const vec3 v = linear_part(step, step->v_problem + f->dof[f->block_of[i]]);
            if (root->held || root->blocks < 2) {
                continue;
            }
            if (pass == 0) {
                root->mass += m;
                root->v = v3_madd(root->v, m, v);
                continue;
            }
            const vec3 u = v3_madd(v, -1.0 / root->mass, root->v);
            if (pass == 1) {
                const double a[3] = {u.x, u.y, u.z};
                root->moment = v3_madd(root->moment, m, v3_cross(linear_part(step, s), u));
                for (int k = 0; k < 9; ++k) {
                    root->spreading.m[k / 3][k % 3] +=
                        m * ((k / 3 == k % 3 ? v3_dot(u, u) : 0.0) - a[k / 3] * a[k % 3]);
                }
                continue;
            }
            const vec3 d = v3_cross(u, root->lambda);
            s[0] += d.x;
            s[1] += d.y;
            if (model->dimension == 3) {
                s[2] += d.z;
            }
        }
        for (int32_t i = 0; pass == 1 && i < f->problem.block_count; ++i) {
            x[i].lambda = v3_neg(solve_spreading(&x[i].spreading, x[i].moment));
        }
    }
}

/* Of a constraint: the largest |J x| of its rows, relative to the sums of the absolute values of their products. */
static double part_along_rows(const perpi_formulation* f, const perp_constraint* c, const double* x)
{
    const double* J = f->J + c->jac;
    double along[PERPI_BLOCK_MAX] = {0}, most = 0.0, largest = 0.0;
    double sum[PERPI_BLOCK_MAX] = {0};
    for (int side = 0; side < 2; ++side) {
        const int32_t block = c->block[side];
        const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
        for (int32_t r = 0; r < c->rows; ++r, J += n) {
            for (int32_t k = 0; k < n; ++k) {
                const double product = J[k] * x[f->dof[block] + k];
                along[r] += product;
                sum[r] += fabs(product);
            }
        }
    }
    for (int32_t r = 0; r < c->rows; ++r) {
        most = fabs(along[r]) > most ? fabs(along[r]) : most;
        largest = sum[r] > largest ? sum[r] : largest;
    }
    return largest > 0.0 ? most / largest : 0.0;
}

/* The offset t (v- - v+) keeps the joints closed where v- keeps them closed. Velocities of the start, and those a
 * program has set, may contradict the joints: the joints then change them at the start of the step, not at the time of
 * the impact, and the bodies have no offset. After a step J v- is what the turn of the step has left. */
static void remove_opening(const perpi_step* step, const perpi_formulation* f, island* x,
                           double* moved)
{
    static const double AT_START = 1e-6, AFTER_A_STEP = 0.25;
    const double most = step->from->step == 0 ? AT_START : AFTER_A_STEP;
    bool any = false;
    for (int32_t i = f->contact_count; i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const int32_t block = c->block[0] >= 0 ? c->block[0] : c->block[1];
        if (block >= 0 && c->kind == PERP_CONSTRAINT_EQUALITY &&
            part_along_rows(f, c, moved) > most) {
            x[find_root(x, block)].opens = any = true;
        }
    }
    for (int32_t i = 0; any && i < f->problem.block_count; ++i) {
        if (x[find_root(x, i)].opens) {
            memset(moved + f->dof[i], 0, (size_t)(f->dof[i + 1] - f->dof[i]) * sizeof *moved);
        }
    }
}

perp_status perpi_add_offset(perpi_step* step, const perpi_formulation* f, const double* p)
{
    const perp_contact* contact = step->to->contacts.item;
    bool any = false;
    for (size_t i = 0; i < step->to->contacts.count; ++i) {
        any = any || contact[i].impact.time != 0.0;
    }
    if (!any || step->offset_at < 0) {
        return PERP_OK;
    }
    const size_t blocks = (size_t)f->problem.block_count;
    const perp_status status =
        perpi_grow(step->context, &step->impact->island, &step->impact->island_capacity,
                   blocks * sizeof(island), 1);
    if (status != PERP_OK) {
        return status;
    }
    island* x = (island*)(void*)step->impact->island;
    join_blocks(x, f, p);
    fill_islands(x, f, contact, p);
    double* moved = step->impact->work;
    memset(moved, 0, (size_t)f->problem.dof_count * sizeof *moved);
    for (int32_t i = 0; i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const int32_t first = c->block[0] >= 0 ? c->block[0] : c->block[1];
        if (first < 0 || !acts(f, i, p)) {
            continue;
        }
        const island* root = &x[find_root(x, first)];
        const bool common = root->shares || (root->blocks > 1 && root->pairs > 1);
        const double time = common ? root->time : contact[i].impact.time;
        const double* J = f->J + c->jac;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
            for (int32_t r = 0; r < c->rows; ++r, J += n) {
                for (int32_t k = 0; k < n && isfinite(time); ++k) {
                    moved[f->dof[block] + k] -= time * p[c->row + r] * J[k];
                }
            }
        }
    }
    perpi_divide_by_mass(f, moved);
    remove_opening(step, f, x, moved);
    keep_angular_momentum(step, f, x, moved);
    /* the offset is laid out as the state's velocities */
    double* offset = step->to->memory + step->offset_at;
    for (int32_t i = 0; i < (int32_t)step->model->body_count; ++i) {
        const int32_t stride = perpi_v_stride(step->model), n = step->model->body[i].dofs;
        for (int32_t k = 0; k < n; ++k) {
            offset[i * stride + k] += moved[f->dof[f->block_of[i]] + k];
        }
        if (n > 0 && x[find_root(x, f->block_of[i])].blocks > 1 &&
            !x[find_root(x, f->block_of[i])].held) {
            offset[step->v_size + i] = 1.0;
        }
    }
    return PERP_OK;
}
