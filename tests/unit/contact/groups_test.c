/* The contacts and groups that each contact model makes of a named geometry, derived by hand.
 *
 * A static box (square of side 2, cube of side 2 in space) about the origin, its faces at 1, and above it
 * a particle or a triangle whose tip points down; a fixed margin of 0.3. `standard` has the closest
 * features, each for itself; `lnc` and `disjunctive` have, of each vertex, the faces near it; `peg` has the
 * faces of the difference of the two shapes that the origin can reach. The tangent at the closest point of
 * a corner is a further member, for a point. */
#include "perp_test.h"
#include "support/scene_sim.h"

typedef struct wanted {
    int group; /* as perp_contact.group, but numbers mean only which belong together */
    double normal[3], gap;
} wanted;

typedef struct geometry {
    const char* name;
    int dimension;
    const char* shape; /* of the moving body */
    const char* position;
    int count[3]; /* contacts of standard, lnc, peg */
    wanted contact[3][6];
} geometry;

#define POINT "{'type':'particle'}"
#define TRIANGLE "{'type':'polygon','vertices':[[0,0],[0.5,1],[-0.5,1]]}"
#define HALF 0.70710678118654752 /* sqrt(1/2) */
#define LONG 0.89442719099991588 /* 2 / sqrt(5) */
#define SHORT 0.44721359549995794

static const geometry GEOMETRY[] = {
    {"a vertex over a face",
     2,
     TRIANGLE,
     "[0,1.1]",
     {1, 1, 1},
     {{{0, {0, 1, 0}, 0.1}}, {{0, {0, 1, 0}, 0.1}}, {{0, {0, 1, 0}, 0.1}}}},
    {"a point over a face",
     2,
     POINT,
     "[0,1.1]",
     {1, 1, 1},
     {{{0, {0, 1, 0}, 0.1}}, {{0, {0, 1, 0}, 0.1}}, {{0, {0, 1, 0}, 0.1}}}},
    {"a point over a face, near its end",
     2,
     POINT,
     "[0.9,1.1]",
     {1, 2, 2},
     {{{0, {0, 1, 0}, 0.1}},
      {{1, {1, 0, 0}, -0.1}, {1, {0, 1, 0}, 0.1}},
      {{1, {1, 0, 0}, -0.1}, {1, {0, 1, 0}, 0.1}}}},
    {"a point before a corner",
     2,
     POINT,
     "[1.1,1.1]",
     {1, 3, 3},
     {{{0, {HALF, HALF, 0}, 0.2 * HALF}},
      {{1, {1, 0, 0}, 0.1}, {1, {0, 1, 0}, 0.1}, {1, {HALF, HALF, 0}, 0.2 * HALF}},
      {{1, {1, 0, 0}, 0.1}, {1, {0, 1, 0}, 0.1}, {1, {HALF, HALF, 0}, 0.2 * HALF}}}},
    {"a point before a corner, nearer to one face",
     2,
     POINT,
     "[1.2,1.1]",
     {1, 3, 3},
     {{{0, {LONG, SHORT, 0}, 0.5 * SHORT}},
      {{1, {1, 0, 0}, 0.2}, {1, {0, 1, 0}, 0.1}, {1, {LONG, SHORT, 0}, 0.5 * SHORT}},
      {{1, {1, 0, 0}, 0.2}, {1, {0, 1, 0}, 0.1}, {1, {LONG, SHORT, 0}, 0.5 * SHORT}}}},
    {"a point on the boundary between face and corner",
     2,
     POINT,
     "[1.1,1]",
     {1, 2, 2},
     {{{0, {1, 0, 0}, 0.1}},
      {{1, {1, 0, 0}, 0.1}, {1, {0, 1, 0}, 0.0}},
      {{1, {1, 0, 0}, 0.1}, {1, {0, 1, 0}, 0.0}}}},
    {"a point beyond the margin", 2, POINT, "[1.4,1.1]", {0, 0, 0}, {{{0, {0, 0, 0}, 0}}}},
    /* Edges of the triangle have outward normals (+-2, -1)/sqrt(5); the corner (1, 1) is at (-0.05, -0.1)
     * from the tip. Neither the tip nor the corner could touch the other's far edge (secondary). */
    {"a corner before a corner",
     2,
     TRIANGLE,
     "[1.05,1.1]",
     {4, 4, 2},
     {{{0, {1, 0, 0}, 0.05},
       {0, {0, 1, 0}, 0.1},
       {0, {-LONG, SHORT, 0}, 0},
       {0, {LONG, SHORT, 0}, 0.2 * SHORT}},
      {{-1, {1, 0, 0}, 0.05},
       {1, {0, 1, 0}, 0.1},
       {-2, {-LONG, SHORT, 0}, 0},
       {2, {LONG, SHORT, 0}, 0.2 * SHORT}},
      {{1, {0, 1, 0}, 0.1}, {1, {LONG, SHORT, 0}, 0.2 * SHORT}}}},
    {"a point over a face, in space",
     3,
     POINT,
     "[0,0,1.1]",
     {1, 1, 1},
     {{{0, {0, 0, 1}, 0.1}}, {{0, {0, 0, 1}, 0.1}}, {{0, {0, 0, 1}, 0.1}}}},
    {"a point before an edge, in space",
     3,
     POINT,
     "[1.1,0,1.1]",
     {1, 3, 3},
     {{{0, {HALF, 0, HALF}, 0.2 * HALF}},
      {{1, {1, 0, 0}, 0.1}, {1, {0, 0, 1}, 0.1}, {1, {HALF, 0, HALF}, 0.2 * HALF}},
      {{1, {1, 0, 0}, 0.1}, {1, {0, 0, 1}, 0.1}, {1, {HALF, 0, HALF}, 0.2 * HALF}}}},
    {"a point before a vertex, in space",
     3,
     POINT,
     "[1.1,1.1,1.05]",
     {1, 4, 4},
     {{{0, {2.0 / 3, 2.0 / 3, 1.0 / 3}, 0.15}},
      {{1, {1, 0, 0}, 0.1},
       {1, {0, 1, 0}, 0.1},
       {1, {0, 0, 1}, 0.05},
       {1, {2.0 / 3, 2.0 / 3, 1.0 / 3}, 0.15}},
      {{1, {1, 0, 0}, 0.1},
       {1, {0, 1, 0}, 0.1},
       {1, {0, 0, 1}, 0.05},
       {1, {2.0 / 3, 2.0 / 3, 1.0 / 3}, 0.15}}}},
};
enum { GEOMETRIES = sizeof GEOMETRY / sizeof GEOMETRY[0] };

