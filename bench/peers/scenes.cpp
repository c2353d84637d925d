#include "scenes.hpp"

#include <cstdint>
#include <stdexcept>

int World::add_box(double mass, Vec3 half, Vec3 position, Quaternion orientation)
{
    Body b;
    b.mass = mass;
    b.half = half;
    const double x = half.x * half.x, y = half.y * half.y, z = half.z * half.z;
    b.inertia = mass / 3 * Vec3{y + z, x + z, x + y};
    b.position = position;
    b.orientation = orientation;
    bodies.push_back(b);
    return (int)bodies.size() - 1;
}

int World::add_sphere(double mass, double radius, Vec3 position)
{
    Body b;
    b.shape = Body::SPHERE;
    b.mass = mass;
    b.half = {radius, radius, radius};
    const double i = 0.4 * mass * radius * radius;
    b.inertia = {i, i, i};
    b.position = position;
    bodies.push_back(b);
    return (int)bodies.size() - 1;
}

void World::add_ball_joint(int a, int b, Vec3 anchor)
{
    auto in_body = [&](int i) {
        return i < 0 ? anchor
                     : Rotation(bodies[i].orientation).to_body(anchor - bodies[i].position);
    };
    joints.push_back({a, b, anchor, in_body(a), in_body(b)});
}

namespace
{

const Plane FLOOR = {{0, 0, 1}, 0};
const double DEGREE = M_PI / 180;

/* A linear congruential generator, so that every platform builds the same heap. */
class Random
{
    std::uint64_t state;

  public:
    explicit Random(std::uint64_t seed) : state(seed) {}
    double uniform() /* in [0, 1) */
    {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (double)(state >> 11) * 0x1p-53;
    }
};

int steps_of(double seconds, double h)
{
    return (int)std::lround(seconds / h);
}

void measure_second_half(Scene& s)
{
    s.windows = {{"step", s.steps / 2, s.steps}};
    s.sample_from = s.steps / 2;
}

/* S1, S2: a ball with v = 2 m/s and no spin slides until t = 2 v/(7 mu g), then rolls with 5/7 v. */
Scene rolling_ball(double h, double degrees)
{
    Scene s;
    World& w = s.world;
    w.h = h;
    w.mu = 0.2;
    w.planes = {FLOOR};
    const Vec3 along = {std::cos(degrees * DEGREE), std::sin(degrees * DEGREE), 0};
    w.bodies[w.add_sphere(1, 1, {0, 0, 1})].velocity = 2.0 * along;
    s.title = "ball slides, then rolls";
    s.steps = steps_of(0.6, h);
    measure_second_half(s);
    s.velocity = [along](double t) {
        const double rolls = 2 * 2 / (7 * 0.2 * GRAVITY);
        return (t < rolls ? 2 - 0.2 * GRAVITY * t : 10.0 / 7) * along;
    };
    s.check_times = {0.15, 0.6};
    return s;
}

/* S3: a block on a slope, gravity turned instead of the plane. */
Scene sloping_block(double slope, double degrees, double seconds)
{
    Scene s;
    World& w = s.world;
    const double a = std::atan(slope);
    const Vec3 down = {std::cos(degrees * DEGREE), std::sin(degrees * DEGREE), 0};
    w.gravity = GRAVITY * std::sin(a) * down - GRAVITY * std::cos(a) * Vec3{0, 0, 1};
    w.planes = {FLOOR};
    w.add_box(1, {0.5, 0.5, 0.1}, {0, 0, 0.1});
    s.steps = steps_of(seconds, w.h);
    measure_second_half(s);
    const bool slides = slope > w.mu;
    const double acceleration = slides ? GRAVITY * (std::sin(a) - w.mu * std::cos(a)) : 0.0;
    s.title = slides ? "block slides down a slope" : "block sticks on a slope";
    s.rests = !slides;
    s.velocity = [=](double t) { return acceleration * t * down; };
    s.check_times = {seconds};
    return s;
}

/* S4, S5, S8: unit cubes on each other. */
Scene stack(int boxes, double top_mass, double seconds)
{
    Scene s;
    World& w = s.world;
    w.planes = {FLOOR};
    for (int i = 0; i < boxes; ++i) {
        w.add_box(i + 1 == boxes ? top_mass : 1, {0.5, 0.5, 0.5}, {0, 0, 0.5 + i});
    }
    s.rests = true;
    s.steps = steps_of(seconds, w.h);
    measure_second_half(s);
    return s;
}

void measure_heap(Scene& s, double seconds, double from)
{
    const double h = s.world.h;
    s.heap = true;
    s.processor_time = true;
    s.steps = steps_of(seconds, h);
    s.windows = {{"step", steps_of(from, h), s.steps}, {"falling", 0, steps_of(1.25, h)}};
    s.sample_from = steps_of(from, h);
    s.sample_every = 10;
}

/* S6: boxes of random size and orientation, layer above layer, fall into a container. */
Scene heap(int boxes, double seconds, double from)
{
    Scene s;
    World& w = s.world;
    w.h = 0.005;
    const double half = boxes <= 50 ? 1.05 : boxes <= 200 ? 1.75 : 3.0;
    w.planes = {
        FLOOR, {{1, 0, 0}, -half}, {{-1, 0, 0}, -half}, {{0, 1, 0}, -half}, {{0, -1, 0}, -half}};
    Random random(12345);
    const int across = (int)std::floor(2 * half / 0.7 + 1e-9);
    const double spacing = 2 * half / across;
    for (int i = 0; i < boxes; ++i) {
        const int layer = i / (across * across), row = i / across % across, column = i % across;
        Vec3 size;
        size.z = 0.1 + 0.1 * random.uniform();
        size.y = 0.1 + 0.1 * random.uniform();
        size.x = 0.1 + 0.1 * random.uniform();
        /* uniform on the sphere of unit quaternions */
        double q[4], length;
        do {
            length = 0;
            for (double& c : q) {
                c = 2 * random.uniform() - 1;
                length += c * c;
            }
        } while (length > 1 || length < 0.01);
        length = std::sqrt(length);
        w.add_box(
            8000 * size.x * size.y * size.z, size,
            {-half + spacing * (row + 0.5), -half + spacing * (column + 0.5), 0.4 + 0.7 * layer},
            {q[0] / length, q[1] / length, q[2] / length, q[3] / length});
    }
    s.title = std::to_string(boxes) + " boxes fall into a heap";
    measure_heap(s, seconds, from);
    return s;
}

/* The heap of the plane: wider, because boxes cannot pass beside each other. */
Scene planar_heap(int boxes, double seconds, double from)
{
    Scene s;
    World& w = s.world;
    w.h = 0.005;
    const double half = boxes <= 50 ? 1.5 : boxes <= 200 ? 3.0 : 7.0;
    w.planes = {FLOOR, {{1, 0, 0}, -half}, {{-1, 0, 0}, -half}};
    Random random(12345);
    const int across = (int)std::floor(2 * half / 0.6 + 1e-9);
    const double spacing = 2 * half / across;
    for (int i = 0; i < boxes; ++i) {
        const double x = 0.1 + 0.1 * random.uniform();
        const double z = 0.1 + 0.1 * random.uniform();
        const double angle = 2 * M_PI * random.uniform();
        w.add_box(1200 * x * z, {x, 0.5, z},
                  {-half + spacing * (i % across + 0.5), 0, 0.4 + 0.6 * (i / across)},
                  {std::cos(angle / 2), 0, -std::sin(angle / 2), 0});
    }
    s.title = std::to_string(boxes) + " boxes fall into a heap, in the plane";
    measure_heap(s, seconds, from);
    return s;
}

/* S7: a chain, horizontal at the start, fixed at one end. */
Scene chain(int links)
{
    Scene s;
    World& w = s.world;
    w.h = 0.005;
    w.collide = false;
    const double length = 0.1;
    for (int i = 0; i < links; ++i) {
        w.add_box(0.1, {length / 2, 0.01, 0.01}, {length * (i + 0.5), 0, 0});
    }
    for (int i = 0; i < links; ++i) {
        w.add_ball_joint(i - 1, i, {length * i, 0, 0});
    }
    s.title = "chain of " + std::to_string(links) + " links falls";
    s.processor_time = true;
    s.steps = steps_of(2, w.h);
    measure_second_half(s);
    return s;
}

Scene heap_in(bool planar, int boxes, double seconds, double from)
{
    return planar ? planar_heap(boxes, seconds, from) : heap(boxes, seconds, from);
}

} // namespace

