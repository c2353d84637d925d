/* src/sim/robot.c - see perp/robot.h.
 *
 * Notation   motions and forces at the world's origin: (w, v), v the velocity of the point of the body that is
 *            there, and (moment about the origin, force). S: the motion that a unit rate gives.
 * Source     Featherstone, Rigid Body Dynamics Algorithms: 5.3 (Newton-Euler), 6.2 (composite bodies)
 */
#include "perp/robot.h"

#include <string.h>

#include "sim/internal.h"
#include "step/joint_rows.h"

typedef struct motion {
    vec3 w, v;
} motion;

/* Mass, first and second moments about the world's origin. */
typedef struct inertia {
    double m;
    vec3 mc;
    mat3 I;
} inertia;

typedef struct link {
    int32_t parent; /* link; -1: the ground */
    int32_t joint;  /* -1: none, free */
    double sign;    /* +1: the link is b of the joint */
    int32_t dof, dofs;
    /* scratch */
    inertia composite;
    motion velocity, acceleration;
    vec3 moment, force; /* about the origin */
} link;

struct perp_robot {
    perp_context* context;
    const perp_sim* sim;
    int32_t link_count, dof_count;
    link* link;       /* parents before their children */
    int32_t* link_of; /* per body; -1: the ground */
    int32_t* body_of; /* per link */
    int32_t* dof_of;  /* per joint; -1: none */
    perp_robot_dof* dof;
    motion *S, *S_rate; /* per dof: of the present state */
    double* rate;
};

/* ---- the tree -----------------------------------------------------------------------------------*/

static bool is_ground(const perp_model* model, int32_t body)
{
    return body < 0 || model->body[body].dofs == 0;
}

static int32_t joint_dofs(perp_joint_type type)
{
    return type == PERP_JOINT_FIXED       ? 0
           : type == PERP_JOINT_SPHERICAL ? 3
           : perpi_joint_one_degree(type) ? 1
                                          : -1;
}

/* Which joints are of the tree: in order, those that connect two components. up: body_count + 1 numbers. */
static perp_status choose_joints(perp_robot* r, int32_t* up, bool* taken)
{
    const perp_model* model = r->sim->model;
    const int32_t n = (int32_t)model->body_count;
    for (int32_t i = 0; i <= n; ++i) {
        up[i] = i < n && is_ground(model, i) ? n : i;
    }
    for (int32_t k = 0; k < (int32_t)model->joint_count; ++k) {
        const perpi_joint* joint = &model->joint[k];
        taken[k] = false;
        if (joint->type == PERP_JOINT_GEAR || joint->type == PERP_JOINT_ROPE) {
            continue;
        }
        const int32_t a = perpi_component(up, joint->body[0] < 0 ? n : joint->body[0]),
                      b = perpi_component(up, joint->body[1] < 0 ? n : joint->body[1]);
        if (a == b) {
            continue;
        }
        if (joint_dofs(joint->type) < 0) {
            return perpi_fail(r->context, PERP_ERROR_INPUT,
                              "robot: joint '%s' is %s: only fixed, revolute, prismatic and "
                              "spherical joints are supported",
                              joint->name, perp_joint_type_name(joint->type));
        }
        taken[k] = true;
        up[a == n ? b : a] = a == n ? n : b;
    }
    return PERP_OK;
}

static void add_link(perp_robot* r, int32_t body, int32_t parent, int32_t joint, double sign)
{
    const perp_model* model = r->sim->model;
    const int32_t index = r->link_count++;
    const int32_t dofs = joint >= 0                   ? joint_dofs(model->joint[joint].type)
                         : model->body[body].particle ? 3
                                                      : 6;
    r->link[index] =
        (link){.parent = parent, .joint = joint, .sign = sign, .dof = r->dof_count, .dofs = dofs};
    r->link_of[body] = index;
    r->body_of[index] = body;
    if (joint >= 0 && dofs > 0) {
        r->dof_of[joint] = r->dof_count;
    }
    for (int32_t i = 0; i < dofs; ++i) {
        r->dof[r->dof_count++] = (perp_robot_dof){joint, body, i};
    }
}

