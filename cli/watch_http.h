/* cli/watch_http.h - the part of HTTP/1.1 that the live page needs, with strict checks.
 *
 * Three resources, all exact: GET /, GET /events, POST /control. No paths into any file system, no
 * keep-alive, no chunked bodies, small limits. A page of another site may make a browser send
 * requests here (DNS rebinding, forged forms): the Host must be ours, and a control request must
 * come from our own page.
 */
#ifndef PERP_CLI_WATCH_HTTP_H
#define PERP_CLI_WATCH_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_HEAD_MAX 8192 /* bytes of a request before its body */
#define HTTP_BODY_MAX 16

typedef enum http_what {
    HTTP_MORE, /* not all of the request is here yet */
    HTTP_PAGE,
    HTTP_EVENTS,
    HTTP_CONTROL,
    HTTP_NOTHING, /* a request for an icon: there is none */
    HTTP_BAD,     /* `status` says why */
} http_what;

typedef struct http_request {
    http_what what;
    int status;                   /* of a bad one: 400, 403, 404, 405, 411, 413, 431, 505 */
    bool head;                    /* HEAD: no body in the answer */
    char body[HTTP_BODY_MAX + 1]; /* of a control request */
} http_request;

/* port: ours. anywhere: bound beyond loopback; any numeric address may then be the host's name. */
http_request http_parse(const char* data, size_t size, int port, bool anywhere);
const char* http_reason(int status);
/* Whether text is 127.x.y.z, ::1 or localhost. */
bool http_is_loopback(const char* text);

#endif
