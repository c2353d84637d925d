/* src/sim/quantity.c - the table of quantities: their names and how they are computed. */
#include "sim/quantity.h"

#include <stdio.h>
#include <string.h>

#include "base/expr.h"
#include "perp/force.h"
#include "perp/query.h"
#include "sim/internal.h"
#include "step/force_rows.h"
#include "step/joint_rows.h"

enum { NAME_SIZE = 600 };

/* Whose quantity it is. */
typedef enum owner_kind {
    OF_BODY,       /* BODY.name */
    OF_JOINT,      /* JOINT.name */
    OF_CONTROLLER, /* controller.CONTROLLER.name */
    OF_CONTACT,    /* contact.A.B.name */
    OF_DISTANCE,   /* distance.A.B */
    OF_SCENE,      /* name */
} owner_kind;

typedef struct entry {
    owner_kind owner;
    const char* name; /* what follows the owner's */
    perp_quantity_kind kind;
    int dimension; /* 2, 3, or 0 for both */
    bool of_step;
    double (*value)(const perpi_view* view, const perp_quantity* quantity, int component);
    int component;
} entry;

/* ---- values ----------------------------------------------------------------------------------------*/

static double of_q(const perpi_view* x, const perp_quantity* k, int i)
{
    return x->q[perpi_q_stride(x->model) * k->owner + i];
}

static double of_v(const perpi_view* x, const perp_quantity* k, int i)
{
    return x->v[perpi_v_stride(x->model) * k->owner + i];
}

static double speed(const perpi_view* x, const perp_quantity* k, int i)
{
    (void)i;
    const double xy = hypot(of_v(x, k, 0), of_v(x, k, 1));
    return x->model->dimension == 2 ? xy : hypot(xy, of_v(x, k, 2));
}

/* A mean over the step; an impact has none. */
static double over_time(double impulse, double time)
{
    return time > 0.0 ? impulse / time : 0.0;
}

static bool acts(const perp_contact* c)
{
    const double* p = c->impulse;
    return p[0] != 0.0 || p[1] != 0.0 || p[2] != 0.0 || p[3] != 0.0;
}

/* Impulse of a contact on its body B along a world axis. */
static double impulse_along(const perp_contact* c, int i)
{
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const double o = c->normal[j] * c->tangent[k] - c->normal[k] * c->tangent[j];
    return c->impulse[0] * c->normal[i] + c->impulse[1] * c->tangent[i] + c->impulse[2] * o;
}

/* Sum of the contact forces on the body. */
static double body_force(const perpi_view* x, const perp_quantity* k, int i)
{
    double sum = 0.0;
    for (int32_t n = 0; n < x->contact_count; ++n) {
        const perp_contact* c = &x->contact[n];
        if (c->body_a == k->owner || c->body_b == k->owner) {
            sum += c->body_b == k->owner ? impulse_along(c, i) : -impulse_along(c, i);
        }
    }
    return over_time(sum, x->contact_time);
}

static bool is_of_pair(const perp_contact* c, const perp_quantity* k)
{
    return ((c->body_a == k->owner && c->body_b == k->second) ||
            (c->body_a == k->second && c->body_b == k->owner)) &&
           acts(c);
}

/* Of the first body on the second. */
static double pair_force(const perpi_view* x, const perp_quantity* k, int i)
{
    double sum = 0.0;
    for (int32_t n = 0; n < x->contact_count; ++n) {
        const perp_contact* c = &x->contact[n];
        if (is_of_pair(c, k)) {
            sum += c->body_b == k->second ? impulse_along(c, i) : -impulse_along(c, i);
        }
    }
    return over_time(sum, x->contact_time);
}

/* component 0: sum of the normal forces; 1: sum of the sizes of the friction forces; 2: number. */
static double pair_sum(const perpi_view* x, const perp_quantity* k, int component)
{
    double sum = 0.0;
    for (int32_t n = 0; n < x->contact_count; ++n) {
        const perp_contact* c = &x->contact[n];
        if (is_of_pair(c, k)) {
            sum += component == 0   ? c->impulse[0]
                   : component == 1 ? hypot(c->impulse[1], c->impulse[2])
                                    : 1.0;
        }
    }
    return component == 2 ? sum : over_time(sum, x->contact_time);
}

