/* Steps that have no answer as the scene asks for them: taken semi-implicitly, or with the errors of joints
 * kept; counted, recorded and verified as what they are. */
#include "perp_test.h"
#include "support/random_scene.h"
#include "support/scene_sim.h"

typedef struct outcome {
    int scenes, failed, semi_implicit, joints_kept, unsolved_impacts, crossings;
} outcome;

/* Runs and records a scene; verifies the recording, and continues it from the middle. */
static void run_and_verify(const char* text, const char* path, outcome* o)
{
    scene_sim s = scene_sim_open("%s", text);
    perp_recorder* recorder = NULL;
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_recorder_create(s.context, path, s.scene, s.sim, &recorder));
    bool failed = false;
    while (!failed && !perp_sim_finished(s.sim)) {
        failed = perp_sim_step(s.sim) != PERP_OK;
        if (failed) {
            TEST_PRINT("%s", perp_context_error(s.context));
            break;
        }
        const perp_step_info info = perp_sim_step_info(s.sim);
        o->semi_implicit += info.semi_implicit;
        o->joints_kept += info.joints_kept;
        o->unsolved_impacts += info.unsolved_impact;
        o->crossings += info.crossings > 0;
        CHECK_AT_MOST(info.certificate.worst, 1e-8);
        REQUIRE_OK(perp_recorder_step(recorder, s.sim, 0.0));
    }
    o->scenes += 1;
    o->failed += failed;
    REQUIRE_OK(perp_recorder_finish(recorder, s.sim));
    perp_recorder_destroy(recorder);

    perp_verification verification;
    REQUIRE_OK(perp_recording_verify(s.context, path, &verification));
    CHECK(verification.same_bits);
    CHECK_AT_MOST(verification.worst.worst, 1e-8);
    CHECK(verification.ledger_frame < 0);

    perp_recording* recording = NULL;
    scene_sim again = scene_sim_open("%s", text);
    REQUIRE(again.sim != NULL);
    REQUIRE_OK(perp_recording_open(again.context, path, &recording));
    REQUIRE_OK(
        perp_recording_restore(recording, perp_recording_frame_count(recording) / 2, again.sim));
    while (perp_sim_step_count(again.sim) < perp_sim_step_count(s.sim)) {
        REQUIRE_OK(perp_sim_step(again.sim));
    }
    CHECK(memcmp(perp_sim_q(s.sim), perp_sim_q(again.sim),
                 (size_t)perp_sim_q_size(s.sim) * sizeof(double)) == 0);
    perp_recording_close(recording);
    scene_sim_close(&again);
    scene_sim_close(&s);
    remove(path);
}

static outcome run_seeds(const char* stepper, const char* contact, int dimension, const int* seed,
                         int count)
{
    outcome o = {0};
    for (int i = 0; i < count; ++i) {
        const random_scene_spec spec = {.seed = (uint64_t)seed[i],
                                        .dimension = dimension,
                                        .contact = contact,
                                        .stepper = stepper,
                                        .steps = 40,
                                        .joints = 1,
                                        .record_every = 1};
        char* text = random_scene(&spec);
        CHECK(text != NULL);
        if (text != NULL) {
            run_and_verify(text, "step_fallback.h5", &o);
        }
        free(text);
    }
    return o;
}

/* Their outer iterations do not converge: corners that are pushed from one face to the next, and back. */
TEST(a_step_without_an_answer_at_its_end_is_taken_semi_implicitly)
{
    static const int plane[] = {2, 22, 23, 26}, space[] = {1, 4};
    const outcome a = run_seeds("geometric-implicit", "standard", 2, plane, 4);
    const outcome b = run_seeds("geometric-implicit", "standard", 3, space, 2);
    TEST_PRINT("%d and %d steps fell back", a.semi_implicit, b.semi_implicit);
    CHECK_EQ_INT(a.failed + b.failed, 0);
    CHECK_AT_LEAST(a.semi_implicit, 2);
    CHECK_AT_LEAST(b.semi_implicit, 1);
}

/* A joint that is apart, with a body between the two that it would pull together. */
TEST(joints_that_contacts_hold_apart_stay_apart_for_the_step)
{
    static const int seed[] = {74};
    const outcome o = run_seeds("stewart-trinkle", "standard", 2, seed, 1);
    CHECK_EQ_INT(o.failed, 0);
    CHECK_AT_LEAST(o.joints_kept, 1);
}

