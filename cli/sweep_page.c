/* cli/sweep_page.c - the page of a study's results: one html file with its data.
 *
 * The page itself is viewer/study/page.html, embedded in the program as it is (it needs no
 * bundling). What is written in its place of data: for every pair of grid axes a table of cells
 * (counts by outcome, sums of measures, the first run), for every column a histogram, and rows; of
 * a large study not all of them but an evenly spread part, so that the page stays below 20 MB.
 * Counts, means and histograms are always those of all rows.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sweep.h"

enum {
    KINDS = 10,          /* outcomes that are counted apart; the last one is all others */
    BINS = 40,           /* of a histogram */
    ROW_LIMIT = 20000,   /* rows in the page */
    ROW_BYTES = 8000000, /* and their size, about */
    CELL_LIMIT = 300000, /* numbers in all tables of cells */
    PAIR_LIMIT = 10,
};
#define MARKER "/*PERP-STUDY*/"
#define FORMAT "{\"format\":\"perp-study-page\""

extern const char cli_study_template[], cli_study_template_end[];

/* A column of numbers: a varied name, a measure, or one that every run has. */
typedef struct page_column {
    const char* name;
    double min, max;
    int64_t count, bin[BINS];
} page_column;

/* The cells of two axes of the grid. */
typedef struct page_pair {
    int32_t axis[2];
    int64_t size[2];
    int64_t* count; /* by cell and kind */
    int64_t* first; /* the first run of a cell, 0: none */
    double* sum;    /* of measures, by cell */
    int64_t* with;  /* how many had the measure */
} page_pair;

typedef struct page_state {
    const perp_study* study;
    int32_t varied, measures, columns;
    char kind[KINDS][64];
    int kinds;
    page_column* column;
    page_pair pair[PAIR_LIMIT];
    int pairs, pairs_left_out;
    int64_t rows, status[4];
    int64_t every; /* one of so many rows is in the page */
    FILE* file;
    int64_t written;
} page_state;

/* ---- reading ----------------------------------------------------------------------------------*/

static int kind_of(page_state* s, const perp_run_row* row)
{
    const char* name =
        row->status == PERP_RUN_OK ? row->outcome : perp_run_status_name(row->status);
    for (int i = 0; i < s->kinds; ++i) {
        if (strncmp(s->kind[i], name, sizeof s->kind[i] - 1) == 0) {
            return i;
        }
    }
    if (s->kinds == KINDS) {
        return KINDS - 1;
    }
    (void)snprintf(s->kind[s->kinds], sizeof s->kind[0], "%s",
                   s->kinds < KINDS - 1 ? name : "(others)");
    return s->kinds++;
}

/* The number of a row in a column; NaN: none. */
static double number_in(const page_state* s, const perp_run_row* row, int32_t column)
{
    if (column < s->varied) {
        const perp_vary_value value = perp_study_value(s->study, row->id, column);
        return value.text != NULL ? NAN : value.number;
    }
    if (column < s->varied + s->measures) {
        const int32_t m = column - s->varied;
        return m < row->measure_count ? row->measure[m] : NAN;
    }
    switch (column - s->varied - s->measures) {
    case 0: return (double)row->steps;
    case 1: return row->seconds;
    case 2: return row->certificate;
    default: return row->energy_error;
    }
}

static bool first_pass(void* user, const perp_run_row* row)
{
    page_state* s = user;
    s->rows += 1;
    s->status[row->status] += 1;
    (void)kind_of(s, row);
    for (int32_t i = 0; i < s->columns; ++i) {
        page_column* c = &s->column[i];
        const double x = number_in(s, row, i);
        if (isfinite(x)) {
            c->min = c->count == 0 || x < c->min ? x : c->min;
            c->max = c->count == 0 || x > c->max ? x : c->max;
            c->count += 1;
        }
    }
    return true;
}

static void add_to_pair(const page_state* s, page_pair* p, const perp_run_row* row, int kind)
{
    int64_t at[2];
    const int64_t block = (row->id - 1) / perp_study_trials(s->study);
    for (int k = 0; k < 2; ++k) { /* axes multiply, the last varies fastest */
        int64_t stride = 1;
        for (int32_t i = p->axis[k] + 1; i < s->varied; ++i) {
            const perp_vary v = perp_study_vary(s->study, i);
            stride *= v.kind == PERP_VARY_GRID || v.kind == PERP_VARY_VALUES ? v.count : 1;
        }
        at[k] = block / stride % p->size[k];
    }
    const int64_t cell = at[0] * p->size[1] + at[1];
    p->count[cell * KINDS + kind] += 1;
    if (p->first[cell] == 0) {
        p->first[cell] = row->id;
    }
    for (int32_t m = 0; m < row->measure_count; ++m) {
        if (isfinite(row->measure[m])) {
            p->sum[cell * s->measures + m] += row->measure[m];
            p->with[cell * s->measures + m] += 1;
        }
    }
}

