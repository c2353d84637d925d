/* src/step/row_derivative.c - see row_derivative.h.
 *
 * A row is u = d . (V_b + W_b x r_b - V_a - W_a x r_a) + b, its impulse p acts on a body as sign p
 * (d; r x d). So with the changes of d, r and b by a displacement
 *     du = dd . (V_b + W_b x r_b - ...) + d . (W_b x dr_b - W_a x dr_a) + db,
 *     dJ'p = sign p (dd; dr x d + r x dd).
 */
#include "step/row_derivative.h"

#include <float.h>
#include <string.h>

#include "contact/derivative.h"
#include "step/force_rows.h"
#include "step/gear_rows.h"
#include "step/joint_rows.h"
#include "step/rolling.h"
#include "step/smooth_step.h"

perpi_columns perpi_pair_columns(const perp_model* model)
{
    if (model->dimension == 2) {
        return (perpi_columns){.item = {0, 1, 5, 6, 7, 11}, .count = 6};
    }
    return (perpi_columns){.item = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, .count = 12};
}

perpi_constraint_part perpi_part_of(const perpi_formulation* f, const perp_model* model,
                                    int32_t constraint, int32_t* index)
{
    const int32_t joints = f->contact_count, supports = joints + f->joint_count;
    const int32_t springs = perpi_force_constraint(f, model);
    const int32_t controllers = f->problem.constraint_count - (int32_t)model->controller_count;
    const int32_t begin[] = {0, joints, supports, springs, controllers};
    int part = 0;
    while (part < 4 && constraint >= begin[part + 1]) {
        ++part;
    }
    *index = constraint - begin[part];
    return (perpi_constraint_part)part;
}

/* ---- one row -------------------------------------------------------------------------------------*/

/* Velocities of the two bodies in the step. */
typedef struct pair_motion {
    vec3 v[2], w[2];
} pair_motion;

