/* bench/peers/perp.cpp - perp through its public interface.
 *
 * variant: keys of the scene with their values, KEY=VALUE,KEY=VALUE (tolerance=1e-3,
 * joint_correction=true); cone=polygon is a key of "friction".
 */
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "engine.hpp"
#include "perp/perp.h"

const char* const engine_name = "perp";
const bool engine_is_planar = false;

namespace
{

std::string number(double value)
{
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

std::string list(Vec3 v)
{
    return "[" + number(v.x) + "," + number(v.y) + "," + number(v.z) + "]";
}

std::string list(Quaternion q)
{
    return "[" + number(q.w) + "," + number(q.x) + "," + number(q.y) + "," + number(q.z) + "]";
}

std::string body_text(const Body& b, size_t index, bool collide)
{
    std::string text = "{\"name\":\"b" + std::to_string(index) + "\",\"mass\":" + number(b.mass) +
                       ",\"inertia\":" + list(b.inertia) + ",\"position\":" + list(b.position) +
                       ",\"orientation\":" + list(b.orientation) +
                       ",\"velocity\":" + list(b.velocity) +
                       ",\"angular_velocity\":" + list(b.angular_velocity) + ",\"shapes\":[";
    if (b.shape == Body::SPHERE) {
        text += "{\"type\":\"sphere\",\"radius\":" + number(b.half.x) + "}]";
    } else {
        text += "{\"type\":\"box\",\"size\":" + list(2.0 * b.half) + "}]";
    }
    return text + (collide ? "}" : ",\"collides_with\":[]}");
}

class Perp : public Engine
{
    std::string cone = "quadratic", settings;
    perp_context* context = nullptr;
    perp_scene* scene = nullptr;
    perp_sim* sim = nullptr;
    double certificate = 0, iterations = 0;
    int steps = 0, failed = 0;

    std::string scene_text(const World& w) const;
    [[noreturn]] void fail() const
    {
        throw std::runtime_error(std::string("perp: ") + perp_context_error(context));
    }

  public:
    explicit Perp(const std::string& variant);
    ~Perp() override
    {
        perp_sim_destroy(sim);
        perp_scene_destroy(scene);
        perp_context_destroy(context);
    }
    void build(const World& world) override;
    void step() override;
    State state(int body) override;
    void contacts(std::vector<Contact>& contacts) override;
    Vec3 law_spin(int body, const State& after) override;
    double normal_target(double gap, double h) const override
    {
        return -gap / h;
    }
    Account account() const override
    {
        return {certificate, steps > 0 ? iterations / steps : 0.0, failed};
    }
    bool save(const std::string& path) override;
    bool load(const std::string& path) override;
};

Perp::Perp(const std::string& variant)
{
    size_t begin = 0;
    while (begin < variant.size()) {
        size_t end = variant.find(',', begin);
        end = end == std::string::npos ? variant.size() : end;
        const size_t equals = variant.find('=', begin);
        if (equals >= end) {
            throw std::invalid_argument("perp: KEY=VALUE is expected, not " + variant);
        }
        const std::string key = variant.substr(begin, equals - begin);
        const std::string value = variant.substr(equals + 1, end - equals - 1);
        if (key == "cone") {
            cone = value;
        } else {
            settings += ",\"" + key + "\":" + value;
        }
        begin = end + 1;
    }
}

std::string Perp::scene_text(const World& w) const
{
    std::string text = "{\"gravity\":" + list(w.gravity) + ",\"step\":" + number(w.h) +
                       ",\"duration\":1e6" + settings + ",\"friction\":{\"cone\":\"" + cone +
                       "\",\"default\":" + number(w.mu) + "},\"bodies\":[";
    if (!w.planes.empty()) {
        text += "{\"name\":\"ground\",\"type\":\"static\",\"shapes\":[";
        for (size_t i = 0; i < w.planes.size(); ++i) {
            text += std::string(i > 0 ? "," : "") +
                    "{\"type\":\"plane\",\"normal\":" + list(w.planes[i].normal) +
                    ",\"offset\":" + number(w.planes[i].offset) + "}";
        }
        text += "]}";
    } else {
        text += "{\"name\":\"ground\",\"type\":\"static\"}";
    }
    for (size_t i = 0; i < w.bodies.size(); ++i) {
        text += "," + body_text(w.bodies[i], i, w.collide);
    }
    text += "],\"joints\":[";
    for (size_t i = 0; i < w.joints.size(); ++i) {
        const Joint& j = w.joints[i];
        text += std::string(i > 0 ? "," : "") + "{\"name\":\"j" + std::to_string(i) +
                "\",\"type\":\"spherical\",\"a\":\"" +
                (j.a < 0 ? std::string("world") : "b" + std::to_string(j.a)) + "\",\"b\":\"b" +
                std::to_string(j.b) + "\",\"at\":" + list(j.anchor) + "}";
    }
    return text + "]}";
}

void Perp::build(const World& world)
{
    const std::string text = scene_text(world);
    if (perp_context_create(nullptr, &context) != PERP_OK ||
        perp_scene_parse(context, text.c_str(), text.size(), "peers", nullptr, 0, &scene) !=
            PERP_OK ||
        perp_sim_create_from_scene(context, scene, &sim) != PERP_OK) {
        fail();
    }
}

void Perp::step()
{
    if (perp_sim_step(sim) != PERP_OK) {
        fail();
    }
    const perp_step_info info = perp_sim_step_info(sim);
    if (!(info.certificate.worst <= certificate)) {
        certificate = info.certificate.worst;
    }
    iterations += info.report.iterations;
    failed += info.accepted_unsolved;
    steps += 1;
}

State Perp::state(int body)
{
    const perp_body_state s = perp_sim_body(sim, body + 1);
    return {{s.position[0], s.position[1], s.position[2]},
            {s.orientation[0], s.orientation[1], s.orientation[2], s.orientation[3]},
            {s.velocity[0], s.velocity[1], s.velocity[2]},
            {s.angular_velocity[0], s.angular_velocity[1], s.angular_velocity[2]}};
}

void Perp::contacts(std::vector<Contact>& contacts)
{
    int32_t count;
    const perp_contact* found = perp_sim_contacts(sim, &count);
    contacts.clear();
    for (int32_t i = 0; i < count; ++i) {
        const perp_contact& f = found[i];
        const Vec3 n = {f.normal[0], f.normal[1], f.normal[2]};
        const Vec3 t = {f.tangent[0], f.tangent[1], f.tangent[2]};
        Contact c;
        c.a = f.body_a - 1;
        c.b = f.body_b - 1;
        c.normal = n;
        c.gap = f.gap;
        /* between two bodies in the middle of the gap, beside the ground at the body's own point */
        const double part = c.a < 0 ? 1.0 : c.b < 0 ? 0.0 : 0.5;
        c.on_a = c.on_b = Vec3{f.point[0], f.point[1], f.point[2]} + part * f.gap * n;
        c.impulse = f.impulse[0] * n + f.impulse[1] * t + f.impulse[2] * cross(n, t);
        c.drift = f.drift[0] * n + f.drift[1] * t + f.drift[2] * cross(n, t);
        c.law = f.group == 0;
        contacts.push_back(c);
    }
}

/* The solve determines velocities at the start pose; the end pose keeps the angular momentum, so that
 * a body whose moments of inertia differ has another angular velocity there. The ground is body 0, every
 * other body a block of 6 velocities, every contact a constraint. */
Vec3 Perp::law_spin(int body, const State& after)
{
    const perp_contact_problem* problem = perp_sim_problem(sim);
    int32_t count;
    const perp_contact* found = perp_sim_contacts(sim, &count);
    if (problem == nullptr || problem->constraint_count != count) {
        return after.angular_velocity;
    }
    double t[3] = {problem->k[6 * body + 3], problem->k[6 * body + 4], problem->k[6 * body + 5]};
    for (int32_t i = 0; i < count; ++i) {
        const perp_constraint& c = problem->constraint[i];
        size_t at = c.jac;
        for (int side = 0; side < 2; ++side) {
            for (int r = 0; c.block[side] >= 0 && r < c.rows; ++r, at += 6) {
                for (int a = 0; c.block[side] == body && a < 3; ++a) {
                    t[a] += problem->J[at + 3 + (size_t)a] * found[i].impulse[r];
                }
            }
        }
    }
    const double* M = problem->M + 36 * (size_t)body;
    const Vec3 x = {M[21], M[22], M[23]}, y = {M[27], M[28], M[29]}, z = {M[33], M[34], M[35]};
    const Vec3 torque = {t[0], t[1], t[2]};
    const double scale = 1 / dot(x, cross(y, z)); /* by Cramer's rule: the block is symmetric */
    return scale *
           Vec3{dot(torque, cross(y, z)), dot(x, cross(torque, z)), dot(x, cross(y, torque))};
}

bool Perp::save(const std::string& path)
{
    size_t size = 0;
    if (perp_sim_save(sim, nullptr, &size) != PERP_OK) {
        fail();
    }
    std::vector<char> buffer(size);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (perp_sim_save(sim, buffer.data(), &size) != PERP_OK || file == nullptr) {
        fail();
    }
    const bool written = std::fwrite(buffer.data(), 1, size, file) == size;
    return std::fclose(file) == 0 && written;
}

bool Perp::load(const std::string& path)
{
    std::vector<char> buffer;
    char piece[65536];
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) {
        throw std::runtime_error(path + ": cannot be read");
    }
    for (size_t n; (n = std::fread(piece, 1, sizeof piece, file)) > 0;) {
        buffer.insert(buffer.end(), piece, piece + n);
    }
    std::fclose(file);
    if (perp_sim_restore(sim, buffer.data(), buffer.size()) != PERP_OK) {
        fail();
    }
    return true;
}

} // namespace

std::unique_ptr<Engine> make_engine(const std::string& variant)
{
    return std::make_unique<Perp>(variant);
}
