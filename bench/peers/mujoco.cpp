/* bench/peers/mujoco.cpp - MuJoCo: soft contacts with an elliptic cone.
 *
 * variant: "" its defaults (Newton); "hard": stiffer contacts, impratio 100, tolerance 1e-12;
 * "pgs": projected Gauss-Seidel; "rk4": Runge-Kutta of order 4 (chains: its semi-implicit Euler gains energy).
 */
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <mujoco/mujoco.h>

#include "engine.hpp"

const char* const engine_name = "MuJoCo";
const bool engine_is_planar = false;

namespace
{

/* The parser refuses elements nested deeper than 100: the rest of a chain is a file of its own. */
enum { LINKS_PER_FILE = 60 };

std::string numbers(std::initializer_list<double> values)
{
    std::string text;
    char one[40];
    for (double v : values) {
        std::snprintf(one, sizeof one, "%s%.17g", text.empty() ? "" : " ", v);
        text += one;
    }
    return text;
}

std::string numbers(Vec3 v)
{
    return numbers({v.x, v.y, v.z});
}

class MuJoCo : public Engine
{
    std::string solver = "Newton", integrator = "Euler";
    bool hard = false;
    double h = 0;
    bool chain = false;
    mjModel* model = nullptr;
    mjData* data = nullptr;
    std::vector<int> ids;

    std::string options(const World& w) const;
    static std::string body_begin(const World& w, size_t i);
    void load(const std::string& main, const std::string& rest);

