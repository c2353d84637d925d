/* src/step/linear_step.c - see linear_step.h. */
#include "step/linear_step.h"

#include <string.h>

#include "linalg/dense.h"
#include "step/force_rows.h"
#include "step/linear_parts.h"
#include "step/pack.h"
#include "step/smooth_step.h"

perpi_linear_size perpi_linear_size_of(const perp_model* model)
{
    const int32_t n = perpi_v_stride(model) * (int32_t)model->body_count;
    const int32_t c = (int32_t)model->controller_count;
    return (perpi_linear_size){.n = n,
                               .q = 0,
                               .v = n,
                               .s = 2 * n,
                               .before = 2 * n + c,
                               .offset = 3 * n + c,
                               .total = 3 * n + c + (model->bounces ? n : 0)};
}

perp_status perpi_linear_step_create(perp_context* context, perpi_linear_step** out)
{
    perpi_linear_step* l = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *l, &l);
    if (status != PERP_OK) {
        return status;
    }
    l->context = context;
    status = perpi_formulation_create(context, &l->f);
    if (status == PERP_OK) {
        status = perpi_formulation_create(context, &l->varied);
    }
    if (status == PERP_OK) {
        status = perpi_block_lu_create(context, &l->lu);
    }
    if (status != PERP_OK) {
        perpi_linear_step_destroy(l);
        return status;
    }
    *out = l;
    return PERP_OK;
}

void perpi_linear_step_destroy(perpi_linear_step* l)
{
    if (l == NULL) {
        return;
    }
    void* const owned[] = {l->v,           l->p,
                           l->u,           l->w,
                           l->size,        l->work,
                           l->law,         l->d,
                           l->d_of,        l->term,
                           l->force,       l->body,
                           l->force_rate,  l->force_spring,
                           l->start,       l->column,
                           l->fill,        l->contact,
                           l->frozen,      l->q_next,
                           l->v_next,      l->s_next,
                           l->pose_before, l->v_start,
                           l->rebound,     l->meeting,
                           l->body_time,   l->gain,
                           l->v_free,      l->loose,
                           l->displaced,   l->displaced_room,
                           l->R,           l->closed_by,
                           l->middle,      l->carried,
                           l->held,        l->held_contact,
                           l->given,       l->end,
                           l->rolling,     l->pose_end};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(l->context, owned[i]);
    }
    perpi_linear_weak_free(l);
    perpi_linear_step_destroy(l->project);
    perpi_smooth_laws_destroy(l->context, l->smooth);
    perpi_linear_step_destroy(l->without);
    perpi_linear_step_destroy(l->free);
    perpi_formulation_destroy(l->f);
    perpi_formulation_destroy(l->varied);
    perpi_block_lu_destroy(l->lu);
    perpi_free(l->context, l);
}

const perpi_linear_report* perpi_linear_step_report(const perpi_linear_step* l)
{
    return &l->report;
}

void perpi_linear_step_set_report(perpi_linear_step* l, const perpi_linear_report* report)
{
    l->report = *report;
}

/* ---- rows and laws -------------------------------------------------------------------------------*/

perp_status perpi_linear_room(perpi_linear_step* l)
{
    /* one more: arrays of nothing are filled and copied like others */
    const size_t dofs = (size_t)l->dofs + 1, rows = (size_t)l->rows + 1;
    perp_context* c = l->context;
    struct {
        double** array;
        size_t* capacity;
        size_t need;
    } arrays[] = {
        {&l->v, &l->v_capacity, dofs},       {&l->p, &l->p_capacity, rows},
        {&l->u, &l->u_capacity, rows},       {&l->w, &l->w_capacity, rows},
        {&l->size, &l->size_capacity, rows}, {&l->work, &l->work_capacity, 4 * (dofs + rows)}};
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof arrays / sizeof arrays[0]; ++i) {
        status = perpi_grow(c, arrays[i].array, arrays[i].capacity, arrays[i].need, sizeof(double));
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(c, &l->law, &l->law_capacity, (size_t)l->f->constraints, sizeof *l->law);
    }
    if (status == PERP_OK) {
        status =
            perpi_grow(c, &l->d_of, &l->d_of_capacity, (size_t)l->f->constraints, sizeof *l->d_of);
    }
    return status;
}

