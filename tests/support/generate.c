/* tests/support/generate.c - see generate.h. */
#include "support/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 0.01
#define GRAVITY 9.81

uint64_t generate_bits(uint64_t* state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double generate_uniform(uint64_t* state, double low, double high)
{
    return low + (high - low) * ((double)(generate_bits(state) >> 11) * 0x1p-53);
}

/* ---- LCPs ----------------------------------------------------------------------------------------------*/

const char* const generate_lcp_name[GENERATE_LCP_KINDS] = {"p", "psd", "copositive", "degenerate"};

/* M <- A A' / n with A: n x rank, plus a skew part. */
static bool fill_semidefinite(int32_t n, int32_t rank, uint64_t* random, double* M)
{
    double* A = calloc((size_t)n * (size_t)rank + 1, sizeof *A);
    if (A == NULL) {
        return false;
    }
    for (size_t i = 0; i < (size_t)n * (size_t)rank; ++i) {
        A[i] = generate_uniform(random, -1.0, 1.0);
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j <= i; ++j) {
            double sum = 0.0;
            for (int32_t l = 0; l < rank; ++l) {
                sum += A[(size_t)i * (size_t)rank + (size_t)l] *
                       A[(size_t)j * (size_t)rank + (size_t)l];
            }
            const double skew = i == j ? 0.0 : generate_uniform(random, -0.3, 0.3);
            M[(size_t)i * (size_t)n + (size_t)j] = sum / n + skew;
            M[(size_t)j * (size_t)n + (size_t)i] = sum / n - skew;
        }
    }
    free(A);
    return true;
}

static bool fill_matrix(generate_lcp_kind kind, int32_t n, uint64_t* random, double* M)
{
    if (kind == GENERATE_LCP_COPOSITIVE) {
        for (int32_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < n; ++j) {
                M[(size_t)i * (size_t)n + (size_t)j] = i == j ? generate_uniform(random, 0.1, 1.0)
                                                              : generate_uniform(random, 0.0, 1.0);
            }
        }
        return true;
    }
    const int32_t rank = kind == GENERATE_LCP_PSD ? (n + 1) / 2 : n;
    if (!fill_semidefinite(n, rank, random, M)) {
        return false;
    }
    for (int32_t i = 0; kind != GENERATE_LCP_PSD && i < n; ++i) {
        M[(size_t)i * (size_t)(n + 1)] += 0.5;
    }
    return true;
}

bool generate_lcp(generate_lcp_kind kind, int32_t n, uint64_t seed, generated_lcp* out)
{
    const size_t m = (size_t)n;
    *out = (generated_lcp){.M = calloc(m * m + 1, sizeof(double)),
                           .q = calloc(m + 1, sizeof(double)),
                           .z = calloc(m + 1, sizeof(double))};
    uint64_t random = seed * 1000003u + (uint64_t)kind * 101u + (uint64_t)n;
    if (out->M == NULL || out->q == NULL || out->z == NULL ||
        !fill_matrix(kind, n, &random, out->M)) {
        generated_lcp_free(out);
        return false;
    }
    for (size_t i = 0; i < m; ++i) { /* z_i > 0, or w_i > 0, or neither */
        const double t = generate_uniform(&random, 0.1, 2.0),
                     side = generate_uniform(&random, 0, 1);
        const bool neither = kind == GENERATE_LCP_DEGENERATE && side > 2.0 / 3.0;
        const bool positive = side < (kind == GENERATE_LCP_DEGENERATE ? 1.0 / 3.0 : 0.5);
        out->z[i] = positive ? t : 0.0;
        out->q[i] = positive || neither ? 0.0 : t;
    }
    for (size_t i = 0; i < m; ++i) {
        for (size_t j = 0; j < m; ++j) {
            out->q[i] -= out->M[i * m + j] * out->z[j];
        }
    }
    out->lcp = (perp_lcp){n, out->M, out->q};
    return true;
}

void generated_lcp_free(generated_lcp* g)
{
    free(g->M);
    free(g->q);
    free(g->z);
    *g = (generated_lcp){0};
}

/* ---- contact problems ------------------------------------------------------------------------------------*/

const char* const generate_contact_name[GENERATE_CONTACT_KINDS] = {"stacks", "wall", "pile",
                                                                   "grasp"};

generate_contact_spec generate_contact_spec_default(generate_contact_kind kind)
{
    return (generate_contact_spec){.kind = kind,
                                   .seed = 1,
                                   .contacts = 100,
                                   .height = 5,
                                   .mass_ratio = 1000.0,
                                   .mu_min = 0.0,
                                   .mu_max = 1.0};
}

typedef struct maker {
    const generate_contact_spec* spec;
    generated_contact* out;
    uint64_t random;
    size_t jac;
} maker;

void generated_contact_free(generated_contact* g)
{
    free(g->dof);
    free(g->M);
    free(g->k);
    free(g->J);
    free(g->b);
    free(g->constraint);
    *g = (generated_contact){0};
}

