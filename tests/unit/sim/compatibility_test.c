/* Which steppers, contact models, steps, kinds of scene and shapes go together: every combination, and
 * the reason of each refusal. The table below is the specification; it is written down from
 * docs/steppers.md and docs/scene.md, not from the program. */
#include "perp_test.h"
#include "support/scene_sim.h"

static const char* const STEPPER[] = {"stewart-trinkle",    "anitescu-potra", "implicit",
                                      "geometric-implicit", "compliant",      "quasistatic"};
static const char* const CONTACT[] = {"auto", "standard",    "corrective",
                                      "lnc",  "disjunctive", "peg"};
static const char* const STEP[] = {"0.01", "{'error': 1e-3}"};

enum { ST = 1, AP = 2, IM = 4, GI = 8, CO = 16, QS = 32, ANY = 255 };
enum { AUTO = 1, STANDARD = 2, CORRECTIVE = 4, LNC = 8, DISJUNCTIVE = 16, PEG = 32 };
enum { FIXED = 1, ADAPTIVE = 2 };
enum { PLANAR = 1, SPATIAL = 2, SOFT = 4, BOUNCING = 8, CORRECTED = 16 };
enum { STEPPERS = 6, CONTACTS = 6, STEPS = 2, SCENES = 5 };

/* One scene for each column of the last mask: what it adds, and its bodies. */
typedef struct kind {
    const char *extra, *bodies;
} kind;

#define FLOOR                                                                                      \
    "{'name':'floor','type':'static','position':[0,0,-0.5],'shapes':[{'type':'box','size':[4,4,1]" \
    "}]},"
#define BOX                                                                                        \
    "{'name':'box','density':1,'position':[0,0,0.5],'shapes':[{'type':'box','size':[1,1,1]}]}"
static const kind SCENE[SCENES] = {
    {"'dimension':2,'gravity':[0,-10],",
     "{'name':'floor','type':'static','shapes':[{'type':'box','size':[4,1]}]},"
     "{'name':'box','density':1,'position':[0,1],'shapes':[{'type':'box','size':[1,1]}]}"},
    {"'gravity':[0,0,-10],", FLOOR BOX},
    {"'gravity':[0,0,-10],",
     FLOOR "{'name':'box','density':1,'position':[0,0,0.5],'compliance':{'max_deflection':0.1,"
           "'stiffness':1000,'damping':1},'shapes':[{'type':'box','size':[1,1,1]}]}"},
    {"'gravity':[0,0,-10],'restitution':0.5,", FLOOR BOX},
    {"'gravity':[0,0,-10],'joint_correction':true,'joints':[{'name':'hinge','type':'revolute',"
     "'a':'world','b':'box','at':[0,0,0.5],'axis':[0,1,0]}],",
     FLOOR BOX},
};

/* Refusals, the first that applies decides. */
typedef struct refusal {
    int stepper, contact, step, scene;
    const char* reason;
} refusal;

static const refusal REFUSAL[] = {
    {ANY & ~ST, ANY, ADAPTIVE, ANY, "an adaptive step goes with the stepper 'stewart-trinkle'"},
    {ST, CORRECTIVE, ADAPTIVE, ANY,
     "an adaptive step does not go with the contact model 'corrective'"},
    {ST, ANY, ADAPTIVE, CORRECTED, "an adaptive step does not go with joint_correction"},
    {ANY & ~CO, ANY, ANY, SOFT, "takes bodies to be rigid, but 'box' has a compliance"},
    {ANY & ~(ST | AP), ANY, ANY, BOUNCING, "has no impacts, but bodies of the scene have a"},
    {AP, LNC | DISJUNCTIVE | PEG, ANY, ANY, "chooses between features by their gaps"},
    {GI, CORRECTIVE, ANY, ANY, "has contacts only where bodies overlap"},
    {CO, ANY & ~(AUTO | STANDARD), ANY, SOFT, "a soft layer overlaps when compressed"},
    {QS, ANY, ANY, CORRECTED, "joint_correction: is for steppers with inertia"},
    {IM | GI, ANY, ANY, CORRECTED, "joint_correction: the stepper"},
    {ANY, DISJUNCTIVE, ANY, ANY & ~PLANAR, "is for planar scenes"},
};

