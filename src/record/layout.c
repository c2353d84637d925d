/* src/record/layout.c - the table of columns, and frames to and from columns. */
#include "record/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "record/hash.h"
#include "sim/measure.h"
#include "sim/sim.h"

#define FRAME(path, cell, width)                                                                   \
    {                                                                                              \
        path, cell, width, PERPI_AXIS_FRAME, 0, PERPI_COVER_FRAME                                  \
    }
#define CONTACT(path, cell, width)                                                                 \
    {                                                                                              \
        path, cell, width, PERPI_AXIS_CONTACT, 0, PERPI_COVER_FRAME                                \
    }

const perpi_column_def perpi_columns[PERPI_COLUMN_COUNT] = {
    [PERPI_COLUMN_TIME] = FRAME("/time", PERPI_CELL_F64, 1),
    [PERPI_COLUMN_STEP] = FRAME("/step", PERPI_CELL_I64, 1),
    [PERPI_COLUMN_Q] = FRAME("/state/q", PERPI_CELL_F64, PERPI_WIDTH_Q),
    [PERPI_COLUMN_V] = FRAME("/state/v", PERPI_CELL_F64, PERPI_WIDTH_V),
    [PERPI_COLUMN_V_SOLVED] = FRAME("/state/v_solved", PERPI_CELL_F64, PERPI_WIDTH_V_SOLVED),
    [PERPI_COLUMN_KINETIC] = FRAME("/energy/kinetic", PERPI_CELL_F64, 1),
    [PERPI_COLUMN_POTENTIAL] = FRAME("/energy/potential", PERPI_CELL_F64, 1),
    [PERPI_COLUMN_TOTAL] = FRAME("/energy/total", PERPI_CELL_F64, 1),
    [PERPI_COLUMN_DYNAMICS] = FRAME("/certificate/dynamics", PERPI_CELL_F64, 1),
    [PERPI_COLUMN_NORMAL] = FRAME("/certificate/normal", PERPI_CELL_F64, 1),
    [PERPI_COLUMN_FRICTION] = FRAME("/certificate/friction", PERPI_CELL_F64, 1),
    [PERPI_COLUMN_JOINTS] = FRAME("/certificate/joints", PERPI_CELL_F64, 1),
    [PERPI_COLUMN_WORST_CONSTRAINT] = FRAME("/certificate/worst_constraint", PERPI_CELL_I32, 1),
    [PERPI_COLUMN_SOLVER] = FRAME("/solver/name", PERPI_CELL_NAME, 1),
    [PERPI_COLUMN_OUTCOME] = FRAME("/solver/outcome", PERPI_CELL_I32, 1),
    [PERPI_COLUMN_ITERATIONS] = FRAME("/solver/iterations", PERPI_CELL_I32, 1),
    [PERPI_COLUMN_RESIDUAL] = FRAME("/solver/residual", PERPI_CELL_F64, 1),
    [PERPI_COLUMN_CANDIDATES] = FRAME("/solver/candidates", PERPI_CELL_I32, 1),
    [PERPI_COLUMN_CONTACTS] = FRAME("/solver/contacts", PERPI_CELL_I32, 1),
    [PERPI_COLUMN_ROUNDS] = FRAME("/solver/rounds", PERPI_CELL_I32, 1),
    [PERPI_COLUMN_CORRECTIONS] = FRAME("/solver/corrections", PERPI_CELL_I32, 1),
    [PERPI_COLUMN_PENETRATION] = FRAME("/solver/penetration", PERPI_CELL_F64, 1),
    [PERPI_COLUMN_JOINT_ERROR_MAX] = FRAME("/solver/joint_error", PERPI_CELL_F64, 2),
    [PERPI_COLUMN_ACCEPTED_UNSOLVED] = FRAME("/solver/accepted_unsolved", PERPI_CELL_I32, 1),
    [PERPI_COLUMN_FALLBACKS] = FRAME("/solver/fallbacks", PERPI_CELL_I32, PERPI_WIDTH_GROUPED),
    [PERPI_COLUMN_CONTACT_OFFSET] = {"/contacts/offset", PERPI_CELL_I64, 1, PERPI_AXIS_FRAME, 1,
                                     PERPI_COVER_FRAME},
    [PERPI_COLUMN_CONTACT_BODY] = CONTACT("/contacts/body", PERPI_CELL_I32, 2),
    [PERPI_COLUMN_CONTACT_KEY] = CONTACT("/contacts/key", PERPI_CELL_U64, 1),
    [PERPI_COLUMN_CONTACT_POINT] = CONTACT("/contacts/point", PERPI_CELL_F64, 3),
    [PERPI_COLUMN_CONTACT_NORMAL] = CONTACT("/contacts/normal", PERPI_CELL_F64, 3),
    [PERPI_COLUMN_CONTACT_TANGENT] = CONTACT("/contacts/tangent", PERPI_CELL_F64, 3),
    [PERPI_COLUMN_CONTACT_GAP] = CONTACT("/contacts/gap", PERPI_CELL_F64, 1),
    [PERPI_COLUMN_CONTACT_MU] = CONTACT("/contacts/mu", PERPI_CELL_F64, 1),
    [PERPI_COLUMN_CONTACT_CONE] = CONTACT("/contacts/cone", PERPI_CELL_I32, 1),
    [PERPI_COLUMN_CONTACT_DIRECTIONS] = CONTACT("/contacts/directions", PERPI_CELL_I32, 1),
    [PERPI_COLUMN_CONTACT_E] = CONTACT("/contacts/e", PERPI_CELL_F64, 3),
    [PERPI_COLUMN_CONTACT_IMPULSE] = CONTACT("/contacts/impulse", PERPI_CELL_F64, 4),
    [PERPI_COLUMN_CONTACT_DRIFT] = CONTACT("/contacts/drift", PERPI_CELL_F64, 3),
    [PERPI_COLUMN_CONTACT_GROUP] = CONTACT("/contacts/group", PERPI_CELL_I32, PERPI_WIDTH_GROUPED),
    [PERPI_COLUMN_CONTACT_LAYER] = CONTACT("/contacts/layer", PERPI_CELL_F64, PERPI_WIDTH_LAYER),
    [PERPI_COLUMN_CONTACT_IMPACT] =
        CONTACT("/contacts/impact", PERPI_CELL_F64, PERPI_WIDTH_CONTACT_IMPACT),
    [PERPI_COLUMN_CONTACT_MIDDLE] = CONTACT("/contacts/middle", PERPI_CELL_I32, PERPI_WIDTH_MIDDLE),
    [PERPI_COLUMN_JOINT_IMPULSE] = FRAME("/joints/impulse", PERPI_CELL_F64, PERPI_WIDTH_JOINT(6)),
    [PERPI_COLUMN_JOINT_LAW] = FRAME("/joints/law", PERPI_CELL_F64, PERPI_WIDTH_JOINT(5)),
    [PERPI_COLUMN_JOINT_COORDINATE] =
        FRAME("/joints/coordinate", PERPI_CELL_F64, PERPI_WIDTH_JOINT(3)),
    [PERPI_COLUMN_JOINT_ERROR] = FRAME("/joints/error", PERPI_CELL_F64, PERPI_WIDTH_JOINT(2)),
    [PERPI_COLUMN_JOINT_APPLIED] = FRAME("/joints/applied", PERPI_CELL_F64, PERPI_WIDTH_JOINT(1)),
    [PERPI_COLUMN_JOINT_TARGET] = FRAME("/joints/target", PERPI_CELL_F64, PERPI_WIDTH_JOINT(1)),
    [PERPI_COLUMN_JOINT_TURNS] = FRAME("/joints/turns", PERPI_CELL_I32, PERPI_WIDTH_JOINT(2)),
    [PERPI_COLUMN_MEMORY] = FRAME("/forces/memory", PERPI_CELL_F64, PERPI_WIDTH_MEMORY),
    [PERPI_COLUMN_IMPACT] = FRAME("/solver/impact", PERPI_CELL_I32, PERPI_WIDTH_IMPACT),
    [PERPI_COLUMN_CLOCK] = FRAME("/adaptive/clock", PERPI_CELL_F64, PERPI_WIDTH_CLOCK),
    [PERPI_COLUMN_HALF_Q] = FRAME("/adaptive/q", PERPI_CELL_F64, PERPI_WIDTH_HALF_Q),
    [PERPI_COLUMN_HALF_V] = FRAME("/adaptive/v", PERPI_CELL_F64, PERPI_WIDTH_HALF_V),
    [PERPI_COLUMN_HALF_V_END] = FRAME("/adaptive/v_end", PERPI_CELL_F64, PERPI_WIDTH_HALF_V),
    [PERPI_COLUMN_HALF_MEMORY] = FRAME("/adaptive/memory", PERPI_CELL_F64, PERPI_WIDTH_HALF_MEMORY),
    [PERPI_COLUMN_LEDGER] = FRAME("/energy/ledger", PERPI_CELL_F64, PERPI_WIDTH_LEDGER),
    [PERPI_COLUMN_MOMENTUM_ERROR] =
        FRAME("/solver/momentum_error", PERPI_CELL_F64, PERPI_WIDTH_MOMENTUM_ERROR),
    [PERPI_COLUMN_CROSSINGS] = FRAME("/solver/crossings", PERPI_CELL_I32, PERPI_WIDTH_CROSSINGS),
    [PERPI_COLUMN_STEP_FALLBACK] =
        FRAME("/solver/step_fallback", PERPI_CELL_I32, PERPI_WIDTH_STEP_FALLBACK),
    [PERPI_COLUMN_MEASURE] = FRAME("/measures/state", PERPI_CELL_F64, PERPI_WIDTH_MEASURE),
    [PERPI_COLUMN_EDITED] = FRAME("/state/edited", PERPI_CELL_I32, PERPI_WIDTH_EDITED),
    [PERPI_COLUMN_WALL] = {"/wall/step_seconds", PERPI_CELL_F64, 1, PERPI_AXIS_FRAME, 0,
                           PERPI_COVER_WALL},
    [PERPI_COLUMN_HASH_WALL] = {"/hash/wall", PERPI_CELL_U64, 1, PERPI_AXIS_FRAME, 0,
                                PERPI_COVER_NONE},
    [PERPI_COLUMN_HASH_FRAME] = {"/hash/frame", PERPI_CELL_U64, 1, PERPI_AXIS_FRAME, 0,
                                 PERPI_COVER_NONE},
};

