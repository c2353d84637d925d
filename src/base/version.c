/* src/base/version.c - the version of the library, for programs that load it when they run. */
#include "perp/base.h"

int32_t perp_version(void)
{
    return PERP_VERSION_NUMBER;
}

const char* perp_version_string(void)
{
    return PERP_VERSION_STRING;
}
