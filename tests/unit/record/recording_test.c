/* Recordings written and read through the library: every number comes back, at any size. */
#include <sys/stat.h>

#include "perp/perp.h"
#include "perp_test.h"
#include "support/scene_sim.h"
#include "record/hash.h"
#include "record/layout.h"

static const char balls[] =
    "{'name': 'balls', 'dimension': 3, 'gravity': [0, 0, -9.81], 'step': 0.01,"
    " 'duration': 0.5, 'friction': {'cone': 'polygon', 'directions': 5, 'default': "
    "0.4},"
    " 'record': {'every': %d}, 'bodies': ["
    "  {'name': 'ground', 'type': 'static',"
    "   'shapes': [{'type': 'plane', 'normal': [0, 0, 1], 'offset': 0}]},"
    "  {'name': 'low', 'type': 'dynamic', 'mass': 1, 'inertia': [0.4, 0.4, 0.4],"
    "   'position': [0, 0, 1.001], 'velocity': [1, 0, 0],"
    "   'shapes': [{'type': 'sphere', 'radius': 1}]},"
    "  {'name': 'high', 'type': 'dynamic', 'mass': 2, 'inertia': [0.1, 0.1, 0.1],"
    "   'position': [0.1, 0.05, 2.7], 'shapes': [{'type': 'sphere', 'radius': 0.5}]}]}";

typedef struct world {
    perp_context* context;
    perp_scene* scene;
    perp_sim* sim;
} world;

static bool open_world(world* w, int every)
{
    char text[2048];
    snprintf(text, sizeof text, balls, every);
    *w = (world){0};
    bool ok = perp_context_create(NULL, &w->context) == PERP_OK &&
              scene_parse(w->context, text, "test", &w->scene) == PERP_OK &&
              perp_sim_create_from_scene(w->context, w->scene, &w->sim) == PERP_OK;
    if (!ok) {
        TEST_PRINT("%s", perp_context_error(w->context));
    }
    return ok;
}

static void close_world(world* w)
{
    perp_sim_destroy(w->sim);
    perp_scene_destroy(w->scene);
    perp_context_destroy(w->context);
}

