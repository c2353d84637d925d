/* tests/perp_test.h - the test harness: one header, no dependency.
 *
 *     #include "perp_test.h"
 *
 *     TEST(a_block_below_the_friction_angle_never_moves)
 *     {
 *         REQUIRE_OK(perp_..._create(...));   // on failure, leaves the test
 *         CHECK_AT_MOST(fabs(v), 0.0);        // on failure, goes on
 *     }
 *
 * One test file is one program; main() is here (define PERP_TEST_NO_MAIN to write your own, which
 * calls perp_test_main). Tests run in the order in which they are defined.
 *
 *     program [--list] [SUBSTRING...]         run the tests whose name contains a SUBSTRING
 *
 * The last line is `NAME: N passed, N failed[, N skipped]`. The exit status is 1 if a test failed
 * or none ran, else 0; it is never a count, of which the system would keep only eight bits.
 *
 * A test that repeats one thing with many parameters takes part of them in `make test`, and all of them
 * where perp_test_full() holds: in `make test-slow`, which runs some programs once more (PerpTests.cmake
 * lists them), and by hand with PERP_TEST_FULL=1.
 *
 * Every comparison of doubles is written so that NaN fails it. A test that made no check at all
 * fails: a loop over nothing must not look like a proof.
 */
#ifndef PERP_TEST_H
#define PERP_TEST_H

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct perp_test_case {
    const char* name;
    void (*run)(void);
    int order;
    struct perp_test_case* next;
} perp_test_case;

typedef struct perp_test_state {
    const char* name;    /* of the running test; NULL between tests */
    int checks;          /* made by the running test */
    int failures;        /* of these */
    const char* skipped; /* reason, or NULL */
} perp_test_state;

/* All repetitions, not part of them. */
static inline bool perp_test_full(void)
{
    return getenv("PERP_TEST_FULL") != NULL;
}

static perp_test_case* perp_test_first;
static perp_test_state perp_test_now;

/* Constructors run in no guaranteed order, so the list is kept sorted. */
static inline void perp_test_register(perp_test_case* c)
{
    perp_test_case** at = &perp_test_first;
    while (*at != NULL && (*at)->order < c->order) {
        at = &(*at)->next;
    }
    c->next = *at;
    *at = c;
}

