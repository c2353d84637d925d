/* src/sim/create.c - creates and destroys a simulation; checks its definition. */
#include <string.h>

#include "sim/closed.h"
#include "sim/compatibility.h"
#include "sim/internal.h"
#include "sim/measure.h"
#include "step/force_rows.h"
#include "step/repair.h"
#include "step/smooth_step.h"

/* ---- checking the definition ----------------------------------------------------------------- */

perp_sim_def perp_sim_def_default(void)
{
    return (perp_sim_def){.struct_size = sizeof(perp_sim_def),
                          .step = 0.01,
                          .duration = 1.0,
                          .stepper = "stewart-trinkle",
                          .contact = "auto",
                          .joint_choice = true,
                          .rolling_choice = true,
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

static bool any_friction(const perp_model* model)
{
    for (size_t i = 0; i < model->body_count; ++i) {
        if (model->body[i].friction > 0.0) {
            return true;
        }
    }
    for (size_t i = 0; i < model->shape_count; ++i) {
        if (model->surface[i].friction > 0.0) { /* false for NaN: no value */
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

/* Defaults of an adaptive step. */
static perp_status complete_adaptive(perp_context* context, perp_sim_def* def)
{
    if (!(def->error >= 0.0) || !(def->error < 1.0)) {
        return perpi_fail(context, PERP_ERROR_INPUT, "step/error: must be > 0 and < 1, got %g",
                          def->error);
    }
    if (def->error == 0.0) {
        return PERP_OK;
    }
    if (def->error < 1e-13) { /* precision of gaps (adaptive.c) */
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

/* Steppers whose inertia is that of the start of the step; those with forces at the end have the
 * momentum of the end in their problem already. */
static bool carries_momentum(const perp_sim* sim)
{
    return (sim->stepper->evaluation == PERPI_EVALUATE_START || sim->work.second != NULL) &&
           !sim->stepper->equilibrium_search && perpi_momentum_differs(sim->model);
}

/* Heaps: see perpi_contact_rules. In scenes of fewer bodies the solvers meet few such pairs at once. */
static const double ALIGNED = 1e-4; /* radians */

static double choose_alignment(const perp_model* model)
{
    enum { HEAP = 50 }; /* dynamic bodies */
    int32_t dynamic = 0;
    for (size_t i = 0; i < model->body_count; ++i) {
        dynamic += model->body[i].type == PERP_BODY_DYNAMIC;
    }
    return model->dimension == 3 && dynamic >= HEAP ? ALIGNED : 0.0;
}

/* Selects contact model, stepper and settings, and checks that they are compatible. */
static perp_status choose_models(perp_sim* sim, const perp_sim_def* def)
{
    perp_context* context = sim->context;
    perpi_step* work = &sim->work;
    perp_status status = check_cone(context, sim->model, def, &work->rules);
    work->rules.single_primary = def->single_primary;
    work->rules.align = choose_alignment(sim->model);
    if (status != PERP_OK) {
        return status;
    }
    status = perpi_stepper_find(context, def->stepper, &sim->stepper);
    if (status == PERP_OK) {
        status = perpi_stepper_settings(context, sim->stepper, def->stepper_option,
                                        def->stepper_option_count, &work->settings);
    }
    prefix(context, status, "stepper");
    if (status != PERP_OK) {
        return status;
    }
    work->settings.linear_rotation = def->linear_rotation;
    work->settings.midway = sim->stepper->midway && !sim->adaptive && !def->linear_rotation;
    work->settings.limits_joints = sim->stepper->evaluation == PERPI_EVALUATE_START &&
                                   !sim->stepper->equilibrium_search && !sim->adaptive &&
                                   !def->linear_rotation;
    work->settings.cone = work->rules.cone;
    work->settings.directions = work->rules.directions;
    status = perpi_contact_model_find(context, def->contact, &work->contact_model);
    prefix(context, status, "contact");
    if (status == PERP_OK) {
        const perpi_combination asked = {sim->model, def, sim->stepper, work->contact_model};
        status = perpi_check_combination(context, &asked);
    }
    if (status == PERP_OK && sim->stepper->check != NULL) {
        status = sim->stepper->check(context, sim->model, &work->settings);
    }
    return status;
}

/* Creates the solver, and checks that it accepts the cones. */
static perp_status choose_solver(perp_sim* sim, const perp_sim_def* def)
{
    const perp_status status = perp_contact_solver_create(
        sim->context, def->solver, def->solver_option, def->solver_option_count, &sim->work.solver);
    prefix(sim->context, status, "solver");
    /* planar cones are intervals, which every method accepts; those of supports are discs */
    const bool discs = sim->model->support_points > 0;
    if (status == PERP_OK && (discs || (sim->model->dimension == 3 && any_friction(sim->model))) &&
        !perp_contact_solver_takes(sim->work.solver, sim->work.rules.cone)) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "solver: '%s' does not take the friction cone '%s'; use the cone "
                          "'polygon', or the solver 'auto'",
                          def->solver, def->cone);
    }
    return status;
}

/* ---- arrays ----------------------------------------------------------------------------------------*/

static perp_status allocate_state(const perpi_step* step, perpi_state* state)
{
    perp_status status =
        perpi_alloc(step->context, (size_t)step->q_size, sizeof(double), &state->q);
    if (status == PERP_OK) {
        status = perpi_alloc(step->context, (size_t)step->v_size, sizeof(double), &state->v);
    }
    if (status == PERP_OK) {
        status =
            perpi_alloc(step->context, (size_t)step->s_size + 1, sizeof(double), &state->memory);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(step->context, step->model->joint_count, sizeof *state->joint,
                             &state->joint);
    }
    state->contacts.context = step->context;
    return status;
}

static void free_state(perp_context* context, perpi_state* state)
{
    perpi_free(context, state->q);
    perpi_free(context, state->v);
    perpi_free(context, state->memory);
    perpi_free(context, state->joint);
    perpi_free(context, state->contacts.item);
}

perp_status perpi_trial_create(const perpi_step* step, bool v_solved, perpi_trial* trial)
{
    perp_status status = allocate_state(step, &trial->state);
    if (status == PERP_OK) {
        status = perpi_alloc(step->context, 1, sizeof *trial->info, &trial->info);
    }
    if (status == PERP_OK && v_solved) {
        status = perpi_alloc(step->context, (size_t)step->v_size, sizeof(double), &trial->v_solved);
    }
    return status;
}

void perpi_trial_destroy(perp_context* context, perpi_trial* trial)
{
    free_state(context, &trial->state);
    perpi_free(context, trial->info);
    perpi_free(context, trial->v_solved);
}

/* Sizes of the state, and the constant members of the step. */
static void set_state_sizes(perp_sim* sim, const perp_sim_def* def)
{
    perpi_step* work = &sim->work;
    const perp_model* model = sim->model;
    const int32_t n = (int32_t)model->body_count;
    work->q_size = n * perpi_q_stride(model);
    work->v_size = n * perpi_v_stride(model);
    work->s_size = perpi_s_size(model);
    work->offset_at = sim->impact.f != NULL && !sim->adaptive ? work->s_size : -1;
    work->s_size += work->offset_at >= 0 ? perpi_offset_size(model) : 0;
    work->tolerance = def->tolerance;
    /* a soft layer that is found once it is compressed would have energy that nothing gave */
    work->margin_given = sim->stepper->layered ? (double)NAN : def->margin;
    work->margin_least = sim->stepper->layered && def->margin > 0.0 ? 0.5 * def->margin : 0.0;
    work->nominal_h = def->step;
    work->error = def->error;
    work->longest = def->error > 0.0 ? def->step_max : def->step;
    work->outer.contacts.context = sim->context;
    work->roll.start.context = work->roll.middle.context = sim->context;
    work->roll.end.context = work->roll.kept.context = sim->context;
    sim->correction.closed.context = sim->context;
}

static perp_status allocate_step(perp_sim* sim)
{
    perp_context* context = sim->context;
    perpi_step* work = &sim->work;
    const size_t n = sim->model->body_count, joints = sim->model->joint_count;
    const size_t q = (size_t)work->q_size, v = (size_t)work->v_size;
    const bool displaced = work->offset_at >= 0, rests = sim->stepper->equilibrium_search;
    struct {
        double** array;
        size_t count;
    } arrays[] = {{&work->q_start, displaced ? q : 0},
                  {&work->v_start, displaced ? v : 0},
                  {&work->q_to, displaced ? q : 0},
                  {&work->v_to, displaced ? v : 0},
                  {&work->margin, n},
                  {&work->turn_most, n},
                  {&work->extra, 6 * n},
                  {&work->effort, joints},
                  {&work->equilibrium.v_end, rests ? v : 0}};
    perp_status status = allocate_state(work, &sim->state);
    if (status == PERP_OK) {
        status = perpi_alloc(sim->context, 1, sizeof *sim->info, &sim->info);
    }
    for (size_t i = 0; status == PERP_OK && i < sizeof arrays / sizeof arrays[0]; ++i) {
        status = perpi_alloc(context, arrays[i].count, sizeof(double), arrays[i].array);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, n, sizeof *work->pose, &work->pose);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, n, sizeof *work->turn, &work->turn);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, n, sizeof *work->motion, &work->motion);
    }
    if (status == PERP_OK) {
        status = perpi_alloc(context, joints, sizeof *work->input, &work->input);
    }
    return status;
}

static perp_status find_loops(perp_sim* sim)
{
    int32_t* tree = NULL;
    perp_status status = perpi_alloc(sim->context, sim->model->joint_count,
                                     sizeof *sim->correction.loop, &sim->correction.loop);
    if (status == PERP_OK) {
        status = perpi_alloc(sim->context, sim->model->body_count, sizeof *tree, &tree);
    }
    if (status == PERP_OK) {
        perpi_repair_find_loops(sim->model, tree, sim->correction.loop);
    }
    perpi_free(sim->context, tree);
    for (size_t i = 0; status == PERP_OK && i < sim->model->joint_count; ++i) {
        sim->correction.any_loop = sim->correction.any_loop || sim->correction.loop[i];
    }
    return status;
}

/* Bodies without mass. */
static perp_status check_frames(const perp_model* model)
{
    if (model->massless_count > 0 && model->bounces && model->impact_law == PERP_IMPACT_POISSON) {
        return perpi_fail(model->context, PERP_ERROR_UNSUPPORTED,
                          "restitution: Poisson's law does not take bodies without mass; use "
                          "Newton's");
    }
    return perpi_chains_check(model);
}

/* Workspace of the outer iteration. Velocities are compared in the norm of the kinetic energy. */
static perp_status prepare_outer(perp_sim* sim)
{
    const perp_model* model = sim->model;
    const int32_t stride = perpi_v_stride(model);
    perp_status status =
        perpi_alloc(sim->context, (size_t)sim->work.v_size, sizeof(double), &sim->work.outer.v);
    if (status == PERP_OK) {
        status = perpi_anderson_create(sim->context, sim->work.v_size, &sim->work.outer.anderson);
    }
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        const mat3 I = body->inertia;
        const double turning =
            model->dimension == 2 ? I.m[2][2] : I.m[0][0] + I.m[1][1] + I.m[2][2];
        for (int32_t k = 0; k < stride; ++k) {
            const double mass = k < model->dimension ? body->mass : turning;
            sim->work.outer.anderson.weight[i * stride + k] = k < body->dofs ? sqrt(mass) : 0.0;
        }
    }
    return status;
}

/* Workspace of the joint correction at the end of each step. */
static perp_status prepare_correction(perp_sim* sim, const perp_sim_def* def)
{
    perp_context* context = sim->context;
    perpi_correction* x = &sim->correction;
    perp_status status =
        perpi_alloc(context, (size_t)sim->work.v_size, sizeof(double), &x->v_carried);
    if (status == PERP_OK) {
        status = perpi_alloc(context, (size_t)sim->work.q_size, sizeof(double), &x->q_answer);
    }
    if (status == PERP_OK) {
        status = perpi_formulation_create(context, &x->project);
    }
    if (status == PERP_OK) {
        status = perp_contact_solver_create(context, def->solver, def->solver_option,
                                            def->solver_option_count, &x->solver);
    }
    return status;
}

/* The direct solution of joints (joint_system.h). Closed loops may have redundant rows: middle steps
 * regularise them. */
static perp_status prepare_system(perp_sim* sim, const perp_sim_def* def)
{
    static const double LOOPS = 1e-11;
    const bool corrects = sim->correction.project != NULL, loops = sim->correction.any_loop;
    const bool chosen = strcmp(def->solver, "auto") == 0;
    perpi_step* work = &sim->work;
    work->settings.joint_middle = def->joint_middle && sim->model->joint_count > 0;
    work->settings.joint_chosen = work->settings.joint_middle && !sim->asked.joint_middle;
    work->direct = corrects && chosen && !loops;
    if (!work->direct && !work->settings.joint_middle) {
        return PERP_OK;
    }
    const perp_status status = perpi_joint_system_create(sim->context, &work->system);
    if (status == PERP_OK) {
        perpi_joint_system_regularise(work->system, loops ? LOOPS : 0.0);
    }
    return status;
}

/* Middle steps with contacts. */
static perp_status prepare_rolling(perp_sim* sim, const perp_sim_def* asked,
                                   const perp_joint_choice* rolling)
{
    perpi_step* work = &sim->work;
    if (rolling->reason != NULL && asked->rolling_middle) {
        return perpi_fail(sim->context, PERP_ERROR_UNSUPPORTED,
                          "contact_direction: 'middle' does not take this scene: %s",
                          rolling->reason);
    }
    work->settings.rolling_middle = true;
    work->settings.rolling_chosen = !asked->rolling_middle;
    perp_status status = prepare_outer(sim);
    const size_t bodies = sim->model->body_count;
    if (status == PERP_OK) {
        status = perpi_alloc(sim->context, bodies, sizeof *work->roll.able, &work->roll.able);
    }
    int32_t dynamic = 0;
    for (int32_t i = 0; status == PERP_OK && i < (int32_t)bodies; ++i) {
        work->roll.able[i] = perpi_body_can_roll(sim->model, i);
        dynamic += sim->model->body[i].dofs > 0;
    }
    if (status == PERP_OK && dynamic > 1) {
        status = perpi_alloc(sim->context, bodies, sizeof *work->roll.part, &work->roll.part);
        if (status == PERP_OK) {
            status =
                perpi_alloc(sim->context, bodies, sizeof *work->roll.rolled, &work->roll.rolled);
        }
        if (status == PERP_OK) {
            status = perpi_alloc(sim->context, (size_t)work->v_size, sizeof(double), &work->roll.v);
        }
    }
    return status;
}

/* ---- creating -------------------------------------------------------------------------------- */

void perpi_sim_initial_state(perp_sim* sim)
{
    const perp_model* model = sim->model;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_body* body = &model->body[i];
        perpi_state_set_pose(model, sim->state.q, i, &body->pose, body->angle);
        perpi_state_set_velocity(model, sim->state.v, i, body->v, body->w);
    }
    sim->state.h_last = 1.0;
    perpi_step_poses(&sim->work, sim->state.q);
    for (size_t i = 0; i < model->joint_count; ++i) {
        sim->state.joint[i].target = NAN;
    }
    perpi_joint_measure(model, sim->state.q, sim->state.joint, sim->info->joint_error);
}

