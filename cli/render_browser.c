/* cli/render_browser.c - chromium over --remote-debugging-pipe.
 *
 * Source     the DevTools protocol: JSON messages ended by a zero byte; the browser reads them at
 *            descriptor 3 and answers at 4. No network port is opened.
 */
#include "render_browser.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_SECONDS 60.0
#define SCRATCH_MAX 50 /* bytes */
#define MESSAGE_MAX ((size_t)256 << 20)

char* browser_find(void)
{
    static const char* const names[] = {
        "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", NULL};
    return child_find(names);
}

static bool fail(browser* b, const char* why)
{
    if (b->trouble[0] == '\0') {
        (void)snprintf(b->trouble, sizeof b->trouble, "%s", why);
    }
    return false;
}

/* ---- messages -----------------------------------------------------------------------------------*/

/* Waits for bytes from the browser. */
static bool receive(browser* b, double until)
{
    for (;;) {
        if (b->stop()) {
            return fail(b, "interrupted");
        }
        if (cli_clock() > until) {
            return fail(b, "chromium does not answer");
        }
        struct pollfd wait = {.fd = b->child.from, .events = POLLIN};
        if (poll(&wait, 1, 100) > 0) {
            break;
        }
    }
    unsigned char block[65536];
    const ssize_t got = read(b->child.from, block, sizeof block);
    if (got < 0 && errno == EINTR) {
        return true;
    }
    if (got <= 0) {
        char words[300] = "";
        child_last_words(b->log, words, sizeof words);
        if (b->trouble[0] == '\0') {
            (void)snprintf(b->trouble, sizeof b->trouble, "chromium has gone%s%s",
                           words[0] != '\0' ? ": " : "", words);
        }
        return false;
    }
    if (b->in.size - b->in_used > MESSAGE_MAX) {
        return fail(b, "chromium's answer is too long");
    }
    page_bytes_add(&b->in, block, (size_t)got);
    return b->in.failed ? fail(b, "out of memory") : true;
}

/* The next whole message, or NULL. */
static json_t* next_message(browser* b, double until)
{
    size_t looked = b->in_used;
    for (;;) {
        const unsigned char* end =
            b->in.size > looked ? memchr(b->in.data + looked, 0, b->in.size - looked) : NULL;
        if (end != NULL) {
            const char* text = (const char*)b->in.data + b->in_used;
            json_t* message = json_loadb(text, (size_t)((const char*)end - text), 0, NULL);
            b->in_used = (size_t)(end + 1 - b->in.data);
            if (b->in_used == b->in.size) {
                b->in.size = b->in_used = 0;
            }
            if (message == NULL) {
                (void)fail(b, "chromium answers something that is no JSON");
            }
            return message;
        }
        looked = b->in.size;
        if (!receive(b, until)) {
            return NULL;
        }
    }
}

/* Sends a command (its parameters are taken over) and waits for its result. */
static json_t* call(browser* b, const char* method, json_t* params)
{
    const int id = ++b->last_id;
    json_t* message = json_object();
    json_object_set_new(message, "id", json_integer(id));
    json_object_set_new(message, "method", json_string(method));
    json_object_set_new(message, "params", params != NULL ? params : json_object());
    if (b->session != NULL) {
        json_object_set_new(message, "sessionId", json_string(b->session));
    }
    char* text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    const bool sent = text != NULL && child_write(&b->child, text, strlen(text) + 1);
    free(text);
    const double until = cli_clock() + ANSWER_SECONDS;
    if (!sent) {
        (void)receive(b, until); /* sets the message */
        (void)fail(b, "chromium has gone");
        return NULL;
    }
    json_t* answer;
    while ((answer = next_message(b, until)) != NULL &&
           json_integer_value(json_object_get(answer, "id")) != id) {
        json_decref(answer); /* an event: ignored */
    }
    json_t* result = json_incref(json_object_get(answer, "result"));
    if (answer != NULL && result == NULL) {
        const char* why =
            json_string_value(json_object_get(json_object_get(answer, "error"), "message"));
        (void)snprintf(b->trouble, sizeof b->trouble, "chromium refuses %s: %.200s", method,
                       why != NULL ? why : "");
    }
    json_decref(answer);
    return result;
}

static bool call_without_result(browser* b, const char* method, json_t* params)
{
    json_t* result = call(b, method, params);
    json_decref(result);
    return result != NULL;
}

static char* copy_string(const json_t* object, const char* name)
{
    const char* text = json_string_value(json_object_get(object, name));
    return text != NULL ? strdup(text) : NULL;
}

/* ---- the page -----------------------------------------------------------------------------------*/

static bool attach(browser* b, int width, int height)
{
    json_t* made = call(b, "Target.createTarget", json_pack("{s:s}", "url", "about:blank"));
    json_t* attached = NULL;
    if (made != NULL) {
        const char* target = json_string_value(json_object_get(made, "targetId"));
        attached =
            call(b, "Target.attachToTarget",
                 json_pack("{s:s, s:b}", "targetId", target != NULL ? target : "", "flatten", 1));
    }
    b->session = attached != NULL ? copy_string(attached, "sessionId") : NULL;
    json_decref(made);
    json_decref(attached);
    if (b->session == NULL) {
        return fail(b, "chromium opens no page");
    }
    return call_without_result(b, "Page.enable", NULL) &&
           call_without_result(b, "Emulation.setDeviceMetricsOverride",
                               json_pack("{s:i, s:i, s:i, s:b}", "width", width, "height", height,
                                         "deviceScaleFactor", 1, "mobile", 0));
}

