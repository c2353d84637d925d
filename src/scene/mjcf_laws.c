/* src/scene/mjcf_laws.c - equalities, tendons and actuators of an MJCF model. See mjcf.h.
 *
 * Equality between joints is a gear. An actuator gives the force
 *     f = gain u + b0 + b1 length + b2 velocity,   length = gear * coordinate,
 * which is an effort motor, or with b1, b2 <= 0 a controller: kp = -b1 gear^2, kd = -b2 gear^2, with the
 * target at which the force of the two is the constant part. On a fixed tendon of two joints it is a gear
 * with stiffness and damping; where equalities couple all joints of a tendon, it is a controller on one
 * of them.
 */
#include <stdio.h>
#include <string.h>

#include "scene/mjcf.h"
#include "scene/reader.h"

enum { TENDON_JOINTS = 8 };

/* A linear combination of coordinates: a joint alone, or a fixed tendon. */
typedef struct combination {
    const char* name;
    int32_t count;
    int32_t joint[TENDON_JOINTS];
    double coef[TENDON_JOINTS];
    double constant;
} combination;

/* coordinate = ratio * that of `of` + offset, for each joint that an equality determines. */
typedef struct coupling {
    int32_t of; /* -1: none */
    double ratio, offset;
} coupling;

typedef struct laws {
    perpi_mjcf* m;
    coupling* coupled; /* one for each joint */
} laws;

static perp_status memory_if(const perpi_mjcf* m, int failed)
{
    return failed == 0 ? PERP_OK : perpi_mjcf_memory(m);
}

static perp_status find_joint(const perpi_mjcf* m, const perpi_xml_node* node, const char* name,
                              bool one_degree, int32_t* index)
{
    *index = perpi_mjcf_find_joint(m, name);
    if (*index < 0) {
        return perpi_mjcf_fail(m, node, "<%s>: there is no joint '%s'", node->name, name);
    }
    const perpi_mjcf_joint_type type = m->joint[*index].type;
    if (one_degree && type != PERPI_MJCF_HINGE && type != PERPI_MJCF_SLIDE) {
        return perpi_mjcf_fail(m, node, "<%s>: the joint '%s' must be a hinge or a slide",
                               node->name, name);
    }
    return PERP_OK;
}

static perp_status find_body(const perpi_mjcf* m, const perpi_mjcf_element* e, const char* key,
                             int32_t* body)
{
    const char* name = perpi_mjcf_get(m, e, key);
    *body = name == NULL ? 0 : perpi_mjcf_find_body(m, name);
    return *body >= 0 ? PERP_OK
                      : perpi_mjcf_fail(m, e->node, "<%s> %s: there is no body '%s'", e->node->name,
                                        key, name);
}

static perp_status find_site(const perpi_mjcf* m, const perpi_mjcf_element* e, const char* key,
                             int32_t* site)
{
    const char* name;
    PERPI_TRY(perpi_mjcf_need(m, e, key, &name));
    *site = perpi_mjcf_find_site(m, name);
    return *site >= 0 ? PERP_OK
                      : perpi_mjcf_fail(m, e->node, "<%s> %s: there is no site '%s'", e->node->name,
                                        key, name);
}

/* A point of a body's frame where the scene has it: from the centre of mass of its host, or the world. */
static vec3 point_in_scene(const perpi_mjcf* m, int32_t body, vec3 x)
{
    const perpi_mjcf_body* b = &m->body[body];
    return b->host == 0 ? perpi_pose_point(&b->world, x)
                        : v3_sub(perpi_pose_point(&b->in_host, x), m->body[b->host].mass.center);
}

static json_t* vector(vec3 a)
{
    return json_pack("[f, f, f]", a.x + 0.0, a.y + 0.0, a.z + 0.0);
}

/* ---- equalities --------------------------------------------------------------------------------- */

static perp_status name_of(perpi_mjcf* m, const perpi_xml_node* node, const char* kind,
                           const char* a, const char* b, const char** name)
{
    *name = perpi_xml_get(node, "name");
    return *name != NULL && perpi_mjcf_find_joint(m, *name) < 0
               ? PERP_OK
               : perpi_mjcf_text(m, name, "%s %s %s", kind, a, b);
}

static perp_status write_gear(perpi_mjcf* m, const char* name, const combination* c, double ratio,
                              double offset, json_t** gear)
{
    *gear = json_pack("{s:s, s:s, s:[s, s], s:f, s:f}", "name", name, "type", "gear", "joints",
                      m->joint[c->joint[0]].name, m->joint[c->joint[1]].name, "ratio", ratio,
                      "offset", offset);
    return memory_if(m, *gear == NULL || json_array_append_new(m->joint_list, *gear) != 0);
}

