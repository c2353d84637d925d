/* src/study/without_nlopt.c - stands in for search_nlopt.c where perp is built without NLopt. */
#include "study/design.h"

bool perpi_nlopt_available(void)
{
    return false;
}

perpi_search_end perpi_search_nlopt(perp_design_method method, const perpi_search* search,
                                    const char** text)
{
    (void)method, (void)search;
    *text = "this perp was built without NLopt";
    return PERPI_SEARCH_FAILED;
}
