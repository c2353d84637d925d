/* src/study/without_ipopt.c - what stands in the place of mpec_ipopt.c in a build without Ipopt. */
#include "study/mpec.h"

bool perpi_mpec_available(void)
{
    return false;
}

perp_status perpi_mpec_solve(perpi_mpec* m, const perpi_mpec_options* options,
                             perpi_mpec_report* report)
{
    (void)options;
    (void)report;
    return perpi_fail(m->context, PERP_ERROR_UNSUPPORTED,
                      "this perp was built without Ipopt, which the method 'mpec' needs");
}
