/* src/step/frames.c - joints in series on one body: the frames between them have no mass.
 *
 * Problem     bodies 0..n of a chain (n joints), of which 1..n-1 have no mass. Blocks of M must be definite.
 * Method      Joint k holds the velocities N_k'(V_k - V_{k-1}) = -b_k of the bodies beside it, V twists about one point,
 *             and has the freedoms S_k, N_k' S_k = 0. A matrix D_k with D_k S_k = 0 can be moved from body k to body k-1:
 *             what the two momenta change by, D_k (V - y), is then along N_k and the same on both sides if
 *                 y_k - y_{k-1} = V_k - V_{k-1} = -N_k (N_k'N_k)^-1 b_k   (times D_k),
 *             and is part of the joint's impulse. So the motion is that of frames without mass, to rounding, whatever
 *             errors the joints have; b is followed when it changes. The impulses of the mechanism are
 *                 N_k p_true = N_k p + D_k (V_k - y_k).
 * Choice      With T = [S_1 .. S_n, complement] and its dual vectors t_j (rows of T^-1), j of joint c(j),
 *                 D_k = sum_j d_j (k - c(j)) t_j t_j'
 *             has D_k S_k = 0, and every frame gets D_{k+1} - D_k = sum_j d_j t_j t_j', definite. d_j is a part of
 *             the mass that the ends have along t_j. Where axes coincide (gimbal lock), T is singular and frames have
 *             motions that nothing resists: T is moved away by LOCKED there, which is the error of the mass.
 */
#include "step/frames.h"

#include <string.h>

#include "linalg/dense.h"
#include "step/joint_rows.h"

/* The part of an end's mass that all chains at it take. */
static const double SHARED = 0.5;
/* Sine below which directions of freedom count as dependent. */
static const double LOCKED = 1e-5;

enum { N = 6 };

typedef struct chain_work {
    vec3 origin;
    double length;  /* twists are (v, length w), wrenches (f, m / length) */
    int32_t count;  /* of freedoms so far */
    double T[N][N]; /* rows: the freedoms, orthonormal within a joint, and the complement */
    int32_t of[N];  /* joint of each, 1..n */
} chain_work;

static void zero(double* a, int n)
{
    memset(a, 0, (size_t)n * sizeof *a);
}

static double dot_n(const double* a, const double* b)
{
    return perpi_dot(N, a, b);
}

/* Subtracts from x its part in the span of the orthonormal rows; twice, against rounding. */
static void remove_span(int32_t rows, double U[][N], double* x)
{
    for (int pass = 0; pass < 2; ++pass) {
        for (int32_t i = 0; i < rows; ++i) {
            const double along = dot_n(U[i], x);
            for (int a = 0; a < N; ++a) {
                x[a] -= along * U[i][a];
            }
        }
    }
}

static double normalise(double* x)
{
    const double size = sqrt(dot_n(x, x));
    for (int a = 0; a < N && size > 0.0; ++a) {
        x[a] /= size;
    }
    return size;
}

/* The unit vector with the largest part outside of the span of the orthonormal rows,
 * orthogonalised, as the next row. */
static void complete(int32_t rows, double U[][N])
{
    double best = -1.0;
    for (int e = 0; e < N; ++e) {
        double x[N] = {0};
        x[e] = 1.0;
        remove_span(rows, U, x);
        const double size = dot_n(x, x);
        if (size > best + 1e-9) { /* the first of equals */
            best = size;
            memcpy(U[rows], x, sizeof x);
        }
    }
    (void)normalise(U[rows]);
}

/* A row of a joint as a wrench, scaled: on the body on side `side`. */
static void wrench_of(const chain_work* w, const perpi_row* row, int side, vec3 centre, double* out)
{
    const vec3 arm = v3_sub(v3_add(centre, row->arm[side]), w->origin);
    const vec3 force = row->angular ? v3(0, 0, 0) : row->dir;
    const vec3 moment = row->angular ? row->dir : v3_cross(arm, row->dir);
    v3_to(force, out);
    v3_to(v3_scale(1.0 / w->length, moment), out + 3);
}

