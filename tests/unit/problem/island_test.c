/* Islands: the pieces are the whole, nothing lost, nothing joined that does not touch. */
#include "perp_test.h"
#include "problem/island.h"

/* Five one-velocity blocks; contacts 0-1, 3-world, 1-4; block 2 touches nothing. */
static const int32_t dof[] = {0, 1, 2, 3, 4, 5};
static const double M[] = {1, 2, 3, 4, 5};
static const double k[] = {10, 20, 30, 40, 50};
static const double J[] = {-1, 1, 1, -1, 1};
static const double b[] = {0.1, 0.2, 0.3};

static const perp_constraint constraint[] = {
    {.kind = PERP_CONSTRAINT_CONTACT, .block = {0, 1}, .row = 0, .rows = 1, .jac = 0, .key = 7},
    {.kind = PERP_CONSTRAINT_CONTACT, .block = {-1, 3}, .row = 1, .rows = 1, .jac = 2, .key = 8},
    {.kind = PERP_CONSTRAINT_CONTACT, .block = {1, 4}, .row = 2, .rows = 1, .jac = 3, .key = 9},
};

static perp_contact_problem whole(void)
{
    return (perp_contact_problem){.block_count = 5,
                                  .constraint_count = 3,
                                  .dof_count = 5,
                                  .row_count = 3,
                                  .dof = dof,
                                  .M = M,
                                  .k = k,
                                  .J = J,
                                  .b = b,
                                  .constraint = constraint};
}

TEST(blocks_that_share_a_constraint_share_an_island_and_the_world_joins_nothing)
{
    perp_context* context = NULL;
    perpi_islands* islands = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perpi_islands_create(context, &islands));
    const perp_contact_problem P = whole();
    perp_contact_problem piece;
    int32_t count = 0;
    REQUIRE_OK(perpi_islands_split(islands, &P, &count));
    REQUIRE_EQ_INT(count, 3); /* {0, 1, 4}, {2}, {3} */

    const double v[] = {1, 2, 3, 4, 5}, p[] = {6, 7, 8};
    double v_piece[5], p_piece[3], v_back[5] = {0}, p_back[3] = {0};
    REQUIRE_OK(perpi_islands_take(islands, 0, &piece));
    CHECK_OK(perp_contact_check(context, &piece));
    CHECK_EQ_INT(piece.block_count, 3);
    CHECK_EQ_INT(piece.constraint_count, 2);
    CHECK(piece.M[2] == 5 && piece.k[2] == 50 && piece.b[1] == 0.3);
    CHECK_EQ_INT(piece.constraint[1].block[0], 1);
    CHECK_EQ_INT(piece.constraint[1].block[1], 2);
    CHECK_EQ_U64(piece.constraint[1].key, 9);
    CHECK(piece.J[piece.constraint[1].jac] == -1);
    perpi_islands_gather(islands, v, p, v_piece, p_piece);
    CHECK(v_piece[0] == 1 && v_piece[1] == 2 && v_piece[2] == 5);
    CHECK(p_piece[0] == 6 && p_piece[1] == 8);

    for (int32_t i = 0; i < count; ++i) {
        REQUIRE_OK(perpi_islands_take(islands, i, &piece));
        perpi_islands_gather(islands, v, p, v_piece, p_piece);
        perpi_islands_scatter(islands, v_piece, p_piece, v_back, p_back);
    }
    CHECK(memcmp(v, v_back, sizeof v) == 0);
    CHECK(memcmp(p, p_back, sizeof p) == 0);

    const uint64_t before = perp_context_allocations(context);
    REQUIRE_OK(perpi_islands_split(islands, &P, &count));
    REQUIRE_OK(perpi_islands_take(islands, 0, &piece));
    CHECK_EQ_U64(perp_context_allocations(context), before);
    perpi_islands_destroy(islands);
    perp_context_destroy(context);
}

TEST(a_group_joins_the_islands_of_its_members)
{
    perp_context* context = NULL;
    perpi_islands* islands = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    REQUIRE_OK(perpi_islands_create(context, &islands));
    perp_contact_problem P = whole();
    const int32_t member[] = {2, 1};
    const perp_group group = {.member = member, .count = 2, .primary = 1};
    P.group = &group;
    P.group_count = 1;
    perp_contact_problem piece;
    int32_t count = 0;
    REQUIRE_OK(perpi_islands_split(islands, &P, &count));
    REQUIRE_EQ_INT(count, 2); /* {0, 1, 3, 4}, {2} */
    REQUIRE_OK(perpi_islands_take(islands, 0, &piece));
    CHECK_OK(perp_contact_check(context, &piece));
    REQUIRE_EQ_INT(piece.group_count, 1);
    CHECK_EQ_INT(piece.group[0].member[0], 2);
    CHECK_EQ_INT(piece.group[0].member[1], 1);
    REQUIRE_OK(perpi_islands_take(islands, 1, &piece));
    CHECK_EQ_INT(piece.group_count, 0);
    CHECK_EQ_INT(piece.constraint_count, 0);
    perpi_islands_destroy(islands);
    perp_context_destroy(context);
}
