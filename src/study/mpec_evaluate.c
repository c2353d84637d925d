/* src/study/mpec_evaluate.c - values and derivatives of a program: see mpec.h. */
#include <math.h>
#include <string.h>

#include "study/mpec.h"

/* Standard deviation of the prior of a start that is held, in units of its coordinates or of noise. */
static const double HELD = 3.0;

/* ---- objective: half the sum of squares of what was measured and of priors ---------------------------*/

/* Unknowns of an observation with the derivative of its residual by each. */
typedef struct observed {
    double residual;
    int32_t count, index[4];
    double slope[4];
    int32_t scale; /* number of the scale among these, -1: it is no unknown */
} observed;

static observed observe(const perpi_mpec* m, const perpi_mpec_trajectory* t,
                        const perpi_mpec_observation* o, const double* z)
{
    observed out = {.scale = -1};
    const int32_t first = o->state == 0 ? t->x : m->step[t->step + (size_t)o->state - 1].x_next;
    const double scale = o->scale_parameter >= 0 ? z[o->scale_parameter] : o->scale;
    const double offset = o->offset_parameter >= 0 ? z[o->offset_parameter] : o->offset;
    double x = o->base + (1.0 - o->part) * z[first + o->place];
    out.index[0] = first + o->place;
    out.slope[0] = -scale * (1.0 - o->part) / o->noise;
    out.count = 1;
    if (o->part > 0.0) {
        const int32_t next = m->step[t->step + (size_t)o->state].x_next;
        x += o->part * z[next + o->place];
        out.index[1] = next + o->place;
        out.slope[1] = -scale * o->part / o->noise;
        out.count = 2;
    }
    if (o->scale_parameter >= 0) {
        out.scale = out.count;
        out.index[out.count] = o->scale_parameter;
        out.slope[out.count++] = -x / o->noise;
    }
    if (o->offset_parameter >= 0) {
        out.index[out.count] = o->offset_parameter;
        out.slope[out.count++] = -1.0 / o->noise;
    }
    out.residual = (o->value - scale * x - offset) / o->noise;
    return out;
}

double perpi_mpec_residual(const perpi_mpec* m, const perpi_mpec_trajectory* t,
                           const perpi_mpec_observation* o, const double* z)
{
    return observe(m, t, o, z).residual;
}

/* Prior number i: its unknown, centre and standard deviation. False: there is none. */
static bool prior_at(const perpi_mpec* m, size_t i, int32_t* unknown, double* centre, double* sd)
{
    if (i < (size_t)m->parameter_count) {
        const perpi_mpec_parameter* p = &m->parameter[i];
        *unknown = (int32_t)i;
        *centre = p->start;
        *sd = p->prior;
        return p->prior > 0.0;
    }
    i -= (size_t)m->parameter_count;
    const perpi_mpec_trajectory* t = &m->trajectory[i / (size_t)m->stride];
    const int32_t k = (int32_t)(i % (size_t)m->stride);
    const perpi_mpec_start* s = &m->start[t->start + (size_t)k];
    *unknown = t->x + k;
    *centre = 0.0;
    *sd = s->prior;
    if (k >= m->nd) { /* velocities are not displacements of a reference */
        const int32_t vs = m->dimension == 2 ? 3 : 6;
        for (int32_t b = 0; b < m->body_count; ++b) {
            const int32_t j = k - m->nd - m->place[b];
            if (m->place[b] >= 0 && j >= 0 && j < m->dofs[b]) {
                *centre = m->reference_v[t->reference_v + (size_t)(vs * b + j)];
            }
        }
    }
    if (!(s->prior > 0.0) &&
        m->unit != NULL) { /* the entry of the Hessian is there in all rounds */
        const double loose = HELD * m->unit[t->x + k], tight = HELD * m->tight[k];
        *sd = m->hold == PERPI_MPEC_FREE                     ? INFINITY
              : m->hold == PERPI_MPEC_TIGHT && tight < loose ? tight
                                                             : loose;
    }
    return s->free;
}

