/* src/sim/set_joint.c - sets joint coordinates by moving the bodies.
 *
 * The joints whose coordinates are given enter a spanning tree of each mechanism first, the others
 * complete it. From the fixed root (the world, bodies that are not dynamic, or one body of a free
 * mechanism) outwards, each body is placed relative to its parent: across a joint with given
 * coordinates so that the joint is closed at these, across one without as before (closed, if it had
 * an error). Velocities likewise. Joints outside the tree close loops: their errors are
 * checked afterwards.
 */
#include <string.h>

#include "perp/set.h"
#include "sim/internal.h"
#include "step/joint_rows.h"

static const double TURN = 6.283185307179586;
/* Relative to a joint's size, and radians: tolerance of loop closure. */
static const double TOLERANCE = 1e-6;

typedef struct placing {
    perp_sim* sim;
    const perp_model* model;
    const perp_joint_setting** given; /* per joint; NULL: not given */
    int32_t* group;                   /* per body, and one for the root: connected bodies */
    bool* tree;                       /* per joint */
    bool *placed, *touched;           /* per body */
    double *q, *v;                    /* the new state */
} placing;

perp_joint_setting perp_joint_setting_default(int32_t joint)
{
    return (perp_joint_setting){
        .joint = joint, .coordinate = {NAN, NAN, NAN}, .rate = {NAN, NAN, NAN}};
}

/* ---- checks ----------------------------------------------------------------------------------------*/

static bool is_particle(const perp_model* model, int32_t body)
{
    return body >= 0 && model->body[body].particle;
}

static perp_status check_setting(const placing* x, const perp_joint_setting* setting)
{
    perp_context* context = x->sim->context;
    if (setting->joint < 0 || (size_t)setting->joint >= x->model->joint_count) {
        return perpi_fail(context, PERP_ERROR_INPUT, "set_joints: there is no joint %d",
                          (int)setting->joint);
    }
    const perpi_joint* joint = &x->model->joint[setting->joint];
    if (x->given[setting->joint] != NULL) {
        return perpi_fail(context, PERP_ERROR_INPUT, "set_joints: '%s' is given twice",
                          joint->name);
    }
    if (joint->coordinates == 0 || joint->type == PERP_JOINT_ROPE ||
        is_particle(x->model, joint->body[0]) || is_particle(x->model, joint->body[1])) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "set_joints: '%s' is %s%s: it has no coordinate that can be set",
                          joint->name, perp_joint_type_name(joint->type),
                          joint->coordinates == 0 || joint->type == PERP_JOINT_ROPE
                              ? ""
                              : " and holds a particle");
    }
    for (int32_t k = 0; k < 3; ++k) {
        const double c = setting->coordinate[k], r = setting->rate[k];
        if (isinf(c) || isinf(r) || (k >= joint->coordinates && (!isnan(c) || !isnan(r)))) {
            return perpi_fail(context, PERP_ERROR_INPUT,
                              "set_joints: '%s' has %d coordinates, finite ones or NaN (as it is)",
                              joint->name, (int)joint->coordinates);
        }
    }
    const double c = setting->coordinate[0];
    if (joint->has_limits && (c < joint->limits[0] || c > joint->limits[1])) {
        return perpi_fail(context, PERP_ERROR_INPUT,
                          "set_joints: %g is outside of the limits [%g, %g] of '%s'", c,
                          joint->limits[0], joint->limits[1], joint->name);
    }
    return PERP_OK;
}

/* ---- the tree --------------------------------------------------------------------------------------*/

/* The node of a body, or that of the root. */
static int32_t node_of(const placing* x, int32_t body)
{
    const bool moves = body >= 0 && x->model->body[body].type == PERP_BODY_DYNAMIC;
    return moves ? body : (int32_t)x->model->body_count;
}