/* (N'N)^-1 N' of the rows, by modified Gram-Schmidt; U: an orthonormal basis of them. */
static void find_lift(int32_t rows, double wrench[][N], double U[][N], double lift[][N])
{
    double R[N][N];
    for (int32_t i = 0; i < rows; ++i) {
        memcpy(U[i], wrench[i], sizeof U[i]);
        for (int32_t k = 0; k < i; ++k) {
            R[k][i] = dot_n(U[k], U[i]);
            for (int a = 0; a < N; ++a) {
                U[i][a] -= R[k][i] * U[k][a];
            }
        }
        R[i][i] = normalise(U[i]);
    }
    /* wrench_i = sum_k R[k][i] U_k, so lift = R^-1 U */
    for (int32_t i = rows - 1; i >= 0; --i) {
        memcpy(lift[i], U[i], sizeof lift[i]);
        for (int32_t k = i + 1; k < rows; ++k) {
            for (int a = 0; a < N; ++a) {
                lift[i][a] -= R[i][k] * lift[k][a];
            }
        }
        for (int a = 0; a < N; ++a) {
            lift[i][a] /= R[i][i];
        }
    }
}

static perp_status reserve_ties(perpi_formulation* f, const perp_model* model)
{
    size_t count = 0;
    for (size_t i = 0; i < model->chain_count; ++i) {
        count += (size_t)model->chain[i].joints;
    }
    return perpi_grow(f->context, &f->tie, &f->tie_capacity, count, sizeof *f->tie);
}

static int32_t block_of(const perpi_formulation* f, int32_t body)
{
    return body >= 0 ? f->block_of[body] : -1;
}

static double* mass_of_block(const perpi_formulation* f, int32_t block)
{
    double* M = f->M; /* bodies come first */
    for (int32_t i = 0; i < block; ++i) {
        const int32_t n = f->dof[i + 1] - f->dof[i];
        M += n * n;
    }
    return M;
}

/* A scaled wrench about the origin as a row on the velocities of a body with its centre there. */
static void to_body(const chain_work* w, vec3 centre, const double* t, double* out)
{
    const vec3 force = v3_from(t), moment = v3_scale(w->length, v3_from(t + 3));
    v3_to(force, out);
    v3_to(v3_add(moment, v3_cross(v3_sub(w->origin, centre), force)), out + 3);
}

/* The directions of freedom of joint k as rows of T, and the tie of its bodies. */
static void add_joint(perpi_formulation* f, const perp_model* model, const perpi_chain* chain,
                      int32_t k, const double* q, const perpi_joint_input* input, chain_work* w)
{
    const int32_t index = chain->joint[k];
    const perpi_joint* joint = &model->joint[index];
    const perpi_joint_view view = perpi_joint_evaluate(model, index, q, input[index].turns);
    perpi_frame_tie* tie = &f->tie[f->tie_count++];
    *tie = (perpi_frame_tie){.joint = index,
                             .constraint = -1,
                             .rows = view.rows,
                             .body = {chain->body[k], chain->body[k + 1]},
                             .sign = joint->body[1] == chain->body[k + 1] ? 1.0 : -1.0};
    /* the side of a frame: beside a prescribed body each side has its own point */
    const int32_t near = block_of(f, chain->body[k]) >= 0 ? chain->body[k] : chain->body[k + 1];
    const int side = joint->body[0] == near ? 0 : 1;
    double wrench[N][N], U[N][N];
    for (int32_t r = 0; r < view.rows; ++r) {
        wrench_of(w, &view.row[r], side, f->pose[near].x, wrench[r]);
    }
    find_lift(view.rows, wrench, U, tie->lift);
    for (int32_t r = view.rows; r < N; ++r) {
        complete(r, U);
        memcpy(w->T[w->count], U[r], sizeof U[r]);
        w->of[w->count++] = k + 1;
    }
}

