/* src/problem/io/fclib.c - friction problems in the HDF5 layout that the FCLIB project published:
 *
 *     /fclib_local    spacedim, W, [V, R], vectors/{q, mu, [s]}, [info/{title, ...}]
 *     /fclib_global   spacedim, M, H, [G], vectors/{f, w, mu, [b]}, [info]
 *     a matrix is a group: m, n, nzmax, nz and arrays p, i, x
 *         nz >= 0  triplets: p rows, i columns     nz = -1  compressed columns     nz = -2  rows
 *
 * FCLIB's q, f, w are our q, q, b. Equality rows (V, R; G) are refused. Every size is compared with
 * the extent of its data set before it is used.
 */
#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "problem/io/ccp.h"

/* HDF5 prints its errors unless told not to. */
typedef struct silence {
    H5E_auto2_t function;
    void* data;
} silence;

static silence be_silent(void)
{
    silence s = {NULL, NULL};
    (void)H5Eget_auto2(H5E_DEFAULT, &s.function, &s.data);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return s;
}

static void end_silence(silence s)
{
    (void)H5Eset_auto2(H5E_DEFAULT, s.function, s.data);
}

/* ---- reading ---------------------------------------------------------------------------------------*/

typedef struct source {
    perp_context* context;
    const char* path;
    hid_t root; /* /fclib_local or /fclib_global */
} source;

static perp_status bad(const source* s, const char* name, const char* what)
{
    return perpi_fail(s->context, PERP_ERROR_INPUT, "%s: %s %s", s->path, name, what);
}

/* `count` values of a native type, of a data set of exactly that many. */
static perp_status read_array(const source* s, const char* name, hid_t type, int32_t count,
                              void* out)
{
    const hid_t set = H5Dopen2(s->root, name, H5P_DEFAULT);
    if (set < 0) {
        return bad(s, name, "is missing or no data set");
    }
    const hid_t space = H5Dget_space(set);
    const hid_t stored = H5Dget_type(set);
    const H5T_class_t class = stored >= 0 ? H5Tget_class(stored) : H5T_NO_CLASS;
    perp_status status = PERP_OK;
    if (space < 0 || H5Sget_simple_extent_npoints(space) != count) {
        status = bad(s, name, "does not have the length that the sizes ask for");
    } else if (class != H5T_INTEGER && class != H5T_FLOAT) {
        status = bad(s, name, "must hold numbers");
    } else if (count > 0 && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0) {
        status = bad(s, name, "cannot be read");
    }
    (void)H5Tclose(stored);
    (void)H5Sclose(space);
    (void)H5Dclose(set);
    return status;
}

/* How many values a data set has; -1: none, or too many. */
static int32_t extent(const source* s, const char* name)
{
    const hid_t set = H5Dopen2(s->root, name, H5P_DEFAULT);
    if (set < 0) {
        return -1;
    }
    const hid_t space = H5Dget_space(set);
    const hssize_t points = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    (void)H5Sclose(space);
    (void)H5Dclose(set);
    return points >= 0 && points <= INT32_MAX / 4 ? (int32_t)points : -1;
}

static perp_status read_count(const source* s, const char* name, int32_t least, int32_t most,
                              int32_t* value)
{
    int32_t got = 0;
    const perp_status status = read_array(s, name, H5T_NATIVE_INT32, 1, &got);
    if (status == PERP_OK && (got < least || got > most)) {
        return perpi_fail(s->context, PERP_ERROR_INPUT,
                          "%s: %s must be %" PRId32 " to %" PRId32 ", got %" PRId32, s->path, name,
                          least, most, got);
    }
    *value = got;
    return status;
}

/* The file's arrays of a matrix. */
typedef struct stored_matrix {
    int32_t m, n, nz, count; /* count: entries */
    int32_t *p, *i;
    double* x;
} stored_matrix;

