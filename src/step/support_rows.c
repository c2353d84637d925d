/* src/step/support_rows.c - 2.5-D: friction with known normal forces.
 *
 * Source     [B09 (3.25)-(3.27)]
 * Notation   paper lambda_ns, p_ts, p_os, sigma_s -> load, rows t and o of a contact, its slip speed
 * Departure  a normal force that is known needs no law of its own: the point stands on a block with
 *            one velocity w, mass m and momentum k = -h load, m w = -h load + p_n. With the normal row
 *            u_n = w, 0 <= p_n perp w >= 0 gives p_n = h load and w = 0, exactly; friction is that of
 *            any contact, with any cone, and every method solves it. m only sets a scale: the body's.
 *            The directions are the world's x and y, as (3.18) has them: a polygon does not turn with
 *            the body.
 */
#include "step/support_rows.h"

/* A block with one velocity. */
static perp_status append_block(perpi_formulation* f, double mass, double momentum)
{
    const size_t block = (size_t)f->problem.block_count, dofs = (size_t)f->problem.dof_count;
    perp_status status =
        perpi_grow(f->context, &f->dof, &f->dof_capacity, block + 2, sizeof *f->dof);
    if (status == PERP_OK) {
        status = perpi_grow(f->context, &f->M, &f->M_capacity, f->M_used + 1, sizeof *f->M);
    }
    if (status == PERP_OK) {
        status = perpi_grow(f->context, &f->k, &f->k_capacity, dofs + 1, sizeof *f->k);
    }
    if (status == PERP_OK) {
        f->M[f->M_used++] = mass;
        f->k[dofs] = momentum;
        f->dof[block + 1] = (int32_t)dofs + 1;
        f->problem.block_count += 1;
        f->problem.dof_count += 1;
    }
    return status;
}

static perp_status append_point(perpi_formulation* f, const perpi_step_input* in, int32_t body,
                                int32_t point, uint64_t key)
{
    const perpi_body* b = &in->model->body[body];
    const perpi_support* support = &b->support;
    const vec3 arm = m3_mul(f->pose[body].R, support->at[point]);
    perp_status status =
        append_block(f, in->settings->inertia * b->mass, -in->h * support->load[point]);
    if (status != PERP_OK) {
        return status;
    }
    /* rows t and o act on the body; row n on the new block alone, which is the second side */
    static const vec3 direction[PERPI_SUPPORT_ROWS] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    perpi_row row[PERPI_SUPPORT_ROWS];
    for (int32_t i = 0; i < PERPI_SUPPORT_ROWS; ++i) {
        row[i] = (perpi_row){.dir = direction[i], .arm = {{0, 0, 0}, arm}};
    }
    const int32_t sides[2] = {-1, body};
    status = perpi_formulation_append(f, in->model, PERP_CONSTRAINT_CONTACT, sides, row,
                                      PERPI_SUPPORT_ROWS, key);
    if (status == PERP_OK) {
        status = perpi_formulation_room(f, 0, 0, PERPI_SUPPORT_ROWS);
    }
    if (status != PERP_OK) {
        return status;
    }
    perp_constraint* c = &f->constraint[f->constraints - 1];
    c->block[0] = c->block[1];
    c->block[1] = f->problem.block_count - 1;
    for (int32_t i = 0; i < PERPI_SUPPORT_ROWS; ++i) {
        f->J[f->jac++] = i == 0 ? 1.0 : 0.0;
    }
    c->cone = in->settings->cone;
    c->directions = c->cone == PERP_CONE_POLYGON ? in->settings->directions : 0;
    c->mu = support->mu[point];
    return PERP_OK;
}

perp_status perpi_formulate_supports(perpi_formulation* f, const perpi_step_input* in)
{
    const perp_model* model = in->model;
    perp_status status = PERP_OK;
    f->support_row = f->rows;
    f->support_constraint = f->constraints;
    f->supported = model->support_points > 0 && in->settings->cone != PERP_CONE_NONE;
    for (size_t i = 0; f->supported && i < model->body_count; ++i) {
        for (int32_t k = 0; status == PERP_OK && k < model->body[i].support.points; ++k) {
            status = append_point(f, in, (int32_t)i, k, 0);
        }
    }
    return status;
}
