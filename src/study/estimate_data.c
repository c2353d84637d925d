/* src/study/estimate_data.c - measured trajectories from CSV files.
 *
 * The first line names the columns, fields are separated by commas, lines that begin with # are
 * skipped. An empty field is a gap. Text that is not a finite number is refused, "nan" too: a
 * measurement that was lost should be said to be lost.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "study/estimate.h"

#define FILE_LIMIT ((size_t)4 * 1024 * 1024 * 1024)
enum { COLUMN_LIMIT = 10000, UNUSED = -1, IS_TIME = -2, IS_TRAJECTORY = -3 };

typedef struct field {
    const char* text;
    size_t length;
} field;

typedef struct table {
    perp_context* context;
    const perpi_estimate* e;
    perpi_data* data;
    const char* path; /* kept by the data */
    int64_t line;
    int32_t*
        target; /* of each column of a row: its column in the file; then of those after an impact, -1: none */
    int32_t columns;
    int32_t time, trajectory; /* columns of the file; -1: none */
    double* row;              /* time, then the columns */
    bool open;                /* a trajectory has begun */
    size_t first_number;      /* of the present trajectory */
    double first_time;
    int32_t first_trajectory; /* of the data: of this file */
} table;

/* ---- fields -------------------------------------------------------------------------------------*/

static field trimmed(const char* text, const char* end)
{
    while (text < end && (*text == ' ' || *text == '\t')) {
        ++text;
    }
    while (end > text && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) {
        --end;
    }
    if (end - text >= 2 && *text == '"' && end[-1] == '"') {
        ++text;
        --end;
    }
    return (field){text, (size_t)(end - text)};
}

/* The next field of a line; *at is NULL after the last. */
static field next_field(const char** at, const char* end)
{
    const char* comma = memchr(*at, ',', (size_t)(end - *at));
    const field f = trimmed(*at, comma != NULL ? comma : end);
    *at = comma != NULL ? comma + 1 : NULL;
    return f;
}

static bool is_name(field f, const char* name)
{
    return name != NULL && strlen(name) == f.length && memcmp(f.text, name, f.length) == 0;
}

/* ---- the header ---------------------------------------------------------------------------------*/

static perp_status no_column(const table* t, const char* name, const char* line, const char* end)
{
    char list[600];
    size_t used = 0;
    list[0] = '\0';
    for (const char* at = line; at != NULL && used < sizeof list - 50;) {
        const field f = next_field(&at, end);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", used > 0 ? ", " : "",
                                 f.length < 40 ? (int)f.length : 40, f.text);
    }
    const bool separated = t->columns == 1 && (memchr(line, ';', (size_t)(end - line)) != NULL ||
                                               memchr(line, '\t', (size_t)(end - line)) != NULL);
    return perpi_fail(t->context, PERP_ERROR_INPUT,
                      "%s:%lld: no column '%.200s', which the study names; the file has: %s%s",
                      t->path, (long long)t->line, name, list,
                      separated ? " (columns are separated by commas)" : "");
}

static perp_status find_column(const table* t, const char* name, const char* line, const char* end,
                               int32_t* index)
{
    int32_t i = 0, found = -1;
    for (const char* at = line; at != NULL; ++i) {
        if (is_name(next_field(&at, end), name)) {
            if (found >= 0) {
                return perpi_fail(t->context, PERP_ERROR_INPUT,
                                  "%s:%lld: two columns are named '%.200s'", t->path,
                                  (long long)t->line, name);
            }
            found = i;
        }
    }
    *index = found;
    return found >= 0 ? PERP_OK : no_column(t, name, line, end);
}