/* q1 - ref1 = c0 + c1 (q2 - ref2). */
static perp_status read_joint_equality(laws* l, const perpi_mjcf_element* e)
{
    perpi_mjcf* m = l->m;
    const char *first, *second = perpi_mjcf_get(m, e, "joint2"), *name;
    double c[5] = {0.0, 1.0, 0.0, 0.0, 0.0};
    int32_t j1, j2 = -1;
    PERPI_TRY(perpi_mjcf_need(m, e, "joint1", &first));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "polycoef", 1, 5, c, NULL));
    PERPI_TRY(find_joint(m, e->node, first, true, &j1));
    if (second == NULL) {
        if (json_object_get(m->joint[j1].json, "motor") != NULL) {
            return perpi_mjcf_fail(m, e->node, "<joint>: '%s' is locked twice", first);
        }
        return memory_if(m, json_object_set_new(m->joint[j1].json, "motor",
                                                json_pack("{s:s, s:f}", "type", "position",
                                                          "target", m->joint[j1].ref + c[0])));
    }
    PERPI_TRY(find_joint(m, e->node, second, true, &j2));
    if (c[2] != 0.0 || c[3] != 0.0 || c[4] != 0.0) {
        return perpi_mjcf_fail(
            m, e->node, "<joint> polycoef: only linear equalities (c0 c1 0 0 0) are supported");
    }
    if (c[1] == 0.0 || j1 == j2) {
        return perpi_mjcf_fail(m, e->node, "<joint> polycoef: the second number must not be 0");
    }
    const double offset = m->joint[j1].ref + c[0] - c[1] * m->joint[j2].ref;
    const double now = m->joint[j1].start - c[1] * m->joint[j2].start;
    if (!(fabs(now - offset) <= 1e-6 * (1.0 + fabs(offset)))) {
        return perpi_mjcf_fail(m, e->node,
                               "<joint>: '%s' and '%s' do not satisfy the equality at the start: "
                               "%g instead of %g (choose another start: --keyframe)",
                               first, second, now, offset);
    }
    json_t* gear = NULL;
    PERPI_TRY(name_of(m, e->node, "gear", first, second, &name));
    const combination pair = {.count = 2, .joint = {j2, j1}};
    PERPI_TRY(write_gear(m, name, &pair, c[1], now, &gear));
    if (l->coupled[j1].of < 0) {
        l->coupled[j1] = (coupling){j2, c[1], offset};
    }
    return PERP_OK;
}

static perp_status read_connect(laws* l, const perpi_mjcf_element* e)
{
    perpi_mjcf* m = l->m;
    int32_t a = 0, b = 0;
    vec3 at_a, at_b;
    if (perpi_mjcf_get(m, e, "site1") != NULL) {
        int32_t s1, s2;
        PERPI_TRY(find_site(m, e, "site1", &s1));
        PERPI_TRY(find_site(m, e, "site2", &s2));
        a = m->site[s1].body;
        b = m->site[s2].body;
        at_a = m->site[s1].pose.x;
        at_b = m->site[s2].pose.x;
    } else {
        const char* name;
        double anchor[3] = {0};
        PERPI_TRY(perpi_mjcf_need(m, e, "body1", &name));
        PERPI_TRY(perpi_mjcf_need(m, e, "anchor", &name));
        PERPI_TRY(find_body(m, e, "body1", &a));
        PERPI_TRY(find_body(m, e, "body2", &b));
        PERPI_TRY(perpi_mjcf_numbers(m, e, "anchor", 3, 3, anchor, NULL));
        at_a =
            v3_from(anchor); /* the point of the other body: where it is at the pose of the file */
        const vec3 world = perpi_pose_point(&m->body[a].filed, at_a);
        at_b = m3_tmul(m->body[b].filed.R, v3_sub(world, m->body[b].filed.x));
    }
    if (m->body[a].host == m->body[b].host) {
        return perpi_mjcf_fail(m, e->node, "<connect>: both points are on one rigid body");
    }
    const char* name;
    PERPI_TRY(name_of(m, e->node, "connect", m->body[a].name, m->body[b].name, &name));
    json_t* joint =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "name", name, "type", "spherical", "a",
                  perpi_mjcf_scene_body(m, a), "b", perpi_mjcf_scene_body(m, b), "at_a",
                  vector(point_in_scene(m, a, at_a)), "at_b", vector(point_in_scene(m, b, at_b)));
    return memory_if(m, joint == NULL || json_array_append_new(m->joint_list, joint) != 0);
}

static perp_status read_weld(laws* l, const perpi_mjcf_element* e)
{
    perpi_mjcf* m = l->m;
    const char* name;
    int32_t a = 0, b = 0;
    double rel[7] = {0};
    if (perpi_mjcf_get(m, e, "site1") != NULL) {
        return perpi_mjcf_fail(m, e->node, "<weld>: sites are not supported, give body1 and body2");
    }
    PERPI_TRY(perpi_mjcf_need(m, e, "body1", &name));
    PERPI_TRY(find_body(m, e, "body1", &a));
    PERPI_TRY(find_body(m, e, "body2", &b));
    if (a == b) {
        return perpi_mjcf_fail(m, e->node, "<weld>: body1 and body2 are the same body, '%s'",
                               m->body[a].name);
    }
    PERPI_TRY(perpi_mjcf_numbers(m, e, "relpose", 7, 7, rel, NULL));
    /* the pose of b in a, as asked (or in the file), and at the start */
    const perpi_pose *fa = &m->body[a].filed, *fb = &m->body[b].filed, *wa = &m->body[a].world,
                     *wb = &m->body[b].world;
    const double norm = rel[3] * rel[3] + rel[4] * rel[4] + rel[5] * rel[5] + rel[6] * rel[6];
    const vec3 x = norm > 0.0 ? v3_from(rel) : m3_tmul(fa->R, v3_sub(fb->x, fa->x));
    const quat q = norm > 0.0 ? q4_unit((quat){rel[3], rel[4], rel[5], rel[6]})
                              : q4_mul(q4_conj(fa->q), fb->q);
    const vec3 x_now = m3_tmul(wa->R, v3_sub(wb->x, wa->x));
    const vec3 turn = q4_log(q4_mul(q4_conj(q), q4_mul(q4_conj(wa->q), wb->q)));
    if (!(v3_norm(v3_sub(x, x_now)) <= 1e-6 * (1e-3 + v3_norm(x)) && v3_norm(turn) <= 1e-6)) {
        return perpi_mjcf_fail(m, e->node,
                               "<weld>: '%s' and '%s' are not in this pose at the start",
                               m->body[a].name, m->body[b].name);
    }
    if (m->body[a].host == m->body[b].host) {
        return PERP_OK;
    }
    PERPI_TRY(name_of(m, e->node, "weld", m->body[a].name, m->body[b].name, &name));
    json_t* joint = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", name, "type", "fixed", "a",
                              perpi_mjcf_scene_body(m, a), "b", perpi_mjcf_scene_body(m, b), "at",
                              vector(wb->x));
    return memory_if(m, joint == NULL || json_array_append_new(m->joint_list, joint) != 0);
}

