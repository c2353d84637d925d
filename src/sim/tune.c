/* src/sim/tune.c - changes parameters of a running simulation.
 *
 * A model is immutable, and simulations share it. The first change gives the simulation a copy of
 * the arrays that hold parameters; names, shapes and expressions remain the model's.
 */
#include <string.h>

#include "perp/set.h"
#include "sim/internal.h"

static perp_status copy_array(perp_context* context, const void* from, size_t count, size_t size,
                              void* to)
{
    void* copy = NULL;
    const perp_status status = perpi_alloc(context, count + 1, size, &copy);
    if (status == PERP_OK) {
        if (count > 0) {
            memcpy(copy, from, count * size);
        }
        memcpy(to, &copy, sizeof copy);
    }
    return status;
}

void perpi_sim_tuned_destroy(perp_sim* sim)
{
    perp_model* tuned = sim->tuned;
    if (tuned != NULL) {
        perpi_free(sim->context, tuned->body);
        perpi_free(sim->context, tuned->pair);
        perpi_free(sim->context, tuned->joint);
        perpi_free(sim->context, tuned->spring);
        perpi_free(sim->context, tuned->controller);
        perpi_free(sim->context, tuned);
        sim->tuned = NULL;
    }
}

/* from: the model, or the tuned one of another simulation. */
static perp_status make_tuned(perp_sim* sim, const perp_model* from)
{
    perp_context* context = sim->context;
    perp_model* m = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *m, &m);
    if (status != PERP_OK) {
        return status;
    }
    *m = *from;
    m->body = NULL;
    m->pair = NULL;
    m->joint = NULL;
    m->spring = NULL;
    m->controller = NULL;
    m->context = context;
    m->pair_capacity = from->pair_count + 1;
    sim->tuned = m;
    struct {
        const void* from;
        size_t count, size;
        void* to;
    } const part[] = {
        {from->body, from->body_count, sizeof *m->body, &m->body},
        {from->pair, from->pair_count, sizeof *m->pair, &m->pair},
        {from->joint, from->joint_count, sizeof *m->joint, &m->joint},
        {from->spring, from->spring_count, sizeof *m->spring, &m->spring},
        {from->controller, from->controller_count, sizeof *m->controller, &m->controller}};
    for (size_t i = 0; status == PERP_OK && i < sizeof part / sizeof part[0]; ++i) {
        status = copy_array(context, part[i].from, part[i].count, part[i].size, part[i].to);
    }
    if (status != PERP_OK) {
        perpi_sim_tuned_destroy(sim);
        return status;
    }
    sim->model = m;
    sim->work.model = m;
    return PERP_OK;
}

perp_status perpi_sim_tuned(perp_sim* sim, perp_model** model)
{
    const perp_status status = sim->tuned != NULL ? PERP_OK : make_tuned(sim, sim->built);
    if (status == PERP_OK) {
        *model = sim->tuned;
    }
    return status;
}

perp_status perpi_sim_tune_like(perp_sim* sim, const perp_sim* other)
{
    return other->tuned != NULL ? make_tuned(sim, other->tuned) : PERP_OK;
}

/* ---- comparing with the model ---------------------------------------------------------------- */

static bool value_differs(const perpi_value* a, const perpi_value* b)
{
    return a->number != b->number || a->expr != b->expr || a->curve != b->curve;
}

static bool differs(const perp_model* a, const perp_model* b)
{
    bool d = a->pair_count != b->pair_count;
    for (size_t i = 0; i < a->body_count; ++i) {
        const perpi_body *x = &a->body[i], *y = &b->body[i];
        d = d || x->friction != y->friction || x->drag_linear != y->drag_linear ||
            x->drag_angular != y->drag_angular || memcmp(&x->v, &y->v, sizeof x->v) != 0 ||
            memcmp(&x->w, &y->w, sizeof x->w) != 0;
    }
    for (size_t i = 0; !d && i < a->pair_count; ++i) {
        const double x = a->pair[i].mu, y = b->pair[i].mu;
        d = a->pair[i].a != b->pair[i].a || a->pair[i].b != b->pair[i].b ||
            !(x == y || (isnan(x) && isnan(y)));
    }
    for (size_t i = 0; i < a->joint_count; ++i) {
        const perpi_joint *x = &a->joint[i], *y = &b->joint[i];
        d = d || x->friction != y->friction || x->damping != y->damping ||
            x->max_effort != y->max_effort || x->velocity_limit != y->velocity_limit;
    }
    for (size_t i = 0; i < a->spring_count; ++i) {
        const perpi_spring *x = &a->spring[i], *y = &b->spring[i];
        d = d || x->stiffness != y->stiffness || x->damping != y->damping || x->rest != y->rest;
    }
    for (size_t i = 0; i < a->controller_count; ++i) {
        const perpi_controller *x = &a->controller[i], *y = &b->controller[i];
        d = d || x->kp != y->kp || x->ki != y->ki || x->kd != y->kd ||
            value_differs(&x->target, &y->target);
    }
    return d;
}

