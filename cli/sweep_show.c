/* cli/sweep_show.c - `perp sweep show`: what a database holds; and its rows as text. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweep.h"

enum { KINDS = 12, SLOWEST = 5, TEXT = 200 };

void sweep_wilson(int64_t count, int64_t total, double interval[2])
{
    /* [E. B. Wilson 1927]: the values p whose normal test does not reject count of total at 95 % */
    const double z = 1.959963984540054, n = (double)total, p = n > 0.0 ? (double)count / n : 0.0;
    if (total <= 0) {
        interval[0] = 0.0;
        interval[1] = 1.0;
        return;
    }
    const double middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    const double half = z / (1.0 + z * z / n) * sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n));
    interval[0] = count == 0 ? 0.0 : middle - half;
    interval[1] = count == total ? 1.0 : middle + half;
}

/* ---- text with commas -------------------------------------------------------------------------*/

typedef struct csv_state {
    const perp_study* study;
    FILE* file;
} csv_state;

/* With quotes where it has a comma, a quote or a line break. */
static void put_csv(FILE* file, const char* text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        (void)fputs(text, file);
        return;
    }
    (void)fputc('"', file);
    for (; *text != '\0'; ++text) {
        if (*text == '"') {
            (void)fputc('"', file);
        }
        (void)fputc(*text, file);
    }
    (void)fputc('"', file);
}

/* As few digits as give the number again; nothing where there is none. */
static void put_number(FILE* file, double x)
{
    char text[40];
    if (!isfinite(x)) {
        return;
    }
    for (int digits = 15; digits <= 17; ++digits) {
        (void)snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) {
            break;
        }
    }
    (void)fputs(text, file);
}

static bool write_csv_row(void* user, const perp_run_row* row)
{
    const csv_state* c = user;
    fprintf(c->file, "%lld", (long long)row->id);
    for (int32_t i = 0; i < perp_study_vary_count(c->study); ++i) {
        const perp_vary_value value = perp_study_value(c->study, row->id, i);
        (void)fputc(',', c->file);
        if (value.text != NULL) {
            put_csv(c->file, value.text);
        } else {
            put_number(c->file, value.number);
        }
    }
    for (int32_t i = 0; i < row->measure_count; ++i) {
        (void)fputc(',', c->file);
        put_number(c->file, row->measure[i]);
    }
    (void)fputc(',', c->file);
    put_csv(c->file, row->outcome);
    fprintf(c->file, ",%s,", perp_run_status_name(row->status));
    put_number(c->file, row->certificate);
    (void)fputc(',', c->file);
    put_number(c->file, row->energy_error);
    fprintf(c->file, ",%lld,", (long long)row->steps);
    put_number(c->file, row->seconds);
    (void)fputc(',', c->file);
    put_csv(c->file, row->recording);
    (void)fputc(',', c->file);
    put_csv(c->file, row->message);
    return fputc('\n', c->file) != EOF;
}

/* The folder of a path; returns the name in it. */
static const char* split_path(const char* path, char* folder, size_t size)
{
    const char* slash = strrchr(path, '/');
    (void)snprintf(folder, size, "%.*s", slash != NULL ? (int)(slash - path + 1) : 1,
                   slash != NULL ? path : ".");
    return slash != NULL ? slash + 1 : path;
}

