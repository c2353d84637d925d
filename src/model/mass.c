/* src/model/mass.c - see mass.h.
 *
 * Three forms of input: mass and inertia; mass alone (the inertia is that of the uniform shapes,
 * scaled to the mass, about their common centre); density (mass, centre and inertia from the
 * shapes, overlaps counted twice).
 */
#include "model/mass.h"

#include <string.h>

/* Eigenvalues of a symmetric 3x3 matrix by cyclic Jacobi rotations; ascending order not promised. */
static void eigenvalues(mat3 A, double lambda[3])
{
    for (int sweep = 0; sweep < 50; ++sweep) {
        const double off = fabs(A.m[0][1]) + fabs(A.m[0][2]) + fabs(A.m[1][2]);
        const double trace = fabs(A.m[0][0]) + fabs(A.m[1][1]) + fabs(A.m[2][2]);
        if (!(off > 1e-17 * trace)) {
            break;
        }
        for (int p = 0; p < 2; ++p) {
            for (int q = p + 1; q < 3; ++q) {
                if (A.m[p][q] == 0.0) {
                    continue;
                }
                const double theta = (A.m[q][q] - A.m[p][p]) / (2.0 * A.m[p][q]);
                const double t =
                    (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
                const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
                mat3 G = m3_identity();
                G.m[p][p] = c;
                G.m[q][q] = c;
                G.m[p][q] = s;
                G.m[q][p] = -s;
                A = m3_mm(m3_transpose(G), m3_mm(A, G));
            }
        }
    }
    for (int i = 0; i < 3; ++i) {
        lambda[i] = A.m[i][i];
    }
}

perp_status perpi_check_inertia(perp_context* context, int32_t dimension, mat3 I)
{
    if (dimension == 2) {
        if (!(I.m[2][2] > 0.0) || !isfinite(I.m[2][2])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "inertia: must be > 0, got %g", I.m[2][2]);
        }
        return PERP_OK;
    }
    double scale = 0.0;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            if (!isfinite(I.m[i][j])) {
                return perpi_fail(context, PERP_ERROR_INPUT, "inertia: must be finite");
            }
            scale = fabs(I.m[i][j]) > scale ? fabs(I.m[i][j]) : scale;
        }
    }
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < i; ++j) {
            if (!(fabs(I.m[i][j] - I.m[j][i]) <= 1e-9 * scale)) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "inertia: must be symmetric, entries (%d,%d) and (%d,%d) differ",
                                  i, j, j, i);
            }
        }
    }
    double L[3];
    eigenvalues(I, L);
    for (int i = 0; i < 3; ++i) {
        if (!(L[i] > 0.0)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "inertia: principal values must be > 0, got %g, %g, %g", L[0], L[1],
                              L[2]);
        }
        const double others = L[(i + 1) % 3] + L[(i + 2) % 3];
        if (!(L[i] <= others * (1.0 + 1e-9))) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "inertia: no body has principal values %g, %g, %g: the largest "
                              "exceeds the sum of the other two",
                              L[0], L[1], L[2]);
        }
    }
    return PERP_OK;
}

/* m (|d|^2 E - d d'), the inertia added by moving the reference point by d. */
static mat3 parallel_axis(double m, vec3 d)
{
    const double dd = v3_dot(d, d);
    const double c[3] = {d.x, d.y, d.z};
    mat3 A;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            A.m[i][j] = m * ((i == j ? dd : 0.0) - c[i] * c[j]);
        }
    }
    return A;
}

static mat3 m3_add(mat3 A, mat3 B)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            A.m[i][j] += B.m[i][j];
        }
    }
    return A;
}

