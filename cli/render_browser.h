/* cli/render_browser.h - a headless chromium, controlled over two pipes (DevTools protocol). */
#ifndef PERP_CLI_RENDER_BROWSER_H
#define PERP_CLI_RENDER_BROWSER_H

#include "child.h"
#include "page.h"

typedef struct browser {
    child child;
    char log[600];
    char scratch[32]; /* a folder with a short name, or "" */
    char* session;    /* of the one page */
    int last_id;
    page_bytes in; /* received, not used up yet */
    size_t in_used;
    char trouble[400]; /* why a call failed */
    bool (*stop)(void);
} browser;

/* Path of a chromium, to be freed; NULL: none in PATH. */
char* browser_find(void);
/* folder: for its profile and log. False: trouble says why. */
bool browser_start(browser* b, const char* path, const char* folder, int width, int height,
                   bool (*stop)(void));
bool browser_open(browser* b, const char* url);
/* Value of an expression (a promise is waited for), to be released; NULL: trouble says why. */
json_t* browser_evaluate(browser* b, const char* expression);
/* What the page shows, as PNG. */
bool browser_picture(browser* b, page_bytes* png);
void browser_end(browser* b);

#endif
