/* cli/check.c - `perp check`: is the scene valid, and what will be simulated? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measures.h"

#define ROWS_SHOWN 40
#define PAIRS_JSON 100000
#define COUNTED_BODIES 1500

static const char* type_name(perp_body_type type)
{
    return type == PERP_BODY_STATIC      ? "static"
           : type == PERP_BODY_KINEMATIC ? "kinematic"
                                         : "dynamic";
}

/* The types of a body's shapes, such as "box sphere sphere". */
static void shapes_text(const perp_model* model, int32_t body, char* text, size_t size)
{
    const int32_t count = perp_model_body_info(model, body).shape_count;
    size_t at = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < count && at + 1 < size; ++i) {
        const perp_shape_def shape = perp_model_body_shape(model, body, i);
        const int n = i < 4 ? snprintf(text + at, size - at, "%s%s", i > 0 ? " " : "",
                                       perp_shape_name(shape.type))
                            : snprintf(text + at, size - at, " +%d", (int)(count - i));
        at += n > 0 ? (size_t)n : 0;
        if (i == 4) {
            break;
        }
    }
    if (count == 0) {
        (void)snprintf(text, size, "(none)");
    }
}

/* Contacts are only sought where one body is dynamic. */
static bool can_meet(const perp_model* model, int32_t a, int32_t b)
{
    const perp_body_info x = perp_model_body_info(model, a), y = perp_model_body_info(model, b);
    return (x.dofs > 0 || y.dofs > 0) && x.shape_count > 0 && y.shape_count > 0 &&
           perp_model_pair_collides(model, a, b);
}

/* Of the meshes of a body, drawn ones too. */
static void count_faces(const perp_model* model, int32_t body, int* vertices, int* faces)
{
    const int32_t count = perp_model_body_info(model, body).shape_count;
    for (int32_t i = 0; i < count; ++i) {
        const perp_shape_def shape = perp_model_body_shape(model, body, i);
        if (shape.type == PERP_SHAPE_MESH) {
            *vertices += (int)shape.vertex_count;
            *faces += (int)shape.triangle_count;
        }
    }
}

static json_t* bodies_json(const perp_model* model)
{
    json_t* array = json_array();
    const bool planar = perp_model_dimension(model) == 2;
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        const perp_body_info info = perp_model_body_info(model, i);
        json_t* shapes = json_array();
        for (int32_t s = 0; s < info.shape_count; ++s) {
            json_array_append_new(
                shapes, json_string(perp_shape_name(perp_model_body_shape(model, i, s).type)));
        }
        int vertices = 0, faces = 0;
        count_faces(model, i, &vertices, &faces);
        json_t* body = json_pack(
            "{s:s, s:s, s:o, s:i, s:o, s:o, s:o}", "name", perp_model_body_name(model, i), "type",
            type_name(info.type), "mass", cli_number(info.mass), "degrees_of_freedom",
            (int)info.dofs, "friction", cli_number(info.friction), "restitution",
            cli_number(info.restitution), "position", cli_numbers(info.position, planar ? 2 : 3));
        json_object_set_new(body, "inertia",
                            planar ? cli_number(info.inertia[8]) : cli_numbers(info.inertia, 9));
        json_object_set_new(body, "shapes", shapes);
        if (faces > 0) {
            json_object_set_new(body, "vertices", json_integer(vertices));
            json_object_set_new(body, "faces", json_integer(faces));
        }
        const perp_support_info support = perp_model_body_support(model, i);
        if (support.points > 0) {
            json_object_set_new(body, "support",
                                json_pack("{s:o, s:o}", "mu",
                                          cli_numbers(support.mu, support.points), "load",
                                          cli_numbers(support.load, support.points)));
        }
        json_array_append_new(array, body);
    }
    return array;
}

static const char* side_name(const perp_model* model, int32_t body)
{
    return body >= 0 ? perp_model_body_name(model, body) : "world";
}

static const char* motor_name(perp_motor_type type)
{
    static const char* const name[] = {"none", "position", "velocity", "effort"};
    return name[type];
}

static const char* name_of(const perp_model* model, int32_t body)
{
    return body >= 0 ? perp_model_body_name(model, body) : "world";
}

