/* cli/render.c - `perp render`: pictures and films of a recording, made from its replay page. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "render_browser.h"

#define FRAMES_MAX 100000

typedef struct render {
    const cli_args* args;
    const char* out;
    bool film, gif;
    int width, height;
    double fps, speed;
    double time; /* of a picture; NaN: the end */
    char* chromium;
    char* ffmpeg;
    char folder[512];
    double begin, end;
    char* part; /* where a film or picture is written first */
    browser browser;
    child encoder;
    page_bytes png;
} render;

static volatile sig_atomic_t stop_asked;

static void ask_stop(int signal_number)
{
    (void)signal_number;
    stop_asked = 1;
}

static bool is_stop_asked(void)
{
    return stop_asked != 0;
}

/* ---- options ------------------------------------------------------------------------------------*/

static int read_positive(const cli_args* args, const char* name, double most, double* value)
{
    const char* text = cli_value(args, name);
    if (text == NULL) {
        return CLI_DONE;
    }
    char* end;
    *value = strtod(text, &end);
    if (end == text || *end != '\0' || !(*value > 0.0 && *value <= most)) {
        return cli_fail(args->json, CLI_BAD_INPUT, "%s: must be > 0 and at most %g, got '%s'", name,
                        most, text);
    }
    return CLI_DONE;
}

static int read_time(render* r)
{
    const char* text = cli_value(r->args, "--time");
    char* end;
    r->time = NAN;
    if (text == NULL) {
        return CLI_DONE;
    }
    if (r->film) {
        return cli_fail(r->args->json, CLI_BAD_INPUT,
                        "--time: is for a picture (.png), not a film");
    }
    r->time = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(r->time)) {
        return cli_fail(r->args->json, CLI_BAD_INPUT, "--time: must be a number, got '%s'", text);
    }
    return CLI_DONE;
}

static int read_options(render* r)
{
    r->out = cli_value(r->args, "--out");
    if (r->out == NULL) {
        return cli_fail(r->args->json, CLI_BAD_INPUT,
                        "render: say where to: -o film.mp4, film.gif or frame.png");
    }
    const char* dot = strrchr(r->out, '.');
    r->gif = dot != NULL && strcasecmp(dot, ".gif") == 0;
    r->film = r->gif || (dot != NULL && strcasecmp(dot, ".mp4") == 0);
    if (!r->film && (dot == NULL || strcasecmp(dot, ".png") != 0)) {
        return cli_fail(r->args->json, CLI_BAD_INPUT,
                        "--out: the name must end in .mp4, .gif or .png, got '%s'", r->out);
    }
    r->width = r->gif ? 640 : 1280;
    r->height = r->gif ? 360 : 720;
    r->fps = r->gif ? 20.0 : 30.0;
    r->speed = 1.0;
    int exit_status = cli_read_size(r->args, 16, 8192, &r->width, &r->height);
    if (exit_status == CLI_DONE && r->film && !r->gif && (r->width | r->height) % 2 != 0) {
        exit_status =
            cli_fail(r->args->json, CLI_BAD_INPUT,
                     "--size: both numbers must be even for .mp4, got %dx%d", r->width, r->height);
    }
    if (exit_status == CLI_DONE) {
        exit_status = read_positive(r->args, "--fps", r->gif ? 50.0 : 240.0, &r->fps);
    }
    if (exit_status == CLI_DONE) {
        exit_status = read_positive(r->args, "--speed", 1e9, &r->speed);
    }
    return exit_status == CLI_DONE ? read_time(r) : exit_status;
}

static int find_programs(render* r)
{
    static const char* const names[] = {"ffmpeg", NULL};
    r->chromium = browser_find();
    if (r->chromium == NULL) {
        return cli_fail(r->args->json, CLI_BAD_INPUT,
                        "perp render draws with chromium, which is not installed (Debian: "
                        "chromium); 'perp replay' makes a page for any browser");
    }
    r->ffmpeg = r->film ? child_find(names) : NULL;
    if (r->film && r->ffmpeg == NULL) {
        return cli_fail(r->args->json, CLI_BAD_INPUT,
                        "a film needs ffmpeg, which is not installed (Debian: ffmpeg); a picture "
                        "(-o frame.png) does not");
    }
    return CLI_DONE;
}

/* ---- the page -----------------------------------------------------------------------------------*/

