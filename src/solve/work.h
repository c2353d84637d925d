/* src/solve/work.h - the work of the attempts of a solver, and a limit of it for several solves, such as those of
 * one step. Work is counted in multiplications, by estimate, never in time: runs must not differ. */
#ifndef PERPI_SOLVE_WORK_H
#define PERPI_SOLVE_WORK_H

#include "perp/solve.h"

/* Of so many iterations of a method on one island. shared_dofs: velocities without those of soft layers. */
double perpi_attempt_work(const char* method, const perp_contact_problem* problem,
                          int32_t shared_dofs, int32_t iterations);

/* solver.c: begins to count. Once the solves that follow have taken more work than `most`, each further one has
 * PERPI_FEW iterations in all. 0: no limit. */
void perpi_contact_solver_begin_work(perp_contact_solver* solver, double most);
/* Whether more than this part of the limit is spent. */
bool perpi_contact_solver_spent(const perp_contact_solver* solver, double part);
/* Since perpi_contact_solver_begin_work. */
double perpi_contact_solver_work(const perp_contact_solver* solver);

#endif