Scene make_scene(const std::string& name, bool planar)
{
    Scene s;
    if (name == "S1") {
        s = rolling_ball(0.01, 0);
    } else if (name == "S1-fine") {
        s = rolling_ball(0.001, 0);
    } else if (name == "S2") {
        s = rolling_ball(0.01, 22.5);
        s.title += ", at 22.5 degrees to the axes";
    } else if (name == "S3-stick") {
        s = sloping_block(0.49, 0, 10);
    } else if (name == "S3-slide") {
        s = sloping_block(0.6, 0, 2);
    } else if (name == "S3-oblique") {
        s = sloping_block(0.6, 45, 2);
        s.title += ", at 45 degrees to the axes";
    } else if (name == "S4") {
        s = stack(10, 1, 10);
        s.title = "stack of ten boxes";
    } else if (name == "S5") {
        s = stack(2, 1000, 5);
        s.title = "1000 kg on 1 kg";
    } else if (name == "S6-small") {
        s = heap_in(planar, 40, 3, 2);
    } else if (name == "S6a") {
        s = heap_in(planar, 200, 3, 2);
    } else if (name == "S6a-rest") {
        s = heap_in(planar, 200, 8, 7);
        s.title += ", at rest";
    } else if (name == "S6b") {
        s = heap_in(planar, 1000, 3, 2);
    } else if (name == "S7") {
        s = chain(100);
    } else if (name == "S8") {
        s = stack(1, 1, 50);
        s.title = "box on a plane";
        s.batch = 50;
    } else {
        throw std::invalid_argument("there is no scene named " + name);
    }
    if (planar && (name == "S2" || name == "S3-oblique")) {
        throw std::invalid_argument(name + " is not planar");
    }
    s.name = name;
    s.world.planar = planar;
    return s;
}
