/* src/base/number.h - decimal numbers in text files, in any locale. */
#ifndef PERPI_NUMBER_H
#define PERPI_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* The whole of text[0 .. length) as a finite decimal number, correctly rounded: sign, digits with a
 * point, exponent; no hexadecimal, no "inf", no blanks. False: it is none, and *number is left. */
bool perpi_number_parse(const char* text, size_t length, double* number);
/* Likewise a decimal integer of at most 9 digits. */
bool perpi_integer_parse(const char* text, size_t length, long* number);

#endif
