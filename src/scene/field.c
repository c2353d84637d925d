/* src/scene/field.c - see field.h. */
#include "scene/field.h"

#include <string.h>

#include "shape/polyhedron.h"

static int32_t vertex_numbers(const perpi_shape* s)
{
    return s->polyhedron != NULL ? 3 * s->polyhedron->vertex_count : 2 * s->count;
}

int32_t perpi_field_items(const perp_model* m, perpi_field_kind kind)
{
    switch (kind) {
    case PERPI_FIELD_SHAPE_SIZE:
    case PERPI_FIELD_SHAPE_NORMAL:
    case PERPI_FIELD_SHAPE_PLACE:
    case PERPI_FIELD_SHAPE_ROTATION:
    case PERPI_FIELD_SHAPE_VERTEX:
    case PERPI_FIELD_SHAPE_FRICTION:
    case PERPI_FIELD_VALUE_SURFACE: return (int32_t)m->shape_count;
    case PERPI_FIELD_PAIR_FRICTION:
    case PERPI_FIELD_PAIR_RESTITUTION: return (int32_t)m->pair_count;
    case PERPI_FIELD_WRENCH_PLACE:
    case PERPI_FIELD_VALUE_FORCE: return (int32_t)m->wrench_count;
    case PERPI_FIELD_SPRING: return (int32_t)m->spring_count;
    case PERPI_FIELD_CONTROLLER:
    case PERPI_FIELD_VALUE_TARGET: return (int32_t)m->controller_count;
    case PERPI_FIELD_JOINT_PLACE:
    case PERPI_FIELD_JOINT_FRAME:
    case PERPI_FIELD_JOINT_NUMBER:
    case PERPI_FIELD_VALUE_MOTOR: return (int32_t)m->joint_count;
    case PERPI_FIELD_GRAVITY: return 1;
    default: return (int32_t)m->body_count;
    }
}