static json_t* forces_json(const perp_model* model)
{
    json_t* array = json_array();
    for (int32_t i = 0; i < perp_model_spring_count(model); ++i) {
        const perp_spring_info s = perp_model_spring_info(model, i);
        json_array_append_new(array, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:b, s:b}", "type",
                                               "spring", "a", cli_text(name_of(model, s.a)), "b",
                                               cli_text(name_of(model, s.b)), "stiffness",
                                               cli_number(s.stiffness), "damping",
                                               cli_number(s.damping), "rest", cli_number(s.rest),
                                               "isotropic", s.isotropic, "implicit", s.implicit));
    }
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        const perp_drag_def d = perp_model_drag(model, i);
        if (d.linear > 0.0 || d.angular > 0.0) {
            json_array_append_new(array, json_pack("{s:s, s:o, s:o, s:o}", "type", "drag", "body",
                                                   cli_text(d.body), "linear", cli_number(d.linear),
                                                   "angular", cli_number(d.angular)));
        }
    }
    return array;
}

static json_t* controllers_json(const perp_model* model)
{
    json_t* array = json_array();
    for (int32_t i = 0; i < perp_model_controller_count(model); ++i) {
        const perp_controller_info c = perp_model_controller_info(model, i);
        const char* on = c.joint >= 0 ? perp_model_joint_name(model, c.joint)
                                      : perp_model_body_name(model, c.body);
        json_t* item = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                                 cli_text(perp_model_controller_name(model, i)),
                                 c.joint >= 0 ? "joint" : "body", cli_text(on), "kp",
                                 cli_number(c.kp), "ki", cli_number(c.ki), "kd", cli_number(c.kd),
                                 "max_effort", cli_number(c.max_effort));
        if (c.gravity) {
            json_object_set_new(item, "feed_forward", json_string("gravity"));
        }
        json_array_append_new(array, item);
    }
    return array;
}

static json_t* joints_json(const perp_model* model)
{
    json_t* array = json_array();
    for (int32_t i = 0; i < perp_model_joint_count(model); ++i) {
        const perp_joint_info info = perp_model_joint_info(model, i);
        json_t* joint =
            json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:o, s:o, s:s, s:b}", "name",
                      perp_model_joint_name(model, i), "type", perp_joint_type_name(info.type), "a",
                      side_name(model, info.a), "b", side_name(model, info.b), "rows",
                      (int)info.rows, "coordinates", (int)info.coordinates, "friction",
                      cli_number(info.friction), "damping", cli_number(info.damping), "motor",
                      motor_name(info.motor), "collide", (int)info.collide);
        if (info.has_limits) {
            json_object_set_new(joint, "limits", cli_numbers(info.limits, 2));
        }
        if (info.type == PERP_JOINT_GEAR) {
            json_object_set_new(joint, "joints",
                                json_pack("[s, s]", perp_model_joint_name(model, info.joints[0]),
                                          perp_model_joint_name(model, info.joints[1])));
            json_object_set_new(joint, "ratio", cli_number(info.ratio));
            json_object_set_new(joint, "offset", cli_number(info.offset));
        }
        if (info.motor != PERP_MOTOR_NONE) {
            json_object_set_new(joint, "max_effort", cli_number(info.max_effort));
        }
        if (isfinite(info.velocity_limit)) {
            json_object_set_new(joint, "velocity_limit", cli_number(info.velocity_limit));
        }
        json_array_append_new(array, joint);
    }
    return array;
}

static json_t* pairs_json(const perp_model* model)
{
    json_t* array = json_array();
    const int32_t n = perp_model_body_count(model);
    for (int32_t a = 0; a < n; ++a) {
        for (int32_t b = a + 1; b < n && json_array_size(array) < PAIRS_JSON; ++b) {
            if (can_meet(model, a, b)) {
                perp_compliance_def soft;
                json_t* pair =
                    json_pack("{s:s, s:s, s:o, s:o}", "a", perp_model_body_name(model, a), "b",
                              perp_model_body_name(model, b), "mu",
                              cli_number(perp_model_pair_friction(model, a, b)), "restitution",
                              cli_number(perp_model_pair_restitution(model, a, b)));
                if (perp_model_pair_compliance(model, a, b, &soft)) {
                    json_object_set_new(pair, "stiffness", cli_number(soft.stiffness[0]));
                    json_object_set_new(pair, "damping", cli_number(soft.damping[0]));
                    json_object_set_new(pair, "max_deflection", cli_number(soft.max_deflection));
                }
                json_array_append_new(array, pair);
            }
        }
    }
    return array;
}

