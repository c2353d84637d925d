/* src/base/vec.h - three-vectors, 3x3 matrices, quaternions: small, inline, no allocation.
 *
 * Quaternion (w, x, y, z), unit, body -> world. Angular velocity in the world frame.
 */
#ifndef PERPI_VEC_H
#define PERPI_VEC_H

#include <math.h>

typedef struct vec3 {
    double x, y, z;
} vec3;

typedef struct mat3 {
    double m[3][3]; /* m[row][column] */
} mat3;

typedef struct quat {
    double w, x, y, z;
} quat;

/* The larger and the smaller of two numbers. A NaN in either is the result; fmax and fmin would hide it. */
static inline double perpi_larger(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

static inline double perpi_smaller(double a, double b)
{
    return a < b || isnan(a) ? a : b;
}

static inline vec3 v3(double x, double y, double z)
{
    return (vec3){x, y, z};
}

static inline vec3 v3_from(const double* a)
{
    return (vec3){a[0], a[1], a[2]};
}

static inline void v3_to(vec3 a, double* out)
{
    out[0] = a.x;
    out[1] = a.y;
    out[2] = a.z;
}

static inline vec3 v3_add(vec3 a, vec3 b)
{
    return (vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline vec3 v3_sub(vec3 a, vec3 b)
{
    return (vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline vec3 v3_scale(double s, vec3 a)
{
    return (vec3){s * a.x, s * a.y, s * a.z};
}

static inline vec3 v3_neg(vec3 a)
{
    return (vec3){-a.x, -a.y, -a.z};
}

/* a + s b */
static inline vec3 v3_madd(vec3 a, double s, vec3 b)
{
    return (vec3){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

static inline double v3_dot(vec3 a, vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline vec3 v3_cross(vec3 a, vec3 b)
{
    return (vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline double v3_norm(vec3 a)
{
    return sqrt(v3_dot(a, a));
}

/* a / |a|; the caller knows that |a| > 0. */
static inline vec3 v3_unit(vec3 a)
{
    return v3_scale(1.0 / v3_norm(a), a);
}

static inline double v3_get(vec3 a, int i)
{
    return i == 0 ? a.x : i == 1 ? a.y : a.z;
}

static inline mat3 m3_identity(void)
{
    return (mat3){{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
}

static inline vec3 m3_mul(mat3 A, vec3 b)
{
    return (vec3){A.m[0][0] * b.x + A.m[0][1] * b.y + A.m[0][2] * b.z,
                  A.m[1][0] * b.x + A.m[1][1] * b.y + A.m[1][2] * b.z,
                  A.m[2][0] * b.x + A.m[2][1] * b.y + A.m[2][2] * b.z};
}

/* A' b */
static inline vec3 m3_tmul(mat3 A, vec3 b)
{
    return (vec3){A.m[0][0] * b.x + A.m[1][0] * b.y + A.m[2][0] * b.z,
                  A.m[0][1] * b.x + A.m[1][1] * b.y + A.m[2][1] * b.z,
                  A.m[0][2] * b.x + A.m[1][2] * b.y + A.m[2][2] * b.z};
}

static inline mat3 m3_mm(mat3 A, mat3 B)
{
    mat3 C;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            C.m[i][j] = A.m[i][0] * B.m[0][j] + A.m[i][1] * B.m[1][j] + A.m[i][2] * B.m[2][j];
        }
    }
    return C;
}

static inline mat3 m3_cross(vec3 a) /* a x */
{
    return (mat3){{{0, -a.z, a.y}, {a.z, 0, -a.x}, {-a.y, a.x, 0}}};
}

static inline mat3 m3_madd(mat3 A, double s, mat3 B) /* A + s B */
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            A.m[i][j] += s * B.m[i][j];
        }
    }
    return A;
}

static inline mat3 m3_transpose(mat3 A)
{
    return (mat3){{{A.m[0][0], A.m[1][0], A.m[2][0]},
                   {A.m[0][1], A.m[1][1], A.m[2][1]},
                   {A.m[0][2], A.m[1][2], A.m[2][2]}}};
}

static inline vec3 m3_column(mat3 A, int j)
{
    return (vec3){A.m[0][j], A.m[1][j], A.m[2][j]};
}

/* Inverse of a symmetric positive definite matrix by cofactors. */
static inline mat3 m3_inverse(mat3 A)
{
    const double c00 = A.m[1][1] * A.m[2][2] - A.m[1][2] * A.m[2][1];
    const double c01 = A.m[1][2] * A.m[2][0] - A.m[1][0] * A.m[2][2];
    const double c02 = A.m[1][0] * A.m[2][1] - A.m[1][1] * A.m[2][0];
    const double s = 1.0 / (A.m[0][0] * c00 + A.m[0][1] * c01 + A.m[0][2] * c02);
    return (mat3){{{s * c00, s * (A.m[0][2] * A.m[2][1] - A.m[0][1] * A.m[2][2]),
                    s * (A.m[0][1] * A.m[1][2] - A.m[0][2] * A.m[1][1])},
                   {s * c01, s * (A.m[0][0] * A.m[2][2] - A.m[0][2] * A.m[2][0]),
                    s * (A.m[0][2] * A.m[1][0] - A.m[0][0] * A.m[1][2])},
                   {s * c02, s * (A.m[0][1] * A.m[2][0] - A.m[0][0] * A.m[2][1]),
                    s * (A.m[0][0] * A.m[1][1] - A.m[0][1] * A.m[1][0])}}};
}

static inline quat q4_identity(void)
{
    return (quat){1, 0, 0, 0};
}

static inline quat q4_mul(quat a, quat b)
{
    return (quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                  a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                  a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                  a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

static inline quat q4_conj(quat a)
{
    return (quat){a.w, -a.x, -a.y, -a.z};
}

static inline quat q4_unit(quat a)
{
    const double s = 1.0 / sqrt(a.w * a.w + a.x * a.x + a.y * a.y + a.z * a.z);
    return (quat){s * a.w, s * a.x, s * a.y, s * a.z};
}

/* The rotation by the vector r (axis times angle). The series near 0 keeps full precision. */
static inline quat q4_exp(vec3 r)
{
    const double angle = v3_norm(r);
    const double half = 0.5 * angle;
    const double s = half < 1e-4 ? 0.5 * (1.0 - half * half / 6.0) : sin(half) / angle;
    return (quat){cos(half), s * r.x, s * r.y, s * r.z};
}

/* The rotation vector of a unit quaternion, angle in [0, pi]. */
static inline vec3 q4_log(quat a)
{
    if (a.w < 0.0) {
        a = (quat){-a.w, -a.x, -a.y, -a.z};
    }
    const double s = sqrt(a.x * a.x + a.y * a.y + a.z * a.z);
    const double f = s < 1e-8 ? 2.0 / a.w : 2.0 * atan2(s, a.w) / s;
    return (vec3){f * a.x, f * a.y, f * a.z};
}

static inline mat3 q4_matrix(quat q)
{
    const double xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    const double xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
    const double wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    return (mat3){{{1 - 2 * (yy + zz), 2 * (xy - wz), 2 * (xz + wy)},
                   {2 * (xy + wz), 1 - 2 * (xx + zz), 2 * (yz - wx)},
                   {2 * (xz - wy), 2 * (yz + wx), 1 - 2 * (xx + yy)}}};
}

static inline vec3 q4_rotate(quat q, vec3 a)
{
    return m3_mul(q4_matrix(q), a);
}

/* The unit tangent t belonging to a unit normal: the world x axis projected into the tangent
 * plane, y where x is (nearly) normal. The second tangent is n x t. */
static inline vec3 v3_tangent(vec3 n)
{
    const vec3 x = fabs(n.x) < 0.999 ? v3(1, 0, 0) : v3(0, 1, 0);
    return v3_unit(v3_madd(x, -v3_dot(x, n), n));
}

#endif
