/* src/model/oscillation_parts.h - the numbers of an oscillation, for its files. */
#ifndef PERPI_OSCILLATION_PARTS_H
#define PERPI_OSCILLATION_PARTS_H

#include "model/oscillation.h"

typedef struct perpi_wave {
    int32_t axis; /* 0..2 along, 3..5 about x, y, z */
    double A, b, c;
} perpi_wave;

struct perpi_oscillation {
    int32_t dimension;
    vec3 x0; /* mean pose */
    quat q0; /* behind the turn */
    double angle0;
    vec3 v, w; /* means */
    perpi_wave* wave;
    int32_t wave_count;
    int32_t turning; /* the axis of rotation, -1: none, 3: several */
    /* several: */
    double period;
    int32_t nodes;
    quat* node;    /* nodes + 1: Phi at k period / nodes */
    vec3 a_cycle;  /* log Phi(T) */
    bool periodic; /* the means are chosen so that it is 0 */
};

#endif