static json_t* settings_json(const perp_scene_run* run)
{
    json_t* object = json_object();
    for (int32_t i = 0; i < run->solver_option_count; ++i) {
        json_object_set_new(object, run->solver_option[i].name,
                            cli_number(run->solver_option[i].value));
    }
    return object;
}

static const char* law_name(const perp_model* model)
{
    return perp_model_impact_law(model) == PERP_IMPACT_POISSON ? "poisson" : "newton";
}

static json_t* unused_json(const perp_scene* scene)
{
    json_t* array = json_array();
    for (int32_t i = 0; i < perp_scene_parameter_count(scene); ++i) {
        if (!perp_scene_parameter_used(scene, i)) {
            json_array_append_new(array, json_string(perp_scene_parameter(scene, i).name));
        }
    }
    return array;
}

/* Joint-space quantities at the start (perp/robot.h); null where the model has none, or very many. */
static json_t* robot_json(const perp_sim* sim, const perp_model* model, perp_context* context)
{
    perp_robot* robot = NULL;
    if (perp_model_joint_count(model) == 0 || perp_model_dimension(model) != 3 ||
        perp_robot_create(context, sim, &robot) != PERP_OK) {
        return json_null();
    }
    const int n = perp_robot_dof_count(robot);
    double* x = n > 0 && n <= 200 ? calloc((size_t)(n * n + n), sizeof *x) : NULL;
    if (x == NULL) {
        perp_robot_destroy(robot);
        return json_null();
    }
    double center[3];
    json_t *dofs = json_array(), *rows = json_array();
    perp_robot_mass_matrix(robot, x);
    perp_robot_gravity(robot, x + n * n);
    const double mass = perp_robot_center(robot, center);
    for (int i = 0; i < n; ++i) {
        const perp_robot_dof dof = perp_robot_dof_info(robot, i);
        json_array_append_new(dofs,
                              cli_text(dof.joint >= 0 ? perp_model_joint_name(model, dof.joint)
                                                      : perp_model_body_name(model, dof.body)));
        json_array_append_new(rows, cli_numbers(x + i * n, n));
    }
    json_t* o = json_pack("{s:o, s:o, s:o, s:o, s:o}", "dofs", dofs, "mass", cli_number(mass),
                          "center_of_mass", cli_numbers(center, 3), "mass_matrix", rows, "gravity",
                          cli_numbers(x + n * n, n));
    free(x);
    perp_robot_destroy(robot);
    return o;
}

