/* perp/problem.h - the algebraic forms, and the residuals of their answers.
 *
 * Every stepper formulates one contact problem. It can be reformulated as an MLCP, an LCP, an NCP or
 * a friction problem. Bodies, shapes and time do not appear here: a block is a few velocities with a
 * mass matrix, a constraint a few rows that connect at most two blocks. All arrays are borrowed: a
 * problem never owns or changes them.
 *
 * The contact problem: find block velocities v (dof_count) and row impulses p (row_count) with
 *
 *     M v = k + J' p                                  dynamics; k = M v_old + external impulses
 *     u   = J v + b + c p                             row velocities; b holds gap/h, belts, ...;
 *                                                     c, the compliance, is 0 on contact rows
 *     equality rows     u = 0,  p free
 *     bounded rows      lower <= p <= upper;  p = lower => u >= 0,  p = upper => u <= 0,
 *                       between => u = 0
 *     contact, row 0    0 <= p_n  perp  u_n >= 0      (unless the contact is in a group)
 *     contact, rows 1.. p_t in F(mu p_n), -u_t in the normal cone of F at p_t: p_t dissipates
 *                       most among all of F  [T03 (33)]
 *
 * F(mu p_n), the friction set, by cone:
 *     NONE       {0}; the contact has 1 row
 *     POLYGON    convex hull of mu p_n d_j, j = 0..directions-1, d_j = (cos, sin)(2 pi j /
 *                directions) in the (t, o) rows: inscribed in the disc. With one tangential row
 *                (planar) the hull is [-mu p_n, mu p_n] and directions is 2.
 *     QUADRATIC  |p_t| <= mu p_n
 *     ELLIPSOID  (p_t/e_t)^2 + (p_o/e_o)^2 + (p_r/e_r)^2 <= (mu p_n)^2, 4 rows [B09 (2.59)..(2.64)]
 *
 * A group is a set of contacts of which at least one must hold [W14 4.2.2, (4.10)-(4.14)]: with
 * m = max of u_n over all members, m >= 0; a primary member i carries an impulse only if u_n,i = 0
 * and no other member is open: 0 <= p_n,i perp m + max(0, -u_n,i) >= 0. With a single primary the
 * bracket is m alone, 0 <= p_n perp m >= 0 [W14 (4.14)]: it may push while another member is the
 * one that closes (the stricter form can have no solution). A contact that is primary in several
 * groups is complementary to the sum of its brackets, each m >= 0. Members that are not primary in
 * any group carry no impulse (p = 0); only their gaps enter.
 *
 * Signs: contact normal n points from A onto B; a positive p_n pushes B along +n.
 */
#ifndef PERP_PROBLEM_H
#define PERP_PROBLEM_H

#include "perp/linalg.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- LCP: w = M z + q, 0 <= z perp w >= 0 ----------------------------------------------------*/

typedef struct perp_lcp {
    int32_t n;
    const double* M; /* n x n, row-major */
    const double* q; /* n */
} perp_lcp;

/* ---- MLCP: w = M z + q, lower <= z <= upper; w_i >= 0 at lower, <= 0 at upper, else 0 ----------
 * lower may be -INFINITY and upper +INFINITY; both infinite makes z_i free and w_i = 0. */

typedef struct perp_mlcp {
    perp_sparse M;       /* n x n */
    const double* q;     /* n */
    const double* lower; /* n */
    const double* upper; /* n */
} perp_mlcp;

/* ---- NCP: as the MLCP with w = F(z) ------------------------------------------------------------*/

typedef struct perp_ncp {
    int32_t n;
    const double* lower; /* n */
    const double* upper; /* n */
    void* user;
    /* F: n values out. Returning anything but PERP_OK stops the solver with that status. */
    perp_status (*function)(void* user, const double* z, double* F);
    /* The pattern is fixed; value: pattern.start[n] entries out. */
    perp_sparse pattern; /* n x n, value unused */
    perp_status (*jacobian)(void* user, const double* z, double* value);
} perp_ncp;

/* ---- the contact problem -----------------------------------------------------------------------*/

typedef enum perp_constraint_kind {
    PERP_CONSTRAINT_CONTACT = 0,
    PERP_CONSTRAINT_EQUALITY = 1,
    PERP_CONSTRAINT_BOUNDED = 2,
} perp_constraint_kind;

