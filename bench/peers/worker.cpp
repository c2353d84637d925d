/* bench/peers/worker.cpp - one engine, one scene; scripts/run-peers tells it when to do what, so
 * that engines take turns.
 *
 *     peer_ENGINE SCENE [VARIANT] [--load FILE STEP] [--window FIRST LAST] [--wall]
 *                        commands on standard input, one a line; --load: repeats begin with a saved
 *                        state, --window: steps FIRST .. LAST-1 are averaged and examined,
 *                        --wall: heaps and chains by the wall clock instead of processor time
 *         start          build the scene once more: the next repeat
 *         step N         at most N steps; answers "steps DONE" (of this repeat)
 *         save FILE      the present state, for --load
 *         report         answers one line of JSON
 *     peer_ENGINE SCENE [VARIANT] --count WARM STEPS    under callgrind: counts STEPS steps
 *
 * Each step is timed alone and the least time over the repeats counts. The first repeat is also
 * examined, outside the timed part.
 */
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "engine.hpp"
#include "measure.hpp"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define COUNT_BEGIN                                                                                \
    do {                                                                                           \
        CALLGRIND_START_INSTRUMENTATION;                                                           \
        CALLGRIND_TOGGLE_COLLECT;                                                                  \
    } while (0)
#define COUNT_END                                                                                  \
    do {                                                                                           \
        CALLGRIND_TOGGLE_COLLECT;                                                                  \
        CALLGRIND_STOP_INSTRUMENTATION;                                                            \
    } while (0)
#else
#define COUNT_BEGIN (void)0
#define COUNT_END (void)0
#endif

namespace
{

class Worker
{
    Scene scene;
    std::string variant, snapshot;
    int first_step = 0; /* of a repeat: that of the snapshot */
    std::unique_ptr<Engine> engine;
    int repeats = 0, done = 0;
    std::vector<double> seconds; /* by batch, the least over the repeats */
    std::vector<State> before, after;

    Residual laws;
    Account account = {NAN, NAN, -1};
    double deepest = -1 /* none seen */, drift = 0, drop = 0, velocity_error = NAN,
           widest_joint = 0;
    double energy_start = 0, energy_change = 0;
    int lost = 0;

    double clock() const;
    void read_states(std::vector<State>& states);
    void examine();
    void examine_motion(double time);