#define TEST(name_)                                                                                \
    static void perp_test_run_##name_(void);                                                       \
    static perp_test_case perp_test_case_##name_ = {#name_, perp_test_run_##name_, __COUNTER__,    \
                                                    NULL};                                         \
    __attribute__((constructor)) static void perp_test_register_##name_(void)                      \
    {                                                                                              \
        perp_test_register(&perp_test_case_##name_);                                               \
    }                                                                                              \
    static void perp_test_run_##name_(void)

/* ---- one function per kind of check; each returns whether the check held ------------------- */

__attribute__((format(printf, 4, 5))) static inline bool
perp_test_judge(bool held, const char* file, int line, const char* format, ...)
{
    ++perp_test_now.checks;
    if (held) {
        return true;
    }
    ++perp_test_now.failures;
    printf("  %s:%d: ", file, line);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    return false;
}

static inline bool perp_test_true(bool held, const char* text, const char* file, int line)
{
    return perp_test_judge(held, file, line, "%s does not hold", text);
}

static inline bool perp_test_ok(long long status, const char* text, const char* file, int line)
{
    return perp_test_judge(status == 0, file, line, "%s gave status %lld", text, status);
}

static inline bool perp_test_eq_int(long long a, long long b, const char* text, const char* file,
                                    int line)
{
    return perp_test_judge(a == b, file, line, "%s: %lld is not %lld", text, a, b);
}

static inline bool perp_test_eq_u64(uint64_t a, uint64_t b, const char* text, const char* file,
                                    int line)
{
    return perp_test_judge(a == b, file, line, "%s: 0x%016" PRIx64 " is not 0x%016" PRIx64, text, a,
                           b);
}

static inline bool perp_test_eq_str(const char* a, const char* b, const char* text,
                                    const char* file, int line)
{
    const bool held = a != NULL && b != NULL && strcmp(a, b) == 0;
    return perp_test_judge(held, file, line, "%s: \"%s\" is not \"%s\"", text, a ? a : "(null)",
                           b ? b : "(null)");
}

static inline bool perp_test_contains(const char* hay, const char* needle, const char* text,
                                      const char* file, int line)
{
    const bool held = hay != NULL && needle != NULL && strstr(hay, needle) != NULL;
    return perp_test_judge(held, file, line, "%s: \"%s\" does not contain \"%s\"", text,
                           hay ? hay : "(null)", needle ? needle : "(null)");
}

/* An infinity is near nothing, not even itself: the difference is NaN. Use CHECK(a == b). */
static inline bool perp_test_near(double a, double b, double tol, const char* text,
                                  const char* file, int line)
{
    return perp_test_judge(!!(fabs(a - b) <= tol), file, line,
                           "%s: %.17g and %.17g differ by %.3g, allowed %.3g", text, a, b,
                           fabs(a - b), tol);
}

static inline bool perp_test_at_most(double a, double b, const char* text, const char* file,
                                     int line)
{
    return perp_test_judge(a <= b, file, line, "%s: %.17g is not at most %.17g", text, a, b);
}

static inline bool perp_test_at_least(double a, double b, const char* text, const char* file,
                                      int line)
{
    return perp_test_judge(a >= b, file, line, "%s: %.17g is not at least %.17g", text, a, b);
}

/* ---- CHECK_*: record a failure and go on --------------------------------------------------- */

#define PERP_TEST_HERE __FILE__, __LINE__

#define CHECK(cond) ((void)perp_test_true((cond), #cond, PERP_TEST_HERE))
#define CHECK_OK(status) ((void)perp_test_ok((long long)(status), #status, PERP_TEST_HERE))
#define CHECK_EQ_INT(a, b)                                                                         \
    ((void)perp_test_eq_int((long long)(a), (long long)(b), #a " == " #b, PERP_TEST_HERE))
#define CHECK_EQ_U64(a, b)                                                                         \
    ((void)perp_test_eq_u64((uint64_t)(a), (uint64_t)(b), #a " == " #b, PERP_TEST_HERE))
#define CHECK_EQ_STR(a, b) ((void)perp_test_eq_str((a), (b), #a " == " #b, PERP_TEST_HERE))
#define CHECK_CONTAINS(h, n) ((void)perp_test_contains((h), (n), #h, PERP_TEST_HERE))
#define CHECK_NEAR(a, b, tol) ((void)perp_test_near((a), (b), (tol), #a " ~ " #b, PERP_TEST_HERE))
#define CHECK_AT_MOST(a, b) ((void)perp_test_at_most((a), (b), #a " <= " #b, PERP_TEST_HERE))
#define CHECK_AT_LEAST(a, b) ((void)perp_test_at_least((a), (b), #a " >= " #b, PERP_TEST_HERE))

/* ---- REQUIRE_*: record a failure and return from the (void) function ------------------------ */

#define PERP_TEST_OR_RETURN(held)                                                                  \
    do {                                                                                           \
        if (!(held)) {                                                                             \
            return;                                                                                \
        }                                                                                          \
    } while (0)

#define REQUIRE(cond) PERP_TEST_OR_RETURN(perp_test_true((cond), #cond, PERP_TEST_HERE))
#define REQUIRE_OK(status)                                                                         \
    PERP_TEST_OR_RETURN(perp_test_ok((long long)(status), #status, PERP_TEST_HERE))
#define REQUIRE_EQ_INT(a, b)                                                                       \
    PERP_TEST_OR_RETURN(                                                                           \
        perp_test_eq_int((long long)(a), (long long)(b), #a " == " #b, PERP_TEST_HERE))
#define REQUIRE_EQ_STR(a, b)                                                                       \
    PERP_TEST_OR_RETURN(perp_test_eq_str((a), (b), #a " == " #b, PERP_TEST_HERE))
#define REQUIRE_NEAR(a, b, tol)                                                                    \
    PERP_TEST_OR_RETURN(perp_test_near((a), (b), (tol), #a " ~ " #b, PERP_TEST_HERE))
#define REQUIRE_AT_MOST(a, b)                                                                      \
    PERP_TEST_OR_RETURN(perp_test_at_most((a), (b), #a " <= " #b, PERP_TEST_HERE))
#define REQUIRE_AT_LEAST(a, b)                                                                     \
    PERP_TEST_OR_RETURN(perp_test_at_least((a), (b), #a " >= " #b, PERP_TEST_HERE))

/* Leave the test, neither passed nor failed; a check that failed before still counts. */
#define SKIP(reason)                                                                               \
    do {                                                                                           \
        perp_test_now.skipped = (reason);                                                          \
        return;                                                                                    \
    } while (0)

/* A measured figure worth reading in the log. */
#define TEST_PRINT(...) ((void)(printf("  "), printf(__VA_ARGS__), putchar('\n')))

/* ---- running -------------------------------------------------------------------------------- */

static inline bool perp_test_wanted(const char* name, int argc, char** argv)
{
    bool filtered = false;
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--list") == 0) {
            continue;
        }
        filtered = true;
        if (strstr(name, argv[i]) != NULL) {
            return true;
        }
    }
    return !filtered;
}

/* Sanitizers report a crash better than we can, if left alone. */
#if defined(__SANITIZE_ADDRESS__)
#define PERP_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PERP_TEST_SANITIZED 1
#endif
#endif

#ifndef PERP_TEST_SANITIZED
/* Says which test crashed, then dies of the same signal. */
static inline void perp_test_crashed(int signal_number)
{
    const char* name = perp_test_now.name != NULL ? perp_test_now.name : "(between tests)";
    ssize_t ignored = write(STDOUT_FILENO, "FAIL ", 5);
    ignored = write(STDOUT_FILENO, name, strlen(name));
    ignored = write(STDOUT_FILENO, ": crashed\n", 10);
    (void)ignored;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}
#endif

static inline void perp_test_watch_for_crashes(void)
{
#ifndef PERP_TEST_SANITIZED
    signal(SIGSEGV, perp_test_crashed);
    signal(SIGBUS, perp_test_crashed);
    signal(SIGFPE, perp_test_crashed);
    signal(SIGILL, perp_test_crashed);
    signal(SIGABRT, perp_test_crashed);
#endif
}

/* Run the list that begins at `first`; returns the exit status. */
static inline int perp_test_run_list(perp_test_case* first, const char* program, int argc,
                                     char** argv)
{
    int passed = 0, failed = 0, skipped = 0;
    for (perp_test_case* c = first; c != NULL; c = c->next) {
        if (!perp_test_wanted(c->name, argc, argv)) {
            continue;
        }
        perp_test_now = (perp_test_state){.name = c->name};
        const clock_t begin = clock(); /* CPU time of all threads */
        c->run();
        const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        const perp_test_state end = perp_test_now;
        perp_test_now = (perp_test_state){0};
        if (end.failures == 0 && end.skipped != NULL) {
            ++skipped;
            printf("skip %s: %s\n", c->name, end.skipped);
        } else if (end.failures == 0 && end.checks > 0) {
            ++passed;
            printf("ok %s", c->name);
            if (seconds >= 0.1) {
                printf(" (%.2f s of CPU)", seconds);
            }
            putchar('\n');
        } else {
            ++failed;
            printf("FAIL %s%s\n", c->name, end.checks == 0 ? ": made no check" : "");
        }
        fflush(stdout);
    }
    if (passed + failed + skipped == 0) {
        ++failed;
        printf("FAIL no test to run\n");
    }
    printf("%s: %d passed, %d failed", program, passed, failed);
    if (skipped > 0) {
        printf(", %d skipped", skipped);
    }
    putchar('\n');
    fflush(stdout);
    return failed == 0 ? 0 : 1;
}

static inline int perp_test_main(int argc, char** argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a crash must not swallow what was printed before */
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--list") == 0) {
            for (perp_test_case* c = perp_test_first; c != NULL; c = c->next) {
                if (perp_test_wanted(c->name, argc, argv)) {
                    puts(c->name);
                }
            }
            return 0;
        }
        if (argv[i][0] == '-') {
            fprintf(stderr, "usage: %s [--list] [SUBSTRING...]\n", argv[0]);
            return 2;
        }
    }
    perp_test_watch_for_crashes();
    const char* slash = strrchr(argv[0], '/');
    return perp_test_run_list(perp_test_first, slash != NULL ? slash + 1 : argv[0], argc, argv);
}

#ifndef PERP_TEST_NO_MAIN
int main(int argc, char** argv)
{
    return perp_test_main(argc, argv);
}
#endif

#endif /* PERP_TEST_H */
