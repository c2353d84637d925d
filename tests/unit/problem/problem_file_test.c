/* tests/unit/problem/problem_file_test.c - problem files of every kind, whole and broken. */
#include "perp_test.h"

#include <zlib.h>

#include "perp/problem.h"
#include "problem/io/ccp.h"

static const char LCP[] =
    "ccp 1\nname two\nkind lcp\nn 2\nmatrix M 2 2 3\n0 0 2\n1 0 1\n1 1 2.5e0\n"
    "vector q 2\n-4 1\nend\n";
static const char MLCP[] =
    "ccp 1 name m kind mlcp n 2 n_eq 1 n_comp 1 matrix M 2 2 3 0 0 1 1 0 -1 0 "
    "1 1 vector q 2 1 -1 end";
static const char BLCP[] =
    "ccp 1 name b kind blcp n 1 matrix M 1 1 1 0 0 2 vector q 1 -8 vector lb 1 "
    "-inf vector ub 1 3 end";
/* One planar contact: W = diag(2, 1), q = (-2, 3), mu = 1; r = (1, -1), u = (0, 2). */
static const char FC2D[] =
    "ccp 1 name f kind fc2d n 2 dim 2 nc 1 matrix W 2 2 2 0 0 2 1 1 1 vector q "
    "2 -2 3 vector mu 1 1 end";
/* Two unit masses, one contact that sees the first: v = (u, free). W = diag(1, 0.5). */
static const char GFC2D[] =
    "ccp 1 name g kind gfc2d n 3 dim 2 nc 1 matrix M 3 3 3 0 0 1 1 1 2 2 2 4 "
    "matrix H 3 2 2 0 0 1 1 1 1 vector q 3 -1 4 8 vector b 2 0 0 vector mu 1 "
    "1 end";

static perp_context* context;

static void write_bytes(const char* path, const void* bytes, size_t size)
{
    FILE* f = fopen(path, "wb");
    REQUIRE(f != NULL);
    CHECK(fwrite(bytes, 1, size, f) == size);
    fclose(f);
}

static perp_problem_file* read_text(const char* text)
{
    perp_problem_file* file = NULL;
    write_bytes("problem.ccp", text, strlen(text));
    CHECK_OK(perp_problem_read(context, "problem.ccp", &file));
    return file;
}

TEST(an_lcp_comes_dense_and_as_an_mlcp)
{
    REQUIRE_OK(perp_context_create(NULL, &context));
    perp_problem_file* file = read_text(LCP);
    REQUIRE(file != NULL);
    CHECK_EQ_INT(perp_problem_file_kind(file), PERP_PROBLEM_LCP);
    CHECK_EQ_STR(perp_problem_file_name(file), "two");
    const perp_lcp* lcp = perp_problem_file_lcp(file);
    REQUIRE(lcp != NULL && lcp->n == 2);
    const double M[] = {2, 0, 1, 2.5};
    for (int i = 0; i < 4; ++i) {
        CHECK(lcp->M[i] == M[i]);
    }
    const perp_mlcp* mlcp = perp_problem_file_mlcp(file);
    REQUIRE(mlcp != NULL);
    CHECK(mlcp->lower[0] == 0.0 && mlcp->upper[1] == INFINITY);
    CHECK(perp_problem_file_friction(file) == NULL && perp_problem_file_contact(file) == NULL);
    /* z = (2, 0): w = (0, 3). z = (1, 0): min(z, w) = (-2, 0), |q| = sqrt(17) */
    perp_plain_residual r;
    CHECK_OK(perp_problem_file_residual(file, (const double[]){2, 0}, NULL, &r));
    CHECK_AT_MOST(r.e, 0.0);
    CHECK_OK(perp_problem_file_residual(file, (const double[]){1, 0}, NULL, &r));
    CHECK_NEAR(r.e, 2.0 / sqrt(17.0), 1e-15);
    CHECK(isnan(r.scaled));
    CHECK_OK(perp_problem_file_residual(file, (const double[]){NAN, 0}, NULL, &r));
    CHECK(r.e == INFINITY);
    perp_problem_file_destroy(file);
    perp_context_destroy(context);
}

