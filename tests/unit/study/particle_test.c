/* Particle filters against closed forms: least squares, and the Kalman filter. */
#include "perp_test.h"
#include "study/particle_filter.h"

/* ---- parts --------------------------------------------------------------------------------------*/

TEST(systematic_resampling_gives_each_particle_the_floor_or_ceiling_of_its_share)
{
    enum { N = 50 };
    const perpi_stream s = {.seed = 3};
    for (int trial = 0; trial < 200; ++trial) {
        double log_weight[N], weight[N];
        int64_t ancestor[N];
        int copies[N] = {0};
        for (int k = 0; k < N; ++k) {
            log_weight[k] = k % 7 == 0 ? -INFINITY : 3.0 * perpi_stream_normal(&s, k, trial);
        }
        const double effective = perpi_weights(N, log_weight, weight);
        CHECK(effective >= 1.0 && effective <= N);
        perpi_resample(N, weight, perpi_stream_uniform(&s, N, trial), ancestor);
        for (int k = 0; k < N; ++k) {
            CHECK(k == 0 || ancestor[k] >= ancestor[k - 1]);
            copies[ancestor[k]] += 1;
        }
        for (int k = 0; k < N; ++k) {
            CHECK_AT_MOST(fabs(copies[k] - N * weight[k]), 1.0 + 1e-9);
            CHECK(weight[k] > 0.0 || copies[k] == 0);
        }
    }
}

TEST(weights_of_impossible_particles_are_zero_and_nan_is_impossible)
{
    const double log_weight[4] = {-1e300, -INFINITY, NAN, -1e300}, none[2] = {-INFINITY, NAN};
    double weight[4];
    CHECK_NEAR(perpi_weights(4, log_weight, weight), 2.0, 0.0);
    CHECK_NEAR(weight[0], 0.5, 0.0);
    CHECK_NEAR(weight[1] + weight[2], 0.0, 0.0);
    CHECK_NEAR(perpi_weights(2, none, weight), 0.0, 0.0);
}

TEST(draws_and_reflections_stay_within_the_bounds_without_collecting_there)
{
    const perpi_stream s = {.seed = 11};
    const perpi_prior normal = {PERPI_PRIOR_NORMAL, 0.0, 1.0, 0.05, 0.4};
    const perpi_prior narrow = {PERPI_PRIOR_NORMAL, 2.0, 2.0 + 1e-12, 2.0, 100.0};
    double sum = 0.0, value = 0.02;
    int at_bound = 0;
    enum { N = 20000 };
    for (int k = 0; k < N; ++k) {
        const double z = perpi_prior_draw(&normal, perpi_stream_uniform(&s, k, 0));
        CHECK(z >= 0.0 && z <= 1.0);
        sum += z;
        const double w = perpi_prior_draw(&narrow, perpi_stream_uniform(&s, k, 0));
        CHECK(w >= narrow.low && w <= narrow.high);
        value = perpi_reflect(value + 0.5 * perpi_stream_normal(&s, k, 1), 0.0, 1.0);
        CHECK(value >= 0.0 && value <= 1.0);
        at_bound += value == 0.0 || value == 1.0;
    }
    CHECK_EQ_INT(at_bound, 0);
    /* mean of the normal distribution cut off at a = -0.125 and b = 2.375 standard deviations:
     * 0.05 + 0.4 (phi(a) - phi(b)) / (Phi(b) - Phi(a)) */
    CHECK_NEAR(sum / N, 0.05 + 0.4 * (0.395838 - 0.023767) / (0.991226 - 0.450262), 0.006);
    CHECK_NEAR(perpi_reflect(-0.25, 0.0, 1.0), 0.25, 0.0);
    CHECK_NEAR(perpi_reflect(7.25, 0.0, 1.0), 0.75, 1e-15);
    CHECK_NEAR(perpi_reflect(-3.0, 1.0, INFINITY), 5.0, 0.0);
}

/* ---- a straight line: unknowns that do not change -----------------------------------------------
 * y = a + b t with noise s. With a flat prior on a and a uniform one on b, wide enough to be felt
 * nowhere, the posterior is the normal distribution of least squares. */

enum { LINE_ROWS = 30 };

typedef struct line {
    double t[LINE_ROWS], y[LINE_ROWS], s;
    int64_t simulated_rows;
    int32_t summaries;
    double mean[2], variance[2], low[2], high[2], predicted;
} line;

