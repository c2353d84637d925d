/* src/step/smooth_step.c - see smooth_step.h.
 *
 * Source     Wright, Primal-dual interior-point methods, SIAM 1997: infeasible steps, one part for all unknowns
 * Notation   q impulses on the path, y, sigma, lambda multipliers (smooth_law.h); t the factor of kappa
 * Departure  the path is followed down to a given kappa and no further; friction is Coulomb's, whose cone does not enter the
 *            normal row, so the path is that of a problem that is not monotone. Where a contact comes from is no part of
 *            the problem: the first point is far inside, not the last step's.
 */
#include "step/smooth_step.h"

#include <string.h>

#include "linalg/dense.h"
#include "step/linear_parts.h"
#include "step/linear_point.h"
#include "step/smooth_law.h"

enum { MAX_ITERATIONS = 200 };
static const double INSIDE = 0.995;        /* of the way to the border */
static const double LEAST_REDUCTION = 0.1; /* of the mean product, in an iteration */
static const double CONVERGED = 1e-13;     /* energy norm of a step, relative */
static const double NEARLY = 1e-5;         /* likewise, where far contacts begin to fade */
static const double ROUNDING = 1e-10;      /* likewise, where steps no longer become smaller */

struct perpi_smooth_solver {
    perp_context* context;
    perpi_linear_step* l;
    double *room, *dual_room;
    int32_t* dual_at; /* per constraint */
    size_t room_capacity, dual_capacity, dual_at_capacity;
    /* parts of room */
    double *q, *dq, *du, *a, *c, *kappa, *mass;
    double *dual, *ddual;
};

perp_status perpi_smooth_solver_create(perp_context* context, perpi_smooth_solver** out)
{
    perpi_smooth_solver* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    status = perpi_linear_step_create(context, &s->l);
    if (status != PERP_OK) {
        perpi_smooth_solver_destroy(s);
        return status;
    }
    *out = s;
    return PERP_OK;
}

void perpi_smooth_solver_destroy(perpi_smooth_solver* s)
{
    if (s == NULL) {
        return;
    }
    perpi_linear_step_destroy(s->l);
    perpi_free(s->context, s->room);
    perpi_free(s->context, s->dual_room);
    perpi_free(s->context, s->dual_at);
    perpi_free(s->context, s);
}

/* ---- scales --------------------------------------------------------------------------------------*/

double perpi_smooth_distance(const perp_model* model, const perpi_step_settings* settings, double h)
{
    return settings->smooth > 0.0
               ? h * perpi_smooth_reach(settings->smooth, perpi_smooth_speed(model, settings, h))
               : 0.0;
}

bool perpi_contact_pushes(const perp_model* model, const perpi_step_settings* settings, double h,
                          const perp_contact* c)
{
    double inverse = 0.0;
    if (!(settings->smooth > 0.0)) {
        return c->impulse[0] > 0.0;
    }
    const int32_t body[2] = {c->body_a, c->body_b};
    for (int side = 0; side < 2; ++side) {
        inverse += model->body[body[side]].dofs > 0 ? 1.0 / model->body[body[side]].mass : 0.0;
    }
    return inverse * c->impulse[0] >
           sqrt(settings->smooth) * perpi_smooth_speed(model, settings, h);
}

/* ---- the iteration -------------------------------------------------------------------------------*/

static perp_status make_room(perpi_smooth_solver* s)
{
    const perpi_formulation* f = s->l->f;
    const perp_contact_problem* P = &f->problem;
    const size_t rows = (size_t)P->row_count, dofs = (size_t)P->dof_count,
                 constraints = (size_t)P->constraint_count;
    perp_status status =
        perpi_grow(s->context, &s->room, &s->room_capacity,
                   4 * rows + dofs + constraints + (size_t)P->block_count + 1, sizeof *s->room);
    if (status == PERP_OK) {
        status = perpi_grow(s->context, &s->dual_at, &s->dual_at_capacity, constraints + 1,
                            sizeof *s->dual_at);
    }
    if (status != PERP_OK) {
        return status;
    }
    s->q = s->room;
    s->dq = s->q + rows;
    s->du = s->dq + rows;
    s->c = s->du + rows;
    s->a = s->c + rows;
    s->kappa = s->a + dofs;
    s->mass = s->kappa + constraints;
    s->dual_at[0] = 0;
    for (size_t i = 0; i < constraints; ++i) {
        s->dual_at[i + 1] = s->dual_at[i] + perpi_smooth_dual_count(&P->constraint[i]);
    }
    const size_t duals = (size_t)s->dual_at[constraints];
    status = perpi_grow(s->context, &s->dual_room, &s->dual_capacity, 2 * duals + 1,
                        sizeof *s->dual_room);
    s->dual = s->dual_room;
    s->ddual = status == PERP_OK ? s->dual_room + duals : NULL;
    return status;
}