  public:
    explicit MuJoCo(const std::string& variant);
    ~MuJoCo() override
    {
        mj_deleteData(data);
        mj_deleteModel(model);
    }
    void build(const World& w) override;
    void step() override
    {
        mj_step(model, data);
    }
    State state(int body) override;
    void contacts(std::vector<Contact>& list) override;
    double normal_target(double gap, double step) const override
    {
        return gap > 0 ? -gap / step : 0; /* at rest; the way there is that of a spring */
    }
};

MuJoCo::MuJoCo(const std::string& variant)
{
    if (variant == "hard") {
        hard = true;
    } else if (variant == "pgs") {
        solver = "PGS";
    } else if (variant == "rk4") {
        integrator = "RK4";
    } else if (!variant.empty()) {
        throw std::invalid_argument("MuJoCo: no variant " + variant);
    }
}

std::string MuJoCo::options(const World& w) const
{
    const size_t contacts = w.bodies.size() <= 20 ? 200 : 12 * w.bodies.size();
    return "<option timestep=\"" + numbers({w.h}) + "\" gravity=\"" + numbers(w.gravity) +
           "\" cone=\"elliptic\" solver=\"" + solver + "\" integrator=\"" + integrator +
           "\" impratio=\"" + numbers({hard ? 100.0 : 1.0}) + "\" tolerance=\"" +
           numbers({hard ? 1e-12 : 1e-8}) + "\"/><size nconmax=\"" + std::to_string(contacts) +
           "\" njmax=\"" + std::to_string(3 * contacts) +
           "\"/><default><geom condim=\"3\" friction=\"" + numbers({w.mu}) + " 0 0\"" +
           (hard ? " solref=\"" + numbers({2 * w.h}) + " 1\" solimp=\"0.99 0.999 0.001\"" : "") +
           "/></default>";
}

std::string MuJoCo::body_begin(const World& w, size_t i)
{
    const Body& b = w.bodies[i];
    const bool linked = !w.joints.empty();
    const Vec3 at = linked && i > 0 ? b.position - w.bodies[i - 1].position : b.position;
    const Quaternion q = b.orientation;
    std::string text = "<body name=\"b" + std::to_string(i) + "\" pos=\"" + numbers(at) +
                       "\" quat=\"" + numbers({q.w, q.x, q.y, q.z}) +
                       "\"><inertial pos=\"0 0 0\" mass=\"" + numbers({b.mass}) +
                       "\" diaginertia=\"" + numbers(b.inertia) + "\"/>";
    if (linked) {
        return text + "<joint type=\"ball\" pos=\"" + numbers(w.joints[i].anchor_b) + "\"/>";
    }
    return text + "<freejoint/><geom type=\"" +
           (b.shape == Body::SPHERE ? "sphere\" size=\"" + numbers({b.half.x})
                                    : "box\" size=\"" + numbers(b.half)) +
           "\"/>";
}

void MuJoCo::load(const std::string& main, const std::string& rest)
{
    char error[1000] = "";
    auto files = std::make_unique<mjVFS>();
    mj_defaultVFS(files.get());
    const std::string* texts[2] = {&main, &rest};
    const char* names[2] = {"main.xml", "rest.xml"};
    for (int i = 0; i < 2; ++i) {
        if (!texts[i]->empty() &&
            mj_makeEmptyFileVFS(files.get(), names[i], (int)texts[i]->size()) == 0) {
            std::memcpy(files->filedata[i], texts[i]->data(), texts[i]->size());
        }
    }
    model = mj_loadXML("main.xml", files.get(), error, sizeof error);
    mj_deleteVFS(files.get());
    if (model == nullptr) {
        throw std::runtime_error(std::string("MuJoCo: ") + error);
    }
    data = mj_makeData(model);
}

void MuJoCo::build(const World& w)
{
    h = w.h;
    chain = !w.joints.empty();
    std::string text = "<mujoco>" + options(w) + "<worldbody>", main, rest, ends, main_ends;
    for (const Plane& p : w.planes) {
        text += "<geom type=\"plane\" size=\"100 100 1\" pos=\"" + numbers(p.offset * p.normal) +
                "\" zaxis=\"" + numbers(p.normal) + "\"/>";
    }
    for (size_t i = 0; i < w.bodies.size(); ++i) {
        if (chain && i == LINKS_PER_FILE) {
            main = text + "<include file=\"rest.xml\"/>";
            main_ends = ends;
            text = "<mujocoinclude>";
            ends.clear();
        }
        text += body_begin(w, i);
        (chain ? ends : text) += "</body>";
    }
    text += ends;
    if (main.empty()) {
        main = text;
    } else {
        rest = text + "</mujocoinclude>";
        main += main_ends;
    }
    load(main + "</worldbody></mujoco>", rest);
    for (size_t i = 0; i < w.bodies.size(); ++i) {
        const Body& b = w.bodies[i];
        ids.push_back(mj_name2id(model, mjOBJ_BODY, ("b" + std::to_string(i)).c_str()));
        if (!chain) {
            mjtNum* v = data->qvel + model->body_dofadr[ids.back()];
            const Vec3 spin = Rotation(b.orientation).to_body(b.angular_velocity);
            for (int a = 0; a < 3; ++a) {
                v[a] = b.velocity[a];
                v[3 + a] = spin[a];
            }
        }
    }
    mj_forward(model, data);
}

State MuJoCo::state(int body)
{
    const int id = ids[body];
    if (!chain) {
        const mjtNum* q = data->qpos + model->jnt_qposadr[model->body_jntadr[id]];
        const mjtNum* v = data->qvel + model->body_dofadr[id];
        const Quaternion turn = {q[3], q[4], q[5], q[6]};
        return {{q[0], q[1], q[2]},
                turn,
                {v[0], v[1], v[2]},
                Rotation(turn).to_world({v[3], v[4], v[5]})};
    }
    if (body == 0) { /* poses of all links from the joint angles that the step left */
        mj_kinematics(model, data);
        mj_comPos(model, data);
        mj_comVel(model, data);
    }
    mjtNum v[6];
    mj_objectVelocity(model, data, mjOBJ_BODY, id, v, 0);
    const mjtNum *x = data->xipos + 3 * id, *q = data->xquat + 4 * id;
    return {{x[0], x[1], x[2]}, {q[0], q[1], q[2], q[3]}, {v[3], v[4], v[5]}, {v[0], v[1], v[2]}};
}

void MuJoCo::contacts(std::vector<Contact>& list)
{
    list.clear();
    for (int i = 0; i < data->ncon; ++i) {
        const mjContact& m = data->contact[i];
        if (m.efc_address < 0) {
            continue;
        }
        mjtNum force[6];
        mj_contactForce(model, data, i, force);
        auto body = [&](int geometry) {
            const int id = model->geom_bodyid[geometry];
            return id == 0 ? -1 : id - ids[0];
        };
        Contact c;
        c.a = body(m.geom1);
        c.b = body(m.geom2);
        c.normal = {m.frame[0], m.frame[1], m.frame[2]};
        c.on_a = c.on_b = {m.pos[0], m.pos[1], m.pos[2]};
        c.gap = m.dist;
        c.impulse = h * (force[0] * c.normal + force[1] * Vec3{m.frame[3], m.frame[4], m.frame[5]} +
                         force[2] * Vec3{m.frame[6], m.frame[7], m.frame[8]});
        list.push_back(c);
    }
}

} // namespace

std::unique_ptr<Engine> make_engine(const std::string& variant)
{
    return std::make_unique<MuJoCo>(variant);
}