/* Hundreds of contacts between a few bodies: newton-bodies stalls, pivoting does not. */
TEST(crowds_of_contacts_between_few_bodies_are_solved)
{
    static const int seed[] = {13, 15, 140};
    const outcome o = run_seeds("stewart-trinkle", "standard", 2, seed, 3);
    CHECK_EQ_INT(o.failed, 0);
}

/* The law of implicit has no fixed point that its iteration finds where one axis has hardly any inertia. */
TEST(free_bodies_of_extreme_inertia_keep_their_angular_momentum)
{
    scene_sim s =
        scene_sim_open("{'dimension': 3, 'step': 0.01, 'duration': 0.4, 'stepper': 'implicit', "
                       "'gravity': [0, 0, 0],"
                       " 'bodies': [{'name': 'rod', 'mass': 1, 'inertia': [1e-8, 4e-3, 4e-3],"
                       "  'angular_velocity': [60, -80, 35]}]}");
    REQUIRE(s.sim != NULL);
    double before[3], after[3], linear[3];
    perp_sim_momentum(s.sim, linear, before);
    while (!perp_sim_finished(s.sim)) {
        REQUIRE_OK(perp_sim_step(s.sim));
    }
    perp_sim_momentum(s.sim, linear, after);
    const double size = sqrt(before[0] * before[0] + before[1] * before[1] + before[2] * before[2]);
    for (int i = 0; i < 3; ++i) {
        CHECK_AT_MOST(fabs(after[i] - before[i]), 1e-9 * size);
    }
    scene_sim_close(&s);
}

TEST(a_body_that_a_press_jams_is_named)
{
    scene_sim s = scene_sim_open(
        "{'dimension': 2, 'step': 0.01, 'duration': 1, 'gravity': [0, -9.81], 'bodies': ["
        "{'name': 'floor', 'type': 'static', 'shapes': [{'type': 'halfplane', 'normal': [0, 1]}]},"
        "{'name': 'ball', 'mass': 1, 'position': [0, 0.5],"
        " 'shapes': [{'type': 'circle', 'radius': 0.5}]},"
        "{'name': 'press', 'type': 'kinematic', 'position': [0, 1.2], 'velocity': [0, -1],"
        " 'shapes': [{'type': 'box', 'size': [2, 0.2]}]}]}");
    REQUIRE(s.sim != NULL);
    perp_status status = PERP_OK;
    while (status == PERP_OK && !perp_sim_finished(s.sim)) {
        status = perp_sim_step(s.sim);
    }
    CHECK(status == PERP_ERROR_SOLVE);
    CHECK(strstr(perp_context_error(s.context), "'ball' is between 'press' and 'floor'") != NULL);
    scene_sim_close(&s);
}

/* The problem of the impact has no solution that a method finds: boxes of mass ratio 2e5 in a
 * stack, groups that exclude each other at the pose before the step. */