static size_t prior_count(const perpi_mpec* m)
{
    return (size_t)m->parameter_count + m->trajectory_count * (size_t)m->stride;
}

double perpi_mpec_objective(const perpi_mpec* m, const double* z)
{
    double sum = 0.0, centre, sd;
    int32_t unknown;
    for (size_t k = 0; k < m->trajectory_count; ++k) {
        const perpi_mpec_trajectory* t = &m->trajectory[k];
        for (int32_t i = 0; i < t->observation_count; ++i) {
            const observed o = observe(m, t, &m->observation[t->observation + (size_t)i], z);
            sum += 0.5 * o.residual * o.residual;
        }
    }
    for (size_t i = 0; i < prior_count(m); ++i) {
        if (prior_at(m, i, &unknown, &centre, &sd)) {
            const double r = (z[unknown] - centre) / sd;
            sum += 0.5 * r * r;
        }
    }
    return sum;
}

void perpi_mpec_gradient(const perpi_mpec* m, const double* z, double* gradient)
{
    double centre, sd;
    int32_t unknown;
    memset(gradient, 0, (size_t)m->n * sizeof *gradient);
    for (size_t k = 0; k < m->trajectory_count; ++k) {
        const perpi_mpec_trajectory* t = &m->trajectory[k];
        for (int32_t i = 0; i < t->observation_count; ++i) {
            const observed o = observe(m, t, &m->observation[t->observation + (size_t)i], z);
            for (int32_t a = 0; a < o.count; ++a) {
                gradient[o.index[a]] += o.residual * o.slope[a];
            }
        }
    }
    for (size_t i = 0; i < prior_count(m); ++i) {
        if (prior_at(m, i, &unknown, &centre, &sd)) {
            gradient[unknown] += (z[unknown] - centre) / (sd * sd);
        }
    }
}

size_t perpi_mpec_objective_pattern(const perpi_mpec* m, size_t at)
{
    double centre, sd;
    int32_t unknown;
    for (size_t k = 0; k < m->trajectory_count; ++k) {
        const perpi_mpec_trajectory* t = &m->trajectory[k];
        for (int32_t i = 0; i < t->observation_count; ++i) {
            const perpi_mpec_observation* x = &m->observation[t->observation + (size_t)i];
            const int32_t count =
                1 + (x->part > 0.0) + (x->scale_parameter >= 0) + (x->offset_parameter >= 0);
            if (m->hessian_row == NULL) {
                at += (size_t)(count * (count + 1) / 2);
                continue;
            }
            const observed o = observe(m, t, x, m->z);
            for (int32_t a = 0; a < o.count; ++a) {
                for (int32_t b = 0; b <= a; ++b, ++at) {
                    const int32_t i_a = o.index[a], i_b = o.index[b];
                    m->hessian_row[at] = i_a > i_b ? i_a : i_b;
                    m->hessian_column[at] = i_a > i_b ? i_b : i_a;
                }
            }
        }
    }
    for (size_t i = 0; i < prior_count(m); ++i) {
        if (prior_at(m, i, &unknown, &centre, &sd)) {
            if (m->hessian_row != NULL) {
                m->hessian_row[at] = m->hessian_column[at] = unknown;
            }
            at += 1;
        }
    }
    return at;
}

