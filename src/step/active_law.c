/* src/step/active_law.c - see active_law.h.
 *
 * States     A contact is closed if w p_n >= u_n, one of which is 0 at a solution. With z = p_t - u_t / w, the point
 *            whose projection onto the friction set is p_t, it sticks where z lies inside the set, and slides where
 *            it lies outside: on a round cone along z; on a polygon into a corner, or along the normal of an edge, where
 *            p_t may move along that edge and u_t has no component along it. Bounded rows likewise.
 * Margins    how far the pair (w p_n, u_n), or z, is from the border of its state, divided by the sizes of its terms.
 * Rigid rows A row u = 0 has no dp. EPSILON w dp is added for the elimination; refinement removes its effect.
 */
#include "step/active_law.h"

#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/vec.h"
#include "linalg/dense.h"
#include "problem/cone.h"

static const double EPSILON = 1e-8;

/* Whether the state found is replaced by the other one. */
static bool is_other(const perpi_law_input* in, perpi_law* law, double margin)
{
    law->margin = margin < law->margin || isnan(margin) ? margin : law->margin;
    const bool weak = !(margin >= in->threshold);
    law->weak = law->weak || weak;
    return weak && in->other;
}

static void hold_row(perpi_law* law, int32_t i, double compliance)
{
    const int32_t at = i * law->rows + i;
    law->A[at] = 1.0;
    law->B[at] = compliance;
    law->acts = true;
}

static void free_row(perpi_law* law, int32_t i)
{
    law->B[i * law->rows + i] = 1.0;
}

/* ---- friction ------------------------------------------------------------------------------------*/

void perpi_law_slide_round(perpi_law* law, const double* e, double mu, double p_n, const double* s,
                           double speed, double w)
{
    const int32_t n = law->rows - 1;
    for (int32_t i = 0; i < n; ++i) {
        double *A = law->A + (i + 1) * law->rows, *B = law->B + (i + 1) * law->rows;
        if (speed > 0.0) {
            B[0] = mu * e[i] * s[i];
            B[i + 1] = 1.0;
            law->g[i + 1] = -p_n * e[i] * s[i];
        } else {
            B[0] = mu * s[i];
            law->g[i + 1] = -p_n * s[i];
        }
        for (int32_t j = 0; j < n; ++j) {
            const double across = (i == j ? 1.0 : 0.0) - s[i] * s[j];
            if (speed > 0.0) {
                A[j + 1] = mu * p_n * e[i] * across * e[j] / speed;
            } else {
                A[j + 1] = across * e[j] / w;
                B[j + 1] = s[i] * s[j] / e[j];
            }
        }
    }
    law->acts = true;
}

static void choose_round(const perpi_law_input* in, const perp_constraint* c, perpi_law* law)
{
    const int32_t n = c->rows - 1;
    const double *p = in->p + c->row, *u = in->u + c->row, *w = in->w + c->row;
    const double r = c->mu * p[0];
    double e[3] = {1, 1, 1}, s[3], mean = 0.0, speed = 0.0, push = 0.0, length = 0.0;
    for (int32_t i = 0; i < n; ++i) {
        e[i] = c->cone == PERP_CONE_ELLIPSOID ? c->e[i] : 1.0;
        mean += e[i] * e[i] * w[1 + i] / n;
    }
    for (int32_t i = 0; i < n; ++i) {
        const double z = p[1 + i] / e[i] - e[i] * u[1 + i] / mean;
        speed += e[i] * u[1 + i] * e[i] * u[1 + i];
        push += p[1 + i] / e[i] * p[1 + i] / e[i];
        length += z * z;
    }
    speed = sqrt(speed);
    push = sqrt(push);
    length = sqrt(length);
    const double size = perpi_larger(r + speed / mean, in->floor / mean);
    const bool sticks = length <= r;
    const bool other = is_other(in, law, size > 0.0 ? fabs(length - r) / size : 0.0);
    if (sticks != other) {
        for (int32_t i = 1; i <= n; ++i) {
            hold_row(law, i, 0.0);
        }
        return;
    }
    const bool moves = !sticks && speed > 0.0;
    for (int32_t i = 0; i < n; ++i) {
        s[i] = moves        ? e[i] * u[1 + i] / speed
               : push > 0.0 ? -p[1 + i] / e[i] / push
                            : (i == 0 ? 1.0 : 0.0);
    }
    law->slides = moves;
    perpi_law_slide_round(law, e, c->mu, p[0], s, moves ? speed : 0.0, mean);
}

