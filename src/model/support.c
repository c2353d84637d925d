/* src/model/support.c - 2.5-D: the normal forces under a body that lies on the plane of the scene.
 *
 * Source     [B09 3.3.1]: three points whose triangle contains the centre of mass carry the weight
 * Notation   paper lambda_ns, (x_i, y_i), m g -> load[], at[], the weight
 * Departure  (3.24) is solved in closed form: the share of a point is its barycentric coordinate of
 *            the centre of mass. A particle lies on one point.
 */
#include "model/model.h"

/* A triangle whose height is below this part of its longest side counts as degenerate. */
static const double FLAT = 1e-9;
/* A share above minus this is rounding: the centre lies on a side. */
static const double ROUNDING = 1e-12;
static const double EARTH = 9.81; /* SI, as the built-in scenes */

static perp_status check_numbers(perp_context* context, const perp_support_def* def, int32_t points)
{
    for (int32_t i = 0; i < points; ++i) {
        if (!(def->mu[i] >= 0.0) || !isfinite(def->mu[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "support/mu: must be >= 0, got %g",
                              def->mu[i]);
        }
    }
    if (!isnan(def->gravity) && !isnan(def->load)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "support/load: takes the place of gravity; give one of the two");
    }
    if (!isnan(def->gravity) && (!(def->gravity > 0.0) || !isfinite(def->gravity))) {
        return perpi_fail(context, PERP_ERROR_INPUT, "support/gravity: must be > 0, got %g",
                          def->gravity);
    }
    if (!isnan(def->load) && (!(def->load > 0.0) || !isfinite(def->load))) {
        return perpi_fail(context, PERP_ERROR_INPUT, "support/load: must be > 0, got %g",
                          def->load);
    }
    return PERP_OK;
}

static double cross(vec3 a, vec3 b)
{
    return a.x * b.y - a.y * b.x;
}

/* The part of the weight that each corner carries. */
static perp_status barycentric_loads(perp_context* context, const vec3 at[3], double share[3])
{
    double longest = 0.0;
    for (int i = 0; i < 3; ++i) {
        const double side = v3_norm(v3_sub(at[(i + 1) % 3], at[i]));
        longest = side > longest ? side : longest;
    }
    const double area = cross(v3_sub(at[1], at[0]), v3_sub(at[2], at[0]));
    if (!(fabs(area) > FLAT * longest * longest)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "support/tripod: the three points must not lie on a line");
    }
    for (int i = 0; i < 3; ++i) {
        share[i] = cross(at[(i + 1) % 3], at[(i + 2) % 3]) / area;
        if (!(share[i] >= -ROUNDING)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "support/tripod: must contain the centre of mass, which lies beyond "
                              "the side opposite of point %d: the body would tip over",
                              i);
        }
        share[i] = share[i] > 0.0 ? share[i] : 0.0;
    }
    return PERP_OK;
}

perp_status perpi_body_support(perp_model* model, const perp_body_def* def, perpi_body* body)
{
    perp_context* context = model->context;
    const perp_support_def* from = &def->support;
    perpi_support* support = &body->support;
    if (!from->given) {
        return PERP_OK;
    }
    if (model->dimension != 2) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "support: is for planar scenes (\"dimension\": 2), whose plane the body "
                          "lies on; in space, let it lie on a body");
    }
    if (body->type != PERP_BODY_DYNAMIC) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "support: only a dynamic body needs one, this one is %s",
                          body->type == PERP_BODY_STATIC ? "static" : "kinematic");
    }
    const bool single = body->particle && !from->has_tripod;
    if (!from->has_tripod && !single) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "support: missing key 'tripod': three points that carry the body; only a "
                          "particle lies on one");
    }
    perp_status status = check_numbers(context, from, single ? 1 : 3);
    double share[3] = {1.0, 0.0, 0.0};
    for (int i = 0; status == PERP_OK && !single && i < 3; ++i) {
        if (!isfinite(from->tripod[i][0]) || !isfinite(from->tripod[i][1])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "support/tripod/%d: must be finite", i);
        }
        support->at[i] = v3_sub(v3(from->tripod[i][0], from->tripod[i][1], 0.0), body->offset);
    }
    if (status == PERP_OK && !single) {
        status = barycentric_loads(context, support->at, share);
    }
    if (status != PERP_OK) {
        return status;
    }
    const double gravity = isnan(from->gravity) ? EARTH : from->gravity;
    const double weight = isnan(from->load) ? body->mass * gravity : from->load;
    support->points = single ? 1 : 3;
    for (int32_t i = 0; i < support->points; ++i) {
        support->mu[i] = from->mu[i];
        support->load[i] = share[i] * weight;
    }
    return PERP_OK;
}