/* ---- cells ------------------------------------------------------------------------------------*/

size_t perpi_cell_size(perpi_cell cell)
{
    switch (cell) {
    case PERPI_CELL_I32: return 4;
    case PERPI_CELL_NAME: return PERPI_RECORD_NAME_SIZE;
    case PERPI_CELL_F64:
    case PERPI_CELL_I64:
    case PERPI_CELL_U64: return 8;
    }
    return 8;
}

hid_t perpi_name_type(void)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0) {
        (void)H5Tset_size(type, PERPI_RECORD_NAME_SIZE);
        (void)H5Tset_strpad(type, H5T_STR_NULLPAD);
    }
    return type;
}

hid_t perpi_cell_memory_type(perpi_cell cell)
{
    switch (cell) {
    case PERPI_CELL_F64: return H5T_NATIVE_DOUBLE;
    case PERPI_CELL_I64: return H5T_NATIVE_INT64;
    case PERPI_CELL_U64: return H5T_NATIVE_UINT64;
    case PERPI_CELL_I32: return H5T_NATIVE_INT32;
    case PERPI_CELL_NAME: return perpi_name_type();
    }
    return -1;
}

hid_t perpi_cell_file_type(perpi_cell cell)
{
    switch (cell) {
    case PERPI_CELL_F64: return H5T_IEEE_F64LE;
    case PERPI_CELL_I64: return H5T_STD_I64LE;
    case PERPI_CELL_U64: return H5T_STD_U64LE;
    case PERPI_CELL_I32: return H5T_STD_I32LE;
    case PERPI_CELL_NAME: return perpi_name_type();
    }
    return -1;
}

