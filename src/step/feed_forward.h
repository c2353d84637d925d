/* src/step/feed_forward.h - the effort of a controller that holds its bodies against gravity. */
#ifndef PERPI_FEED_FORWARD_H
#define PERPI_FEED_FORWARD_H

#include "model/model.h"

/* In the state q: -sum of m g . dc/dx over the bodies that the controller moves, x its coordinate and c their
 * centres of mass. 0 without feed-forward. */
double perpi_feed_forward(const perp_model* model, const double* q, const perpi_controller* c);

#endif