/* Collider, formulations, workspaces. */
static perp_status prepare_step(perp_sim* sim, const perp_sim_def* def)
{
    perp_context* context = sim->context;
    perpi_step* work = &sim->work;
    perp_status status = perpi_collider_create(context, sim->model, &work->collider);
    if (status == PERP_OK) {
        status = perpi_sides_create(context, sim->model, &sim->sides);
    }
    if (status == PERP_OK) {
        perpi_collider_set_rule(work->collider, work->contact_model->rule, NULL, 0);
        status = perpi_formulation_create(context, &work->formulation);
    }
    if (status == PERP_OK && (sim->model->bounces || sim->adaptive)) {
        status = perpi_formulation_create(context, &sim->impact.f);
    }
    if (status == PERP_OK) {
        set_state_sizes(sim, def);
        status = allocate_step(sim);
    }
    if (status == PERP_OK && sim->stepper->evaluation != PERPI_EVALUATE_START) {
        status = prepare_outer(sim);
        if (status == PERP_OK) {
            status = perpi_stepper_find(context, "stewart-trinkle", &work->second);
        }
    }
    if (status == PERP_OK && sim->model->joint_count > 0) {
        status = find_loops(sim);
    }
    return status;
}

static perp_status create_parts(perp_sim* sim, const perp_sim_def* asked)
{
    perp_context* context = sim->context;
    perp_sim_def completed = *asked;
    const perp_sim_def* def = &completed;
    sim->contact_chosen = strcmp(asked->contact, "auto") == 0;
    completed.contact = perp_contact_choose(sim->model, asked).name;
    completed.joint_middle = perp_joint_choose(sim->model, asked).middle;
    const perp_joint_choice rolling = perp_rolling_choose(sim->model, asked);
    completed.rolling_middle = rolling.middle;
    perp_status status = complete_adaptive(context, &completed);
    sim->adaptive = completed.error > 0.0;
    if (status == PERP_OK) {
        status = check_def(context, def);
    }
    if (status == PERP_OK) {
        status = choose_models(sim, def);
    }
    if (status == PERP_OK) {
        status = choose_solver(sim, def);
    }
    if (status == PERP_OK) {
        status = prepare_step(sim, def);
    }
    const bool middle = def->joint_middle && sim->model->joint_count > 0;
    /* the other steps of a run for which middle steps were chosen leave no errors to these */
    const bool corrects =
        (def->joint_correction && sim->model->joint_count > 0) || (middle && !asked->joint_middle);
    if (status == PERP_OK && completed.rolling_middle) {
        status = prepare_rolling(sim, asked, &rolling);
    }
    const bool solved_differ = status == PERP_OK && (corrects || middle || carries_momentum(sim) ||
                                                     completed.rolling_middle);
    if (solved_differ) {
        status = perpi_alloc(context, (size_t)sim->work.v_size, sizeof(double), &sim->v_solved);
    }
    if (status == PERP_OK) {
        status = perpi_trial_create(&sim->work, solved_differ, &sim->trial);
    }
    if (status == PERP_OK && corrects) {
        status = prepare_correction(sim, def);
    }
    if (status == PERP_OK) {
        status = prepare_system(sim, def);
    }
    if (status != PERP_OK) {
        return status;
    }
    sim->def = *def;
    sim->tick_total = perpi_sim_count_ticks(sim);
    perpi_sim_initial_state(sim);
    if (sim->adaptive) {
        status = perpi_sim_adaptive_create(sim);
        if (status != PERP_OK) {
            return status;
        }
    }
    status = perpi_sim_check_springs(sim);
    if (status == PERP_OK) {
        status = check_frames(sim->model);
    }
    if (status == PERP_OK) {
        status = perpi_sim_start(sim);
    }
    return status == PERP_OK ? perpi_measures_create(sim) : status;
}

