/* src/record/verify_ledger.c - checks the recorded ledger against the recorded energies.
 *
 * For each frame: the terms add up to the change of energy; that change is the difference of the
 * recorded energies; a dissipative term is not positive; and the unexplained rest is within
 *
 *     max(1e-9, certificate) magnitude + (1e-13 + 4 certificate) (energies + sum m |g| (size +
 *     |x|)),
 *
 * the second part once for every step since the frame before. The certificate enters because a
 * residual r of the dynamics has the work r.v', and r is certified relative to |M v|: for fast
 * bodies whose energy hardly changes it can exceed the terms. Likewise a law is certified relative
 * to the velocities that its impulses alone would cause, so the energies include sum p^2 / m, the
 * largest one for jammed bodies. The impulses of supports, springs and controllers are included: a
 * body stopped by friction keeps a velocity of certificate x p / m, on which p does work. Steppers
 * that evaluate forces at the end of the step take explicit springs there, and the certificate
 * excludes the rounding of the poses in such a force; so the bound includes the work of that error.
 * Steps that `--keep-going` accepted without a solution are exempt from the last two checks.
 */
#include "record/verify_ledger.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "model/model.h"
#include "sim/sim.h"
#include "step/force_rows.h"

static const double LEDGER_ROUNDING = 1e-13;
static const double LEDGER_TOLERANCE = 1e-9;

/* Terms: all entries but change, unexplained and magnitude. */
static bool is_term(int32_t entry)
{
    const perp_ledger probe = {.change = 1.0, .unexplained = 1.0, .magnitude = 1.0};
    return perp_ledger_entry(&probe, entry) == 0.0;
}

static bool is_zero(const perp_step_info* info)
{
    bool zero =
        info->momentum_error[0] == 0.0 && info->momentum_error[1] == 0.0 && info->crossings == 0;
    for (int32_t i = 0; i < PERP_LEDGER_COUNT; ++i) {
        zero = zero && perp_ledger_entry(&info->ledger, i) == 0.0;
    }
    return zero;
}

static bool all_numbers(const perp_step_info* info, char* why)
{
    for (int32_t i = 0; i < PERP_LEDGER_COUNT; ++i) {
        if (!isfinite(perp_ledger_entry(&info->ledger, i))) {
            (void)snprintf(why, PERPI_LEDGER_MESSAGE_SIZE, "'%s' is not a number",
                           perp_ledger_name(i));
            return false;
        }
    }
    if (!(info->momentum_error[0] >= 0.0 && info->momentum_error[1] >= 0.0)) {
        (void)snprintf(why, PERPI_LEDGER_MESSAGE_SIZE, "the momentum error is not a number >= 0");
        return false;
    }
    if (info->crossings < 0) {
        (void)snprintf(why, PERPI_LEDGER_MESSAGE_SIZE, "crossings are negative");
        return false;
    }
    return true;
}

/* Consistency of the ledger. Sums over several steps have the rounding of their intermediate
 * values, which may have cancelled: relative to the magnitude, and for energies to their scale. */
static bool adds_up(const perp_ledger* l, double steps, double scale, char* why)
{
    double sum = 0.0, size = 0.0;
    for (int32_t i = 0; i < PERP_LEDGER_COUNT; ++i) {
        const double term = is_term(i) ? perp_ledger_entry(l, i) : 0.0;
        sum += term;
        size += fabs(term);
    }
    const double rounding =
        DBL_EPSILON * (32.0 * (1.0 + steps) *
                           (size + fabs(l->magnitude) + fabs(l->change) + fabs(l->unexplained)) +
                       (steps - 1.0) * scale);
    if (!(fabs(l->change - sum - l->unexplained) <= rounding)) {
        (void)snprintf(why, PERPI_LEDGER_MESSAGE_SIZE,
                       "its terms and 'unexplained' add up to %.9g, but 'change' is %.9g",
                       sum + l->unexplained, l->change);
        return false;
    }
    if (!(l->magnitude >= size - rounding)) {
        (void)snprintf(why, PERPI_LEDGER_MESSAGE_SIZE,
                       "'magnitude' is %.9g, less than the terms' %.9g", l->magnitude, size);
        return false;
    }
    return true;
}

