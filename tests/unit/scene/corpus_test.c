/* tests/unit/scene/corpus_test.c - all files of the corpora of robots and bad input in one process: read and
 * simulated, or refused. The messages are tested through the program (tests/cli/urdf_test.py, mjcf_test.py,
 * bad_input_test.sh); under sanitizers this test takes their place in .ci/run. */
#include "perp/perp.h"
#include "perp_test.h"

#include <dirent.h>

/* Loads the file, creates a simulation, makes three steps. */
static perp_status load_and_step(perp_context* context, const char* path)
{
    perp_scene* scene = NULL;
    perp_sim* sim = NULL;
    perp_urdf_options options = perp_urdf_options_default();
    options.package = PERP_SOURCE_DIR "/tests/cli/urdf/good/meshes";
    perp_status status = perp_scene_is_robot(path)
                             ? perp_scene_load_urdf(context, path, &options, NULL, 0, &scene)
                             : perp_scene_load(context, path, NULL, 0, &scene);
    if (status == PERP_OK) {
        status = perp_sim_create_from_scene(context, scene, &sim);
    }
    for (int i = 0; i < 3 && status == PERP_OK; ++i) {
        status = perp_sim_step(sim);
    }
    perp_sim_destroy(sim);
    perp_scene_destroy(scene);
    return status;
}

/* Every file of the folder with this ending is simulated, or is refused with a message; returns how
 * many there are. */
static int check_folder(const char* folder, const char* ending, bool good)
{
    perp_context* context = NULL;
    CHECK_OK(perp_context_create(NULL, &context));
    DIR* listing = opendir(folder);
    CHECK(listing != NULL);
    int count = 0;
    for (const struct dirent* e; listing != NULL && (e = readdir(listing)) != NULL;) {
        const size_t length = strlen(e->d_name), n = strlen(ending);
        if (length < n || strcmp(e->d_name + length - n, ending) != 0) {
            continue;
        }
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        const perp_status status = load_and_step(context, path);
        const bool refused = (status == PERP_ERROR_INPUT || status == PERP_ERROR_UNSUPPORTED) &&
                             perp_context_error(context)[0] != '\0';
        if (good ? status != PERP_OK : !refused) {
            TEST_PRINT("%s: status %d: %s", path, (int)status, perp_context_error(context));
        }
        CHECK(good ? status == PERP_OK : refused);
        count += 1;
    }
    if (listing != NULL) {
        (void)closedir(listing);
    }
    perp_context_destroy(context);
    return count;
}

TEST(good_robots_are_read_and_simulated)
{
    CHECK(check_folder(PERP_SOURCE_DIR "/tests/cli/urdf/good", ".urdf", true) >= 15);
    CHECK(check_folder(PERP_SOURCE_DIR "/tests/cli/mjcf/good", ".xml", true) >= 2);
}

TEST(bad_robots_are_refused)
{
    CHECK(check_folder(PERP_SOURCE_DIR "/tests/cli/urdf/bad", ".urdf", false) >= 50);
    CHECK(check_folder(PERP_SOURCE_DIR "/tests/cli/mjcf/bad", ".xml", false) >= 15);
}

TEST(bad_scenes_are_refused)
{
    CHECK(check_folder(PERP_SOURCE_DIR "/tests/cli/bad_input", ".json", false) >= 80);
}