/* x <- M^-1 x of one block. */
void perpi_linear_divide(const perpi_linear_step* l, int32_t block, double* x)
{
    const perpi_formulation* f = l->f;
    const int32_t n = f->dof[block + 1] - f->dof[block];
    if (block >= l->body_count) { /* of a support or a gear: diagonal */
        const double* M = f->M + f->M_used;
        for (int32_t b = f->problem.block_count - 1; b >= block; --b) {
            M -= (f->dof[b + 1] - f->dof[b]) * (f->dof[b + 1] - f->dof[b]);
        }
        for (int32_t i = 0; i < n; ++i) {
            x[i] /= M[i * n + i];
        }
        return;
    }
    const perpi_linear_body* b = &l->body[block];
    const int32_t linear = l->step.in.model->dimension;
    for (int32_t i = 0; i < linear; ++i) {
        x[i] *= b->M_inverse[i];
    }
    if (n == 3 && linear == 2) {
        x[2] *= b->M_inverse[11];
    } else if (n == 6) {
        mat3 inverse;
        memcpy(inverse.m, b->M_inverse + 3, sizeof inverse.m);
        v3_to(m3_mul(inverse, v3_from(x + 3)), x + 3);
    }
}

/* u, w and the sizes of the terms, row by row. */
void perpi_linear_evaluate_rows(perpi_linear_step* l)
{
    const perpi_formulation* f = l->f;
    const perp_contact_problem* P = &f->problem;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const double* J = P->J + c->jac;
        for (int32_t r = 0; r < c->rows; ++r) {
            const int32_t row = c->row + r;
            const double soft = c->kind != PERP_CONSTRAINT_CONTACT && P->compliance != NULL
                                    ? P->compliance[row] * l->p[row]
                                    : 0.0;
            l->u[row] = P->b[row] + soft;
            l->size[row] = fabs(P->b[row]) + fabs(soft);
            l->w[row] = 0.0;
        }
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            if (block < 0) {
                continue;
            }
            const int32_t n = P->dof[block + 1] - P->dof[block];
            const double* v = l->v + P->dof[block];
            for (int32_t r = 0; r < c->rows; ++r, J += n) {
                double x[6];
                for (int32_t k = 0; k < n; ++k) {
                    l->u[c->row + r] += J[k] * v[k];
                    l->size[c->row + r] += fabs(J[k] * v[k]);
                    x[k] = J[k];
                }
                perpi_linear_divide(l, block, x);
                for (int32_t k = 0; k < n; ++k) {
                    l->w[c->row + r] += J[k] * x[k];
                }
            }
        }
        for (int32_t r = 0; r < c->rows; ++r) {
            l->w[c->row + r] = l->w[c->row + r] > 0.0 ? l->w[c->row + r] : 1.0;
        }
    }
}

/* Part of the largest speed of a step. Times the threshold it is what rounding leaves of it: a
 * redundant contact that has no impulse and no speed but these is at the border of its state. */
static const double FLOOR = 1e-8;

static double speed_floor(const perpi_linear_step* l)
{
    double most = 0.0;
    for (int32_t i = 0; i < l->rows; ++i) {
        most = perpi_larger(most, perpi_larger(l->size[i], l->w[i] * fabs(l->p[i])));
    }
    return FLOOR * most;
}

/* All constraints open. */
static void open_laws(perpi_linear_step* l)
{
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        const int32_t n = l->f->constraint[i].rows;
        l->law[i] = (perpi_law){.closing = i, .rows = n, .margin = INFINITY};
        for (int32_t r = 0; r < n; ++r) {
            l->law[i].B[r * n + r] = l->law[i].E[r * n + r] = 1.0;
        }
    }
}

static perp_status choose_laws(perpi_linear_step* l)
{
    if (l->step.free) {
        open_laws(l);
        return PERP_OK;
    }
    if (l->step.in.settings->smooth > 0.0) {
        return perpi_smooth_laws_choose(l);
    }
    const perp_contact_problem* P = &l->f->problem;
    const perpi_law_input in = {.problem = P,
                                .p = l->p,
                                .u = l->u,
                                .w = l->w,
                                .size = l->size,
                                .floor = speed_floor(l),
                                .threshold = l->options.threshold,
                                .other = l->options.other};
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (!perpi_law_choose(&in, i, &l->law[i])) {
            l->report.flags |= PERPI_LINEAR_SINGULAR;
        }
    }
    perpi_law_groups(&in, l->law);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        l->report.weak += l->law[i].weak;
        if (!(l->law[i].margin >= l->report.margin)) {
            l->report.margin = l->law[i].margin;
            l->report.margin_constraint = i;
        }
    }
    l->report.flags |= l->report.weak > 0 ? PERPI_LINEAR_WEAK : 0;
    return l->options.one_sided ? perpi_linear_weaken(l, &in) : PERP_OK;
}