/* Completes T, and makes sure that it is regular. */
static void complete_freedoms(chain_work* w, int32_t complement_of)
{
    double U[N][N];
    const int32_t freedoms = w->count;
    for (int32_t i = 0; i < N; ++i) {
        if (i < freedoms) {
            memcpy(U[i], w->T[i], sizeof U[i]);
            remove_span(i, U, U[i]);
            if (!(sqrt(dot_n(U[i], U[i])) > LOCKED)) {
                complete(i, U);
                for (int a = 0; a < N; ++a) {
                    w->T[i][a] += LOCKED * U[i][a];
                }
            }
            (void)normalise(U[i]);
        } else {
            complete(i, U);
            memcpy(w->T[i], U[i], sizeof U[i]);
            w->of[i] = complement_of;
        }
    }
    w->count = N;
}

/* rows of out: those of the inverse of the matrix with columns T[i]: t_j . T_i = 1 for i = j, else 0 */
static void invert_freedoms(double T[][N], double out[][N])
{
    double A[N][2 * N];
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
            A[i][j] = T[j][i];
            A[i][N + j] = i == j ? 1.0 : 0.0;
        }
    }
    for (int c = 0; c < N; ++c) {
        int pivot = c;
        for (int i = c + 1; i < N; ++i) {
            pivot = fabs(A[i][c]) > fabs(A[pivot][c]) ? i : pivot;
        }
        for (int j = 0; j < 2 * N; ++j) {
            const double swap = A[c][j];
            A[c][j] = A[pivot][j];
            A[pivot][j] = swap;
        }
        const double scale = 1.0 / A[c][c];
        for (int j = 0; j < 2 * N; ++j) {
            A[c][j] *= scale;
        }
        for (int i = 0; i < N; ++i) {
            const double part = i == c ? 0.0 : A[i][c];
            for (int j = 0; j < 2 * N && part != 0.0; ++j) {
                A[i][j] -= part * A[c][j];
            }
        }
    }
    for (int i = 0; i < N; ++i) {
        memcpy(out[i], A[i] + N, N * sizeof(double));
    }
}

/* A += scale x x' */
static void add_square(double* A, double scale, const double* x)
{
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j <= i; ++j) {
            A[N * i + j] += scale * x[i] * x[j];
            A[N * j + i] = A[N * i + j]; /* symmetric to the bit */
        }
    }
}

/* The twist of a body about the origin, scaled; bodies without a block as they are given. */
static void twist_of(const perpi_formulation* f, const perp_model* model, const chain_work* w,
                     const double* v, int32_t body, double* out)
{
    zero(out, N);
    if (body < 0 || v == NULL) {
        return;
    }
    const bool given = f->block_of[body] < 0;
    const vec3 u = given ? f->given_v[body] : perpi_state_velocity(model, v, body);
    const vec3 turn = given ? f->given_w[body] : perpi_state_rate(model, v, body);
    v3_to(v3_add(u, v3_cross(turn, v3_sub(w->origin, f->pose[body].x))), out);
    v3_to(v3_scale(w->length, turn), out + 3);
}

/* The part of an end's mass that each direction may have: d_j <= limit_j. */
static bool limit_parts(const perpi_formulation* f, const perp_model* model,
                        const perpi_chain* chain, const chain_work* w, double t[][N], double* limit)
{
    for (int j = 0; j < N; ++j) {
        limit[j] = INFINITY;
    }
    for (int k = 0; k < 2; ++k) {
        const int32_t body = chain->body[k == 0 ? 0 : chain->joints];
        const int32_t block = block_of(f, body);
        double L[N * N];
        if (block < 0) {
            continue;
        }
        if (!perpi_chol_factor(N, mass_of_block(f, block), L)) {
            return false;
        }
        const double share =
            SHARED / ((double)model->body[body].chains * (double)chain->joints * (double)N);
        for (int j = 0; j < N; ++j) {
            double x[N], y[N];
            to_body(w, f->pose[body].x, t[j], x);
            memcpy(y, x, sizeof y);
            perpi_chol_solve(N, L, y);
            const double part = share / dot_n(x, y);
            limit[j] = part < limit[j] ? part : limit[j];
        }
    }
    return true;
}

