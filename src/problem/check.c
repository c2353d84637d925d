/* src/problem/check.c - the rules of perp/problem.h, one function per noun. Every comparison is
 * written so that NaN breaks the rule. The message names the index and the rule. */
#include <inttypes.h>
#include <math.h>

#include "base/context.h"
#include "linalg/pair.h"
#include "problem/operators.h"
#include "problem/check.h"

#define SYMMETRY_TOLERANCE 1e-10 /* on |M_ij - M_ji| / sqrt(M_ii M_jj) */

static perp_status check_missing(perp_context* context, const char* name, const void* array,
                                 int32_t count)
{
    if (count > 0 && array == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: is NULL, needs %" PRId32 " entries", name,
                          count);
    }
    return PERP_OK;
}

static perp_status check_finite(perp_context* context, const char* name, const double* x,
                                int32_t count)
{
    if (perpi_all_finite((size_t)count, x)) {
        return PERP_OK;
    }
    for (int32_t i = 0; i < count; ++i) {
        if (!isfinite(x[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "%s[%" PRId32 "]: must be a finite number, got %g", name, i, x[i]);
        }
    }
    return PERP_OK;
}

/* what: the noun the index counts, "row" or "unknown". */
static perp_status check_bounds(perp_context* context, const char* what, int32_t i, double lower,
                                double upper)
{
    if (!(lower <= upper) || !(lower < INFINITY) || !(upper > -INFINITY)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s %" PRId32
                          ": bounds must satisfy lower <= upper, lower < inf, upper > "
                          "-inf, got [%g, %g]",
                          what, i, lower, upper);
    }
    return PERP_OK;
}

/* ---- contact problem ---------------------------------------------------------------------------------*/

static perp_status check_sizes(perp_context* context, const perp_contact_problem* P)
{
    if (P->block_count < 0 || P->constraint_count < 0 || P->group_count < 0 || P->dof_count < 0 ||
        P->row_count < 0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "sizes must be >= 0, got %" PRId32 " blocks, %" PRId32
                          " constraints, %" PRId32 " groups, %" PRId32 " dofs, %" PRId32 " rows",
                          P->block_count, P->constraint_count, P->group_count, P->dof_count,
                          P->row_count);
    }
    if (P->dof != NULL && P->M != NULL && P->k != NULL && P->J != NULL && P->b != NULL &&
        P->constraint != NULL && (P->group != NULL || P->group_count == 0)) {
        return PERP_OK;
    }
    const struct {
        const char* name;
        const void* array;
        int32_t count;
    } need[] = {
        {"dof", P->dof, P->block_count},    {"M", P->M, P->block_count},
        {"k", P->k, P->dof_count},          {"J", P->J, P->constraint_count},
        {"b", P->b, P->row_count},          {"constraint", P->constraint, P->constraint_count},
        {"group", P->group, P->group_count}};
    for (size_t i = 0; i < sizeof need / sizeof need[0]; ++i) {
        const perp_status status =
            check_missing(context, need[i].name, need[i].array, need[i].count);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

/* Whether a block of six velocities is finite and symmetric to the bit, as those of a simulation are. */
static bool is_symmetric_block(const double* M, bool apart)
{
    if (apart && perpi_is_apart_above(M)) {
        const double sum = 0.0 * M[0] + 0.0 * M[7] + 0.0 * M[14] + 0.0 * M[21] + 0.0 * M[22] +
                           0.0 * M[23] + 0.0 * M[28] + 0.0 * M[29] + 0.0 * M[35];
        return sum == 0.0 && M[22] == M[27] && M[23] == M[33] && M[29] == M[34];
    }
    perpi_pair2 sum = {0.0, 0.0};
    for (int i = 0; i < 36; i += 2) {
        const perpi_pair2 a = perpi_pair2_at(M + i);
        sum += 0.0 * a; /* 0 if finite */
    }
    bool same = sum[0] == 0.0 && sum[1] == 0.0;
    for (int i = 1; i < 6; ++i) {
        for (int j = 0; j < i; ++j) {
            same &= M[6 * i + j] == M[6 * j + i];
        }
    }
    return same;
}

/* known: M has been factored already; L: room for the factor. */
static perp_status check_mass(perp_context* context, int32_t block, int32_t nv, const double* M,
                              bool known, double* L)
{
    const bool apart = nv == 6 && perpi_is_apart(M);
    const bool plain = nv == 6 && is_symmetric_block(M, apart);
    const bool finite = plain || perpi_all_finite((size_t)(nv * nv), M);
    for (int32_t i = 0; !finite && i < nv * nv; ++i) {
        if (!isfinite(M[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "block %" PRId32 ": M(%" PRId32 ",%" PRId32
                              ") must be a finite number, got %g",
                              block, i / nv, i % nv, M[i]);
        }
    }
    for (int32_t i = 0; !plain && i < nv; ++i) {
        const double *row = M + i * nv, *column = M + i;
        for (int32_t j = 0; j < i; ++j, column += nv) {
            const double a = row[j], b = *column;
            if (a == b) {
                continue;
            }
            const double size = sqrt(fabs(M[i * nv + i])) * sqrt(fabs(M[j * nv + j]));
            if (!(fabs(a - b) <= SYMMETRY_TOLERANCE * size)) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "block %" PRId32 ": M must be symmetric, M(%" PRId32 ",%" PRId32
                                  ") = %.17g but M(%" PRId32 ",%" PRId32 ") = %.17g",
                                  block, i, j, a, j, i, b);
            }
        }
    }
    if (!known && !(apart ? perpi_chol_factor_apart(M, L) : perpi_chol_factor(nv, M, L))) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "block %" PRId32 ": M must be positive definite", block);
    }
    return PERP_OK;
}