static vec3 velocity_at(const perpi_view* x, int32_t body, vec3 point)
{
    const vec3 r = v3_sub(point, perpi_state_pose(x->model, x->q, body).x);
    return v3_add(perpi_state_velocity(x->model, x->v, body),
                  v3_cross(perpi_state_rate(x->model, x->v, body), r));
}

/* The largest speed with which the surfaces slide on each other at a contact that acts. */
static double pair_slip(const perpi_view* x, const perp_quantity* k, int i)
{
    (void)i;
    double largest = 0.0;
    for (int32_t n = 0; n < x->contact_count; ++n) {
        const perp_contact* c = &x->contact[n];
        if (!is_of_pair(c, k)) {
            continue;
        }
        const vec3 normal = v3_from(c->normal), t = v3_from(c->tangent);
        const vec3 a = v3_from(c->point), b = v3_madd(a, c->gap, normal);
        const vec3 u = v3_sub(velocity_at(x, c->body_b, b), velocity_at(x, c->body_a, a));
        const double along = v3_dot(u, t) + c->drift[1];
        const double across =
            x->model->dimension == 2 ? 0.0 : v3_dot(u, v3_cross(normal, t)) + c->drift[2];
        const double slip = hypot(along, across);
        largest = slip <= largest ? largest : slip; /* keeps a NaN */
    }
    return largest;
}

static double pair_distance(const perpi_view* x, const perp_quantity* k, int i)
{
    (void)i;
    perp_distance d;
    if (x->sim == NULL || perpi_sim_distance(x->sim, x->q, k->owner, k->second, &d) != PERP_OK) {
        return NAN;
    }
    return d.distance;
}

static double joint_coordinate(const perpi_view* x, const perp_quantity* k, int i)
{
    return x->joint[k->owner].coordinate[i];
}

static double joint_rate(const perpi_view* x, const perp_quantity* k, int i)
{
    const perpi_joint_view view =
        perpi_joint_evaluate(x->model, k->owner, x->q, x->joint[k->owner].turns);
    return perpi_joint_speed(x->model, k->owner, &view.coordinate[i], x->v);
}

static double joint_effort(const perpi_view* x, const perp_quantity* k, int i)
{
    (void)i;
    return perpi_joint_effort(&x->joint[k->owner], x->joint_time);
}

static double joint_error(const perpi_view* x, const perp_quantity* k, int i)
{
    return x->joint[k->owner].error[i];
}

static double controller(const perpi_view* x, const perp_quantity* k, int i)
{
    return i == 0
               ? over_time(perpi_controller_impulse(x->model, x->memory, k->owner), x->joint_time)
               : perpi_controller_integral(x->model, x->memory, k->owner);
}

static double energy(const perpi_view* x, const perp_quantity* k, int i)
{
    (void)k;
    const perp_energy e = x->energy != NULL ? *x->energy : perp_sim_energy(x->sim);
    return i == 0 ? e.kinetic : i == 1 ? e.potential : e.total;
}

static double ledger(const perpi_view* x, const perp_quantity* k, int i)
{
    (void)k;
    return perp_ledger_entry(x->ledger, i);
}

static double momentum(const perpi_view* x, const perp_quantity* k, int i)
{
    (void)k;
    double of[6];
    perpi_momentum_of(x->model, x->q, x->v, of, of + 3);
    return of[i];
}

static double certificate(const perpi_view* x, const perp_quantity* k, int i)
{
    (void)k;
    const perp_contact_residual* c = &x->info->certificate;
    return i == 0 ? c->dynamics : i == 1 ? c->normal : i == 2 ? c->friction : c->joints;
}

static double solver(const perpi_view* x, const perp_quantity* k, int i)
{
    (void)k;
    const perp_step_info* info = x->info;
    switch (i) {
    case 0: return info->report.iterations;
    case 1: return info->report.residual;
    case 2: return info->contacts;
    case 3: return info->penetration;
    default: return info->crossings;
    }
}

