/* src/problem/io/ccp.c - reads `ccp 1` text (docs/problem-files.md), gzip'ed or plain.
 *
 * Every count is compared with the remaining bytes before memory is allocated for it; messages
 * begin with FILE:LINE.
 */
#include "problem/io/ccp.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/context.h"

enum { TOKEN_MAX = 120, TRIPLET_BYTES = 6, NUMBER_BYTES = 2 }; /* "0 0 1 ", "1 " */

static const char* const kind_name[] = {"contact", "lcp",  "mlcp",  "blcp",
                                        "fc2d",    "fc3d", "gfc2d", "gfc3d"};
static const char* const matrix_name[] = {"M", "W", "H"};
static const char* const vector_name[] = {"q", "b", "lb", "ub", "mu", "z", "r", "v"};

const char* perp_problem_kind_name(perp_problem_kind kind)
{
    return (size_t)kind < sizeof kind_name / sizeof kind_name[0] ? kind_name[kind] : "unknown";
}

void perpi_ccp_free(perp_context* context, perpi_ccp* ccp)
{
    for (int i = 0; i < PERPI_CCP_MATRICES; ++i) {
        perpi_free(context, ccp->matrix[i].start);
        perpi_free(context, ccp->matrix[i].row);
        perpi_free(context, ccp->matrix[i].value);
    }
    for (int i = 0; i < PERPI_CCP_VECTORS; ++i) {
        perpi_free(context, ccp->vector[i].at);
    }
    *ccp = (perpi_ccp){0};
}

/* ---- tokens ----------------------------------------------------------------------------------------*/

typedef struct scanner {
    perp_context* context;
    const char* where;
    const char *at, *end;
    int line;
    char token[TOKEN_MAX + 1];
    const char* point; /* the locale's decimal point */
} scanner;

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static perp_status fail(const scanner* s, const char* expected)
{
    return perpi_fail(s->context, PERP_ERROR_INPUT, "%s:%d: expected %s, got '%s'", s->where,
                      s->line, expected, s->token);
}

/* The next word into s->token, "" at the end of the text. */
static perp_status next_token(scanner* s, const char* expected)
{
    for (; s->at < s->end && is_space(*s->at); ++s->at) {
        s->line += *s->at == '\n' ? 1 : 0;
    }
    size_t length = 0;
    for (; s->at < s->end && !is_space(*s->at); ++s->at) {
        if (length == TOKEN_MAX || *s->at < '!' || *s->at > '~') {
            return perpi_fail(s->context, PERP_ERROR_INPUT,
                              "%s:%d: expected %s, got a word that is too long or not ASCII",
                              s->where, s->line, expected);
        }
        s->token[length++] = *s->at;
    }
    s->token[length] = '\0';
    if (length == 0) {
        return perpi_fail(s->context, PERP_ERROR_INPUT,
                          "%s:%d: expected %s, but the text ends here", s->where, s->line,
                          expected);
    }
    return PERP_OK;
}

static perp_status next_count(scanner* s, const char* expected, int32_t* count)
{
    const perp_status status = next_token(s, expected);
    if (status != PERP_OK) {
        return status;
    }
    int64_t value = 0;
    for (const char* c = s->token; *c != '\0'; ++c) {
        if (*c < '0' || *c > '9' || value > INT32_MAX) {
            return fail(s, expected);
        }
        value = 10 * value + (*c - '0');
    }
    if (value > INT32_MAX) {
        return fail(s, expected);
    }
    *count = (int32_t)value;
    return PERP_OK;
}

