/* src/solve/interior/central_path.c - see central_path.h. */
#include "solve/interior/central_path.h"

#include <math.h>
#include <string.h>

#include "problem/cone.h"
#include "solve/frictional/friction_local.h"

#define INSIDE 1e-15     /* rounding that may put a cone's point onto its boundary, relative */
#define SIZE_DELTA 1e-7  /* regularisation of the system for the size of impulses, relative to D */
#define SIZE_TRUST 1e-2  /* limit on the velocity left by it, relative to the largest q */
#define LEAST_SLACK 1e-8 /* of a facet at the start, relative to sqrt(tau) and the impulse's size */

enum { WIDE = PERPI_SOC_MAX };

typedef perpi_path_member member;
typedef perpi_facet facet;

/* ---- memory ------------------------------------------------------------------------------------------*/

perp_status perpi_central_path_init(perpi_central_path* path, perp_context* context)
{
    *path = (perpi_central_path){.context = context};
    return perpi_block_lu_create(context, &path->lu);
}

void perpi_central_path_free(perpi_central_path* path)
{
    perpi_block_lu_destroy(path->lu);
    perpi_free(path->context, path->vector);
    perpi_free(path->context, path->H);
    perpi_free(path->context, path->fixed);
    perpi_free(path->context, path->member);
    perpi_free(path->context, path->facet);
    perpi_free(path->context, path->size);
}

static bool has_friction(const perp_constraint* c)
{
    return c->rows > 1 && c->cone != PERP_CONE_NONE && c->mu > 0.0;
}

/* At most. */
static int32_t facets_of(const perp_constraint* c)
{
    if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        return 2 * c->rows;
    }
    if (c->kind == PERP_CONSTRAINT_EQUALITY) {
        return 0;
    }
    if (!has_friction(c)) {
        return 1;
    }
    return c->rows == 2 ? 2 : (c->cone == PERP_CONE_POLYGON ? c->directions : 0);
}

static perp_status central_path_reserve(perpi_central_path* path, const perp_friction_problem* P)
{
    enum { VECTORS = 7 };
    perp_context* context = path->context;
    const size_t n = (size_t)P->row_count, nc = (size_t)P->constraint_count;
    size_t facets = 0;
    for (size_t i = 0; i < nc; ++i) {
        facets += (size_t)facets_of(&P->constraint[i]);
    }
    size_t* room = path->capacity;
    perp_status status =
        perpi_grow(context, &path->vector, &room[0], VECTORS * n, sizeof *path->vector);
    if (status == PERP_OK) {
        status = perpi_grow(context, &path->H, &room[1], WIDE * n, sizeof *path->H);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &path->fixed, &room[2], n, sizeof *path->fixed);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &path->member, &room[3], nc, sizeof *path->member);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &path->facet, &room[4], facets, sizeof *path->facet);
    }
    if (status == PERP_OK) {
        status = perpi_grow(context, &path->size, &room[5], nc, sizeof *path->size);
    }
    if (status != PERP_OK) {
        return status;
    }
    double** const view[VECTORS] = {&path->r,   &path->D,  &path->u,   &path->g,
                                    &path->rhs, &path->dr, &path->more};
    for (size_t i = 0; i < VECTORS; ++i) {
        *view[i] = path->vector + i * n;
    }
    for (size_t i = 0; i < nc; ++i) {
        path->size[i] = P->constraint[i].rows;
    }
    return perpi_block_lu_analyse(path->lu, P->constraint_count, path->size, P->W.start,
                                  P->W.column);
}

/* ---- cones and facets --------------------------------------------------------------------------------*/

static void add_facet(perpi_central_path* path, member* m, int32_t row, int32_t count,
                      const double* f, double g, double share)
{
    facet* x = &path->facet[path->facets++];
    *x = (facet){.row = row, .count = count, .g = g, .share = share};
    memcpy(x->f, f, (size_t)count * sizeof *f);
    ++m->facets;
}

