/* perp/record.h - recordings: written while a simulation runs, read back, verified.
 *
 * HDF5, format in docs/recording.md. The file can be read at every moment (a killed run loses at
 * most a second of wall time); equal runs give equal files except for the wall times, which are in
 * separate datasets.
 */
#ifndef PERP_RECORD_H
#define PERP_RECORD_H

#include "perp/scene.h"
#include "perp/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing -------------------------------------------------------------------------------------*/

typedef struct perp_recorder perp_recorder;

/* Creates the file and writes the first frame, the present state. scene: the one that the
 * simulation was created from; NULL: its model was built in C, and the recording keeps the scene
 * that perp_scene_from_sim writes. An old recording of that name is replaced once the new one is
 * valid; any other file is not changed. PERP_ERROR_INPUT: there is such a file, or the name
 * cannot be used. PERP_ERROR_IO: the disk is full or broken. */
PERP_API PERP_NODISCARD perp_status perp_recorder_create(perp_context* context, const char* path,
                                                         const perp_scene* scene,
                                                         const perp_sim* sim,
                                                         perp_recorder** recorder);
/* After each step. Frames are kept every `record.every` steps, and the last one always
 * (perp_recorder_finish), and states that were set (perp/set.h). seconds: wall time of the step.
 * PERP_ERROR_INPUT: the simulation was reset or restored to a step before the last recorded one. */
PERP_API PERP_NODISCARD perp_status perp_recorder_step(perp_recorder* recorder, const perp_sim* sim,
                                                       double seconds);
/* How the run ended, if not at its duration: "interrupted at t = 0.3". Kept in the summary by
 * perp_recorder_finish, at most 399 bytes of it, and shown by perp_recording_verify. */
PERP_API void perp_recorder_note(perp_recorder* recorder, const char* text);
/* Writes what is pending and marks the recording complete. PERP_ERROR_IO also if another program
 * has put its file in the recording's place meanwhile. PERP_ERROR_INPUT: the simulation stands before
 * the last recorded step; the frames until then are written, and the recording is not complete. */
PERP_API PERP_NODISCARD perp_status perp_recorder_finish(perp_recorder* recorder,
                                                         const perp_sim* sim);
/* Without perp_recorder_finish, the frames that were kept are written if the disk takes them, and the
 * recording is that of an interrupted run: readable, not complete. NULL: nothing is done. */
PERP_API void perp_recorder_destroy(perp_recorder* recorder);

/* ---- reading -------------------------------------------------------------------------------------*/

typedef struct perp_recording perp_recording;

/* Reads a complete or an interrupted recording. */
PERP_API PERP_NODISCARD perp_status perp_recording_open(perp_context* context, const char* path,
                                                        perp_recording** recording);
PERP_API void perp_recording_close(perp_recording* recording);

/* The writer finished: it was not killed and is not running. */
PERP_API bool perp_recording_complete(const perp_recording* recording);
/* And the simulation had reached its duration. */
PERP_API bool perp_recording_finished(const perp_recording* recording);
/* The text of perp_recorder_note; "" if there is none. */
PERP_API const char* perp_recording_note(const perp_recording* recording);
PERP_API const char* perp_recording_scene_text(const perp_recording* recording);
PERP_API const char* perp_recording_version(const perp_recording* recording);
/* The user's code (plugins) that the run had; "" if none was named. */
PERP_API const char* perp_recording_user_code(const perp_recording* recording);
/* Whether frames have an energy ledger, momentum errors and crossings: all but recordings of format
 * version 2, where these are 0. */
PERP_API bool perp_recording_has_ledger(const perp_recording* recording);
PERP_API int64_t perp_recording_frame_count(const perp_recording* recording);

/* Marks of a frame (perp/set.h). */
#define PERP_EDITED_STATE 1      /* the program set the state since the frame before */
#define PERP_EDITED_PARAMETERS 2 /* parameters were not the scene's, or changed, since then */