static bool second_pass(void* user, const perp_run_row* row)
{
    page_state* s = user;
    const int kind = kind_of(s, row);
    for (int32_t i = 0; i < s->columns; ++i) {
        page_column* c = &s->column[i];
        const double x = number_in(s, row, i), width = c->max - c->min;
        if (isfinite(x)) {
            const double part = width > 0.0 ? (x - c->min) / width : 0.0;
            const int bin = (int)(part * BINS);
            c->bin[bin < BINS ? bin : BINS - 1] += 1;
        }
    }
    for (int i = 0; i < s->pairs; ++i) {
        add_to_pair(s, &s->pair[i], row, kind);
    }
    return true;
}

static bool add_pair(page_state* s, int32_t a, int32_t b)
{
    page_pair* p = &s->pair[s->pairs];
    *p = (page_pair){.axis = {a, b}};
    p->size[0] = perp_study_vary(s->study, a).count;
    p->size[1] = perp_study_vary(s->study, b).count;
    const size_t cells = (size_t)(p->size[0] * p->size[1]);
    const size_t measures = (size_t)s->measures;
    p->count = calloc(cells * KINDS, sizeof *p->count);
    p->first = calloc(cells, sizeof *p->first);
    p->sum = calloc(cells * measures + 1, sizeof *p->sum);
    p->with = calloc(cells * measures + 1, sizeof *p->with);
    s->pairs += 1;
    return p->count != NULL && p->first != NULL && p->sum != NULL && p->with != NULL;
}

static bool is_axis(const page_state* s, int32_t i)
{
    const perp_vary v = perp_study_vary(s->study, i);
    return (v.kind == PERP_VARY_GRID || v.kind == PERP_VARY_VALUES) && v.count > 1;
}