static void describe_bounded(perpi_central_path* path, const perp_friction_problem* P,
                             const perp_constraint* c, member* m)
{
    for (int32_t k = c->row; k < c->row + c->rows; ++k) {
        if (!(P->lower[k] < P->upper[k])) {
            path->fixed[k] = true;
            continue;
        }
        if (P->lower[k] > -INFINITY) {
            add_facet(path, m, k, 1, &(double){1.0}, -P->lower[k], 1.0);
        }
        if (P->upper[k] < INFINITY) {
            add_facet(path, m, k, 1, &(double){-1.0}, P->upper[k], 1.0);
        }
    }
}

static void describe_contact(perpi_central_path* path, const perp_constraint* c, member* m)
{
    const int32_t row = c->row;
    for (int32_t k = 1; k < c->rows; ++k) {
        m->scale[k] = c->cone == PERP_CONE_ELLIPSOID ? 1.0 / c->e[k - 1] : 1.0;
    }
    m->scale[0] = c->mu;
    if (!has_friction(c)) {
        add_facet(path, m, row, 1, &(double){1.0}, 0.0, 1.0);
        for (int32_t k = 1; k < c->rows; ++k) {
            path->fixed[row + k] = true;
        }
    } else if (c->rows == 2) {
        const double f[2][2] = {{c->mu, -m->scale[1]}, {c->mu, m->scale[1]}};
        add_facet(path, m, row, 2, f[0], 0.0, 0.5);
        add_facet(path, m, row, 2, f[1], 0.0, 0.5);
    } else if (c->cone == PERP_CONE_POLYGON) {
        /* an edge: mu r_n cos(pi / directions) - n . r_t >= 0, n its normal */
        for (int32_t j = 0; j < c->directions; ++j) {
            double a[2], b[2];
            perpi_polygon_direction(c->directions, j, a);
            perpi_polygon_direction(c->directions, j + 1 == c->directions ? 0 : j + 1, b);
            const double x = a[0] + b[0], y = a[1] + b[1], length = hypot(x, y);
            const double f[3] = {c->mu * (a[0] * x + a[1] * y) / length, -x / length, -y / length};
            add_facet(path, m, row, 3, f, 0.0, 1.0 / c->directions);
        }
    } else {
        m->cone = true;
    }
}

perp_status perpi_central_path_prepare(perpi_central_path* path, const perp_friction_problem* P)
{
    const perp_status status = central_path_reserve(path, P);
    if (status != PERP_OK) {
        return status;
    }
    perpi_friction_metric(P, path->D);
    double U = 0.0;
    for (int32_t k = 0; k < P->row_count; ++k) {
        U = fabs(P->q[k]) > U ? fabs(P->q[k]) : U;
    }
    path->U = U > 0.0 ? U : 1.0;
    path->facets = path->pairs = 0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        member* m = &path->member[i];
        *m = (member){.facet = path->facets};
        memset(path->fixed + c->row, 0, (size_t)c->rows * sizeof *path->fixed);
        if (c->kind == PERP_CONSTRAINT_CONTACT) {
            describe_contact(path, c, m);
        } else if (c->kind == PERP_CONSTRAINT_BOUNDED) {
            describe_bounded(path, P, c, m);
        }
        path->pairs += m->cone ? 1 : m->facets;
    }
    return PERP_OK;
}

/* ---- where to start ----------------------------------------------------------------------------------*/

/* a > 0 with a - tau / a = v. */
static double central_pair(double v, double tau)
{
    const double large = 0.5 * (fabs(v) + sqrt(v * v + 4.0 * tau));
    return v >= 0.0 ? large : tau / large;
}