/* One tangential row: the interval [-r, r]. */
static void choose_interval(const perpi_law_input* in, const perp_constraint* c, perpi_law* law)
{
    const double *p = in->p + c->row, *u = in->u + c->row;
    const double w = in->w[c->row + 1], r = c->mu * p[0], z = p[1] - u[1] / w;
    const double size = perpi_larger(r + fabs(u[1]) / w, in->floor / w);
    const bool sticks = fabs(z) <= r;
    const bool other = is_other(in, law, size > 0.0 ? fabs(fabs(z) - r) / size : 0.0);
    if (sticks != other) {
        hold_row(law, 1, 0.0);
        return;
    }
    const double side = z >= 0.0 ? 1.0 : -1.0;
    law->B[2] = -side * c->mu;
    law->B[3] = 1.0;
    law->g[1] = side * p[0];
}

static void choose_polygon(const perpi_law_input* in, const perp_constraint* c, perpi_law* law)
{
    const double *p = in->p + c->row, *u = in->u + c->row, *w = in->w + c->row;
    const double mean = 0.5 * (w[1] + w[2]), r = c->mu * p[0];
    const double z[2] = {p[1] - u[1] / mean, p[2] - u[2] / mean};
    const double size = perpi_larger(r + perpi_length(u[1], u[2]) / mean, in->floor / mean);
    double d[2][2];
    const int32_t j = perpi_polygon_sector(c->directions, z);
    perpi_polygon_direction(c->directions, j, d[0]);
    perpi_polygon_direction(c->directions, (j + 1) % c->directions, d[1]);
    double normal[2] = {d[0][0] + d[1][0], d[0][1] + d[1][1]};
    const double length = perpi_length(normal[0], normal[1]);
    const double apothem = 0.5 * length; /* of the polygon of radius 1 */
    normal[0] /= length;
    normal[1] /= length;
    const double along[2] = {-normal[1], normal[0]};
    const double half = r * perpi_length(0.5 * (d[1][0] - d[0][0]), 0.5 * (d[1][1] - d[0][1]));
    const double out = normal[0] * z[0] + normal[1] * z[1] - r * apothem;
    const double side = along[0] * z[0] + along[1] * z[1];
    const bool sticks = out <= 0.0;
    const bool other = is_other(in, law, size > 0.0 ? fabs(out) / size : 0.0);
    if (sticks != other) {
        hold_row(law, 1, 0.0);
        hold_row(law, 2, 0.0);
        return;
    }
    const bool at_corner = fabs(side) > half;
    const bool turned =
        sticks ? false : is_other(in, law, size > 0.0 ? fabs(fabs(side) - half) / size : 0.0);
    const int32_t m = law->rows;
    if (at_corner != turned) {
        const double* corner = d[side > 0.0 ? 1 : 0];
        for (int i = 0; i < 2; ++i) {
            law->B[(i + 1) * m] = -c->mu * corner[i];
            law->B[(i + 1) * m + i + 1] = 1.0;
            law->g[i + 1] = p[0] * corner[i];
        }
        return;
    }
    law->B[m] = -c->mu * apothem;
    law->g[1] = p[0] * apothem;
    for (int i = 0; i < 2; ++i) {
        law->B[m + i + 1] = normal[i];
        law->A[2 * m + i + 1] = along[i];
    }
    law->acts = true;
}

/* ---- laws ----------------------------------------------------------------------------------------*/

static void choose_contact(const perpi_law_input* in, const perp_constraint* c, perpi_law* law)
{
    const double p = in->p[c->row], u = in->u[c->row], w = in->w[c->row];
    const double size = perpi_larger(w * fabs(p) + in->size[c->row], in->floor);
    const bool closed = w * p >= u;
    const bool other = is_other(in, law, size > 0.0 ? fabs(w * p - u) / size : 0.0);
    if (closed == other) {
        for (int32_t i = 0; i < c->rows; ++i) {
            free_row(law, i);
        }
        return;
    }
    hold_row(law, 0, 0.0);
    if (c->rows == 1) {
        return;
    }
    if (c->cone == PERP_CONE_POLYGON) {
        if (c->rows == 2) {
            choose_interval(in, c, law);
        } else {
            choose_polygon(in, c, law);
        }
    } else {
        choose_round(in, c, law);
    }
}

static void choose_bounded(const perpi_law_input* in, const perp_constraint* c, perpi_law* law)
{
    const perp_contact_problem* P = in->problem;
    for (int32_t i = 0; i < c->rows; ++i) {
        const int32_t row = c->row + i;
        const double compliance = P->compliance != NULL ? P->compliance[row] : 0.0;
        const double w = in->w[row] + compliance, z = in->p[row] - in->u[row] / w;
        const double below = P->lower[row] - z, above = z - P->upper[row];
        const double nearest = fabs(below) < fabs(above) ? fabs(below) : fabs(above);
        const double size = perpi_larger(fabs(in->p[row]) + in->size[row] / w, in->floor / w);
        int bound = below > 0.0 ? -1 : above > 0.0 ? 1 : 0;
        if (is_other(in, law, size > 0.0 ? nearest / size : 0.0)) {
            bound = bound != 0 ? 0 : fabs(below) < fabs(above) ? -1 : 1;
        }
        law->bound[i] = bound;
        if (bound == 0) {
            hold_row(law, i, compliance);
        } else {
            free_row(law, i);
            law->g[i] = 1.0;
        }
    }
}

