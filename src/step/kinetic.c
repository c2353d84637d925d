/* src/step/kinetic.c - see kinetic.h. */
#include "step/kinetic.h"

#include <string.h>

#include "linalg/dense.h"

double perpi_kinetic_energy(const perpi_formulation* f, const double* v)
{
    const double* M = f->M;
    double twice = 0.0;
    for (int32_t block = 0; block < f->problem.block_count; ++block) {
        const int32_t n = f->dof[block + 1] - f->dof[block];
        for (int32_t i = 0; i < n; ++i) {
            twice += v[i] * perpi_dot(n, M + i * n, v);
        }
        M += n * n;
        v += n;
    }
    return 0.5 * twice;
}

double perpi_kinetic_energy_free(const perpi_formulation* f)
{
    const double* M = f->M;
    double twice = 0.0;
    for (int32_t block = 0; block < f->problem.block_count; ++block) {
        const double* k = f->k + f->dof[block];
        const int32_t n = f->dof[block + 1] - f->dof[block];
        double L[PERPI_BLOCK_MAX * PERPI_BLOCK_MAX], v[PERPI_BLOCK_MAX];
        if (n <= PERPI_BLOCK_MAX && perpi_chol_factor(n, M, L)) {
            memcpy(v, k, (size_t)n * sizeof *v);
            perpi_chol_solve(n, L, v);
            twice += perpi_dot(n, k, v);
        }
        M += n * n;
    }
    return 0.5 * twice;
}
