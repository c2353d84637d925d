/* The checks: a sound problem passes; each rule, broken alone, is named with its index. */
#include "perp_test.h"

#include "builder.h"

static perp_context* context;
static builder B;

/* Two blocks, one constraint of each kind, a second contact, and a group. */
static builder* sound(void)
{
    if (context == NULL && perp_context_create(NULL, &context) != PERP_OK) {
        abort();
    }
    builder_new(&B);
    const double M[] = {2, 0.5, 0.5, 1};
    builder_block(&B, 2, M, NULL, (const double[]){1, 2});
    builder_block(&B, 1, NULL, (const double[]){3}, (const double[]){4});
    const double J[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    builder_contact(&B, 0, 1, 3, J, NULL, PERP_CONE_POLYGON, 4, 0.5);
    builder_constraint(&B, PERP_CONSTRAINT_EQUALITY, 0, -1, 2, J, NULL);
    builder_bounded(&B, -1, 1, J, 0.0, -1.0, INFINITY);
    perp_constraint* c = builder_contact(&B, -1, 0, 4, J, NULL, PERP_CONE_ELLIPSOID, 0, 0.25);
    c->e[2] = 0.1;
    builder_group(&B, 1, 2, (const int32_t[]){0, 3});
    return &B;
}

static void check_refused(const char* part)
{
    CHECK_EQ_INT(perp_contact_check(context, &B.P), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), part);
}

TEST(a_sound_problem_passes)
{
    CHECK_OK(perp_contact_check((sound(), context), &B.P));
    builder_new(&B);
    CHECK_OK(perp_contact_check(context, &B.P)); /* so does an empty one */
}

TEST(blocks_are_checked)
{
    sound()->P.block_count = -1;
    check_refused("sizes must be >= 0");
    sound()->dof[0] = 1;
    check_refused("dof[0] must be 0");
    sound()->dof[1] = 0;
    check_refused("block 0: must have 1 to 6 velocities, got 0");
    sound()->dof[2] = 9;
    check_refused("block 1: must have 1 to 6 velocities, got 7");
    sound()->P.dof_count = 4;
    check_refused("must be dof_count = 4");
    sound()->M[1] = 0.6;
    check_refused("block 0: M must be symmetric");
    sound()->M[4] = -3;
    check_refused("block 1: M must be positive definite");
    sound()->M[4] = NAN;
    check_refused("block 1: M(0,0) must be a finite number, got nan");
    sound()->M[1] = 2;
    B.M[2] = 2;
    check_refused("block 0: M must be positive definite");
    sound()->k[2] = INFINITY;
    check_refused("k[2]: must be a finite number, got inf");
    sound()->P.k = NULL;
    check_refused("k: is NULL");
}

TEST(constraints_are_checked)
{
    sound()->c[1].kind = (perp_constraint_kind)7;
    check_refused("constraint 1: unknown kind 7");
    sound()->c[2].block[1] = 2;
    check_refused("constraint 2: block[1] must be -1 to 1, got 2");
    sound()->c[2].block[0] = -2;
    check_refused("constraint 2: block[0] must be -1 to 1, got -2");
    sound()->c[0].block[1] = 0;
    check_refused("constraint 0: its two blocks must differ");
    sound()->c[2].row = 6;
    check_refused("constraint 2: row must be 5");
    sound()->c[1].rows = 0;
    check_refused("constraint 1: rows must be >= 1");
    sound()->c[1].rows = 1000000;
    check_refused("constraint 1: rows must be >= 1 and fit");
    sound()->P.row_count = 11;
    B.b[10] = 0;
    check_refused("row_count must be the sum of rows = 10, got 11");
    sound()->J[B.c[1].jac + 3] = NAN;
    check_refused("constraint 1: J of block 0, row 1, column 1");
    sound()->b[4] = -INFINITY;
    check_refused("constraint 1: b[4]");
}

