/* Problem files: the same bits come back, and no broken or truncated file does harm. */
#define _DEFAULT_SOURCE 1 /* symlink */
#include "perp_test.h"

#include <float.h>

#include "builder.h"

static const char* const path = "file_test_problem.json";
static builder B;

/* Awkward numbers on purpose: 1/3, -0, the smallest and largest doubles, infinite bounds. */
static builder* awkward(void)
{
    builder_new(&B);
    const double M[] = {1.0 / 3.0, 1e-9, 1e-9, 1e300};
    builder_block(&B, 2, M, NULL, (const double[]){-0.0, 4.9406564584124654e-324});
    builder_block(&B, 1, NULL, (const double[]){0.1}, (const double[]){DBL_MAX});
    const double J[12] = {1, -0.0, 0.1, 1e22, 123456789012345678.0, 2.5, 7, 8, 9, 1e-300, 11, 12};
    builder_contact(&B, 0, 1, 3, J, J, PERP_CONE_POLYGON, 8, 0.1)->key = UINT64_MAX;
    builder_constraint(&B, PERP_CONSTRAINT_EQUALITY, 0, -1, 2, J + 2, NULL)->key = 17;
    builder_bounded(&B, -1, 1, J, 0.0, -INFINITY, 0.7);
    builder_bounded(&B, 0, 1, J, 0.0, -DBL_MIN, INFINITY);
    builder_contact(&B, -1, 0, 4, J, NULL, PERP_CONE_ELLIPSOID, 0, 0.25)->e[2] = 1.0 / 7.0;
    builder_contact(&B, -1, 0, 1, J, NULL, PERP_CONE_NONE, 0, 0.0);
    builder_contact(&B, 0, -1, 3, J, NULL, PERP_CONE_QUADRATIC, 0, 2.0);
    builder_group(&B, 1, 3, (const int32_t[]){4, 0, 5});
    return &B;
}

static void check_same_bits(const double* a, const double* b, size_t count)
{
    CHECK(memcmp(a, b, count * sizeof *a) == 0);
}

TEST(a_problem_comes_back_to_the_bit)
{
    perp_context* context = NULL;
    perp_contact_file* file = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_write(context, &awkward()->P, path));
    REQUIRE_OK(perp_contact_read(context, path, &file));
    const perp_contact_problem* P = perp_contact_file_problem(file);
    CHECK_EQ_INT(P->block_count, 2);
    CHECK_EQ_INT(P->dof_count, 3);
    REQUIRE_EQ_INT(P->constraint_count, 7);
    REQUIRE_EQ_INT(P->row_count, B.P.row_count);
    REQUIRE_EQ_INT(P->group_count, 1);
    check_same_bits(P->M, B.M, 5);
    check_same_bits(P->k, B.k, 3);
    check_same_bits(P->J, B.J, B.jac);
    check_same_bits(P->b, B.b, (size_t)B.P.row_count);
    check_same_bits(P->lower + 5, B.lower + 5, 2);
    check_same_bits(P->upper + 5, B.upper + 5, 2);
    CHECK(signbit(P->k[0]) && signbit(P->J[1]));
    for (int i = 0; i < 7; ++i) {
        CHECK_EQ_INT(P->constraint[i].kind, B.c[i].kind);
        CHECK_EQ_INT(P->constraint[i].block[0], B.c[i].block[0]);
        CHECK_EQ_INT(P->constraint[i].block[1], B.c[i].block[1]);
        CHECK_EQ_INT(P->constraint[i].row, B.c[i].row);
        CHECK_EQ_INT(P->constraint[i].rows, B.c[i].rows);
        CHECK_EQ_INT(P->constraint[i].jac, B.c[i].jac);
        CHECK_EQ_U64(P->constraint[i].key, B.c[i].key);
        if (B.c[i].kind == PERP_CONSTRAINT_CONTACT) {
            CHECK_EQ_INT(P->constraint[i].cone, B.c[i].cone);
            CHECK_EQ_INT(P->constraint[i].directions, B.c[i].directions);
            check_same_bits(&P->constraint[i].mu, &B.c[i].mu, 1);
        }
    }
    check_same_bits(P->constraint[4].e, B.c[4].e, 3);
    CHECK_EQ_INT(P->group[0].primary, 1);
    REQUIRE_EQ_INT(P->group[0].count, 3);
    CHECK(P->group[0].member[0] == 4 && P->group[0].member[1] == 0 && P->group[0].member[2] == 5);
    perp_contact_file_destroy(file);
    remove(path);
    perp_context_destroy(context);
}

