/* src/sim/def.c - copies the definition of a simulation, with its strings and options. */
#include <string.h>

#include "sim/internal.h"
#include "sim/measure.h"

static perp_status copy_text(perpi_arena* arena, const char** text)
{
    char* copy = NULL;
    const perp_status status = perpi_arena_take(arena, strlen(*text) + 1, 1, &copy);
    if (status == PERP_OK) {
        memcpy(copy, *text, strlen(*text) + 1);
        *text = copy;
    }
    return status;
}

static perp_status copy_options(perpi_arena* arena, const perp_option** option, int32_t count)
{
    perp_option* copy = NULL;
    if (count == 0) {
        *option = NULL;
        return PERP_OK;
    }
    perp_status status = perpi_arena_take(arena, (size_t)count, sizeof *copy, &copy);
    for (int32_t i = 0; status == PERP_OK && i < count; ++i) {
        copy[i] = (*option)[i];
        status = copy_text(arena, &copy[i].name);
    }
    *option = copy;
    return status;
}

static perp_status copy_parameters(perpi_arena* arena, perp_sim_def* asked)
{
    perp_parameter* copy = NULL;
    const size_t count = (size_t)asked->parameter_count;
    perp_status status = perpi_arena_take(arena, count + 1, sizeof *copy, &copy);
    for (size_t i = 0; status == PERP_OK && i < count; ++i) {
        copy[i] = asked->parameter[i];
        status = copy_text(arena, &copy[i].name);
    }
    asked->parameter = copy;
    return status;
}

static perp_status copy_measures(perpi_arena* arena, perp_sim_def* asked)
{
    perp_measure_def* copy = NULL;
    const size_t count = (size_t)asked->measure_count;
    perp_status status = perpi_arena_take(arena, count + 1, sizeof *copy, &copy);
    for (size_t i = 0; status == PERP_OK && i < count; ++i) {
        copy[i] = asked->measure[i];
        status = copy_text(arena, &copy[i].name);
        if (status == PERP_OK) {
            status = copy_text(arena, &copy[i].expression);
        }
    }
    asked->measure = copy;
    return status;
}

static perp_status copy_stops(perpi_arena* arena, perp_sim_def* asked)
{
    perp_stop_def* copy = NULL;
    const size_t count = (size_t)asked->stop_count;
    perp_status status = perpi_arena_take(arena, count + 1, sizeof *copy, &copy);
    for (size_t i = 0; status == PERP_OK && i < count; ++i) {
        copy[i] = asked->stop[i];
        status = copy_text(arena, &copy[i].name);
        if (status == PERP_OK) {
            status = copy_text(arena, &copy[i].when);
        }
    }
    asked->stop = copy;
    return status;
}

perp_status perpi_sim_keep_def(perp_sim* sim, const perp_sim_def* def)
{
    perp_status status =
        perpi_check_struct(sim->context, "perp_sim_def", def->struct_size, sizeof *def);
    if (status != PERP_OK) {
        return status;
    }
    perpi_arena* arena = &sim->asked_text;
    perp_sim_def* asked = &sim->asked;
    *asked = *def;
    const char** const text[] = {&asked->stepper, &asked->contact, &asked->solver, &asked->cone};
    static const char* const member[] = {"stepper", "contact", "solver", "friction/cone"};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; ++i) {
        if (*text[i] == NULL) {
            return perpi_fail(sim->context, PERP_ERROR_INPUT,
                              "%s: is NULL; begin with perp_sim_def_default()", member[i]);
        }
        status = copy_text(arena, text[i]);
        if (status != PERP_OK) {
            return status;
        }
    }
    status = copy_options(arena, &asked->stepper_option, asked->stepper_option_count);
    if (status == PERP_OK) {
        status = copy_options(arena, &asked->solver_option, asked->solver_option_count);
    }
    if (status == PERP_OK) {
        status = perpi_measures_check_def(sim->context, def);
    }
    if (status == PERP_OK) {
        status = copy_parameters(arena, asked);
    }
    if (status == PERP_OK) {
        status = copy_measures(arena, asked);
    }
    return status == PERP_OK ? copy_stops(arena, asked) : status;
}

const perp_sim_def* perpi_sim_asked(const perp_sim* sim)
{
    return &sim->asked;
}

const perp_model* perpi_sim_built_model(const perp_sim* sim)
{
    return sim->built;
}
