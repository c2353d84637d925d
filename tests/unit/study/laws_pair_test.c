/* The residual of the laws of contact of a pair of states: a planar body of mass 2 whose only
 * contact is a point, pairs made by hand. */
#include <math.h>

#include "perp_test.h"
#include "study/laws_pair.h"

enum { N = 3, R = 2, ROWS = N + 3 + 1 };

typedef struct fixture {
    perp_context* context;
    perpi_law_pair pair;
    perpi_law_work work;
    double mass, inertia, arm[2]; /* of the contact from the centre */
} fixture;

static void set_up(fixture* x)
{
    *x = (fixture){.mass = 2.0, .inertia = 0.5, .arm = {0.3, -0.4}};
    CHECK_EQ_INT(perp_context_create(NULL, &x->context), PERP_OK);
    x->work.context = x->context;
    CHECK_EQ_INT(perpi_law_pair_room(x->context, &x->pair, N, R, 1), PERP_OK);
}

static void tear_down(fixture* x)
{
    perpi_law_pair_free(x->context, &x->pair);
    perpi_law_work_free(&x->work);
    perp_context_destroy(x->context);
}

/* An impact that changed v to v_after, at the contact with mu and e. */
static void set_pair(fixture* x, const double v[3], const double v_after[3], double mu, double e)
{
    const double J[R][N] = {{0, 1, x->arm[0]}, {1, 0, -x->arm[1]}};
    const double M[N] = {x->mass, x->mass, x->inertia};
    perpi_law_pair* pair = &x->pair;
    double W[R] = {0, 0};
    pair->contact[0] = (perpi_law_contact){.tangents = 1, .mu = mu, .e = e, .compression = NAN};
    for (int i = 0; i < N; ++i) {
        pair->c[i] = v_after[i] - v[i];
        for (int k = 0; k < R; ++k) {
            pair->A[i * R + k] = J[k][i] / M[i];
            W[k] += J[k][i] * J[k][i] / M[i];
            pair->contact[0].before[k] += J[k][i] * v[i];
            pair->contact[0].after[k] += J[k][i] * v_after[i];
        }
        for (int j = 0; j < N; ++j) {
            pair->U[i * N + j] = i == j ? sqrt(M[i]) : 0.0;
        }
    }
    pair->contact[0].m_n = pair->w_n = 1.0 / W[0];
    pair->contact[0].m_t = pair->w_t = 1.0 / W[1];
    pair->time = 0.0;
}

/* Velocities after the impulse p. */
static void push(const fixture* x, const double v[3], double p_n, double p_t, double v_after[3])
{
    v_after[0] = v[0] + p_t / x->mass;
    v_after[1] = v[1] + p_n / x->mass;
    v_after[2] = v[2] + (x->arm[0] * p_n - x->arm[1] * p_t) / x->inertia;
}

static double loss_of(fixture* x, double p[R])
{
    double loss = NAN;
    CHECK_EQ_INT(perpi_law_minimise(&x->work, &x->pair, p, &loss), PERP_OK);
    return loss;
}

/* Normal velocity of the contact point. */
static double normal_speed(const fixture* x, const double v[3])
{
    return v[1] + x->arm[0] * v[2];
}

static double slip(const fixture* x, const double v[3])
{
    return v[0] - x->arm[1] * v[2];
}

TEST(a_sliding_impact_by_the_laws_has_no_residual_and_its_own_impulse)
{
    fixture x;
    set_up(&x);
    const double v[3] = {-9.0, -3.0, 1.0}, p_n = 4.0, mu = 0.25;
    double after[3], p[R];
    push(&x, v, p_n, mu * p_n, after); /* it slides to the left before and after */
    CHECK(slip(&x, v) < 0.0 && slip(&x, after) < 0.0);
    const double e = -normal_speed(&x, after) / normal_speed(&x, v);
    set_pair(&x, v, after, mu, e);
    CHECK_AT_MOST(loss_of(&x, p), 1e-28);
    CHECK_NEAR(p[0], p_n, 1e-12);
    CHECK_NEAR(p[1], mu * p_n, 1e-12);
    tear_down(&x);
}

/* The rebound is wrong by 0.1 of the approach, the dynamics and friction are right: w_n (0.1 u)^2 / 2. */
TEST(a_wrong_restitution_costs_the_energy_of_its_error)
{
    fixture x;
    set_up(&x);
    const double v[3] = {-9.0, -3.0, 1.0}, p_n = 4.0, mu = 0.25;
    double after[3], p[R];
    push(&x, v, p_n, mu * p_n, after);
    const double u = normal_speed(&x, v), e = -normal_speed(&x, after) / u;
    set_pair(&x, v, after, mu, e + 0.1);
    CHECK_NEAR(loss_of(&x, p), 0.5 * x.pair.w_n * 0.01 * u * u, 1e-12);
    tear_down(&x);
}