static bool same_doubles(const double* a, const double* b, int32_t n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool same_contact(const perp_contact* a, const perp_contact* b)
{
    return a->body_a == b->body_a && a->body_b == b->body_b && a->key == b->key &&
           same_doubles(a->point, b->point, 3) && same_doubles(a->normal, b->normal, 3) &&
           same_doubles(a->tangent, b->tangent, 3) && same_doubles(&a->gap, &b->gap, 1) &&
           same_doubles(&a->mu, &b->mu, 1) && a->directions == b->directions &&
           a->cone == b->cone && same_doubles(a->e, b->e, 3) &&
           same_doubles(a->impulse, b->impulse, 4) && same_doubles(a->drift, b->drift, 3);
}

/* The frame against the simulation that stands at the same step. */
static bool same_as_sim(const perp_frame* frame, const perp_sim* sim)
{
    int32_t count;
    const perp_contact* contact = perp_sim_contacts(sim, &count);
    const perp_step_info info = perp_sim_step_info(sim);
    const perp_energy energy = perp_sim_energy(sim);
    bool same =
        frame->step == perp_sim_step_count(sim) && frame->time == perp_sim_time(sim) &&
        same_doubles(frame->q, perp_sim_q(sim), perp_sim_q_size(sim)) &&
        same_doubles(frame->v, perp_sim_v(sim), perp_sim_v_size(sim)) &&
        frame->contact_count == count && frame->energy.kinetic == energy.kinetic &&
        frame->energy.potential == energy.potential && frame->energy.total == energy.total &&
        frame->info.certificate.worst == info.certificate.worst &&
        frame->info.certificate.worst_constraint == info.certificate.worst_constraint &&
        frame->info.report.iterations == info.report.iterations &&
        frame->info.report.outcome == info.report.outcome &&
        strcmp(frame->info.report.solver, info.report.solver != NULL ? info.report.solver : "") ==
            0 &&
        frame->info.candidates == info.candidates && frame->info.rounds == info.rounds &&
        frame->info.contacts == info.contacts && frame->info.penetration == info.penetration &&
        frame->info.accepted_unsolved == info.accepted_unsolved &&
        same_doubles(&frame->info.ledger.change, &info.ledger.change, PERP_LEDGER_COUNT) &&
        same_doubles(frame->info.momentum_error, info.momentum_error, 2) &&
        frame->info.crossings == info.crossings;
    for (int32_t i = 0; same && i < count; ++i) {
        same = same_contact(&frame->contacts[i], &contact[i]);
    }
    return same;
}

/* Runs to the end and records; *contacts: how many contacts were seen in frames. */
static bool record_run(world* w, const char* path)
{
    perp_recorder* recorder = NULL;
    bool ok = perp_recorder_create(w->context, path, w->scene, w->sim, &recorder) == PERP_OK;
    while (ok && !perp_sim_finished(w->sim)) {
        ok = perp_sim_step(w->sim) == PERP_OK &&
             perp_recorder_step(recorder, w->sim, 0.001) == PERP_OK;
    }
    ok = ok && perp_recorder_finish(recorder, w->sim) == PERP_OK;
    ok = ok && perp_recorder_finish(recorder, w->sim) == PERP_OK; /* once more does no harm */
    if (!ok) {
        TEST_PRINT("%s", perp_context_error(w->context));
    }
    perp_recorder_destroy(recorder);
    return ok;
}

TEST(every_number_of_every_frame_comes_back)
{
    world w, again;
    REQUIRE(open_world(&w, 1));
    REQUIRE(record_run(&w, "trip.h5"));
    perp_recording* r = NULL;
    REQUIRE_OK(perp_recording_open(w.context, "trip.h5", &r));
    CHECK(perp_recording_complete(r));
    CHECK_EQ_INT(perp_recording_frame_count(r), 51);
    CHECK_EQ_STR(perp_recording_scene_text(r), perp_scene_text(w.scene));
    CHECK_EQ_STR(perp_recording_version(r), PERP_VERSION_STRING);

    REQUIRE(open_world(&again, 1));
    int32_t fewest = INT32_MAX, most = 0;
    for (int64_t k = 0; k < 51; ++k) {
        perp_frame frame;
        REQUIRE_OK(perp_recording_frame(r, k, &frame));
        CHECK(same_as_sim(&frame, again.sim));
        CHECK_NEAR(frame.info.report.seconds, k == 0 ? 0.0 : 0.001, 0.0);
        fewest = frame.contact_count < fewest ? frame.contact_count : fewest;
        most = frame.contact_count > most ? frame.contact_count : most;
        if (!perp_sim_finished(again.sim)) {
            REQUIRE_OK(perp_sim_step(again.sim));
        }
    }
    CHECK_EQ_INT(fewest, 0); /* ragged indeed */
    CHECK_EQ_INT(most, 2);
    perp_frame frame;
    CHECK_EQ_INT(perp_recording_frame(r, 51, &frame), PERP_ERROR_INPUT);
    CHECK_EQ_INT(perp_recording_frame(r, -1, &frame), PERP_ERROR_INPUT);
    perp_recording_close(r);
    close_world(&again);
    close_world(&w);
}

TEST(frames_come_back_in_any_order)
{
    world w;
    REQUIRE(open_world(&w, 1));
    REQUIRE(record_run(&w, "order.h5"));
    perp_recording* r = NULL;
    REQUIRE_OK(perp_recording_open(w.context, "order.h5", &r));
    for (int64_t i = 0; i < 200; ++i) {
        const int64_t k = (i * 37) % 51;
        perp_frame frame;
        REQUIRE_OK(perp_recording_frame(r, k, &frame));
        CHECK_EQ_INT(frame.step, k);
    }
    perp_recording_close(r);
    close_world(&w);
}

TEST(every_nth_frame_and_always_the_last)
{
    world w;
    REQUIRE(open_world(&w, 7));
    REQUIRE(record_run(&w, "every.h5"));
    perp_recording* r = NULL;
    REQUIRE_OK(perp_recording_open(w.context, "every.h5", &r));
    const int64_t expect[] = {0, 7, 14, 21, 28, 35, 42, 49, 50};
    REQUIRE_EQ_INT(perp_recording_frame_count(r), 9);
    for (int64_t k = 0; k < 9; ++k) {
        perp_frame frame;
        REQUIRE_OK(perp_recording_frame(r, k, &frame));
        CHECK_EQ_INT(frame.step, expect[k]);
        CHECK_NEAR(frame.info.report.seconds, k == 0 ? 0 : k == 8 ? 0.001 : 0.007, 1e-15);
    }
    perp_recording_close(r);
    perp_verification verification;
    REQUIRE_OK(perp_recording_verify(w.context, "every.h5", &verification));
    CHECK(verification.intact && verification.complete && verification.rerun &&
          verification.same_bits);
    CHECK_EQ_INT(verification.laws_checked, 1); /* 49 -> 50 */
    CHECK_EQ_INT(verification.first_difference, -1);
    close_world(&w);
}

TEST(a_restored_simulation_goes_on_with_the_same_bits)
{
    world w, other;
    REQUIRE(open_world(&w, 1));
    REQUIRE(record_run(&w, "restore.h5"));
    perp_recording* r = NULL;
    REQUIRE_OK(perp_recording_open(w.context, "restore.h5", &r));
    const int64_t from[] = {0, 1, 20, 33, 49, -1};
    for (size_t i = 0; i < sizeof from / sizeof from[0]; ++i) {
        REQUIRE(open_world(&other, 1));
        REQUIRE_OK(perp_recording_restore(r, from[i], other.sim));
        CHECK_EQ_INT(perp_sim_step_count(other.sim), from[i] < 0 ? 50 : from[i]);
        REQUIRE_OK(perp_sim_run(other.sim));
        CHECK(same_doubles(perp_sim_q(other.sim), perp_sim_q(w.sim), perp_sim_q_size(w.sim)));
        CHECK(same_doubles(perp_sim_v(other.sim), perp_sim_v(w.sim), perp_sim_v_size(w.sim)));
        close_world(&other);
    }
    CHECK_EQ_INT(perp_recording_restore(r, 99, w.sim), PERP_ERROR_INPUT);
    perp_recording_close(r);
    close_world(&w);
}

/* Destroying without finish is what a failed program does: like a kill, but in the same process. */
TEST(a_recording_that_was_not_finished_is_still_read)
{
    world w;
    REQUIRE(open_world(&w, 1));
    perp_recorder* recorder = NULL;
    REQUIRE_OK(perp_recorder_create(w.context, "open.h5", w.scene, w.sim, &recorder));
    for (int i = 0; i < 10; ++i) {
        REQUIRE_OK(perp_sim_step(w.sim));
        REQUIRE_OK(perp_recorder_step(recorder, w.sim, 1.0)); /* slow steps: flushed each time */
    }
    perp_recording* r = NULL;
    REQUIRE_OK(perp_recording_open(w.context, "open.h5", &r)); /* while it is being written */
    CHECK(!perp_recording_complete(r));
    CHECK_EQ_INT(perp_recording_frame_count(r), 11);
    perp_recording_close(r);
    perp_recorder_destroy(recorder);
    REQUIRE_OK(perp_recording_open(w.context, "open.h5", &r));
    CHECK(!perp_recording_complete(r));
    CHECK_EQ_INT(perp_recording_frame_count(r), 11);
    perp_recording_close(r);
    perp_verification verification;
    REQUIRE_OK(perp_recording_verify(w.context, "open.h5", &verification));
    CHECK(verification.intact && !verification.complete && verification.same_bits);
    CHECK_EQ_INT(verification.laws_checked, 10);
    CHECK_AT_MOST(verification.worst.worst, 1e-8);
    close_world(&w);
}

/* 20 fast steps, which stay in memory; then the recorder goes, finished in vain (the simulation
 * went back) or not at all. */
TEST(frames_in_memory_are_written_without_a_finish)
{
    for (int refused = 0; refused < 2; ++refused) {
        world w;
        REQUIRE(open_world(&w, 1));
        perp_recorder* recorder = NULL;
        perp_recording* r = NULL;
        REQUIRE_OK(perp_recorder_create(w.context, "open.h5", w.scene, w.sim, &recorder));
        for (int i = 0; i < 20; ++i) {
            REQUIRE_OK(perp_sim_step(w.sim));
            REQUIRE_OK(perp_recorder_step(recorder, w.sim, 0.0));
        }
        if (refused == 1) {
            REQUIRE_OK(perp_sim_reset(w.sim));
            CHECK_EQ_INT(perp_recorder_finish(recorder, w.sim), PERP_ERROR_INPUT);
            CHECK_CONTAINS(perp_context_error(w.context), "begin another recording");
            REQUIRE_OK(perp_recording_open(w.context, "open.h5", &r)); /* before it is destroyed */
            CHECK_EQ_INT(perp_recording_frame_count(r), 21);
            perp_recording_close(r);
        }
        perp_recorder_destroy(recorder);
        perp_verification verification;
        REQUIRE_OK(perp_recording_verify(w.context, "open.h5", &verification));
        CHECK(verification.intact && !verification.complete && verification.same_bits);
        CHECK_EQ_INT(verification.frames, 21);
        CHECK_EQ_INT(verification.laws_checked, 20);
        close_world(&w);
    }
    (void)remove("open.h5");
}

/* Wrenches from C are not in the recording: the laws, checked without them, must not hold. */
TEST(what_user_code_did_shows_in_the_verdict)
{
    world w;
    REQUIRE(open_world(&w, 1));
    perp_recorder* recorder = NULL;
    REQUIRE_OK(perp_recorder_create(w.context, "pushed.h5", w.scene, w.sim, &recorder));
    for (int i = 0; i < 5; ++i) {
        const double force[3] = {0, i == 3 ? 5.0 : 0.0, 0};
        REQUIRE_OK(perp_sim_apply_wrench(w.sim, 1, force, NULL));
        REQUIRE_OK(perp_sim_step(w.sim));
        REQUIRE_OK(perp_recorder_step(recorder, w.sim, 0.0));
    }
    REQUIRE_OK(perp_recorder_finish(recorder, w.sim));
    perp_recorder_destroy(recorder);
    perp_verification verification;
    REQUIRE_OK(perp_recording_verify(w.context, "pushed.h5", &verification));
    CHECK(verification.intact && verification.rerun && !verification.same_bits);
    CHECK_EQ_INT(verification.first_difference, 4);
    CHECK_EQ_INT(verification.worst_frame, 4);
    CHECK_AT_LEAST(verification.worst.dynamics, 1e-3);
    close_world(&w);
}

TEST(an_old_recording_is_replaced_only_by_a_sound_one)
{
    world w;
    struct stat before, after;
    REQUIRE(open_world(&w, 1));
    REQUIRE(record_run(&w, "keep.h5"));
    REQUIRE(stat("keep.h5", &before) == 0);
    perp_recorder* recorder = NULL;
    CHECK_EQ_INT(
        perp_recorder_create(w.context, "no/such/place/keep.h5", w.scene, w.sim, &recorder),
        PERP_ERROR_INPUT);
    CHECK_CONTAINS(perp_context_error(w.context), "no/such/place/keep.h5");
    CHECK_CONTAINS(perp_context_error(w.context), "No such file");
    CHECK_EQ_INT(perp_recorder_create(w.context, "/dev/null", w.scene, w.sim, &recorder),
                 PERP_ERROR_INPUT);
    CHECK(recorder == NULL);
    REQUIRE(stat("keep.h5", &after) == 0);
    CHECK(before.st_ino == after.st_ino && before.st_size == after.st_size);
    CHECK_EQ_INT(perp_recording_open(w.context, "missing.h5", NULL), PERP_ERROR_IO);
    close_world(&w);
}

static bool write_bytes(const char* path, const char* bytes, size_t size)
{
    FILE* file = fopen(path, "wb");
    const bool ok = file != NULL && fwrite(bytes, 1, size, file) == size;
    return file != NULL && fclose(file) == 0 && ok;
}

TEST(a_file_that_is_no_recording_is_never_replaced)
{
    static const struct {
        const char* bytes;
        size_t size;
    } precious[] = {{"{'bodies': []}", 14}, {"", 0}, {"\x89HDF\r\n\x1a\n and no more", 20}};
    world w;
    REQUIRE(open_world(&w, 1));
    for (size_t i = 0; i < sizeof precious / sizeof precious[0]; ++i) {
        REQUIRE(write_bytes("precious", precious[i].bytes, precious[i].size));
        perp_recorder* recorder = NULL;
        CHECK_EQ_INT(perp_recorder_create(w.context, "precious", w.scene, w.sim, &recorder),
                     PERP_ERROR_INPUT);
        CHECK(recorder == NULL);
        CHECK_CONTAINS(perp_context_error(w.context), "another name");
        struct stat st;
        REQUIRE(stat("precious", &st) == 0);
        CHECK_EQ_INT(st.st_size, (int64_t)precious[i].size);
    }
    close_world(&w);
}

TEST(a_recording_replaced_by_another_program_is_said)
{
    world w, other;
    REQUIRE(open_world(&w, 1));
    REQUIRE(open_world(&other, 1));
    perp_recorder* recorder = NULL;
    REQUIRE_OK(perp_recorder_create(w.context, "both.h5", w.scene, w.sim, &recorder));
    REQUIRE(record_run(&other, "both.h5"));
    REQUIRE_OK(perp_sim_step(w.sim));
    REQUIRE_OK(perp_recorder_step(recorder, w.sim, 0.0));
    CHECK_EQ_INT(perp_recorder_finish(recorder, w.sim), PERP_ERROR_IO);
    CHECK_CONTAINS(perp_context_error(w.context),
                   "was replaced by another program while this run was writing");
    perp_recorder_destroy(recorder);
    perp_verification verification; /* the other's is whole */
    REQUIRE_OK(perp_recording_verify(w.context, "both.h5", &verification));
    CHECK(verification.intact && verification.finished && verification.same_bits);
    close_world(&other);
    close_world(&w);
}

TEST(how_a_run_ended_is_kept)
{
    world w;
    REQUIRE(open_world(&w, 1));
    perp_recorder* recorder = NULL;
    REQUIRE_OK(perp_recorder_create(w.context, "noted.h5", w.scene, w.sim, &recorder));
    REQUIRE_OK(perp_sim_step(w.sim));
    REQUIRE_OK(perp_recorder_step(recorder, w.sim, 0.0));
    perp_recorder_note(recorder, "stopped, \"hash\": \"by\" \\ \x1b\n\xc3\xa9\xff");
    REQUIRE_OK(perp_recorder_finish(recorder, w.sim));
    perp_recorder_destroy(recorder);
    perp_verification verification;
    REQUIRE_OK(perp_recording_verify(w.context, "noted.h5", &verification));
    CHECK(verification.intact && verification.complete && !verification.finished &&
          verification.same_bits);
    CHECK_EQ_STR(verification.note, "stopped, \"hash\": \"by\" \\ \x1b\n\xc3\xa9?");
    CHECK_CONTAINS(verification.message, "ended early");
    close_world(&w);
}

/* A frame tells the worst of all steps since the one before it. */
TEST(nothing_between_two_frames_is_hidden)
{
    world all, some;
    REQUIRE(open_world(&all, 1));
    REQUIRE(open_world(&some, 7));
    REQUIRE(record_run(&all, "all.h5"));
    REQUIRE(record_run(&some, "some.h5"));
    perp_recording *a = NULL, *s = NULL;
    REQUIRE_OK(perp_recording_open(all.context, "all.h5", &a));
    REQUIRE_OK(perp_recording_open(some.context, "some.h5", &s));
    perp_frame frame;
    int64_t step = 0;
    int differences = 0; /* to the frame's own step: the test would prove nothing without */
    for (int64_t k = 1; k < perp_recording_frame_count(s); ++k) {
        perp_contact_residual worst = {0};
        double penetration = 0.0;
        int32_t iterations = 0;
        perp_ledger ledger = {0};
        REQUIRE_OK(perp_recording_frame(s, k, &frame));
        const int64_t end = frame.step;
        const perp_step_info info = frame.info;
        while (step < end) {
            REQUIRE_OK(perp_recording_frame(a, ++step, &frame));
            const perp_contact_residual* c = &frame.info.certificate;
            worst.dynamics = fmax(worst.dynamics, c->dynamics);
            worst.normal = fmax(worst.normal, c->normal);
            worst.friction = fmax(worst.friction, c->friction);
            penetration = fmax(penetration, frame.info.penetration);
            iterations = frame.info.report.iterations > iterations ? frame.info.report.iterations
                                                                   : iterations;
            perp_ledger_add(&ledger, &frame.info.ledger);
        }
        CHECK_NEAR(info.certificate.dynamics, worst.dynamics, 0.0);
        CHECK_NEAR(info.certificate.normal, worst.normal, 0.0);
        CHECK_NEAR(info.certificate.friction, worst.friction, 0.0);
        CHECK_NEAR(info.penetration, penetration, 0.0);
        CHECK_EQ_INT(info.report.iterations, iterations);
        for (int32_t i = 0; i < PERP_LEDGER_COUNT; ++i) {
            CHECK_NEAR(perp_ledger_entry(&info.ledger, i), perp_ledger_entry(&ledger, i), 0.0);
        }
        differences += frame.info.certificate.dynamics < worst.dynamics;
    }
    CHECK_AT_LEAST(differences, 1);
    perp_recording_close(a);
    perp_recording_close(s);
    close_world(&all);
    close_world(&some);
}

TEST(no_flipped_bit_hides_from_the_hash)
{
    unsigned char data[64];
    for (size_t i = 0; i < sizeof data; ++i) {
        data[i] = (unsigned char)(i * 37 + 5);
    }
    const uint64_t truth = perpi_hash_bytes(PERPI_HASH_SEED, data, sizeof data);
    int hidden = 0;
    for (size_t bit = 0; bit < 8 * sizeof data; ++bit) {
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        hidden += perpi_hash_bytes(PERPI_HASH_SEED, data, sizeof data) == truth;
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    CHECK_EQ_INT(hidden, 0);
    CHECK(perpi_hash_bytes(1, data, 8) != perpi_hash_bytes(1, data, 7));
    CHECK(perpi_hash_bytes(0, "\0", 1) != perpi_hash_bytes(0, "\0\0", 2));
}

TEST(a_summary_reads_back_and_no_flipped_bit_passes)
{
    char text[PERPI_SUMMARY_SIZE];
    const perpi_summary truth = {.frames = 1234567,
                                 .step = 1234566,
                                 .time = 12345.678901234567,
                                 .contacts = INT64_C(1) << 60,
                                 .last_hash = UINT64_C(0x00000000deadbeef),
                                 .note = "interrupted"};
    const size_t length = perpi_summary_write(text, &truth);
    perpi_summary s;
    REQUIRE(perpi_summary_read(text, &s));
    CHECK_EQ_INT(s.frames, 1234567);
    CHECK_EQ_U64(s.last_hash, UINT64_C(0x00000000deadbeef));
    CHECK_EQ_INT(s.step, 1234566);
    CHECK(!s.finished);
    CHECK_EQ_STR(s.note, "interrupted");
    int passed = 0;
    for (size_t bit = 0; bit < 8 * length; ++bit) {
        text[bit / 8] ^= (char)(1 << bit % 8);
        passed += perpi_summary_read(text, &s);
        text[bit / 8] ^= (char)(1 << bit % 8);
    }
    CHECK_EQ_INT(passed, 0);
}