/* Constraints with an impulse or an active law. */
static bool matters(const perpi_linear_step* l, int32_t i)
{
    const perp_constraint* c = &l->f->constraint[i];
    bool any = l->law[i].acts || (l->options.one_sided && l->law[i].weak);
    for (int32_t r = 0; r < c->rows; ++r) {
        any = any || l->p[c->row + r] != 0.0;
    }
    return any;
}

/* d (e u-) by the pose, u- with the velocities before the impact. */
static perp_status add_rebound(perpi_linear_step* l, const perpi_solved* at, int32_t i,
                               perpi_constraint_derivative* d)
{
    perpi_constraint_derivative before;
    perpi_solved start = *at;
    start.v = l->v_start;
    const perp_status status = perpi_constraint_differentiate(&start, i, &before);
    for (int c = 0; status == PERP_OK && c < PERPI_PAIR_DOFS; ++c) {
        d->u[0][c] += l->rebound[i] * before.u[0][c];
    }
    return status;
}

static perp_status add_derivative(perpi_linear_step* l, const perpi_solved* at, int32_t i)
{
    if (l->d_of[i] >= 0) {
        return PERP_OK;
    }
    perp_status status =
        perpi_grow(l->context, &l->d, &l->d_capacity, (size_t)l->d_count + 1, sizeof *l->d);
    if (status == PERP_OK && l->step.rolls && i < l->f->contact_count) {
        perpi_linear_roll_row(l, i, &l->d[l->d_count]);
    } else if (status == PERP_OK) {
        status = perpi_constraint_differentiate(at, i, &l->d[l->d_count]);
    }
    if (status == PERP_OK && l->step.rolled_before && i < l->f->contact_count) {
        perpi_linear_roll_before(l, &l->d[l->d_count]);
    }
    if (status == PERP_OK && perpi_linear_closes(l, i)) { /* linear_correct.c has them */
        memset(l->d[l->d_count].u, 0, sizeof l->d[l->d_count].u);
    }
    if (status == PERP_OK && l->step.impact && i < l->f->contact_count && l->rebound[i] != 0.0) {
        status = add_rebound(l, at, i, &l->d[l->d_count]);
    }
    if (status == PERP_OK && !l->step.impact && l->step.offset != NULL && i < l->f->contact_count) {
        status = perpi_linear_shift_gap(l, i, &l->d[l->d_count]);
    }
    if (status == PERP_OK) {
        const perpi_constraint_derivative* d = &l->d[l->d_count];
        const bool between = i < l->f->contact_count && d->rolling == PERPI_ROLLING_BETWEEN;
        const bool loose =
            between && (!l->options.memory ||
                        (l->step.loose_before != NULL && l->step.loose_before[d->contact_before]));
        l->report.flags |= d->border || loose ? PERPI_LINEAR_CHOICE : 0;
        l->report.flags |= i < l->f->contact_count && d->full ? PERPI_LINEAR_ROLLS : 0;
        l->d_of[i] = l->d_count++;
    }
    return status;
}

perp_status perpi_linear_differentiate_rows(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    perp_status status = perpi_grow(l->context, &l->pose_before, &l->pose_before_capacity,
                                    model->body_count, sizeof *l->pose_before);
    if (status != PERP_OK) {
        return status;
    }
    const bool rolls = l->step.in.settings->midway && l->step.q_before != NULL;
    for (int32_t i = 0; rolls && i < (int32_t)model->body_count; ++i) {
        l->pose_before[i] =
            l->step.rolled_before
                ? perpi_linear_roll_half_way(model, l->step.q_before, l->step.in.q, i)
                : perpi_state_pose(model, l->step.q_before, i);
    }
    l->solved = (perpi_solved){.in = &l->step.in,
                               .f = l->f,
                               .v = l->v,
                               .p = l->p,
                               .pose_before = l->pose_before,
                               .contact_before = rolls ? l->step.contact_before : NULL,
                               .contact_before_count = l->step.contact_before_count,
                               .h_before = l->step.h_before,
                               .threshold = l->options.threshold};
    const perpi_solved at = l->solved;
    l->d_count = 0;
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        l->d_of[i] = -1;
    }
    for (int32_t i = 0; status == PERP_OK && i < l->f->constraints; ++i) {
        if (matters(l, i)) {
            status = add_derivative(l, &at, i);
            if (status == PERP_OK && l->law[i].closing != i) {
                status = add_derivative(l, &at, l->law[i].closing);
            }
            if (status == PERP_OK && l->met && i < l->f->contact_count) {
                status = add_derivative(l, &at, l->meeting[i].first);
            }
        }
    }
    perpi_linear_no_terms(l);
    if (status == PERP_OK) {
        status = perpi_linear_make_terms(l);
    }
    l->force_count = 0;
    const size_t forces = model->joint_count + model->spring_count;
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->force, &l->force_capacity, forces, sizeof *l->force);
    }
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->force_rate, &l->force_rate_capacity, 144 * forces,
                            sizeof *l->force_rate);
    }
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->force_spring, &l->force_spring_capacity, forces,
                            sizeof *l->force_spring);
    }
    if (l->step.impact) {
        return status; /* forces have no time to act */
    }
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)model->joint_count; ++i) {
        bool any = false;
        status = perpi_effort_differentiate(&at, i, &l->force[l->force_count], &any);
        if (any) {
            l->force_spring[l->force_count++] = false;
        }
    }
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)model->spring_count; ++i) {
        if (!model->spring[i].implicit) {
            perpi_spring_differentiate(
                &at, i, &l->force[l->force_count],
                (double(*)[PERPI_PAIR_DOFS])(l->force_rate + 144 * (size_t)l->force_count));
            l->force_spring[l->force_count++] = true;
        }
    }
    return status;
}

