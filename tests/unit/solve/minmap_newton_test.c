/* tests/unit/solve/minmap_newton_test.c - minmap-newton on problems whose answer is known otherwise. */
#include "unit/solve/newton_cases.h"

TEST(hand_solved_mlcps_with_every_kind_of_bound)
{
    check_hand_solved_mlcps("minmap-newton");
}

TEST(hand_solved_ncps)
{
    check_hand_solved_ncps("minmap-newton");
}

TEST(planted_solutions_with_free_and_bounded_unknowns_are_found)
{
    check_planted_mlcps("minmap-newton");
}

TEST(a_string_and_a_membrane_lie_on_their_obstacle)
{
    check_obstacles("minmap-newton");
}

TEST(a_nonlinear_membrane_lies_on_its_floor)
{
    check_membrane("minmap-newton");
}

TEST(what_has_no_solution_is_not_called_solved)
{
    check_unsolvable("minmap-newton");
}

TEST(limits_cancel_log_and_memory_are_respected)
{
    check_manners("minmap-newton");
}

TEST(units_do_not_change_the_answer)
{
    check_units("minmap-newton");
}

TEST(most_steps_of_boxes_in_friction_are_solved)
{
    const double rate = stewart_trinkle_rate("minmap-newton", 6);
    TEST_PRINT("minmap-newton: %.1f %% of the Stewart-Trinkle problems", 100.0 * rate);
    CHECK_AT_LEAST(rate, 0.99);
}

TEST(the_corpus_is_solved)
{
    check_corpus("minmap-newton");
}

TEST(what_is_claimed_of_problems_of_no_class_holds)
{
    check_wild_lcps("minmap-newton");
}

TEST(lcps_with_known_answers_are_solved)
{
    check_lcps("minmap-newton");
}

TEST(every_failing_allocation_ends_in_a_status)
{
    check_failing_allocations("minmap-newton");
}
