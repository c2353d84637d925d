/* perp/version.h - the version of perp: the one place where it is written down. CMake, the program,
 * recordings and the package files take it from here. */
#ifndef PERP_VERSION_H
#define PERP_VERSION_H

#define PERP_VERSION_MAJOR 0
#define PERP_VERSION_MINOR 2
#define PERP_VERSION_PATCH 0

#define PERP_VERSION_TEXT_(a, b, c) #a "." #b "." #c
#define PERP_VERSION_TEXT(a, b, c) PERP_VERSION_TEXT_(a, b, c)
#define PERP_VERSION_STRING                                                                        \
    PERP_VERSION_TEXT(PERP_VERSION_MAJOR, PERP_VERSION_MINOR, PERP_VERSION_PATCH)
/* One number to compare in #if: 0.2.0 is 200, 1.2.3 is 10203. */
#define PERP_VERSION_NUMBER                                                                        \
    (PERP_VERSION_MAJOR * 10000 + PERP_VERSION_MINOR * 100 + PERP_VERSION_PATCH)

#endif