static perp_status read_equalities(laws* l)
{
    static const char* const read[] = {"name",     "class", "active", "joint1", "joint2",
                                       "polycoef", "body1", "body2",  "anchor", "relpose",
                                       "site1",    "site2", NULL};
    static const char* const soft[] = {"solref", "solimp", "torquescale", NULL};
    perpi_mjcf* m = l->m;
    for (const perpi_xml_node* s = perpi_mjcf_section(m, "equality", NULL); s != NULL;
         s = perpi_mjcf_section(m, "equality", s)) {
        for (const perpi_xml_node* c = s->child; c != NULL; c = c->next) {
            perpi_mjcf_element e;
            int active = 1;
            PERPI_TRY(perpi_mjcf_check(m, c, read, soft, NULL));
            PERPI_TRY(perpi_mjcf_element_of(m, c, "equality", 0, &e));
            PERPI_TRY(perpi_mjcf_flag(m, &e, "active", false, &active));
            if (active == 0) {
                perpi_mjcf_note(m->ignored, sizeof m->ignored, "equalities that are not active");
            } else if (strcmp(c->name, "joint") == 0) {
                PERPI_TRY(read_joint_equality(l, &e));
            } else if (strcmp(c->name, "connect") == 0) {
                PERPI_TRY(read_connect(l, &e));
            } else if (strcmp(c->name, "weld") == 0) {
                PERPI_TRY(read_weld(l, &e));
            } else {
                return perpi_mjcf_fail(m, c, "<equality>: <%s> is not supported", c->name);
            }
        }
    }
    return PERP_OK;
}

/* ---- tendons ------------------------------------------------------------------------------------ */

static perp_status read_fixed_tendon(const perpi_mjcf* m, const perpi_xml_node* node,
                                     combination* made)
{
    *made = (combination){.name = perpi_xml_get(node, "name")};
    for (const perpi_xml_node* c = node->child; c != NULL; c = c->next) {
        const perpi_mjcf_element e = {.node = c, .kind = "joint", .level = -1};
        const char* name;
        double coef = 0.0;
        int given = 0;
        if (strcmp(c->name, "joint") != 0) {
            return perpi_mjcf_fail(m, c, "<fixed> has no <%s>", c->name);
        }
        PERPI_TRY(perpi_mjcf_need(m, &e, "joint", &name));
        PERPI_TRY(perpi_mjcf_numbers(m, &e, "coef", 1, 1, &coef, &given));
        if (given == 0 || coef == 0.0) {
            return perpi_mjcf_fail(m, c, "<joint> coef: must be given and not 0");
        }
        if (made->count == TENDON_JOINTS) {
            return perpi_mjcf_fail(m, c, "<fixed>: more than %d joints are not supported",
                                   TENDON_JOINTS);
        }
        PERPI_TRY(find_joint(m, c, name, true, &made->joint[made->count]));
        made->coef[made->count++] = coef;
    }
    return PERP_OK;
}

/* Replaces coordinates that equalities determine by those that determine them. */
static combination reduce(const laws* l, const combination* from)
{
    combination to = {.name = from->name, .constant = from->constant};
    for (int32_t i = 0; i < from->count; ++i) {
        int32_t joint = from->joint[i];
        double coef = from->coef[i];
        for (int32_t guard = 0; l->coupled[joint].of >= 0 && guard < 64; ++guard) {
            to.constant += coef * l->coupled[joint].offset;
            coef *= l->coupled[joint].ratio;
            joint = l->coupled[joint].of;
        }
        int32_t k = 0;
        while (k < to.count && to.joint[k] != joint) {
            ++k;
        }
        to.joint[k] = joint;
        to.coef[k] = k == to.count ? coef : to.coef[k] + coef;
        to.count += k == to.count ? 1 : 0;
    }
    return to;
}

static perp_status find_tendon(const perpi_mjcf* m, const perpi_xml_node* node, const char* name,
                               combination* made)
{
    for (const perpi_xml_node* s = perpi_mjcf_section(m, "tendon", NULL); s != NULL;
         s = perpi_mjcf_section(m, "tendon", s)) {
        for (const perpi_xml_node* c = s->child; c != NULL; c = c->next) {
            const char* own = perpi_xml_get(c, "name");
            if (own != NULL && strcmp(own, name) == 0) {
                return strcmp(c->name, "fixed") == 0
                           ? read_fixed_tendon(m, c, made)
                           : perpi_mjcf_fail(m, node,
                                             "<%s>: actuators on spatial tendons are not supported",
                                             node->name);
            }
        }
    }
    return perpi_mjcf_fail(m, node, "<%s>: there is no tendon '%s'", node->name, name);
}

