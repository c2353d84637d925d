/* src/record/layout.h - the contents of a recording: one table for writer, reader, hash and
 * verifier.
 *
 * Every column is one HDF5 dataset whose rows belong to frames or contacts. A block is a run of
 * successive frames in memory, column by column. docs/recording.md describes the same for a reader
 * of files.
 */
#ifndef PERPI_RECORD_LAYOUT_H
#define PERPI_RECORD_LAYOUT_H

#include <hdf5.h>

#include "base/context.h"
#include "perp/record.h"

#define PERPI_RECORD_FORMAT "perp-recording"
#define PERPI_RECORD_FORMAT_VERSION 3 /* 2: joints; 3: energy ledger, momentum account, crossings */
#define PERPI_RECORD_FORMAT_OLDEST 2  /* the oldest version that is still read */
#define PERPI_OLD_CONTACT "standard"  /* contact model of recorded scenes that do not name one */
#define PERPI_OLD_DIRECTION "start"   /* of joints, likewise */
#define PERPI_USER_CODE_SIZE 512      /* of the attribute user_code, padded with zeros */
#define PERPI_RECORD_NAME_SIZE 24     /* of a solver's name, padded with zeros */

typedef enum perpi_axis { PERPI_AXIS_FRAME, PERPI_AXIS_CONTACT, PERPI_AXIS_COUNT } perpi_axis;

typedef enum perpi_cell {
    PERPI_CELL_F64,
    PERPI_CELL_I64,
    PERPI_CELL_U64,
    PERPI_CELL_I32,
    PERPI_CELL_NAME
} perpi_cell;

/* In the order of writing: the column that commits a frame is last. */
typedef enum perpi_column {
    PERPI_COLUMN_TIME,
    PERPI_COLUMN_STEP,
    PERPI_COLUMN_Q,
    PERPI_COLUMN_V,
    PERPI_COLUMN_V_SOLVED,
    PERPI_COLUMN_KINETIC,
    PERPI_COLUMN_POTENTIAL,
    PERPI_COLUMN_TOTAL,
    PERPI_COLUMN_DYNAMICS,
    PERPI_COLUMN_NORMAL,
    PERPI_COLUMN_FRICTION,
    PERPI_COLUMN_JOINTS,
    PERPI_COLUMN_WORST_CONSTRAINT,
    PERPI_COLUMN_SOLVER,
    PERPI_COLUMN_OUTCOME,
    PERPI_COLUMN_ITERATIONS,
    PERPI_COLUMN_RESIDUAL,
    PERPI_COLUMN_CANDIDATES,
    PERPI_COLUMN_CONTACTS,
    PERPI_COLUMN_ROUNDS,
    PERPI_COLUMN_CORRECTIONS,
    PERPI_COLUMN_PENETRATION,
    PERPI_COLUMN_JOINT_ERROR_MAX,
    PERPI_COLUMN_ACCEPTED_UNSOLVED,
    PERPI_COLUMN_FALLBACKS,
    PERPI_COLUMN_CONTACT_OFFSET,
    PERPI_COLUMN_CONTACT_BODY,
    PERPI_COLUMN_CONTACT_KEY,
    PERPI_COLUMN_CONTACT_POINT,
    PERPI_COLUMN_CONTACT_NORMAL,
    PERPI_COLUMN_CONTACT_TANGENT,
    PERPI_COLUMN_CONTACT_GAP,
    PERPI_COLUMN_CONTACT_MU,
    PERPI_COLUMN_CONTACT_CONE,
    PERPI_COLUMN_CONTACT_DIRECTIONS,
    PERPI_COLUMN_CONTACT_E,
    PERPI_COLUMN_CONTACT_IMPULSE,
    PERPI_COLUMN_CONTACT_DRIFT,
    PERPI_COLUMN_CONTACT_GROUP,
    PERPI_COLUMN_CONTACT_LAYER,
    PERPI_COLUMN_CONTACT_IMPACT,
    PERPI_COLUMN_CONTACT_MIDDLE,
    PERPI_COLUMN_JOINT_IMPULSE,
    PERPI_COLUMN_JOINT_LAW,
    PERPI_COLUMN_JOINT_COORDINATE,
    PERPI_COLUMN_JOINT_ERROR,
    PERPI_COLUMN_JOINT_APPLIED,
    PERPI_COLUMN_JOINT_TARGET,
    PERPI_COLUMN_JOINT_TURNS,
    PERPI_COLUMN_MEMORY,
    PERPI_COLUMN_IMPACT,
    PERPI_COLUMN_CLOCK,
    PERPI_COLUMN_HALF_Q,
    PERPI_COLUMN_HALF_V,
    PERPI_COLUMN_HALF_V_END,
    PERPI_COLUMN_HALF_MEMORY,
    PERPI_COLUMN_LEDGER,
    PERPI_COLUMN_MOMENTUM_ERROR,
    PERPI_COLUMN_CROSSINGS,
    PERPI_COLUMN_STEP_FALLBACK,
    PERPI_COLUMN_MEASURE,
    PERPI_COLUMN_EDITED,
    PERPI_COLUMN_WALL,
    PERPI_COLUMN_HASH_WALL,
    PERPI_COLUMN_HASH_FRAME,
    PERPI_COLUMN_COUNT
} perpi_column;

