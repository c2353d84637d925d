/* examples/solve_lcp.c - an LCP and a frictional contact problem, solved without a simulation. */
#include <stdio.h>

#include "perp/solve.h"

int main(void)
{
    /* 0 <= z perp M z + q >= 0 */
    const double M[] = {2, 1, 1, 2}, q[] = {-4, 1};
    const perp_lcp lcp = {.n = 2, .M = M, .q = q};
    /* u = W r + c: one contact with friction 0.3, pressed down with 2 and pushed sideways with 1 */
    const double W[] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, c[] = {-2, 1, 0};
    const perp_constraint contact = {.rows = 3, .cone = PERP_CONE_QUADRATIC, .mu = 0.3};
    const perp_friction_problem friction = {
        1, 3, {(int32_t[]){0, 1}, (int32_t[]){0}, (size_t[]){0}, W}, c, NULL, NULL, &contact};

    double z[2], r[3];
    perp_report a = {0}, b = {0};
    perp_context* context = NULL;
    perp_lcp_solver* lcp_solver = NULL;
    perp_friction_solver* friction_solver = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK ||
        perp_lcp_solver_create(context, "auto", NULL, 0, &lcp_solver) != PERP_OK ||
        perp_lcp_solve(lcp_solver, &lcp, NULL, false, z, &a) != PERP_OK ||
        perp_friction_solver_create(context, "auto", NULL, 0, &friction_solver) != PERP_OK ||
        perp_friction_solve(friction_solver, &friction, NULL, false, r, NULL, &b) != PERP_OK) {
        fprintf(stderr, "%s\n", context != NULL ? perp_context_error(context) : "no memory");
        return 1;
    }
    printf("lcp %s by %s: z = %g %g\n", perp_outcome_name(a.outcome), a.solver, z[0], z[1]);
    printf("friction %s by %s: r = %g %g %g\n", perp_outcome_name(b.outcome), b.solver, r[0], r[1],
           r[2]);
    perp_lcp_solver_destroy(lcp_solver);
    perp_friction_solver_destroy(friction_solver);
    perp_context_destroy(context);
    return a.outcome == PERP_OUTCOME_SOLVED && b.outcome == PERP_OUTCOME_SOLVED ? 0 : 1;
}