/* Volume (area), centre and inertia about the centre of all shapes at unit density. */
static perpi_mass uniform_mass(const perp_model* model, const perpi_body* body)
{
    perpi_mass total = {0};
    for (int32_t i = 0; i < body->shape_count; ++i) {
        const perpi_shape* shape = &model->shape[body->shape + i];
        const perpi_shape_ops* ops = perpi_shape_ops_of(shape->type);
        if (ops->mass == NULL || shape->massless) {
            continue;
        }
        const perpi_mass part = ops->mass(shape);
        const vec3 c = perpi_pose_point(&shape->local, part.center);
        const double m = total.mass + part.mass;
        const vec3 center =
            v3_scale(1.0 / m, v3_add(v3_scale(total.mass, total.center), v3_scale(part.mass, c)));
        const mat3 R = shape->local.R;
        const mat3 turned = m3_mm(R, m3_mm(part.inertia, m3_transpose(R)));
        mat3 I = m3_add(total.inertia, parallel_axis(total.mass, v3_sub(total.center, center)));
        I = m3_add(I, m3_add(turned, parallel_axis(part.mass, v3_sub(c, center))));
        total = (perpi_mass){m, center, I};
    }
    return total;
}

static void scale_inertia(mat3* I, double s)
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            I->m[i][j] *= s;
        }
    }
}

static perp_status check_bounded(const perp_model* model, const perpi_body* body)
{
    for (int32_t i = 0; i < body->shape_count; ++i) {
        const perpi_shape_ops* ops = perpi_shape_ops_of(model->shape[body->shape + i].type);
        if (!ops->bounded) {
            return perpi_fail(
                model->context, PERP_ERROR_INPUT,
                "shapes/%d: a %s is unbounded; only a static or kinematic body has one", (int)i,
                ops->name);
        }
    }
    return PERP_OK;
}

perp_status perpi_body_mass(perp_model* model, const perp_body_def* def, perpi_body* body)
{
    perp_context* context = model->context;
    perp_status status = check_bounded(model, body);
    if (status != PERP_OK) {
        return status;
    }
    if (def->massless) {
        const char* extra = def->has_inertia       ? "inertia"
                            : !isnan(def->density) ? "density"
                            : !isnan(def->mass)    ? "mass"
                            : def->shape_count > 0 ? "shapes"
                            : def->support.given   ? "support"
                                                   : NULL;
        if (extra != NULL) {
            return perpi_fail(context, PERP_ERROR_INPUT, "massless: such a body has no %s", extra);
        }
        if (model->dimension != 3) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "massless: such a body needs three dimensions");
        }
        return PERP_OK; /* all are 0 */
    }
    if (!isnan(def->density)) {
        if (!isnan(def->mass) || def->has_inertia) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "density: give density, or mass and inertia, not both");
        }
        if (!(def->density > 0.0) || !isfinite(def->density)) {
            return perpi_fail(context, PERP_ERROR_INPUT, "density: must be > 0, got %g",
                              def->density);
        }
        const perpi_mass u = uniform_mass(model, body);
        if (!(u.mass > 0.0)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "density: the shapes have no volume; give mass (and inertia)");
        }
        body->particle = false;
        body->mass = def->density * u.mass;
        body->inertia = u.inertia;
        scale_inertia(&body->inertia, def->density);
        body->offset = u.center;
        body->pose.x = perpi_pose_point(&body->pose, u.center);
        for (int32_t i = 0; i < body->shape_count; ++i) {
            perpi_shape* shape = &model->shape[body->shape + i];
            shape->local.x = v3_sub(shape->local.x, u.center);
        }
        return perpi_check_inertia(context, model->dimension, body->inertia);
    }
    if (isnan(def->mass)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "mass: a dynamic body needs mass or density");
    }
    if (!(def->mass > 0.0) || !isfinite(def->mass)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "mass: must be > 0, got %g", def->mass);
    }
    body->mass = def->mass;
    if (body->particle) {
        return PERP_OK;
    }
    if (def->has_inertia) {
        memcpy(body->inertia.m, def->inertia, sizeof body->inertia.m);
    } else {
        const perpi_mass u = uniform_mass(model, body);
        if (!(u.mass > 0.0)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "inertia: is needed, the shapes have no volume to take it from");
        }
        body->inertia = u.inertia;
        scale_inertia(&body->inertia, def->mass / u.mass);
    }
    return perpi_check_inertia(context, model->dimension, body->inertia);
}