void perpi_cell_type_close(perpi_cell cell, hid_t type)
{
    if (cell == PERPI_CELL_NAME && type >= 0) {
        (void)H5Tclose(type);
    }
}

void perpi_ledger_names_fill(perpi_ledger_names names)
{
    memset(names, 0, sizeof(perpi_ledger_names));
    for (int32_t i = 0; i < PERP_LEDGER_COUNT; ++i) {
        const char* name = perp_ledger_name(i);
        memcpy(names[i], name, strnlen(name, PERPI_RECORD_NAME_SIZE));
    }
}

/* ---- blocks -----------------------------------------------------------------------------------*/

perpi_state_shape perpi_state_shape_of(const perp_sim* sim)
{
    return (perpi_state_shape){.format_version = PERPI_RECORD_FORMAT_VERSION,
                               .q_size = perp_sim_q_size(sim),
                               .v_size = perp_sim_v_size(sim),
                               .joint_count = perp_model_joint_count(perp_sim_model(sim)),
                               .memory_size = perpi_sim_s_size(sim),
                               .v_solved = perpi_sim_has_v_solved(sim),
                               .grouped = perpi_sim_grouped(sim),
                               .layered = perpi_sim_layered(sim) ? 2 : 0,
                               .bounces = perpi_sim_bounces(sim),
                               .timed = perpi_sim_offset(sim) != NULL,
                               .adaptive = perpi_sim_adaptive(sim),
                               .falls_back = perpi_sim_falls_back(sim),
                               .parts = perpi_sim_has_parts(sim),
                               .marked = true,
                               .measure_size = perpi_measures_size(sim)};
}

enum {
    PERPI_LAYER_CELLS = sizeof(perp_contact_layer) / sizeof(double),
    PERPI_CONTACT_IMPACT_CELLS = sizeof(perp_contact_impact) / sizeof(double)
};
_Static_assert(sizeof(perp_contact_layer) == 11 * sizeof(double), "doubles only: a row of cells");
_Static_assert(sizeof(perp_ledger) == PERP_LEDGER_COUNT * sizeof(double), "likewise");

static int32_t width_of(int32_t width, const perpi_state_shape* shape)
{
    const bool accounts = shape->format_version >= 3;
    switch (width) {
    case PERPI_WIDTH_Q: return shape->q_size;
    case PERPI_WIDTH_V: return shape->v_size;
    case PERPI_WIDTH_GROUPED: return shape->grouped ? 1 : 0;
    case PERPI_WIDTH_LAYER:
        return shape->layered == 0   ? 0
               : shape->layered == 1 ? PERPI_LAYER_CELLS - 1
                                     : PERPI_LAYER_CELLS;
    case PERPI_WIDTH_V_SOLVED: return shape->v_solved ? shape->v_size : 0;
    case PERPI_WIDTH_MEMORY: return shape->memory_size;
    case PERPI_WIDTH_IMPACT: return shape->bounces ? 2 : 0;
    case PERPI_WIDTH_MIDDLE: return shape->parts ? 1 : 0;
    case PERPI_WIDTH_CONTACT_IMPACT: return shape->timed ? PERPI_CONTACT_IMPACT_CELLS : 0;
    case PERPI_WIDTH_CLOCK: return shape->adaptive ? 3 : 0;
    case PERPI_WIDTH_HALF_Q: return shape->adaptive ? shape->q_size : 0;
    case PERPI_WIDTH_HALF_V: return shape->adaptive ? shape->v_size : 0;
    case PERPI_WIDTH_HALF_MEMORY: return shape->adaptive ? shape->memory_size : 0;
    case PERPI_WIDTH_LEDGER: return accounts ? PERP_LEDGER_COUNT : 0;
    case PERPI_WIDTH_MOMENTUM_ERROR: return accounts ? 2 : 0;
    case PERPI_WIDTH_CROSSINGS: return accounts ? 1 : 0;
    case PERPI_WIDTH_MEASURE: return shape->measure_size;
    case PERPI_WIDTH_EDITED: return shape->marked ? 1 : 0;
    case PERPI_WIDTH_STEP_FALLBACK: return shape->falls_back ? 2 : 0;
    default: return width <= PERPI_WIDTH_JOINT(1) ? (-10 - width) * shape->joint_count : width;
    }
}

void perpi_block_init(perpi_block* block, perp_context* context, const perpi_state_shape* shape)
{
    memset(block, 0, sizeof *block);
    block->context = context;
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        block->width[c] = width_of(perpi_columns[c].width, shape);
    }
}

void perpi_block_free(perpi_block* block)
{
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        perpi_free(block->context, block->data[c]);
        block->data[c] = NULL;
        block->capacity[c] = 0;
    }
}

void perpi_block_clear(perpi_block* block)
{
    memset(block->rows, 0, sizeof block->rows);
}

size_t perpi_block_row_size(const perpi_block* block, perpi_column column)
{
    return (size_t)block->width[column] * perpi_cell_size(perpi_columns[column].cell);
}

perp_status perpi_block_reserve(perpi_block* block, perpi_axis axis, size_t rows)
{
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        if (perpi_columns[c].axis != axis) {
            continue;
        }
        const size_t need = rows * perpi_block_row_size(block, (perpi_column)c);
        const perp_status status =
            perpi_grow(block->context, &block->data[c], &block->capacity[c], need, 1);
        if (status != PERP_OK) {
            return status;
        }
    }
    return PERP_OK;
}

size_t perpi_block_bytes(const perpi_block* block)
{
    size_t bytes = 0;
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        bytes += block->rows[perpi_columns[c].axis] * perpi_block_row_size(block, (perpi_column)c);
    }
    return bytes;
}

static unsigned char* cell_at(const perpi_block* block, perpi_column column, size_t row)
{
    return block->data[column] + row * perpi_block_row_size(block, column);
}

/* value: one row of the column; NULL: zeros. */
static void put(perpi_block* block, perpi_column column, size_t row, const void* value)
{
    const size_t size = perpi_block_row_size(block, column);
    if (size > 0 && value != NULL) {
        memcpy(cell_at(block, column, row), value, size);
    } else if (size > 0) {
        memset(cell_at(block, column, row), 0, size);
    }
}

