/* The rows of every joint type against finite differences of what they hold, and of its coordinates.
 *
 * A joint is moved along its freedoms, and the pair of bodies as a whole; there its errors are zero. The
 * derivative of each error and coordinate with respect to each velocity of the two bodies, by central
 * differences, is then the row's entry. */
#include "model/model.h"
#include "perp_test.h"
#include "step/joint_rows.h"
#include "support/scene_sim.h"

/* The freedoms of a joint at (0.5, 0.4, 0.2), unit axis (1, 2, 2) / 3, axis2 (2, -2, 1) / 3, third
 * direction axis x axis2: how b is moved against a, and what the coordinates then read. */
typedef struct motion {
    const char* type;
    bool axis, axis2; /* keys that the type takes */
    double turn[3];   /* about axis, then axis2, then the third, each about the joint's point */
    double slide[3];
    int rows, coordinates;
    double coordinate[2]; /* NaN: not checked */
} motion;

static const motion MOTION[] = {
    {"fixed", false, false, {0, 0, 0}, {0, 0, 0}, 6, 0, {0, 0}},
    {"revolute", true, false, {0.7, 0, 0}, {0, 0, 0}, 5, 1, {0.7, 0}},
    {"prismatic", true, false, {0, 0, 0}, {0.3, 0, 0}, 5, 1, {0.3, 0}},
    {"cylindrical", true, false, {-0.6, 0, 0}, {0.3, 0, 0}, 4, 2, {0.3, -0.6}},
    {"spherical", false, false, {0.7, -0.4, 0.9}, {0, 0, 0}, 3, 0, {0, 0}},
    {"universal", true, true, {0.7, -0.4, 0}, {0, 0, 0}, 4, 2, {0.7, -0.4}},
    {"planar", true, false, {0.8, 0, 0}, {0, 0.2, -0.3}, 3, 3, {NAN, NAN}},
    {"rope", false, false, {0.7, -0.4, 0.9}, {0.1, 0.2, -0.3}, 1, 1, {NAN, NAN}},
};
enum { MOTIONS = sizeof MOTION / sizeof MOTION[0] };

static vec3 direction(int i)
{
    const vec3 a = v3(1.0 / 3, 2.0 / 3, 2.0 / 3), b = v3(2.0 / 3, -2.0 / 3, 1.0 / 3);
    return i == 0 ? a : i == 1 ? b : v3_cross(a, b);
}

static scene_sim spatial(const motion* m)
{
    return scene_sim_open("{'step':0.01,'duration':1,'bodies':["
                          "{'name':'a','mass':2,'inertia':[1,1.5,2],'position':[0.1,0.2,0.3],"
                          "'axis_angle':[1,2,-1,0.4]},"
                          "{'name':'b','mass':1,'inertia':[1,0.8,0.7],'position':[1.1,0.6,-0.2],"
                          "'axis_angle':[0,1,1,-0.9]}],"
                          "'joints':[{'name':'j','type':'%s','a':'a','b':'b'%s%s%s}]}",
                          m->type, strcmp(m->type, "rope") == 0 ? "" : ",'at':[0.5,0.4,0.2]",
                          m->axis ? ",'axis':[1,2,2]" : "", m->axis2 ? ",'axis2':[2,-2,1]" : "");
}

static void turn_body(double q[7], quat turn, vec3 about, vec3 then)
{
    const vec3 x = v3_add(v3_add(about, m3_mul(q4_matrix(turn), v3_sub(v3_from(q), about))), then);
    const quat r = q4_unit(q4_mul(turn, (quat){q[3], q[4], q[5], q[6]}));
    v3_to(x, q);
    q[3] = r.w;
    q[4] = r.x;
    q[5] = r.y;
    q[6] = r.z;
}

/* Moves b along the freedoms, then both bodies together. */
static void move_pair(const motion* m, double q[14])
{
    quat turn = {1, 0, 0, 0};
    vec3 slide = v3(0, 0, 0);
    for (int i = 0; i < 3; ++i) {
        turn = q4_mul(turn, q4_exp(v3_scale(m->turn[i], direction(i))));
        slide = v3_madd(slide, m->slide[i], direction(i));
    }
    turn_body(q + 7, turn, v3(0.5, 0.4, 0.2), slide);
    const quat common = q4_exp(v3(0.5, -1.1, 0.3));
    for (int body = 0; body < 2; ++body) {
        turn_body(q + 7 * body, common, v3(0.2, 0.1, 0), v3(1, 2, 3));
    }
}

