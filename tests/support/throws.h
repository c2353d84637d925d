/* tests/support/throws.h - seeded throws of one body at a wide plate, the same on every machine: for
 * tests/physics/throws_test.c and bench/throws.c.
 *
 * A body of 5 mm to 0.3 m is thrown from above at 1 to 50 m/s at a plate of 1 mm to 20 cm (or a plane)
 * that is much wider than its travel: there is no way round it, so the body's centre must end above the
 * plate's middle. That is decided by positions alone. */
#ifndef PERP_THROWS_H
#define PERP_THROWS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    THROW_PARTICLE,
    THROW_BALL, /* sphere, circle */
    THROW_CAPSULE,
    THROW_BOX,
    THROW_CONVEX,  /* polyhedron, polygon */
    THROW_NOTCHED, /* not convex: a mesh, a polygon with an inward corner */
    THROW_SHAPES
};
enum { THROW_STANDARD, THROW_PEG, THROW_LNC, THROW_DISJUNCTIVE, THROW_MODELS };
enum { THROW_STEWART_TRINKLE, THROW_IMPLICIT, THROW_GEOMETRIC, THROW_ADAPTIVE, THROW_STEPPERS };

extern const char* const throw_shape_name[THROW_SHAPES];
extern const char* const throw_model_name[THROW_MODELS];
extern const char* const throw_stepper_name[THROW_STEPPERS];

typedef struct throw_case {
    int dimension, shape, model, stepper;
    bool plane;       /* a plane or half-plane instead of a plate */
    double up[3];     /* normal of the plate's upper side; its upper side contains the origin */
    double thickness; /* of the plate */
    double size;      /* of the body */
    double speed, h;
    char scene[4096];
} throw_case;

typedef enum throw_end { THROW_FINE, THROW_WRONG_SIDE, THROW_FAILED } throw_end;

typedef struct throw_result {
    throw_end end;
    double height; /* of the centre over the plate's middle at the end, over the body's size */
    double
        deepest; /* largest depth of an overlap, over the smaller of the body's size and thickness */
    double
        growth; /* of the total energy over that at the start, over the kinetic energy of the start */
    char message[512];
} throw_result;

/* The throw with that number. Combinations that do not exist are not made: capsules in the plane, and
 * `disjunctive` in space; lnc and disjunctive meet planes only, adaptive steps have the standard model. */
throw_case throw_make(uint64_t number);
/* Runs it. */
throw_result throw_run(const throw_case* c);

#endif
