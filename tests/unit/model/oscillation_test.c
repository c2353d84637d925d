/* Sinusoidal accelerations: pose and velocity as functions of time, [P09 appendix]. */
#include "model/oscillation.h"
#include "perp_test.h"

static const double pi = 3.14159265358979323846;

typedef struct fixture {
    perp_context* context;
    perpi_oscillation* o;
    perp_status status;
} fixture;

static fixture open_motion(int32_t dimension, const perp_sinusoid wave[6], bool periodic,
                           bool from_pose, vec3 v, vec3 w)
{
    fixture f = {0};
    f.status = perp_context_create(NULL, &f.context);
    perp_motion_def def = {
        .type = PERP_MOTION_ACCELERATION, .periodic = periodic, .from_pose = from_pose};
    for (int i = 0; i < 6; ++i) {
        def.acceleration[i] = &wave[i];
        def.acceleration_count[i] = wave[i].amplitude != 0.0;
    }
    if (f.status == PERP_OK) {
        f.status = perpi_oscillation_create(f.context, dimension, &def, v3(1, 2, 3), q4_identity(),
                                            0.25, v, w, &f.o);
    }
    return f;
}

static void close_motion(fixture* f)
{
    perpi_oscillation_destroy(f->context, f->o);
    perp_context_destroy(f->context);
}

static const perp_sinusoid centrifuge[6] = {
    [3] = {100, 33, 1.57079632679489661923}, [4] = {100, 33, 3.14159265358979323846}};
static const vec3 zero;

static quat pose_at(const perpi_oscillation* o, double t)
{
    vec3 x;
    quat q;
    double angle;
    perpi_oscillation_at(o, t, &x, &q, &angle, NULL, NULL);
    return q;
}

/* omega of a def's waves, written out once more. */
static vec3 rate_of(const perp_sinusoid wave[6], double t)
{
    double w[3];
    for (int i = 0; i < 3; ++i) {
        const perp_sinusoid* s = &wave[3 + i];
        const double b = 2 * pi * s->frequency;
        w[i] = s->amplitude != 0.0 ? -s->amplitude / b * cos(b * t + s->phase) : 0.0;
    }
    return v3_from(w);
}

static quat slope(const perp_sinusoid wave[6], double t, quat q)
{
    const vec3 w = rate_of(wave, t);
    const quat p = q4_mul((quat){0, w.x, w.y, w.z}, q);
    return (quat){0.5 * p.w, 0.5 * p.x, 0.5 * p.y, 0.5 * p.z};
}

static quat along(quat q, double s, quat d)
{
    return (quat){q.w + s * d.w, q.x + s * d.x, q.y + s * d.y, q.z + s * d.z};
}

/* The papers' way: fourth-order Runge-Kutta. */
static quat runge_kutta(const perp_sinusoid wave[6], quat q, double t, double h)
{
    const quat a = slope(wave, t, q), b = slope(wave, t + h / 2, along(q, h / 2, a)),
               c = slope(wave, t + h / 2, along(q, h / 2, b)),
               d = slope(wave, t + h, along(q, h, c));
    return along(along(along(along(q, h / 6, a), h / 3, b), h / 3, c), h / 6, d);
}

static double apart(quat a, quat b)
{
    return v3_norm(q4_log(q4_mul(a, q4_conj(b))));
}

static void angles_of(quat q, double out[3])
{
    out[0] = atan2(2 * (q.w * q.x + q.y * q.z), 1 - 2 * (q.x * q.x + q.y * q.y));
    out[1] = asin(2 * (q.w * q.y - q.z * q.x));
    out[2] = atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y * q.y + q.z * q.z));
}

TEST(positions_velocities_and_a_turn_about_one_axis_are_the_closed_forms)
{
    const perp_sinusoid wave[6] = {[0] = {2, 3, 0.4}, [2] = {-1, 5, 0}, [5] = {7, 2, 1.1}};
    fixture f = open_motion(3, wave, true, false, zero, zero);
    REQUIRE_OK(f.status);
    for (int k = 0; k < 50; ++k) {
        const double t = 0.0371 * k;
        vec3 x, v, w;
        quat q;
        double angle;
        perpi_oscillation_at(f.o, t, &x, &q, &angle, &v, &w);
        const double b0 = 6 * pi, b2 = 10 * pi, b5 = 4 * pi;
        CHECK_NEAR(x.x, 1 - 2 / (b0 * b0) * sin(b0 * t + 0.4), 1e-15);
        CHECK_NEAR(x.y, 2.0, 0.0);
        CHECK_NEAR(x.z, 3 + 1 / (b2 * b2) * sin(b2 * t), 1e-15);
        CHECK_NEAR(v.x, -2 / b0 * cos(b0 * t + 0.4), 1e-15);
        CHECK_NEAR(v.z, 1 / b2 * cos(b2 * t), 1e-15);
        CHECK_NEAR(w.z, -7 / b5 * cos(b5 * t + 1.1), 1e-14);
        const double a = -7 / (b5 * b5) * sin(b5 * t + 1.1); /* [P09 (35)] */
        CHECK_NEAR(q.z, sin(a / 2), 1e-15);
        CHECK_NEAR(q.w, cos(a / 2), 1e-15);
    }
    close_motion(&f);
}