static pair_motion motion_of(const perpi_solved* at, const int32_t body[2])
{
    const perpi_formulation* f = at->f;
    const perp_model* model = at->in->model;
    pair_motion m = {{{0, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
    for (int side = 0; side < 2; ++side) {
        if (body[side] < 0) {
            continue;
        }
        const int32_t block = f->block_of[body[side]];
        if (block < 0) {
            m.v[side] = f->given_v[body[side]];
            m.w[side] = f->given_w[body[side]];
            continue;
        }
        const double* v = at->v + f->dof[block];
        const bool turns = !model->body[body[side]].particle;
        m.v[side] = model->dimension == 2 ? v3(v[0], v[1], 0.0) : v3_from(v);
        m.w[side] = !turns ? v3(0, 0, 0) : model->dimension == 2 ? v3(0, 0, v[2]) : v3_from(v + 3);
    }
    return m;
}

static bool is_zero(vec3 a)
{
    return a.x == 0.0 && a.y == 0.0 && a.z == 0.0;
}

/* Row r of a constraint and its change by displacement c. Many directions and arms do not change. */
static void add_row_change(const pair_motion* m, const perpi_row* row, const perpi_row_change* by,
                           double p, int32_t r, int32_t c, perpi_constraint_derivative* d)
{
    double u = by->b;
    for (int side = 0; side < 2; ++side) {
        const double sign = side == 0 ? -1.0 : 1.0;
        if (row->angular) {
            u += sign * v3_dot(by->dir, m->w[side]);
            for (int k = 0; k < 3; ++k) {
                d->impulse[6 * side + 3 + k][c] += sign * p * v3_get(by->dir, k);
            }
            continue;
        }
        if (!is_zero(by->dir)) {
            const vec3 speed = v3_add(m->v[side], v3_cross(m->w[side], row->arm[side]));
            const vec3 torque = v3_cross(row->arm[side], by->dir);
            u += sign * v3_dot(by->dir, speed);
            for (int k = 0; k < 3; ++k) {
                d->impulse[6 * side + k][c] += sign * p * v3_get(by->dir, k);
                d->impulse[6 * side + 3 + k][c] += sign * p * v3_get(torque, k);
            }
        }
        if (!is_zero(by->arm[side])) {
            const vec3 torque = v3_cross(by->arm[side], row->dir);
            u += sign * v3_dot(row->dir, v3_cross(m->w[side], by->arm[side]));
            for (int k = 0; k < 3; ++k) {
                d->impulse[6 * side + 3 + k][c] += sign * p * v3_get(torque, k);
            }
        }
    }
    if (r >= 0) {
        d->u[r][c] += u;
    }
}

/* Entry c of a row, as it stands in J. */
static double row_entry(const perpi_row* row, int32_t c)
{
    const double sign = c < 6 ? -1.0 : 1.0;
    if (c % 6 < 3) {
        return row->angular ? 0.0 : sign * v3_get(row->dir, c % 3);
    }
    return sign * v3_get(row->angular ? row->dir : v3_cross(row->arm[c / 6], row->dir), c % 3);
}

static void begin_derivative(const int32_t body[2], perpi_constraint_derivative* d)
{
    memset(d, 0, sizeof *d);
    d->body[0] = body[0];
    d->body[1] = body[1];
}

/* ---- contacts ------------------------------------------------------------------------------------*/

/* A particle takes impulses at its own centre (find_contacts.c), whatever the feature's point. */
static void act_on_particles(const perp_model* model, const perp_contact* contact,
                             perpi_contact_derivative* g)
{
    const perpi_body *a = &model->body[contact->body_a], *b = &model->body[contact->body_b];
    if (a->dofs == 0 || b->dofs == 0 || !(a->particle || b->particle)) {
        return;
    }
    for (int k = 0; k < 3; ++k) {
        for (int c = 0; c < PERPI_PAIR_DOFS; ++c) {
            g->point_a[k][c] = a->particle
                                   ? (c == k ? 1.0 : 0.0)
                                   : (c == 6 + k ? 1.0 : 0.0) - g->gap[c] * contact->normal[k] -
                                         contact->gap * g->normal[k][c];
        }
    }
}

perp_status perpi_contact_change(const perp_model* model, const perpi_pose* pose,
                                 const perp_contact* contact, perpi_contact_derivative* g)
{
    const perp_status status = perpi_contact_derivative_at(model, pose, contact, g);
    if (status == PERP_OK) {
        act_on_particles(model, contact, g);
    }
    return status;
}

/* Velocity of the surface of one side by a belt or a driven wheel; world. */
static vec3 belt_velocity(const perpi_solved* at, const perp_contact* contact, int side)
{
    const perp_model* model = at->in->model;
    const int32_t shape =
        side == 0 ? perpi_key_shape_a(contact->key) : perpi_key_shape_b(contact->key);
    const perpi_surface* surface = &model->surface[shape];
    if (!surface->moving) {
        return v3(0, 0, 0);
    }
    const vec3 local = v3(perpi_value_at(&surface->velocity[0], at->in->t),
                          perpi_value_at(&surface->velocity[1], at->in->t),
                          perpi_value_at(&surface->velocity[2], at->in->t));
    return m3_mul(at->f->pose[side == 0 ? contact->body_a : contact->body_b].R, local);
}

/* The part of the way from A's point to B's at which the impulse acts on a side: formulate.c, contact_arm. */
double perpi_acting_part(const perp_model* model, const perp_contact* contact, int side)
{
    const perpi_body *a = &model->body[contact->body_a], *b = &model->body[contact->body_b];
    if (a->dofs == 0 || b->dofs == 0) {
        return side == 0 ? 0.0 : 1.0;
    }
    return a->particle ? 0.0 : b->particle ? 1.0 : 0.5;
}

static vec3 column3(const double d[3][12], int32_t c)
{
    return v3(d[0][c], d[1][c], d[2][c]);
}

/* The contact of the step before with the same features, if it decides the slip of this one
 * (src/sim/rolling.c). */
const perp_contact* perpi_rolling_before(const perpi_solved* at, const perp_contact* c)
{
    const perp_model* model = at->in->model;
    const double a = v3_norm(perpi_state_rate(model, at->in->v, c->body_a));
    const double b = v3_norm(perpi_state_rate(model, at->in->v, c->body_b));
    if (!at->in->settings->midway || at->contact_before == NULL ||
        model->body[c->body_a].joints > 0 || model->body[c->body_b].joints > 0 ||
        at->in->h * (a > b ? a : b) > PERPI_ROLLING_LARGEST_TURN || c->cone == PERP_CONE_NONE ||
        perpi_contact_driven(model, c)) {
        return NULL;
    }
    const perp_contact* list = at->contact_before;
    for (int32_t i = 0; i < at->contact_before_count; ++i) {
        if (list[i].key != c->key ||
            !perpi_contact_pushes(model, at->in->settings, at->h_before, &list[i])) {
            continue;
        }
        for (int32_t k = i - 1; k <= i + 1;
             k += 2) { /* its neighbours of the same pair push, too */
            if (k >= 0 && k < at->contact_before_count &&
                perpi_contact_pushes(model, at->in->settings, at->h_before, &list[k]) &&
                list[k].body_a == c->body_a && list[k].body_b == c->body_b) {
                return NULL;
            }
        }
        return &list[i];
    }
    return NULL;
}

static perp_status add_rolling(const perpi_solved* at, const perp_contact* contact,
                               const perp_contact* before, const perpi_contact_derivative* g,
                               int32_t rows, perpi_constraint_derivative* d)
{
    perpi_contact_derivative g_before;
    const perpi_rolling_input in = {.model = at->in->model,
                                    .pose = at->f->pose,
                                    .v = at->in->v,
                                    .h = at->in->h,
                                    .h_before = at->h_before,
                                    .contact = contact,
                                    .before = before,
                                    .change = g,
                                    .change_before = &g_before,
                                    .threshold = at->threshold};
    if (!perpi_rolling_applies(&in, &d->border)) {
        return PERP_OK; /* most contacts: the geometry of the step before is not needed */
    }
    const perp_status status =
        perpi_contact_derivative_at(at->in->model, at->pose_before, before, &g_before);
    if (status != PERP_OK) {
        return status;
    }
    const perpi_rolling_derivative roll = perpi_rolling_differentiate(&in, &d->other);
    d->rolling = roll.rolling;
    d->border = roll.border;
    d->full = roll.full;
    d->contact_before = (int32_t)(before - at->contact_before);
    for (int32_t r = 1; r < 3 && r < rows; ++r) {
        memcpy(d->push[r - 1], roll.impulse[r - 1], sizeof d->push[r - 1]);
        d->push_mu[r - 1] = roll.mu[r - 1];
    }
    for (int32_t r = 1; roll.rolling != PERPI_ROLLING_NONE && r < 3 && r < rows; ++r) {
        for (int c = 0; c < PERPI_PAIR_DOFS; ++c) {
            d->u[r][c] += roll.pose[r - 1][c];
            d->other.pose[r - 1][c] -= roll.pose[r - 1][c];
            d->rate[r - 1][c] = roll.rate[r - 1][c];
            d->before[r - 1][c] = roll.before[r - 1][c];
        }
    }
    return PERP_OK;
}

/* The rows of a contact: normal, tangents, spin. */
static void place_rows(const perpi_solved* at, const perp_contact* contact, double part[2],
                       perpi_row row[4])
{
    const vec3 n = v3_from(contact->normal), t = v3_from(contact->tangent);
    const vec3 direction[4] = {n, t, v3_cross(n, t), n};
    const int32_t body[2] = {contact->body_a, contact->body_b};
    for (int side = 0; side < 2; ++side) {
        part[side] = perpi_acting_part(at->in->model, contact, side);
    }
    for (int i = 0; i < 4; ++i) {
        row[i] = (perpi_row){.angular = i == 3, .dir = direction[i]};
        for (int side = 0; side < 2; ++side) {
            row[i].arm[side] =
                v3_sub(v3_madd(v3_from(contact->point), part[side] * contact->gap, n),
                       at->f->pose[body[side]].x);
        }
    }
}

void perpi_held_differentiate(const perpi_solved* at, const perp_contact* contact,
                              const perpi_contact_derivative* change, int32_t row_at,
                              perpi_constraint_derivative* d, perpi_constraint_derivative* earlier)
{
    static const vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const int32_t body[2] = {contact->body_a, contact->body_b};
    const perpi_columns columns = perpi_pair_columns(at->in->model);
    const pair_motion m = motion_of(at, body);
    double part[2];
    perpi_row row[4];
    place_rows(at, contact, part, row);
    begin_derivative(body, d);
    begin_derivative(body, earlier);
    for (int32_t i = 0; i < columns.count; ++i) {
        const int32_t c = columns.item[i];
        const vec3 point = column3(change->point_a, c);
        const perpi_row_change by_earlier = {.dir = column3(change->normal, c),
                                             .arm = {point, point}};
        perpi_row_change by = {.b = 0.0};
        if (c % 6 < 3) {
            by.arm[c / 6] = v3_neg(axis[c % 3]);
        }
        add_row_change(&m, &row[0], &by, at->p[row_at], 0, c, d);
        add_row_change(&m, &row[0], &by_earlier, at->p[row_at], 0, c, earlier);
    }
}

static perp_status differentiate_contact(const perpi_solved* at, int32_t index,
                                         perpi_constraint_derivative* d)
{
    static const vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const perp_model* model = at->in->model;
    const perpi_formulation* f = at->f;
    const perp_contact* contact = &at->in->contact[index];
    const perp_constraint* constraint = &f->constraint[index];
    const int32_t body[2] = {contact->body_a, contact->body_b};
    const pair_motion m = motion_of(at, body);
    perpi_contact_derivative g;
    const perp_status status = perpi_contact_change(model, f->pose, contact, &g);
    if (status != PERP_OK) {
        return status;
    }
    begin_derivative(body, d);
    d->border = perpi_contact_at_border(model, f->pose, contact, at->threshold);
    const bool border = d->border;
    const perp_contact* before = perpi_rolling_before(at, contact);
    if (before != NULL) {
        const perp_status rolling = add_rolling(at, contact, before, &g, constraint->rows, d);
        if (rolling != PERP_OK) {
            return rolling;
        }
        d->border = d->border || border;
    }
    const vec3 n = v3_from(contact->normal), t = v3_from(contact->tangent), o = v3_cross(n, t);
    const vec3 direction[4] = {n, t, o, n};
    perpi_row row[4];
    double part[2];
    place_rows(at, contact, part, row);
    const bool driven = perpi_contact_driven(model, contact);
    const vec3 belt[2] = {driven ? belt_velocity(at, contact, 0) : v3(0, 0, 0),
                          driven ? belt_velocity(at, contact, 1) : v3(0, 0, 0)};
    const vec3 relative = v3_sub(belt[1], belt[0]);
    const perpi_columns columns = perpi_pair_columns(model);
    for (int32_t i = 0; i < columns.count; ++i) {
        const int32_t c = columns.item[i];
        const int moved = c / 6;
        const vec3 dn = column3(g.normal, c), dt = column3(g.tangent, c);
        const vec3 change[4] = {dn, dt, v3_add(v3_cross(dn, t), v3_cross(n, dt)), dn};
        vec3 arm[2];
        for (int side = 0; side < 2; ++side) {
            arm[side] = v3_madd(v3_madd(column3(g.point_a, c), part[side] * g.gap[c], n),
                                part[side] * contact->gap, dn);
            if (c % 6 < 3 && moved == side) {
                arm[side] = v3_sub(arm[side], axis[c % 3]);
            }
        }
        const vec3 turned = c % 6 < 3 ? v3(0, 0, 0) : v3_cross(axis[c % 3], belt[moved]);
        const vec3 drelative = moved == 0 ? v3_neg(turned) : turned;
        for (int32_t r = 0; r < constraint->rows; ++r) {
            perpi_row_change by = {.dir = change[r], .arm = {arm[0], arm[1]}};
            if (r == 0) {
                by.b = g.gap[c] / at->in->h;
            } else if (driven && r < 3) {
                by.b = v3_dot(change[r], relative) + v3_dot(direction[r], drelative);
            }
            add_row_change(&m, &row[r], &by, at->p[constraint->row + r], r, c, d);
        }
    }
    return PERP_OK;
}

/* ---- joints --------------------------------------------------------------------------------------*/

static double closing_time(double h, const perpi_joint_input* input)
{
    return input->ease > 1.0 ? input->ease * h : h;
}

/* d b / d (error or coordinate) of a law of a joint. */
static double law_slope(const perpi_joint* joint, const perpi_joint_input* input, int32_t slot,
                        double coordinate, double h)
{
    const double time = closing_time(h, input);
    switch (slot - 1) {
    case PERPI_LAW_LOWER: return 1.0 / (coordinate < joint->limits[0] ? time : h);
    case PERPI_LAW_UPPER: return 1.0 / (joint->limits[1] < coordinate ? time : h);
    case PERPI_LAW_MOTOR:
        if (joint->motor == PERP_MOTOR_POSITION) {
            return 1.0 / (isfinite(input->ease) ? time : h);
        }
        return 0.0;
    default: return 0.0;
    }
}

/* A velocity motor that rules alone is clamped to the limits: its b then depends on the coordinate. */
static double clamped_motor_slope(const perpi_solved* at, const perpi_joint* joint, double b,
                                  double coordinate)
{
    const double h = at->in->h;
    const bool rules = joint->motor == PERP_MOTOR_VELOCITY && !isfinite(joint->max_effort);
    for (int i = 0; rules && i < 2; ++i) {
        if (isfinite(joint->limits[i]) && -b == (joint->limits[i] - coordinate) / h) {
            return 1.0 / h;
        }
    }
    return 0.0;
}

/* The part of a gear's law by one of its joints, whole: rows of ties have none. With all of dJ v in
 * the row of the law, and its impulse on all bodies, the equations for dv' are those without ties
 * (gear_rows.h). */
static void differentiate_geared(const perpi_solved* at, int32_t constraint, int32_t place,
                                 int which, perpi_constraint_derivative* d)
{
    const perp_model* model = at->in->model;
    const perpi_joint_place* law = &at->f->place[place];
    const perpi_joint* gear = &model->joint[law->joint];
    const perpi_joint_input* input = &at->in->joint[law->joint];
    const int32_t index = gear->geared[which], turns[2] = {input->turns[which], 0};
    const perp_constraint* c = &at->f->constraint[constraint];
    const perpi_columns columns = perpi_pair_columns(model);
    const double h = at->in->h, factor = which == 0 ? -gear->ratio : 1.0;
    const double slope = perpi_gear_soft(gear)
                             ? gear->stiffness / (h * gear->stiffness + gear->damping)
                             : 1.0 / closing_time(h, input);
    const pair_motion m = motion_of(at, model->joint[index].body);
    perpi_row row = perpi_joint_evaluate(model, index, at->in->q, turns).coordinate[0];
    perpi_joint_change change[PERPI_PAIR_DOFS];
    perpi_joint_differentiate(model, index, at->in->q, columns.item, columns.count, change);
    begin_derivative(model->joint[index].body, d);
    row.dir = v3_scale(factor, row.dir);
    for (int32_t i = 0; law->slot < PERPI_GEAR_TIE && i < columns.count; ++i) {
        perpi_row_change by = change[i].coordinate[0];
        by.dir = v3_scale(factor, by.dir);
        by.b *= factor * slope;
        add_row_change(&m, &row, &by, at->p[c->row], 0, columns.item[i], d);
    }
}

/* A joint as the rows of the step have it. */
static perpi_joint_view view_of_joint(const perpi_solved* at, int32_t index)
{
    const perpi_step_input* in = at->in;
    const int32_t* turns = in->joint[index].turns;
    return in->middle ? perpi_joint_evaluate_middle(in->model, index, in->q, in->q_end, turns)
                      : perpi_joint_evaluate(in->model, index, in->q, turns);
}

/* Half of the change of a direction at one end of a middle step; the error is that of the start. */
static void halve_change(bool at_end, perpi_row_change* by)
{
    by->dir = v3_scale(0.5, by->dir);
    for (int side = 0; side < 2; ++side) {
        by->arm[side] = v3_scale(0.5, by->arm[side]);
    }
    by->b = at_end ? 0.0 : by->b;
}

static void change_of_joint(const perpi_solved* at, int32_t index, const perpi_columns* columns,
                            perpi_joint_change* change)
{
    const perpi_step_input* in = at->in;
    perpi_joint_differentiate(in->model, index, at->at_end ? in->q_end : in->q, columns->item,
                              columns->count, change);
    for (int32_t i = 0; in->middle && i < columns->count; ++i) {
        for (int32_t r = 0; r < change[i].rows; ++r) {
            halve_change(at->at_end, &change[i].row[r]);
        }
        for (int32_t r = 0; r < change[i].coordinates; ++r) {
            halve_change(at->at_end, &change[i].coordinate[r]);
        }
    }
}

/* b of a rotor, -A/D times the rate at the start (joint_rows.c). */
static void differentiate_rotor(const perpi_solved* at, int32_t constraint, int32_t index,
                                perpi_row_term* term)
{
    const perp_model* model = at->in->model;
    const perpi_joint* joint = &model->joint[index];
    const perpi_columns columns = perpi_pair_columns(model);
    const double part = -joint->armature * at->f->compliance[at->f->constraint[constraint].row];
    const perpi_row row = view_of_joint(at, index).coordinate[0];
    pair_motion m = {{{0, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
    perpi_joint_change change[PERPI_PAIR_DOFS];
    change_of_joint(at, index, &columns, change);
    begin_derivative(joint->body, &term->d);
    for (int side = 0; side < 2; ++side) {
        if (joint->body[side] >= 0) {
            m.v[side] = v3_scale(part, perpi_state_velocity(model, at->in->v, joint->body[side]));
            m.w[side] = v3_scale(part, perpi_state_rate(model, at->in->v, joint->body[side]));
        }
    }
    for (int32_t i = 0; i < columns.count; ++i) {
        const int32_t c = columns.item[i];
        perpi_row_change by = change[i].coordinate[0];
        by.b = 0.0;
        add_row_change(&m, &row, &by, 0.0, 0, c, &term->d);
        term->rate[c] = at->at_end ? 0.0 : part * row_entry(&row, c);
    }
    term->placed = term->started = true;
}

bool perpi_term_differentiate(const perpi_solved* at, int32_t constraint, perpi_row_term* term)
{
    const perp_model* model = at->in->model;
    int32_t index;
    if (perpi_part_of(at->f, model, constraint, &index) != PERPI_PART_JOINT) {
        return false;
    }
    const perpi_joint_place* place = &at->f->place[index];
    const perpi_joint* joint = &model->joint[place->joint];
    const bool gear = joint->type == PERP_JOINT_GEAR && place->slot < PERPI_GEAR_TIE;
    const bool rotor = joint->type != PERP_JOINT_GEAR && joint->armature > 0.0 &&
                       place->slot == 1 + PERPI_LAW_DAMPING;
    *term = (perpi_row_term){.row = at->f->constraint[constraint].row};
    if (gear) {
        differentiate_geared(at, constraint, index, 0, &term->d);
        term->placed = term->pushes = true;
    } else if (rotor) {
        differentiate_rotor(at, constraint, place->joint, term);
    }
    return gear || rotor;
}

/* Row r of a joint as it stands in the problem. */
static perpi_row joint_row(const perpi_solved* at, const perpi_joint_place* place, int32_t r)
{
    const perpi_joint_view view = perpi_joint_evaluate(at->in->model, place->joint, at->in->q,
                                                       at->in->joint[place->joint].turns);
    perpi_row row = place->slot == 0 ? view.row[r] : view.coordinate[0];
    row.dir = place->slot == 1 + PERPI_LAW_UPPER ? v3_neg(row.dir) : row.dir;
    return row;
}

bool perpi_given_differentiate(const perpi_solved* at, int32_t constraint, int32_t r,
                               perpi_row_term* term)
{
    const perp_model* model = at->in->model;
    const perpi_columns columns = perpi_pair_columns(model);
    int32_t index;
    const perpi_constraint_part kind = perpi_part_of(at->f, model, constraint, &index);
    int32_t body[2] = {-1, -1};
    perpi_row row = {0};
    if (kind == PERPI_PART_JOINT &&
        model->joint[at->f->place[index].joint].type != PERP_JOINT_GEAR) {
        row = joint_row(at, &at->f->place[index], r);
        memcpy(body, model->joint[at->f->place[index].joint].body, sizeof body);
    }
    const bool given[2] = {body[0] >= 0 && model->body[body[0]].dofs == 0,
                           body[1] >= 0 && model->body[body[1]].dofs == 0};
    if (!given[0] && !given[1]) {
        return false;
    }
    *term = (perpi_row_term){.row = at->f->constraint[constraint].row + r, .started = true};
    begin_derivative(body, &term->d);
    for (int32_t i = 0; i < columns.count; ++i) {
        const int32_t c = columns.item[i];
        term->rate[c] = given[c / 6] ? row_entry(&row, c) : 0.0;
    }
    return true;
}

static void differentiate_joint(const perpi_solved* at, int32_t constraint, int32_t place,
                                perpi_constraint_derivative* d)
{
    const perp_model* model = at->in->model;
    const perpi_formulation* f = at->f;
    const int32_t index = f->place[place].joint, slot = f->place[place].slot;
    if (model->joint[index].type == PERP_JOINT_GEAR) {
        differentiate_geared(at, constraint, place, 1, d);
        return;
    }
    const perpi_joint* joint = &model->joint[index];
    const perpi_joint_input* input = &at->in->joint[index];
    const perp_constraint* c = &f->constraint[constraint];
    const perpi_columns columns = perpi_pair_columns(model);
    const pair_motion m = motion_of(at, joint->body);
    const perpi_joint_view view = view_of_joint(at, index);
    perpi_joint_change change[PERPI_PAIR_DOFS];
    change_of_joint(at, index, &columns, change);
    begin_derivative(joint->body, d);
    const bool rope = joint->type == PERP_JOINT_ROPE;
    for (int32_t r = 0; r < c->rows; ++r) {
        perpi_row row = slot == 0 ? view.row[r] : view.coordinate[0];
        double slope, sign = 1.0;
        if (slot == 0) {
            slope = 1.0 / (rope && row.b > 0.0 ? at->in->h : closing_time(at->in->h, input));
        } else {
            slope = law_slope(joint, input, slot, row.b, at->in->h);
            if (slot == 1 + PERPI_LAW_MOTOR &&
                fabs(f->b[c->row] - f->given[c->row]) >= joint->velocity_limit) {
                slope = 0.0; /* it asks for the largest rate */
            }
            sign = slot == 1 + PERPI_LAW_UPPER ? -1.0 : 1.0;
            slope += slot == 1 + PERPI_LAW_MOTOR
                         ? clamped_motor_slope(at, joint, f->b[c->row] - f->given[c->row], row.b)
                         : 0.0;
        }
        row.dir = v3_scale(sign, row.dir);
        for (int32_t i = 0; i < columns.count; ++i) {
            perpi_row_change by = slot == 0 ? change[i].row[r] : change[i].coordinate[0];
            by.dir = v3_scale(sign, by.dir);
            by.b *= sign * slope;
            add_row_change(&m, &row, &by, at->p[c->row + r], r, columns.item[i], d);
        }
    }
}

perp_status perpi_effort_differentiate(const perpi_solved* at, int32_t index,
                                       perpi_constraint_derivative* d, bool* any)
{
    const perp_model* model = at->in->model;
    const perpi_joint* joint = &model->joint[index];
    const perpi_joint_input* input = &at->in->joint[index];
    double effort = 0.0;
    *any = false;
    if (!perpi_joint_one_degree(joint->type)) {
        return PERP_OK;
    }
    const double theta = at->in->middle ? at->f->theta : 1.0;
    const double when = at->in->middle ? at->in->t + theta * at->in->h : at->in->t;
    const perp_status status = perpi_joint_motor_effort(model, index, when, input, &effort);
    effort += input->effort;
    if (status != PERP_OK || effort == 0.0) {
        return status;
    }
    const perpi_columns columns = perpi_pair_columns(model);
    const pair_motion still = {{{0, 0, 0}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
    const perpi_joint_view view = view_of_joint(at, index);
    perpi_joint_change change[PERPI_PAIR_DOFS];
    change_of_joint(at, index, &columns, change);
    begin_derivative(joint->body, d);
    for (int32_t i = 0; i < columns.count; ++i) {
        add_row_change(&still, &view.coordinate[0], &change[i].coordinate[0],
                       theta * at->in->h * effort, -1, columns.item[i], d);
    }
    *any = true;
    return PERP_OK;
}

/* ---- supports, springs, controllers --------------------------------------------------------------*/

static void differentiate_support(const perpi_solved* at, int32_t constraint, int32_t index,
                                  perpi_constraint_derivative* d)
{
    const perp_model* model = at->in->model;
    int32_t body = 0;
    while (index >= model->body[body].support.points) {
        index -= model->body[body].support.points;
        body += 1;
    }
    static const vec3 direction[2] = {{1, 0, 0}, {0, 1, 0}};
    const perp_constraint* c = &at->f->constraint[constraint];
    const int32_t sides[2] = {-1, body};
    const pair_motion m = motion_of(at, sides);
    const vec3 arm = m3_mul(at->f->pose[body].R, model->body[body].support.at[index]);
    begin_derivative(sides, d);
    for (int32_t r = 1; r < c->rows; ++r) { /* the normal row acts on a block of its own */
        const perpi_row row = {.dir = direction[r - 1], .arm = {{0, 0, 0}, arm}};
        const perpi_row_change by = {.arm = {{0, 0, 0}, v3_cross(v3(0, 0, 1), arm)}};
        add_row_change(&m, &row, &by, at->p[c->row + r], r, 11, d);
    }
}

/* A spring and its change by one displacement. */
typedef struct spring_view {
    vec3 arm[2], d, n;
    double length;
} spring_view;

static spring_view view_spring(const perpi_formulation* f, const perpi_spring* s)
{
    spring_view view;
    vec3 point[2];
    for (int side = 0; side < 2; ++side) {
        const perpi_pose* pose = s->body[side] >= 0 ? &f->pose[s->body[side]] : NULL;
        view.arm[side] = pose == NULL ? v3(0, 0, 0) : m3_mul(pose->R, s->at[side]);
        point[side] = pose == NULL ? s->at[side] : v3_add(pose->x, view.arm[side]);
    }
    view.d = v3_sub(point[1], point[0]);
    view.length = v3_norm(view.d);
    view.n = view.length > DBL_MIN ? v3_scale(1.0 / view.length, view.d) : v3(1, 0, 0);
    return view;
}

static spring_view change_spring(const spring_view* view, const perpi_spring* s, int32_t c)
{
    static const vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const int side = c / 6;
    spring_view by = {.length = 0.0};
    if (s->body[side] < 0) {
        return by;
    }
    by.arm[side] = c % 6 < 3 ? v3(0, 0, 0) : v3_cross(axis[c % 3], view->arm[side]);
    const vec3 point = c % 6 < 3 ? axis[c % 3] : by.arm[side];
    by.d = side == 0 ? v3_neg(point) : point;
    by.length = v3_dot(view->n, by.d);
    by.n = view->length > DBL_MIN ? v3_scale(1.0 / view->length, v3_madd(by.d, -by.length, view->n))
                                  : v3(0, 0, 0);
    return by;
}

/* Directions across the line, as force_rows.c chooses them, and their change. */
static void across(int32_t dimension, vec3 n, vec3 dn, vec3 out[2], vec3 dout[2])
{
    if (dimension == 2) {
        out[0] = v3(-n.y, n.x, 0.0);
        dout[0] = v3(-dn.y, dn.x, 0.0);
        return;
    }
    const vec3 other = fabs(n.x) < 0.7 ? v3(1, 0, 0) : v3(0, 1, 0);
    const vec3 t = v3_cross(n, other), dt = v3_cross(dn, other);
    const double length = v3_norm(t);
    out[0] = v3_scale(1.0 / length, t);
    dout[0] = v3_scale(1.0 / length, v3_madd(dt, -v3_dot(out[0], dt), out[0]));
    out[1] = v3_cross(n, out[0]);
    dout[1] = v3_add(v3_cross(dn, out[0]), v3_cross(n, dout[0]));
}

static void differentiate_spring_rows(const perpi_solved* at, int32_t constraint, int32_t index,
                                      perpi_constraint_derivative* d)
{
    static const vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const perp_model* model = at->in->model;
    const perpi_spring* s = model->spring;
    for (int32_t left = index;; ++s) { /* implicit springs alone have rows */
        if (s->implicit && left-- == 0) {
            break;
        }
    }
    const double h = at->in->h;
    const perp_constraint* c = &at->f->constraint[constraint];
    const double* p = at->p + c->row;
    const double slope = h * s->stiffness / (h * h * s->stiffness + h * s->damping);
    const spring_view view = view_spring(at->f, s);
    const pair_motion m = motion_of(at, s->body);
    const perpi_columns columns = perpi_pair_columns(model);
    begin_derivative(s->body, d);
    for (int32_t i = 0; i < columns.count; ++i) {
        const int32_t column = columns.item[i];
        const spring_view by = change_spring(&view, s, column);
        vec3 dir[3] = {view.n}, ddir[3] = {by.n};
        double db[3] = {slope * by.length, 0.0, 0.0};
        if (s->rest == 0.0) {
            for (int k = 0; k < 3; ++k) {
                dir[k] = axis[k];
                ddir[k] = v3(0, 0, 0);
                db[k] = slope * v3_get(by.d, k);
            }
        } else {
            across(model->dimension, view.n, by.n, dir + 1, ddir + 1);
        }
        for (int32_t r = 0; r < c->rows; ++r) {
            const perpi_row row = {.dir = dir[r], .arm = {view.arm[0], view.arm[1]}};
            const perpi_row_change change = {
                .dir = ddir[r], .arm = {by.arm[0], by.arm[1]}, .b = db[r]};
            add_row_change(&m, &row, &change, p[r], r, column, d);
        }
    }
}

/* F = -k (L - rest) n - c damped, on b at arm_b, and its negative on a; damped = (rate . n) n, or
 * the whole rate. */
void perpi_spring_differentiate(const perpi_solved* at, int32_t index,
                                perpi_constraint_derivative* d,
                                double by[PERPI_PAIR_DOFS][PERPI_PAIR_DOFS])
{
    static const vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const perp_model* model = at->in->model;
    const perpi_spring* s = &model->spring[index];
    const double h = at->in->h, k = s->stiffness, stretch = s->rest;
    const spring_view view = view_spring(at->f, s);
    vec3 v[2] = {{0, 0, 0}, {0, 0, 0}}, w[2] = {{0, 0, 0}, {0, 0, 0}};
    for (int side = 0; side < 2; ++side) {
        if (s->body[side] >= 0) {
            v[side] = perpi_state_velocity(model, at->in->v, s->body[side]);
            w[side] = perpi_state_rate(model, at->in->v, s->body[side]);
        }
    }
    const vec3 rate = v3_sub(v3_add(v[1], v3_cross(w[1], view.arm[1])),
                             v3_add(v[0], v3_cross(w[0], view.arm[0])));
    const double along = v3_dot(rate, view.n);
    vec3 force =
        s->rest == 0.0 ? v3_scale(-k, view.d) : v3_scale(-k * (view.length - stretch), view.n);
    force = v3_madd(force, -s->damping, s->isotropic ? rate : v3_scale(along, view.n));
    begin_derivative(s->body, d);
    memset(by, 0, sizeof(double[PERPI_PAIR_DOFS][PERPI_PAIR_DOFS]));
    const perpi_columns columns = perpi_pair_columns(model);
    for (int32_t i = 0; i < columns.count; ++i) {
        const int32_t c = columns.item[i];
        const int moved = c / 6;
        const double sign = moved == 0 ? -1.0 : 1.0;
        if (s->body[moved] < 0) {
            continue;
        }
        for (int speeds = 0; speeds < 2; ++speeds) {
            const spring_view e =
                speeds ? (spring_view){.length = 0.0} : change_spring(&view, s, c);
            const vec3 drate =
                speeds ? v3_scale(sign,
                                  c % 6 < 3 ? axis[c % 3] : v3_cross(axis[c % 3], view.arm[moved]))
                       : v3_scale(sign, v3_cross(w[moved], e.arm[moved]));
            vec3 df = s->rest == 0.0 ? v3_scale(-k, e.d)
                                     : v3_add(v3_scale(-k * e.length, view.n),
                                              v3_scale(-k * (view.length - stretch), e.n));
            const double dalong = v3_dot(drate, view.n) + v3_dot(rate, e.n);
            const vec3 damped =
                s->isotropic ? drate : v3_add(v3_scale(dalong, view.n), v3_scale(along, e.n));
            df = v3_madd(df, -s->damping, damped);
            for (int side = 0; side < 2; ++side) {
                const double on = side == 0 ? -h : h;
                const vec3 torque =
                    v3_add(v3_cross(view.arm[side], df), v3_cross(e.arm[side], force));
                double(*out)[PERPI_PAIR_DOFS] = speeds ? by : d->impulse;
                for (int a = 0; a < 3; ++a) {
                    out[6 * side + a][c] = on * v3_get(df, a);
                    out[6 * side + 3 + a][c] = on * v3_get(torque, a);
                }
            }
        }
    }
}

static void differentiate_controller(const perpi_solved* at, int32_t constraint, int32_t index,
                                     perpi_constraint_derivative* d)
{
    const perp_model* model = at->in->model;
    const perpi_controller* x = &model->controller[index];
    const perp_constraint* c = &at->f->constraint[constraint];
    const double h = at->in->h, compliance = at->f->compliance[c->row];
    const double slope = h * compliance * (x->kp + h * x->ki);
    const perpi_columns columns = perpi_pair_columns(model);
    if (x->joint >= 0) {
        const perpi_joint* joint = &model->joint[x->joint];
        const pair_motion m = motion_of(at, joint->body);
        const perpi_joint_view view =
            perpi_joint_evaluate(model, x->joint, at->in->q, at->in->joint[x->joint].turns);
        perpi_joint_change change[PERPI_PAIR_DOFS];
        perpi_joint_differentiate(model, x->joint, at->in->q, columns.item, columns.count, change);
        begin_derivative(joint->body, d);
        for (int32_t i = 0; i < columns.count; ++i) {
            perpi_row_change by = change[i].coordinate[0];
            by.b *= slope;
            add_row_change(&m, &view.coordinate[0], &by, at->p[c->row], 0, columns.item[i], d);
        }
    } else {
        const int32_t sides[2] = {-1, x->body};
        begin_derivative(sides, d);
        for (int k = 0; k < model->dimension; ++k) {
            d->u[0][6 + k] = slope * v3_get(x->axis, k);
        }
    }
    d->integral = -h * compliance * x->ki;
}

/* b has -h c times the effort -sum m g . (a x (x_i - p)), or -sum m g . a: feed_forward.c. */
bool perpi_feed_forward_differentiate(const perpi_solved* at, int32_t controller, int32_t part,
                                      perpi_row_term* term)
{
    static const vec3 unit[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const perp_model* model = at->in->model;
    const perpi_controller* c = &model->controller[controller];
    if (!c->gravity || c->joint < 0 || part > c->moved_count) {
        return false;
    }
    const perpi_joint* joint = &model->joint[c->joint];
    const perp_constraint* row =
        &at->f->constraint[at->f->constraints - (int32_t)model->controller_count + controller];
    const double scale = at->in->h * at->f->compliance[row->row];
    const bool turns = joint->type != PERP_JOINT_PRISMATIC;
    const int32_t sides[2] = {part == 0 ? joint->body[0] : c->moved[part - 1], -1};
    vec3 p, a;
    perpi_joint_line(model, at->in->q, joint, &p, &a);
    a = v3_scale(c->moved_sign, a);
    *term = (perpi_row_term){.row = row->row, .placed = true};
    begin_derivative(sides, &term->d);
    for (int32_t k = 0; k < 6 && sides[0] >= 0; ++k) {
        const vec3 e = unit[k % 3];
        double sum = 0.0;
        for (int32_t i = 0; i < c->moved_count; ++i) {
            const perpi_body* body = &model->body[c->moved[i]];
            const vec3 weight = v3_scale(body->mass, body->gravity);
            const vec3 arm = v3_sub(at->f->pose[c->moved[i]].x, p);
            if (part > 0) { /* its own place */
                sum += k < 3 && turns && i == part - 1 ? v3_dot(weight, v3_cross(a, e)) : 0.0;
            } else if (k < 3) {
                sum -= turns ? v3_dot(weight, v3_cross(a, e)) : 0.0;
            } else {
                const vec3 da = v3_cross(e, a),
                           dp = v3_cross(e, v3_sub(p, at->f->pose[sides[0]].x));
                sum += v3_dot(weight, turns ? v3_sub(v3_cross(da, arm), v3_cross(a, dp)) : da);
            }
        }
        term->d.u[0][k] = scale * sum;
    }
    return true;
}

perp_status perpi_constraint_differentiate(const perpi_solved* at, int32_t constraint,
                                           perpi_constraint_derivative* d)
{
    int32_t index;
    switch (perpi_part_of(at->f, at->in->model, constraint, &index)) {
    case PERPI_PART_CONTACT: return differentiate_contact(at, index, d);
    case PERPI_PART_JOINT: differentiate_joint(at, constraint, index, d); break;
    case PERPI_PART_SUPPORT: differentiate_support(at, constraint, index, d); break;
    case PERPI_PART_SPRING: differentiate_spring_rows(at, constraint, index, d); break;
    case PERPI_PART_CONTROLLER: differentiate_controller(at, constraint, index, d); break;
    }
    return PERP_OK;
}
