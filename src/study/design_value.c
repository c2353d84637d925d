/* src/study/design_value.c - the runs of a design: their values, and their share of the objective. */
#include <math.h>
#include <string.h>

#include "study/design.h"

bool perp_study_is_design(const perp_study* study)
{
    return study->design != NULL;
}

perp_design_info perp_study_design(const perp_study* study)
{
    const perpi_design* d = study->design;
    return (perp_design_info){.unknown_count = d->unknown_count,
                              .case_count = d->case_count,
                              .draws = study->run_count,
                              .method = d->method,
                              .minimise = d->minimise_text,
                              .constraint_count = d->constraint_count,
                              .starts = d->starts,
                              .evaluations = d->evaluations,
                              .tolerance = d->tolerance};
}

perp_unknown perp_study_unknown(const perp_study* study, int32_t unknown)
{
    return study->design->unknown[unknown];
}

const char* perp_study_constraint(const perp_study* study, int32_t constraint)
{
    return study->design->constraint_text[constraint];
}

int64_t perpi_design_runs(const perp_study* study)
{
    return study->run_count * study->design->case_count;
}

int64_t perpi_design_run_count(const perp_study* study)
{
    return perpi_design_runs(study) * study->design->candidate_count;
}

/* ---- candidates -------------------------------------------------------------------------------*/

perp_status perpi_design_put(perp_study* study, int64_t evaluation, const double* candidate)
{
    perpi_design* d = study->design;
    const size_t width = (size_t)d->unknown_count + 1;
    const perp_status status = perpi_grow(study->context, &d->candidate, &d->candidate_room,
                                          (size_t)evaluation * width, sizeof *d->candidate);
    if (status == PERP_OK) {
        memcpy(d->candidate + ((size_t)evaluation - 1) * width, candidate,
               width * sizeof *candidate);
        d->candidate_count = evaluation > d->candidate_count ? evaluation : d->candidate_count;
    }
    return status;
}

const double* perpi_design_candidate(const perp_study* study, int64_t evaluation)
{
    const perpi_design* d = study->design;
    return evaluation >= 1 && evaluation <= d->candidate_count
               ? d->candidate + (evaluation - 1) * (d->unknown_count + 1)
               : NULL;
}

perp_vary_value perpi_design_value(const perp_study* study, int64_t run, int32_t vary)
{
    const perpi_design* d = study->design;
    const int64_t runs = perpi_design_runs(study);
    if (vary < d->unknown_count) { /* unknowns are the first columns */
        const double* candidate = perpi_design_candidate(study, (run - 1) / runs + 1);
        return (perp_vary_value){.number =
                                     candidate != NULL ? candidate[vary] : d->unknown[vary].start};
    }
    const json_t* one = json_array_get(d->cases, (size_t)((run - 1) % runs / study->run_count));
    const json_t* value = json_object_get(one, study->vary[vary].info.name);
    return json_is_string(value) ? (perp_vary_value){.text = json_string_value(value)}
                                 : (perp_vary_value){.number = json_number_value(value)};
}

double perpi_design_step_factor(const perp_study* study, int64_t run)
{
    const double* candidate =
        perpi_design_candidate(study, (run - 1) / perpi_design_runs(study) + 1);
    return candidate != NULL ? candidate[study->design->unknown_count] : 1.0;
}

/* The step as the scene has it, which an earlier run may have changed; nothing where each run sets it. */
static perp_status restore_step(perp_study* study)
{
    const perpi_design* d = study->design;
    return d->step_text != NULL ? perp_scene_set_string(study->scene, d->step_place, d->step_text)
           : isnan(d->step_number)
               ? PERP_OK
               : perp_scene_set_number(study->scene, d->step_place, d->step_number);
}

perp_status perpi_design_set_step(perp_study* study, int64_t run)
{
    perpi_design* d = study->design;
    const double factor = perpi_design_step_factor(study, run);
    if (factor == 1.0 && !d->step_changed) {
        return PERP_OK;
    }
    PERPI_TRY(restore_step(study));
    d->step_changed = factor != 1.0;
    if (factor == 1.0) {
        return PERP_OK;
    }
    PERPI_TRY(perp_scene_rebuild(study->scene));
    const perp_sim_def def = perp_sim_def_from_scene(study->scene);
    return perp_scene_set_number(study->scene, d->step_place,
                                 (def.error > 0.0 ? def.error : def.step) * factor);
}

/* ---- objective --------------------------------------------------------------------------------*/

double perpi_design_cost(perp_study* study, int64_t run, const double* measure, double* violation)
{
    perpi_design* d = study->design;
    const int32_t measures = perp_study_measure_count(study);
    memcpy(d->slot, measure, (size_t)measures * sizeof *measure);
    for (int32_t i = 0; i < study->vary_count; ++i) {
        const perp_vary_value value = perp_study_value(study, run, i);
        d->slot[measures + i] = value.text != NULL ? NAN : value.number;
    }
    for (int32_t i = 0; i < d->constraint_count; ++i) {
        double margin = NAN;
        (void)perpi_expr_margin(d->constraint[i], 0.0, d->slot, &margin);
        violation[i] = -margin + 0.0; /* no negative zero, which a database does not keep */
    }
    return perpi_expr_eval_names(d->minimise, 0.0, d->slot) + 0.0;
}
