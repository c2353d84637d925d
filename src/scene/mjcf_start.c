/* src/scene/mjcf_start.c - coordinates and poses at the start of an MJCF model. See mjcf.h.
 *
 * The start is the pose of the file, or a keyframe. Joints of one body act one after another, each in
 * the frame that those before it have moved.
 */
#include <stdio.h>
#include <string.h>

#include "scene/mjcf.h"
#include "scene/reader.h"

static perp_status number_joints(perpi_mjcf* m)
{
    static const int32_t positions[] = {7, 4, 1, 1}, velocities[] = {6, 3, 1, 1};
    for (size_t i = 0; i < m->joints.count; ++i) {
        perpi_mjcf_joint* joint = &m->joint[i];
        joint->qpos = m->nq;
        joint->dof = m->nv;
        m->nq += positions[joint->type];
        m->nv += velocities[joint->type];
    }
    PERPI_TRY(perpi_arena_take(m->arena, (size_t)m->nq + 1, sizeof *m->qpos, &m->qpos));
    PERPI_TRY(perpi_arena_take(m->arena, (size_t)m->nv + 1, sizeof *m->qvel, &m->qvel));
    memset(m->qvel, 0, ((size_t)m->nv + 1) * sizeof *m->qvel);
    return PERP_OK;
}

static void pose_of_file(perpi_mjcf* m)
{
    for (size_t i = 0; i < m->joints.count; ++i) {
        const perpi_mjcf_joint* joint = &m->joint[i];
        double* q = m->qpos + joint->qpos;
        const perpi_pose* pose = &m->body[joint->body].pose;
        if (joint->type == PERPI_MJCF_FREE) {
            v3_to(pose->x, q);
            q += 3;
        }
        if (joint->type == PERPI_MJCF_FREE || joint->type == PERPI_MJCF_BALL) {
            const quat r = joint->type == PERPI_MJCF_FREE ? pose->q : q4_identity();
            q[0] = r.w, q[1] = r.x, q[2] = r.y, q[3] = r.z;
        } else {
            q[0] = joint->ref;
        }
    }
}

/* ---- keyframes ---------------------------------------------------------------------------------- */

static const perpi_xml_node* find_key(const perpi_mjcf* m, const char* name)
{
    for (const perpi_xml_node* s = perpi_mjcf_section(m, "keyframe", NULL); s != NULL;
         s = perpi_mjcf_section(m, "keyframe", s)) {
        for (const perpi_xml_node* c = perpi_xml_child(s, "key"); c != NULL;
             c = perpi_xml_next(c, "key")) {
            const char* own = perpi_xml_get(c, "name");
            if (own != NULL && strcmp(own, name) == 0) {
                return c;
            }
        }
    }
    return NULL;
}

/* A name stands for one keyframe. */
static perp_status check_key_names(const perpi_mjcf* m)
{
    for (const perpi_xml_node* s = perpi_mjcf_section(m, "keyframe", NULL); s != NULL;
         s = perpi_mjcf_section(m, "keyframe", s)) {
        for (const perpi_xml_node* c = perpi_xml_child(s, "key"); c != NULL;
             c = perpi_xml_next(c, "key")) {
            const char* name = perpi_xml_get(c, "name");
            if (name != NULL && find_key(m, name) != c) {
                return perpi_mjcf_fail(m, c, "<key>: there are two keyframes '%s'", name);
            }
        }
    }
    return PERP_OK;
}

static perp_status read_key(perpi_mjcf* m, const perpi_xml_node* key)
{
    const perpi_mjcf_element e = {.node = key, .kind = "key", .level = -1};
    int given = 0;
    double* ctrl = NULL;
    if (m->nq > 0) {
        PERPI_TRY(perpi_mjcf_numbers(m, &e, "qpos", m->nq, m->nq, m->qpos, NULL));
        PERPI_TRY(perpi_mjcf_numbers(m, &e, "qvel", m->nv, m->nv, m->qvel, NULL));
    }
    for (size_t i = 0; i < m->joints.count; ++i) {
        const perpi_mjcf_joint* joint = &m->joint[i];
        if (joint->type != PERPI_MJCF_FREE && joint->type != PERPI_MJCF_BALL) {
            continue;
        }
        const double* q = m->qpos + joint->qpos + (joint->type == PERPI_MJCF_FREE ? 3 : 0);
        if (!(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] > 0.0)) {
            return perpi_mjcf_fail(m, key,
                                   "<key> qpos: the quaternion of a joint must not be zero");
        }
    }
    PERPI_TRY(perpi_arena_take(m->arena, PERPI_MJCF_NUMBERS, sizeof *ctrl, &ctrl));
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "ctrl", 1, PERPI_MJCF_NUMBERS, ctrl, &given));
    m->ctrl = given > 0 ? ctrl : NULL;
    m->ctrl_count = given;
    return PERP_OK;
}

