/* src/step/layers.c - soft layers of contacts as blocks of the problem (layers.h).
 *
 * Source     [B09 3.5.2, (3.88)-(3.93)], gap linearised as in [B09 2.6] instead of an unknown
 * Notation   delta -> layer.start, layer.end;  delta^o -> limit;  p_ns + p_nr -> impulse[0];
 *            p_nr -> layer.core
 * Departure  the slip of the friction law is that of the surfaces, J_t v + w_t; (3.92) takes the
 *            bodies' J_t v, with which a layer that is still being sheared already slides.
 *            Midpoint: in the step in which a layer is touched or left, its force acts on a part of
 *            the step only. Its work equals the change of stored energy if its stiffness is
 *            multiplied by that part: the discrete gradient of the layer's energy.
 */
#include "step/layers.h"

#include <math.h>
#include <string.h>

#include "step/layer_core.h"
#include "step/layer_parts.h"
#include "step/layer_ties.h"

/* Relative to the effective mass of a point: the part that its ties may take in total. */
static const double LENT = 0.5;
/* Layers that act in a smaller part of the step than this have no spring. */
static const double LEAST_SHARE = 1e-9;

static bool has_block(const perp_contact* c)
{
    return c->layer.theta > 0.0 && c->layer.share > 0.0;
}

static int32_t rows_of(const perp_model* model, const perp_contact* c)
{
    return c->cone == PERP_CONE_NONE ? 1 : model->dimension; /* a layer has no torsion */
}

double perpi_step_theta(const perpi_step_input* in)
{
    if (!in->settings->midpoint) {
        return 1.0;
    }
    for (int32_t i = 0; i < in->contact_count; ++i) {
        if (in->contact[i].layer.theta == 1.0) {
            return 1.0;
        }
    }
    return 0.5;
}

void perpi_layers_recall(const perp_model* model, bool midpoint, const perp_contact* last,
                         int32_t last_count, perp_contact* contact, int32_t count)
{
    int32_t old = 0; /* both lists are sorted by key */
    for (int32_t i = 0; i < count; ++i) {
        perp_contact* c = &contact[i];
        const perpi_layer layer = perpi_model_layer(model, c->body_a, c->body_b);
        if (!layer.soft) {
            continue;
        }
        c->layer.theta = midpoint ? 0.5 : 1.0;
        c->layer.share = 1.0;
        if (layer.smooth) {
            c->cone = PERP_CONE_NONE;
            c->directions = 0;
            memset(c->e, 0, sizeof c->e);
            memset(c->impulse + 1, 0, 3 * sizeof c->impulse[1]);
        }
        while (old < last_count && perpi_contact_before(&last[old], c)) {
            old += 1;
        }
        if (old < last_count && last[old].key == c->key && last[old].layer.theta > 0.0) {
            memcpy(c->layer.start, last[old].layer.end, sizeof c->layer.start);
            c->layer.core =
                isfinite(layer.limit) ? 0.0 : last[old].layer.core; /* requires its row */
        } else if (c->gap < 0.0) {
            c->layer.start[0] = -c->gap < layer.limit ? -c->gap : layer.limit;
        }
        memcpy(c->layer.end, c->layer.start, sizeof c->layer.end);
    }
    perpi_layers_set_parts(model, last, last_count, contact, count);
}

/* ---- formulating -----------------------------------------------------------------------------------*/

/* The mass of a tie to A, given the number of ties on it. */
static double tie_mass(const perpi_formulation* f, const perp_model* model, const perp_contact* c,
                       int32_t ties, int32_t count)
{
    const perpi_body* body = &model->body[c->body_a];
    double J
        [3 *
         6]; /* as perpi_tie_append has them: the arm of an open contact ends in the middle of the gap */
    double W = (double)ties / body->mass; /* the trace bounds the largest eigenvalue */
    if (!body->particle) {
        mat3 I = perpi_world_inertia(body, &f->pose[c->body_a]);
        if (model->dimension == 2) {
            I = m3_identity();
            I.m[2][2] = body->inertia.m[2][2];
        }
        const mat3 inverse = m3_inverse(I);
        (void)perpi_contact_rows(model, f->pose, NULL, c, 0, ties, J);
        for (int32_t i = 0; i < ties; ++i) {
            const double* row = J + i * body->dofs;
            const vec3 turn =
                model->dimension == 2 ? v3(0.0, 0.0, row[2]) : v3(row[3], row[4], row[5]);
            W += v3_dot(turn, m3_mul(inverse, turn));
        }
    }
    return LENT / (W * (double)count);
}

