/* tests/conform/generated_test.c - `auto` over a spread of generated problems: solved to 1e-8 by a
 * measure written here, or said not to be. */
#include "perp_test.h"

#include <math.h>
#include <stdlib.h>

#include "perp/solve.h"
#include "support/generate.h"

#define ENOUGH 1e-8
#define SECONDS 2.0 /* for one problem */

/* The largest |min(z, w)| over the largest term in sight. */
static double lcp_off(const perp_lcp* P, const double* z)
{
    double worst = 0.0, size = 0.0;
    for (int32_t i = 0; i < P->n; ++i) {
        double w = P->q[i];
        size = fabs(w) > size ? fabs(w) : size;
        for (int32_t j = 0; j < P->n; ++j) {
            w += P->M[(size_t)i * (size_t)P->n + (size_t)j] * z[j];
        }
        size = z[i] > size ? z[i] : size;
        const double off = fabs(z[i] < w ? z[i] : w);
        worst = !(off <= worst) ? off : worst;
    }
    return size > 0.0 ? worst / size : worst;
}

TEST(auto_solves_generated_lcps)
{
    static const int32_t sizes[] = {1, 2, 5, 12, 30, 80};
    perp_context* context = NULL;
    perp_lcp_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_lcp_solver_create(context, "auto", NULL, 0, &solver));
    for (generate_lcp_kind kind = 0; kind < GENERATE_LCP_KINDS; ++kind) {
        int solved = 0, total = 0;
        double worst = 0.0, apart = 0.0;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
            for (uint64_t seed = 1; seed <= 8; ++seed) {
                generated_lcp g;
                REQUIRE(generate_lcp(kind, sizes[s], seed, &g));
                CHECK_AT_MOST(lcp_off(&g.lcp, g.z), 1e-14); /* what was planted */
                double* z = calloc((size_t)sizes[s], sizeof *z);
                perp_report report;
                perp_solve_options options = perp_solve_options_default();
                options.time_limit = SECONDS;
                REQUIRE_OK(perp_lcp_solve(solver, &g.lcp, &options, false, z, &report));
                const double off = lcp_off(&g.lcp, z);
                if (report.outcome == PERP_OUTCOME_SOLVED) {
                    CHECK_AT_MOST(off, ENOUGH);
                    worst = off > worst ? off : worst;
                    ++solved;
                }
                for (int32_t i = 0; i < sizes[s]; ++i) {
                    apart = fabs(z[i] - g.z[i]) > apart ? fabs(z[i] - g.z[i]) : apart;
                }
                ++total;
                free(z);
                generated_lcp_free(&g);
            }
        }
        TEST_PRINT("%-10s %d of %d solved, worst %.1e", generate_lcp_name[kind], solved, total,
                   worst);
        CHECK_EQ_INT(solved, total);
        if (kind == GENERATE_LCP_P || kind == GENERATE_LCP_DEGENERATE) {
            CHECK_AT_MOST(apart, 1e-9); /* there is no other solution */
        }
    }
    perp_lcp_solver_destroy(solver);
    perp_context_destroy(context);
}

/* The laws in velocities, over the largest velocity or impulse effect of the problem: M v = k + J' p,
 * p_n >= 0, u_n >= 0, their product, |p_t| <= mu p_n, and u_t = -s p_t with s >= 0 where it slides.
 * The masses are diagonal here. */
