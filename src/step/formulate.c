/* src/step/formulate.c - the Stewart-Trinkle problem of one step.
 *
 * Source     [T03 (26)-(37)], [N04 30-35], [B09 (2.78)]
 * Notation   nu^{l+1} -> v;  M nu^l + p_app + p_vp -> k;  W_n', W_f' -> rows of J;
 *            psi/h + dpsi/dt -> b of a normal row;  dPsi_f/dt -> b of the friction rows
 * Departure  the friction rows are the two tangents (t, o); the polygon's directions d_j are
 *            combined from them when the problem is lowered. Prescribed bodies are no unknowns:
 *            their velocity enters b. The gyroscopic term p_vp is implicit (state.c), and so is
 *            drag: -D v at the end of the step makes M + h D of M.
 */
#include "step/formulate.h"

#include <string.h>

perp_status perpi_formulation_create(perp_context* context, perpi_formulation** formulation)
{
    perpi_formulation* f = NULL;
    const perp_status status = perpi_alloc(context, 1, sizeof *f, &f);
    if (status == PERP_OK) {
        f->context = context;
        *formulation = f;
    }
    return status;
}

void perpi_formulation_destroy(perpi_formulation* f)
{
    if (f == NULL) {
        return;
    }
    perp_context* context = f->context;
    perpi_free(context, f->dof);
    perpi_free(context, f->block_of);
    perpi_free(context, f->pose);
    perpi_free(context, f->given_v);
    perpi_free(context, f->given_w);
    perpi_free(context, f->M);
    perpi_free(context, f->k);
    perpi_free(context, f->J);
    perpi_free(context, f->b);
    perpi_free(context, f->constraint);
    perpi_free(context, f);
}

static perp_status grow_for_bodies(perpi_formulation* f, size_t n)
{
    perp_context* c = f->context;
    perp_status status = perpi_grow(c, &f->dof, &f->dof_capacity, n + 1, sizeof *f->dof);
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->block_of, &f->block_capacity, n, sizeof *f->block_of);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->pose, &f->pose_capacity, n, sizeof *f->pose);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->given_v, &f->given_v_capacity, n, sizeof *f->given_v);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->given_w, &f->given_w_capacity, n, sizeof *f->given_w);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->M, &f->M_capacity, 36 * n, sizeof *f->M);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->k, &f->k_capacity, 6 * n, sizeof *f->k);
    }
    return status;
}

static perp_status grow_for_contacts(perpi_formulation* f, size_t n)
{
    perp_context* c = f->context;
    perp_status status =
        perpi_grow(c, &f->constraint, &f->constraint_capacity, n, sizeof *f->constraint);
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->J, &f->J_capacity, 4 * 12 * n, sizeof *f->J);
    }
    if (status == PERP_OK) {
        status = perpi_grow(c, &f->b, &f->b_capacity, 4 * n, sizeof *f->b);
    }
    return status;
}

/* Mass block and the momentum k of the free motion: k = M v + h (force; torque + gyroscopic). */
static perp_status write_block(perpi_formulation* f, const perp_model* model, int32_t body,
                               double t, double h, const double* v_flat, const double* extra,
                               double* M, double* k)
{
    const perpi_body* b = &model->body[body];
    const perpi_pose* pose = &f->pose[body];
    const vec3 v = perpi_state_velocity(model, v_flat, body);
    const vec3 w = perpi_state_rate(model, v_flat, body);
    vec3 force, torque;
    const perp_status status = perpi_external_wrench(model, t, pose, extra, body, &force, &torque);
    if (status != PERP_OK) {
        return status;
    }
    const int32_t n = b->dofs;
    const int32_t linear = model->dimension;
    memset(M, 0, (size_t)(n * n) * sizeof *M);
    for (int32_t i = 0; i < linear; ++i) {
        M[i * n + i] = b->mass + h * b->drag_linear;
        k[i] = b->mass * v3_get(v, i) + h * v3_get(force, i);
    }
    if (b->particle) {
        return PERP_OK;
    }
    if (model->dimension == 2) {
        M[8] = b->inertia.m[2][2] + h * b->drag_angular;
        k[2] = b->inertia.m[2][2] * w.z + h * torque.z;
        return PERP_OK;
    }
    const mat3 I = perpi_world_inertia(b, pose);
    const vec3 spin = m3_mul(I, perpi_free_rate(b, pose, w, h, torque));
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            M[(3 + i) * 6 + 3 + j] = 0.5 * (I.m[i][j] + I.m[j][i]); /* symmetric to the bit */
        }
        M[(3 + i) * 6 + 3 + i] += h * b->drag_angular;
        k[3 + i] = v3_get(spin, i);
    }
    return PERP_OK;
}