static void grow_tree(placing* x, bool given)
{
    for (size_t i = 0; i < x->model->joint_count; ++i) {
        const perpi_joint* joint = &x->model->joint[i];
        const int32_t a = x->group[node_of(x, joint->body[0])];
        const int32_t b = x->group[node_of(x, joint->body[1])];
        if ((x->given[i] != NULL) != given || joint->type == PERP_JOINT_ROPE || a == b) {
            continue;
        }
        x->tree[i] = true;
        for (size_t k = 0; k <= x->model->body_count; ++k) {
            x->group[k] = x->group[k] == a ? b : x->group[k];
        }
    }
}

/* Roots: bodies that are not dynamic, mechanisms without a given joint, and of a free mechanism
 * the body a of its first joint. */
static void place_roots(placing* x, const perp_joint_setting* setting, int32_t count)
{
    const int32_t bodies = (int32_t)x->model->body_count, world = x->group[bodies];
    for (int32_t i = 0; i < bodies; ++i) {
        x->placed[i] = true;
    }
    for (int32_t k = 0; k < count; ++k) {
        const int32_t* ends = x->model->joint[setting[k].joint].body;
        const int32_t node = node_of(x, ends[0]) < bodies ? node_of(x, ends[0]) : ends[1];
        for (int32_t i = 0; i < bodies; ++i) {
            if (node_of(x, i) == i && x->group[i] == x->group[node]) {
                x->placed[i] = false;
            }
        }
    }
    for (int32_t k = 0; k < count; ++k) {
        const int32_t a = node_of(x, x->model->joint[setting[k].joint].body[0]);
        bool rooted = a < bodies && x->group[a] == world;
        for (int32_t i = 0; a < bodies && i < bodies; ++i) {
            rooted = rooted || (x->placed[i] && node_of(x, i) == i && x->group[i] == x->group[a]);
        }
        if (a < bodies && !rooted) {
            x->placed[a] = true;
        }
    }
}

/* ---- one joint -------------------------------------------------------------------------------------*/

typedef struct frame {
    vec3 x, v, w; /* of the body */
    quat q;       /* likewise */
    double angle;
    quat Q; /* the joint's axes, world */
    vec3 P; /* and its point */
} frame;

static frame frame_of(const perp_model* model, const perpi_joint* joint, int side, const double* q,
                      const double* v)
{
    const int32_t body = joint->body[side];
    frame f = {.q = q4_identity()};
    if (body >= 0) {
        const perpi_pose pose = perpi_state_pose(model, q, body);
        f.x = pose.x;
        f.q = pose.q;
        f.angle = model->dimension == 2 ? q[3 * body + 2] : 0.0;
        f.v = perpi_state_velocity(model, v, body);
        f.w = perpi_state_rate(model, v, body);
    }
    f.Q = q4_mul(f.q, joint->frame[side]);
    f.P = v3_add(f.x, q4_rotate(f.q, joint->at[side]));
    return f;
}

static bool coordinate_turns(perp_joint_type type, int32_t k)
{
    return type == PERP_JOINT_REVOLUTE || type == PERP_JOINT_UNIVERSAL ||
           (type == PERP_JOINT_CYLINDRICAL && k == 1) || (type == PERP_JOINT_PLANAR && k == 2);
}

/* The axis of a coordinate in the frame of a; universal: the second one in that of b. */
static vec3 local_axis(perp_joint_type type, int32_t k)
{
    if (type == PERP_JOINT_PLANAR && k < 2) {
        return k == 0 ? v3(1, 0, 0) : v3(0, 1, 0);
    }
    return type == PERP_JOINT_UNIVERSAL && k == 1 ? v3(1, 0, 0) : v3(0, 0, 1);
}

/* The frame of b relative to that of a in a joint without error: coordinates as given, the others
 * unchanged. The present poses are not used otherwise, because they may have errors. */
typedef struct closed {
    vec3 d;
    quat rel;
    double angle; /* planar: angle of b minus angle of a */
} closed;