static void print_json(const perp_scene* scene, const perp_sim* sim, double penetration,
                       perp_context* context)
{
    const perp_model* model = perp_scene_model(scene);
    const perp_scene_run run = perp_scene_run_settings(scene);
    json_t* o = json_object();
    json_object_set_new(o, "status", json_string("ok"));
    json_object_set_new(o, "scene", json_string(perp_scene_name(scene)));
    json_object_set_new(o, "dimension", json_integer(perp_model_dimension(model)));
    double gravity[3];
    perp_model_gravity(perp_scene_model(scene), gravity);
    json_object_set_new(o, "gravity",
                        cli_numbers(gravity, perp_model_dimension(model) == 2 ? 2 : 3));
    json_object_set_new(o, "step",
                        run.error > 0.0 ? json_pack("{s:o}", "error", cli_number(run.error))
                                        : cli_number(run.step));
    json_object_set_new(o, "duration", cli_number(run.duration));
    json_object_set_new(o, "steps",
                        run.error > 0.0 ? json_null() : json_integer(perp_sim_step_total(sim)));
    json_object_set_new(o, "record_every", json_integer(perp_scene_record_every(scene)));
    json_object_set_new(o, "stepper", json_string(run.stepper));
    const perp_contact_choice contact = cli_contact(scene);
    json_object_set_new(o, "contact", json_string(contact.name));
    if (strcmp(run.contact, "auto") == 0) {
        json_object_set_new(
            o, "contact_choice",
            json_pack("{s:s, s:s}", "asked", run.contact, "reason", contact.reason));
    }
    json_object_set_new(o, "friction", json_string(run.cone));
    json_object_set_new(o, "directions", json_integer(run.directions));
    json_object_set_new(o, "impact_law", json_string(law_name(model)));
    json_object_set_new(o, "solver", json_string(run.solver));
    json_object_set_new(o, "solver_settings", settings_json(&run));
    json_object_set_new(o, "tolerance", cli_number(run.tolerance));
    json_object_set_new(o, "margin",
                        isnan(run.margin) ? json_string("automatic") : cli_number(run.margin));
    json_object_set_new(o, "penetration", cli_number(penetration));
    json_object_set_new(o, "bodies", bodies_json(model));
    json_object_set_new(o, "joints", joints_json(model));
    json_object_set_new(o, "forces", forces_json(model));
    json_object_set_new(o, "controllers", controllers_json(model));
    json_object_set_new(o, "joint_correction", json_boolean(run.joint_correction));
    const perp_joint_choice direction = perp_joint_choose(model, &run);
    json_object_set_new(o, "joint_direction", json_string(direction.middle ? "middle" : "start"));
    if (run.joint_choice) {
        json_object_set_new(o, "joint_direction_choice",
                            json_pack("{s:s, s:s}", "asked", "auto", "reason", direction.reason));
    }
    const perp_joint_choice rolling = perp_rolling_choose(model, &run);
    json_object_set_new(o, "contact_direction", json_string(rolling.middle ? "middle" : "start"));
    if (run.rolling_choice) {
        json_object_set_new(o, "contact_direction_choice",
                            json_pack("{s:s, s:s}", "asked", "auto", "reason", rolling.reason));
    }
    json_object_set_new(o, "pairs", pairs_json(model));
    json_object_set_new(o, "pairs_out_of_reach", json_integer(perp_sim_pairs_out_of_reach(sim)));
    json_object_set_new(o, "robot", robot_json(sim, model, context));
    json_object_set_new(o, "parameters", cli_parameters_json(scene));
    json_object_set_new(o, "unused_parameters", unused_json(scene));
    json_object_set_new(o, "measures", cli_measure_defs_json(scene, sim));
    json_object_set_new(o, "stop", cli_stops_json(scene));
    cli_print_json(o);
}

static void print_bodies(const perp_model* model)
{
    const int32_t n = perp_model_body_count(model);
    printf("\n%s  %-20s %-10s %12s %9s  %s%s\n", cli_bold(), "body", "type", "mass", "friction",
           "shapes", cli_plain());
    for (int32_t i = 0; i < n && i < ROWS_SHOWN; ++i) {
        const perp_body_info info = perp_model_body_info(model, i);
        char shapes[160], mass[32] = "-";
        shapes_text(model, i, shapes, sizeof shapes);
        if (info.type == PERP_BODY_DYNAMIC) {
            (void)snprintf(mass, sizeof mass, "%.6g", info.mass);
        }
        printf("  ");
        cli_put_name(perp_model_body_name(model, i), 20);
        int vertices = 0, faces = 0;
        count_faces(model, i, &vertices, &faces);
        printf(" %-10s %12s %9.4g  %s", type_name(info.type), mass, info.friction, shapes);
        if (faces > 0) {
            printf(" (%d vertices, %d faces)", vertices, faces);
        }
        printf("\n");
    }
    if (n > ROWS_SHOWN) {
        printf("  ... and %d more\n", (int)(n - ROWS_SHOWN));
    }
}

/* The normal forces under bodies of a 2.5-D scene: they depend on gravity, which may be a
 * default. */
