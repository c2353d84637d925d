/* src/step/momentum.h - conservation of momentum over a step, and the momentum account. */
#ifndef PERPI_MOMENTUM_H
#define PERPI_MOMENTUM_H

#include "step/formulate.h"
#include "step/ledger.h"

/* Whether velocities that solve a step can differ from those of the state after it: the scene is
 * spatial and has a dynamic body whose inertia depends on its orientation. */
bool perpi_momentum_differs(const perp_model* model);

/* The angular velocities of the state after a step whose problem had forces and geometry at its start:
 * the new inertia's inverse applied to the angular momentum, L' = L + h torque + sum r x p. q_end: poses
 * after the step; v: in: the flat velocities that solved it, out: those of the state. */
void perpi_momentum_carry(const perpi_formulation* f, const perp_model* model,
                          const double* v_start, const double* q_end, double* v);

/* Scratch of the account, grown as needed. */
typedef struct perpi_momentum_work {
    int32_t* island; /* per body: its representative */
    bool* held;      /* per body, at the representative's place: exchanges with prescribed bodies */
    double* sum;     /* 18 a body, likewise */
    size_t island_capacity, held_capacity, sum_capacity;
} perpi_momentum_work;

/* Restores the angular momentum of each island that exchanges nothing with prescribed bodies to
 * that of the state q_end, v_state, by a rotation of the island as a whole. v: in and out, the
 * velocities at q_final. Of `in`, f, model, contact, q_end, v_state and q_final are used. */
PERP_NODISCARD perp_status perpi_momentum_restore(const perpi_ledger_input* in,
                                                  perpi_momentum_work* work, double* v);

/* The largest change of linear and of angular momentum of an island that no force explains.
 * Islands are bodies that exchange impulses; those that exchange some with prescribed bodies are
 * excluded. Relative to sum |m v| + sum |p| + sum m eps (|x| + reach)/h, angular: about the
 * island's centre of mass at the start, to the sum of the sizes of the moments. The state after
 * the step is in->q_final, in->v_final, or if these are NULL, in->q_end, in->v_state. */
PERP_NODISCARD perp_status perpi_momentum_account(const perpi_ledger_input* in,
                                                  perpi_momentum_work* work, double error[2]);

#endif
