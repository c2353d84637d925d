/* bench/tools/generate_problem.c - writes a seeded problem to a file that `perp solve` reads.
 *
 *     generate_problem KIND[:NAME=NUMBER,...] FILE
 *
 * LCPs with a planted solution, written as .ccp text; n=20, seed=1 unless given:
 *     p, psd, copositive, degenerate
 * Contact problems, written as JSON; contacts=100, seed=1, mass-ratio=1000, mu-min=0, mu-max=1:
 *     stacks, wall (both with height=5), pile, grasp
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perp/perp.h"
#include "support/generate.h"

typedef struct number {
    const char* name;
    double value, least, most;
    bool whole;
} number;

enum { SEED, SIZE, CONTACTS, HEIGHT, MASS_RATIO, MU_MIN, MU_MAX, NUMBERS };

static number numbers[NUMBERS] = {
    [SEED] = {"seed", 1, 0, 1e15, true},
    [SIZE] = {"n", 20, 1, 5000, true},
    [CONTACTS] = {"contacts", 100, 1, 1e6, true},
    [HEIGHT] = {"height", 5, 1, 1000, true},
    [MASS_RATIO] = {"mass-ratio", 1000, 1, 1e12, false},
    [MU_MIN] = {"mu-min", 0, 0, 1e6, false},
    [MU_MAX] = {"mu-max", 1, 0, 1e6, false},
};

/* "NAME=NUMBER,..." into the table; false after a message. */
static bool read_numbers(const char* text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "=,");
        int i = 0;
        while (i < NUMBERS &&
               (strlen(numbers[i].name) != length || strncmp(numbers[i].name, text, length) != 0)) {
            ++i;
        }
        char* end = NULL;
        const double x = text[length] == '=' ? strtod(text + length + 1, &end) : NAN;
        if (i == NUMBERS) {
            fprintf(stderr, "generate_problem: unknown number '%.*s': expected", (int)length, text);
            for (int k = 0; k < NUMBERS; ++k) {
                fprintf(stderr, "%s %s", k > 0 ? "," : "", numbers[k].name);
            }
            fputs("\n", stderr);
            return false;
        }
        if (end == NULL || end == text + length + 1 || (*end != ',' && *end != '\0') ||
            !(x >= numbers[i].least && x <= numbers[i].most) ||
            (numbers[i].whole && x != floor(x))) {
            fprintf(stderr, "generate_problem: %s: expected a %snumber from %g to %g, got '%s'\n",
                    numbers[i].name, numbers[i].whole ? "whole " : "", numbers[i].least,
                    numbers[i].most, text);
            return false;
        }
        numbers[i].value = x;
        text = *end == ',' ? end + 1 : end;
    }
    if (numbers[MU_MIN].value > numbers[MU_MAX].value) {
        fprintf(stderr, "generate_problem: mu-min must not exceed mu-max, got %g and %g\n",
                numbers[MU_MIN].value, numbers[MU_MAX].value);
        return false;
    }
    return true;
}

static int write_lcp(generate_lcp_kind kind, const char* path)
{
    generated_lcp g;
    const int32_t n = (int32_t)numbers[SIZE].value;
    FILE* f = fopen(path, "w");
    if (f == NULL || !generate_lcp(kind, n, (uint64_t)numbers[SEED].value, &g)) {
        fprintf(stderr, "generate_problem: %s: %s\n", path, strerror(errno));
        return 3;
    }
    int32_t entries = 0;
    for (int32_t i = 0; i < n * n; ++i) {
        entries += g.M[i] != 0.0 ? 1 : 0;
    }
    fprintf(f, "ccp 1\nname generated-%s-n%d-seed%.0f\nkind lcp\nn %d\nmatrix M %d %d %d\n",
            generate_lcp_name[kind], (int)n, numbers[SEED].value, (int)n, (int)n, (int)n,
            (int)entries);
    for (int32_t j = 0; j < n; ++j) {
        for (int32_t i = 0; i < n; ++i) {
            if (g.M[i * n + j] != 0.0) {
                fprintf(f, "%d %d %.17g\n", (int)i, (int)j, g.M[i * n + j]);
            }
        }
    }
    fprintf(f, "vector q %d\n", (int)n);
    for (int32_t i = 0; i < n; ++i) {
        fprintf(f, "%.17g\n", g.q[i]);
    }
    fputs("end\n", f);
    generated_lcp_free(&g);
    if (fclose(f) != 0) {
        fprintf(stderr, "generate_problem: %s: %s\n", path, strerror(errno));
        return 3;
    }
    return 0;
}

static int write_contact(generate_contact_kind kind, const char* path)
{
    const generate_contact_spec spec = {.kind = kind,
                                        .seed = (uint64_t)numbers[SEED].value,
                                        .contacts = (int32_t)numbers[CONTACTS].value,
                                        .height = (int32_t)numbers[HEIGHT].value,
                                        .mass_ratio = numbers[MASS_RATIO].value,
                                        .mu_min = numbers[MU_MIN].value,
                                        .mu_max = numbers[MU_MAX].value};
    perp_context* context = NULL;
    generated_contact g;
    if (perp_context_create(NULL, &context) != PERP_OK || !generate_contact(&spec, &g)) {
        fprintf(stderr, "generate_problem: out of memory\n");
        perp_context_destroy(context);
        return 3;
    }
    const bool good = perp_contact_write(context, &g.problem, path) == PERP_OK;
    if (!good) {
        fprintf(stderr, "generate_problem: %s\n", perp_context_error(context));
    }
    generated_contact_free(&g);
    perp_context_destroy(context);
    return good ? 0 : 3;
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: generate_problem KIND[:NAME=NUMBER,...] FILE\n");
        return 2;
    }
    const size_t length = strcspn(argv[1], ":");
    if (argv[1][length] == ':' && !read_numbers(argv[1] + length + 1)) {
        return 2;
    }
    for (int k = 0; k < GENERATE_LCP_KINDS; ++k) {
        if (strlen(generate_lcp_name[k]) == length &&
            strncmp(argv[1], generate_lcp_name[k], length) == 0) {
            return write_lcp(k, argv[2]);
        }
    }
    for (int k = 0; k < GENERATE_CONTACT_KINDS; ++k) {
        if (strlen(generate_contact_name[k]) == length &&
            strncmp(argv[1], generate_contact_name[k], length) == 0) {
            return write_contact(k, argv[2]);
        }
    }
    fprintf(
        stderr,
        "generate_problem: unknown kind '%.*s': expected p, psd, copositive, degenerate, stacks, "
        "wall, pile or grasp\n",
        (int)length, argv[1]);
    return 2;
}