static int write_page(render* r)
{
    page_run runs[2] = {{0}};
    page_file out;
    char path[600];
    long long size;
    (void)snprintf(path, sizeof path, "%s/page.html", r->folder);
    perp_context* context = cli_context(r->args->json);
    int exit_status = context != NULL ? CLI_DONE : CLI_FAILED;
    for (int i = 0; exit_status == CLI_DONE && i < r->args->word_count; ++i) {
        perp_status status;
        const page_status packed = page_pack(context, r->args->word[i], &runs[i], &status);
        if (packed == PAGE_FAILED) {
            cli_leave_quickly();
            exit_status =
                cli_fail(r->args->json, cli_exit_of(status), "%s", perp_context_error(context));
        } else if (packed != PAGE_OK) {
            exit_status = cli_fail(r->args->json, CLI_FAILED, "out of memory");
        } else {
            r->begin = i == 0 ? runs[i].begin : fmin(r->begin, runs[i].begin);
            r->end = i == 0 ? runs[i].end : fmax(r->end, runs[i].end);
        }
    }
    if (exit_status == CLI_DONE) {
        exit_status = page_file_begin(&out, path, false, r->args->json);
    }
    if (exit_status == CLI_DONE) {
        exit_status = page_file_write(&out, runs, r->args->word_count, &size);
    }
    page_run_free(&runs[0]);
    page_run_free(&runs[1]);
    perp_context_destroy(context);
    const double slack = 1e-9 * fabs(r->time);
    if (exit_status == CLI_DONE && isfinite(r->time) &&
        !(r->time + slack >= r->begin && r->time - slack <= r->end)) {
        exit_status = cli_fail(r->args->json, CLI_BAD_INPUT,
                               "--time: %s has no t = %.12g: it goes from %.12g to %.12g",
                               r->args->word[0], r->time, r->begin, r->end);
    }
    return exit_status;
}

static void put_escaped(page_bytes* url, const char* text, const char* plain)
{
    for (const char* c = text; *c != '\0'; ++c) {
        const unsigned char u = (unsigned char)*c;
        if ((u < 0x80 && isalnum(u)) || strchr(plain, *c) != NULL) {
            page_bytes_add(url, c, 1);
        } else {
            page_bytes_printf(url, "%%%02X", (unsigned)u);
        }
    }
}

static char* make_url(const render* r)
{
    static const char* const passed[][2] = {
        {"--theme", "theme"}, {"--view", "view"}, {"--follow", "follow"}, {"--mode", "mode"}};
    page_bytes url = {0};
    page_bytes_text(&url, "file://");
    put_escaped(&url, r->folder, "/-_.");
    page_bytes_text(&url, "/page.html#ui=none");
    page_bytes_printf(&url, "&time=%.17g", isfinite(r->time) ? r->time : r->end);
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; ++i) {
        const char* value = cli_value(r->args, passed[i][0]);
        if (value != NULL) {
            page_bytes_printf(&url, "&%s=", passed[i][1]);
            put_escaped(&url, value, "-_.");
        }
    }
    page_bytes_add(&url, "", 1);
    if (url.failed) {
        page_bytes_free(&url);
    }
    return (char*)url.data;
}

static int fail_with_trouble(const render* r)
{
    return cli_fail(r->args->json, CLI_FAILED, "%s", r->browser.trouble);
}

/* Overlays by name, as the page knows them. */
static int set_overlays(render* r)
{
    json_t* known = browser_evaluate(&r->browser, "perpPage.info().overlays.map((o) => o.name)");
    if (known == NULL) {
        return fail_with_trouble(r);
    }
    const char* names[64];
    size_t count = 0;
    for (; count < json_array_size(known) && count < 63; ++count) {
        names[count] = json_string_value(json_array_get(known, count));
    }
    names[count] = NULL;
    int exit_status = CLI_DONE;
    for (int i = 0; exit_status == CLI_DONE && i < r->args->given_count; ++i) {
        const cli_given* given = &r->args->given[i];
        if (strcmp(given->option->name, "--overlay") != 0) {
            continue;
        }
        bool found = false;
        for (size_t k = 0; k < count; ++k) {
            found = found || strcmp(names[k], given->value) == 0;
        }
        if (!found) {
            const char* nearest = cli_nearest(given->value, names);
            exit_status = nearest != NULL
                              ? cli_fail(r->args->json, CLI_BAD_INPUT,
                                         "--overlay: no overlay '%.60s': did you mean '%s'?",
                                         given->value, nearest)
                              : cli_fail(r->args->json, CLI_BAD_INPUT,
                                         "--overlay: no overlay '%.60s'; see 'perp help render'",
                                         given->value);
            break;
        }
        char call[128];
        (void)snprintf(call, sizeof call, "perpPage.overlay('%.60s', true)", given->value);
        json_t* on = browser_evaluate(&r->browser, call);
        if (on == NULL) {
            exit_status = fail_with_trouble(r);
        } else if (!json_is_true(on)) {
            cli_complain("warning: --overlay %s: the recording holds nothing to show",
                         given->value);
        }
        json_decref(on);
    }
    json_decref(known);
    return exit_status;
}

