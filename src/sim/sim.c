/* src/sim/sim.c - a simulation: making it, asking it, saving and restoring it. */
#include <float.h>
#include <string.h>

#include "sim/compatibility.h"
#include "sim/internal.h"
#include "step/repair.h"
#include "step/force_rows.h"
#include "step/layers.h"

perp_sim_def perp_sim_def_default(void)
{
    return (perp_sim_def){.step = 0.01,
                          .duration = 1.0,
                          .stepper = "stewart-trinkle",
                          .contact = "auto",
                          .solver = "auto",
                          .cone = "quadratic",
                          .directions = 8,
                          .margin = NAN,
                          .step_min = NAN,
                          .step_max = NAN,
                          .tolerance = 1e-8};
}

static perp_status check_cone(perp_context* context, const perp_model* model,
                              const perp_sim_def* def, perpi_contact_rules* rules)
{
    static const char* const names[] = {"none", "polygon", "quadratic", "ellipsoid", NULL};
    int32_t cone = 0; /* in the order of perp_cone */
    while (names[cone] != NULL && strcmp(def->cone, names[cone]) != 0) {
        cone += 1;
    }
    if (names[cone] == NULL) {
        (void)perpi_fail_unknown(context, "friction cone", def->cone, names);
        return perpi_fail_prefix(context, PERP_ERROR_INPUT, "friction/cone");
    }
    *rules = (perpi_contact_rules){.cone = (perp_cone)cone, .directions = def->directions};
    const bool supported = model->support_points > 0;
    if (rules->cone == PERP_CONE_POLYGON && (model->dimension == 3 || supported) &&
        def->directions < 3) {
        return perpi_fail(
            context, PERP_ERROR_INPUT, "friction/directions: must be >= 3 in a %s, got %d",
            supported ? "scene with supports" : "spatial scene", (int)def->directions);
    }
    if (rules->cone == PERP_CONE_ELLIPSOID && supported) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "friction/cone: supports take 'quadratic', 'polygon' or 'none', not "
                          "'ellipsoid': a point of a tripod has no torsion");
    }
    for (int i = 0; rules->cone == PERP_CONE_ELLIPSOID && i < 3; ++i) {
        static const char* const key[] = {"e_t", "e_o", "e_r"};
        if (!(def->e[i] > 0.0) || !isfinite(def->e[i])) {
            return perpi_fail(context, PERP_ERROR_INPUT, "friction/%s: must be > 0, got %g", key[i],
                              def->e[i]);
        }
        rules->e[i] = def->e[i];
    }
    return PERP_OK;
}

static perp_status check_def(perp_context* context, const perp_sim_def* def)
{
    if (!(def->step > 0.0) || !isfinite(def->step)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "step: must be > 0, got %g", def->step);
    }
    if (!(def->duration > 0.0) || !isfinite(def->duration)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "duration: must be > 0, got %g",
                          def->duration);
    }
    if (!(def->duration / def->step < 1e15)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "duration: %g at a step of %g makes more than 1e15 steps", def->duration,
                          def->step);
    }
    if (!isnan(def->margin) && !(def->margin >= 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "margin: must be >= 0, got %g", def->margin);
    }
    if (!(def->tolerance > 0.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "tolerance: must be > 0, got %g",
                          def->tolerance);
    }
    return PERP_OK;
}

/* ---- fixed steps: their number, times and lengths --------------------------------------------------
 *
 * T / h = n + r, 0 <= r < 1:
 *   within 1e-9 of a whole number   that many steps, of h if rounding explains the rest; else the last
 *                                   one ends at T: bodies with a given motion are where they are at T
 *   n = 0                           one step of T
 *   r < 1/20                        n steps, of which the last has h + r h
 *   else                            n + 1 steps, of which the last two have (h + r h) / 2 each
 * so that no step but that of n = 0 is shorter than 0.525 h: joints and overlaps are closed at a speed
 * of error / h. All steps but the last two are those of any longer duration. */

static const double SHORT_REST = 1.0 / 20.0; /* in steps */

static bool divides(double duration, double h, double tolerance)
{
    const double ratio = duration / h, nearest = round(ratio);
    return nearest >= 1.0 && fabs(ratio - nearest) <= tolerance * ratio;
}