static bool same_inode(const char* a, const char* b)
{
    struct stat s, t;
    return stat(a, &s) == 0 && stat(b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

bool sweep_same_file(const char* a, const char* b)
{
    char of_a[4200], of_b[4200];
    const char* name = split_path(a, of_a, sizeof of_a);
    const char* other = split_path(b, of_b, sizeof of_b);
    return same_inode(a, b) || (strcmp(name, other) == 0 && same_inode(of_a, of_b));
}

int sweep_check_files(const cli_args* args, const char* input, const char* database)
{
    static const char* const option[] = {"--csv", "--page"};
    for (int i = 0; i < 2; ++i) {
        const char* path = cli_value(args, option[i]);
        if (path == NULL || strcmp(path, "-") == 0) {
            continue;
        }
        if (sweep_same_file(path, input) || sweep_same_file(path, database)) {
            return cli_fail(args->json, CLI_BAD_INPUT, "%s: %s is the %s: give another file",
                            option[i], path,
                            sweep_same_file(path, database) ? "database" : "study itself");
        }
        char folder[4200];
        (void)split_path(path, folder, sizeof folder);
        if (access(path, W_OK) != 0 && access(folder, W_OK) != 0) {
            return cli_fail(args->json, CLI_BAD_INPUT, "%s: %s: %s", option[i], path,
                            strerror(errno));
        }
    }
    return CLI_DONE;
}

int sweep_write_csv(const cli_args* args, perp_context* context, perp_results* results,
                    const char* path)
{
    const bool out = strcmp(path, "-") == 0;
    csv_state c = {.study = perp_results_study(results), .file = out ? stdout : fopen(path, "w")};
    if (c.file == NULL) {
        return cli_fail(args->json, CLI_BAD_INPUT, "--csv: %s: %s", path, strerror(errno));
    }
    (void)fputs("id", c.file);
    for (int32_t i = 0; i < perp_study_vary_count(c.study); ++i) {
        (void)fputc(',', c.file);
        put_csv(c.file, perp_study_vary(c.study, i).name);
    }
    for (int32_t i = 0; i < perp_study_measure_count(c.study); ++i) {
        (void)fputc(',', c.file);
        put_csv(c.file, perp_study_measure_name(c.study, i));
    }
    (void)fputs(",outcome,status,certificate,energy_error,steps,seconds,recording,message\n",
                c.file);
    const perp_status status = perp_results_each(results, write_csv_row, &c);
    const bool bad = ferror(c.file) != 0;
    const int closed = out ? 0 : fclose(c.file);
    if (status != PERP_OK) {
        return cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
    }
    return !bad && closed == 0 ? CLI_DONE
                               : cli_fail(args->json, CLI_FAILED, "--csv: cannot write %s: %s",
                                          path, strerror(errno));
}

/* ---- show -------------------------------------------------------------------------------------*/

/* A word or message with how often it came, and the first run that had it. */
typedef struct kind_count {
    char text[TEXT];
    int64_t count, first;
} kind_count;

typedef struct measure_sum {
    int64_t count;
    double mean, square, min, max;
} measure_sum;

typedef struct show_state {
    const perp_study* study;
    int64_t rows, status[4];
    double seconds, certificate, energy_error;
    kind_count outcome[KINDS], message[KINDS];
    struct {
        int64_t id;
        double seconds;
    } slowest[SLOWEST];
    measure_sum* measure;
} show_state;

static void count_kind(kind_count* list, const char* text, int64_t id)
{
    int i = 0;
    while (i < KINDS - 1 && list[i].count > 0 && strcmp(list[i].text, text) != 0) {
        ++i;
    }
    if (list[i].count == 0) {
        (void)snprintf(list[i].text, TEXT, "%s", i < KINDS - 1 ? text : "others");
        list[i].first = id;
    }
    list[i].count += 1;
}

/* Messages that differ in numbers only are one kind: digits become '#', and the file's name is cut off. */
static void kind_of_message(const char* message, char kind[TEXT])
{
    size_t n = 0;
    const char* end = strstr(message, "; problem: ");
    for (const char* c = message; *c != '\0' && c != end && n + 1 < TEXT;) {
        if (isdigit((unsigned char)*c)) {
            kind[n++] = '#';
            while (isdigit((unsigned char)*c) || (c[0] == '.' && isdigit((unsigned char)c[1])) ||
                   (*c == 'e' && (isdigit((unsigned char)c[1]) || c[1] == '-' || c[1] == '+'))) {
                c += *c == 'e' ? 2 : 1;
            }
        } else {
            kind[n++] = *c++;
        }
    }
    kind[n] = '\0';
}

static bool count_row(void* user, const perp_run_row* row)
{
    show_state* s = user;
    char kind[TEXT];
    s->rows += 1;
    s->status[row->status] += 1;
    s->seconds += row->seconds;
    if (row->status == PERP_RUN_OK) {
        count_kind(s->outcome, row->outcome, row->id);
    } else {
        kind_of_message(row->message, kind);
        count_kind(s->message, kind, row->id);
    }
    if (row->certificate > s->certificate) {
        s->certificate = row->certificate;
    }
    if (row->energy_error > s->energy_error) {
        s->energy_error = row->energy_error;
    }
    for (int i = 0; i < SLOWEST; ++i) {
        if (row->seconds > s->slowest[i].seconds) {
            memmove(&s->slowest[i + 1], &s->slowest[i],
                    (size_t)(SLOWEST - 1 - i) * sizeof s->slowest[0]);
            s->slowest[i].id = row->id;
            s->slowest[i].seconds = row->seconds;
            break;
        }
    }
    for (int32_t i = 0; i < row->measure_count; ++i) {
        measure_sum* m = &s->measure[i];
        const double x = row->measure[i];
        if (isnan(x)) {
            continue;
        }
        m->count += 1; /* Welford */
        const double d = x - m->mean;
        m->mean += d / (double)m->count;
        m->square += d * (x - m->mean);
        m->min = m->count == 1 || x < m->min ? x : m->min;
        m->max = m->count == 1 || x > m->max ? x : m->max;
    }
    return true;
}

static double deviation(const measure_sum* m)
{
    return m->count > 1 ? sqrt(m->square / (double)(m->count - 1)) : 0.0;
}

static void print_kinds(const kind_count* list, const char* title, int64_t total)
{
    for (int i = 0; i < KINDS && list[i].count > 0; ++i) {
        double w[2];
        sweep_wilson(list[i].count, total, w);
        printf("  %s%10lld  %5.1f %% (%.1f to %.1f)  ", i == 0 ? title : "               ",
               (long long)list[i].count, 100.0 * (double)list[i].count / (double)total,
               100.0 * w[0], 100.0 * w[1]);
        (void)cli_put_at_most(list[i].text, TEXT);
        printf("  (run %lld)\n", (long long)list[i].first);
    }
}

static void print_values(const perp_study* study, int64_t id)
{
    for (int32_t i = 0; i < perp_study_vary_count(study) && i < 6; ++i) {
        const perp_vary_value value = perp_study_value(study, id, i);
        printf("%s", i > 0 ? ", " : "");
        cli_put(perp_study_vary(study, i).name);
        if (value.text != NULL) {
            printf(" ");
            cli_put(value.text);
        } else {
            printf(" %.6g", value.number);
        }
    }
}

static void print_show(const show_state* s, const char* path)
{
    const int64_t total = perp_study_run_count(s->study);
    printf("%s", cli_bold());
    cli_put_name(perp_study_name(s->study), 0);
    printf("%s: %lld of %lld runs, %.4g s of CPU, worst certificate %.1e, energy error %.1e\n",
           cli_plain(), (long long)s->rows, (long long)total, s->seconds, s->certificate,
           s->energy_error);
    for (int i = 0; i <= PERP_RUN_CRASHED; ++i) {
        double w[2];
        sweep_wilson(s->status[i], s->rows, w);
        printf("  %s%-8s%10lld  %5.1f %% (%.1f to %.1f)\n", i == 0 ? "status " : "       ",
               perp_run_status_name((perp_run_status)i), (long long)s->status[i],
               s->rows > 0 ? 100.0 * (double)s->status[i] / (double)s->rows : 0.0, 100.0 * w[0],
               100.0 * w[1]);
    }
    print_kinds(s->outcome, "outcome        ", s->rows);
    print_kinds(s->message, "failures       ", s->rows);
    for (int32_t i = 0; i < perp_study_measure_count(s->study); ++i) {
        const measure_sum* m = &s->measure[i];
        printf("  measure        ");
        cli_put_name(perp_study_measure_name(s->study, i), 14);
        if (m->count == 0) {
            printf(" has no value in any run\n");
            continue;
        }
        printf(" mean %.6g, deviation %.4g, from %.6g to %.6g (%lld runs)\n", m->mean, deviation(m),
               m->min, m->max, (long long)m->count);
    }
    for (int i = 0; i < SLOWEST && s->slowest[i].id > 0; ++i) {
        printf("  %s run %lld: %.4g s (", i == 0 ? "slowest       " : "              ",
               (long long)s->slowest[i].id, s->slowest[i].seconds);
        print_values(s->study, s->slowest[i].id);
        printf(")\n");
    }
    char quoted[4200];
    sweep_quote(path, quoted, sizeof quoted);
    printf("  one run again  perp sweep rerun ");
    cli_put(quoted);
    printf(" ID --out run.h5\n");
}

static json_t* kinds_json(const kind_count* list, int64_t total)
{
    json_t* array = json_array();
    for (int i = 0; i < KINDS && list[i].count > 0; ++i) {
        double w[2];
        sweep_wilson(list[i].count, total, w);
        json_t* item = json_pack("{s:I, s:o, s:I}", "count", (json_int_t)list[i].count, "interval",
                                 cli_numbers(w, 2), "first", (json_int_t)list[i].first);
        json_object_set_new(item, "name", cli_text(list[i].text));
        json_array_append_new(array, item);
    }
    return array;
}

static void print_show_json(const show_state* s)
{
    json_t *o = json_object(), *status = json_object(), *measures = json_object(),
           *slowest = json_array();
    json_object_set_new(o, "status", json_string("ok"));
    json_object_set_new(o, "study", cli_text(perp_study_name(s->study)));
    json_object_set_new(o, "runs", json_integer(perp_study_run_count(s->study)));
    json_object_set_new(o, "done", json_integer(s->rows));
    for (int i = 0; i <= PERP_RUN_CRASHED; ++i) {
        double w[2];
        sweep_wilson(s->status[i], s->rows, w);
        json_object_set_new(status, perp_run_status_name((perp_run_status)i),
                            json_pack("{s:I, s:o}", "count", (json_int_t)s->status[i], "interval",
                                      cli_numbers(w, 2)));
    }
    json_object_set_new(o, "by_status", status);
    json_object_set_new(o, "outcomes", kinds_json(s->outcome, s->rows));
    json_object_set_new(o, "failures", kinds_json(s->message, s->rows));
    for (int32_t i = 0; i < perp_study_measure_count(s->study); ++i) {
        measure_sum none = {.mean = NAN, .square = NAN, .min = NAN, .max = NAN};
        const measure_sum* m = s->measure[i].count > 0 ? &s->measure[i] : &none;
        json_object_set_new(measures, perp_study_measure_name(s->study, i),
                            json_pack("{s:I, s:o, s:o, s:o, s:o}", "count", (json_int_t)m->count,
                                      "mean", cli_number(m->mean), "deviation",
                                      cli_number(m->count > 0 ? deviation(m) : NAN), "min",
                                      cli_number(m->min), "max", cli_number(m->max)));
    }
    json_object_set_new(o, "measures", measures);
    for (int i = 0; i < SLOWEST && s->slowest[i].id > 0; ++i) {
        json_array_append_new(slowest, json_pack("{s:I, s:o}", "id", (json_int_t)s->slowest[i].id,
                                                 "seconds", cli_number(s->slowest[i].seconds)));
    }
    json_object_set_new(o, "slowest", slowest);
    json_object_set_new(o, "cpu_seconds", cli_number(s->seconds));
    json_object_set_new(o, "certificate", cli_number(s->certificate));
    json_object_set_new(o, "energy_error", cli_number(s->energy_error));
    cli_print_json(o);
}

static int show_results(const cli_args* args, perp_context* context, perp_results* results)
{
    const char *csv = cli_value(args, "--csv"), *page = cli_value(args, "--page");
    show_state s = {.study = perp_results_study(results)};
    int exit_status = sweep_check_files(args, args->word[1], args->word[1]);
    if (exit_status == CLI_DONE && csv != NULL) {
        exit_status = sweep_write_csv(args, context, results, csv);
    }
    if (exit_status == CLI_DONE && page != NULL) {
        exit_status = sweep_write_page(args, context, results, args->word[1], page);
    }
    if (exit_status != CLI_DONE || cli_flag(args, "--quiet") ||
        (csv != NULL && strcmp(csv, "-") == 0)) {
        return exit_status;
    }
    s.measure = calloc((size_t)perp_study_measure_count(s.study) + 1, sizeof *s.measure);
    if (s.measure == NULL) {
        return cli_fail(args->json, CLI_FAILED, "out of memory");
    }
    const perp_status status = perp_results_each(results, count_row, &s);
    if (status != PERP_OK) {
        exit_status = cli_fail(args->json, cli_exit_of(status), "%s", perp_context_error(context));
    } else if (args->json) {
        print_show_json(&s);
    } else {
        print_show(&s, args->word[1]);
    }
    free(s.measure);
    return exit_status;
}

int sweep_show(const cli_args* args)
{
    if (args->word_count != 2) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "usage: perp sweep show R.db [--csv F.csv] [--page F.html] [--json]");
    }
    perp_context* context = sweep_context(args->json);
    perp_results* results = NULL;
    if (context == NULL) {
        return CLI_FAILED;
    }
    const perp_status status = perp_results_open(context, args->word[1], &results);
    const int exit_status = status == PERP_OK ? show_results(args, context, results)
                                              : cli_fail(args->json, cli_exit_of(status), "%s",
                                                         perp_context_error(context));
    perp_results_close(results);
    perp_context_destroy(context);
    return exit_status;
}