/* Stiffness and damping of a combination, pulling it to a value: of one joint a controller, of two a
 * soft gear, q2 = -(c1/c2) q1 + (value - constant)/c2. */
static perp_status pull(laws* l, const perpi_xml_node* node, const combination* full, double kp,
                        double kd, const char* target, double value, double most)
{
    perpi_mjcf* m = l->m;
    const combination c = reduce(l, full);
    const double k0 = c.coef[0], k1 = c.count > 1 ? c.coef[1] : 0.0;
    json_t* made = NULL;
    if (c.count == 0 || c.count > 2 || k0 == 0.0) {
        return perpi_mjcf_fail(m, node,
                               "<%s>: a tendon with laws of its own couples one or two joints, "
                               "this one %d",
                               node->name, (int)c.count);
    }
    if (c.count == 1) {
        made = json_pack("{s:s, s:s, s:s, s:f, s:f}", "type", "pd", "name", full->name, "joint",
                         m->joint[c.joint[0]].name, "kp", kp * k0 * k0, "kd", kd * k0 * k0);
        const char* scaled = NULL;
        if (target != NULL) {
            PERPI_TRY(
                perpi_mjcf_text(m, &scaled, "((%s)-(%.17g))/(%.17g)", target, c.constant, k0));
        }
        if (made == NULL ||
            json_object_set_new(made, "target",
                                target != NULL ? json_string(scaled)
                                               : json_real((value - c.constant) / k0)) != 0 ||
            json_array_append(m->controller_list, made) != 0) {
            json_decref(made);
            return perpi_mjcf_memory(m);
        }
        json_decref(made);
    } else {
        const char* name;
        if (target != NULL) {
            return perpi_mjcf_fail(m, node,
                                   "<%s>: dynamics of actuators on tendons of two joints "
                                   "are not supported",
                                   node->name);
        }
        PERPI_TRY(perpi_mjcf_text(m, &name, perpi_mjcf_find_joint(m, full->name) < 0 ? "%s" : "%s ",
                                  full->name));
        PERPI_TRY(write_gear(m, name, &c, -k0 / k1, (value - c.constant) / k1, &made));
        PERPI_TRY(memory_if(m, json_object_set_new(made, "stiffness", json_real(kp * k1 * k1)) |
                                   json_object_set_new(made, "damping", json_real(kd * k1 * k1))));
    }
    const double scale = c.count == 1 ? fabs(k0) : fabs(k1);
    return isfinite(most)
               ? memory_if(m, json_object_set_new(made, "max_effort", json_real(scale * most)))
               : PERP_OK;
}

static perp_status write_rope(laws* l, const perpi_mjcf_element* e)
{
    perpi_mjcf* m = l->m;
    double range[2] = {0}, stiffness = 0.0, damping = 0.0, rest[2] = {-1.0, -1.0};
    int limited = 2, given = 0;
    const perpi_xml_node *first = e->node->child, *second = first != NULL ? first->next : NULL;
    if (second == NULL || second->next != NULL || strcmp(first->name, "site") != 0 ||
        strcmp(second->name, "site") != 0) {
        return perpi_mjcf_fail(m, e->node,
                               "<spatial>: only tendons from one site to another are "
                               "supported, without pulleys and wrapping");
    }
    PERPI_TRY(perpi_mjcf_numbers(m, e, "range", 2, 2, range, &given));
    PERPI_TRY(perpi_mjcf_flag(m, e, "limited", true, &limited));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "stiffness", 1, 1, &stiffness, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "damping", 1, 1, &damping, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "springlength", 1, 2, rest, NULL));
    limited = limited == 2 ? given > 0 && m->autolimits : limited;
    if (limited != 0 && range[0] > 0.0) {
        return perpi_mjcf_fail(m, e->node, "<spatial> range: a least length is not supported");
    }
    int32_t s[2];
    const perpi_mjcf_element ends[2] = {{.node = first, .kind = "site", .level = -1},
                                        {.node = second, .kind = "site", .level = -1}};
    PERPI_TRY(find_site(m, &ends[0], "site", &s[0]));
    PERPI_TRY(find_site(m, &ends[1], "site", &s[1]));
    const int32_t body[2] = {m->site[s[0]].body, m->site[s[1]].body};
    const vec3 apart = v3_sub(perpi_pose_point(&m->body[body[0]].world, m->site[s[0]].pose.x),
                              perpi_pose_point(&m->body[body[1]].world, m->site[s[1]].pose.x));
    if (v3_norm(apart) > range[1] && limited != 0) {
        range[1] = v3_norm(apart);
        perpi_mjcf_note(m->approximate, sizeof m->approximate,
                        "a tendon that is longer at the start than its range keeps that length");
    }
    json_t* at[2] = {vector(point_in_scene(m, body[0], m->site[s[0]].pose.x)),
                     vector(point_in_scene(m, body[1], m->site[s[1]].pose.x))};
    const char *a = perpi_mjcf_scene_body(m, body[0]), *b = perpi_mjcf_scene_body(m, body[1]);
    const char* name;
    int failed = at[0] == NULL || at[1] == NULL;
    perp_status status = name_of(m, e->node, "rope", a, b, &name);
    if (status == PERP_OK && failed == 0 && limited != 0) {
        json_t* rope =
            json_pack("{s:s, s:s, s:s, s:s, s:O, s:O, s:f}", "name", name, "type", "rope", "a", a,
                      "b", b, "at_a", at[0], "at_b", at[1], "length", range[1]);
        failed |= rope == NULL || json_array_append_new(m->joint_list, rope) != 0;
    }
    if (status == PERP_OK && failed == 0 && (stiffness > 0.0 || damping > 0.0)) {
        json_t* spring =
            json_pack("{s:s, s:s, s:s, s:O, s:O, s:f, s:f}", "type", "spring", "a", a, "b", b,
                      "at_a", at[0], "at_b", at[1], "stiffness", stiffness, "damping", damping);
        failed |= spring == NULL || json_array_append(m->force_list, spring) != 0;
        if (failed == 0 && rest[0] >= 0.0) {
            failed |= json_object_set_new(spring, "rest", json_real(rest[0]));
        }
        json_decref(spring);
    }
    json_decref(at[0]);
    json_decref(at[1]);
    return status == PERP_OK ? memory_if(m, failed) : status;
}