int32_t perpi_field_parts(const perp_model* m, perpi_field_kind kind, int32_t index)
{
    static const int32_t parts[PERPI_FIELD_KIND_COUNT] = {
        [PERPI_FIELD_BODY_MASS] = 1,        [PERPI_FIELD_BODY_INERTIA] = 9,
        [PERPI_FIELD_BODY_GRAVITY] = 3,     [PERPI_FIELD_BODY_FRICTION] = 1,
        [PERPI_FIELD_BODY_RESTITUTION] = 1, [PERPI_FIELD_BODY_OFFSET] = 3,
        [PERPI_FIELD_BODY_DRAG] = 2,        [PERPI_FIELD_BODY_LAYER] = 20,
        [PERPI_FIELD_BODY_SPEEDS] = 2,      [PERPI_FIELD_START_POSITION] = 3,
        [PERPI_FIELD_START_ROTATION] = 3,   [PERPI_FIELD_START_VELOCITY] = 6,
        [PERPI_FIELD_SUPPORT_PLACE] = 9,    [PERPI_FIELD_SUPPORT_FRICTION] = 3,
        [PERPI_FIELD_SUPPORT_LOAD] = 3,     [PERPI_FIELD_SHAPE_SIZE] = 11,
        [PERPI_FIELD_SHAPE_NORMAL] = 3,     [PERPI_FIELD_SHAPE_PLACE] = 3,
        [PERPI_FIELD_SHAPE_ROTATION] = 3,   [PERPI_FIELD_SHAPE_FRICTION] = 1,
        [PERPI_FIELD_PAIR_FRICTION] = 1,    [PERPI_FIELD_PAIR_RESTITUTION] = 1,
        [PERPI_FIELD_WRENCH_PLACE] = 3,     [PERPI_FIELD_SPRING] = 9,
        [PERPI_FIELD_CONTROLLER] = 7,       [PERPI_FIELD_JOINT_PLACE] = 6,
        [PERPI_FIELD_JOINT_FRAME] = 6,      [PERPI_FIELD_JOINT_NUMBER] = 15,
        [PERPI_FIELD_GRAVITY] = 3,          [PERPI_FIELD_VALUE_FORCE] = 6,
        [PERPI_FIELD_VALUE_MOTOR] = 1,      [PERPI_FIELD_VALUE_TARGET] = 1,
        [PERPI_FIELD_VALUE_MOTION] = 18,    [PERPI_FIELD_VALUE_SURFACE] = 3,
        [PERPI_FIELD_OSCILLATION] = 1,
    };
    return kind == PERPI_FIELD_SHAPE_VERTEX ? vertex_numbers(&m->shape[index]) : parts[kind];
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

static double body_number(const perpi_body* b, perpi_field_kind kind, int32_t part)
{
    const perpi_layer* layer = &b->layer;
    switch (kind) {
    case PERPI_FIELD_BODY_MASS: return b->mass;
    case PERPI_FIELD_BODY_INERTIA: return b->inertia.m[part / 3][part % 3];
    case PERPI_FIELD_BODY_GRAVITY: return v3_get(b->gravity, part);
    case PERPI_FIELD_BODY_FRICTION: return b->friction;
    case PERPI_FIELD_BODY_RESTITUTION: return b->restitution;
    case PERPI_FIELD_BODY_OFFSET: return v3_get(b->offset, part);
    case PERPI_FIELD_BODY_DRAG: return part == 0 ? b->drag_linear : b->drag_angular;
    case PERPI_FIELD_BODY_LAYER:
        return part < 9     ? layer->K.m[part / 3][part % 3]
               : part < 18  ? layer->C.m[(part - 9) / 3][part % 3]
               : part == 18 ? layer->limit
                            : layer->patch;
    case PERPI_FIELD_BODY_SPEEDS: return part == 0 ? b->motion.max_speed : b->motion.max_rate;
    case PERPI_FIELD_START_POSITION: return v3_get(b->pose.x, part);
    case PERPI_FIELD_START_VELOCITY: return part < 3 ? v3_get(b->v, part) : v3_get(b->w, part - 3);
    case PERPI_FIELD_SUPPORT_PLACE: return v3_get(b->support.at[part / 3], part % 3);
    case PERPI_FIELD_SUPPORT_FRICTION: return b->support.mu[part];
    case PERPI_FIELD_SUPPORT_LOAD: return b->support.load[part];
    default: return 0.0;
    }
}

static double shape_number(const perp_model* m, perpi_field_kind kind, int32_t index, int32_t part)
{
    const perpi_shape* s = &m->shape[index];
    switch (kind) {
    case PERPI_FIELD_SHAPE_SIZE:
        return part == 0   ? s->radius
               : part == 1 ? s->length
               : part == 2 ? s->offset
               : part < 6  ? v3_get(s->half, part - 3)
               : part < 9  ? v3_get(s->radii, part - 6)
                           : s->exponent[part - 9];
    case PERPI_FIELD_SHAPE_NORMAL: return v3_get(s->normal, part);
    case PERPI_FIELD_SHAPE_PLACE: return v3_get(s->local.x, part);
    case PERPI_FIELD_SHAPE_VERTEX:
        return s->polyhedron != NULL ? v3_get(s->polyhedron->vertex[part / 3], part % 3)
                                     : s->vertex[part];
    case PERPI_FIELD_SHAPE_FRICTION: return m->surface[index].friction;
    default: return 0.0;
    }
}

static double joint_number(const perpi_joint* j, perpi_field_kind kind, int32_t part)
{
    if (kind == PERPI_FIELD_JOINT_PLACE) {
        return v3_get(j->at[part / 3], part % 3);
    }
    const double number[15] = {j->angle,          j->start,      j->rest[0],   j->rest[1],
                               j->length,         j->limits[0],  j->limits[1], j->friction,
                               j->damping,        j->max_effort, j->ratio,     j->offset,
                               j->velocity_limit, j->armature,   j->stiffness};
    return number[part];
}

static double force_number(const perp_model* m, perpi_field_kind kind, int32_t index, int32_t part)
{
    if (kind == PERPI_FIELD_WRENCH_PLACE) {
        return v3_get(m->wrench[index].at, part);
    }
    if (kind == PERPI_FIELD_SPRING) {
        const perpi_spring* s = &m->spring[index];
        return part < 6    ? v3_get(s->at[part / 3], part % 3)
               : part == 6 ? s->stiffness
               : part == 7 ? s->damping
                           : s->rest;
    }
    const perpi_controller* c = &m->controller[index];
    const double number[4] = {c->kp, c->ki, c->kd, c->max_effort};
    return part < 4 ? number[part] : v3_get(c->axis, part - 4);
}

const perpi_value* perpi_field_value(const perp_model* m, const perpi_field* f)
{
    const int32_t p = f->part;
    switch (f->kind) {
    case PERPI_FIELD_VALUE_FORCE:
        return p < 3 ? &m->wrench[f->index].force[p] : &m->wrench[f->index].torque[p - 3];
    case PERPI_FIELD_VALUE_MOTOR: return &m->joint[f->index].target;
    case PERPI_FIELD_VALUE_TARGET: return &m->controller[f->index].target;
    case PERPI_FIELD_VALUE_SURFACE: return &m->surface[f->index].velocity[p];
    case PERPI_FIELD_VALUE_MOTION: {
        const perpi_motion* motion = &m->body[f->index].motion;
        return p < 3     ? &motion->position[p]
               : p < 7   ? &motion->orientation[p - 3]
               : p < 11  ? &motion->axis_angle[p - 7]
               : p == 11 ? &motion->angle
               : p < 15  ? &motion->velocity[p - 12]
                         : &motion->angular_velocity[p - 15];
    }
    default: return NULL;
    }
}

double perpi_field_number(const perp_model* m, const perpi_field* f)
{
    const perpi_value* value = perpi_field_value(m, f);
    if (value != NULL) {
        return perpi_value_varies(value) ? NAN : value->number;
    }
    switch (f->kind) {
    case PERPI_FIELD_SHAPE_SIZE:
    case PERPI_FIELD_SHAPE_NORMAL:
    case PERPI_FIELD_SHAPE_PLACE:
    case PERPI_FIELD_SHAPE_VERTEX:
    case PERPI_FIELD_SHAPE_FRICTION: return shape_number(m, f->kind, f->index, f->part);
    case PERPI_FIELD_PAIR_FRICTION: return m->pair[f->index].mu;
    case PERPI_FIELD_PAIR_RESTITUTION: return m->pair[f->index].restitution;
    case PERPI_FIELD_WRENCH_PLACE:
    case PERPI_FIELD_SPRING:
    case PERPI_FIELD_CONTROLLER: return force_number(m, f->kind, f->index, f->part);
    case PERPI_FIELD_JOINT_PLACE:
    case PERPI_FIELD_JOINT_NUMBER: return joint_number(&m->joint[f->index], f->kind, f->part);
    case PERPI_FIELD_GRAVITY: return v3_get(m->gravity, f->part);
    case PERPI_FIELD_START_ROTATION:
    case PERPI_FIELD_SHAPE_ROTATION:
    case PERPI_FIELD_JOINT_FRAME:
    case PERPI_FIELD_OSCILLATION: return 0.0;
    default: return body_number(&m->body[f->index], f->kind, f->part);
    }
}

/* ---- rotations ---------------------------------------------------------------------------------------- */

/* Of the rotation vector r with `to` = exp(r) `from`. Equal quaternions give 0 exactly. */
static double turn_entry(quat from, quat to, int32_t part)
{
    if (memcmp(&from, &to, sizeof from) == 0) {
        return 0.0;
    }
    return v3_get(q4_log(q4_mul(to, q4_conj(from))), part);
}

double perpi_field_between(const perp_model* base, const perp_model* m, perpi_field f)
{
    switch (f.kind) {
    case PERPI_FIELD_START_ROTATION:
        if (m->dimension == 2) { /* the angle counts turns */
            return f.part == 2 ? m->body[f.index].angle - base->body[f.index].angle : 0.0;
        }
        return turn_entry(base->body[f.index].pose.q, m->body[f.index].pose.q, f.part);
    case PERPI_FIELD_SHAPE_ROTATION:
        return turn_entry(base->shape[f.index].local.q, m->shape[f.index].local.q, f.part);
    case PERPI_FIELD_JOINT_FRAME:
        return turn_entry(base->joint[f.index].frame[f.part / 3],
                          m->joint[f.index].frame[f.part / 3], f.part % 3);
    default: return perpi_field_number(m, &f);
    }
}

/* ---- what a field belongs to -------------------------------------------------------------------------- */

static void joint_bodies(const perp_model* m, int32_t i, int32_t body[PERPI_FIELD_BODIES])
{
    const perpi_joint* j = &m->joint[i];
    for (int side = 0; side < 2; ++side) {
        const perpi_joint* geared = j->type == PERP_JOINT_GEAR ? &m->joint[j->geared[side]] : NULL;
        body[side] = geared != NULL ? geared->body[0] : j->body[side];
        body[2 + side] = geared != NULL ? geared->body[1] : -1;
    }
}

void perpi_field_bodies(const perp_model* m, perpi_field f, int32_t body[PERPI_FIELD_BODIES])
{
    const int32_t i = f.index;
    body[0] = body[1] = body[2] = body[3] = -1;
    switch (f.kind) {
    case PERPI_FIELD_SHAPE_SIZE:
    case PERPI_FIELD_SHAPE_NORMAL:
    case PERPI_FIELD_SHAPE_PLACE:
    case PERPI_FIELD_SHAPE_ROTATION:
    case PERPI_FIELD_SHAPE_VERTEX:
    case PERPI_FIELD_SHAPE_FRICTION:
    case PERPI_FIELD_VALUE_SURFACE: body[0] = m->surface[i].body; break;
    case PERPI_FIELD_PAIR_FRICTION:
    case PERPI_FIELD_PAIR_RESTITUTION:
        body[0] = m->pair[i].a;
        body[1] = m->pair[i].b;
        break;
    case PERPI_FIELD_WRENCH_PLACE:
    case PERPI_FIELD_VALUE_FORCE: body[0] = m->wrench[i].body; break;
    case PERPI_FIELD_SPRING: memcpy(body, m->spring[i].body, 2 * sizeof *body); break;
    case PERPI_FIELD_CONTROLLER:
    case PERPI_FIELD_VALUE_TARGET:
        if (m->controller[i].joint >= 0) {
            joint_bodies(m, m->controller[i].joint, body);
        } else {
            body[0] = m->controller[i].body;
        }
        break;
    case PERPI_FIELD_JOINT_PLACE:
    case PERPI_FIELD_JOINT_FRAME:
    case PERPI_FIELD_JOINT_NUMBER:
    case PERPI_FIELD_VALUE_MOTOR: joint_bodies(m, i, body); break;
    case PERPI_FIELD_GRAVITY: break; /* each body has its own */
    default: body[0] = i; break;
    }
}

bool perpi_field_value_differs(const perpi_value* a, const perpi_value* b)
{
    if (a->expr != NULL && b->expr != NULL) {
        return strcmp(perpi_expr_text(a->expr), perpi_expr_text(b->expr)) != 0;
    }
    if (a->curve != NULL && b->curve != NULL) {
        return !perpi_curve_equal(a->curve, b->curve);
    }
    return a->expr != b->expr || a->curve != b->curve || a->number != b->number;
}

bool perpi_field_oscillation_differs(const perp_model* a, const perp_model* b, int32_t body,
                                     double duration)
{
    enum { TIMES = 16 };
    const perpi_oscillation *o = a->body[body].motion.oscillation,
                            *p = b->body[body].motion.oscillation;
    bool differs = false;
    for (int k = 0; k < TIMES && o != NULL && p != NULL && !differs; ++k) {
        const double t = duration * 0.618033988749895 * k / TIMES; /* no period divides these */
        vec3 x, y, v, w, v2, w2;
        quat q, r;
        double angle, other;
        perpi_oscillation_at(o, t, &x, &q, &angle, &v, &w);
        perpi_oscillation_at(p, t, &y, &r, &other, &v2, &w2);
        differs = memcmp(&x, &y, sizeof x) != 0 || memcmp(&q, &r, sizeof q) != 0 ||
                  angle != other || memcmp(&v, &v2, sizeof v) != 0 ||
                  memcmp(&w, &w2, sizeof w) != 0;
    }
    return differs;
}

/* ---- structure ------------------------------------------------------------------------------------------ */

static bool same_shape(const perpi_shape* s, const perpi_shape* t)
{
    if (s->type != t->type || s->count != t->count || s->intangible != t->intangible ||
        (s->polyhedron != NULL) != (t->polyhedron != NULL)) {
        return false;
    }
    if (s->polyhedron == NULL) {
        return true;
    }
    const perpi_polyhedron *p = s->polyhedron, *q = t->polyhedron;
    return p->vertex_count == q->vertex_count && p->edge_count == q->edge_count &&
           p->face_count == q->face_count &&
           memcmp(p->edge, q->edge, (size_t)p->edge_count * sizeof *p->edge) == 0 &&
           memcmp(p->face_start, q->face_start,
                  ((size_t)p->face_count + 1) * sizeof *p->face_start) == 0 &&
           memcmp(p->corner, q->corner, (size_t)p->face_start[p->face_count] * sizeof *p->corner) ==
               0;
}

static bool same_body(const perpi_body* a, const perpi_body* b)
{
    return a->type == b->type && a->particle == b->particle && a->dofs == b->dofs &&
           a->shape == b->shape && a->shape_count == b->shape_count &&
           a->motion.type == b->motion.type && a->motion.follows == b->motion.follows &&
           a->support.points == b->support.points && a->layer.soft == b->layer.soft &&
           a->layer.smooth == b->layer.smooth && a->joints == b->joints && a->wrench == b->wrench;
}

static bool same_joint(const perpi_joint* a, const perpi_joint* b)
{
    return a->type == b->type && a->body[0] == b->body[0] && a->body[1] == b->body[1] &&
           a->has_limits == b->has_limits && a->motor == b->motor && a->rows == b->rows &&
           a->coordinates == b->coordinates && a->geared[0] == b->geared[0] &&
           a->geared[1] == b->geared[1] && (a->friction > 0.0) == (b->friction > 0.0) &&
           (a->armature > 0.0) == (b->armature > 0.0) &&
           (a->stiffness > 0.0) == (b->stiffness > 0.0);
}

bool perpi_field_same_structure(const perp_model* a, const perp_model* b, const char** what)
{
    *what = "the number of bodies, joints, forces or pairs";
    bool same = a->dimension == b->dimension && a->body_count == b->body_count &&
                a->shape_count == b->shape_count && a->joint_count == b->joint_count &&
                a->pair_count == b->pair_count && a->wrench_count == b->wrench_count &&
                a->spring_count == b->spring_count && a->controller_count == b->controller_count;
    for (size_t i = 0; same && i < a->body_count; ++i) {
        *what = "the kind of a body";
        same = same_body(&a->body[i], &b->body[i]);
    }
    for (size_t i = 0; same && i < a->shape_count; ++i) {
        *what = "the type, the vertices or the faces of a shape";
        same = same_shape(&a->shape[i], &b->shape[i]);
    }
    for (size_t i = 0; same && i < a->joint_count; ++i) {
        *what = "the kind of a joint";
        same = same_joint(&a->joint[i], &b->joint[i]);
    }
    for (size_t i = 0; same && i < a->spring_count; ++i) {
        *what = "the kind of a spring";
        const perpi_spring *s = &a->spring[i], *t = &b->spring[i];
        same = s->body[0] == t->body[0] && s->body[1] == t->body[1] && s->rows == t->rows &&
               s->isotropic == t->isotropic && s->implicit == t->implicit;
    }
    for (size_t i = 0; same && i < a->pair_count; ++i) {
        *what = "the pairs with friction of their own";
        same = a->pair[i].a == b->pair[i].a && a->pair[i].b == b->pair[i].b &&
               a->pair[i].directions == b->pair[i].directions;
    }
    return same;
}