static void hessian_of_objective(const perpi_mpec* m, const double* z, double factor, size_t at,
                                 double* value)
{
    double centre, sd;
    int32_t unknown;
    for (size_t k = 0; k < m->trajectory_count; ++k) {
        const perpi_mpec_trajectory* t = &m->trajectory[k];
        for (int32_t i = 0; i < t->observation_count; ++i) {
            const perpi_mpec_observation* x = &m->observation[t->observation + (size_t)i];
            const observed o = observe(m, t, x, z);
            for (int32_t a = 0; a < o.count; ++a) {
                for (int32_t b = 0; b <= a; ++b, ++at) {
                    double second = o.slope[a] * o.slope[b];
                    if (a == o.scale && b < o.scale) { /* the residual has -scale x */
                        const double part = b == 0 ? 1.0 - x->part : x->part;
                        second -= o.residual * part / x->noise;
                    }
                    value[at] = factor * second;
                }
            }
        }
    }
    for (size_t i = 0; i < prior_count(m); ++i) {
        if (prior_at(m, i, &unknown, &centre, &sd)) {
            value[at++] = factor / (sd * sd);
        }
    }
}

/* ---- rotations ---------------------------------------------------------------------------------------*/

static mat3 cross_matrix(vec3 a)
{
    return (mat3){{{0, -a.z, a.y}, {a.z, 0, -a.x}, {-a.y, a.x, 0}}};
}

/* exp(x + d) = exp(J d) exp(x) to first order in d. */
static mat3 turn_jacobian(vec3 x)
{
    const double a = v3_norm(x), q = a * a;
    const double c = a < 1e-3 ? 0.5 - q / 24.0 : (1.0 - cos(a)) / q;
    const double d = a < 1e-3 ? 1.0 / 6.0 - q / 120.0 : (1.0 - sin(a) / a) / q;
    const mat3 X = cross_matrix(x), XX = m3_mm(X, X);
    mat3 J = m3_identity();
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            J.m[i][j] += c * X.m[i][j] + d * XX.m[i][j];
        }
    }
    return J;
}

/* Its inverse: log(exp(d) exp(x)) = x + J^-1 d. */
static mat3 turn_inverse(vec3 x)
{
    const double a = v3_norm(x), q = a * a;
    const double c =
        a < 1e-3 ? 1.0 / 12.0 + q / 720.0 : (1.0 - 0.5 * a * sin(a) / (1.0 - cos(a))) / q;
    const mat3 X = cross_matrix(x), XX = m3_mm(X, X);
    mat3 J = m3_identity();
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            J.m[i][j] += -0.5 * X.m[i][j] + c * XX.m[i][j];
        }
    }
    return J;
}

static quat quat_of(const double* q)
{
    return (quat){q[3], q[4], q[5], q[6]};
}

/* ---- one step ------------------------------------------------------------------------------------------*/

typedef struct stage {
    const perp_model* model;
    const perpi_mpec_trajectory* t;
    int32_t index;
    const perpi_mpec_step* s;
    const double* z;
} stage;

/* Evaluates the step's problem at the point; m->q and m->v are the state before it. */
static perp_status evaluate_problem(perpi_mpec* m, const stage* g, bool derivatives)
{
    const perpi_mpec_step* s = g->s;
    const int32_t qs = m->dimension == 2 ? 3 : 7;
    perpi_mpec_state(m, g->t, g->index, g->z, m->q, m->v);
    for (int32_t b = 0; g->index > 0 && b < m->body_count; ++b) {
        if (m->place[b] < 0) { /* prescribed: where the step before led it */
            memcpy(m->q + (size_t)(qs * b), m->q_after + (size_t)(qs * b),
                   (size_t)qs * sizeof *m->q);
        }
    }
    for (int32_t b = 0; b < m->body_count; ++b) {
        m->pose[b] = perpi_state_pose(g->model, m->q, b);
    }
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < s->contact_count; ++i) {
        m->moved[i] = m->contact[s->contact + (size_t)i];
        status =
            perpi_contact_move(g->model, m->pose, &m->frozen[s->contact + (size_t)i], &m->moved[i]);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perpi_step_point point = {.in = {.model = g->model,
                                           .t = s->t,
                                           .h = s->h,
                                           .q = m->q,
                                           .v = m->v,
                                           .contact = m->moved,
                                           .contact_count = s->contact_count,
                                           .joint = m->joint,
                                           .s = m->memory,
                                           .q_end = m->q,
                                           .v_end = m->v,
                                           .settings = &m->settings},
                                    .carries = m->carries,
                                    .v = g->z + s->v,
                                    .p = g->z + s->p,
                                    .derivatives = derivatives};
    status = perpi_linear_step_at(m->linear, &point);
    const perp_contact_problem* P = perpi_linear_problem(m->linear);
    if (status == PERP_OK && (P->dof_count != s->dofs || P->row_count != s->rows)) {
        status = perpi_fail(m->context, PERP_ERROR_UNSUPPORTED,
                            "mpec: a parameter changes the rows of the step at t = %.9g", s->t);
    }
    if (status == PERP_OK) {
        memcpy(m->q_after, perpi_linear_q_next(m->linear), (size_t)m->q_size * sizeof *m->q_after);
    }
    return status;
}