static scene_sim open_geometry(const geometry* g, const char* contact)
{
    return scene_sim_open(
        "{'dimension':%d,'step':0.01,'duration':1,'margin':0.3,'contact':%s,'bodies':["
        "{'name':'base','type':'static','shapes':[{'type':'box','size':%s}]},"
        "{'name':'mover','mass':1%s,'position':%s,'shapes':[%s]}]}",
        g->dimension, contact, g->dimension == 2 ? "[2,2]" : "[2,2,2]",
        strcmp(g->shape, POINT) == 0 ? "" : ",'inertia':1", g->position, g->shape);
}

static bool same(const perp_contact* c, const wanted* w)
{
    bool is = fabs(c->gap - w->gap) <= 1e-13;
    for (int i = 0; i < 3; ++i) {
        is = is && fabs(c->normal[i] - w->normal[i]) <= 1e-13;
    }
    const int role = (w->group > 0) - (w->group < 0);
    return is && (c->group > 0) - (c->group < 0) == role;
}

/* The contacts in any order, and any numbers of groups that belong together likewise. */
static void check_contacts(const geometry* g, const char* contact, const wanted* w,
                           int wanted_count)
{
    scene_sim s = open_geometry(g, contact);
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    int32_t count;
    const perp_contact* c = perp_sim_contacts(s.sim, &count);
    bool good = count == wanted_count;
    int number[6] = {0}; /* of the group, in place of each wanted one */
    for (int i = 0; i < wanted_count; ++i) {
        int found = -1;
        for (int k = 0; k < count && found < 0; ++k) {
            found = same(&c[k], &w[i]) ? k : -1;
        }
        good = good && found >= 0;
        number[i] = found >= 0 ? abs(c[found].group) : 0;
        for (int k = 0; k < i; ++k) {
            good = good && (number[i] == number[k]) == (abs(w[i].group) == abs(w[k].group));
        }
    }
    if (!good) {
        TEST_PRINT("%s, %s:", g->name, contact);
        for (int k = 0; k < count; ++k) {
            TEST_PRINT("    group %d, normal %g %g %g, gap %.17g", (int)c[k].group, c[k].normal[0],
                       c[k].normal[1], c[k].normal[2], c[k].gap);
        }
    }
    CHECK(good);
    /* the problem has the same groups */
    int groups = 0;
    for (int k = 0; k < count; ++k) {
        groups = abs(c[k].group) > groups ? abs(c[k].group) : groups;
    }
    CHECK_EQ_INT(perp_sim_problem(s.sim)->group_count, groups);
    scene_sim_close(&s);
}