static void start_cone(const perpi_central_path* path, const perp_constraint* c, double tau,
                       bool guess, member* m, double* r)
{
    double v[WIDE] = {0};
    const double X = m->impulse * c->mu, Z = path->U / c->mu;
    const double* u = path->u + c->row;
    for (int32_t k = 0; k < c->rows && guess; ++k) {
        const double y = u[k] + (k == 0 ? perpi_friction_support(c, u + 1) : 0.0);
        v[k] = r[k] * m->scale[k] / X - y / (m->scale[k] * Z);
    }
    perpi_soc_centre(c->rows, v, tau, m->x, m->z);
    for (int32_t k = 0; k < c->rows; ++k) {
        m->x[k] *= X;
        m->z[k] *= Z;
        r[k] = m->x[k] / m->scale[k];
    }
}

/* Contacts with facets: r_n on the path, r_t no closer to the edge than in the guess. */
static void start_facets(const perpi_central_path* path, const perp_constraint* c, double tau,
                         bool guess, const member* m, double* r)
{
    const double from = guess && r[0] > 0.0 ? r[0] : 0.0;
    r[0] =
        m->impulse * central_pair(guess ? from / m->impulse - path->u[c->row] / path->U : 0.0, tau);
    const double part = from > 0.0 ? (r[0] < from ? r[0] / from : 1.0) / (1.0 + sqrt(tau)) : 0.0;
    for (int32_t k = 1; k < c->rows; ++k) {
        r[k] = path->fixed[c->row + k] ? 0.0 : part * r[k];
    }
}

static void start_bounded(const perpi_central_path* path, const perp_friction_problem* P,
                          const perp_constraint* c, double tau)
{
    for (int32_t k = c->row; k < c->row + c->rows; ++k) {
        const double low = P->lower[k], high = P->upper[k], size = sqrt(tau) * path->U / path->D[k];
        const double most = 0.25 * (high - low), inset = size < most ? size : most;
        double* r = &path->r[k];
        *r = *r < low + inset ? low + inset : (*r > high - inset ? high - inset : *r);
        *r = path->fixed[k] ? low : *r;
    }
}

void perpi_central_path_start(perpi_central_path* path, const perp_friction_problem* P, double tau,
                              bool guess)
{
    if (!guess) {
        memset(path->r, 0, (size_t)P->row_count * sizeof *path->r);
    }
    perpi_friction_velocities(P, path->r, path->u);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        member* m = &path->member[i];
        if (m->cone) {
            start_cone(path, c, tau, guess, m, path->r + c->row);
        } else if (c->kind == PERP_CONSTRAINT_CONTACT) {
            start_facets(path, c, tau, guess, m, path->r + c->row);
        } else if (c->kind == PERP_CONSTRAINT_BOUNDED) {
            start_bounded(path, P, c, tau);
        }
        const double least = LEAST_SLACK * sqrt(tau) * m->impulse;
        for (int32_t j = m->facet; j < m->facet + m->facets; ++j) {
            facet* f = &path->facet[j];
            f->x = f->g;
            for (int32_t k = 0; k < f->count; ++k) {
                f->x += f->f[k] * path->r[f->row + k];
            }
            f->x = f->x > least ? f->x : least;
            f->z = tau * f->weight / f->x;
        }
    }
}

/* ---- the point ----------------------------------------------------------------------------------------*/

/* u_n of y, and its slope. */
static double normal_velocity(const perpi_central_path* path, const perp_constraint* c, member* m)
{
    const double *r = path->r + c->row, *y = m->y;
    double u_n = y[0];
    m->slope[0] = 1.0;
    memset(m->slope + 1, 0, (WIDE - 1) * sizeof *m->slope);
    if (!has_friction(c)) {
        return u_n;
    }
    if (path->slip == PERPI_SLIP_FIXED) {
        return u_n - m->s;
    }
    const bool polygon = c->cone == PERP_CONE_POLYGON && c->rows == 3;
    if (path->slip == PERPI_SLIP_DIRECTION || polygon) {
        for (int32_t k = 1; k < c->rows; ++k) {
            m->slope[k] = r[k] / r[0];
            u_n += m->slope[k] * y[k];
        }
        return u_n;
    }
    const double s = perpi_friction_support(c, y + 1);
    for (int32_t k = 1; k < c->rows && s > 0.0; ++k) {
        const double t = c->mu / m->scale[k];
        m->slope[k] = -t * (t * y[k] / s);
    }
    return u_n - s;
}

