/* cli/page_template.c - the template of the page around its marker. */
#include <string.h>

#include "page.h"

#define MARKER "<!--PERP-RUNS-->\n"

/* The bytes of the template; the build puts them here (cmake/PerpPage.cmake). Empty: none. */
extern const char cli_page_template[], cli_page_template_end[];

const char* page_find_text(const char* text, size_t size, const char* what)
{
    const size_t length = strlen(what);
    for (const char* at = text; size >= length;) {
        const char* next = memchr(at, what[0], size - length + 1);
        if (next == NULL) {
            return NULL;
        }
        if (memcmp(next, what, length) == 0) {
            return next;
        }
        size -= (size_t)(next + 1 - at);
        at = next + 1;
    }
    return NULL;
}

void page_template(const char** head, size_t* head_size, const char** tail, size_t* tail_size)
{
    const size_t size = (size_t)(cli_page_template_end - cli_page_template);
    const char* marker = page_find_text(cli_page_template, size, MARKER);
    *head = cli_page_template;
    *tail = marker != NULL ? marker + strlen(MARKER) : cli_page_template;
    *head_size = marker != NULL ? (size_t)(marker - cli_page_template) : 0;
    *tail_size = marker != NULL ? (size_t)(cli_page_template_end - *tail) : 0;
}

bool page_available(void)
{
    const char *head, *tail;
    size_t head_size, tail_size;
    page_template(&head, &head_size, &tail, &tail_size);
    return head_size > 0;
}
