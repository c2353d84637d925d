/* src/model/layer.c - soft layers around rigid bodies, and two of them in series.
 *
 * Source     [B09 (2.73), (3.88)]: lambda = K delta + C d(delta)/dt, delta_n <= delta_n^o
 * Departure  both bodies may be soft (the paper takes one). Layers a and b in series carry the same
 *            force: K = (K_a^-1 + K_b^-1)^-1, and the deflection of a is its share G_a = K_a^-1 K of
 *            the whole as long as it changes slowly. Two Kelvin-Voigt layers in series are not one;
 *            C = G_a' C_a G_a + G_b' C_b G_b is the one that dissipates the same then, and is exact
 *            where the relaxation times C_a K_a^-1 and C_b K_b^-1 are equal. The cores are in contact when
 *            both layers are fully compressed: the layer depths add.
 */
#include <string.h>

#include "model/model.h"

static mat3 from_rows(const double* a)
{
    mat3 A;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            A.m[i][j] = a[3 * i + j];
        }
    }
    return A;
}

static double minor2(const mat3* A, int i, int j)
{
    return A->m[i][i] * A->m[j][j] - A->m[i][j] * A->m[j][i];
}

static double determinant(const mat3* A)
{
    return v3_dot(
        v3(A->m[0][0], A->m[0][1], A->m[0][2]),
        v3_cross(v3(A->m[1][0], A->m[1][1], A->m[1][2]), v3(A->m[2][0], A->m[2][1], A->m[2][2])));
}

/* Rounding error of a minor that is 0, relative to the product of its diagonal. */
static const double ROUNDING = 1e-13;

/* All principal minors >= 0 up to rounding: positive semidefinite. definite: all > 0. */
static bool minors_hold(const mat3* A, int32_t n, bool definite)
{
    const double sign = definite ? ROUNDING : -ROUNDING;
    for (int i = 0; i < n; ++i) {
        if (!(definite ? A->m[i][i] > 0.0 : A->m[i][i] >= 0.0)) {
            return false;
        }
        for (int j = 0; j < i; ++j) {
            const double scale = A->m[i][i] * A->m[j][j];
            if (!(minor2(A, i, j) >= sign * scale)) {
                return false;
            }
        }
    }
    return n < 3 || determinant(A) >= sign * A->m[0][0] * A->m[1][1] * A->m[2][2];
}

static perp_status check_matrix(perp_context* context, const char* member, int32_t n, const mat3* A)
{
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            if (!isfinite(A->m[i][j])) {
                return perpi_fail(context, PERP_ERROR_INPUT, "compliance/%s: must be finite",
                                  member);
            }
            if (A->m[i][j] != A->m[j][i]) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "compliance/%s: must be symmetric, but entry (%d, %d) is %g and "
                                  "entry (%d, %d) is %g",
                                  member, i, j, A->m[i][j], j, i, A->m[j][i]);
            }
        }
    }
    if (!minors_hold(A, n, false)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "compliance/%s: must be positive semidefinite: no deflection may give "
                          "energy away",
                          member);
    }
    return PERP_OK;
}

/* Tangential rows and columns are all 0. */
static bool only_normal(const mat3* A)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            if (i + j > 0 && A->m[i][j] != 0.0) {
                return false;
            }
        }
    }
    return true;
}

