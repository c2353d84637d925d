/* cli/child.c - see child.h. No shell is involved: arguments are passed unchanged. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- finding ----------------------------------------------------------------------------------*/

static char* find_one(const char* name)
{
    const char* path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        const size_t length = strcspn(path, ":");
        const size_t size = length + strlen(name) + 3;
        char* candidate = malloc(size);
        if (candidate == NULL) {
            return NULL;
        }
        (void)snprintf(candidate, size, "%.*s/%s", (int)length, length > 0 ? path : ".", name);
        struct stat st;
        if (length > 0 && stat(candidate, &st) == 0 && S_ISREG(st.st_mode) &&
            access(candidate, X_OK) == 0) {
            return candidate;
        }
        free(candidate);
        path += length;
        path += *path == ':' ? 1 : 0;
    }
    return NULL;
}

char* child_find(const char* const* names)
{
    char* found = NULL;
    for (int i = 0; found == NULL && names[i] != NULL; ++i) {
        found = find_one(names[i]);
    }
    return found;
}

/* ---- running ----------------------------------------------------------------------------------*/

/* In the child: the pipe's end becomes descriptor `wanted`. */
static void move_descriptor(int from, int wanted)
{
    if (wanted >= 0) {
        (void)dup2(from, wanted);
    }
}

static void exec_program(const child_def* def, int input, int output)
{
    if (def->own_group) {
        (void)setpgid(0, 0);
    }
    if (def->folder != NULL && chdir(def->folder) != 0) {
        _exit(127);
    }
    if (def->scratch != NULL) {
        (void)setenv("TMPDIR", def->scratch, 1);
    }
    /* out of the way of the descriptors that are wanted */
    input = input >= 0 ? fcntl(input, F_DUPFD, 16) : -1;
    output = output >= 0 ? fcntl(output, F_DUPFD, 16) : -1;
    const int null = open("/dev/null", O_RDWR);
    const int log = open(def->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)dup2(null, 0);
    (void)dup2(null, 1);
    (void)dup2(log >= 0 ? log : null, 2);
    move_descriptor(input, def->to_fd);
    move_descriptor(output, def->from_fd);
    for (int fd = 3; fd < 256; ++fd) {
        if (fd != def->to_fd && fd != def->from_fd) {
            (void)close(fd);
        }
    }
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)execv(def->argv[0], (char* const*)def->argv);
    _exit(127);
}

bool child_start(const child_def* def, child* c)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    *c = (child){.pid = -1, .to = -1, .from = -1};
    if ((def->to_fd >= 0 && pipe(to) != 0) || (def->from_fd >= 0 && pipe(from) != 0)) {
        for (int i = 0; i < 2; ++i) {
            (void)(to[i] >= 0 && close(to[i]));
        }
        return false;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        exec_program(def, to[0], from[1]);
    }
    (void)(to[0] >= 0 && close(to[0]));
    (void)(from[1] >= 0 && close(from[1]));
    if (pid < 0) {
        (void)(to[1] >= 0 && close(to[1]));
        (void)(from[0] >= 0 && close(from[0]));
        return false;
    }
    if (def->own_group) {
        (void)setpgid(pid, pid); /* also in the parent: either may run first */
    }
    if (to[1] >= 0) {
        (void)fcntl(to[1], F_SETFD, FD_CLOEXEC);
    }
    if (from[0] >= 0) {
        (void)fcntl(from[0], F_SETFD, FD_CLOEXEC);
    }
    *c = (child){.pid = pid, .to = to[1], .from = from[0]};
    return true;
}

bool child_write(child* c, const void* data, size_t size)
{
    const char* at = data;
    while (size > 0) {
        const ssize_t written = write(c->to, at, size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        at += written;
        size -= (size_t)written;
    }
    return true;
}

void child_close(child* c)
{
    if (c->to >= 0) {
        (void)close(c->to);
        c->to = -1;
    }
}

int child_wait(child* c)
{
    child_close(c);
    if (c->from >= 0) {
        (void)close(c->from);
        c->from = -1;
    }
    int status = 0;
    pid_t done = -1;
    while (c->pid > 0 && (done = waitpid(c->pid, &status, 0)) < 0 && errno == EINTR) {
    }
    c->pid = -1;
    return done > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool child_wait_for(child* c, double seconds)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    for (double waited = 0.0; c->pid > 0; waited += 0.01) {
        const pid_t done = waitpid(c->pid, NULL, WNOHANG);
        if (done == c->pid) {
            (void)kill(-c->pid, SIGKILL); /* remaining processes of its group */
            c->pid = -1;
            (void)child_wait(c);
        } else if (waited >= seconds) {
            return false;
        } else {
            (void)nanosleep(&pause, NULL);
        }
    }
    return true;
}

void child_kill(child* c)
{
    if (c->pid > 0) {
        (void)kill(-c->pid, SIGKILL); /* the group, if it is one's own */
        (void)kill(c->pid, SIGKILL);
    }
    (void)child_wait(c);
}

void child_last_words(const char* log, char* text, size_t size)
{
    char line[512];
    FILE* file = fopen(log, "r");
    text[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        size_t length = strlen(line);
        while (length > 0 && (unsigned char)line[length - 1] <= ' ') {
            line[--length] = '\0';
        }
        if (length > 0) {
            (void)snprintf(text, size, "%s", line + strspn(line, " \t"));
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

/* ---- temporary files ------------------------------------------------------------------------------*/

bool folder_make(char path[], size_t size)
{
    const char* base = getenv("TMPDIR");
    const int length =
        snprintf(path, size, "%s/perp-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
    return length > 0 && (size_t)length < size && mkdtemp(path) != NULL;
}

static int remove_one(const char* path, const struct stat* st, int flag, struct FTW* where)
{
    (void)st;
    (void)flag;
    (void)where;
    (void)remove(path);
    return 0;
}

void folder_remove(const char* path)
{
    /* a program that is about to end may still write there */
    const struct timespec pause = {.tv_nsec = 50000000};
    for (int i = 0; i < 40; ++i) {
        (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        if (access(path, F_OK) != 0) {
            return;
        }
        (void)nanosleep(&pause, NULL);
    }
}
