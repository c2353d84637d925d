/* cli/watch_server.c - one thread, poll, and at most CLIENTS_MAX connections.
 *
 * What the two threads share is behind `lock`, or atomic. Kept frames are never changed once they
 * are in the list, so that the server formats them without the lock; the simulation holds it only
 * to put a pointer somewhere. Nothing here calls into the simulation or HDF5.
 */
#include "watch_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "page.h"
#include "watch_http.h"

#define CLIENTS_MAX 32
#define REQUEST_SECONDS 10.0 /* to send a whole request, or to take an answer */
#define STUCK_SECONDS 60.0   /* a viewer that receives nothing for so long is disconnected */
#define FRAME_SECONDS 0.033
#define FULL ((size_t)1 << 18) /* bytes on their way to a viewer: no more frames for now */

typedef struct client {
    int fd;
    bool events; /* receives frames; else a request or its answer is on the way */
    bool answered;
    bool told_end;
    double since, moved; /* wall clock */
    double last_frame;
    int64_t step_sent; /* -1: none */
    char in[HTTP_HEAD_MAX + HTTP_BODY_MAX];
    size_t in_size;
    page_bytes out;
    size_t out_sent;
} client;

struct watch_server {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    int listener, port;
    bool anywhere, planar, joints;
    size_t bodies;
    double step, gravity;
    char* header; /* JSON */

    /* under the lock */
    watch_frame** kept;
    size_t kept_count, kept_capacity;
    watch_frame* shown;
    char* end;
    int64_t steps_granted;

    atomic_bool hungry, paused, stopped, quit;

    /* the server's own */
    client* client;
    int client_count;
    page_keys features;
};

/* ---- the simulation's side ------------------------------------------------------------------------*/

void watch_server_keep(watch_server* s, watch_frame* frame)
{
    atomic_store(&s->hungry, false);
    (void)pthread_mutex_lock(&s->lock);
    if (s->kept_count == s->kept_capacity) {
        const size_t wide = s->kept_capacity == 0 ? 1024 : 2 * s->kept_capacity;
        watch_frame** kept = realloc(s->kept, wide * sizeof(watch_frame*));
        if (kept != NULL) {
            s->kept = kept;
            s->kept_capacity = wide;
        }
    }
    if (s->kept_count < s->kept_capacity) {
        s->kept[s->kept_count++] = frame;
        frame = NULL;
    }
    (void)pthread_mutex_unlock(&s->lock);
    free(frame);
}

void watch_server_show(watch_server* s, watch_frame* frame)
{
    atomic_store(&s->hungry, false);
    (void)pthread_mutex_lock(&s->lock);
    watch_frame* old = s->shown;
    s->shown = frame;
    (void)pthread_mutex_unlock(&s->lock);
    free(old);
}

void watch_server_end(watch_server* s, char* text)
{
    (void)pthread_mutex_lock(&s->lock);
    free(s->end);
    s->end = text;
    (void)pthread_mutex_unlock(&s->lock);
}

bool watch_server_hungry(const watch_server* s)
{
    return atomic_load_explicit(&s->hungry, memory_order_relaxed);
}

bool watch_server_holds(const watch_server* s)
{
    return atomic_load_explicit(&s->paused, memory_order_relaxed);
}

bool watch_server_stopped(const watch_server* s)
{
    return atomic_load_explicit(&s->stopped, memory_order_relaxed);
}

bool watch_server_wait(watch_server* s, bool (*stop)(void* user))
{
    (void)pthread_mutex_lock(&s->lock);
    while (atomic_load(&s->paused) && !atomic_load(&s->stopped) && s->steps_granted == 0 &&
           !stop(NULL)) {
        /* a signal does not wake the condition: poll */
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 50000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&s->change, &s->lock, &until);
    }
    if (s->steps_granted > 0) {
        s->steps_granted -= 1;
    }
    (void)pthread_mutex_unlock(&s->lock);
    return !atomic_load(&s->stopped) && !stop(NULL);
}

/* ---- frames as text -------------------------------------------------------------------------------*/