perp_status perpi_sim_create_quietly(perp_context* context, const perp_model* model,
                                     const perp_sim_def* def, perp_sim** sim)
{
    perp_sim* s = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *s, &s);
    if (status != PERP_OK) {
        return status;
    }
    s->context = s->work.context = context;
    s->built = s->model = s->work.model = model;
    s->work.sides = &s->sides;
    s->work.correction = &s->correction;
    s->work.impact = &s->impact;
    perpi_arena_init(&s->scratch, context);
    perpi_arena_init(&s->impact.scratch, context);
    perpi_arena_init(&s->asked_text, context);
    status = perpi_sim_keep_def(s, def);
    if (status == PERP_OK) {
        status = create_parts(s, &s->asked);
    }
    if (status != PERP_OK) {
        perp_sim_destroy(s);
        return status;
    }
    *sim = s;
    return PERP_OK;
}

perp_status perp_sim_create(perp_context* context, const perp_model* model, const perp_sim_def* def,
                            perp_sim** sim)
{
    perp_sim* made = NULL;
    perp_status status = perpi_sim_create_quietly(context, model, def, &made);
    if (status == PERP_OK) {
        status = perpi_collider_find_reach(made->work.collider, NULL);
    }
    if (status != PERP_OK) {
        perp_sim_destroy(made);
        return status;
    }
    perpi_sim_warn_of_crossing(made);
    *sim = made;
    return PERP_OK;
}

