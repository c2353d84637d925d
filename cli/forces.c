/* cli/forces.c - `perp forces`: contact forces and accelerations at the initial state. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static bool has_answer(const perp_forces* f)
{
    return f->existence == PERP_EXISTENCE_ONE || f->existence == PERP_EXISTENCE_SEVERAL ||
           f->existence == PERP_EXISTENCE_FOUND;
}

static json_t* contact_json(const perp_model* model, const perp_contact_force* c, bool answer)
{
    const int n = perp_model_dimension(model);
    json_t* o = json_object();
    json_object_set_new(o, "a", cli_text(perp_model_body_name(model, c->body_a)));
    json_object_set_new(o, "b", cli_text(perp_model_body_name(model, c->body_b)));
    json_object_set_new(o, "point", cli_numbers(c->point, n));
    json_object_set_new(o, "normal", cli_numbers(c->normal, n));
    json_object_set_new(o, "tangent", cli_numbers(c->tangent, n));
    json_object_set_new(o, "gap", cli_number(c->gap));
    json_object_set_new(o, "mu", cli_number(c->mu));
    json_object_set_new(o, "speed", cli_numbers(c->speed, n));
    json_object_set_new(o, "force", answer ? cli_numbers(c->force, n) : json_null());
    json_object_set_new(o, "acceleration", answer ? cli_numbers(c->acceleration, n) : json_null());
    json_object_set_new(o, "state",
                        answer ? json_string(perp_contact_mode_name(c->mode)) : json_null());
    return o;
}

static void print_json(const perp_scene* scene, const perp_forces* f, int exit_status)
{
    const perp_model* model = perp_scene_model(scene);
    const bool planar = perp_model_dimension(model) == 2, answer = has_answer(f);
    json_t* o = json_object();
    json_object_set_new(o, "status", json_string(cli_status_word(exit_status)));
    json_object_set_new(o, "scene", json_string(perp_scene_name(scene)));
    json_object_set_new(o, "existence", json_string(perp_existence_name(f->existence)));
    json_object_set_new(o, "solutions", json_integer(f->solutions));
    json_object_set_new(o, "residual", cli_number(f->residual));
    json_object_set_new(o, "message", cli_text(f->message));
    json_t* contacts = json_array();
    for (int32_t i = 0; i < f->contact_count; ++i) {
        json_array_append_new(contacts, contact_json(model, &f->contact[i], answer));
    }
    json_object_set_new(o, "contacts", contacts);
    json_t* bodies = json_object();
    for (int32_t i = 0; i < f->body_count; ++i) {
        if (perp_model_body_info(model, i).type == PERP_BODY_DYNAMIC) {
            const perp_body_acceleration* a = &f->body[i];
            json_object_set_new(
                bodies, perp_model_body_name(model, i),
                answer ? json_pack("{s:o, s:o}", "acceleration",
                                   cli_numbers(a->linear, planar ? 2 : 3), "angular_acceleration",
                                   planar ? cli_number(a->angular[2]) : cli_numbers(a->angular, 3))
                       : json_null());
        }
    }
    json_object_set_new(o, "bodies", bodies);
    json_t* joints = json_object();
    for (int32_t i = 0; answer && i < f->joint_count; ++i) {
        const int rows = perp_model_joint_info(model, i).rows;
        json_object_set_new(joints, perp_model_joint_name(model, i),
                            cli_numbers(f->joint[i], rows));
    }
    json_object_set_new(o, "joints", joints);
    cli_print_json(o);
}

/* Numbers within rounding of the largest are printed as 0. */
static double tidy(double x, double largest)
{
    return fabs(x) <= 1e-9 * largest ? 0.0 : x;
}

static void put_vector(const double* given, double largest, bool planar)
{
    const double x[3] = {tidy(given[0], largest), tidy(given[1], largest),
                         planar ? 0.0 : tidy(given[2], largest)};
    char text[64];
    if (planar) {
        (void)snprintf(text, sizeof text, "(%.5g, %.5g)", x[0], x[1]);
    } else {
        (void)snprintf(text, sizeof text, "(%.4g, %.4g, %.4g)", x[0], x[1], x[2]);
    }
    printf(" %-26s", text);
}

static void print_contacts(const perp_model* model, const perp_forces* f)
{
    const bool planar = perp_model_dimension(model) == 2;
    if (f->contact_count == 0) {
        printf("\n  nothing touches\n");
        return;
    }
    double most = 0.0;
    for (int32_t i = 0; i < f->contact_count; ++i) {
        most = fmax(most, fabs(f->contact[i].force[0]));
    }
    printf("\n%s  %-14s %-14s %-26s %-26s %11s %11s %11s  %s%s\n", cli_bold(), "a", "b", "point",
           "normal", "force n", "t", planar ? "" : "o", "state", cli_plain());
    for (int32_t i = 0; i < f->contact_count; ++i) {
        const perp_contact_force* c = &f->contact[i];
        printf("  ");
        cli_put_name(perp_model_body_name(model, c->body_a), 14);
        printf(" ");
        cli_put_name(perp_model_body_name(model, c->body_b), 14);
        put_vector(c->point, 0.0, planar);
        put_vector(c->normal, 1.0, planar);
        if (has_answer(f)) {
            printf(" %11.6g %11.6g", tidy(c->force[0], most), tidy(c->force[1], most));
            if (planar) {
                printf(" %11s", "");
            } else {
                printf(" %11.6g", tidy(c->force[2], most));
            }
            printf("  %s\n", perp_contact_mode_name(c->mode));
        } else {
            printf(" %11s %11s %11s  -\n", "-", "-", planar ? "" : "-");
        }
    }
}