static perp_status check_blocks(perp_context* context, const perp_contact_problem* P, bool known,
                                double* L)
{
    if (P->block_count == 0) {
        return P->dof_count == 0
                   ? PERP_OK
                   : perpi_fail(context, PERP_ERROR_INPUT,
                                "dof_count must be 0 without blocks, got %" PRId32, P->dof_count);
    }
    if (P->dof[0] != 0) {
        return perpi_fail(context, PERP_ERROR_INPUT, "dof[0] must be 0, got %" PRId32, P->dof[0]);
    }
    const double* M = P->M;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int64_t nv = (int64_t)P->dof[i + 1] - P->dof[i];
        if (nv < 1 || nv > PERPI_BLOCK_MAX) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "block %" PRId32 ": must have 1 to 6 velocities, got %" PRId64, i,
                              nv);
        }
        if (P->dof[i + 1] > P->dof_count) {
            break;
        }
        double room[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX];
        const perp_status status = check_mass(context, i, (int32_t)nv, M, known,
                                              L != NULL ? L + 6 * (size_t)P->dof[i] : room);
        if (status != PERP_OK) {
            return status;
        }
        M += nv * nv;
    }
    if (P->dof[P->block_count] != P->dof_count) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "dof[%" PRId32 "] must be dof_count = %" PRId32 ", got %" PRId32,
                          P->block_count, P->dof_count, P->dof[P->block_count]);
    }
    return check_finite(context, "k", P->k, P->dof_count);
}

static perp_status check_cone(perp_context* context, int32_t ci, const perp_constraint* c)
{
    const int32_t t = c->rows - 1; /* tangential rows */
    const char* rule = NULL;
    switch (c->cone) {
    case PERP_CONE_NONE: rule = t == 0 ? NULL : "cone none has 1 row"; break;
    case PERP_CONE_POLYGON:
    case PERP_CONE_QUADRATIC:
        rule = t == 1 || t == 2 ? NULL : "cones polygon and quadratic have 2 or 3 rows";
        break;
    case PERP_CONE_ELLIPSOID: rule = t == 3 ? NULL : "cone ellipsoid has 4 rows"; break;
    default: rule = "unknown cone"; break;
    }
    if (rule != NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "constraint %" PRId32 ": %s, got cone %d with %" PRId32 " rows", ci, rule,
                          (int)c->cone, c->rows);
    }
    if (c->cone == PERP_CONE_POLYGON && (t == 1 ? c->directions != 2 : c->directions < 3)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "constraint %" PRId32 ": directions must be %s, got %" PRId32, ci,
                          t == 1 ? "2 with one tangential row" : ">= 3 with two tangential rows",
                          c->directions);
    }
    if (!(c->mu >= 0.0) || !isfinite(c->mu)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "constraint %" PRId32 ": mu must be >= 0, got %g", ci, c->mu);
    }
    for (int32_t i = 0; c->cone == PERP_CONE_ELLIPSOID && i < 3; ++i) {
        if (!(c->e[i] > 0.0) || !isfinite(c->e[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "constraint %" PRId32 ": e[%" PRId32 "] must be > 0, got %g", ci, i,
                              c->e[i]);
        }
    }
    return PERP_OK;
}

