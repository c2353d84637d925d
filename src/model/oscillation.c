/* src/model/oscillation.c - integrating sinusoidal accelerations.
 *
 * Source     [P09 appendix], [B09 5.3]: omega(t) = -(a/b) cos(b t + c); the initial quaternion that
 *            makes the angles about each axis symmetric about 0 over the first period
 * Departure  The paper integrates q' = G(q) omega with fourth-order Runge-Kutta at the step of the
 *            simulation and takes the extremes of the angles among those samples. Here a Magnus
 *            series of order 6 goes from node to node of a table over one period, and from the
 *            nearest node to t, exactly on the rotations; extremes are refined, and the symmetry is
 *            iterated until it holds. docs/notation.md compares the digits.
 *
 * With omega of period T the rotation from 0 to t is (Floquet)
 *     Phi(n T + s) = Phi(s) Phi(T)^n,    0 <= s < T
 * Phi(T) is not the identity: rotations about different axes do not commute, and a plate that rocks
 * about x and y out of phase drifts about z by the area it encircles. With "periodic" the mean
 * angular velocity, the free constant of the first integration, is chosen so that Phi(T) = 1.
 *
 * Error: the number of nodes is doubled until Phi(T) changes by less than 1e-14 + 4e-16 nodes rad;
 * the remaining error grows with the number of periods.
 */
#include <string.h>

#include "model/oscillation_parts.h"

enum { LEAST_NODES = 16, MOST_NODES = 1 << 18, MOST_CYCLES = 4096 };

/* ---- one integral, two integrals -------------------------------------------------------------------*/

static double rate(const perpi_oscillation* o, int32_t axis, double t)
{
    double sum = axis < 3 ? v3_get(o->v, axis) : v3_get(o->w, axis - 3);
    for (int32_t i = 0; i < o->wave_count; ++i) {
        const perpi_wave* a = &o->wave[i];
        if (a->axis == axis) {
            sum -= a->A / a->b * cos(a->b * t + a->c);
        }
    }
    return sum;
}

static double travel(const perpi_oscillation* o, int32_t axis, double t)
{
    double sum = t * (axis < 3 ? v3_get(o->v, axis) : v3_get(o->w, axis - 3));
    for (int32_t i = 0; i < o->wave_count; ++i) {
        const perpi_wave* a = &o->wave[i];
        if (a->axis == axis) {
            sum -= a->A / (a->b * a->b) * sin(a->b * t + a->c);
        }
    }
    return sum;
}

static vec3 omega(const perpi_oscillation* o, double t)
{
    double sum[3] = {o->w.x, o->w.y, o->w.z};
    for (int32_t i = 0; i < o->wave_count; ++i) {
        const perpi_wave* a = &o->wave[i];
        if (a->axis >= 3) {
            sum[a->axis - 3] -= a->A / a->b * cos(a->b * t + a->c);
        }
    }
    return v3_from(sum);
}

/* ---- rotation about several axes -------------------------------------------------------------------*/

/* The rotation from t to t + h: Magnus series of order 6 with three Gauss points. For rotation
 * vectors the commutator is the cross product. (S. Blanes, F. Casas, J. Ros, BIT 40 (2000)) */
static quat magnus(const perpi_oscillation* o, double t, double h)
{
    const double root15 = 3.8729833462074170;
    const vec3 A1 = omega(o, t + h * (0.5 - 0.1 * root15)), A2 = omega(o, t + 0.5 * h),
               A3 = omega(o, t + h * (0.5 + 0.1 * root15));
    const vec3 a1 = v3_scale(h, A2);
    const vec3 a2 = v3_scale(root15 * h / 3.0, v3_sub(A3, A1));
    const vec3 a3 = v3_scale(10.0 * h / 3.0, v3_add(v3_madd(A3, -2.0, A2), A1));
    const vec3 C1 = v3_cross(a1, a2);
    const vec3 C2 = v3_scale(-1.0 / 60.0, v3_cross(a1, v3_madd(C1, 2.0, a3)));
    const vec3 left = v3_sub(v3_madd(C1, -20.0, a1), a3);
    const vec3 sum = v3_madd(a1, 1.0 / 12.0, a3);
    return q4_exp(v3_madd(sum, 1.0 / 240.0, v3_cross(left, v3_add(a2, C2))));
}

static quat cycle(const perpi_oscillation* o, int32_t nodes)
{
    quat q = q4_identity();
    for (int32_t k = 0; k < nodes; ++k) {
        q = q4_unit(q4_mul(magnus(o, o->period * k / nodes, o->period / nodes), q));
    }
    return q;
}