static int64_t count_steps(double duration, double h)
{
    const double ratio = duration / h, whole = floor(ratio);
    if (divides(duration, h, 1e-9)) {
        return (int64_t)round(ratio);
    }
    return (int64_t)whole + (whole < 1.0 || ratio - whole >= SHORT_REST);
}

/* Steps at the end that are not of length h: 0, 1 or 2. */
static int64_t count_uneven(const perp_sim* sim)
{
    const double T = sim->def.duration, h = sim->def.step;
    if (divides(T, h, 1e-9)) {
        return divides(T, h, 4.0 * DBL_EPSILON) ? 0 : 1;
    }
    return sim->tick_total > 1 && (double)sim->tick_total > T / h ? 2 : 1;
}

double perpi_sim_tick_length(const perp_sim* sim, int64_t tick)
{
    const int64_t uneven = count_uneven(sim), first = sim->tick_total - uneven;
    if (tick < first || uneven == 0) {
        return sim->def.step;
    }
    return (sim->def.duration - (double)first * sim->def.step) / (double)uneven;
}

double perpi_sim_tick_time(const perp_sim* sim, int64_t tick)
{
    if (tick >= sim->tick_total) {
        return sim->def.duration;
    }
    /* a product, not a sum: no drift, and the same from any starting point */
    const int64_t first = sim->tick_total - count_uneven(sim);
    return tick <= first ? (double)tick * sim->def.step
                         : (double)first * sim->def.step + perpi_sim_tick_length(sim, first);
}

int64_t perpi_sim_tick_at(const perp_sim* sim, double time)
{
    const int64_t first = sim->tick_total - count_uneven(sim);
    const double start = (double)first * sim->def.step;
    double nearest = round(time / sim->def.step);
    if (first < sim->tick_total && time > start) {
        nearest = (double)first + round((time - start) / perpi_sim_tick_length(sim, first));
    }
    return time >= sim->def.duration || nearest >= (double)sim->tick_total ? sim->tick_total
                                                                           : (int64_t)nearest;
}

static perp_status allocate(perp_sim* sim)
{
    perp_context* context = sim->context;
    const perp_model* model = sim->model;
    const size_t n = model->body_count;
    sim->q_size = (int32_t)n * perpi_q_stride(model);
    sim->v_size = (int32_t)n * perpi_v_stride(model);
    sim->s_size = perpi_s_size(model);
    sim->offset_at = sim->impact != NULL && !sim->adaptive ? sim->s_size : -1;
    sim->s_size += sim->offset_at >= 0 ? perpi_offset_size(model) : 0;
    const bool displaced = sim->offset_at >= 0;
    struct {
        double** array;
        size_t count;
    } arrays[] = {{&sim->q_start, displaced ? (size_t)sim->q_size : 0},
                  {&sim->v_start, displaced ? (size_t)sim->v_size : 0},
                  {&sim->q_to, displaced ? (size_t)sim->q_size : 0},
                  {&sim->v_to, displaced ? (size_t)sim->v_size : 0},
                  {&sim->q, (size_t)sim->q_size},
                  {&sim->v, (size_t)sim->v_size},
                  {&sim->q_next, (size_t)sim->q_size},
                  {&sim->v_next, (size_t)sim->v_size},
                  {&sim->s, (size_t)sim->s_size + 1},
                  {&sim->s_next, (size_t)sim->s_size + 1},
                  {&sim->margin, n},
                  {&sim->extra, 6 * n},
                  {&sim->effort, model->joint_count}};
    perp_status status = perpi_alloc(context, n, sizeof *sim->pose, &sim->pose);
    for (size_t i = 0; status == PERP_OK && i < sizeof arrays / sizeof arrays[0]; ++i) {
        status = perpi_alloc(context, arrays[i].count, sizeof(double), arrays[i].array);
    }
    const size_t joints = model->joint_count;
    if (status == PERP_OK) {
        status = perpi_alloc(context, n, sizeof *sim->turn, &sim->turn);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, joints, sizeof *sim->joint, &sim->joint);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, joints, sizeof *sim->joint_next, &sim->joint_next);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, joints, sizeof *sim->input, &sim->input);
    }
    sim->contacts.context = context;
    sim->next.context = context;
    sim->closed.context = context;
    sim->looked.context = context;
    return status;
}