static perp_status choose_start(perpi_mjcf* m)
{
    const char* asked = m->options->keyframe;
    pose_of_file(m);
    PERPI_TRY(check_key_names(m));
    if (asked != NULL && strcmp(asked, "none") == 0) {
        return PERP_OK;
    }
    const perpi_xml_node* key = find_key(m, asked != NULL ? asked : "home");
    if (key == NULL) {
        return asked == NULL ? PERP_OK
                             : perpi_mjcf_fail(m, m->root, "there is no keyframe '%s'", asked);
    }
    const perp_status status = read_key(m, key);
    if (status == PERP_OK) {
        m->key = perpi_xml_get(key, "name");
        return PERP_OK;
    }
    if (asked != NULL || status != PERP_ERROR_INPUT) {
        return status;
    }
    pose_of_file(m); /* the keyframe of an included robot does not fit a scene with more bodies */
    memset(m->qvel, 0, ((size_t)m->nv + 1) * sizeof *m->qvel);
    m->ctrl = NULL;
    m->ctrl_count = 0;
    perpi_mjcf_note(m->ignored, sizeof m->ignored, "keyframe 'home', whose numbers do not fit");
    return PERP_OK;
}

static void clamp_to_limits(perpi_mjcf* m)
{
    for (size_t i = 0; i < m->joints.count; ++i) {
        const perpi_mjcf_joint* joint = &m->joint[i];
        double* q = &m->qpos[joint->qpos];
        if (joint->limited && (*q < joint->range[0] || *q > joint->range[1])) {
            *q = *q < joint->range[0] ? joint->range[0] : joint->range[1];
            m->clamped++;
        }
    }
}

/* Moves joints that linear equalities couple to others to where these put them, as far as their
 * ranges allow it. Other equalities, and what is wrong with these, are dealt with where the laws
 * are read. */
static void satisfy_equalities(perpi_mjcf* m)
{
    for (const perpi_xml_node* s = perpi_mjcf_section(m, "equality", NULL); s != NULL;
         s = perpi_mjcf_section(m, "equality", s)) {
        for (const perpi_xml_node* c = s->child; c != NULL; c = c->next) {
            perpi_mjcf_element e;
            int active = 1;
            double p[5] = {0.0, 1.0, 0.0, 0.0, 0.0};
            if (strcmp(c->name, "joint") != 0 ||
                perpi_mjcf_element_of(m, c, "equality", 0, &e) != PERP_OK ||
                perpi_mjcf_flag(m, &e, "active", false, &active) != PERP_OK || active == 0 ||
                perpi_mjcf_numbers(m, &e, "polycoef", 1, 5, p, NULL) != PERP_OK) {
                continue;
            }
            const char *first = perpi_mjcf_get(m, &e, "joint1"),
                       *second = perpi_mjcf_get(m, &e, "joint2");
            const int32_t a = first != NULL ? perpi_mjcf_find_joint(m, first) : -1;
            const int32_t b = second != NULL ? perpi_mjcf_find_joint(m, second) : -1;
            if (a < 0 || b < 0 || a == b || m->joint[a].type < PERPI_MJCF_SLIDE ||
                m->joint[b].type < PERPI_MJCF_SLIDE) {
                continue;
            }
            const perpi_mjcf_joint *one = &m->joint[a], *two = &m->joint[b];
            double* q = &m->qpos[one->qpos];
            const double to = one->ref + p[0] + p[1] * (m->qpos[two->qpos] - two->ref);
            const bool linear = p[2] == 0.0 && p[3] == 0.0 && p[4] == 0.0;
            const bool allowed = !one->limited || (one->range[0] <= to && to <= one->range[1]);
            if (linear && allowed && fabs(to - *q) > 1e-6 * (1.0 + fabs(to))) {
                *q = to;
                m->qvel[one->dof] = p[1] * m->qvel[two->dof];
                m->satisfied++;
            }
        }
    }
}

/* ---- poses -------------------------------------------------------------------------------------- */