TEST(cones_are_checked)
{
    sound()->c[0].mu = -0.1;
    check_refused("constraint 0: mu must be >= 0, got -0.1");
    sound()->c[0].mu = NAN;
    check_refused("constraint 0: mu must be >= 0, got nan");
    sound()->c[0].mu = INFINITY;
    check_refused("constraint 0: mu must be >= 0, got inf");
    sound()->c[0].directions = 2;
    check_refused("constraint 0: directions must be >= 3");
    sound()->c[0].cone = PERP_CONE_NONE;
    check_refused("constraint 0: cone none has 1 row");
    sound()->c[3].cone = PERP_CONE_QUADRATIC;
    check_refused("constraint 3: cones polygon and quadratic have 2 or 3 rows");
    sound()->c[0].cone = PERP_CONE_ELLIPSOID;
    check_refused("constraint 0: cone ellipsoid has 4 rows");
    sound()->c[0].cone = (perp_cone)9;
    check_refused("constraint 0: unknown cone");
    sound()->c[3].e[2] = 0.0;
    check_refused("constraint 3: e[2] must be > 0, got 0");
    sound()->c[3].e[0] = NAN;
    check_refused("constraint 3: e[0] must be > 0, got nan");
}

TEST(bounds_and_groups_are_checked)
{
    sound()->lower[5] = NAN;
    check_refused("row 5: bounds must satisfy");
    sound()->lower[5] = 2;
    B.upper[5] = 1;
    check_refused("row 5: bounds must satisfy");
    sound()->lower[5] = -INFINITY;
    B.upper[5] = -INFINITY;
    check_refused("row 5: bounds must satisfy");
    sound()->P.lower = NULL;
    check_refused("constraint 2: is bounded, but lower or upper is NULL");
    sound()->g[0].count = 1;
    check_refused("group 0: must have at least 2 members");
    sound()->g[0].primary = 0;
    check_refused("group 0: primary must be 1 to 2, got 0");
    sound()->g[0].primary = 3;
    check_refused("group 0: primary must be 1 to 2, got 3");
    sound()->member[0][1] = 1;
    check_refused("group 0: member 1 must be a contact, got 1");
    sound()->member[0][1] = 4;
    check_refused("group 0: member 1 must be a contact, got 4");
    sound()->member[0][1] = 0;
    check_refused("group 0: constraint 0 is a member twice");
}

TEST(an_lcp_is_checked)
{
    sound();
    double M[] = {1, 0, 0, 1}, q[] = {1, 2};
    CHECK_OK(perp_lcp_check(context, &(perp_lcp){2, M, q}));
    CHECK_OK(perp_lcp_check(context, &(perp_lcp){0, NULL, NULL}));
    CHECK_EQ_INT(perp_lcp_check(context, &(perp_lcp){-1, M, q}), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_lcp_check(context, &(perp_lcp){2, NULL, q}), PERP_ERROR_INPUT);
    M[2] = NAN;
    CHECK_EQ_INT(perp_lcp_check(context, &(perp_lcp){2, M, q}), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "M(1,0)");
    M[2] = 0, q[1] = -INFINITY;
    CHECK_EQ_INT(perp_lcp_check(context, &(perp_lcp){2, M, q}), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "q[1]");
}

TEST(an_mlcp_is_checked)
{
    sound();
    int32_t start[] = {0, 2, 3}, row[] = {0, 1, 1};
    double value[] = {1, 2, 3}, q[] = {1, 2}, lower[] = {0, -INFINITY}, upper[] = {1, INFINITY};
    const perp_mlcp good = {{2, 2, start, row, value}, q, lower, upper};
    perp_mlcp p = good;
    CHECK_OK(perp_mlcp_check(context, &p));
    p.M.rows = 3;
    CHECK_EQ_INT(perp_mlcp_check(context, &p), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "square");
    p = good;
    row[1] = 0;
    CHECK_EQ_INT(perp_mlcp_check(context, &p), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "column 0: rows must ascend");
    row[1] = 2;
    CHECK_EQ_INT(perp_mlcp_check(context, &p), PERP_ERROR_INPUT);
    row[1] = 1, start[1] = 4;
    CHECK_EQ_INT(perp_mlcp_check(context, &p), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "start[2]");
    start[1] = 2, value[2] = NAN;
    CHECK_EQ_INT(perp_mlcp_check(context, &p), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "M(1,1)");
    value[2] = 3, lower[0] = NAN;
    CHECK_EQ_INT(perp_mlcp_check(context, &p), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "unknown 0");
    lower[0] = 0, q[1] = NAN;
    CHECK_EQ_INT(perp_mlcp_check(context, &p), PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(context), "q[1]");
    perp_context_destroy(context);
    context = NULL;
}
