/* cli/page_file.c - writes the template with the runs to a temporary file and renames it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "page.h"

#define RUN_BEGIN "<script type=\"application/json\" class=\"perp-run\">"
#define PAGE_LIMIT (1L << 30)

int page_complain_missing(bool json)
{
    return cli_fail(
        json, CLI_BAD_INPUT,
        "this perp was built without the replay page: install nodejs and npm, and build "
        "again with a network (the build says what was missing)");
}

/* ---- beginning --------------------------------------------------------------------------------*/

/* A page that perp made holds a run. */
static bool is_page(const char* path)
{
    FILE* file = fopen(path, "rb");
    struct stat st;
    if (file == NULL || fstat(fileno(file), &st) != 0 || st.st_size <= 0 ||
        st.st_size > PAGE_LIMIT) {
        if (file != NULL) {
            (void)fclose(file);
        }
        return false;
    }
    char* text = malloc((size_t)st.st_size);
    const size_t size = text != NULL ? fread(text, 1, (size_t)st.st_size, file) : 0;
    const bool is = size > 9 && memcmp(text, "<!doctype", 9) == 0 &&
                    page_find_text(text, size, RUN_BEGIN "{\"format\":\"perp-page") != NULL;
    free(text);
    (void)fclose(file);
    return is;
}

int page_file_begin(page_file* out, const char* path, bool force, bool json)
{
    struct stat st;
    *out = (page_file){.path = path, .json = json};
    if (path[0] == '\0') {
        return cli_fail(json, CLI_BAD_INPUT, "--out: the name is empty: give a file name");
    }
    if (stat(path, &st) == 0) {
        if (!S_ISREG(st.st_mode)) {
            return cli_fail(json, CLI_BAD_INPUT, "%s: not a file: give another name", path);
        }
        if (!force && !is_page(path)) {
            return cli_fail(
                json, CLI_BAD_INPUT,
                "%s: there is a file of that name that is no page of perp: give another "
                "name, or --force",
                path);
        }
    }
    const size_t size = strlen(path) + 32;
    out->part = malloc(size);
    if (out->part == NULL) {
        return cli_fail(json, CLI_FAILED, "out of memory");
    }
    (void)snprintf(out->part, size, "%s.part%ld", path, (long)getpid());
    out->file = fopen(out->part, "wb");
    if (out->file == NULL) {
        const int error = errno;
        free(out->part);
        out->part = NULL;
        return cli_fail(json, CLI_BAD_INPUT, "%s: cannot write: %s", path, strerror(error));
    }
    return CLI_DONE;
}

void page_file_abandon(page_file* out)
{
    if (out->file != NULL) {
        (void)fclose(out->file);
        (void)unlink(out->part);
    }
    free(out->part);
    *out = (page_file){0};
}

/* ---- writing ----------------------------------------------------------------------------------*/

static void write_base64(FILE* file, const unsigned char* data, size_t size)
{
    static const char letter[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char line[4 * 1024];
    size_t used = 0;
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const unsigned group = (unsigned)data[i] << 16 |
                               (left > 1 ? (unsigned)data[i + 1] << 8 : 0u) |
                               (left > 2 ? (unsigned)data[i + 2] : 0u);
        line[used++] = letter[group >> 18];
        line[used++] = letter[(group >> 12) & 63u];
        line[used++] = left > 1 ? letter[(group >> 6) & 63u] : '=';
        line[used++] = left > 2 ? letter[group & 63u] : '=';
        if (used == sizeof line) {
            (void)fwrite(line, 1, used, file);
            used = 0;
        }
    }
    (void)fwrite(line, 1, used, file);
}

static bool write_run(FILE* file, const page_run* run)
{
    char* header = page_dump(run->header);
    if (header == NULL) {
        return false;
    }
    (void)fputs(RUN_BEGIN, file);
    (void)fputs(header, file);
    (void)fputs("</script>\n<script type=\"text/plain\" class=\"perp-blob\">", file);
    write_base64(file, run->blob.data, run->blob.size);
    (void)fputs("</script>\n", file);
    free(header);
    return true;
}

int page_file_write(page_file* out, const page_run* run, int count, long long* size)
{
    const char *head, *tail;
    size_t head_size, tail_size;
    page_template(&head, &head_size, &tail, &tail_size);
    bool memory = true;
    errno = 0;
    (void)fwrite(head, 1, head_size, out->file);
    for (int i = 0; memory && i < count; ++i) {
        memory = write_run(out->file, &run[i]);
    }
    (void)fwrite(tail, 1, tail_size, out->file);
    *size = ftell(out->file);
    bool good = fflush(out->file) == 0 && !ferror(out->file);
    const int error = errno;
    good = fclose(out->file) == 0 && good;
    out->file = NULL;
    int exit_status = CLI_DONE;
    if (!memory) {
        exit_status = cli_fail(out->json, CLI_FAILED, "out of memory");
    } else if (!good) {
        exit_status =
            cli_fail(out->json, CLI_FAILED, "%s: cannot write: %s", out->path, strerror(error));
    } else if (rename(out->part, out->path) != 0) {
        exit_status =
            cli_fail(out->json, CLI_FAILED, "%s: cannot write: %s", out->path, strerror(errno));
    }
    if (exit_status != CLI_DONE) {
        (void)unlink(out->part);
    }
    free(out->part);
    *out = (page_file){0};
    return exit_status;
}
