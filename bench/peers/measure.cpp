#include "measure.hpp"

#include <algorithm>

#include "perp/problem.h"

namespace
{

double reach(const Body& b, const Rotation& r, Vec3 direction)
{
    if (b.shape == Body::SPHERE) {
        return b.half.x;
    }
    double e = 0;
    for (int i = 0; i < 3; ++i) {
        e += b.half[i] * std::fabs(dot(r.axis[i], direction));
    }
    return e;
}

/* Of two boxes by the fifteen axes; positive: they overlap. */
double box_overlap(const Body& a, const State& sa, const Body& b, const State& sb)
{
    const Rotation ra(sa.orientation), rb(sb.orientation);
    const Vec3 apart = sb.position - sa.position;
    double least = INFINITY;
    auto separates = [&](Vec3 axis) {
        const double length = norm(axis);
        if (length < 1e-6) { /* parallel edges: a face normal says the same */
            return false;
        }
        axis = (1 / length) * axis;
        const double overlap =
            reach(a, ra, axis) + reach(b, rb, axis) - std::fabs(dot(apart, axis));
        least = std::min(least, overlap);
        return overlap <= 0;
    };
    for (int i = 0; i < 3; ++i) {
        if (separates(ra.axis[i]) || separates(rb.axis[i])) {
            return least;
        }
    }
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            if (separates(cross(ra.axis[i], rb.axis[j]))) {
                return least;
            }
        }
    }
    return least;
}

double kinetic_energy(const Body& b, const State& s)
{
    const Vec3 w = Rotation(s.orientation).to_body(s.angular_velocity);
    return 0.5 * b.mass * dot(s.velocity, s.velocity) +
           0.5 * (b.inertia.x * w.x * w.x + b.inertia.y * w.y * w.y + b.inertia.z * w.z * w.z);
}

/* Two directions across n. */
void tangents(Vec3 n, Vec3& t, Vec3& o)
{
    t = std::fabs(n.x) < 0.6 ? Vec3{0, n.z, -n.y} : Vec3{-n.z, 0, n.x};
    t = (1 / norm(t)) * t;
    o = cross(n, t);
}

/* The contact problem of a step as perp states it, with the engine's contacts. */
struct StepProblem {
    std::vector<int32_t> dof;
    std::vector<double> M, k, J, b, v, p;
    std::vector<perp_constraint> constraints;
    std::vector<Vec3> torque; /* of all contact impulses, by body */

    StepProblem(const World& world, const std::vector<State>& before,
                const std::vector<State>& after);
    void add(const World& world, const std::vector<State>& before, const Contact& c, double target);
    void close(const std::vector<State>& after);
    perp_contact_residual check() const;
};

StepProblem::StepProblem(const World& world, const std::vector<State>& before,
                         const std::vector<State>& after)
{
    const int n = (int)world.bodies.size();
    M.assign(36 * (size_t)n, 0.0);
    torque.resize(n);
    for (int i = 0; i < n; ++i) {
        const Body& body = world.bodies[i];
        const Rotation r(before[i].orientation);
        double* block = &M[36 * (size_t)i];
        dof.push_back(6 * i);
        for (int a = 0; a < 3; ++a) {
            block[7 * a] = body.mass;
            for (int c = 0; c < 3; ++c) {
                for (int e = 0; e < 3; ++e) {
                    block[6 * (3 + a) + 3 + c] += body.inertia[e] * r.axis[e][a] * r.axis[e][c];
                }
            }
        }
        for (int a = 0; a < 3; ++a) {
            k.push_back(body.mass * (before[i].velocity[a] + world.h * world.gravity[a]));
        }
        k.insert(k.end(), 3, 0.0);
        for (int a = 0; a < 3; ++a) {
            v.push_back(after[i].velocity[a]);
        }
        for (int a = 0; a < 3; ++a) {
            v.push_back(after[i].angular_velocity[a]);
        }
    }
    dof.push_back(6 * n);
}

void StepProblem::add(const World& world, const std::vector<State>& before, const Contact& c,
                      double target)
{
    Vec3 row[3] = {c.normal};
    tangents(c.normal, row[1], row[2]);
    const int bodies[2] = {c.a, c.b};
    const Vec3 points[2] = {c.on_a, c.on_b};
    perp_constraint constraint = {};
    constraint.kind = PERP_CONSTRAINT_CONTACT;
    constraint.row = (int32_t)b.size();
    constraint.rows = 3;
    constraint.jac = J.size();
    constraint.cone = PERP_CONE_QUADRATIC;
    constraint.mu = world.mu;
    for (int side = 0; side < 2; ++side) {
        const int i = bodies[side];
        constraint.block[side] = i;
        if (i < 0) {
            continue;
        }
        const double sign = side == 0 ? -1 : 1;
        const Vec3 arm = points[side] - before[i].position;
        const Vec3 impulse = sign * c.impulse;
        torque[i] = torque[i] + cross(arm, impulse);
        if (!c.law) {
            for (int a = 0; a < 3; ++a) {
                k[6 * (size_t)i + a] += impulse[a];
            }
            continue;
        }
        for (const Vec3& d : row) {
            const Vec3 turn = cross(arm, d);
            for (int a = 0; a < 3; ++a) {
                J.push_back(sign * d[a]);
            }
            for (int a = 0; a < 3; ++a) {
                J.push_back(sign * turn[a]);
            }
        }
    }
    if (c.law) {
        b.insert(b.end(),
                 {dot(row[0], c.drift) - target, dot(row[1], c.drift), dot(row[2], c.drift)});
        for (const Vec3& d : row) {
            p.push_back(dot(c.impulse, d));
        }
        constraints.push_back(constraint);
    }
}

