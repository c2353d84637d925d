/* src/solve/builtin.h - the methods that come with the library, one table per method and form. */
#ifndef PERPI_SOLVE_BUILTIN_H
#define PERPI_SOLVE_BUILTIN_H

#include "base/context.h"
#include "perp/solve.h"

extern const perp_lcp_solver_ops perpi_lcp_lemke;
extern const perp_lcp_solver_ops perpi_lcp_pgs;
extern const perp_contact_solver_ops perpi_contact_pgs;

#endif