static void print_text(const perp_scene* scene, const perp_forces* f)
{
    const perp_model* model = perp_scene_model(scene);
    const bool planar = perp_model_dimension(model) == 2;
    printf("%s", cli_bold());
    cli_put_name(perp_scene_name(scene), 0);
    printf("%s: ", cli_plain());
    cli_put(f->message);
    if (has_answer(f)) {
        printf("; the laws hold to %.1e", f->residual);
    }
    printf("\n");
    print_contacts(model, f);
    if (!has_answer(f)) {
        return;
    }
    /* the scale of accelerations if all are zero: the largest force over mass */
    double most = 0.0, turn = 0.0;
    for (int32_t i = 0; i < f->body_count; ++i) {
        const double mass = perp_model_body_info(model, i).mass;
        const double* inertia = perp_model_body_info(model, i).inertia;
        for (int32_t k = 0; mass > 0.0 && k < f->contact_count; ++k) {
            most = fmax(most, fabs(f->contact[k].force[0]) / mass);
            turn = inertia[8] > 0.0 ? fmax(turn, sqrt(mass / inertia[8]) * most) : turn;
        }
        for (int k = 0; k < 3; ++k) {
            most = fmax(most, fabs(f->body[i].linear[k]));
            turn = fmax(turn, fabs(f->body[i].angular[k]));
        }
    }
    printf("\n%s  %-20s %-26s %s%s\n", cli_bold(), "body", " acceleration", "angular", cli_plain());
    for (int32_t i = 0; i < f->body_count; ++i) {
        const perp_body_acceleration* a = &f->body[i];
        if (perp_model_body_info(model, i).type != PERP_BODY_DYNAMIC) {
            continue;
        }
        printf("  ");
        cli_put_name(perp_model_body_name(model, i), 20);
        put_vector(a->linear, most, planar);
        if (planar) {
            printf(" %.5g", tidy(a->angular[2], turn));
        } else {
            put_vector(a->angular, turn, false);
        }
        printf("\n");
    }
    for (int32_t i = 0; i < f->joint_count; ++i) {
        if (i == 0) {
            printf("\n%s  %-20s %s%s\n", cli_bold(), "joint", "force and torque on b", cli_plain());
        }
        printf("  ");
        cli_put_name(perp_model_joint_name(model, i), 20);
        for (int32_t k = 0; k < perp_model_joint_info(model, i).rows; ++k) {
            printf(" %11.6g", f->joint[i][k] + 0.0);
        }
        printf("\n");
    }
}

static int find_forces(const cli_args* args, const char* path, const cli_overrides* overrides,
                       perp_context* context, perp_scene** scene, perp_sim** sim)
{
    perp_forces* forces = NULL;
    int exit_status = cli_scene_load(args, context, path, overrides, scene);
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    perp_sim_def def = perp_sim_def_from_scene(*scene);
    if (strcmp(def.stepper, "compliant") != 0) { /* refused below because of its layers */
        def.stepper = "stewart-trinkle";         /* no step will be taken */
        def.stepper_option_count = 0;
    }
    perp_status status = perp_sim_create_from_scene_def(context, *scene, &def, sim);
    if (status == PERP_OK) {
        status = perp_forces_find(*sim, &forces);
    }
    if (status != PERP_OK) {
        return cli_fail(args->json, cli_exit_of(status), "%s: %s", path,
                        perp_context_error(context));
    }
    exit_status = has_answer(forces) ? CLI_DONE : CLI_FAILED;
    if (args->json) {
        print_json(*scene, forces, exit_status);
    } else {
        print_text(*scene, forces);
    }
    perp_forces_destroy(forces);
    return exit_status;
}

static int verb_forces(const cli_args* args)
{
    return cli_scene_with(args, find_forces);
}

static const cli_option options[] = {
    {"--set", "POINTER=VALUE", "override any place of the scene"},
    {"--param", "NAME=VALUE", "set a parameter of the scene"},
    {"--contact", "NAME", "contact model"},
    {"--friction", "CONE", "friction cone"},
    {"--directions", "N", "of the friction polygon"},
    CLI_URDF_OPTIONS,
    {"--json", NULL, "print one JSON object"},
    {0},
};

const cli_verb cli_verb_forces = {
    .name = "forces",
    .usage = "SCENE [--json]",
    .summary = "contact forces and accelerations at the initial state",
    .text =
        "The problem at the level of accelerations: forces on b along normal, t and o of every "
        "contact that\ntouches, whether it rolls, slides or separates, and the accelerations of "
        "the bodies. Such a problem\nmay have no solution, or several (Painleve): it says so. "
        "Exit status 3 where there is none, or\nwhere bodies that touch come nearer, which is an "
        "impact.",
    .words_min = 1,
    .words_max = 1,
    .option = options,
    .run = verb_forces,
};