static void put_double(perpi_block* block, perpi_column column, size_t row, double value)
{
    put(block, column, row, &value);
}

static void put_int(perpi_block* block, perpi_column column, size_t row, int32_t value)
{
    put(block, column, row, &value);
}

static void put_long(perpi_block* block, perpi_column column, size_t row, int64_t value)
{
    put(block, column, row, &value);
}

static void put_contact(perpi_block* block, size_t row, const perp_contact* c)
{
    const int32_t body[2] = {c->body_a, c->body_b};
    put(block, PERPI_COLUMN_CONTACT_BODY, row, body);
    put(block, PERPI_COLUMN_CONTACT_KEY, row, &c->key);
    put(block, PERPI_COLUMN_CONTACT_POINT, row, c->point);
    put(block, PERPI_COLUMN_CONTACT_NORMAL, row, c->normal);
    put(block, PERPI_COLUMN_CONTACT_TANGENT, row, c->tangent);
    put_double(block, PERPI_COLUMN_CONTACT_GAP, row, c->gap);
    put_double(block, PERPI_COLUMN_CONTACT_MU, row, c->mu);
    put_int(block, PERPI_COLUMN_CONTACT_CONE, row, (int32_t)c->cone);
    put_int(block, PERPI_COLUMN_CONTACT_DIRECTIONS, row, c->directions);
    put(block, PERPI_COLUMN_CONTACT_E, row, c->e);
    put(block, PERPI_COLUMN_CONTACT_IMPULSE, row, c->impulse);
    put(block, PERPI_COLUMN_CONTACT_DRIFT, row, c->drift);
    put_int(block, PERPI_COLUMN_CONTACT_GROUP, row, c->group);
    put(block, PERPI_COLUMN_CONTACT_LAYER, row, &c->layer);
    put(block, PERPI_COLUMN_CONTACT_IMPACT, row, &c->impact);
    put_int(block, PERPI_COLUMN_CONTACT_MIDDLE, row, c->middle);
}

/* Joint i of a frame's row. */
static void* joint_cell(const perpi_block* block, perpi_column column, size_t frame, size_t i)
{
    const size_t width = (size_t)(-10 - perpi_columns[column].width);
    return cell_at(block, column, frame) + i * width * perpi_cell_size(perpi_columns[column].cell);
}

static void put_joint(perpi_block* block, size_t f, size_t i, const perp_joint_record* j)
{
    memcpy(joint_cell(block, PERPI_COLUMN_JOINT_IMPULSE, f, i), j->impulse, sizeof j->impulse);
    memcpy(joint_cell(block, PERPI_COLUMN_JOINT_LAW, f, i), j->law, sizeof j->law);
    memcpy(joint_cell(block, PERPI_COLUMN_JOINT_COORDINATE, f, i), j->coordinate,
           sizeof j->coordinate);
    memcpy(joint_cell(block, PERPI_COLUMN_JOINT_ERROR, f, i), j->error, sizeof j->error);
    memcpy(joint_cell(block, PERPI_COLUMN_JOINT_APPLIED, f, i), &j->applied, sizeof j->applied);
    memcpy(joint_cell(block, PERPI_COLUMN_JOINT_TARGET, f, i), &j->target, sizeof j->target);
    memcpy(joint_cell(block, PERPI_COLUMN_JOINT_TURNS, f, i), j->turns, sizeof j->turns);
}

perp_status perpi_block_append(perpi_block* block, const perp_frame* frame, int64_t contact_end)
{
    const size_t f = block->rows[PERPI_AXIS_FRAME];
    const size_t first = block->rows[PERPI_AXIS_CONTACT];
    const size_t count = (size_t)frame->contact_count;
    perp_status status = perpi_block_reserve(block, PERPI_AXIS_FRAME, f + 1);
    if (status == PERP_OK) {
        status = perpi_block_reserve(block, PERPI_AXIS_CONTACT, first + count);
    }
    if (status != PERP_OK) {
        return status;
    }

    put_double(block, PERPI_COLUMN_TIME, f, frame->time);
    put_long(block, PERPI_COLUMN_STEP, f, frame->step);
    put(block, PERPI_COLUMN_Q, f, frame->q);
    put(block, PERPI_COLUMN_V, f, frame->v);
    put(block, PERPI_COLUMN_V_SOLVED, f, frame->rest->v_solved);
    put(block, PERPI_COLUMN_MEMORY, f, frame->rest->memory);
    put_double(block, PERPI_COLUMN_KINETIC, f, frame->energy.kinetic);
    put_double(block, PERPI_COLUMN_POTENTIAL, f, frame->energy.potential);
    put_double(block, PERPI_COLUMN_TOTAL, f, frame->energy.total);

    const perp_step_info* info = &frame->info;
    put_double(block, PERPI_COLUMN_DYNAMICS, f, info->certificate.dynamics);
    put_double(block, PERPI_COLUMN_NORMAL, f, info->certificate.normal);
    put_double(block, PERPI_COLUMN_FRICTION, f, info->certificate.friction);
    put_double(block, PERPI_COLUMN_JOINTS, f, info->certificate.joints);
    put_int(block, PERPI_COLUMN_WORST_CONSTRAINT, f, info->certificate.worst_constraint);
    char name[PERPI_RECORD_NAME_SIZE] = {0};
    if (info->report.solver != NULL) {
        memcpy(name, info->report.solver, strnlen(info->report.solver, sizeof name));
    }
    put(block, PERPI_COLUMN_SOLVER, f, name);
    put_int(block, PERPI_COLUMN_OUTCOME, f, (int32_t)info->report.outcome);
    put_int(block, PERPI_COLUMN_ITERATIONS, f, info->report.iterations);
    put_double(block, PERPI_COLUMN_RESIDUAL, f, info->report.residual);
    put_int(block, PERPI_COLUMN_CANDIDATES, f, info->candidates);
    put_int(block, PERPI_COLUMN_CONTACTS, f, info->contacts);
    put_int(block, PERPI_COLUMN_ROUNDS, f, info->rounds);
    put_int(block, PERPI_COLUMN_CORRECTIONS, f, info->corrections);
    put(block, PERPI_COLUMN_JOINT_ERROR_MAX, f, info->joint_error);
    put_double(block, PERPI_COLUMN_PENETRATION, f, info->penetration);
    put_int(block, PERPI_COLUMN_ACCEPTED_UNSOLVED, f, info->accepted_unsolved ? 1 : 0);
    put_int(block, PERPI_COLUMN_FALLBACKS, f, info->fallbacks);
    const int32_t impact[2] = {(int32_t)info->kind, info->impacts_in_a_row};
    put(block, PERPI_COLUMN_IMPACT, f, impact);
    put(block, PERPI_COLUMN_CLOCK, f, frame->rest->clock);
    put(block, PERPI_COLUMN_HALF_Q, f, frame->rest->half_q);
    put(block, PERPI_COLUMN_HALF_V, f, frame->rest->half_v);
    put(block, PERPI_COLUMN_HALF_V_END, f, frame->rest->half_v_end);
    put(block, PERPI_COLUMN_HALF_MEMORY, f, frame->rest->half_memory);
    put(block, PERPI_COLUMN_LEDGER, f, &info->ledger);
    put(block, PERPI_COLUMN_MOMENTUM_ERROR, f, info->momentum_error);
    put_int(block, PERPI_COLUMN_CROSSINGS, f, info->crossings);
    const int32_t fallback[2] = {info->semi_implicit, info->joints_kept};
    put(block, PERPI_COLUMN_STEP_FALLBACK, f, fallback);
    put(block, PERPI_COLUMN_MEASURE, f, frame->rest->measure);
    put_int(block, PERPI_COLUMN_EDITED, f, frame->edited);

    put_long(block, PERPI_COLUMN_CONTACT_OFFSET, f, contact_end);
    put_double(block, PERPI_COLUMN_WALL, f, info->report.seconds);
    put_long(block, PERPI_COLUMN_HASH_WALL, f, 0);
    put_long(block, PERPI_COLUMN_HASH_FRAME, f, 0);
    for (size_t i = 0; i < count; ++i) {
        put_contact(block, first + i, &frame->contacts[i]);
    }
    for (int32_t i = 0; i < frame->joint_count; ++i) {
        put_joint(block, f, (size_t)i, &frame->joints[i]);
    }
    block->rows[PERPI_AXIS_FRAME] = f + 1;
    block->rows[PERPI_AXIS_CONTACT] = first + count;
    return PERP_OK;
}

