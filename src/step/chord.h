/* src/step/chord.h - how a middle step turns its bodies. */
#ifndef PERPI_CHORD_H
#define PERPI_CHORD_H

#include "step/formulate.h"

/* Whether a body turns by 2 atan(h w/2) in a middle step, not by h w. Then h w x (r + r')/2 is the chord
 * r' - r of a point of it, and the joint there does no work (docs/notation.md, "Middle steps"). Bodies that
 * swing about a joint, in mechanisms for which perp chose middle steps: about the axis of their largest
 * inertia, their mass at the distance of the joint has more than that. A wheel on its axle and a flat top turn by h w.
 * Not by the speed: states of the two kinds of steps differ by the order of h^2, and changes from one to the other
 * took half of the energy of a double pendulum of 5 cm in 20 s. */
bool perpi_turns_by_chord(const perpi_step_input* in, int32_t body);

/* The rotation vector of a body in a step with the angular velocity w. */
vec3 perpi_turn_of(const perpi_step_input* in, int32_t body, vec3 w);

/* Its derivative by w over h. */
mat3 perpi_turn_slope(const perpi_step_input* in, int32_t body, vec3 w);

/* The spin of such a body in space. With Q the half of the turn, I_m the inertia half way, and L, L' the momenta,
 *     I_m w = (Q L + Q' L')/2
 * (mean angular velocities in the frame of the body [Simo and Wong 1991]): its energy changes by w . (L' - L) exactly. In
 * the form I_m w = L + (L' - L)/2 + g the term is g = (1 - Q) I_m w - (L - Q Q L)/2, and w . g = 0. */
vec3 perpi_chord_term(const perpi_step_input* in, int32_t body, mat3 I_m, vec3 L, vec3 w);
/* The derivative of I_m w - g by w. */
mat3 perpi_chord_slope(const perpi_step_input* in, int32_t body, mat3 I_m, vec3 L, vec3 w);

#endif
