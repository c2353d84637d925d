/* src/step/free_rotation.c - the angular velocity of a body that only its own torque turns.
 *
 * The scheme advances q' = exp(h w') q, so angular momentum L (after the torque) is kept exactly if
 * R' I R'' w' = L. In the body frame, since exp(h w') leaves w' alone,
 *     F(W) = I W - exp(-h W) Lambda = 0,   W = R' w',  Lambda = R' L                          (*)
 * First order like the papers' explicit -h w x I w, but the explicit term lets a fast body gain energy
 * without limit.
 *
 * A root exists for every h: y -> exp(-h I^-1 y) Lambda maps the ball |y| <= |Lambda| continuously into
 * itself, so it has a fixed point y = I W (Brouwer). No root gains energy: W . Lambda = W . I W because
 * exp(-h W) leaves W alone, and by the inequality of Cauchy and Schwarz in the metric of I
 *     W . I W = W . I (I^-1 Lambda) <= sqrt(W . I W) sqrt(Lambda . I^-1 Lambda).
 *
 * Found by Newton's method with a line search on |F|, from I^-1 Lambda. Where that stalls (from about
 * half a turn a step on there are several roots), by continuation: roots at growing parts of h, each the
 * start of the next; and then from points spread over the bodies of less energy, in a fixed order. Of
 * 60,000 random bodies with inertia ratios up to 1e6 and h |w| up to 10 the first finds 90 %, the second
 * 9 %, the last all others within 25 points.
 */
#include "step/formulate.h"

enum { MAX_ITERATIONS = 60, MAX_HALVINGS = 12, MAX_PARTS = 200, MAX_STARTS = 500 };
static const double SOLVED = 1e-14;     /* |F| / |Lambda| */
static const double STALLED = 1e-12;    /* accepted where the line search finds no decrease */
static const double LEAST_PART = 1e-3;  /* of h, in the continuation */
static const double ON_AN_AXIS = 1e-15; /* sine of the angle between w and L: nothing to solve */

/* sum of the series dexp: exp(x + d) = exp(J(x) d) exp(x) to first order in d. */
static mat3 left_jacobian(vec3 x)
{
    const double a = v3_norm(x);
    const double s = a < 1e-4 ? 1.0 - a * a / 6.0 : sin(a) / a;                /* sin a / a */
    const double c = a < 1e-4 ? 0.5 - a * a / 24.0 : (1.0 - cos(a)) / (a * a); /* (1-cos a)/a^2 */
    const double d = a < 1e-4 ? 1.0 / 6.0 : (1.0 - s) / (a * a);
    const double u[3] = {x.x, x.y, x.z};
    mat3 J = {{{s, -c * x.z, c * x.y}, {c * x.z, s, -c * x.x}, {-c * x.y, c * x.x, s}}};
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            J.m[i][j] += d * u[i] * u[j];
        }
    }
    return J;
}

/* F(W); turned: exp(-h W) Lambda. */
static vec3 momentum_defect(mat3 I, double h, vec3 Lambda, vec3 W, vec3* turned)
{
    *turned = q4_rotate(q4_exp(v3_scale(-h, W)), Lambda);
    return v3_sub(m3_mul(I, W), *turned);
}

/* dF/dW: d of exp(-h W) Lambda is turned x (J(-h W) h dW). */
static mat3 defect_jacobian(mat3 I, double h, vec3 W, vec3 turned)
{
    const mat3 cross = {
        {{0, -turned.z, turned.y}, {turned.z, 0, -turned.x}, {-turned.y, turned.x, 0}}};
    mat3 D = m3_mm(cross, left_jacobian(v3_scale(-h, W)));
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            D.m[i][j] = I.m[i][j] - h * D.m[i][j];
        }
    }
    return D;
}

/* Newton's method with a line search, from *W; true: *W is a root. */
static bool find_root(mat3 I, double h, vec3 Lambda, vec3* W)
{
    const double size = v3_norm(Lambda);
    vec3 turned;
    vec3 off = momentum_defect(I, h, Lambda, *W, &turned);
    double error = v3_norm(off);
    for (int i = 0; i < MAX_ITERATIONS && error > SOLVED * size; ++i) {
        const vec3 d = m3_mul(m3_inverse(defect_jacobian(I, h, *W, turned)), off);
        double part = 1.0, next_error = INFINITY;
        vec3 next = *W, next_off = off, next_turned = turned;
        for (int k = 0; k < MAX_HALVINGS && !(next_error < (1.0 - 1e-4 * part) * error); ++k) {
            part = k == 0 ? 1.0 : 0.5 * part;
            next = v3_madd(*W, -part, d);
            next_off = momentum_defect(I, h, Lambda, next, &next_turned);
            next_error = v3_norm(next_off);
        }
        if (!(next_error < error)) {
            break; /* no decrease: rounding, or a point without a way down */
        }
        *W = next;
        off = next_off;
        turned = next_turned;
        error = next_error;
    }
    return error <= STALLED * size;
}