static uint64_t hash_cells(uint64_t h, perpi_cell cell, const unsigned char* data, size_t count)
{
    if (cell == PERPI_CELL_I32) {
        for (size_t i = 0; i < count; ++i) {
            uint32_t word;
            memcpy(&word, data + 4 * i, sizeof word);
            h = perpi_hash_word(h, word);
        }
        return h;
    }
    if (cell == PERPI_CELL_NAME) {
        return perpi_hash_bytes(h, data, count * PERPI_RECORD_NAME_SIZE);
    }
    for (size_t i = 0; i < count; ++i) {
        uint64_t word;
        memcpy(&word, data + 8 * i, sizeof word);
        h = perpi_hash_word(h, word);
    }
    return h;
}

static void get(const perpi_block* block, perpi_column column, size_t row, void* value)
{
    memcpy(value, cell_at(block, column, row), perpi_block_row_size(block, column));
}

static double get_double(const perpi_block* block, perpi_column column, size_t row)
{
    double value;
    get(block, column, row, &value);
    return value;
}

static int32_t get_int(const perpi_block* block, perpi_column column, size_t row)
{
    int32_t value;
    get(block, column, row, &value);
    return value;
}

uint64_t perpi_block_hash(const perpi_block* block, perpi_cover cover, uint64_t seed, size_t frame,
                          perpi_span contacts)
{
    const perpi_span span[PERPI_AXIS_COUNT] = {
        [PERPI_AXIS_FRAME] = {frame, frame + 1},
        [PERPI_AXIS_CONTACT] = contacts,
    };
    uint64_t h = seed;
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        const perpi_column_def* def = &perpi_columns[c];
        const perpi_span rows = span[def->axis];
        if (def->cover != cover || rows.end == rows.begin || block->width[c] == 0) {
            continue;
        }
        /* a frame without a mark keeps the hash that it had in formats without marks */
        if (c == PERPI_COLUMN_EDITED && get_int(block, PERPI_COLUMN_EDITED, frame) == 0) {
            continue;
        }
        h = hash_cells(h, def->cell, cell_at(block, (perpi_column)c, rows.begin),
                       (rows.end - rows.begin) * (size_t)block->width[c]);
    }
    return h;
}

/* ---- from columns to frames ------------------------------------------------------------------ */

static perp_contact get_contact(const perpi_block* block, size_t row)
{
    perp_contact c = {0};
    int32_t body[2];
    get(block, PERPI_COLUMN_CONTACT_BODY, row, body);
    c.body_a = body[0];
    c.body_b = body[1];
    get(block, PERPI_COLUMN_CONTACT_KEY, row, &c.key);
    get(block, PERPI_COLUMN_CONTACT_POINT, row, c.point);
    get(block, PERPI_COLUMN_CONTACT_NORMAL, row, c.normal);
    get(block, PERPI_COLUMN_CONTACT_TANGENT, row, c.tangent);
    c.gap = get_double(block, PERPI_COLUMN_CONTACT_GAP, row);
    c.mu = get_double(block, PERPI_COLUMN_CONTACT_MU, row);
    c.cone = (perp_cone)get_int(block, PERPI_COLUMN_CONTACT_CONE, row);
    c.directions = get_int(block, PERPI_COLUMN_CONTACT_DIRECTIONS, row);
    get(block, PERPI_COLUMN_CONTACT_E, row, c.e);
    get(block, PERPI_COLUMN_CONTACT_IMPULSE, row, c.impulse);
    get(block, PERPI_COLUMN_CONTACT_DRIFT, row, c.drift);
    if (block->width[PERPI_COLUMN_CONTACT_GROUP] > 0) {
        c.group = get_int(block, PERPI_COLUMN_CONTACT_GROUP, row);
    }
    if (block->width[PERPI_COLUMN_CONTACT_LAYER] > 0) {
        c.layer.part = 1.0; /* old recordings do not have it */
        get(block, PERPI_COLUMN_CONTACT_LAYER, row, &c.layer);
    }
    if (block->width[PERPI_COLUMN_CONTACT_IMPACT] > 0) {
        get(block, PERPI_COLUMN_CONTACT_IMPACT, row, &c.impact);
    }
    if (block->width[PERPI_COLUMN_CONTACT_MIDDLE] > 0) {
        c.middle = get_int(block, PERPI_COLUMN_CONTACT_MIDDLE, row);
    }
    return c;
}