TEST(compliance_is_written_where_there_is_some_and_comes_back)
{
    perp_context* context = NULL;
    perp_contact_file* file = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    perp_contact_problem P = awkward()->P;
    REQUIRE_OK(perp_contact_write(context, &P, path));
    REQUIRE_OK(perp_contact_read(context, path, &file));
    CHECK(perp_contact_file_problem(file)->compliance == NULL);
    perp_contact_file_destroy(file);

    /* rows 3 and 4 are equality, 5 and 6 bounded; the contacts' own are not read */
    double c[B_ROWS] = {NAN, NAN, NAN, 0.1, 0.0, 1e-300, 1e300};
    P.compliance = c;
    REQUIRE_OK(perp_contact_write(context, &P, path));
    REQUIRE_OK(perp_contact_read(context, path, &file));
    REQUIRE(perp_contact_file_problem(file)->compliance != NULL);
    check_same_bits(perp_contact_file_problem(file)->compliance + 3, c + 3, 4);
    perp_contact_file_destroy(file);
    remove(path);
    perp_context_destroy(context);
}

static size_t slurp(const char* name, char* text, size_t room)
{
    FILE* f = fopen(name, "rb");
    const size_t n = f == NULL ? 0 : fread(text, 1, room, f);
    if (f != NULL) {
        fclose(f);
    }
    return n;
}

static bool spill(const char* name, const char* text, size_t length)
{
    FILE* f = fopen(name, "wb");
    return f != NULL && fwrite(text, 1, length, f) == length && fclose(f) == 0;
}

TEST(a_file_cut_anywhere_is_bad_input)
{
    static char text[65536];
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_write(context, &awkward()->P, path));
    const size_t length = slurp(path, text, sizeof text);
    REQUIRE(length > 100 && text[length - 1] == '\n' && text[length - 2] == '}');
    for (size_t cut = 0; cut < length - 1; ++cut) {
        perp_contact_file* file = NULL;
        REQUIRE(spill(path, text, cut));
        CHECK_EQ_INT(perp_contact_read(context, path, &file), PERP_ERROR_INPUT);
        CHECK(file == NULL);
        CHECK_CONTAINS(perp_context_error(context), path);
    }
    remove(path);
    perp_context_destroy(context);
}

TEST(a_file_with_one_wrong_value_is_refused_with_its_place)
{
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        {"perp-problem 1", "perp-problem 2", "format"},
        {"\"mu\": 0.10000000000000001", "\"mu\": -0.1", "constraint 0: mu must be >= 0, got -0.1"},
        {"\"mu\": 0.10000000000000001", "\"mu\": \"much\"", "/constraints/0/mu: must be a number"},
        {"\"mu\": 0.10000000000000001", "\"mo\": 0.1", "/constraints/0/mo: unknown key"},
        {"\"equality\"", "\"equalitee\"", "/constraints/1/kind"},
        {"\"blocks\": [0, 1]", "\"blocks\": [0, 7]", "/constraints/0/blocks"},
        {"\"blocks\": [0, 1]", "\"blocks\": [0, 1, 1]", "/constraints/0/blocks"},
        {"\"key\": \"17\"", "\"key\": \"18446744073709551616\"", "/constraints/1/key"},
        {"\"key\": \"17\"", "\"key\": \"1x\"", "/constraints/1/key"},
        {"\"lower\": [\"-inf\"]", "\"lower\": [\"inf\"]", "row 5: bounds"},
        {"\"lower\": [\"-inf\"]", "\"lower\": []", "/constraints/2/lower"},
        {"\"directions\": 8", "\"directions\": 8.5", "/constraints/0/directions"},
        {"\"directions\": 8", "\"directions\": 8, \"compliance\": [1, 1, 1]",
         "/constraints/0/compliance: is for equality and bounded rows"},
        {"\"key\": \"17\"", "\"compliance\": [1]", "/constraints/1/compliance: must be a list"},
        {"\"key\": \"17\"", "\"compliance\": [1, -1]", "constraint 1: compliance[4]"},
        {"\"members\": [4", "\"members\": [99", "group 0: member 0"},
        {"\"members\": [4", "\"members\": [99999999999", "/groups/0/members"},
        {"\"primary\": 1", "\"primary\": null", "/groups/0/primary"},
        {"\"k\": [", "\"k\": [1, ", "/blocks/0"},
        {"\"k\": [", "\"k\": [1, 2, 3, 4, 5, ", "/blocks/0/k"},
        {"\"M\": [[", "\"M\": [[{", ":3:"},
        {"\"groups\": [", "\"groups\": 3, \"x\": [", "unknown key"},
        {"\"blocks\": [", "\"blocks\": [3, ", "/blocks/0"},
        {"\"constraints\": [", "\"constraints\": [[], ", "/constraints/0"},
    };
    static char text[65536], changed[65536];
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perp_contact_write(context, &awkward()->P, path));
    const size_t length = slurp(path, text, sizeof text - 1);
    text[length] = '\0';
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const char* at = strstr(text, cases[i].from);
        REQUIRE(at != NULL);
        const int n = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text,
                               cases[i].to, at + strlen(cases[i].from));
        REQUIRE(spill(path, changed, (size_t)n));
        perp_contact_file* file = NULL;
        CHECK_EQ_INT(perp_contact_read(context, path, &file), PERP_ERROR_INPUT);
        CHECK_CONTAINS(perp_context_error(context), cases[i].message);
        CHECK_CONTAINS(perp_context_error(context), path);
    }
    remove(path);
    perp_context_destroy(context);
}