static const char* expected_reason(int stepper, int contact, int step, int scene)
{
    for (size_t i = 0; i < sizeof REFUSAL / sizeof REFUSAL[0]; ++i) {
        const refusal* r = &REFUSAL[i];
        if ((r->stepper >> stepper & 1) && (r->contact >> contact & 1) && (r->step >> step & 1) &&
            (r->scene >> scene & 1)) {
            return r->reason;
        }
    }
    return NULL;
}

/* Whether a simulation can be created from the text; error: why not. Single quotes are double ones. */
static bool creates(perp_context* context, const char* text, char error[512])
{
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    perp_status status = scene_parse(context, text, "test", &scene);
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(context, scene, &sim);
    }
    snprintf(error, 512, "%s", status == PERP_OK ? "" : perp_context_error(context));
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    return status == PERP_OK;
}

TEST(every_combination_is_accepted_or_refused_with_its_reason)
{
    perp_context* context;
    REQUIRE_OK(perp_context_create(NULL, &context));
    int accepted = 0;
    for (int i = 0; i < STEPPERS * CONTACTS * STEPS * SCENES; ++i) {
        const int stepper = i % STEPPERS, contact = i / STEPPERS % CONTACTS;
        const int step = i / (STEPPERS * CONTACTS) % STEPS,
                  scene = i / (STEPPERS * CONTACTS * STEPS);
        const char* reason = expected_reason(stepper, contact, step, scene);
        char text[2048], error[512];
        snprintf(text, sizeof text,
                 "{%s'step':%s,'duration':0.1,'stepper':'%s','contact':'%s','bodies':[%s]}",
                 SCENE[scene].extra, STEP[step], STEPPER[stepper], CONTACT[contact],
                 SCENE[scene].bodies);
        const bool created = creates(context, text, error);
        accepted += created;
        if (created != (reason == NULL) || (reason != NULL && strstr(error, reason) == NULL)) {
            TEST_PRINT("%s, %s, step %s, scene %d: expected \"%s\", got \"%s\"", STEPPER[stepper],
                       CONTACT[contact], STEP[step], scene, reason ? reason : "", error);
            CHECK(false);
        }
    }
    CHECK_EQ_INT(accepted, 82 + 13); /* fixed and adaptive steps, counted by hand from the table */
    perp_context_destroy(context);
}

/* A new stepper or contact model belongs in the table. */
TEST(the_table_names_every_stepper_and_contact_model)
{
    perp_piece_info info;
    int32_t steppers = 0, contacts = 0;
    for (int32_t i = 0; perp_stepper_list(NULL, i, &info); ++i) {
        if (info.built) {
            REQUIRE(steppers < STEPPERS);
            CHECK_EQ_STR(info.name, STEPPER[steppers]);
            ++steppers;
        }
    }
    for (int32_t i = 0; perp_contact_list(NULL, i, &info); ++i) {
        REQUIRE(i < CONTACTS);
        CHECK_EQ_STR(info.name, CONTACT[i]);
        ++contacts;
    }
    CHECK_EQ_INT(steppers, STEPPERS);
    CHECK_EQ_INT(contacts, CONTACTS);
}

TEST(a_name_that_is_no_stepper_or_contact_model_is_refused_with_the_nearest)
{
    perp_context* context;
    REQUIRE_OK(perp_context_create(NULL, &context));
    char error[512];
    char stepper[] = "{'stepper':'implicitt','bodies':[{'name':'a','mass':1}]}";
    char contact[] = "{'contact':'pegg','bodies':[{'name':'a','mass':1}]}";
    CHECK(!creates(context, stepper, error));
    CHECK_CONTAINS(error, "'implicit'");
    CHECK(!creates(context, contact, error));
    CHECK_CONTAINS(error, "'peg'");
    perp_context_destroy(context);
}

/* ---- shapes ------------------------------------------------------------------------------------*/

static const char* const PLANE_SHAPE[] = {"'type':'particle'",
                                          "'type':'circle','radius':0.1",
                                          "'type':'halfplane','normal':[0,1]",
                                          "'type':'box','size':[0.2,0.2]",
                                          "'type':'polygon','vertices':[[0,0],[0.2,0],[0,0.2]]",
                                          "'type':'superellipse','radii':[0.1,0.1],'exponent':4"};