typedef enum perp_cone {
    PERP_CONE_NONE = 0,
    PERP_CONE_POLYGON = 1,
    PERP_CONE_QUADRATIC = 2,
    PERP_CONE_ELLIPSOID = 3,
} perp_cone;

typedef struct perp_constraint {
    perp_constraint_kind kind;
    int32_t block[2]; /* the blocks it connects, -1: none (the fixed world); they differ */
    int32_t row;      /* first row; rows of successive constraints follow each other */
    int32_t rows;     /* contact: 1 (no friction), 2 (planar), 3 (spatial), 4 (with torsion) */
    size_t jac;       /* into J: rows x dofs(block[0]), then rows x dofs(block[1]), row-major */
    /* contacts only */
    perp_cone cone;
    int32_t directions; /* POLYGON: >= 3 with two tangential rows, 2 with one */
    double mu;          /* >= 0 */
    double e[3];        /* ELLIPSOID: e_t, e_o, e_r > 0 */
    uint64_t key;       /* names the constraint across steps for a warm start; 0: nameless */
} perp_constraint;

typedef struct perp_group {
    const int32_t*
        member;      /* count constraint indices, all contacts; the first `primary` may push */
    int32_t count;   /* >= 2 */
    int32_t primary; /* 1 <= primary <= count */
} perp_group;

typedef struct perp_contact_problem {
    int32_t block_count;
    int32_t constraint_count;
    int32_t group_count;
    int32_t dof_count;   /* = dof[block_count] */
    int32_t row_count;   /* sum of rows */
    const int32_t* dof;  /* block_count + 1: block i owns velocities dof[i] .. dof[i+1]-1, 1..6 */
    const double* M;     /* the blocks one after another, each nv x nv row-major, symmetric > 0 */
    const double* k;     /* dof_count */
    const double* J;     /* see perp_constraint.jac */
    const double* b;     /* row_count */
    const double* lower; /* row_count; read for bounded rows only; NULL if there are none */
    const double* upper; /* row_count; likewise */
    /* row_count, >= 0; read for equality and bounded rows only; NULL: all 0. A row with c > 0 is a
     * spring, damper or servo instead of a hard law: docs/notation.md */
    const double* compliance;
    /* How far k (dof_count) and b (row_count; not read for rows of friction) are uncertain,
     * because they were computed from rounded poses: smaller residuals do not count. NULL: not at all. */
    const double* k_error;
    const double* b_error;
    const perp_constraint* constraint; /* constraint_count */
    const perp_group* group;           /* group_count */
    /* 6 dof_count: the Cholesky factor of block i at 6 dof[i]. NULL: not known; a solve computes it
     * and hands it to the methods, whatever the caller puts here. */
    const double* M_factor;
} perp_contact_problem;

/* ---- the friction problem: a contact problem without its velocities ------------------------------
 *
 *     u = W r + q,   rows grouped in constraints whose laws are those of the contact problem
 *
 * W = J M^-1 J' + diag(compliance), q = J M^-1 k + b when it comes from a contact problem; any W
 * that a friction problem from elsewhere has (singular, slightly unsymmetric) otherwise. W is
 * stored by blocks: for constraint i the blocks (i, j) != 0, each rows_i x rows_j, row-major, j
 * ascending; the diagonal block is always there. Of the constraints kind, row, rows, cone,
 * directions, mu, e, key count. */
typedef struct perp_block_rows {
    const int32_t* start;  /* constraint_count + 1: blocks start[i] .. start[i+1]-1 are row i's */
    const int32_t* column; /* constraint index of each block */
    const size_t* at;      /* where each block starts in value */
    const double* value;
} perp_block_rows;

typedef struct perp_friction_problem {
    int32_t constraint_count;
    int32_t row_count;
    perp_block_rows W;
    const double* q;     /* row_count */
    const double* lower; /* row_count; bounded rows only; NULL if there are none */
    const double* upper;
    const perp_constraint* constraint;
} perp_friction_problem;

/* Sizes, indices, finiteness, symmetry and the rules above; PERP_ERROR_INPUT names the first
 * violation. The solve dispatcher calls these before any method sees the problem. */
PERP_API PERP_NODISCARD perp_status perp_contact_check(perp_context* context,
                                                       const perp_contact_problem* problem);
PERP_API PERP_NODISCARD perp_status perp_mlcp_check(perp_context* context,
                                                    const perp_mlcp* problem);
