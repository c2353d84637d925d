/* src/record/recording.h - an open recording, for the reader and the verifier. */
#ifndef PERPI_RECORD_RECORDING_H
#define PERPI_RECORD_RECORDING_H

#include "record/layout.h"

struct perp_recording {
    perp_context* context;
    char* path;
    hid_t file;
    hid_t dataset[PERPI_COLUMN_COUNT];
    int64_t extent[PERPI_COLUMN_COUNT]; /* rows in the file */

    perpi_header header; /* points to the arrays below */
    char* scene;         /* as it is in the file */
    char*
        named_scene; /* with what the file's does not name (perpi_json_name_defaults); else NULL */
    int64_t* body_offset;
    char* body_name;
    int64_t* joint_offset;
    char* joint_name;
    char version[24];
    char user_code[PERPI_USER_CODE_SIZE + 1];
    uint64_t header_hash; /* as recorded */
    bool header_fits;

    bool complete; /* the summary is present and valid */
    perpi_summary summary;
    int64_t committed; /* frames that the file has by its hashes */
    int64_t frames;    /* of these, the number that can be used */
    char damage[256];  /* description of the damage, "" if none was found on opening */

    /* The frames in memory: [first, first + count). */
    perpi_block block;
    int64_t first, count;
    int64_t* contact_end; /* per frame of the block: rows of the block, and before the first: 0 */
    size_t contact_end_capacity;
    perp_contact* contact;
    size_t contact_capacity;
    perp_joint_record* joint; /* of the frame last asked for */
    size_t joint_capacity;
    perpi_frame_rest rest;            /* likewise */
    bool parts;                       /* the file has the column /contacts/middle */
    bool marked;                      /* the file has the column of marks */
    struct perpi_recorded_view* view; /* quantity.c: made when quantities are first asked for */
    char name[PERPI_RECORD_NAME_SIZE + 1];
};

/* lenient: damage is noted in `damage` instead of refused. A file that is no recording is
 * refused in either case. */
PERP_NODISCARD perp_status perpi_recording_load(perp_context* context, const char* path,
                                                bool lenient, perp_recording** recording);
/* As perp_recording_restore, without the check of marks. */
PERP_NODISCARD perp_status perpi_recording_restore(perp_recording* recording, int64_t index,
                                                   perp_sim* sim);
/* Whether there is a perp recording of any version at path, complete or not. */
bool perpi_is_recording(const char* path);
/* The properties that determine the widths of its columns. */
perpi_state_shape perpi_recording_shape(const perp_recording* recording);
/* Whether the hashes of a frame are correct. */
PERP_NODISCARD perp_status perpi_recording_frame_fits(perp_recording* recording, int64_t index,
                                                      bool* fits);
/* quantity.c: releases what it keeps. */
void perpi_recording_view_free(perp_recording* recording);
/* The recorded hash of a frame; index -1: the initial value of the chain. */
PERP_NODISCARD perp_status perpi_recording_hash(perp_recording* recording, perpi_column column,
                                                int64_t index, uint64_t* hash);

#endif
