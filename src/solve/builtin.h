/* src/solve/builtin.h - the methods that come with the library, one table per method and form. */
#ifndef PERPI_SOLVE_BUILTIN_H
#define PERPI_SOLVE_BUILTIN_H

#include "base/context.h"
#include "perp/solve.h"

extern const perp_lcp_solver_ops perpi_lcp_auto;
extern const perp_mlcp_solver_ops perpi_mlcp_auto;
extern const perp_ncp_solver_ops perpi_ncp_auto;
extern const perp_friction_solver_ops perpi_friction_auto;
extern const perp_contact_solver_ops perpi_contact_auto;
extern const perp_contact_solver_ops perpi_contact_newton_bodies;
extern const perp_contact_solver_ops perpi_contact_switching;
extern const perp_lcp_solver_ops perpi_lcp_lemke;
extern const perp_lcp_solver_ops perpi_lcp_pgs;
extern const perp_contact_solver_ops perpi_contact_pgs;
extern const perp_friction_solver_ops perpi_friction_nsgs;
extern const perp_friction_solver_ops perpi_friction_newton;
extern const perp_friction_solver_ops perpi_friction_admm;
extern const perp_friction_solver_ops perpi_friction_fixed_point;
extern const perp_friction_solver_ops perpi_friction_interior_point;
extern const perp_lcp_solver_ops perpi_lcp_fixed_point;
extern const perp_ncp_solver_ops perpi_ncp_fixed_point;
extern const perp_lcp_solver_ops perpi_lcp_fischer_newton;
extern const perp_lcp_solver_ops perpi_lcp_minmap_newton;
extern const perp_mlcp_solver_ops perpi_mlcp_fischer_newton;
extern const perp_mlcp_solver_ops perpi_mlcp_minmap_newton;
extern const perp_ncp_solver_ops perpi_ncp_fischer_newton;
extern const perp_ncp_solver_ops perpi_ncp_minmap_newton;
extern const perp_mlcp_solver_ops perpi_mlcp_path;
extern const perp_ncp_solver_ops perpi_ncp_path;
extern const perp_mlcp_solver_ops perpi_mlcp_pivot;
extern const perp_lcp_solver_ops perpi_lcp_interior_point;
extern const perp_mlcp_solver_ops perpi_mlcp_interior_point;
extern const perp_lcp_solver_ops perpi_lcp_psor;
extern const perp_lcp_solver_ops perpi_lcp_jacobi;
extern const perp_mlcp_solver_ops perpi_mlcp_pgs;
extern const perp_mlcp_solver_ops perpi_mlcp_psor;
extern const perp_mlcp_solver_ops perpi_mlcp_jacobi;
extern const perp_contact_solver_ops perpi_contact_psor;
extern const perp_contact_solver_ops perpi_contact_jacobi;

#endif
