/* src/sim/decompress.c - see decompress.h: decompression as one contact problem.
 *
 * A contact with the given impulse a has p_n = a + p', 0 <= p' perp u_n >= 0. The friction set is
 * F(mu p_n) = F(mu a) + F(mu p'), because F is convex and positively homogeneous; and a sum of
 * impulses has maximum dissipation exactly if both parts have. So the contact enters the problem
 * twice:
 *
 *   meeting   the contact as it is, with impulses p': active where the bodies would meet again
 *   leaving   a contact whose normal impulse is a for any motion, with the friction of that.
 *             Its normal row acts on an auxiliary velocity z, of mass m and with k = -a:
 *                 m z = -a + p_n,  0 <= p_n perp z >= 0   =>   p_n = a, z = 0;
 *             the force of a on the bodies is J_n' a in their k
 *
 * The solution has p_n = a + p' and the sum of the two friction impulses. Every method for contact
 * problems solves it without changes.
 *
 * A constraint connects at most two blocks. Where one body is prescribed, z takes its place.
 * Between two dynamic bodies the block of z replaces B and also contains the tangential velocity y
 * of B's point: y = J_t v_B, equality rows (a tie). The masses m of y are subtracted from B, M_B -
 * J_t' m J_t, so that the total is unchanged (as in layers.h). With n ties on B, R rows each, m_r =
 * 1 / (2 n R W_rr) leaves at least half of M_B; W = J M^-1 J' of B.
 */
#include "sim/decompress.h"

#include <string.h>

#include "linalg/dense.h"

typedef struct builder {
    perp_contact_problem problem;
    size_t* mass_at; /* per block of f: where its M starts */
    int32_t* ties;   /* per block of f: number of ties whose mass is subtracted from it */
    int32_t* part;   /* per contact: its second constraint, or -1 */
    int32_t* dof;
    perp_constraint* constraint;
    double *M, *k, *J, *b, *lower, *upper, *compliance, *v, *p;
    int32_t blocks, constraints, rows;
    size_t mass, jac;
} builder;

static bool has_friction(const perp_constraint* c, double asked)
{
    return asked > 0.0 && c->rows > 1 && c->mu > 0.0;
}

static int32_t dofs_of(const builder* x, int32_t block)
{
    return x->dof[block + 1] - x->dof[block];
}

/* The Jacobian of a constraint of f on one side. */
static const double* jacobian(const perpi_formulation* f, const perp_constraint* c, int side)
{
    const bool second = side == 1 && c->block[0] >= 0;
    const int32_t before = second ? f->dof[c->block[0] + 1] - f->dof[c->block[0]] : 0;
    return f->J + c->jac + (size_t)(c->rows * before);
}

/* J M^-1 J' of one row on one side, M the masses of f. */
static double mobility(const perpi_formulation* f, const size_t* mass_at, const perp_constraint* c,
                       int side, int32_t r)
{
    const int32_t block = c->block[side];
    if (block < 0) {
        return 0.0;
    }
    const int32_t n = f->dof[block + 1] - f->dof[block];
    const double* J = jacobian(f, c, side) + (size_t)(r * n);
    double L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX], Y[PERPI_BLOCK_MAX];
    memcpy(Y, J, (size_t)n * sizeof *Y);
    if (!perpi_chol_factor(n, f->M + mass_at[block], L)) {
        return 0.0;
    }
    perpi_chol_solve(n, L, Y);
    return perpi_dot(n, J, Y);
}

