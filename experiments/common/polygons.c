#include "common/polygons.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long long state;

void random_begin(unsigned seed)
{
    state = 0x9E3779B97F4A7C15ULL * (seed + 1);
}

double random_uniform(double a, double b)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return a + (b - a) * (double)(state >> 11) / 9007199254740992.0;
}

typedef struct point {
    double x, y;
} point;

static int by_place(const void* a, const void* b)
{
    const point *p = a, *q = b;
    return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->y > q->y) - (p->y < q->y);
}

static double turn(point a, point b, point c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/* Monotone chain. */
static int hull(point* p, int n, point* out)
{
    int k = 0;
    qsort(p, (size_t)n, sizeof *p, by_place);
    for (int pass = 0; pass < 2; ++pass) {
        const int first = k;
        for (int i = 0; i < n; ++i) {
            const point next = pass == 0 ? p[i] : p[n - 1 - i];
            while (k > first + 1 && turn(out[k - 2], out[k - 1], next) <= 1e-6) {
                --k;
            }
            out[k++] = next;
        }
        --k; /* the last is the first of the other half */
    }
    return k;
}

polygon random_polygon(double half)
{
    point p[POLYGON_POINTS], q[POLYGON_CORNERS];
    for (int k = 0; k < POLYGON_POINTS; ++k) {
        p[k].x = random_uniform(-half, half);
        p[k].y = random_uniform(-half, half);
    }
    polygon out = {.count = hull(p, POLYGON_POINTS, q)};
    for (int k = 0; k < out.count; ++k) {
        out.x[k] = q[k].x;
        out.y[k] = q[k].y;
    }
    return out;
}

double polygon_sit(polygon* p)
{
    double area = 0.0, cx = 0.0, cy = 0.0;
    for (int i = 0; i < p->count; ++i) {
        const int j = (i + 1) % p->count;
        const double c = p->x[i] * p->y[j] - p->y[i] * p->x[j];
        area += c;
        cx += c * (p->x[i] + p->x[j]) / 3.0;
        cy += c * (p->y[i] + p->y[j]) / 3.0;
    }
    double best = -INFINITY, tx = 1.0, ty = 0.0;
    for (int i = 0; i < p->count; ++i) {
        p->x[i] -= cx / area;
        p->y[i] -= cy / area;
    }
    for (int i = 0; i < p->count; ++i) {
        const int j = (i + 1) % p->count;
        const double dx = p->x[j] - p->x[i], dy = p->y[j] - p->y[i], d = hypot(dx, dy);
        const double foot = -(p->x[i] * dx + p->y[i] * dy) / d;
        const double room = fmin(foot, d - foot);
        if (room > best) {
            best = room;
            tx = dx / d;
            ty = dy / d;
        }
    }
    double lowest = INFINITY;
    for (int i = 0; i < p->count; ++i) {
        const double x = p->x[i] * tx + p->y[i] * ty, y = p->y[i] * tx - p->x[i] * ty;
        p->x[i] = x;
        p->y[i] = y;
        lowest = fmin(lowest, y);
    }
    return -lowest;
}

size_t polygon_text(const polygon* p, char* text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int k = 0; k < p->count; ++k) {
        used += (size_t)snprintf(text + used, size - used, "%s[%.17g,%.17g]", k > 0 ? "," : "",
                                 p->x[k], p->y[k]);
    }
    return used + (size_t)snprintf(text + used, size - used, "]");
}