static int open_page(render* r)
{
    char* url = make_url(r);
    if (url == NULL) {
        return cli_fail(r->args->json, CLI_FAILED, "out of memory");
    }
    bool good =
        browser_start(&r->browser, r->chromium, r->folder, r->width, r->height, is_stop_asked) &&
        browser_open(&r->browser, url);
    free(url);
    if (good) {
        json_t* ready = browser_evaluate(&r->browser, "perpPage.ready.then(() => true)");
        good = ready != NULL;
        json_decref(ready);
    }
    return good ? set_overlays(r) : fail_with_trouble(r);
}

/* ---- pictures -----------------------------------------------------------------------------------*/

static bool take_picture(render* r, double time)
{
    char call[100];
    (void)snprintf(call, sizeof call, "perpPage.seek(%.17g)", time);
    json_t* done = browser_evaluate(&r->browser, call);
    json_decref(done);
    return done != NULL && browser_picture(&r->browser, &r->png);
}

static int make_picture(render* r)
{
    if (!take_picture(r, isfinite(r->time) ? r->time : r->end)) {
        return fail_with_trouble(r);
    }
    FILE* file = fopen(r->part, "wb");
    bool good = file != NULL && fwrite(r->png.data, 1, r->png.size, file) == r->png.size;
    good = file != NULL && fclose(file) == 0 && good;
    return good ? CLI_DONE
                : cli_fail(r->args->json, file != NULL ? CLI_FAILED : CLI_BAD_INPUT,
                           "%s: cannot write: %s", r->out, strerror(errno));
}

/* ---- films --------------------------------------------------------------------------------------*/

static bool start_encoder(render* r, const char* log)
{
    char rate[32], target[4200];
    (void)snprintf(rate, sizeof rate, "%.9g", r->fps);
    (void)snprintf(target, sizeof target, "file:%.4100s", r->part);
    /* a palette for each frame: one for all would hold the whole film in memory */
    const char* const gif[] = {
        "-filter_complex", "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1",
        "-f", "gif"};
    const char* const mp4[] = {"-c:v", "libx264",   "-pix_fmt",   "yuv420p", "-crf",
                               "18",   "-movflags", "+faststart", "-f",      "mp4"};
    const char* argv[32] = {r->ffmpeg, "-hide_banner", "-loglevel",  "error", "-y",
                            "-f",      "image2pipe",   "-framerate", rate,    "-c:v",
                            "png",     "-i",           "pipe:0",     "-an"};
    size_t n = 14;
    const size_t more = r->gif ? sizeof gif / sizeof gif[0] : sizeof mp4 / sizeof mp4[0];
    for (size_t i = 0; i < more; ++i) {
        argv[n++] = r->gif ? gif[i] : mp4[i];
    }
    argv[n++] = target;
    argv[n] = NULL;
    const child_def def = {.argv = argv, .log = log, .to_fd = 0, .from_fd = -1, .own_group = true};
    return child_start(&def, &r->encoder);
}

static void show_progress(const render* r, int64_t i, int64_t count)
{
    if (!r->args->json && isatty(STDERR_FILENO)) {
        fprintf(stderr, i + 1 < count ? "\rframe %lld of %lld" : "\r\033[K", (long long)(i + 1),
                (long long)count);
    }
}

static int make_film(render* r)
{
    char log[600], words[300];
    (void)snprintf(log, sizeof log, "%s/ffmpeg.log", r->folder);
    const double exact = (r->end - r->begin) / r->speed * r->fps;
    if (!(exact < FRAMES_MAX)) {
        return cli_fail(r->args->json, CLI_BAD_INPUT,
                        "the film would have %.3g frames: give a higher --speed or a lower --fps",
                        exact);
    }
    const int64_t count = (int64_t)floor(exact + 1e-9) + 1;
    if (!start_encoder(r, log)) {
        return cli_fail(r->args->json, CLI_FAILED, "ffmpeg cannot be started: %s", strerror(errno));
    }
    bool drawn = true, taken = true;
    for (int64_t i = 0; drawn && taken && i < count; ++i) {
        const double t = r->begin + (double)i * r->speed / r->fps;
        drawn = take_picture(r, t < r->end ? t : r->end);
        taken = drawn && child_write(&r->encoder, r->png.data, r->png.size);
        show_progress(r, i, count);
    }
    if (!drawn) {
        child_kill(&r->encoder);
        return fail_with_trouble(r);
    }
    if (child_wait(&r->encoder) != 0 || !taken) {
        child_last_words(log, words, sizeof words);
        return cli_fail(r->args->json, CLI_FAILED, "ffmpeg could not write %s: %s", r->out, words);
    }
    return CLI_DONE;
}