/* Row and column of every entry from the compressed form, in place of p and i. */
static perp_status expand(const source* s, const char* name, stored_matrix* a, int32_t** rows,
                          int32_t** cols)
{
    const bool by_columns = a->nz == -1;
    const int32_t lines = by_columns ? a->n : a->m;
    int32_t* line = NULL;
    const perp_status status = perpi_alloc(s->context, (size_t)a->count + 1, sizeof *line, &line);
    if (status != PERP_OK) {
        return status;
    }
    bool valid = a->p[0] == 0 && a->p[lines] == a->count;
    for (int32_t l = 0; valid && l < lines; ++l) {
        valid = a->p[l] <= a->p[l + 1] && a->p[l + 1] <= a->count;
        for (int32_t e = a->p[l]; valid && e < a->p[l + 1]; ++e) {
            line[e] = l;
        }
    }
    if (!valid) {
        perpi_free(s->context, line);
        return bad(s, name, "p must ascend from 0 to the number of entries");
    }
    perpi_free(s->context, a->p);
    a->p = line;
    *rows = by_columns ? a->i : line;
    *cols = by_columns ? line : a->i;
    return PERP_OK;
}

/* Triplets in any order, duplicates added -> compressed columns: counting sorts by row, column. */
static perp_status compress(const source* s, const stored_matrix* a, const int32_t* rows,
                            const int32_t* cols, perpi_ccp_matrix* out)
{
    perp_context* context = s->context;
    const size_t most = (size_t)(a->m > a->n ? a->m : a->n);
    int32_t *count = NULL, *order = NULL;
    perp_status status = perpi_alloc(context, most + 1, sizeof *count, &count);
    if (status == PERP_OK) {
        status = perpi_alloc(context, 2 * (size_t)a->count + 1, sizeof *order, &order);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)a->n + 1, sizeof *out->start, &out->start);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)a->count, sizeof *out->row, &out->row);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)a->count, sizeof *out->value, &out->value);
    }
    if (status == PERP_OK) {
        int32_t *by_row = order, *by_col = order + a->count;
        for (int pass = 0; pass < 2; ++pass) {
            const int32_t* key = pass == 0 ? rows : cols;
            memset(count, 0, (most + 1) * sizeof *count);
            for (int32_t e = 0; e < a->count; ++e) {
                count[key[e] + 1] += 1;
            }
            for (size_t k = 0; k < most; ++k) {
                count[k + 1] += count[k];
            }
            for (int32_t e = 0; e < a->count; ++e) {
                const int32_t from = pass == 0 ? e : by_row[e];
                (pass == 0 ? by_row : by_col)[count[key[from]]++] = from;
            }
        }
        int32_t used = 0, col = 0;
        for (int32_t e = 0; e < a->count; ++e) {
            const int32_t from = by_col[e];
            for (; col < cols[from]; ++col) {
                out->start[col + 1] = used;
            }
            if (used > out->start[col] && out->row[used - 1] == rows[from]) {
                out->value[used - 1] += a->x[from];
            } else {
                out->row[used] = rows[from];
                out->value[used++] = a->x[from];
            }
        }
        for (; col < a->n; ++col) {
            out->start[col + 1] = used;
        }
        out->rows = a->m;
        out->cols = a->n;
    }
    perpi_free(context, count);
    perpi_free(context, order);
    return status;
}

static perp_status read_entries(const source* s, const char* name, stored_matrix* a,
                                perpi_ccp_matrix* out)
{
    char part[32];
    const int32_t lines = a->nz >= 0 ? a->count : (a->nz == -1 ? a->n : a->m) + 1;
    perp_status status = perpi_alloc(s->context, (size_t)lines + 1, sizeof *a->p, &a->p);
    if (status == PERP_OK) {
        status = perpi_alloc(s->context, (size_t)a->count + 1, sizeof *a->i, &a->i);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(s->context, (size_t)a->count + 1, sizeof *a->x, &a->x);
    }
    if (status == PERP_OK) {
        snprintf(part, sizeof part, "%s/p", name);
        status = read_array(s, part, H5T_NATIVE_INT32, lines, a->p);
    }
    if (status == PERP_OK) {
        snprintf(part, sizeof part, "%s/i", name);
        status = read_array(s, part, H5T_NATIVE_INT32, a->count, a->i);
    }
    if (status == PERP_OK) {
        snprintf(part, sizeof part, "%s/x", name);
        status = read_array(s, part, H5T_NATIVE_DOUBLE, a->count, a->x);
    }
    int32_t *rows = a->p, *cols = a->i;
    if (status == PERP_OK && a->nz < 0) {
        status = expand(s, name, a, &rows, &cols);
    }
    for (int32_t e = 0; status == PERP_OK && e < a->count; ++e) {
        if (rows[e] < 0 || rows[e] >= a->m || cols[e] < 0 || cols[e] >= a->n ||
            !isfinite(a->x[e])) {
            status = bad(s, name, "has an entry outside the matrix or not finite");
        }
    }
    return status == PERP_OK ? compress(s, a, rows, cols, out) : status;
}

