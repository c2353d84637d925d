/* bench/peers/bullet.cpp - Bullet 3, in single or (BT_USE_DOUBLE_PRECISION) double precision.
 *
 * variant: "" or "siN": sequential impulses, N iterations (10); "dantzig": its direct MLCP solver;
 * "nncgN": nonsmooth nonlinear conjugate gradients. Boxes meet boxes: planes are large boxes, which
 * Bullet collides faster with boxes than its planes.
 */
#include <cstdlib>
#include <stdexcept>

#include <BulletDynamics/ConstraintSolver/btNNCGConstraintSolver.h>
#include <BulletDynamics/MLCPSolvers/btDantzigSolver.h>
#include <BulletDynamics/MLCPSolvers/btMLCPSolver.h>
#include <btBulletDynamicsCommon.h>

#include "engine.hpp"

#ifdef BT_USE_DOUBLE_PRECISION
const char* const engine_name = "Bullet f64";
#else
const char* const engine_name = "Bullet f32";
#endif
const bool engine_is_planar = false;

namespace
{

btVector3 to_bullet(Vec3 v)
{
    return {(btScalar)v.x, (btScalar)v.y, (btScalar)v.z};
}

Vec3 from_bullet(const btVector3& v)
{
    return {v.x(), v.y(), v.z()};
}

class Bullet : public Engine
{
    /* members are destroyed in reverse order: the world before what it refers to */
    double h = 0;
    int iterations = 10;
    bool direct = false;
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btDbvtBroadphase broad_phase;
    btDantzigSolver dantzig;
    std::unique_ptr<btConstraintSolver> solver;
    std::vector<std::unique_ptr<btCollisionShape>> shapes;
    std::vector<std::unique_ptr<btCollisionObject>> planes;
    std::vector<std::unique_ptr<btRigidBody>> bodies;
    std::vector<std::unique_ptr<btTypedConstraint>> joints;
    std::unique_ptr<btDiscreteDynamicsWorld> world;

    void add_plane(const Plane& plane, double mu, bool as_box);
    void add_body(const Body& b, double mu, bool collide);

