/* src/model/joints/gear.h - see gear.c. */
#ifndef PERPI_GEAR_H
#define PERPI_GEAR_H

#include "model/joints/joint_type.h"

/* Checks the def of a gear and fills what gears alone have. Messages start with the member. */
PERP_NODISCARD perp_status perpi_gear_make(const perp_model* model, const perp_joint_def* def,
                                           perpi_joint* gear);

#endif