static line line_of(double s)
{
    line l = {.s = s};
    const perpi_stream noise = {.seed = 99};
    for (int i = 0; i < LINE_ROWS; ++i) {
        l.t[i] = 0.1 * i;
        l.y[i] = 0.7 - 0.4 * l.t[i] + s * perpi_stream_normal(&noise, i, 0);
    }
    return l;
}

static perp_status line_simulate(void* user, const perpi_static_request* q)
{
    line* l = user;
    const int32_t n = 2;
    for (int64_t k = 0; k < q->count; ++k) {
        double* r = q->record + (size_t)k * q->stride;
        r[n] = 0.0;
        for (int32_t i = 0; i < q->to; ++i) {
            const double y = r[1] + r[0] * l->t[i], e = (l->y[i] - y) / l->s;
            if (i < q->from) {
                r[n] -= 0.5 * e * e;
            } else {
                r[n + 1 + i - q->from] = -0.5 * e * e;
                r[n + 1 + (q->to - q->from) + (i - q->from)] = y;
            }
        }
        l->simulated_rows += q->to;
    }
    return PERP_OK;
}

static perp_status line_summary(void* user, const perpi_filter_row* row)
{
    line* l = user;
    l->summaries += 1;
    for (int i = 0; i < 2; ++i) {
        l->mean[i] = row->mean[i];
        l->variance[i] = row->covariance[i * 3];
        l->low[i] = row->low[i];
        l->high[i] = row->high[i];
    }
    l->predicted = row->predicted[0];
    return PERP_OK;
}

static perp_status filter_line(perp_context* context, line* l, int64_t particles, uint64_t seed,
                               perpi_filter_info* info)
{
    /* unknowns b, a: a is flat, drawn around a poor guess, and released after three rows */
    const perpi_prior prior[2] = {{PERPI_PRIOR_UNIFORM, -30.0, 30.0, 0.0, 0.0},
                                  {PERPI_PRIOR_FLAT, -INFINITY, INFINITY, 0.5, 0.5}};
    perpi_filter_group group[LINE_ROWS - 2];
    for (int i = 0; i < LINE_ROWS - 2; ++i) {
        group[i] = (perpi_filter_group){i + 3, 2};
    }
    const perpi_filter_def def = {.context = context,
                                  .particles = particles,
                                  .seed = seed,
                                  .threshold = 0.5,
                                  .n = 2,
                                  .prior = prior,
                                  .rows = LINE_ROWS,
                                  .predictions = 1,
                                  .summary = line_summary,
                                  .user = l};
    const perpi_static_model model = {.group = group,
                                      .group_count = LINE_ROWS - 2,
                                      .parameters = 1,
                                      .passes = 10,
                                      .simulate = line_simulate,
                                      .user = l};
    return perpi_filter_static(&def, &model, info);
}

/* b, a, and their variances. */
static void least_squares(const line* l, double value[2], double variance[2])
{
    double n = LINE_ROWS, t = 0.0, tt = 0.0, y = 0.0, ty = 0.0;
    for (int i = 0; i < LINE_ROWS; ++i) {
        t += l->t[i];
        tt += l->t[i] * l->t[i];
        y += l->y[i];
        ty += l->t[i] * l->y[i];
    }
    const double d = n * tt - t * t;
    value[0] = (n * ty - t * y) / d;
    value[1] = (tt * y - t * ty) / d;
    variance[0] = l->s * l->s * n / d;
    variance[1] = l->s * l->s * tt / d;
}

TEST(the_posterior_of_a_line_is_that_of_least_squares_at_any_noise)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    const double noise[3] = {0.3, 1e-3, 1e-8}; /* of bounds of width 60 */
    for (int i = 0; i < 3; ++i) {
        line l = line_of(noise[i]);
        double value[2], variance[2];
        perpi_filter_info info;
        enum { N = 2000 };
        REQUIRE_OK(filter_line(context, &l, N, 5, &info));
        least_squares(&l, value, variance);
        CHECK_EQ_INT(l.summaries, LINE_ROWS - 2);
        for (int k = 0; k < 2; ++k) {
            const double s = sqrt(variance[k]);
            CHECK_AT_MOST(fabs(l.mean[k] - value[k]), 5.0 * s / sqrt(N));
            CHECK_NEAR(l.variance[k] / variance[k], 1.0, 0.2);
            CHECK_NEAR((l.low[k] - value[k]) / s, -1.96, 0.3);
            CHECK_NEAR((l.high[k] - value[k]) / s, 1.96, 0.3);
        }
        CHECK_AT_MOST(fabs(l.predicted - (value[1] + value[0] * l.t[LINE_ROWS - 1])),
                      10.0 * noise[i] / sqrt(N));
        CHECK(info.effective >= 0.5 && info.acceptance > 0.3);
    }
    perp_context_destroy(context);
}