static int32_t count_ties(const perpi_step_input* in, int32_t body)
{
    int32_t count = 0;
    for (int32_t i = 0; i < in->contact_count; ++i) {
        const perp_contact* c = &in->contact[i];
        count += has_block(c) && c->body_a == body && in->model->body[c->body_b].dofs > 0;
    }
    return count;
}

/* M = theta (theta h^2 K + h C), k = -theta h K delta. */
static void write_layer(perpi_formulation* f, const perpi_layer_place* place, const perp_contact* c,
                        const perpi_layer* layer)
{
    const double h = f->h, theta = f->theta;
    const int32_t n = place->ties + place->yields;
    double* M = f->M + f->M_used;
    double* k = f->k + f->dof[place->block];
    memset(M, 0, (size_t)(n * n) * sizeof *M);
    for (int32_t i = 0; i < place->ties; ++i) {
        M[i * n + i] = place->m;
        k[i] = place->m * place->y[i];
    }
    for (int32_t i = 0; i < place->yields; ++i) {
        double Kd = 0.0;
        for (int32_t j = 0; j < place->yields; ++j) {
            const double K = c->layer.share * layer->K.m[i][j];
            M[(place->ties + i) * n + place->ties + j] =
                theta * h * (theta * h * K + layer->C.m[i][j]);
            Kd += K * c->layer.start[j];
        }
        k[place->ties + i] = -theta * h * Kd;
    }
    f->M_used += (size_t)(n * n);
}

perp_status perpi_layers_place(perpi_formulation* f, const perpi_step_input* in)
{
    const perp_model* model = in->model;
    int32_t count = 0;
    for (int32_t i = 0; i < in->contact_count; ++i) {
        count += has_block(&in->contact[i]);
    }
    if (count == 0) {
        return PERP_OK;
    }
    perp_status status =
        perpi_grow(f->context, &f->layer, &f->layer_capacity, (size_t)count, sizeof *f->layer);
    if (status == PERP_OK) {
        status = perpi_formulation_blocks(f, model->body_count + (size_t)count);
    }
    for (int32_t i = 0; status == PERP_OK && i < in->contact_count; ++i) {
        const perp_contact* c = &in->contact[i];
        if (!has_block(c)) {
            continue;
        }
        const perpi_layer layer = perpi_layer_of(model, c);
        const bool free_a = model->body[c->body_a].dofs > 0,
                   free_b = model->body[c->body_b].dofs > 0;
        perpi_layer_place* place = &f->layer[f->layer_count++];
        *place = (perpi_layer_place){.contact = i,
                                     .block = f->problem.block_count,
                                     .side = free_b ? 0 : 1,
                                     .ties = free_a && free_b ? rows_of(model, c) : 0,
                                     .yields = layer.smooth ? 1 : model->dimension,
                                     .tie_row = -1,
                                     .core_row = -1};
        if (place->ties > 0) {
            place->m = tie_mass(f, model, c, place->ties, count_ties(in, c->body_a));
            double J[3 * 6];
            const int32_t n = model->body[c->body_a].dofs;
            const double* v = in->v + (size_t)c->body_a * (size_t)perpi_v_stride(model);
            (void)perpi_contact_rows(model, f->pose, NULL, c, 0, place->ties, J);
            for (int32_t r = 0; r < place->ties; ++r) {
                for (int32_t j = 0; j < n; ++j) {
                    place->y[r] += J[r * n + j] * v[j];
                }
            }
        }
        f->dof[place->block + 1] = f->dof[place->block] + place->ties + place->yields;
        write_layer(f, place, c, &layer);
        f->problem.block_count += 1;
        f->problem.dof_count = f->dof[f->problem.block_count];
    }
    return status;
}

