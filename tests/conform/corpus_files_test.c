/* tests/conform/corpus_files_test.c - every problem of the shared corpus is read, and the residual of
 * its reference solution is the one that the corpus states (computed there by other code). Looks in
 * $PERP_SOURCE/../shared/corpus; skipped where that is not.
 */
#include "perp_test.h"

#include "perp/solve.h"
#include "problem/io/ccp.h"

#define ROUNDING 1e-14 /* below this a residual is rounding and depends on the order of summation */

static void corpus_path(char* path, size_t size, const char* name)
{
    const char* source = getenv("PERP_SOURCE");
    snprintf(path, size, "%s/../shared/corpus/%s", source != NULL ? source : PERP_SOURCE_DIR, name);
}

/* The index-th field of a line of comma-separated values. */
static void field(const char* line, int index, char* out, size_t size)
{
    for (; index > 0 && line != NULL; --index) {
        line = strchr(line, ',');
        line = line != NULL ? line + 1 : NULL;
    }
    snprintf(out, size, "%.*s", line != NULL ? (int)strcspn(line, ",\r\n") : 0,
             line != NULL ? line : "");
}

static void check_problem(perp_context* context, const char* line)
{
    char name[128], relative[256], solution[256], stated[32], path[600];
    field(line, 0, name, sizeof name);
    field(line, 1, relative, sizeof relative);
    field(line, 14, solution, sizeof solution);
    field(line, 15, stated, sizeof stated);
    corpus_path(path, sizeof path, relative);
    perp_problem_file* file = NULL;
    REQUIRE_OK(perp_problem_read(context, path, &file));
    CHECK_EQ_STR(perp_problem_file_name(file), name);
    if (perp_problem_file_friction(file) != NULL) {
        CHECK_OK(perp_friction_check(context, perp_problem_file_friction(file)));
    } else {
        CHECK_OK(perp_mlcp_check(context, perp_problem_file_mlcp(file)));
    }
    if (solution[0] != '\0') {
        corpus_path(path, sizeof path, solution);
        perpi_ccp s = {0};
        CHECK_OK(perpi_ccp_read(context, path, &s));
        const perpi_ccp_vector* z =
            s.vector[PERPI_CCP_z].given ? &s.vector[PERPI_CCP_z] : &s.vector[PERPI_CCP_r];
        perp_plain_residual r = {NAN, NAN};
        CHECK_OK(perp_problem_file_residual(file, z->at, s.vector[PERPI_CCP_v].at, &r));
        const double e = strtod(stated, NULL);
        const bool same = r.e <= ROUNDING && e <= ROUNDING;
        if (!same) {
            CHECK_NEAR(r.e, e, 0.06 * e);
        }
        const int32_t n = perp_problem_file_velocity_count(file);
        if (n > 0) { /* the velocities that go with r fit at least as well as those in the file */
            double* v = calloc((size_t)n, sizeof *v);
            perp_plain_residual lifted = {NAN, NAN};
            CHECK_OK(perp_problem_file_reconstruct(file, z->at, v));
            CHECK_OK(perp_problem_file_residual(file, z->at, v, &lifted));
            CHECK_AT_MOST(lifted.e, 1.06 * e + 1e-13);
            free(v);
        }
        perpi_ccp_free(context, &s);
    }
    perp_problem_file_destroy(file);
}

TEST(every_reference_solution_has_the_residual_that_the_corpus_states)
{
    char path[600], line[4096];
    corpus_path(path, sizeof path, "manifest.csv");
    FILE* manifest = fopen(path, "r");
    if (manifest == NULL) {
        SKIP("the corpus is not here");
    }
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    int count = 0;
    if (fgets(line, sizeof line, manifest) != NULL) {
        while (fgets(line, sizeof line, manifest) != NULL) {
            check_problem(context, line);
            ++count;
        }
    }
    fclose(manifest);
    CHECK(count > 0);
    perp_context_destroy(context);
}
