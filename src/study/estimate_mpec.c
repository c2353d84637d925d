/* src/study/estimate_mpec.c - not built yet. */
#include "study/estimate.h"

perp_status perpi_estimate_mpec(perpi_estimate_run* run, perpi_answer* answer)
{
    (void)answer;
    return perpi_fail(run->context, PERP_ERROR_UNSUPPORTED, "method 'mpec' is not built yet");
}
