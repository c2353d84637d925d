#include "planner.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Whether an edge of p separates p from q. */
static bool separated(const planner_polygon* p, const planner_polygon* q)
{
    for (int i = 0; i < p->corners; ++i) {
        const double* a = p->corner[i];
        const double* b = p->corner[(i + 1) % p->corners];
        const double n[2] = {b[1] - a[1], a[0] - b[0]};
        bool all = true;
        for (int j = 0; j < q->corners && all; ++j) {
            all = n[0] * (q->corner[j][0] - a[0]) + n[1] * (q->corner[j][1] - a[1]) >= 0.0;
        }
        if (all) {
            return true;
        }
    }
    return false;
}

static bool pose_free(const planner_task* t, double x, double y, double angle)
{
    const double c = cos(angle), s = sin(angle);
    for (int k = 0; k < t->parts; ++k) {
        planner_polygon p = {.corners = t->part[k].corners};
        for (int i = 0; i < p.corners; ++i) {
            const double* v = t->part[k].corner[i];
            p.corner[i][0] = x + c * v[0] - s * v[1];
            p.corner[i][1] = y + s * v[0] + c * v[1];
        }
        for (int w = 0; w < t->walls; ++w) {
            if (!separated(&t->wall[w], &p) && !separated(&p, &t->wall[w])) {
                return false;
            }
        }
    }
    return true;
}

bool planner_finds_way(const planner_task* t, long* cells)
{
    const int nx = (int)((t->high[0] - t->low[0]) / t->cell[0]) + 1;
    const int ny = (int)((t->high[1] - t->low[1]) / t->cell[1]) + 1;
    const size_t total = (size_t)nx * (size_t)ny * (size_t)t->angles;
    const double turn = 2.0 * acos(-1.0) / t->angles;
    uint8_t* seen = calloc(total, 1);
    int32_t* stack = malloc(total * sizeof *stack);
    if (seen == NULL || stack == NULL) {
        perror("planner");
        exit(3);
    }
    const int ix = (int)lround((t->start[0] - t->low[0]) / t->cell[0]);
    const int iy = (int)lround((t->start[1] - t->low[1]) / t->cell[1]);
    const int ia = ((int)lround(t->start[2] / turn) % t->angles + t->angles) % t->angles;
    size_t top = 0;
    bool found = false;
    stack[top++] = (ia * ny + iy) * nx + ix;
    seen[stack[0]] = 1;
    *cells = 1;
    while (top > 0 && !found) {
        const int32_t at = stack[--top];
        const int x = at % nx, y = at / nx % ny, a = at / nx / ny;
        /* down comes last, and is tried first */
        static const int move[6][3] = {{0, 1, 0}, {0, 0, 1},  {0, 0, -1},
                                       {1, 0, 0}, {-1, 0, 0}, {0, -1, 0}};
        for (int m = 0; m < 6 && !found; ++m) {
            const int mx = x + move[m][0], my = y + move[m][1];
            const int ma = (a + move[m][2] + t->angles) % t->angles;
            if (mx < 0 || mx >= nx || my < 0 || my >= ny) {
                continue;
            }
            const int32_t to = (ma * ny + my) * nx + mx;
            if (seen[to]) {
                continue;
            }
            const double py = t->low[1] + my * t->cell[1], angle = ma * turn;
            seen[to] = 1;
            *cells += 1;
            if (pose_free(t, t->low[0] + mx * t->cell[0], py, angle)) {
                stack[top++] = to;
                found = py < t->goal_y && cos(angle) > t->goal_cosine;
            }
        }
    }
    free(seen);
    free(stack);
    return found;
}