static perp_status find_loops(perp_sim* sim)
{
    int32_t* tree = NULL;
    perp_status status =
        perpi_alloc(sim->context, sim->model->joint_count, sizeof *sim->loop, &sim->loop);
    if (status == PERP_OK) {
        status = perpi_alloc(sim->context, sim->model->body_count, sizeof *tree, &tree);
    }
    if (status == PERP_OK) {
        perpi_repair_find_loops(sim->model, tree, sim->loop);
    }
    perpi_free(sim->context, tree);
    for (size_t i = 0; status == PERP_OK && i < sim->model->joint_count; ++i) {
        sim->any_loop = sim->any_loop || sim->loop[i];
    }
    return status;
}

/* What steppers that look at the end of the step need beside. Velocities are compared by the energy
 * they stand for. */
static perp_status prepare_looking(perp_sim* sim)
{
    const perp_model* model = sim->model;
    const int32_t stride = perpi_v_stride(model);
    perp_status status =
        perpi_alloc(sim->context, (size_t)sim->v_size, sizeof(double), &sim->v_looked);
    if (status == PERP_OK) {
        status = perpi_mix_create(sim->context, sim->v_size, &sim->mix);
    }
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        const mat3 I = body->inertia;
        const double turning =
            model->dimension == 2 ? I.m[2][2] : I.m[0][0] + I.m[1][1] + I.m[2][2];
        for (int32_t k = 0; k < stride; ++k) {
            const double mass = k < model->dimension ? body->mass : turning;
            sim->mix.weight[i * stride + k] = k < body->dofs ? sqrt(mass) : 0.0;
        }
    }
    return status;
}

static void initial_state(perp_sim* sim)
{
    const perp_model* model = sim->model;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        perpi_state_set_pose(model, sim->q, i, &body->pose, body->angle);
        perpi_state_set_velocity(model, sim->v, i, body->v, body->w);
    }
    perpi_sim_poses(sim);
    for (size_t i = 0; i < model->joint_count; ++i) {
        sim->joint[i].target = NAN;
    }
    perpi_sim_joint_measure(sim, sim->q, sim->joint, sim->info.joint_error);
}

static bool any_friction(const perp_model* model)
{
    for (size_t i = 0; i < model->body_count; ++i) {
        if (model->body[i].friction > 0.0) {
            return true;
        }
    }
    for (size_t i = 0; i < model->shape_count; ++i) {
        if (model->surface[i].friction > 0.0) { /* false for NaN: the body's */
            return true;
        }
    }
    for (size_t i = 0; i < model->pair_count; ++i) {
        if (model->pair[i].mu > 0.0) {
            return true;
        }
    }
    return false;
}

/* Messages start with the member at fault. */
static void prefix(perp_context* context, perp_status status, const char* member)
{
    if (status == PERP_ERROR_INPUT || status == PERP_ERROR_UNSUPPORTED) {
        (void)perpi_fail_prefix(context, status, member);
    }
}

/* An adaptive step: what was left open. */
static perp_status complete_adaptive(perp_context* context, perp_sim_def* def)
{
    if (!(def->error >= 0.0) || !(def->error < 1.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "step/error: must be > 0 and < 1, got %g",
                          def->error);
    }
    if (def->error == 0.0) {
        return PERP_OK;
    }
    if (def->error < 1e-13) { /* gaps are known to that (adaptive.c): steps would never end */
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "step/error: must be at least 1e-13, which is what rounding leaves of "
                          "positions, got %g",
                          def->error);
    }
    def->step_max = isnan(def->step_max) ? 0.1 * def->duration : def->step_max;
    def->step_min = isnan(def->step_min) ? 1e-9 * def->step_max : def->step_min;
    def->step = isnan(def->step) ? fmin(fmax(1e-3 * def->duration, def->step_min), def->step_max)
                                 : def->step;
    if (!(def->step_min > 0.0) || !(def->step_min <= def->step && def->step <= def->step_max)) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "step: needs 0 < min <= initial <= max, got %g, %g, %g", def->step_min,
                          def->step, def->step_max);
    }
    return PERP_OK;
}