/* A decimal number, or [+-]inf. strtod obeys the locale, the format does not. */
static perp_status next_number(scanner* s, double* x)
{
    const perp_status status = next_token(s, "a number");
    if (status != PERP_OK) {
        return status;
    }
    const char* word = s->token + (s->token[0] == '+' || s->token[0] == '-' ? 1 : 0);
    if (strcmp(word, "inf") == 0) {
        *x = s->token[0] == '-' ? -INFINITY : INFINITY;
        return PERP_OK;
    }
    char local[TOKEN_MAX + 16];
    size_t n = 0;
    for (const char* c = s->token; *c != '\0'; ++c) {
        if ((*c < '0' || *c > '9') && strchr("+-.eE", *c) == NULL) {
            return fail(s, "a number");
        }
        if (*c == '.' && s->point[0] != '.') {
            const size_t length = strlen(s->point);
            if (n + length >= sizeof local) {
                return fail(s, "a number");
            }
            memcpy(local + n, s->point, length);
            n += length;
        } else if (n + 1 < sizeof local) {
            local[n++] = *c;
        }
    }
    local[n] = '\0';
    char* end;
    *x = strtod(local, &end);
    return *end == '\0' && end != local && isfinite(*x) ? PERP_OK : fail(s, "a number");
}

/* ---- sections --------------------------------------------------------------------------------------*/

static int find_word(const char* const* names, int count, const char* word)
{
    int i = 0;
    while (i < count && strcmp(names[i], word) != 0) {
        ++i;
    }
    return i;
}

/* Refuses a count that the text has no room for. */
static perp_status check_room(const scanner* s, int32_t count, size_t bytes)
{
    const size_t left = (size_t)(s->end - s->at) + 1;
    if ((size_t)count > left / bytes) {
        return perpi_fail(s->context, PERP_ERROR_INPUT,
                          "%s:%d: %" PRId32 " entries are announced, but the text is too short",
                          s->where, s->line, count);
    }
    return PERP_OK;
}

static perp_status read_entries(scanner* s, perpi_ccp_matrix* m, int32_t count)
{
    int32_t last_col = 0, last_row = -1;
    for (int32_t e = 0; e < count; ++e) {
        int32_t i = 0, j = 0;
        double value = 0.0;
        perp_status status = next_count(s, "a row index", &i);
        if (status == PERP_OK) {
            status = next_count(s, "a column index", &j);
        }
        if (status == PERP_OK) {
            status = next_number(s, &value);
        }
        if (status != PERP_OK) {
            return status;
        }
        if (i >= m->rows || j >= m->cols || j < last_col || (j == last_col && i <= last_row) ||
            !isfinite(value)) {
            return perpi_fail(s->context, PERP_ERROR_INPUT,
                              "%s:%d: entry (%" PRId32 ",%" PRId32
                              ") must be finite, inside the matrix, and after the one before "
                              "(columns, then rows, no duplicates)",
                              s->where, s->line, i, j);
        }
        for (; last_col < j; ++last_col) {
            m->start[last_col + 1] = e;
        }
        last_row = i;
        m->row[e] = i;
        m->value[e] = value;
    }
    for (; last_col < m->cols; ++last_col) {
        m->start[last_col + 1] = count;
    }
    return PERP_OK;
}

static perp_status read_matrix(scanner* s, perpi_ccp* ccp)
{
    perp_status status = next_token(s, "M, W or H");
    if (status != PERP_OK) {
        return status;
    }
    const int which = find_word(matrix_name, PERPI_CCP_MATRICES, s->token);
    if (which == PERPI_CCP_MATRICES || ccp->matrix[which].given) {
        return fail(s, "M, W or H, each at most once");
    }
    perpi_ccp_matrix* m = &ccp->matrix[which];
    int32_t count = 0;
    status = next_count(s, "the number of rows", &m->rows);
    if (status == PERP_OK) {
        status = next_count(s, "the number of columns", &m->cols);
    }
    if (status == PERP_OK) {
        status = next_count(s, "the number of entries", &count);
    }
    if (status == PERP_OK && (m->rows > PERPI_CCP_SIZE_MAX || m->cols > PERPI_CCP_SIZE_MAX)) {
        return fail(s, "at most 10000000 rows and columns");
    }
    if (status == PERP_OK) {
        status = check_room(s, count, TRIPLET_BYTES);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(s->context, (size_t)m->cols + 1, sizeof *m->start, &m->start);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(s->context, (size_t)count, sizeof *m->row, &m->row);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(s->context, (size_t)count, sizeof *m->value, &m->value);
    }
    m->given = true;
    return status == PERP_OK ? read_entries(s, m, count) : status;
}

