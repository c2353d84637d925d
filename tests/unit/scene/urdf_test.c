/* tests/unit/scene/urdf_test.c - truncated or mutated robots are read, or refused with a line number.
 * The rest of URDF is tested in tests/cli/urdf_test.py. */
#include "perp/scene.h"
#include "perp_test.h"

static const char robot[] =
    "<?xml version=\"1.0\"?><!-- r -->\n"
    "<robot name=\"r&amp;d\"><material name=\"m\"><color rgba=\"1 0 0 1\"/></material>\n"
    "<link name=\"base\"><collision><geometry><box size=\"1 2 3\"/></geometry></collision></link>\n"
    "<link name=\"a\"><inertial><origin xyz=\"0 0 1\" rpy=\"0 1 0\"/><mass value=\"2\"/>\n"
    "<inertia ixx=\"1\" ixy=\"0\" ixz=\"0\" iyy=\"1\" iyz=\"0\" izz=\"1\"/></inertial>\n"
    "<visual><geometry><cylinder radius=\"1\" length=\"2\"/></geometry>"
    "<material name=\"m\"/></visual></link>\n"
    "<link name=\"b\"/><![CDATA[x]]>\n"
    "<joint name=\"j\" type=\"revolute\"><parent link=\"base\"/><child link=\"a\"/>\n"
    "<axis xyz=\"0 1 0\"/><limit lower=\"-1\" upper='1' effort=\"3\"/>\n"
    "<dynamics damping=\"1\" friction=\"2\"/></joint>\n"
    "<joint name=\"k\" type=\"fixed\"><parent link=\"a\"/><child link=\"b\"/></joint>\n"
    "</robot>\n";

static perp_status parse(perp_context* context, const char* text, size_t length)
{
    perp_scene* scene = NULL;
    const perp_urdf_options options = perp_urdf_options_default();
    const perp_status status =
        perp_scene_parse_urdf(context, text, length, "r", &options, NULL, 0, &scene);
    perp_scene_destroy(scene);
    return status;
}

static bool says_where(const char* message)
{
    return strncmp(message, "r: line ", 8) == 0 || strncmp(message, "r: /", 4) == 0;
}

TEST(cut_and_damaged_robots_are_read_or_refused_with_a_place)
{
    perp_context* context = NULL;
    REQUIRE_OK(perp_context_create(NULL, &context));
    const size_t length = sizeof robot - 1;
    REQUIRE_OK(parse(context, robot, length));
    char* copy = malloc(length); /* of exact length, so that a sanitizer detects a read beyond
                                  * the end */
    int read = 0, refused = 0;
    for (size_t i = 0; i < length; ++i) {
        static const char replacements[] = {'\0', '<', '>', '"', '\'', '&',
                                            '/',  ' ', 'z', '-', '9',  (char)0xff};
        for (size_t k = 0; k <= sizeof replacements; ++k) {
            memcpy(copy, robot, length);
            const bool cut = k == sizeof replacements;
            if (!cut) {
                copy[i] = replacements[k];
            }
            if (parse(context, copy, cut ? i : length) == PERP_OK) {
                ++read;
            } else {
                ++refused;
                CHECK(says_where(perp_context_error(context)));
            }
        }
    }
    free(copy);
    TEST_PRINT("%d read, %d refused", read, refused);
    CHECK(read > 500 && refused > 5000);
    perp_context_destroy(context);
}

/* Every allocation fails once: an error, no leak, no crash. jansson has an allocator of its own. */
typedef struct scarce {
    long left;
} scarce;

static void* scarce_resize(void* user, void* p, size_t size)
{
    scarce* s = user;
    if (size > 0 && s->left-- == 0) {
        return NULL;
    }
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

TEST(no_memory_is_an_error_like_any_other)
{
    bool done = false;
    int failures = 0;
    for (long n = 0; !done && n < 10000; ++n) {
        scarce s = {n};
        perp_context_def def = perp_context_def_default();
        def.allocator.resize = scarce_resize;
        def.allocator.user = &s;
        perp_context* context = NULL;
        if (perp_context_create(&def, &context) != PERP_OK) {
            ++failures;
            continue;
        }
        const perp_status status = parse(context, robot, sizeof robot - 1);
        done = status == PERP_OK;
        failures += status == PERP_ERROR_MEMORY;
        CHECK(done || status == PERP_ERROR_MEMORY);
        perp_context_destroy(context);
    }
    TEST_PRINT("%d allocations failed in turn", failures);
    CHECK(done && failures > 5);
}