TEST(mixed_and_bounded_problems_keep_their_bounds)
{
    REQUIRE_OK(perp_context_create(NULL, &context));
    perp_problem_file* file = read_text(MLCP);
    REQUIRE(file != NULL && perp_problem_file_mlcp(file) != NULL);
    CHECK(perp_problem_file_lcp(file) == NULL);
    CHECK(perp_problem_file_mlcp(file)->lower[0] == -INFINITY);
    CHECK(perp_problem_file_mlcp(file)->lower[1] == 0.0);
    perp_problem_file_destroy(file);
    file = read_text(BLCP);
    REQUIRE(file != NULL && perp_problem_file_mlcp(file) != NULL);
    CHECK(perp_problem_file_mlcp(file)->lower[0] == -INFINITY);
    CHECK(perp_problem_file_mlcp(file)->upper[0] == 3.0);
    perp_plain_residual r;
    CHECK_OK(perp_problem_file_residual(file, (const double[]){3}, NULL, &r)); /* w = -2 at upper */
    CHECK_AT_MOST(r.e, 0.0);
    perp_problem_file_destroy(file);
    perp_context_destroy(context);
}

TEST(a_friction_problem_is_solved_by_its_hand_made_answer)
{
    REQUIRE_OK(perp_context_create(NULL, &context));
    perp_problem_file* file = read_text(FC2D);
    REQUIRE(file != NULL && perp_problem_file_friction(file) != NULL);
    const perp_friction_problem* F = perp_problem_file_friction(file);
    CHECK_OK(perp_friction_check(context, F));
    double work[16];
    const double r[] = {1, -1};
    CHECK_AT_MOST(perp_friction_check_residual(F, r, work).worst, 0.0);
    perp_plain_residual plain;
    CHECK_OK(perp_problem_file_residual(file, r, NULL, &plain));
    CHECK_AT_MOST(plain.e, 1e-16);
    CHECK_AT_MOST(plain.scaled, 1e-16);
    perp_problem_file_destroy(file);
    perp_context_destroy(context);
}

TEST(a_global_problem_loses_its_velocities_and_gets_them_back)
{
    REQUIRE_OK(perp_context_create(NULL, &context));
    perp_problem_file* file = read_text(GFC2D);
    REQUIRE(file != NULL && perp_problem_file_friction(file) != NULL);
    const perp_friction_problem* F = perp_problem_file_friction(file);
    CHECK(F->W.value[0] == 1.0 && F->W.value[1] == 0.0 && F->W.value[3] == 0.5);
    CHECK(F->q[0] == -1.0 && F->q[1] == 2.0);
    CHECK_EQ_INT(perp_problem_file_velocity_count(file), 3);
    /* r = (1, -1): u = (0, 1.5), slips */
    double v[3];
    const double r[] = {1, -1};
    perp_plain_residual plain;
    CHECK_OK(perp_problem_file_reconstruct(file, r, v));
    CHECK(v[0] == 0.0 && v[1] == 1.5 && v[2] == 2.0);
    CHECK_OK(perp_problem_file_residual(file, r, v, &plain));
    CHECK_AT_MOST(plain.e, 1e-15);
    perp_problem_file_destroy(file);
    perp_context_destroy(context);
}

static perp_status read_status(const char* text, size_t size)
{
    perp_problem_file* file = NULL;
    write_bytes("broken.ccp", text, size);
    const perp_status status = perp_problem_read(context, "broken.ccp", &file);
    CHECK((status == PERP_OK) == (file != NULL));
    perp_problem_file_destroy(file);
    return status;
}