/* Which of the two hashes of a frame covers a column. */
typedef enum perpi_cover {
    PERPI_COVER_FRAME,
    PERPI_COVER_WALL,
    PERPI_COVER_NONE /* the hashes themselves */
} perpi_cover;

#define PERPI_WIDTH_Q (-1)
#define PERPI_WIDTH_V (-2)
#define PERPI_WIDTH_V_SOLVED (-3) /* as V where solving velocities are recorded, else 0 */
#define PERPI_WIDTH_MEMORY (-4)
#define PERPI_WIDTH_GROUPED (-5) /* 1 where the contact model makes groups, else 0 */
#define PERPI_WIDTH_LAYER (-6)   /* a perp_contact_layer where contacts are soft, else no dataset */
#define PERPI_WIDTH_IMPACT (-7)  /* 2 if a restitution is not 0, else there is no column */
#define PERPI_WIDTH_CLOCK (-8)   /* these, with adaptive steps: 3, as Q, V, MEMORY */
#define PERPI_WIDTH_HALF_Q (-9)
#define PERPI_WIDTH_HALF_V (-10)
#define PERPI_WIDTH_HALF_MEMORY (-100)
#define PERPI_WIDTH_LEDGER (-101) /* these since version 3: PERP_LEDGER_COUNT, 2, 1 */
#define PERPI_WIDTH_MOMENTUM_ERROR (-102)
#define PERPI_WIDTH_CROSSINGS (-103)
/* a perp_contact_impact where impacts have times, else no column */
#define PERPI_WIDTH_CONTACT_IMPACT (-105)
#define PERPI_WIDTH_STEP_FALLBACK (-104) /* 2 where a step may fall back, else no column */
#define PERPI_WIDTH_MIDDLE (-108) /* 1 where bodies may have steps of two kinds, else no column */
#define PERPI_WIDTH_EDITED (-106) /* 1; older recordings have no column */
#define PERPI_WIDTH_MEASURE                                                                        \
    (-107) /* accumulators of the scene's measures and stops; none: no column */
#define PERPI_WIDTH_JOINT(n) (-10 - (n)) /* n cells for each joint */

typedef struct perpi_column_def {
    const char* path;
    perpi_cell cell;
    int32_t width; /* cells per row, or a PERPI_WIDTH_; 1 makes the dataset 1-D */
    perpi_axis axis;
    int32_t first; /* rows before the first frame's: 1 for offsets, which begin with a 0 */
    perpi_cover cover;
} perpi_column_def;

extern const perpi_column_def perpi_columns[PERPI_COLUMN_COUNT];

