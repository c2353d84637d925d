/* Thousands of random mutations of a valid scene: each is read or refused, without a crash or a leak (run it
 * under the sanitizers). The random stream is our own, so every run is the same. */
#include "scene_support.h"

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    /* splitmix64 */
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 32) % below;
}

static size_t load(const char* name, char* text, size_t size)
{
    const char* source = getenv("PERP_SOURCE");
    char path[1024];
    snprintf(path, sizeof path, "%s/scenes/%s", source != NULL ? source : PERP_SOURCE_DIR, name);
    FILE* file = fopen(path, "rb");
    if (file == NULL) {
        return 0;
    }
    const size_t n = fread(text, 1, size, file);
    fclose(file);
    return n;
}

/* One mutation: a byte, a word, a cut, or a piece moved. Returns the new length. */
static size_t damage(char* text, size_t length, size_t size)
{
    static const char* const words[] = {
        "null", "true", "-1",    "1e308", "[]",   "{}",   "\"\"", "0",         "1e-320", "[[",
        "}",    ",",    "\"t\"", "//",    "9e99", "-0.0", "\\",   "\"angle\"", "2",      "\xc3\xa9",
    };
    const size_t at = draw((uint32_t)length);
    switch (draw(5)) {
    case 0: text[at] = (char)draw(256); return length;
    case 1: text[at] = (char)(32 + draw(95)); return length;
    case 2: { /* a word over what stands there */
        const char* word = words[draw(sizeof words / sizeof words[0])];
        const size_t n = strlen(word);
        if (at + n <= length) {
            memcpy(text + at, word, n);
        }
        return length;
    }
    case 3: { /* delete a piece */
        size_t n = 1 + draw(12);
        n = at + n < length ? n : length - at - 1;
        memmove(text + at, text + at + n, length - at - n);
        return length - n;
    }
    default: { /* a piece twice */
        size_t n = 1 + draw(40);
        n = at + n < length ? n : length - at;
        if (length + n >= size) {
            return length;
        }
        memmove(text + at + n, text + at, length - at);
        return length + n;
    }
    }
}

static void check_mutations(const char* name, int rounds, uint64_t seed)
{
    static char good[8192], text[16384];
    const size_t n = load(name, good, sizeof good);
    REQUIRE(n > 100 && n < sizeof good);
    counter c = {0};
    perp_context* context = open_counted(&c);
    state = seed;
    int read = 0, refused = 0;
    for (int i = 0; i < rounds; ++i) {
        memcpy(text, good, n);
        size_t length = n;
        for (uint32_t k = 1 + draw(3); k > 0; --k) {
            length = damage(text, length, sizeof text);
        }
        /* of exact length, so that the sanitizer detects a read beyond the end */
        char* exact = malloc(length);
        REQUIRE(exact != NULL);
        memcpy(exact, text, length);
        perp_scene* scene = NULL;
        const perp_status status = perp_scene_parse(context, exact, length, "m", NULL, 0, &scene);
        free(exact);
        if (status == PERP_OK) {
            ++read;
            CHECK(strlen(perp_scene_text(scene)) > 0);
        } else {
            ++refused;
            CHECK(status == PERP_ERROR_INPUT || status == PERP_ERROR_UNSUPPORTED);
            CHECK(strncmp(perp_context_error(context), "m: ", 3) == 0);
        }
        perp_scene_destroy(scene);
        CHECK_EQ_INT(c.out, 1);
    }
    TEST_PRINT("%s: %d read, %d refused", name, read, refused);
    CHECK_AT_LEAST(read, 1);
    CHECK_AT_LEAST(refused, rounds / 4);
    perp_context_destroy(context);
}

TEST(damaged_scenes_are_read_or_refused_but_never_crash)
{
    check_mutations("hello.json", 4000, 1);
    check_mutations("n04-mobile-robot.json", 2000, 2);
    check_mutations("n04-pusher-box.json", 2000, 3);
    check_mutations("controlled-arm.json", 4000, 4);
}

/* Cut off anywhere, a scene is broken JSON. */
TEST(every_prefix_of_a_scene_is_refused)
{
    static char good[8192];
    const size_t n = load("hello.json", good, sizeof good);
    REQUIRE(n > 100 && n < sizeof good);
    size_t end = n;
    while (good[end - 1] != '}') {
        --end;
    }
    counter c = {0};
    perp_context* context = open_counted(&c);
    for (size_t length = 0; length < end; ++length) {
        perp_scene* scene = NULL;
        CHECK_EQ_INT(perp_scene_parse(context, good, length, "p", NULL, 0, &scene),
                     PERP_ERROR_INPUT);
        CHECK(scene == NULL);
    }
    CHECK_EQ_INT(c.out, 1);
    perp_context_destroy(context);
}
