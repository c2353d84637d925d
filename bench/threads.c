/* bench/threads.c - one thread and several, in turns.
 *
 *     threads [--threads N] [--scene FILE [--from T] [--steps N]] [--repeats N] [--json FILE]
 *
 * Without a scene: contact problems of one island, walls and piles of seeded boxes, each solved from zero. With
 * one: it is simulated up to T with all threads, then every step is computed from the same state with one
 * thread and with N. Wall clock: the least of the repeats, which alternate, because other programs disturb
 * several threads more than one. The answers must have the same bits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "perp/perp.h"
#include "support/generate.h"

enum { SIDES = 2 };

typedef struct settings {
    int32_t threads[SIDES], steps, repeats;
    const char* scene;
    double from;
} settings;

/* ---- contact problems ----------------------------------------------------------------------------------*/

static bool solve_once(perp_contact_solver* solver, const perp_contact_problem* P, double* x,
                       double* seconds, perp_report* report)
{
    const size_t n = (size_t)P->dof_count + (size_t)P->row_count;
    memset(x, 0, n * sizeof *x);
    perp_solve_options options = perp_solve_options_default();
    options.tolerance = 1e-8;
    const double begin = table_seconds();
    const perp_status status =
        perp_contact_solve(solver, P, &options, false, x, x + P->dof_count, NULL, report);
    const double took = table_seconds() - begin;
    *seconds = took < *seconds ? took : *seconds;
    return status == PERP_OK;
}

static bool measure_problem(const settings* set, generate_contact_kind kind, int32_t contacts,
                            table* t)
{
    generate_contact_spec spec = generate_contact_spec_default(kind);
    generated_contact p;
    spec.contacts = contacts;
    spec.mu_min = 0.2;
    if (!generate_contact(&spec, &p)) {
        return false;
    }
    const size_t n = (size_t)p.problem.dof_count + (size_t)p.problem.row_count;
    perp_context* context[SIDES] = {NULL};
    perp_contact_solver* solver[SIDES] = {NULL};
    double *x[SIDES], least[SIDES] = {INFINITY, INFINITY};
    perp_report report = {0};
    bool good = true;
    for (int k = 0; k < SIDES; ++k) {
        x[k] = malloc(n * sizeof *x[k]);
        good =
            good && x[k] != NULL && perp_context_create(NULL, &context[k]) == PERP_OK &&
            perp_context_set_threads(context[k], set->threads[k]) == PERP_OK &&
            perp_contact_solver_create(context[k], "newton-bodies", NULL, 0, &solver[k]) == PERP_OK;
    }
    for (int32_t i = 0; good && i < set->repeats; ++i) {
        for (int k = 0; good && k < SIDES; ++k) {
            good = solve_once(solver[k], &p.problem, x[k], &least[k], &report);
        }
        good = good && memcmp(x[0], x[1], n * sizeof *x[0]) == 0;
    }
    if (good) {
        char name[96];
        for (int k = 0; k < SIDES; ++k) {
            snprintf(name, sizeof name, "%s of %d contacts, threads %d",
                     generate_contact_name[kind], (int)p.problem.constraint_count,
                     (int)set->threads[k]);
            table_add(t, name, 1e3 * least[k], "ms");
        }
        snprintf(name, sizeof name, "%s of %d contacts: one thread / %d threads",
                 generate_contact_name[kind], (int)p.problem.constraint_count,
                 (int)set->threads[1]);
        table_add(t, name, least[0] / least[1], "");
    } else {
        fprintf(stderr, "threads: a problem failed, or its bits differ\n");
    }
    for (int k = 0; k < SIDES; ++k) {
        perp_contact_solver_destroy(solver[k]);
        perp_context_destroy(context[k]);
        free(x[k]);
    }
    generated_contact_free(&p);
    return good;
}

/* ---- a scene -------------------------------------------------------------------------------------------*/

typedef struct run {
    perp_context* context;
    perp_scene* scene;
    perp_sim* sim;
    double sum;
} run;

static bool open_run(run* r, const settings* set, int32_t threads)
{
    if (perp_context_create(NULL, &r->context) != PERP_OK) {
        return false;
    }
    if (perp_context_set_threads(r->context, threads) != PERP_OK ||
        perp_scene_load(r->context, set->scene, NULL, 0, &r->scene) != PERP_OK ||
        perp_sim_create_from_scene(r->context, r->scene, &r->sim) != PERP_OK) {
        fprintf(stderr, "threads: %s\n", perp_context_error(r->context));
        return false;
    }
    return true;
}