TEST(a_step_whose_impact_has_no_solution_is_taken_without_restitution)
{
    static const char* const scene[] = {
        "{'dimension': 3, 'step': 0.000642064035805, 'gravity': [0.0, 0.0, -9.81], 'stepper': "
        "'stewart-trinkle', 'contact': 'peg', 'friction': {'cone': 'quadratic', 'default': "
        "1.5}, 'restitution': {'law': 'poisson', 'e': 0.5}, 'duration': 0.000642064035805, "
        "'bodies': [{'name': 'ground', 'type': 'static', 'shapes': [{'type': 'plane', "
        "'normal': [0.0, 0.0, 1.0]}]}, {'name': 'b0', 'position': [-0.000723344971794, "
        "0.00545531620462, 0.0193173645896], 'mass': 121.991633886, 'inertia': "
        "[0.033324547034, 0.0295033487007, 0.0484169133631], 'shapes': [{'type': 'box', "
        "'size': [0.063490037091, 0.0767817135493, 0.0386347291793]}]}, {'name': 'b1', "
        "'position': [0.00603536130778, 0.00559772803138, 0.0738542868341], 'mass': "
        "0.000491200479739, 'inertia': [1.2958003122e-07, 1.57537034858e-07, "
        "9.30287998612e-08], 'velocity': [-9.89600999232, -22.4966592998, -27.5757516712], "
        "'angular_velocity': [16.131822241, 26.0489167451, 17.3526007197], 'shapes': "
        "[{'type': 'box', 'size': [0.0526326528747, 0.0411016047493, 0.0704391153097]}]}, "
        "{'name': 'b2', 'position': [0.00561284997525, -0.00500361476206, 0.136010261544], "
        "'mass': 0.241936986641, 'shapes': [{'type': 'box', 'size': [0.119732339184, "
        "0.106964391228, 0.0538728341107]}], 'friction': 0.360899965942}, {'name': 'b3', "
        "'position': [-0.00569827452283, -0.00596634515125, 0.196993327697], 'mass': "
        "0.00238728995536, 'shapes': [{'type': 'box', 'size': [0.0984445586746, "
        "0.0873495081545, 0.0680932981948]}]}], 'forces': [{'type': 'spring', 'a': 'b3', 'b': "
        "'b0', 'stiffness': 6819.68336751}]}",
        "{'dimension': 2, 'step': 0.00440099993074, 'gravity': [0.0, -9.81], 'stepper': "
        "'stewart-trinkle', 'contact': 'peg', 'friction': {'cone': 'quadratic', 'default': "
        "0.1}, 'restitution': {'law': 'poisson', 'e': 0.9}, 'duration': 0.09242099854553999, "
        "'bodies': [{'name': 'ground', 'type': 'static', 'shapes': [{'type': 'halfplane', "
        "'normal': [0.207142667709, 0.978310745732], 'offset': -0.0110698722315}]}, {'name': "
        "'b0', 'position': [-0.0213890198296, 0.0139844855529], 'mass': 0.00789939323834, "
        "'inertia': 1.18176112532e-07, 'angle': 1.60114350153, 'velocity': [0.117377024466, "
        "-0.0872031174958], 'angular_velocity': 42.2518972572, 'shapes': [{'type': 'polygon', "
        "'vertices': [[-0.00214624176286, -0.00572624612851], [0.00652279898789, "
        "-0.00030467222333], [-0.00094886465935, 0.00599864352163], [-0.00630722488379, "
        "-0.00157365892205]]}], 'friction': 0.766616674703}, {'name': 'b1', 'position': "
        "[0.0198014044679, 0.0142329552076], 'mass': 3.02514214654e-06, 'inertia': "
        "3.41593796539e-12, 'angle': -0.0923503919397, 'velocity': [-0.179799614019, "
        "0.36379312771], 'shapes': [{'type': 'polygon', 'vertices': [[-0.000913212343975, "
        "0.000945305724234], [-0.00152365229269, 1.7728656462e-05], [-0.000772137497478, "
        "-0.00101802727427], [0.000846425752567, -0.000981923892506], [0.0014858349555, "
        "0.000262027449518], [0.000352184775041, 0.00114887589596]]}]}, {'name': 'b2', "
        "'position': [0.000510714891277, 0.0124485827158], 'mass': 0.0188290803833, "
        "'inertia': 4.24667616891e-07, 'angle': 1.39778741963, 'velocity': [-0.149809401774, "
        "-0.00288164383915], 'angular_velocity': -83.8908954075, 'shapes': [{'type': "
        "'polygon', 'vertices': [[-0.00664010448815, 0.000709432955599], [0.00478624537453, "
        "-0.00385261266338], [-0.00191731684692, 0.00527838940122]]}], 'friction': "
        "0.254514365094}, {'name': 'b6', 'position': [-0.00126771645798, 0.0545647416183], "
        "'mass': 0.00370349570324, 'velocity': [0.0320173980274, -0.0142274639153], 'shapes': "
        "[{'type': 'particle'}]}]}",
    };
    outcome o = {0};
    for (int i = 0; i < 2; ++i) {
        run_and_verify(scene[i], "step_fallback.h5", &o);
    }
    CHECK_EQ_INT(o.failed, 0);
    CHECK_AT_LEAST(o.unsolved_impacts, 1);
}

/* Overlap that is kept asks for no velocity: neither for that which parts deep overlap without a
 * gap term, nor for the offset that an impact left. */
