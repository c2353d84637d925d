/* cli/watch_http.c - reading a request. */
#include "watch_http.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char* http_reason(int status)
{
    switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Error";
    }
}

bool http_is_loopback(const char* text)
{
    struct in_addr four;
    struct in6_addr six;
    if (strcasecmp(text, "localhost") == 0) {
        return true;
    }
    if (inet_pton(AF_INET, text, &four) == 1) {
        return (ntohl(four.s_addr) >> 24) == 127;
    }
    return inet_pton(AF_INET6, text, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

static bool is_numeric(const char* text)
{
    struct in_addr four;
    struct in6_addr six;
    return inet_pton(AF_INET, text, &four) == 1 || inet_pton(AF_INET6, text, &six) == 1;
}

/* "name:port" or "[v6]:port" with our port, and a name that no foreign DNS can point here. */
static bool host_is_ours(const char* host, int port, bool anywhere)
{
    char name[80], end[16];
    const char* colon = strrchr(host, ':');
    if (colon == NULL || (size_t)(colon - host) >= sizeof name) {
        return false;
    }
    (void)snprintf(end, sizeof end, "%d", port);
    if (strcmp(colon + 1, end) != 0) {
        return false;
    }
    size_t length = (size_t)(colon - host);
    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        host += 1;
        length -= 2;
    }
    memcpy(name, host, length);
    name[length] = '\0';
    return http_is_loopback(name) || (anywhere && is_numeric(name));
}

static http_request bad(int status)
{
    return (http_request){.what = HTTP_BAD, .status = status};
}

/* What follows the request line, as far as we care. Empty: not given. */
typedef struct fields {
    char host[100], origin[120], site[32], length[16];
    bool twice, chunked;
} fields;

static void keep(const char* value, char* to, size_t size, bool* twice)
{
    *twice = *twice || to[0] != '\0';
    /* a value that is too long is truncated and will not match */
    (void)snprintf(to, size, "%s", value[0] != '\0' ? value : " ");
}

/* One line "Name: value", ended by a zero. */
static bool read_field(char* line, fields* f)
{
    char* colon = strchr(line, ':');
    if (colon == NULL || colon == line || line[0] == ' ' || line[0] == '\t') {
        return false; /* folded lines are obsolete */
    }
    *colon = '\0';
    char* value = colon + 1 + strspn(colon + 1, " \t");
    size_t length = strlen(value);
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t')) {
        value[--length] = '\0';
    }
    if (strcasecmp(line, "host") == 0) {
        keep(value, f->host, sizeof f->host, &f->twice);
    } else if (strcasecmp(line, "origin") == 0) {
        keep(value, f->origin, sizeof f->origin, &f->twice);
    } else if (strcasecmp(line, "sec-fetch-site") == 0) {
        keep(value, f->site, sizeof f->site, &f->twice);
    } else if (strcasecmp(line, "content-length") == 0) {
        keep(value, f->length, sizeof f->length, &f->twice);
    } else if (strcasecmp(line, "transfer-encoding") == 0) {
        f->chunked = true;
    }
    return true;
}

/* Splits the head, in place, at its line ends. False: not as it should be. */
static bool read_head(char* head, char** method, char** target, char** version, fields* f)
{
    char* line = head;
    for (int number = 0; *line != '\0'; ++number) {
        char* end = strstr(line, "\r\n");
        if (end == NULL) {
            return false;
        }
        *end = '\0';
        if (number == 0) {
            *method = line;
            *target = strchr(line, ' ');
            *version = *target != NULL ? strchr(*target + 1, ' ') : NULL;
            if (*version == NULL) {
                return false;
            }
            *(*target)++ = '\0';
            *(*version)++ = '\0';
        } else if (*line != '\0' && !read_field(line, f)) {
            return false;
        }
        line = end + 2;
    }
    return true;
}

static http_request read_control(const fields* f, const char* body, size_t size)
{
    char ours[120];
    (void)snprintf(ours, sizeof ours, "http://%s", f->host);
    if (strcasecmp(f->origin, ours) != 0 ||
        (f->site[0] != '\0' && strcasecmp(f->site, "same-origin") != 0)) {
        return bad(403);
    }
    if (f->chunked || f->length[0] == '\0') {
        return bad(411);
    }
    if (strspn(f->length, "0123456789") != strlen(f->length)) {
        return bad(400);
    }
    const unsigned long length = strtoul(f->length, NULL, 10);
    if (length > HTTP_BODY_MAX) {
        return bad(413);
    }
    http_request request = {.what = size < length ? HTTP_MORE : HTTP_CONTROL};
    if (size >= length) {
        memcpy(request.body, body, length);
    }
    return request;
}

http_request http_parse(const char* data, size_t size, int port, bool anywhere)
{
    /* the head ends with an empty line; look for it no further than it may be */
    size_t end = 0;
    while (end + 4 <= size && end + 4 <= HTTP_HEAD_MAX && memcmp(data + end, "\r\n\r\n", 4) != 0) {
        ++end;
    }
    if (end + 4 > HTTP_HEAD_MAX) {
        return bad(431);
    }
    if (end + 4 > size) {
        return (http_request){.what = HTTP_MORE};
    }
    char head[HTTP_HEAD_MAX + 1];
    memcpy(head, data, end + 2);
    head[end + 2] = '\0';
    if (strlen(head) != end + 2) {
        return bad(400); /* a zero in it */
    }
    char *method = NULL, *target = NULL, *version = NULL;
    fields f = {0};
    if (!read_head(head, &method, &target, &version, &f) || f.twice) {
        return bad(400);
    }
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0) {
        return bad(505);
    }
    if (!host_is_ours(f.host, port, anywhere)) {
        return bad(403);
    }
    char* query = strchr(target, '?');
    if (query != NULL) {
        *query = '\0';
    }
    const bool get = strcmp(method, "GET") == 0, is_head = strcmp(method, "HEAD") == 0;
    if (strcmp(target, "/control") == 0) {
        return strcmp(method, "POST") == 0 ? read_control(&f, data + end + 4, size - end - 4)
                                           : bad(405);
    }
    const http_what what = strcmp(target, "/") == 0              ? HTTP_PAGE
                           : strcmp(target, "/events") == 0      ? HTTP_EVENTS
                           : strcmp(target, "/favicon.ico") == 0 ? HTTP_NOTHING
                                                                 : HTTP_BAD;
    if (what == HTTP_BAD) {
        return bad(404);
    }
    if (!get && !(is_head && what != HTTP_EVENTS)) {
        return bad(405);
    }
    /* pages of other sites may not read the events either */
    if (what == HTTP_EVENTS && f.site[0] != '\0' && strcasecmp(f.site, "same-origin") != 0) {
        return bad(403);
    }
    return (http_request){.what = what, .head = is_head};
}