/* ---- impulses that are not unique ------------------------------------------------------------------*/

/* Relative to the regularisation: impulses of a random right-hand side that are larger belong to
 * the null space. */
static const double NULL_SPACE = 1e6;
/* Part of the largest impulse by which impulses are shifted along the null space. */
static const double SHIFT = 1e-2;

static bool slides_somewhere(const perpi_linear_step* l)
{
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        if (l->law[i].slides) {
            return true;
        }
    }
    return false;
}

/* More contacts than a body needs leave the impulses undetermined: they can change without changing
 * the motion. With sliding on a round cone the derivative depends on them. A fixed pseudo-random
 * right-hand side shows such impulses, which then stand in l->work: they are as large as the
 * regularisation is small. */
static bool find_null_impulses(perpi_linear_step* l)
{
    const perp_contact_problem* P = &l->f->problem;
    double *a = l->work + 3 * (l->dofs + l->rows), *c = a + l->dofs;
    memset(a, 0, (size_t)l->dofs * sizeof *a);
    memset(c, 0, (size_t)l->rows * sizeof *c);
    uint32_t random = 12345u;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* x = &P->constraint[i];
        for (int32_t r = 0; l->law[i].acts && r < x->rows; ++r) {
            random = random * 1664525u + 1013904223u;
            const double value = (double)(random >> 8) / 8388608.0 - 1.0;
            c[x->row + r] = r == 0 || !l->law[i].slides ? l->w[x->row + r] * value : 0.0;
        }
    }
    perpi_linear_solve(l, a, c, 1);
    double most = 0.0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        most = l->law[i].slides ? perpi_larger(most, fabs(c[P->constraint[i].row])) : most;
    }
    return most > NULL_SPACE;
}

/* Contacts whose own impulses are among those. Only rolling contacts of the next step are concerned. */
static perp_status find_loose(perpi_linear_step* l)
{
    const int32_t contacts = l->f->contact_count;
    const perp_status status = perpi_grow(l->context, &l->loose, &l->loose_capacity,
                                          (size_t)contacts + 1, sizeof *l->loose);
    bool asked = l->options.memory && l->step.in.settings->midway && contacts > 0 &&
                 !(l->step.in.settings->smooth > 0.0); /* whose impulses are unique */
    if (asked && l->options.transposed) { /* the step after it has told which impulses count */
        asked =
            l->memory_after != NULL && perpi_linear_largest(l->memory_after, 3 * contacts) > 0.0;
    }
    if (status != PERP_OK || !asked) {
        if (status == PERP_OK) {
            memset(l->loose, 0, ((size_t)contacts + 1) * sizeof *l->loose);
        }
        return status;
    }
    (void)find_null_impulses(l);
    const double* c = l->work + 3 * (l->dofs + l->rows) + l->dofs;
    for (int32_t i = 0; i < contacts; ++i) {
        const perp_constraint* x = &l->f->constraint[i];
        l->loose[i] = perpi_linear_largest(c + x->row, x->rows) > NULL_SPACE;
    }
    return PERP_OK;
}

bool perpi_linear_step_loose(const perpi_linear_step* l, int32_t contact)
{
    return l->loose[contact];
}