static double momentum_error(const perpi_view* x, const perp_quantity* k, int i)
{
    (void)k;
    return x->info->momentum_error[i];
}

static double largest_joint_error(const perpi_view* x, const perp_quantity* k, int i)
{
    (void)k;
    return x->info->joint_error[i];
}

/* ---- the table -------------------------------------------------------------------------------------*/

#define LEDGER(name, i)                                                                            \
    {                                                                                              \
        OF_SCENE, "ledger." name, PERP_QUANTITY_LEDGER, 0, false, ledger, i                        \
    }

static const entry table[] = {
    {OF_BODY, "position.x", PERP_QUANTITY_POSITION, 0, false, of_q, 0},
    {OF_BODY, "position.y", PERP_QUANTITY_POSITION, 0, false, of_q, 1},
    {OF_BODY, "position.z", PERP_QUANTITY_POSITION, 3, false, of_q, 2},
    {OF_BODY, "angle", PERP_QUANTITY_ANGLE, 2, false, of_q, 2},
    {OF_BODY, "orientation.w", PERP_QUANTITY_ORIENTATION, 3, false, of_q, 3},
    {OF_BODY, "orientation.x", PERP_QUANTITY_ORIENTATION, 3, false, of_q, 4},
    {OF_BODY, "orientation.y", PERP_QUANTITY_ORIENTATION, 3, false, of_q, 5},
    {OF_BODY, "orientation.z", PERP_QUANTITY_ORIENTATION, 3, false, of_q, 6},
    {OF_BODY, "velocity.x", PERP_QUANTITY_VELOCITY, 0, false, of_v, 0},
    {OF_BODY, "velocity.y", PERP_QUANTITY_VELOCITY, 0, false, of_v, 1},
    {OF_BODY, "velocity.z", PERP_QUANTITY_VELOCITY, 3, false, of_v, 2},
    {OF_BODY, "speed", PERP_QUANTITY_VELOCITY, 0, false, speed, 0},
    {OF_BODY, "angular_velocity", PERP_QUANTITY_SPIN, 2, false, of_v, 2},
    {OF_BODY, "angular_velocity.x", PERP_QUANTITY_SPIN, 3, false, of_v, 3},
    {OF_BODY, "angular_velocity.y", PERP_QUANTITY_SPIN, 3, false, of_v, 4},
    {OF_BODY, "angular_velocity.z", PERP_QUANTITY_SPIN, 3, false, of_v, 5},
    {OF_BODY, "force.x", PERP_QUANTITY_FORCE, 0, true, body_force, 0},
    {OF_BODY, "force.y", PERP_QUANTITY_FORCE, 0, true, body_force, 1},
    {OF_BODY, "force.z", PERP_QUANTITY_FORCE, 3, true, body_force, 2},
    {OF_JOINT, "coordinate.1", PERP_QUANTITY_COORDINATE, 0, false, joint_coordinate, 0},
    {OF_JOINT, "coordinate.2", PERP_QUANTITY_COORDINATE, 0, false, joint_coordinate, 1},
    {OF_JOINT, "coordinate.3", PERP_QUANTITY_COORDINATE, 0, false, joint_coordinate, 2},
    {OF_JOINT, "rate.1", PERP_QUANTITY_RATE, 0, false, joint_rate, 0},
    {OF_JOINT, "rate.2", PERP_QUANTITY_RATE, 0, false, joint_rate, 1},
    {OF_JOINT, "rate.3", PERP_QUANTITY_RATE, 0, false, joint_rate, 2},
    {OF_JOINT, "effort", PERP_QUANTITY_EFFORT, 0, true, joint_effort, 0},
    {OF_JOINT, "error.length", PERP_QUANTITY_JOINT_ERROR, 0, false, joint_error, 0},
    {OF_JOINT, "error.angle", PERP_QUANTITY_JOINT_ERROR, 0, false, joint_error, 1},
    {OF_CONTROLLER, "effort", PERP_QUANTITY_EFFORT, 0, true, controller, 0},
    {OF_CONTROLLER, "integral", PERP_QUANTITY_INTEGRAL, 0, false, controller, 1},
    {OF_CONTACT, "force.x", PERP_QUANTITY_FORCE, 0, true, pair_force, 0},
    {OF_CONTACT, "force.y", PERP_QUANTITY_FORCE, 0, true, pair_force, 1},
    {OF_CONTACT, "force.z", PERP_QUANTITY_FORCE, 3, true, pair_force, 2},
    {OF_CONTACT, "normal", PERP_QUANTITY_FORCE, 0, true, pair_sum, 0},
    {OF_CONTACT, "friction", PERP_QUANTITY_FORCE, 0, true, pair_sum, 1},
    {OF_CONTACT, "count", PERP_QUANTITY_CONTACTS, 0, true, pair_sum, 2},
    {OF_CONTACT, "slip", PERP_QUANTITY_SLIP, 0, true, pair_slip, 0},
    {OF_DISTANCE, "", PERP_QUANTITY_DISTANCE, 0, false, pair_distance, 0},
    {OF_SCENE, "energy.kinetic", PERP_QUANTITY_ENERGY, 0, false, energy, 0},
    {OF_SCENE, "energy.potential", PERP_QUANTITY_ENERGY, 0, false, energy, 1},
    {OF_SCENE, "energy.total", PERP_QUANTITY_ENERGY, 0, false, energy, 2},
    LEDGER("change", 0),
    LEDGER("forces", 1),
    LEDGER("drag", 2),
    LEDGER("springs", 3),
    LEDGER("motors", 4),
    LEDGER("prescribed", 5),
    LEDGER("friction", 6),
    LEDGER("impacts", 7),
    LEDGER("joints", 8),
    LEDGER("scheme.gap", 9),
    LEDGER("scheme.joints", 10),
    LEDGER("scheme.gyroscopic", 11),
    LEDGER("scheme.springs", 12),
    LEDGER("scheme.step_loss", 13),
    LEDGER("scheme.projection", 14),
    LEDGER("scheme.extrapolation", 15),
    LEDGER("unexplained", 16),
    {OF_SCENE, "momentum.x", PERP_QUANTITY_MOMENTUM, 0, false, momentum, 0},
    {OF_SCENE, "momentum.y", PERP_QUANTITY_MOMENTUM, 0, false, momentum, 1},
    {OF_SCENE, "momentum.z", PERP_QUANTITY_MOMENTUM, 3, false, momentum, 2},
    {OF_SCENE, "angular", PERP_QUANTITY_ANGULAR_MOMENTUM, 2, false, momentum, 5},
    {OF_SCENE, "angular.x", PERP_QUANTITY_ANGULAR_MOMENTUM, 3, false, momentum, 3},
    {OF_SCENE, "angular.y", PERP_QUANTITY_ANGULAR_MOMENTUM, 3, false, momentum, 4},
    {OF_SCENE, "angular.z", PERP_QUANTITY_ANGULAR_MOMENTUM, 3, false, momentum, 5},
    {OF_SCENE, "certificate.dynamics", PERP_QUANTITY_CERTIFICATE, 0, true, certificate, 0},
    {OF_SCENE, "certificate.normal", PERP_QUANTITY_CERTIFICATE, 0, true, certificate, 1},
    {OF_SCENE, "certificate.friction", PERP_QUANTITY_CERTIFICATE, 0, true, certificate, 2},
    {OF_SCENE, "certificate.joints", PERP_QUANTITY_CERTIFICATE, 0, true, certificate, 3},
    {OF_SCENE, "solver.iterations", PERP_QUANTITY_ITERATIONS, 0, true, solver, 0},
    {OF_SCENE, "solver.residual", PERP_QUANTITY_RESIDUAL, 0, true, solver, 1},
    {OF_SCENE, "solver.contacts", PERP_QUANTITY_CONTACTS, 0, true, solver, 2},
    {OF_SCENE, "solver.penetration", PERP_QUANTITY_PENETRATION, 0, true, solver, 3},
    {OF_SCENE, "solver.crossings", PERP_QUANTITY_CROSSINGS, 0, true, solver, 4},
    {OF_SCENE, "momentum_error.linear", PERP_QUANTITY_MOMENTUM_ERROR, 0, true, momentum_error, 0},
    {OF_SCENE, "momentum_error.angular", PERP_QUANTITY_MOMENTUM_ERROR, 0, true, momentum_error, 1},
    {OF_SCENE, "joint_error.length", PERP_QUANTITY_JOINT_ERROR, 0, false, largest_joint_error, 0},
    {OF_SCENE, "joint_error.angle", PERP_QUANTITY_JOINT_ERROR, 0, false, largest_joint_error, 1},
};
enum { ENTRY_COUNT = sizeof table / sizeof table[0] };