static perp_status share_chain(perpi_formulation* f, const perp_model* model,
                               const perpi_chain* chain, const double* q, const double* v,
                               const perpi_joint_input* input)
{
    const int32_t n = chain->joints, last = chain->body[n];
    const bool free_end = block_of(f, last) >= 0;
    const int32_t heavy = free_end ? last : chain->body[0];
    const perpi_body* body = &model->body[heavy];
    const double trace = body->inertia.m[0][0] + body->inertia.m[1][1] + body->inertia.m[2][2];
    chain_work w = {.origin = f->pose[chain->body[1]].x, .length = sqrt(trace / body->mass)};
    perpi_frame_tie* tie = &f->tie[f->tie_count];
    for (int32_t k = 0; k < n; ++k) {
        add_joint(f, model, chain, k, q, input, &w);
    }
    complete_freedoms(&w, free_end ? 1 : n);
    double t[N][N], part[N];
    invert_freedoms(w.T, t);
    if (!limit_parts(f, model, chain, &w, t, part)) {
        return perpi_fail(f->context, PERP_ERROR_NUMERIC,
                          "body '%s': no mass is left for the joints on it", body->name);
    }
    for (int32_t k = 0; k < n; ++k) {
        double y[N];
        tie[k].origin = w.origin;
        tie[k].length = w.length;
        for (int j = 0; j < N; ++j) {
            add_square(tie[k].D, part[j] * (double)(k + 1 - w.of[j]), t[j]);
        }
        /* moved from body k + 1 to body k, with the momentum that it has at the velocity y of body k */
        twist_of(f, model, &w, v, chain->body[k], y);
        memcpy(tie[k].y, y, sizeof y);
        for (int side = 0; side < 2; ++side) {
            const int32_t at = chain->body[k + side], block = block_of(f, at);
            const double sign = side == 0 ? 1.0 : -1.0;
            double* M = block >= 0 ? mass_of_block(f, block) : NULL;
            for (int j = 0; block >= 0 && j < N; ++j) {
                const double d = sign * part[j] * (double)(k + 1 - w.of[j]);
                double x[N];
                to_body(&w, f->pose[at].x, t[j], x);
                add_square(M, d, x);
                const double momentum = d * dot_n(t[j], y);
                for (int a = 0; a < N; ++a) {
                    f->k[f->dof[block] + a] += momentum * x[a];
                }
            }
        }
    }
    return PERP_OK;
}

perp_status perpi_frames_share(perpi_formulation* f, const perp_model* model, const double* q,
                               const double* v, const perpi_joint_input* input)
{
    f->tie_count = 0;
    perp_status status = model->chain_count > 0 ? reserve_ties(f, model) : PERP_OK;
    for (size_t i = 0; status == PERP_OK && i < model->chain_count; ++i) {
        status = share_chain(f, model, &model->chain[i], q, v, input);
    }
    return status;
}

/* y_k - y_{k-1}, from the b that k has: -sign lift' b. */
static void lag_of(const perpi_frame_tie* tie, const double* b, double* out)
{
    zero(out, N);
    for (int32_t r = 0; r < tie->rows; ++r) {
        for (int a = 0; a < N; ++a) {
            out[a] -= tie->sign * b[r] * tie->lift[r][a];
        }
    }
}

static void multiply_tie(const perpi_frame_tie* tie, const double* x, double* out)
{
    for (int i = 0; i < N; ++i) {
        out[i] = dot_n(tie->D + N * i, x);
    }
}

