/* src/solve/methods.h - methods by name. */
#ifndef PERPI_SOLVE_REGISTRY_H
#define PERPI_SOLVE_REGISTRY_H

#include "base/context.h"
#include "perp/solve.h"

/* NULL if there is no such method for that form. */
const perp_lcp_solver_ops* perpi_find_lcp_solver(const perp_context* context, const char* name);
const perp_mlcp_solver_ops* perpi_find_mlcp_solver(const perp_context* context, const char* name);
const perp_ncp_solver_ops* perpi_find_ncp_solver(const perp_context* context, const char* name);
const perp_friction_solver_ops* perpi_find_friction_solver(const perp_context* context,
                                                           const char* name);
const perp_contact_solver_ops* perpi_find_contact_solver(const perp_context* context,
                                                         const char* name);

/* The failure for a name that has no method: not built yet, or unknown with a suggestion. A name
 * that exists for other forms only says so; form: "an LCP", "a contact problem". */
perp_status perpi_fail_solver_name(perp_context* context, const char* name, const char* form);

#endif