/* The attribute of /energy/ledger that names its columns: so many strings, padded with zeros. */
#define PERPI_LEDGER_COLUMNS "columns"
typedef char perpi_ledger_names[PERP_LEDGER_COUNT][PERPI_RECORD_NAME_SIZE];
void perpi_ledger_names_fill(perpi_ledger_names names);
/* The HDF5 type of one of them; to be closed. */
hid_t perpi_name_type(void);

size_t perpi_cell_size(perpi_cell cell);
hid_t perpi_cell_memory_type(perpi_cell cell); /* borrowed, except NAME: perpi_cell_type_close */
hid_t perpi_cell_file_type(perpi_cell cell);
void perpi_cell_type_close(perpi_cell cell, hid_t type);

/* Rows [begin, end) of an axis that belong to one frame. */
typedef struct perpi_span {
    size_t begin, end;
} perpi_span;

/* Members of a frame beyond those of perp_frame: the state that a continuation and the verifier
 * need. */
struct perp_frame_rest {
    const double* v_solved; /* that solved the step; = v where these never differ */
    const double* memory; /* impulses of springs and controllers, then the controllers' integrals */
    int32_t memory_size;
    /* Of an adaptive step: length to try next, last length, steps without impacts; NULL with fixed
     * steps. Its second half: state and memory at its start, velocities that solved it. */
    const double* clock;
    const double *half_q, *half_v, *half_memory, *half_v_end;
    const double* measure; /* accumulators of measures and stops (sim/measure.h); NULL: none */
    int32_t measure_size;
};
typedef struct perp_frame_rest perpi_frame_rest;

typedef struct perpi_block {
    perp_context* context;
    int32_t width[PERPI_COLUMN_COUNT];
    unsigned char* data[PERPI_COLUMN_COUNT];
    size_t capacity[PERPI_COLUMN_COUNT]; /* bytes */
    size_t rows[PERPI_AXIS_COUNT];
} perpi_block;

/* The properties that determine the widths of the columns. */
typedef struct perpi_state_shape {
    int32_t format_version;
    int32_t q_size, v_size, joint_count, memory_size;
    bool v_solved;        /* the velocities that solve a step may differ from those of the state */
    bool grouped;         /* the contact model makes groups */
    int32_t layered;      /* 2: contacts have soft layers; 1: without their last number; 0: none */
    bool bounces;         /* steps may be impacts */
    bool timed;           /* and impacts have times within the step that follows */
    bool adaptive;        /* steps have lengths of their own */
    bool falls_back;      /* a step may be semi-implicit instead, or keep errors of joints */
    bool parts;           /* bodies may have steps of two kinds (roll.c) */
    bool marked;          /* frames after a state was set are marked */
    int32_t measure_size; /* of the accumulators of measures and stops */
} perpi_state_shape;
perpi_state_shape perpi_state_shape_of(const perp_sim* sim);

void perpi_block_init(perpi_block* block, perp_context* context, const perpi_state_shape* shape);
void perpi_block_free(perpi_block* block);
void perpi_block_clear(perpi_block* block);
/* Room for so many rows in every column of an axis. */
PERP_NODISCARD perp_status perpi_block_reserve(perpi_block* block, perpi_axis axis, size_t rows);
/* Whether a recording with such widths has the dataset at all; older columns are always there. */
static inline bool perpi_column_exists(const perpi_block* block, int column)
{
    const bool late = column == PERPI_COLUMN_CONTACT_LAYER ||
                      column == PERPI_COLUMN_CONTACT_IMPACT ||
                      column == PERPI_COLUMN_CONTACT_MIDDLE ||
                      (column >= PERPI_COLUMN_IMPACT && column <= PERPI_COLUMN_EDITED);
    return !late || block->width[column] > 0;
}
size_t perpi_block_row_size(const perpi_block* block, perpi_column column);
/* Bytes that the block's rows take. */
size_t perpi_block_bytes(const perpi_block* block);