TEST(a_text_cut_anywhere_is_refused)
{
    REQUIRE_OK(perp_context_create(NULL, &context));
    const char* const texts[] = {LCP, MLCP, BLCP, FC2D, GFC2D};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; ++t) {
        const size_t whole = (size_t)(strstr(texts[t], "end") - texts[t]) + 3;
        for (size_t n = 0; n < whole; ++n) {
            CHECK_EQ_INT(read_status(texts[t], n), PERP_ERROR_INPUT);
        }
        CHECK_EQ_INT(read_status(texts[t], whole), PERP_OK);
    }
    perp_context_destroy(context);
}

TEST(nonsense_is_refused_with_file_and_line)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"ccp 2", "version"},
        {"hello", "'ccp'"},
        {"ccp 1\nkind sudoku end", "broken.ccp:2"},
        {"ccp 1\nkind lcp\nn 2\nmatrix M 2 2 2000000000\n0 0 1\nend", "broken.ccp:4"},
        {"ccp 1\nkind lcp\nn -2\nend", "broken.ccp:3"},
        {"ccp 1 kind lcp n 99999999999999999999 end", "expected"},
        {"ccp 1 kind lcp n 1000000000 end", "at most"},
        {"ccp 1 kind lcp n 2 n 2 end", "once"},
        {"ccp 1 kind lcp n 1 matrix M 1 1 1 0 1 5 vector q 1 1 end", "inside the matrix"},
        {"ccp 1 kind lcp n 1 matrix M 1 1 1 0 0 nan vector q 1 1 end", "a number"},
        {"ccp 1 kind lcp n 1 matrix M 1 1 1 0 0 inf vector q 1 1 end", "finite"},
        {"ccp 1 kind lcp n 1 matrix M 1 1 1 0 0 1e999 vector q 1 1 end", "a number"},
        {"ccp 1 kind lcp n 1 matrix M 1 1 1 0 0 0x10 vector q 1 1 end", "a number"},
        {"ccp 1 kind lcp n 2 matrix M 2 2 2 0 0 1 0 0 1 vector q 2 1 1 end", "duplicates"},
        {"ccp 1 kind lcp n 1 matrix M 1 1 0 end", "vector q"},
        {"ccp 1 kind lcp n 2 matrix M 1 1 0 vector q 2 1 1 end", "matrix M"},
        {"ccp 1 kind mlcp n 2 n_eq 1 n_comp 2 matrix M 2 2 0 vector q 2 1 1 end", "n_eq"},
        {"ccp 1 kind blcp n 1 matrix M 1 1 0 vector q 1 1 vector lb 1 2 vector ub 1 1 end",
         "lb <= ub"},
        {"ccp 1 kind fc3d n 3 dim 2 nc 1 matrix W 3 3 0 vector q 3 1 1 1 vector mu 1 1 end", "dim"},
        {"ccp 1 kind fc3d n 3 dim 3 nc 1 matrix W 3 3 0 vector q 3 1 1 1 vector mu 1 -1 end",
         "mu[0]"},
        {"ccp 1 kind gfc2d n 1 dim 2 nc 1 matrix M 1 1 0 matrix H 1 2 0 vector q 1 1 vector b 2 0 "
         "0 "
         "vector mu 1 1 end",
         "singular"},
        {"ccpsol 1 vector z 1 1 end", "solution"},
        {"ccp 1 \xff\xfe end", "ASCII"},
    };
    REQUIRE_OK(perp_context_create(NULL, &context));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        CHECK_EQ_INT(read_status(bad[i].text, strlen(bad[i].text)), PERP_ERROR_INPUT);
        CHECK_CONTAINS(perp_context_error(context), bad[i].says);
        CHECK_CONTAINS(perp_context_error(context), "broken.ccp");
    }
    perp_problem_file* file = NULL;
    CHECK_EQ_INT(perp_problem_read(context, "no-such-file.ccp", &file), PERP_ERROR_IO);
    perp_context_destroy(context);
}