TEST(the_distance_from_the_posterior_mean_shrinks_with_the_root_of_the_particles)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    line l = line_of(0.05);
    double value[2], variance[2], x[3], y[3];
    least_squares(&l, value, variance);
    for (int i = 0; i < 3; ++i) {
        const int64_t particles = 40ll << (2 * i);
        double sum = 0.0;
        for (uint64_t seed = 1; seed <= 20; ++seed) {
            perpi_filter_info info;
            REQUIRE_OK(filter_line(context, &l, particles, seed, &info));
            sum += (l.mean[0] - value[0]) * (l.mean[0] - value[0]);
        }
        x[i] = log((double)particles);
        y[i] = 0.5 * log(sum / 20.0);
    }
    const double slope = (y[2] - y[0]) / (x[2] - x[0]);
    CHECK(slope > -0.6 && slope < -0.4);
    perp_context_destroy(context);
}

/* ---- a body with a noisy velocity: the Kalman filter --------------------------------------------
 * x' = x + dt v + sqrt(dt) q w_1, v' = v + sqrt(dt) q w_2; y = c x + p + noise, and p, a random
 * walk, is the parameter. Start: normal. */

enum { TRACK_ROWS = 25 };

typedef struct track {
    double time[TRACK_ROWS], y[TRACK_ROWS], s, q, walk, c;
    double mean[TRACK_ROWS], parameter[TRACK_ROWS];
    double variance[TRACK_ROWS];
} track;

static perp_status track_advance(void* user, const perpi_dynamic_request* q)
{
    track* t = user;
    perp_status status = PERP_OK;
    for (int64_t k = 0; status == PERP_OK && k < q->count; ++k) {
        const double* z = q->z + k * 3;
        double state[2] = {z[1], z[2]};
        if (q->row > 0) {
            const double dt = t->time[q->row] - t->time[q->row - 1];
            memcpy(state, q->state[k].data, sizeof state);
            state[0] += dt * state[1] + sqrt(dt) * t->q * q->noise[2 * k];
            state[1] += sqrt(dt) * t->q * q->noise[2 * k + 1];
        }
        const double e = (t->y[q->row] - t->c * state[0] - z[0]) / t->s;
        q->likelihood[k] = -0.5 * e * e;
        q->prediction[k] = state[0];
        memcpy(q->state[k].data, state, sizeof state);
    }
    return status;
}

typedef struct track_run {
    track* t;
    perp_context* context;
} track_run;

static perp_status track_step(void* user, const perpi_dynamic_request* q)
{
    track_run* r = user;
    const double zero[2] = {0.0, 0.0};
    perp_status status = PERP_OK;
    for (int64_t k = 0; q->row == 0 && status == PERP_OK && k < q->count; ++k) {
        status = perpi_blob_set(r->context, &q->state[k], zero, sizeof zero);
    }
    return status == PERP_OK ? track_advance(r->t, q) : status;
}

static perp_status track_summary(void* user, const perpi_filter_row* row)
{
    track* t = ((track_run*)user)->t;
    t->mean[row->row] = row->predicted[0];
    t->parameter[row->row] = row->mean[0];
    t->variance[row->row] = row->covariance[0];
    return PERP_OK;
}

/* Kalman's filter of (p, x, v) with diagonal start covariance. */
static void kalman(const track* t, const double start[3], double mean[][3], double variance[][3])
{
    double m[3] = {0.0, 0.0, 1.0};
    double P[3][3] = {{start[0], 0, 0}, {0, start[1], 0}, {0, 0, start[2]}};
    for (int row = 0; row < TRACK_ROWS; ++row) {
        if (row > 0) {
            const double dt = t->time[row] - t->time[row - 1];
            m[1] += dt * m[2];
            for (int j = 0; j < 3; ++j) {
                P[1][j] += dt * P[2][j];
            }
            for (int i = 0; i < 3; ++i) {
                P[i][1] += dt * P[i][2];
            }
            P[0][0] += dt * t->walk * t->walk;
            P[1][1] += dt * t->q * t->q;
            P[2][2] += dt * t->q * t->q;
        }
        double K[3], S = t->s * t->s;
        for (int i = 0; i < 3; ++i) {
            K[i] = P[i][0] + t->c * P[i][1];
        }
        S += K[0] + t->c * K[1];
        const double e = t->y[row] - m[0] - t->c * m[1];
        for (int i = 0; i < 3; ++i) {
            m[i] += K[i] / S * e;
            for (int j = 0; j < 3; ++j) {
                P[i][j] -= K[i] * K[j] / S;
            }
        }
        for (int i = 0; i < 3; ++i) {
            mean[row][i] = m[i];
            variance[row][i] = P[i][i];
        }
    }
}