perp_status perpi_sim_tune_end(perp_sim* sim)
{
    sim->edit.parameters = differs(sim->tuned, sim->built);
    sim->edit.changes += 1;
    perpi_sim_new_account(sim);
    return PERP_OK;
}

/* ---- checks ----------------------------------------------------------------------------------------*/

static perp_status check_amount(const perp_sim* sim, const char* what, double x)
{
    if (isnan(x) || (x >= 0.0 && isfinite(x))) {
        return PERP_OK;
    }
    return perpi_fail(sim->context, PERP_ERROR_INPUT, "%s: must be >= 0, got %g", what, x);
}

static perp_status check_index(const perp_sim* sim, const char* what, const char* kind,
                               int32_t index, size_t count)
{
    if (index >= 0 && (size_t)index < count) {
        return PERP_OK;
    }
    return perpi_fail(sim->context, PERP_ERROR_INPUT, "%s: there is no %s %d", what, kind,
                      (int)index);
}

static perp_status check_one_degree(const perp_sim* sim, const char* what, int32_t joint)
{
    const perp_status status = check_index(sim, what, "joint", joint, sim->model->joint_count);
    if (status != PERP_OK || perpi_joint_one_degree(sim->model->joint[joint].type)) {
        return status;
    }
    return perpi_fail(sim->context, PERP_ERROR_INPUT,
                      "%s: '%s' is %s; only revolute and prismatic joints have it", what,
                      sim->model->joint[joint].name,
                      perp_joint_type_name(sim->model->joint[joint].type));
}

/* A method that was chosen for a scene without friction may not support it; neither may a
 * stepper. */
static perp_status check_friction(perp_sim* sim, const char* what, double mu)
{
    const perp_model* model = sim->model;
    if (mu > 0.0 && model->dimension == 3 &&
        !perp_contact_solver_takes(sim->work.solver, sim->work.rules.cone)) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "%s: the solver '%s' does not take the friction cone '%s'", what,
                          sim->def.solver, sim->def.cone);
    }
    const perp_status status = sim->stepper->check == NULL
                                   ? PERP_OK
                                   : sim->stepper->check(sim->context, model, &sim->work.settings);
    return status == PERP_OK ? status : perpi_fail_prefix(sim->context, status, what);
}

/* ---- friction --------------------------------------------------------------------------------------*/

perp_status perp_sim_set_friction(perp_sim* sim, int32_t body, double mu)
{
    perp_model* model = NULL;
    perp_status status = perpi_sim_check_body(sim, "set_friction", body);
    if (status == PERP_OK) {
        status = check_amount(sim, "set_friction", mu);
    }
    if (status == PERP_OK) {
        status = perpi_sim_tuned(sim, &model);
    }
    if (status != PERP_OK) {
        return status;
    }
    const double before = model->body[body].friction;
    model->body[body].friction = isnan(mu) ? sim->built->body[body].friction : mu;
    status = check_friction(sim, "set_friction", mu);
    if (status != PERP_OK) {
        model->body[body].friction = before;
        return status;
    }
    return perpi_sim_tune_end(sim);
}

static bool has_own_friction(const perp_model* model, int32_t body)
{
    const perpi_body* b = &model->body[body];
    bool own = false;
    for (int32_t i = 0; i < b->shape_count; ++i) {
        own = own || !isnan(model->surface[b->shape + i].friction);
    }
    return own;
}

static perp_status add_pair(perp_sim* sim, perp_model* model, int32_t a, int32_t b)
{
    const perp_status status = perpi_grow(sim->context, &model->pair, &model->pair_capacity,
                                          model->pair_count + 1, sizeof *model->pair);
    if (status != PERP_OK) {
        return status;
    }
    size_t at = model->pair_count++;
    for (; at > 0 &&
           (model->pair[at - 1].a > a || (model->pair[at - 1].a == a && model->pair[at - 1].b > b));
         --at) {
        model->pair[at] = model->pair[at - 1];
    }
    model->pair[at] = (perpi_pair){.a = a, .b = b, .mu = NAN, .restitution = NAN};
    return PERP_OK;
}

