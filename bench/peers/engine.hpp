/* bench/peers/engine.hpp - what the harness asks of an engine. Each engine is a program of its own
 * (Bullet in single and in double precision cannot be linked into one): it defines make_engine. */
#ifndef PEERS_ENGINE_HPP
#define PEERS_ENGINE_HPP

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "scenes.hpp"

/* A contact of the last step. Geometry at the start of the step. */
struct Contact {
    int a, b;        /* bodies; -1: the world */
    Vec3 normal;     /* from a to b */
    Vec3 on_a, on_b; /* where the impulse acts on each */
    double gap;      /* < 0: penetration */
    Vec3 impulse;    /* on b, in the world */
    Vec3 drift;      /* given part of the relative velocity in the law */
    bool law = true; /* false: one of several contacts of which not all must hold; only its
                        impulse counts */
};

/* What an engine says of its own steps; NaN: nothing. */
struct Account {
    double certificate; /* largest of all steps since the start */
    double iterations;  /* mean */
    int failed;         /* steps that did not reach the engine's own tolerance; -1: not known */
};

class Engine
{
  public:
    virtual ~Engine() = default;
    virtual void build(const World& world) = 0;
    virtual void step() = 0;
    virtual State state(int body) = 0;
    virtual void contacts(std::vector<Contact>& list) = 0;
    /* The normal velocity that the engine's own law asks of a contact: it keeps u_n >= this. */
    virtual double normal_target(double gap, double h) const = 0;
    /* The angular velocity for which the laws of the last step hold, where it is not the one that
     * the body has afterwards. */
    virtual Vec3 law_spin(int, const State& after)
    {
        return after.angular_velocity;
    }
    virtual Account account() const
    {
        return {NAN, NAN, -1};
    }
    /* A state from which a run can begin; false: this engine has none. */
    virtual bool save(const std::string&)
    {
        return false;
    }
    virtual bool load(const std::string&)
    {
        return false;
    }
};

extern const char* const engine_name;
extern const bool engine_is_planar;
/* variant: settings of the engine, "" for its own; throws std::invalid_argument. */
std::unique_ptr<Engine> make_engine(const std::string& variant);

#endif
