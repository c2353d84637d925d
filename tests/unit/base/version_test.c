/* The version: macros, library and text say the same. */
#include "perp/base.h"
#include "perp_test.h"

TEST(the_library_and_its_header_have_the_same_version)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%d.%d.%d", PERP_VERSION_MAJOR, PERP_VERSION_MINOR,
                   PERP_VERSION_PATCH);
    CHECK_EQ_STR(perp_version_string(), text);
    CHECK_EQ_STR(PERP_VERSION_STRING, text);
    CHECK_EQ_INT(perp_version(), PERP_VERSION_NUMBER);
    CHECK_EQ_INT(PERP_VERSION_NUMBER % 100, PERP_VERSION_PATCH);
    CHECK_EQ_INT(PERP_VERSION_NUMBER / 100 % 100, PERP_VERSION_MINOR);
    CHECK_EQ_INT(PERP_VERSION_NUMBER / 10000, PERP_VERSION_MAJOR);
}