static perp_status read_tendon_laws(laws* l, const perpi_mjcf_element* e)
{
    perpi_mjcf* m = l->m;
    double range[2], stiffness = 0.0, damping = 0.0, friction = 0.0, armature = 0.0,
                     rest[2] = {0.0, 0.0};
    int limited = 2, given = 0, sprung = 0;
    combination c;
    PERPI_TRY(read_fixed_tendon(m, e->node, &c));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "range", 2, 2, range, &given));
    PERPI_TRY(perpi_mjcf_flag(m, e, "limited", true, &limited));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "stiffness", 1, 1, &stiffness, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "damping", 1, 1, &damping, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "frictionloss", 1, 1, &friction, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "armature", 1, 1, &armature, NULL));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "springlength", 1, 2, rest, &sprung));
    limited = limited == 2 ? given > 0 && m->autolimits : limited;
    if (limited != 0 || friction > 0.0 || armature > 0.0) {
        return perpi_mjcf_fail(m, e->node, "<fixed>: %s of tendons is not supported",
                               limited != 0     ? "range"
                               : friction > 0.0 ? "frictionloss"
                                                : "armature");
    }
    if (!(stiffness > 0.0 || damping > 0.0)) {
        return PERP_OK;
    }
    if (sprung == 2 && rest[0] != rest[1]) {
        return perpi_mjcf_fail(m, e->node, "<fixed> springlength: two lengths are not supported");
    }
    double length = 0.0; /* at the pose of the file */
    for (int32_t i = 0; i < c.count; ++i) {
        length += c.coef[i] * m->joint[c.joint[i]].ref;
    }
    PERPI_TRY(perpi_mjcf_text(m, &c.name, "%s spring", c.name != NULL ? c.name : "tendon"));
    return pull(l, e->node, &c, stiffness, damping, NULL,
                sprung > 0 && rest[0] >= 0.0 ? rest[0] : length, INFINITY);
}

static perp_status read_tendons(laws* l)
{
    static const char* const read[] = {"name",      "class",   "limited",      "range",
                                       "stiffness", "damping", "frictionloss", "springlength",
                                       "armature",  NULL};
    static const char* const soft[] = {"solreflimit",    "solimplimit", "solreffriction",
                                       "solimpfriction", "margin",      NULL};
    static const char* const ignored[] = {"group", "width", "material", "rgba", "user", NULL};
    perpi_mjcf* m = l->m;
    for (const perpi_xml_node* s = perpi_mjcf_section(m, "tendon", NULL); s != NULL;
         s = perpi_mjcf_section(m, "tendon", s)) {
        for (const perpi_xml_node* c = s->child; c != NULL; c = c->next) {
            perpi_mjcf_element e;
            PERPI_TRY(perpi_mjcf_check(m, c, read, soft, ignored));
            PERPI_TRY(perpi_mjcf_element_of(m, c, "tendon", 0, &e));
            if (strcmp(c->name, "fixed") == 0) {
                PERPI_TRY(read_tendon_laws(l, &e));
            } else if (strcmp(c->name, "spatial") == 0) {
                PERPI_TRY(write_rope(l, &e));
            } else {
                return perpi_mjcf_fail(m, c, "<tendon>: <%s> is not supported", c->name);
            }
        }
    }
    return PERP_OK;
}

/* ---- actuators ---------------------------------------------------------------------------------- */

typedef struct actuator {
    const perpi_mjcf_element* e;
    const char* name;
    double gear[6];
    double gain, bias[3];
    double ctrl;
    double range[2];  /* of ctrl; range[0] > range[1]: none */
    double most;      /* of |f| */
    double time;      /* constant of a filter; 0: none; < 0: an integrator */
    double dampratio; /* of a position actuator; 0: none */
} actuator;

