/* tests/support/quotes.h - a scene inside a C test is written with single quotes: {'step': 0.01}. */
#ifndef PERP_TEST_QUOTES_H
#define PERP_TEST_QUOTES_H

/* Every ' of the text becomes a ". So such a text cannot hold an apostrophe. */
static inline void scene_quotes(char* text)
{
    for (; *text != '\0'; ++text) {
        *text = *text == '\'' ? '"' : *text;
    }
}

#endif