typedef struct perp_frame {
    double time;
    int64_t step;
    const double* q; /* as perp_sim_q */
    const double* v;
    const perp_contact* contacts; /* of the step that led here; none in the first frame */
    int32_t contact_count;
    const perp_joint_record* joints; /* of all joints */
    int32_t joint_count;
    double adaptive_step; /* length of the adaptive step that led here, of whose second half the
                             contacts and joints are (1 in the first frame); 0: fixed steps */
    int32_t edited;       /* PERP_EDITED_: changes by the program before the step */
    perp_energy energy;
    /* Of the step that led here; but certificate, penetration, joint and momentum errors, iterations,
     * residual, outcome and accepted_unsolved are the worst of all steps since the frame before
     * (`record.every` above 1), and ledger, crossings and fallbacks their sums (0 in the first frame).
     * report.seconds is the wall time since then. */
    perp_step_info info;
    const struct perp_frame_rest* rest; /* the rest of the state, for perp itself */
} perp_frame;
/* Pointers are valid until the next call. */
PERP_API PERP_NODISCARD perp_status perp_recording_frame(perp_recording* recording, int64_t index,
                                                         perp_frame* frame);

/* Values of quantities of the recorded scene's model (perp/measure.h) in a frame. Quantities of a step are
 * those of the frame's info; `ledger` quantities are sums since the first frame. Frames are best asked for in
 * order. */
PERP_API PERP_NODISCARD perp_status perp_recording_quantities(perp_recording* recording,
                                                              int64_t index,
                                                              const perp_quantity* quantity,
                                                              int32_t count, double* value);

/* Puts a fresh simulation of the recorded scene into the state of a frame (index, or -1 for the
 * last), warm start included. */
PERP_API PERP_NODISCARD perp_status perp_recording_restore(perp_recording* recording, int64_t index,
                                                           perp_sim* sim);

/* ---- verifying -----------------------------------------------------------------------------------*/

typedef struct perp_verification {
    bool intact;    /* every hash is correct */
    bool complete;  /* the writer had finished */
    bool finished;  /* and the simulation had reached its duration */
    char note[400]; /* how the run ended, as noted by its program; "" if nothing was */
    int64_t frames;
    int64_t steps;               /* steps between the first frame and the last */
    int64_t laws_checked;        /* of these, whose laws were recomputed from recorded numbers */
    perp_contact_residual worst; /* over these */
    int64_t worst_frame;
    int64_t ledger_checked; /* frames whose energy ledger was compared with the recorded energies */
    int64_t ledger_frame;   /* the first whose ledger does not hold, -1: none */
    char ledger_message[200]; /* and why */
    int32_t format_version;   /* of the file; 2 has no ledger */
    bool rerun;               /* re-running was possible and was done */
    bool same_bits;           /* and gave the same bits */
    int64_t first_difference; /* frame, -1: none */
    char difference[96];      /* what differs there: a dataset, of the ledger also its column */
    char message[512];        /* one sentence for a person */
    int64_t edited;      /* frames with a mark (perp_frame.edited): their steps were not checked */
    char user_code[512]; /* that the run had and this check did not; "" if none */
    int64_t unsolved; /* frames with a step that keep_going accepted although it was not solved */
} perp_verification;
/* Deprecated: the name of 0.1. */
typedef perp_verification perp_verdict;
/* Hashes first, then the laws and the energy ledger from the recorded numbers alone, then a second
 * run. */
PERP_API PERP_NODISCARD perp_status perp_recording_verify(perp_context* context, const char* path,
                                                          perp_verification* verification);
/* The same with the user's code that the run had: prepare adds it to the simulation of the second
 * run. Its forces are not among the recorded numbers, so that the laws are not recomputed from these
 * (laws_checked is 0); the second run has checked them anew, and a certificate that differs is a
 * difference of bits. */
PERP_API PERP_NODISCARD perp_status perp_recording_verify_with(
    perp_context* context, const char* path, perp_status (*prepare)(void* user, perp_sim* sim),
    void* user, perp_verification* verification);

#ifdef __cplusplus
}
#endif
#endif