static perp_status read_gains(const perpi_mjcf* m, actuator* a)
{
    const perpi_mjcf_element* e = a->e;
    const char* kind = e->node->name;
    double kp = 1.0, kv = 0.0, gain[10] = {1.0}, bias[10] = {0};
    int given = 0;
    if (strcmp(kind, "position") == 0 || strcmp(kind, "intvelocity") == 0) {
        PERPI_TRY(perpi_mjcf_numbers(m, e, "kp", 1, 1, &kp, NULL));
        PERPI_TRY(perpi_mjcf_numbers(m, e, "kv", 1, 1, &kv, NULL));
        PERPI_TRY(perpi_mjcf_numbers(m, e, "dampratio", 1, 1, &a->dampratio, NULL));
        PERPI_TRY(perpi_mjcf_numbers(m, e, "timeconst", 1, 1, &a->time, NULL));
        a->time = kind[0] == 'i' ? -1.0 : a->time;
        a->gain = kp;
        a->bias[1] = -kp;
        a->bias[2] = -kv;
        return PERP_OK;
    }
    if (strcmp(kind, "velocity") == 0 || strcmp(kind, "damper") == 0) {
        kv = 1.0;
        PERPI_TRY(perpi_mjcf_numbers(m, e, "kv", 1, 1, &kv, NULL));
        const bool damper = kind[0] == 'd';
        a->gain = damper ? 0.0 : kv;
        a->bias[2] = damper ? -kv * a->ctrl : -kv;
        return PERP_OK;
    }
    a->gain = 1.0;
    if (strcmp(kind, "motor") == 0) {
        return PERP_OK;
    }
    const char *gaintype = perpi_mjcf_get(m, e, "gaintype"),
               *biastype = perpi_mjcf_get(m, e, "biastype");
    PERPI_TRY(perpi_mjcf_numbers(m, e, "gainprm", 1, 10, gain, &given));
    PERPI_TRY(perpi_mjcf_numbers(m, e, "biasprm", 1, 10, bias, NULL));
    if ((gaintype != NULL && strcmp(gaintype, "fixed") != 0 && strcmp(gaintype, "affine") != 0) ||
        ((gaintype != NULL && strcmp(gaintype, "affine") == 0) &&
         (gain[1] != 0.0 || gain[2] != 0.0))) {
        return perpi_mjcf_fail(m, e->node, "<general>: the gaintype '%s' is not supported",
                               gaintype);
    }
    if (biastype != NULL && strcmp(biastype, "none") != 0 && strcmp(biastype, "affine") != 0) {
        return perpi_mjcf_fail(m, e->node, "<general>: the biastype '%s' is not supported",
                               biastype);
    }
    a->gain = gain[0];
    if (biastype != NULL && strcmp(biastype, "affine") == 0) {
        memcpy(a->bias, bias, sizeof a->bias);
    }
    return PERP_OK;
}

static perp_status read_dynamics(const perpi_mjcf* m, actuator* a)
{
    const char* type = perpi_mjcf_get(m, a->e, "dyntype");
    double prm[10] = {1.0};
    if (strcmp(a->e->node->name, "general") != 0 || type == NULL || strcmp(type, "none") == 0) {
        return PERP_OK;
    }
    PERPI_TRY(perpi_mjcf_numbers(m, a->e, "dynprm", 1, 10, prm, NULL));
    if (strcmp(type, "filter") == 0 || strcmp(type, "filterexact") == 0) {
        a->time = prm[0];
    } else if (strcmp(type, "integrator") == 0) {
        a->time = -1.0;
    } else {
        return perpi_mjcf_fail(m, a->e->node, "<general>: the dyntype '%s' is not supported", type);
    }
    return PERP_OK;
}

static perp_status read_ranges(perpi_mjcf* m, actuator* a, const perpi_mjcf_joint* joint,
                               int32_t index)
{
    double force[2] = {0}, inherit = 0.0;
    int limited = 2, forced = 2, given = 0, has_force = 0;
    a->range[0] = 1.0;
    a->range[1] = -1.0;
    double range[2] = {0};
    PERPI_TRY(perpi_mjcf_numbers(m, a->e, "ctrlrange", 2, 2, range, &given));
    PERPI_TRY(perpi_mjcf_flag(m, a->e, "ctrllimited", true, &limited));
    PERPI_TRY(perpi_mjcf_numbers(m, a->e, "inheritrange", 1, 1, &inherit, NULL));
    if (inherit > 0.0 && given == 0 && joint != NULL && joint->limited) {
        const double mid = 0.5 * (joint->range[0] + joint->range[1]),
                     half = 0.5 * inherit * (joint->range[1] - joint->range[0]);
        range[0] = mid - half;
        range[1] = mid + half;
        given = 2;
    }
    if (given > 0 && (limited == 1 || (limited == 2 && m->autolimits))) {
        memcpy(a->range, range, sizeof range);
    }
    a->ctrl = index < m->ctrl_count ? m->ctrl[index] : 0.0;
    if (a->range[0] <= a->range[1]) {
        a->ctrl = a->ctrl < a->range[0]   ? a->range[0]
                  : a->ctrl > a->range[1] ? a->range[1]
                                          : a->ctrl;
    }
    PERPI_TRY(perpi_mjcf_numbers(m, a->e, "forcerange", 2, 2, force, &has_force));
    PERPI_TRY(perpi_mjcf_flag(m, a->e, "forcelimited", true, &forced));
    a->most = INFINITY;
    if (has_force > 0 && (forced == 1 || (forced == 2 && m->autolimits))) {
        a->most = perpi_larger(fabs(force[0]), fabs(force[1]));
        if (force[0] != -force[1]) {
            perpi_mjcf_note(m->approximate, sizeof m->approximate,
                            "a forcerange that is not symmetric counts with its larger bound");
        }
    }
    return PERP_OK;
}