static perpi_smooth_point point_of(const perpi_smooth_solver* s, int32_t i, double t)
{
    const perp_contact_problem* P = &s->l->f->problem;
    return (perpi_smooth_point){.problem = P,
                                .constraint = i,
                                .kappa = t * s->kappa[i],
                                .q = s->q + P->constraint[i].row,
                                .u = s->l->u + P->constraint[i].row,
                                .dual = s->dual + s->dual_at[i]};
}

/* First impulses that give the speeds of the problem, and multipliers that belong to them; returns t. */
static double begin(perpi_smooth_solver* s, double barrier, double speed)
{
    const perpi_linear_step* l = s->l;
    const perp_contact_problem* P = &l->f->problem;
    double first = speed;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int32_t r = 0; c->kind == PERP_CONSTRAINT_CONTACT && r < c->rows && r < 3; ++r) {
            /* gaps far away say nothing about impulses */
            const double u = r == 0 ? -l->u[c->row] : fabs(l->u[c->row + r]);
            first = u > first ? u : first;
        }
    }
    const double t = first * first / (barrier * speed * speed);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const double mass = s->kappa[i] / (barrier * speed * speed);
        const perpi_smooth_point at = point_of(s, i, t);
        perpi_smooth_begin(&at, mass, first, s->q + P->constraint[i].row);
    }
    return t;
}

static perpi_smooth_products products_of(const perpi_smooth_solver* s)
{
    perpi_smooth_products x = {.least = INFINITY, .least_friction = INFINITY};
    for (int32_t i = 0; i < s->l->f->constraints; ++i) {
        const perpi_smooth_point at = point_of(s, i, 1.0);
        perpi_smooth_add_products(&at, &x);
    }
    return x;
}

/* From A du + B dq = -F to the law A' du + B' dp = c of p = fade q, dp = fade dq + slope q (du_n +
 * off). Rows are divided by their largest entry, so that rigid ones are known as such: scale. */
static void make_law(const perpi_smooth_point* at, const double* w, const perpi_smooth_form* form,
                     const double fade[2], double off, perpi_law* law, double* scale, double* c)
{
    const perp_contact_problem* P = at->problem;
    const perp_constraint* x = &P->constraint[at->constraint];
    const int32_t n = x->rows;
    const double* q = at->q;
    const bool contact = x->kind == PERP_CONSTRAINT_CONTACT;
    *law = (perpi_law){
        .closing = at->constraint, .rows = n, .margin = INFINITY, .smooth = true, .acts = true};
    for (int32_t r = 0; r < n; ++r) {
        double along = 0.0, largest[2] = {0.0, 0.0};
        for (int32_t k = 0; k < n; ++k) {
            along += form->B[r * n + k] * q[k];
        }
        for (int32_t k = 0; k < n; ++k) {
            const int32_t entry = r * n + k;
            const double soft = !contact && k == r && P->compliance != NULL
                                    ? form->A[entry] * P->compliance[x->row + r]
                                    : 0.0;
            law->A[entry] = fade[0] * form->A[entry] - (contact && k == 0 ? fade[1] * along : 0.0);
            law->B[entry] = form->B[entry] + soft;
            largest[0] = perpi_larger(largest[0], w[r] * fabs(law->A[entry]));
            largest[1] = perpi_larger(largest[1], fabs(law->B[entry]));
        }
        scale[r] = largest[0] > largest[1] ? w[r] / largest[0] : 1.0 / largest[1];
        c[r] = scale[r] * (-fade[0] * form->F[r] + fade[1] * along * off);
        law->g[r] = scale[r];
        for (int32_t k = 0; k < n; ++k) {
            law->A[r * n + k] *= scale[r];
            law->B[r * n + k] *= scale[r];
        }
    }
}

