/* bench/peers/ode.cpp - the Open Dynamics Engine.
 *
 * variant: "" its direct solver (dWorldStep); "quickN": N iterations of Gauss-Seidel (20).
 */
#include <cstdarg>
#include <cstdlib>
#include <deque>
#include <stdexcept>

#include <ode/ode.h>

#include "engine.hpp"

const char* const engine_name = "ODE";
const bool engine_is_planar = false;

namespace
{

enum { CONTACTS_PER_PAIR = 8 };

int messages; /* the direct solver complains instead of failing */

void count_message(int, const char*, va_list)
{
    messages += 1;
}

struct Library {
    Library()
    {
        dInitODE2(0);
        dAllocateODEDataForThread(dAllocateMaskAll);
        dSetMessageHandler(count_message);
    }
};

class Ode : public Engine
{
    struct Found {
        dContactGeom geometry;
        int body[2];
        dJointFeedback feedback;
    };

    double h = 0, mu = 0;
    bool quick = false, collide = true;
    int iterations = 20;
    dWorldID world = nullptr;
    dSpaceID space = nullptr;
    dJointGroupID group = nullptr;
    std::vector<dBodyID> bodies;
    std::deque<Found> found; /* ODE keeps pointers to the feedback */
    size_t found_count = 0;

    static void near(void* self, dGeomID a, dGeomID b)
    {
        static_cast<Ode*>(self)->meet(a, b);
    }
    void meet(dGeomID a, dGeomID b);

  public:
    explicit Ode(const std::string& variant);
    ~Ode() override;
    void build(const World& w) override;
    void step() override;
    State state(int body) override;
    void contacts(std::vector<Contact>& list) override;
    double normal_target(double gap, double step) const override
    {
        return -dWorldGetERP(world) * gap / step;
    }
    Account account() const override
    {
        return {NAN, NAN, messages};
    }
};

Ode::Ode(const std::string& variant)
{
    static Library library;
    if (variant.compare(0, 5, "quick") == 0) {
        quick = true;
        iterations = variant.size() > 5 ? std::atoi(variant.c_str() + 5) : iterations;
    } else if (!variant.empty()) {
        throw std::invalid_argument("ODE: no variant " + variant);
    }
    messages = 0;
    dRandSetSeed(0);
}

Ode::~Ode()
{
    if (world != nullptr) {
        dJointGroupDestroy(group);
        dSpaceDestroy(space);
        dWorldDestroy(world);
    }
}

void Ode::build(const World& w)
{
    h = w.h;
    mu = w.mu;
    collide = w.collide;
    world = dWorldCreate();
    space = dHashSpaceCreate(nullptr);
    group = dJointGroupCreate(0);
    dHashSpaceSetLevels(space, -3, 3);
    dWorldSetGravity(world, w.gravity.x, w.gravity.y, w.gravity.z);
    dWorldSetQuickStepNumIterations(world, iterations);
    for (const Plane& p : w.planes) {
        dCreatePlane(space, p.normal.x, p.normal.y, p.normal.z, p.offset);
    }
    for (const Body& b : w.bodies) {
        dBodyID body = dBodyCreate(world);
        dMass mass;
        dMassSetParameters(&mass, b.mass, 0, 0, 0, b.inertia.x, b.inertia.y, b.inertia.z, 0, 0, 0);
        dBodySetMass(body, &mass);
        dBodySetPosition(body, b.position.x, b.position.y, b.position.z);
        const dQuaternion q = {b.orientation.w, b.orientation.x, b.orientation.y, b.orientation.z};
        dBodySetQuaternion(body, q);
        dBodySetLinearVel(body, b.velocity.x, b.velocity.y, b.velocity.z);
        dBodySetAngularVel(body, b.angular_velocity.x, b.angular_velocity.y, b.angular_velocity.z);
        dBodySetData(body, reinterpret_cast<void*>(bodies.size()));
        if (collide) {
            dGeomID geometry = b.shape == Body::SPHERE
                                   ? dCreateSphere(space, b.half.x)
                                   : dCreateBox(space, 2 * b.half.x, 2 * b.half.y, 2 * b.half.z);
            dGeomSetBody(geometry, body);
        }
        bodies.push_back(body);
    }
    for (const Joint& j : w.joints) {
        dJointID joint = dJointCreateBall(world, nullptr);
        dJointAttach(joint, j.a < 0 ? nullptr : bodies[j.a], bodies[j.b]);
        dJointSetBallAnchor(joint, j.anchor.x, j.anchor.y, j.anchor.z);
    }
}

void Ode::meet(dGeomID a, dGeomID b)
{
    dBodyID body[2] = {dGeomGetBody(a), dGeomGetBody(b)};
    if (body[0] == nullptr && body[1] == nullptr) {
        return;
    }
    dContact contact[CONTACTS_PER_PAIR];
    const int n = dCollide(a, b, CONTACTS_PER_PAIR, &contact[0].geom, sizeof contact[0]);
    for (int i = 0; i < n; ++i) {
        contact[i].surface.mode = dContactApprox1; /* friction by the normal force, a pyramid */
        contact[i].surface.mu = mu;
        dJointID joint = dJointCreateContact(world, group, &contact[i]);
        dJointAttach(joint, body[0], body[1]);
        if (found_count == found.size()) {
            found.emplace_back();
        }
        Found& f = found[found_count++];
        f.geometry = contact[i].geom;
        for (int side = 0; side < 2; ++side) {
            f.body[side] = body[side] == nullptr
                               ? -1
                               : (int)reinterpret_cast<size_t>(dBodyGetData(body[side]));
        }
        dJointSetFeedback(joint, &f.feedback);
    }
}

void Ode::step()
{
    dJointGroupEmpty(group);
    found_count = 0;
    if (collide) {
        dSpaceCollide(space, this, near);
    }
    if (quick) {
        dWorldQuickStep(world, h);
    } else {
        dWorldStep(world, h);
    }
}

State Ode::state(int body)
{
    const dReal *x = dBodyGetPosition(bodies[body]), *q = dBodyGetQuaternion(bodies[body]);
    const dReal *v = dBodyGetLinearVel(bodies[body]), *w = dBodyGetAngularVel(bodies[body]);
    return {{x[0], x[1], x[2]}, {q[0], q[1], q[2], q[3]}, {v[0], v[1], v[2]}, {w[0], w[1], w[2]}};
}

void Ode::contacts(std::vector<Contact>& list)
{
    list.clear();
    for (size_t i = 0; i < found_count; ++i) {
        const Found& f = found[i];
        const dReal *n = f.geometry.normal, *x = f.geometry.pos;
        /* ODE's normal points into its first body; where that is the world, it exchanges them and
         * reports the force on the body. */
        const bool exchanged = f.body[0] < 0;
        const double sign = exchanged ? -1 : 1;
        Contact c;
        c.b = f.body[exchanged ? 1 : 0];
        c.a = f.body[exchanged ? 0 : 1];
        c.normal = sign * Vec3{n[0], n[1], n[2]};
        c.on_a = c.on_b = {x[0], x[1], x[2]};
        c.gap = -f.geometry.depth;
        c.impulse = h * Vec3{f.feedback.f1[0], f.feedback.f1[1], f.feedback.f1[2]};
        list.push_back(c);
    }
}

} // namespace

std::unique_ptr<Engine> make_engine(const std::string& variant)
{
    return std::make_unique<Ode>(variant);
}
