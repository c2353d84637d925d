/* Poisson's impacts against closed forms, and the law itself, in random scenes; the cap of the energy. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "perp_test.h"
#include "support/scene_sim.h"

static double uniform(uint64_t* seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double between(uint64_t* seed, double low, double high)
{
    return low + (high - low) * uniform(seed);
}

/* Steps until the first impact is over. */
static bool run_to_impact(scene_sim* s)
{
    for (int i = 0; i < 2000 && !perp_sim_finished(s->sim); ++i) {
        if (perp_sim_step(s->sim) != PERP_OK) {
            TEST_PRINT("%s", perp_context_error(s->context));
            return false;
        }
        const perp_step_kind kind = perp_sim_step_info(s->sim).kind;
        if (kind == PERP_STEP_IMPACT || kind == PERP_STEP_DECOMPRESSION) {
            return true;
        }
    }
    return false;
}

/* A box or a ball of any attitude on a plane or on each other, without friction: both laws reverse the
 * normal velocity of a single contact, u+ = -e u-. */
TEST(without_friction_a_single_contact_bounces_alike_by_both_laws)
{
    uint64_t seed = 90;
    double worst = 0.0;
    int found = 0;
    for (int i = 0; i < 40; ++i) {
        const double e = uniform(&seed), angle = between(&seed, 0.2, 0.7),
                     spin = between(&seed, -3, 3);
        const double vx = between(&seed, -2, 2), vz = between(&seed, -4, -1),
                     m = between(&seed, 0.1, 5);
        double v[2][12];
        bool struck = true;
        for (int law = 0; law < 2 && struck; ++law) {
            scene_sim s = scene_sim_open(
                "{'step':0.001,'duration':1,'restitution':{'law':'%s','e':%.17g},"
                "'bodies':[{'name':'a','mass':2,'position':[0,0,0],'shapes':[%s]},"
                "{'name':'b','mass':%.17g,'position':[0.1,0.05,1.2],'axis_angle':[1,0.3,"
                "0.2,%.17g],'velocity':[%.17g,0.3,%.17g],'angular_velocity':[%.17g,1,0.5],"
                "'shapes':[{'type':'box','size':[0.5,0.6,0.7]}]}]}",
                law == 0 ? "newton" : "poisson", e,
                i % 2 == 0 ? "{'type':'sphere','radius':0.5}" : "{'type':'box','size':[3,3,0.6]}",
                m, angle, 0.1 * vx, vz, spin);
            REQUIRE(s.sim != NULL);
            struck = run_to_impact(&s);
            int32_t count, active = 0;
            const perp_contact* c = perp_sim_contacts(s.sim, &count);
            for (int32_t k = 0; k < count; ++k) {
                active += c[k].impulse[0] > 0.0;
            }
            struck = struck && active == 1;
            memcpy(v[law], perp_sim_v(s.sim), sizeof v[law]);
            scene_sim_close(&s);
        }
        found += struck;
        for (int k = 0; k < 12 && struck; ++k) {
            worst = fmax(worst, fabs(v[0][k] - v[1][k]));
        }
    }
    TEST_PRINT("%d impacts, velocities differ by at most %.1e", found, worst);
    CHECK_AT_LEAST(found, 25);
    CHECK_AT_MOST(worst, 1e-9);
}

/* Two balls, or discs, that strike each other off centre with friction. Normal and tangent do not
 * couple: p_n = (1 + e) m' u_n, 1/m' = 1/m1 + 1/m2; p_t = min(mu p_n, m' u_t / (1 + k)), k = m r^2 / I. */