/* The linear system at the present point, and its solution dv in s->a, dp in s->c. False: it has none. */
static perp_status find_step(perpi_smooth_solver* s, double t, double reach, bool* solved)
{
    perpi_linear_step* l = s->l;
    const perp_contact_problem* P = &l->f->problem;
    const perpi_law_input in = {.problem = P, .p = l->p, .u = l->u, .w = l->w};
    *solved = true;
    for (int32_t i = 0; i < P->constraint_count && *solved; ++i) {
        const perp_constraint* x = &P->constraint[i];
        const perpi_smooth_point at = point_of(s, i, t);
        perpi_smooth_form form;
        double fade[2] = {1.0, 0.0}, off = 0.0, scale[PERPI_LAW_ROWS];
        perpi_smooth_linearise(&at, &form);
        if (x->kind == PERP_CONSTRAINT_CONTACT) {
            fade[0] = perpi_smooth_fade(at.dual[0], reach, &fade[1]);
            off = at.u[0] - at.dual[0];
        }
        make_law(&at, l->w + x->row, &form, fade, off, &l->law[i], scale, s->c + x->row);
        *solved = perpi_law_invert(&in, i, &l->law[i]);
    }
    if (!*solved) {
        return PERP_OK;
    }
    perpi_linear_dynamics(l, s->a);
    const perp_status status = perpi_linear_factor(l);
    *solved = (l->report.flags & PERPI_LINEAR_SINGULAR) == 0;
    if (status == PERP_OK && *solved) {
        perpi_linear_solve(l, s->a, s->c, PERPI_LINEAR_REFINEMENTS);
    }
    return status;
}

/* Changes of q, and of the multipliers; returns the part of the step that stays inside. */
static double find_part(perpi_smooth_solver* s, double t, double reach)
{
    perpi_linear_step* l = s->l;
    const perp_contact_problem* P = &l->f->problem;
    double most = 1.0 / INSIDE;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* x = &P->constraint[i];
        const perpi_smooth_point at = point_of(s, i, t);
        double *du = s->du + x->row, *dq = s->dq + x->row;
        perpi_linear_speeds(l, i, false, s->a, du);
        for (int32_t r = 0; r < x->rows; ++r) {
            dq[r] = s->c[x->row + r];
        }
        if (x->kind == PERP_CONSTRAINT_CONTACT) {
            double slope;
            const double fade = perpi_smooth_fade(at.dual[0], reach, &slope);
            if (fade > 0.5) { /* the impulses that the velocities were solved with */
                for (int32_t r = 0; r < x->rows; ++r) {
                    dq[r] = (dq[r] - slope * at.q[r] * (at.u[0] + du[0] - at.dual[0])) / fade;
                }
            } else {
                perpi_smooth_form form;
                double B[PERPI_LAW_SIZE];
                int32_t pivot[PERPI_LAW_ROWS];
                perpi_smooth_linearise(&at, &form);
                memcpy(B, form.B, sizeof B);
                (void)perpi_lu_factor(x->rows, B, pivot, NULL); /* it had an inverse before */
                for (int32_t r = 0; r < x->rows; ++r) {
                    dq[r] = -form.F[r];
                    for (int32_t k = 0; k < x->rows; ++k) {
                        dq[r] -= form.A[r * x->rows + k] * du[k];
                    }
                }
                perpi_lu_solve(x->rows, B, pivot, dq);
            }
        }
        most = perpi_smooth_direction(&at, dq, du, s->ddual + s->dual_at[i], most);
    }
    return most < 1.0 / INSIDE ? INSIDE * most : 1.0;
}