/* Numbers of the constraints that their laws read. */
static void read_constraints(perpi_mpec* m, const perpi_mpec_step* s)
{
    const perp_contact_problem* P = perpi_linear_problem(m->linear);
    const double* u = perpi_linear_row_speeds(m->linear);
    for (int32_t i = 0; i < s->constraint_count; ++i) {
        perpi_mpec_constraint* c = &m->constraint[s->constraint + (size_t)i];
        const bool contact = P->constraint[i].kind == PERP_CONSTRAINT_CONTACT;
        c->mu = P->constraint[i].mu;
        for (int32_t r = 0; r < c->rows; ++r) {
            const int32_t row = c->row + r;
            c->u[r] = u[row];
            c->lower[r] = P->lower != NULL && !contact ? P->lower[row] : 0.0;
            c->upper[r] = P->upper != NULL && !contact ? P->upper[row] : 0.0;
            c->compliance[r] = P->compliance != NULL && !contact ? P->compliance[row] : 0.0;
        }
    }
}

/* The state after the step minus the one that it leads to. */
static void state_defect(const perpi_mpec* m, const stage* g, double* out)
{
    const int32_t qs = m->dimension == 2 ? 3 : 7, vs = m->dimension == 2 ? 3 : 6;
    const double* reference =
        m->reference_q + g->t->reference_q + (size_t)(g->index + 1) * (size_t)m->q_size;
    const double *q = perpi_linear_q_next(m->linear), *v = perpi_linear_v_next(m->linear);
    const double* x = g->z + g->s->x_next;
    for (int32_t b = 0; b < m->body_count; ++b) {
        const int32_t place = m->place[b];
        for (int32_t k = 0; place >= 0 && k < m->dofs[b]; ++k) {
            out[m->nd + place + k] = x[m->nd + place + k] - v[vs * b + k];
            if (m->dimension == 2 || k < 3) {
                out[place + k] = reference[qs * b + k] + x[place + k] - q[qs * b + k];
            }
        }
        if (place >= 0 && m->dimension == 3 && m->dofs[b] == 6) {
            const quat here =
                q4_mul(q4_exp(v3_from(x + place + 3)), quat_of(reference + 7 * (size_t)b));
            v3_to(q4_log(q4_mul(here, q4_conj(quat_of(q + 7 * (size_t)b)))), out + place + 3);
        }
    }
}

static perp_status step_values(perpi_mpec* m, const stage* g, bool derivatives, double* value)
{
    const perpi_mpec_step* s = g->s;
    const perp_status status = evaluate_problem(m, g, derivatives);
    if (status != PERP_OK) {
        return status;
    }
    perpi_linear_dynamics(m->linear, value + s->dynamics);
    read_constraints(m, s);
    for (int32_t i = 0; i < s->constraint_count; ++i) {
        const perpi_mpec_constraint* c = &m->constraint[s->constraint + (size_t)i];
        perpi_mpec_law(m, c, g->z + s->p + c->row, NULL, value + c->law, NULL, NULL);
    }
    state_defect(m, g, value + s->state);
    return PERP_OK;
}