static perp_status read_header(table* t, const char* line, const char* end)
{
    const perpi_estimate* e = t->e;
    for (const char* at = line; at != NULL; ++t->columns) {
        (void)next_field(&at, end);
    }
    if (t->columns > COLUMN_LIMIT) {
        return perpi_fail(t->context, PERP_ERROR_INPUT, "%s:%lld: more than %d columns", t->path,
                          (long long)t->line, COLUMN_LIMIT);
    }
    PERPI_TRY(perpi_alloc(t->context, 2 * (size_t)e->columns, sizeof *t->target, &t->target));
    PERPI_TRY(perpi_alloc(t->context, (size_t)t->columns, sizeof *t->row, &t->row));
    t->time = t->trajectory = -1;
    if (e->time_column != NULL) {
        PERPI_TRY(find_column(t, e->time_column, line, end, &t->time));
    }
    if (e->trajectory_column != NULL) {
        PERPI_TRY(find_column(t, e->trajectory_column, line, end, &t->trajectory));
    }
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        for (int32_t k = 0; k < c->columns; ++k) {
            int32_t* after = &t->target[e->columns + c->first_column + k];
            PERPI_TRY(find_column(t, c->column[k], line, end, &t->target[c->first_column + k]));
            *after = -1;
            if (c->after[k] != NULL) {
                PERPI_TRY(find_column(t, c->after[k], line, end, after));
            }
        }
    }
    return PERP_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------*/

static perp_status bad_number(const table* t, int32_t column, field f)
{
    if (column == t->trajectory) {
        return perpi_fail(t->context, PERP_ERROR_INPUT,
                          "%s:%lld: column %d: /trajectory is a column of integers that number the "
                          "trajectories, got '%.*s'",
                          t->path, (long long)t->line, column + 1,
                          f.length < 60 ? (int)f.length : 60, f.text);
    }
    const int length = f.length < 60 ? (int)f.length : 60;
    return perpi_fail(t->context, PERP_ERROR_INPUT,
                      "%s:%lld: column %d: must be a finite number, got '%.*s' (leave the field "
                      "empty where nothing was measured)",
                      t->path, (long long)t->line, column + 1, length, f.text);
}

/* Numbers of all columns that are used; NaN: empty. */
static perp_status read_fields(table* t, const char* line, const char* end, bool* used)
{
    int32_t i = 0;
    for (const char* at = line; at != NULL; ++i) {
        const field f = next_field(&at, end);
        if (i >= t->columns) {
            continue; /* counted: a decimal comma makes two fields of one */
        }
        t->row[i] = NAN;
        if (used[i] && f.length > 0 && !perpi_number_parse(f.text, f.length, &t->row[i])) {
            return bad_number(t, i, f);
        }
    }
    if (i != t->columns) {
        return perpi_fail(t->context, PERP_ERROR_INPUT,
                          "%s:%lld: has %d field%s, the first line has %d%s", t->path,
                          (long long)t->line, i, i == 1 ? "" : "s", t->columns,
                          i > t->columns ? " (numbers have a decimal point)" : "");
    }
    return PERP_OK;
}

/* Quaternions are normalised; one with a gap is a gap. */
static perp_status check_row(const table* t, double* value)
{
    for (int32_t i = 0; i < t->e->channel_count; ++i) {
        const perpi_channel* c = &t->e->channel[i];
        double* x = value + c->first_column;
        if (c->kind != PERPI_CHANNEL_ORIENTATION || c->columns != 4) {
            continue;
        }
        const double size = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
        if (size < 0.5 || size > 2.0) {
            return perpi_fail(t->context, PERP_ERROR_INPUT,
                              "%s:%lld: the quaternion of '%.200s' has the length %.6g: it must be "
                              "near 1",
                              t->path, (long long)t->line, c->name, size);
        }
        for (int k = 0; k < 4; ++k) {
            x[k] /= size; /* NaN: all of it */
        }
    }
    return PERP_OK;
}

static perp_status begin_trajectory(table* t, double number)
{
    perpi_data* d = t->data;
    for (int32_t i = t->first_trajectory; i < d->count; ++i) {
        if (t->trajectory >= 0 && (double)d->trajectory[i].number == number) {
            return perpi_fail(t->context, PERP_ERROR_INPUT,
                              "%s:%lld: trajectory %.12g comes again, after line %lld: its rows "
                              "must follow each other",
                              t->path, (long long)t->line, number,
                              (long long)d->trajectory[i].line);
        }
    }
    PERPI_TRY(perpi_grow(t->context, &d->trajectory, &d->room, (size_t)d->count + 1,
                         sizeof *d->trajectory));
    d->trajectory[d->count++] =
        (perpi_trajectory){.number = (int64_t)number, .file = t->path, .line = t->line};
    t->first_number = d->number_count;
    return PERP_OK;
}