static bool reserve(generated_contact* g, int32_t bodies, int32_t contacts)
{
    const size_t n = (size_t)bodies, m = (size_t)contacts;
    *g = (generated_contact){.dof = calloc(n + 1, sizeof *g->dof),
                             .M = calloc(36 * n, sizeof *g->M),
                             .k = calloc(6 * n, sizeof *g->k),
                             .J = calloc(36 * m, sizeof *g->J),
                             .b = calloc(3 * m, sizeof *g->b),
                             .constraint = calloc(m, sizeof *g->constraint)};
    if (g->dof == NULL || g->M == NULL || g->k == NULL || g->J == NULL || g->b == NULL ||
        g->constraint == NULL) {
        generated_contact_free(g);
        return false;
    }
    return true;
}

static double some_mass(maker* m)
{
    return pow(10.0, generate_uniform(&m->random, 0.0, log10(m->spec->mass_ratio)));
}

/* A 2 x 1 x 1 box; v: the velocity it would have without contacts. */
static int32_t add_box(maker* m, double mass, const double v[6])
{
    static const double inertia[3] = {2.0 / 12.0, 5.0 / 12.0, 5.0 / 12.0}; /* of mass 1 */
    perp_contact_problem* P = &m->out->problem;
    const int32_t i = P->block_count++;
    m->out->dof[i + 1] = P->dof_count = 6 * (i + 1);
    for (int d = 0; d < 6; ++d) {
        const double inert = d < 3 ? mass : mass * inertia[d - 3];
        m->out->M[36 * (size_t)i + 7 * (size_t)d] = inert;
        m->out->k[6 * i + d] = inert * v[d];
    }
    return i;
}

/* Falls for one step, pushed sideways a little. */
static int32_t add_falling_box(maker* m)
{
    double v[6];
    const double mass = some_mass(m);
    for (int d = 0; d < 6; ++d) {
        const double noise = generate_uniform(&m->random, -1.0, 1.0);
        v[d] = d == 2 ? -STEP * GRAVITY : (d < 2 ? 0.05 : 0.01) * noise;
    }
    return add_box(m, mass, v);
}

/* n: unit normal onto body b; arm: from each body's centre to the point; gap: its share of b. */
static void add_contact(maker* m, int32_t a, int32_t b, const double n[3], const double arm[2][3],
                        double gap)
{
    generated_contact* g = m->out;
    const int32_t i = g->problem.constraint_count++;
    double axis[3][3];
    memcpy(axis[0], n, sizeof axis[0]);
    const int least = fabs(n[0]) <= fabs(n[1]) && fabs(n[0]) <= fabs(n[2]) ? 0
                      : fabs(n[1]) <= fabs(n[2])                           ? 1
                                                                           : 2;
    double length = 0.0; /* first tangent: that coordinate axis without its normal part */
    for (int d = 0; d < 3; ++d) {
        axis[1][d] = (d == least ? 1.0 : 0.0) - n[least] * n[d];
        length += axis[1][d] * axis[1][d];
    }
    for (int d = 0; d < 3; ++d) {
        axis[1][d] /= sqrt(length);
    }
    for (int d = 0; d < 3; ++d) {
        axis[2][d] = n[(d + 1) % 3] * axis[1][(d + 2) % 3] - n[(d + 2) % 3] * axis[1][(d + 1) % 3];
    }
    g->constraint[i] =
        (perp_constraint){.block = {a, b},
                          .row = 3 * i,
                          .rows = 3,
                          .jac = m->jac,
                          .cone = PERP_CONE_QUADRATIC,
                          .mu = generate_uniform(&m->random, m->spec->mu_min, m->spec->mu_max)};
    g->b[3 * i] = gap;
    for (int side = 0; side < 2; ++side) {
        const double sign = side == 0 ? -1.0 : 1.0, *r = arm[side];
        if (g->constraint[i].block[side] < 0) {
            continue;
        }
        for (int row = 0; row < 3; ++row) {
            double* J = g->J + m->jac + 6 * row;
            for (int d = 0; d < 3; ++d) {
                const int e = (d + 1) % 3, f = (d + 2) % 3;
                J[d] = sign * axis[row][d];
                J[3 + d] = sign * (r[e] * axis[row][f] - r[f] * axis[row][e]);
            }
        }
        m->jac += 18;
    }
    g->problem.row_count = 3 * g->problem.constraint_count;
}

/* Four contacts between box `below` (-1: the ground) and `above`: x in left..right of the upper box,
 * whose middle is `shift` to the right of the lower one's. */
static void add_face(maker* m, int32_t below, int32_t above, double left, double right,
                     double shift)
{
    static const double up[3] = {0.0, 0.0, 1.0};
    for (int corner = 0; corner < 4; ++corner) {
        const double x = corner % 2 == 0 ? left : right, y = corner < 2 ? -0.5 : 0.5;
        const double arm[2][3] = {{x + shift, y, 0.5}, {x, y, -0.5}};
        add_contact(m, below, above, up, arm, 0.0);
    }
}

/* As many columns as `contacts` allows, at least one. Odd courses of a wall are half a brick further
 * right; at the ends of a wall some bricks rest on one only. */
