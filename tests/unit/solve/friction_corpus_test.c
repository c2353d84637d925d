/* tests/unit/solve/friction_corpus_test.c - nsgs and newton on the friction problems of the shared
 * corpus, which lies beside the source tree: PERP_SOURCE/../shared/corpus. Skipped without it. */
#include <dirent.h>

#include "perp/solve.h"
#include "perp_test.h"

enum { NAMES_MAX = 200 };

static int compare_names(const void* a, const void* b)
{
    return strcmp(*(char* const*)a, *(char* const*)b);
}

/* Problem files of a folder, sorted; returns how many. */
static int list_problems(const char* folder, char** name)
{
    DIR* dir = opendir(folder);
    int count = 0;
    if (dir == NULL) {
        return 0;
    }
    for (const struct dirent* e; (e = readdir(dir)) != NULL && count < NAMES_MAX;) {
        const char* end = strstr(e->d_name, ".ccp");
        if (end != NULL && (strcmp(end, ".ccp") == 0 || strcmp(end, ".ccp.gz") == 0)) {
            name[count++] = strdup(e->d_name);
        }
    }
    closedir(dir);
    qsort(name, (size_t)count, sizeof *name, compare_names);
    return count;
}

typedef struct tally {
    int problems, at_12, at_8, scaled_8;
    double seconds;
} tally;

static void solve_one(perp_context* context, const char* method, perp_problem_file* file,
                      int32_t max_iter, double time_limit, tally* t)
{
    const perp_friction_problem* P = perp_problem_file_friction(file);
    double* r = calloc((size_t)P->row_count, sizeof *r);
    const int32_t nv = perp_problem_file_velocity_count(file);
    double* v = nv > 0 ? calloc((size_t)nv, sizeof *v) : NULL;
    perp_friction_solver* solver = NULL;
    perp_solve_options options = perp_solve_options_default();
    perp_report report = {.outcome = PERP_OUTCOME_UNSET};
    perp_plain_residual plain = {INFINITY, INFINITY};
    options.tolerance = 1e-13;
    options.max_iter = max_iter;
    options.time_limit = time_limit;
    perp_status status = perp_friction_solver_create(context, method, NULL, 0, &solver);
    if (status == PERP_OK) {
        status = perp_friction_solve(solver, P, &options, false, r, NULL, &report);
    }
    if (status == PERP_OK && nv > 0) {
        status = perp_problem_file_reconstruct(file, r, v);
    }
    if (status == PERP_OK) {
        status = perp_problem_file_residual(file, r, v, &plain);
    }
    CHECK_OK(status);
    TEST_PRINT("%-42s %-7s e %.1e  scaled %.1e  judge %.1e  it %5d  %9.3f ms",
               perp_problem_file_name(file), method, plain.e, plain.scaled, report.residual,
               report.iterations, 1e3 * report.seconds);
    t->problems += 1;
    t->at_12 += plain.e <= 1e-12;
    t->at_8 += plain.e <= 1e-8;
    t->scaled_8 += plain.scaled <= 1e-8;
    t->seconds += report.seconds;
    perp_friction_solver_destroy(solver);
    free(v);
    free(r);
}

TEST(nsgs_and_newton_solve_the_friction_problems_of_the_corpus)
{
    static const char* const kind[] = {"fc2d", "fc3d", "gfc2d", "gfc3d"};
    const char* source = getenv("PERP_SOURCE");
    char folder[512], path[1024];
    perp_context* context = NULL;
    tally nsgs = {0}, newton = {0};
    REQUIRE_OK(perp_context_create(NULL, &context));
    for (size_t k = 0; k < 4; ++k) {
        char* name[NAMES_MAX];
        snprintf(folder, sizeof folder, "%s/../shared/corpus/%s", source != NULL ? source : ".",
                 kind[k]);
        const int count = list_problems(folder, name);
        for (int i = 0; i < count; ++i) {
            perp_problem_file* file = NULL;
            snprintf(path, sizeof path, "%s/%s", folder, name[i]);
#ifdef PERP_TEST_SANITIZED
            const bool skip =
                strstr(name[i], "07002") != NULL || strstr(name[i], "RockPile") != NULL;
#else
            const bool skip = false;
#endif
            if (!skip) {
                CHECK_OK(perp_problem_read(context, path, &file));
            }
            if (file != NULL && perp_problem_file_friction(file) != NULL &&
                perp_problem_file_friction(file)->row_count > 0) {
                solve_one(context, "nsgs", file, 2000, 2.0, &nsgs);
                solve_one(context, "newton", file, 0, 60.0, &newton);
            }
            perp_problem_file_destroy(file);
            free(name[i]);
        }
    }
    perp_context_destroy(context);
    if (newton.problems == 0) {
        SKIP("no corpus beside the source tree");
    }
    TEST_PRINT("nsgs    %d problems: e <= 1e-12 %d, e <= 1e-8 %d, scaled <= 1e-8 %d, %.2f s",
               nsgs.problems, nsgs.at_12, nsgs.at_8, nsgs.scaled_8, nsgs.seconds);
    TEST_PRINT("newton  %d problems: e <= 1e-12 %d, e <= 1e-8 %d, scaled <= 1e-8 %d, %.2f s",
               newton.problems, newton.at_12, newton.at_8, newton.scaled_8, newton.seconds);
    CHECK_EQ_INT(newton.at_12, newton.problems);
    CHECK_EQ_INT(newton.scaled_8, newton.problems);
    CHECK_AT_LEAST(nsgs.at_12, 0.75 * nsgs.problems);
}
