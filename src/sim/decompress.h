/* src/sim/decompress.h - Poisson's decompression: impulses are given, velocities are found. */
#ifndef PERPI_DECOMPRESS_H
#define PERPI_DECOMPRESS_H

#include "step/formulate.h"

/* Doubles of work that perpi_decompress needs. */
size_t perpi_decompress_work(const perpi_formulation* f);
/* From velocities v (in) over the impulses p (out) to velocities v (out) of
 *     M (v - v_in) = J' p,   0 <= p_n - asked_i  perp  u_n >= 0,   p_t in F(mu p_n), most dissipative
 * with the laws of joints. The b of a contact's normal row without its drift is what counts. False:
 * the sweeps did not settle. asked: one for each contact, 0 for none. */
bool perpi_decompress(const perpi_formulation* f, const perp_contact* contact, const double* asked,
                      double* v, double* p, double* work);

#endif