/* An effort motor on one joint; several add up. */
static perp_status write_effort(laws* l, const actuator* a, int32_t index, double coef,
                                double effort, const char* text)
{
    perpi_mjcf* m = l->m;
    const perpi_mjcf_joint* joint = &m->joint[index];
    double most = isfinite(a->most) ? fabs(coef) * a->most
                  : a->range[0] <= a->range[1]
                      ? fabs(coef * a->gain) * perpi_larger(fabs(a->range[0]), fabs(a->range[1]))
                      : INFINITY;
    most = most < joint->effort ? most : joint->effort;
    json_t* motor = json_object_get(joint->json, "motor");
    if (motor != NULL) {
        json_t* target = json_object_get(motor, "target");
        const char* type = json_string_value(json_object_get(motor, "type"));
        if (type == NULL || strcmp(type, "effort") != 0 || !json_is_number(target) ||
            text != NULL) {
            return perpi_mjcf_fail(m, a->e->node, "<%s>: another law moves the joint '%s'",
                                   a->e->node->name, joint->name);
        }
        const json_t* old = json_object_get(motor, "max_effort");
        effort += json_number_value(target);
        most = json_is_number(old) && isfinite(most) ? most + json_number_value(old) : INFINITY;
        (void)json_object_del(motor, "max_effort");
        PERPI_TRY(memory_if(m, json_object_set_new(motor, "target", json_real(effort))));
    } else {
        motor = json_pack("{s:s, s:o}", "type", "effort", "target",
                          text != NULL ? json_string(text) : json_real(effort));
        PERPI_TRY(
            memory_if(m, motor == NULL || json_object_set_new(joint->json, "motor", motor) != 0));
    }
    return isfinite(most) ? memory_if(m, json_object_set_new(motor, "max_effort", json_real(most)))
                          : PERP_OK;
}

/* The constant part of the force, c + gain u(t), as a text if the actuator has dynamics. */
static perp_status constant_part(perpi_mjcf* m, const actuator* a, double scale, const char** text,
                                 double* value)
{
    *value = scale * (a->gain * a->ctrl + a->bias[0]);
    *text = NULL;
    if (a->time == 0.0 || a->ctrl == 0.0) {
        return PERP_OK;
    }
    return a->time < 0.0 ? perpi_mjcf_text(m, text, "%.17g*t+(%.17g)", scale * a->gain * a->ctrl,
                                           scale * a->bias[0])
                         : perpi_mjcf_text(m, text, "%.17g*(1-exp(-t/%.17g))+(%.17g)",
                                           scale * a->gain * a->ctrl, a->time, scale * a->bias[0]);
}

static perp_status write_actuator(laws* l, actuator* a, combination* c)
{
    perpi_mjcf* m = l->m;
    const double G = a->gear[0];
    const perpi_mjcf_joint* first = &m->joint[c->joint[0]];
    for (int32_t i = 0; i < c->count; ++i) {
        c->coef[i] *= G; /* from here on the combination is the actuator's length */
    }
    if (a->dampratio > 0.0) {
        double mass = 0.0; /* of the length */
        for (int32_t i = 0; i < c->count; ++i) {
            mass += m->joint[c->joint[i]].inertia / (c->coef[i] * c->coef[i]);
        }
        a->bias[2] = -2.0 * a->dampratio * sqrt(-a->bias[1] * mass);
    }
    const double kp = -a->bias[1], kd = -a->bias[2];
    if (kp < 0.0 || kd < 0.0) {
        return perpi_mjcf_fail(m, a->e->node,
                               "<%s>: a force that grows with the %s is not supported",
                               a->e->node->name, kp < 0.0 ? "length" : "velocity");
    }
    const char* text;
    double value;
    c->name = a->name;
    if (c->count == 1 && isfinite(first->effort)) {
        const double most = first->effort / fabs(c->coef[0]);
        a->most = most < a->most ? most : a->most;
    }
    if (kp > 0.0) {
        PERPI_TRY(constant_part(m, a, 1.0 / kp, &text, &value));
        return pull(l, a->e->node, c, kp, kd, text, value, a->most);
    }
    if (kd > 0.0) { /* a speed: a target that moves */
        PERPI_TRY(constant_part(m, a, 1.0 / kd, &text, &value));
        if (text != NULL) {
            return perpi_mjcf_fail(m, a->e->node,
                                   "<%s>: dynamics of a velocity actuator are not "
                                   "supported",
                                   a->e->node->name);
        }
        if (value != 0.0) {
            PERPI_TRY(perpi_mjcf_text(m, &text, "%.17g*t", value));
        }
        return pull(l, a->e->node, c, 0.0, kd, text, 0.0, a->most);
    }
    for (int32_t i = 0; i < c->count; ++i) {
        PERPI_TRY(constant_part(m, a, c->coef[i], &text, &value));
        PERPI_TRY(write_effort(l, a, c->joint[i], c->coef[i], value, text));
    }
    return PERP_OK;
}

