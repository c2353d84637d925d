/* experiments/common/polygons.h - random convex polygons, the same for the same seed. */
#ifndef EXPERIMENT_POLYGONS_H
#define EXPERIMENT_POLYGONS_H

#include <stddef.h>

enum { POLYGON_POINTS = 10, POLYGON_CORNERS = 24 };

typedef struct polygon {
    double x[POLYGON_CORNERS], y[POLYGON_CORNERS]; /* counter-clockwise */
    int count;
} polygon;

void random_begin(unsigned seed);
double random_uniform(double a, double b);
/* [W14 5.2.3]: the hull of ten points within +-half. */
polygon random_polygon(double half);
/* Turns and moves it so that its centre of mass is at the origin and it lies on the edge on which it is
 * hardest to tip over; returns the height of the centre above that edge. */
double polygon_sit(polygon* p);
/* "[[x,y],...]" into text; returns the length. */
size_t polygon_text(const polygon* p, char* text, size_t size);

#endif