static void take_part(perpi_smooth_solver* s, double part, double reach)
{
    perpi_linear_step* l = s->l;
    const perp_contact_problem* P = &l->f->problem;
    for (int32_t i = 0; i < l->dofs; ++i) {
        l->v[i] += part * s->a[i];
    }
    for (int32_t i = 0; i < s->dual_at[P->constraint_count]; ++i) {
        s->dual[i] += part * s->ddual[i];
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* x = &P->constraint[i];
        double slope, fade = 1.0;
        if (x->kind == PERP_CONSTRAINT_CONTACT) {
            fade = perpi_smooth_fade(s->dual[s->dual_at[i]], reach, &slope);
        }
        for (int32_t r = 0; r < x->rows; ++r) {
            s->q[x->row + r] += part * s->dq[x->row + r];
        }
        const perpi_smooth_point at = point_of(s, i, 1.0);
        perpi_smooth_place(&at, s->q + x->row);
        for (int32_t r = 0; r < x->rows; ++r) {
            l->p[x->row + r] = fade * s->q[x->row + r];
        }
    }
}

/* The part of the step after which no product is much smaller than their mean: near a border the
 * next steps would be short. */
static double take_step(perpi_smooth_solver* s, double part, double reach, double* mean)
{
    enum { MAX_REDUCTIONS = 30 };
    static const double CENTRAL = 1e-2, SHORTER = 0.7;
    take_part(s, part, reach);
    for (int i = 0;; ++i) {
        const perpi_smooth_products x = products_of(s);
        *mean = x.count > 0 ? x.sum / x.count : 0.0;
        if (x.count == 0 || (x.least >= CENTRAL * *mean && x.least_friction >= CENTRAL) ||
            i == MAX_REDUCTIONS) {
            return part;
        }
        take_part(s, (SHORTER - 1.0) * part, reach);
        part *= SHORTER;
    }
}

/* The energy norm of velocities and impulses. */
static double energy_norm(const perpi_linear_step* l, const double* v, const double* p)
{
    const perp_contact_problem* P = &l->f->problem;
    const double* M = P->M;
    double sum = 0.0;
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t first = P->dof[b], n = P->dof[b + 1] - first;
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                sum += v[first + i] * M[i * n + j] * v[first + j];
            }
        }
        M += n * n;
    }
    for (int32_t i = 0; i < l->rows; ++i) {
        sum += l->w[i] * p[i] * p[i];
    }
    return sqrt(sum);
}

static perp_status iterate(perpi_smooth_solver* s, double barrier, double speed,
                           perp_report* report)
{
    perpi_linear_step* l = s->l;
    double t = begin(s, barrier, speed), last = INFINITY, reach = INFINITY;
    const double own = perpi_smooth_reach(barrier, speed);
    take_part(s, 0.0, reach);
    report->outcome = PERP_OUTCOME_MAX_ITER;
    for (int32_t k = 1; k <= MAX_ITERATIONS; ++k) {
        bool solved;
        perpi_linear_evaluate_rows(l);
        const perp_status status = find_step(s, t, reach, &solved);
        if (status != PERP_OK || !solved) {
            return status;
        }
        double mean;
        const double part = take_step(s, find_part(s, t, reach), reach, &mean);
        const double size = energy_norm(l, l->v, l->p), step = energy_norm(l, s->a, s->c);
        report->iterations = k;
        report->residual = step / size;
        if (!isfinite(step)) {
            return PERP_OK;
        }
        const bool whole = part >= 1.0 && t <= 1.0;
        if (whole && reach == own &&
            (step <= CONVERGED * size || (step <= ROUNDING * size && !(step < 0.5 * last)))) {
            report->outcome = PERP_OUTCOME_SOLVED;
            return PERP_OK;
        }
        if (whole && step <= NEARLY * size && reach != own) {
            reach = own;
            take_part(s, 0.0, reach);
        }
        last = whole ? step : INFINITY;
        /* down the path as far as the step was whole */
        const double less = 1.0 - part,
                     goal = (less > LEAST_REDUCTION ? less : LEAST_REDUCTION) * mean;
        t = goal < 1.0 ? 1.0 : goal;
    }
    return PERP_OK;
}