quat perpi_oscillation_turn(const perpi_oscillation* o, double t)
{
    if (o->turning < 3) {
        vec3 r = v3(0, 0, 0);
        if (o->turning >= 0) {
            const double a = travel(o, 3 + o->turning, t) - travel(o, 3 + o->turning, 0.0);
            r = v3(o->turning == 0 ? a : 0.0, o->turning == 1 ? a : 0.0, o->turning == 2 ? a : 0.0);
        }
        return q4_exp(r);
    }
    const double n = floor(t / o->period);
    const double s = t - n * o->period;
    const double step = o->period / o->nodes;
    double k = floor(s / step + 0.5);
    k = k < 0.0 ? 0.0 : k > o->nodes ? o->nodes : k;
    const double from = o->period * k / o->nodes;
    const quat within = q4_mul(magnus(o, from, s - from), o->node[(int32_t)k]);
    return q4_unit(q4_mul(within, q4_exp(v3_scale(n, o->a_cycle))));
}

/* The angle about x, y or z of R = Rz Ry Rx. */
static double angle_about(quat q, int axis)
{
    const double s = 2.0 * (q.w * q.y - q.z * q.x);
    switch (axis) {
    case 0: return atan2(2.0 * (q.w * q.x + q.y * q.z), 1.0 - 2.0 * (q.x * q.x + q.y * q.y));
    case 1: return asin(s > 1.0 ? 1.0 : s < -1.0 ? -1.0 : s);
    default: return atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z));
    }
}

static quat from_angles(const double a[3])
{
    return q4_mul(q4_exp(v3(0, 0, a[2])), q4_mul(q4_exp(v3(0, a[1], 0)), q4_exp(v3(a[0], 0, 0))));
}

static double angle_at(const perpi_oscillation* o, quat start, int axis, double t)
{
    return angle_about(q4_mul(perpi_oscillation_turn(o, t), start), axis);
}

/* The largest sign * angle over the first period: the largest at a node, then golden section
 * between its neighbours. */
static double extreme(const perpi_oscillation* o, quat start, int axis, double sign)
{
    const double step = o->period / o->nodes, golden = 0.6180339887498949;
    int32_t at = 0;
    double best = -INFINITY;
    for (int32_t k = 0; k <= o->nodes; ++k) {
        const double a = angle_about(q4_mul(o->node[k], start), axis);
        if (sign * a > best) {
            best = sign * a;
            at = k;
        }
    }
    double low = step * (at > 0 ? at - 1 : 0);
    double high = step * (at < o->nodes ? at + 1 : o->nodes);
    for (int round = 0; round < 40; ++round) {
        const double a = high - golden * (high - low), b = low + golden * (high - low);
        const double fa = sign * angle_at(o, start, axis, a);
        const double fb = sign * angle_at(o, start, axis, b);
        best = fa > best ? fa : best;
        best = fb > best ? fb : best;
        if (fa > fb) {
            high = b;
        } else {
            low = a;
        }
    }
    return best;
}

/* The orientation at t = 0 from which the angles over the first period are symmetric about 0. */
static perp_status find_symmetric(perp_context* context, const perpi_oscillation* o, quat* start)
{
    double a[3] = {0, 0, 0}, off = INFINITY;
    for (int round = 0; round < 30; ++round) {
        const quat q = from_angles(a);
        double shift[3], most = 0.0;
        for (int i = 0; i < 3; ++i) {
            shift[i] = 0.5 * (extreme(o, q, i, -1.0) - extreme(o, q, i, 1.0));
            most = fabs(shift[i]) > most ? fabs(shift[i]) : most;
        }
        if (!(most < off)) {
            break;
        }
        off = most;
        *start = q;
        for (int i = 0; i < 3; ++i) {
            a[i] += shift[i];
        }
    }
    return off <= 1e-12 ? PERP_OK
                        : perpi_fail(context, PERP_ERROR_INPUT,
                                     "motion/acceleration/angular: found no initial orientation "
                                     "from which the angles are symmetric about 0 (off by %.2g "
                                     "rad); smaller amplitudes, or \"symmetric\": false",
                                     off);
}

/* The nodes: doubled until the rotation of a whole period no longer changes. */
static perp_status make_nodes(perp_context* context, perpi_oscillation* o, int32_t cycles)
{
    int32_t nodes = LEAST_NODES * cycles;
    quat coarse = cycle(o, nodes);
    for (;;) {
        const quat fine = cycle(o, 2 * nodes);
        const double change = v3_norm(q4_log(q4_mul(fine, q4_conj(coarse))));
        nodes *= 2;
        if (change <= 1e-14 + 4e-16 * nodes) {
            break;
        }
        if (!(nodes <= MOST_NODES / 2)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "motion/acceleration/angular: turns too far within a period for its "
                              "orientation to be integrated; smaller amplitudes");
        }
        coarse = fine;
    }
    perpi_free(context, o->node);
    o->node = NULL;
    const perp_status status = perpi_alloc(context, (size_t)nodes + 1, sizeof *o->node, &o->node);
    if (status != PERP_OK) {
        return status;
    }
    o->nodes = nodes;
    o->node[0] = q4_identity();
    for (int32_t k = 0; k < nodes; ++k) {
        o->node[k + 1] =
            q4_unit(q4_mul(magnus(o, o->period * k / nodes, o->period / nodes), o->node[k]));
    }
    o->a_cycle = q4_log(o->node[nodes]);
    return PERP_OK;
}