static perp_status read_vector(scanner* s, perpi_ccp* ccp)
{
    perp_status status = next_token(s, "the name of a vector");
    if (status != PERP_OK) {
        return status;
    }
    const int which = find_word(vector_name, PERPI_CCP_VECTORS, s->token);
    if (which == PERPI_CCP_VECTORS || ccp->vector[which].given) {
        return fail(s, "q, b, lb, ub, mu (z, r, v in a solution), each at most once");
    }
    perpi_ccp_vector* v = &ccp->vector[which];
    v->given = true;
    status = next_count(s, "the length of the vector", &v->count);
    if (status == PERP_OK && v->count > PERPI_CCP_SIZE_MAX) {
        return fail(s, "at most 10000000 numbers");
    }
    if (status == PERP_OK) {
        status = check_room(s, v->count, NUMBER_BYTES);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(s->context, (size_t)v->count, sizeof *v->at, &v->at);
    }
    const bool bound = which == PERPI_CCP_lb || which == PERPI_CCP_ub;
    for (int32_t i = 0; status == PERP_OK && i < v->count; ++i) {
        status = next_number(s, &v->at[i]);
        if (status == PERP_OK && !bound && !isfinite(v->at[i])) {
            return fail(s, "a finite number");
        }
    }
    return status;
}

static perp_status read_section(scanner* s, perpi_ccp* ccp)
{
    static const char* const size_name[] = {"n", "n_eq", "n_comp", "dim", "nc"};
    int32_t* const size[] = {&ccp->n, &ccp->n_eq, &ccp->n_comp, &ccp->dim, &ccp->nc};
    if (strcmp(s->token, "matrix") == 0) {
        return read_matrix(s, ccp);
    }
    if (strcmp(s->token, "vector") == 0) {
        return read_vector(s, ccp);
    }
    if (strcmp(s->token, "name") == 0) {
        const perp_status status = next_token(s, "a name");
        memcpy(ccp->name, s->token, strlen(s->token) + 1);
        return status;
    }
    if (strcmp(s->token, "kind") == 0) {
        const perp_status status = next_token(s, "a kind");
        const int kinds = (int)(sizeof kind_name / sizeof kind_name[0]);
        const int kind = find_word(kind_name, kinds, s->token);
        if (status == PERP_OK && (kind == kinds || kind == PERP_PROBLEM_CONTACT)) {
            return fail(s, "lcp, mlcp, blcp, fc2d, fc3d, gfc2d or gfc3d");
        }
        ccp->kind = (perp_problem_kind)kind;
        return status;
    }
    const int which = find_word(size_name, 5, s->token);
    if (which == 5 || *size[which] >= 0) {
        return fail(s, "name, kind, n, n_eq, n_comp, dim, nc (once each), matrix, vector or end");
    }
    const perp_status status = next_count(s, "a number of things", size[which]);
    return status == PERP_OK && *size[which] > PERPI_CCP_SIZE_MAX ? fail(s, "at most 10000000")
                                                                  : status;
}

static perp_status read_text(scanner* s, perpi_ccp* ccp)
{
    perp_status status = next_token(s, "'ccp'");
    if (status != PERP_OK) {
        return status;
    }
    ccp->solution = strcmp(s->token, "ccpsol") == 0;
    if (!ccp->solution && strcmp(s->token, "ccp") != 0) {
        return fail(s, "'ccp'");
    }
    status = next_token(s, "the version, 1");
    if (status == PERP_OK && strcmp(s->token, "1") != 0) {
        return fail(s, "the version, 1");
    }
    while (status == PERP_OK) {
        status = next_token(s, "'end'");
        if (status == PERP_OK && strcmp(s->token, "end") == 0) {
            return PERP_OK;
        }
        if (status == PERP_OK) {
            status = read_section(s, ccp);
        }
    }
    return status;
}

