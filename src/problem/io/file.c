/* src/problem/io/file.c - a contact problem as JSON, "perp-problem 1".
 *
 *     { "format": "perp-problem 1",
 *       "blocks": [ { "M": [[...], ...], "k": [...] }, ... ],
 *       "constraints": [ { "kind": "contact" | "equality" | "bounded",
 *                          "blocks": [0, -1],             -1: the fixed world
 *                          "J": [ [[row], ...], ... ],    one list of rows per block that is not -1
 *                          "b": [...],
 *                          "lower": [...], "upper": [...] bounded only; "inf", "-inf" as strings
 *                          "compliance": [...]            equality, bounded; left out: 0
 *                          "cone": "none" | "polygon" | "quadratic" | "ellipsoid",   contacts only
 *                          "directions": 8, "mu": 0.5, "e": [1, 1, 0.1],
 *                          "key": "17" }, ... ],          a string: 64 bits do not fit a number
 *       "groups": [ { "members": [0, 1], "primary": 1 } ] }
 *
 * Doubles have 17 significant digits and read back to the same bits, -0 included. The file is
 * written under a temporary name and renamed, so that a full disk leaves no partial file.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/context.h"
#include "perp/problem.h"

#define FORMAT "perp-problem 1"

static const char* const kind_name[] = {"contact", "equality", "bounded"};
static const char* const cone_name[] = {"none", "polygon", "quadratic", "ellipsoid"};

/* ---- writing -------------------------------------------------------------------------------------*/

static void write_double(FILE* f, double x)
{
    char text[40];
    if (isinf(x)) {
        fputs(x > 0.0 ? "\"inf\"" : "\"-inf\"", f);
        return;
    }
    snprintf(text, sizeof text, "%.17g", x);
    for (char* c = text; *c != '\0'; ++c) {
        *c = *c == ',' ? '.' : *c; /* a locale with a decimal comma */
    }
    fputs(text, f);
    if (strpbrk(text, ".e") == NULL) {
        fputs(".0", f); /* an integer would lose the sign of -0 */
    }
}

static void write_list(FILE* f, int32_t count, const double* x)
{
    fputc('[', f);
    for (int32_t i = 0; i < count; ++i) {
        fputs(i == 0 ? "" : ", ", f);
        write_double(f, x[i]);
    }
    fputc(']', f);
}

static void write_matrix(FILE* f, int32_t rows, int32_t cols, const double* x)
{
    fputc('[', f);
    for (int32_t i = 0; i < rows; ++i) {
        fputs(i == 0 ? "" : ", ", f);
        write_list(f, cols, x + (size_t)i * (size_t)cols);
    }
    fputc(']', f);
}

static void write_constraint(FILE* f, const perp_contact_problem* P, const perp_constraint* c)
{
    fprintf(f, "    {\"kind\": \"%s\", \"blocks\": [%" PRId32 ", %" PRId32 "],\n     \"J\": [",
            kind_name[c->kind], c->block[0], c->block[1]);
    const double* J = P->J + c->jac;
    bool first = true;
    for (int side = 0; side < 2; ++side) {
        if (c->block[side] >= 0) {
            const int32_t nv = P->dof[c->block[side] + 1] - P->dof[c->block[side]];
            fputs(first ? "" : ", ", f);
            write_matrix(f, c->rows, nv, J);
            J += (size_t)c->rows * (size_t)nv;
            first = false;
        }
    }
    fputs("],\n     \"b\": ", f);
    write_list(f, c->rows, P->b + c->row);
    if (c->kind == PERP_CONSTRAINT_BOUNDED) {
        fputs(", \"lower\": ", f);
        write_list(f, c->rows, P->lower + c->row);
        fputs(", \"upper\": ", f);
        write_list(f, c->rows, P->upper + c->row);
    }
    if (c->kind != PERP_CONSTRAINT_CONTACT && P->compliance != NULL) {
        fputs(", \"compliance\": ", f);
        write_list(f, c->rows, P->compliance + c->row);
    }
    if (c->kind == PERP_CONSTRAINT_CONTACT) {
        fprintf(f, ", \"cone\": \"%s\", \"mu\": ", cone_name[c->cone]);
        write_double(f, c->mu);
        if (c->cone == PERP_CONE_POLYGON) {
            fprintf(f, ", \"directions\": %" PRId32, c->directions);
        }
        if (c->cone == PERP_CONE_ELLIPSOID) {
            fputs(", \"e\": ", f);
            write_list(f, 3, c->e);
        }
    }
    fprintf(f, ", \"key\": \"%" PRIu64 "\"}", c->key);
}