static void put_number(page_bytes* out, double x)
{
    if (isfinite(x)) {
        page_bytes_printf(out, "%.9g", x);
    } else {
        page_bytes_text(out, "null");
    }
}

static void put_numbers(page_bytes* out, const char* before, const double* x, size_t count)
{
    page_bytes_text(out, before);
    page_bytes_text(out, "[");
    for (size_t i = 0; i < count; ++i) {
        if (i > 0) {
            page_bytes_text(out, ",");
        }
        put_number(out, x[i]);
    }
    page_bytes_text(out, "]");
}

static void put_named(page_bytes* out, const char* name, double x)
{
    page_bytes_text(out, name);
    put_number(out, x);
}

static void put_contact(watch_server* s, page_bytes* out, const watch_frame* f,
                        const perp_contact* c)
{
    const page_touch touch = page_contact_motion(s->planar, s->step, s->gravity, f->q, f->v, c);
    page_bytes_printf(out, "{\"body\":[%d,%d]", (int)c->body_a, (int)c->body_b);
    put_numbers(out, ",\"point\":", c->point, 3);
    put_numbers(out, ",\"normal\":", c->normal, 3);
    put_numbers(out, ",\"tangent\":", c->tangent, 3);
    put_named(out, ",\"gap\":", c->gap);
    put_named(out, ",\"mu\":", c->mu);
    page_bytes_printf(out, ",\"cone\":%d,\"directions\":%d,\"state\":%d,\"key\":%d", (int)c->cone,
                      (int)c->directions, (int)touch.state,
                      (int)page_keys_name(&s->features, c->key));
    put_numbers(out, ",\"impulse\":", c->impulse, 4);
    put_numbers(out, ",\"slip\":", touch.slip, 2);
    page_bytes_text(out, "}");
}

static void put_frame(watch_server* s, page_bytes* out, const watch_frame* f)
{
    const size_t nq = s->bodies * (s->planar ? 3 : 7), nv = s->bodies * (s->planar ? 3 : 6);
    page_bytes_printf(out, "event: frame\ndata: {\"index\":%lld", (long long)f->step);
    page_bytes_printf(out, ",\"time\":%.17g", f->time);
    put_numbers(out, ",\"q\":", f->q, nq);
    put_numbers(out, ",\"v\":", f->v, nv);
    put_named(out, ",\"energy\":{\"kinetic\":", f->energy.kinetic);
    put_named(out, ",\"potential\":", f->energy.potential);
    put_named(out, ",\"total\":", f->energy.total);
    page_bytes_text(out, "},\"ledger\":{");
    for (int32_t i = 0; i < PERP_LEDGER_COUNT; ++i) {
        page_bytes_printf(out, "%s\"%s\"", i > 0 ? "," : "", perp_ledger_name(i));
        put_named(out, ":", perp_ledger_entry(&f->ledger, i));
    }
    put_numbers(out, "},\"momentum_error\":", f->info.momentum_error, 2);
    put_numbers(out, ",\"momentum\":", f->momentum, s->planar ? 2 : 3);
    if (s->planar) {
        put_named(out, ",\"angular\":", f->angular[2]);
    } else {
        put_numbers(out, ",\"angular\":", f->angular, 3);
    }
    put_named(out, ",\"certificate\":{\"dynamics\":", f->info.certificate.dynamics);
    put_named(out, ",\"normal\":", f->info.certificate.normal);
    put_named(out, ",\"friction\":", f->info.certificate.friction);
    put_named(out, ",\"joints\":", f->info.certificate.joints);
    page_bytes_printf(out, "},\"iterations\":%d", (int)f->info.report.iterations);
    put_named(out, ",\"residual\":", f->info.report.residual);
    put_named(out, ",\"penetration\":", f->info.penetration);
    if (s->joints) {
        put_named(out, ",\"joint_error\":", f->info.joint_error[0]);
    }
    page_bytes_text(out, ",\"contacts\":[");
    for (int32_t i = 0; i < f->contact_count; ++i) {
        page_bytes_text(out, i > 0 ? "," : "");
        put_contact(s, out, f, &f->contacts[i]);
    }
    page_bytes_text(out, "]}\n\n");
}