  public:
    explicit Bullet(const std::string& variant);
    ~Bullet() override;
    void build(const World& w) override;
    void step() override
    {
        world->stepSimulation((btScalar)h, 0);
    }
    State state(int body) override;
    void contacts(std::vector<Contact>& list) override;
    double normal_target(double gap, double step) const override
    {
        return gap > 0 ? -gap / step : -0.2 * gap / step;
    }
};

Bullet::Bullet(const std::string& variant)
{
    auto count = [&](size_t skip) {
        return variant.size() > skip ? std::atoi(variant.c_str() + skip) : 10;
    };
    if (variant == "dantzig") {
        direct = true;
        solver = std::make_unique<btMLCPSolver>(&dantzig);
    } else if (variant.compare(0, 4, "nncg") == 0) {
        iterations = count(4);
        solver = std::make_unique<btNNCGConstraintSolver>();
    } else if (variant.empty() || variant.compare(0, 2, "si") == 0) {
        iterations = count(2);
        solver = std::make_unique<btSequentialImpulseConstraintSolver>();
    } else {
        throw std::invalid_argument("Bullet: no variant " + variant);
    }
}

Bullet::~Bullet()
{
    if (world == nullptr) {
        return;
    }
    for (auto& j : joints) {
        world->removeConstraint(j.get());
    }
    for (auto& b : bodies) {
        world->removeRigidBody(b.get());
    }
    for (auto& p : planes) {
        world->removeCollisionObject(p.get());
    }
}

void Bullet::add_plane(const Plane& plane, double mu, bool as_box)
{
    auto object = std::make_unique<btCollisionObject>();
    if (as_box) {
        const double half = 20;
        shapes.push_back(std::make_unique<btBoxShape>(to_bullet({half, half, half})));
        btTransform pose;
        pose.setIdentity();
        pose.setOrigin(to_bullet((plane.offset - half) * plane.normal));
        object->setWorldTransform(pose);
    } else {
        shapes.push_back(
            std::make_unique<btStaticPlaneShape>(to_bullet(plane.normal), (btScalar)plane.offset));
    }
    object->setCollisionShape(shapes.back().get());
    object->setFriction((btScalar)std::sqrt(mu)); /* coefficients are multiplied */
    object->setRestitution(0);
    world->addCollisionObject(object.get(), btBroadphaseProxy::StaticFilter,
                              btBroadphaseProxy::AllFilter ^ btBroadphaseProxy::StaticFilter);
    planes.push_back(std::move(object));
}

void Bullet::add_body(const Body& b, double mu, bool collide)
{
    if (b.shape == Body::SPHERE) {
        shapes.push_back(std::make_unique<btSphereShape>((btScalar)b.half.x));
    } else {
        shapes.push_back(std::make_unique<btBoxShape>(to_bullet(b.half)));
    }
    btRigidBody::btRigidBodyConstructionInfo info((btScalar)b.mass, nullptr, shapes.back().get(),
                                                  to_bullet(b.inertia));
    info.m_friction = (btScalar)std::sqrt(mu);
    info.m_linearDamping = info.m_angularDamping = 0;
    info.m_startWorldTransform.setOrigin(to_bullet(b.position));
    info.m_startWorldTransform.setRotation({(btScalar)b.orientation.x, (btScalar)b.orientation.y,
                                            (btScalar)b.orientation.z, (btScalar)b.orientation.w});
    auto body = std::make_unique<btRigidBody>(info);
    body->setActivationState(DISABLE_DEACTIVATION);
    body->setLinearVelocity(to_bullet(b.velocity));
    body->setAngularVelocity(to_bullet(b.angular_velocity));
    body->setUserIndex((int)bodies.size());
    if (collide) {
        world->addRigidBody(body.get());
    } else {
        world->addRigidBody(body.get(), 0, 0);
    }
    bodies.push_back(std::move(body));
}

void Bullet::build(const World& w)
{
    h = w.h;
    world = std::make_unique<btDiscreteDynamicsWorld>(&dispatcher, &broad_phase, solver.get(),
                                                      &configuration);
    world->setGravity(to_bullet(w.gravity));
    btContactSolverInfo& info = world->getSolverInfo();
    info.m_numIterations = iterations;
    if (direct) {
        info.m_minimumSolverBatchSize = 1;
        info.m_numIterations = 100;
        info.m_globalCfm = (btScalar)1e-9; /* without, redundant contacts make it fall back */
    }
    bool spheres = false;
    for (const Body& b : w.bodies) {
        spheres = spheres || b.shape == Body::SPHERE;
    }
    for (const Plane& p : w.planes) {
        add_plane(p, w.mu, !spheres);
    }
    for (const Body& b : w.bodies) {
        add_body(b, w.mu, w.collide);
    }
    for (const Joint& j : w.joints) {
        if (j.a < 0) {
            joints.push_back(
                std::make_unique<btPoint2PointConstraint>(*bodies[j.b], to_bullet(j.anchor_b)));
        } else {
            joints.push_back(std::make_unique<btPoint2PointConstraint>(
                *bodies[j.b], *bodies[j.a], to_bullet(j.anchor_b), to_bullet(j.anchor_a)));
        }
        world->addConstraint(joints.back().get(), true);
    }
}

State Bullet::state(int body)
{
    const btRigidBody& b = *bodies[body];
    const btQuaternion q = b.getWorldTransform().getRotation();
    return {from_bullet(b.getWorldTransform().getOrigin()),
            {q.w(), q.x(), q.y(), q.z()},
            from_bullet(b.getLinearVelocity()),
            from_bullet(b.getAngularVelocity())};
}

void Bullet::contacts(std::vector<Contact>& list)
{
    list.clear();
    for (int i = 0; i < dispatcher.getNumManifolds(); ++i) {
        const btPersistentManifold* m = dispatcher.getManifoldByIndexInternal(i);
        for (int k = 0; k < m->getNumContacts(); ++k) {
            const btManifoldPoint& p = m->getContactPoint(k);
            Contact c;
            c.b = m->getBody0()->getUserIndex(); /* the normal points from body 1 to body 0 */
            c.a = m->getBody1()->getUserIndex();
            c.normal = from_bullet(p.m_normalWorldOnB);
            c.on_b = from_bullet(p.getPositionWorldOnA());
            c.on_a = from_bullet(p.getPositionWorldOnB());
            c.gap = p.getDistance();
            c.impulse = (double)p.m_appliedImpulse * c.normal +
                        (double)p.m_appliedImpulseLateral1 * from_bullet(p.m_lateralFrictionDir1);
            list.push_back(c);
        }
    }
}

} // namespace

std::unique_ptr<Engine> make_engine(const std::string& variant)
{
    return std::make_unique<Bullet>(variant);
}