/* A wrench on the body of a site, in its frame. */
static perp_status write_thrust(laws* l, const actuator* a)
{
    perpi_mjcf* m = l->m;
    int32_t s;
    PERPI_TRY(find_site(m, a->e, "site", &s));
    if (perpi_mjcf_get(m, a->e, "refsite") != NULL || a->bias[1] != 0.0 || a->bias[2] != 0.0) {
        return perpi_mjcf_fail(m, a->e->node, "<%s>: only a constant force at a site is supported",
                               a->e->node->name);
    }
    const perpi_mjcf_site* site = &m->site[s];
    const perpi_mjcf_body* b = &m->body[site->body];
    if (b->host == 0) {
        return PERP_OK;
    }
    double f = a->gain * a->ctrl + a->bias[0];
    f = f > a->most ? a->most : f < -a->most ? -a->most : f;
    const perpi_pose pose = perpi_pose_mul(&b->in_host, &site->pose);
    const vec3 force = v3_scale(f, m3_mul(pose.R, v3_from(a->gear)));
    const vec3 torque = v3_scale(f, m3_mul(pose.R, v3_from(a->gear + 3)));
    json_t* wrench =
        json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "type", "wrench", "body", m->body[b->host].name,
                  "frame", "body", "force", vector(force), "torque", vector(torque), "at",
                  vector(v3_sub(pose.x, m->body[b->host].mass.center)));
    return memory_if(m, wrench == NULL || json_array_append_new(m->force_list, wrench) != 0);
}

static perp_status check_one_transmission(const perpi_mjcf* m, const perpi_mjcf_element* e)
{
    static const char* const names[] = {"joint", "jointinparent", "tendon", "site"};
    const char* first = NULL;
    for (int i = 0; i < 4; ++i) {
        if (perpi_mjcf_get(m, e, names[i]) == NULL) {
            continue;
        }
        if (first != NULL) {
            return perpi_mjcf_fail(m, e->node, "<%s>: give '%s' or '%s', not both", e->node->name,
                                   first, names[i]);
        }
        first = names[i];
    }
    return PERP_OK;
}

static perp_status read_actuator(laws* l, const perpi_xml_node* node, int32_t index)
{
    static const char* const kinds[] = {"general",     "motor",  "position", "velocity",
                                        "intvelocity", "damper", NULL};
    static const char* const read[] = {
        "name",     "class",     "joint",       "jointinparent", "tendon",       "site",
        "refsite",  "ctrlrange", "ctrllimited", "forcerange",    "forcelimited", "gear",
        "kp",       "kv",        "dampratio",   "timeconst",     "inheritrange", "gaintype",
        "biastype", "gainprm",   "biasprm",     "dyntype",       "dynprm",       "actlimited",
        "actrange", "actdim",    NULL};
    static const char* const ignored[] = {"group",       "user",     "lengthrange",
                                          "cranklength", "actearly", NULL};
    perpi_mjcf* m = l->m;
    bool known = false;
    for (int i = 0; kinds[i] != NULL; ++i) {
        known = known || strcmp(node->name, kinds[i]) == 0;
    }
    if (!known) {
        return perpi_mjcf_fail(m, node, "<actuator>: <%s> is not supported", node->name);
    }
    perpi_mjcf_element e;
    combination c = {.count = 1, .coef = {1.0}};
    actuator a = {.e = &e, .name = perpi_xml_get(node, "name"), .gear = {1.0}};
    PERPI_TRY(perpi_mjcf_check(m, node, read, NULL, ignored));
    PERPI_TRY(perpi_mjcf_element_of(m, node, node->name, 0, &e));
    if (a.name == NULL) {
        PERPI_TRY(perpi_mjcf_text(m, &a.name, "actuator%d", (int)index));
    }
    PERPI_TRY(perpi_mjcf_numbers(m, &e, "gear", 1, 6, a.gear, NULL));
    PERPI_TRY(check_one_transmission(m, &e));
    const char* joint = perpi_mjcf_get(m, &e, "joint");
    joint = joint != NULL ? joint : perpi_mjcf_get(m, &e, "jointinparent");
    const char* tendon = perpi_mjcf_get(m, &e, "tendon");
    if (joint != NULL) {
        PERPI_TRY(find_joint(m, node, joint, true, &c.joint[0]));
    } else if (tendon != NULL) {
        PERPI_TRY(find_tendon(m, node, tendon, &c));
    }
    PERPI_TRY(read_ranges(m, &a, joint != NULL ? &m->joint[c.joint[0]] : NULL, index));
    PERPI_TRY(read_gains(m, &a));
    PERPI_TRY(read_dynamics(m, &a));
    if (joint == NULL && tendon == NULL) {
        return perpi_mjcf_get(m, &e, "site") != NULL
                   ? write_thrust(l, &a)
                   : perpi_mjcf_fail(m, node,
                                     "<%s>: only joints, fixed tendons and sites can be driven",
                                     node->name);
    }
    if (a.gear[0] == 0.0) {
        return perpi_mjcf_fail(m, node, "<%s> gear: must not be 0", node->name);
    }
    return write_actuator(l, &a, &c);
}

perp_status perpi_mjcf_laws(perpi_mjcf* m)
{
    laws l = {.m = m};
    PERPI_TRY(perpi_arena_take(m->arena, m->joints.count + 1, sizeof *l.coupled, &l.coupled));
    for (size_t i = 0; i < m->joints.count; ++i) {
        l.coupled[i] = (coupling){.of = -1};
    }
    PERPI_TRY(read_equalities(&l));
    PERPI_TRY(read_tendons(&l));
    int32_t index = 0;
    for (const perpi_xml_node* s = perpi_mjcf_section(m, "actuator", NULL); s != NULL;
         s = perpi_mjcf_section(m, "actuator", s)) {
        for (const perpi_xml_node* c = s->child; c != NULL; c = c->next) {
            PERPI_TRY(read_actuator(&l, c, index++));
        }
    }
    return PERP_OK;
}