double perpi_quantity_value(const perpi_view* view, const perp_quantity* quantity)
{
    const entry* e = &table[quantity->entry];
    return e->value(view, quantity, e->component);
}

perpi_view perpi_view_of_sim(perp_sim* sim, const perp_ledger* sum)
{
    const perpi_state* s = &sim->state;
    const double time = perpi_sim_impulse_time(sim);
    return (perpi_view){.model = sim->model,
                        .sim = sim,
                        .q = s->q,
                        .v = s->v,
                        .memory = s->memory,
                        .contact = s->contacts.item,
                        .contact_count = (int32_t)s->contacts.count,
                        .joint = s->joint,
                        .info = sim->info,
                        .ledger = sum,
                        .contact_time = time,
                        .joint_time = time};
}

double perp_sim_quantity(perp_sim* sim, const perp_quantity* quantity)
{
    const perpi_view view = perpi_view_of_sim(sim, &sim->ledger_total);
    return perpi_quantity_value(&view, quantity);
}

/* ---- names -----------------------------------------------------------------------------------------*/

/* The type of a joint determines its number of coordinates, and whether it has an effort. */
static bool exists(const perp_model* model, const entry* e, int32_t owner)
{
    if (e->dimension != 0 && e->dimension != model->dimension) {
        return false;
    }
    if (e->owner != OF_JOINT) {
        return true;
    }
    const perpi_joint* joint = &model->joint[owner];
    const bool counted = e->kind == PERP_QUANTITY_COORDINATE || e->kind == PERP_QUANTITY_RATE;
    return counted ? e->component < joint->coordinates
                   : e->kind != PERP_QUANTITY_EFFORT || perpi_joint_one_degree(joint->type);
}

