#include "impacts.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- data -----------------------------------------------------------------------------------------*/

static void bad_file(const char* path, const char* what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    exit(2);
}

static void add(impact_set* set, const impact* i)
{
    impact* more = realloc(set->item, (set->count + 1) * sizeof *more);
    if (more == NULL) {
        perror("real-impacts");
        exit(3);
    }
    set->item = more;
    set->item[set->count++] = *i;
}

bool impacts_read(const char* path, impact_set* set)
{
    char line[1024];
    FILE* f = fopen(path, "r");
    *set = (impact_set){NULL, 0};
    if (f == NULL) {
        return false;
    }
    if (fgets(line, sizeof line, f) == NULL ||
        strncmp(line, "impact,flags,x0,y0,angle0", 25) != 0) {
        bad_file(path, "is not the table of impacts (impact,flags,x0,y0,angle0,...)");
    }
    while (fgets(line, sizeof line, f) != NULL) {
        double x[16];
        char* at = line;
        for (int k = 0; k < 16; ++k) {
            char* end = at;
            x[k] = strtod(at, &end);
            if (end == at) {
                bad_file(path, "a row has less than 16 numbers");
            }
            at = end + (*end == ',');
        }
        const impact i = {.number = (int)x[0],
                          .pose = {x[2], x[3], x[4]},
                          .before = {x[5], x[6], x[7]},
                          .after = {x[11], x[12], x[13]},
                          .r = {x[14], x[15]}};
        add(set, &i);
    }
    fclose(f);
    return true;
}