/* Appends the links that a link (or the ground: -1) holds through joints of the tree. */
static void grow(perp_robot* r, int32_t parent, const bool* taken)
{
    const perp_model* model = r->sim->model;
    for (int32_t k = 0; k < (int32_t)model->joint_count; ++k) {
        for (int side = 0; side < 2 && taken[k]; ++side) {
            const int32_t from = model->joint[k].body[side], to = model->joint[k].body[1 - side];
            const bool here = parent < 0 ? is_ground(model, from) : from == r->body_of[parent];
            if (here && !is_ground(model, to) && r->link_of[to] < 0) {
                add_link(r, to, parent, k, side == 0 ? 1.0 : -1.0);
            }
        }
    }
}

static perp_status build_tree(perp_robot* r)
{
    const perp_model* model = r->sim->model;
    const int32_t n = (int32_t)model->body_count;
    int32_t* up = NULL;
    bool* taken = NULL;
    perp_status status = perpi_alloc(r->context, (size_t)n + 1, sizeof *up, &up);
    if (status == PERP_OK) {
        status = perpi_alloc(r->context, model->joint_count + 1, sizeof *taken, &taken);
    }
    if (status == PERP_OK) {
        status = choose_joints(r, up, taken);
    }
    if (status == PERP_OK) {
        int32_t done = 0;
        grow(r, -1, taken);
        for (int32_t i = 0; i <= n; ++i) { /* breadth first; then a free root, and so on */
            for (; done < r->link_count; ++done) {
                grow(r, done, taken);
            }
            if (i < n && !is_ground(model, i) && r->link_of[i] < 0) {
                add_link(r, i, -1, -1, 1.0);
            }
        }
    }
    perpi_free(r->context, up);
    perpi_free(r->context, taken);
    return status;
}

perp_status perp_robot_create(perp_context* context, const perp_sim* sim, perp_robot** robot)
{
    const perp_model* model = sim->model;
    const size_t n = model->body_count + 1, joints = model->joint_count + 1;
    if (model->dimension != 3) {
        return perpi_fail(context, PERP_ERROR_INPUT, "robot: the model is planar");
    }
    perp_robot* r = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *r, &r);
    if (status != PERP_OK) {
        return status;
    }
    *r = (perp_robot){.context = context, .sim = sim};
    const struct {
        void* to;
        size_t count, size;
    } need[] = {{&r->link, n, sizeof *r->link},         {&r->link_of, n, sizeof *r->link_of},
                {&r->body_of, n, sizeof *r->body_of},   {&r->dof_of, joints, sizeof *r->dof_of},
                {&r->dof, 6 * n, sizeof *r->dof},       {&r->S, 6 * n, sizeof *r->S},
                {&r->S_rate, 6 * n, sizeof *r->S_rate}, {&r->rate, 6 * n, sizeof *r->rate}};
    for (size_t i = 0; i < sizeof need / sizeof need[0] && status == PERP_OK; ++i) {
        status = perpi_alloc(context, need[i].count, need[i].size, need[i].to);
    }
    for (size_t i = 0; status == PERP_OK && i < n; ++i) {
        r->link_of[i] = -1;
    }
    for (size_t i = 0; status == PERP_OK && i < joints; ++i) {
        r->dof_of[i] = -1;
    }
    if (status == PERP_OK) {
        status = build_tree(r);
    }
    if (status != PERP_OK) {
        perp_robot_destroy(r);
        return status;
    }
    *robot = r;
    return PERP_OK;
}

void perp_robot_destroy(perp_robot* r)
{
    if (r == NULL) {
        return;
    }
    void* const owned[] = {r->link, r->link_of, r->body_of, r->dof_of,
                           r->dof,  r->S,       r->S_rate,  r->rate};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; ++i) {
        perpi_free(r->context, owned[i]);
    }
    perpi_free(r->context, r);
}