PERP_API PERP_NODISCARD perp_status perp_lcp_check(perp_context* context, const perp_lcp* problem);
PERP_API PERP_NODISCARD perp_status perp_friction_check(perp_context* context,
                                                        const perp_friction_problem* problem);

/* ---- the residual check (src/problem/residual.c) ----------------------------------------------------------
 * Unit-free: each is a violation divided by the largest term that entered it (docs/notation.md has
 * the definitions). 0 where a law has no rows; NaN or infinity anywhere in the answer gives
 * +INFINITY in every entry. */

typedef struct perp_contact_residual {
    double dynamics;          /* M v - k - J' p */
    double normal;            /* normal complementarity, groups included */
    double friction;          /* cone membership and maximum dissipation */
    double joints;            /* equality rows and bounded rows */
    double worst;             /* the largest of the four */
    int32_t worst_constraint; /* index of the constraint that is furthest off, -1: dynamics/none */
    double runaway; /* 0; or how many times an impulse of that constraint exceeds the motion
                                 of its island: refused above 1e8 */
} perp_contact_residual;

/* v: dof_count, p: row_count. work: perp_contact_residual_work(problem) doubles of scratch. */
PERP_API size_t perp_contact_residual_work(const perp_contact_problem* problem);
PERP_API perp_contact_residual perp_contact_check_residual(const perp_contact_problem* problem,
                                                           const double* v, const double* p,
                                                           double* work);

/* The same laws for r alone; dynamics is 0. work: perp_friction_residual_work doubles. The size of a
 * row is max(|q_r|, sum_j |W_rj r_j|). */
PERP_API size_t perp_friction_residual_work(const perp_friction_problem* problem);
PERP_API perp_contact_residual perp_friction_check_residual(const perp_friction_problem* problem,
                                                            const double* r, double* work);

/* ||min(z, w)||_inf with each row scaled: see docs/notation.md. No scratch needed. */
PERP_API double perp_lcp_check_residual(const perp_lcp* problem, const double* z);
/* ||z - mid(lower, z - w, upper)|| likewise; work: 2 n doubles. */
PERP_API double perp_mlcp_check_residual(const perp_mlcp* problem, const double* z, double* work);
/* work: 2 n + pattern.start[n] doubles; a failing function or Jacobian gives +INFINITY. */
PERP_API double perp_ncp_check_residual(const perp_ncp* problem, const double* z, double* work);

/* ---- reformulation ------------------------------------------------------------------------------------
 * A reformulation owns its arrays (grown as needed, never shrunk: the second step allocates nothing)
 * and remembers how a point of one form becomes one of the other. */

typedef struct perp_reformulation perp_reformulation;

PERP_API PERP_NODISCARD perp_status perp_reformulation_create(perp_context* context,
                                                              perp_reformulation** reformulation);
PERP_API void perp_reformulation_destroy(perp_reformulation* reformulation);

/* [B09 (2.78)], groups [W14 (4.50)]; unknowns in order: v, then per constraint its impulses
 * (equality, bounded: rows; contact: p_n, beta_1.., sigma), then the groups' slack variables.
 * POLYGON and NONE cones only: others give PERP_ERROR_UNSUPPORTED. *mlcp points into the reformulation
 * and stays valid until its next use. */
PERP_API PERP_NODISCARD perp_status perp_contact_to_mlcp(perp_reformulation* reformulation,
                                                         const perp_contact_problem* problem,
                                                         perp_mlcp* mlcp);
/* A point of the contact problem (v, p) -> a first guess z of the MLCP, and back. */
PERP_API void perp_reformulation_mlcp_guess(const perp_reformulation* reformulation,
                                            const perp_contact_problem* problem, const double* v,
                                            const double* p, double* z);
PERP_API void perp_reformulation_mlcp_reconstruct(const perp_reformulation* reformulation,
                                                  const perp_contact_problem* problem,
                                                  const double* z, double* v, double* p);

/* Eliminates the free unknowns (Schur complement [T03 (39)-(47)], [W14 (2.37)]) and splits bounds.
 * Redundant equality rows are handled: a least-norm multiplier is chosen, inconsistent ones give
 * PERP_ERROR_INPUT. */
PERP_API PERP_NODISCARD perp_status perp_mlcp_to_lcp(perp_reformulation* reformulation,
                                                     const perp_mlcp* mlcp, perp_lcp* lcp);
PERP_API void perp_reformulation_lcp_guess(const perp_reformulation* reformulation,
                                           const perp_mlcp* mlcp, const double* z_mlcp,
                                           double* z_lcp);