/* Steps whose inertia is that of their start; those with forces at the end have the momentum of the end
 * in their problem already. */
static bool carries_momentum(const perp_sim* sim)
{
    return (sim->stepper->look == PERPI_LOOK_START || sim->second != NULL) &&
           !sim->stepper->settles && perpi_momentum_differs(sim->model);
}

static perp_status build(perp_sim* sim, const perp_sim_def* asked)
{
    perp_context* context = sim->context;
    perp_sim_def completed = *asked;
    const perp_sim_def* def = &completed;
    sim->contact_chosen = strcmp(asked->contact, "auto") == 0;
    completed.contact = perp_contact_choose(sim->model, asked).name;
    perp_status status = complete_adaptive(context, &completed);
    sim->adaptive = completed.error > 0.0;
    if (status == PERP_OK) {
        status = check_def(context, def);
    }
    if (status == PERP_OK) {
        status = check_cone(context, sim->model, def, &sim->rules);
    }
    if (status == PERP_OK) {
        status = perpi_stepper_find(context, def->stepper, &sim->stepper);
        if (status == PERP_OK) {
            status = perpi_stepper_settings(context, sim->stepper, def->stepper_option,
                                            def->stepper_option_count, &sim->step_settings);
            sim->step_settings.linear_rotation = def->linear_rotation;
            sim->step_settings.midway =
                sim->stepper->midway && !sim->adaptive && !def->linear_rotation;
            sim->step_settings.cone = sim->rules.cone;
            sim->step_settings.directions = sim->rules.directions;
        }
        prefix(context, status, "stepper");
    }
    if (status == PERP_OK) {
        status = perpi_contact_model_find(context, def->contact, &sim->contact_model);
        prefix(context, status, "contact");
    }
    if (status == PERP_OK) {
        const perpi_combination asked_for = {sim->model, def, sim->stepper, sim->contact_model};
        status = perpi_check_combination(context, &asked_for);
    }
    if (status == PERP_OK && sim->stepper->check != NULL) {
        status = sim->stepper->check(context, sim->model, &sim->step_settings);
    }
    if (status == PERP_OK) {
        status = perp_contact_solver_create(context, def->solver, def->solver_option,
                                            def->solver_option_count, &sim->solver);
        prefix(context, status, "solver");
    }
    /* planar cones are intervals, which every method takes; those under supports are discs */
    const bool discs = sim->model->support_points > 0;
    if (status == PERP_OK && (discs || (sim->model->dimension == 3 && any_friction(sim->model))) &&
        !perp_contact_solver_takes(sim->solver, sim->rules.cone)) {
        status = perpi_fail(context, PERP_ERROR_INPUT,
                            "solver: '%s' does not take the friction cone '%s'; use the cone "
                            "'polygon', or the solver 'auto'",
                            def->solver, def->cone);
    }
    if (status == PERP_OK) {
        status = perpi_collider_create(context, sim->model, &sim->collider);
    }
    if (status == PERP_OK) {
        status = perpi_sim_sides_create(sim);
    }
    if (status == PERP_OK) {
        perpi_collider_set_rule(sim->collider, sim->contact_model->rule, NULL, 0);
        sim->rules.single_primary = def->single_primary;
    }
    if (status == PERP_OK) {
        status = perpi_formulation_create(context, &sim->formulation);
    }
    if (status == PERP_OK && (sim->model->bounces || sim->adaptive)) {
        status = perpi_formulation_create(context, &sim->impact);
    }
    if (status == PERP_OK) {
        status = allocate(sim);
    }
    if (status == PERP_OK && sim->stepper->settles) {
        status = perpi_alloc(context, (size_t)sim->v_size, sizeof(double), &sim->v_end);
    }
    if (status == PERP_OK && sim->stepper->look != PERPI_LOOK_START) {
        status = prepare_looking(sim);
        if (status == PERP_OK) {
            status = perpi_stepper_find(context, "stewart-trinkle", &sim->second);
        }
    }
    if (status == PERP_OK && sim->model->joint_count > 0) {
        status = find_loops(sim);
    }
    const bool corrects = def->joint_correction && sim->model->joint_count > 0;
    if (status == PERP_OK && (corrects || carries_momentum(sim))) {
        status = perpi_alloc(context, (size_t)sim->v_size, sizeof(double), &sim->v_solved);
    }
    if (status == PERP_OK && corrects) {
        status = perpi_alloc(context, (size_t)sim->v_size, sizeof(double), &sim->v_carried);
        if (status == PERP_OK) {
            status = perpi_alloc(context, (size_t)sim->q_size, sizeof(double), &sim->q_answer);
        }
        if (status == PERP_OK) {
            status = perpi_formulation_create(context, &sim->project);
        }
        if (status == PERP_OK) {
            status = perp_contact_solver_create(context, def->solver, def->solver_option,
                                                def->solver_option_count, &sim->project_solver);
        }
    }
    if (status != PERP_OK) {
        return status;
    }
    sim->def = *def;
    sim->tick_total = sim->adaptive ? INT64_MAX : count_steps(def->duration, def->step);
    if (sim->adaptive) {
        status = perpi_sim_adaptive_create(sim);
        if (status != PERP_OK) {
            return status;
        }
    }
    initial_state(sim);
    perpi_sim_warn_of_crossing(sim);
    return perpi_sim_start(sim);
}