TEST(standard_has_the_closest_features_each_for_itself)
{
    for (int i = 0; i < GEOMETRIES; ++i) {
        check_contacts(&GEOMETRY[i], "'standard'", GEOMETRY[i].contact[0], GEOMETRY[i].count[0]);
    }
}

TEST(lnc_groups_the_faces_near_each_vertex)
{
    for (int i = 0; i < GEOMETRIES; ++i) {
        check_contacts(&GEOMETRY[i], "'lnc'", GEOMETRY[i].contact[1], GEOMETRY[i].count[1]);
    }
}

TEST(disjunctive_has_the_groups_of_lnc)
{
    for (int i = 0; i < GEOMETRIES; ++i) {
        if (GEOMETRY[i].dimension == 2) {
            check_contacts(&GEOMETRY[i], "'disjunctive'", GEOMETRY[i].contact[1],
                           GEOMETRY[i].count[1]);
        }
    }
}

TEST(peg_groups_the_faces_of_the_difference)
{
    for (int i = 0; i < GEOMETRIES; ++i) {
        check_contacts(&GEOMETRY[i], "'peg'", GEOMETRY[i].contact[2], GEOMETRY[i].count[2]);
    }
}

TEST(corrective_has_no_contact_before_bodies_overlap)
{
    for (int i = 0; i < GEOMETRIES; ++i) {
        check_contacts(&GEOMETRY[i], "'corrective'", NULL, 0);
    }
}

TEST(corrective_has_the_depth_of_what_has_sunk_in)
{
    scene_sim s = scene_sim_open(
        "{'dimension':2,'step':0.01,'duration':1,'contact':'corrective','bodies':["
        "{'name':'base','type':'static','shapes':[{'type':'box','size':[2,2]}]},"
        "{'name':'mover','mass':1,'position':[0,1.004],'velocity':[0,-1],'shapes':[" POINT "]}]}");
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    int32_t count;
    (void)perp_sim_contacts(s.sim, &count);
    CHECK_EQ_INT(count, 0);
    REQUIRE_OK(perp_sim_step(s.sim));
    const perp_contact* c = perp_sim_contacts(s.sim, &count);
    REQUIRE(count == 1);
    CHECK_NEAR(c->gap, -0.006, 1e-14);
    CHECK_EQ_INT(c->group, 0);
    scene_sim_close(&s);
}

/* [W14 (4.14)]: of a group only the most open member pushes; before a corner that is the tangent. */
TEST(single_primary_leaves_one_member_that_pushes)
{
    const geometry* g = &GEOMETRY[4]; /* gaps 0.2, 0.1, 0.2236 */
    wanted w[3];
    memcpy(w, g->contact[2], sizeof w);
    w[0].group = w[1].group = -1;
    check_contacts(g, "{'type':'peg','single_primary':true}", w, 3);
    check_contacts(g, "{'type':'lnc','single_primary':true}", w, 3);
}

