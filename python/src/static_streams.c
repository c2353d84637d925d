/* python/src/static_streams.c - standard streams for static libraries inside a shared one.
 *
 * Static libraries of a distribution are compiled for programs: their code reads the variable stderr
 * at a fixed distance, which a shared library cannot have to a variable of libc. The linker's --wrap
 * turns stderr into __wrap_stderr, a variable of this library, which is filled when it is loaded.
 */
#include <stdio.h>

extern FILE *__real_stderr, *__real_stdout, *__real_stdin;
__attribute__((visibility("hidden"))) extern FILE *__wrap_stderr, *__wrap_stdout, *__wrap_stdin;
FILE *__wrap_stderr, *__wrap_stdout, *__wrap_stdin;

__attribute__((constructor)) static void fill_streams(void)
{
    __wrap_stderr = __real_stderr;
    __wrap_stdout = __real_stdout;
    __wrap_stdin = __real_stdin;
}