perp_status perp_sim_create(perp_context* context, const perp_model* model, const perp_sim_def* def,
                            perp_sim** sim)
{
    perp_sim* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = context;
    s->model = model;
    perpi_arena_init(&s->scratch, context);
    perpi_arena_init(&s->hit_scratch, context);
    status = build(s, def);
    if (status != PERP_OK) {
        perp_sim_destroy(s);
        return status;
    }
    *sim = s;
    return PERP_OK;
}

void perp_sim_destroy(perp_sim* sim)
{
    if (sim == NULL) {
        return;
    }
    perp_context* context = sim->context;
    perp_contact_solver_destroy(sim->solver);
    perpi_collider_destroy(sim->collider);
    perpi_formulation_destroy(sim->formulation);
    perpi_formulation_destroy(sim->project);
    perpi_formulation_destroy(sim->impact);
    perpi_sim_adaptive_destroy(sim);
    perpi_sim_sides_destroy(sim);
    perp_contact_solver_destroy(sim->project_solver);
    perpi_free(context, sim->v_end);
    perpi_free(context, sim->settled);
    perpi_free(context, sim->basis);
    void* const owned[] = {sim->q,
                           sim->v,
                           sim->q_next,
                           sim->v_next,
                           sim->margin,
                           sim->turn,
                           sim->extra,
                           sim->pose,
                           sim->contacts.item,
                           sim->next.item,
                           sim->v_problem,
                           sim->p_problem,
                           sim->joint,
                           sim->joint_next,
                           sim->input,
                           sim->effort,
                           sim->v_solved,
                           sim->q_start,
                           sim->v_start,
                           sim->q_to,
                           sim->v_to,
                           sim->closed.item,
                           sim->keep,
                           sim->start,
                           sim->loop,
                           sim->exception,
                           sim->looked.item,
                           sim->judged,
                           sim->v_looked,
                           sim->q_answer,
                           sim->v_carried,
                           sim->v_project,
                           sim->p_project,
                           sim->side,
                           sim->before,
                           sim->momentum_work.island,
                           sim->momentum_work.held,
                           sim->momentum_work.sum};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(context, owned[i]);
    }
    perpi_mix_destroy(context, &sim->mix);
    perpi_free(context, sim->s);
    perpi_free(context, sim->s_next);
    perpi_free(context, sim->hit);
    perpi_free(context, sim->hit_work);
    perpi_free(context, sim->hit_island);
    perpi_free(context, sim->callback);
    perpi_free(context, sim->user_code);
    perpi_arena_free(&sim->scratch);
    perpi_arena_free(&sim->hit_scratch);
    perpi_free(context, sim);
}