static perp_status check_constraint_rows(perp_context* context, const perp_contact_problem* P,
                                         int32_t ci)
{
    const perp_constraint* c = &P->constraint[ci];
    const double* J = P->J + c->jac;
    for (int side = 0; side < 2; ++side) {
        if (c->block[side] < 0) {
            continue;
        }
        const int32_t nv = P->dof[c->block[side] + 1] - P->dof[c->block[side]];
        const int64_t count = (int64_t)c->rows * nv;
        const bool finite = perpi_all_finite((size_t)count, J);
        for (int64_t i = 0; !finite && i < count; ++i) {
            if (!isfinite(J[i])) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "constraint %" PRId32 ": J of block %" PRId32 ", row %" PRId64
                                  ", column %" PRId64 " must be a finite number, got %g",
                                  ci, c->block[side], i / nv, i % nv, J[i]);
            }
        }
        J += count;
    }
    const bool finite = perpi_all_finite((size_t)c->rows, P->b + c->row);
    for (int32_t r = c->row; r < c->row + c->rows && !finite; ++r) {
        if (!isfinite(P->b[r])) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "constraint %" PRId32 ": b[%" PRId32
                              "] must be a finite number, got %g",
                              ci, r, P->b[r]);
        }
    }
    return PERP_OK;
}

static perp_status check_row_bounds(perp_context* context, int32_t ci, const perp_constraint* c,
                                    const double* lower, const double* upper)
{
    if (c->kind != PERP_CONSTRAINT_BOUNDED) {
        return PERP_OK;
    }
    if (lower == NULL || upper == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "constraint %" PRId32 ": is bounded, but lower or upper is NULL", ci);
    }
    perp_status status = PERP_OK;
    for (int32_t r = c->row; status == PERP_OK && r < c->row + c->rows; ++r) {
        status = check_bounds(context, "row", r, lower[r], upper[r]);
    }
    return status;
}

static perp_status check_compliance(perp_context* context, int32_t ci, const perp_constraint* c,
                                    const double* compliance)
{
    if (compliance == NULL || c->kind == PERP_CONSTRAINT_CONTACT) {
        return PERP_OK;
    }
    for (int32_t r = c->row; r < c->row + c->rows; ++r) {
        if (!(compliance[r] >= 0.0) || !isfinite(compliance[r])) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "constraint %" PRId32 ": compliance[%" PRId32
                              "] must be a finite number >= 0, got %g",
                              ci, r, compliance[r]);
        }
    }
    return PERP_OK;
}

/* What contact and friction problems share: kind, rows from `row` on, cone. */
static perp_status check_law(perp_context* context, int32_t ci, const perp_constraint* c,
                             int32_t row, int32_t row_count)
{
    if (c->kind != PERP_CONSTRAINT_CONTACT && c->kind != PERP_CONSTRAINT_EQUALITY &&
        c->kind != PERP_CONSTRAINT_BOUNDED) {
        return perpi_fail(context, PERP_ERROR_INPUT, "constraint %" PRId32 ": unknown kind %d", ci,
                          (int)c->kind);
    }
    if (c->row != row) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "constraint %" PRId32 ": row must be %" PRId32
                          " (rows follow each other), got %" PRId32,
                          ci, row, c->row);
    }
    if (c->rows < 1 || c->rows > row_count - row) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "constraint %" PRId32 ": rows must be >= 1 and fit row_count = %" PRId32
                          ", got %" PRId32,
                          ci, row_count, c->rows);
    }
    return c->kind == PERP_CONSTRAINT_CONTACT ? check_cone(context, ci, c) : PERP_OK;
}