/* Whether a coordinate of a joint is an angle. */
static bool turns_about(const perpi_joint* joint, int32_t coordinate)
{
    switch (joint->type) {
    case PERP_JOINT_REVOLUTE:
    case PERP_JOINT_UNIVERSAL: return true;
    case PERP_JOINT_CYLINDRICAL: return coordinate == 1;
    case PERP_JOINT_PLANAR: return coordinate == 2;
    default: return false;
    }
}

/* Of joints and controllers: whether the quantity belongs to a rotation. */
static bool turns_of(const perp_model* model, const entry* e, int32_t owner)
{
    if (e->kind == PERP_QUANTITY_JOINT_ERROR) {
        return e->component == 1;
    }
    const int32_t joint = e->owner == OF_JOINT        ? owner
                          : e->owner == OF_CONTROLLER ? model->controller[owner].joint
                                                      : -1;
    return joint >= 0 && turns_about(&model->joint[joint], e->owner == OF_JOINT ? e->component : 0);
}

/* `position` names all of position.x, position.y, ...; NULL all there are. */
static bool matches(const entry* e, const char* name)
{
    const size_t length = name != NULL ? strlen(name) : 0;
    if (name == NULL) {
        return true;
    }
    return strcmp(e->name, name) == 0 ||
           (length > 0 && strncmp(e->name, name, length) == 0 && e->name[length] == '.');
}

typedef struct search {
    const perp_model* model;
    perp_quantity* found;
    int32_t room, count;
} search;