static perp_status read_matrix(const source* s, const char* name, perpi_ccp_matrix* out)
{
    char part[32];
    stored_matrix a = {0};
    int32_t nzmax = 0;
    const struct {
        const char* name;
        int32_t least, most;
        int32_t* value;
    } sizes[] = {{"m", 0, PERPI_CCP_SIZE_MAX, &a.m},
                 {"n", 0, PERPI_CCP_SIZE_MAX, &a.n},
                 {"nz", -2, INT32_MAX / 4, &a.nz},
                 {"nzmax", 0, INT32_MAX / 4, &nzmax}};
    perp_status status = PERP_OK;
    for (size_t k = 0; status == PERP_OK && k < sizeof sizes / sizeof sizes[0]; ++k) {
        snprintf(part, sizeof part, "%s/%s", name, sizes[k].name);
        status = read_count(s, part, sizes[k].least, sizes[k].most, sizes[k].value);
    }
    if (status == PERP_OK) {
        snprintf(part, sizeof part, "%s/x", name);
        a.count = a.nz >= 0 ? a.nz : nzmax;
        if (extent(s, part) != a.count) {
            status = bad(s, part, "does not have the length that the sizes ask for");
        }
    }
    if (status == PERP_OK) {
        out->given = true;
        status = read_entries(s, name, &a, out);
    }
    perpi_free(s->context, a.p);
    perpi_free(s->context, a.i);
    perpi_free(s->context, a.x);
    return status;
}

static perp_status read_vector(const source* s, const char* name, perpi_ccp_vector* out)
{
    const int32_t count = extent(s, name);
    if (count < 0) {
        return bad(s, name, "is missing or too long");
    }
    perp_status status = perpi_alloc(s->context, (size_t)count, sizeof *out->at, &out->at);
    if (status == PERP_OK) {
        status = read_array(s, name, H5T_NATIVE_DOUBLE, count, out->at);
    }
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        if (!isfinite(out->at[i])) {
            status = bad(s, name, "must hold finite numbers");
        }
    }
    out->given = true;
    out->count = count;
    return status;
}

static bool has(const source* s, const char* name)
{
    return H5Lexists(s->root, name, H5P_DEFAULT) > 0;
}

static void read_title(const source* s, perpi_ccp* ccp)
{
    if (!has(s, "info") || !has(s, "info/title")) {
        return;
    }
    const hid_t set = H5Dopen2(s->root, "info/title", H5P_DEFAULT);
    const hid_t type = set >= 0 ? H5Dget_type(set) : -1;
    char text[sizeof ccp->name] = "";
    if (type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
        H5Tget_size(type) < sizeof text &&
        H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0) {
        memcpy(ccp->name, text, sizeof text);
        ccp->name[sizeof text - 1] = '\0';
    }
    (void)H5Tclose(type);
    (void)H5Dclose(set);
}