perp_status perpi_smooth_solve(perpi_smooth_solver* s, const perpi_step_input* in, double* v,
                               double* p, perp_report* report)
{
    perpi_linear_step* l = s->l;
    const double barrier = in->settings->smooth,
                 speed = perpi_smooth_speed(in->model, in->settings, in->h);
    *report = (perp_report){.solver = "smoothed"};
    perp_status status =
        perpi_linear_step_at(l, &(perpi_step_point){.in = *in, .v = v, .derivatives = false});
    if (status == PERP_OK) {
        status = make_room(s);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (l->f->problem.group_count > 0) {
        return perpi_fail(s->context, PERP_ERROR_UNSUPPORTED,
                          "gradient: smoothed laws have no groups of contacts; use the contact "
                          "model 'standard'");
    }
    perpi_smooth_kappa(&l->f->problem, barrier, speed, s->mass, s->kappa);
    status = iterate(s, barrier, speed, report);
    if (status == PERP_OK && report->outcome != PERP_OUTCOME_SOLVED) {
        return perpi_fail(s->context, PERP_ERROR_SOLVE,
                          "the smoothed step at t = %.9g did not converge in %d iterations (last "
                          "step %.1e); use a smaller step or another barrier parameter",
                          in->t, (int)report->iterations, report->residual);
    }
    if (status == PERP_OK) {
        memcpy(v, l->v, (size_t)l->dofs * sizeof *v);
        if (l->rows > 0) {
            memcpy(p, l->p, (size_t)l->rows * sizeof *p);
        }
    }
    return status;
}

/* ---- the laws at a solution ------------------------------------------------------------------------*/

/* A constraint at the solution. */
typedef struct smooth_constraint {
    perpi_smooth_form form;
    double q[PERPI_LAW_ROWS], u[PERPI_LAW_ROWS];
    double fade[2], y; /* fade and its slope */
} smooth_constraint;

struct perpi_smooth_laws {
    smooth_constraint* item;
    double *kappa, *varied, *mass, *dual;
    size_t item_capacity, kappa_capacity, varied_capacity, mass_capacity, dual_capacity;
};

void perpi_smooth_laws_destroy(perp_context* context, perpi_smooth_laws* x)
{
    if (x == NULL) {
        return;
    }
    perpi_free(context, x->item);
    perpi_free(context, x->kappa);
    perpi_free(context, x->varied);
    perpi_free(context, x->mass);
    perpi_free(context, x->dual);
    perpi_free(context, x);
}

static perp_status laws_room(perpi_linear_step* l)
{
    perp_context* context = l->context;
    const size_t n = (size_t)l->f->constraints;
    int32_t most = 1;
    perp_status status = PERP_OK;
    if (l->smooth == NULL) {
        status = perpi_alloc(context, 1, sizeof *l->smooth, &l->smooth);
    }
    for (int32_t i = 0; i < l->f->constraints; ++i) {
        const int32_t duals = perpi_smooth_dual_count(&l->f->constraint[i]);
        most = duals > most ? duals : most;
    }
    perpi_smooth_laws* x = l->smooth;
    if (status == PERP_OK) {
        status = perpi_grow(context, &x->item, &x->item_capacity, n, sizeof *x->item);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &x->kappa, &x->kappa_capacity, n, sizeof *x->kappa);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &x->varied, &x->varied_capacity, n, sizeof *x->varied);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &x->mass, &x->mass_capacity, (size_t)l->f->problem.block_count,
                            sizeof *x->mass);
    }
    return status == PERP_OK
               ? perpi_grow(context, &x->dual, &x->dual_capacity, (size_t)most, sizeof *x->dual)
               : status;
}

/* q of a contact, and its y: from the impulse where that is large, else from the velocity, which is then exact. */
static void place_contact(const perpi_linear_step* l, const perp_constraint* x, double kappa,
                          double reach, smooth_constraint* at)
{
    at->fade[0] = perpi_smooth_fade(l->u[x->row], reach, &at->fade[1]);
    for (int32_t r = 0; at->fade[0] > 0.0 && r < x->rows; ++r) {
        at->q[r] = l->p[x->row + r] / at->fade[0];
    }
    at->y = at->fade[0] > 0.5 ? kappa / at->q[0] : l->u[x->row];
    at->u[0] = at->y;
}

