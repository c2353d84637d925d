/* src/solve/newton/newton_ncp.h - semismooth Newton methods for box-constrained complementarity: the core
 * that the tables fischer-newton and minmap-newton share for LCP, MLCP and NCP. */
#ifndef PERPI_SOLVE_NEWTON_NCP_H
#define PERPI_SOLVE_NEWTON_NCP_H

#include "perp/solve.h"
#include "solve/newton/minmap.h"

typedef enum perpi_newton_kind { PERPI_NEWTON_FISCHER, PERPI_NEWTON_MINMAP } perpi_newton_kind;

/* Dimensionless: the problem is scaled first. */
typedef struct perpi_newton_settings {
    double penalty;    /* weight of a+ b+ beside Fischer-Burmeister, 0..0.5 */
    double armijo;     /* fraction of the predicted decrease of the merit that a step must bring */
    double regularise; /* smallest eps put on the diagonal of a singular Jacobian */
    int32_t memory;    /* merit values a step may be compared with; 1: monotone */
    int32_t restarts;  /* further starting points when the merit no longer decreases */
    int32_t start_steps; /* most steps from one starting point */
} perpi_newton_settings;

enum { PERPI_NEWTON_SETTINGS = 6, PERPI_NEWTON_MEMORY = 64 };
/* For both methods; minmap-newton has the penalty too: its merit is the same function. */
extern const perp_setting perpi_newton_setting[PERPI_NEWTON_SETTINGS];
void perpi_fischer_settings_default(void* settings);
void perpi_minmap_settings_default(void* settings);

typedef struct perpi_newton perpi_newton;

PERP_NODISCARD perp_status perpi_fischer_create(perp_context* context, const void* settings,
                                                void** self);
PERP_NODISCARD perp_status perpi_minmap_create(perp_context* context, const void* settings,
                                               void** self);
void perpi_newton_destroy(void* self);

/* The solve entries of the ops tables. */
PERP_NODISCARD perp_status perpi_newton_solve_lcp(void* self, const perp_lcp* problem,
                                                  const perp_solve_options* options, bool warm,
                                                  double* z, perp_report* report);
PERP_NODISCARD perp_status perpi_newton_solve_mlcp(void* self, const perp_mlcp* problem,
                                                   const perp_solve_options* options, bool warm,
                                                   double* z, perp_report* report);
PERP_NODISCARD perp_status perpi_newton_solve_ncp(void* self, const perp_ncp* problem,
                                                  const perp_solve_options* options, bool warm,
                                                  double* z, perp_report* report);

/* The Fischer-Burmeister function of the box at (y, G): Phi, and if not NULL the element
 * a + b J of its generalised Jacobian (Jx: J times the vector x of perpi_fischer_degenerate, read
 * at degenerate rows only). Returns the merit |Phi|^2 / 2. */
double perpi_fischer(const perpi_box* box, double penalty, const double* y, const double* G,
                     double* Phi);
void perpi_fischer_element(const perpi_box* box, double penalty, const double* y, const double* G,
                           const double* Jx, double* a, double* b);
/* x: +-1 at rows where both arguments vanish, pointing into the box, else 0. Whether there is one. */
bool perpi_fischer_degenerate(const perpi_box* box, const double* y, const double* G, double* x);

#endif