/* Whether a contact with the most frequent cone passes what check_constraint tests besides J and b. */
static bool is_sound_contact(const perp_contact_problem* P, const perp_constraint* c, int32_t row)
{
    const int32_t *block = c->block, most = P->block_count;
    return c->kind == PERP_CONSTRAINT_CONTACT && c->cone == PERP_CONE_QUADRATIC && c->row == row &&
           (c->rows == 2 || c->rows == 3) && c->rows <= P->row_count - row && c->mu >= 0.0 &&
           c->mu < INFINITY && block[0] >= -1 && block[0] < most && block[1] >= -1 &&
           block[1] < most && block[0] != block[1];
}

static perp_status check_constraint(perp_context* context, const perp_contact_problem* P,
                                    int32_t ci, int32_t row)
{
    const perp_constraint* c = &P->constraint[ci];
    if (is_sound_contact(P, c, row)) {
        return check_constraint_rows(context, P, ci);
    }
    for (int side = 0; side < 2; ++side) {
        if (c->block[side] < -1 || c->block[side] >= P->block_count) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "constraint %" PRId32 ": block[%d] must be -1 to %" PRId32
                              ", got %" PRId32,
                              ci, side, P->block_count - 1, c->block[side]);
        }
    }
    if (c->block[0] == c->block[1]) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "constraint %" PRId32 ": its two blocks must differ, got %" PRId32
                          " twice",
                          ci, c->block[0]);
    }
    perp_status status = check_law(context, ci, c, row, P->row_count);
    if (status == PERP_OK) {
        status = check_constraint_rows(context, P, ci);
    }
    if (status == PERP_OK) {
        status = check_compliance(context, ci, c, P->compliance);
    }
    return status == PERP_OK ? check_row_bounds(context, ci, c, P->lower, P->upper) : status;
}

static perp_status check_group(perp_context* context, const perp_contact_problem* P, int32_t g)
{
    const perp_group* group = &P->group[g];
    if (group->count < 2 || group->member == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "group %" PRId32 ": must have at least 2 members, got %" PRId32, g,
                          group->count);
    }
    if (group->primary < 1 || group->primary > group->count) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "group %" PRId32 ": primary must be 1 to %" PRId32 ", got %" PRId32, g,
                          group->count, group->primary);
    }
    for (int32_t i = 0; i < group->count; ++i) {
        const int32_t ci = group->member[i];
        if (ci < 0 || ci >= P->constraint_count ||
            P->constraint[ci].kind != PERP_CONSTRAINT_CONTACT) {
            return perpi_fail(
                context, PERP_ERROR_INPUT,
                "group %" PRId32 ": member %" PRId32 " must be a contact, got %" PRId32, g, i, ci);
        }
        for (int32_t j = 0; j < i; ++j) {
            if (group->member[j] == ci) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "group %" PRId32 ": constraint %" PRId32 " is a member twice", g,
                                  ci);
            }
        }
    }
    return PERP_OK;
}

perp_status perp_contact_check(perp_context* context, const perp_contact_problem* problem)
{
    return perpi_contact_check(context, problem, false, NULL);
}

perp_status perpi_contact_check(perp_context* context, const perp_contact_problem* problem,
                                bool known, double* L)
{
    perp_status status = check_sizes(context, problem);
    if (status == PERP_OK) {
        status = check_blocks(context, problem, known, L);
    }
    int32_t row = 0;
    for (int32_t ci = 0; status == PERP_OK && ci < problem->constraint_count; ++ci) {
        status = check_constraint(context, problem, ci, row);
        row += status == PERP_OK ? problem->constraint[ci].rows : 0;
    }
    if (status == PERP_OK && row != problem->row_count) {
        status = perpi_fail(context, PERP_ERROR_INPUT,
                            "row_count must be the sum of rows = %" PRId32 ", got %" PRId32, row,
                            problem->row_count);
    }
    for (int32_t g = 0; status == PERP_OK && g < problem->group_count; ++g) {
        status = check_group(context, problem, g);
    }
    return status;
}

