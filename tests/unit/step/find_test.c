/* On which side of each other the bodies of a pair are, of the contacts of the last step. */
#include "perp_test.h"
#include "sim/internal.h"
#include "support/scene_sim.h"

static scene_sim open_pair(void)
{
    return scene_sim_quoted(
        "{'dimension':2,'bodies':["
        "{'name':'floor','type':'static','shapes':[{'type':'box','size':[8,1]}]},"
        "{'name':'box','density':1,'position':[0,2],"
        "'shapes':[{'type':'box','size':[1,1]}]}]}");
}

static perp_contact member(int32_t group, double gap, double impulse, double nx)
{
    return (perp_contact){.body_a = 0,
                          .body_b = 1,
                          .key = perpi_key_of(0, 1, 0),
                          .group = group,
                          .gap = gap,
                          .impulse = {impulse},
                          .normal = {nx, 1.0}};
}

/* The x of the normal that is remembered. */
static double remembered(perp_contact* contact, size_t count)
{
    scene_sim s = open_pair();
    if (s.sim == NULL) {
        return NAN;
    }
    const perpi_contact_list list = {.item = contact, .count = count};
    const perp_status status = perpi_remember_sides(&s.sim->work, &list);
    const double found =
        status == PERP_OK && s.sim->work.side.count == 1 ? s.sim->work.side.item[0].normal.x : NAN;
    scene_sim_close(&s);
    return found;
}

/* The bodies of two groups without impulses meet first at the group that is least open, and there its most
 * open member separates them. A member of the other group is more open than both. */
TEST(a_pair_without_impulses_is_on_the_side_where_its_bodies_meet_first)
{
    perp_contact c[] = {member(1, -0.2, 0.0, 1.0), member(1, 0.1, 0.0, 2.0),
                        member(-2, 0.9, 0.0, 3.0), member(2, -0.3, 0.0, 4.0)};
    CHECK_AT_MOST(fabs(remembered(c, 4) - 2.0), 0.0);
}

TEST(a_contact_with_an_impulse_shows_the_side_before_others)
{
    perp_contact c[] = {member(1, -0.2, 0.0, 1.0), member(0, 0.1, 0.0, 2.0),
                        member(2, -0.1, 0.5, 3.0)};
    CHECK_AT_MOST(fabs(remembered(c, 3) - 3.0), 0.0);
    CHECK_AT_MOST(fabs(remembered(c, 2) - 2.0), 0.0); /* in no group */
}
