/* src/model/balance.h - the nearest inertia that a body can have. */
#ifndef PERPI_BALANCE_H
#define PERPI_BALANCE_H

#include "base/vec.h"

/* Principal values that are 0 or negative by rounding are raised, and a largest one that exceeds the sum of
 * the others is shared with them (the orthogonal projection onto the triangle inequality); the
 * principal axes stay. Returns the largest change of an entry relative to the largest entry: 0 if
 * there was nothing to do, -1 if there is no such inertia near (all are 0, or one is negative). */
double perpi_balance_inertia(mat3* inertia);

#endif