/* ---- connections ----------------------------------------------------------------------------------*/

static void drop_client(watch_server* s, int i)
{
    (void)close(s->client[i].fd);
    page_bytes_free(&s->client[i].out);
    s->client[i] = s->client[--s->client_count];
}

static void put_head(client* c, int status, const char* type, long long length)
{
    page_bytes_printf(&c->out, "HTTP/1.1 %d %s\r\n", status, http_reason(status));
    page_bytes_text(&c->out, "Connection: close\r\n"
                             "Cache-Control: no-store\r\n"
                             "X-Content-Type-Options: nosniff\r\n"
                             "X-Frame-Options: DENY\r\n"
                             "Referrer-Policy: no-referrer\r\n"
                             "Cross-Origin-Resource-Policy: same-origin\r\n");
    if (type != NULL) {
        page_bytes_printf(&c->out, "Content-Type: %s\r\n", type);
    }
    if (length >= 0) {
        page_bytes_printf(&c->out, "Content-Length: %lld\r\n", length);
    }
    page_bytes_text(&c->out, "\r\n");
}

static void answer_status(client* c, int status)
{
    char text[80];
    const int length =
        status == 204 ? 0 : snprintf(text, sizeof text, "%d %s\n", status, http_reason(status));
    put_head(c, status, length > 0 ? "text/plain" : NULL, length);
    page_bytes_add(&c->out, text, (size_t)length);
}

static void answer_page(const watch_server* s, client* c, bool head_only)
{
    static const char before[] = "<script type=\"application/json\" class=\"perp-run\">";
    static const char after[] = "</script>\n";
    const char *head, *tail;
    size_t head_size, tail_size;
    page_template(&head, &head_size, &tail, &tail_size);
    const size_t header = strlen(s->header);
    const size_t size = head_size + strlen(before) + header + strlen(after) + tail_size;
    put_head(c, 200, "text/html; charset=utf-8", (long long)size);
    if (!head_only) {
        page_bytes_add(&c->out, head, head_size);
        page_bytes_text(&c->out, before);
        page_bytes_add(&c->out, s->header, header);
        page_bytes_text(&c->out, after);
        page_bytes_add(&c->out, tail, tail_size);
    }
}

static void begin_events(const watch_server* s, client* c)
{
    put_head(c, 200, "text/event-stream", -1);
    page_bytes_text(&c->out, "retry: 1000\n\nevent: header\ndata: ");
    page_bytes_text(&c->out, s->header);
    page_bytes_printf(&c->out, "\n\nevent: state\ndata: {\"paused\":%s}\n\n",
                      atomic_load(&s->paused) ? "true" : "false");
    c->events = true;
    c->step_sent = -1;
}

/* Tells every page, so that two of them show the same buttons. */
static void tell_state(watch_server* s)
{
    for (int i = 0; i < s->client_count; ++i) {
        if (s->client[i].events) {
            page_bytes_printf(&s->client[i].out, "event: state\ndata: {\"paused\":%s}\n\n",
                              atomic_load(&s->paused) ? "true" : "false");
        }
    }
}

static int apply_control(watch_server* s, const char* word)
{
    (void)pthread_mutex_lock(&s->lock);
    int status = 204;
    if (strcmp(word, "pause") == 0) {
        atomic_store(&s->paused, true);
        s->steps_granted = 0;
    } else if (strcmp(word, "play") == 0) {
        atomic_store(&s->paused, false);
    } else if (strcmp(word, "step") == 0) { /* of a running simulation: the last one for now */
        s->steps_granted += atomic_load(&s->paused) ? 1 : 0;
        atomic_store(&s->paused, true);
    } else if (strcmp(word, "stop") == 0) {
        atomic_store(&s->stopped, true);
    } else {
        status = 400;
    }
    (void)pthread_cond_broadcast(&s->change);
    (void)pthread_mutex_unlock(&s->lock);
    if (status == 204) {
        tell_state(s);
    }
    return status;
}

