/* src/study/estimate_plan.c - which motion to measure next: Fisher information of candidates.
 *
 *     "candidates": {"fast": {"set": {"v": 3}, "duration": 2, "rate": 100}, "slow": {"set": {"v": 1}, ...}}
 *
 * A candidate is simulated with the values found (or the starts, without data) from the scene's
 * start; the derivatives of what the channels would measure give the information that it adds.
 * Every candidate sets the same names.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/estimate_evaluate.h"
#include "study/estimate_predict.h"
#include "study/estimate_report.h"

enum { ROW_LIMIT = 1000000 };

typedef struct planned {
    const char* name;
    const json_t* item;
    double* information; /* n x n, scaled */
    double gain;         /* half the logarithm of the ratio of determinants */
} planned;

typedef struct plan {
    perp_estimate* x;
    perp_context* context;
    perpi_estimate* e;
    perpi_predictor* predictor;
    int32_t n, m;
    double* before; /* information that is there, n x n, scaled */
    double* size;
    planned* candidate;
    int32_t count;
} plan;

static perp_status refuse(const plan* p, const char* name, const char* why)
{
    return perpi_fail(p->context, PERP_ERROR_INPUT, "%s: /candidates%s%s: %s", p->x->study->origin,
                      name[0] != '\0' ? "/" : "", name, why);
}

static perp_status set_candidate(plan* p, const planned* c)
{
    const json_t* set = json_object_get(c->item, "set");
    const json_t* first = json_object_get(p->candidate[0].item, "set");
    if (json_object_size(set) != json_object_size(first)) {
        return refuse(p, c->name, "every candidate sets the same names (/set)");
    }
    for (void* i = json_object_iter((json_t*)(uintptr_t)set); i != NULL;
         i = json_object_iter_next((json_t*)(uintptr_t)set, i)) {
        const char* name = json_object_iter_key(i);
        const json_t* value = json_object_iter_value(i);
        if (!json_is_number(value) || json_object_get(first, name) == NULL) {
            return refuse(p, c->name,
                          "/set takes numbers, and every candidate sets the same names");
        }
        PERPI_TRY(perp_scene_set_number(p->x->study->scene, name, json_number_value(value)));
    }
    p->predictor->is_set = false; /* the scene must be built anew */
    return PERP_OK;
}

/* Times of a candidate: its own rate, that of the data, or each step. */
static perp_status make_trajectory(plan* p, const planned* c, perpi_trajectory* t, double** memory)
{
    const perp_sim_def def = perp_sim_def_from_scene(p->x->study->scene);
    double duration = def.duration, rate = p->e->rate > 0.0 ? p->e->rate : 1.0 / def.step;
    const json_t* value = json_object_get(c->item, "duration");
    duration = json_is_number(value) ? json_number_value(value) : duration;
    value = json_object_get(c->item, "rate");
    rate = json_is_number(value) ? json_number_value(value) : rate;
    const double rows = floor(duration * rate + 1e-9) + 1.0;
    if (!(duration > 0.0 && rate > 0.0 && rows >= 2.0 && rows <= ROW_LIMIT)) {
        return refuse(p, c->name, "duration and rate must give 2 to 1000000 rows");
    }
    double* number = NULL;
    PERPI_TRY(perpi_alloc(p->context, (size_t)rows * ((size_t)p->e->columns + 1), sizeof *number,
                          &number));
    *memory = number;
    *t = (perpi_trajectory){.rows = (int32_t)rows, .time = number, .value = number + (size_t)rows};
    for (int32_t i = 0; i < t->rows; ++i) {
        number[i] = (double)i / rate;
    }
    return PERP_OK;
}