double perpi_central_path_measure(perpi_central_path* path, const perp_friction_problem* P,
                                  double* tau)
{
    double sum = 0.0, largest = 0.0;
    perpi_friction_velocities(P, path->r, path->u);
    memcpy(path->g, path->u, (size_t)P->row_count * sizeof *path->g);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const bool contact = c->kind == PERP_CONSTRAINT_CONTACT;
        member* m = &path->member[i];
        double* g = path->g + c->row;
        double inner = 0.0;
        for (int32_t k = 0; k < WIDE && contact; ++k) {
            m->y[k] = m->cone && k < c->rows ? m->scale[k] * m->z[k] : 0.0;
            inner += m->cone && k < c->rows ? m->x[k] * m->z[k] : 0.0;
        }
        sum += inner / m->weight;
        for (int32_t j = m->facet; j < m->facet + m->facets; ++j) {
            const facet* f = &path->facet[j];
            double* y = contact ? m->y : NULL;
            for (int32_t k = 0; k < f->count; ++k) {
                if (y != NULL) {
                    y[f->row - c->row + k] += f->f[k] * f->z;
                } else {
                    path->g[f->row + k] -= f->f[k] * f->z;
                }
            }
            sum += f->x * f->z / f->weight;
        }
        if (contact) {
            g[0] -= normal_velocity(path, c, m);
            for (int32_t k = 1; k < c->rows; ++k) {
                g[k] -= m->y[k];
            }
        }
        for (int32_t k = 0; k < c->rows; ++k) {
            g[k] = path->fixed[c->row + k] ? 0.0 : g[k];
            largest = !(fabs(g[k]) <= largest) ? fabs(g[k]) : largest;
        }
    }
    *tau = path->pairs > 0 ? sum / path->pairs : 0.0;
    return largest / path->U;
}

double perpi_central_path_update_slip(perpi_central_path* path, const perp_friction_problem* P)
{
    double change = 0.0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        if (c->kind == PERP_CONSTRAINT_CONTACT && has_friction(c)) {
            member* m = &path->member[i];
            const double s = perpi_friction_support(c, m->y + 1);
            change = !(fabs(s - m->s) <= change) ? fabs(s - m->s) : change;
            m->s = s;
        }
    }
    return change / path->U;
}

/* ---- a step ------------------------------------------------------------------------------------------*/

/* H of every constraint; false: a point on a boundary. */
static bool scale_members(perpi_central_path* path, const perp_friction_problem* P)
{
    memset(path->H, 0, WIDE * (size_t)P->row_count * sizeof *path->H);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        member* m = &path->member[i];
        double* H = path->H + WIDE * (size_t)c->row;
        if (m->cone && !perpi_soc_scale(c->rows, m->x, m->z, &m->nt)) {
            return false;
        }
        for (int32_t a = 0; a < c->rows && m->cone; ++a) {
            for (int32_t b = 0; b < c->rows; ++b) {
                const double J = a == b ? (a == 0 ? 1.0 : -1.0) : 0.0;
                H[WIDE * a + b] = m->nt.eta * m->nt.eta * m->scale[a] * m->scale[b] *
                                  (2.0 * m->nt.w[a] * m->nt.w[b] - J);
            }
        }
        for (int32_t j = m->facet; j < m->facet + m->facets; ++j) {
            const facet* f = &path->facet[j];
            if (!(f->x > 0.0) || !(f->z > 0.0)) {
                return false;
            }
            for (int32_t a = 0; a < f->count; ++a) {
                for (int32_t b = 0; b < f->count; ++b) {
                    H[WIDE * (f->row - c->row + a) + b] += f->f[a] * (f->z / f->x) * f->f[b];
                }
            }
        }
    }
    return true;
}