int32_t perp_robot_dof_count(const perp_robot* robot)
{
    return robot->dof_count;
}

perp_robot_dof perp_robot_dof_info(const perp_robot* robot, int32_t dof)
{
    return robot->dof[dof];
}

int32_t perp_robot_joint_dof(const perp_robot* robot, int32_t joint)
{
    return robot->dof_of[joint];
}

/* ---- motions ------------------------------------------------------------------------------------*/

/* Of a unit turn about an axis through a point, and of a unit travel. */
static motion turn_about(vec3 axis, vec3 at)
{
    return (motion){axis, v3_cross(at, axis)};
}

static motion travel(vec3 axis)
{
    return (motion){v3(0, 0, 0), axis};
}

static motion m_add(motion a, double s, motion b)
{
    return (motion){v3_madd(a.w, s, b.w), v3_madd(a.v, s, b.v)};
}

static vec3 velocity_at(motion m, vec3 point)
{
    return v3_add(m.v, v3_cross(m.w, point));
}

/* The motions of all coordinates at the poses of the state. */
static void find_motions(perp_robot* r)
{
    static const vec3 e[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const perp_model* model = r->sim->model;
    const double* q = r->sim->state.q;
    for (int32_t i = 0; i < r->link_count; ++i) {
        const link* l = &r->link[i];
        motion* S = &r->S[l->dof];
        if (l->joint < 0) {
            const vec3 c = perpi_state_pose(model, q, r->body_of[i]).x;
            for (int k = 0; k < l->dofs; ++k) {
                S[k] = k < 3 ? travel(e[k]) : turn_about(e[k - 3], c);
            }
            continue;
        }
        const perpi_joint* joint = &model->joint[l->joint];
        vec3 at, axis;
        perpi_joint_line(model, q, joint, &at, &axis);
        for (int k = 0; k < l->dofs; ++k) {
            const vec3 along = v3_scale(l->sign, joint->type == PERP_JOINT_SPHERICAL ? e[k] : axis);
            S[k] = joint->type == PERP_JOINT_PRISMATIC ? travel(along) : turn_about(along, at);
        }
    }
}

void perp_robot_rates(perp_robot* r, double* rate)
{
    const perp_model* model = r->sim->model;
    const double *q = r->sim->state.q, *v = r->sim->state.v;
    for (int32_t i = 0; i < r->link_count; ++i) {
        const link* l = &r->link[i];
        double* u = rate + l->dof;
        const int32_t body = r->body_of[i];
        if (l->joint < 0) {
            v3_to(perpi_state_velocity(model, v, body), u);
            if (l->dofs == 6) {
                v3_to(perpi_state_rate(model, v, body), u + 3);
            }
        } else if (l->dofs == 1) {
            u[0] = perpi_joint_rate(model, l->joint, q, v);
        } else if (l->dofs == 3) {
            const int32_t* side = model->joint[l->joint].body;
            const vec3 w[2] = {side[0] >= 0 ? perpi_state_rate(model, v, side[0]) : v3(0, 0, 0),
                               side[1] >= 0 ? perpi_state_rate(model, v, side[1]) : v3(0, 0, 0)};
            v3_to(v3_sub(w[1], w[0]), u);
        }
    }
}

/* ---- mass matrix and Jacobian -------------------------------------------------------------------*/

static mat3 outer_inertia(double m, vec3 c)
{
    const double x[3] = {c.x, c.y, c.z}, cc = v3_dot(c, c);
    mat3 A;
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 3; ++k) {
            A.m[i][k] = m * ((i == k ? cc : 0.0) - x[i] * x[k]);
        }
    }
    return A;
}

static void add_inertia(inertia* to, const inertia* from)
{
    to->m += from->m;
    to->mc = v3_add(to->mc, from->mc);
    for (int i = 0; i < 9; ++i) {
        to->I.m[i / 3][i % 3] += from->I.m[i / 3][i % 3];
    }
}

