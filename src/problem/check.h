/* src/problem/check.h - the check that perp/problem.h does not offer: the NCP's, whose numbers come
 * from callbacks. Sizes, bounds and the pattern. */
#ifndef PERPI_CHECK_H
#define PERPI_CHECK_H

#include "perp/problem.h"

PERP_NODISCARD perp_status perpi_ncp_check(perp_context* context, const perp_ncp* problem);

#endif