perp_status perp_sim_set_pair_friction(perp_sim* sim, int32_t a, int32_t b, double mu)
{
    perp_model* model = NULL;
    perp_status status = perpi_sim_check_body(sim, "set_pair_friction", a);
    if (status == PERP_OK) {
        status = perpi_sim_check_body(sim, "set_pair_friction", b);
    }
    if (status == PERP_OK) {
        status = check_amount(sim, "set_pair_friction", mu);
    }
    if (status == PERP_OK &&
        (a == b || has_own_friction(sim->model, a) || has_own_friction(sim->model, b))) {
        status =
            perpi_fail(sim->context, PERP_ERROR_INPUT, "set_pair_friction: '%s' and '%s' %s",
                       sim->model->body[a].name, sim->model->body[b].name,
                       a == b ? "are one body"
                              : "have shapes with coefficients of their own, which come first");
    }
    if (status == PERP_OK) {
        status = perpi_sim_tuned(sim, &model);
    }
    const int32_t lo = a < b ? a : b, hi = a < b ? b : a;
    if (status == PERP_OK && perpi_model_pair(model, lo, hi) == NULL && !isnan(mu)) {
        status = add_pair(sim, model, lo, hi);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perpi_pair* built = perpi_model_pair(sim->built, lo, hi);
    perpi_pair* pair = (perpi_pair*)(uintptr_t)perpi_model_pair(model, lo, hi); /* of our copy */
    if (pair == NULL) {
        return PERP_OK;
    }
    const double before = pair->mu;
    pair->mu = !isnan(mu) ? mu : built != NULL ? built->mu : NAN;
    status = check_friction(sim, "set_pair_friction", mu);
    if (status != PERP_OK) {
        pair->mu = before;
        return status;
    }
    return perpi_sim_tune_end(sim);
}

/* ---- joints, springs, drag, controllers ------------------------------------------------------------*/

perp_status perp_sim_set_joint_friction(perp_sim* sim, int32_t joint, double friction)
{
    perp_model* model = NULL;
    perp_status status = check_one_degree(sim, "set_joint_friction", joint);
    if (status == PERP_OK) {
        status = check_amount(sim, "set_joint_friction", friction);
    }
    if (status == PERP_OK) {
        status = perpi_sim_tuned(sim, &model);
    }
    if (status != PERP_OK) {
        return status;
    }
    model->joint[joint].friction = isnan(friction) ? sim->built->joint[joint].friction : friction;
    return perpi_sim_tune_end(sim);
}

perp_status perp_sim_set_joint_damping(perp_sim* sim, int32_t joint, double damping)
{
    perp_model* model = NULL;
    perp_status status = check_one_degree(sim, "set_joint_damping", joint);
    if (status == PERP_OK) {
        status = check_amount(sim, "set_joint_damping", damping);
    }
    if (status == PERP_OK) {
        status = perpi_sim_tuned(sim, &model);
    }
    if (status != PERP_OK) {
        return status;
    }
    model->joint[joint].damping = isnan(damping) ? sim->built->joint[joint].damping : damping;
    return perpi_sim_tune_end(sim);
}

perp_status perp_sim_set_motor_max_effort(perp_sim* sim, int32_t joint, double max_effort)
{
    perp_model* model = NULL;
    perp_status status = check_one_degree(sim, "set_motor_max_effort", joint);
    if (status == PERP_OK && sim->model->joint[joint].motor == PERP_MOTOR_NONE) {
        status =
            perpi_fail(sim->context, PERP_ERROR_INPUT, "set_motor_max_effort: '%s' has no motor",
                       sim->model->joint[joint].name);
    }
    if (status == PERP_OK && !isnan(max_effort) && !(max_effort >= 0.0)) {
        status = perpi_fail(sim->context, PERP_ERROR_INPUT,
                            "set_motor_max_effort: must be >= 0, got %g", max_effort);
    }
    if (status == PERP_OK) {
        status = perpi_sim_tuned(sim, &model);
    }
    if (status != PERP_OK) {
        return status;
    }
    model->joint[joint].max_effort =
        isnan(max_effort) ? sim->built->joint[joint].max_effort : max_effort;
    return perpi_sim_tune_end(sim);
}

perp_status perp_sim_set_spring(perp_sim* sim, int32_t spring, double stiffness, double damping,
                                double rest)
{
    perp_model* model = NULL;
    perp_status status = check_index(sim, "set_spring", "spring", spring, sim->model->spring_count);
    const double amount[3] = {stiffness, damping, rest};
    for (int i = 0; status == PERP_OK && i < 3; ++i) {
        status = check_amount(sim, "set_spring", amount[i]);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perpi_spring* built = &sim->built->spring[spring];
    perpi_spring s = sim->model->spring[spring];
    s.stiffness = isnan(stiffness) ? built->stiffness : stiffness;
    s.damping = isnan(damping) ? built->damping : damping;
    s.rest = isnan(rest) ? built->rest : rest;
    if (s.stiffness == 0.0 && s.damping == 0.0) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "set_spring: a spring needs a stiffness or a damping > 0");
    }
    if ((s.rest == 0.0) != (built->rest == 0.0)) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "set_spring: a rest length of 0 stays 0 and another above 0, got %g: the "
                          "two have different laws",
                          s.rest);
    }
    status = perpi_sim_tuned(sim, &model);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_spring before = model->spring[spring];
    model->spring[spring] = s;
    status = perpi_sim_check_springs(sim); /* explicit springs must be stable */
    if (status != PERP_OK) {
        model->spring[spring] = before;
        return perpi_fail_prefix(sim->context, status, "set_spring");
    }
    return perpi_sim_tune_end(sim);
}

