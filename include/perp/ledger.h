/* perp/ledger.h - the energy ledger of a step or a run: work and dissipation by cause. */
#ifndef PERP_LEDGER_H
#define PERP_LEDGER_H

#include "perp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The energy account of a step, or the sum over several: the causes of the change of energy.
 * Every term is computed from its own quantities (docs/notation.md, "The energy ledger");
 * energies have the unit of the scene. Dissipative terms are <= 0. */
typedef struct perp_ledger {
    double change;     /* of kinetic plus potential energy; quasistatic: of potential energy */
    double forces;     /* work of wrenches and of user code; gravity is in the potential energy */
    double drag;       /* <= 0 */
    double springs;    /* damping of springs and soft layers, <= 0 but for explicit dampers */
    double motors;     /* work of motors and controllers */
    double prescribed; /* work of prescribed bodies and belts */
    double friction;   /* of contacts and supports, <= 0 */
    double impacts;    /* loss of impacts */
    double joints;     /* dry friction and damping of joints, <= 0 */
    /* energy that the scheme itself adds or removes */
    double gap;           /* -p_n psi / h: normal impulses where the gap at the start is not 0 */
    double joint_error;   /* likewise of joints, limits and their correction */
    double gyroscopic;    /* of the velocity-product term and the momentum update */
    double spring_error;  /* spring work against the change of the stored energy */
    double step_loss;     /* -(v' - v)' M (v' - v) / 2 of an implicit step, <= 0 */
    double projection;    /* poses moved onto joints, and velocities projected */
    double extrapolation; /* adaptive steps: of 2 (two halves) - (one whole) */
    double unexplained;   /* change minus all terms: rounding, and residuals of the solver */
    double magnitude;     /* sum of the absolute values of all terms */
} perp_ledger;

/* The entries of a ledger in the order above, and their names: "change", "friction", "scheme.gap",
 * "scheme.joints" (joint_error), "scheme.springs" (spring_error), ... NULL and 0 beyond the last. */
#define PERP_LEDGER_COUNT 18
PERP_API const char* perp_ledger_name(int32_t entry);
PERP_API double perp_ledger_entry(const perp_ledger* ledger, int32_t entry);
/* Adds entry by entry; a NaN stays. */
PERP_API void perp_ledger_add(perp_ledger* sum, const perp_ledger* step);

#ifdef __cplusplus
}
#endif
#endif