PERP_API void perp_reformulation_lcp_reconstruct(const perp_reformulation* reformulation,
                                                 const perp_mlcp* mlcp, const double* z_lcp,
                                                 double* z_mlcp);

/* The two in one, using the blocks: cost O(rows x neighbours), no general elimination unless there
 * are equality rows. Same LCP as the composition up to rounding and the order of unknowns. */
PERP_API PERP_NODISCARD perp_status perp_contact_to_lcp(perp_reformulation* reformulation,
                                                        const perp_contact_problem* problem,
                                                        perp_lcp* lcp);
PERP_API void perp_reformulation_contact_lcp_guess(const perp_reformulation* reformulation,
                                                   const perp_contact_problem* problem,
                                                   const double* v, const double* p, double* z);
PERP_API void perp_reformulation_contact_lcp_reconstruct(const perp_reformulation* reformulation,
                                                         const perp_contact_problem* problem,
                                                         const double* z, double* v, double* p);

/* [B09 (2.77), (3.82)] friction in Fritz-John form; unknowns in order: v, then per constraint its rows
 * of p and, of a contact with friction, sigma, the slip (none of a contact that may not push), then
 * per group c, d, y as in the MLCP [W14 (4.30)-(4.40)]. NONE, QUADRATIC and ELLIPSOID cones, and
 * planar intervals; spatial polygons give PERP_ERROR_UNSUPPORTED. *ncp points into the reformulation and
 * the problem until its next use. */
PERP_API PERP_NODISCARD perp_status perp_contact_to_ncp(perp_reformulation* reformulation,
                                                        const perp_contact_problem* problem,
                                                        perp_ncp* ncp);
PERP_API void perp_reformulation_ncp_guess(const perp_reformulation* reformulation,
                                           const perp_contact_problem* problem, const double* v,
                                           const double* p, double* z);
PERP_API void perp_reformulation_ncp_reconstruct(const perp_reformulation* reformulation,
                                                 const perp_contact_problem* problem,
                                                 const double* z, double* v, double* p);

/* Eliminates the velocities: W by blocks that share a body, cost O(constraints x neighbours). Groups
 * are refused. Points into the reformulation until its next use. reconstruct: v = M^-1 (k + J' r). */
PERP_API PERP_NODISCARD perp_status perp_contact_to_friction(perp_reformulation* reformulation,
                                                             const perp_contact_problem* problem,
                                                             perp_friction_problem* friction);
PERP_API void perp_reformulation_friction_reconstruct(const perp_reformulation* reformulation,
                                                      const perp_contact_problem* problem,
                                                      const double* r, double* v);

/* ---- problem files -------------------------------------------------------------------------------
 * A contact problem as JSON ("perp-problem 1"), every double written so that it reads back to the
 * same bits; for a failed step, and for anyone who wants to solve it elsewhere. */
PERP_API PERP_NODISCARD perp_status perp_contact_write(perp_context* context,
                                                       const perp_contact_problem* problem,
                                                       const char* path);
/* The copy owns its arrays; view: a problem whose pointers point into it. */
typedef struct perp_contact_file perp_contact_file;
PERP_API PERP_NODISCARD perp_status perp_contact_read(perp_context* context, const char* path,
                                                      perp_contact_file** file);
PERP_API const perp_contact_problem* perp_contact_file_problem(const perp_contact_file* file);
PERP_API void perp_contact_file_destroy(perp_contact_file* file);

/* Any problem file, told by its content: the contact problem above; `.ccp` text, gzip'ed or not; an
 * HDF5 file in the layout of FCLIB. docs/problem-files.md has the formats. In the friction kinds the
 * normal row comes first; the cone is QUADRATIC with 2 rows (planar: the interval) or 3. */
typedef enum perp_problem_kind {
    PERP_PROBLEM_CONTACT = 0,
    PERP_PROBLEM_LCP,
    PERP_PROBLEM_MLCP, /* n_eq free unknowns, then n_comp complementary ones */
    PERP_PROBLEM_BLCP, /* bounds lb, ub */
    PERP_PROBLEM_FC2D, /* u = W r + q */
    PERP_PROBLEM_FC3D,
    PERP_PROBLEM_GFC2D, /* M v = H r + q, u = H' v + b; M sparse, not block-diagonal */
    PERP_PROBLEM_GFC3D,
} perp_problem_kind;

