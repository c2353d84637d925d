/* Quaternions and small matrices against their definitions. */
#include "base/vec.h"
#include "perp_test.h"

static void check_vec(vec3 a, vec3 b, double tolerance)
{
    CHECK_NEAR(a.x, b.x, tolerance);
    CHECK_NEAR(a.y, b.y, tolerance);
    CHECK_NEAR(a.z, b.z, tolerance);
}

TEST(a_quaternion_turns_as_rodrigues_formula_says)
{
    for (int k = 0; k < 50; ++k) {
        const vec3 r = v3(sin(k), cos(3 * k), sin(5 * k + 1));
        const double a = v3_norm(r);
        const vec3 u = v3_scale(1.0 / a, r), p = v3(0.3, -1.2, 2.0);
        const vec3 expected = v3_add(v3_add(v3_scale(cos(a), p), v3_scale(sin(a), v3_cross(u, p))),
                                     v3_scale((1.0 - cos(a)) * v3_dot(u, p), u));
        check_vec(q4_rotate(q4_exp(r), p), expected, 1e-14);
    }
}

TEST(log_undoes_exp_from_tiny_to_almost_half_a_turn)
{
    for (double a = 1e-300; a < 3.14; a = a < 1e-3 ? a * 1e3 : a + 0.1) {
        const vec3 r = v3_scale(a, v3_unit(v3(1, -2, 0.5)));
        check_vec(q4_log(q4_exp(r)), r, 1e-14 * (a > 1 ? a : 1));
        const quat q = q4_exp(r);
        CHECK_NEAR(v3_norm(v3(q.x, q.y, q.z)), sin(a / 2), 1e-16 + 1e-15 * a);
    }
}

TEST(composition_of_rotations_is_the_product)
{
    const quat a = q4_exp(v3(0.3, 0.1, -0.7)), b = q4_exp(v3(-1.0, 0.4, 0.2));
    const vec3 p = v3(1, 2, 3);
    check_vec(q4_rotate(q4_mul(a, b), p), q4_rotate(a, q4_rotate(b, p)), 1e-14);
    const quat e = q4_mul(a, q4_conj(a));
    CHECK_NEAR(e.w, 1.0, 1e-15);
}

TEST(the_inverse_of_an_inertia_is_its_inverse)
{
    const mat3 R = q4_matrix(q4_exp(v3(0.4, 1.0, -0.3)));
    const mat3 D = {{{1, 0, 0}, {0, 2, 0}, {0, 0, 2.5}}};
    const mat3 I = m3_mm(R, m3_mm(D, m3_transpose(R)));
    const mat3 E = m3_mm(I, m3_inverse(I));
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            CHECK_NEAR(E.m[i][j], i == j ? 1.0 : 0.0, 1e-14);
        }
    }
}

TEST(the_first_tangent_is_the_world_x_axis_projected)
{
    check_vec(v3_tangent(v3(0, 0, 1)), v3(1, 0, 0), 0.0);
    check_vec(v3_tangent(v3(1, 0, 0)), v3(0, 1, 0), 0.0);
    const vec3 n = v3_unit(v3(0.6, 0.3, 0.5));
    const vec3 t = v3_tangent(n);
    CHECK_NEAR(v3_dot(n, t), 0.0, 1e-15);
    CHECK_NEAR(v3_norm(t), 1.0, 1e-15);
    CHECK(t.x > 0.0);
}