void perpi_sim_poses(perp_sim* sim)
{
    for (int32_t i = 0; i < (int32_t)sim->model->body_count; ++i) {
        sim->pose[i] = perpi_state_pose(sim->model, sim->q, i);
    }
}

perp_status perpi_sim_room(perp_sim* sim, size_t dofs, size_t rows)
{
    const perp_status status =
        perpi_grow(sim->context, &sim->v_problem, &sim->v_capacity, dofs, sizeof(double));
    if (status != PERP_OK) {
        return status;
    }
    return perpi_grow(sim->context, &sim->p_problem, &sim->p_capacity, rows, sizeof(double));
}

/* ---- questions -----------------------------------------------------------------------------------*/

bool perp_sim_finished(const perp_sim* sim)
{
    return sim->adaptive ? sim->time >= sim->def.duration : sim->tick >= sim->tick_total;
}

int64_t perp_sim_step_total(const perp_sim* sim)
{
    return sim->adaptive ? 0 : sim->tick_total + (sim->step - sim->tick);
}

double perp_sim_duration(const perp_sim* sim)
{
    return sim->def.duration;
}

double perp_sim_last_step(const perp_sim* sim)
{
    return perpi_sim_last_length(sim);
}

double perp_sim_time(const perp_sim* sim)
{
    return sim->time;
}

int64_t perp_sim_step_count(const perp_sim* sim)
{
    return sim->step;
}

int64_t perp_sim_impact_count(const perp_sim* sim)
{
    return sim->step - sim->tick;
}

const perp_model* perp_sim_model(const perp_sim* sim)
{
    return sim->model;
}

perp_body_state perp_sim_body(const perp_sim* sim, int32_t body)
{
    perp_body_state state = {0};
    const perpi_pose pose = perpi_state_pose(sim->model, sim->q, body);
    v3_to(pose.x, state.position);
    state.orientation[0] = pose.q.w;
    state.orientation[1] = pose.q.x;
    state.orientation[2] = pose.q.y;
    state.orientation[3] = pose.q.z;
    state.angle = sim->model->dimension == 2 ? sim->q[3 * body + 2] : 0.0;
    v3_to(perpi_state_velocity(sim->model, sim->v, body), state.velocity);
    v3_to(perpi_state_rate(sim->model, sim->v, body), state.angular_velocity);
    return state;
}

int32_t perp_sim_q_size(const perp_sim* sim)
{
    return sim->q_size;
}

int32_t perp_sim_v_size(const perp_sim* sim)
{
    return sim->v_size;
}

const double* perp_sim_q(const perp_sim* sim)
{
    return sim->q;
}

const double* perp_sim_v(const perp_sim* sim)
{
    return sim->v;
}

const perp_contact* perp_sim_contacts(const perp_sim* sim, int32_t* count)
{
    *count = (int32_t)sim->contacts.count;
    return sim->contacts.item;
}

perp_step_info perp_sim_step_info(const perp_sim* sim)
{
    return sim->info;
}

const perp_contact_problem* perp_sim_problem(const perp_sim* sim)
{
    return sim->has_problem ? &sim->formulation->problem : NULL;
}

int32_t perpi_sim_s_size(const perp_sim* sim)
{
    return sim->s_size;
}

const double* perpi_sim_s(const perp_sim* sim)
{
    return sim->s;
}

perp_controller_state perp_sim_controller(const perp_sim* sim, int32_t controller)
{
    const double* p = sim->s + perpi_s_forces(sim->model) + sim->model->spring_rows;
    const double h = perpi_sim_last_length(sim);
    return (perp_controller_state){.effort = p[controller] / h,
                                   .integral =
                                       p[(int32_t)sim->model->controller_count + controller]};
}

double perpi_sim_last_length(const perp_sim* sim)
{
    if (sim->adaptive) {
        return sim->halves.h_last;
    }
    return sim->tick > 0 ? perpi_sim_tick_length(sim, sim->tick - 1) : 1.0;
}

