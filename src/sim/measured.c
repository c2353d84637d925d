/* src/sim/measured.c - the contact problem at a measured state; see measured.h.
 *
 * Contacts come from the contact model `standard`: measured bodies overlap or hover by the noise of
 * the sensor, and a choice between features by their gaps (peg, lnc) would be a choice by noise.
 */
#include "sim/measured.h"

#include <math.h>
#include <string.h>

#include "contact/models.h"
#include "sim/decompress.h"
#include "sim/internal.h"

/* Halvings of the factor of the coefficients where an impact would increase the energy. */
enum { ENERGY_HALVINGS = 40 };
static const double ENERGY_TOLERANCE = 1e-12; /* relative */

perp_status perpi_measured_create(perp_context* context, perpi_measured** measured)
{
    perpi_measured* m = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *m, &m);
    if (status != PERP_OK) {
        return status;
    }
    m->context = m->contacts.context = context;
    perpi_arena_init(&m->scratch, context);
    status = perpi_formulation_create(context, &m->f);
    if (status != PERP_OK) {
        perpi_measured_destroy(m);
        return status;
    }
    *measured = m;
    return PERP_OK;
}

void perpi_measured_destroy(perpi_measured* m)
{
    if (m == NULL) {
        return;
    }
    perpi_formulation_destroy(m->f);
    perpi_free(m->context, m->contacts.item);
    perpi_free(m->context, m->margin);
    perpi_free(m->context, m->v);
    perpi_free(m->context, m->p);
    perpi_arena_free(&m->scratch);
    perpi_free(m->context, m);
}

perp_status perpi_measured_contacts(perpi_measured* m, perp_sim* sim, double t, const double* q,
                                    double reach)
{
    const perp_model* model = sim->model;
    const perpi_candidate* candidate = NULL;
    size_t count = 0;
    perp_status status =
        perpi_grow(m->context, &m->margin, &m->margin_capacity, model->body_count, sizeof(double));
    if (status != PERP_OK) {
        return status;
    }
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        sim->work.pose[i] = perpi_state_pose(model, q, i);
        m->margin[i] = 0.5 * reach; /* a pair's margin is the sum */
    }
    perpi_collider_set_rule(sim->work.collider, perpi_contact_model_standard.rule, NULL, 0);
    status = perpi_collide(sim->work.collider, sim->work.pose, m->margin, &candidate, &count);
    m->contacts.count = 0;
    m->contacts.groups = 0;
    if (status == PERP_OK) {
        status = perpi_contact_model_standard.build(model, &sim->work.rules, t, sim->work.pose,
                                                    candidate, count, &m->contacts);
    }
    perpi_step_poses(&sim->work, sim->state.q);
    return status;
}

static void bind_joints(perp_sim* sim, double h)
{
    static const perpi_filter filter = {0};
    perpi_step_bind(&sim->work, &sim->state, h, &filter, &sim->trial);
    perpi_joint_inputs(&sim->work);
}

static perp_status formulate_impact(perpi_measured* m, perp_sim* sim, const double* q,
                                    const double* v)
{
    perp_status status = perpi_formulate_other(
        m->f, sim->model, PERPI_PURPOSE_IMPACT, sim->work.nominal_h,
        &(perpi_placed){q, v, m->contacts.item, (int32_t)m->contacts.count, sim->work.input});
    if (status == PERP_OK) {
        status = perpi_grow(m->context, &m->v, &m->v_capacity, (size_t)m->f->problem.dof_count,
                            sizeof *m->v);
    }
    if (status == PERP_OK) {
        status = perpi_grow(m->context, &m->p, &m->p_capacity, (size_t)m->f->problem.row_count + 1,
                            sizeof *m->p);
    }
    return status;
}

perp_status perpi_measured_formulate(perpi_measured* m, perp_sim* sim, double t, double h,
                                     const double* q, const double* v)
{
    bind_joints(sim, h > 0.0 ? h : sim->work.nominal_h);
    if (!(h > 0.0)) {
        return formulate_impact(m, sim, q, v);
    }
    return perpi_formulate(m->f, &(perpi_step_input){.model = sim->model,
                                                     .t = t,
                                                     .h = h,
                                                     .q = q,
                                                     .v = v,
                                                     .contact = m->contacts.item,
                                                     .contact_count = (int32_t)m->contacts.count,
                                                     .joint = sim->work.input,
                                                     .s = sim->state.memory,
                                                     .q_end = q,
                                                     .v_end = v,
                                                     .settings = &sim->work.settings});
}

bool perpi_measured_poisson(const perp_sim* sim)
{
    return sim->model->impact_law == PERP_IMPACT_POISSON;
}

/* ---- an impact -------------------------------------------------------------------------------------*/

static perp_solve_options options_of(const perp_sim* sim)
{
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = sim->work.tolerance;
    return options;
}

/* Newton's law with a factor of the coefficients; 0 is compression. u: normal velocities before. */
static perp_status solve_newton(perpi_measured* m, perp_sim* sim, const double* q, const double* v,
                                const double* u, double part, bool* solved)
{
    for (size_t i = 0; i < m->contacts.count; ++i) {
        perp_contact* c = &m->contacts.item[i];
        const double e = perp_model_pair_restitution(sim->model, c->body_a, c->body_b);
        c->drift[0] = u[i] < 0.0 ? part * e * u[i] : 0.0;
    }
    perp_status status = formulate_impact(m, sim, q, v);
    if (status == PERP_OK) {
        perp_report report;
        const perp_solve_options options = options_of(sim);
        perpi_formulation_gather_v(m->f, sim->model, v, m->v);
        memset(m->p, 0, (size_t)m->f->problem.row_count * sizeof *m->p);
        status = perp_contact_solve(sim->work.solver, &m->f->problem, &options, false, m->v, m->p,
                                    NULL, &report);
        *solved = status == PERP_OK && report.outcome == PERP_OUTCOME_SOLVED;
    }
    return status;
}

