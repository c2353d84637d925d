/* tests/fuzz/scene_fuzz.c - libFuzzer entry for the scene reader.
 *
 *     tests/fuzz/scene_fuzz -max_len=4096 CORPUS scenes/
 * What is read must survive its own text: parsing that again may not fail.
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
    if (perp_scene_parse(context, (const char*)data, size, "fuzz", NULL, 0, &scene) == PERP_OK) {
        const char* text = perp_scene_text(scene);
        perp_scene* again = NULL;
        if (perp_scene_parse(context, text, strlen(text), "again", NULL, 0, &again) != PERP_OK) {
            abort();
        }
        perp_scene_destroy(again);
        perp_scene_destroy(scene);
    }
    perp_context_destroy(context);
    return 0;
}