static perp_joint_record get_joint(const perpi_block* block, size_t f, size_t i)
{
    perp_joint_record j = {0};
    memcpy(j.impulse, joint_cell(block, PERPI_COLUMN_JOINT_IMPULSE, f, i), sizeof j.impulse);
    memcpy(j.law, joint_cell(block, PERPI_COLUMN_JOINT_LAW, f, i), sizeof j.law);
    memcpy(j.coordinate, joint_cell(block, PERPI_COLUMN_JOINT_COORDINATE, f, i),
           sizeof j.coordinate);
    memcpy(j.error, joint_cell(block, PERPI_COLUMN_JOINT_ERROR, f, i), sizeof j.error);
    memcpy(&j.applied, joint_cell(block, PERPI_COLUMN_JOINT_APPLIED, f, i), sizeof j.applied);
    memcpy(&j.target, joint_cell(block, PERPI_COLUMN_JOINT_TARGET, f, i), sizeof j.target);
    memcpy(j.turns, joint_cell(block, PERPI_COLUMN_JOINT_TURNS, f, i), sizeof j.turns);
    return j;
}

/* The records of the step. */
static void get_info(const perpi_block* block, size_t f, char* name, perp_step_info* info)
{
    perp_contact_residual* r = &info->certificate;
    r->dynamics = get_double(block, PERPI_COLUMN_DYNAMICS, f);
    r->normal = get_double(block, PERPI_COLUMN_NORMAL, f);
    r->friction = get_double(block, PERPI_COLUMN_FRICTION, f);
    r->joints = get_double(block, PERPI_COLUMN_JOINTS, f);
    r->worst_constraint = get_int(block, PERPI_COLUMN_WORST_CONSTRAINT, f);
    r->worst = r->dynamics;
    r->worst = r->normal <= r->worst ? r->worst : r->normal;
    r->worst = r->friction <= r->worst ? r->worst : r->friction;
    r->worst = r->joints <= r->worst ? r->worst : r->joints;
    get(block, PERPI_COLUMN_SOLVER, f, name);
    name[PERPI_RECORD_NAME_SIZE] = '\0';
    info->report.solver = name;
    info->report.outcome = (perp_outcome)get_int(block, PERPI_COLUMN_OUTCOME, f);
    info->report.iterations = get_int(block, PERPI_COLUMN_ITERATIONS, f);
    info->report.residual = get_double(block, PERPI_COLUMN_RESIDUAL, f);
    info->report.seconds = get_double(block, PERPI_COLUMN_WALL, f);
    info->candidates = get_int(block, PERPI_COLUMN_CANDIDATES, f);
    info->contacts = get_int(block, PERPI_COLUMN_CONTACTS, f);
    info->rounds = get_int(block, PERPI_COLUMN_ROUNDS, f);
    info->corrections = get_int(block, PERPI_COLUMN_CORRECTIONS, f);
    get(block, PERPI_COLUMN_JOINT_ERROR_MAX, f, info->joint_error);
    info->penetration = get_double(block, PERPI_COLUMN_PENETRATION, f);
    info->accepted_unsolved = get_int(block, PERPI_COLUMN_ACCEPTED_UNSOLVED, f) != 0;
    if (block->width[PERPI_COLUMN_FALLBACKS] > 0) {
        info->fallbacks = get_int(block, PERPI_COLUMN_FALLBACKS, f);
    }
    if (block->width[PERPI_COLUMN_STEP_FALLBACK] > 0) {
        int32_t fallback[2];
        get(block, PERPI_COLUMN_STEP_FALLBACK, f, fallback);
        info->semi_implicit = fallback[0];
        info->joints_kept = fallback[1];
    }
    if (block->width[PERPI_COLUMN_IMPACT] > 0) {
        int32_t impact[2];
        get(block, PERPI_COLUMN_IMPACT, f, impact);
        info->kind = (perp_step_kind)impact[0];
        info->impacts_in_a_row = impact[1];
    }
    if (block->width[PERPI_COLUMN_LEDGER] > 0) {
        get(block, PERPI_COLUMN_LEDGER, f, &info->ledger);
        get(block, PERPI_COLUMN_MOMENTUM_ERROR, f, info->momentum_error);
        info->crossings = get_int(block, PERPI_COLUMN_CROSSINGS, f);
    }
}

