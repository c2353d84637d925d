/* src/sim/impact_time.c - when within a fixed step an impact happens, and what that does to the poses.
 *
 * An impact comes before the step in which its bodies would meet. Their poses are to advance with the
 * velocities before the impact up to the time t at which they meet, and with those after it from there:
 *     q' = q + h v' - t M^-1 J' p
 * v' the velocities of the step, which have the impact's jump M^-1 J' p over the whole of it. What is
 * taken back, the offset, is part of the state until that step has been made.
 *
 * Positions of a semi-implicit step lie on the parabola whose velocity at t_l is v_l + dv/2, dv the gain of
 * velocity in a step. With g = J dv and u = J v_l:
 *     gap + (u + g/2) t + g t^2 / (2 h) = 0,   u_t = u + g (1/2 + t/h)
 * are time and normal velocity of the meeting. The law of impact is one of u_t: the normal velocity after is
 * u+ + (u_t - u). A ball then bounces on the parabolas themselves: sum m |v + h g/2|^2 / 2 - m g.x is
 * kept by flight and bounce with e = 1. docs/notation.md derives it.
 *
 * One time per pair of bodies, the first of its contacts. Where impulses also pass through joints or resting
 * contacts, or from one moving body to the next and the next, all of them have the first time: the joints
 * stay closed, and angular momentum is kept.
 */
#include <string.h>

#include "linalg/dense.h"
#include "sim/internal.h"

const double* perpi_sim_offset(const perp_sim* sim)
{
    return sim->offset_at >= 0 ? sim->s + sim->offset_at : NULL;
}

const double* perpi_sim_pending_offset(const perp_sim* sim)
{
    const double* offset = perpi_sim_offset(sim);
    bool any = false;
    for (int32_t i = 0; offset != NULL && i < sim->v_size; ++i) {
        any = any || offset[i] != 0.0;
    }
    return any ? offset : NULL;
}

double perpi_sim_offset_travel(const perp_sim* sim, int32_t body)
{
    const perpi_body* b = &sim->model->body[body];
    const double* offset = perpi_sim_offset(sim);
    const double reach = isfinite(b->reach) ? b->reach : sim->model->length;
    return offset == NULL ? 0.0
                          : v3_norm(perpi_state_velocity(sim->model, offset, body)) +
                                v3_norm(perpi_state_rate(sim->model, offset, body)) * reach;
}

void perpi_sim_offset_gaps(perp_sim* sim, double h)
{
    const double* offset = perpi_sim_pending_offset(sim);
    if (offset == NULL || sim->stepper->touching) {
        return; /* without a gap term poses do not matter */
    }
    for (size_t i = 0; i < sim->next.count; ++i) {
        perp_contact* c = &sim->next.item[i];
        const int32_t body[2] = {c->body_a, c->body_b};
        const vec3 n = v3_from(c->normal), on_a = v3_from(c->point);
        const vec3 point[2] = {on_a, v3_madd(on_a, c->gap, n)};
        double moved = 0.0;
        for (int side = 0; side < 2; ++side) {
            const vec3 arm = v3_sub(point[side], sim->pose[body[side]].x);
            const vec3 d = v3_add(perpi_state_velocity(sim->model, offset, body[side]),
                                  v3_cross(perpi_state_rate(sim->model, offset, body[side]), arm));
            moved += (side == 0 ? -1.0 : 1.0) * v3_dot(n, d);
        }
        c->drift[0] += moved / h;
    }
}

/* ---- what else acts ----------------------------------------------------------------------------------*/

bool perpi_sim_found_gain(const perp_sim* sim, uint64_t key, double gained, double* gain)
{
    for (size_t i = 0; i < sim->halves.pull_count; ++i) {
        const perpi_pull* p = &sim->halves.pull[i];
        if (p->key == key && p->found) {
            /* other contacts may bring a body to rest within the step: that is no acceleration */
            const bool jumps = p->pressed && !(fabs(p->gain) <= gained);
            *gain = !jumps ? p->gain : p->gain < 0.0 ? -gained : gained;
            return !jumps;
        }
    }
    return false;
}

/* ---- times -----------------------------------------------------------------------------------------*/

/* The root of the parabola; where there is none in reach, the nearer end of the step. */
static double meeting_time(double gap, double u, double g, double h, bool late)
{
    const double slope = u + 0.5 * g, square = slope * slope - 2.0 * gap * g / h;
    const double speed = square > 0.0 ? 0.5 * (sqrt(square) - slope) : 0.0;
    const double first = late ? -h : 0.0, last = late ? 0.0 : h;
    const double t = speed > 0.0 ? gap / speed : last;
    return t < first ? first : t > last ? last : t;
}

