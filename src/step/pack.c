/* src/step/pack.c - see pack.h. */
#include "step/pack.h"

#include "step/force_rows.h"
#include "step/frames.h"
#include "step/joint_rows.h"
#include "step/layers.h"

void perpi_pack(const perpi_formulation* f, const perp_model* model, const perpi_point* point,
                double* v_problem, double* p_problem)
{
    perpi_formulation_gather_v(f, model, point->v, v_problem);
    perpi_formulation_gather_p(f, point->contact, p_problem);
    if (f->joint_count > 0) {
        perpi_formulation_gather_joints(f, point->joint, p_problem);
        perpi_frames_gather(f, v_problem, p_problem);
    }
    if (point->v_start != NULL) {
        perpi_forces_gather(f, model, point->memory, p_problem);
        perpi_layers_gather(f, model, point->v_start, point->contact, v_problem, p_problem);
    }
}

void perpi_unpack(const perpi_formulation* f, const perp_model* model, const double* v_problem,
                  const double* p_problem, perp_contact* contact, perp_joint_record* joint)
{
    perpi_formulation_scatter_p(f, p_problem, contact);
    perpi_layers_scatter(f, v_problem, p_problem, contact);
    if (model->joint_count > 0) {
        perpi_formulation_scatter_joints(f, model, p_problem, joint);
        perpi_frames_scatter(f, v_problem, joint);
    }
}