/* ---- all together -------------------------------------------------------------------------------*/

static int write_output(render* r)
{
    if (rename(r->part, r->out) != 0) {
        return cli_fail(r->args->json, CLI_FAILED, "%s: cannot write: %s", r->out, strerror(errno));
    }
    if (r->args->json) {
        json_t* o = json_object();
        json_object_set_new(o, "status", json_string("ok"));
        json_object_set_new(o, r->film ? "film" : "picture", cli_text(r->out));
        cli_print_json(o);
    } else {
        printf(r->film ? "film: " : "picture: ");
        cli_put(r->out);
        printf("\n");
    }
    return CLI_DONE;
}

/* Test the output path before the work. */
static int claim_place(render* r)
{
    const size_t size = strlen(r->out) + 32;
    r->part = malloc(size);
    if (r->part == NULL) {
        return cli_fail(r->args->json, CLI_FAILED, "out of memory");
    }
    (void)snprintf(r->part, size, "%s.part%ld", r->out, (long)getpid());
    FILE* file = fopen(r->part, "wb");
    if (file == NULL || fclose(file) != 0) {
        return cli_fail(r->args->json, CLI_BAD_INPUT, "%s: cannot write: %s", r->out,
                        strerror(errno));
    }
    return CLI_DONE;
}

static int draw_all(render* r)
{
    if (!folder_make(r->folder, sizeof r->folder)) {
        r->folder[0] = '\0';
        return cli_fail(r->args->json, CLI_FAILED, "no place for temporary files: %s",
                        strerror(errno));
    }
    int exit_status = write_page(r);
    if (exit_status == CLI_DONE) {
        exit_status = claim_place(r);
    }
    if (exit_status == CLI_DONE) {
        exit_status = open_page(r);
    }
    if (exit_status == CLI_DONE) {
        exit_status = r->film ? make_film(r) : make_picture(r);
    }
    return exit_status == CLI_DONE ? write_output(r) : exit_status;
}

static int verb_render(const cli_args* args)
{
    render r = {.args = args,
                .browser = {.child = {.pid = -1, .to = -1, .from = -1}},
                .encoder = {.pid = -1, .to = -1, .from = -1}};
    int exit_status = read_options(&r);
    if (exit_status == CLI_DONE && !page_available()) {
        exit_status = page_complain_missing(args->json);
    }
    if (exit_status == CLI_DONE) {
        exit_status = find_programs(&r);
    }
    if (exit_status == CLI_DONE) {
        struct sigaction action = {.sa_handler = ask_stop, .sa_flags = (int)SA_RESETHAND};
        (void)sigemptyset(&action.sa_mask);
        (void)sigaction(SIGINT, &action, NULL);
        (void)sigaction(SIGTERM, &action, NULL);
        (void)signal(SIGPIPE, SIG_IGN); /* if the program ended early, report its message */
        exit_status = draw_all(&r);
        browser_end(&r.browser);
        if (r.part != NULL) {
            (void)unlink(r.part);
        }
        if (r.folder[0] != '\0') {
            folder_remove(r.folder);
        }
    }
    page_bytes_free(&r.png);
    free(r.part);
    free(r.chromium);
    free(r.ffmpeg);
    return exit_status;
}

static const cli_option options[] = {
    {"--out", "FILE", "film.mp4, film.gif or frame.png (-o)"},
    {"--time", "T", "of the picture; without it, the end"},
    {"--size", "WxH", "pixels; without it 1280x720, of a gif 640x360"},
    {"--fps", "N", "pictures a second of a film; without it 30, of a gif 20"},
    {"--speed", "X", "simulated seconds in a second of the film; without it 1"},
    {"--overlay", "NAME", "show it too (may be given several times)"},
    {"--view", "NAME", "from where: iso, front, back, left, right, top, ..."},
    {"--follow", "BODY", "the camera goes with this body"},
    {"--theme", "NAME", "light or dark"},
    {"--mode", "NAME", "of two recordings: side or ghost"},
    {"--json", NULL, "print the result as one JSON object"},
    {0},
};

const cli_verb cli_verb_render = {
    .name = "render",
    .usage = "R.h5 [S.h5] -o film.mp4|film.gif|frame.png [options]",
    .summary = "a film or a picture of a recording",
    .text = "Draws the replay page in a chromium without a window; films are encoded by ffmpeg. "
            "Overlays:\ncontacts, forces, cones, joints, boxes, paths, tripods, velocities, names.",
    .words_min = 1,
    .words_max = 2,
    .option = options,
    .run = verb_render,
};