/* The mean angular velocity with which the orientation returns after each period. */
static perp_status make_periodic(perp_context* context, perpi_oscillation* o, int32_t cycles)
{
    double least = INFINITY;
    vec3 best = o->w;
    for (int round = 0; round < 60; ++round) {
        const perp_status status = make_nodes(context, o, cycles);
        if (status != PERP_OK) {
            return status;
        }
        const double off = v3_norm(o->a_cycle);
        if (!(off < least)) {
            break;
        }
        least = off;
        best = o->w;
        o->w = v3_madd(o->w, -1.0 / o->period, o->a_cycle);
    }
    o->w = best;
    const perp_status status = make_nodes(context, o, cycles);
    if (status != PERP_OK) {
        return status;
    }
    if (!(least <= 1e-13 + 1e-15 * o->nodes)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "motion/acceleration/periodic: the orientation does not return: found no "
                          "initial angular velocity that undoes the turn of %.3g rad per period; "
                          "smaller amplitudes, or leave it out",
                          least);
    }
    o->a_cycle = v3(0, 0, 0);
    o->periodic = true;
    return PERP_OK;
}

/* ---- making one ------------------------------------------------------------------------------------*/

static const char* place_oscillation(int32_t dimension, int32_t axis)
{
    static const char* const name[6] = {
        "motion/acceleration/linear/0",  "motion/acceleration/linear/1",
        "motion/acceleration/linear/2",  "motion/acceleration/angular/0",
        "motion/acceleration/angular/1", "motion/acceleration/angular/2"};
    return dimension == 2 && axis == 5 ? "motion/acceleration/angular" : name[axis];
}

static perp_status take_waves(perp_context* context, const perp_motion_def* def,
                              perpi_oscillation* o)
{
    int32_t count = 0;
    for (int axis = 0; axis < 6; ++axis) {
        count += def->acceleration_count[axis];
    }
    const perp_status status =
        perpi_alloc(context, (size_t)(count > 0 ? count : 1), sizeof *o->wave, &o->wave);
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t axis = 0; axis < 6; ++axis) {
        for (int32_t i = 0; i < def->acceleration_count[axis]; ++i) {
            const perp_sinusoid* s = &def->acceleration[axis][i];
            if (!isfinite(s->amplitude) || !isfinite(s->phase)) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "%s: amplitude and phase must be finite",
                                  place_oscillation(o->dimension, axis));
            }
            if (!(s->frequency > 0.0) || !isfinite(s->frequency)) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "%s: frequency: must be > 0 and finite, got %g",
                                  place_oscillation(o->dimension, axis), s->frequency);
            }
            if (o->dimension == 2 && axis != 0 && axis != 1 && axis != 5 && s->amplitude != 0.0) {
                return perpi_fail(context, PERP_ERROR_INPUT,
                                  "%s: a planar body moves along x and y and turns about z",
                                  place_oscillation(o->dimension, axis));
            }
            if (s->amplitude != 0.0) {
                o->wave[o->wave_count++] =
                    (perpi_wave){axis, s->amplitude, 6.283185307179586477 * s->frequency, s->phase};
            }
        }
    }
    return PERP_OK;
}

/* The least common period of the waves about (from 3) or about and along (from 0) the axes, in
 * periods of the slowest; 0: there is none. cycles: in periods of the fastest. */
static double common_period(const perpi_oscillation* o, int32_t from, int32_t* cycles)
{
    double slow = INFINITY, fast = 0.0;
    for (int32_t i = 0; i < o->wave_count; ++i) {
        if (o->wave[i].axis >= from) {
            slow = o->wave[i].b < slow ? o->wave[i].b : slow;
            fast = o->wave[i].b > fast ? o->wave[i].b : fast;
        }
    }
    for (int32_t n = 1; n * (fast / slow) <= MOST_CYCLES; ++n) {
        bool all = true;
        for (int32_t i = 0; i < o->wave_count && all; ++i) {
            const double turns = n * (o->wave[i].b / slow);
            all = o->wave[i].axis < from || fabs(turns - floor(turns + 0.5)) <= 1e-12 * turns;
        }
        if (all) {
            *cycles = (int32_t)floor(n * (fast / slow) + 0.5);
            return 6.283185307179586477 * n / slow;
        }
    }
    return 0.0;
}