/* Dissipative terms are not positive, and the unexplained rest is within its bound. */
static bool within_bounds(const perp_model* model, const perp_ledger* l, double bound, char* why)
{
    /* an explicit damper uses the velocity at the start of the step: it may add energy */
    bool explicit_dampers = false;
    for (size_t i = 0; i < model->spring_count; ++i) {
        const perpi_spring* spring = &model->spring[i];
        explicit_dampers = explicit_dampers || (!spring->implicit && spring->damping > 0.0);
    }
    const struct {
        const char* name;
        double value;
    } taken[] = {{"drag", l->drag},
                 {"springs", explicit_dampers ? 0.0 : l->springs},
                 {"friction", l->friction},
                 {"joints", l->joints},
                 {"scheme.step_loss", l->step_loss}};
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; ++i) {
        if (!(taken[i].value <= bound)) {
            (void)snprintf(why, PERPI_LEDGER_MESSAGE_SIZE,
                           "'%s' is %.3g, but can only take energy (allowed %.1e)", taken[i].name,
                           taken[i].value, bound);
            return false;
        }
    }
    if (!(fabs(l->unexplained) <= bound)) {
        (void)snprintf(why, PERPI_LEDGER_MESSAGE_SIZE, "'unexplained' is %.3g (allowed %.1e)",
                       l->unexplained, bound);
        return false;
    }
    return true;
}

/* Of a dynamic body: 1 / m, 1 / the least moment of inertia. */
static double inverse_mass(const perp_model* model, int32_t body, bool turning)
{
    if (body < 0 || model->body[body].dofs == 0 || model->body[body].massless) {
        return 0.0;
    }
    const perpi_body* b = &model->body[body];
    const mat3* I = &b->inertia;
    const double least =
        model->dimension == 2 ? I->m[2][2] : fmin(I->m[0][0], fmin(I->m[1][1], I->m[2][2]));
    return !turning ? 1.0 / b->mass : b->particle ? 0.0 : 1.0 / least;
}

/* (1 / m + arm^2 / the least moment of inertia): p^2 times this is twice the energy that p alone
 * causes. */
static double inverse_mass_at(const perp_model* model, int32_t body, vec3 arm)
{
    return inverse_mass(model, body, false) + v3_dot(arm, arm) * inverse_mass(model, body, true);
}

/* The same for the impulses of supports, springs and controllers; h the mean length of the
 * steps. */
static double force_impulse_energy(const perp_model* model, double h, const perp_frame* frame)
{
    double sum = 0.0;
    for (int32_t i = 0; i < (int32_t)model->body_count; ++i) {
        const perpi_support* support = &model->body[i].support;
        for (int32_t k = 0; k < support->points; ++k) {
            const double p = h * support->load[k], mu = support->mu[k];
            sum += p * p * (1.0 + mu * mu) * inverse_mass_at(model, i, support->at[k]);
        }
    }
    if (frame->rest->memory_size < perpi_s_forces(model) + perpi_force_row_count(model)) {
        return sum;
    }
    const double* p =
        frame->rest->memory_size > 0 ? frame->rest->memory + perpi_s_forces(model) : NULL;
    for (size_t i = 0; i < model->spring_count; ++i) {
        const perpi_spring* s = &model->spring[i];
        for (int32_t r = 0; s->implicit && r < s->rows; ++r, ++p) {
            sum += *p * *p *
                   (inverse_mass_at(model, s->body[0], s->at[0]) +
                    inverse_mass_at(model, s->body[1], s->at[1]));
        }
    }
    for (size_t i = 0; i < model->controller_count; ++i) {
        const perpi_controller* c = &model->controller[i];
        const double impulse = c->rows == 2 ? p[0] + p[1] : p[0];
        p += c->rows;
        const perpi_joint* joint = c->joint >= 0 ? &model->joint[c->joint] : NULL;
        const bool turning = joint != NULL && joint->type != PERP_JOINT_PRISMATIC;
        for (int side = 0; side < 2; ++side) {
            const int32_t body = joint != NULL ? joint->body[side] : side == 0 ? -1 : c->body;
            sum += impulse * impulse * inverse_mass(model, body, turning);
        }
    }
    return sum;
}

/* The work in a step of length h of the error of explicit spring forces by the rounding of
 * poses, for bodies with the total kinetic energy K. */
static double spring_rounding(const perp_model* model, double h, const double* q, double K)
{
    double sum = 0.0;
    for (size_t i = 0; i < model->spring_count; ++i) {
        const perpi_spring* s = &model->spring[i];
        const double error = s->implicit ? 0.0 : perpi_spring_force_rounding(model, q, s);
        for (int side = 0; side < 2 && error > 0.0; ++side) {
            sum += h * error * sqrt(2.0 * K * inverse_mass_at(model, s->body[side], s->at[side]));
        }
    }
    return sum;
}

/* The kinetic energy of bodies that move by the rounding of their poses in a step: a lower bound
 * for the scale. */
static double rest_energy(const perp_model* model, const double* q, double h)
{
    double sum = 0.0;
    for (int32_t i = 0; i < (int32_t)model->body_count && h > 0.0; ++i) {
        const perpi_body* body = &model->body[i];
        const double reach = isfinite(body->reach) ? body->reach : model->length;
        const double v = DBL_EPSILON * (v3_norm(perpi_state_pose(model, q, i).x) + reach) / h;
        sum += body->dofs > 0 ? body->mass * v * v : 0.0;
    }
    return sum;
}