perp_support_state perp_sim_support(const perp_sim* sim, int32_t body)
{
    const perp_model* model = sim->model;
    const perpi_support* support = &model->body[body].support;
    const perpi_pose pose = perpi_state_pose(model, sim->q, body);
    perp_support_state state = {.points = support->points};
    const double* s = sim->s;
    for (int32_t i = 0; i < body; ++i) {
        s += PERPI_SUPPORT_ROWS * model->body[i].support.points;
    }
    for (int32_t i = 0; i < support->points; ++i) {
        const vec3 at = v3_add(pose.x, m3_mul(pose.R, support->at[i]));
        state.point[i][0] = at.x;
        state.point[i][1] = at.y;
        memcpy(state.impulse[i], s + PERPI_SUPPORT_ROWS * i, sizeof state.impulse[i]);
    }
    return state;
}

perp_energy perp_sim_energy(const perp_sim* sim)
{
    const perp_model* model = sim->model;
    perp_energy e = {0};
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs == 0) {
            continue;
        }
        const perpi_pose pose = perpi_state_pose(model, sim->q, i);
        const vec3 v = perpi_state_velocity(model, sim->v, i);
        const vec3 w = perpi_state_rate(model, sim->v, i);
        e.kinetic += 0.5 * body->mass * v3_dot(v, v);
        if (!body->particle) {
            const vec3 w_B = m3_tmul(pose.R, w);
            e.kinetic += 0.5 * v3_dot(w_B, m3_mul(body->inertia, w_B));
        }
        e.potential -= body->mass * v3_dot(body->gravity, pose.x);
    }
    e.potential += perpi_spring_energy(model, sim->q);
    e.potential += perpi_layer_energy(model, sim->contacts.item, (int32_t)sim->contacts.count);
    e.total = e.kinetic + e.potential;
    return e;
}

void perp_sim_momentum(const perp_sim* sim, double linear[3], double angular[3])
{
    const perp_model* model = sim->model;
    vec3 P = v3(0, 0, 0), L = v3(0, 0, 0);
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        if (body->dofs == 0) {
            continue;
        }
        const perpi_pose pose = perpi_state_pose(model, sim->q, i);
        const vec3 p = v3_scale(body->mass, perpi_state_velocity(model, sim->v, i));
        P = v3_add(P, p);
        L = v3_add(L, v3_cross(pose.x, p));
        if (!body->particle) {
            const mat3 I = perpi_world_inertia(body, &pose);
            L = v3_add(L, m3_mul(I, perpi_state_rate(model, sim->v, i)));
        }
    }
    v3_to(P, linear);
    v3_to(L, angular);
}

perp_status perp_sim_penetration(perp_sim* sim, double* depth)
{
    const perpi_touch* touch;
    size_t count;
    perpi_sim_poses(sim);
    perpi_collider_set_rule(sim->collider, PERPI_TOUCH_PLAIN, NULL, 0);
    memset(sim->margin, 0, sim->model->body_count * sizeof *sim->margin);
    const perp_status status = perpi_collide(sim->collider, sim->pose, sim->margin, &touch, &count);
    if (status != PERP_OK) {
        return status;
    }
    double deepest = 0.0;
    for (size_t i = 0; i < count; ++i) {
        const double over = -touch[i].gap - perpi_sim_give(sim, touch[i].body_a, touch[i].body_b);
        deepest = over > deepest ? over : deepest;
    }
    *depth = deepest;
    return PERP_OK;
}

double perpi_sim_nominal_step(const perp_sim* sim)
{
    return sim->def.step;
}

bool perpi_sim_adaptive(const perp_sim* sim)
{
    return sim->adaptive;
}

const double* perpi_sim_clock(const perp_sim* sim)
{
    return sim->halves.clock;
}

perpi_half perpi_sim_half(const perp_sim* sim)
{
    const perpi_adaptive* a = &sim->halves;
    return (perpi_half){.q = a->q_half, .v = a->v_half, .s = a->s_half, .v_end = a->v_end};
}

bool perpi_sim_bounces(const perp_sim* sim)
{
    return sim->impact != NULL;
}

const bool* perpi_sim_loops(const perp_sim* sim)
{
    return sim->loop;
}

const perpi_step_settings* perpi_sim_step_settings(const perp_sim* sim)
{
    return &sim->step_settings;
}