static bool make_courses(maker* m)
{
    const bool wall = m->spec->kind == GENERATE_WALL;
    const int32_t height = m->spec->height;
    const int32_t per_column = wall ? 4 + 8 * (height - 1) : 4 * height;
    const int32_t columns = (m->spec->contacts + per_column / 2) / per_column;
    const int32_t width = columns > 0 ? columns : 1;
    if (!reserve(m->out, width * height, width * per_column)) {
        return false;
    }
    for (int32_t i = 0; i < width * height; ++i) {
        (void)add_falling_box(m);
    }
    for (int32_t course = 0; course < height; ++course) {
        for (int32_t column = 0; column < width; ++column) {
            const int32_t above = course * width + column, below = above - width;
            const bool odd = course % 2 == 1;
            const int32_t other = odd ? column + 1 : column - 1;
            if (course == 0 || !wall) {
                add_face(m, course == 0 ? -1 : below, above, -1.0, 1.0, 0.0);
                continue;
            }
            const double shift = odd ? 1.0 : -1.0;
            add_face(m, below, above, odd ? -1.0 : 0.0, odd ? 0.0 : 1.0, shift);
            if (other >= 0 && other < width) {
                add_face(m, (course - 1) * width + other, above, odd ? 0.0 : -1.0, odd ? 1.0 : 0.0,
                         -shift);
            }
        }
    }
    return true;
}

/* Every box gets up to three contacts with the ground or one of the ten boxes before it; a third of
 * them have a gap left, which they may close. */
static bool make_pile(maker* m)
{
    const int32_t contacts = m->spec->contacts, bodies = (contacts + 2) / 3;
    if (!reserve(m->out, bodies, contacts)) {
        return false;
    }
    for (int32_t i = 0; i < bodies; ++i) {
        (void)add_falling_box(m);
    }
    for (int32_t c = 0; c < contacts; ++c) {
        const int32_t above = c / 3, known = above < 10 ? above : 10;
        const int32_t below =
            above - (int32_t)generate_uniform(&m->random, 1.0, (double)known + 2.0);
        const bool ground = below < 0 || below < above - known;
        const double tilt = generate_uniform(&m->random, 0.0, ground ? 0.2 : 1.0);
        const double round = generate_uniform(&m->random, 0.0, 6.283185307179586);
        const double n[3] = {sin(tilt) * cos(round), sin(tilt) * sin(round), cos(tilt)};
        double arm[2][3];
        for (int side = 0; side < 2; ++side) {
            for (int d = 0; d < 3; ++d) {
                arm[side][d] =
                    (side == 0 ? 0.5 : -0.5) * n[d] + generate_uniform(&m->random, -0.4, 0.4);
            }
        }
        const double gap = generate_uniform(&m->random, -2.0, 1.0);
        add_contact(m, ground ? -1 : below, above, n, arm, gap > 0.0 ? 0.2 * gap : 0.0);
    }
    return true;
}

/* One object of the largest mass or the smallest, and a finger per contact all round it. */
static bool make_grasp(maker* m)
{
    const int32_t contacts = m->spec->contacts;
    if (!reserve(m->out, contacts + 1, contacts)) {
        return false;
    }
    const bool heavy = m->spec->seed % 2 == 1;
    const double fall[6] = {0.0, 0.0, -STEP * GRAVITY, 0.0, 0.0, 0.0};
    const int32_t object = add_box(m, heavy ? m->spec->mass_ratio : 1.0, fall);
    for (int32_t c = 0; c < contacts; ++c) {
        const double round =
            6.283185307179586 * (c + generate_uniform(&m->random, 0.0, 0.5)) / contacts;
        const double lift = generate_uniform(&m->random, -0.3, 0.3);
        const double n[3] = {-cos(lift) * cos(round), -cos(lift) * sin(round), -sin(lift)};
        const double speed = generate_uniform(&m->random, 0.05, 0.5); /* towards the object */
        const double v[6] = {speed * n[0], speed * n[1], speed * n[2], 0.0, 0.0, 0.0};
        const int32_t finger = add_box(m, some_mass(m), v);
        const double arm[2][3] = {{0.1 * n[0], 0.1 * n[1], 0.1 * n[2]},
                                  {-0.5 * n[0], -0.5 * n[1], -0.5 * n[2]}};
        add_contact(m, finger, object, n, arm, 0.0);
    }
    return true;
}

bool generate_contact(const generate_contact_spec* spec, generated_contact* out)
{
    maker m = {.spec = spec, .out = out};
    m.random = 0x5eed0000u + spec->seed * 1000003u + (uint64_t)spec->contacts * 2 +
               (uint64_t)spec->kind * 7919u;
    const bool made = spec->kind == GENERATE_PILE    ? make_pile(&m)
                      : spec->kind == GENERATE_GRASP ? make_grasp(&m)
                                                     : make_courses(&m);
    if (!made) {
        return false;
    }
    out->problem.dof = out->dof;
    out->problem.M = out->M;
    out->problem.k = out->k;
    out->problem.J = out->J;
    out->problem.b = out->b;
    out->problem.constraint = out->constraint;
    return true;
}