void perpi_sim_impact_times(perp_sim* sim, double h)
{
    const size_t count = sim->next.count;
    for (size_t i = 0; i < count; ++i) {
        perpi_hit* hit = &sim->hit[i];
        hit->time = hit->e > 0.0 && sim->offset_at >= 0
                        ? meeting_time(hit->gap, hit->u, hit->gain, h, sim->stepper->touching)
                        : 0.0;
    }
    /* contacts of a pair follow each other */
    for (size_t i = 0, end; i < count; i = end) {
        const perp_contact* c = &sim->next.item[i];
        double first = INFINITY;
        for (end = i; end < count && sim->next.item[end].body_a == c->body_a &&
                      sim->next.item[end].body_b == c->body_b;
             ++end) {
            const perpi_hit* hit = &sim->hit[end];
            first = hit->e > 0.0 && hit->time < first ? hit->time : first;
        }
        for (size_t k = i; k < end; ++k) {
            perpi_hit* hit = &sim->hit[k];
            hit->time = hit->e > 0.0 ? first : 0.0;
            hit->gain = hit->e > 0.0 ? hit->gain * (0.5 + first / h) : 0.0;
        }
    }
}

/* ---- the offset ------------------------------------------------------------------------------------*/

/* Blocks that exchange impulses in an impact. */
typedef struct island {
    int32_t parent, blocks, pairs;
    bool shares; /* a joint or a contact that is not struck has an impulse */
    double time; /* the first */
} island;

static int32_t find_root(const island* x, int32_t block)
{
    while (x[block].parent != block) {
        block = x[block].parent;
    }
    return block;
}

static bool acts(const perp_constraint* c, const double* p)
{
    bool any = false;
    for (int32_t r = 0; r < c->rows; ++r) {
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
        if (c->block[0] < 0 || c->block[1] < 0 || !acts(c, p)) {
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

/* Times, and what they are shared with, of the roots. */
static void fill_islands(island* x, const perpi_formulation* f, const perp_contact* contact,
                         const double* p)
{
    int32_t last[2] = {-1, -1};
    for (int32_t i = 0; i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const int32_t any = c->block[0] >= 0 ? c->block[0] : c->block[1];
        if (any < 0 || !acts(c, p)) {
            continue;
        }
        island* root = &x[find_root(x, any)];
        const bool struck = i < f->contact_count &&
                            (contact[i].impact.time != 0.0 || contact[i].impact.gain != 0.0);
        root->shares = root->shares || !struck;
        if (!struck) {
            continue;
        }
        root->time = contact[i].impact.time < root->time ? contact[i].impact.time : root->time;
        root->pairs += contact[i].body_a != last[0] || contact[i].body_b != last[1];
        last[0] = contact[i].body_a;
        last[1] = contact[i].body_b;
    }
}

perp_status perpi_sim_add_offset(perp_sim* sim, const perpi_formulation* f)
{
    const perp_contact* contact = sim->next.item;
    const double* p = sim->p_problem;
    bool any = false;
    for (size_t i = 0; i < sim->next.count; ++i) {
        any = any || contact[i].impact.time != 0.0;
    }
    if (!any || sim->offset_at < 0) {
        return PERP_OK;
    }
    const size_t blocks = (size_t)f->problem.block_count;
    const perp_status status =
        perpi_grow(sim->context, &sim->hit_island, &sim->hit_island_capacity, blocks * sizeof(island), 1);
    if (status != PERP_OK) {
        return status;
    }
    island* x = (island*)(void*)sim->hit_island;
    join_blocks(x, f, p);
    fill_islands(x, f, contact, p);
    double* moved = sim->hit_work;
    memset(moved, 0, (size_t)f->problem.dof_count * sizeof *moved);
    for (int32_t i = 0; i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        const int32_t first = c->block[0] >= 0 ? c->block[0] : c->block[1];
        if (first < 0 || !acts(c, p)) {
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
    perpi_sim_divide_by_mass(f, moved);
    /* the offset is laid out as the state's velocities */
    double* offset = sim->s_next + sim->offset_at;
    for (int32_t i = 0; i < (int32_t)sim->model->body_count; ++i) {
        const int32_t stride = perpi_v_stride(sim->model), n = sim->model->body[i].dofs;
        for (int32_t k = 0; k < n; ++k) {
            offset[i * stride + k] += moved[f->dof[f->block_of[i]] + k];
        }
    }
    return PERP_OK;
}