/* ---- destroying ------------------------------------------------------------------------------ */

static void free_step(perpi_step* x)
{
    perp_contact_solver_destroy(x->solver);
    perpi_collider_destroy(x->collider);
    perpi_formulation_destroy(x->formulation);
    perpi_joint_system_destroy(x->system);
    perpi_smooth_solver_destroy(x->smooth);
    void* const owned[] = {x->check,
                           x->middle,
                           x->q_start,
                           x->v_start,
                           x->q_to,
                           x->v_to,
                           x->extra,
                           x->effort,
                           x->input,
                           x->pose,
                           x->margin,
                           x->turn_most,
                           x->motion,
                           x->turn,
                           x->exception.item,
                           x->side.item,
                           x->v_problem,
                           x->p_problem,
                           x->outer.contacts.item,
                           x->roll.start.item,
                           x->roll.middle.item,
                           x->roll.end.item,
                           x->roll.kept.item,
                           x->roll.able,
                           x->roll.part,
                           x->roll.rolled,
                           x->roll.v,
                           x->outer.v,
                           x->outer.check,
                           x->equilibrium.v_end,
                           x->equilibrium.best,
                           x->equilibrium.basis,
                           x->momentum_work.island,
                           x->momentum_work.held,
                           x->momentum_work.sum};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(x->context, owned[i]);
    }
    perpi_anderson_destroy(x->context, &x->outer.anderson);
}