/* Row a of R H of a contact. */
static void bent_row(const perpi_central_path* path, const perp_constraint* c, const member* m,
                     int32_t a, double* row)
{
    const double* H = path->H + WIDE * (size_t)c->row;
    for (int32_t b = 0; b < c->rows; ++b) {
        row[b] = H[WIDE * a + b];
        for (int32_t k = 1; k < c->rows && a == 0; ++k) {
            row[b] += m->slope[k] * H[WIDE * k + b];
        }
    }
}

/* Factors W + R H + delta D; held rows say dr = 0. */
static bool central_path_factor(perpi_central_path* path, const perp_friction_problem* P,
                                double delta)
{
    perpi_block_lu_clear(path->lu);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int32_t k = P->W.start[i]; k < P->W.start[i + 1]; ++k) {
            const int32_t j = P->W.column[k], nj = P->constraint[j].rows;
            const double* W = P->W.value + P->W.at[k];
            int32_t ld;
            double* out = perpi_block_lu_block(path->lu, k, &ld);
            for (int32_t a = 0; a < c->rows; ++a) {
                double* y = out + (size_t)a * (size_t)ld;
                const bool held = path->fixed[c->row + a];
                if (!held) {
                    memcpy(y, W + (size_t)a * (size_t)nj, (size_t)nj * sizeof *y);
                }
                if (i != j) {
                    continue;
                }
                y[a] += (held ? 1.0 : delta) * path->D[c->row + a];
                if (!held && c->kind == PERP_CONSTRAINT_CONTACT) {
                    double row[WIDE];
                    bent_row(path, c, &path->member[i], a, row);
                    for (int32_t b = 0; b < c->rows; ++b) {
                        y[b] += row[b];
                    }
                } else if (!held) {
                    y[a] += path->H[WIDE * (size_t)(c->row + a)];
                }
            }
        }
    }
    return perpi_block_lu_factor(path->lu);
}

void perpi_central_path_size(perpi_central_path* path, const perp_friction_problem* P, bool loads)
{
    const size_t n = (size_t)P->row_count;
    double* load = path->dr;
    memset(load, 0, n * sizeof *load);
    memset(path->H, 0, WIDE * n * sizeof *path->H);
    if (loads && central_path_factor(path, P, SIZE_DELTA)) {
        for (size_t k = 0; k < n; ++k) {
            load[k] = path->fixed[k] ? 0.0 : -P->q[k];
        }
        perpi_block_lu_solve(path->lu, load);
        perpi_friction_velocities(P, load, path->u);
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        member* m = &path->member[i];
        m->impulse = path->U / path->D[c->row];
        for (int32_t k = c->row; k < c->row + c->rows; ++k) {
            const bool stopped = fabs(path->u[k]) <= SIZE_TRUST * path->U;
            m->impulse = stopped && fabs(load[k]) > m->impulse ? fabs(load[k]) : m->impulse;
        }
        m->weight = m->impulse * path->U;
        for (int32_t j = m->facet; j < m->facet + m->facets; ++j) {
            path->facet[j].weight = path->facet[j].share * m->weight;
        }
    }
}

/* more <- rhs - (W + R H + delta D) dr. */
static void direction_residual(const perpi_central_path* path, const perp_friction_problem* P,
                               double delta)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const double* dr = path->dr + c->row;
        perpi_friction_velocity(P, i, true, path->dr, path->more + c->row);
        for (int32_t a = 0; a < c->rows; ++a) {
            const int32_t k = c->row + a;
            double t = path->more[k] - P->q[k] + delta * path->D[k] * dr[a];
            if (c->kind == PERP_CONSTRAINT_CONTACT) {
                double row[WIDE];
                bent_row(path, c, &path->member[i], a, row);
                for (int32_t b = 0; b < c->rows; ++b) {
                    t += row[b] * dr[b];
                }
            } else {
                t += path->H[WIDE * (size_t)k] * dr[a];
            }
            path->more[k] = path->fixed[k] ? 0.0 : path->rhs[k] - t;
        }
    }
}

