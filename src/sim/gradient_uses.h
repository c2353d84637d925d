/* src/sim/gradient_uses.h - backwards through a measure of other measures.
 *
 * The expression of such a measure has values of other measures at its samples. So the derivative
 * by the value of a measure at state k is known once the samples of state k and of later states
 * are; it is passed on to the samples up to state k that the value is made of. States are visited
 * from the last to the first, measures from the last to the first.
 */
#ifndef PERPI_GRADIENT_USES_H
#define PERPI_GRADIENT_USES_H

#include "sim/gradient_run.h"

typedef struct perpi_uses perpi_uses;
/* NULL: the measure has no others. */
PERP_NODISCARD perp_status perpi_uses_create(perpi_gradient_work* g, perpi_uses** uses);
void perpi_uses_destroy(perpi_uses* uses);
/* Keeps the values of the measures at the state that was just reached. */
PERP_NODISCARD perp_status perpi_uses_note(perpi_uses* uses);
/* Their values at state k, into g->slot; NULL: nothing. */
void perpi_uses_read(const perpi_uses* uses, int64_t k);
/* y += what state k adds; weight: of the measure itself there. */
void perpi_uses_sample(perpi_uses* uses, int64_t k, size_t frame, double weight, double* y);

#endif
