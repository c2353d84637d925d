/* src/study/sample.c - see sample.h.
 *
 * Source     Sobol's sequence in Gray-code-free form (direct sum over the bits of the index); random digital
 *            shift: Cranley and Patterson's idea in base 2, Owen (1998); Latin hypercube: McKay, Beckman,
 *            Conover (1979); quantile of the normal distribution: Wichura, AS 241 (1988)
 * Departure  the permutations of a Latin hypercube are not shuffled tables but a Feistel network with Philox as
 *            its round function and cycle walking, so that draw k costs no memory of the size of the study
 */
#include "study/sample.h"

#include <math.h>

#include "study/philox.h"
#include "study/sobol_table.h"

/* What a counter is used for. Different purposes never share a counter. */
enum { FOR_VALUE = 1, FOR_SHIFT = 2, FOR_PERMUTATION = 3 };

static perpi_philox random_bits(uint64_t seed, uint64_t index, int32_t variable, uint32_t purpose)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)variable,
                                 purpose};
    return perpi_philox4x32(counter, key);
}

/* The middle of one of 2^52 equal parts of (0, 1): exact, and never 0 or 1. */
static double unit_open(uint32_t high, uint32_t low)
{
    const uint64_t bits = ((uint64_t)high << 20) | (low >> 12);
    return ((double)bits + 0.5) * 0x1p-52;
}

static uint64_t global_index(const perpi_draw* draw)
{
    return (uint64_t)draw->block * (uint64_t)draw->trials + (uint64_t)draw->trial;
}

static double sample_random(const perpi_draw* draw, int32_t variable)
{
    const perpi_philox r = random_bits(draw->seed, global_index(draw), variable, FOR_VALUE);
    return unit_open(r.v[0], r.v[1]);
}

/* ---- Sobol ------------------------------------------------------------------------------------*/

uint32_t perpi_sobol(uint32_t index, int32_t dimension)
{
    uint32_t v[32];
    const uint32_t polynomial = perpi_sobol_table[dimension].polynomial;
    int degree = 0;
    while (polynomial >> (degree + 1) != 0) {
        ++degree;
    }
    uint32_t point = 0;
    for (int i = 0; i < 32 && index >> i != 0; ++i) {
        if (degree == 0) {
            v[i] = 1u << (31 - i); /* the first dimension: van der Corput */
        } else if (i < degree) {
            v[i] = (uint32_t)perpi_sobol_table[dimension].m[i] << (31 - i);
        } else {
            v[i] = v[i - degree] ^ (v[i - degree] >> degree);
            for (int k = 1; k < degree; ++k) {
                v[i] ^= ((polynomial >> (degree - k)) & 1u) != 0 ? v[i - k] : 0u;
            }
        }
        point ^= ((index >> i) & 1u) != 0 ? v[i] : 0u;
    }
    return point;
}

static double sample_sobol(const perpi_draw* draw, int32_t variable)
{
    const perpi_philox shift = random_bits(draw->seed, (uint64_t)draw->block, variable, FOR_SHIFT);
    return unit_open(perpi_sobol((uint32_t)draw->trial, variable) ^ shift.v[0], shift.v[1]);
}

/* ---- Latin hypercube --------------------------------------------------------------------------*/

/* A permutation of 0 .. count - 1 that depends on (seed, block, variable). */
static uint64_t permuted(const perpi_draw* draw, int32_t variable)
{
    enum { FEISTEL_ROUNDS = 8 };
    const uint64_t count = (uint64_t)draw->trials;
    int half = 1;
    while (half < 32 && (uint64_t)1 << (2 * half) < count) {
        ++half;
    }
    const uint32_t mask = half == 32 ? UINT32_MAX : ((uint32_t)1 << half) - 1;
    const perpi_philox stream =
        random_bits(draw->seed, (uint64_t)draw->block, variable, FOR_PERMUTATION);
    uint64_t x = (uint64_t)draw->trial;
    do { /* the network permutes 4^half numbers: walk on until the range is reached again */
        uint32_t left = (uint32_t)(x >> half) & mask, right = (uint32_t)x & mask;
        for (uint32_t round = 0; round < FEISTEL_ROUNDS; ++round) {
            const uint32_t counter[4] = {right, round, stream.v[2], stream.v[3]};
            const uint32_t mixed = perpi_philox4x32(counter, stream.v).v[0] & mask;
            const uint32_t next = left ^ mixed;
            left = right;
            right = next;
        }
        x = ((uint64_t)left << half) | right;
    } while (x >= count);
    return x;
}

static double sample_latin(const perpi_draw* draw, int32_t variable)
{
    const double u =
        ((double)permuted(draw, variable) + sample_random(draw, variable)) / (double)draw->trials;
    return u < 1.0 ? u : 1.0 - 0x1p-53; /* the last stratum may round up */
}

double perpi_sample(perpi_sampling method, const perpi_draw* draw, int32_t variable)
{
    switch (method) {
    case PERPI_SAMPLING_RANDOM: break;
    case PERPI_SAMPLING_SOBOL: return sample_sobol(draw, variable);
    case PERPI_SAMPLING_LATIN_HYPERCUBE: return sample_latin(draw, variable);
    }
    return sample_random(draw, variable);
}

/* ---- normal distribution ----------------------------------------------------------------------*/

static double ratio8(const double* a, const double* b, double x)
{
    double top = a[7], bottom = b[7];
    for (int i = 6; i >= 0; --i) {
        top = top * x + a[i];
        bottom = bottom * x + b[i];
    }
    return top / bottom;
}

double perpi_normal_quantile(double p)
{
    static const double a[8] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                                1.9715909503065514427e3, 1.3731693765509461125e4,
                                4.5921953931549871457e4, 6.7265770927008700853e4,
                                3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double b[8] = {1.0,
                                4.2313330701600911252e1,
                                6.8718700749205790830e2,
                                5.3941960214247511077e3,
                                2.1213794301586595867e4,
                                3.9307895800092710610e4,
                                2.8729085735721942674e4,
                                5.2264952788528545610e3};
    static const double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                5.76949722146069140550e0,  3.64784832476320460504e0,
                                1.27045825245236838258e0,  2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[8] = {1.0,
                                2.05319162663775882187e0,
                                1.67638483018380384940e0,
                                6.89767334985100004550e-1,
                                1.48103976427480074590e-1,
                                1.51986665636164571966e-2,
                                5.47593808499534494600e-4,
                                1.05075007164441684324e-9};
    static const double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                1.78482653991729133580e0,  2.96560571828504891230e-1,
                                2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[8] = {1.0,
                                5.99832206555887937690e-1,
                                1.36929880922735805310e-1,
                                1.48753612908506148525e-2,
                                7.86869131145613259100e-4,
                                1.84631831751005468180e-5,
                                1.42151175831644588870e-7,
                                2.04426310338993978564e-15};
    const double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        return q * ratio8(a, b, 0.180625 - q * q);
    }
    const double r = sqrt(-log(q < 0.0 ? p : 1.0 - p));
    const double x = r <= 5.0 ? ratio8(c, d, r - 1.6) : ratio8(e, f, r - 5.0);
    return q < 0.0 ? -x : x;
}