TEST(two_balls_rub_by_the_closed_form)
{
    uint64_t seed = 91;
    double worst = 0.0;
    int slid = 0, stuck = 0;
    for (int i = 0; i < 60; ++i) {
        const bool planar = i % 2 == 0;
        const double e = uniform(&seed), mu = between(&seed, 0.02, 0.6);
        const double m[2] = {between(&seed, 0.2, 3.0), between(&seed, 0.2, 3.0)};
        const double k = planar ? 2.0 : 2.5, r = 0.5;
        const double un = between(&seed, 0.5, 3.0), ut = between(&seed, -4.0, 4.0),
                     dir = planar ? 0.0 : between(&seed, 0.0, 6.28);
        const double I[2] = {m[0] * r * r / k, m[1] * r * r / k};
        scene_sim s =
            planar ? scene_sim_open(
                         "{'dimension':2,'step':1e-4,'duration':1,'restitution':{'law':"
                         "'poisson','e':%.17g},'friction':{'default':%.17g},'bodies':["
                         "{'name':'a','mass':%.17g,'inertia':%.17g,'shapes':[{'type':"
                         "'circle','radius':0.5}]},{'name':'b','mass':%.17g,"
                         "'inertia':%.17g,'position':[0,1.0000001],'velocity':[%.17g,%.17g],"
                         "'shapes':[{'type':'circle','radius':0.5}]}]}",
                         e, mu, m[0], I[0], m[1], I[1], ut, -un)
                   : scene_sim_open(
                         "{'step':1e-4,'duration':1,'restitution':{'law':'poisson',"
                         "'e':%.17g},'friction':{%s'default':%.17g},'bodies':[{'name':'a',"
                         "'mass':%.17g,'inertia':[%.17g,%.17g,%.17g],'shapes':[{'type':"
                         "'sphere','radius':0.5}]},{'name':'b','mass':%.17g,'inertia':["
                         "%.17g,%.17g,%.17g],'position':[0,0,1.0000001],'velocity':[%.17g,%.17g,"
                         "%.17g],'shapes':[{'type':'sphere','radius':0.5}]}]}",
                         e, i % 4 == 1 ? "'cone':'ellipsoid','e_t':1,'e_o':1,'e_r':0.01," : "", mu,
                         m[0], I[0], I[0], I[0], m[1], I[1], I[1], I[1], ut * cos(dir),
                         ut * sin(dir), -un);
        REQUIRE(s.sim != NULL);
        REQUIRE(run_to_impact(&s));
        const double reduced = 1.0 / (1.0 / m[0] + 1.0 / m[1]);
        const double pn = (1.0 + e) * reduced * un;
        const double stick = reduced * fabs(ut) / (1.0 + k), pt = fmin(mu * pn, stick);
        slid += stick > mu * pn;
        stuck += stick <= mu * pn;
        const perp_body_state b = scene_sim_body(&s, "b");
        const double vn = b.velocity[planar ? 1 : 2];
        const double vt =
            planar ? b.velocity[0] : b.velocity[0] * cos(dir) + b.velocity[1] * sin(dir);
        worst = fmax(worst, fabs(vn - (-un + pn / m[1])));
        worst = fmax(worst, fabs(vt - (ut - copysign(pt, ut) / m[1])));
        scene_sim_close(&s);
    }
    TEST_PRINT("%d slide, %d stick; velocities off by at most %.1e", slid, stuck, worst);
    CHECK_AT_LEAST(slid, 10);
    CHECK_AT_LEAST(stuck, 10);
    CHECK_AT_MOST(worst, 1e-6); /* the offset of 1e-5 turns the normal a little in the meantime */
}

/* min(p, W p + q) = 0 of two unknowns, by trying all four cases. */
static void solve_lcp2(double W[2][2], const double q[2], double p[2])
{
    const double det = W[0][0] * W[1][1] - W[0][1] * W[1][0];
    const double both[2] = {-(W[1][1] * q[0] - W[0][1] * q[1]) / det,
                            -(W[0][0] * q[1] - W[1][0] * q[0]) / det};
    p[0] = p[1] = 0.0;
    if (q[0] >= 0.0 && q[1] >= 0.0) {
        return;
    }
    if (both[0] > 0.0 && both[1] > 0.0) {
        p[0] = both[0];
        p[1] = both[1];
    } else if (q[0] < 0.0 && q[1] - W[1][0] * q[0] / W[0][0] >= 0.0) {
        p[0] = -q[0] / W[0][0];
    } else {
        p[1] = -q[1] / W[1][1];
    }
}

/* A dumbbell of unequal arms lands on both balls at once. Compression and decompression are linear
 * complementarity problems of two unknowns. */