/* ---- friction problem ----------------------------------------------------------------------------------*/

static perp_status check_block_row(perp_context* context, const perp_friction_problem* P, int32_t i)
{
    const perp_block_rows* W = &P->W;
    int32_t last = -1;
    bool diagonal = false;
    for (int32_t e = W->start[i]; e < W->start[i + 1]; ++e) {
        const int32_t j = W->column[e];
        if (j <= last || j >= P->constraint_count) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "W, constraint %" PRId32 ": columns must ascend and be < %" PRId32
                              ", got %" PRId32 " after %" PRId32,
                              i, P->constraint_count, j, last);
        }
        last = j;
        diagonal = diagonal || j == i;
        const int32_t count = P->constraint[i].rows * P->constraint[j].rows;
        if (perpi_all_finite((size_t)count, W->value + W->at[e])) {
            continue;
        }
        for (int32_t k = 0; k < count; ++k) {
            if (!isfinite(W->value[W->at[e] + (size_t)k])) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "W, block (%" PRId32 ",%" PRId32
                                  "): must be finite numbers, got %g",
                                  i, j, W->value[W->at[e] + (size_t)k]);
            }
        }
    }
    if (!diagonal) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "W, constraint %" PRId32 ": the diagonal block is missing", i);
    }
    return PERP_OK;
}

static perp_status check_friction_arrays(perp_context* context, const perp_friction_problem* P)
{
    if (P->constraint_count < 0 || P->row_count < 0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "sizes must be >= 0, got %" PRId32 " constraints, %" PRId32 " rows",
                          P->constraint_count, P->row_count);
    }
    const struct {
        const char* name;
        const void* array;
        int32_t count;
    } need[] = {{"q", P->q, P->row_count},
                {"constraint", P->constraint, P->constraint_count},
                {"W.start", P->W.start, P->constraint_count},
                {"W.column", P->W.column, P->constraint_count},
                {"W.at", P->W.at, P->constraint_count},
                {"W.value", P->W.value, P->constraint_count}};
    perp_status status = PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < sizeof need / sizeof need[0]; ++i) {
        status = check_missing(context, need[i].name, need[i].array, need[i].count);
    }
    return status;
}

perp_status perp_friction_check(perp_context* context, const perp_friction_problem* problem)
{
    const perp_friction_problem* P = problem;
    perp_status status = check_friction_arrays(context, P);
    int32_t row = 0;
    for (int32_t i = 0; status == PERP_OK && i < P->constraint_count; ++i) {
        status = check_law(context, i, &P->constraint[i], row, P->row_count);
        if (status == PERP_OK) {
            status = check_row_bounds(context, i, &P->constraint[i], P->lower, P->upper);
        }
        if (status == PERP_OK && (P->W.start[i + 1] < P->W.start[i] || P->W.start[0] != 0)) {
            status = perpi_fail(context, PERP_ERROR_INPUT, "W: start must begin at 0 and ascend");
        }
        row += status == PERP_OK ? P->constraint[i].rows : 0;
    }
    if (status == PERP_OK && row != P->row_count) {
        status = perpi_fail(context, PERP_ERROR_INPUT,
                            "row_count must be the sum of rows = %" PRId32 ", got %" PRId32, row,
                            P->row_count);
    }
    for (int32_t i = 0; status == PERP_OK && i < P->constraint_count; ++i) {
        status = check_block_row(context, P, i);
    }
    return status == PERP_OK ? check_finite(context, "q", P->q, P->row_count) : status;
}

/* ---- LCP, MLCP, NCP -----------------------------------------------------------------------------------------*/