TEST(packed_text_is_read_and_cut_packed_text_refused)
{
    REQUIRE_OK(perp_context_create(NULL, &context));
    gzFile f = gzopen("packed.ccp.gz", "wb");
    REQUIRE(f != NULL);
    CHECK(gzwrite(f, LCP, (unsigned)strlen(LCP)) == (int)strlen(LCP));
    gzclose(f);
    perp_problem_file* file = NULL;
    REQUIRE_OK(perp_problem_read(context, "packed.ccp.gz", &file));
    CHECK(perp_problem_file_lcp(file)->M[3] == 2.5);
    perp_problem_file_destroy(file);
    char bytes[512];
    FILE* packed = fopen("packed.ccp.gz", "rb");
    const size_t size = fread(bytes, 1, sizeof bytes, packed);
    fclose(packed);
    for (size_t n = 0; n < size; n += 7) {
        CHECK_EQ_INT(read_status(bytes, n), PERP_ERROR_INPUT);
    }
    perp_context_destroy(context);
}

TEST(a_friction_problem_survives_the_hdf5_layout)
{
    REQUIRE_OK(perp_context_create(NULL, &context));
    perp_problem_file *file = read_text(FC2D), *again = NULL;
    REQUIRE(file != NULL);
    const perp_friction_problem* F = perp_problem_file_friction(file);
    REQUIRE_OK(perp_friction_write(context, F, "planar", "planar.hdf5"));
    REQUIRE_OK(perp_problem_read(context, "planar.hdf5", &again));
    CHECK_EQ_INT(perp_problem_file_kind(again), PERP_PROBLEM_FC2D);
    CHECK_EQ_STR(perp_problem_file_name(again), "planar");
    const perp_friction_problem* G = perp_problem_file_friction(again);
    REQUIRE(G != NULL && G->row_count == 2);
    for (int i = 0; i < 4; ++i) {
        CHECK(G->W.value[i] == F->W.value[i]);
    }
    CHECK(G->q[0] == F->q[0] && G->q[1] == F->q[1] && G->constraint[0].mu == 1.0);
    perp_problem_file_destroy(again);

    perp_constraint bounded = F->constraint[0];
    bounded.kind = PERP_CONSTRAINT_EQUALITY;
    perp_friction_problem other = *F;
    other.constraint = &bounded;
    CHECK_EQ_INT(perp_friction_write(context, &other, "", "x.hdf5"), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_friction_write(context, F, "", "no/such/folder.hdf5"), PERP_ERROR_IO);
    perp_problem_file_destroy(file);

    /* cut short anywhere: refused, never a crash */
    char bytes[20000];
    FILE* whole = fopen("planar.hdf5", "rb");
    REQUIRE(whole != NULL);
    const size_t size = fread(bytes, 1, sizeof bytes, whole);
    fclose(whole);
    for (size_t n = 8; n < size; n += 97) {
        CHECK_EQ_INT(read_status(bytes, n), PERP_ERROR_INPUT);
    }
    perp_context_destroy(context);
}

/* ---- no memory -------------------------------------------------------------------------------------*/

typedef struct failing {
    long left;
} failing;

static void* failing_resize(void* user, void* p, size_t size)
{
    failing* f = user;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return f->left-- > 0 ? realloc(p, size) : NULL;
}

TEST(running_out_of_memory_at_any_point_is_an_error_and_leaks_nothing)
{
    const char* const texts[] = {LCP, BLCP, FC2D, GFC2D};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; ++t) {
        write_bytes("memory.ccp", texts[t], strlen(texts[t]));
        bool done = false;
        for (long n = 1; !done && n < 200; ++n) {
            failing f = {n};
            perp_context_def def = perp_context_def_default();
            def.allocator = (perp_allocator){failing_resize, &f};
            if (perp_context_create(&def, &context) != PERP_OK) {
                continue;
            }
            perp_problem_file* file = NULL;
            const perp_status status = perp_problem_read(context, "memory.ccp", &file);
            done = status == PERP_OK;
            CHECK(done || status == PERP_ERROR_MEMORY);
            perp_problem_file_destroy(file);
            perp_context_destroy(context);
        }
        CHECK(done);
    }
}