static inertia body_inertia(const perp_model* model, const double* q, int32_t body)
{
    const perpi_body* b = &model->body[body];
    const perpi_pose pose = perpi_state_pose(model, q, body);
    inertia made = {b->mass, v3_scale(b->mass, pose.x), outer_inertia(b->mass, pose.x)};
    if (!b->particle) {
        const inertia own = {.I = perpi_world_inertia(b, &pose)};
        add_inertia(&made, &own);
    }
    return made;
}

/* S . (inertia * T): (I w + mc x v) . w_S + (m v - mc x w) . v_S */
static double momentum_along(const inertia* I, motion T, motion S)
{
    const vec3 turn = v3_add(m3_mul(I->I, T.w), v3_cross(I->mc, T.v));
    const vec3 push = v3_sub(v3_scale(I->m, T.v), v3_cross(I->mc, T.w));
    return v3_dot(turn, S.w) + v3_dot(push, S.v);
}

void perp_robot_mass_matrix(perp_robot* r, double* M)
{
    const perp_model* model = r->sim->model;
    const size_t n = (size_t)r->dof_count;
    memset(M, 0, n * n * sizeof *M);
    find_motions(r);
    for (int32_t i = 0; i < r->link_count; ++i) {
        r->link[i].composite = body_inertia(model, r->sim->state.q, r->body_of[i]);
    }
    for (int32_t i = r->link_count - 1; i >= 0; --i) {
        const link* l = &r->link[i];
        for (int32_t a = l->dof; a < l->dof + l->dofs; ++a) {
            for (int32_t up = i; up >= 0; up = r->link[up].parent) {
                const link* k = &r->link[up];
                for (int32_t b = k->dof; b < k->dof + k->dofs; ++b) {
                    const double entry = momentum_along(&l->composite, r->S[a], r->S[b]);
                    M[(size_t)a * n + (size_t)b] = M[(size_t)b * n + (size_t)a] = entry;
                }
            }
        }
        if (l->joint >= 0 && l->dofs == 1) {
            M[(size_t)l->dof * n + (size_t)l->dof] += model->joint[l->joint].armature;
        }
        if (l->parent >= 0) {
            add_inertia(&r->link[l->parent].composite, &l->composite);
        }
    }
}

void perp_robot_jacobian(perp_robot* r, int32_t body, const double point[3], double* J)
{
    const size_t n = (size_t)r->dof_count;
    memset(J, 0, 6 * n * sizeof *J);
    find_motions(r);
    for (int32_t i = r->link_of[body]; i >= 0; i = r->link[i].parent) {
        const link* l = &r->link[i];
        for (int32_t a = l->dof; a < l->dof + l->dofs; ++a) {
            const vec3 v = velocity_at(r->S[a], v3_from(point));
            for (int k = 0; k < 3; ++k) {
                J[(size_t)k * n + (size_t)a] = v3_get(v, k);
                J[(size_t)(k + 3) * n + (size_t)a] = v3_get(r->S[a].w, k);
            }
        }
    }
}

double perp_robot_center(perp_robot* r, double center[3])
{
    double m = 0.0;
    vec3 sum = v3(0, 0, 0);
    for (int32_t i = 0; i < r->link_count; ++i) {
        const double own = r->sim->model->body[r->body_of[i]].mass;
        m += own;
        sum = v3_madd(sum, own, perpi_state_pose(r->sim->model, r->sim->state.q, r->body_of[i]).x);
    }
    v3_to(m > 0.0 ? v3_scale(1.0 / m, sum) : sum, center);
    return m;
}

/* ---- inverse dynamics ---------------------------------------------------------------------------*/

/* How the motions of a link's coordinates change: a joint's axis and point move with its a, directions that are
 * world axes stay, the point about which a body turns moves with it. */