/* What a facet's linearised x z should gain. */
static double facet_target(const facet* f, double target, double second)
{
    const double t = target * f->weight - f->x * f->z;
    return second > 0.0 ? t - second * f->dx * f->dz : t;
}

/* rhs = R h - part g; target: tau; second: how much of the last direction's dx dz to take off. */
static void set_rhs(perpi_central_path* path, const perp_friction_problem* P, double target,
                    double part, double second)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const bool contact = c->kind == PERP_CONSTRAINT_CONTACT;
        member* m = &path->member[i];
        double h[WIDE] = {0};
        double* rhs = path->rhs + c->row;
        for (int32_t k = 0; k < c->rows; ++k) {
            rhs[k] = -part * path->g[c->row + k];
        }
        if (m->cone) {
            double now[WIDE], last[WIDE];
            perpi_soc_product(c->rows, m->nt.lambda, m->nt.lambda, now);
            perpi_soc_product(c->rows, m->dx, m->dz, last);
            for (int32_t k = 0; k < c->rows; ++k) {
                now[k] = (k == 0 ? target * m->weight : 0.0) - now[k];
                now[k] -= second > 0.0 ? second * last[k] : 0.0;
            }
            perpi_soc_divide(c->rows, m->nt.lambda, now, m->d);
            perpi_soc_apply(c->rows, &m->nt, m->d, h);
            for (int32_t k = 0; k < c->rows; ++k) {
                h[k] *= m->scale[k];
            }
        }
        for (int32_t j = m->facet; j < m->facet + m->facets; ++j) {
            const facet* f = &path->facet[j];
            const double push = facet_target(f, target, second) / f->x;
            for (int32_t k = 0; k < f->count; ++k) {
                if (contact) {
                    h[f->row - c->row + k] += f->f[k] * push;
                } else {
                    path->rhs[f->row + k] += f->f[k] * push;
                }
            }
        }
        for (int32_t k = 0; k < c->rows; ++k) {
            rhs[0] += contact ? m->slope[k] * h[k] : 0.0;
            rhs[k] += contact && k > 0 ? h[k] : 0.0;
        }
        for (int32_t k = 0; k < c->rows; ++k) {
            rhs[k] = path->fixed[c->row + k] ? 0.0 : rhs[k];
        }
    }
}

/* dr of the right-hand side, refined once, and dx, dz; false: not finite. */
static bool solve_direction(perpi_central_path* path, const perp_friction_problem* P, double target,
                            double part, double second, double delta)
{
    set_rhs(path, P, target, part, second);
    memcpy(path->dr, path->rhs, (size_t)P->row_count * sizeof *path->dr);
    perpi_block_lu_solve(path->lu, path->dr);
    direction_residual(path, P, delta);
    perpi_block_lu_solve(path->lu, path->more);
    for (int32_t k = 0; k < P->row_count; ++k) {
        path->dr[k] += path->more[k];
        if (!isfinite(path->dr[k])) {
            return false;
        }
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        member* m = &path->member[i];
        if (m->cone) {
            for (int32_t k = 0; k < c->rows; ++k) {
                m->dx[k] = m->scale[k] * path->dr[c->row + k];
            }
            perpi_soc_apply(c->rows, &m->nt, m->dx, m->dx);
            for (int32_t k = 0; k < c->rows; ++k) {
                m->dz[k] = m->d[k] - m->dx[k];
            }
        }
    }
    for (int32_t j = 0; j < path->facets; ++j) {
        facet* f = &path->facet[j];
        const double want = facet_target(f, target, second);
        f->dx = 0.0;
        for (int32_t k = 0; k < f->count; ++k) {
            f->dx += f->f[k] * path->dr[f->row + k];
        }
        f->dz = (want - f->z * f->dx) / f->x;
    }
    return true;
}