static perp_status all_values(perpi_mpec* m, const double* z, const double* parameter,
                              bool derivatives, double* value,
                              void (*each)(perpi_mpec* m, const stage* g))
{
    const perp_model* model;
    perp_status status = m->model_of.at(m->model_of.user, parameter, &model);
    for (size_t k = 0; status == PERP_OK && k < m->trajectory_count; ++k) {
        const perpi_mpec_trajectory* t = &m->trajectory[k];
        for (int32_t i = 0; status == PERP_OK && i < t->steps; ++i) {
            const stage g = {
                .model = model, .t = t, .index = i, .s = &m->step[t->step + (size_t)i], .z = z};
            status = step_values(m, &g, derivatives, value);
            if (status == PERP_OK && each != NULL) {
                each(m, &g);
            }
        }
    }
    m->evaluations += 1;
    return status;
}

/* ---- derivatives of one step ---------------------------------------------------------------------------*/

/* The displacement k of a body as one of its pose, in the layout of linear_step.h. */
static void set_displacement(const perpi_mpec* m, const stage* g, int32_t body, int32_t k,
                             double* dq)
{
    double* to = dq + (m->dimension == 2 ? 3 : 6) * (size_t)body;
    if (m->dimension == 2 || k < 3) {
        to[k] = 1.0;
        return;
    }
    const mat3 J = turn_jacobian(v3_from(g->z + g->s->x + m->place[body] + 3));
    v3_to(m3_column(J, k - 3), to + 3);
}

/* Writes the column (body, k) of the blocks of dynamics by the state. own: the blocks of the
 * bodies, then of the pairs. */
static void write_column(const perpi_mpec* m, const stage* g, int32_t body, int32_t k,
                         const double* r, double* own)
{
    for (int32_t b = 0; b < m->body_count; ++b) {
        const int32_t n = m->place[b] >= 0 ? m->dofs[b] : 0;
        for (int32_t i = 0; b == body && i < n; ++i) {
            own[i * n + k] = r[m->place[b] + i];
        }
        own += n * n;
    }
    for (int32_t i = 0; i < g->s->pair_count; ++i) {
        const int32_t* b = m->pair[g->s->pair + (size_t)i].body;
        for (int side = 0; side < 2; ++side) {
            const int32_t rows = m->dofs[b[side]], columns = m->dofs[b[1 - side]];
            for (int32_t a = 0; b[1 - side] == body && a < rows; ++a) {
                own[a * columns + k] = r[m->place[b[side]] + a];
            }
            own += rows * columns;
        }
    }
}

static void write_slopes(perpi_mpec* m, const stage* g, int32_t body, int32_t k, const double* u)
{
    for (int32_t i = 0; i < g->s->constraint_count; ++i) {
        const perpi_mpec_constraint* c = &m->constraint[g->s->constraint + (size_t)i];
        const int32_t velocities = c->dofs[0] + c->dofs[1];
        const int32_t columns = velocities + c->turns[0] + c->turns[1];
        for (int side = 0; side < 2; ++side) {
            if (c->body[side] != body || c->turns[side] == 0) {
                continue;
            }
            const int32_t column = velocities + (side == 1 ? c->turns[0] : 0) + k;
            for (int32_t r = 0; r < c->rows; ++r) {
                m->slope[c->slope + (size_t)(r * columns + column)] = u[c->row + r];
            }
        }
    }
}