static track track_of(double c)
{
    track t = {.s = 0.1, .q = 0.2, .walk = 0.3, .c = c};
    const perpi_stream noise = {.seed = 42};
    for (int i = 0; i < TRACK_ROWS; ++i) {
        t.time[i] = 0.1 * i + (i > 10 ? 0.15 : 0.0); /* a gap */
        t.y[i] = c * sin(t.time[i]) + 0.3 + t.s * perpi_stream_normal(&noise, i, 0);
    }
    return t;
}

static perp_status run_track(perp_context* context, track* t, int64_t particles, uint64_t seed,
                             perpi_filter_info* info)
{
    const perpi_prior prior[3] = {{PERPI_PRIOR_NORMAL, -INFINITY, INFINITY, 0.0, 0.5},
                                  {PERPI_PRIOR_NORMAL, -INFINITY, INFINITY, 0.0, 0.3},
                                  {PERPI_PRIOR_NORMAL, -INFINITY, INFINITY, 1.0, 0.4}};
    track_run run = {t, context};
    const perpi_filter_def def = {.context = context,
                                  .particles = particles,
                                  .seed = seed,
                                  .threshold = 0.5,
                                  .n = 3,
                                  .prior = prior,
                                  .rows = TRACK_ROWS,
                                  .predictions = 1,
                                  .summary = track_summary,
                                  .user = &run};
    const perpi_dynamic_model model = {.time = t->time,
                                       .parameters = 1,
                                       .walk = &t->walk,
                                       .discount = 0.98,
                                       .noises = 2,
                                       .advance = track_step,
                                       .user = &run};
    return perpi_filter_dynamic(&def, &model, info);
}

TEST(with_process_noise_the_filter_follows_the_kalman_filter)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    track t = track_of(1.0);
    perpi_filter_info info;
    enum { N = 20000 };
    double mean[TRACK_ROWS][3], variance[TRACK_ROWS][3];
    const double start[3] = {0.25, 0.09, 0.16};
    REQUIRE_OK(run_track(context, &t, N, 1, &info));
    kalman(&t, start, mean, variance);
    for (int row = 0; row < TRACK_ROWS; ++row) {
        CHECK_AT_MOST(fabs(t.mean[row] - mean[row][1]), 15.0 * sqrt(variance[row][1] / N));
        CHECK_AT_MOST(fabs(t.parameter[row] - mean[row][0]), 15.0 * sqrt(variance[row][0] / N));
        CHECK_NEAR(t.variance[row] / variance[row][0], 1.0, 0.25);
    }
    CHECK(info.resamplings > 3 && info.effective > 0.05);
    perp_context_destroy(context);
}

/* The kernel keeps mean and variance. Here the state says nothing of the parameter: the kernel
 * ignores correlations between them (docs/studies.md). */
TEST(a_parameter_without_noise_of_its_own_keeps_its_variance_through_resamplings)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    track t = track_of(0.0);
    t.walk = 0.0;
    perpi_filter_info info;
    enum { N = 20000, LAST = TRACK_ROWS - 1 };
    double mean[TRACK_ROWS][3], variance[TRACK_ROWS][3];
    const double start[3] = {0.25, 0.09, 0.16};
    REQUIRE_OK(run_track(context, &t, N, 1, &info));
    kalman(&t, start, mean, variance);
    CHECK_NEAR((t.parameter[LAST] - mean[LAST][0]) / sqrt(variance[LAST][0]), 0.0, 0.2);
    CHECK_NEAR(t.variance[LAST] / variance[LAST][0], 1.0, 0.3);
    perp_context_destroy(context);
}

TEST(data_that_no_particle_can_follow_end_the_filter_with_the_row)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    track t = track_of(1.0);
    line l = line_of(0.1);
    t.y[7] = NAN;
    l.y[9] = NAN;
    perpi_filter_info info;
    CHECK_EQ_INT(run_track(context, &t, 100, 1, &info), PERP_ERROR_SOLVE);
    CHECK(strstr(perp_context_error(context), "row 8") != NULL);
    CHECK_EQ_INT(filter_line(context, &l, 100, 1, &info), PERP_ERROR_SOLVE);
    CHECK(strstr(perp_context_error(context), "row 10") != NULL);
    perp_context_destroy(context);
}