/* Row of direction d at arm r, for a body with n dofs; sign -1 for A, +1 for B. */
static void write_row(int32_t dimension, int32_t n, double sign, vec3 d, vec3 r, double* row)
{
    row[0] = sign * d.x;
    row[1] = sign * d.y;
    if (dimension == 3) {
        row[2] = sign * d.z;
    }
    if (n == dimension) {
        return; /* particle */
    }
    const vec3 m = v3_cross(r, d);
    if (dimension == 2) {
        row[2] = sign * m.z;
    } else {
        row[3] = sign * m.x;
        row[4] = sign * m.y;
        row[5] = sign * m.z;
    }
}

/* Relative spin about the normal; a particle has none. */
static void write_torsion_row(int32_t dofs, double sign, vec3 n, double* row)
{
    for (int32_t i = 0; i < dofs; ++i) {
        row[i] = i < 3 ? 0.0 : sign * v3_get(n, i - 3);
    }
}

static void write_contact(perpi_formulation* f, const perp_model* model, double h,
                          const perp_contact* contact, int32_t row, size_t jac,
                          perp_constraint* constraint)
{
    const vec3 n = v3_from(contact->normal), t = v3_from(contact->tangent);
    const vec3 direction[3] = {n, t, v3_cross(n, t)};
    const vec3 on_a = v3_from(contact->point);
    const vec3 point[2] = {on_a, v3_madd(on_a, contact->gap, n)};
    const int32_t body[2] = {contact->body_a, contact->body_b};
    const int32_t rows = contact->cone == PERP_CONE_NONE        ? 1
                         : contact->cone == PERP_CONE_ELLIPSOID ? 4
                                                                : model->dimension;

    *constraint = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT,
                                    .row = row,
                                    .rows = rows,
                                    .jac = jac,
                                    .cone = contact->cone,
                                    .directions = contact->directions,
                                    .mu = contact->mu,
                                    .e = {contact->e[0], contact->e[1], contact->e[2]},
                                    .key = contact->key};
    f->b[row] = contact->gap / h + contact->drift[0];
    for (int32_t i = 1; i < rows; ++i) {
        f->b[row + i] = i < 3 ? contact->drift[i] : 0.0;
    }
    double* J = f->J + jac;
    for (int side = 0; side < 2; ++side) {
        const double sign = side == 0 ? -1.0 : 1.0;
        const perpi_body* b = &model->body[body[side]];
        const vec3 r = v3_sub(point[side], f->pose[body[side]].x);
        constraint->block[side] = f->block_of[body[side]];
        if (constraint->block[side] >= 0) {
            for (int32_t i = 0; i < rows; ++i) {
                if (i < 3) {
                    write_row(model->dimension, b->dofs, sign, direction[i], r, J);
                } else {
                    write_torsion_row(b->dofs, sign, n, J);
                }
                J += b->dofs;
            }
            continue;
        }
        const vec3 u = v3_add(f->given_v[body[side]], v3_cross(f->given_w[body[side]], r));
        for (int32_t i = 0; i < rows; ++i) {
            f->b[row + i] +=
                sign * (i < 3 ? v3_dot(direction[i], u) : v3_dot(n, f->given_w[body[side]]));
        }
    }
}

