/* tests/unit/solve/fischer_newton_test.c - fischer-newton on problems whose answer is known otherwise. */
#include "unit/solve/newton_cases.h"

TEST(hand_solved_mlcps_with_every_kind_of_bound)
{
    check_hand_solved_mlcps("fischer-newton");
}

TEST(hand_solved_ncps)
{
    check_hand_solved_ncps("fischer-newton");
}

TEST(planted_solutions_with_free_and_bounded_unknowns_are_found)
{
    check_planted_mlcps("fischer-newton");
}

TEST(a_string_and_a_membrane_lie_on_their_obstacle)
{
    check_obstacles("fischer-newton");
}

TEST(a_nonlinear_membrane_lies_on_its_floor)
{
    check_membrane("fischer-newton");
}

TEST(what_has_no_solution_is_not_called_solved)
{
    check_unsolvable("fischer-newton");
}

TEST(limits_cancel_log_and_memory_are_respected)
{
    check_manners("fischer-newton");
}

TEST(units_do_not_change_the_answer)
{
    check_units("fischer-newton");
}

TEST(most_steps_of_boxes_in_friction_are_solved)
{
    const double rate = stewart_trinkle_rate("fischer-newton", 6);
    TEST_PRINT("fischer-newton: %.1f %% of the Stewart-Trinkle problems", 100.0 * rate);
    CHECK_AT_LEAST(rate, 0.99);
}

TEST(the_corpus_is_solved)
{
    check_corpus("fischer-newton");
}

TEST(what_is_claimed_of_problems_of_no_class_holds)
{
    check_wild_lcps("fischer-newton");
}

TEST(lcps_with_known_answers_are_solved)
{
    check_lcps("fischer-newton");
}

TEST(every_failing_allocation_ends_in_a_status)
{
    check_failing_allocations("fischer-newton");
}