static void shift_impulses(perpi_linear_step* l)
{
    const double* c = l->work + 3 * (l->dofs + l->rows) + l->dofs;
    const double by =
        SHIFT * perpi_linear_largest(l->p, l->rows) / perpi_linear_largest(c, l->rows);
    for (int32_t i = 0; i < l->rows; ++i) {
        l->p[i] += by * c[i];
    }
}

static perp_status formulate_step(perpi_linear_step* l)
{
    perpi_step_input* in = &l->step.in;
    if (l->step.middle) {
        in->middle = true;
        in->rolls = l->step.rolls;
        in->q_end = l->step.q_end;
        in->v_end = l->step.v_solved;
    }
    in->acted = !l->step.middle;
    if (!l->step.impact) {
        return perpi_formulate(l->f, in);
    }
    in->h = INFINITY; /* gaps do not count */
    return perpi_formulate_other(
        l->f, in->model, PERPI_PURPOSE_IMPACT, 1.0,
        &(perpi_placed){in->q, in->v, in->contact, in->contact_count, in->joint});
}

/* v' = M^-1 k, no impulses. */
static perp_status move_freely(perpi_linear_step* l)
{
    const perp_model* model = l->step.in.model;
    const size_t n = (size_t)perpi_v_stride(model) * model->body_count;
    perp_status status =
        perpi_grow(l->context, &l->v_free, &l->v_free_capacity, n, sizeof *l->v_free);
    if (status != PERP_OK) {
        return status;
    }
    memcpy(l->v, l->f->k, (size_t)l->dofs * sizeof *l->v);
    memset(l->p, 0, (size_t)l->rows * sizeof *l->p);
    const double* M = l->f->M;
    double L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX];
    for (int32_t i = 0; i < l->f->problem.block_count; ++i) {
        const int32_t size = l->f->dof[i + 1] - l->f->dof[i];
        if (perpi_chol_factor(size, M, L)) {
            perpi_chol_solve(size, L, l->v + l->f->dof[i]);
        }
        M += size * size;
    }
    memcpy(l->v_free, l->step.in.v, n * sizeof *l->v_free);
    perpi_formulation_scatter_v(l->f, model, l->v, l->v_free);
    l->step.v_solved = l->step.v_end = l->v_free;
    l->step.q_end = l->step.in.q;
    return PERP_OK;
}

/* Of an impact: which contacts rebound, by drift[0] = e u- (impact.c), u- the normal velocity
 * before it. A smaller e than the model's was reduced to conserve energy, by a rule that is not
 * differentiated. */
static perp_status find_rebounds(perpi_linear_step* l)
{
    static const double SAME_LAW = 1e-9;
    const perpi_step_input* in = &l->step.in;
    perp_status status = perpi_grow(l->context, &l->v_start, &l->v_start_capacity, (size_t)l->dofs,
                                    sizeof *l->v_start);
    if (status == PERP_OK) {
        status = perpi_grow(l->context, &l->rebound, &l->rebound_capacity,
                            (size_t)in->contact_count, sizeof *l->rebound);
    }
    if (status != PERP_OK) {
        return status;
    }
    perpi_formulation_gather_v(l->f, in->model, in->v, l->v_start);
    for (int32_t i = 0; i < in->contact_count; ++i) {
        const perp_contact* c = &in->contact[i];
        const double u = perpi_formulation_speed(l->f, i, 0, l->v_start) +
                         l->f->b[l->f->constraint[i].row] - c->drift[0];
        const double e = perp_model_pair_restitution(in->model, c->body_a, c->body_b);
        l->rebound[i] = c->drift[0] != 0.0 ? c->drift[0] / u : 0.0;
        if (l->rebound[i] != 0.0 && !(fabs(l->rebound[i] - e) <= SAME_LAW)) {
            l->report.flags |= PERPI_LINEAR_FALLBACK;
        }
    }
    return PERP_OK;
}

/* Rows that hold at the end of the step, and those of a middle step. */
static perp_status close_rows(perpi_linear_step* l)
{
    perp_status status = perpi_linear_close_rows(l);
    if (status == PERP_OK && l->step.middle) {
        status = perpi_linear_middle_rows(l);
    }
    return status == PERP_OK && l->step.rolls ? perpi_linear_roll_rows(l) : status;
}