/* Dynamics and rows by the state before the step; returns the number of entries. */
static size_t by_state(perpi_mpec* m, const stage* g, double* entry)
{
    const int32_t at_v = m->v_size; /* perpi_linear_size.v: velocities follow displacements */
    size_t blocks = 0;
    for (int32_t b = 0; b < m->body_count; ++b) {
        blocks += m->place[b] >= 0 ? (size_t)(m->dofs[b] * m->dofs[b]) : 0;
    }
    for (int32_t i = 0; i < g->s->pair_count; ++i) {
        const int32_t* b = m->pair[g->s->pair + (size_t)i].body;
        blocks += 2 * (size_t)(m->dofs[b[0]] * m->dofs[b[1]]);
    }
    memset(entry, 0, 2 * blocks * sizeof *entry);
    for (int part = 0; part < 2; ++part) {
        for (int32_t colour = 0; colour < m->colours; ++colour) {
            for (int32_t k = 0; k < 6; ++k) {
                bool any = false;
                memset(m->dx, 0, m->dx_size * sizeof *m->dx);
                for (int32_t b = 0; b < m->body_count; ++b) {
                    if (m->place[b] < 0 || m->colour[b] != colour || k >= m->dofs[b]) {
                        continue;
                    }
                    any = true;
                    if (part == 0) {
                        set_displacement(m, g, b, k, m->dx);
                    } else {
                        m->dx[at_v + (m->dimension == 2 ? 3 : 6) * b + k] = 1.0;
                    }
                }
                if (!any) {
                    continue;
                }
                perpi_linear_point_residual(m->linear, m->dx, m->r_v, m->r_u);
                for (int32_t b = 0; b < m->body_count; ++b) {
                    if (m->place[b] < 0 || m->colour[b] != colour || k >= m->dofs[b]) {
                        continue;
                    }
                    write_column(m, g, b, k, m->r_v, entry + (size_t)part * blocks);
                    if (part == 0) {
                        write_slopes(m, g, b, k, m->r_u);
                    }
                }
            }
        }
    }
    return 2 * blocks;
}

/* Dynamics by v' and p; rows by v'. */
static size_t by_solution(perpi_mpec* m, const stage* g, double* entry)
{
    const perp_contact_problem* P = perpi_linear_problem(m->linear);
    size_t at = 0;
    const double* M = P->M;
    for (int32_t b = 0; b < P->block_count; ++b) {
        const int32_t n = P->dof[b + 1] - P->dof[b];
        for (int32_t i = 0; i < n * n; ++i) {
            entry[at++] = -M[i];
        }
        M += n * n;
    }
    for (int32_t i = 0; i < g->s->constraint_count; ++i) {
        const perpi_mpec_constraint* c = &m->constraint[g->s->constraint + (size_t)i];
        const double* J = P->J + P->constraint[i].jac;
        const int32_t columns = c->dofs[0] + c->dofs[1] + c->turns[0] + c->turns[1];
        for (int side = 0; side < 2; ++side) {
            const int32_t n = c->dofs[side], first = side == 1 ? c->dofs[0] : 0;
            for (int32_t k = 0; k < n; ++k) {
                for (int32_t r = 0; r < c->rows; ++r) {
                    entry[at++] = J[r * n + k];
                    m->slope[c->slope + (size_t)(r * columns + first + k)] = J[r * n + k];
                }
            }
            J += c->rows * n;
        }
    }
    return at;
}

/* Rows of the rotation of `block` by J: block(3.., 0..columns) <- J block. */
static void turn_rows(mat3 J, double sign, int32_t columns, double* block)
{
    for (int32_t k = 0; k < columns; ++k) {
        const vec3 a = v3(block[3 * columns + k], block[4 * columns + k], block[5 * columns + k]);
        const vec3 b = v3_scale(sign, m3_mul(J, a));
        block[3 * columns + k] = b.x;
        block[4 * columns + k] = b.y;
        block[5 * columns + k] = b.z;
    }
}

/* The state after the step of a body whose coordinates depend on each other: blocks by
 * displacements, velocities, v' and by that state itself, of displacements, then of velocities. */