static perpi_law open_law(int32_t i, int32_t rows)
{
    perpi_law law = {.closing = i, .rows = rows, .margin = INFINITY, .smooth = true};
    for (int32_t r = 0; r < rows; ++r) {
        law.B[r * rows + r] = law.E[r * rows + r] = 1.0;
    }
    return law;
}

perp_status perpi_smooth_laws_choose(perpi_linear_step* l)
{
    const perp_contact_problem* P = &l->f->problem;
    const perpi_step_input* in = &l->step.in;
    const double barrier = in->settings->smooth,
                 speed = perpi_smooth_speed(in->model, in->settings, in->h);
    const double reach = perpi_smooth_reach(barrier, speed);
    const perpi_law_input input = {.problem = P, .p = l->p, .u = l->u, .w = l->w};
    const perp_status status = laws_room(l);
    if (status != PERP_OK) {
        return status;
    }
    perpi_smooth_laws* laws = l->smooth;
    perpi_smooth_kappa(P, barrier, speed, laws->mass, laws->kappa);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* x = &P->constraint[i];
        smooth_constraint* at = &laws->item[i];
        double scale[PERPI_LAW_ROWS], c[PERPI_LAW_ROWS];
        memcpy(at->q, l->p + x->row, (size_t)x->rows * sizeof *at->q);
        memcpy(at->u, l->u + x->row, (size_t)x->rows * sizeof *at->u);
        at->fade[0] = 1.0;
        at->fade[1] = 0.0;
        if (x->kind == PERP_CONSTRAINT_CONTACT) {
            place_contact(l, x, laws->kappa[i], reach, at);
        }
        if (!(at->fade[0] > 0.0)) { /* out of reach */
            l->law[i] = open_law(i, x->rows);
            continue;
        }
        const perpi_smooth_point point = {P, i, laws->kappa[i], at->q, at->u, laws->dual};
        perpi_smooth_duals(&point);
        if (x->kind == PERP_CONSTRAINT_CONTACT) {
            laws->dual[0] = at->y;
        }
        perpi_smooth_linearise(&point, &at->form);
        make_law(&point, l->w + x->row, &at->form, at->fade, 0.0, &l->law[i], scale, c);
        if (!perpi_law_invert(&input, i, &l->law[i])) {
            l->report.flags |= PERPI_LINEAR_SINGULAR;
        }
    }
    return PERP_OK;
}

void perpi_smooth_laws_vary(const perpi_linear_step* l, const perp_model* model, double weight,
                            double* out)
{
    const perp_contact_problem* P = &l->varied->problem;
    const double barrier = l->step.in.settings->smooth, h = l->step.in.h;
    const double speed = perpi_smooth_speed(model, l->step.in.settings, h),
                 reach = perpi_smooth_reach(barrier, speed);
    const double own_reach =
        perpi_smooth_reach(barrier, perpi_smooth_speed(l->step.in.model, l->step.in.settings, h));
    const perpi_smooth_laws* laws = l->smooth;
    perpi_smooth_kappa(P, barrier, speed, laws->mass, laws->varied);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* x = &P->constraint[i];
        const smooth_constraint* at = &laws->item[i];
        if (x->kind == PERP_CONSTRAINT_EQUALITY || !(at->fade[0] > 0.0)) {
            continue;
        }
        const perpi_smooth_point point = {&l->f->problem, i,     laws->kappa[i],
                                          at->q,          at->u, laws->dual};
        const bool bounded = x->kind == PERP_CONSTRAINT_BOUNDED;
        const perpi_smooth_change by = {.kappa = laws->varied[i],
                                        .mu = x->mu,
                                        .lower = bounded ? P->lower + x->row : NULL,
                                        .upper = bounded ? P->upper + x->row : NULL};
        const double fade = -at->fade[1] * at->y / own_reach * reach; /* by its reach */
        double dF[PERPI_LAW_ROWS];
        perpi_smooth_vary(&point, &at->form, &by, dF);
        for (int32_t r = 0; r < x->rows; ++r) {
            double along = 0.0;
            for (int32_t k = 0; k < x->rows; ++k) {
                along += at->form.B[r * x->rows + k] * at->q[k];
            }
            out[x->row + r] += weight * (-at->fade[0] * dF[r] + (bounded ? 0.0 : fade * along));
        }
    }
}
