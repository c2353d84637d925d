/* cli/page_momentum.c - momentum of a recorded frame (perp_sim has its own function). */
#include <string.h>

#include "page.h"

void page_momentum(const perp_model* model, const perp_frame* frame, double out[6])
{
    const bool planar = perp_model_dimension(model) == 2;
    const size_t nq = planar ? 3 : 7, nv = planar ? 3 : 6;
    memset(out, 0, 6 * sizeof *out);
    for (int32_t b = 0; b < perp_model_body_count(model); ++b) {
        const perp_body_info info = perp_model_body_info(model, b);
        if (info.type != PERP_BODY_DYNAMIC) {
            continue;
        }
        const double* q = frame->q + (size_t)b * nq;
        const double* v = frame->v + (size_t)b * nv;
        if (planar) {
            out[0] += info.mass * v[0];
            out[1] += info.mass * v[1];
            out[5] += info.mass * (q[0] * v[1] - q[1] * v[0]) + info.inertia[8] * v[2];
            continue;
        }
        const double w = q[3], x = q[4], y = q[5], z = q[6];
        const double R[3][3] = {
            {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
            {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
            {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)},
        };
        double in_body[3] = {0}, spin[3] = {0};
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                in_body[i] += R[j][i] * v[3 + j];
            }
        }
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) {
                spin[i] += info.inertia[3 * i + j] * in_body[j];
            }
        }
        for (int i = 0; i < 3; ++i) {
            const int j = (i + 1) % 3, k = (i + 2) % 3;
            out[i] += info.mass * v[i];
            out[3 + i] += info.mass * (q[j] * v[k] - q[k] * v[j]) + R[i][0] * spin[0] +
                          R[i][1] * spin[1] + R[i][2] * spin[2];
        }
    }
}