double* perpi_layer_rows(const perpi_layer_place* place, int32_t rows, double* J)
{
    const int32_t n = place->ties + place->yields;
    for (int32_t i = 0; i < rows; ++i, J += n) {
        memset(J, 0, (size_t)n * sizeof *J);
        if (i < place->ties) {
            J[i] = 1.0;
        }
        if (i < place->yields) {
            J[place->ties + i] = 1.0;
        }
    }
    return J;
}

/* delta^o - delta_n' >= 0, over h. */
static perp_status append_core(perpi_formulation* f, const perp_contact* c, double limit,
                               perpi_layer_place* place)
{
    const int32_t own = place->ties + place->yields;
    const perp_status status = perpi_formulation_room(f, 1, 1, (size_t)own);
    if (status != PERP_OK) {
        return status;
    }
    f->constraint[f->constraints++] = (perp_constraint){.kind = PERP_CONSTRAINT_CONTACT,
                                                        .block = {-1, place->block},
                                                        .row = f->rows,
                                                        .rows = 1,
                                                        .jac = f->jac};
    place->core_row = f->rows;
    memset(f->J + f->jac, 0, (size_t)own * sizeof *f->J);
    f->J[f->jac + (size_t)place->ties] = -1.0;
    f->b[f->rows] = (limit - c->layer.start[0]) / f->h;
    f->lower[f->rows] = f->upper[f->rows] = f->compliance[f->rows] = f->given[f->rows] = 0.0;
    f->rows += 1;
    f->jac += (size_t)own;
    return PERP_OK;
}

/* A layer that separates within the step has a known impulse. */
static void add_push(perpi_formulation* f, const perp_model* model, const perp_contact* c)
{
    for (int side = 0; side < 2; ++side) {
        const int32_t body = side == 0 ? c->body_a : c->body_b;
        if (f->block_of[body] < 0) {
            continue;
        }
        double J[6];
        (void)perpi_contact_rows(model, f->pose, NULL, c, side, 1, J);
        for (int32_t i = 0; i < model->body[body].dofs; ++i) {
            f->k[f->dof[f->block_of[body]] + i] += f->theta * c->layer.push * J[i];
        }
    }
}

perp_status perpi_formulate_layers(perpi_formulation* f, const perpi_step_input* in)
{
    perp_status status = PERP_OK;
    for (int32_t i = 0; status == PERP_OK && i < f->layer_count; ++i) {
        perpi_layer_place* place = &f->layer[i];
        const perp_contact* c = &in->contact[place->contact];
        if (place->ties > 0) {
            status = perpi_tie_append(f, in->model, c, place);
        }
        if (status == PERP_OK && perpi_layer_has_core(in->model, c)) {
            status = append_core(f, c, perpi_layer_core_depth(in->model, c), place);
        }
    }
    for (int32_t i = 0; status == PERP_OK && i < in->contact_count; ++i) {
        if (in->contact[i].layer.push != 0.0) {
            add_push(f, in->model, &in->contact[i]);
        }
    }
    return status;
}

/* ---- to and from the contacts ----------------------------------------------------------------------*/