/* Schur complement of the start coordinates of J'J, scaled. */
static perp_status add_information(plan* p, const double* J, int32_t values, double* out)
{
    const size_t n = (size_t)p->n, m = (size_t)p->m, N = n + m;
    double *H = NULL, *A = NULL, *V = NULL;
    perp_status status = perpi_alloc(p->context, N * N, sizeof *H, &H);
    status = status == PERP_OK ? perpi_alloc(p->context, m * m, sizeof *A, &A) : status;
    status = status == PERP_OK ? perpi_alloc(p->context, m * m, sizeof *V, &V) : status;
    for (int32_t r = 0; status == PERP_OK && r < values; ++r) {
        const double* row = J + (size_t)r * N;
        for (size_t a = 0; a < N; ++a) {
            for (size_t b = 0; row[a] != 0.0 && b < N; ++b) {
                H[a * N + b] += row[a] * row[b];
            }
        }
    }
    for (size_t i = 0; status == PERP_OK && i < m * m; ++i) {
        A[i] = H[(n + i / m) * N + n + i % m];
        if (i / m == i % m && !isnan(p->e->start[i / m].prior)) {
            A[i] += 1.0 / (p->e->start[i / m].prior * p->e->start[i / m].prior);
        }
    }
    if (status == PERP_OK) {
        double largest = 0.0;
        perpi_symmetric_eigen((int32_t)m, A, V);
        for (size_t k = 0; k < m; ++k) {
            largest = A[k * m + k] > largest ? A[k * m + k] : largest;
        }
        for (size_t i = 0; i < n; ++i) {
            for (size_t j = 0; j < n; ++j) {
                double sum = H[i * N + j];
                for (size_t k = 0; k < m; ++k) {
                    double a = 0.0, b = 0.0;
                    for (size_t l = 0; l < m; ++l) {
                        a += H[i * N + n + l] * V[l * m + k];
                        b += H[j * N + n + l] * V[l * m + k];
                    }
                    sum -= A[k * m + k] > 1e-13 * largest ? a * b / A[k * m + k] : 0.0;
                }
                out[i * n + j] += p->size[i] * p->size[j] * sum;
            }
        }
    }
    perpi_free(p->context, H);
    perpi_free(p->context, A);
    perpi_free(p->context, V);
    return status;
}

static perp_status inform(plan* p, const perpi_trajectory* t, bool known, double* out)
{
    double *J = NULL, *residual = NULL;
    const size_t values = (size_t)t->rows * (size_t)p->e->width;
    perp_status status =
        perpi_alloc(p->context, values * ((size_t)p->n + (size_t)p->m), sizeof *J, &J);
    status =
        status == PERP_OK ? perpi_alloc(p->context, values, sizeof *residual, &residual) : status;
    if (status == PERP_OK && !known) { /* what is measured there is what is predicted */
        perpi_prediction x = {.trajectory = t,
                              .parameter = p->x->parameter,
                              .prediction = (double*)(uintptr_t)t->value};
        status = perpi_predictor_predict(p->predictor, &x);
    }
    if (status == PERP_OK) {
        perpi_prediction x = {
            .trajectory = t, .parameter = p->x->parameter, .residual = residual, .jacobian = J};
        status = perpi_predictor_predict(p->predictor, &x);
    }
    if (status == PERP_OK) {
        status = add_information(p, J, (int32_t)values, out);
    }
    perpi_free(p->context, J);
    perpi_free(p->context, residual);
    return status;
}

static perp_status inform_candidate(plan* p, planned* c)
{
    perpi_trajectory t;
    double* memory = NULL;
    PERPI_TRY(
        perpi_alloc(p->context, (size_t)p->n * (size_t)p->n, sizeof(double), &c->information));
    perp_status status = set_candidate(p, c);
    if (status == PERP_OK) {
        status = make_trajectory(p, c, &t, &memory);
    }
    if (status == PERP_OK) {
        const bool from_scene = p->e->start_from_scene;
        p->e->start_from_scene = true;
        status = inform(p, &t, false, c->information);
        p->e->start_from_scene = from_scene;
    }
    perpi_free(p->context, memory);
    return status;
}