const perpi_stepper_ops* perpi_sim_second_stepper(const perp_sim* sim)
{
    return sim->second;
}

bool perpi_sim_falls_back(const perp_sim* sim)
{
    return sim->second != NULL || (sim->model->joint_count > 0 && !sim->adaptive);
}

bool perpi_sim_layered(const perp_sim* sim)
{
    return sim->stepper->layered;
}

double perpi_sim_give(const perp_sim* sim, int32_t a, int32_t b)
{
    const perpi_layer layer = perpi_model_layer(sim->model, a, b);
    return layer.soft ? layer.limit : 0.0;
}

bool perpi_sim_grouped(const perp_sim* sim)
{
    const perpi_touch_rule rule = sim->contact_model->rule;
    return rule == PERPI_TOUCH_LNC || rule == PERPI_TOUCH_PEG;
}

void perp_sim_on_fallback(perp_sim* sim, perp_fallback_fn fn, void* user)
{
    sim->on_fallback = fn;
    sim->on_fallback_user = user;
}

void perp_sim_on_step(perp_sim* sim, perp_step_fn fn, void* user)
{
    sim->on_step = fn;
    sim->on_step_user = user;
}

perp_status perp_sim_add_on_step(perp_sim* sim, perp_step_fn fn, void* user)
{
    const perp_status status = perpi_grow(sim->context, &sim->callback, &sim->callback_capacity,
                                          sim->callback_count + 1, sizeof *sim->callback);
    if (status == PERP_OK) {
        sim->callback[sim->callback_count++] = (perpi_step_callback){fn, user};
    }
    return status;
}

perp_status perp_sim_set_user_code(perp_sim* sim, const char* name)
{
    char* copy = NULL;
    if (name != NULL && name[0] != '\0') {
        const perp_status status = perpi_strndup(sim->context, name, strlen(name), &copy);
        if (status != PERP_OK) {
            return status;
        }
    }
    perpi_free(sim->context, sim->user_code);
    sim->user_code = copy;
    return PERP_OK;
}

const char* perp_sim_user_code(const perp_sim* sim)
{
    return sim->user_code != NULL ? sim->user_code : "";
}

void perp_sim_on_cancel(perp_sim* sim, bool (*cancel)(void* user), void* user)
{
    sim->cancel = cancel;
    sim->cancel_user = user;
}

perp_status perp_sim_apply_wrench(perp_sim* sim, int32_t body, const double force[3],
                                  const double torque[3])
{
    const perp_model* model = sim->model;
    if (body < 0 || (size_t)body >= model->body_count ||
        model->body[body].type != PERP_BODY_DYNAMIC) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "apply_wrench: body %d is not a dynamic body", (int)body);
    }
    double* w = sim->extra + 6 * (size_t)body;
    for (int i = 0; i < 3; ++i) {
        const double f = force != NULL ? force[i] : 0.0, m = torque != NULL ? torque[i] : 0.0;
        if (!isfinite(f) || !isfinite(m)) {
            return perpi_fail(sim->context, PERP_ERROR_NUMERIC,
                              "apply_wrench: force and torque on '%s' must be finite",
                              model->body[body].name);
        }
        w[i] += f;
        w[3 + i] += m;
    }
    sim->has_extra = true;
    return PERP_OK;
}

bool perp_stepper_list(const perp_context* context, int32_t index, perp_piece_info* info)
{
    (void)context;
    const perpi_stepper_ops* ops;
    if (!perpi_stepper_at(index, &info->name, &ops)) {
        return false;
    }
    info->built = ops != NULL;
    info->summary = ops != NULL ? ops->summary
                    : strcmp(info->name, "instantaneous") == 0
                        ? "no way to step: 'perp forces' gives forces and accelerations at a state"
                        : "does not exist yet";
    return true;
}

bool perp_contact_list(const perp_context* context, int32_t index, perp_piece_info* info)
{
    (void)context;
    const perpi_contact_model_ops* ops;
    if (!perpi_contact_model_at(index, &info->name, &ops)) {
        return false;
    }
    info->built = ops != NULL;
    info->summary = ops != NULL ? ops->summary : "does not exist yet";
    return true;
}