void perpi_block_frame(const perpi_block* block, size_t f, perpi_span contacts,
                       perp_contact* contact, perp_joint_record* joint, char* name,
                       perpi_frame_rest* rest, perp_frame* out)
{
    memset(out, 0, sizeof *out);
    *rest = (perpi_frame_rest){0};
    out->rest = rest;
    out->time = get_double(block, PERPI_COLUMN_TIME, f);
    get(block, PERPI_COLUMN_STEP, f, &out->step);
    /* Rows of doubles in memory from malloc: aligned. */
    out->q = (const double*)(const void*)cell_at(block, PERPI_COLUMN_Q, f);
    out->v = (const double*)(const void*)cell_at(block, PERPI_COLUMN_V, f);
    rest->v_solved = block->width[PERPI_COLUMN_V_SOLVED] > 0
                         ? (const double*)(const void*)cell_at(block, PERPI_COLUMN_V_SOLVED, f)
                         : out->v;
    rest->memory = (const double*)(const void*)cell_at(block, PERPI_COLUMN_MEMORY, f);
    rest->memory_size = block->width[PERPI_COLUMN_MEMORY];
    rest->measure_size = block->width[PERPI_COLUMN_MEASURE];
    rest->measure = rest->measure_size > 0
                        ? (const double*)(const void*)cell_at(block, PERPI_COLUMN_MEASURE, f)
                        : NULL;
    out->energy.kinetic = get_double(block, PERPI_COLUMN_KINETIC, f);
    out->energy.potential = get_double(block, PERPI_COLUMN_POTENTIAL, f);
    out->energy.total = get_double(block, PERPI_COLUMN_TOTAL, f);

    get_info(block, f, name, &out->info);
    if (block->width[PERPI_COLUMN_CLOCK] > 0) {
        rest->clock = (const double*)cell_at(block, PERPI_COLUMN_CLOCK, f);
        rest->half_q = (const double*)cell_at(block, PERPI_COLUMN_HALF_Q, f);
        rest->half_v = (const double*)cell_at(block, PERPI_COLUMN_HALF_V, f);
        rest->half_v_end = (const double*)cell_at(block, PERPI_COLUMN_HALF_V_END, f);
        rest->half_memory = (const double*)cell_at(block, PERPI_COLUMN_HALF_MEMORY, f);
    }
    if (block->width[PERPI_COLUMN_EDITED] > 0) {
        out->edited = get_int(block, PERPI_COLUMN_EDITED, f);
    }
    out->adaptive_step = rest->clock != NULL ? rest->clock[1] : 0.0;

    out->contacts = contact;
    out->contact_count = (int32_t)(contacts.end - contacts.begin);
    for (size_t i = contacts.begin; i < contacts.end; ++i) {
        contact[i - contacts.begin] = get_contact(block, i);
    }
    out->joints = joint;
    out->joint_count = block->width[PERPI_COLUMN_JOINT_APPLIED];
    for (int32_t i = 0; i < out->joint_count; ++i) {
        joint[i] = get_joint(block, f, (size_t)i);
    }
}

static void take_worst(double* worst, double now)
{
    if (!(now <= *worst)) { /* keeps a NaN */
        *worst = now;
    }
}

void perpi_tally_step(perpi_tally* tally, const perp_sim* sim)
{
    const perp_step_info info = perp_sim_step_info(sim);
    perp_step_info* worst = &tally->worst;
    if (tally->steps > 0 && tally->last == perp_sim_step_count(sim)) {
        return;
    }
    tally->last = perp_sim_step_count(sim);
    if (tally->steps++ == 0) {
        *worst = info;
        return;
    }
    take_worst(&worst->certificate.dynamics, info.certificate.dynamics);
    take_worst(&worst->certificate.normal, info.certificate.normal);
    take_worst(&worst->certificate.friction, info.certificate.friction);
    take_worst(&worst->certificate.joints, info.certificate.joints);
    take_worst(&worst->certificate.worst, info.certificate.worst);
    take_worst(&worst->report.residual, info.report.residual);
    take_worst(&worst->penetration, info.penetration);
    take_worst(&worst->joint_error[0], info.joint_error[0]);
    take_worst(&worst->joint_error[1], info.joint_error[1]);
    if (info.report.iterations > worst->report.iterations) {
        worst->report.iterations = info.report.iterations;
    }
    /* The outcome of the first that was not solved is kept. */
    if (worst->report.outcome == PERP_OUTCOME_UNSET ||
        (worst->report.outcome == PERP_OUTCOME_SOLVED &&
         info.report.outcome != PERP_OUTCOME_UNSET)) {
        worst->report.outcome = info.report.outcome;
    }
    worst->accepted_unsolved = worst->accepted_unsolved || info.accepted_unsolved;
    worst->fallbacks += info.fallbacks;
    perp_ledger_add(&worst->ledger, &info.ledger);
    take_worst(&worst->momentum_error[0], info.momentum_error[0]);
    take_worst(&worst->momentum_error[1], info.momentum_error[1]);
    worst->crossings += info.crossings;
    worst->semi_implicit += info.semi_implicit;
    worst->joints_kept += info.joints_kept;
}

/* worst_constraint, name, counts and rounds remain those of the last step: they belong to the
 * contacts of the frame. */
static void apply_tally(perp_step_info* info, const perpi_tally* tally)
{
    info->ledger = tally->worst.ledger; /* of a first frame: 0, nothing was summed */
    info->momentum_error[0] = tally->worst.momentum_error[0];
    info->momentum_error[1] = tally->worst.momentum_error[1];
    info->crossings = tally->worst.crossings;
    info->semi_implicit = tally->worst.semi_implicit;
    info->joints_kept = tally->worst.joints_kept;
    if (tally->steps == 0) {
        return;
    }
    const int32_t worst_constraint = info->certificate.worst_constraint;
    info->certificate = tally->worst.certificate;
    info->certificate.worst_constraint = worst_constraint;
    info->report.residual = tally->worst.report.residual;
    info->report.iterations = tally->worst.report.iterations;
    info->report.outcome = tally->worst.report.outcome;
    info->penetration = tally->worst.penetration;
    info->joint_error[0] = tally->worst.joint_error[0];
    info->joint_error[1] = tally->worst.joint_error[1];
    info->accepted_unsolved = tally->worst.accepted_unsolved;
    info->fallbacks = tally->worst.fallbacks;
}

perp_frame perpi_frame_of_sim(const perp_sim* sim, const perpi_tally* tally, double seconds,
                              perpi_frame_rest* rest)
{
    perp_frame frame = {.rest = rest};
    *rest = (perpi_frame_rest){0};
    frame.time = perp_sim_time(sim);
    frame.step = perp_sim_step_count(sim);
    frame.q = perp_sim_q(sim);
    frame.v = perp_sim_v(sim);
    rest->v_solved = perpi_sim_v_solved(sim);
    rest->memory = perpi_sim_s(sim);
    rest->memory_size = perpi_sim_s_size(sim);
    if (perpi_sim_adaptive(sim)) {
        const perpi_half half = perpi_sim_half(sim);
        rest->clock = perpi_sim_clock(sim);
        rest->half_q = half.q;
        rest->half_v = half.v;
        rest->half_v_end = half.v_end;
        rest->half_memory = half.s;
    }
    rest->measure = perpi_measures_state(sim);
    rest->measure_size = perpi_measures_size(sim);
    frame.joints = perp_sim_joint_records(sim, &frame.joint_count);
    frame.contacts = perp_sim_contacts(sim, &frame.contact_count);
    frame.energy = perp_sim_energy(sim);
    frame.info = perp_sim_step_info(sim);
    apply_tally(&frame.info, tally);
    frame.info.report.seconds = seconds;
    return frame;
}

