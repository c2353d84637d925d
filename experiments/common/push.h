/* experiments/common/push.h - pictures of the pushes of design-push and design-robust. */
#ifndef EXPERIMENT_PUSH_H
#define EXPERIMENT_PUSH_H

#include "common/design.h"

enum { PUSH_UNKNOWNS = 5 };
extern const char* const push_names[PUSH_UNKNOWNS];

void push_set(perp_context* context, perp_scene* scene, const double value[PUSH_UNKNOWNS]);
/* Runs the scene as it is set; DIR/NAME-part.dat has outlines of the part (every 0.25 s and at the
 * end), DIR/NAME-pusher.dat the way of the pusher, DIR/NAME-path.dat that of the part's centre. */
void push_draw(perp_context* context, perp_scene* scene, const report* r, const char* name);
/* DIR/goal.dat: the outline of the part at its goal. */
void push_draw_goal(const report* r);

#endif
