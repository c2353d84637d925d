/* src/study/read.h - reading the keys of a study; read.c and design_read.c share it. */
#ifndef PERPI_STUDY_READ_H
#define PERPI_STUDY_READ_H

#include "scene/reader.h"
#include "study/study.h"

/* Exactly count numbers. */
PERP_NODISCARD perp_status perpi_study_numbers(perpi_reader* r, const json_t* list, size_t count,
                                               double* number);
/* One of a list of words; *found is left if the key is not there. */
PERP_NODISCARD perp_status perpi_study_word(perpi_reader* r, const json_t* object, const char* key,
                                            const char* const* words, int* found);
PERP_NODISCARD perp_status perpi_study_whole(perpi_reader* r, const json_t* object, const char* key,
                                             int64_t minimum, int64_t maximum, int64_t* number);
/* When a search ends, "stop": a count under this key, of at least 1, and a tolerance; both are left
 * if not given. */
PERP_NODISCARD perp_status perpi_study_stop(perpi_reader* r, const perp_study* s, const char* key,
                                            int64_t most, int64_t* count, double* tolerance);
/* A further name that runs set, at the current place: a column of the results, refused if it is one already. */
PERP_NODISCARD perp_status perpi_study_add_name(perpi_reader* r, perp_study* s, const char* name,
                                                perpi_vary** added);
/* Whether the table of evaluations has a column of that name. */
bool perpi_study_is_reserved_unknown(const char* name);

#endif
