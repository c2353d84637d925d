/* src/study/laws_pair.h - how far two measured states, one after the other, are from the laws of contact.
 *
 * Between the states (q, v) and (q+, v+) the momenta changed by forces, which are known, and by
 * impulses p of the contacts, which are not. A contact pushes, or has no impulse. The residual of a
 * pair at p has, in the units of a speed times the root of a mass,
 *     dynamics                      M0^(1/2) (v+ - M^-1 (k + J' p))                      k = M v + h f
 *     of a contact that pushes      sqrt(w_n) (gap over a time, where it is positive), sqrt(w_n) (u_n+ + e u_n)
 *     of its friction               sqrt(w_t) F,  F = p_t / m_t - proj(p_t / m_t - u_t+),  proj: onto the disc of radius mu p_n / m_t
 *     of every contact              sqrt(w_n) (overlap over that time)
 * F is zero exactly for Coulomb's law (sticking, or sliding against friction). Squares are twice energies. The
 * loss of the pair is half the least sum of squares over p and over which contacts push; no step is simulated.
 * docs/notation.md derives it.
 */
#ifndef PERPI_LAWS_PAIR_H
#define PERPI_LAWS_PAIR_H

#include "base/context.h"

typedef struct perpi_law_contact {
    uint64_t key;
    int32_t body_a, body_b;
    int32_t row;      /* of its impulses: p_n, then p_t, p_o */
    int32_t tangents; /* 0, 1, 2 */
    double mu, e;
    double before[3], after[3]; /* relative velocities n, t, o */
    double gap;                 /* the least between the two states; 0 in an impact */
    double m_n, m_t;            /* effective masses along the normal and in the tangent plane */
    double compression;         /* Poisson's law: its impulse; NaN: Newton's law */
    bool pushes;                /* else it has no impulse */
    bool sticks;                /* the piece of F that holds at the last p */
} perpi_law_contact;

typedef struct perpi_law_pair {
    int32_t n,
        r; /* velocities; impulses: those of contacts, then those of joints, which have no law here */
    double* c;       /* n: v+ - M^-1 k */
    double* A;       /* n x r: M^-1 J' */
    double* U;       /* n x n upper triangle: U' U = M0, the masses that weigh */
    double time;     /* that divides gaps; 0: an impact, without gaps */
    double w_n, w_t; /* masses that weigh the laws */
    perpi_law_contact* contact;
    int32_t contacts;
    size_t c_room, A_room, U_room, contact_room;
} perpi_law_pair;

/* Scratch of a minimisation. */
typedef struct perpi_law_work {
    perp_context* context;
    double *R, *J, *H, *g, *p, *best;
    int32_t *column, *order; /* impulses that act; contacts by their gaps */
    bool* pushes;            /* of the best choice */
    int32_t columns;
    size_t R_room, J_room, H_room, g_room, p_room, best_room, column_room, order_room, pushes_room;
} perpi_law_work;

PERP_NODISCARD perp_status perpi_law_pair_room(perp_context* context, perpi_law_pair* pair,
                                               int32_t n, int32_t r, int32_t contacts);
void perpi_law_pair_free(perp_context* context, perpi_law_pair* pair);
void perpi_law_work_free(perpi_law_work* work);

/* Rows of the residual. */
int32_t perpi_law_rows(const perpi_law_pair* pair);
/* The residual at p: perpi_law_rows numbers. Impulses of contacts that do not push must be 0.
 * frozen: the pieces of friction (sticks) are kept, so that a difference of two residuals is that
 * of smooth functions; else they are chosen and written. */
void perpi_law_residual(perpi_law_pair* pair, const double* p, bool frozen, double* R);
/* d R / d p by the impulses column[0 .. columns-1]: J, rows x columns. Pieces as they are. */
void perpi_law_jacobian(const perpi_law_pair* pair, const double* p, const int32_t* column,
                        int32_t columns, double* J);
/* The impulses of least residual, into p, and which contacts push; *loss is half its square. For
 * none, the nearest, the two nearest ... contacts, as long as their gaps do not cost more than the
 * best choice: Gauss-Newton with halved steps; contacts that would pull are left out. */
PERP_NODISCARD perp_status perpi_law_minimise(perpi_law_work* work, perpi_law_pair* pair, double* p,
                                              double* loss);
/* Removes from each of `columns` columns of D (rows x columns) what a change of p can remove to
 * first order: the derivative of the least residual by the parameters alone (variable projection).
 * Contacts and pieces as at the last p. */
PERP_NODISCARD perp_status perpi_law_project(perpi_law_work* work, perpi_law_pair* pair,
                                             const double* p, int32_t columns, double* D);

#endif