/* q displaced by eps along velocity number `dof` of the flat state. */
static void displace(const perp_model* model, const double* q, int dof, double eps, double* out)
{
    memcpy(out, q, (size_t)perpi_q_stride(model) * 2 * sizeof *out);
    if (model->dimension == 2) {
        out[dof] += eps;
        return;
    }
    double* body = out + 7 * (dof / 6);
    vec3 step = v3(dof % 3 == 0 ? eps : 0, dof % 3 == 1 ? eps : 0, dof % 3 == 2 ? eps : 0);
    const bool angular = dof % 6 >= 3;
    turn_body(body, q4_exp(angular ? step : v3(0, 0, 0)), v3_from(body),
              angular ? v3(0, 0, 0) : step);
}

static void check_derivatives(const perp_model* model, const double* q, const char* type)
{
    const double eps = 1e-6;
    const int dofs = 2 * perpi_v_stride(model);
    const perpi_joint_view at = perpi_joint_evaluate(model, 0, q, NULL);
    for (int dof = 0; dof < dofs; ++dof) {
        double plus[14], minus[14], v[12] = {0};
        v[dof] = 1.0;
        displace(model, q, dof, eps, plus);
        displace(model, q, dof, -eps, minus);
        const perpi_joint_view above = perpi_joint_evaluate(model, 0, plus, NULL);
        const perpi_joint_view below = perpi_joint_evaluate(model, 0, minus, NULL);
        for (int k = 0; k < at.rows + at.coordinates; ++k) {
            const bool row = k < at.rows;
            const perpi_row* r = row ? &at.row[k] : &at.coordinate[k - at.rows];
            const double high = row ? above.row[k].b : above.coordinate[k - at.rows].b;
            const double low = row ? below.row[k].b : below.coordinate[k - at.rows].b;
            const double exact = perpi_joint_speed(model, 0, r, v);
            if (!(fabs((high - low) / (2 * eps) - exact) <= 1e-8)) {
                TEST_PRINT("%s: %s %d, velocity %d", type, row ? "row" : "coordinate",
                           row ? k : k - at.rows, dof);
            }
            CHECK_NEAR((high - low) / (2 * eps), exact, 1e-8);
        }
    }
}

TEST(rows_of_every_joint_in_space_are_the_derivatives_of_its_errors_and_coordinates)
{
    CHECK_EQ_INT(MOTIONS, PERP_JOINT_TYPE_COUNT - 1); /* gears connect joints: physics/gear */
    for (int i = 0; i < MOTIONS; ++i) {
        const motion* m = &MOTION[i];
        scene_sim s = spatial(m);
        REQUIRE(s.sim != NULL);
        const perp_model* model = perp_sim_model(s.sim);
        double q[14];
        memcpy(q, perp_sim_q(s.sim), sizeof q);
        move_pair(m, q);
        const perpi_joint_view view = perpi_joint_evaluate(model, 0, q, NULL);
        CHECK_EQ_INT(view.rows, m->rows);
        CHECK_EQ_INT(view.coordinates, m->coordinates);
        for (int k = 0; k < view.rows && strcmp(m->type, "rope") != 0; ++k) {
            CHECK_NEAR(view.row[k].b, 0.0, 1e-14);
        }
        for (int k = 0; k < view.coordinates && k < 2; ++k) {
            if (!isnan(m->coordinate[k])) {
                CHECK_NEAR(view.coordinate[k].b, m->coordinate[k], 1e-14);
            }
        }
        check_derivatives(model, q, m->type);
        scene_sim_close(&s);
    }
}

/* The planar joint slides by (0.2, -0.3) in its plane, in axes of its own: their length is known. */
TEST(the_planar_joint_measures_its_travel_and_its_turn)
{
    const motion* m = &MOTION[PERP_JOINT_PLANAR];
    scene_sim s = spatial(m);
    REQUIRE(s.sim != NULL);
    double q[14];
    memcpy(q, perp_sim_q(s.sim), sizeof q);
    move_pair(m, q);
    const perpi_joint_view view = perpi_joint_evaluate(perp_sim_model(s.sim), 0, q, NULL);
    CHECK_NEAR(hypot(view.coordinate[0].b, view.coordinate[1].b), hypot(0.2, 0.3), 1e-14);
    CHECK_NEAR(view.coordinate[2].b, 0.8, 1e-14);
    scene_sim_close(&s);
}

