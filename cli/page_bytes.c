/* cli/page_bytes.c - a byte string that grows. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

unsigned char* page_bytes_extend(page_bytes* bytes, size_t count)
{
    if (bytes->failed || count > SIZE_MAX / 4 - bytes->size) {
        bytes->failed = true;
        return NULL;
    }
    if (bytes->data == NULL || bytes->size + count > bytes->capacity) {
        size_t capacity = bytes->capacity < 256 ? 256 : bytes->capacity;
        while (capacity < bytes->size + count) {
            capacity += capacity / 2;
        }
        unsigned char* data = realloc(bytes->data, capacity);
        if (data == NULL) {
            bytes->failed = true;
            return NULL;
        }
        bytes->data = data;
        bytes->capacity = capacity;
    }
    unsigned char* at = bytes->data + bytes->size;
    memset(at, 0, count);
    bytes->size += count;
    return at;
}

void page_bytes_add(page_bytes* bytes, const void* data, size_t count)
{
    unsigned char* at = page_bytes_extend(bytes, count);
    if (at != NULL && count > 0) {
        memcpy(at, data, count);
    }
}

void page_bytes_text(page_bytes* bytes, const char* text)
{
    page_bytes_add(bytes, text, strlen(text));
}

void page_bytes_printf(page_bytes* bytes, const char* format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof text) {
        bytes->failed = true; /* for short pieces only */
        return;
    }
    page_bytes_add(bytes, text, (size_t)length);
}

void page_bytes_free(page_bytes* bytes)
{
    free(bytes->data);
    *bytes = (page_bytes){0};
}
