/* cli/compare.h - the result of `perp compare` for two recordings. */
#ifndef PERP_CLI_COMPARE_H
#define PERP_CLI_COMPARE_H

#include "cli.h"

/* Figures of one recording over all its frames. */
typedef struct compare_side {
    const char* path;
    perp_recording* recording;
    perp_scene* scene;
    int64_t frames, steps;
    double begin, end;                 /* times */
    double energy_begin, energy_end;   /* total */
    perp_contact_residual certificate; /* the worst of each law */
    int32_t contacts_max, contacts_final;
    double penetration_max;
    double iterations_sum;
    int32_t iterations_max;
    int64_t unsolved; /* frames since whose predecessor a step was taken unsolved */
} compare_side;

/* How far apart something is: the most, when, and at the last common time. */
typedef struct compare_gap {
    double max, time, final;
} compare_gap;

typedef struct compare_body {
    int32_t a, b; /* its number on either side */
    bool fixed;   /* static on both */
    compare_gap distance, turn;
} compare_body;

typedef struct compare_result {
    compare_side a, b;
    double from, to;              /* the time that both cover */
    int64_t times;                /* compared at so many: every frame of either */
    int64_t between_a, between_b; /* of these, times at which one side was interpolated */
    bool identical;               /* same bodies, and the same bits of state in every frame */
    compare_body* body;           /* those in common, in the order of A */
    int32_t body_count;
    int32_t furthest;          /* of them; -1: none is apart */
    compare_gap energy;        /* |B - A| of the total */
    double energy_final[2];    /* of A and B, at the last common time */
    double energy_furthest[2]; /* and when they differ most */
} compare_result;

void compare_print_text(const compare_result* r, bool markdown);
void compare_print_json(const compare_result* r);

#endif