static void answer_request(watch_server* s, client* c)
{
    const http_request request = http_parse(c->in, c->in_size, s->port, s->anywhere);
    switch (request.what) {
    case HTTP_MORE: return;
    case HTTP_PAGE: answer_page(s, c, request.head); break;
    case HTTP_EVENTS: begin_events(s, c); break;
    case HTTP_CONTROL: answer_status(c, apply_control(s, request.body)); break;
    case HTTP_NOTHING: answer_status(c, 204); break;
    case HTTP_BAD: answer_status(c, request.status); break;
    }
    c->answered = true;
}

static void take_connection(watch_server* s, double now)
{
    const int fd = accept(s->listener, NULL, NULL);
    if (fd < 0) {
        return;
    }
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (s->client_count == CLIENTS_MAX) {
        (void)close(fd);
        return;
    }
    client* c = &s->client[s->client_count++];
    *c = (client){.fd = fd, .since = now, .moved = now, .step_sent = -1};
}

/* False: the connection is over. */
static bool receive(watch_server* s, client* c)
{
    char rest[512];
    const bool reading = !c->answered;
    char* to = reading ? c->in + c->in_size : rest;
    const size_t room = reading ? sizeof c->in - c->in_size : sizeof rest;
    const ssize_t got = recv(c->fd, to, room, 0);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    if (got == 0) {
        return c->answered && !c->events && c->out_sent < c->out.size; /* it only stops speaking */
    }
    if (reading) {
        c->in_size += (size_t)got;
        answer_request(s, c);
        if (!c->answered && c->in_size == sizeof c->in) {
            answer_status(c, 431);
            c->answered = true;
        }
    }
    return true;
}

static bool transmit(client* c, double now)
{
    while (c->out_sent < c->out.size) {
        const ssize_t sent =
            send(c->fd, c->out.data + c->out_sent, c->out.size - c->out_sent, MSG_NOSIGNAL);
        if (sent < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        c->out_sent += (size_t)sent;
        c->moved = now;
        if (c->out_sent > FULL && c->out_sent < c->out.size) { /* it may never be empty */
            c->out.size -= c->out_sent;
            memmove(c->out.data, c->out.data + c->out_sent, c->out.size);
            c->out_sent = 0;
        }
    }
    c->out.size = c->out_sent = 0;
    if (c->answered && !c->events) {
        (void)shutdown(c->fd, SHUT_WR);
        return false;
    }
    return true;
}

/* The next kept frame after what the viewer has; else the present one if it is newer. */
static watch_frame* next_frame(watch_server* s, int64_t after, watch_frame* present)
{
    watch_frame* found = NULL;
    (void)pthread_mutex_lock(&s->lock);
    size_t low = 0, high = s->kept_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->kept[middle]->step <= after) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < s->kept_count) {
        found = s->kept[low];
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (found == NULL && present != NULL && present->step > after) {
        found = present;
    }
    return found;
}

/* Fills the viewer's buffer; true: it has everything and would take more. */
static bool fill_viewer_buffer(watch_server* s, client* c, watch_frame* present, const char* end,
                               double now)
{
    while (c->out.size - c->out_sent < FULL) {
        const watch_frame* frame = next_frame(s, c->step_sent, present);
        if (frame == NULL) {
            if (end != NULL && !c->told_end) {
                page_bytes_text(&c->out, "event: end\ndata: ");
                page_bytes_text(&c->out, end);
                page_bytes_text(&c->out, "\n\n");
                c->told_end = true;
            }
            return true;
        }
        put_frame(s, &c->out, frame);
        c->step_sent = frame->step;
        c->last_frame = now;
    }
    return false;
}

static void feed_all(watch_server* s, watch_frame** present, double now)
{
    (void)pthread_mutex_lock(&s->lock);
    if (s->shown != NULL) {
        free(*present);
        *present = s->shown;
        s->shown = NULL;
    }
    const char* end = s->end; /* set once, freed after this thread */
    (void)pthread_mutex_unlock(&s->lock);
    bool hungry = false;
    for (int i = 0; i < s->client_count; ++i) {
        client* c = &s->client[i];
        if (c->events && fill_viewer_buffer(s, c, *present, end, now)) {
            hungry = hungry || now - c->last_frame >= FRAME_SECONDS;
        }
    }
    if (hungry) {
        atomic_store(&s->hungry, true);
    }
}