void perpi_layers_gather(const perpi_formulation* f, const perp_model* model, const double* v_old,
                         const perp_contact* contacts, double* v, double* p)
{
    const double theta = f->theta;
    const size_t stride = (size_t)perpi_v_stride(model);
    if (f->middle || (theta == 1.0 && f->layer_count == 0)) { /* middle steps: formulate.c */
        return;
    }
    for (size_t b = 0; theta != 1.0 && b < model->body_count; ++b) {
        for (int32_t i = 0; f->block_of[b] >= 0 && i < model->body[b].dofs; ++i) {
            double* at = &v[f->dof[f->block_of[b]] + i];
            *at = theta * *at + (1.0 - theta) * v_old[b * stride + (size_t)i];
        }
    }
    for (int32_t i = 0; i < f->contact_count; ++i) {
        double* row = p + f->constraint[i].row;
        row[0] -= contacts[i].layer.push;
        for (int32_t r = 0; theta != 1.0 && r < f->constraint[i].rows; ++r) {
            row[r] *= theta;
        }
    }
    for (int32_t i = 0; i < f->layer_count; ++i) {
        const perpi_layer_place* place = &f->layer[i];
        const perp_contact* c = &contacts[place->contact];
        double* y = v + f->dof[place->block];
        for (int32_t r = 0; r < place->yields; ++r) {
            y[place->ties + r] = (c->layer.end[r] - c->layer.start[r]) / f->h;
        }
        if (place->ties > 0) {
            perpi_tie_gather(f, place, v, p);
        }
        if (place->core_row >= 0) {
            p[place->core_row] = theta * c->layer.core;
        }
    }
}

void perpi_layers_scatter(const perpi_formulation* f, const double* v, const double* p,
                          perp_contact* contacts)
{
    if (f->middle || (f->theta == 1.0 && f->layer_count == 0)) {
        return;
    }
    for (int32_t i = 0; i < f->contact_count; ++i) {
        perp_contact* c = &contacts[i];
        for (int r = 0; f->theta != 1.0 && r < 4; ++r) {
            c->impulse[r] /= f->theta;
        }
        if (c->layer.theta == 0.0) {
            continue;
        }
        c->impulse[0] += c->layer.push;
        c->layer.core = 0.0;
        memset(c->layer.end, 0, sizeof c->layer.end); /* of a layer that has separated */
    }
    for (int32_t i = 0; i < f->layer_count; ++i) {
        const perpi_layer_place* place = &f->layer[i];
        perp_contact_layer* layer = &contacts[place->contact].layer;
        const double* w = v + f->dof[place->block] + place->ties;
        for (int32_t r = 0; r < place->yields; ++r) {
            layer->end[r] = layer->start[r] + f->h * w[r];
        }
        layer->core = place->core_row >= 0 ? p[place->core_row] / f->theta : 0.0;
    }
}

/* ---- midpoint --------------------------------------------------------------------------------------*/

/* The gap at the end of the step. */
static double end_gap(const perpi_formulation* f, const perp_contact* c, int32_t i, const double* v)
{
    const double u = perpi_formulation_speed(f, i, 0, v) + f->b[f->constraint[i].row];
    return f->h * u - (has_block(c) ? c->layer.end[0] : 0.0);
}

/* The end of the layer's motion in the step, and the part of the step in which it acts. */
static void find_way(const perpi_formulation* f, const perp_model* model, const perp_contact* c,
                     int32_t i, const double* v, const double* p, perpi_layer_way* way)
{
    const double gap = end_gap(f, c, i, v), pressed = c->layer.start[0];
    double whole = 0.0, damped = 0.0; /* impulse if the layer separates */
    if (pressed > 0.0) {
        const perpi_layer layer = perpi_layer_of(model, c);
        whole = 0.5 * f->h * layer.K.m[0][0] * pressed;
        damped = layer.C.m[0][0] * pressed;
    }
    /* a contact with less than the whole impulse that ends at gap 0 may still separate */
    const bool left = has_block(c) ? gap > 0.0
                                   : !(p[f->constraint[i].row] > 0.0) ||
                                         c->layer.push < (whole - damped) * (1.0 - 1e-12);
    *way = (perpi_layer_way){.pushed = !has_block(c), .used = c->layer.share, .led = 1.0};
    if (pressed > 0.0 && left) {
        const double part = pressed / (pressed + (gap > 0.0 ? gap : 0.0));
        const double given = part * whole - damped;
        way->left = true;
        way->used = c->layer.push;
        way->led = given > 0.0 ? given : 0.0;
    } else if (pressed == 0.0 && c->gap > 0.0 && gap < 0.0) {
        const double part = -gap / (c->gap - gap);
        way->touched = true;
        way->led = part > LEAST_SHARE ? part : LEAST_SHARE;
    }
}

