/* tests/support/generate.h - seeded problems of any size, the same on every machine: for tests, for
 * benchmarks, and for users through build/.../bench/generate_problem.
 *
 * All randomness comes from one splitmix64 stream per problem. */
#ifndef PERP_GENERATE_H
#define PERP_GENERATE_H

#include <stdbool.h>
#include <stdint.h>

#include "perp/problem.h"

uint64_t generate_bits(uint64_t* state);
/* In [low, high). */
double generate_uniform(uint64_t* state, double low, double high);

/* ---- LCPs with a solution planted: q = w - M z for the z that is kept --------------------------------*/

typedef enum generate_lcp_kind {
    GENERATE_LCP_P,          /* positive definite, unsymmetric: one solution */
    GENERATE_LCP_PSD,        /* rank n / 2 plus a skew part: continua */
    GENERATE_LCP_COPOSITIVE, /* entries >= 0, diagonal > 0, indefinite */
    GENERATE_LCP_DEGENERATE, /* as P, but z_i = w_i = 0 in a third of the rows */
    GENERATE_LCP_KINDS
} generate_lcp_kind;

extern const char* const generate_lcp_name[GENERATE_LCP_KINDS];

typedef struct generated_lcp {
    perp_lcp lcp;
    double *M, *q, *z; /* z: the planted solution */
} generated_lcp;

/* False: out of memory. */
bool generate_lcp(generate_lcp_kind kind, int32_t n, uint64_t seed, generated_lcp* out);
void generated_lcp_free(generated_lcp* g);

/* ---- contact problems: one time step of 10 ms -------------------------------------------------------*/

typedef enum generate_contact_kind {
    GENERATE_STACKS, /* separate columns of boxes, four contacts where two faces meet */
    GENERATE_WALL,   /* bricks laid half over half */
    GENERATE_PILE,   /* boxes that touch up to three neighbours below, normals at random */
    GENERATE_GRASP,  /* one object, one finger per contact pressing inwards */
    GENERATE_CONTACT_KINDS
} generate_contact_kind;

extern const char* const generate_contact_name[GENERATE_CONTACT_KINDS];

typedef struct generate_contact_spec {
    generate_contact_kind kind;
    uint64_t seed;
    int32_t contacts;      /* >= 1; stacks and walls have whole columns: the nearest number */
    int32_t height;        /* courses of a stack or wall, >= 1 */
    double mass_ratio;     /* heaviest to lightest, >= 1; masses are 10 to a uniform power */
    double mu_min, mu_max; /* 0 <= mu_min <= mu_max */
} generate_contact_spec;

/* 100 contacts, 5 courses, masses within 1000, mu from 0 to 1. */
generate_contact_spec generate_contact_spec_default(generate_contact_kind kind);

typedef struct generated_contact {
    perp_contact_problem problem;
    int32_t* dof;
    double *M, *k, *J, *b;
    perp_constraint* constraint;
} generated_contact;

bool generate_contact(const generate_contact_spec* spec, generated_contact* out);
void generated_contact_free(generated_contact* g);

#endif