TEST(a_planar_body_turns_by_an_unwrapped_angle_and_drifts_with_its_mean_velocities)
{
    const perp_sinusoid wave[6] = {[1] = {2, 3, 0.4}, [5] = {7, 2, 1.1}};
    fixture f = open_motion(2, wave, false, true, v3(0.5, 0, 0), v3(0, 0, 9));
    REQUIRE_OK(f.status);
    for (int k = 0; k < 20; ++k) {
        const double t = 0.171 * k, b1 = 6 * pi, b5 = 4 * pi;
        vec3 x, v, w;
        quat q;
        double angle;
        perpi_oscillation_at(f.o, t, &x, &q, &angle, &v, &w);
        CHECK_NEAR(x.x, 1 + 0.5 * t, 1e-15);
        CHECK_NEAR(x.y, 2 - 2 / (b1 * b1) * (sin(b1 * t + 0.4) - sin(0.4)), 1e-14);
        CHECK_NEAR(angle, 0.25 + 9 * t - 7 / (b5 * b5) * (sin(b5 * t + 1.1) - sin(1.1)), 1e-13);
        CHECK_NEAR(w.z, 9 - 7 / b5 * cos(b5 * t + 1.1), 1e-14);
    }
    close_motion(&f);
}

TEST(the_orientation_about_several_axes_is_that_of_fine_runge_kutta)
{
    /* the second rocks by half a turn to each side, with three frequencies */
    static const perp_sinusoid wild[6] = {
        [3] = {60, 1, 0.3}, [4] = {150, 2, 1.9}, [5] = {90, 1.5, 0}};
    const perp_sinusoid* const wave[2] = {centrifuge, wild};
    const double unit[2] = {1.0 / 33, 1.0}, allowed[2] = {1e-13, 2e-12};
    for (int which = 0; which < 2; ++which) {
        fixture f = open_motion(3, wave[which], false, true, zero, zero);
        REQUIRE_OK(f.status);
        quat q = q4_identity();
        const int steps = which == 0 ? 4000 : 40000;
        const double h = unit[which] / steps;
        double worst = 0.0;
        for (int k = 0; k < 5 * steps; ++k) {
            q = q4_unit(runge_kutta(wave[which], q, k * h, h));
            if (k % 997 == 0) {
                const double d = apart(q, pose_at(f.o, (k + 1) * h));
                worst = !(d <= worst) ? d : worst;
            }
        }
        TEST_PRINT("largest distance in 5 periods: %.2g rad", worst);
        CHECK_AT_MOST(worst, allowed[which]);
        close_motion(&f);
    }
}

TEST(the_initial_quaternion_of_the_centrifuge_makes_the_angles_symmetric)
{
    fixture f = open_motion(3, centrifuge, false, false, zero, zero);
    REQUIRE_OK(f.status);
    const quat q = pose_at(f.o, 0.0);
    TEST_PRINT("q(0) = %.9g %.9g %.9g %.9g", q.w, q.x, q.y, q.z);
    /* [P09] prints 0.999999, -0.00116298, 3.04478e-09, -4.24925e-06 */
    CHECK_NEAR(q.w, 0.999999, 5e-7);
    CHECK_NEAR(q.x, -0.00116298, 3e-8);
    CHECK_NEAR(q.y, 3.04478e-9, 1e-8);
    CHECK_NEAR(q.z, -4.24925e-6, 2e-11);
    double low[3] = {9, 9, 9}, high[3] = {-9, -9, -9};
    for (int k = 0; k <= 20000; ++k) {
        double a[3];
        angles_of(pose_at(f.o, k / 20000.0 / 33), a);
        for (int i = 0; i < 3; ++i) {
            low[i] = fmin(low[i], a[i]);
            high[i] = fmax(high[i], a[i]);
        }
    }
    for (int i = 0; i < 3; ++i) {
        CHECK_NEAR(low[i] + high[i], 0.0, 1e-10);
    }
    CHECK_NEAR(high[0], 100 / (66 * pi * 66 * pi), 1e-8);
    close_motion(&f);
}