static bool timed_out(const client* c, double now)
{
    if (!c->answered) {
        return now - c->since > REQUEST_SECONDS;
    }
    return c->out_sent < c->out.size &&
           now - c->moved > (c->events ? STUCK_SECONDS : REQUEST_SECONDS);
}

static void serve_once(watch_server* s, watch_frame** present)
{
    struct pollfd wait[CLIENTS_MAX + 1];
    wait[0] = (struct pollfd){.fd = s->listener, .events = POLLIN};
    const int count = s->client_count;
    for (int i = 0; i < count; ++i) {
        const client* c = &s->client[i];
        const short out = c->out_sent < c->out.size ? POLLOUT : 0;
        wait[i + 1] = (struct pollfd){.fd = c->fd, .events = (short)(POLLIN | out)};
    }
    (void)poll(wait, (nfds_t)count + 1, count > 0 ? 15 : 100);
    const double now = cli_clock();
    for (int i = count - 1; i >= 0; --i) { /* the last replaces a removed one */
        client* c = &s->client[i];
        bool alive = (wait[i + 1].revents & (POLLERR | POLLNVAL)) == 0;
        if (alive && (wait[i + 1].revents & (POLLIN | POLLHUP)) != 0) {
            alive = receive(s, c);
        }
        if (alive && c->out.size > c->out_sent) {
            alive = transmit(c, now);
        }
        if (!alive || c->out.failed || timed_out(c, now)) {
            drop_client(s, i);
        }
    }
    if ((wait[0].revents & POLLIN) != 0) {
        take_connection(s, now);
    }
    feed_all(s, present, now);
}

static bool all_told(const watch_server* s)
{
    for (int i = 0; i < s->client_count; ++i) {
        const client* c = &s->client[i];
        if (c->out_sent < c->out.size || (c->events && s->end != NULL && !c->told_end)) {
            return false;
        }
    }
    return true;
}

static void* serve(void* user)
{
    watch_server* s = user;
    watch_frame* present = NULL;
    while (!atomic_load(&s->quit)) {
        serve_once(s, &present);
    }
    const double begin = cli_clock();
    while (!all_told(s) && cli_clock() - begin < 1.0) {
        serve_once(s, &present);
    }
    while (s->client_count > 0) {
        drop_client(s, s->client_count - 1);
    }
    free(present);
    return NULL;
}

/* ---- beginning and end ------------------------------------------------------------------------------*/

/* A header for pages: as of a recording, but nothing is known of the frames. */
static char* make_header(const perp_scene* scene, const perp_sim* sim, double* gravity)
{
    const perp_model* model = perp_scene_model(scene);
    const int dimension = perp_model_dimension(model);
    json_t* o = page_header(scene, NULL);
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t b = 0; b < perp_model_body_count(model); ++b) {
        const perp_body_state state = perp_sim_body(sim, b);
        const double reach = page_reach(model, b);
        const bool counts = perp_model_body_info(model, b).type != PERP_BODY_STATIC;
        for (int i = 0; counts && i < dimension; ++i) {
            low[i] = fmin(low[i], state.position[i] - reach);
            high[i] = fmax(high[i], state.position[i] + reach);
        }
    }
    double size = 0.0;
    *gravity = 0.0;
    for (int i = 0; i < dimension; ++i) {
        size = hypot(size, 0.5 * (high[i] - low[i]));
        *gravity = hypot(
            *gravity, json_number_value(json_array_get(json_object_get(o, "gravity"), (size_t)i)));
    }
    json_object_set_new(o, "size", cli_number(isfinite(size) && size > 0.0 ? size : 1.0));
    json_object_set_new(o, "live", json_true());
    json_object_set_new(o, "columns", json_array());
    char* text = page_dump(o);
    json_decref(o);
    return text;
}