static double contact_off(const perp_contact_problem* P, const double* v, const double* p)
{
    double worst = 0.0, size = 0.0;
    double* f = calloc((size_t)P->dof_count, sizeof *f);
    for (int32_t d = 0; d < P->dof_count; ++d) {
        f[d] = P->k[d];
        size = fabs(v[d]) > size ? fabs(v[d]) : size;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        double u[3] = {P->b[c->row], 0.0, 0.0}, w = 0.0;
        const double *J = P->J + c->jac, *r = p + c->row;
        for (int side = 0; side < 2; ++side) {
            for (int row = 0; c->block[side] >= 0 && row < 3; ++row) {
                for (int d = 0; d < 6; ++d) {
                    const int32_t at = 6 * c->block[side] + d;
                    u[row] += J[6 * row + d] * v[at];
                    f[at] += J[6 * row + d] * r[row];
                    w += row == 0 ? J[d] * J[d] / P->M[36 * (size_t)c->block[side] + 7 * (size_t)d]
                                  : 0.0;
                }
            }
            J += c->block[side] >= 0 ? 18 : 0;
        }
        const double force = hypot(r[1], r[2]), slip = hypot(u[1], u[2]);
        const double off[] = {
            fabs(w * r[0] < u[0] ? w * r[0] : u[0]),
            w * (force - c->mu * r[0]),
            w * (c->mu * r[0] - force) < slip ? w * (c->mu * r[0] - force) : slip,
            fmin(w * force,
                 force > 0.0 ? hypot(u[1] + slip * r[1] / force, u[2] + slip * r[2] / force) : 0.0),
        };
        for (size_t k = 0; k < sizeof off / sizeof *off; ++k) {
            worst = !(off[k] <= worst) ? off[k] : worst;
        }
        size = w * r[0] > size ? w * r[0] : size;
    }
    for (int32_t d = 0; d < P->dof_count; ++d) {
        const double m = P->M[36 * (size_t)(d / 6) + 7 * (size_t)(d % 6)];
        const double off = fabs(v[d] - f[d] / m);
        worst = !(off <= worst) ? off : worst;
    }
    free(f);
    return size > 0.0 ? worst / size : worst;
}

TEST(auto_solves_generated_contact_problems_or_says_that_it_did_not)
{
    static const int32_t sizes[] = {1, 2, 5, 20, 100, 400};
    static const double ratios[] = {1.0, 1e3, 1e6}, most_mu[] = {0.0, 0.5, 2.0};
    perp_context* context = NULL;
    perp_contact_solver* solver = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_solver_create(context, "auto", NULL, 0, &solver));
    for (generate_contact_kind kind = 0; kind < GENERATE_CONTACT_KINDS; ++kind) {
        int solved = 0, total = 0;
        double worst = 0.0;
        for (int run = 0; run < 54; ++run) {
            generate_contact_spec spec = generate_contact_spec_default(kind);
            spec.contacts = sizes[run / 9];
            spec.mass_ratio = ratios[run / 3 % 3];
            spec.mu_max = most_mu[run % 3];
            spec.seed = (uint64_t)run;
            generated_contact g;
            REQUIRE(generate_contact(&spec, &g));
            double* v = calloc((size_t)(g.problem.dof_count + g.problem.row_count), sizeof *v);
            double* p = v + g.problem.dof_count;
            perp_report report;
            perp_solve_options options = perp_solve_options_default();
            options.tolerance = 1e-9;
            options.time_limit = SECONDS;
            REQUIRE_OK(
                perp_contact_solve(solver, &g.problem, &options, false, v, p, NULL, &report));
            if (report.outcome == PERP_OUTCOME_SOLVED) {
                const double off = contact_off(&g.problem, v, p);
                CHECK_AT_MOST(off, ENOUGH);
                worst = off > worst ? off : worst;
                ++solved;
            } else {
                TEST_PRINT("%s, %d contacts, masses to %g, mu to %g: %s, residual %.1e",
                           generate_contact_name[kind], (int)g.problem.constraint_count,
                           spec.mass_ratio, spec.mu_max, perp_outcome_name(report.outcome),
                           report.residual);
                CHECK(report.residual > options.tolerance);
            }
            ++total;
            free(v);
            generated_contact_free(&g);
        }
        TEST_PRINT("%-7s %d of %d solved, worst %.1e", generate_contact_name[kind], solved, total,
                   worst);
        CHECK_AT_LEAST(solved, 44); /* of 54; the hardest depend on how busy the machine is */
    }
    perp_contact_solver_destroy(solver);
    perp_context_destroy(context);
}

TEST(the_same_seed_gives_the_same_problem_and_another_one_another)
{
    generated_lcp a, b, c;
    REQUIRE(generate_lcp(GENERATE_LCP_PSD, 6, 5, &a) && generate_lcp(GENERATE_LCP_PSD, 6, 5, &b) &&
            generate_lcp(GENERATE_LCP_PSD, 6, 6, &c));
    bool same = true, other = false;
    for (int i = 0; i < 36; ++i) {
        same = same && a.M[i] == b.M[i];
        other = other || a.M[i] != c.M[i];
    }
    CHECK(same && other);
    generated_lcp_free(&a);
    generated_lcp_free(&b);
    generated_lcp_free(&c);
}