/* A linear congruence of 64 bits; uniform in (0, 1). */
static double uniform(uint64_t* state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t* state)
{
    const double radius = sqrt(-2.0 * log(uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

void impacts_make(size_t count, double mu, double e, double noise, impact_set* set)
{
    uint64_t state = 2017;
    *set = (impact_set){NULL, 0};
    for (size_t n = 0; n < count; ++n) {
        impact i = {.number = (int)n + 1};
        i.pose[0] = -0.37 + 0.04 * normal(&state);
        i.pose[2] = 6.283185307179586 * uniform(&state);
        i.before[0] = -0.6 + 0.15 * normal(&state);
        i.before[1] = -2.57 + 0.15 * normal(&state);
        i.before[2] = 6.0 * normal(&state);
        lowest_point(i.pose[2], i.r);
        i.pose[1] = -i.r[1];
        const contact_frame f = frame_of(&i, GYRATION);
        double p[2];
        newton_impulse(&f, mu, e, p);
        i.after[0] = i.before[0] + p[1] + noise * normal(&state);
        i.after[1] = i.before[1] + p[0] + noise * normal(&state);
        i.after[2] = i.before[2] + (f.r[0] * p[0] - f.r[1] * p[1]) / f.k +
                     noise / sqrt(f.k) * normal(&state);
        add(set, &i);
    }
}

void impacts_free(impact_set* set)
{
    free(set->item);
    *set = (impact_set){NULL, 0};
}

void impacts_write(const report* r, const char* name, const impact_set* set)
{
    FILE* f = report_file(r, name);
    fprintf(f, "impact,x0,y0,angle0,vx0,vy0,w0,vx1,vy1,w1\n");
    for (size_t n = 0; n < set->count; ++n) {
        const impact* i = &set->item[n];
        fprintf(f, "%d", i->number);
        for (int k = 0; k < 9; ++k) {
            fprintf(f, ",%.17g", k < 3 ? i->pose[k] : k < 6 ? i->before[k - 3] : i->after[k - 6]);
        }
        fprintf(f, "\n");
    }
    fclose(f);
}

impact_set impacts_half(const impact_set* set, size_t first)
{
    impact_set half = {NULL, 0};
    for (size_t n = first; n < set->count; n += 2) {
        add(&half, &set->item[n]);
    }
    return half;
}

/* ---- one impact -----------------------------------------------------------------------------------*/

void lowest_point(double angle, double r[2])
{
    const double a = HALF_AXIS_A, b = HALF_AXIS_B, c = cos(angle), s = sin(angle);
    const double height = sqrt(a * a * s * s + b * b * c * c);
    const double x = -a * a * s / height, y = -b * b * c / height; /* in the axes of the ellipse */
    r[0] = c * x - s * y;
    r[1] = s * x + c * y;
}

contact_frame frame_of(const impact* i, double k)
{
    contact_frame f = {.k = k};
    lowest_point(i->pose[2], f.r);
    f.nn = 1.0 + f.r[0] * f.r[0] / k;
    f.tt = 1.0 + f.r[1] * f.r[1] / k;
    f.nt = -f.r[0] * f.r[1] / k;
    f.u[0] = i->before[1] + f.r[0] * i->before[2];
    f.u[1] = i->before[0] - f.r[1] * i->before[2];
    f.u_after[0] = i->after[1] + f.r[0] * i->after[2];
    f.u_after[1] = i->after[0] - f.r[1] * i->after[2];
    f.speed = sqrt(i->before[0] * i->before[0] + i->before[1] * i->before[1] +
                   k * i->before[2] * i->before[2]);
    const double d = f.nn * f.tt - f.nt * f.nt;
    const double n = f.u_after[0] - f.u[0], t = f.u_after[1] - f.u[1];
    f.p[0] = (f.tt * n - f.nt * t) / d;
    f.p[1] = (f.nn * t - f.nt * n) / d;
    return f;
}

static void sticking_impulse(const contact_frame* f, double e, double p[2])
{
    const double d = f->nn * f->tt - f->nt * f->nt;
    const double n = -(1.0 + e) * f->u[0], t = -f->u[1];
    p[0] = (f->tt * n - f->nt * t) / d;
    p[1] = (f->nn * t - f->nt * n) / d;
}

void newton_impulse(const contact_frame* f, double mu, double e, double p[2])
{
    sticking_impulse(f, e, p);
    if (p[0] >= 0.0 && fabs(p[1]) <= mu * p[0]) {
        return;
    }
    const double side = p[1] > 0.0 ? 1.0 : -1.0; /* friction pulls towards sticking */
    p[0] = -(1.0 + e) * f->u[0] / (f->nn + side * mu * f->nt);
    p[1] = side * mu * p[0];
}

void routh_impulse(const contact_frame* f, double mu, double e, double p[2])
{
    const double side = f->u[1] > 0.0 ? -1.0 : 1.0;         /* friction against the first slip */
    const double first = side * mu, stick = -f->nt / f->tt; /* p_t over p_n */
    const double then = fabs(stick) <= mu ? stick : stick > 0.0 ? mu : -mu;
    const double rate = f->nt + f->tt * first; /* of the slip */
    const double turn = side * rate > 0.0 ? -f->u[1] / rate : INFINITY;
    double compression = -f->u[0] / (f->nn + f->nt * first);
    if (compression > turn) {
        const double left = f->u[0] + (f->nn + f->nt * first) * turn;
        compression = turn - left / (f->nn + f->nt * then);
    }
    p[0] = (1.0 + e) * compression;
    p[1] = p[0] <= turn ? first * p[0] : first * turn + then * (p[0] - turn);
}

/* d' W d. */
static double square(const contact_frame* f, double n, double t)
{
    return f->nn * n * n + 2.0 * f->nt * n * t + f->tt * t * t;
}

void best_impulse(const contact_frame* f, double p[2])
{
    double centre[2];
    sticking_impulse(f, 0.0, centre); /* here the energy is least */
    const double n = f->p[0] - centre[0], t = f->p[1] - centre[1];
    const double most = square(f, centre[0], centre[1]), size = square(f, n, t);
    /* impulses of equal energy are ellipses about the centre in the norm of the error itself */
    const double part = size > most ? sqrt(most / size) : 1.0;
    p[0] = centre[0] + part * n;
    p[1] = centre[1] + part * t;
    if (p[0] < 0.0) {
        p[0] = p[1] = 0.0;
    }
}

double own_restitution(const contact_frame* f)
{
    return -f->u_after[0] / f->u[0];
}

/* On the line of e, from no friction to sticking. Returns the square of the distance from f->p. */
static double nearest_on_line(const contact_frame* f, double e, double p[2], double* part)
{
    double stick[2];
    sticking_impulse(f, e, stick);
    const double slide = -(1.0 + e) * f->u[0] / f->nn;
    const double n = stick[0] - slide, t = stick[1], length = square(f, n, t);
    const double a = f->p[0] - slide, b = f->p[1];
    *part = length > 0.0 ? (f->nn * a * n + f->nt * (a * t + b * n) + f->tt * b * t) / length : 0.0;
    const double limited = *part < 0.0 ? 0.0 : *part > 1.0 ? 1.0 : *part;
    p[0] = slide + limited * n;
    p[1] = limited * t;
    return square(f, f->p[0] - p[0], f->p[1] - p[1]);
}

void nearest_by_law(const contact_frame* f, double low, double high, double p[2], double* part)
{
    enum { STEPS = 400, REFINE = 4 };
    double least = INFINITY, best = low;
    for (int round = 0; round < REFINE; ++round) {
        const double from = low, width = (high - low) / STEPS;
        for (int k = 0; k <= STEPS; ++k) {
            const double e = from + width * k;
            const double distance = nearest_on_line(f, e, p, part);
            if (distance < least) {
                least = distance;
                best = e;
            }
        }
        low = best - width > low ? best - width : low;
        high = best + width < high ? best + width : high;
    }
    (void)nearest_on_line(f, best, p, part);
}
