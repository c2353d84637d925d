/* cli/page_contact.c - slip, stick or separation of a contact; small names for feature pairs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

/* A contact slips when its friction is used up and it moves. Both with slack, as a certificate of
 * 1e-8 has it; and a prescribed body's velocity is known at the end of the step only, not as the
 * mean that the step used, so speed alone would call a box on a shaker slipping. */
#define USED_UP (1.0 - 1e-5)
#define MOVES 1e-6

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Velocity of the body's point at p when the step began; the speeds that make it go to *scale. */
static void point_velocity(bool planar, double h, const double* q, const double* v, int32_t body,
                           const double p[3], double out[3], double* scale)
{
    const size_t i = (size_t)body;
    double x[3] = {0}, u[3] = {0}, w[3] = {0};
    if (planar) {
        memcpy(x, q + 3 * i, 2 * sizeof *x);
        memcpy(u, v + 3 * i, 2 * sizeof *u);
        w[2] = v[3 * i + 2];
    } else {
        memcpy(x, q + 7 * i, sizeof x);
        memcpy(u, v + 6 * i, sizeof u);
        memcpy(w, v + 6 * i + 3, sizeof w);
    }
    double arm[3], turn[3];
    for (int k = 0; k < 3; ++k) {
        arm[k] = p[k] - (x[k] - h * u[k]);
    }
    cross(w, arm, turn);
    for (int k = 0; k < 3; ++k) {
        out[k] = u[k] + turn[k];
    }
    *scale += sqrt(dot(u, u)) + sqrt(dot(turn, turn));
}

/* Share of the friction that the cone allows: 1 on its rim. */
static double friction_ratio(const perp_contact* c)
{
    const double limit = c->mu * c->impulse[0];
    const double t = c->impulse[1], o = c->impulse[2], r = c->impulse[3];
    if (!(limit > 0.0)) {
        return 1.0;
    }
    if (c->cone == PERP_CONE_ELLIPSOID) {
        return hypot(hypot(t / c->e[0], o / c->e[1]), r / c->e[2]) / limit;
    }
    if (c->cone == PERP_CONE_POLYGON && c->directions > 2) {
        /* The nearest edge's normal is at most half a sector away. */
        const double half = acos(-1.0) / c->directions;
        double angle = fmod(atan2(o, t), 2.0 * half);
        angle = angle < 0.0 ? angle + 2.0 * half : angle;
        return hypot(t, o) * cos(angle - half) / (limit * cos(half));
    }
    return hypot(t, o) / limit;
}

page_touch page_contact_motion(bool planar, double h, double gravity, const double* q,
                               const double* v, const perp_contact* c)
{
    double o[3], on_b[3], at_a[3], at_b[3], u[3], scale = h * gravity;
    cross(c->normal, c->tangent, o);
    for (int k = 0; k < 3; ++k) {
        on_b[k] = c->point[k] + c->gap * c->normal[k];
    }
    point_velocity(planar, h, q, v, c->body_a, c->point, at_a, &scale);
    point_velocity(planar, h, q, v, c->body_b, on_b, at_b, &scale);
    for (int k = 0; k < 3; ++k) {
        u[k] = at_b[k] - at_a[k];
    }
    page_touch touch = {.slip = {dot(c->tangent, u) + c->drift[1], dot(o, u) + c->drift[2]}};
    for (int k = 0; k < 2 && c->layer.theta > 0.0; ++k) { /* surfaces slip, layers give way */
        touch.slip[k] += (c->layer.end[1 + k] - c->layer.start[1 + k]) / h;
    }
    if (planar) {
        touch.slip[1] = 0.0;
    }
    scale += hypot(c->drift[1], c->drift[2]);
    if (c->impulse[0] > 0.0) {
        const bool moves = hypot(touch.slip[0], touch.slip[1]) > MOVES * scale;
        touch.state = moves && friction_ratio(c) >= USED_UP ? PAGE_SLIP : PAGE_STICK;
    }
    return touch;
}

/* ---- names of feature pairs ---------------------------------------------------------------------*/

static size_t slot_of_key(const page_keys* keys, uint64_t key)
{
    size_t i = (size_t)((key ^ (key >> 29)) * 0x9e3779b97f4a7c15u >> 20) & (keys->capacity - 1);
    while (keys->name[i] != 0 && keys->key[i] != key) {
        i = (i + 1) & (keys->capacity - 1);
    }
    return i;
}

static bool grow(page_keys* keys)
{
    page_keys wide = {.capacity = keys->capacity == 0 ? 1024 : 2 * keys->capacity,
                      .count = keys->count};
    wide.key = calloc(wide.capacity, sizeof *wide.key);
    wide.name = calloc(wide.capacity, sizeof *wide.name);
    if (wide.key == NULL || wide.name == NULL) {
        page_keys_free(&wide);
        return false;
    }
    for (size_t i = 0; i < keys->capacity; ++i) {
        if (keys->name[i] != 0) {
            const size_t at = slot_of_key(&wide, keys->key[i]);
            wide.key[at] = keys->key[i];
            wide.name[at] = keys->name[i];
        }
    }
    page_keys_free(keys);
    *keys = wide;
    return true;
}

int32_t page_keys_name(page_keys* keys, uint64_t key)
{
    if (2 * ((size_t)keys->count + 1) > keys->capacity && !grow(keys)) {
        return -1;
    }
    const size_t i = slot_of_key(keys, key);
    if (keys->name[i] == 0) {
        keys->key[i] = key;
        keys->name[i] = ++keys->count;
    }
    return keys->name[i] - 1;
}

void page_keys_free(page_keys* keys)
{
    free(keys->key);
    free(keys->name);
    *keys = (page_keys){0};
}
