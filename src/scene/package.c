/* src/scene/package.c - see package.h. */
#include "scene/package.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_ROOM = 4096, LEVELS = 24 };

static bool is_file(const char* path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* The file FOLDER/a/b as an absolute path, NULL if there is none. Empty parts are left out. */
static char* find_in(const char* folder, size_t folder_length, const char* a, const char* b)
{
    char path[PATH_ROOM];
    const int n = snprintf(path, sizeof path, "%.*s%s%s%s%s", (int)folder_length, folder,
                           folder_length > 0 ? "/" : "", a, a[0] != '\0' ? "/" : "", b);
    return n > 0 && (size_t)n < sizeof path && is_file(path) ? realpath(path, NULL) : NULL;
}

/* In each folder of a list with colons: FOLDER/inside/NAME/REST, and FOLDER/REST if it is named NAME. */
static char* find_in_list(const char* list, const char* inside, const char* whole)
{
    const char* slash = strchr(whole, '/');
    const size_t name = slash != NULL ? (size_t)(slash - whole) : 0;
    while (list != NULL && *list != '\0') {
        const size_t length = strcspn(list, ":");
        size_t trimmed = length;
        while (trimmed > 1 && list[trimmed - 1] == '/') {
            --trimmed;
        }
        char* found = length > 0 ? find_in(list, trimmed, inside, whole) : NULL;
        if (found == NULL && name > 0 && trimmed > name && list[trimmed - name - 1] == '/' &&
            strncmp(list + trimmed - name, whole, name) == 0) {
            found = find_in(list, trimmed, "", slash + 1);
        }
        if (found != NULL) {
            return found;
        }
        list += length + (list[length] == ':' ? 1 : 0);
    }
    return NULL;
}

/* In the robot's folder and those above it. */
static char* find_above(const char* origin, const char* whole, const char* rest)
{
    const char* slash = strrchr(origin, '/');
    char folder[PATH_ROOM];
    const int n = snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - origin),
                           slash == NULL ? "." : origin);
    char* absolute =
        n >= 0 && (size_t)n < sizeof folder ? realpath(n > 0 ? folder : "/", NULL) : NULL;
    char* found = NULL;
    for (int level = 0; absolute != NULL && found == NULL && level < LEVELS; ++level) {
        const size_t length = strlen(absolute);
        found = find_in(absolute, length, "", whole);
        if (found == NULL && level < 2) { /* the package's own folders */
            found = find_in(absolute, length, "", rest);
        }
        char* up = strrchr(absolute, '/');
        if (up == NULL || length <= 1) {
            break;
        }
        up[up == absolute ? 1 : 0] = '\0';
    }
    free(absolute);
    return found;
}

static const char* after_scheme(const char* file)
{
    return strncmp(file, "package://", 10) == 0 ? file + 10
           : strncmp(file, "model://", 8) == 0  ? file + 8
                                                : NULL;
}

bool perpi_package_named(const char* file)
{
    return after_scheme(file) != NULL;
}

char* perpi_package_find(const char* origin, const char* package, const char* file)
{
    const char* slash = strrchr(origin, '/');
    const char* whole = after_scheme(file);
    if (whole == NULL) {
        const char* path = strncmp(file, "file://", 7) == 0 ? file + 7 : file;
        return path[0] == '/' || slash == NULL ? find_in("", 0, "", path)
               : slash == origin               ? find_in("/", 1, "", path)
                                 : find_in(origin, (size_t)(slash - origin), "", path);
    }
    const char* rest = strchr(whole, '/');
    rest = rest != NULL ? rest + 1 : whole;
    char* found = NULL;
    if (package != NULL) {
        found = find_in(package, strlen(package), "", whole);
        found = found != NULL ? found : find_in(package, strlen(package), "", rest);
    }
    found = found != NULL ? found : find_in_list(getenv("ROS_PACKAGE_PATH"), "", whole);
    found = found != NULL ? found : find_in_list(getenv("AMENT_PREFIX_PATH"), "share", whole);
    found = found != NULL ? found : find_in_list(getenv("GAZEBO_MODEL_PATH"), "", whole);
    return found != NULL ? found : find_above(origin, whole, rest);
}
