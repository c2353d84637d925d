/* src/shape/piece_cache.c - see piece_cache.h. */
#include "shape/piece_cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shape/decompose.h"

enum { PATH_ROOM = 4096, LARGEST_FILE = 512 * 1024 * 1024 };

/* Changes with the algorithm and with the layout of a polyhedron. */
#define FORMAT UINT64_C(0x7065727031000002)

typedef struct header {
    uint64_t format, key[2];
    uint64_t record; /* bytes of a perpi_polyhedron */
    uint64_t bytes;  /* of what follows */
    uint64_t hash;   /* of that */
    uint64_t count;
} header;

static uint64_t hash_of(uint64_t h, const void* data, size_t size)
{
    const unsigned char* byte = data;
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = 0;
        memcpy(&word, byte + at, size - at < 8 ? size - at : 8);
        h = ((h << 29 | h >> 35) ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return h ^ size;
}

static header header_of(const perp_shape_def* def)
{
    header head = {.format = FORMAT, .record = sizeof(perpi_polyhedron)};
    for (uint64_t i = 0; i < 2; ++i) {
        uint64_t h = FORMAT + i * UINT64_C(0x2545f4914f6cdd1d);
        h = hash_of(h, def->vertices, 3 * (size_t)def->vertex_count * sizeof *def->vertices);
        head.key[i] =
            hash_of(h, def->triangles, 3 * (size_t)def->triangle_count * sizeof *def->triangles);
    }
    return head;
}

/* FOLDER/SUB, made if asked for. False: there is no cache. */
static bool cache_folder(char folder[PATH_ROOM], bool make)
{
    const char* own = getenv("PERP_CACHE");
    const char* general = getenv("XDG_CACHE_HOME");
    const char* home = getenv("HOME");
    int n = -1;
    if (own != NULL) {
        n = own[0] != '\0' ? snprintf(folder, PATH_ROOM, "%s", own) : -1;
    } else if (general != NULL && general[0] == '/') {
        n = snprintf(folder, PATH_ROOM, "%s/perp", general);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(folder, PATH_ROOM, "%s/.cache/perp", home);
    }
    if (n <= 0 || n >= PATH_ROOM - 64) {
        return false;
    }
    for (char* slash = folder + 1; make && (slash = strchr(slash, '/')) != NULL; ++slash) {
        *slash = '\0';
        (void)mkdir(folder, 0777);
        *slash = '/';
    }
    return !make || mkdir(folder, 0777) == 0 || errno == EEXIST;
}

static bool cache_path(const header* head, bool make, char path[PATH_ROOM])
{
    if (!cache_folder(path, make)) {
        return false;
    }
    const size_t used = strlen(path);
    (void)snprintf(path + used, PATH_ROOM - used, "/pieces-%016llx%016llx",
                   (unsigned long long)head->key[0], (unsigned long long)head->key[1]);
    return true;
}

/* The pieces of a file whose hash agrees. */
static bool unpack_pieces(perp_context* context, const char* data, size_t size, uint64_t count,
                          perpi_polyhedron*** pieces, int32_t* made)
{
    perpi_polyhedron** p = NULL;
    if (count == 0 || count > 4 * PERPI_DECOMPOSE_PIECES ||
        perpi_alloc(context, (size_t)count, sizeof *p, &p) != PERP_OK) {
        return false;
    }
    int32_t n = 0;
    size_t at = 0;
    bool good = true;
    while (good && (uint64_t)n < count) {
        uint64_t bytes = 0;
        good = size - at >= sizeof bytes;
        if (good) {
            memcpy(&bytes, data + at, sizeof bytes);
            at += sizeof bytes;
            good = bytes <= size - at &&
                   perpi_polyhedron_from_bytes(context, data + at, (size_t)bytes, &p[n]);
            at += good ? (size_t)bytes : 0;
            n += good ? 1 : 0;
        }
    }
    if (!good) {
        perpi_decompose_free(context, p, n);
        return false;
    }
    *pieces = p;
    *made = n;
    return true;
}

bool perpi_piece_cache_read(perp_context* context, const perp_shape_def* def,
                            perpi_polyhedron*** pieces, int32_t* count)
{
    const header wanted = header_of(def);
    char path[PATH_ROOM];
    if (!cache_path(&wanted, false, path)) {
        return false;
    }
    FILE* file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    header head;
    char* data = NULL;
    bool good = fread(&head, sizeof head, 1, file) == 1 && head.format == wanted.format &&
                head.record == wanted.record &&
                memcmp(head.key, wanted.key, sizeof head.key) == 0 && head.bytes <= LARGEST_FILE;
    if (good) {
        data = malloc((size_t)head.bytes + 1);
        good = data != NULL && fread(data, 1, (size_t)head.bytes, file) == head.bytes &&
               hash_of(head.count, data, (size_t)head.bytes) == head.hash;
    }
    good = good && unpack_pieces(context, data, (size_t)head.bytes, head.count, pieces, count);
    free(data);
    (void)fclose(file);
    return good;
}

void perpi_piece_cache_write(const perp_shape_def* def, perpi_polyhedron* const* pieces,
                             int32_t count)
{
    header head = header_of(def);
    char path[PATH_ROOM], other[PATH_ROOM + 32];
    size_t size = 0;
    for (int32_t i = 0; i < count; ++i) {
        size += sizeof(uint64_t) + perpi_polyhedron_bytes(pieces[i]);
    }
    char* data = size <= LARGEST_FILE ? malloc(size + 1) : NULL;
    if (data == NULL || !cache_path(&head, true, path)) {
        free(data);
        return;
    }
    size_t at = 0;
    for (int32_t i = 0; i < count; ++i) {
        const uint64_t bytes = perpi_polyhedron_bytes(pieces[i]);
        memcpy(data + at, &bytes, sizeof bytes);
        perpi_polyhedron_to_bytes(pieces[i], data + at + sizeof bytes);
        at += sizeof bytes + (size_t)bytes;
    }
    head.count = (uint64_t)count;
    head.bytes = size;
    head.hash = hash_of(head.count, data, size);
    /* written beside its place and moved there, so that another process never reads a part */
    (void)snprintf(other, sizeof other, "%s.%ld", path, (long)getpid());
    FILE* file = fopen(other, "wb");
    if (file != NULL) {
        bool good = fwrite(&head, sizeof head, 1, file) == 1 && fwrite(data, 1, size, file) == size;
        good = fclose(file) == 0 && good;
        if (!good || rename(other, path) != 0) {
            (void)remove(other);
        }
    }
    free(data);
}
