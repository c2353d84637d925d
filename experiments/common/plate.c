#include "common/plate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const plate plate_circle = {
    "circle", {0, 0, 8, 0, 0, 100}, {0, 0, 1.5 * 3.14159265358979323846, 0, 0, 0}};
const plate plate_scaled_circle = {
    "scaled-circle", {0, 0, 8, 0, 0, 500}, {0, 0, 1.5 * 3.14159265358979323846, 0, 0, 0}};
const plate plate_learned_contact = {
    "learned-circle-contact", {0, 0, 9.81585, 0, 0, 62.913}, {0, 0, 6.33218, 0, 0, 0}};
const plate plate_learned = {
    "learned-circle", {0, 0, 15.3654, 0, 0, 40.8332}, {0, 0, 6.5374, 0, 0, 0}};
/* The translation turns the other way round than the tilt, 1/8 of a turn from where the field is a
 * pure source: outwards and around. */
const plate plate_centrifuge = {
    "centrifuge",
    {8, 8, 0, 100, 100, 0},
    {0, 0.5 * 3.14159265358979323846, 0, 0.5 * 3.14159265358979323846, 3.14159265358979323846, 0}};
const plate plate_saddle = {"saddle",
                            {3.88479, -4.31188, 0, 155.816, 204.171, 0},
                            {-1.08465, -2.0938, 0, 0.430032, 5.77261, 0}};

const double plate_feet[3][3] = {{0.01, 0, -0.005},
                                 {-0.005, 0.0086602540378443865, -0.005},
                                 {-0.005, -0.0086602540378443865, -0.005}};

static void require_ok(perp_context* context, perp_status status)
{
    if (status != PERP_OK) {
        fprintf(stderr, "experiment: %s\n", perp_context_error(context));
        exit(3);
    }
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* q a q*, or with back q* a q. */
static void rotate(const double q[4], const double a[3], bool back, double out[3])
{
    const double s = back ? -1.0 : 1.0, u[3] = {s * q[1], s * q[2], s * q[3]};
    double t[3], c[3];
    cross(u, a, t);
    for (int i = 0; i < 3; ++i) {
        t[i] *= 2;
    }
    cross(u, t, c);
    for (int i = 0; i < 3; ++i) {
        out[i] = a[i] + q[0] * t[i] + c[i];
    }
}

static perp_body_def plate_body(const plate* motion, perp_sinusoid wave[6], perp_shape_def* plane)
{
    *plane = perp_shape_def_default(PERP_SHAPE_PLANE);
    plane->normal[2] = 1.0;
    perp_body_def body = perp_body_def_default();
    body.name = "plate";
    body.type = PERP_BODY_KINEMATIC;
    body.shapes = plane;
    body.shape_count = 1;
    body.motion.type = PERP_MOTION_ACCELERATION;
    for (int i = 0; i < 6; ++i) {
        wave[i] = (perp_sinusoid){motion->amplitude[i], PLATE_HERTZ, motion->phase[i]};
        body.motion.acceleration[i] = &wave[i];
        body.motion.acceleration_count[i] = 1;
    }
    return body;
}

static perp_model* make_model(perp_context* context, const plate_def* def,
                              const perp_body_state* start)
{
    perp_model* model;
    perp_model_def how = perp_model_def_default();
    how.gravity[2] = -9.80665;
    how.friction_default = def->mu;
    require_ok(context, perp_model_create(context, &how, &model));
    perp_sinusoid wave[6];
    perp_shape_def plane;
    const perp_body_def body = plate_body(def->motion, wave, &plane);
    require_ok(context, perp_model_add_body(model, &body, NULL));
    for (int k = 0; start != NULL && k < def->parts; ++k) {
        perp_shape_def shape[3];
        char name[32];
        snprintf(name, sizeof name, "part%d", k);
        perp_body_def part = perp_body_def_default();
        part.name = name;
        part.type = PERP_BODY_DYNAMIC;
        part.mass = 0.001;
        const double local[3] = {def->at[k][0], def->at[k][1],
                                 def->tripod ? -plate_feet[0][2] : 0.0};
        double arm[3], turn[3];
        rotate(start->orientation, local, false, arm);
        cross(start->angular_velocity, arm, turn);
        for (int i = 0; i < 3; ++i) {
            part.position[i] = start->position[i] + arm[i];
            part.velocity[i] = start->velocity[i] + turn[i];
            shape[i] = perp_shape_def_default(PERP_SHAPE_PARTICLE);
            if (def->tripod) {
                for (int j = 0; j < 3; ++j) {
                    shape[i].position[j] = plate_feet[i][j];
                }
            }
        }
        part.shapes = shape;
        part.shape_count = def->tripod ? 3 : 1;
        if (def->tripod) {
            for (int i = 0; i < 4; ++i) {
                part.orientation[i] = start->orientation[i];
            }
            for (int i = 0; i < 3; ++i) {
                part.angular_velocity[i] = start->angular_velocity[i];
            }
            part.has_inertia = true;
            part.inertia[0] = part.inertia[4] = 3e-8;
            part.inertia[8] = 5e-8;
        }
        require_ok(context, perp_model_add_body(model, &part, NULL));
    }
    return model;
}

void plate_open(plate_run* run, const plate_def* def)
{
    *run = (plate_run){.parts = def->parts};
    if (perp_context_create(NULL, &run->context) != PERP_OK) {
        exit(3);
    }
    perp_sim_def how = perp_sim_def_default();
    how.step = def->h;
    how.duration = def->duration;
    how.solver = def->solver != NULL ? def->solver : "auto";
    how.cone = def->directions > 0 ? "polygon" : "quadratic";
    if (def->directions > 0) {
        how.directions = def->directions;
    }
    /* initial state of the plate from a model of the plate alone */
    perp_model* alone = make_model(run->context, def, NULL);
    perp_sim* sim;
    require_ok(run->context, perp_sim_create(run->context, alone, &how, &sim));
    const perp_body_state start = perp_sim_body(sim, 0);
    perp_sim_destroy(sim);
    perp_model_destroy(alone);
    run->model = make_model(run->context, def, &start);
    require_ok(run->context, perp_sim_create(run->context, run->model, &how, &run->sim));
}

void plate_close(plate_run* run)
{
    perp_sim_destroy(run->sim);
    perp_model_destroy(run->model);
    perp_context_destroy(run->context);
}

perp_step_info plate_step(plate_run* run)
{
    require_ok(run->context, perp_sim_step(run->sim));
    const perp_step_info info = perp_sim_step_info(run->sim);
    if (info.report.outcome != PERP_OUTCOME_SOLVED && info.candidates > 0) {
        fprintf(stderr, "experiment: a step was not solved\n");
        exit(3);
    }
    return info;
}

void plate_part(const plate_run* run, int part, double place[3], double slip[3])
{
    const perp_body_state a = perp_sim_body(run->sim, 0), b = perp_sim_body(run->sim, 1 + part);
    double arm[3], turn[3];
    for (int i = 0; i < 3; ++i) {
        arm[i] = b.position[i] - a.position[i];
    }
    cross(a.angular_velocity, arm, turn);
    for (int i = 0; i < 3; ++i) {
        slip[i] = b.velocity[i] - a.velocity[i] - turn[i];
    }
    rotate(a.orientation, arm, true, place);
}