static void free_correction(perp_context* context, perpi_correction* x)
{
    perpi_formulation_destroy(x->project);
    perp_contact_solver_destroy(x->solver);
    void* const owned[] = {x->q_answer, x->v_carried, x->v,     x->p,   x->closed.item,
                           x->pushed,   x->loop,      x->start, x->keep};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(context, owned[i]);
    }
}

void perp_sim_destroy(perp_sim* sim)
{
    if (sim == NULL) {
        return;
    }
    perp_context* context = sim->context;
    free_step(&sim->work);
    free_state(context, &sim->state);
    perpi_trial_destroy(context, &sim->trial);
    perpi_sim_adaptive_destroy(sim);
    perpi_sides_destroy(context, &sim->sides);
    free_correction(context, &sim->correction);
    perpi_sim_tuned_destroy(sim);
    perpi_measures_destroy(sim);
    perpi_formulation_destroy(sim->impact.f);
    void* const owned[] = {sim->info,          sim->v_solved,    sim->closing.item,
                           sim->impact.hit,    sim->impact.work, sim->impact.island,
                           sim->user.callback, sim->user.code,   sim->edit.moved};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(context, owned[i]);
    }
    perpi_arena_free(&sim->asked_text);
    perpi_arena_free(&sim->scratch);
    perpi_arena_free(&sim->impact.scratch);
    perpi_free(context, sim);
}