/* A socket on the address; says where on stderr. -1 after saying why. */
static int listen_on(const cli_watch_def* def, int* port)
{
    const char* name =
        def->bind == NULL || strcmp(def->bind, "localhost") == 0 ? "127.0.0.1" : def->bind;
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address;
    memset(&address, 0, sizeof address);
    socklen_t size = 0;
    const bool six = strchr(name, ':') != NULL;
    if (inet_pton(AF_INET, name, &address.four.sin_addr) == 1) {
        address.four.sin_family = AF_INET;
        address.four.sin_port = htons((uint16_t)def->port);
        size = sizeof address.four;
    } else if (inet_pton(AF_INET6, name, &address.six.sin6_addr) == 1) {
        address.six.sin6_family = AF_INET6;
        address.six.sin6_port = htons((uint16_t)def->port);
        size = sizeof address.six;
    } else {
        (void)cli_fail(def->json, CLI_BAD_INPUT,
                       "--bind: expected an address such as 127.0.0.1 or ::1, got '%s'", name);
        return -1;
    }
    if (!def->anywhere && !http_is_loopback(name)) {
        (void)cli_fail(
            def->json, CLI_BAD_INPUT,
            "--bind: %s is not on this machine alone: whoever reaches it could watch and "
            "stop the run; if that is meant, add --bind-anywhere",
            name);
        return -1;
    }
    const int fd = socket(address.any.sa_family, SOCK_STREAM, 0);
    const int yes = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(fd, &address.any, size) != 0 || listen(fd, 16) != 0 ||
        getsockname(fd, &address.any, &size) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        (void)cli_fail(def->json, CLI_BAD_INPUT, "--watch: cannot serve on %s port %d: %s", name,
                       def->port, strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
        }
        return -1;
    }
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    *port = ntohs(six ? address.six.sin6_port : address.four.sin_port);
    fprintf(stderr, "watch: http://%s%s%s:%d/\n", six ? "[" : "", name, six ? "]" : "", *port);
    (void)fflush(stderr);
    return fd;
}

static bool start_thread(watch_server* s)
{
    /* signals are for the run */
    sigset_t all, old;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    const bool started = pthread_create(&s->thread, NULL, serve, s) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return started;
}

static void free_server(watch_server* s)
{
    for (size_t i = 0; i < s->kept_count; ++i) {
        free(s->kept[i]);
    }
    free(s->kept);
    free(s->shown);
    free(s->end);
    free(s->header);
    free(s->client);
    page_keys_free(&s->features);
    if (s->listener >= 0) {
        (void)close(s->listener);
    }
    free(s);
}

int watch_server_start(const cli_watch_def* def, const perp_scene* scene, const perp_sim* sim,
                       watch_server** server)
{
    watch_server* s = calloc(1, sizeof *s);
    if (s == NULL) {
        return cli_fail(def->json, CLI_FAILED, "out of memory");
    }
    s->listener = -1;
    s->anywhere = def->anywhere;
    s->bodies = (size_t)perp_model_body_count(perp_scene_model(scene));
    s->planar = perp_model_dimension(perp_scene_model(scene)) == 2;
    s->joints = perp_model_joint_count(perp_scene_model(scene)) > 0;
    s->step = perp_scene_run_settings(scene).step;
    s->header = make_header(scene, sim, &s->gravity);
    s->client = calloc(CLIENTS_MAX, sizeof *s->client);
    atomic_init(&s->paused, def->paused);
    if (s->header == NULL || s->client == NULL) {
        free_server(s);
        return cli_fail(def->json, CLI_FAILED, "out of memory");
    }
    s->listener = listen_on(def, &s->port);
    if (s->listener < 0) {
        free_server(s);
        return CLI_BAD_INPUT;
    }
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->change, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_init(&s->lock, NULL);
    if (!start_thread(s)) {
        free_server(s);
        return cli_fail(def->json, CLI_FAILED, "--watch: cannot start a thread");
    }
    *server = s;
    return CLI_DONE;
}

void watch_server_stop(watch_server* s)
{
    atomic_store(&s->quit, true);
    (void)pthread_join(s->thread, NULL);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->change);
    free_server(s);
}