TEST(two_contacts_share_the_impulses_of_the_closed_form)
{
    uint64_t seed = 92;
    double worst = 0.0;
    int meet = 0;
    for (int i = 0; i < 60; ++i) {
        const double a = between(&seed, 0.2, 1.0), b = between(&seed, 0.2, 1.0), m = 1.5;
        const double I = between(&seed, 0.02, 2.0), e[2] = {uniform(&seed), uniform(&seed)};
        const double v = between(&seed, -3.0, -1.0), w = between(&seed, -0.5, 0.5);
        /* the two balls are over floors of their own: coefficients e^2 / 1 -> e by the geometric mean */
        scene_sim s = scene_sim_open(
            "{'dimension':2,'step':1e-4,'duration':1,'restitution':{'law':'poisson',"
            "'e':1},'bodies':[{'name':'l','type':'static','restitution':%.17g,"
            "'position':[-5,-1],'shapes':[{'type':'box','size':[10,2]}]},{'name':'r',"
            "'type':'static','restitution':%.17g,'position':[5.05,-1],'shapes':[{"
            "'type':"
            "'box','size':[9.95,2]}]},{'name':'d','mass':%.17g,'inertia':%.17g,"
            "'position':[0,0.10001],'velocity':[0,%.17g],'angular_velocity':%.17g,"
            "'shapes':[{'type':'circle','radius':0.1,'position':[%.17g,0]},{'type':"
            "'circle','radius':0.1,'position':[%.17g,0]}]}]}",
            e[0] * e[0], e[1] * e[1], m, I, v, w, -a - 0.11, b + 0.2);
        REQUIRE(s.sim != NULL);
        const double arm[2] = {-a - 0.11, b + 0.2};
        double W[2][2], q[2], p[2], more[2];
        for (int r = 0; r < 2; ++r) {
            for (int c = 0; c < 2; ++c) {
                W[r][c] = 1.0 / m + arm[r] * arm[c] / I;
            }
            q[r] = v + arm[r] * w;
        }
        if (!(q[0] < -0.2 && q[1] < -0.2)) { /* both are struck in the same step */
            scene_sim_close(&s);
            continue;
        }
        solve_lcp2(W, q, p);
        double u[2], given[2] = {e[0] * p[0], e[1] * p[1]};
        for (int r = 0; r < 2; ++r) {
            u[r] = q[r];
            for (int c = 0; c < 2; ++c) {
                u[r] += W[r][c] * (p[c] + given[c]);
            }
        }
        solve_lcp2(W, u, more);
        meet += more[0] + more[1] > 0.0;
        double vy = v, vw = w;
        for (int c = 0; c < 2; ++c) {
            const double total = p[c] + given[c] + more[c];
            vy += total / m;
            vw += arm[c] * total / I;
        }
        /* never more energy than before: then the coefficients would be reduced */
        const bool grows = m * vy * vy + I * vw * vw > m * v * v + I * w * w;
        REQUIRE(run_to_impact(&s));
        const perp_body_state d = scene_sim_body(&s, "d");
        if (!grows) {
            worst = fmax(worst, fabs(d.velocity[1] - vy));
            worst = fmax(worst, fabs(d.angular_velocity[2] - vw));
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("%d meet again; velocities off by at most %.1e", meet, worst);
    CHECK_AT_LEAST(meet, 3);
    CHECK_AT_MOST(worst, 1e-6);
}

/* Boxes and balls thrown at each other, as in a scene that once took minutes for one impact. Checked from
 * the recorded impulses alone: p_n >= e p_c, more only where the bodies do not part; energy. */
static void check_crowd(int i, uint64_t* seed, double* worst, int* impacts, int* most, int* capped)
{
    char bodies[4096] = "";
    size_t used = 0;
    const int n = 3 + i % 4;
    const double size = pow(10.0, between(seed, -3.0, 0.0)), speed = 20.0 * size;
    const double e = i % 3 == 0 ? 1.0 : between(seed, 0.3, 1.0), mu = (double)(i % 4) * 0.3;
    const bool planar = i % 2 == 0;
    for (int k = 0; k < n; ++k) {
        char shape[200];
        if (planar) {
            snprintf(shape, sizeof shape, "{'type':'box','size':[%.9g,%.9g]}",
                     size * between(seed, 0.5, 1.2), size * between(seed, 0.5, 1.2));
        } else if (k % 2 == 0) {
            snprintf(shape, sizeof shape, "{'type':'box','size':[%.9g,%.9g,%.9g]}",
                     size * between(seed, 0.5, 1.2), size * between(seed, 0.5, 1.2),
                     size * between(seed, 0.5, 1.2));
        } else {
            snprintf(shape, sizeof shape, "{'type':'sphere','radius':%.9g}", 0.5 * size);
        }
        const double x = (k % 2 == 0 ? -1.0 : 1.0) * size, y = 2.0 * (double)(k / 2) * size;
        used += (size_t)snprintf(bodies + used, sizeof bodies - used,
                                 "%s{'name':'b%d','mass':%.9g,'position':[%.9g,%.9g%s],"
                                 "'velocity':[%.9g,%.9g%s],"
                                 "'shapes':[%s]}",
                                 k > 0 ? "," : "", k, between(seed, 0.1, 1.0), x, y,
                                 planar ? "" : ",0", -x / size * between(seed, 0.2, 1.0) * speed,
                                 between(seed, -1.0, 1.0) * speed, planar ? "" : ",0.3", shape);
    }
    scene_sim s =
        scene_sim_open("{'dimension':%d,'step':%.17g,'duration':%.17g,'contact':'standard',"
                       "'friction':{'default':%g,%s},'restitution':{'law':'poisson','e':%.17g},"
                       "'bodies':[%s]}",
                       planar ? 2 : 3, 0.1 * size / speed, 3.0 * size / speed, mu,
                       i % 5 == 0   ? "'cone':'polygon','directions':6"
                       : i % 5 == 1 ? "'cone':'ellipsoid','e_t':1.5,'e_o':0.8,'e_r':1e-4"
                                    : "'cone':'quadratic'",
                       e, bodies);
    if (s.sim == NULL) {
        TEST_PRINT("%s", s.error);
    }
    REQUIRE(s.sim != NULL);
    static double asked[4096], rate[4096];
    double kinetic = 0.0, before = perp_sim_energy(s.sim).kinetic;
    while (!perp_sim_finished(s.sim)) {
        const double now = perp_sim_energy(s.sim).kinetic;
        REQUIRE_OK(perp_sim_step(s.sim));
        const perp_step_info info = perp_sim_step_info(s.sim);
        int32_t count;
        const perp_contact* c = perp_sim_contacts(s.sim, &count);
        REQUIRE(count <= 4096);
        if (info.kind == PERP_STEP_COMPRESSION) {
            kinetic = now; /* before compression */
            for (int32_t k = 0; k < count; ++k) {
                asked[k] = e * c[k].impulse[0];
            }
        } else if (info.kind == PERP_STEP_DECOMPRESSION) {
            double scale = 0.0, fastest = 0.0;
            for (int32_t k = 0; k < count; ++k) {
                rate[k] = asked[k] > 0.0 ? -c[k].drift[0] : 0.0; /* u_n after it */
                scale = fmax(scale, asked[k]);
                fastest = fmax(fastest, rate[k]);
            }
            for (int32_t k = 0; k < count && info.restitution_kept == 1.0; ++k) {
                const double more = (c[k].impulse[0] - asked[k]) / scale;
                *worst = fmax(*worst, -more);
                *worst = fmax(*worst, fmin(more, rate[k] / (fastest > 0.0 ? fastest : 1.0)));
            }
            *impacts += 1;
            *capped += info.restitution_kept < 1.0;
            *most = info.rounds > *most ? info.rounds : *most;
            CHECK_AT_MOST(perp_sim_energy(s.sim).kinetic, kinetic * (1.0 + 1e-9));
            CHECK_AT_MOST(info.report.iterations, 4000);
        }
    }
    CHECK_AT_MOST(perp_sim_energy(s.sim).kinetic, before * (1.0 + 1e-9));
    scene_sim_close(&s);
}

TEST(crowds_follow_the_law_in_a_few_solves)
{
    uint64_t seed = 93;
    double worst = 0.0;
    int impacts = 0, most = 0, capped = 0;
    for (int i = 0; i < 60; ++i) {
        check_crowd(i, &seed, &worst, &impacts, &most, &capped);
    }
    TEST_PRINT("%d impacts, %d reduced; law off by at most %.1e, at most %d evaluations", impacts,
               capped, worst, most);
    CHECK_AT_LEAST(impacts, 60);
    CHECK_AT_MOST(worst, 1e-6);
    CHECK_AT_MOST(most, 21);
}

/* A rod that strikes the floor with friction: Newton's law with e near 1 can give energy (Kane and
 * Levinson). Then all of it is kept, to rounding, and no more. */
TEST(where_the_law_would_give_energy_all_of_it_is_kept)
{
    uint64_t seed = 94;
    double worst = 0.0;
    int capped = 0, most = 0;
    for (int i = 0; i < 400; ++i) {
        const double angle = between(&seed, 0.2, 1.4), vx = between(&seed, -6.0, 6.0),
                     w = between(&seed, -6.0, 6.0), e = between(&seed, 0.9, 1.0);
        scene_sim s =
            scene_sim_open("{'dimension':2,'step':1e-4,'duration':1,'friction':{'default':%g},"
                           "'restitution':{'law':'%s','e':%.17g},'bodies':[{'name':'floor',"
                           "'type':'static','shapes':[{'type':'halfplane','normal':[0,1],"
                           "'offset':0}]},{'name':'rod','mass':1,'inertia':%.17g,"
                           "'position':[0,%.17g],'angle':%.17g,'velocity':[%.17g,-1],"
                           "'angular_velocity':%.17g,'shapes':[{'type':'box','size':[2,0.001]}]}]}",
                           between(&seed, 0.1, 1.0), i % 4 == 3 ? "poisson" : "newton", e,
                           1.0 / 3.0, sin(angle) + 0.005, angle, vx, w);
        REQUIRE(s.sim != NULL);
        double before = perp_sim_energy(s.sim).kinetic;
        if (run_to_impact(&s)) {
            const perp_step_info info = perp_sim_step_info(s.sim);
            const double change = perp_sim_energy(s.sim).kinetic / before - 1.0;
            most = info.rounds > most ? info.rounds : most;
            CHECK_AT_MOST(change, 1e-11);
            if (info.restitution_kept < 1.0) {
                capped += 1;
                worst = fmax(worst, fabs(change));
            }
        }
        scene_sim_close(&s);
    }
    TEST_PRINT("%d of 400 reduced, energy kept to %.1e, at most %d evaluations", capped, worst,
               most);
    CHECK_AT_LEAST(capped, 10);
    CHECK_AT_MOST(worst, 1e-10);
    CHECK_AT_MOST(most, 14);
}
