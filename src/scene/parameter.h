/* src/scene/parameter.h - the parameters of a scene, and numbers that are expressions of them. */
#ifndef PERPI_SCENE_PARAMETER_H
#define PERPI_SCENE_PARAMETER_H

#include "scene/reader.h"

struct perpi_parameters {
    int32_t count;
    perp_parameter* item; /* names belong to the tree */
    const json_t** value; /* numbers, or expressions of other parameters */
    unsigned char* state; /* of the evaluation: not begun, begun, done */
    bool* used;           /* by numbers, measures and stops */
    bool* needs;          /* count x count: [i][k], i is an expression of k */
    int32_t evaluating;   /* the one whose expression is being evaluated; -1: none */
    int32_t failed;       /* the one whose expression has no value; -1: none */
};

/* Reads and evaluates "parameters" of the root. To be freed also on failure. */
PERP_NODISCARD perp_status perpi_read_parameters(perpi_reader* r, const json_t* root,
                                                 perpi_parameters* parameters);
void perpi_parameters_free(perp_context* context, perpi_parameters* parameters);
/* Marks those that others which are used depend on. */
void perpi_parameters_spread_use(perpi_parameters* parameters);

/* At the current place: an expression of parameters that varies in time or not. Without t, *number is its
 * value and *text NULL; else *text is the expression with numbers for the parameters (in the arena, or the
 * given text if it has none). constant: the number may not vary, t is refused. */
PERP_NODISCARD perp_status perpi_read_expression(perpi_reader* r, const char* given, bool constant,
                                                 double* number, const char** text);

#endif
