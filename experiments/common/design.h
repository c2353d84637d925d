/* experiments/common/design.h - designs of an experiment: the studies in its folder of the sources,
 * and what they found. A failure of the design (not of a run) ends the experiment. */
#ifndef EXPERIMENT_DESIGN_H
#define EXPERIMENT_DESIGN_H

#include "common/study.h"

enum { DESIGN_UNKNOWNS = 16 };

typedef struct design_found {
    perp_design_report report;
    double best[DESIGN_UNKNOWNS];
    int32_t unknowns;
    int64_t runs;    /* simulations of a candidate */
    int64_t reached; /* the first evaluation with at most the target; 0: none */
    double seconds;  /* of CPU, all runs */
} design_found;

/* Runs the design FOLDER/STUDY.json into DIR/STUDY.db (made anew), with one job for each processor, and writes
 * DIR/STUDY-history.dat: evaluation, objective, best so far, unknowns. target: the search ends when
 * the best is at most that; NAN: never. */
design_found design_search(perp_context* context, const report* r, const char* folder,
                           const char* study, double target);
/* What the report says of every design: evaluations, simulations, start, optimum and its unknowns,
 * half the step. */
void design_report(report* r, const char* what, perp_study* study, const design_found* found);
/* Loads FOLDER/NAME.json. */
perp_study* design_load(perp_context* context, const char* folder, const char* name);
perp_scene* design_scene(perp_context* context, const char* folder, const char* name);
/* perp_scene_set_number, which must succeed. */
void design_set(perp_context* context, perp_scene* scene, const char* name, double value);

#endif