static void print_supports(const perp_model* model)
{
    bool any = false;
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        const perp_support_info s = perp_model_body_support(model, i);
        if (s.points == 0) {
            continue;
        }
        if (!any) {
            printf("\n%s  %-20s %-26s %s%s\n", cli_bold(), "lies on the plane", "friction",
                   "normal forces", cli_plain());
        }
        any = true;
        printf("  ");
        cli_put_name(perp_model_body_name(model, i), 20);
        char mu[64];
        (void)(s.points == 1
                   ? snprintf(mu, sizeof mu, "%.4g", s.mu[0])
                   : snprintf(mu, sizeof mu, "%.4g, %.4g, %.4g", s.mu[0], s.mu[1], s.mu[2]));
        printf(" %-26s ", mu);
        for (int32_t k = 0; k < s.points; ++k) {
            printf("%s%.6g", k > 0 ? ", " : "", s.load[k]);
        }
        printf("\n");
    }
}

static void print_forces(const perp_model* model)
{
    if (perp_model_spring_count(model) > 0) {
        printf("\n%s  %-20s %-20s %-11s %-11s %-11s %s%s\n", cli_bold(), "spring from", "to",
               "stiffness", "damping", "rest", "force of", cli_plain());
    }
    for (int32_t i = 0; i < perp_model_spring_count(model); ++i) {
        const perp_spring_info s = perp_model_spring_info(model, i);
        printf("  ");
        cli_put_name(name_of(model, s.a), 20);
        printf(" ");
        cli_put_name(name_of(model, s.b), 20);
        printf(" %-11.4g %-11.4g %-11.4g %s\n", s.stiffness, s.damping, s.rest,
               s.implicit ? "the end of the step" : "its start");
    }
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        const perp_drag_def d = perp_model_drag(model, i);
        if (d.linear > 0.0 || d.angular > 0.0) {
            printf("  drag on ");
            cli_put(d.body);
            printf(": linear %.4g, angular %.4g\n", d.linear, d.angular);
        }
    }
    if (perp_model_controller_count(model) > 0) {
        printf("\n%s  %-20s %-26s %-11s %-11s %-11s %s%s\n", cli_bold(), "controller", "of", "kp",
               "ki", "kd", "max effort", cli_plain());
    }
    for (int32_t i = 0; i < perp_model_controller_count(model); ++i) {
        const perp_controller_info c = perp_model_controller_info(model, i);
        printf("  ");
        cli_put_name(perp_model_controller_name(model, i), 20);
        printf(" %-5s ", c.joint >= 0 ? "joint" : "body");
        cli_put_name(c.joint >= 0 ? perp_model_joint_name(model, c.joint)
                                  : perp_model_body_name(model, c.body),
                     20);
        printf(" %-11.4g %-11.4g %-11.4g %.4g\n", c.kp, c.ki, c.kd, c.max_effort);
    }
}

static void print_joints(const perp_model* model)
{
    const int32_t n = perp_model_joint_count(model);
    if (n == 0) {
        return;
    }
    printf("\n%s  %-20s %-12s %-20s %-20s %s%s\n", cli_bold(), "joint", "type", "a", "b", "laws",
           cli_plain());
    for (int32_t i = 0; i < n && i < ROWS_SHOWN; ++i) {
        const perp_joint_info info = perp_model_joint_info(model, i);
        printf("  ");
        cli_put_name(perp_model_joint_name(model, i), 20);
        printf(" %-12s ", perp_joint_type_name(info.type));
        const bool gear = info.type == PERP_JOINT_GEAR;
        cli_put_name(gear ? perp_model_joint_name(model, info.joints[0]) : side_name(model, info.a),
                     20);
        printf(" ");
        cli_put_name(gear ? perp_model_joint_name(model, info.joints[1]) : side_name(model, info.b),
                     20);
        if (gear) {
            printf(" ratio %.6g, offset %.6g", info.ratio, info.offset);
        }
        if (info.type == PERP_JOINT_ROPE) {
            printf(" length %.6g", info.length);
        }
        if (info.has_limits) {
            printf(" limits [%.6g, %.6g]", info.limits[0], info.limits[1]);
        }
        if (info.friction > 0.0) {
            printf(" friction %.6g", info.friction);
        }
        if (info.armature > 0.0) {
            printf(" armature %.6g", info.armature);
        }
        if (info.stiffness > 0.0) {
            printf(" stiffness %.6g", info.stiffness);
        }
        if (info.damping > 0.0) {
            printf(" damping %.6g", info.damping);
        }
        if (isfinite(info.velocity_limit)) {
            printf(" velocity limit %.6g", info.velocity_limit);
        }
        if (info.motor != PERP_MOTOR_NONE) {
            printf(" %s motor, at most %.6g", motor_name(info.motor), info.max_effort);
        }
        printf("\n");
    }
    if (n > ROWS_SHOWN) {
        printf("  ... and %d more\n", (int)(n - ROWS_SHOWN));
    }
}