/* "contact", "lcp", ...; never NULL. */
PERP_API const char* perp_problem_kind_name(perp_problem_kind kind);

typedef struct perp_problem_file perp_problem_file;
PERP_API PERP_NODISCARD perp_status perp_problem_read(perp_context* context, const char* path,
                                                      perp_problem_file** file);
PERP_API void perp_problem_file_destroy(perp_problem_file* file);
PERP_API perp_problem_kind perp_problem_file_kind(const perp_problem_file* file);
/* The title in the file; "" if there is none. */
PERP_API const char* perp_problem_file_name(const perp_problem_file* file);

/* The problem in a form it has, else NULL; the file owns the arrays. lcp: dense, kind lcp up to 4000
 * unknowns. mlcp: lcp, mlcp, blcp. friction: fc and gfc kinds, of the latter with v eliminated,
 * W = H' M^-1 H, q = H' M^-1 q + b; blocks that are exactly zero are left out. */
PERP_API const perp_contact_problem* perp_problem_file_contact(const perp_problem_file* file);
PERP_API const perp_lcp* perp_problem_file_lcp(const perp_problem_file* file);
PERP_API const perp_mlcp* perp_problem_file_mlcp(const perp_problem_file* file);
PERP_API const perp_friction_problem* perp_problem_file_friction(const perp_problem_file* file);

/* gfc kinds: how many velocities; 0 for the others. reconstruct: v = M^-1 (H r + q), refined once; r may be
 * NULL where there is no contact. */
PERP_API int32_t perp_problem_file_velocity_count(const perp_problem_file* file);
PERP_API PERP_NODISCARD perp_status perp_problem_file_reconstruct(perp_problem_file* file,
                                                                  const double* r, double* v);

/* Error measures of other programs (docs/problem-files.md); not the residual above. e: the plain
 * natural map in 2-norms. scaled: its unit-free variant, friction kinds; NaN for the others. Both
 * +INFINITY for a point that is not finite, NaN for a contact problem. z: r for the friction kinds;
 * v: gfc kinds only. */
typedef struct perp_plain_residual {
    double e, scaled;
} perp_plain_residual;
PERP_API PERP_NODISCARD perp_status perp_problem_file_residual(perp_problem_file* file,
                                                               const double* z, const double* v,
                                                               perp_plain_residual* residual);

/* An HDF5 file in the layout of FCLIB's local problems. All constraints must be contacts with a
 * quadratic cone (or planar polygon: the same) and equally many rows, 2 or 3. */
PERP_API PERP_NODISCARD perp_status perp_friction_write(perp_context* context,
                                                        const perp_friction_problem* problem,
                                                        const char* title, const char* path);

/* ---- deprecated since 0.2: former names -----------------------------------------------------------*/

#define perp_problem_file_lift perp_problem_file_reconstruct
#define perp_contact_judge perp_contact_check_residual
#define perp_friction_judge perp_friction_check_residual
#define perp_lcp_judge perp_lcp_check_residual
#define perp_mlcp_judge perp_mlcp_check_residual
#define perp_ncp_judge perp_ncp_check_residual
#define perp_lower_contact_to_mlcp perp_contact_to_mlcp
#define perp_lower_mlcp_to_lcp perp_mlcp_to_lcp
#define perp_lower_contact_to_lcp perp_contact_to_lcp
#define perp_lower_contact_to_ncp perp_contact_to_ncp
#define perp_lower_contact_to_friction perp_contact_to_friction
#define perp_lowering_create perp_reformulation_create
#define perp_lowering_destroy perp_reformulation_destroy
#define perp_lowering_mlcp_guess perp_reformulation_mlcp_guess
#define perp_lowering_mlcp_lift perp_reformulation_mlcp_reconstruct
#define perp_lowering_lcp_guess perp_reformulation_lcp_guess
#define perp_lowering_lcp_lift perp_reformulation_lcp_reconstruct
#define perp_lowering_contact_lcp_guess perp_reformulation_contact_lcp_guess
#define perp_lowering_contact_lcp_lift perp_reformulation_contact_lcp_reconstruct
#define perp_lowering_ncp_guess perp_reformulation_ncp_guess
#define perp_lowering_ncp_lift perp_reformulation_ncp_reconstruct
#define perp_lowering_friction_lift perp_reformulation_friction_reconstruct
#define perp_lowering perp_reformulation

#ifdef __cplusplus
}
#endif
#endif