perp_status perpi_ccp_parse(perp_context* context, const char* text, size_t size, const char* where,
                            perpi_ccp* ccp)
{
    scanner s = {.context = context,
                 .where = where,
                 .at = text,
                 .end = text + size,
                 .line = 1,
                 .point = localeconv()->decimal_point};
    perpi_ccp made = {.n = -1, .n_eq = -1, .n_comp = -1, .dim = -1, .nc = -1};
    const perp_status status = read_text(&s, &made);
    if (status != PERP_OK) {
        perpi_ccp_free(context, &made);
        return status;
    }
    *ccp = made;
    return PERP_OK;
}

/* ---- the file --------------------------------------------------------------------------------------*/

perp_status perpi_ccp_load(perp_context* context, const char* path, char** text, size_t* size)
{
    enum { CHUNK = 1 << 16 };
    errno = 0;
    gzFile f = gzopen(path, "rb");
    if (f == NULL) {
        return errno != 0 ? perpi_fail(context, PERP_ERROR_IO, "%s: cannot be opened: %s", path,
                                       strerror(errno))
                          : perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", path);
    }
    char* buffer = NULL;
    size_t capacity = 0, used = 0;
    perp_status status = PERP_OK;
    int got = 0;
    do {
        status = used > PERPI_CCP_TEXT_MAX
                     ? perpi_fail(context, PERP_ERROR_INPUT, "%s: is larger than 1 GiB", path)
                     : perpi_grow(context, &buffer, &capacity, used + CHUNK + 1, 1);
        if (status == PERP_OK) {
            errno = 0;
            got = gzread(f, buffer + used, CHUNK);
            used += got > 0 ? (size_t)got : 0;
        }
    } while (status == PERP_OK && got > 0);
    if (status == PERP_OK && got < 0) {
        int code = Z_OK;
        const char* reason = gzerror(f, &code);
        status = code == Z_ERRNO
                     ? perpi_fail(context, PERP_ERROR_IO, "%s: cannot be read: %s", path,
                                  strerror(errno))
                     : perpi_fail(context, PERP_ERROR_INPUT, "%s: is not valid: %s", path, reason);
    }
    const int closed = gzclose_r(f);
    if (status == PERP_OK && closed == Z_BUF_ERROR) {
        status =
            perpi_fail(context, PERP_ERROR_INPUT, "%s: the compressed data are truncated", path);
    }
    if (status != PERP_OK) {
        perpi_free(context, buffer);
        return status;
    }
    buffer[used] = '\0';
    *text = buffer;
    *size = used;
    return PERP_OK;
}

perp_status perpi_ccp_read(perp_context* context, const char* path, perpi_ccp* ccp)
{
    char* text = NULL;
    size_t size = 0;
    perp_status status = perpi_ccp_load(context, path, &text, &size);
    if (status == PERP_OK) {
        status = perpi_ccp_parse(context, text, size, path, ccp);
        perpi_free(context, text);
    }
    return status;
}

/* ---- what a problem must have ----------------------------------------------------------------------*/

static perp_status need_matrix(perp_context* context, const char* where, const perpi_ccp* ccp,
                               perpi_ccp_matrix_name which, int32_t rows, int32_t cols)
{
    const perpi_ccp_matrix* m = &ccp->matrix[which];
    if (!m->given || m->rows != rows || m->cols != cols) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: matrix %s must be there with %" PRId32 " rows and %" PRId32
                          " columns, got %" PRId32 " and %" PRId32,
                          where, matrix_name[which], rows, cols, m->rows, m->cols);
    }
    return PERP_OK;
}

static perp_status need_vector(perp_context* context, const char* where, const perpi_ccp* ccp,
                               perpi_ccp_vector_name which, int32_t count)
{
    const perpi_ccp_vector* v = &ccp->vector[which];
    if (!v->given || v->count != count) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: vector %s must be there with %" PRId32 " numbers, got %" PRId32,
                          where, vector_name[which], count, v->count);
    }
    return PERP_OK;
}

