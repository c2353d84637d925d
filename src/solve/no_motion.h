/* src/solve/no_motion.h - contact problems that no velocities satisfy. */
#ifndef PERPI_SOLVE_NO_MOTION_H
#define PERPI_SOLVE_NO_MOTION_H

#include "base/arena.h"
#include "perp/problem.h"

/* Whether contacts in no group, joints and limits contradict each other: whatever friction and impulses are, velocities that
 * satisfy all of them are at least 1e4 times those of the free motion and those that they ask for, or there are none. P: with
 * its M_factor. false: they may exist, or the problem has too many velocities to ask. */
PERP_NODISCARD perp_status perpi_has_no_motion(perpi_arena* arena, const perp_contact_problem* P,
                                               bool* none);

#endif