perp_status perpi_linear_step_make(perpi_linear_step* l, const perpi_taken_step* step,
                                   const perpi_linear_options* options)
{
    l->step = *step;
    l->options = *options;
    l->report = (perpi_linear_report){.margin = INFINITY, .margin_constraint = -1};
    l->columns = perpi_pair_columns(step->in.model);
    l->ends = step->corrected || step->middle;
    l->frozen_done = l->met = l->knows_gain = false;
    perp_status status = perpi_linear_displace_start(l);
    l->report.flags |= perpi_linear_starts_displaced(l) ? PERPI_LINEAR_CHOICE : 0; /* impacts */
    if (status == PERP_OK) {
        status = formulate_step(l);
    }
    if (status != PERP_OK) {
        return status;
    }
    l->dofs = l->f->problem.dof_count;
    l->rows = l->f->problem.row_count;
    status = perpi_linear_room(l);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_point point = {.v = step->v_solved,
                               .contact = step->in.contact,
                               .joint = step->joint_end,
                               .memory = step->s_end,
                               .v_start = step->impact ? NULL : l->step.in.v};
    if (step->free) {
        status = move_freely(l);
    } else {
        perpi_pack(l->f, step->in.model, &point, l->v, l->p);
    }
    if (status == PERP_OK && step->corrected) {
        status = perpi_linear_carry(l);
    }
    if (status == PERP_OK) {
        status = perpi_linear_bodies(l);
    }
    if (status != PERP_OK) {
        return status;
    }
    status = !l->step.impact              ? PERP_OK
             : l->step.offset_end != NULL ? perpi_linear_meetings(l)
                                          : find_rebounds(l);
    if (status != PERP_OK) {
        return status;
    }
    perpi_linear_evaluate_rows(l);
    status = l->ends ? close_rows(l) : PERP_OK;
    if (status == PERP_OK) {
        status = choose_laws(l);
        perpi_linear_displaced_flag(l);
    }
    if (status == PERP_OK) {
        status = perpi_linear_factor(l);
    }
    if (status == PERP_OK) {
        status = find_loose(l);
    }
    if (status == PERP_OK && slides_somewhere(l) && find_null_impulses(l)) {
        l->report.flags |= PERPI_LINEAR_UNDETERMINED;
        if (options->shifted) {
            l->options.transposed =
                false; /* the null space of the system itself, not of its transpose */
            status = perpi_linear_factor(l);
            if (status == PERP_OK && find_null_impulses(l)) {
                shift_impulses(l);
            }
            l->options.transposed = options->transposed;
            status = status == PERP_OK ? choose_laws(l) : status;
            status = status == PERP_OK ? perpi_linear_factor(l) : status;
        }
    }
    status = status == PERP_OK ? perpi_linear_differentiate_rows(l) : status;
    if (status == PERP_OK && options->other_rolling) {
        perpi_linear_step_roll_otherwise(l);
    }
    return status == PERP_OK && step->corrected ? perpi_linear_make_projection(l) : status;
}

/* The equations of the active set do not contain the slip of rolling contacts: their factors stay. */
void perpi_linear_step_roll_otherwise(perpi_linear_step* l)
{
    for (int32_t i = 0; i < l->f->contact_count; ++i) {
        perpi_constraint_derivative* d = l->d_of[i] >= 0 ? &l->d[l->d_of[i]] : NULL;
        if (d == NULL || !d->full) {
            continue;
        }
        const perpi_rolling_derivative* other = &d->other;
        d->rolling = other->rolling;
        memcpy(d->rate, other->rate, sizeof d->rate);
        memcpy(d->before, other->before, sizeof d->before);
        memcpy(d->push, other->impulse, sizeof d->push);
        memcpy(d->push_mu, other->mu, sizeof d->push_mu);
        for (int32_t r = 1; r < 3 && r < l->f->constraint[i].rows; ++r) {
            for (int c = 0; c < PERPI_PAIR_DOFS; ++c) {
                d->u[r][c] += other->pose[r - 1][c];
            }
        }
    }
}

void perpi_linear_step_memory(perpi_linear_step* l, double* before, double* after)
{
    l->memory_before = before;
    l->memory_after = after;
}

/* ---- forward and adjoint -------------------------------------------------------------------------*/

/* c = g - A r_u; the normal row of a law may be that of another constraint. */
static void law_right_side(const perpi_linear_step* l, const double* r_u, double* c)
{
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        const perp_constraint* x = &l->f->constraint[i];
        const perpi_law* law = &l->law[i];
        double u[PERPI_LAW_ROWS], y[PERPI_LAW_ROWS];
        memcpy(u, r_u + x->row, (size_t)x->rows * sizeof *u);
        u[0] = r_u[l->f->constraint[law->closing].row];
        perpi_law_multiply(x->rows, law->A, false, u, y);
        for (int32_t r = 0; r < x->rows; ++r) {
            c[x->row + r] -= y[r];
        }
    }
}