bool browser_start(browser* b, const char* path, const char* folder, int width, int height,
                   bool (*stop)(void))
{
    char profile[700];
    *b = (browser){.stop = stop, .child = {.pid = -1, .to = -1, .from = -1}};
    (void)snprintf(b->log, sizeof b->log, "%s/browser.log", folder);
    (void)snprintf(profile, sizeof profile, "--user-data-dir=%s/profile", folder);
    /* It keeps a socket in its TMPDIR, whose whole name must fit into 108 bytes. */
    (void)strcpy(b->scratch, "/tmp/perp-XXXXXX");
    if (strlen(folder) <= SCRATCH_MAX || mkdtemp(b->scratch) == NULL) {
        b->scratch[0] = '\0';
    }
    const char* argv[] = {
        path, "--headless=new", "--remote-debugging-pipe", profile, "--no-first-run",
        "--no-default-browser-check", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-extensions",
        "--disable-dev-shm-usage", "--mute-audio", "--hide-scrollbars",
        "--force-color-profile=srgb", "--ignore-gpu-blocklist", "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader",
        /* chromium does not run as root with its sandbox; the page is our own */
        geteuid() == 0 ? "--no-sandbox" : "--disable-breakpad", "about:blank", NULL};
    const child_def def = {.argv = argv,
                           .log = b->log,
                           .scratch = b->scratch[0] != '\0' ? b->scratch : folder,
                           .to_fd = 3,
                           .from_fd = 4,
                           .own_group = true};
    if (!child_start(&def, &b->child)) {
        return fail(b, "chromium cannot be started");
    }
    return attach(b, width, height);
}

json_t* browser_evaluate(browser* b, const char* expression)
{
    json_t* result = call(b, "Runtime.evaluate",
                          json_pack("{s:s, s:b, s:b}", "expression", expression, "awaitPromise", 1,
                                    "returnByValue", 1));
    json_t* value = json_incref(json_object_get(json_object_get(result, "result"), "value"));
    json_t* thrown = json_object_get(result, "exceptionDetails");
    if (thrown != NULL) {
        const char* why =
            json_string_value(json_object_get(json_object_get(thrown, "exception"), "description"));
        (void)snprintf(b->trouble, sizeof b->trouble, "the page says: %.300s",
                       why != NULL ? why : "something went wrong");
        json_decref(value);
        value = NULL;
    } else if (result != NULL && value == NULL) {
        value = json_null();
    }
    json_decref(result);
    return value;
}

/* Waits until the page has loaded: its scripts do not exist before, and evaluation in a page that
 * is being replaced fails and is repeated. */
static bool wait_loaded(browser* b)
{
    const double until = cli_clock() + ANSWER_SECONDS;
    bool loaded = false;
    while (!loaded && cli_clock() < until) {
        json_t* answer = browser_evaluate(
            b, "location.protocol === 'file:' && document.readyState === 'complete'");
        loaded = json_is_true(answer);
        json_decref(answer);
        if (b->stop() || (answer == NULL && strncmp(b->trouble, "chromium refuses", 16) != 0)) {
            return fail(b, "interrupted");
        }
        b->trouble[0] = '\0';
        if (!loaded) {
            const struct timespec pause = {.tv_nsec = 20000000};
            (void)nanosleep(&pause, NULL);
        }
    }
    return loaded ? true : fail(b, "chromium does not load the page");
}

bool browser_open(browser* b, const char* url)
{
    json_t* result = call(b, "Page.navigate", json_pack("{s:s}", "url", url));
    const char* error = json_string_value(json_object_get(result, "errorText"));
    if (error != NULL) {
        (void)snprintf(b->trouble, sizeof b->trouble, "chromium cannot open the page: %.200s",
                       error);
    }
    json_decref(result);
    return result != NULL && b->trouble[0] == '\0' && wait_loaded(b);
}

static int digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

static void decode_base64(const char* text, page_bytes* out)
{
    unsigned held = 0;
    int bits = 0;
    unsigned char* at = page_bytes_extend(out, strlen(text) / 4 * 3 + 3);
    const unsigned char* begin = at;
    for (; at != NULL && digit(*text) >= 0; ++text) {
        held = (held << 6 | (unsigned)digit(*text)) & 0xffffffu;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            *at++ = (unsigned char)(held >> bits);
        }
    }
    if (at != NULL) {
        out->size = (size_t)(begin - out->data) + (size_t)(at - begin);
    }
}

bool browser_picture(browser* b, page_bytes* png)
{
    json_t* result = call(b, "Page.captureScreenshot",
                          json_pack("{s:s, s:b}", "format", "png", "optimizeForSpeed", 1));
    const char* data = json_string_value(json_object_get(result, "data"));
    png->size = 0;
    if (data != NULL) {
        decode_base64(data, png);
    }
    json_decref(result);
    return png->size > 8 && !png->failed ? true : fail(b, "chromium gives no picture");
}

void browser_end(browser* b)
{
    if (b->child.pid > 0 && b->session != NULL && !b->stop()) {
        free(b->session);
        b->session = NULL; /* the next one is for the browser itself */
        b->trouble[0] = '\0';
        static const char close[] = "{\"id\":1000000,\"method\":\"Browser.close\"}";
        if (child_write(&b->child, close, sizeof close)) {
            (void)child_wait_for(&b->child, 2.0);
        }
    }
    child_kill(&b->child);
    if (b->scratch[0] != '\0') {
        folder_remove(b->scratch);
    }
    page_bytes_free(&b->in);
    free(b->session);
    b->session = NULL;
}