/* ---- comparing ----------------------------------------------------------------------------------*/

/* Standard deviations with an information added (NULL: none), and half the logarithm of the
 * determinant; directions without information count as those of a standard deviation of a thousand
 * sizes. */
static perp_status spread(const plan* p, const double* added, double* deviation, double* half)
{
    static const double LEAST = 1e-6;
    const int32_t n = p->n;
    double *A = NULL, *V = NULL;
    PERPI_TRY(perpi_alloc(p->context, (size_t)n * (size_t)n, sizeof *A, &A));
    const perp_status status = perpi_alloc(p->context, (size_t)n * (size_t)n, sizeof *V, &V);
    *half = 0.0;
    for (int32_t i = 0; status == PERP_OK && i < n * n; ++i) {
        A[i] = p->before[i] + (added != NULL ? added[i] : 0.0);
    }
    if (status == PERP_OK) {
        perpi_symmetric_eigen(n, A, V);
        for (int32_t i = 0; i < n; ++i) {
            double variance = 0.0;
            *half += 0.5 * log(A[i * n + i] > LEAST ? A[i * n + i] : LEAST);
            for (int32_t k = 0; k < n; ++k) {
                const double part = V[i * n + k] * V[i * n + k];
                variance += A[k * n + k] > LEAST ? part / A[k * n + k]
                            : part > 1e-6        ? INFINITY
                                                 : 0.0;
            }
            deviation[i] = p->size[i] * sqrt(variance);
        }
    }
    perpi_free(p->context, A);
    perpi_free(p->context, V);
    return status;
}

static json_t* deviations_json(const plan* p, const double* deviation)
{
    json_t* object = json_object();
    for (int32_t i = 0; i < p->n; ++i) {
        json_object_set_new(object, p->e->parameter[i].info.name, perpi_json_number(deviation[i]));
    }
    return object;
}

static int compare(const void* a, const void* b)
{
    const planned *x = a, *y = b;
    return x->gain != y->gain ? (x->gain < y->gain) - (x->gain > y->gain)
                              : strcmp(x->name, y->name);
}

static perp_status write_plan(plan* p)
{
    double before = 0.0;
    double* deviation = NULL;
    PERPI_TRY(perpi_alloc(p->context, (size_t)p->n, sizeof *deviation, &deviation));
    json_t *root = json_object(), *list = json_array();
    perp_status status = spread(p, NULL, deviation, &before);
    json_object_set_new(root, "study", json_string(p->x->study->name));
    json_object_set_new(root, "status", json_string("planned"));
    json_object_set_new(root, "standard_deviations", deviations_json(p, deviation));
    for (int32_t i = 0; status == PERP_OK && i < p->count; ++i) {
        status = spread(p, p->candidate[i].information, deviation, &p->candidate[i].gain);
        p->candidate[i].gain -= before;
    }
    qsort(p->candidate, (size_t)p->count, sizeof *p->candidate, compare);
    for (int32_t i = 0; status == PERP_OK && i < p->count; ++i) {
        double half = 0.0;
        json_t* item = json_object();
        status = spread(p, p->candidate[i].information, deviation, &half);
        json_object_set_new(item, "name", json_string(p->candidate[i].name));
        json_object_set_new(item, "gain", perpi_json_number(p->candidate[i].gain));
        json_object_set_new(item, "standard_deviations", deviations_json(p, deviation));
        json_array_append_new(list, item);
    }
    json_object_set_new(root, "candidates", list);
    if (p->x->answer != NULL) {
        json_t* values = json_object();
        for (int32_t i = 0; i < p->n; ++i) {
            json_object_set_new(values, p->e->parameter[i].info.name,
                                perpi_json_number(p->x->answer->value[i]));
        }
        json_object_set_new(root, "values", values);
    }
    p->x->root = root;
    perpi_free(p->context, deviation);
    return status;
}