/* Poisson's: `asked` are the impulses of decompression, from the velocities after compression. */
static perp_status solve_poisson(perpi_measured* m, perp_sim* sim, const double* q, const double* v,
                                 const double* asked, bool* solved)
{
    perp_status status = formulate_impact(m, sim, q, v);
    if (status == PERP_OK) {
        perp_report report;
        const perp_solve_options options = options_of(sim);
        perpi_formulation_gather_v(m->f, sim->model, v, m->v);
        status = perpi_decompress(&m->scratch, sim->work.solver, &options, m->f, asked, m->v, m->p,
                                  &report);
        *solved = status == PERP_OK && report.outcome == PERP_OUTCOME_SOLVED;
    }
    return status;
}

static double kinetic_energy(const perpi_formulation* f, const double* v)
{
    const double* M = f->M;
    double twice = 0.0;
    for (int32_t i = 0; i < f->problem.block_count; ++i) {
        const int32_t n = f->dof[i + 1] - f->dof[i];
        for (int32_t a = 0; a < n; ++a) {
            for (int32_t b = 0; b < n; ++b) {
                twice += v[f->dof[i] + a] * M[a * n + b] * v[f->dof[i] + b];
            }
        }
        M += n * n;
    }
    return 0.5 * twice;
}

/* Normal velocities before, into u; the kinetic energy before. */
static perp_status before_impact(perpi_measured* m, perp_sim* sim, const double* q, const double* v,
                                 double* u, double* energy)
{
    for (size_t i = 0; i < m->contacts.count; ++i) {
        m->contacts.item[i].drift[0] = 0.0;
    }
    bind_joints(sim, sim->work.nominal_h);
    const perp_status status = formulate_impact(m, sim, q, v);
    if (status != PERP_OK) {
        return status;
    }
    perpi_formulation_gather_v(m->f, sim->model, v, m->v);
    *energy = kinetic_energy(m->f, m->v);
    for (size_t i = 0; i < m->contacts.count; ++i) {
        u[i] =
            perpi_formulation_speed(m->f, (int32_t)i, 0, m->v) + m->f->b[m->f->constraint[i].row];
    }
    return PERP_OK;
}

perp_status perpi_measured_compression(perpi_measured* m, perp_sim* sim, const double* q,
                                       const double* v, double* p, bool* solved)
{
    double energy;
    perp_status status = before_impact(m, sim, q, v, p, &energy);
    if (status == PERP_OK) {
        status = solve_newton(m, sim, q, v, p, 0.0, solved);
    }
    for (size_t i = 0; status == PERP_OK && i < m->contacts.count; ++i) {
        p[i] = m->p[m->f->constraint[i].row];
    }
    return status;
}

/* The law with a factor of the coefficients: velocities into v_after (flat), the energy. u: normal
 * velocities before. */
static perp_status evaluate(perpi_measured* m, perp_sim* sim, const double* q, const double* v,
                            const double* u, double part, double* v_after, bool* solved)
{
    perp_status status = PERP_OK;
    memcpy(v_after, v, (size_t)sim->work.v_size * sizeof *v);
    if (!perpi_measured_poisson(sim)) {
        status = solve_newton(m, sim, q, v, u, part, solved);
    } else {
        double* asked = NULL;
        status = perpi_alloc(m->context, m->contacts.count, sizeof *asked, &asked);
        if (status == PERP_OK) {
            status = solve_newton(m, sim, q, v, u, 0.0, solved);
        }
        for (size_t i = 0; status == PERP_OK && i < m->contacts.count; ++i) {
            const perp_contact* c = &m->contacts.item[i];
            asked[i] = part * perp_model_pair_restitution(sim->model, c->body_a, c->body_b) *
                       m->p[m->f->constraint[i].row];
        }
        if (status == PERP_OK && *solved) {
            perpi_formulation_scatter_v(m->f, sim->model, m->v, v_after);
            status = solve_poisson(m, sim, q, v_after, asked, solved);
        }
        perpi_free(m->context, asked);
    }
    if (status == PERP_OK) {
        perpi_formulation_scatter_v(m->f, sim->model, m->v, v_after);
    }
    return status;
}

perp_status perpi_measured_impact(perpi_measured* m, perp_sim* sim, const double* q,
                                  const double* v, double* v_after, bool* solved)
{
    double before = 0.0, low = 0.0, high = 1.0;
    double* u = NULL;
    *solved = false;
    perp_status status = perpi_alloc(m->context, m->contacts.count + 1, sizeof *u, &u);
    if (status == PERP_OK) {
        status = before_impact(m, sim, q, v, u, &before);
    }
    if (status == PERP_OK) {
        status = evaluate(m, sim, q, v, u, 1.0, v_after, solved);
    }
    /* as in a step: coefficients that would increase the energy are reduced (sim/impact.c) */
    if (status == PERP_OK && *solved &&
        kinetic_energy(m->f, m->v) > before * (1.0 + ENERGY_TOLERANCE)) {
        for (int i = 0; status == PERP_OK && i < ENERGY_HALVINGS; ++i) {
            const double part = 0.5 * (low + high);
            status = evaluate(m, sim, q, v, u, part, v_after, solved);
            *(kinetic_energy(m->f, m->v) > before ? &high : &low) = part;
        }
        if (status == PERP_OK) {
            status = evaluate(m, sim, q, v, u, low, v_after, solved);
        }
    }
    perpi_free(m->context, u);
    return status;
}