perp_status perpi_layer_make(perp_context* context, int32_t dimension,
                             const perp_compliance_def* def, perpi_layer* layer)
{
    perpi_layer made = {.soft = true,
                        .K = from_rows(def->stiffness),
                        .C = from_rows(def->damping),
                        .limit = def->max_deflection,
                        .patch = def->patch};
    if (dimension == 2) { /* the other tangent has no meaning */
        for (int i = 0; i < 3; ++i) {
            made.K.m[i][2] = made.K.m[2][i] = made.C.m[i][2] = made.C.m[2][i] = 0.0;
        }
    }
    perp_status status = check_matrix(context, "stiffness", dimension, &made.K);
    if (status == PERP_OK) {
        status = check_matrix(context, "damping", dimension, &made.C);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (!(def->max_deflection > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "compliance/max_deflection: must be > 0, got %g; leave it out where the "
                          "body has no core",
                          def->max_deflection);
    }
    if (!(def->patch >= 0.0) || !isfinite(def->patch)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "compliance/patch/spacing: must be > 0, got %g", def->patch);
    }
    mat3 sum;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            sum.m[i][j] = made.K.m[i][j] + made.C.m[i][j];
        }
    }
    made.smooth = only_normal(&sum);
    if (!minors_hold(&sum, made.smooth ? 1 : dimension, true)) {
        return perpi_fail(
            context, PERP_ERROR_INPUT,
            "compliance/stiffness: with the damping it must resist in every direction "
            "(stiffness + damping positive definite), or have zeros in all tangential "
            "entries: then the layer carries no friction");
    }
    *layer = made;
    return PERP_OK;
}

/* Inverse of the leading n x n part; the rest stays 0. */
static mat3 inverse_of(const mat3* A, int32_t n)
{
    mat3 padded = *A;
    for (int i = n; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            padded.m[i][j] = padded.m[j][i] = i == j ? 1.0 : 0.0;
        }
    }
    mat3 inverse = m3_inverse(padded);
    for (int i = n; i < 3; ++i) {
        inverse.m[i][i] = 0.0;
    }
    return inverse;
}

static mat3 symmetric(mat3 A)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < i; ++j) {
            A.m[i][j] = A.m[j][i] = 0.5 * (A.m[i][j] + A.m[j][i]); /* exactly symmetric */
        }
    }
    return A;
}

static mat3 sum_of(mat3 A, mat3 B)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            A.m[i][j] += B.m[i][j];
        }
    }
    return A;
}

static perpi_layer series_layer(const perpi_layer* a, const perpi_layer* b, int32_t dimension)
{
    perpi_layer both = {.soft = true,
                        .limit = a->limit + b->limit,
                        .smooth = a->smooth || b->smooth,
                        .patch = a->patch < b->patch ? a->patch : b->patch};
    const int32_t n = both.smooth ? 1 : dimension;
    const mat3 soft_a = inverse_of(&a->K, n), soft_b = inverse_of(&b->K, n);
    const mat3 sum = sum_of(soft_a, soft_b);
    both.K = symmetric(inverse_of(&sum, n));
    const mat3 G_a = m3_mm(soft_a, both.K), G_b = m3_mm(soft_b, both.K);
    both.C = symmetric(sum_of(m3_mm(m3_transpose(G_a), m3_mm(a->C, G_a)),
                              m3_mm(m3_transpose(G_b), m3_mm(b->C, G_b))));
    return both;
}

static perpi_layer whole_layer(const perp_model* model, int32_t a, int32_t b)
{
    const perpi_layer* A = &model->body[a].layer;
    const perpi_layer* B = &model->body[b].layer;
    return A->soft && B->soft ? series_layer(A, B, model->dimension) : A->soft ? *A : *B;
}

perpi_layer perpi_model_layer(const perp_model* model, int32_t a, int32_t b)
{
    perpi_layer layer = whole_layer(model, a, b);
    if (layer.soft && layer.patch > 0.0) {
        const double area = model->dimension == 2 ? layer.patch : layer.patch * layer.patch;
        for (int i = 0; i < 9; ++i) {
            layer.K.m[i / 3][i % 3] *= area;
            layer.C.m[i / 3][i % 3] *= area;
        }
    }
    return layer;
}

bool perp_model_pair_compliance(const perp_model* model, int32_t a, int32_t b,
                                perp_compliance_def* compliance)
{
    const perpi_layer layer = whole_layer(model, a, b);
    if (!layer.soft) {
        return false;
    }
    *compliance = (perp_compliance_def){.max_deflection = layer.limit, .patch = layer.patch};
    for (int i = 0; i < 9; ++i) {
        compliance->stiffness[i] = layer.K.m[i / 3][i % 3];
        compliance->damping[i] = layer.C.m[i / 3][i % 3];
    }
    return true;
}