static bool add_matches(search* s, owner_kind kind, const char* name, int32_t owner, int32_t second)
{
    const int32_t before = s->count;
    for (int32_t i = 0; i < ENTRY_COUNT; ++i) {
        const entry* e = &table[i];
        if (e->owner != kind || !matches(e, name) || !exists(s->model, e, owner)) {
            continue;
        }
        if (s->count < s->room) {
            s->found[s->count] = (perp_quantity){.kind = e->kind,
                                                 .of_step = e->of_step,
                                                 .turns = turns_of(s->model, e, owner),
                                                 .entry = i,
                                                 .owner = owner,
                                                 .second = second};
        }
        s->count += 1;
    }
    return s->count > before;
}

typedef const char* (*namer)(const perp_model* model, int32_t index);

/* The owner called by the first `length` characters, of any length; -1: none. */
static int32_t owner_of(const search* s, owner_kind kind, const char* name, size_t length)
{
    const namer name_of = kind == OF_JOINT        ? perp_model_joint_name
                          : kind == OF_CONTROLLER ? perp_model_controller_name
                                                  : perp_model_body_name;
    const int32_t count = kind == OF_JOINT        ? perp_model_joint_count(s->model)
                          : kind == OF_CONTROLLER ? perp_model_controller_count(s->model)
                                                  : perp_model_body_count(s->model);
    for (int32_t i = 0; i < count; ++i) {
        const char* own = name_of(s->model, i);
        size_t k = 0;
        while (k < length && own[k] != '\0' &&
               own[k] == (char)(name[k] == PERPI_NAME_DOT ? '.' : name[k])) {
            ++k;
        }
        if (k == length && own[k] == '\0' && length > 0) {
            return i;
        }
    }
    return -1;
}

