/* src/problem/check.h - checks beyond those of perp/problem.h: the NCP's, whose numbers come
 * from callbacks (sizes, bounds and the pattern), and the contact problem's with its factors. */
#ifndef PERPI_CHECK_H
#define PERPI_CHECK_H

#include "perp/problem.h"

/* perp_contact_check. L: NULL, or 6 dof_count of room for the factors of the mass blocks; known: they are
 * positive definite, nothing is factored. */
PERP_NODISCARD perp_status perpi_contact_check(perp_context* context,
                                               const perp_contact_problem* problem, bool known,
                                               double* L);
PERP_NODISCARD perp_status perpi_ncp_check(perp_context* context, const perp_ncp* problem);

#endif
