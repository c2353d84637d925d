/* experiments/real-impacts/impacts.h - planar impacts of an ellipse on a line: data, and the
 * algebra of one impact.
 *
 * Per unit of mass. Velocities are v_x, v_y, omega; the contact is at r from the centre, its normal
 * is +y; k is the square of the radius of gyration. An impulse p = (p_n, p_t) changes v by (p_t,
 * p_n, (r_x p_n - r_y p_t) / k).
 */
#ifndef REAL_IMPACTS_H
#define REAL_IMPACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/report.h"

#define HALF_AXIS_A 0.035
#define HALF_AXIS_B 0.025
#define GYRATION ((HALF_AXIS_A * HALF_AXIS_A + HALF_AXIS_B * HALF_AXIS_B) / 4.0)

typedef struct impact {
    int number;
    double pose[3]; /* x, y, angle before */
    double before[3], after[3];
    double r[2]; /* as the source gives it */
} impact;

typedef struct impact_set {
    impact* item;
    size_t count;
} impact_set;

/* The training half; false: the file is not there. Ends the program on a file of another form. */
bool impacts_read(const char* path, impact_set* set);
/* Impacts by Newton's law with mu and e from random states like those of the data, with noise of
 * that standard deviation in the velocities after (omega: divided by the radius of gyration). */
void impacts_make(size_t count, double mu, double e, double noise, impact_set* set);
void impacts_free(impact_set* set);
/* As perp estimate reads them. */
void impacts_write(const report* r, const char* name, const impact_set* set);
/* Every second one, from `first`. */
impact_set impacts_half(const impact_set* set, size_t first);

/* The lowest point of the ellipse at an angle, from its centre. */
void lowest_point(double angle, double r[2]);
/* The contact point: the lowest one at the angle before. */
typedef struct contact_frame {
    double r[2], k;
    double nn, tt, nt;       /* of J M^-1 J' */
    double u[2], u_after[2]; /* velocity of the contact point: n, t */
    double speed;            /* sqrt(v' M v) before */
    double p[2];             /* the impulse that explains the change of velocity best */
} contact_frame;
contact_frame frame_of(const impact* i, double k);

/* Newton's law with Coulomb's friction. */
void newton_impulse(const contact_frame* f, double mu, double e, double p[2]);
/* Routh's construction, as of Wang and Mason: Coulomb's law at every moment of the impact, so that
 * friction turns with the slip; Poisson's restitution. Not a law of perp, whose friction is that of
 * the slip after the impact. */
void routh_impulse(const contact_frame* f, double mu, double e, double p[2]);
/* The nearest of all impulses that push and do not increase the energy: the ideal rigid-body bound. */
void best_impulse(const contact_frame* f, double p[2]);
/* The nearest impulse that some mu >= 0 and e in [low, high] give. part: how far it is from none
 * (0) to sticking (1), before it is limited to that. */
void nearest_by_law(const contact_frame* f, double low, double high, double p[2], double* part);
/* Coefficients that the impulse f->p would be of. */
double own_restitution(const contact_frame* f);

#endif
