/* Any number of threads gives the same bits: the built-in scenes, and heaps of several islands and of one.
 * The tests use threads for problems of any size; otherwise most of these scenes would use one. */
#include <dirent.h>

#include "base/threads.h"
#include "perp_test.h"
#include "support/scene_sim.h"

static uint64_t mix(uint64_t h, const void* data, size_t bytes)
{
    const unsigned char* at = data;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        uint64_t bits;
        memcpy(&bits, at, sizeof bits);
        h = ((h << 29 | h >> 35) ^ bits) * 0x9e3779b97f4a7c15u;
    }
    return h;
}

/* Of poses, velocities, contacts with their impulses, certificates and counts of each step. A step that
 * fails ends the run and counts with its message. */
static uint64_t run_hash(scene_sim* s, int32_t steps)
{
    uint64_t h = 1;
    for (int32_t i = 0; i < steps && !perp_sim_finished(s->sim); ++i) {
        const perp_status status = perp_sim_step(s->sim);
        h = mix(h, perp_sim_q(s->sim), (size_t)perp_sim_q_size(s->sim) * sizeof(double));
        h = mix(h, perp_sim_v(s->sim), (size_t)perp_sim_v_size(s->sim) * sizeof(double));
        int32_t count = 0;
        const perp_contact* contact = perp_sim_contacts(s->sim, &count);
        for (int32_t k = 0; k < count; ++k) {
            h = mix(h, &contact[k].key, sizeof contact[k].key);
            h = mix(h, &contact[k].gap, sizeof contact[k].gap);
            h = mix(h, contact[k].impulse, sizeof contact[k].impulse);
        }
        const perp_step_info info = perp_sim_step_info(s->sim);
        const uint64_t counts[] = {(uint64_t)info.report.iterations, (uint64_t)info.report.outcome,
                                   (uint64_t)info.rounds, (uint64_t)info.fallbacks, status};
        h = mix(h, &info.certificate, sizeof info.certificate);
        h = mix(h, counts, sizeof counts);
        if (status != PERP_OK) {
            const char* why = perp_context_error(s->context);
            return mix(h, why, strlen(why));
        }
    }
    return h;
}

static void use_threads(scene_sim* s, int32_t threads)
{
    REQUIRE_OK(perp_context_set_threads(s->context, threads));
    if (threads > 1) {
        perpi_threads_always(s->context);
    }
}

static const int32_t counts[] = {1, 2, 3, 8};
enum { COUNTS = sizeof counts / sizeof counts[0] };

static int compare_names(const void* a, const void* b)
{
    return strcmp(a, b);
}

TEST(every_built_in_scene_has_the_same_bits_with_any_number_of_threads)
{
    static char name[200][300];
    int scenes = 0;
    DIR* folder = opendir(PERP_SOURCE_DIR "/scenes");
    REQUIRE(folder != NULL);
    for (const struct dirent* e; (e = readdir(folder)) != NULL && scenes < 200;) {
        const char* dot = strrchr(e->d_name, '.');
        if (dot != NULL && strcmp(dot, ".json") == 0) {
            snprintf(name[scenes++], sizeof name[0], "scenes/%s", e->d_name);
        }
    }
    closedir(folder);
    qsort(name, (size_t)scenes, sizeof name[0], compare_names);
    CHECK(scenes > 20);
    for (int i = 0; i < scenes; ++i) {
        uint64_t first = 0;
        for (int k = 0; k < COUNTS; ++k) {
            scene_sim s = scene_sim_load(name[i]);
            REQUIRE(s.sim != NULL);
            use_threads(&s, counts[k]);
            const uint64_t h = run_hash(&s, 25);
            first = k == 0 ? h : first;
            if (h != first) {
                TEST_PRINT("%s with %d threads", name[i], (int)counts[k]);
            }
            CHECK_EQ_U64(h, first);
            scene_sim_close(&s);
        }
    }
}

/* Boxes and spheres that fall in columns onto a floor, some of them onto each other. */
static scene_sim open_heap(int32_t bodies, double apart, const char* more)
{
    static char text[200000];
    size_t used = (size_t)snprintf(
        text, sizeof text,
        "{'gravity':[0,0,-9.81],'step':0.01,'duration':10,'friction':{'default':0.5}%s,'bodies':["
        "{'name':'floor','type':'static','shapes':[{'type':'plane','normal':[0,0,1]}]}",
        more);
    uint64_t seed = 1;
    for (int32_t i = 0; i < bodies; ++i) {
        double r[4];
        for (int k = 0; k < 4; ++k) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            r[k] = (double)(seed >> 11) / 9007199254740992.0;
        }
        const double x = apart * (i % 4) + 0.008 * r[0], y = apart * (i / 4 % 4) + 0.008 * r[1];
        const double z = 0.06 + 0.105 * (i / 16) + 0.001 * r[2];
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            i % 3 == 0 ? ",{'name':'b%d','mass':%g,'position':[%.9g,%.9g,%.9g],'shapes':[{'type':"
                         "'sphere','radius':0.05}]}"
                       : ",{'name':'b%d','mass':%g,'position':[%.9g,%.9g,%.9g],'shapes':[{'type':"
                         "'box','size':[0.1,0.1,0.1]}]}",
            (int)i, 1.0 + 5.0 * r[3], x, y, z);
    }
    snprintf(text + used, sizeof text - used, "]}");
    return scene_sim_open("%s", text);
}

TEST(a_heap_has_the_same_bits_with_any_number_of_threads_and_a_warm_step_requests_no_memory)
{
    static const struct {
        const char* settings;
        double apart;
        int32_t bodies, steps;
    } heaps[] = {
        /* one island, whose systems are factored on the tree */
        {",'contact':'standard'", 0.11, 96, 8},
        {"", 0.3, 32, 12}, /* columns */
        {"", 0.11, 24, 6},
        {",'restitution':0.5", 0.3, 32, 12},
        {",'stepper':'implicit'", 0.3, 16, 6},
    };
    for (size_t i = 0; i < sizeof heaps / sizeof heaps[0]; ++i) {
        uint64_t first = 0;
        for (int k = 0; k < COUNTS; ++k) {
            scene_sim s = open_heap(heaps[i].bodies, heaps[i].apart, heaps[i].settings);
            REQUIRE(s.sim != NULL);
            use_threads(&s, counts[k]);
            const uint64_t h = run_hash(&s, heaps[i].steps);
            first = k == 0 ? h : first;
            CHECK_EQ_U64(h, first);
            if (i < 2) { /* the same step again */
                size_t size = 0;
                uint64_t before = 0;
                REQUIRE_OK(perp_sim_save(s.sim, NULL, &size));
                void* start = malloc(size);
                REQUIRE(start != NULL);
                REQUIRE_OK(perp_sim_save(s.sim, start, &size));
                for (int round = 0; round < 3; ++round) {
                    REQUIRE_OK(perp_sim_restore(s.sim, start, size));
                    before = perp_context_allocations(s.context);
                    REQUIRE_OK(perp_sim_step(s.sim));
                }
                CHECK_EQ_U64(perp_context_allocations(s.context), before);
                free(start);
            }
            scene_sim_close(&s);
        }
    }
}
