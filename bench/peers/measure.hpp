/* bench/peers/measure.hpp - how exact a step is, computed from what any engine gives: poses,
 * velocities, contacts with their impulses. Nothing here trusts an engine. */
#ifndef PEERS_MEASURE_HPP
#define PEERS_MEASURE_HPP

#include <vector>

#include "engine.hpp"

/* A maximum that keeps a NaN. */
inline void raise_to(double& most, double value)
{
    if (!std::isnan(most) && !(value <= most)) {
        most = value;
    }
}

/* Largest overlap of any two bodies, or of a body and a plane: separating axes of the shapes. */
double penetration(const World& world, const std::vector<State>& now);
double total_energy(const World& world, const std::vector<State>& now);
/* Largest distance of two anchors that should coincide. */
double joint_gap(const World& world, const std::vector<State>& now);

/* The laws of the step from `before` to `after`. The first four are perp's residual check
 * (perp_contact_check_residual), so that all engines are measured alike: relative to the largest
 * term that enters a law. The normal law is the one that the engine itself aims at
 * (Engine::normal_target). Angular momentum is not checked, because engines differ in the
 * gyroscopic term. */
struct Residual {
    double dynamics = 0, normal = 0, friction = 0, worst = 0;
    double weights = 0; /* largest violation as an impulse, in mean body weights times h */
    int contacts = 0, active = 0;

    void include(const Residual& other);
};
Residual residual(const World& world, const std::vector<State>& before,
                  const std::vector<State>& after, const std::vector<Contact>& contacts,
                  const Engine& engine);

#endif