/* Turns and moves a frame by a joint; its anchor and axis in the world are kept. */
static void move_by(perpi_mjcf* m, perpi_mjcf_joint* joint, perpi_pose* pose)
{
    const double* q = m->qpos + joint->qpos;
    joint->at = perpi_pose_point(pose, joint->pos);
    joint->along = v3_unit(m3_mul(pose->R, joint->axis));
    if (joint->type == PERPI_MJCF_SLIDE) {
        joint->start = q[0];
        pose->x = v3_madd(pose->x, q[0] - joint->ref, joint->along);
        joint->at = perpi_pose_point(pose, joint->pos);
        return;
    }
    if (joint->type == PERPI_MJCF_FREE) {
        pose->x = v3_from(q);
        pose->q = q4_unit((quat){q[3], q[4], q[5], q[6]});
        pose->R = q4_matrix(pose->q);
        return;
    }
    quat turn = q4_identity();
    if (joint->type == PERPI_MJCF_HINGE) {
        joint->start = q[0];
        turn = q4_exp(v3_scale(q[0] - joint->ref, joint->axis));
    } else {
        turn = q4_unit((quat){q[0], q[1], q[2], q[3]});
    }
    pose->q = q4_unit(q4_mul(pose->q, turn));
    pose->R = q4_matrix(pose->q);
    pose->x = v3_sub(joint->at, m3_mul(pose->R, joint->pos));
}

/* Adds the velocities of a joint to those of its body. */
static void add_velocity(const perpi_mjcf* m, const perpi_mjcf_joint* joint, perpi_mjcf_body* b)
{
    const double* v = m->qvel + joint->dof;
    vec3 w = v3(0, 0, 0), drift = v3(0, 0, 0);
    if (joint->type == PERPI_MJCF_SLIDE) {
        drift = v3_scale(v[0], joint->along);
    } else if (joint->type == PERPI_MJCF_HINGE) {
        w = v3_scale(v[0], joint->along);
        drift = v3_neg(v3_cross(w, joint->at));
    } else if (joint->type == PERPI_MJCF_BALL) {
        w = m3_mul(b->world.R, v3_from(v));
        drift = v3_neg(v3_cross(w, joint->at));
    } else {
        w = m3_mul(b->world.R, v3_from(v + 3));
        drift = v3_sub(v3_from(v), v3_cross(w, b->world.x));
    }
    b->spin = v3_add(b->spin, w);
    b->drift = v3_add(b->drift, drift);
}

static void place_bodies(perpi_mjcf* m)
{
    m->body[0].world = m->body[0].pose;
    for (size_t i = 1; i < m->bodies.count; ++i) {
        perpi_mjcf_body* b = &m->body[i];
        b->world = perpi_pose_mul(&m->body[b->parent].world, &b->pose);
        for (int32_t k = 0; k < b->joint_count; ++k) {
            move_by(m, &m->joint[b->joint + k], &b->world);
        }
        b->spin = m->body[b->parent].spin;
        b->drift = m->body[b->parent].drift;
        for (int32_t k = 0; k < b->joint_count; ++k) {
            add_velocity(m, &m->joint[b->joint + k], b);
        }
    }
}

/* The inertia that each joint moves at the pose of the file: of all bodies behind it, and its armature. */
static void find_inertias(perpi_mjcf* m)
{
    for (size_t i = 0; i < m->joints.count; ++i) {
        perpi_mjcf_joint* joint = &m->joint[i];
        perpi_mass behind = {0};
        for (size_t k = 1; k < m->bodies.count; ++k) {
            int32_t up = (int32_t)k;
            while (up > 0 && up != joint->body) {
                up = m->body[up].parent;
            }
            if (up == joint->body) {
                const perpi_mass part = perpi_mjcf_move_mass(&m->body[k].own, &m->body[k].world);
                behind = perpi_mjcf_add_mass(&behind, &part);
            }
        }
        joint->inertia =
            joint->armature + (joint->type == PERPI_MJCF_SLIDE
                                   ? behind.mass
                                   : perpi_mjcf_about(&behind, joint->at, joint->along));
    }
}

perp_status perpi_mjcf_start(perpi_mjcf* m)
{
    PERPI_TRY(number_joints(m));
    pose_of_file(m);
    place_bodies(m);
    find_inertias(m);
    for (size_t i = 0; i < m->bodies.count; ++i) {
        m->body[i].filed = m->body[i].world;
    }
    PERPI_TRY(choose_start(m));
    clamp_to_limits(m);
    satisfy_equalities(m);
    place_bodies(m);
    return PERP_OK;
}