static perp_status row_time(table* t, perpi_trajectory* x, double* time)
{
    if (t->time < 0) {
        *time = t->e->impacts ? 0.0 : (double)x->rows / t->e->rate;
        return PERP_OK;
    }
    const double now = t->row[t->time];
    if (isnan(now)) {
        return perpi_fail(t->context, PERP_ERROR_INPUT,
                          "%s:%lld: the time (column '%.200s') is "
                          "missing: remove the row, or use /rate",
                          t->path, (long long)t->line, t->e->time_column);
    }
    if (x->rows == 0) {
        t->first_time = now;
    }
    *time = now - t->first_time;
    const size_t row = (size_t)t->e->columns + 1;
    if (x->rows > 0 && !(*time > t->data->number[t->data->number_count - row])) {
        return perpi_fail(t->context, PERP_ERROR_INPUT,
                          "%s:%lld: time does not go forward: %.12g after %.12g; %s", t->path,
                          (long long)t->line, now,
                          t->first_time + t->data->number[t->data->number_count - row],
                          *time == t->data->number[t->data->number_count - row]
                              ? "keep one row of each time (an exported recording has two at an "
                                "impact)"
                              : "sort the rows, or name the column that numbers the trajectories "
                                "in /trajectory");
    }
    return PERP_OK;
}

/* Appends the columns of a row. */
static perp_status put_row(table* t, double time, const int32_t* target)
{
    perpi_data* d = t->data;
    const size_t row = (size_t)t->e->columns + 1;
    PERPI_TRY(perpi_grow(t->context, &d->number, &d->number_room, d->number_count + row,
                         sizeof *d->number));
    double* to = d->number + d->number_count;
    to[0] = time;
    for (int32_t i = 0; i < t->e->columns; ++i) {
        to[1 + i] = target[i] >= 0 ? t->row[target[i]] : NAN;
    }
    PERPI_TRY(check_row(t, to + 1));
    d->number_count += row;
    return PERP_OK;
}

static perp_status add_row(table* t)
{
    perpi_data* d = t->data;
    double number = (double)d->count + 1.0, time = 0.0;
    if (t->trajectory >= 0) {
        number = t->row[t->trajectory];
        if (!(fabs(number) < 9e15) || number != floor(number)) {
            return perpi_fail(t->context, PERP_ERROR_INPUT,
                              "%s:%lld: the number of the trajectory (column '%.200s') must be an "
                              "integer",
                              t->path, (long long)t->line, t->e->trajectory_column);
        }
    }
    if (!t->open || t->e->impacts ||
        (t->trajectory >= 0 && (double)d->trajectory[d->count - 1].number != number)) {
        PERPI_TRY(begin_trajectory(t, number));
        t->open = true;
    }
    perpi_trajectory* x = &d->trajectory[d->count - 1];
    PERPI_TRY(row_time(t, x, &time));
    PERPI_TRY(put_row(t, time, t->target));
    x->rows += 1;
    if (t->e->impacts) {
        PERPI_TRY(put_row(t, time, t->target + t->e->columns));
        x->rows += 1;
    }
    return PERP_OK;
}

static perp_status read_lines(table* t, const char* text, size_t length)
{
    const char* const all = text + length;
    bool* used = NULL;
    perp_status status = PERP_OK;
    /* spreadsheets begin UTF-8 with a byte order mark */
    const size_t mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    if (length >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
        return perpi_fail(t->context, PERP_ERROR_INPUT, "%s: is UTF-16: save it as UTF-8", t->path);
    }
    const char ends = memchr(text, '\n', length) == NULL ? '\r' : '\n'; /* alone on old machines */
    for (const char* line = text + mark; status == PERP_OK && line < all;) {
        const char* end = memchr(line, ends, (size_t)(all - line));
        const char* next = end != NULL ? end + 1 : all;
        end = end != NULL ? end : all;
        t->line += 1;
        const field whole = trimmed(line, end);
        if (whole.length > 0 && whole.text[0] != '#') {
            if (t->columns == 0) {
                status = read_header(t, line, end);
                if (status == PERP_OK) {
                    status = perpi_alloc(t->context, (size_t)t->columns, sizeof *used, &used);
                }
                for (int32_t i = 0; status == PERP_OK && i < 2 * t->e->columns; ++i) {
                    if (t->target[i] >= 0) {
                        used[t->target[i]] = true;
                    }
                }
                if (status == PERP_OK && t->time >= 0) {
                    used[t->time] = true;
                }
                if (status == PERP_OK && t->trajectory >= 0) {
                    used[t->trajectory] = true;
                }
            } else {
                status = read_fields(t, line, end, used);
                if (status == PERP_OK) {
                    status = add_row(t);
                }
            }
        }
        line = next;
    }
    perpi_free(t->context, used);
    return status;
}