/* The energy that the impulses of the frame's own step would cause, each alone. */
static double impulse_energy(const perp_model* model, const perp_frame* frame)
{
    double sum = 0.0;
    for (int32_t i = 0; i < frame->contact_count; ++i) {
        const perp_contact* c = &frame->contacts[i];
        for (int k = 0; k < 4; ++k) {
            sum +=
                c->impulse[k] * c->impulse[k] *
                (inverse_mass(model, c->body_a, k == 3) + inverse_mass(model, c->body_b, k == 3));
        }
    }
    for (int32_t i = 0; i < frame->joint_count; ++i) {
        const perpi_joint* joint = &model->joint[i];
        const perp_joint_record* r = &frame->joints[i];
        double linear = 0.0, turning = 0.0;
        for (int k = 0; k < 6; ++k) {
            *(k < 3 ? &linear : &turning) += r->impulse[k] * r->impulse[k];
        }
        for (size_t k = 0; k < sizeof r->law / sizeof r->law[0]; ++k) {
            *(joint->type == PERP_JOINT_PRISMATIC ? &linear : &turning) += r->law[k] * r->law[k];
        }
        for (int side = 0; side < 2; ++side) {
            sum += linear * inverse_mass(model, joint->body[side], false) +
                   turning * inverse_mass(model, joint->body[side], true);
        }
    }
    return sum;
}

bool perpi_ledger_holds(const perp_model* model, bool quasistatic, const perpi_ledger_start* before,
                        const perp_frame* frame, char why[PERPI_LEDGER_MESSAGE_SIZE])
{
    const perp_ledger* l = &frame->info.ledger;
    const double steps = (double)(frame->step - before->step);
    const double difference = quasistatic ? frame->energy.potential - before->energy.potential
                                          : frame->energy.total - before->energy.total;
    const double scale = frame->energy.kinetic + before->energy.kinetic +
                         fabs(frame->energy.potential) + fabs(before->energy.potential) +
                         perpi_weight_scale(model, frame->q) + l->magnitude;
    const double rounding = LEDGER_ROUNDING * steps * scale;
    if (!all_numbers(&frame->info, why) || !adds_up(l, steps, scale, why)) {
        return false;
    }
    if (!(fabs(l->change - difference) <= rounding)) {
        (void)snprintf(why, PERPI_LEDGER_MESSAGE_SIZE,
                       "'change' is %.9g, but the recorded energies differ by %.9g", l->change,
                       difference);
        return false;
    }
    const double certificate = frame->info.certificate.worst;
    const double part = certificate > LEDGER_TOLERANCE ? certificate : LEDGER_TOLERANCE;
    const double h = steps > 0.0 ? (frame->time - before->time) / steps : 0.0;
    const double impulses = impulse_energy(model, frame) + force_impulse_energy(model, h, frame);
    /* Of the work p . (J v) of each impulse, by the inequality of Cauchy and Schwarz: impulses of joints
     * that repeat each other cancel, and are much larger than what they do together; at rest v is the
     * rounding of poses. */
    const double motion = frame->energy.kinetic + before->energy.kinetic;
    const double rest = rest_energy(model, frame->q, h);
    const double products = sqrt(impulses) * (16.0 * DBL_EPSILON * sqrt(motion) + sqrt(rest));
    const double bound = part * l->magnitude + rounding +
                         4.0 * certificate * steps * (scale + impulses) +
                         steps * (products + spring_rounding(model, h, frame->q, motion) + rest);
    return frame->info.accepted_unsolved || within_bounds(model, l, bound, why);
}

perp_status perpi_ledger_check(perp_recording* recording, const perp_model* model, bool quasistatic,
                               int64_t* checked, int64_t* bad, char why[PERPI_LEDGER_MESSAGE_SIZE])
{
    perpi_ledger_start before = {0};
    *checked = 0;
    *bad = -1;
    if (!perp_recording_has_ledger(recording)) {
        return PERP_OK;
    }
    perp_status status = PERP_OK;
    for (int64_t k = 0; status == PERP_OK && *bad < 0 && k < recording->frames; ++k) {
        perp_frame frame;
        status = perp_recording_frame(recording, k, &frame);
        if (status != PERP_OK) {
            break;
        }
        if (k == 0 && !is_zero(&frame.info)) {
            (void)snprintf(why, PERPI_LEDGER_MESSAGE_SIZE,
                           "the first frame has no step before it, but an account");
            *bad = k;
        } else if (k > 0 && frame.edited == 0 &&
                   !perpi_ledger_holds(model, quasistatic, &before, &frame, why)) {
            *bad = k;
        }
        *checked += k > 0 && frame.edited == 0;
        before = (perpi_ledger_start){frame.energy, frame.step, frame.time};
    }
    return status;
}