static perp_status check_friction_kind(perp_context* context, const char* where,
                                       const perpi_ccp* ccp)
{
    const bool global = ccp->kind == PERP_PROBLEM_GFC2D || ccp->kind == PERP_PROBLEM_GFC3D;
    const int32_t dim = ccp->kind == PERP_PROBLEM_FC2D || ccp->kind == PERP_PROBLEM_GFC2D ? 2 : 3;
    if (ccp->dim != dim || ccp->nc < 0 || ccp->nc > PERPI_CCP_SIZE_MAX / 3 ||
        (!global && ccp->n != dim * ccp->nc)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "%s: a %s problem needs dim %" PRId32 " and n = dim nc, got dim %" PRId32
                          ", nc %" PRId32 ", n %" PRId32,
                          where, kind_name[ccp->kind], dim, ccp->dim, ccp->nc, ccp->n);
    }
    const int32_t rows = dim * ccp->nc;
    perp_status status = need_vector(context, where, ccp, PERPI_CCP_mu, ccp->nc);
    if (status == PERP_OK && global) {
        status = need_matrix(context, where, ccp, PERPI_CCP_M, ccp->n, ccp->n);
    }
    if (status == PERP_OK && global) {
        status = need_matrix(context, where, ccp, PERPI_CCP_H, ccp->n, rows);
    }
    if (status == PERP_OK && global) {
        status = need_vector(context, where, ccp, PERPI_CCP_b, rows);
    }
    if (status == PERP_OK && !global) {
        status = need_matrix(context, where, ccp, PERPI_CCP_W, ccp->n, ccp->n);
    }
    for (int32_t i = 0; status == PERP_OK && i < ccp->nc; ++i) {
        const double mu = ccp->vector[PERPI_CCP_mu].at[i];
        if (!(mu >= 0.0)) {
            status = perpi_fail(context, PERP_ERROR_INPUT,
                                "%s: mu[%" PRId32 "] must be >= 0, got %g", where, i, mu);
        }
    }
    return status;
}

static perp_status check_bounds(perp_context* context, const char* where, const perpi_ccp* ccp)
{
    perp_status status = need_vector(context, where, ccp, PERPI_CCP_lb, ccp->n);
    if (status == PERP_OK) {
        status = need_vector(context, where, ccp, PERPI_CCP_ub, ccp->n);
    }
    for (int32_t i = 0; status == PERP_OK && i < ccp->n; ++i) {
        const double lower = ccp->vector[PERPI_CCP_lb].at[i];
        const double upper = ccp->vector[PERPI_CCP_ub].at[i];
        if (!(lower <= upper) || !(lower < INFINITY) || !(upper > -INFINITY)) {
            status = perpi_fail(context, PERP_ERROR_INPUT,
                                "%s: bounds %" PRId32 " must satisfy lb <= ub, got [%g, %g]", where,
                                i, lower, upper);
        }
    }
    return status;
}

perp_status perpi_ccp_check(perp_context* context, const char* where, const perpi_ccp* ccp)
{
    if (ccp->solution || ccp->kind == PERP_PROBLEM_CONTACT || ccp->n < 0) {
        return perpi_fail(context, PERP_ERROR_INPUT, "%s: %s", where,
                          ccp->solution ? "holds a solution, not a problem"
                                        : "kind and n must be given");
    }
    perp_status status = need_vector(context, where, ccp, PERPI_CCP_q, ccp->n);
    if (status != PERP_OK || ccp->kind >= PERP_PROBLEM_FC2D) {
        return status == PERP_OK ? check_friction_kind(context, where, ccp) : status;
    }
    status = need_matrix(context, where, ccp, PERPI_CCP_M, ccp->n, ccp->n);
    if (status == PERP_OK && ccp->kind == PERP_PROBLEM_BLCP) {
        status = check_bounds(context, where, ccp);
    }
    if (status == PERP_OK && ccp->kind == PERP_PROBLEM_MLCP &&
        (ccp->n_eq < 0 || ccp->n_comp < 0 || ccp->n_eq + ccp->n_comp != ccp->n)) {
        status =
            perpi_fail(context, PERP_ERROR_INPUT,
                       "%s: n_eq + n_comp must be n = %" PRId32 ", got %" PRId32 " and %" PRId32,
                       where, ccp->n, ccp->n_eq, ccp->n_comp);
    }
    return status;
}