TEST(overlap_is_kept_with_all_that_would_repair_it)
{
    static const char* const scene[] = {
        "{'dimension': 2, 'step': 0.0072685751951, 'gravity': [0.0, -9.81], 'stepper': "
        "'anitescu-potra', 'contact': 'standard', 'friction': {'cone': 'quadratic', "
        "'default': 1.5}, 'duration': 0.1162972031216, 'bodies': [{'name': 'b0', 'position': "
        "[-0.193482461556, 0.304298042994], 'mass': 4.72684046673, 'inertia': "
        "0.00535000422006, 'angle': -0.560216806123, 'velocity': [2.31122570957, "
        "2.75896704347], 'shapes': [{'type': 'box', 'size': [0.0412512129279, "
        "0.0275008086186], 'position': [0.0337856920641, -0.0063432742672], 'angle': "
        "-0.290143444466}, {'type': 'circle', 'radius': 0.0275008086186, 'position': "
        "[-0.0143664208343, 0.0312300507379]}, {'type': 'circle', 'radius': 0.0275008086186, "
        "'position': [-0.0130962186964, -0.0317836305751]}]}, {'name': 'b2', 'position': "
        "[0.215211841336, 0.761879906926], 'mass': 21.2812105849, 'inertia': 0.234406297447, "
        "'angle': 1.92542607922, 'velocity': [-0.378501628032, -0.791059805459], "
        "'angular_velocity': -3.66386042066, 'shapes': [{'type': 'polygon', 'vertices': "
        "[[-0.102116566661, -0.102116566661], [0.102116566661, -0.102116566661], "
        "[0.102116566661, -0.0508246240241], [-0.0508246240241, -0.0508246240241], "
        "[-0.0508246240241, 0.102116566661], [-0.102116566661, 0.102116566661]]}]}], "
        "'forces': [{'type': 'wrench', 'body': 'b2', 'force': ['9.51423*sin(17.452*t)', "
        "3.7484129411], 'at': [0.0541027728023, 0.00113525717106]}]}",
        "{'dimension': 3, 'step': 0.00109428825628, 'gravity': [0.0, 0.0, 0.0], 'stepper': "
        "'stewart-trinkle', 'contact': 'standard', 'friction': {'cone': 'polygon', 'default': "
        "1.5, 'directions': 3}, 'restitution': {'law': 'newton', 'e': 0.9}, 'duration': "
        "0.00218857651256, 'bodies': [{'name': 'b2', 'position': [0.0127, 0.0123, 0.0177], "
        "'mass': 0.000405, 'inertia': [5.09e-09, 4.44e-09, 5.23e-09], 'orientation': "
        "[-0.0969, -0.741, -0.0703, -0.661], 'velocity': [2.6, -1.03, 3.57], "
        "'angular_velocity': [-23.2, 42.0, -47.8], 'shapes': [{'type': 'polyhedron', "
        "'vertices': [[0.000136, 0.000761, 0.00932], [-0.00564, -0.00654, 0.00357], [0.00724, "
        "-0.00302, 0.00508], [0.000851, -0.00248, -0.00897], [-0.003, -0.00529, 0.0071], "
        "[0.00556, -0.00723, -0.00207], [0.0054, 0.0054, 0.0054], [0.0054, -0.0054, -0.0054], "
        "[-0.0054, 0.0054, -0.0054], [-0.0054, -0.0054, 0.0054]]}]}, {'name': 'b3', "
        "'position': [0.017, -0.0139, 0.0207], 'mass': 5.81e-06, 'inertia': [9.44e-13, "
        "7.26e-13, 8.52e-13], 'orientation': [-0.715, -0.671, -0.0501, 0.189], 'velocity': "
        "[-6.91, 2.58, -3.66], 'shapes': [{'type': 'box', 'size': [0.000962, 0.000962, "
        "0.000962]}]}]}",
    };
    outcome o = {0};
    for (int i = 0; i < 2; ++i) {
        run_and_verify(scene[i], "step_fallback.h5", &o);
    }
    CHECK_EQ_INT(o.failed, 0);
}

/* Sides that were lost: by the offset of an impact, which moves poses beside the velocities; by a
 * motion along the other body past its edge, which no contact stops before it pushes back. */