static closed close_joint(const placing* x, int32_t index)
{
    const perp_model* model = x->model;
    const perp_sim* sim = x->sim;
    const perpi_joint* joint = &model->joint[index];
    const perp_joint_setting* setting = x->given[index];
    const frame a = frame_of(model, joint, 0, sim->state.q, sim->state.v);
    const frame b = frame_of(model, joint, 1, sim->state.q, sim->state.v);
    const perpi_joint_view view =
        perpi_joint_evaluate(model, index, sim->state.q, sim->state.joint[index].turns);
    const vec3 d = q4_rotate(q4_conj(a.Q), v3_sub(b.P, a.P));
    const double start = joint->type == PERP_JOINT_REVOLUTE ? joint->start : 0.0;
    closed c = {.rel = q4_identity(), .angle = joint->angle};
    for (int32_t k = 0; k < joint->coordinates; ++k) {
        const vec3 axis = local_axis(joint->type, k);
        const double now = view.coordinate[k].b;
        const double wanted =
            setting == NULL || isnan(setting->coordinate[k]) ? now : setting->coordinate[k];
        if (coordinate_turns(joint->type, k)) {
            c.rel = q4_mul(c.rel, q4_exp(v3_scale(wanted - start, axis)));
            c.angle += wanted - start;
        } else {
            c.d = v3_madd(c.d, v3_dot(d, axis) + (wanted - now), axis);
        }
    }
    return c;
}

/* The pose of the other body, from that of the side `from`, which is placed. */
static void place_closed(placing* x, int32_t index, int from)
{
    const perp_model* model = x->model;
    const perpi_joint* joint = &model->joint[index];
    const closed c = close_joint(x, index);
    const frame p = frame_of(model, joint, from, x->q, x->v);
    const int to = 1 - from;
    const double angle = from == 0 ? p.angle + c.angle : p.angle - c.angle;
    const quat Q = q4_mul(p.Q, from == 0 ? c.rel : q4_conj(c.rel));
    perpi_pose pose = {.q = q4_unit(q4_mul(Q, q4_conj(joint->frame[to])))};
    if (model->dimension == 2) {
        pose.q = q4_exp(v3(0, 0, angle));
    }
    const quat Q_a = from == 0 ? p.Q : q4_mul(pose.q, joint->frame[0]);
    const vec3 offset = q4_rotate(Q_a, c.d);
    const vec3 P = from == 0 ? v3_add(p.P, offset) : v3_sub(p.P, offset);
    pose.x = v3_sub(P, q4_rotate(pose.q, joint->at[to]));
    perpi_state_set_pose(model, x->q, joint->body[to], &pose, angle);
}

/* Velocity and angular velocity of the other body, with poses in place. */
static void drive(placing* x, int32_t index, int from)
{
    const perp_model* model = x->model;
    const perp_sim* sim = x->sim;
    const perpi_joint* joint = &model->joint[index];
    const perp_joint_setting* setting = x->given[index];
    const perpi_joint_view view =
        perpi_joint_evaluate(model, index, sim->state.q, sim->state.joint[index].turns);
    const frame a = frame_of(model, joint, 0, x->q, x->v),
                b = frame_of(model, joint, 1, x->q, x->v);
    const frame p = from == 0 ? a : b, c = from == 0 ? b : a;
    const double sign = from == 0 ? 1.0 : -1.0;
    vec3 w = p.w, slide = v3(0, 0, 0);
    for (int32_t k = 0; k < joint->coordinates; ++k) {
        const double rate = setting == NULL || isnan(setting->rate[k])
                                ? perpi_joint_speed(model, index, &view.coordinate[k], sim->state.v)
                                : setting->rate[k];
        const bool on_b = joint->type == PERP_JOINT_UNIVERSAL && k == 1;
        const vec3 axis = q4_rotate(on_b ? b.Q : a.Q, local_axis(joint->type, k));
        if (coordinate_turns(joint->type, k)) {
            w = v3_madd(w, sign * rate, axis);
        } else {
            slide = v3_madd(slide, sign * rate, axis);
        }
    }
    /* a's material point at b's point moves with a; b's point slides along it */
    const vec3 at = v3_add(p.v, v3_cross(p.w, v3_sub(b.P, p.x)));
    const vec3 v = v3_sub(v3_add(at, slide), v3_cross(w, v3_sub(b.P, c.x)));
    perpi_state_set_velocity(model, x->v, joint->body[1 - from], v, w);
}