static void find_motion_rates(perp_robot* r, int32_t i, motion parent)
{
    const perp_model* model = r->sim->model;
    const link* l = &r->link[i];
    for (int32_t k = 0; k < l->dofs; ++k) {
        const motion S = r->S[l->dof + k];
        motion* rate = &r->S_rate[l->dof + k];
        if (l->joint >= 0 && l->dofs == 1) { /* along its own axis both links move it alike */
            rate->w = v3_cross(parent.w, S.w);
            rate->v = v3_add(v3_cross(parent.w, S.v), v3_cross(parent.v, S.w));
            continue;
        }
        const vec3 c =
            l->joint < 0 ? perpi_state_pose(model, r->sim->state.q, r->body_of[i]).x : v3(0, 0, 0);
        vec3 moved = velocity_at(l->velocity, c);
        if (l->joint >= 0) {
            vec3 at, axis;
            perpi_joint_line(model, r->sim->state.q, &model->joint[l->joint], &at, &axis);
            moved = velocity_at(parent, at);
        }
        *rate = (motion){v3(0, 0, 0), v3_cross(moved, S.w)};
    }
}

/* The force that a link's motion requires, about the origin. */
static void find_force(perp_robot* r, int32_t i)
{
    const perp_model* model = r->sim->model;
    link* l = &r->link[i];
    const perpi_body* body = &model->body[r->body_of[i]];
    const perpi_pose pose = perpi_state_pose(model, r->sim->state.q, r->body_of[i]);
    const vec3 w = l->velocity.w, turn = l->acceleration.w;
    vec3 a =
        v3_add(velocity_at(l->acceleration, pose.x), v3_cross(w, velocity_at(l->velocity, pose.x)));
    a = v3_sub(a, body->gravity);
    l->force = v3_scale(body->mass, a);
    l->moment = v3_cross(pose.x, l->force);
    if (!body->particle) {
        const mat3 I = perpi_world_inertia(body, &pose);
        l->moment = v3_add(l->moment, v3_add(m3_mul(I, turn), v3_cross(w, m3_mul(I, w))));
    }
}

static void newton_euler(perp_robot* r, const double* rate, const double* acceleration,
                         double* effort)
{
    const perp_model* model = r->sim->model;
    find_motions(r);
    for (int32_t i = 0; i < r->link_count; ++i) {
        link* l = &r->link[i];
        motion velocity = {v3(0, 0, 0), v3(0, 0, 0)}, change = velocity;
        if (l->parent >= 0) {
            velocity = r->link[l->parent].velocity;
            change = r->link[l->parent].acceleration;
        }
        const motion parent = velocity;
        for (int32_t k = l->dof; k < l->dof + l->dofs; ++k) {
            velocity = m_add(velocity, rate != NULL ? rate[k] : 0.0, r->S[k]);
        }
        l->velocity = velocity;
        find_motion_rates(r, i, parent);
        for (int32_t k = l->dof; k < l->dof + l->dofs; ++k) {
            change = m_add(change, rate != NULL ? rate[k] : 0.0, r->S_rate[k]);
            change = m_add(change, acceleration != NULL ? acceleration[k] : 0.0, r->S[k]);
        }
        l->acceleration = change;
        find_force(r, i);
    }
    for (int32_t i = r->link_count - 1; i >= 0; --i) {
        const link* l = &r->link[i];
        for (int32_t k = l->dof; k < l->dof + l->dofs; ++k) {
            effort[k] = v3_dot(r->S[k].w, l->moment) + v3_dot(r->S[k].v, l->force);
        }
        if (l->joint >= 0 && l->dofs == 1 && acceleration != NULL) {
            effort[l->dof] += model->joint[l->joint].armature * acceleration[l->dof];
        }
        if (l->parent >= 0) {
            link* up = &r->link[l->parent];
            up->moment = v3_add(up->moment, l->moment);
            up->force = v3_add(up->force, l->force);
        }
    }
}

void perp_robot_inverse_dynamics(perp_robot* r, const double* rate, const double* acceleration,
                                 double* effort)
{
    if (rate == NULL) {
        perp_robot_rates(r, r->rate);
    }
    newton_euler(r, rate != NULL ? rate : r->rate, acceleration, effort);
}

void perp_robot_gravity(perp_robot* r, double* effort)
{
    newton_euler(r, NULL, NULL, effort);
}
