/* perp/perp.h - includes all public headers. */
#ifndef PERP_PERP_H
#define PERP_PERP_H

#include "perp/base.h"
#include "perp/contact.h"
#include "perp/force.h"
#include "perp/forces.h"
#include "perp/gradient.h"
#include "perp/ledger.h"
#include "perp/measure.h"
#include "perp/model.h"
#include "perp/problem.h"
#include "perp/query.h"
#include "perp/record.h"
#include "perp/robot.h"
#include "perp/scene.h"
#include "perp/set.h"
#include "perp/shape.h"
#include "perp/sim.h"
#include "perp/solve.h"
#include "perp/study.h"

#endif