static double limit_step(double t, double x, double dx)
{
    return dx < 0.0 && -x / dx < t ? -x / dx : t;
}

/* The largest step along the direction that stays inside; at most 1 / boundary. */
static double longest_step(const perpi_central_path* path, const perp_friction_problem* P)
{
    double t = INFINITY;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const member* m = &path->member[i];
        if (m->cone) {
            const int32_t n = P->constraint[i].rows;
            const double a = perpi_soc_step(n, m->nt.lambda, m->dx);
            const double b = perpi_soc_step(n, m->nt.lambda, m->dz);
            t = a < t ? a : t;
            t = b < t ? b : t;
        }
    }
    for (int32_t j = 0; j < path->facets; ++j) {
        const facet* f = &path->facet[j];
        t = limit_step(limit_step(t, f->x, f->dx), f->z, f->dz);
    }
    return t;
}

/* The mean of the pairs after a step t. */
static double tau_after(const perpi_central_path* path, const perp_friction_problem* P, double t)
{
    double sum = 0.0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const member* m = &path->member[i];
        double inner = 0.0;
        for (int32_t k = 0; k < P->constraint[i].rows && m->cone; ++k) {
            inner += (m->nt.lambda[k] + t * m->dx[k]) * (m->nt.lambda[k] + t * m->dz[k]);
        }
        sum += inner / m->weight;
    }
    for (int32_t j = 0; j < path->facets; ++j) {
        const facet* f = &path->facet[j];
        sum += (f->x + t * f->dx) * (f->z + t * f->dz) / f->weight;
    }
    return path->pairs > 0 ? sum / path->pairs : 0.0;
}

/* The step ends inside in exact arithmetic; rounding can put a point onto the boundary. */
static void keep_inside(int32_t n, double* x)
{
    double t = 0.0;
    for (int32_t k = 1; k < n; ++k) {
        t += x[k] * x[k];
    }
    const double least = sqrt(t) * (1.0 + INSIDE);
    x[0] = x[0] < least ? least : x[0];
}

static void central_path_advance(perpi_central_path* path, const perp_friction_problem* P, double t)
{
    for (int32_t k = 0; k < P->row_count; ++k) {
        path->r[k] += t * path->dr[k];
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        member* m = &path->member[i];
        if (m->cone) {
            double dz[WIDE];
            perpi_soc_apply(c->rows, &m->nt, m->dz, dz);
            for (int32_t k = 0; k < c->rows; ++k) {
                m->z[k] += t * dz[k];
                m->x[k] = m->scale[k] * path->r[c->row + k];
            }
            keep_inside(c->rows, m->x);
            keep_inside(c->rows, m->z);
            path->r[c->row] = m->x[0] / m->scale[0];
        }
    }
    for (int32_t j = 0; j < path->facets; ++j) {
        facet* f = &path->facet[j];
        f->x += t * f->dx;
        f->z += t * f->dz;
    }
}

double perpi_central_path_step(perpi_central_path* path, const perp_friction_problem* P, double tau,
                               double boundary, double delta)
{
    /* Predictor: target tau = 0 */
    if (!scale_members(path, P) || !central_path_factor(path, P, delta) ||
        !solve_direction(path, P, 0.0, 1.0, 0.0, delta)) {
        return -1.0;
    }
    double t = boundary * longest_step(path, P);
    t = t < 1.0 ? t : 1.0;
    /* Its step determines sigma. */
    const double ratio = tau > 0.0 ? tau_after(path, P, t) / tau : 0.0;
    const double sigma = ratio > 0.0 ? (ratio < 1.0 ? ratio * ratio * ratio : 1.0) : 0.0;
    if (!solve_direction(path, P, sigma * tau, 1.0 - sigma, t * t, delta)) {
        return -1.0;
    }
    t = boundary * longest_step(path, P);
    t = t < 1.0 ? t : 1.0;
    central_path_advance(path, P, t);
    return t;
}
