/* tests/unit/scene/scene_support.h - a context that counts its memory, and helpers to parse. */
#ifndef SCENE_SUPPORT_H
#define SCENE_SUPPORT_H

#include "perp_test.h"

#include "perp/scene.h"

/* An allocator that counts the blocks in use, and can fail the n-th request. */
typedef struct counter {
    long out;       /* blocks not yet given back */
    long requests;  /* so far */
    long fail_from; /* this request and all later ones fail; 0: none */
} counter;

static inline void* counted_resize(void* user, void* p, size_t size)
{
    counter* c = user;
    if (size == 0) {
        c->out -= p != NULL ? 1 : 0;
        free(p);
        return NULL;
    }
    c->requests += 1;
    if (c->fail_from > 0 && c->requests >= c->fail_from) {
        return NULL;
    }
    void* q = realloc(p, size);
    c->out += p == NULL && q != NULL ? 1 : 0;
    return q;
}

static inline perp_context* open_counted(counter* c)
{
    perp_context_def def = perp_context_def_default();
    def.allocator = (perp_allocator){counted_resize, c};
    perp_context* context = NULL;
    if (perp_context_create(&def, &context) != PERP_OK) {
        abort();
    }
    return context;
}

/* The text must be refused with this status, each of the parts (NULL-terminated) must be in the
 * message, and no memory may leak. */
static inline void check_refused_with(const char* text, size_t length, perp_status expected,
                                      const char* const* parts, const perp_override* override,
                                      int32_t count)
{
    counter c = {0};
    perp_context* context = open_counted(&c);
    perp_scene* scene = NULL;
    const perp_status status =
        perp_scene_parse(context, text, length, "bad.json", override, count, &scene);
    const char* message = perp_context_error(context);
    bool good = status == expected && scene == NULL && strstr(message, "bad.json: ") == message;
    for (; *parts != NULL; ++parts) {
        good = good && strstr(message, *parts) != NULL;
    }
    if (!good) {
        printf("  %.300s\n  gave status %d: %s\n", text, (int)status, message);
    }
    CHECK(good);
    perp_scene_destroy(scene);
    CHECK_EQ_INT(c.out, 1); /* the context itself */
    perp_context_destroy(context);
}

#define CHECK_REFUSED(text, ...)                                                                   \
    check_refused_with((text), strlen(text), PERP_ERROR_INPUT,                                     \
                       (const char* const[]){__VA_ARGS__, NULL}, NULL, 0)
#define CHECK_NOT_YET(text, ...)                                                                   \
    check_refused_with((text), strlen(text), PERP_ERROR_UNSUPPORTED,                               \
                       (const char* const[]){__VA_ARGS__, NULL}, NULL, 0)

/* A scene of one body, with these members beside its name. */
#define BODY(members)                                                                              \
    "{\"bodies\":[{\"name\":\"g\",\"type\":\"static\"},{\"name\":\"b\"," members "}]}"
#define BODY2(members)                                                                             \
    "{\"dimension\":2,\"bodies\":[{\"name\":\"g\",\"type\":\"static\"},{\"name\":\"b\"," members   \
    "}]}"
/* One dynamic ball and these members at the top. */
#define TOP(members)                                                                               \
    "{" members ",\"bodies\":[{\"name\":\"b\",\"mass\":1,\"shapes\":[{\"type\":\"sphere\","        \
    "\"radius\":1}]}]}"
#define SHAPE(members) BODY("\"mass\":1,\"shapes\":[{" members "}]")

#endif