TEST(an_invalid_problem_is_not_written)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    awkward()->k[1] = NAN;
    CHECK_EQ_INT(perp_contact_write(context, &B.P, path), PERP_ERROR_INPUT);
    CHECK(fopen(path, "rb") == NULL);
    perp_context_destroy(context);
}

TEST(a_missing_folder_and_a_full_disk_name_the_path_and_the_reason)
{
    perp_context* context = NULL;
    perp_contact_file* file = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    CHECK_EQ_INT(perp_contact_write(context, &awkward()->P, "no/such/folder/p.json"),
                 PERP_ERROR_IO);
    CHECK_CONTAINS(perp_context_error(context), "no/such/folder/p.json");
    CHECK_CONTAINS(perp_context_error(context), "No such file");
    CHECK_EQ_INT(perp_contact_read(context, "no/such/file.json", &file), PERP_ERROR_IO);
    CHECK_CONTAINS(perp_context_error(context), "no/such/file.json");
    CHECK_EQ_INT(perp_contact_read(context, ".", &file), PERP_ERROR_IO); /* a folder */
    CHECK(file == NULL);
    /* the temporary file is a link to the disk that is always full */
    remove("full.json.part");
    if (symlink("/dev/full", "full.json.part") == 0) {
        CHECK_EQ_INT(perp_contact_write(context, &B.P, "full.json"), PERP_ERROR_IO);
        CHECK_CONTAINS(perp_context_error(context), "No space left");
        CHECK(fopen("full.json", "rb") == NULL);
        CHECK(fopen("full.json.part", "rb") == NULL);
    }
    perp_context_destroy(context);
}

/* Fails the n-th request for memory. */
static long left;
static void* scarce(void* user, void* p, size_t size)
{
    (void)user;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return left-- > 0 ? realloc(p, size) : NULL;
}

TEST(running_out_of_memory_at_any_point_leaks_nothing)
{
    const perp_context_def def = {.allocator = {scarce, NULL}};
    bool done = false;
    for (long n = 1; !done && n < 100; ++n) {
        perp_context* context = NULL;
        perp_contact_file* file = NULL;
        left = 1000;
        REQUIRE_OK(perp_context_create(&def, &context));
        REQUIRE_OK(perp_contact_write(context, &awkward()->P, path));
        left = n - 1;
        const perp_status status = perp_contact_read(context, path, &file);
        done = status == PERP_OK;
        CHECK(done || status == PERP_ERROR_MEMORY);
        perp_contact_file_destroy(file);
        left = 0;
        CHECK_EQ_INT(perp_contact_write(context, &awkward()->P, path), PERP_ERROR_MEMORY);
        perp_context_destroy(context);
    }
    CHECK(done);
    remove(path);
}