/* Allocates all arrays, and copies those of f. */
static perp_status copy_problem(builder* x, perpi_arena* scratch, const perpi_formulation* f,
                                const double* asked)
{
    const perp_contact_problem* P = &f->problem;
    const size_t contacts = (size_t)f->contact_count;
    size_t extra = 0;
    for (size_t i = 0; i < contacts; ++i) {
        extra += has_friction(&f->constraint[i], asked[i]);
    }
    /* of each: a block of at most 4, a contact of 4 rows and a tie of 3, on blocks of 6 and 4 */
    const size_t blocks = (size_t)P->block_count, rows = (size_t)P->row_count + 7 * extra,
                 dofs = (size_t)P->dof_count + 4 * extra;
    const struct {
        void* array;
        size_t count, size;
    } needs[] = {{&x->mass_at, blocks, sizeof *x->mass_at},
                 {&x->ties, blocks, sizeof *x->ties},
                 {&x->part, contacts, sizeof *x->part},
                 {&x->dof, blocks + extra + 1, sizeof *x->dof},
                 {&x->constraint, (size_t)P->constraint_count + 2 * extra, sizeof *x->constraint},
                 {&x->M, f->M_used + 16 * extra, sizeof(double)},
                 {&x->k, dofs, sizeof(double)},
                 {&x->J, f->jac + 7 * 10 * extra, sizeof(double)},
                 {&x->b, rows, sizeof(double)},
                 {&x->lower, rows, sizeof(double)},
                 {&x->upper, rows, sizeof(double)},
                 {&x->compliance, rows, sizeof(double)},
                 {&x->v, dofs, sizeof(double)},
                 {&x->p, rows, sizeof(double)}};
    perp_status status = perpi_arena_reset(scratch);
    for (size_t i = 0; status == PERP_OK && i < sizeof needs / sizeof needs[0]; ++i) {
        status = perpi_arena_take(scratch, needs[i].count + 1, needs[i].size, needs[i].array);
        if (status == PERP_OK) {
            void* taken;
            memcpy(&taken, needs[i].array, sizeof taken);
            memset(taken, 0, (needs[i].count + 1) * needs[i].size);
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    x->blocks = P->block_count;
    x->constraints = P->constraint_count;
    x->rows = P->row_count;
    x->mass = f->M_used;
    x->jac = f->jac;
    memcpy(x->dof, f->dof, (blocks + 1) * sizeof *x->dof);
    memcpy(x->M, f->M, f->M_used * sizeof *x->M);
    memcpy(x->k, f->k, (size_t)P->dof_count * sizeof *x->k);
    memcpy(x->J, f->J, f->jac * sizeof *x->J);
    memcpy(x->b, f->b, (size_t)P->row_count * sizeof *x->b);
    memcpy(x->constraint, f->constraint, (size_t)P->constraint_count * sizeof *x->constraint);
    if (P->lower != NULL) {
        memcpy(x->lower, P->lower, (size_t)P->row_count * sizeof *x->lower);
        memcpy(x->upper, P->upper, (size_t)P->row_count * sizeof *x->upper);
        memcpy(x->compliance, P->compliance, (size_t)P->row_count * sizeof *x->compliance);
    }
    size_t at = 0;
    for (size_t i = 0; i < blocks; ++i) {
        x->mass_at[i] = at;
        at += (size_t)(dofs_of(x, (int32_t)i) * dofs_of(x, (int32_t)i));
    }
    return PERP_OK;
}

/* A new block of n velocities without couplings; its masses are still 0. */
static int32_t append_block(builder* x, int32_t n)
{
    x->dof[x->blocks + 1] = x->dof[x->blocks] + n;
    x->mass += (size_t)(n * n);
    return x->blocks++;
}

static perp_constraint* append_constraint(builder* x, perp_constraint_kind kind, int32_t rows)
{
    perp_constraint* c = &x->constraint[x->constraints++];
    *c = (perp_constraint){
        .kind = kind, .block = {-1, -1}, .row = x->rows, .rows = rows, .jac = x->jac};
    x->rows += rows;
    return c;
}

/* At the end of J: `zeros` rows of 0, then the tangential rows of a contact of f on one side. */
static void append_tangential(builder* x, const perpi_formulation* f, const perp_constraint* c,
                              int side, int32_t zeros)
{
    const int32_t n = dofs_of(x, c->block[side]), t = c->rows - 1;
    x->jac += (size_t)(zeros * n);
    memcpy(x->J + x->jac, jacobian(f, c, side) + (size_t)n, (size_t)(t * n) * sizeof *x->J);
    x->jac += (size_t)(t * n);
}

/* The block of B's tangential velocities and z; its mass is subtracted from that of B. */
static void split_masses(builder* x, const perpi_formulation* f, const perp_constraint* c,
                         const double* v, int32_t block, double* M)
{
    const int32_t side = 1, B = c->block[side], t = c->rows - 1;
    const int32_t n = f->dof[B + 1] - f->dof[B], size = 1 + t;
    const double* J = jacobian(f, c, side) + (size_t)n; /* the tangential rows */
    double lent = 0.0;
    for (int32_t r = 0; r < t; ++r) {
        const double W = mobility(f, x->mass_at, c, side, r + 1);
        lent = W > 0.0 ? 0.5 / ((double)(x->ties[B] * t) * W) : lent;
        M[(r + 1) * size + r + 1] = lent;
        double y = 0.0;
        for (int32_t a = 0; a < n; ++a) {
            y += J[r * n + a] * v[f->dof[B] + a];
        }
        x->k[x->dof[block] + 1 + r] = lent * y;
        x->v[x->dof[block] + 1 + r] = y;
        for (int32_t a = 0; a < n; ++a) {
            x->k[f->dof[B] + a] -= J[r * n + a] * lent * y;
            for (int32_t d = 0; d < n; ++d) {
                x->M[x->mass_at[B] + (size_t)(a * n + d)] -= J[r * n + a] * lent * J[r * n + d];
            }
        }
    }
}

/* The second constraint of a contact, with its given normal impulse. */
static void append_leaving(builder* x, const perpi_formulation* f, int32_t i, double asked,
                           const double* v)
{
    const perp_constraint* c = &f->constraint[i];
    const int32_t t = c->rows - 1;
    const bool tied = c->block[0] >= 0 && c->block[1] >= 0;
    const int free_side = c->block[0] >= 0 ? 0 : 1; /* the side that stays */
    double* M = x->M + x->mass;
    const int32_t size = tied ? 1 + t : 1, block = append_block(x, size);
    const double W = mobility(f, x->mass_at, c, 0, 1) + mobility(f, x->mass_at, c, 1, 1);
    M[0] = W > 0.0 ? 1.0 / W : 1.0;
    x->k[x->dof[block]] = -asked;
    if (tied) {
        split_masses(x, f, c, v, block, M);
    }
    perp_constraint* leaving = append_constraint(x, PERP_CONSTRAINT_CONTACT, c->rows);
    leaving->block[0] = c->block[free_side];
    leaving->block[1] = block;
    leaving->cone = c->cone;
    leaving->directions = c->directions;
    leaving->mu = c->mu;
    memcpy(leaving->e, c->e, sizeof c->e);
    append_tangential(x, f, c, free_side, 1);
    x->J[x->jac] = 1.0; /* z in the normal row, y in the others */
    for (int32_t r = 0; tied && r < t; ++r) {
        x->J[x->jac + (size_t)((r + 1) * size + r + 1)] = 1.0;
    }
    x->jac += (size_t)(c->rows * size);
    for (int32_t r = 0; r < t; ++r) {
        x->b[leaving->row + 1 + r] = f->b[c->row + 1 + r];
    }
    x->p[leaving->row] = asked;
    if (!tied) {
        return;
    }
    perp_constraint* tie = append_constraint(x, PERP_CONSTRAINT_EQUALITY, t);
    tie->block[0] = c->block[1];
    tie->block[1] = block;
    append_tangential(x, f, c, 1, 0);
    for (int32_t r = 0; r < t; ++r) {
        x->J[x->jac + (size_t)(r * size + r + 1)] = -1.0;
    }
    x->jac += (size_t)(t * size);
}

static void set_problem_arrays(builder* x, const perpi_formulation* f)
{
    x->problem = (perp_contact_problem){.block_count = x->blocks,
                                        .constraint_count = x->constraints,
                                        .group_count = f->problem.group_count,
                                        .dof_count = x->dof[x->blocks],
                                        .row_count = x->rows,
                                        .dof = x->dof,
                                        .M = x->M,
                                        .k = x->k,
                                        .J = x->J,
                                        .b = x->b,
                                        .lower = x->lower,
                                        .upper = x->upper,
                                        .compliance = x->compliance,
                                        .constraint = x->constraint,
                                        .group = f->problem.group};
}

/* Adds the given normal impulses to the momentum of the bodies. */
static void add_given_impulses(builder* x, const perpi_formulation* f, const double* asked)
{
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        for (int side = 0; side < 2; ++side) {
            const int32_t block = c->block[side];
            const int32_t n = block >= 0 ? f->dof[block + 1] - f->dof[block] : 0;
            const double* J = jacobian(f, c, side);
            for (int32_t a = 0; a < n; ++a) {
                x->k[f->dof[block] + a] += J[a] * asked[i];
            }
        }
    }
}

perp_status perpi_decompress(perpi_arena* scratch, perp_contact_solver* solver,
                             const perp_solve_options* options, const perpi_formulation* f,
                             const double* asked, double* v, double* p, perp_report* report)
{
    builder x = {0};
    perp_status status = copy_problem(&x, scratch, f, asked);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        if (has_friction(c, asked[i]) && c->block[0] >= 0 && c->block[1] >= 0) {
            x.ties[c->block[1]] += 1;
        }
    }
    memcpy(x.v, v, (size_t)f->problem.dof_count * sizeof *v);
    for (int32_t i = 0; i < f->contact_count; ++i) {
        x.part[i] = -1;
        if (has_friction(&f->constraint[i], asked[i])) {
            x.part[i] = x.constraints;
            append_leaving(&x, f, i, asked[i], v);
        }
    }
    add_given_impulses(&x, f, asked);
    set_problem_arrays(&x, f);
    status = perp_contact_solve(solver, &x.problem, options, true, x.v, x.p, NULL, report);
    if (status != PERP_OK) {
        return status;
    }
    memcpy(v, x.v, (size_t)f->problem.dof_count * sizeof *v);
    memcpy(p, x.p, (size_t)f->problem.row_count * sizeof *p);
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        p[c->row] += asked[i];
        for (int32_t r = 1; x.part[i] >= 0 && r < c->rows; ++r) {
            p[c->row + r] += x.p[x.constraint[x.part[i]].row + r];
        }
    }
    return PERP_OK;
}