static void write_problem(FILE* f, const perp_contact_problem* P)
{
    fputs("{\"format\": \"" FORMAT "\",\n \"blocks\": [", f);
    const double* M = P->M;
    for (int32_t i = 0; i < P->block_count; ++i) {
        const int32_t nv = P->dof[i + 1] - P->dof[i];
        fputs(i == 0 ? "\n    {\"M\": " : ",\n    {\"M\": ", f);
        write_matrix(f, nv, nv, M);
        fputs(", \"k\": ", f);
        write_list(f, nv, P->k + P->dof[i]);
        fputc('}', f);
        M += (size_t)nv * (size_t)nv;
    }
    fputs("],\n \"constraints\": [", f);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        fputs(i == 0 ? "\n" : ",\n", f);
        write_constraint(f, P, &P->constraint[i]);
    }
    fputs("],\n \"groups\": [", f);
    for (int32_t g = 0; g < P->group_count; ++g) {
        fputs(g == 0 ? "\n    {\"members\": [" : ",\n    {\"members\": [", f);
        for (int32_t i = 0; i < P->group[g].count; ++i) {
            fprintf(f, "%s%" PRId32, i == 0 ? "" : ", ", P->group[g].member[i]);
        }
        fprintf(f, "], \"primary\": %" PRId32 "}", P->group[g].primary);
    }
    fputs("]}\n", f);
}

perp_status perp_contact_write(perp_context* context, const perp_contact_problem* problem,
                               const char* path)
{
    perp_status status = perp_contact_check(context, problem);
    if (status != PERP_OK) {
        return status;
    }
    const size_t length = strlen(path);
    char* part = NULL;
    status = perpi_alloc(context, length + sizeof ".part", 1, &part);
    if (status != PERP_OK) {
        return status;
    }
    memcpy(part, path, length);
    memcpy(part + length, ".part", sizeof ".part");

    errno = 0;
    FILE* f = fopen(part, "wb");
    if (f == NULL) {
        status =
            perpi_fail(context, PERP_ERROR_IO, "%s: cannot be created: %s", part, strerror(errno));
        perpi_free(context, part);
        return status;
    }
    write_problem(f, problem);
    /* every write error: an earlier write, the last flush, the rename */
    bool failed = fflush(f) != 0;
    int reason = failed ? errno : 0;
    failed = ferror(f) != 0 || failed;
    if (fclose(f) != 0 && !failed) {
        failed = true;
        reason = errno;
    }
    if (!failed && rename(part, path) != 0) {
        failed = true;
        reason = errno;
    }
    if (failed) {
        remove(part);
        status = perpi_fail(context, PERP_ERROR_IO, "%s: cannot be written: %s", path,
                            reason != 0 ? strerror(reason) : "write error");
    }
    perpi_free(context, part);
    return status;
}

/* ---- reading -------------------------------------------------------------------------------------*/

struct perp_contact_file {
    perp_context* context;
    perp_contact_problem view;
    int32_t* dof;
    double *M, *k, *J, *b, *lower, *upper;
    double* compliance; /* NULL unless a constraint gives some */
    perp_constraint* constraint;
    perp_group* group;
    int32_t* member; /* of all groups, one after another */
};

/* The path through the document to where the reader is, for messages. */
typedef struct reader {
    perp_context* context;
    const char* path;
    char where[96];
} reader;

static perp_status broken(reader* r, const char* key, const char* rule)
{
    return perpi_fail(r->context, PERP_ERROR_INPUT, "%s: %s%s%s: %s", r->path, r->where,
                      key[0] == '\0' ? "" : "/", key, rule);
}

/* Only these keys may occur. allowed: NULL-terminated. */
static perp_status check_keys(reader* r, json_t* object, const char* const* allowed)
{
    const char* key;
    json_t* value;
    json_object_foreach(object, key, value)
    {
        const char* const* a = allowed;
        while (*a != NULL && strcmp(*a, key) != 0) {
            ++a;
        }
        if (*a == NULL) {
            return broken(r, key, "unknown key");
        }
    }
    return PERP_OK;
}

