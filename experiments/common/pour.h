/* experiments/common/pour.h - [W14 5.2.3]: polygons poured into a box.
 *
 * Each polygon is the hull of ten random points within +-0.25, as printed; one is let go every 0.25 s
 * for 5 s. Box, places and heights are ours: five columns that sink slowly, without gravity, towards a
 * box 3 m wide; a polygon is let go when it comes to `height`.
 */
#ifndef EXPERIMENT_POUR_H
#define EXPERIMENT_POUR_H

#include "common/scene.h"

enum { POUR_POLYGONS = 20, POUR_WALLS = 3 };

typedef struct pour {
    const char* contact;
    unsigned seed;
    double h;
    double height; /* 1.7 unless given */
    double spin;   /* at most so many rad/s, either way, when let go */
    double mu;     /* 0: no friction */
} pour;

scene_run pour_open(const pour* p);

#endif