/* ---- trajectories -------------------------------------------------------------------------------*/

/* Rows are kept as [time, columns]; trajectories have arrays of their own. Leading rows without a
 * start are left out. */
static bool has_start(const perpi_estimate* e, const double* value)
{
    for (int32_t i = 0; i < e->channel_count; ++i) {
        const perpi_channel* c = &e->channel[i];
        if (c->kind == PERPI_CHANNEL_QUANTITY && c->start_coordinate < 0) {
            continue;
        }
        for (int32_t k = 0; k < c->columns; ++k) {
            if (isnan(value[c->first_column + k])) {
                return false;
            }
        }
    }
    return true;
}

static perp_status split_rows(table* t, perpi_trajectory* x, const double* from, double* to)
{
    const perpi_estimate* e = t->e;
    const size_t row = (size_t)e->columns + 1;
    int32_t skipped = 0;
    while (!e->start_from_scene && skipped < x->rows && !has_start(e, from + skipped * row + 1)) {
        ++skipped;
    }
    if (skipped == x->rows) {
        return perpi_fail(t->context, PERP_ERROR_INPUT,
                          "%s: trajectory %lld (line %lld): no row has all columns from which the "
                          "start is read; use \"start\": \"scene\"",
                          t->path, (long long)x->number, (long long)x->line);
    }
    const int32_t rows = x->rows - skipped;
    const double* first = from + skipped * row;
    double* value = to + rows;
    for (int32_t i = 0; i < rows; ++i) {
        to[i] = first[i * row] - first[0];
        memcpy(value + (size_t)i * (row - 1), first + i * row + 1, (row - 1) * sizeof *value);
    }
    x->rows = rows;
    x->time = to;
    x->value = value;
    return PERP_OK;
}

/* The rows of this file, laid out by trajectory in memory that stays. */
static perp_status finish_file(table* t)
{
    perpi_data* d = t->data;
    const size_t row = (size_t)t->e->columns + 1;
    if (d->count == t->first_trajectory) {
        return perpi_fail(t->context, PERP_ERROR_INPUT, "%s: has no rows", t->path);
    }
    const double* from = d->number;
    for (int32_t i = t->first_trajectory; i < d->count; ++i) {
        perpi_trajectory* x = &d->trajectory[i];
        const size_t size = (size_t)x->rows * row;
        double* to = NULL;
        PERPI_TRY(perpi_grow(t->context, &d->block, &d->block_room, (size_t)d->block_count + 1,
                             sizeof *d->block));
        PERPI_TRY(perpi_alloc(t->context, size, sizeof *to, &to));
        d->block[d->block_count++] = to;
        PERPI_TRY(split_rows(t, x, from, to));
        from += size;
    }
    d->number_count = 0;
    return PERP_OK;
}

perp_status perpi_data_read(perp_context* context, const perpi_estimate* e, const char* path,
                            perpi_data* data)
{
    table t = {.context = context, .e = e, .data = data, .first_trajectory = data->count};
    char *text = NULL, *name = NULL;
    size_t length = 0;
    data->context = context;
    PERPI_TRY(perpi_file_read(context, path, FILE_LIMIT, &text, &length));
    perp_status status = perpi_strndup(context, path, strlen(path), &name);
    if (status == PERP_OK) {
        status = perpi_grow(context, &data->file, &data->file_room, (size_t)data->file_count + 1,
                            sizeof *data->file);
    }
    if (status == PERP_OK) {
        data->file[data->file_count++] = name;
        t.path = name;
        data->number_count = 0;
        status = read_lines(&t, text, length);
    } else {
        perpi_free(context, name);
    }
    if (status == PERP_OK) {
        status = finish_file(&t);
    }
    perpi_free(context, t.target);
    perpi_free(context, t.row);
    perpi_free(context, text);
    return status;
}