static void print_pairs(const perp_model* model)
{
    const bool bounces = perp_model_bounces(model);
    const int32_t n = perp_model_body_count(model);
    const bool counted = n <= COUNTED_BODIES; /* the number of pairs grows as the square */
    int64_t pairs = 0;
    for (int32_t a = 0; a < n; ++a) {
        for (int32_t b = a + 1; b < n && (counted || pairs <= ROWS_SHOWN); ++b) {
            if (!can_meet(model, a, b)) {
                continue;
            }
            if (pairs == 0) {
                printf("\n%s  %-41s %9s%s%s\n", cli_bold(), "pair that can meet", "mu",
                       bounces ? "         e" : "", cli_plain());
            }
            if (pairs++ < ROWS_SHOWN) {
                printf("  ");
                cli_put_name(perp_model_body_name(model, a), 20);
                printf(" ");
                cli_put_name(perp_model_body_name(model, b), 20);
                printf(" %9.4g", perp_model_pair_friction(model, a, b));
                if (bounces) {
                    printf(" %9.4g", perp_model_pair_restitution(model, a, b));
                }
                perp_compliance_def soft;
                if (perp_model_pair_compliance(model, a, b, &soft)) {
                    printf("  soft: stiffness %.4g, damping %.4g%s", soft.stiffness[0],
                           soft.damping[0], soft.patch > 0.0 ? " per area" : "");
                    if (soft.max_deflection < HUGE_VAL) {
                        printf(", core at %.4g", soft.max_deflection);
                    }
                }
                printf("\n");
            }
        }
    }
    if (pairs == 0) {
        printf("\n  no two bodies can meet\n");
    } else if (!counted && pairs > ROWS_SHOWN) {
        printf("  ... and more (--json lists %d)\n", PAIRS_JSON);
    } else if (pairs > ROWS_SHOWN) {
        printf("  ... and %lld more (--json lists them)\n", (long long)(pairs - ROWS_SHOWN));
    }
}

static void print_out_of_reach(const perp_sim* sim)
{
    const int32_t count = perp_sim_pairs_out_of_reach(sim);
    if (count > 0) {
        printf("  %d of these pairs cannot meet within the limits of their joints\n", (int)count);
    }
}

/* Where in the step joints have the direction of their forces. */
static void print_joint_direction(const perp_model* model, const perp_sim_def* run)
{
    if (perp_model_joint_count(model) == 0) {
        return;
    }
    const perp_joint_choice choice = perp_joint_choose(model, run);
    printf("  joints         direction %s%s", run->joint_choice ? "auto: " : "",
           choice.middle ? "middle" : "start");
    if (run->joint_choice) {
        printf(" (%s)", choice.reason);
    }
    printf("%s\n", run->joint_correction ? ", corrected" : "");
}

/* Likewise for the contacts of a body that rolls; nothing where they are those of the start. */
static void print_contact_direction(const perp_model* model, const perp_sim_def* run)
{
    const perp_joint_choice choice = perp_rolling_choose(model, run);
    if (choice.middle) {
        printf("  rolling        contacts %smiddle", run->rolling_choice ? "auto: " : "");
        if (run->rolling_choice) {
            printf(" (%s)", choice.reason);
        }
        printf("\n");
    }
}

