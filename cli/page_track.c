/* cli/page_track.c - the swinging-door algorithm: which samples of a motion are kept.
 *
 * From a key at (k0, p0) a line to a later sample k passes within e of every sample j between if
 * its slope lies in the intersection of [(p_j - e - p0), (p_j + e - p0)] / (j - k0). The
 * intersection is all that has to be remembered. A turn is treated alike through its rotation
 * vector log(q0^-1 q_j): an arc from q0 is a line there, and the angle between two turns is at most
 * the distance of their vectors.
 */
#include <math.h>
#include <string.h>

#include "page.h"

#define WIDEST_TURN 2.0 /* radians between two keys; at pi the arc would not be known */

/* Rotation vector of a^-1 b, the short way. */
static void turn_between(const double a[4], const double b[4], double out[3])
{
    double w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    double x[3] = {
        a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2],
        a[0] * b[2] + a[1] * b[3] - a[2] * b[0] - a[3] * b[1],
        a[0] * b[3] - a[1] * b[2] + a[2] * b[1] - a[3] * b[0],
    };
    const double s = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    const double sign = w < 0.0 ? -1.0 : 1.0;
    const double factor = s > 0.0 ? sign * 2.0 * atan2(s, fabs(w)) / s : 0.0;
    for (int i = 0; i < 3; ++i) {
        out[i] = factor * x[i];
    }
}

/* Where the sample lies as seen from the key: x, then the turn. */
static int seen_from_key(const page_door* door, const page_sample* sample, double out[6])
{
    for (int i = 0; i < 3; ++i) {
        out[i] = sample->x[i] - door->key.x[i];
    }
    if (door->planar) {
        return 3;
    }
    turn_between(door->key.q, sample->q, out + 3);
    return 6;
}

static void open_wide(page_door* door, const page_sample* key)
{
    door->key = *key;
    for (int i = 0; i < 6; ++i) {
        door->low[i] = -INFINITY;
        door->high[i] = INFINITY;
    }
}

void page_door_begin(page_door* door, bool planar, double near_x, double near_turn,
                     const page_sample* first)
{
    *door = (page_door){.planar = planar, .near_x = near_x, .near_turn = near_turn};
    open_wide(door, first);
    door->last = *first;
}

bool page_door_step(page_door* door, const page_sample* sample)
{
    double p[6];
    int count = seen_from_key(door, sample, p);
    double span = sample->frame - door->key.frame;
    bool fits = true;
    for (int i = 0; i < count; ++i) {
        const double slope = p[i] / span;
        fits = fits && slope >= door->low[i] && slope <= door->high[i];
    }
    if (count == 6) {
        fits = fits && p[3] * p[3] + p[4] * p[4] + p[5] * p[5] <= WIDEST_TURN * WIDEST_TURN;
    }
    const bool first = door->last.frame == door->key.frame; /* neighbours need no check */
    const bool close = !fits && !first;
    if (close) {
        const page_sample key = door->last;
        open_wide(door, &key);
        count = seen_from_key(door, sample, p);
        span = sample->frame - door->key.frame;
    }
    for (int i = 0; i < count; ++i) {
        const bool turn = i >= 3 || (door->planar && i == 2);
        const double near = turn ? door->near_turn : door->near_x;
        const double low = (p[i] - near) / span, high = (p[i] + near) / span;
        door->low[i] = low > door->low[i] ? low : door->low[i];
        door->high[i] = high < door->high[i] ? high : door->high[i];
    }
    door->last = *sample;
    return close;
}