static perp_status get_array(reader* r, json_t* object, const char* key, json_t** array)
{
    *array = json_object_get(object, key);
    return json_is_array(*array) ? PERP_OK : broken(r, key, "must be a list");
}

static perp_status get_int(reader* r, json_t* value, const char* key, int32_t* x)
{
    if (!json_is_integer(value) || json_integer_value(value) < INT32_MIN ||
        json_integer_value(value) > INT32_MAX) {
        return broken(r, key, "must be a whole number of 32 bits");
    }
    *x = (int32_t)json_integer_value(value);
    return PERP_OK;
}

static perp_status get_double(reader* r, json_t* value, const char* key, double* x)
{
    if (json_is_number(value)) {
        *x = json_number_value(value);
        return PERP_OK;
    }
    const char* text = json_string_value(value);
    if (text != NULL && (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0)) {
        *x = text[0] == '-' ? -INFINITY : INFINITY;
        return PERP_OK;
    }
    return broken(r, key, "must be a number, \"inf\" or \"-inf\"");
}

static perp_status get_list(reader* r, json_t* array, const char* key, int32_t count, double* x)
{
    if (!json_is_array(array) || json_array_size(array) != (size_t)count) {
        return broken(r, key, "must be a list of the right length");
    }
    for (int32_t i = 0; i < count; ++i) {
        const perp_status status = get_double(r, json_array_get(array, (size_t)i), key, &x[i]);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

static perp_status get_matrix(reader* r, json_t* array, const char* key, int32_t rows, int32_t cols,
                              double* x)
{
    if (!json_is_array(array) || json_array_size(array) != (size_t)rows) {
        return broken(r, key, "must be a list of rows of the right length");
    }
    for (int32_t i = 0; i < rows; ++i) {
        const perp_status status =
            get_list(r, json_array_get(array, (size_t)i), key, cols, x + (size_t)i * (size_t)cols);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

static perp_status get_name(reader* r, json_t* object, const char* key, const char* const* names,
                            int count, int* which)
{
    const char* text = json_string_value(json_object_get(object, key));
    for (int i = 0; text != NULL && i < count; ++i) {
        if (strcmp(text, names[i]) == 0) {
            *which = i;
            return PERP_OK;
        }
    }
    return broken(r, key, "is missing or not one of the known names");
}

static perp_status get_key(reader* r, json_t* value, uint64_t* key)
{
    const char* text = json_string_value(value);
    uint64_t x = 0;
    bool good = text != NULL && text[0] != '\0';
    for (; good && *text != '\0'; ++text) {
        const uint64_t digit = (uint64_t)(unsigned char)*text - (uint64_t)'0';
        good = digit <= 9 && x <= (UINT64_MAX - digit) / 10;
        x = 10 * x + digit;
    }
    if (!good) {
        return broken(r, "key", "must be a whole number of 64 bits, as a string");
    }
    *key = x;
    return PERP_OK;
}

static perp_status read_blocks(reader* r, json_t* blocks, perp_contact_file* file)
{
    static const char* const allowed[] = {"M", "k", NULL};
    const size_t count = json_array_size(blocks);
    if (count > INT32_MAX / 36) {
        return broken(r, "blocks", "too many");
    }
    perp_status status = perpi_alloc(r->context, count + 1, sizeof *file->dof, &file->dof);
    if (status == PERP_OK) {
        status = perpi_alloc(r->context, 36 * count, sizeof *file->M, &file->M);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(r->context, 6 * count, sizeof *file->k, &file->k);
    }
    double* M = file->M;
    for (size_t i = 0; status == PERP_OK && i < count; ++i) {
        json_t *block = json_array_get(blocks, i), *k = NULL;
        snprintf(r->where, sizeof r->where, "/blocks/%zu", i);
        if (!json_is_object(block)) {
            return broken(r, "", "must be an object");
        }
        status = check_keys(r, block, allowed);
        if (status == PERP_OK) {
            status = get_array(r, block, "k", &k);
        }
        if (status != PERP_OK) {
            return status;
        }
        const size_t nv = json_array_size(k);
        if (nv < 1 || nv > 6) {
            return broken(r, "k", "must have 1 to 6 entries");
        }
        file->dof[i + 1] = file->dof[i] + (int32_t)nv;
        status = get_list(r, k, "k", (int32_t)nv, file->k + file->dof[i]);
        if (status == PERP_OK) {
            status = get_matrix(r, json_object_get(block, "M"), "M", (int32_t)nv, (int32_t)nv, M);
        }
        M += nv * nv;
    }
    r->where[0] = '\0';
    file->view.block_count = (int32_t)count;
    file->view.dof_count = file->dof != NULL ? file->dof[count] : 0;
    return status;
}

/* A contact's cone, mu, directions and e. */
static perp_status read_cone(reader* r, json_t* object, perp_constraint* c)
{
    int cone = 0;
    perp_status status = get_name(r, object, "cone", cone_name, 4, &cone);
    if (status != PERP_OK) {
        return status;
    }
    c->cone = (perp_cone)cone;
    status = get_double(r, json_object_get(object, "mu"), "mu", &c->mu);
    if (status == PERP_OK && c->cone == PERP_CONE_POLYGON) {
        status = get_int(r, json_object_get(object, "directions"), "directions", &c->directions);
    }
    if (status == PERP_OK && c->cone == PERP_CONE_ELLIPSOID) {
        status = get_list(r, json_object_get(object, "e"), "e", 3, c->e);
    }
    return status;
}

/* Everything of a constraint but its numbers in J. */
static perp_status read_constraint(reader* r, json_t* object, perp_contact_file* file,
                                   perp_constraint* c)
{
    static const char* const allowed[] = {"kind",  "blocks",     "J",    "b",  "lower",
                                          "upper", "compliance", "cone", "mu", "directions",
                                          "e",     "key",        NULL};
    int kind = 0;
    json_t* blocks = NULL;
    perp_status status = check_keys(r, object, allowed);
    if (status == PERP_OK) {
        status = get_name(r, object, "kind", kind_name, 3, &kind);
    }
    if (status == PERP_OK) {
        status = get_array(r, object, "blocks", &blocks);
    }
    if (status != PERP_OK) {
        return status;
    }
    c->kind = (perp_constraint_kind)kind;
    if (json_array_size(blocks) != 2) {
        return broken(r, "blocks", "must have 2 entries");
    }
    for (size_t side = 0; side < 2; ++side) {
        status = get_int(r, json_array_get(blocks, side), "blocks", &c->block[side]);
        if (status != PERP_OK) {
            return status;
        }
        if (c->block[side] < -1 || c->block[side] >= file->view.block_count) {
            return broken(r, "blocks", "must be -1 or the number of a block");
        }
    }
    if (json_object_get(object, "key") != NULL) {
        status = get_key(r, json_object_get(object, "key"), &c->key);
    }
    const size_t rows = (size_t)c->rows;
    status = status != PERP_OK
                 ? status
                 : get_list(r, json_object_get(object, "b"), "b", (int32_t)rows, file->b + c->row);
    if (status == PERP_OK && c->kind == PERP_CONSTRAINT_BOUNDED) {
        status =
            get_list(r, json_object_get(object, "lower"), "lower", c->rows, file->lower + c->row);
        if (status == PERP_OK) {
            status = get_list(r, json_object_get(object, "upper"), "upper", c->rows,
                              file->upper + c->row);
        }
    }
    json_t* compliance = json_object_get(object, "compliance");
    if (status == PERP_OK && compliance != NULL && c->kind == PERP_CONSTRAINT_CONTACT) {
        return broken(r, "compliance", "is for equality and bounded rows; leave it out");
    }
    if (status == PERP_OK && compliance != NULL && file->compliance == NULL) {
        status = perpi_alloc(r->context, (size_t)file->view.row_count, sizeof *file->compliance,
                             &file->compliance);
    }
    if (status == PERP_OK && compliance != NULL) {
        status = get_list(r, compliance, "compliance", c->rows, file->compliance + c->row);
    }
    return status == PERP_OK && c->kind == PERP_CONSTRAINT_CONTACT ? read_cone(r, object, c)
                                                                   : status;
}

static perp_status read_jacobian(reader* r, json_t* object, perp_contact_file* file,
                                 const perp_constraint* c)
{
    json_t* parts = NULL;
    perp_status status = get_array(r, object, "J", &parts);
    double* J = file->J + c->jac;
    size_t used = 0;
    for (int side = 0; status == PERP_OK && side < 2; ++side) {
        if (c->block[side] >= 0) {
            const int32_t nv = file->dof[c->block[side] + 1] - file->dof[c->block[side]];
            status = get_matrix(r, json_array_get(parts, used++), "J", c->rows, nv, J);
            J += (size_t)c->rows * (size_t)nv;
        }
    }
    if (status == PERP_OK && json_array_size(parts) != used) {
        status = broken(r, "J", "must have one matrix per block that is not -1");
    }
    return status;
}

/* Rows are counted first, so that the arrays can be allocated at once. */
static perp_status count_rows(reader* r, json_t* constraints, perp_contact_file* file)
{
    const size_t count = json_array_size(constraints);
    size_t rows = 0;
    for (size_t i = 0; i < count; ++i) {
        snprintf(r->where, sizeof r->where, "/constraints/%zu", i);
        json_t *object = json_array_get(constraints, i), *b = NULL;
        if (!json_is_object(object)) {
            return broken(r, "", "must be an object");
        }
        const perp_status status = get_array(r, object, "b", &b);
        if (status != PERP_OK) {
            return status;
        }
        if (json_array_size(b) < 1) {
            return broken(r, "b", "must have at least one row");
        }
        rows += json_array_size(b);
    }
    r->where[0] = '\0';
    if (count > INT32_MAX || rows > INT32_MAX / 12) {
        return broken(r, "constraints", "too many");
    }
    file->view.constraint_count = (int32_t)count;
    file->view.row_count = (int32_t)rows;
    return PERP_OK;
}

static perp_status read_constraints(reader* r, json_t* constraints, perp_contact_file* file)
{
    perp_status status = count_rows(r, constraints, file);
    if (status != PERP_OK) {
        return status;
    }
    const size_t count = (size_t)file->view.constraint_count, rows = (size_t)file->view.row_count;
    status = perpi_alloc(r->context, count, sizeof *file->constraint, &file->constraint);
    double** arrays[] = {&file->b, &file->lower, &file->upper, &file->J};
    for (size_t i = 0; status == PERP_OK && i < 4; ++i) {
        status = perpi_alloc(r->context, i == 3 ? 12 * rows : rows, sizeof(double), arrays[i]);
    }
    int32_t row = 0;
    size_t jac = 0;
    for (size_t i = 0; status == PERP_OK && i < count; ++i) {
        snprintf(r->where, sizeof r->where, "/constraints/%zu", i);
        json_t* object = json_array_get(constraints, i);
        perp_constraint* c = &file->constraint[i];
        c->row = row;
        c->rows = (int32_t)json_array_size(json_object_get(object, "b"));
        c->jac = jac;
        status = read_constraint(r, object, file, c);
        if (status == PERP_OK) {
            status = read_jacobian(r, object, file, c);
        }
        row += c->rows;
        for (int side = 0; status == PERP_OK && side < 2; ++side) {
            if (c->block[side] >= 0) {
                jac += (size_t)c->rows *
                       (size_t)(file->dof[c->block[side] + 1] - file->dof[c->block[side]]);
            }
        }
    }
    r->where[0] = status == PERP_OK ? '\0' : r->where[0];
    return status;
}

static perp_status read_groups(reader* r, json_t* groups, perp_contact_file* file)
{
    static const char* const allowed[] = {"members", "primary", NULL};
    const size_t count = json_array_size(groups);
    size_t members = 0;
    for (size_t g = 0; g < count; ++g) {
        members += json_array_size(json_object_get(json_array_get(groups, g), "members"));
    }
    if (count > INT32_MAX || members > INT32_MAX) {
        return broken(r, "groups", "too many");
    }
    perp_status status = perpi_alloc(r->context, count, sizeof *file->group, &file->group);
    if (status == PERP_OK) {
        status = perpi_alloc(r->context, members, sizeof *file->member, &file->member);
    }
    int32_t* at = file->member;
    for (size_t g = 0; status == PERP_OK && g < count; ++g) {
        json_t *group = json_array_get(groups, g), *list = NULL;
        snprintf(r->where, sizeof r->where, "/groups/%zu", g);
        if (!json_is_object(group)) {
            return broken(r, "", "must be an object");
        }
        status = check_keys(r, group, allowed);
        if (status == PERP_OK) {
            status = get_array(r, group, "members", &list);
        }
        if (status == PERP_OK) {
            status =
                get_int(r, json_object_get(group, "primary"), "primary", &file->group[g].primary);
        }
        file->group[g].member = at;
        file->group[g].count = (int32_t)json_array_size(list);
        for (size_t i = 0; status == PERP_OK && i < json_array_size(list); ++i) {
            status = get_int(r, json_array_get(list, i), "members", at++);
        }
    }
    file->view.group_count = (int32_t)count;
    return status;
}

static perp_status read_document(reader* r, json_t* root, perp_contact_file* file)
{
    static const char* const allowed[] = {"format", "blocks", "constraints", "groups", NULL};
    const char* format = json_string_value(json_object_get(root, "format"));
    if (!json_is_object(root) || format == NULL || strcmp(format, FORMAT) != 0) {
        return broken(r, "format", "must be \"" FORMAT "\"");
    }
    json_t *blocks = NULL, *constraints = NULL, *groups = NULL;
    perp_status status = check_keys(r, root, allowed);
    if (status == PERP_OK) {
        status = get_array(r, root, "blocks", &blocks);
    }
    if (status == PERP_OK) {
        status = get_array(r, root, "constraints", &constraints);
    }
    if (status == PERP_OK) {
        status = get_array(r, root, "groups", &groups);
    }
    if (status == PERP_OK) {
        status = read_blocks(r, blocks, file);
    }
    if (status == PERP_OK) {
        status = read_constraints(r, constraints, file);
    }
    if (status == PERP_OK) {
        status = read_groups(r, groups, file);
    }
    if (status != PERP_OK) {
        return status;
    }
    perp_contact_problem* view = &file->view;
    view->dof = file->dof;
    view->M = file->M;
    view->k = file->k;
    view->J = file->J;
    view->b = file->b;
    view->lower = file->lower;
    view->upper = file->upper;
    view->compliance = file->compliance;
    view->constraint = file->constraint;
    view->group = file->group;
    status = perp_contact_check(r->context, view);
    return status == PERP_OK ? PERP_OK : perpi_fail_prefix(r->context, status, r->path);
}

perp_status perp_contact_read(perp_context* context, const char* path, perp_contact_file** file)
{
    errno = 0;
    FILE* f = fopen(path, "rb");
    if (f == NULL) {
        return perpi_fail(context, PERP_ERROR_IO, "%s: cannot be opened: %s", path,
                          strerror(errno));
    }
    json_error_t error;
    errno = 0;
    json_t* root = json_loadf(f, JSON_REJECT_DUPLICATES, &error);
    const bool unreadable = ferror(f) != 0;
    const int reason = errno;
    fclose(f);
    if (root == NULL) {
        if (unreadable) {
            return perpi_fail(context, PERP_ERROR_IO, "%s: cannot be read: %s", path,
                              strerror(reason));
        }
        if (json_error_code(&error) == json_error_out_of_memory) {
            return perpi_fail(context, PERP_ERROR_MEMORY, "%s: out of memory", path);
        }
        return perpi_fail(context, PERP_ERROR_INPUT, "%s:%d:%d: %s", path, error.line, error.column,
                          error.text);
    }
    perp_contact_file* made = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *made, &made);
    if (status == PERP_OK) {
        made->context = context;
        reader r = {context, path, ""};
        status = read_document(&r, root, made);
        if (status == PERP_OK) {
            *file = made;
        } else {
            perp_contact_file_destroy(made);
        }
    }
    json_decref(root);
    return status;
}

const perp_contact_problem* perp_contact_file_problem(const perp_contact_file* file)
{
    return &file->view;
}

void perp_contact_file_destroy(perp_contact_file* file)
{
    if (file == NULL) {
        return;
    }
    void* arrays[] = {file->dof,        file->M,     file->k,     file->J,
                      file->b,          file->lower, file->upper, file->compliance,
                      file->constraint, file->group, file->member};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) {
        perpi_free(file->context, arrays[i]);
    }
    perpi_free(file->context, file);
}