  public:
    Worker(Scene s, std::string variant_, std::string snapshot_, int at)
        : scene(std::move(s)), variant(std::move(variant_)), snapshot(std::move(snapshot_)),
          first_step(at)
    {
    }
    void start();
    void step(int n);
    void save(const std::string& path)
    {
        std::puts(engine->save(path) ? "saved" : "error: this engine saves no state");
    }
    void report();
    void count(int warm, int steps);
};

double Worker::clock() const
{
    timespec t;
    clock_gettime(scene.processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void Worker::read_states(std::vector<State>& states)
{
    states.resize(scene.world.bodies.size());
    for (size_t i = 0; i < states.size(); ++i) {
        states[i] = engine->state((int)i);
    }
}

void Worker::start()
{
    engine.reset(); /* the former first: some engines have globals */
    engine = make_engine(variant);
    engine->build(scene.world);
    if (!snapshot.empty() && !engine->load(snapshot)) {
        throw std::invalid_argument("this engine loads no state");
    }
    done = first_step;
    repeats += 1;
    if (repeats == 1) {
        read_states(after);
        energy_start = total_energy(scene.world, after);
    }
    std::puts("started");
}

void Worker::step(int n)
{
    n = std::min(n, scene.steps - done);
    /* The first repeat is examined step by step; where steps are timed in batches, only later ones
     * are timed. */
    const int size = repeats == 1 ? 1 : scene.batch;
    for (int i = 0; i < n; i += size) {
        const int batch = std::min(size, n - i);
        if (repeats == 1) {
            read_states(before);
        }
        const double begin = clock();
        for (int k = 0; k < batch; ++k) {
            engine->step();
        }
        const double each = (clock() - begin) / batch;
        const size_t slot = (size_t)(done / scene.batch);
        if (seconds.size() <= slot) {
            seconds.resize(slot + 1, INFINITY);
        }
        if (size == scene.batch) {
            seconds[slot] = std::min(seconds[slot], each);
        }
        done += batch;
        if (repeats == 1) {
            examine();
        }
    }
    std::printf("steps %d\n", done);
}

void Worker::examine()
{
    const World& world = scene.world;
    read_states(after);
    lost = 0;
    for (const State& s : after) {
        lost += !(finite(s.position) && norm(s.position) < 1e3 &&
                  (world.planes.empty() || s.position.z > -0.5));
    }
    examine_motion(done * world.h);
    account = engine->account();
    const int index = done - 1;
    if (scene.heap && index >= scene.sample_from && index % scene.sample_every == 0) {
        raise_to(deepest, penetration(world, after));
    }
    if (!world.planes.empty() && index >= scene.sample_from && index % scene.sample_every == 0) {
        std::vector<Contact> contacts;
        engine->contacts(contacts);
        for (size_t i = 0; i < after.size(); ++i) {
            after[i].angular_velocity = engine->law_spin((int)i, after[i]);
        }
        laws.include(residual(world, before, after, contacts, *engine));
    }
}

void Worker::examine_motion(double time)
{
    const World& world = scene.world;
    if (!world.joints.empty()) {
        double scale = 0; /* the energy that the chain has when it hangs, against the start */
        for (const Body& b : world.bodies) {
            scale += b.mass * GRAVITY * norm(world.bodies.back().position) / 2;
        }
        raise_to(widest_joint, joint_gap(world, after));
        const double change = (total_energy(world, after) - energy_start) / scale;
        energy_change = std::fabs(change) <= std::fabs(energy_change) ? energy_change : change;
    } else if (!scene.heap) {
        raise_to(deepest, penetration(world, after));
    }
    for (size_t i = 0; scene.rests && i < after.size(); ++i) {
        const Vec3 moved = after[i].position - world.bodies[i].position;
        raise_to(drift, std::hypot(moved.x, moved.y));
        raise_to(drop, -moved.z);
    }
    for (double t : scene.check_times) {
        if (std::fabs(t - time) < world.h / 2) {
            const double error = norm(after[0].velocity - scene.velocity(t));
            velocity_error =
                std::isnan(velocity_error) || !(error <= velocity_error) ? error : velocity_error;
        }
    }
}

void put(const char* key, double value)
{
    std::printf(std::isfinite(value) ? ",\"%s\":%.6g" : ",\"%s\":null", key, value);
}

void Worker::report()
{
    std::printf("{\"scene\":\"%s\",\"title\":\"%s\",\"engine\":\"%s\",\"variant\":\"%s\","
                "\"h\":%g,\"bodies\":%d,\"planar\":%s,\"clock\":\"%s\",\"repeats\":%d,\"steps\":%d,"
                "\"of\":%d,\"us\":{",
                scene.name.c_str(), scene.title.c_str(), engine_name, variant.c_str(),
                scene.world.h, (int)scene.world.bodies.size(), engine_is_planar ? "true" : "false",
                scene.processor_time ? "processor" : "wall", repeats,
                (int)seconds.size() * scene.batch, scene.steps);
    bool any = false;
    for (const Window& w : scene.windows) {
        const size_t first = (size_t)(std::max(w.first, first_step) / scene.batch);
        const size_t last = std::min((size_t)(w.last / scene.batch), seconds.size());
        if (first >= last) {
            continue;
        }
        std::vector<double> part(seconds.begin() + (long)first, seconds.begin() + (long)last);
        std::sort(part.begin(), part.end());
        double sum = 0;
        for (double s : part) {
            sum += s;
        }
        const double n = (double)part.size();
        std::printf(
            "%s\"%s\":{\"mean\":%.6g,\"median\":%.6g,\"p99\":%.6g,\"max\":%.6g,\"steps\":%d,"
            "\"complete\":%s}",
            any ? "," : "", w.name.c_str(), 1e6 * sum / n, 1e6 * part[part.size() / 2],
            1e6 * part[(size_t)(std::ceil(0.99 * n) - 1)], 1e6 * part.back(),
            (int)part.size() * scene.batch, (int)last == w.last / scene.batch ? "true" : "false");
        any = true;
    }
    std::printf("}");
    if (scene.world.collide) {
        put("penetration", deepest < 0 ? NAN : deepest);
        std::printf(",\"contacts\":%d,\"active\":%d", laws.contacts, laws.active);
        if (laws.contacts > 0) {
            put("residual", laws.worst);
            put("residual_normal", laws.normal);
            put("residual_friction", laws.friction);
            put("residual_dynamics", laws.dynamics);
            put("weights", laws.weights);
        }
    }
    if (scene.rests) {
        put("drift", drift);
        put("drop", drop);
    }
    if (!scene.check_times.empty()) {
        put("velocity_error", velocity_error);
    }
    if (!scene.world.joints.empty()) {
        put("joint_gap", widest_joint);
        put("energy_change", energy_change);
    }
    if (!std::isnan(account.certificate)) {
        put("certificate", account.certificate);
    }
    if (!std::isnan(account.iterations)) {
        put("iterations", account.iterations);
    }
    if (account.failed >= 0) {
        std::printf(",\"failed\":%d", account.failed);
    }
    rusage use;
    getrusage(RUSAGE_SELF, &use);
    std::printf(",\"lost\":%d,\"memory_kb\":%ld}\n", lost, use.ru_maxrss);
}

void Worker::count(int warm, int steps)
{
    engine = make_engine(variant);
    engine->build(scene.world);
    for (int i = 0; i < warm; ++i) {
        engine->step();
    }
    COUNT_BEGIN;
    for (int i = 0; i < steps; ++i) {
        engine->step();
    }
    COUNT_END;
}

int serve(Worker& worker)
{
    char line[4096];
    while (std::fgets(line, sizeof line, stdin) != nullptr) {
        line[std::strcspn(line, "\n")] = '\0';
        if (std::strcmp(line, "start") == 0) {
            worker.start();
        } else if (std::strncmp(line, "step ", 5) == 0) {
            worker.step(std::atoi(line + 5));
        } else if (std::strncmp(line, "save ", 5) == 0) {
            worker.save(line + 5);
        } else if (std::strcmp(line, "report") == 0) {
            worker.report();
        } else {
            std::printf("error: %s?\n", line);
        }
        std::fflush(stdout);
    }
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        std::string name, variant, snapshot;
        bool wall = false;
        int at = 0, first = -1, last = 0, warm = -1, steps = 0, words = 0;
        for (int i = 1; i < argc; ++i) {
            if (std::strcmp(argv[i], "--load") == 0 && i + 2 < argc) {
                snapshot = argv[++i];
                at = std::atoi(argv[++i]);
            } else if (std::strcmp(argv[i], "--window") == 0 && i + 2 < argc) {
                first = std::atoi(argv[++i]);
                last = std::atoi(argv[++i]);
            } else if (std::strcmp(argv[i], "--wall") == 0) {
                wall = true;
            } else if (std::strcmp(argv[i], "--count") == 0 && i + 2 < argc) {
                warm = std::atoi(argv[++i]);
                steps = std::atoi(argv[++i]);
            } else {
                (words++ == 0 ? name : variant) = argv[i];
            }
        }
        if (words < 1 || words > 2) {
            std::fprintf(stderr,
                         "usage: peer_ENGINE SCENE [VARIANT] [--load FILE STEP] [--window FIRST "
                         "LAST] [--wall] | [--count WARM STEPS]\n");
            return 2;
        }
        Scene scene = make_scene(name, engine_is_planar);
        scene.processor_time = scene.processor_time && !wall;
        if (first >= 0) {
            scene.steps = last;
            scene.windows = {{"step", first, last}};
            scene.sample_from = first;
            scene.sample_every = 5;
        }
        Worker worker(std::move(scene), variant, snapshot, at);
        if (warm >= 0) {
            worker.count(warm, steps);
            return 0;
        }
        return serve(worker);
    } catch (const std::invalid_argument& e) {
        std::printf("error: %s\n", e.what());
        return 2;
    } catch (const std::exception& e) {
        std::printf("error: %s\n", e.what());
        return 3;
    }
}