/* A sliding contact tells mu from both sides; the loss grows with the square of the error. */
TEST(a_sliding_impact_tells_friction_from_both_sides)
{
    fixture x;
    set_up(&x);
    const double v[3] = {-9.0, -3.0, 1.0}, p_n = 4.0, mu = 0.25;
    double after[3], p[R], loss[4];
    push(&x, v, p_n, mu * p_n, after);
    const double e = -normal_speed(&x, after) / normal_speed(&x, v);
    static const double change[4] = {-0.02, -0.01, 0.01, 0.02};
    for (int i = 0; i < 4; ++i) {
        set_pair(&x, v, after, mu + change[i], e);
        loss[i] = loss_of(&x, p);
        CHECK(loss[i] > 0.0);
    }
    CHECK_NEAR(loss[0] / loss[1], 4.0, 0.2);
    CHECK_NEAR(loss[3] / loss[2], 4.0, 0.2);
    tear_down(&x);
}

/* Any coefficient above p_t / p_n explains it equally well; a smaller one does not. */
TEST(a_sticking_impact_bounds_friction_from_below_only)
{
    fixture x;
    set_up(&x);
    const double v[3] = {-0.5, -3.0, 1.0};
    const double nn = 1 / x.mass + x.arm[0] * x.arm[0] / x.inertia;
    const double tt = 1 / x.mass + x.arm[1] * x.arm[1] / x.inertia;
    const double nt = -x.arm[0] * x.arm[1] / x.inertia, e = 0.5;
    const double b_n = -(1 + e) * normal_speed(&x, v), b_t = -slip(&x, v);
    const double p_n = (tt * b_n - nt * b_t) / (nn * tt - nt * nt);
    const double p_t = (nn * b_t - nt * b_n) / (nn * tt - nt * nt);
    double after[3], p[R];
    push(&x, v, p_n, p_t, after);
    CHECK_NEAR(slip(&x, after), 0.0, 1e-14);
    const double least = fabs(p_t) / p_n;
    for (int i = 1; i < 6; ++i) {
        set_pair(&x, v, after, least * (1.0 + 0.3 * i), e);
        CHECK_AT_MOST(loss_of(&x, p), 1e-26);
        set_pair(&x, v, after, least * (1.0 - 0.15 * i), e);
        CHECK(loss_of(&x, p) > 1e-6);
    }
    tear_down(&x);
}

/* Slip that is noise must not be read as sliding: the loss of a sticking contact with a small slip
 * does not depend on mu. */
TEST(noise_of_a_sticking_contact_does_not_bias_friction)
{
    fixture x;
    set_up(&x);
    const double v[3] = {0.0, -3.0, 0.0};
    double after[3], p[R];
    push(&x, v, 4.0, 0.1, after);
    after[0] += 1e-3 - slip(&x, after); /* what is left of the slip is noise */
    double first = NAN;
    for (int i = 0; i < 4; ++i) {
        set_pair(&x, v, after, 0.8 + 0.4 * i, 0.3);
        const double loss = loss_of(&x, p);
        first = i == 0 ? loss : first;
        CHECK_NEAR(loss, first, 1e-12 * first);
    }
    tear_down(&x);
}

TEST(the_derivative_by_the_impulses_is_that_of_differences)
{
    fixture x;
    set_up(&x);
    const double v[3] = {-2.0, -3.0, 1.0}, after[3] = {-1.5, 1.2, 4.0};
    static const double at[][R] = {{4.0, 1.0}, {4.0, -0.2}, {0.1, 0.7}, {-0.3, 0.2}};
    for (int poisson = 0; poisson < 2; ++poisson) {
        set_pair(&x, v, after, 0.3, 0.5);
        x.pair.contact[0].compression = poisson ? 2.7 : NAN;
        for (size_t i = 0; i < sizeof at / sizeof at[0]; ++i) {
            double r[ROWS], J[ROWS * R], high[ROWS], low[ROWS];
            const int32_t column[R] = {0, 1};
            x.pair.contact[0].pushes = true;
            perpi_law_residual(&x.pair, at[i], false, r);
            perpi_law_jacobian(&x.pair, at[i], column, R, J);
            for (int k = 0; k < R; ++k) {
                double p[R] = {at[i][0], at[i][1]};
                p[k] += 1e-6;
                perpi_law_residual(&x.pair, p, true, high);
                p[k] -= 2e-6;
                perpi_law_residual(&x.pair, p, true, low);
                for (int row = 0; row < ROWS; ++row) {
                    CHECK_NEAR(J[row * R + k], (high[row] - low[row]) / 2e-6, 1e-8);
                }
            }
        }
    }
    tear_down(&x);
}

/* In flight the contact is far: no impulse, and what is left is the error of the dynamics. */
TEST(a_contact_that_is_far_away_does_not_push)
{
    fixture x;
    set_up(&x);
    const double v[3] = {1.0, -1.0, 2.0};
    double after[3] = {1.01, -1.0, 2.0}, p[R];
    set_pair(&x, v, after, 0.3, 0.5);
    x.pair.time = 0.01;
    x.pair.contact[0].gap = 0.5;
    CHECK_AT_MOST(loss_of(&x, p), 0.5 * x.mass * 1e-4 * (1 + 1e-12));
    CHECK(!x.pair.contact[0].pushes);
    /* and an overlap is an error whatever the impulses are */
    x.pair.contact[0].gap = -0.02;
    CHECK(loss_of(&x, p) > 0.5 * x.pair.w_n * 4.0 * (1 - 1e-12));
    tear_down(&x);
}