/* Contacts change continuously where a point passes from the cell of a face to that of a corner. */
TEST(the_gap_is_continuous_across_the_cells_of_faces_edges_and_vertices)
{
    static const double boundary[][3] = {{1, 1.1, 0}, {1, 0, 1.1}, {1, 1, 1.1}, {1, 1.1, 1.1}};
    for (int i = 0; i < 4; ++i) {
        for (int side = -1; side <= 1; ++side) {
            const double* at = boundary[i];
            char position[96];
            const double x = at[0] + 1e-9 * side;
            if (i == 0) {
                snprintf(position, sizeof position, "[%.17g,%.17g]", x, at[1]);
            } else {
                snprintf(position, sizeof position, "[%.17g,%.17g,%.17g]", x, at[1], at[2]);
            }
            const geometry g = {"boundary", i == 0 ? 2 : 3, POINT, position, {0}, {{{0}}}};
            scene_sim s = open_geometry(&g, "'standard'");
            REQUIRE(s.sim != NULL);
            REQUIRE_OK(perp_sim_step(s.sim));
            int32_t count;
            const perp_contact* c = perp_sim_contacts(s.sim, &count);
            REQUIRE(count == 1);
            CHECK_NEAR(c->gap, i == 3 ? 0.1 * sqrt(2.0) : 0.1, 2e-9);
            CHECK_NEAR(c->normal[0], 0.0, 2e-8);
            scene_sim_close(&s);
        }
    }
}

/* ---- what a contact has besides geometry ---------------------------------------------------------*/

static perp_contact only_contact(scene_sim* s)
{
    int32_t count = 0;
    const perp_contact* c =
        perp_sim_step(s->sim) == PERP_OK ? perp_sim_contacts(s->sim, &count) : NULL;
    CHECK_EQ_INT(count, 1);
    return count == 1 ? *c : (perp_contact){0};
}

TEST(friction_is_the_pair_s_or_the_geometric_mean_of_the_bodies)
{
    for (int own = 0; own < 2; ++own) {
        scene_sim s = scene_sim_open(
            "{'step':0.01,'duration':1,'gravity':[0,0,-10],'friction':{'cone':'polygon',"
            "'directions':6%s},'bodies':[{'name':'floor','type':'static','friction':0.9,"
            "'shapes':[{'type':'plane','normal':[0,0,1]}]},{'name':'ball','mass':1,"
            "'inertia':[1,1,1],'friction':0.4,'position':[0,0,1],"
            "'shapes':[{'type':'sphere','radius':1}]}]}",
            own ? ",'pairs':[{'a':'floor','b':'ball','mu':0.2}]" : "");
        REQUIRE(s.sim != NULL);
        const perp_contact c = only_contact(&s);
        CHECK_NEAR(c.mu, own ? 0.2 : 0.6, 1e-15);
        CHECK_EQ_INT(c.cone, PERP_CONE_POLYGON);
        CHECK_EQ_INT(c.directions, 6);
        scene_sim_close(&s);
    }
}

TEST(a_planar_cone_is_an_interval_whatever_its_name)
{
    static const char* const cone[] = {"none", "polygon", "quadratic"};
    for (int i = 0; i < 3; ++i) {
        scene_sim s = scene_sim_open(
            "{'dimension':2,'step':0.01,'duration':1,'gravity':[0,-10],'friction':{'cone':'%s',"
            "'default':0.5},'bodies':[{'name':'floor','type':'static','shapes':[{'type':"
            "'halfplane','normal':[0,1]}]},{'name':'disc','mass':1,'inertia':1,'position':[0,1],"
            "'shapes':[{'type':'circle','radius':1}]}]}",
            cone[i]);
        REQUIRE(s.sim != NULL);
        const perp_contact c = only_contact(&s);
        CHECK_EQ_INT(c.cone, i == 0 ? PERP_CONE_NONE : PERP_CONE_POLYGON);
        CHECK_EQ_INT(c.directions, i == 0 ? 0 : 2);
        CHECK_NEAR(c.mu, i == 0 ? 0.0 : 0.5, 0.0);
        scene_sim_close(&s);
    }
}
