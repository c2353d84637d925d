/* src/base/number.c - see number.h. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The grammar is checked here; strtod, which obeys the locale, only does the rounding. */
bool perpi_number_parse(const char* text, size_t length, double* number)
{
    size_t i = 0, digits = 0;
    size_t point = length;
    i += length > 0 && (text[0] == '+' || text[0] == '-') ? 1 : 0;
    for (; i < length && (is_digit(text[i]) || text[i] == '.'); ++i) {
        if (text[i] == '.') {
            if (point != length) {
                return false;
            }
            point = i;
        } else {
            ++digits;
        }
    }
    if (digits == 0) {
        return false;
    }
    if (i < length && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        i += i < length && (text[i] == '+' || text[i] == '-') ? 1 : 0;
        const size_t from = i;
        while (i < length && is_digit(text[i])) {
            ++i;
        }
        if (i == from) {
            return false;
        }
    }
    char local[400];
    const char* mark = localeconv()->decimal_point;
    const size_t width = strlen(mark);
    if (i != length || length + width >= sizeof local) {
        return false;
    }
    memcpy(local, text, point);
    size_t n = point;
    if (point < length) {
        memcpy(local + n, mark, width);
        n += width;
        memcpy(local + n, text + point + 1, length - point - 1);
        n += length - point - 1;
    }
    local[n] = '\0';
    const double x = strtod(local, NULL);
    if (!isfinite(x)) {
        return false;
    }
    *number = x;
    return true;
}

bool perpi_integer_parse(const char* text, size_t length, long* number)
{
    const bool negative = length > 0 && text[0] == '-';
    const size_t from = length > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
    if (length == from || length - from > 9) {
        return false;
    }
    long value = 0;
    for (size_t i = from; i < length; ++i) {
        if (!is_digit(text[i])) {
            return false;
        }
        value = 10 * value + (text[i] - '0');
    }
    *number = negative ? -value : value;
    return true;
}