/* Gives every body the torque that its change of spin needs: what is left is the linear part. */
void StepProblem::close(const std::vector<State>& after)
{
    std::vector<Vec3> by_law(torque.size());
    for (const perp_constraint& c : constraints) {
        size_t at = c.jac;
        for (int side = 0; side < 2; ++side) {
            if (c.block[side] < 0) {
                continue;
            }
            for (int r = 0; r < 3; ++r, at += 6) {
                const Vec3 turn = {J[at + 3], J[at + 4], J[at + 5]};
                by_law[c.block[side]] = by_law[c.block[side]] + p[c.row + r] * turn;
            }
        }
    }
    for (size_t i = 0; i < after.size(); ++i) {
        for (int a = 0; a < 3; ++a) {
            double spin = 0;
            for (int c = 0; c < 3; ++c) {
                spin += M[36 * i + 6 * (3 + a) + 3 + c] * after[i].angular_velocity[c];
            }
            k[6 * i + 3 + a] = spin - by_law[i][a];
        }
    }
}

perp_contact_residual StepProblem::check() const
{
    perp_contact_problem problem = {};
    problem.block_count = (int32_t)dof.size() - 1;
    problem.constraint_count = (int32_t)constraints.size();
    problem.dof_count = dof.back();
    problem.row_count = (int32_t)b.size();
    problem.dof = dof.data();
    problem.M = M.data();
    problem.k = k.data();
    problem.J = J.data();
    problem.b = b.data();
    problem.constraint = constraints.data();
    std::vector<double> work(perp_contact_residual_work(&problem) + 1);
    return perp_contact_check_residual(&problem, v.data(), p.data(), work.data());
}

/* The natural map of the contact's law as an impulse, with the mean mass as the weight. */
double impulse_violation(const World& world, const std::vector<State>& before,
                         const std::vector<State>& after, const Contact& c, double target,
                         double mass)
{
    auto velocity = [&](int i, Vec3 point) {
        return i < 0 ? Vec3{}
                     : after[i].velocity +
                           cross(after[i].angular_velocity, point - before[i].position);
    };
    const Vec3 u = velocity(c.b, c.on_b) - velocity(c.a, c.on_a) + c.drift;
    const double u_n = dot(u, c.normal), p_n = dot(c.impulse, c.normal);
    const Vec3 p_t = c.impulse - p_n * c.normal;
    const double limit = world.mu * (p_n > 0 ? p_n : 0);
    Vec3 projected = p_t - mass * (u - u_n * c.normal);
    if (norm(projected) > limit) {
        projected = (limit / norm(projected)) * projected;
    }
    const double gap_part = mass * (u_n - target);
    double most = std::fabs(gap_part < p_n ? gap_part : p_n);
    raise_to(most, norm(p_t - projected));
    return most;
}

} // namespace

double penetration(const World& world, const std::vector<State>& now)
{
    const size_t n = world.bodies.size();
    double most = 0;
    for (size_t i = 0; i < n; ++i) {
        const Body& a = world.bodies[i];
        const Rotation r(now[i].orientation);
        for (const Plane& plane : world.planes) {
            raise_to(most,
                     reach(a, r, plane.normal) + plane.offset - dot(plane.normal, now[i].position));
        }
        for (size_t j = i + 1; j < n; ++j) {
            const Body& b = world.bodies[j];
            const bool spheres = a.shape == Body::SPHERE && b.shape == Body::SPHERE;
            const double far = spheres ? a.half.x + b.half.x : norm(a.half) + norm(b.half);
            const double distance = norm(now[j].position - now[i].position);
            if (distance < far) {
                raise_to(most, spheres ? far - distance : box_overlap(a, now[i], b, now[j]));
            }
        }
    }
    return most;
}

double total_energy(const World& world, const std::vector<State>& now)
{
    double e = 0;
    for (size_t i = 0; i < now.size(); ++i) {
        const Body& b = world.bodies[i];
        e += kinetic_energy(b, now[i]) - b.mass * dot(world.gravity, now[i].position);
    }
    return e;
}

double joint_gap(const World& world, const std::vector<State>& now)
{
    double most = 0;
    auto anchor = [&](int i, Vec3 local) {
        return i < 0 ? local : now[i].position + Rotation(now[i].orientation).to_world(local);
    };
    for (const Joint& j : world.joints) {
        raise_to(most, norm(anchor(j.a, j.anchor_a) - anchor(j.b, j.anchor_b)));
    }
    return most;
}

void Residual::include(const Residual& other)
{
    raise_to(dynamics, other.dynamics);
    raise_to(normal, other.normal);
    raise_to(friction, other.friction);
    raise_to(worst, other.worst);
    raise_to(weights, other.weights);
    contacts = std::max(contacts, other.contacts);
    active = std::max(active, other.active);
}

Residual residual(const World& world, const std::vector<State>& before,
                  const std::vector<State>& after, const std::vector<Contact>& contacts,
                  const Engine& engine)
{
    Residual result;
    double mass = 0;
    for (const Body& b : world.bodies) {
        mass += b.mass / (double)world.bodies.size();
    }
    const double weight = mass * GRAVITY * world.h;
    StepProblem problem(world, before, after);
    for (const Contact& c : contacts) {
        const double target = engine.normal_target(c.gap, world.h);
        problem.add(world, before, c, target);
        result.contacts += 1;
        result.active += dot(c.impulse, c.normal) > 1e-9 * weight;
        if (c.law) {
            raise_to(result.weights,
                     impulse_violation(world, before, after, c, target, mass) / weight);
        }
    }
    problem.close(after);
    const perp_contact_residual checked = problem.check();
    result.dynamics = checked.dynamics;
    result.normal = checked.normal;
    result.friction = checked.friction;
    result.worst = checked.worst;
    return result;
}