TEST(bodies_that_the_side_check_keeps_apart_do_not_pass)
{
    static const char* const scene[] = {
        "{'dimension': 3, 'step': 0.00181601336402, 'gravity': [0.0, 0.0, 0.0], 'stepper': "
        "'anitescu-potra', 'contact': 'corrective', 'friction': {'cone': 'none'}, "
        "'restitution': {'law': 'poisson', 'e': 0.9}, 'duration': 0.00363202672804, 'bodies': "
        "[{'name': 'ground', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0.0, "
        "0.0, 1.0]}]}, {'name': 'b0', 'position': [5.06202506926e-05, 7.88995283496e-05, "
        "0.00052068725592], 'mass': 3.16687528472e-06, 'shapes': [{'type': 'box', 'size': "
        "[0.00156266450568, 0.00218057948761, 0.00104137451184]}]}, {'name': 'b1', "
        "'position': [2.26367657443e-05, -5.31025218116e-05, 0.00162334812875], 'mass': "
        "8.98466685449e-06, 'inertia': [1.34563655309e-12, 1.06714681568e-12, "
        "1.24419367981e-12], 'velocity': [-0.569568621169, 0.798595512988, -0.921287822275], "
        "'shapes': [{'type': 'box', 'size': [0.00106458096181, 0.00145773572389, "
        "0.00116394723383]}]}, {'name': 'b2', 'position': [6.78865626349e-05, "
        "4.4036814301e-05, 0.00285856333143], 'mass': 3.10965562707e-06, 'shapes': [{'type': "
        "'box', 'size': [0.000549024813122, 0.00147994790422, 0.00130648317152]}]}]}",
        "{'dimension': 2, 'step': 0.00593377695169, 'gravity': [0.0, 0.0], 'stepper': "
        "'anitescu-potra', 'contact': 'standard', 'friction': {'cone': 'none'}, 'duration': "
        "0.11274176208211001, 'bodies': [{'name': 'b0', 'position': [0.967, 0.414], 'mass': "
        "7.99, 'inertia': 0.0238, 'shapes': [{'type': 'polygon', 'vertices': [[0.0173, "
        "0.0487], [-0.042, 0.0438], [-0.0197, -0.0484], [0.0623, -0.0356]]}]}, {'name': 'b1', "
        "'position': [0.369, 0.354], 'mass': 11.3, 'shapes': [{'type': 'particle'}]}, "
        "{'name': 'b2', 'position': [-1.05, 0.464], 'mass': 36.9, 'velocity': [7.85, -7.05], "
        "'shapes': [{'type': 'box', 'size': [0.259, 0.263]}]}, {'name': 'b3', 'position': "
        "[-0.312, 0.341], 'mass': 17.4, 'inertia': 0.057, 'velocity': [-7.89, -3.39], "
        "'shapes': [{'type': 'box', 'size': [0.0791, 0.0527], 'position': [-0.0443, 0.0488], "
        "'angle': 0.453}]}], 'joints': [{'name': 'j0', 'type': 'rope', 'a': 'b0', 'b': "
        "'b3'}]}",
        "{'dimension': 3, 'step': 0.0419285936428, 'gravity': [0.0, 0.0, 0.0], 'stepper': "
        "'anitescu-potra', 'contact': 'standard', 'friction': {'cone': 'none'}, "
        "'restitution': {'law': 'poisson', 'e': 1.0}, 'duration': 0.4612145300708, 'bodies': "
        "[{'name': 'b1', 'position': [-1210.0, -1040.0, 1450.0], 'mass': 67100000000.0, "
        "'inertia': [809000000000000.0, 514000000000000.0, 683000000000000.0], 'orientation': "
        "[0.459, -0.426, -0.74, 0.246], 'shapes': [{'type': 'superquadric', 'radii': [134.0, "
        "205.0, 154.0], 'exponents': [1.5, 6.0]}]}, {'name': 'b3', 'position': [1250.0, "
        "973.0, 1380.0], 'mass': 153000000000.0, 'orientation': [0.652, -0.629, -0.416, "
        "0.0875], 'angular_velocity': [0.00512, 0.065, -0.22], 'shapes': [{'type': "
        "'ellipsoid', 'radii': [246.0, 290.0, 484.0]}]}], 'forces': [{'type': 'spring', 'a': "
        "'b3', 'b': 'b1', 'stiffness': 1150000000000.0, 'at_a': [-139.0, 196.0, 109.0], "
        "'at_b': [235.0, 120.0, 17.2], 'rest': 218.0}]}",
    };
    outcome o = {0};
    for (int i = 0; i < 3; ++i) {
        run_and_verify(scene[i], "step_fallback.h5", &o);
    }
    CHECK_EQ_INT(o.failed, 0);
    CHECK_AT_LEAST(o.crossings, 2);
}

/* Groups that overlap part their bodies in an impact, which has no forces against that: 28 impacts
 * in a row gave 200 times the energy of the motion. */