bool perpi_law_invert(const perpi_law_input* in, int32_t constraint, perpi_law* law)
{
    const perp_constraint* c = &in->problem->constraint[constraint];
    const int32_t n = law->rows;
    double B[PERPI_LAW_SIZE];
    int32_t pivot[PERPI_LAW_ROWS];
    for (int32_t i = 0; i < n; ++i) {
        double own = 0.0; /* the largest of the row in B: 0, or small, where it is rigid */
        for (int32_t j = 0; j < n; ++j) {
            own = fabs(law->B[i * n + j]) > own ? fabs(law->B[i * n + j]) : own;
        }
        for (int32_t j = 0; j < n; ++j) {
            const double w = in->w[c->row + j] > 0.0 ? in->w[c->row + j] : 1.0;
            const bool rigid = own <= EPSILON * w || i == j;
            B[i * n + j] = law->B[i * n + j] + (rigid ? EPSILON * w * law->A[i * n + j] : 0.0);
        }
    }
    if (!perpi_lu_factor(n, B, pivot, NULL)) {
        return false;
    }
    for (int32_t j = 0; j < n; ++j) {
        double x[PERPI_LAW_ROWS] = {0};
        x[j] = 1.0;
        perpi_lu_solve(n, B, pivot, x);
        for (int32_t i = 0; i < n; ++i) {
            law->E[i * n + j] = x[i];
        }
    }
    return true;
}

bool perpi_law_choose(const perpi_law_input* in, int32_t constraint, perpi_law* law)
{
    const perp_constraint* c = &in->problem->constraint[constraint];
    memset(law, 0, sizeof *law);
    law->closing = constraint;
    law->rows = c->rows;
    law->margin = INFINITY;
    if (c->kind == PERP_CONSTRAINT_CONTACT) {
        choose_contact(in, c, law);
    } else if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        choose_bounded(in, c, law);
    } else {
        for (int32_t i = 0; i < c->rows; ++i) {
            const double* compliance = in->problem->compliance;
            hold_row(law, i, compliance != NULL ? compliance[c->row + i] : 0.0);
        }
    }
    return perpi_law_invert(in, constraint, law);
}

/* ---- groups --------------------------------------------------------------------------------------*/

static void open_contact(perpi_law* law)
{
    const int32_t n = law->rows;
    memset(law->A, 0, sizeof law->A);
    memset(law->B, 0, sizeof law->B);
    memset(law->E, 0, sizeof law->E);
    memset(law->g, 0, sizeof law->g);
    law->acts = law->slides = false;
    for (int32_t i = 0; i < n; ++i) {
        law->B[i * n + i] = law->E[i * n + i] = 1.0;
    }
}

void perpi_law_groups(const perpi_law_input* in, perpi_law* law)
{
    const perp_contact_problem* P = in->problem;
    for (int32_t g = 0; g < P->group_count; ++g) {
        const perp_group* group = &P->group[g];
        double most = -INFINITY, scale = 0.0, push = 0.0;
        int32_t best = -1;
        for (int32_t k = 0; k < group->count; ++k) {
            const perp_constraint* c = &P->constraint[group->member[k]];
            const double size = in->size[c->row];
            scale = size > scale ? size : scale;
            const double p = in->w[c->row] * in->p[c->row];
            push = p > push ? p : push;
            if (in->u[c->row] > most) {
                most = in->u[c->row];
                best = group->member[k];
            }
        }
        scale += push;
        const bool pushes = push > fabs(most);
        double margin = scale > 0.0 ? fabs(push - most) / scale : 0.0;
        for (int32_t k = 0; k < group->count; ++k) {
            const int32_t member = group->member[k];
            const perp_constraint* c = &P->constraint[member];
            perpi_law* x = &law[member];
            const bool acts = pushes && in->w[c->row] * in->p[c->row] > in->threshold * scale;
            x->weak = false;
            x->margin = INFINITY;
            if (!acts) {
                open_contact(x);
                /* another member that is just closed would take over */
                const double apart = scale > 0.0 ? fabs(in->u[c->row]) / scale : 0.0;
                margin = pushes && apart < margin && member != best ? apart : margin;
            } else if (!x->acts) {
                margin = 0.0; /* it pushes while it is open by more than its push */
            } else if (fabs(in->u[c->row]) > in->threshold * scale) {
                x->closing = best;
            }
        }
        perpi_law* first = &law[group->member[0]];
        first->margin = margin;
        first->weak = !(margin >= in->threshold);
    }
}