perp_status perpi_formulate(perpi_formulation* f, const perp_model* model, double t, double h,
                            const double* q, const double* v, const double* extra,
                            const perp_contact* contacts, int32_t count)
{
    const int32_t bodies = (int32_t)model->body_count;
    perp_status status = grow_for_bodies(f, (size_t)bodies);
    if (status == PERP_OK) {
        status = grow_for_contacts(f, (size_t)count);
    }
    if (status != PERP_OK) {
        return status;
    }

    /* one block for each dynamic body */
    int32_t blocks = 0;
    size_t M_used = 0;
    f->dof[0] = 0;
    for (int32_t i = 0; i < bodies; ++i) {
        const int32_t n = model->body[i].dofs;
        f->pose[i] = perpi_state_pose(model, q, i);
        f->block_of[i] = n > 0 ? blocks : -1;
        if (n == 0) {
            status = perpi_prescribed_velocity(model, i, t, h, q, &f->given_v[i], &f->given_w[i]);
        } else {
            status = write_block(f, model, i, t, h, v, extra, f->M + M_used, f->k + f->dof[blocks]);
            f->dof[blocks + 1] = f->dof[blocks] + n;
            M_used += (size_t)(n * n);
            blocks += 1;
        }
        if (status != PERP_OK) {
            return status;
        }
    }

    /* one constraint for each contact */
    int32_t row = 0;
    size_t jac = 0;
    for (int32_t i = 0; i < count; ++i) {
        perp_constraint* constraint = &f->constraint[i];
        write_contact(f, model, h, &contacts[i], row, jac, constraint);
        row += constraint->rows;
        for (int side = 0; side < 2; ++side) {
            const int32_t block = constraint->block[side];
            jac +=
                block >= 0 ? (size_t)(constraint->rows * (f->dof[block + 1] - f->dof[block])) : 0;
        }
    }

    f->problem = (perp_contact_problem){.block_count = blocks,
                                        .constraint_count = count,
                                        .dof_count = f->dof[blocks],
                                        .row_count = row,
                                        .dof = f->dof,
                                        .M = f->M,
                                        .k = f->k,
                                        .J = f->J,
                                        .b = f->b,
                                        .constraint = f->constraint};
    return PERP_OK;
}

void perpi_formulation_gather_v(const perpi_formulation* f, const perp_model* model,
                                const double* v_flat, double* v_problem)
{
    const size_t stride = (size_t)perpi_v_stride(model);
    for (size_t i = 0; i < model->body_count; ++i) {
        if (f->block_of[i] >= 0) {
            memcpy(v_problem + f->dof[f->block_of[i]], v_flat + i * stride,
                   (size_t)model->body[i].dofs * sizeof *v_problem);
        }
    }
}

void perpi_formulation_scatter_v(const perpi_formulation* f, const perp_model* model,
                                 const double* v_problem, double* v_flat)
{
    const size_t stride = (size_t)perpi_v_stride(model);
    for (size_t i = 0; i < model->body_count; ++i) {
        if (f->block_of[i] >= 0) {
            memcpy(v_flat + i * stride, v_problem + f->dof[f->block_of[i]],
                   (size_t)model->body[i].dofs * sizeof *v_problem);
        }
    }
}

void perpi_formulation_gather_p(const perpi_formulation* f, const perp_contact* contacts, double* p)
{
    for (int32_t i = 0; i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        memcpy(p + c->row, contacts[i].impulse, (size_t)c->rows * sizeof *p);
    }
}

void perpi_formulation_scatter_p(const perpi_formulation* f, const double* p,
                                 perp_contact* contacts)
{
    for (int32_t i = 0; i < f->problem.constraint_count; ++i) {
        const perp_constraint* c = &f->constraint[i];
        memset(contacts[i].impulse, 0, sizeof contacts[i].impulse);
        memcpy(contacts[i].impulse, p + c->row, (size_t)c->rows * sizeof *p);
    }
}