/* Appends a frame. contact_end: total after it, over the whole recording. The caller sets the
 * hashes. */
PERP_NODISCARD perp_status perpi_block_append(perpi_block* block, const perp_frame* frame,
                                              int64_t contact_end);
/* The hash of one frame of the block, begun with the hash of the frame before it. */
uint64_t perpi_block_hash(const perpi_block* block, perpi_cover cover, uint64_t seed, size_t frame,
                          perpi_span contacts);
/* The frame as a record; q, v point into the block, contacts are written to `contact`, joints to
 * `joint`, the solver's name to `name` (PERPI_RECORD_NAME_SIZE + 1 bytes). */
void perpi_block_frame(const perpi_block* block, size_t frame, perpi_span contacts,
                       perp_contact* contact, perp_joint_record* joint, char* name,
                       perpi_frame_rest* rest, perp_frame* out);

/* The worst of the steps since the last frame, and the sums of their ledgers, fallbacks and
 * crossings, so that no step is omitted with `record.every` above 1. */
typedef struct perpi_tally {
    int64_t steps; /* 0: none yet */
    int64_t last;  /* the number of the step counted last */
    perp_step_info worst;
} perpi_tally;

/* Counts the last step of the simulation once, however often it is called. */
void perpi_tally_step(perpi_tally* tally, const perp_sim* sim);

/* The present state of a simulation as a frame; pointers are the simulation's. */
perp_frame perpi_frame_of_sim(const perp_sim* sim, const perpi_tally* tally, double seconds,
                              perpi_frame_rest* rest);

/* Header of a recording. */
typedef struct perpi_header {
    int32_t format_version;
    char perp_version[16]; /* padded with zeros */
    int32_t dimension;
    int64_t resumed_from_step; /* -1: from the start */
    double resumed_from_time;  /* 0 then */
    size_t scene_size;
    const char* scene;
    size_t body_count;
    const int64_t* body_offset; /* body_count + 1, into body_name */
    const char* body_name;      /* the names without separators */
    size_t joint_count;         /* likewise */
    const int64_t* joint_offset;
    const char* joint_name;
    int32_t v_solved;   /* 1: the velocities that solved the steps are recorded too */
    int32_t grouped;    /* 1: its contact model makes groups */
    int32_t layered;    /* 2: its contacts have soft layers (1: old ones, without `part`); only then
                              is there an attribute */
    int32_t bounces;    /* 1: steps may be impacts, 2: with times; only then is there one */
    int32_t adaptive;   /* 1: the step is adaptive; likewise */
    int32_t falls_back; /* 1: a step may differ from the scene's stepper; likewise */
    int32_t memory_size;   /* size of the memory of springs and controllers */
    int32_t measure_size;  /* of the accumulators of measures; 0: there is no such attribute */
    const char* user_code; /* "": none; only then is there no such attribute */
} perpi_header;

uint64_t perpi_header_hash(const perpi_header* header);
static inline uint64_t perpi_wall_seed(uint64_t header_hash)
{
    return header_hash ^ UINT64_C(0x77616c6c); /* "wall" */
}

/* Summary at the end of a recording. */
#define PERPI_NOTE_SIZE 400
typedef struct perpi_summary {
    int64_t frames;
    uint64_t last_hash;
    int64_t step;
    double time;
    int64_t contacts;
    bool finished; /* the simulation had reached its duration */
    char note[PERPI_NOTE_SIZE];
} perpi_summary;

/* The text of /summary, zero-terminated; returns its length. A character of the note may take
 * six. */
#define PERPI_SUMMARY_SIZE (400 + 6 * PERPI_NOTE_SIZE)
size_t perpi_summary_write(char text[PERPI_SUMMARY_SIZE], const perpi_summary* summary);
/* False if it is not exactly what perpi_summary_write wrote. */
bool perpi_summary_read(const char* text, perpi_summary* summary);

#endif