/* The next value to use. A stiffer layer, or one that acts longer, ends the step with less
 * compression: the value used and the value that results change in opposite directions, and
 * where the step does not resolve the layer, h^2 K > m, the plain iteration oscillates. So the
 * secant method is applied to each contact on logarithms, because for stiff layers the result is
 * inversely proportional to the value used. The next value lies between the two that enclose the
 * solution, if such are known. */
static double next_way(const perpi_layer_way* last, perpi_layer_way* now)
{
    const bool same =
        last->touched == now->touched && last->left == now->left && last->pushed == now->pushed;
    const bool positive = now->used > 0.0 && now->led > 0.0;
    if (same) {
        now->low = last->low;
        now->high = last->high;
    }
    if (positive && now->led > now->used) {
        now->low = now->used;
    } else if (positive) {
        now->high = now->used;
    }
    if (now->high > 0.0 && now->low >= now->high) { /* changed by other contacts */
        now->low = now->led > now->used ? now->low : 0.0;
        now->high = now->led > now->used ? 0.0 : now->high;
    }
    if (!same || !positive) {
        return now->led;
    }
    const double rise = log(now->led / now->used);
    const double slope = log(now->led / last->led) / log(now->used / last->used);
    double next = slope < 0.0 && isfinite(slope) ? now->used * exp(rise / (1.0 - slope)) : now->led;
    if (now->low > 0.0 && now->high > 0.0 && !(next > now->low && next < now->high)) {
        next = sqrt(now->low) * sqrt(now->high);
    }
    return next;
}

perp_status perpi_layers_revise(perpi_formulation* f, const perp_model* model, int32_t round,
                                const double* v, const double* p, perp_contact* contacts,
                                double* off)
{
    *off = 0.0;
    if (f->theta == 1.0) {
        return PERP_OK;
    }
    const perp_status status =
        perpi_grow(f->context, &f->way, &f->way_capacity, (size_t)f->contact_count, sizeof *f->way);
    if (status != PERP_OK) {
        return status;
    }
    bool core = false;
    for (int32_t i = 0; i < f->layer_count; ++i) {
        core = core || (f->layer[i].core_row >= 0 && p[f->layer[i].core_row] > 0.0);
    }
    if (core) { /* an impact: its velocity is that at the end of the step, as for a rigid body */
        perpi_layers_to_euler(contacts, f->contact_count);
        *off = 1.0;
        return PERP_OK;
    }
    for (int32_t i = 0; i < f->contact_count; ++i) {
        perp_contact_layer* layer = &contacts[i].layer;
        perpi_layer_way now;
        if (layer->theta == 0.0) {
            continue;
        }
        find_way(f, model, &contacts[i], i, v, p, &now);
        const double size = now.left ? fabs(now.led) : 1.0;
        const double away = fabs(now.led - now.used);
        const bool other = now.left != (layer->share == 0.0);
        if (other || away > 1e-13 * size) {
            const perpi_layer_way none = {0};
            const double next = next_way(round > 0 ? &f->way[i] : &none, &now);
            const double part = other || !(size > 0.0) ? 1.0 : away / size;
            layer->share = now.left ? 0.0 : next;
            layer->push = now.left ? next : 0.0;
            *off = part > *off ? part : *off;
        }
        f->way[i] = now;
    }
    return PERP_OK;
}

void perpi_layers_to_euler(perp_contact* contacts, int32_t count)
{
    for (int32_t i = 0; i < count; ++i) {
        perp_contact_layer* layer = &contacts[i].layer;
        if (layer->theta > 0.0) {
            layer->theta = layer->share = 1.0;
            layer->push = 0.0;
        }
    }
}

double perpi_layer_energy(const perp_model* model, const perp_contact* contacts, int32_t count)
{
    double energy = 0.0;
    for (int32_t i = 0; i < count; ++i) {
        if (contacts[i].layer.theta > 0.0) {
            energy += perpi_layer_stored(model, &contacts[i], contacts[i].layer.end);
        }
    }
    return energy;
}