static perp_status check_periodic(perp_context* context, const perpi_oscillation* o)
{
    if (v3_norm(o->v) != 0.0 || v3_norm(o->w) != 0.0) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "motion/acceleration/periodic: a body with a %s of its own (its mean) "
                          "does not come back; leave one of the two out",
                          v3_norm(o->v) != 0.0 ? "velocity" : "angular_velocity");
    }
    int32_t cycles;
    if (o->wave_count > 0 && !(common_period(o, 0, &cycles) > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "motion/acceleration/periodic: the frequencies have no common period (up "
                          "to %d of the shortest); take frequencies in simple ratios",
                          (int)MOST_CYCLES);
    }
    return PERP_OK;
}

static perp_status make_turning(perp_context* context, const perp_motion_def* def,
                                perpi_oscillation* o)
{
    bool about[3];
    o->turning = -1;
    for (int axis = 0; axis < 3; ++axis) {
        about[axis] = v3_get(o->w, axis) != 0.0;
        for (int32_t i = 0; i < o->wave_count; ++i) {
            about[axis] = about[axis] || o->wave[i].axis == 3 + axis;
        }
        if (about[axis]) {
            o->turning = o->turning < 0 ? axis : 3;
        }
    }
    if (o->turning < 3) {
        return PERP_OK;
    }
    const bool swings = v3_norm(o->w) == 0.0;
    int32_t cycles = 1;
    o->period = 1.0;
    bool waves = false;
    for (int32_t i = 0; i < o->wave_count; ++i) {
        waves = waves || o->wave[i].axis >= 3;
    }
    if (waves) {
        o->period = common_period(o, 3, &cycles);
    }
    if (!(o->period > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "motion/acceleration/angular: frequencies about several axes must have a "
                          "common period (up to %d of the shortest)",
                          (int)MOST_CYCLES);
    }
    perp_status status =
        def->periodic ? make_periodic(context, o, cycles) : make_nodes(context, o, cycles);
    quat start = q4_identity();
    if (status == PERP_OK && swings && !def->from_pose) {
        status = find_symmetric(context, o, &start);
    }
    o->q0 = q4_unit(q4_mul(start, o->q0));
    return status;
}

perp_status perpi_oscillation_create(perp_context* context, int32_t dimension,
                                     const perp_motion_def* def, vec3 x, quat q, double angle,
                                     vec3 v, vec3 w, perpi_oscillation** oscillation)
{
    perpi_oscillation* o = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *o, &o);
    if (status != PERP_OK) {
        return status;
    }
    *o = (perpi_oscillation){
        .dimension = dimension, .x0 = x, .q0 = q, .angle0 = angle, .v = v, .w = w};
    status = take_waves(context, def, o);
    if (status == PERP_OK && def->periodic) {
        status = check_periodic(context, o);
    }
    if (status == PERP_OK) {
        status = make_turning(context, def, o);
    }
    if (status != PERP_OK) {
        perpi_oscillation_destroy(context, o);
        return status;
    }
    /* the pose at t = 0: displaced from the mean pose, or equal to it */
    const vec3 first = v3(travel(o, 0, 0.0), travel(o, 1, 0.0), travel(o, 2, 0.0));
    if (def->from_pose) {
        o->x0 = v3_sub(o->x0, first);
    }
    if (o->turning >= 0 && o->turning < 3 && !def->from_pose) {
        const double a = travel(o, 3 + o->turning, 0.0);
        const vec3 r =
            v3(o->turning == 0 ? a : 0, o->turning == 1 ? a : 0, o->turning == 2 ? a : 0);
        o->q0 = q4_unit(q4_mul(q4_exp(r), o->q0));
        o->angle0 += o->turning == 2 ? a : 0.0;
    }
    *oscillation = o;
    return PERP_OK;
}

void perpi_oscillation_destroy(perp_context* context, perpi_oscillation* oscillation)
{
    if (oscillation != NULL) {
        perpi_free(context, oscillation->wave);
        perpi_free(context, oscillation->node);
        perpi_free(context, oscillation);
    }
}

void perpi_oscillation_at(const perpi_oscillation* o, double t, vec3* x, quat* q, double* angle,
                          vec3* v, vec3* w)
{
    *x = v3_add(o->x0, v3(travel(o, 0, t), travel(o, 1, t), travel(o, 2, t)));
    if (o->dimension == 2) {
        *angle = o->angle0 + (o->turning == 2 ? travel(o, 5, t) - travel(o, 5, 0.0) : 0.0);
        *q = q4_exp(v3(0, 0, *angle));
    } else {
        *angle = 0.0;
        *q = q4_unit(q4_mul(perpi_oscillation_turn(o, t), o->q0));
    }
    if (v != NULL) {
        *v = v3(rate(o, 0, t), rate(o, 1, t), rate(o, 2, t));
    }
    if (w != NULL) {
        *w = omega(o, t);
    }
}