/* All pairs of axes, as long as their tables are not too large. */
static bool choose_pairs(page_state* s)
{
    double numbers = 0.0;
    for (int32_t a = 0; a < s->varied; ++a) {
        for (int32_t b = a + 1; b < s->varied; ++b) {
            if (!is_axis(s, a) || !is_axis(s, b)) {
                continue;
            }
            const double size = (double)perp_study_vary(s->study, a).count *
                                (double)perp_study_vary(s->study, b).count *
                                (double)(s->kinds + 2 * s->measures + 1);
            if (s->pairs == PAIR_LIMIT || numbers + size > CELL_LIMIT) {
                s->pairs_left_out += 1;
            } else {
                numbers += size;
                if (!add_pair(s, a, b)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------*/

void sweep_put_string(FILE* file, const char* text)
{
    json_t* value = cli_text(text);
    char* quoted = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    for (const char* c = quoted != NULL ? quoted : "\"\""; *c != '\0'; ++c) {
        if (*c == '<') {
            (void)fputs("\\u003c", file);
        } else {
            (void)fputc(*c, file);
        }
    }
    free(quoted);
    json_decref(value);
}

static void put_number(FILE* file, double x, int digits)
{
    if (isfinite(x)) {
        fprintf(file, "%.*g", digits, x);
    } else {
        (void)fputs("null", file);
    }
}

static void write_columns(const page_state* s)
{
    fprintf(s->file, ",\"columns\":[");
    for (int32_t i = 0; i < s->columns; ++i) {
        const page_column* c = &s->column[i];
        fprintf(s->file, "%s{\"name\":", i > 0 ? "," : "");
        sweep_put_string(s->file, c->name);
        fprintf(s->file, ",\"role\":\"%s\",\"count\":%lld,\"min\":",
                i < s->varied                 ? "varied"
                : i < s->varied + s->measures ? "measure"
                                              : "run",
                (long long)c->count);
        put_number(s->file, c->count > 0 ? c->min : NAN, 17);
        fprintf(s->file, ",\"max\":");
        put_number(s->file, c->count > 0 ? c->max : NAN, 17);
        fprintf(s->file, ",\"bins\":[");
        for (int b = 0; b < BINS; ++b) {
            fprintf(s->file, "%s%lld", b > 0 ? "," : "", (long long)c->bin[b]);
        }
        fprintf(s->file, "]}");
    }
    fprintf(s->file, "]");
}

/* The labels of an axis: its values in order. */
static void write_axis(const page_state* s, int32_t axis)
{
    const perp_vary v = perp_study_vary(s->study, axis);
    int64_t stride = perp_study_trials(s->study);
    for (int32_t i = axis + 1; i < s->varied; ++i) {
        const perp_vary w = perp_study_vary(s->study, i);
        stride *= w.kind == PERP_VARY_GRID || w.kind == PERP_VARY_VALUES ? w.count : 1;
    }
    fprintf(s->file, "{\"name\":");
    sweep_put_string(s->file, v.name);
    fprintf(s->file, ",\"values\":[");
    for (int64_t k = 0; k < v.count; ++k) {
        const perp_vary_value value = perp_study_value(s->study, 1 + k * stride, axis);
        (void)fputs(k > 0 ? "," : "", s->file);
        if (value.text != NULL) {
            sweep_put_string(s->file, value.text);
        } else {
            put_number(s->file, value.number, 15);
        }
    }
    fprintf(s->file, "]}");
}

static void write_cells(const page_state* s, const page_pair* p)
{
    const int64_t cells = p->size[0] * p->size[1];
    fprintf(s->file, ",\"first\":[");
    for (int64_t c = 0; c < cells; ++c) {
        fprintf(s->file, "%s%lld", c > 0 ? "," : "", (long long)p->first[c]);
    }
    fprintf(s->file, "],\"counts\":[");
    for (int k = 0; k < s->kinds; ++k) {
        fprintf(s->file, "%s[", k > 0 ? "," : "");
        for (int64_t c = 0; c < cells; ++c) {
            fprintf(s->file, "%s%lld", c > 0 ? "," : "", (long long)p->count[c * KINDS + k]);
        }
        fprintf(s->file, "]");
    }
    fprintf(s->file, "],\"means\":[");
    for (int32_t m = 0; m < s->measures; ++m) {
        fprintf(s->file, "%s[", m > 0 ? "," : "");
        for (int64_t c = 0; c < cells; ++c) {
            const int64_t n = p->with[c * s->measures + m];
            (void)fputs(c > 0 ? "," : "", s->file);
            put_number(s->file, n > 0 ? p->sum[c * s->measures + m] / (double)n : NAN, 6);
        }
        fprintf(s->file, "]");
    }
    fprintf(s->file, "]");
}

static void write_pairs(const page_state* s)
{
    fprintf(s->file, ",\"pairs\":[");
    for (int i = 0; i < s->pairs; ++i) {
        const page_pair* p = &s->pair[i];
        fprintf(s->file, "%s{\"axes\":[", i > 0 ? "," : "");
        write_axis(s, p->axis[0]);
        fprintf(s->file, ",");
        write_axis(s, p->axis[1]);
        fprintf(s->file, "]");
        write_cells(s, p);
        fprintf(s->file, "}");
    }
    fprintf(s->file, "],\"pairs_left_out\":%d", s->pairs_left_out);
}

/* [id, kind, numbers...]; a string where a varied name has one; the message of a run that is not ok, last. */
static bool write_row(void* user, const perp_run_row* row)
{
    page_state* s = user;
    if ((row->id - 1) % s->every != 0) {
        return true;
    }
    fprintf(s->file, "%s[%lld,%d", s->written > 0 ? ",\n" : "", (long long)row->id,
            kind_of(s, row));
    for (int32_t i = 0; i < s->columns; ++i) {
        (void)fputc(',', s->file);
        const perp_vary_value value = i < s->varied ? perp_study_value(s->study, row->id, i)
                                                    : (perp_vary_value){.text = NULL};
        if (value.text != NULL) {
            sweep_put_string(s->file, value.text);
        } else {
            put_number(s->file, number_in(s, row, i), 7);
        }
    }
    if (row->status != PERP_RUN_OK) {
        (void)fputc(',', s->file);
        char message[300];
        (void)snprintf(message, sizeof message, "%s", row->message);
        sweep_put_string(s->file, message);
    }
    (void)fputc(']', s->file);
    s->written += 1;
    return ferror(s->file) == 0;
}

static void write_head(const page_state* s, const char* database)
{
    fprintf(s->file, FORMAT ",\"study\":");
    sweep_put_string(s->file, perp_study_name(s->study));
    fprintf(s->file, ",\"database\":");
    char quoted[4200];
    sweep_quote(database, quoted, sizeof quoted);
    sweep_put_string(s->file, quoted);
    fprintf(s->file, ",\"version\":");
    sweep_put_string(s->file, perp_version_string());
    fprintf(s->file, ",\"runs\":%lld,\"rows\":%lld,\"every\":%lld,\"status\":[%lld,%lld,%lld,%lld]",
            (long long)perp_study_run_count(s->study), (long long)s->rows, (long long)s->every,
            (long long)s->status[0], (long long)s->status[1], (long long)s->status[2],
            (long long)s->status[3]);
    fprintf(s->file, ",\"kinds\":[");
    for (int i = 0; i < s->kinds; ++i) {
        (void)fputs(i > 0 ? "," : "", s->file);
        sweep_put_string(s->file, s->kind[i]);
    }
    fprintf(s->file, "]");
}

static perp_status gather(page_state* s, perp_results* results, bool* memory)
{
    static const char* const run_columns[] = {"steps", "seconds", "certificate", "energy_error"};
    s->varied = perp_study_vary_count(s->study);
    s->measures = perp_study_measure_count(s->study);
    s->columns = s->varied + s->measures + 4;
    s->column = calloc((size_t)s->columns, sizeof *s->column);
    *memory = s->column != NULL;
    if (!*memory) {
        return PERP_OK;
    }
    for (int32_t i = 0; i < s->columns; ++i) {
        s->column[i].name = i < s->varied ? perp_study_vary(s->study, i).name
                            : i < s->varied + s->measures
                                ? perp_study_measure_name(s->study, i - s->varied)
                                : run_columns[i - s->varied - s->measures];
    }
    perp_status status = perp_results_each(results, first_pass, s);
    if (status == PERP_OK) {
        *memory = choose_pairs(s);
    }
    if (status == PERP_OK && *memory) {
        status = perp_results_each(results, second_pass, s);
    }
    const int64_t fits = ROW_BYTES / (12 * (s->columns + 2));
    const int64_t limit = fits < ROW_LIMIT ? fits : ROW_LIMIT;
    /* by id, so that a pattern of the grid does not meet the pattern of the choice: the next odd number */
    s->every = s->rows <= limit ? 1 : (s->rows / limit + 1) | 1;
    return status;
}

static void free_state(page_state* s)
{
    for (int i = 0; i < s->pairs; ++i) {
        free(s->pair[i].count);
        free(s->pair[i].first);
        free(s->pair[i].sum);
        free(s->pair[i].with);
    }
    free(s->column);
}

/* A file of that name that is no such page is left alone. */
static bool may_replace(const char* path)
{
    FILE* file = fopen(path, "rb");
    if (file == NULL) {
        return true;
    }
    const size_t head = (size_t)(cli_study_template_end - cli_study_template);
    char* text = calloc(1, head + 64);
    const size_t size = text != NULL ? fread(text, 1, head + 63, file) : 0;
    (void)fclose(file);
    const bool is = size > 0 && strstr(text, FORMAT) != NULL;
    free(text);
    return is;
}

static perp_status write_data(page_state* s, perp_results* results, const char* database)
{
    write_head(s, database);
    write_columns(s);
    write_pairs(s);
    fprintf(s->file, ",\"data\":[");
    const perp_status status = perp_results_each(results, write_row, s);
    fprintf(s->file, "]}");
    return status;
}

int sweep_write_page(const cli_args* args, perp_context* context, perp_results* results,
                     const char* database, const char* path)
{
    page_state s = {.study = perp_results_study(results)};
    char part[4200];
    bool memory = true;
    const char* marker = strstr(cli_study_template, MARKER);
    if (!may_replace(path)) {
        return cli_fail(
            args->json, CLI_BAD_INPUT,
            "--page: %s: there is a file of that name that is no page of a study: give another "
            "name",
            path);
    }
    (void)snprintf(part, sizeof part, "%.4096s.part%ld", path, (long)getpid());
    perp_status status = gather(&s, results, &memory);
    s.file = status == PERP_OK && memory ? fopen(part, "wb") : NULL;
    if (s.file == NULL) {
        const int error = errno;
        free_state(&s);
        return status != PERP_OK
                   ? cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context))
               : memory
                   ? cli_fail(args->json, CLI_BAD_INPUT, "--page: %s: %s", path, strerror(error))
                   : cli_fail(args->json, CLI_FAILED, "out of memory");
    }
    (void)fwrite(cli_study_template, 1, (size_t)(marker - cli_study_template), s.file);
    status = write_data(&s, results, database);
    marker += strlen(MARKER);
    (void)fwrite(marker, 1, (size_t)(cli_study_template_end - marker), s.file);
    const bool good = ferror(s.file) == 0;
    const bool closed = fclose(s.file) == 0;
    free_state(&s);
    if (status == PERP_OK && good && closed && rename(part, path) == 0) {
        return CLI_DONE;
    }
    const int error = errno;
    (void)unlink(part);
    return status != PERP_OK
               ? cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context))
               : cli_fail(args->json, CLI_FAILED, "--page: cannot write %s: %s", path,
                          strerror(error));
}
