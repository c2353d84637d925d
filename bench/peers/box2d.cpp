/* bench/peers/box2d.cpp - Box2D 2.4, in the x-z plane, single precision.
 *
 * variant: "V/P": iterations for velocities and positions ("" is 8/3).
 */
#include <cstdio>
#include <map>
#include <stdexcept>

#include <box2d/box2d.h>

#include "engine.hpp"

const char* const engine_name = "Box2D";
const bool engine_is_planar = true;

namespace
{

/* Contacts are found before a solve and have their impulses after it. */
class Listener : public b2ContactListener
{
  public:
    std::vector<Contact> list;

    void clear()
    {
        list.clear();
        first.clear();
    }

  private:
    std::map<b2Contact*, size_t> first;

    static int body(b2Fixture* f)
    {
        return (int)f->GetBody()->GetUserData().pointer - 1;
    }
    void PreSolve(b2Contact* found, const b2Manifold*) override
    {
        b2WorldManifold m;
        found->GetWorldManifold(&m);
        first[found] = list.size();
        for (int i = 0; i < found->GetManifold()->pointCount; ++i) {
            Contact c;
            c.a = body(found->GetFixtureA());
            c.b = body(found->GetFixtureB());
            c.normal = {m.normal.x, 0, m.normal.y};
            c.on_a = c.on_b = {m.points[i].x, 0, m.points[i].y};
            c.gap = m.separations[i];
            list.push_back(c);
        }
    }
    void PostSolve(b2Contact* found, const b2ContactImpulse* impulse) override
    {
        const auto at = first.find(found);
        for (int i = 0; at != first.end() && i < impulse->count; ++i) {
            Contact& c = list[at->second + (size_t)i];
            const Vec3 tangent = {c.normal.z, 0, -c.normal.x};
            c.impulse = (double)impulse->normalImpulses[i] * c.normal +
                        (double)impulse->tangentImpulses[i] * tangent;
        }
    }
};

class Box2D : public Engine
{
    int velocity_iterations = 8, position_iterations = 3;
    float h = 0;
    Listener listener;
    std::unique_ptr<b2World> world;
    std::vector<b2Body*> bodies;
    bool listens = false;

    void add_body(const Body& b, const World& w);

  public:
    explicit Box2D(const std::string& variant)
    {
        if (!variant.empty() && std::sscanf(variant.c_str(), "%d/%d", &velocity_iterations,
                                            &position_iterations) != 2) {
            throw std::invalid_argument("Box2D: no variant " + variant);
        }
    }
    void build(const World& w) override;
    void step() override
    {
        listener.clear();
        world->Step(h, velocity_iterations, position_iterations);
        if (!listens) { /* a listener costs time: only in repeats that are examined */
            world->SetContactListener(nullptr);
        }
        listens = false;
    }
    State state(int body) override;
    void contacts(std::vector<Contact>& list) override
    {
        list = listener.list;
    }
    double normal_target(double, double) const override
    {
        return 0; /* positions are corrected apart from velocities */
    }
};

void Box2D::build(const World& w)
{
    h = (float)w.h;
    world = std::make_unique<b2World>(b2Vec2((float)w.gravity.x, (float)w.gravity.z));
    world->SetAllowSleeping(false);
    b2BodyDef fixed;
    b2Body* ground = world->CreateBody(&fixed);
    for (const Plane& p : w.planes) {
        const b2Vec2 n((float)p.normal.x, (float)p.normal.z), along(-n.y, n.x);
        const b2Vec2 middle = (float)p.offset * n;
        b2EdgeShape edge;
        edge.SetTwoSided(middle - 100.0f * along, middle + 100.0f * along);
        b2FixtureDef fixture;
        fixture.shape = &edge;
        fixture.friction = (float)w.mu; /* Box2D takes the root of the product */
        ground->CreateFixture(&fixture);
    }
    for (const Body& b : w.bodies) {
        add_body(b, w);
    }
    for (const Joint& j : w.joints) {
        b2RevoluteJointDef joint;
        joint.Initialize(j.a < 0 ? ground : bodies[j.a], bodies[j.b],
                         b2Vec2((float)j.anchor.x, (float)j.anchor.z));
        world->CreateJoint(&joint);
    }
}

void Box2D::add_body(const Body& b, const World& w)
{
    b2BodyDef def;
    def.type = b2_dynamicBody;
    def.position.Set((float)b.position.x, (float)b.position.z);
    def.angle = (float)(-2 * std::atan2(b.orientation.y, b.orientation.w));
    def.linearVelocity.Set((float)b.velocity.x, (float)b.velocity.z);
    def.allowSleep = false;
    def.userData.pointer = bodies.size() + 1;
    b2Body* body = world->CreateBody(&def);
    b2CircleShape circle;
    b2PolygonShape box;
    b2FixtureDef fixture;
    fixture.friction = (float)w.mu;
    fixture.density = 1;
    circle.m_radius = (float)b.half.x;
    box.SetAsBox((float)b.half.x, (float)b.half.z);
    fixture.shape = b.shape == Body::SPHERE ? (b2Shape*)&circle : (b2Shape*)&box;
    if (!w.collide) {
        fixture.filter.maskBits = 0;
    }
    body->CreateFixture(&fixture);
    b2MassData mass;
    mass.mass = (float)b.mass;
    mass.center.SetZero();
    mass.I = (float)b.inertia.y;
    body->SetMassData(&mass);
    bodies.push_back(body);
}

State Box2D::state(int body)
{
    const b2Body& b = *bodies[body];
    if (!listens) {
        listens = true; /* states are read before a step that is examined */
        world->SetContactListener(&listener);
    }
    const double half = b.GetAngle() / 2;
    return {{b.GetPosition().x, 0, b.GetPosition().y},
            {std::cos(half), 0, -std::sin(half), 0},
            {b.GetLinearVelocity().x, 0, b.GetLinearVelocity().y},
            {0, -b.GetAngularVelocity(), 0}};
}

} // namespace

std::unique_ptr<Engine> make_engine(const std::string& variant)
{
    return std::make_unique<Box2D>(variant);
}