static perp_status check_solution(perpi_linear_step* l, const double* x, int32_t n)
{
    const double size = perpi_linear_largest(x, n);
    if (!isfinite(size)) {
        l->report.flags |= PERPI_LINEAR_SINGULAR;
        return perpi_fail(l->context, PERP_ERROR_NUMERIC,
                          "gradient: the equations of the active set have no solution at t = %.9g",
                          l->step.in.t);
    }
    return PERP_OK;
}

bool perpi_linear_step_is_impact(const perpi_linear_step* l)
{
    return l->step.impact;
}

bool perpi_linear_step_free(const perpi_linear_step* l)
{
    return l->d_count == 0;
}

/* Parts of the parameter vector: r_v, r_u, g, then the state after the step; those of the
 * projection of its velocities; of an impact those of the step without its contacts follow. */
int32_t perpi_linear_plain_size(const perpi_linear_step* l)
{
    return l->dofs + 2 * l->rows + perpi_linear_size_of(l->step.in.model).total;
}

int32_t perpi_linear_own_size(const perpi_linear_step* l)
{
    return perpi_linear_plain_size(l) + perpi_linear_projected_size(l);
}

int32_t perpi_linear_step_parameter_size(const perpi_linear_step* l)
{
    return perpi_linear_own_size(l) + perpi_linear_gain_size(l);
}

/* The place in g of what a row of a law depends on: mu of a contact stands at its first row. */
static int32_t parameter_row(const perpi_linear_step* l, int32_t constraint, int32_t r)
{
    const perp_constraint* x = &l->f->constraint[constraint];
    return x->kind == PERP_CONSTRAINT_CONTACT && !l->law[constraint].smooth ? x->row : x->row + r;
}

void perpi_linear_right_side(const perpi_linear_step* l, const double* dx, const double* parameter,
                             double* r_v, double* r_u, double* c)
{
    const size_t dofs = (size_t)l->dofs, rows = (size_t)l->rows;
    memset(r_v, 0, dofs * sizeof *r_v);
    memset(r_u, 0, rows * sizeof *r_u);
    memset(c, 0, rows * sizeof *c);
    perpi_linear_residual(l, dx, r_v, r_u);
    if (parameter != NULL) {
        for (size_t i = 0; i < dofs; ++i) {
            r_v[i] += parameter[i];
        }
        for (size_t i = 0; i < rows; ++i) {
            r_u[i] += parameter[dofs + i];
        }
        for (int32_t i = 0; i < l->f->constraints; ++i) {
            const perp_constraint* x = &l->f->constraint[i];
            for (int32_t r = 0; r < x->rows; ++r) {
                const double* g = parameter + dofs + rows;
                c[x->row + r] = l->law[i].g[r] * g[parameter_row(l, i, r)];
            }
        }
    }
    law_right_side(l, r_u, c);
}

perp_status perpi_linear_finish(perpi_linear_step* l, const double* dx, const double* parameter,
                                const double* dv, double* dx_next)
{
    const int32_t total = perpi_linear_size_of(l->step.in.model).total;
    perpi_linear_advance(l, dx, dv, dx_next);
    for (int32_t i = 0; parameter != NULL && i < total; ++i) {
        dx_next[i] += parameter[l->dofs + 2 * l->rows + i];
    }
    if (l->step.corrected) {
        const perp_status status = perpi_linear_project(
            l, parameter != NULL ? parameter + perpi_linear_plain_size(l) : NULL, dx_next);
        if (status != PERP_OK) {
            return status;
        }
    }
    return check_solution(l, dx_next, total);
}

/* Impulses of the problem relative to those of the contacts: perpi_formulation_scatter_p. */
static double impulse_part(const perpi_linear_step* l)
{
    return l->f->rolls ? l->f->theta : 1.0;
}