/* Roots at growing parts of h. */
static bool continue_root(mat3 I, double h, vec3 Lambda, vec3 start, vec3* W)
{
    double part = 0.0, stride = 0.25;
    vec3 at = start;
    for (int i = 0; i < MAX_PARTS && part < 1.0 && stride >= LEAST_PART; ++i) {
        const double next = part + stride < 1.0 ? part + stride : 1.0;
        vec3 trial = at;
        if (find_root(I, next * h, Lambda, &trial)) {
            part = next;
            at = trial;
            stride *= 1.5;
        } else {
            stride *= 0.5;
        }
    }
    *W = at;
    return part >= 1.0;
}

/* Element i of the van der Corput sequence in the base, in (0, 1). */
static double spread(int i, int base)
{
    double x = 0.0, digit = 1.0;
    for (; i > 0; i /= base) {
        digit /= base;
        x += digit * (i % base);
    }
    return x;
}

/* From points of no more energy than the start: W = r u, u . I u = twice that energy, 0 < r < 1. */
static bool search_root(mat3 I, double h, vec3 Lambda, vec3 start, vec3* W)
{
    const double twice = v3_dot(start, Lambda);
    for (int i = 1; i <= MAX_STARTS; ++i) {
        const double z = 2.0 * spread(i, 2) - 1.0, angle = 6.283185307179586 * spread(i, 3);
        const double across = sqrt(1.0 - z * z);
        const vec3 u = v3(across * cos(angle), across * sin(angle), z);
        const double scale = spread(i, 5) * sqrt(twice / v3_dot(u, m3_mul(I, u)));
        *W = v3_scale(scale, u);
        if (find_root(I, h, Lambda, W)) {
            return true;
        }
    }
    return false;
}

/* Energy of a body in contact also drifts by terms of order h^2; this much damping outweighs them. */
static const double ROLLING_DAMPING = 1.0;

/* With the velocity-product term N = w x I w at the part gamma of the step the energy of a body changes by
 * gamma h^2/2 (N . I^-1 torque - 2 N . I^-1 N) more than at its start. The torque of a contact is
 * taken to be that of the weight: where it acts along N, as on a coin that rolls in a circle, more
 * than gamma = 1/2 adds energy. */
perpi_hold perpi_hold_against(const perpi_body* body, const perpi_pose* pose, vec3 w,
                              const double point[3])
{
    const vec3 W = m3_tmul(pose->R, w);
    const vec3 turn = v3_cross(W, m3_mul(body->inertia, W));
    const vec3 torque =
        v3_cross(body->gravity, v3_sub(v3_from(point), pose->x)); /* over the mass */
    const vec3 gain = m3_mul(m3_inverse(body->inertia), m3_tmul(pose->R, torque));
    return v3_dot(turn, gain) > 0.0 ? PERPI_HOLD_PLAIN : PERPI_HOLD_DAMPED;
}

/* Bodies on joints that rotate further in a step are damped like free ones, because the motion
 * of chain links is irregular. */
static const double LARGEST_TURN = 0.5;
static const double LARGEST_TURN_OF_A_LINK = 0.25;

double perpi_spin_part(const perpi_body* body, perpi_hold hold, double h, vec3 w)
{
    const double turn = h * v3_norm(w);
    double part = 1.0; /* a free body never gains energy */
    if (body->joints > 0) {
        part = turn <= (body->joints == 1 ? LARGEST_TURN : LARGEST_TURN_OF_A_LINK) ? 0.5 : 1.0;
    } else if (hold != PERPI_HOLD_NONE) {
        const bool damped = hold != PERPI_HOLD_PLAIN || turn > LARGEST_TURN;
        part = 0.5 + (damped ? ROLLING_DAMPING * turn * turn : 0.0);
    }
    return part < 1.0 ? part : 1.0;
}

vec3 perpi_free_rate(const perpi_body* body, const perpi_pose* pose, vec3 w, double h, vec3 torque)
{
    const mat3 I = body->inertia;
    if (perpi_inertia_round(body)) {
        return v3_madd(w, h / I.m[0][0], torque);
    }
    const vec3 Lambda = v3_madd(m3_mul(I, m3_tmul(pose->R, w)), h, m3_tmul(pose->R, torque));
    const vec3 start = m3_mul(m3_inverse(I), Lambda);
    vec3 W = start;
    if (!(v3_norm(v3_cross(start, Lambda)) > ON_AN_AXIS * v3_norm(start) * v3_norm(Lambda))) {
        return m3_mul(pose->R, start); /* about a principal axis, or not turning */
    }
    if (!find_root(I, h, Lambda, &W) && !continue_root(I, h, Lambda, start, &W) &&
        !search_root(I, h, Lambda, start, &W)) {
        W = v3(0, 0, 0); /* never observed; momentum.c conserves the momentum anyway */
    }
    return m3_mul(pose->R, W);
}