static size_t by_all(perpi_mpec* m, const stage* g, int32_t body, double* entry)
{
    const int32_t n = m->dofs[body], place = m->place[body];
    const perpi_linear_size at = perpi_linear_size_of(g->model);
    const size_t block = (size_t)(n * n);
    double* zero = m->r_v; /* of v', then the direction */
    memset(entry, 0, 8 * block * sizeof *entry);
    for (int of = 0; of < 3; ++of) {
        for (int32_t k = 0; k < n; ++k) {
            memset(m->dx, 0, m->dx_size * sizeof *m->dx);
            memset(zero, 0, (size_t)g->s->dofs * sizeof *zero);
            if (of == 0) {
                set_displacement(m, g, body, k, m->dx);
            } else if (of == 1) {
                m->dx[at.v + 6 * body + k] = 1.0;
            } else {
                zero[place + k] = 1.0;
            }
            perpi_linear_point_advance(m->linear, m->dx, zero, m->next);
            for (int32_t i = 0; i < n; ++i) {
                entry[(size_t)of * block + (size_t)(i * n + k)] = -m->next[at.q + 6 * body + i];
                entry[(size_t)(4 + of) * block + (size_t)(i * n + k)] =
                    -m->next[at.v + 6 * body + i];
            }
        }
    }
    for (int32_t k = 0; k < n; ++k) {
        entry[3 * block + (size_t)(k * n + k)] = entry[7 * block + (size_t)(k * n + k)] = 1.0;
    }
    if (n == 6) {
        double defect[6];
        const double* x = g->z + g->s->x_next + place;
        const double* reference = m->reference_q + g->t->reference_q +
                                  (size_t)(g->index + 1) * (size_t)m->q_size + 7 * (size_t)body;
        const quat here = q4_mul(q4_exp(v3_from(x + 3)), quat_of(reference));
        const vec3 e = q4_log(
            q4_mul(here, q4_conj(quat_of(perpi_linear_q_next(m->linear) + 7 * (size_t)body))));
        v3_to(e, defect + 3);
        const mat3 left = turn_inverse(e), right = turn_inverse(v3_scale(-1.0, e));
        for (int of = 0; of < 3; ++of) {
            turn_rows(right, 1.0, n, entry + (size_t)of * block);
        }
        const mat3 J = m3_mm(left, turn_jacobian(v3_from(x + 3)));
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                entry[3 * block + (size_t)((3 + i) * n + 3 + j)] = J.m[i][j];
            }
        }
    }
    return 8 * block;
}

static void step_jacobian(perpi_mpec* m, const stage* g)
{
    const perpi_mpec_step* s = g->s;
    double* entry = m->jacobian + s->jacobian;
    entry += by_solution(m, g, entry);
    entry += by_state(m, g, entry);
    for (int32_t i = 0; i < s->constraint_count; ++i) {
        const perpi_mpec_constraint* c = &m->constraint[s->constraint + (size_t)i];
        double value[PERPI_MPEC_LAWS];
        perpi_mpec_law(m, c, g->z + s->p + c->row, NULL, value, entry, NULL);
        entry += c->law_count * c->local_count;
    }
    for (int32_t b = 0; b < m->body_count; ++b) {
        const int32_t n = m->place[b] >= 0 ? m->dofs[b] : 0;
        for (int32_t k = 0; m->diagonal[b] && k < n; ++k) {
            *entry++ = -1.0;
            *entry++ = -s->h;
            *entry++ = 1.0;
            *entry++ = -1.0;
            *entry++ = 1.0;
        }
        if (!m->diagonal[b] && n > 0) {
            entry += by_all(m, g, b, entry);
        }
    }
}

/* ---- the whole -----------------------------------------------------------------------------------------*/

/* Part of the unit of a parameter by which differences of fourth order are taken. */
static const double DIFFERENCE = 1e-3;