/* Keeps the pose of the other body relative to the side `from`. */
static void place_unchanged(placing* x, const perpi_joint* joint, int from)
{
    const perp_model* model = x->model;
    const perp_sim* sim = x->sim;
    const frame p0 = frame_of(model, joint, from, sim->state.q, sim->state.v);
    const frame c0 = frame_of(model, joint, 1 - from, sim->state.q, sim->state.v);
    const frame p = frame_of(model, joint, from, x->q, x->v);
    const int32_t other = joint->body[1 - from];
    const double angle = c0.angle + (p.angle - p0.angle);
    const quat G = model->dimension == 2 ? q4_exp(v3(0, 0, p.angle - p0.angle))
                                         : q4_unit(q4_mul(p.q, q4_conj(p0.q)));
    const vec3 arm = v3_sub(c0.x, p0.x);
    perpi_pose pose = {.x = v3_add(p.x, q4_rotate(G, arm)), .q = q4_unit(q4_mul(G, c0.q))};
    const vec3 w_rel = v3_sub(c0.w, p0.w);
    const vec3 v_rel = v3_sub(c0.v, v3_add(p0.v, v3_cross(p0.w, arm)));
    const bool particle = is_particle(model, other);
    if (particle) {
        pose.q = c0.q;
    }
    perpi_state_set_pose(model, x->q, other, &pose, angle);
    const vec3 v = v3_add(v3_add(p.v, v3_cross(p.w, v3_sub(pose.x, p.x))), q4_rotate(G, v_rel));
    const vec3 w = particle ? v3(0, 0, 0) : v3_add(p.w, q4_rotate(G, w_rel));
    perpi_state_set_velocity(model, x->v, other, v, w);
}

/* Translates the other body so that its joint point coincides with that of the side `from`. */
static void shift(placing* x, const perpi_joint* joint, int from)
{
    const perp_model* model = x->model;
    const int32_t other = joint->body[1 - from];
    const frame p = frame_of(model, joint, from, x->q, x->v);
    const frame c = frame_of(model, joint, 1 - from, x->q, x->v);
    const perpi_pose pose = {.x = v3_add(c.x, v3_sub(p.P, c.P)), .q = c.q};
    const vec3 u_p = v3_add(p.v, v3_cross(p.w, v3_sub(p.P, p.x)));
    const vec3 u_c = v3_cross(c.w, v3_sub(c.P, c.x));
    perpi_state_set_pose(model, x->q, other, &pose, c.angle);
    perpi_state_set_velocity(model, x->v, other, v3_sub(u_p, u_c), c.w);
}

static bool is_open(const placing* x, int32_t index)
{
    const double* error = x->sim->state.joint[index].error;
    return !(error[0] <= TOLERANCE * x->model->joint[index].size && error[1] <= TOLERANCE);
}

/* A joint without given coordinates whose parent body has moved: unchanged, but closed if it had an error. */
static void follow(placing* x, int32_t index, int from)
{
    const perpi_joint* joint = &x->model->joint[index];
    const bool particle =
        is_particle(x->model, joint->body[0]) || is_particle(x->model, joint->body[1]);
    const bool slides = joint->type == PERP_JOINT_PRISMATIC ||
                        joint->type == PERP_JOINT_CYLINDRICAL || joint->type == PERP_JOINT_PLANAR;
    if (!is_open(x, index) || (particle && slides)) {
        place_unchanged(x, joint, from);
    } else if (particle || joint->type == PERP_JOINT_SPHERICAL) {
        place_unchanged(x, joint, from);
        shift(x, joint, from);
    } else {
        place_closed(x, index, from);
        drive(x, index, from);
    }
}

