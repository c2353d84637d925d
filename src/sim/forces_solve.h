/* src/sim/forces_solve.h - the instantaneous problem in terms of forces.
 *
 *     a = W z + q,  one unit after another:
 *     HELD     a = 0, z free                                    joints
 *     NORMAL   0 <= z perp a >= 0                               no friction, or sliding (part of W)
 *     ROLLING  0 <= z_n perp a_n >= 0, z_t in F(mu z_n), most against a_t
 *
 * W is not symmetric where a contact slides: there may be no solution, or several.
 */
#ifndef PERPI_FORCES_SOLVE_H
#define PERPI_FORCES_SOLVE_H

#include "base/context.h"
#include "perp/forces.h"
#include "perp/solve.h"

typedef enum perpi_unit_kind {
    PERPI_UNIT_HELD,
    PERPI_UNIT_NORMAL,
    PERPI_UNIT_ROLLING
} perpi_unit_kind;

typedef struct perpi_unit {
    perpi_unit_kind kind;
    int32_t row, rows;
    double mu;
    perp_cone cone; /* ROLLING */
    int32_t directions;
} perpi_unit;

typedef struct perpi_force_problem {
    perp_context* context;
    int32_t n, units, dofs;
    double* W; /* n x n */
    double* q;
    double* B; /* dofs x n: what z adds to the accelerations of the bodies */
    perpi_unit* unit;
} perpi_force_problem;

/* z: n, out. */
PERP_NODISCARD perp_status perpi_forces_solve(const perpi_force_problem* problem, double* z,
                                              perp_existence* existence, int32_t* solutions,
                                              double* residual);

#endif