static void print_text(const perp_scene* scene, const perp_sim* sim, double penetration)
{
    const perp_model* model = perp_scene_model(scene);
    const perp_scene_run run = perp_scene_run_settings(scene);
    printf("%s", cli_bold());
    cli_put_name(perp_scene_name(scene), 0);
    printf("%s: valid, %d-D, %d bodies\n", cli_plain(), (int)perp_model_dimension(model),
           (int)perp_model_body_count(model));
    double g[3];
    perp_model_gravity(perp_scene_model(scene), g);
    if (perp_model_dimension(model) == 2) {
        printf("  gravity        (%.9g, %.9g)\n", g[0], g[1]);
    } else {
        printf("  gravity        (%.9g, %.9g, %.9g)\n", g[0], g[1], g[2]);
    }
    if (run.error > 0.0) {
        printf(
            "  time           adaptive step, error %.3g of the scene's size, to t = %.9g, recorded "
            "every %d\n",
            run.error, run.duration, (int)perp_scene_record_every(scene));
    } else {
        printf("  time           step %.9g to t = %.9g: %lld steps, recorded every %d\n", run.step,
               run.duration, (long long)perp_sim_step_total(sim),
               (int)perp_scene_record_every(scene));
    }
    printf("  method         %s", run.stepper);
    for (int32_t i = 0; i < run.stepper_option_count; ++i) {
        printf("%s%s %.9g", i > 0 ? ", " : " with ", run.stepper_option[i].name,
               run.stepper_option[i].value);
    }
    const perp_contact_choice contact = cli_contact(scene);
    if (strcmp(run.contact, "auto") == 0) {
        printf(", contact auto: %s (%s), %s friction", contact.name, contact.reason, run.cone);
    } else {
        printf(", contact %s, %s friction", run.contact, run.cone);
    }
    if (strcmp(run.cone, "polygon") == 0) {
        printf(" (%d directions)", perp_model_dimension(model) == 2 ? 2 : (int)run.directions);
    }
    if (perp_model_bounces(model)) {
        printf(", %s impacts", law_name(model));
    }
    printf("\n  solver         %s", run.solver);
    for (int32_t i = 0; i < run.solver_option_count; ++i) {
        printf("%s%s %.9g", i > 0 ? ", " : " with ", run.solver_option[i].name,
               run.solver_option[i].value);
    }
    printf(", tolerance %.3g\n", run.tolerance);
    if (isnan(run.margin)) {
        printf("  margin         automatic: per pair, from the step and the motion\n");
    } else {
        printf("  margin         %.9g\n", run.margin);
    }
    print_joint_direction(model, &run);
    print_contact_direction(model, &run);
    cli_parameters_print(scene);
    if (penetration > 0.0) {
        printf("  overlap        %.3g at the start\n", penetration);
    }
    print_bodies(model);
    print_joints(model);
    print_supports(model);
    print_forces(model);
    print_pairs(model);
    print_out_of_reach(sim);
    cli_measure_defs_print(scene, sim);
}

static int check_scene(const cli_args* args, const char* path, const cli_overrides* overrides,
                       perp_context* context, perp_scene** scene, perp_sim** sim)
{
    double penetration = 0.0;
    const int exit_status = cli_scene_load(args, context, path, overrides, scene);
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    perp_status status = perp_sim_create_from_scene(context, *scene, sim);
    if (status == PERP_OK) {
        status = perp_sim_penetration(*sim, &penetration);
    }
    if (status != PERP_OK) {
        return cli_fail(args->json, cli_exit_of(status), "%s: %s", path,
                        perp_context_error(context));
    }
    cli_advise_step(*scene);
    cli_warn_parameters(*scene);
    if (args->json) {
        print_json(*scene, *sim, penetration, context);
    } else {
        print_text(*scene, *sim, penetration);
    }
    return CLI_DONE;
}

static int verb_check(const cli_args* args)
{
    return cli_scene_with(args, check_scene);
}

static const cli_option options[] = {
    {"--set", "POINTER=VALUE", "override any place of the scene"},
    {"--param", "NAME=VALUE", "set a parameter of the scene"},
    {"--step", "H", "length of a step"},
    {"--duration", "T", "how long to simulate"},
    {"--stepper", "NAME", "stepper"},
    {"--contact", "NAME", "contact model"},
    {"--friction", "CONE", "friction cone"},
    {"--directions", "N", "of the friction polygon"},
    {"--solver", "NAME", "solver"},
    CLI_URDF_OPTIONS,
    {"--json", NULL, "print one JSON object"},
    {0},
};

const cli_verb cli_verb_check = {
    .name = "check",
    .usage = "SCENE [options of run] [--json]",
    .summary = "validate a scene, and say what will be simulated",
    .words_min = 1,
    .words_max = 1,
    .option = options,
    .run = verb_check,
};