/* ---- all of them -----------------------------------------------------------------------------------*/

static void place_bodies(placing* x)
{
    const perp_model* model = x->model;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < model->joint_count; ++i) {
            const perpi_joint* joint = &model->joint[i];
            bool in[2];
            for (int side = 0; side < 2; ++side) {
                in[side] = joint->body[side] < 0 || x->placed[joint->body[side]];
            }
            if (!x->tree[i] || in[0] == in[1]) {
                continue;
            }
            const int from = in[0] ? 0 : 1;
            const int32_t parent = joint->body[from], other = joint->body[1 - from];
            if (x->given[i] != NULL) {
                place_closed(x, (int32_t)i, from);
                drive(x, (int32_t)i, from);
                x->touched[other] = true;
            } else if (parent >= 0 && x->touched[parent]) {
                follow(x, (int32_t)i, from);
                x->touched[other] = true;
            }
            x->placed[other] = true;
            more = true;
        }
    }
}

/* The numbers of whole turns for which the angles have the given values. */
static void count_turns(const placing* x, int32_t index, int32_t turns[2])
{
    const perp_model* model = x->model;
    const perpi_joint* joint = &model->joint[index];
    const perpi_joint_view view = perpi_joint_evaluate(model, index, x->q, NULL);
    int32_t slot = 0;
    for (int32_t k = 0; k < joint->coordinates; ++k) {
        if (!coordinate_turns(joint->type, k) || model->dimension == 2) {
            continue;
        }
        const double wanted = x->given[index]->coordinate[k];
        if (!isnan(wanted)) {
            turns[slot] = (int32_t)round((wanted - view.coordinate[k].b) / TURN);
        }
        slot += 1;
    }
}

/* Joints that close loops, and ropes: their errors must not be larger than before. */
static perp_status check_closed(const placing* x)
{
    const perp_model* model = x->model;
    for (int32_t i = 0; i < (int32_t)model->joint_count; ++i) {
        const perpi_joint* joint = &model->joint[i];
        bool touched = false;
        for (int side = 0; side < 2; ++side) {
            touched = touched || (joint->body[side] >= 0 && x->touched[joint->body[side]]);
        }
        if (x->tree[i] || !touched) {
            continue;
        }
        int32_t turns[2] = {x->sim->state.joint[i].turns[0], x->sim->state.joint[i].turns[1]};
        if (x->given[i] != NULL) {
            count_turns(x, i, turns);
        }
        const perpi_joint_view now = perpi_joint_evaluate(model, i, x->q, turns);
        const double* before = x->sim->state.joint[i].error;
        const double length = before[0] + TOLERANCE * joint->size, angle = before[1] + TOLERANCE;
        bool fits = now.error[0] <= length && now.error[1] <= angle;
        for (int32_t k = 0; x->given[i] != NULL && k < joint->coordinates; ++k) {
            const double wanted = x->given[i]->coordinate[k];
            const double allowed = coordinate_turns(joint->type, k) ? angle : length;
            fits = fits && (isnan(wanted) || fabs(now.coordinate[k].b - wanted) <= allowed);
        }
        if (!fits) {
            return perpi_fail(x->sim->context, PERP_ERROR_INPUT,
                              "set_joints: joint '%s' closes a loop that these coordinates leave "
                              "open, by %.6g and %.6g radians: give all joints of the loop "
                              "consistent coordinates",
                              joint->name, now.error[0], now.error[1]);
        }
    }
    return PERP_OK;
}