/* ---- the plan -----------------------------------------------------------------------------------*/

static perp_status list_candidates(plan* p)
{
    json_t* candidates = (json_t*)(uintptr_t)p->e->candidates;
    if (!json_is_object(candidates) || json_object_size(candidates) == 0) {
        return refuse(p, "",
                      "a plan needs an object of candidates, such as "
                      "{\"fast\": {\"set\": {\"v\": 3}, \"duration\": 2, \"rate\": 100}}");
    }
    PERPI_TRY(
        perpi_alloc(p->context, json_object_size(candidates), sizeof *p->candidate, &p->candidate));
    for (void* i = json_object_iter(candidates); i != NULL;
         i = json_object_iter_next(candidates, i)) {
        const planned c = {.name = json_object_iter_key(i), .item = json_object_iter_value(i)};
        p->candidate[p->count++] = c;
        for (void* j = json_object_iter((json_t*)(uintptr_t)c.item); j != NULL;
             j = json_object_iter_next((json_t*)(uintptr_t)c.item, j)) {
            const char* key = json_object_iter_key(j);
            if (strcmp(key, "set") != 0 && strcmp(key, "duration") != 0 &&
                strcmp(key, "rate") != 0) {
                return refuse(p, c.name, "has a key that is none of set, duration, rate");
            }
        }
    }
    return PERP_OK;
}

static perp_status inform_all(plan* p, const perp_estimate_def* def)
{
    const size_t n = (size_t)p->n;
    PERPI_TRY(perpi_alloc(p->context, n * n, sizeof(double), &p->before));
    PERPI_TRY(perpi_alloc(p->context, n, sizeof(double), &p->size));
    PERPI_TRY(list_candidates(p));
    PERPI_TRY(perpi_predictor_create(p->context, p->x->study, &p->predictor));
    if (p->e->data.count > 0) {
        PERPI_TRY(perpi_estimate_fit(p->x, def, p->predictor));
    }
    for (int32_t i = 0; i < p->n; ++i) {
        const perpi_parameter* x = &p->e->parameter[i];
        const double range = 0.5 * (x->info.high - x->info.low);
        p->size[i] = isfinite(range) ? range : x->info.scale;
        p->before[i * p->n + i] =
            isnan(x->prior) ? 0.0 : p->size[i] * p->size[i] / (x->prior * x->prior);
    }
    for (int32_t k = 0; k < p->e->data.count; ++k) {
        PERPI_TRY(inform(p, &p->e->data.trajectory[k], true, p->before));
    }
    for (int32_t i = 0; i < p->count; ++i) {
        PERPI_TRY(inform_candidate(p, &p->candidate[i]));
    }
    return write_plan(p);
}

perp_status perpi_plan_run(perp_estimate* x, const perp_estimate_def* def)
{
    plan p = {.x = x,
              .context = x->context,
              .e = x->e,
              .n = x->e->parameter_count,
              .m = x->e->start_count};
    if (p.n == 0 || x->e->inertia_count > 0) {
        return perpi_fail(x->context, PERP_ERROR_INPUT,
                          "%s: /unknown: a plan needs parameters, and takes no inertia",
                          x->study->origin);
    }
    for (int32_t i = 0; i < x->e->channel_count; ++i) {
        if (!x->e->channel[i].noise_given && x->e->data.count == 0) {
            return perpi_fail(x->context, PERP_ERROR_INPUT,
                              "%s: /noise: a plan without data needs the noise of '%s'",
                              x->study->origin, x->e->channel[i].name);
        }
    }
    const perp_status status = inform_all(&p, def);
    perpi_predictor_destroy(p.predictor);
    for (int32_t i = 0; i < p.count; ++i) {
        perpi_free(x->context, p.candidate[i].information);
    }
    perpi_free(x->context, p.candidate);
    perpi_free(x->context, p.before);
    perpi_free(x->context, p.size);
    return status;
}