/* Columns of parameters that change more than friction, by differences of all equations. */
static perp_status general_columns(perpi_mpec* m, const double* z)
{
    static const double place[4] = {-2.0, -1.0, 1.0, 2.0}, ahead[4] = {1.0, 2.0, 3.0, 4.0};
    static const double weight[4] = {1.0 / 12.0, -8.0 / 12.0, 8.0 / 12.0, -1.0 / 12.0};
    static const double weight_ahead[4] = {4.0, -3.0, 4.0 / 3.0, -0.25};
    double* entry = m->jacobian + m->general_jacobian;
    double* parameter = NULL;
    perp_status status =
        perpi_alloc(m->context, (size_t)m->parameter_count + 1, sizeof *parameter, &parameter);
    for (int32_t i = 0; status == PERP_OK && i < m->parameter_count; ++i) {
        if (!m->general[i]) {
            continue;
        }
        double by = DIFFERENCE * m->unit[i];
        const bool inside = z[i] - 2.0 * by > m->low[i] && z[i] + 2.0 * by < m->high[i];
        by = inside || z[i] + 4.0 * by <= m->high[i] ? by : -by;
        memcpy(parameter, z, (size_t)m->parameter_count * sizeof *parameter);
        if (!inside) {
            status = all_values(m, z, parameter, false, m->other, NULL);
        }
        for (int32_t r = 0; r < m->m; ++r) {
            entry[r] = inside ? 0.0 : -25.0 / 12.0 * m->other[r] / by;
        }
        for (int k = 0; status == PERP_OK && k < 4; ++k) {
            parameter[i] = z[i] + (inside ? place[k] : ahead[k]) * by;
            status = all_values(m, z, parameter, false, m->other, NULL);
            for (int32_t r = 0; r < m->m; ++r) {
                entry[r] += (inside ? weight[k] : weight_ahead[k]) * m->other[r] / by;
            }
        }
        entry += m->m;
    }
    perpi_free(m->context, parameter);
    return status;
}

static bool is_at(const perpi_mpec* m, const double* z)
{
    return memcmp(m->at, z, (size_t)m->n * sizeof *z) == 0;
}

perp_status perpi_mpec_values(perpi_mpec* m, const double* z)
{
    if (m->has_value && is_at(m, z)) {
        return PERP_OK;
    }
    m->has_value = m->has_jacobian = false;
    memcpy(m->at, z, (size_t)m->n * sizeof *z);
    const perp_status status = all_values(m, z, z, false, m->value, NULL);
    m->has_value = status == PERP_OK;
    return status;
}

perp_status perpi_mpec_jacobian(perpi_mpec* m, const double* z)
{
    if (m->has_jacobian && is_at(m, z)) {
        return PERP_OK;
    }
    m->has_value = m->has_jacobian = false;
    memcpy(m->at, z, (size_t)m->n * sizeof *z);
    perp_status status = general_columns(m, z);
    if (status == PERP_OK) {
        status = all_values(m, z, z, true, m->value, step_jacobian);
    }
    m->has_value = m->has_jacobian = status == PERP_OK;
    return status;
}

perp_status perpi_mpec_hessian(perpi_mpec* m, const double* z, double factor, const double* lambda,
                               double* out)
{
    const perp_status status = perpi_mpec_jacobian(m, z);
    if (status != PERP_OK) {
        return status;
    }
    size_t end = 0;
    for (size_t k = 0; k < m->step_count; ++k) {
        const perpi_mpec_step* s = &m->step[k];
        for (int32_t i = 0; i < s->constraint_count; ++i) {
            const perpi_mpec_constraint* c = &m->constraint[s->constraint + (size_t)i];
            double value[PERPI_MPEC_LAWS];
            if (c->kind == PERPI_MPEC_EQUALITY) {
                continue;
            }
            perpi_mpec_law(m, c, z + s->p + c->row, lambda + c->law, value, NULL, out + c->hessian);
            end = c->hessian + (size_t)c->local_count * ((size_t)c->local_count + 1) / 2;
        }
    }
    hessian_of_objective(m, z, factor, end, out);
    return PERP_OK;
}