/* The equality rows of a joint: the first of its places, which are in the order of the joints. */
static int32_t rows_of(const perpi_formulation* f, int32_t joint)
{
    int32_t from = 0, to = f->joint_count;
    while (from < to) {
        const int32_t middle = from + (to - from) / 2;
        if (f->place[middle].joint < joint) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    PERP_ASSERT(from < f->joint_count && f->place[from].joint == joint && f->place[from].slot == 0);
    return f->contact_count + from;
}

void perpi_frames_follow(perpi_formulation* f)
{
    for (int32_t i = 0; i < f->tie_count; ++i) {
        perpi_frame_tie* tie = &f->tie[i];
        tie->constraint = rows_of(f, tie->joint);
        const int32_t block = block_of(f, tie->body[1]);
        const double* b = f->b + f->constraint[tie->constraint].row;
        double change[N], lag[N], push[N], x[N];
        for (int32_t r = 0; r < tie->rows; ++r) {
            change[r] = b[r] - tie->b[r];
            tie->b[r] = b[r];
        }
        if (block < 0 || block_of(f, tie->body[0]) < 0) {
            continue; /* beside a prescribed body all of it is the joint's impulse */
        }
        lag_of(tie, change, lag);
        multiply_tie(tie, lag, push);
        const chain_work w = {.origin = tie->origin, .length = tie->length};
        to_body(&w, f->pose[tie->body[1]].x, push, x);
        for (int a = 0; a < N; ++a) {
            f->k[f->dof[block] + a] -= x[a];
        }
    }
}

/* What the impulses of the mechanism are more than those of the problem. */
static void difference_of(const perpi_formulation* f, const perpi_frame_tie* tie,
                          const double* v_problem, double out[N])
{
    /* D_k (V - y) of the side that has a block; both sides have the same if they have one */
    const int side = block_of(f, tie->body[1]) >= 0 ? 1 : 0;
    const int32_t body = tie->body[side];
    const double* at = v_problem + f->dof[f->block_of[body]];
    const vec3 turn = v3_from(at + 3);
    double V[N], push[N];
    v3_to(v3_add(v3_from(at), v3_cross(turn, v3_sub(tie->origin, f->pose[body].x))), V);
    v3_to(v3_scale(tie->length, turn), V + 3);
    const bool both = side == 1 && block_of(f, tie->body[0]) >= 0;
    double lag[N] = {0};
    if (both) {
        lag_of(tie, tie->b, lag);
    }
    for (int a = 0; a < N; ++a) {
        V[a] -= tie->y[a] + lag[a];
    }
    multiply_tie(tie, V, push);
    for (int32_t r = 0; r < tie->rows; ++r) {
        out[r] = tie->sign * dot_n(tie->lift[r], push);
    }
}

void perpi_frames_gather(const perpi_formulation* f, const double* v_problem, double* p_problem)
{
    for (int32_t i = 0; i < f->tie_count; ++i) {
        const perpi_frame_tie* tie = &f->tie[i];
        double more[N];
        difference_of(f, tie, v_problem, more);
        double* p = p_problem + f->constraint[tie->constraint].row;
        for (int32_t r = 0; r < tie->rows; ++r) {
            p[r] -= more[r];
        }
    }
}

void perpi_frames_scatter(const perpi_formulation* f, const double* v_problem,
                          perp_joint_record* record)
{
    for (int32_t i = 0; i < f->tie_count; ++i) {
        const perpi_frame_tie* tie = &f->tie[i];
        double more[N];
        difference_of(f, tie, v_problem, more);
        for (int32_t r = 0; r < tie->rows; ++r) {
            record[tie->joint].impulse[r] += more[r];
        }
    }
}

bool perpi_frames_hold(const perpi_formulation* f, int32_t joint)
{
    bool found = false;
    for (int32_t i = 0; i < f->tie_count && !found; ++i) {
        found = f->tie[i].joint == joint;
    }
    return found;
}