/* ---- header and summary -----------------------------------------------------------------------*/

uint64_t perpi_header_hash(const perpi_header* header)
{
    uint64_t h = PERPI_HASH_SEED;
    h = perpi_hash_word(h, (uint32_t)header->format_version);
    h = perpi_hash_bytes(h, header->perp_version, sizeof header->perp_version);
    h = perpi_hash_word(h, (uint32_t)header->dimension);
    h = perpi_hash_word(h, (uint64_t)header->resumed_from_step);
    h = perpi_hash_double(h, header->resumed_from_time);
    h = perpi_hash_bytes(h, header->scene, header->scene_size);
    for (size_t i = 0; i <= header->body_count; ++i) {
        h = perpi_hash_word(h, (uint64_t)header->body_offset[i]);
    }
    h = perpi_hash_bytes(h, header->body_name, (size_t)header->body_offset[header->body_count]);
    for (size_t i = 0; i <= header->joint_count; ++i) {
        h = perpi_hash_word(h, (uint64_t)header->joint_offset[i]);
    }
    h = perpi_hash_bytes(h, header->joint_name, (size_t)header->joint_offset[header->joint_count]);
    h = perpi_hash_word(h, (uint32_t)header->v_solved);
    h = perpi_hash_word(h, (uint32_t)header->memory_size);
    /* recordings without impacts or groups keep the hash that they had in formats without these */
    h = header->grouped != 0 ? perpi_hash_word(h, (uint32_t)header->grouped) : h;
    h = header->layered != 0 ? perpi_hash_word(h, UINT64_C(0x6c61796572)) : h;     /* "layer" */
    h = header->adaptive != 0 ? perpi_hash_word(h, UINT64_C(0x6164617074)) : h;    /* "adapt" */
    h = header->bounces != 0 ? perpi_hash_word(h, UINT64_C(0x696d7061637473)) : h; /* "impacts" */
    h = header->falls_back != 0 ? perpi_hash_word(h, UINT64_C(0x66616c6c)) : h;    /* "fall" */
    h = header->measure_size != 0 ? perpi_hash_word(h, (uint32_t)header->measure_size) : h;
    return header->user_code[0] == '\0'
               ? h
               : perpi_hash_bytes(h, header->user_code, strlen(header->user_code));
}

static const char summary_tail[] = ", \"hash\": \"";
static const char summary_stopped[] = ", \"status\": \"stopped\"";
static const char summary_note[] = ", \"note\": \"";

/* The note escaped as a JSON string, so that its quotes cannot end it. */
static size_t write_note(char* text, const char* note)
{
    size_t n = 0;
    for (const char* c = note; *c != '\0'; ++c) {
        const unsigned char byte = (unsigned char)*c;
        if (byte < 0x20 || byte == 0x7f || byte == '"' || byte == '\\') {
            n += (size_t)sprintf(text + n, "\\u%04x", (unsigned)byte);
        } else {
            text[n++] = *c;
        }
    }
    text[n] = '\0';
    return n;
}

static void read_note(const char* text, char note[PERPI_NOTE_SIZE])
{
    size_t n = 0;
    while (*text != '\0' && *text != '"' && n + 1 < PERPI_NOTE_SIZE) {
        unsigned code;
        if (sscanf(text, "\\u%4x", &code) == 1) {
            note[n++] = (char)code;
            text += 6;
        } else {
            note[n++] = *text++;
        }
    }
    note[n] = '\0';
}

size_t perpi_summary_write(char text[PERPI_SUMMARY_SIZE], const perpi_summary* s)
{
    int length =
        snprintf(text, PERPI_SUMMARY_SIZE,
                 "{\"frames\": %" PRId64 ", \"last_hash\": \"%016" PRIx64 "\", \"step\": %" PRId64
                 ", \"time\": %.17g, \"contacts\": %" PRId64 "%s%s",
                 s->frames, s->last_hash, s->step, s->time, s->contacts,
                 s->finished ? ", \"status\": \"finished\"" : summary_stopped,
                 s->note[0] != '\0' ? summary_note : "");
    if (s->note[0] != '\0') {
        length += (int)write_note(text + length, s->note);
        length += sprintf(text + length, "\"");
    }
    const uint64_t h = perpi_hash_bytes(PERPI_HASH_SEED, text, (size_t)length);
    const int tail = snprintf(text + length, PERPI_SUMMARY_SIZE - (size_t)length,
                              "%s%016" PRIx64 "\"}", summary_tail, h);
    return (size_t)(length + tail);
}

bool perpi_summary_read(const char* text, perpi_summary* summary)
{
    const char* tail = strstr(text, summary_tail);
    if (tail == NULL) {
        return false;
    }
    char expect[40];
    const uint64_t h = perpi_hash_bytes(PERPI_HASH_SEED, text, (size_t)(tail - text));
    (void)snprintf(expect, sizeof expect, "%s%016" PRIx64 "\"}", summary_tail, h);
    perpi_summary s = {0};
    if (strcmp(tail, expect) != 0 ||
        sscanf(text,
               "{\"frames\": %" SCNd64 ", \"last_hash\": \"%" SCNx64 "\", \"step\": %" SCNd64
               ", \"time\": %lf, \"contacts\": %" SCNd64,
               &s.frames, &s.last_hash, &s.step, &s.time, &s.contacts) != 5) {
        return false;
    }
    s.finished = strstr(text, summary_stopped) == NULL;
    const char* note = strstr(text, summary_note);
    if (note != NULL) {
        read_note(note + strlen(summary_note), s.note);
    }
    *summary = s;
    return true;
}
