/* src/scene/field.h - the numbers of a model, one by one: see sensitivity.h. */
#ifndef PERPI_SCENE_FIELD_H
#define PERPI_SCENE_FIELD_H

#include "scene/sensitivity.h"

/* How many items have numbers of a kind, and how many numbers an item has. */
int32_t perpi_field_items(const perp_model* model, perpi_field_kind kind);
int32_t perpi_field_parts(const perp_model* model, perpi_field_kind kind, int32_t index);
/* As perpi_field_number; of a rotation the entry of the rotation vector from base to model. */
double perpi_field_between(const perp_model* base, const perp_model* model, perpi_field field);
/* The bodies that the field belongs to; -1: none. A gear has those of its two joints. */
enum { PERPI_FIELD_BODIES = 4 };
void perpi_field_bodies(const perp_model* model, perpi_field field,
                        int32_t body[PERPI_FIELD_BODIES]);
/* Whether two models have the same items, so that their fields correspond; else what differs. */
bool perpi_field_same_structure(const perp_model* a, const perp_model* b, const char** what);
/* Whether a value of one model differs from that of another at some time. */
bool perpi_field_value_differs(const perpi_value* a, const perpi_value* b);
bool perpi_field_oscillation_differs(const perp_model* a, const perp_model* b, int32_t body,
                                     double duration);

#endif