TEST(an_impact_gives_no_energy_where_groups_overlap)
{
    static const char* const law[] = {"poisson", "newton"};
    for (int i = 0; i < 2; ++i) {
        scene_sim s = scene_sim_open(
            "{'dimension': 3, 'step': 0.0040029276357, 'gravity': [0.0, 0.0, -9.81], 'stepper': "
            "'stewart-trinkle', 'contact': 'lnc', 'friction': {'cone': 'none'}, 'restitution': "
            "{'law': '%s', 'e': 0.1}, 'duration': 0.13209661197810002, 'bodies': [{'name': "
            "'ground', 'type': 'static', 'shapes': [{'type': 'plane', 'normal': [0.0, 0.0, "
            "1.0]}]}, {'name': 'b1', 'position': [0.0068961, -0.00453944, 0.0961215], 'mass': "
            "1.46762, 'shapes': [{'type': 'box', 'size': [0.05392, 0.114325, 0.045874]}]}, "
            "{'name': 'b2', 'position': [-0.00382262, 0.00528651, 0.168121], 'mass': 0.701061, "
            "'shapes': [{'type': 'box', 'size': [0.0382794, 0.0775172, 0.0946057]}]}, {'name': "
            "'b3', 'position': [0.00608, 0.00736035, 0.280401], 'mass': 4.52503, 'inertia': "
            "[0.0069064, 0.005271, 0.00408592], 'velocity': [-0.14247, 0.196341, 0.0512388], "
            "'angular_velocity': [-9.25276, -11.9071, 3.03734], 'shapes': [{'type': 'box', "
            "'size': [0.0744765, 0.126014, 0.126435]}], 'restitution': 0.747482}, {'name': 'b4', "
            "'position': [0.00654369, -0.00496343, 0.369391], 'mass': 1.55006, 'shapes': "
            "[{'type': 'box', 'size': [0.0569608, 0.110937, 0.0480248]}]}, {'name': 'b5', "
            "'position': [0.00381957, 0.00393698, 0.482607], 'mass': 5.0221, 'inertia': "
            "[0.00831715, 0.00852608, 0.00506753], 'shapes': [{'type': 'box', 'size': [0.126175, "
            "0.12178, 0.174888]}]}]}",
            law[i]);
        REQUIRE(s.sim != NULL);
        double before = perp_sim_energy(s.sim).kinetic;
        while (!perp_sim_finished(s.sim)) {
            REQUIRE_OK(perp_sim_step(s.sim));
            const double kinetic = perp_sim_energy(s.sim).kinetic;
            if (perp_sim_step_info(s.sim).kind != PERP_STEP_TIME) {
                CHECK_AT_MOST(kinetic, 1.05 * before); /* 1e-3 each, some tens in a row */
            } else {
                before = kinetic;
            }
        }
        scene_sim_close(&s);
    }
}

/* Three pieces in a block have three directions of least depth, and friction between them: they are wedged,
 * and no impulses push them out at depth/h. Without friction there are. */
TEST(a_body_of_pieces_that_is_shot_into_a_block_is_pushed_out_again)
{
    int inside = 0;
    for (int i = 0; i < 10; ++i) {
        scene_sim s = scene_sim_open(
            "{'step':0.0025,'duration':0.05,'contact':'corrective','friction':{'default':1.5},"
            "'bodies':[{'name':'b','mass':0.004,'inertia':[2.7e-7,2.6e-7,2.3e-7],"
            "'position':[0.004,0.0045,-0.045],'velocity':[0,0,%g],"
            "'axis_angle':[1,0.3,0.5,%g],'shapes':["
            "{'type':'capsule','radius':0.0028,'length':0.0076,'position':[0.0094,0.001,0.001],"
            "'axis_angle':[1,1,0,1.2]},"
            "{'type':'box','size':[0.0076,0.0057,0.0094],'position':[-0.0066,0.0068,0.0005],"
            "'axis_angle':[0,1,1,0.7]},"
            "{'type':'box','size':[0.0076,0.0057,0.0094],'position':[-0.0032,-0.0089,-0.0012],"
            "'axis_angle':[1,0,1,0.9]}]},"
            "{'name':'block','mass':0.1,'shapes':[{'type':'polyhedron','solid':'icosahedron',"
            "'radius':0.035}]}]}",
            14.0 + 0.4 * i, 0.37 * i);
        REQUIRE(s.sim != NULL);
        CHECK_AT_MOST(scene_sim_run(&s), 1e-8);
        inside += perp_sim_step_info(s.sim).penetration > 1e-4;
        scene_sim_close(&s);
    }
    TEST_PRINT("%d of 10 are still inside", inside);
    CHECK_EQ_INT(inside, 0);
}