/* Planar scenes: b is turned by `turn` about the joint's point (1, 0.5), slid along (3, 4) / 5. */
TEST(rows_of_every_planar_joint_are_the_derivatives_of_its_errors_and_coordinates)
{
    static const struct {
        const char *type, *keys;
        double turn, slide;
        int rows, coordinates;
    } joint[] = {{"fixed", ",'at':[1,0.5]", 0, 0, 3, 0},
                 {"revolute", ",'at':[1,0.5]", 0.7, 0, 2, 1},
                 {"prismatic", ",'at':[1,0.5],'axis':[3,4]", 0, 0.4, 2, 1},
                 {"rope", "", 0.7, 0.4, 1, 1}};
    for (int i = 0; i < 4; ++i) {
        scene_sim s =
            scene_sim_open("{'dimension':2,'step':0.01,'duration':1,'bodies':["
                           "{'name':'a','mass':2,'inertia':1,'position':[0.2,0.1],'angle':0.3},"
                           "{'name':'b','mass':1,'inertia':1,'position':[1.5,0.9],'angle':-0.4}],"
                           "'joints':[{'name':'j','type':'%s','a':'a','b':'b'%s}]}",
                           joint[i].type, joint[i].keys);
        REQUIRE(s.sim != NULL);
        const perp_model* model = perp_sim_model(s.sim);
        double q[14] = {0};
        memcpy(q, perp_sim_q(s.sim), 6 * sizeof *q);
        const double c = cos(joint[i].turn), n = sin(joint[i].turn);
        const double x = q[3] - 1.0, y = q[4] - 0.5;
        q[3] = 1.0 + c * x - n * y + 0.6 * joint[i].slide;
        q[4] = 0.5 + n * x + c * y + 0.8 * joint[i].slide;
        q[5] += joint[i].turn;
        const perpi_joint_view view = perpi_joint_evaluate(model, 0, q, NULL);
        CHECK_EQ_INT(view.rows, joint[i].rows);
        CHECK_EQ_INT(view.coordinates, joint[i].coordinates);
        if (i < 3) {
            CHECK_NEAR(view.error[0], 0.0, 1e-14);
            CHECK_NEAR(view.error[1], 0.0, 1e-14);
        }
        if (i == 1 || i == 2) {
            CHECK_NEAR(view.coordinate[0].b, joint[i].turn + joint[i].slide, 1e-14);
        }
        check_derivatives(model, q, joint[i].type);
        scene_sim_close(&s);
    }
}

/* ---- the same rows in the problem of a step ------------------------------------------------------*/

TEST(the_problem_of_a_step_has_the_rows_of_the_joint)
{
    for (int i = 0; i < MOTIONS; ++i) {
        if (strcmp(MOTION[i].type, "rope") == 0) {
            continue; /* not an equality */
        }
        scene_sim s = spatial(&MOTION[i]);
        REQUIRE(s.sim != NULL);
        const perpi_joint_view view =
            perpi_joint_evaluate(perp_sim_model(s.sim), 0, perp_sim_q(s.sim), NULL);
        REQUIRE_OK(perp_sim_step(s.sim));
        const perp_contact_problem* p = perp_sim_problem(s.sim);
        REQUIRE(p->constraint_count == 1);
        const perp_constraint* c = &p->constraint[0];
        CHECK_EQ_INT(c->kind, PERP_CONSTRAINT_EQUALITY);
        REQUIRE(c->rows == view.rows && c->block[0] == 0 && c->block[1] == 1);
        for (int r = 0; r < c->rows; ++r) {
            CHECK_NEAR(p->b[c->row + r], 0.0, 1e-12);
            for (int dof = 0; dof < 12; ++dof) {
                double v[12] = {0};
                v[dof] = 1.0;
                const double* J = p->J + c->jac + (dof < 6 ? 0 : 6 * c->rows);
                CHECK_NEAR(J[6 * r + dof % 6],
                           perpi_joint_speed(perp_sim_model(s.sim), 0, &view.row[r], v), 1e-13);
            }
        }
        scene_sim_close(&s);
    }
}

/* A hinge that a step has left open by d has b = d / h in the next. */
TEST(the_error_of_a_joint_is_closed_within_the_next_step)
{
    const double h = 0.05;
    scene_sim s = scene_sim_open(
        "{'dimension':2,'step':%g,'duration':1,'joint_direction':'start',"
        "'bodies':[{'name':'b','mass':1,'inertia':1,"
        "'position':[1,0],'velocity':[0,3],'angular_velocity':3}],'joints':[{'name':'j',"
        "'type':'revolute','a':'world','b':'b','at':[0,0]}]}",
        h);
    REQUIRE(s.sim != NULL);
    REQUIRE_OK(perp_sim_step(s.sim));
    const double error = perp_sim_joint(s.sim, 0).error[0];
    CHECK_AT_LEAST(error, 1e-3); /* about r (omega h)^2 / 2 */
    REQUIRE_OK(perp_sim_step(s.sim));
    const perp_contact_problem* p = perp_sim_problem(s.sim);
    REQUIRE(p->row_count == 2);
    CHECK_NEAR(hypot(p->b[0], p->b[1]), error / h, 1e-12);
    scene_sim_close(&s);
}