static const char* const SPACE_SHAPE[] = {
    "'type':'particle'",
    "'type':'sphere','radius':0.1",
    "'type':'plane','normal':[0,0,1]",
    "'type':'box','size':[0.2,0.2,0.2]",
    "'type':'capsule','radius':0.1,'length':0.2",
    "'type':'cylinder','radius':0.1,'length':0.2",
    "'type':'polyhedron','vertices':[[0,0,0],[0.2,0,0],[0,0.2,0],[0,0,0.2]]",
    "'type':'ellipsoid','radii':[0.1,0.1,0.2]",
    "'type':'superquadric','radii':[0.1,0.1,0.2],'exponents':[4,4]"};

/* One body of one shape above a static body of the other. */
static void check_pair(perp_context* context, bool planar, const char* below, const char* above,
                       const char* contact)
{
    char text[2048], error[512];
    const bool point = strstr(above, "particle") != NULL;
    const bool unbounded = strstr(above, "plane") != NULL;
    snprintf(text, sizeof text,
             "{'dimension':%d,'contact':'%s','step':0.01,'bodies':["
             "{'name':'below','type':'static','shapes':[{%s}]},"
             "{'name':'above',%s,'position':%s,'shapes':[{%s}]}]}",
             planar ? 2 : 3, contact, below, point || unbounded ? "'mass':1" : "'density':1",
             planar ? "[0,3]" : "[0,0,3]", above);
    const char* reason = unbounded                                        ? "is unbounded"
                         : strcmp(contact, "disjunctive") == 0 && !planar ? "is for planar scenes"
                                                                          : "";
    const bool created = creates(context, text, error);
    if (created != (reason[0] == '\0')) {
        TEST_PRINT("%s", text);
        CHECK_EQ_STR(error, reason);
    }
    CHECK_CONTAINS(error, reason);
}

TEST(every_pair_of_shapes_goes_with_every_contact_model)
{
    perp_context* context;
    REQUIRE_OK(perp_context_create(NULL, &context));
    for (int c = 0; c < CONTACTS; ++c) {
        for (int a = 0; a < 6; ++a) {
            for (int b = 0; b < 6; ++b) {
                check_pair(context, true, PLANE_SHAPE[a], PLANE_SHAPE[b], CONTACT[c]);
            }
        }
        for (int a = 0; a < 9; ++a) {
            for (int b = 0; b < 9; ++b) {
                check_pair(context, false, SPACE_SHAPE[a], SPACE_SHAPE[b], CONTACT[c]);
            }
        }
    }
    perp_context_destroy(context);
}

/* ---- what `auto` stands for --------------------------------------------------------------------*/

static void check_choice(const char* text, const char* name, const char* reason)
{
    scene_sim s = scene_sim_open("%s", text);
    REQUIRE(s.sim != NULL);
    perp_sim_def def = perp_sim_def_default();
    def.stepper = strstr(text, "anitescu-potra") != NULL ? "anitescu-potra" : def.stepper;
    const perp_contact_choice choice = perp_contact_choose(perp_sim_model(s.sim), &def);
    CHECK_EQ_STR(choice.name, name);
    CHECK_EQ_STR(choice.reason, reason);
    def.contact = "lnc";
    CHECK_EQ_STR(perp_contact_choose(perp_sim_model(s.sim), &def).name, "lnc");
    scene_sim_close(&s);
}

TEST(auto_stands_for_peg_where_corners_meet_and_else_for_standard)
{
    check_choice("{'bodies':[" FLOOR BOX "]}", "peg", "bodies with corners meet");
    check_choice("{'stepper':'anitescu-potra','bodies':[" FLOOR BOX "]}", "standard",
                 "anitescu-potra does not use gaps");
    check_choice("{'bodies':[{'name':'plane','type':'static','shapes':[{'type':'plane',"
                 "'normal':[0,0,1]}]},{'name':'ball','density':1,'position':[0,0,1],"
                 "'shapes':[{'type':'sphere','radius':0.5}]}]}",
                 "standard", "no two bodies with corners meet");
    check_choice(
        "{'stepper':'compliant','bodies':[" FLOOR
        "{'name':'box','density':1,'position':[0,0,0.5],'compliance':{'max_deflection':0.1,"
        "'stiffness':1000},'shapes':[{'type':'box','size':[1,1,1]}]}]}",
        "standard", "bodies have soft layers");
    check_choice("{'joints':[{'name':'j','type':'revolute','a':'world','b':'box','at':[0,0,0.5],"
                 "'axis':[0,1,0]},{'name':'k','type':'revolute','a':'world','b':'box',"
                 "'at':[0,1,0.5],'axis':[0,1,0]}],'bodies':[" FLOOR BOX "]}",
                 "standard", "joints close a loop");
}