perp_status perp_lcp_check(perp_context* context, const perp_lcp* problem)
{
    const int32_t n = problem->n;
    if (n < 0) {
        return perpi_fail(context, PERP_ERROR_INPUT, "n must be >= 0, got %" PRId32, n);
    }
    perp_status status = check_missing(context, "M", problem->M, n);
    if (status == PERP_OK) {
        status = check_missing(context, "q", problem->q, n);
    }
    if (status != PERP_OK) {
        return status;
    }
    const bool finite = perpi_all_finite((size_t)n * (size_t)n, problem->M);
    for (int32_t i = 0; i < n && !finite; ++i) { /* which? */
        const double* M_i = problem->M + (size_t)i * (size_t)n;
        for (int32_t j = 0; j < n; ++j) {
            if (!isfinite(M_i[j])) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "M(%" PRId32 ",%" PRId32 "): must be a finite number, got %g", i,
                                  j, M_i[j]);
            }
        }
    }
    return check_finite(context, "q", problem->q, n);
}

/* pattern: the values do not count and may be NULL. */
static perp_status check_sparse(perp_context* context, const perp_sparse* M, bool pattern)
{
    if (M->rows < 0 || M->rows != M->cols) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "M must be square, got %" PRId32 " rows and %" PRId32 " columns", M->rows,
                          M->cols);
    }
    if (M->start == NULL || M->start[0] != 0) {
        return perpi_fail(context, PERP_ERROR_INPUT, "M: start[0] must be 0");
    }
    for (int32_t j = 0; j < M->cols; ++j) {
        if (M->start[j + 1] < M->start[j]) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "M: start[%" PRId32 "] must be >= start[%" PRId32 "]", j + 1, j);
        }
    }
    const int32_t entries = M->start[M->cols];
    if (entries > 0 && (M->row == NULL || (!pattern && M->value == NULL))) {
        return perpi_fail(context, PERP_ERROR_INPUT, "M: row or value is NULL");
    }
    for (int32_t j = 0; j < M->cols; ++j) {
        int32_t last = -1;
        for (int32_t e = M->start[j]; e < M->start[j + 1]; ++e) {
            if (M->row[e] <= last || M->row[e] >= M->rows) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "M, column %" PRId32 ": rows must ascend and be < %" PRId32
                                  ", got %" PRId32 " after %" PRId32,
                                  j, M->rows, M->row[e], last);
            }
            last = M->row[e];
            if (!pattern && !isfinite(M->value[e])) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "M(%" PRId32 ",%" PRId32 "): must be a finite number, got %g",
                                  last, j, M->value[e]);
            }
        }
    }
    return PERP_OK;
}

perp_status perp_mlcp_check(perp_context* context, const perp_mlcp* problem)
{
    perp_status status = check_sparse(context, &problem->M, false);
    if (status != PERP_OK) {
        return status;
    }
    const int32_t n = problem->M.cols;
    const struct {
        const char* name;
        const double* array;
    } need[] = {{"q", problem->q}, {"lower", problem->lower}, {"upper", problem->upper}};
    for (size_t i = 0; i < sizeof need / sizeof need[0]; ++i) {
        status = check_missing(context, need[i].name, need[i].array, n);
        if (status != PERP_OK) {
            return status;
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        status = check_bounds(context, "unknown", i, problem->lower[i], problem->upper[i]);
        if (status != PERP_OK) {
            return status;
        }
    }
    return check_finite(context, "q", problem->q, n);
}

perp_status perpi_ncp_check(perp_context* context, const perp_ncp* problem)
{
    const int32_t n = problem->n;
    if (n < 0 || problem->pattern.cols != n) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "n must be >= 0 and the pattern's size, got %" PRId32 " and %" PRId32, n,
                          problem->pattern.cols);
    }
    if (problem->function == NULL || problem->jacobian == NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "function or jacobian is NULL");
    }
    perp_status status = check_sparse(context, &problem->pattern, true);
    if (status == PERP_OK) {
        status = check_missing(context, "lower", problem->lower, n);
    }
    if (status == PERP_OK) {
        status = check_missing(context, "upper", problem->upper, n);
    }
    for (int32_t i = 0; status == PERP_OK && i < n; ++i) {
        status = check_bounds(context, "unknown", i, problem->lower[i], problem->upper[i]);
    }
    return status;
}
