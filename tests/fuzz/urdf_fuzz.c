/* tests/fuzz/urdf_fuzz.c - libFuzzer entry for robots: URDF, and MJCF where the root is <mujoco>.
 *
 *     tests/fuzz/urdf_fuzz -max_len=8192 CORPUS tests/cli/urdf/good tests/cli/urdf/bad tests/cli/mjcf/good tests/cli/mjcf/bad
 * What is read must be a scene that survives its own text; what is refused must say in which line,
 * unless the scene reader itself refuses it (two bodies of one name after a rename, say).
 */
#include <stdlib.h>
#include <string.h>

#include "perp/scene.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    perp_context* context = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 0;
    }
    perp_scene* scene = NULL;
    perp_urdf_options options = perp_urdf_options_default();
    options.floating = size % 2 == 1;
    const perp_status status =
        perp_scene_parse_urdf(context, (const char*)data, size, "fuzz", &options, NULL, 0, &scene);
    if (status == PERP_OK) {
        const char* text = perp_scene_text(scene);
        perp_scene* again = NULL;
        if (perp_scene_parse(context, text, strlen(text), "again", NULL, 0, &again) != PERP_OK) {
            abort();
        }
        perp_scene_destroy(again);
        perp_scene_destroy(scene);
    } else if (strncmp(perp_context_error(context), "fuzz: line ", 11) != 0 &&
               strncmp(perp_context_error(context), "fuzz: /", 7) != 0) {
        abort();
    }
    perp_context_destroy(context);
    return 0;
}