/* The paper's digits: extremes of the angles among samples every 1e-4 s, from the identity, once. */
TEST(sampled_as_in_the_paper_the_quaternion_has_the_papers_digits)
{
    fixture f = open_motion(3, centrifuge, false, true, zero, zero);
    REQUIRE_OK(f.status);
    double low[3] = {9, 9, 9}, high[3] = {-9, -9, -9}, o[3];
    for (int k = 0; k <= 303; ++k) {
        double a[3];
        angles_of(pose_at(f.o, 1e-4 * k), a);
        for (int i = 0; i < 3; ++i) {
            low[i] = fmin(low[i], a[i]);
            high[i] = fmax(high[i], a[i]);
        }
    }
    for (int i = 0; i < 3; ++i) {
        o[i] = -0.5 * (low[i] + high[i]);
    }
    const quat q =
        q4_mul(q4_exp(v3(0, 0, o[2])), q4_mul(q4_exp(v3(0, o[1], 0)), q4_exp(v3(o[0], 0, 0))));
    TEST_PRINT("q(0) = %.9g %.9g %.9g %.9g", q.w, q.x, q.y, q.z);
    CHECK_NEAR(q.w, 0.999999, 5e-7);
    CHECK_NEAR(q.x, -0.00116298, 5e-9);
    CHECK_NEAR(q.y, 3.04478e-9, 1e-13);
    CHECK_NEAR(q.z, -4.24925e-6, 6e-12);
    close_motion(&f);
}

TEST(a_periodic_plate_comes_back_and_one_that_is_not_creeps_by_the_area_it_encircles)
{
    const double T = 1.0 / 33, theta = 100 / (66 * pi * 66 * pi);
    fixture a = open_motion(3, centrifuge, false, false, zero, zero);
    fixture b = open_motion(3, centrifuge, true, false, zero, zero);
    REQUIRE_OK(a.status);
    REQUIRE_OK(b.status);
    const vec3 creep = q4_log(q4_mul(pose_at(a.o, T), q4_conj(pose_at(a.o, 0.0))));
    CHECK_NEAR(v3_norm(creep), pi * theta * theta, 1e-10);
    CHECK_NEAR(apart(pose_at(a.o, 200 * T), pose_at(a.o, 0.0)), 200 * v3_norm(creep), 1e-9);
    double worst = 0.0;
    for (int k = 0; k < 200; ++k) {
        worst = fmax(worst, apart(pose_at(b.o, (k + 0.3) * T), pose_at(b.o, 0.3 * T)));
    }
    TEST_PRINT("not periodic: %.6g rad a period; periodic: %.2g rad in 200", v3_norm(creep), worst);
    CHECK_AT_MOST(worst, 1e-11);
    /* the acceleration is the given one: only a constant is added to the angular velocity */
    vec3 x, w[2];
    quat q;
    double angle;
    perpi_oscillation_at(b.o, 0.0, &x, &q, &angle, NULL, &w[0]);
    perpi_oscillation_at(b.o, 0.4 * T, &x, &q, &angle, NULL, &w[1]);
    const vec3 difference =
        v3_sub(v3_sub(w[1], w[0]), v3_sub(rate_of(centrifuge, 0.4 * T), rate_of(centrifuge, 0.0)));
    CHECK_AT_MOST(v3_norm(difference), 1e-14);
    close_motion(&a);
    close_motion(&b);
}

TEST(motions_that_cannot_be_are_refused)
{
    const perp_sinusoid odd[6] = {[0] = {1, 33, 0}, [2] = {1, 33 * sqrt(2.0), 0}};
    const perp_sinusoid turns[6] = {[3] = {1, 33, 0}, [4] = {1, 33 * sqrt(2.0), 0}};
    const perp_sinusoid wide[6] = {[3] = {1e7, 1, 0}, [4] = {1e7, 1, 1}};
    const perp_sinusoid still[6] = {[0] = {1, 0, 1}};
    const struct {
        const perp_sinusoid* wave;
        bool periodic;
        vec3 v;
        const char* message;
    } cases[] = {
        {odd, true, {0, 0, 0}, "motion/acceleration/periodic: the frequencies have no common"},
        {centrifuge, true, {1, 0, 0}, "motion/acceleration/periodic: a body with a velocity"},
        {turns, false, {0, 0, 0}, "motion/acceleration/angular: frequencies about several axes"},
        {wide, false, {0, 0, 0}, "motion/acceleration/angular: "},
        {still, false, {0, 0, 0}, "motion/acceleration/linear/0: frequency: must be > 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        fixture f = open_motion(3, cases[i].wave, cases[i].periodic, false, cases[i].v, zero);
        CHECK_EQ_INT(f.status, PERP_ERROR_INPUT);
        CHECK_CONTAINS(perp_context_error(f.context), cases[i].message);
        close_motion(&f);
    }
    fixture f = open_motion(3, odd, false, false, zero, zero); /* not asked: nothing to refuse */
    CHECK_OK(f.status);
    close_motion(&f);
}