/* The name of an owner may have dots: it may end at any of them. */
static bool add_of_owner(search* s, owner_kind kind, const char* name)
{
    for (const char* dot = strchr(name, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        const int32_t owner = owner_of(s, kind, name, (size_t)(dot - name));
        if (owner >= 0 && add_matches(s, kind, dot + 1, owner, -1)) {
            return true;
        }
    }
    return false;
}

/* "A.B" and, of a contact, ".name". */
static bool add_of_pair(search* s, owner_kind kind, const char* name)
{
    for (const char* dot = strchr(name, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        const int32_t a = owner_of(s, OF_BODY, name, (size_t)(dot - name));
        const char* rest = dot + 1;
        if (a < 0) {
            continue;
        }
        if (kind == OF_DISTANCE) {
            const int32_t b = owner_of(s, OF_BODY, rest, strlen(rest));
            if (b >= 0 && b != a && add_matches(s, kind, "", a, b)) {
                return true;
            }
            continue;
        }
        const int32_t whole = owner_of(s, OF_BODY, rest, strlen(rest));
        if (whole >= 0 && whole != a && add_matches(s, kind, NULL, a, whole)) {
            return true;
        }
        for (const char* end = strchr(rest, '.'); end != NULL; end = strchr(end + 1, '.')) {
            const int32_t b = owner_of(s, OF_BODY, rest, (size_t)(end - rest));
            if (b >= 0 && b != a && add_matches(s, kind, end + 1, a, b)) {
                return true;
            }
        }
    }
    return false;
}

static const char* after(const char* name, const char* prefix)
{
    const size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}

static const char controllers[] = "controller.", contacts[] = "contact.", distances[] = "distance.";

void perpi_quantity_match(const perp_model* model, const char* name, perp_quantity* found,
                          int32_t room, int32_t* count)
{
    search s = {.model = model, .found = found, .room = room};
    const char* controller_rest = after(name, controllers);
    const char* contact_rest = after(name, contacts);
    const char* distance_rest = after(name, distances);
    (void)(add_of_owner(&s, OF_BODY, name) || add_of_owner(&s, OF_JOINT, name) ||
           (controller_rest != NULL && add_of_owner(&s, OF_CONTROLLER, controller_rest)) ||
           (contact_rest != NULL && add_of_pair(&s, OF_CONTACT, contact_rest)) ||
           (distance_rest != NULL && add_of_pair(&s, OF_DISTANCE, distance_rest)) ||
           add_matches(&s, OF_SCENE, name, -1, -1));
    *count = s.count;
}

/* Parts in brackets without these; their dots do not separate. False: too long. */
static bool normalise(const char* name, char text[NAME_SIZE])
{
    size_t n = 0;
    const char* begin = name; /* of a part */
    for (const char* c = name; *c != '\0'; ++c) {
        const char* close = c == begin && *c == '[' ? strchr(c, ']') : NULL;
        if (close != NULL && close[1] != '.' && close[1] != '\0') {
            close = NULL;
        }
        for (const char* k = c + 1; close != NULL && k < close; ++k) {
            if (n + 1 < NAME_SIZE) {
                text[n++] = (char)(*k == '.' ? PERPI_NAME_DOT : *k);
            }
        }
        if (close != NULL) {
            c = close;
            continue;
        }
        if (n + 1 >= NAME_SIZE) {
            return false;
        }
        text[n++] = *c;
        begin = *c == '.' ? c + 1 : begin;
    }
    text[n] = '\0';
    return true;
}

perp_status perp_quantity_find(perp_context* context, const perp_model* model, const char* name,
                               perp_quantity* found, int32_t room, int32_t* count)
{
    char text[NAME_SIZE] = "";
    int32_t n = 0;
    if (normalise(name, text)) {
        perpi_quantity_match(model, text, found, room, &n);
    }
    if (n == 0) { /* a name that has brackets of its own */
        perpi_quantity_match(model, name, found, room, &n);
    }
    if (n > 0) {
        *count = n;
        return PERP_OK;
    }
    char nearest[NAME_SIZE];
    perpi_quantity_nearest(model, text, nearest, sizeof nearest);
    return nearest[0] != '\0'
               ? perpi_fail(context, PERP_ERROR_INPUT,
                            "no quantity '%.200s': did you mean '%.200s'?", name, nearest)
               : perpi_fail(
                     context, PERP_ERROR_INPUT,
                     "no quantity '%.200s': expected BODY.position.x, energy.total, ...; see "
                     "'perp help plot' and 'perp list quantities SCENE'",
                     name);
}

/* The place of `index` among the quantities of owners 0 .. count-1. */
static bool list_owned(const perp_model* model, owner_kind kind, size_t count, int32_t* index,
                       perp_quantity* quantity)
{
    int32_t each = 0; /* all bodies have the same: they need not be counted one by one */
    for (int32_t i = 0; kind == OF_BODY && i < ENTRY_COUNT; ++i) {
        each += table[i].owner == kind && exists(model, &table[i], 0);
    }
    size_t owner = 0;
    if (each > 0) {
        owner = (size_t)(*index / each) < count ? (size_t)(*index / each) : count;
        *index -= (int32_t)owner * each;
    }
    for (; owner < count; ++owner) {
        for (int32_t i = 0; i < ENTRY_COUNT; ++i) {
            const entry* e = &table[i];
            if (e->owner != kind || !exists(model, e, (int32_t)owner)) {
                continue;
            }
            if (*index == 0) {
                *quantity = (perp_quantity){.kind = e->kind,
                                            .of_step = e->of_step,
                                            .turns = turns_of(model, e, (int32_t)owner),
                                            .entry = i,
                                            .owner = kind == OF_SCENE ? -1 : (int32_t)owner,
                                            .second = -1};
                return true;
            }
            *index -= 1;
        }
    }
    return false;
}

bool perp_quantity_list(const perp_model* model, int32_t index, perp_quantity* quantity)
{
    return index >= 0 &&
           (list_owned(model, OF_BODY, model->body_count, &index, quantity) ||
            list_owned(model, OF_JOINT, model->joint_count, &index, quantity) ||
            list_owned(model, OF_CONTROLLER, model->controller_count, &index, quantity) ||
            list_owned(model, OF_SCENE, 1, &index, quantity));
}

/* Whether the parts of an owner's name are identifiers or numbers, so that it needs no brackets. */
static bool is_plain(const char* name)
{
    bool plain = name[0] != '\0' && !(name[0] >= '0' && name[0] <= '9');
    for (const char* c = name; plain && *c != '\0'; ++c) {
        const char one[2] = {*c == '.' ? '_' : *c, '\0'};
        plain = perpi_expr_is_identifier(one) || (*c >= '0' && *c <= '9');
        plain = plain && !(*c == '.' && (c == name || c[1] == '.' || c[1] == '\0'));
    }
    return plain;
}

/* Appends as far as there is room; returns the length that the whole has. */
static size_t append(char* text, size_t size, size_t at, const char* piece)
{
    const size_t length = strlen(piece);
    if (at < size) {
        (void)snprintf(text + at, size - at, "%s", piece);
    }
    return at + length;
}

static size_t append_owner(char* text, size_t size, size_t at, const char* name)
{
    const bool plain = is_plain(name);
    at = append(text, size, at, plain ? "" : "[");
    at = append(text, size, at, name);
    return append(text, size, at, plain ? "" : "]");
}

size_t perp_quantity_name(const perp_model* model, const perp_quantity* quantity, char* text,
                          size_t size)
{
    const entry* e = &table[quantity->entry];
    const char* prefix = e->owner == OF_CONTROLLER ? controllers
                         : e->owner == OF_CONTACT  ? contacts
                         : e->owner == OF_DISTANCE ? distances
                                                   : "";
    size_t at = append(text, size, 0, prefix);
    if (e->owner != OF_SCENE) {
        at = append_owner(text, size, at,
                          e->owner == OF_JOINT        ? model->joint[quantity->owner].name
                          : e->owner == OF_CONTROLLER ? model->controller[quantity->owner].name
                                                      : model->body[quantity->owner].name);
    }
    if (quantity->second >= 0) {
        at = append(text, size, at, ".");
        at = append_owner(text, size, at, model->body[quantity->second].name);
    }
    at = append(text, size, at, e->owner != OF_SCENE && e->name[0] != '\0' ? "." : "");
    return append(text, size, at, e->name);
}

/* Of pairs of bodies, which perp_quantity_list leaves out: they are many, so that large scenes have
 * no suggestion. */
static void nearest_of_pairs(const perp_model* model, const char* name, char* best)
{
    enum { PAIR_BODIES = 60 };
    const int32_t bodies = model->body_count <= PAIR_BODIES ? (int32_t)model->body_count : 0;
    for (int32_t k = 0; k < ENTRY_COUNT * bodies * bodies; ++k) {
        const perp_quantity quantity = {
            .entry = k / (bodies * bodies), .owner = k / bodies % bodies, .second = k % bodies};
        const owner_kind kind = table[quantity.entry].owner;
        if ((kind != OF_CONTACT && kind != OF_DISTANCE) || quantity.owner == quantity.second) {
            continue;
        }
        char other[NAME_SIZE];
        const size_t n = perp_quantity_name(model, &quantity, other, sizeof other);
        const char* const both[] = {best[0] != '\0' ? best : other, other, NULL};
        if (n < 64 && perpi_nearest(name, both) == other) {
            memcpy(best, other, n + 1);
        }
    }
}

void perpi_quantity_nearest(const perp_model* model, const char* name, char* text, size_t size)
{
    char best[NAME_SIZE] = "", other[NAME_SIZE];
    perp_quantity quantity;
    for (int32_t i = 0; perp_quantity_list(model, i, &quantity); ++i) {
        const size_t n = perp_quantity_name(model, &quantity, other, sizeof other);
        const char* const both[] = {best[0] != '\0' ? best : other, other, NULL};
        const char* nearest = n < 64 ? perpi_nearest(name, both) : NULL;
        if (nearest == other) {
            memcpy(best, other, n + 1);
        }
        char* dot = quantity.owner < 0 ? strchr(other, '.') : NULL;
        if (dot != NULL) { /* "energy" stands for all of it */
            *dot = '\0';
            if (perpi_nearest(name, both) == other) {
                memcpy(best, other, (size_t)(dot - other) + 1);
            }
        }
    }
    if (strncmp(name, contacts, 4) == 0 || strncmp(name, distances, 4) == 0) {
        nearest_of_pairs(model, name, best);
    }
    (void)snprintf(text, size, "%s", best);
}
