/* tests/support/random_scene.h - seeded scenes that mix features, as text, for tests of what must hold
 * in every scene. The same seed gives the same text on every machine. */
#ifndef PERP_RANDOM_SCENE_H
#define PERP_RANDOM_SCENE_H

#include <stdint.h>

typedef struct random_scene_spec {
    uint64_t seed;
    int dimension;       /* 2 or 3 */
    const char* contact; /* contact model */
    const char* stepper;
    int steps;        /* duration in steps, at least; at random a part of a step more */
    int joints;       /* 0: none */
    int restitution;  /* 0: none */
    int record_every; /* of the recording */
} random_scene_spec;

/* Bodies of random shapes thrown at each other or onto a floor. Returns text of malloc, NULL without
 * memory. */
char* random_scene(const random_scene_spec* spec);

#endif