perp_status perpi_linear_step_forward(perpi_linear_step* l, const double* dx,
                                      const double* parameter, double* dx_next)
{
    PERP_ASSERT(!l->options.transposed);
    const size_t dofs = (size_t)l->dofs, rows = (size_t)l->rows;
    const perp_status status = perpi_grow(l->context, &l->work, &l->work_capacity,
                                          3 * (dofs + rows) + dofs + 2 * rows, sizeof *l->work);
    if (status != PERP_OK) {
        return status;
    }
    double *r_v = l->work + 3 * (dofs + rows), *r_u = r_v + dofs, *c = r_u + rows;
    dx = perpi_linear_displaced(l, dx);
    if (l->met) {
        const perp_status gained = perpi_linear_gain(l, dx, parameter);
        if (gained != PERP_OK) {
            return gained;
        }
    }
    perpi_linear_right_side(l, dx, parameter, r_v, r_u, c);
    perpi_linear_solve(l, r_v, c, PERPI_LINEAR_REFINEMENTS);
    for (int32_t i = 0; l->memory_after != NULL && i < l->f->contact_count; ++i) {
        const perp_constraint* x = &l->f->constraint[i];
        for (int32_t r = 0; r < 3; ++r) {
            l->memory_after[3 * i + r] = r < x->rows ? c[x->row + r] / impulse_part(l) : 0.0;
        }
    }
    return perpi_linear_finish(l, dx, parameter, r_v, dx_next);
}

perp_status perpi_linear_step_adjoint(perpi_linear_step* l, const double* y_next, double* y,
                                      double* multiplier)
{
    PERP_ASSERT(l->options.transposed);
    const size_t dofs = (size_t)l->dofs, rows = (size_t)l->rows;
    const int32_t total = perpi_linear_size_of(l->step.in.model).total;
    const perp_status status = perpi_grow(l->context, &l->work, &l->work_capacity,
                                          3 * (dofs + rows) + dofs + 2 * rows, sizeof *l->work);
    if (status != PERP_OK) {
        return status;
    }
    double *m_v = l->work + 3 * (dofs + rows), *m_p = m_v + dofs, *m_u = m_p + rows;
    memset(m_v, 0, (dofs + 2 * rows) * sizeof *m_v);
    memset(y, 0, (size_t)total * sizeof *y);
    if (l->met) {
        memset(l->gain, 0, 2 * (size_t)perpi_linear_size_of(l->step.in.model).n * sizeof *l->gain);
    }
    if (l->step.corrected) {
        double* after = l->middle + total; /* of the step, before the projection */
        const perp_status projected = perpi_linear_project_adjoint(
            l, y_next, after, multiplier != NULL ? multiplier + perpi_linear_plain_size(l) : NULL);
        if (projected != PERP_OK) {
            return projected;
        }
        y_next = after;
    }
    perpi_linear_advance_adjoint(l, y_next, y, m_v);
    for (int32_t i = 0; l->memory_after != NULL && i < l->f->contact_count; ++i) {
        const perp_constraint* x = &l->f->constraint[i];
        for (int32_t r = 0; r < 3 && r < x->rows; ++r) {
            m_p[x->row + r] = l->memory_after[3 * i + r] / impulse_part(l);
            l->report.flags |= m_p[x->row + r] != 0.0 && l->loose[i] ? PERPI_LINEAR_CHOICE : 0;
        }
    }
    perpi_linear_solve(l, m_v, m_p, PERPI_LINEAR_REFINEMENTS);
    /* the law's right-hand side is g - A r_u */
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        const perp_constraint* x = &l->f->constraint[i];
        const perpi_law* law = &l->law[i];
        double z[PERPI_LAW_ROWS];
        perpi_law_multiply(x->rows, law->A, true, m_p + x->row, z);
        m_u[l->f->constraint[law->closing].row] -= z[0];
        for (int32_t r = 1; r < x->rows; ++r) {
            m_u[x->row + r] -= z[r];
        }
    }
    perpi_linear_residual_adjoint(l, m_v, m_u, y);
    perpi_linear_displaced_adjoint(l, y);
    if (l->met) {
        const perp_status gained = perpi_linear_gain_adjoint(l, y, multiplier);
        if (gained != PERP_OK) {
            return gained;
        }
    }
    if (multiplier != NULL) {
        double* g = multiplier + dofs + rows;
        memcpy(multiplier, m_v, dofs * sizeof *m_v);
        memcpy(multiplier + dofs, m_u, rows * sizeof *m_u);
        memset(g, 0, rows * sizeof *g);
        for (int32_t i = 0; i < l->f->constraints; ++i) {
            const perp_constraint* x = &l->f->constraint[i];
            for (int32_t r = 0; r < x->rows; ++r) {
                g[parameter_row(l, i, r)] += l->law[i].g[r] * m_p[x->row + r];
            }
        }
        memcpy(g + rows, y_next, (size_t)total * sizeof *y_next);
    }
    return check_solution(l, y, total);
}