perp_status perp_sim_set_drag(perp_sim* sim, int32_t body, double linear, double angular)
{
    perp_model* model = NULL;
    perp_status status = perpi_sim_check_body(sim, "set_drag", body);
    if (status == PERP_OK) {
        status = check_amount(sim, "set_drag", linear);
    }
    if (status == PERP_OK) {
        status = check_amount(sim, "set_drag", angular);
    }
    if (status == PERP_OK && (sim->model->body[body].type != PERP_BODY_DYNAMIC ||
                              (sim->model->body[body].particle && angular > 0.0))) {
        status = perpi_fail(sim->context, PERP_ERROR_INPUT, "set_drag: '%s' is %s",
                            sim->model->body[body].name,
                            sim->model->body[body].particle ? "a particle and does not turn"
                                                            : "not dynamic: no force moves it");
    }
    if (status == PERP_OK) {
        status = perpi_sim_tuned(sim, &model);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perpi_body* built = &sim->built->body[body];
    model->body[body].drag_linear = isnan(linear) ? built->drag_linear : linear;
    model->body[body].drag_angular = isnan(angular) ? built->drag_angular : angular;
    return perpi_sim_tune_end(sim);
}

perp_status perp_sim_set_controller_gains(perp_sim* sim, int32_t controller, double kp, double ki,
                                          double kd)
{
    perp_model* model = NULL;
    perp_status status = check_index(sim, "set_controller_gains", "controller", controller,
                                     sim->model->controller_count);
    const double gain[3] = {kp, ki, kd};
    for (int i = 0; status == PERP_OK && i < 3; ++i) {
        status = check_amount(sim, "set_controller_gains", gain[i]);
    }
    if (status != PERP_OK) {
        return status;
    }
    const perpi_controller* built = &sim->built->controller[controller];
    perpi_controller c = sim->model->controller[controller];
    c.kp = isnan(kp) ? built->kp : kp;
    c.ki = isnan(ki) ? built->ki : ki;
    c.kd = isnan(kd) ? built->kd : kd;
    if (c.kp == 0.0 && c.ki == 0.0 && c.kd == 0.0) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "set_controller_gains: one of kp, ki and kd must be > 0");
    }
    status = perpi_sim_tuned(sim, &model);
    if (status != PERP_OK) {
        return status;
    }
    model->controller[controller] = c;
    return perpi_sim_tune_end(sim);
}

perp_status perp_sim_set_controller_target(perp_sim* sim, int32_t controller, double target)
{
    perp_model* model = NULL;
    perp_status status = check_index(sim, "set_controller_target", "controller", controller,
                                     sim->model->controller_count);
    if (status == PERP_OK && isinf(target)) {
        status = perpi_fail(sim->context, PERP_ERROR_INPUT,
                            "set_controller_target: must be finite, or NaN for the model's");
    }
    if (status == PERP_OK) {
        status = perpi_sim_tuned(sim, &model);
    }
    if (status != PERP_OK) {
        return status;
    }
    model->controller[controller].target =
        isnan(target) ? sim->built->controller[controller].target : (perpi_value){.number = target};
    return perpi_sim_tune_end(sim);
}