void perpi_data_destroy(perpi_data* data)
{
    for (int32_t i = 0; i < data->file_count; ++i) {
        perpi_free(data->context, data->file[i]);
    }
    for (int32_t i = 0; i < data->block_count; ++i) {
        perpi_free(data->context, data->block[i]);
    }
    perpi_free(data->context, data->file);
    perpi_free(data->context, data->block);
    perpi_free(data->context, data->number);
    perpi_free(data->context, data->trajectory);
}

/* ---- what is held out ---------------------------------------------------------------------------*/

perp_status perpi_data_hold_out(perp_context* context, const perpi_estimate* e, perpi_data* data)
{
    const int32_t count = data->count;
    const int32_t held = (int32_t)floor(e->hold_out * count + 0.5);
    if (e->hold_out > 0.0 && count > 0 && (held < 1 || held >= count)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "/hold_out: %.6g of %d trajectories is %d: at least one must be held "
                          "out and one be left",
                          e->hold_out, count, held);
    }
    /* the trajectories with the smallest draws */
    for (int32_t k = 0; k < held; ++k) {
        int32_t best = -1;
        double least = INFINITY;
        for (int32_t i = 0; i < count; ++i) {
            const perpi_draw draw = {.seed = e->seed, .block = 0, .trial = i, .trials = count};
            const double u = perpi_sample(PERPI_SAMPLING_RANDOM, &draw, 0);
            if (!data->trajectory[i].held_out && u < least) {
                least = u;
                best = i;
            }
        }
        data->trajectory[best].held_out = true;
    }
    return PERP_OK;
}

/* ---- noise to begin with ------------------------------------------------------------------------*/

static int compare(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

/* Second differences of white noise have sqrt(6) of its standard deviation; their median is robust. */
static double second_differences(const perpi_estimate* e, const perpi_channel* c, double* room,
                                 size_t limit, double* size)
{
    size_t count = 0;
    *size = 0.0;
    for (int32_t k = 0; k < e->data.count; ++k) {
        const perpi_trajectory* x = &e->data.trajectory[k];
        for (int32_t i = 0; i < x->rows; ++i) {
            for (int32_t j = 0; j < c->columns; ++j) {
                const double* at = x->value + (size_t)i * (size_t)e->columns + c->first_column + j;
                *size = fabs(*at) > *size ? fabs(*at) : *size;
                if (i == 0 || i + 1 == x->rows || count == limit) {
                    continue;
                }
                const double d = fabs(at[-e->columns] - 2.0 * at[0] + at[e->columns]);
                if (!isnan(d)) {
                    room[count++] = d;
                }
            }
        }
    }
    if (count == 0) {
        return 0.0;
    }
    qsort(room, count, sizeof *room, compare);
    return room[count / 2] / (0.6745 * 2.449489742783178);
}

void perpi_data_guess_noise(perpi_estimate* e)
{
    static const double LEAST = 1e-6; /* of the largest value */
    enum { LIMIT = 100000 };
    double* room = NULL;
    if (perpi_alloc(e->data.context, LIMIT, sizeof *room, &room) != PERP_OK) {
        room = NULL;
    }
    for (int32_t i = 0; i < e->channel_count; ++i) {
        perpi_channel* c = &e->channel[i];
        c->first_noise = c->noise;
        if (c->noise_given) {
            continue;
        }
        double size = 0.0;
        const double found = room != NULL ? second_differences(e, c, room, LIMIT, &size) : 0.0;
        c->noise = found > LEAST * size ? found : size > 0.0 ? LEAST * size : 1.0;
        c->noise =
            e->impacts ? 1.0 : c->noise; /* two rows tell nothing of it: errors as they are */
        c->first_noise = c->noise;
    }
    perpi_free(e->data.context, room);
}