static bool step_both(const settings* set, run* r, void* state, size_t size)
{
    double least[SIDES] = {INFINITY, INFINITY};
    for (int32_t i = 0; i < set->repeats; ++i) {
        for (int k = 0; k < SIDES; ++k) {
            if (perp_sim_restore(r[k].sim, state, size) != PERP_OK) {
                return false;
            }
            const double begin = table_seconds();
            if (perp_sim_step(r[k].sim) != PERP_OK) {
                fprintf(stderr, "threads: %s\n", perp_context_error(r[k].context));
                return false;
            }
            const double took = table_seconds() - begin;
            least[k] = took < least[k] ? took : least[k];
        }
    }
    for (int k = 0; k < SIDES; ++k) {
        r[k].sum += least[k];
    }
    const size_t q = (size_t)perp_sim_q_size(r[0].sim), v = (size_t)perp_sim_v_size(r[0].sim);
    return memcmp(perp_sim_q(r[0].sim), perp_sim_q(r[1].sim), q * sizeof(double)) == 0 &&
           memcmp(perp_sim_v(r[0].sim), perp_sim_v(r[1].sim), v * sizeof(double)) == 0;
}

static bool measure_scene(const settings* set, table* t)
{
    run r[SIDES] = {{0}};
    void* state = NULL;
    size_t size = 0;
    int32_t done = 0;
    bool good = open_run(&r[0], set, set->threads[0]) && open_run(&r[1], set, set->threads[1]);
    while (good && perp_sim_time(r[1].sim) < set->from) {
        good = perp_sim_step(r[1].sim) == PERP_OK;
    }
    for (; good && done < set->steps; ++done) {
        size_t need = 0;
        good = perp_sim_save(r[1].sim, NULL, &need) == PERP_OK;
        if (good && need > size) {
            void* grown = realloc(state, need);
            good = grown != NULL;
            state = good ? grown : state;
            size = good ? need : size;
        }
        good = good && perp_sim_save(r[1].sim, state, &need) == PERP_OK &&
               step_both(set, r, state, need);
    }
    if (good) {
        char name[96];
        for (int k = 0; k < SIDES; ++k) {
            snprintf(name, sizeof name, "t = %g, %d steps, threads %d: step", set->from, (int)done,
                     (int)set->threads[k]);
            table_add(t, name, 1e3 * r[k].sum / done, "ms");
        }
        table_add(t, "one thread / several", r[0].sum / r[1].sum, "");
    } else {
        fprintf(stderr, "threads: a step failed, or its bits differ\n");
    }
    for (int k = 0; k < SIDES; ++k) {
        perp_sim_destroy(r[k].sim);
        perp_scene_destroy(r[k].scene);
        perp_context_destroy(r[k].context);
    }
    free(state);
    return good;
}

/* Options of this program; the table's are kept in argv. */
static bool read_options(int* argc, char** argv, settings* set)
{
    int kept = 1;
    bool good = true;
    for (int i = 1; i < *argc; ++i) {
        const char *name = argv[i], *value = i + 1 < *argc ? argv[i + 1] : "";
        int32_t* number = strcmp(name, "--threads") == 0   ? &set->threads[1]
                          : strcmp(name, "--steps") == 0   ? &set->steps
                          : strcmp(name, "--repeats") == 0 ? &set->repeats
                                                           : NULL;
        if (number != NULL) {
            *number = atoi(value);
            good = good && *number >= 1;
        } else if (strcmp(name, "--scene") == 0) {
            set->scene = value;
        } else if (strcmp(name, "--from") == 0) {
            set->from = atof(value);
        } else {
            argv[kept++] = argv[i];
            continue;
        }
        i += 1;
    }
    *argc = kept;
    return good;
}

int main(int argc, char** argv)
{
    settings set = {.threads = {1, 2}, .steps = 10, .repeats = 5};
    if (!read_options(&argc, argv, &set)) {
        fprintf(stderr, "usage: threads [--threads N] [--scene FILE [--from T] [--steps N]] "
                        "[--repeats N] [--json FILE]\n");
        return 2;
    }
    table t = table_begin("threads", argc, argv);
    bool good = true;
    if (set.scene != NULL) {
        good = measure_scene(&set, &t);
    } else {
        const int32_t contacts[] = {300, 1000, 3000};
        for (int i = 0; i < 3; ++i) {
            good = measure_problem(&set, GENERATE_WALL, contacts[i], &t) && good;
        }
        good = measure_problem(&set, GENERATE_PILE, contacts[0], &t) && good; /* hard to solve */
    }
    const int written = table_end(&t);
    return good ? written : 1;
}