static perp_status read_problem(const source* s, bool global, perpi_ccp* ccp)
{
    perp_status status = read_count(s, "spacedim", 2, 3, &ccp->dim);
    if (status == PERP_OK && (has(s, "V") || has(s, "R") || has(s, "G"))) {
        return perpi_fail(s->context, PERP_ERROR_UNSUPPORTED,
                          "%s: equality rows (V, R or G) are not supported", s->path);
    }
    const perpi_ccp_matrix_name square = global ? PERPI_CCP_M : PERPI_CCP_W;
    if (status == PERP_OK) {
        status = read_matrix(s, global ? "M" : "W", &ccp->matrix[square]);
    }
    if (status == PERP_OK && global) {
        status = read_matrix(s, "H", &ccp->matrix[PERPI_CCP_H]);
    }
    if (status == PERP_OK) {
        status = read_vector(s, global ? "vectors/f" : "vectors/q", &ccp->vector[PERPI_CCP_q]);
    }
    if (status == PERP_OK && global) {
        status = read_vector(s, "vectors/w", &ccp->vector[PERPI_CCP_b]);
    }
    if (status == PERP_OK) {
        status = read_vector(s, "vectors/mu", &ccp->vector[PERPI_CCP_mu]);
    }
    if (status != PERP_OK) {
        return status;
    }
    ccp->n = ccp->matrix[square].rows;
    ccp->nc = ccp->vector[PERPI_CCP_mu].count;
    ccp->kind = global ? (ccp->dim == 2 ? PERP_PROBLEM_GFC2D : PERP_PROBLEM_GFC3D)
                       : (ccp->dim == 2 ? PERP_PROBLEM_FC2D : PERP_PROBLEM_FC3D);
    read_title(s, ccp);
    return PERP_OK;
}

perp_status perpi_fclib_read(perp_context* context, const char* path, perpi_ccp* ccp)
{
    const silence quiet = be_silent();
    source s = {context, path, -1};
    perpi_ccp made = {.n = -1, .n_eq = -1, .n_comp = -1, .dim = -1, .nc = -1};
    perp_status status = PERP_OK;
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) {
        status = perpi_fail(context, PERP_ERROR_INPUT, "%s: is not a valid HDF5 file", path);
    } else {
        const bool local = H5Lexists(file, "fclib_local", H5P_DEFAULT) > 0;
        s.root = H5Gopen2(file, local ? "fclib_local" : "fclib_global", H5P_DEFAULT);
        status = s.root >= 0 ? read_problem(&s, !local, &made)
                             : bad(&s, "/fclib_local or /fclib_global", "must be there");
        (void)H5Gclose(s.root);
        (void)H5Fclose(file);
    }
    end_silence(quiet);
    if (status != PERP_OK) {
        perpi_ccp_free(context, &made);
        return status;
    }
    *ccp = made;
    return PERP_OK;
}

/* ---- writing ---------------------------------------------------------------------------------------*/

/* The first failure is kept; later calls do nothing. */
typedef struct sink {
    hid_t root;
    bool failed;
} sink;

static void write_array(sink* s, const char* name, hid_t type, hsize_t count, const void* data)
{
    if (s->failed) {
        return;
    }
    const hid_t space = H5Screate_simple(1, &count, NULL);
    const hid_t how = H5Pcreate(H5P_DATASET_CREATE);
    (void)H5Pset_obj_track_times(how, false); /* equal problems give equal files */
    const hid_t set = H5Dcreate2(s->root, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
    s->failed =
        set < 0 || (count > 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0);
    s->failed = H5Dclose(set) < 0 || s->failed;
    (void)H5Pclose(how);
    (void)H5Sclose(space);
}

static void write_int(sink* s, const char* name, int32_t value)
{
    write_array(s, name, H5T_NATIVE_INT, 1, &value);
}

static void write_text(sink* s, const char* name, const char* text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    const hid_t space = H5Screate(H5S_SCALAR);
    (void)H5Tset_size(type, strlen(text) + 1);
    const hid_t set = H5Dcreate2(s->root, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    s->failed =
        s->failed || set < 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0;
    (void)H5Dclose(set);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
}

static void make_group(sink* s, const char* name)
{
    if (s->failed) {
        return;
    }
    const hid_t group = H5Gcreate2(s->root, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    s->failed = group < 0 || H5Gclose(group) < 0;
}

/* W by compressed rows of scalars. */
typedef struct row_form {
    int32_t *start, *column;
    double *value, *mu;
} row_form;

static perp_status to_rows(perp_context* context, const perp_friction_problem* P, int32_t dim,
                           row_form* out)
{
    const int64_t blocks = P->constraint_count > 0 ? P->W.start[P->constraint_count] : 0;
    if (blocks * dim * dim > INT32_MAX / 4) {
        return perpi_fail(context, PERP_ERROR_INPUT, "W has too many entries for FCLIB's layout");
    }
    const size_t entries = (size_t)(blocks * dim * dim);
    perp_status status =
        perpi_alloc(context, (size_t)P->row_count + 1, sizeof *out->start, &out->start);
    if (status == PERP_OK) {
        status = perpi_alloc(context, entries, sizeof *out->column, &out->column);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, entries, sizeof *out->value, &out->value);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)P->constraint_count, sizeof *out->mu, &out->mu);
    }
    int32_t used = 0;
    for (int32_t i = 0; status == PERP_OK && i < P->constraint_count; ++i) {
        out->mu[i] = P->constraint[i].mu;
        for (int32_t r = 0; r < dim; ++r) {
            for (int32_t e = P->W.start[i]; e < P->W.start[i + 1]; ++e) {
                const double* W = P->W.value + P->W.at[e] + (size_t)(r * dim);
                for (int32_t c = 0; c < dim; ++c) {
                    out->column[used] = P->W.column[e] * dim + c;
                    out->value[used++] = W[c];
                }
            }
            out->start[i * dim + r + 1] = used;
        }
    }
    return status;
}

