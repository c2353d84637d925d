/* src/study/estimate_laws.c - not built yet. */
#include "study/estimate.h"

perp_status perpi_estimate_laws(perpi_estimate_run* run, perpi_answer* answer)
{
    (void)answer;
    return perpi_fail(run->context, PERP_ERROR_UNSUPPORTED, "method '%s' is not built yet",
                      perpi_estimate_method_word(run->e->method));
}