static void commit_placement(placing* x)
{
    perp_sim* sim = x->sim;
    const int32_t stride = perpi_q_stride(x->model);
    for (int32_t i = 0; i < (int32_t)x->model->body_count; ++i) {
        if (x->touched[i]) {
            const bool moved = memcmp(sim->state.q + stride * i, x->q + stride * i,
                                      (size_t)stride * sizeof *x->q) != 0;
            perpi_sim_edit_body(sim, i, moved);
        }
    }
    for (int32_t i = 0; i < (int32_t)x->model->joint_count; ++i) {
        if (x->given[i] != NULL) {
            count_turns(x, i, sim->state.joint[i].turns);
        }
    }
    memcpy(sim->state.q, x->q, (size_t)sim->work.q_size * sizeof *x->q);
    memcpy(sim->state.v, x->v, (size_t)sim->work.v_size * sizeof *x->v);
    perpi_sim_edit_end(sim);
}

static perp_status allocate_tree(placing* x)
{
    perp_sim* sim = x->sim;
    const size_t bodies = x->model->body_count + 1, joints = x->model->joint_count + 1;
    struct {
        void* array;
        size_t count, size;
    } const part[] = {{&x->given, joints, sizeof *x->given},
                      {&x->group, bodies, sizeof *x->group},
                      {&x->tree, joints, sizeof *x->tree},
                      {&x->placed, bodies, sizeof *x->placed},
                      {&x->touched, bodies, sizeof *x->touched},
                      {&x->q, (size_t)sim->work.q_size + 1, sizeof *x->q},
                      {&x->v, (size_t)sim->work.v_size + 1, sizeof *x->v}};
    perp_status status = perpi_sim_edit_room(sim);
    for (size_t i = 0; status == PERP_OK && i < sizeof part / sizeof part[0]; ++i) {
        status = perpi_arena_take(&sim->scratch, part[i].count, part[i].size, part[i].array);
        if (status == PERP_OK) {
            void* p = NULL;
            memcpy(&p, part[i].array, sizeof p);
            memset(p, 0, part[i].count * part[i].size);
        }
    }
    return status;
}

perp_status perp_sim_set_joints(perp_sim* sim, const perp_joint_setting* setting, int32_t count)
{
    placing x = {.sim = sim, .model = sim->model};
    const perpi_arena_mark mark = perpi_arena_get_mark(&sim->scratch);
    perp_status status = allocate_tree(&x);
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        status = check_setting(&x, &setting[i]);
        if (status == PERP_OK) {
            x.given[setting[i].joint] = &setting[i];
        }
    }
    if (status == PERP_OK) {
        for (int32_t i = 0; i <= (int32_t)sim->model->body_count; ++i) {
            x.group[i] = i;
        }
        memcpy(x.q, sim->state.q, (size_t)sim->work.q_size * sizeof *x.q);
        memcpy(x.v, sim->state.v, (size_t)sim->work.v_size * sizeof *x.v);
        grow_tree(&x, true);
        grow_tree(&x, false);
        place_roots(&x, setting, count);
        place_bodies(&x);
        status = check_closed(&x);
    }
    if (status == PERP_OK) {
        commit_placement(&x);
    }
    perpi_arena_rewind(&sim->scratch, mark);
    return status;
}

perp_status perp_sim_set_joint(perp_sim* sim, int32_t joint, double coordinate, double rate)
{
    perp_joint_setting setting = perp_joint_setting_default(joint);
    setting.coordinate[0] = coordinate;
    setting.rate[0] = rate;
    if (joint >= 0 && (size_t)joint < sim->model->joint_count &&
        !perpi_joint_one_degree(sim->model->joint[joint].type)) {
        return perpi_fail(sim->context, PERP_ERROR_INPUT,
                          "set_joint: '%s' is %s: only revolute and prismatic joints have one "
                          "coordinate; use perp_sim_set_joints",
                          sim->model->joint[joint].name,
                          perp_joint_type_name(sim->model->joint[joint].type));
    }
    return perp_sim_set_joints(sim, &setting, 1);
}
