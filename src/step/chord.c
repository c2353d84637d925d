/* src/step/chord.c - see chord.h. */
#include "step/chord.h"

#include "base/turn.h"

bool perpi_turns_by_chord(const perpi_step_input* in, int32_t i)
{
    const perp_model* model = in->model;
    const perpi_body* body = &model->body[i];
    if (!in->middle || in->rolls || !in->settings->joint_chosen || body->hinge[0] == 0) {
        return false;
    }
    const mat3* I = &body->inertia;
    int axis = 2;
    for (int k = 0; k < 2 && model->dimension == 3; ++k) {
        axis = I->m[k][k] > I->m[axis][axis] ? k : axis;
    }
    const vec3 e = v3(axis == 0, axis == 1, axis == 2);
    bool swings = false;
    for (int k = 0; k < 2 && body->hinge[k] > 0; ++k) {
        const perpi_joint* joint = &model->joint[body->hinge[k] - 1];
        const vec3 u = v3_cross(e, joint->at[joint->body[0] == i ? 0 : 1]);
        swings = swings || body->mass * v3_dot(u, u) > I->m[axis][axis];
    }
    return swings;
}

vec3 perpi_turn_of(const perpi_step_input* in, int32_t body, vec3 w)
{
    const double rate = in->middle ? v3_norm(w) : 0.0; /* only there by chords */
    if (!(rate > 0.0) || !perpi_turns_by_chord(in, body)) {
        return v3_scale(in->h, w);
    }
    return v3_scale(2.0 * atan(0.5 * in->h * rate) / rate, w);
}

mat3 perpi_turn_slope(const perpi_step_input* in, int32_t body, vec3 w)
{
    const double rate = v3_norm(w), half = 0.5 * in->h * rate;
    mat3 slope = m3_identity();
    if (!(rate > 0.0) || !perpi_turns_by_chord(in, body)) {
        return slope;
    }
    const double factor = atan(half) / half;
    const double more = (1.0 / (1.0 + half * half) - factor) / (rate * rate);
    const double v[3] = {w.x, w.y, w.z};
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            slope.m[i][j] = (i == j ? factor : 0.0) + more * v[i] * v[j];
        }
    }
    return slope;
}

vec3 perpi_chord_term(const perpi_step_input* in, int32_t body, mat3 I_m, vec3 L, vec3 w)
{
    const vec3 turn = perpi_turn_of(in, body, w), spin = m3_mul(I_m, w);
    const quat Q = q4_exp(v3_scale(0.5, turn));
    const vec3 turned = q4_rotate(Q, q4_rotate(Q, L));
    return v3_madd(v3_sub(spin, q4_rotate(Q, spin)), -0.5, v3_sub(L, turned));
}

/* d (Q I_m w - Q Q L/2): Q turns by (h/2) H dw, Q Q by h G dw, and I_m with Q. */
mat3 perpi_chord_slope(const perpi_step_input* in, int32_t body, mat3 I_m, vec3 L, vec3 w)
{
    const vec3 turn = perpi_turn_of(in, body, w), part = v3_scale(0.5, turn);
    const vec3 spin = m3_mul(I_m, w);
    const mat3 slope = perpi_turn_slope(in, body, w), Q = q4_matrix(q4_exp(part));
    const mat3 H = m3_mm(perpi_turn_derivative(part), slope);
    const mat3 G = m3_mm(perpi_turn_derivative(turn), slope);
    const mat3 D = m3_madd(m3_mm(I_m, m3_cross(w)), -1.0, m3_cross(spin));
    mat3 T = m3_mm(Q, m3_madd(I_m, 0.5 * in->h, m3_mm(D, H)));
    T = m3_madd(T, -0.5 * in->h, m3_mm(m3_cross(m3_mul(Q, spin)), H));
    return m3_madd(T, 0.5 * in->h, m3_mm(m3_cross(m3_mul(Q, m3_mul(Q, L))), G));
}
