/* The outer iteration of implicit steps ends when its residual no longer falls. */
#include "perp_test.h"

#include "step/step.h"
#include "support/scene_sim.h"

/* Counted by the linker (cmake/PerpTests.cmake, --wrap). */
static int32_t solves;

perp_status __real_perpi_step_solve_to(perpi_step* step, double tolerance);
perp_status __wrap_perpi_step_solve_to(perpi_step* step, double tolerance);
perp_status __wrap_perpi_step_solve_to(perpi_step* step, double tolerance)
{
    ++solves;
    return __real_perpi_step_solve_to(step, tolerance);
}

/* A heavy and a tiny cylinder on a hinge far from both, which roll on a plane: the tiny one has a hundred
 * millionth of the mass, so rounding of the solves moves it by more than the tolerance. A model with groups gives
 * contacts with a plane no simpler ones, so no step is repeated with these. */
static const char* const SCENE =
    "{'dimension':3,'step':0.0255746184576,'duration':0.26,'gravity':[0,0,-9.81],'stepper':"
    "'geometric-implicit','contact':'lnc','friction':{'cone':'ellipsoid',"
    "'default':0.5,"
    "'e_r':0.000916570745606},'joints':[{'name':'j0','type':'revolute','a':'b1','b':'b2','at':"
    "[-0.0717691144301,0.00642247474179,0.0953429979838],'axis':[0,1,0],'friction':7.49695659206e-"
    "06}],'bodies':["
    "{'name':'ground','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]},"
    "{'name':'b1','position':[0.0106609117363,-0.146045645844,0.0915604477216],'mass':67.778786937,"
    "'orientation':"
    "[-0.446862635057,0.435012739989,-0.766556018955,-0.153197817351],'velocity':[-0."
    "00224019852222,"
    "0.0189187385378,0.0022231065521],'angular_velocity':[0.594623815644,15.5397782655,-14."
    "1400652795],'shapes':"
    "[{'type':'cylinder','radius':0.0165679925181,'length':0.0500445658087}]},"
    "{'name':'b2','position':[-0.154199140597,0.158890595328,0.0991255482459],'mass':0."
    "000730985567206,"
    "'orientation':[-0.35346348435,0.733633663273,0.536736488065,-0.220814754315],'velocity':[0."
    "0193833259862,"
    "-0.0338200323979,-0.0629122351043],'angular_velocity':[8.21456673819,-16.8198893823,-5."
    "13811503433],'shapes':"
    "[{'type':'cylinder','radius':0.000772080067522,'length':0.00283319004702}]}]}";

TEST(an_outer_iteration_that_rounding_stops_is_ended)
{
    scene_sim s = scene_sim_open("%s", SCENE);
    REQUIRE(s.sim != NULL);
    int32_t most = 0, semi_implicit = 0;
    while (!perp_sim_finished(s.sim)) {
        solves = 0;
        REQUIRE_OK(perp_sim_step(s.sim));
        most = solves > most ? solves : most;
        semi_implicit += perp_sim_step_info(s.sim).semi_implicit;
    }
    TEST_PRINT("at most %d solves in a step, %d steps semi-implicit", (int)most,
               (int)semi_implicit);
    CHECK_AT_LEAST(semi_implicit, 3);
    CHECK_AT_MOST(most, 150);
    scene_sim_close(&s);
}