static void write_problem(sink* s, const perp_friction_problem* P, int32_t dim, const row_form* W,
                          const char* title)
{
    const int32_t n = P->row_count, entries = W->start[n];
    write_int(s, "spacedim", dim);
    make_group(s, "W");
    write_int(s, "W/nzmax", entries);
    write_int(s, "W/m", n);
    write_int(s, "W/n", n);
    write_int(s, "W/nz", -2);
    write_array(s, "W/p", H5T_NATIVE_INT, (hsize_t)n + 1, W->start);
    write_array(s, "W/i", H5T_NATIVE_INT, (hsize_t)entries, W->column);
    write_array(s, "W/x", H5T_NATIVE_DOUBLE, (hsize_t)entries, W->value);
    make_group(s, "vectors");
    write_array(s, "vectors/q", H5T_NATIVE_DOUBLE, (hsize_t)n, P->q);
    write_array(s, "vectors/mu", H5T_NATIVE_DOUBLE, (hsize_t)P->constraint_count, W->mu);
    if (title != NULL && title[0] != '\0') {
        make_group(s, "info");
        write_text(s, "info/title", title);
    }
}

static perp_status check_layout(perp_context* context, const perp_friction_problem* P, int32_t dim)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        const bool disc = c->cone == PERP_CONE_QUADRATIC ||
                          (c->cone == PERP_CONE_POLYGON && c->rows == 2); /* the same interval */
        if (c->kind != PERP_CONSTRAINT_CONTACT || !disc || c->rows != dim ||
            (dim != 2 && dim != 3)) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "constraint %" PRId32 ": FCLIB's layout holds contacts with a "
                              "quadratic cone, all with 2 or all with 3 rows",
                              i);
        }
    }
    return PERP_OK;
}

perp_status perp_friction_write(perp_context* context, const perp_friction_problem* problem,
                                const char* title, const char* path)
{
    const int32_t dim = problem->constraint_count > 0 ? problem->constraint[0].rows : 3;
    row_form W = {0};
    perp_status status = perp_friction_check(context, problem);
    if (status == PERP_OK) {
        status = check_layout(context, problem, dim);
    }
    if (status == PERP_OK) {
        status = to_rows(context, problem, dim, &W);
    }
    if (status == PERP_OK) {
        const silence quiet = be_silent();
        const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        sink s = {-1, file < 0};
        if (file >= 0) {
            s.root = H5Gcreate2(file, "fclib_local", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
            s.failed = s.root < 0;
            write_problem(&s, problem, dim, &W, title);
            (void)H5Gclose(s.root);
            s.failed = H5Fclose(file) < 0 || s.failed;
        }
        end_silence(quiet);
        if (s.failed) {
            if (file >= 0) {
                (void)remove(path);
            }
            status = perpi_fail(context, PERP_ERROR_IO, "%s: cannot be written", path);
        }
    }
    perpi_free(context, W.start);
    perpi_free(context, W.column);
    perpi_free(context, W.value);
    perpi_free(context, W.mu);
    return status;
}
