/* cli/scene_diff.h - what differs between the scenes of two recordings. */
#ifndef PERP_CLI_SCENE_DIFF_H
#define PERP_CLI_SCENE_DIFF_H

#include "cli.h"

/* Of two scenes as perp_scene_text gives them: an array of {"path": JSON pointer, "name": of the
 * body or joint (if any), "a": value, "b": value}; a side that does not give the value has no
 * member. Members of lists are matched by their names, so that a body that is added does not shift
 * the others; the pointer is that of A, or of B where only B has it. Numbers that are equal are no
 * difference, however they are written. */
json_t* scene_diff(const char* a, const char* b);

/* A value as text, as `--set` takes it, cut to `size` bytes; "not given" for NULL. */
void scene_diff_text(const json_t* value, char* text, size_t size);

#endif
