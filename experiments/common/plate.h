/* experiments/common/plate.h - the shaken plates of [P09] and parts on them.
 *
 * Units are SI: [P09] gives translational accelerations in cm/s^2, but its fields come out with
 * m/s^2 only. All plates of the paper shake at 33 Hz.
 */
#ifndef EXPERIMENT_PLATE_H
#define EXPERIMENT_PLATE_H

#include "perp/perp.h"

enum { PLATE_HERTZ = 33 };

typedef struct plate {
    const char* name;
    double amplitude[6]; /* along x, y, z (m/s^2), about x, y, z (rad/s^2) */
    double phase[6];     /* rad */
} plate;

extern const plate plate_circle;          /* [P09 (23), (24)] */
extern const plate plate_scaled_circle;   /* [P09 (18), (19)] */
extern const plate plate_learned_contact; /* [P09 (25), (26)] */
extern const plate plate_learned;         /* [P09 (27), (28)] */
extern const plate plate_centrifuge;      /* [P09 appendix]; its translation is not printed: ours */
extern const plate plate_saddle;          /* [P09 (29)-(34)] with alpha and p'' changed back */

typedef struct plate_def {
    const plate* motion;
    double h, duration, mu;
    int directions;     /* 0: the quadratic cone */
    const char* solver; /* NULL: auto */
    int parts;
    const double (*at)[2]; /* where on the plate, m */
    bool tripod;           /* else particles */
} plate_def;

typedef struct plate_run {
    perp_context* context;
    perp_model* model;
    perp_sim* sim;
    int parts;
} plate_run;

/* Body 0 is the plate, 1.. the parts; each starts at rest relative to the plate. A failure ends the
 * experiment, as does one of plate_step. */
void plate_open(plate_run* run, const plate_def* def);
void plate_close(plate_run* run);
perp_step_info plate_step(plate_run* run);
/* The part's place in the frame of the plate, and its velocity relative to the plate there. */
void plate_part(const plate_run* run, int part, double place[3], double slip[3]);

/* The feet of the tripod, in the body's frame. */
extern const double plate_feet[3][3];

#endif
