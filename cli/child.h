/* cli/child.h - child processes: find a program, start it without a shell, write to it, wait for
 * it; and temporary folders. */
#ifndef PERP_CLI_CHILD_H
#define PERP_CLI_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The first of the names (NULL-terminated) that PATH offers, to be freed; NULL: none. */
char* child_find(const char* const* names);

typedef struct child {
    pid_t pid;
    int to, from; /* pipes; -1: none */
} child;

/* How the program's file descriptors are set up. Descriptors not listed are /dev/null; stderr goes
 * to the file `log`. */
typedef struct child_def {
    const char* const* argv; /* argv[0]: the path */
    const char* folder;      /* to work in, or NULL */
    const char* log;
    const char* scratch; /* its TMPDIR, or NULL */
    int to_fd, from_fd; /* descriptors at which the program reads from and writes to us; -1: none */
    bool own_group;     /* its children are ended with it */
} child_def;
bool child_start(const child_def* def, child* c);
/* Writes everything; false: the program has ended. SIGPIPE must be ignored. */
bool child_write(child* c, const void* data, size_t size);
void child_close(child* c); /* its input ends */
/* Exit status, or -1 if it did not end by itself. */
int child_wait(child* c);
/* Waits so long for its end; false: it is still there. */
bool child_wait_for(child* c, double seconds);
/* Ends it (and its group), if it is still there. */
void child_kill(child* c);
/* The last line of a log that is not blank; "" if there is none. */
void child_last_words(const char* log, char* text, size_t size);

/* A new folder for temporary files; false: none could be made. */
bool folder_make(char path[], size_t size);
void folder_remove(const char* path);

#endif
