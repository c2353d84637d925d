/* src/record/recorder.c - writes a recording while a simulation runs.
 *
 * The file is created under a temporary name with all of its objects, gets its first frame,
 * switches to SWMR (after which HDF5 orders its writes so that the file can be read at every
 * moment) and is renamed to its final name. Frames then collect in memory and are appended at least
 * twice a second; /hash/frame is extended last, so that its length is the number of complete
 * frames.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record/disk.h"
#include "record/hash.h"
#include "record/layout.h"
#include "record/recording.h"
#include "sim/sim.h"

#define FLUSH_SECONDS 0.5
#define FLUSH_BYTES ((size_t)4 << 20)
#define FLUSH_FRAMES ((size_t)1024)
#define CHUNK_BYTES ((size_t)4096)

struct perp_recorder {
    perp_context* context;
    char* path;      /* final path of the recording */
    char* temporary; /* path until the file is valid */
    bool in_place;
    dev_t device; /* with inode: identifies our file, even if another one is at path later */
    ino_t inode;
    perpi_trouble trouble;
    hid_t driver, file;
    hid_t dataset[PERPI_COLUMN_COUNT];
    perpi_block pending;
    int64_t written[PERPI_AXIS_COUNT]; /* rows in the file */
    int64_t contact_total;             /* pending ones included */
    uint64_t frame_hash, wall_hash;    /* of the last frame */
    int32_t every;
    int64_t tallied_step;    /* the last one that the tally includes */
    int64_t last_step;       /* step of the last frame kept */
    int64_t states, changes; /* how often the state and parameters had been set by then */
    perpi_tally tally;       /* since that frame */
    double seconds;          /* wall time since that frame */
    double last_flush;
    perp_status failed; /* the first failure; later calls repeat it */
    bool finished;
    char note[PERPI_NOTE_SIZE];
};

static double wall_clock(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Errors of the given path, which a retry cannot fix; all others are temporary. */
static bool is_bad_place(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM ||
           error == EROFS || error == EISDIR || error == ENAMETOOLONG || error == ELOOP ||
           error == EINVAL || error == ETXTBSY;
}

/* The error message after a failure of HDF5 or the disk. */
static perp_status disk_failure(perp_recorder* r)
{
    const bool bad_place = !r->in_place && is_bad_place(r->trouble.error);
    r->failed = bad_place ? PERP_ERROR_INPUT : PERP_ERROR_IO;
    if (r->trouble.error != 0) {
        return perpi_fail(r->context, r->failed, "%s: cannot write: %s", r->path,
                          strerror(r->trouble.error));
    }
    return perpi_fail(r->context, PERP_ERROR_IO, "%s: HDF5 cannot write the recording", r->path);
}

/* ---- creating ---------------------------------------------------------------------------------*/

static hid_t tracking_off(hid_t plist_class)
{
    const hid_t plist = H5Pcreate(plist_class);
    if (plist >= 0) {
        (void)H5Pset_obj_track_times(plist, false);
    }
    return plist;
}

static bool write_attribute(hid_t file, const char* name, hid_t file_type, hid_t memory_type,
                            const void* value)
{
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(file, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    const bool ok = attribute >= 0 && H5Awrite(attribute, memory_type, value) >= 0;
    if (attribute >= 0) {
        (void)H5Aclose(attribute);
    }
    (void)H5Sclose(space);
    return ok;
}

static bool write_text_attribute(hid_t file, const char* name, const char* value, size_t size)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, size);
    (void)H5Tset_strpad(type, H5T_STR_NULLPAD);
    const bool ok = write_attribute(file, name, type, type, value);
    (void)H5Tclose(type);
    return ok;
}

/* A dataset that never grows. */
static bool write_fixed(hid_t file, const char* path, hid_t file_type, hid_t memory_type,
                        size_t count, const void* data)
{
    const hsize_t extent = count;
    const hid_t space = H5Screate_simple(1, &extent, NULL);
    const hid_t plist = tracking_off(H5P_DATASET_CREATE);
    const hid_t dataset = H5Dcreate2(file, path, file_type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    bool ok = dataset >= 0;
    if (ok && count > 0) {
        ok = H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    }
    if (dataset >= 0) {
        (void)H5Dclose(dataset);
    }
    (void)H5Pclose(plist);
    (void)H5Sclose(space);
    return ok;
}

/* An empty dataset that grows along its first dimension. width 0 (a model without bodies) keeps a
 * column of width 1 that nothing is ever written to. */
static bool create_growing(hid_t file, const char* path, hid_t type, size_t cell_size,
                           int32_t width, bool flat)
{
    const hsize_t columns = width > 0 ? (hsize_t)width : 1;
    const size_t row_size = (size_t)columns * cell_size;
    const hsize_t rows = row_size < CHUNK_BYTES ? CHUNK_BYTES / row_size : 1;
    const hsize_t extent[2] = {0, columns}, limit[2] = {H5S_UNLIMITED, columns};
    const hsize_t chunk[2] = {rows, columns};
    const int rank = flat ? 1 : 2;
    const hid_t space = H5Screate_simple(rank, extent, limit);
    const hid_t plist = tracking_off(H5P_DATASET_CREATE);
    (void)H5Pset_chunk(plist, rank, chunk);
    const hid_t dataset = H5Dcreate2(file, path, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (dataset >= 0) {
        (void)H5Dclose(dataset);
    }
    (void)H5Pclose(plist);
    (void)H5Sclose(space);
    return dataset >= 0;
}

static bool create_groups(hid_t file, bool adaptive, bool measures)
{
    const char* group[12] = {"/bodies",   "/state",  "/energy", "/certificate", "/solver",
                             "/contacts", "/joints", "/forces", "/wall",        "/hash"};
    size_t count = 10;
    if (adaptive) {
        group[count++] = "/adaptive";
    }
    if (measures) {
        group[count++] = "/measures";
    }
    const hid_t plist = tracking_off(H5P_GROUP_CREATE);
    bool ok = plist >= 0;
    for (size_t i = 0; ok && i < count; ++i) {
        const hid_t id = H5Gcreate2(file, group[i], H5P_DEFAULT, plist, H5P_DEFAULT);
        ok = id >= 0 && H5Gclose(id) >= 0;
    }
    (void)H5Pclose(plist);
    return ok;
}

static bool write_header(perp_recorder* r, const perpi_header* h)
{
    const hid_t file = r->file;
    const uint64_t hash = perpi_header_hash(h);
    r->frame_hash = hash;
    r->wall_hash = perpi_wall_seed(hash);
    return write_text_attribute(file, "format", PERPI_RECORD_FORMAT, sizeof PERPI_RECORD_FORMAT) &&
           write_attribute(file, "format_version", H5T_STD_I32LE, H5T_NATIVE_INT32,
                           &h->format_version) &&
           write_text_attribute(file, "perp_version", h->perp_version, sizeof h->perp_version) &&
           write_attribute(file, "dimension", H5T_STD_I32LE, H5T_NATIVE_INT32, &h->dimension) &&
           write_attribute(file, "resumed_from_step", H5T_STD_I64LE, H5T_NATIVE_INT64,
                           &h->resumed_from_step) &&
           write_attribute(file, "resumed_from_time", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                           &h->resumed_from_time) &&
           write_attribute(file, "v_solved", H5T_STD_I32LE, H5T_NATIVE_INT32, &h->v_solved) &&
           write_attribute(file, "contact_groups", H5T_STD_I32LE, H5T_NATIVE_INT32, &h->grouped) &&
           write_attribute(file, "memory_size", H5T_STD_I32LE, H5T_NATIVE_INT32, &h->memory_size) &&
           (h->layered == 0 ||
            write_attribute(file, "soft_contacts", H5T_STD_I32LE, H5T_NATIVE_INT32, &h->layered)) &&
           (h->adaptive == 0 ||
            write_attribute(file, "adaptive", H5T_STD_I32LE, H5T_NATIVE_INT32, &h->adaptive)) &&
           (h->bounces == 0 ||
            write_attribute(file, "impacts", H5T_STD_I32LE, H5T_NATIVE_INT32, &h->bounces)) &&
           (h->falls_back == 0 || write_attribute(file, "step_fallbacks", H5T_STD_I32LE,
                                                  H5T_NATIVE_INT32, &h->falls_back)) &&
           (h->measure_size == 0 || write_attribute(file, "measure_size", H5T_STD_I32LE,
                                                    H5T_NATIVE_INT32, &h->measure_size)) &&
           (h->user_code[0] == '\0' ||
            write_text_attribute(file, "user_code", h->user_code, PERPI_USER_CODE_SIZE)) &&
           write_attribute(file, "header_hash", H5T_STD_U64LE, H5T_NATIVE_UINT64, &hash) &&
           create_groups(file, h->adaptive != 0, h->measure_size != 0) &&
           write_fixed(file, "/scene", H5T_STD_U8LE, H5T_NATIVE_UINT8, h->scene_size, h->scene) &&
           write_fixed(file, "/bodies/offset", H5T_STD_I64LE, H5T_NATIVE_INT64, h->body_count + 1,
                       h->body_offset) &&
           write_fixed(file, "/bodies/name", H5T_STD_U8LE, H5T_NATIVE_UINT8,
                       (size_t)h->body_offset[h->body_count], h->body_name) &&
           write_fixed(file, "/joints/offset", H5T_STD_I64LE, H5T_NATIVE_INT64, h->joint_count + 1,
                       h->joint_offset) &&
           write_fixed(file, "/joints/name", H5T_STD_U8LE, H5T_NATIVE_UINT8,
                       (size_t)h->joint_offset[h->joint_count], h->joint_name);
}

/* Writes the names of the columns of /energy/ledger. */
static bool name_ledger(hid_t file)
{
    perpi_ledger_names names;
    perpi_ledger_names_fill(names);
    const hsize_t count = PERP_LEDGER_COUNT;
    const hid_t type = perpi_name_type();
    const hid_t space = H5Screate_simple(1, &count, NULL);
    const hid_t attribute =
        H5Acreate_by_name(file, perpi_columns[PERPI_COLUMN_LEDGER].path, PERPI_LEDGER_COLUMNS, type,
                          space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const bool ok = attribute >= 0 && H5Awrite(attribute, type, names) >= 0;
    if (attribute >= 0) {
        (void)H5Aclose(attribute);
    }
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    return ok;
}

static bool create_columns(perp_recorder* r)
{
    bool ok = create_growing(r->file, "/summary", H5T_STD_U8LE, 1, 1, true);
    for (int c = 0; ok && c < PERPI_COLUMN_COUNT; ++c) {
        const perpi_column_def* def = &perpi_columns[c];
        if (!perpi_column_exists(&r->pending, c)) {
            continue;
        }
        const hid_t type = perpi_cell_file_type(def->cell);
        ok = type >= 0 && create_growing(r->file, def->path, type, perpi_cell_size(def->cell),
                                         r->pending.width[c], def->width == 1);
        perpi_cell_type_close(def->cell, type);
    }
    return ok && name_ledger(r->file);
}

/* The names of a model's bodies or joints, in one piece. */
static perp_status gather_names(perp_context* context, const perp_model* model, int32_t count,
                                const char* (*name_of)(const perp_model* model, int32_t index),
                                int64_t** offset, char** name)
{
    const size_t n = (size_t)count;
    int64_t* at = NULL;
    char* text = NULL;
    perp_status status = perpi_alloc(context, n + 1, sizeof *at, &at);
    if (status != PERP_OK) {
        return status;
    }
    for (size_t i = 0; i < n; ++i) {
        at[i + 1] = at[i] + (int64_t)strlen(name_of(model, (int32_t)i));
    }
    status = perpi_alloc(context, (size_t)at[n] + 1, 1, &text);
    if (status != PERP_OK) {
        perpi_free(context, at);
        return status;
    }
    for (size_t i = 0; i < n; ++i) {
        memcpy(text + at[i], name_of(model, (int32_t)i), (size_t)(at[i + 1] - at[i]));
    }
    *offset = at;
    *name = text;
    return PERP_OK;
}

static perp_status create_file(perp_recorder* r)
{
    const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    const hid_t fcpl = tracking_off(H5P_FILE_CREATE);
    r->driver = perpi_disk_register();
    if (fapl >= 0 && fcpl >= 0 && r->driver >= 0 &&
        H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) >= 0 &&
        perpi_disk_select(fapl, r->driver, &r->trouble) >= 0) {
        r->file = H5Fcreate(r->temporary, H5F_ACC_TRUNC, fcpl, fapl);
    }
    (void)H5Pclose(fapl);
    (void)H5Pclose(fcpl);
    return r->file >= 0 && r->trouble.error == 0 ? PERP_OK : disk_failure(r);
}

/* ---- appending --------------------------------------------------------------------------------*/

/* Appends rows behind the first `at` ones. */
static bool append_rows(hid_t dataset, hid_t type, bool flat, int32_t width, int64_t at,
                        size_t count, const void* data)
{
    if (count == 0 || width == 0) {
        return true;
    }
    const hsize_t extent[2] = {(hsize_t)at + count, (hsize_t)width};
    const hsize_t start[2] = {(hsize_t)at, 0}, size[2] = {count, (hsize_t)width};
    if (H5Dset_extent(dataset, extent) < 0) {
        return false;
    }
    const hid_t space = H5Dget_space(dataset);
    const hid_t memory = H5Screate_simple(flat ? 1 : 2, size, NULL);
    const bool ok = space >= 0 && memory >= 0 &&
                    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL) >= 0 &&
                    H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, data) >= 0;
    (void)H5Sclose(memory);
    (void)H5Sclose(space);
    return ok;
}

static bool append_column(perp_recorder* r, perpi_column c)
{
    if (!perpi_column_exists(&r->pending, (int)c)) {
        return true;
    }
    const perpi_column_def* def = &perpi_columns[c];
    const hid_t type = perpi_cell_memory_type(def->cell);
    const bool ok = append_rows(r->dataset[c], type, def->width == 1, r->pending.width[c],
                                r->written[def->axis] + def->first, r->pending.rows[def->axis],
                                r->pending.data[c]);
    perpi_cell_type_close(def->cell, type);
    return ok && r->trouble.error == 0;
}

/* Writes what is pending: all columns first, then the hashes that commit them. */
static perp_status flush_pending(perp_recorder* r)
{
    r->last_flush = wall_clock();
    if (r->pending.rows[PERPI_AXIS_FRAME] == 0) {
        return PERP_OK;
    }
    for (int c = 0; c < PERPI_COLUMN_HASH_FRAME; ++c) {
        if (!append_column(r, (perpi_column)c)) {
            return disk_failure(r);
        }
    }
    if (H5Fflush(r->file, H5F_SCOPE_LOCAL) < 0 || r->trouble.error != 0 ||
        !append_column(r, PERPI_COLUMN_HASH_FRAME) ||
        H5Dflush(r->dataset[PERPI_COLUMN_HASH_FRAME]) < 0 || r->trouble.error != 0) {
        return disk_failure(r);
    }
    for (int a = 0; a < PERPI_AXIS_COUNT; ++a) {
        r->written[a] += (int64_t)r->pending.rows[a];
    }
    perpi_block_clear(&r->pending);
    return PERP_OK;
}

/* The first frame of a simulation that has made steps is a state, and says nothing of the step that
 * led to it: that step is not in this recording. So the frame is what a simulation restored from it
 * gives. */
static void forget_step(const perp_sim* sim, perp_frame* frame, perpi_frame_rest* rest)
{
    frame->info = (perp_step_info){.kind = frame->info.kind,
                                   .impacts_in_a_row = frame->info.impacts_in_a_row};
    perp_sim_joint_error(sim, frame->info.joint_error);
    rest->v_solved = frame->v;
    rest->half_q = rest->half_v = rest->half_v_end = rest->half_memory = NULL;
}

static perp_status keep_frame(perp_recorder* r, const perp_sim* sim, double seconds)
{
    perpi_frame_rest rest;
    perp_frame frame = perpi_frame_of_sim(sim, &r->tally, seconds, &rest);
    if (r->written[PERPI_AXIS_FRAME] == 0 && frame.step > 0) {
        forget_step(sim, &frame, &rest);
    }
    const perpi_edit_marks marks = perpi_sim_edit_marks(sim);
    frame.edited = (marks.states != r->states ? PERP_EDITED_STATE : 0) |
                   (marks.parameters || marks.changes != r->changes ? PERP_EDITED_PARAMETERS : 0);
    const perpi_span contacts = {r->pending.rows[PERPI_AXIS_CONTACT],
                                 r->pending.rows[PERPI_AXIS_CONTACT] + (size_t)frame.contact_count};
    const size_t f = r->pending.rows[PERPI_AXIS_FRAME];
    const perp_status status =
        perpi_block_append(&r->pending, &frame, r->contact_total + frame.contact_count);
    if (status != PERP_OK) {
        return status; /* nothing was written: the caller may try again */
    }
    const perpi_span none = {0, 0};
    r->contact_total += frame.contact_count;
    r->frame_hash = perpi_block_hash(&r->pending, PERPI_COVER_FRAME, r->frame_hash, f, contacts);
    r->wall_hash = perpi_block_hash(&r->pending, PERPI_COVER_WALL, r->wall_hash, f, none);
    memcpy(r->pending.data[PERPI_COLUMN_HASH_FRAME] + 8 * f, &r->frame_hash, 8);
    memcpy(r->pending.data[PERPI_COLUMN_HASH_WALL] + 8 * f, &r->wall_hash, 8);
    r->last_step = frame.step;
    r->states = marks.states;
    r->changes = marks.changes;
    r->tally = (perpi_tally){0};
    r->seconds = 0.0;
    return PERP_OK;
}

/* ---- creating, recording, finishing ---------------------------------------------------------- */

static bool open_columns(perp_recorder* r)
{
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        if (!perpi_column_exists(&r->pending, c)) {
            continue;
        }
        r->dataset[c] = H5Dopen2(r->file, perpi_columns[c].path, H5P_DEFAULT);
        if (r->dataset[c] < 0) {
            return false;
        }
    }
    return true;
}

/* Ragged arrays begin with a 0, so that frame k owns the rows offset[k] .. offset[k+1]-1. */
static bool begin_offsets(perp_recorder* r)
{
    const int64_t zero = 0;
    bool ok = true;
    for (int c = 0; ok && c < PERPI_COLUMN_COUNT; ++c) {
        if (perpi_columns[c].first == 1) {
            ok = append_rows(r->dataset[c], H5T_NATIVE_INT64, true, 1, 0, 1, &zero);
        }
    }
    return ok;
}

static bool close_file(perp_recorder* r)
{
    bool ok = true;
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        if (r->dataset[c] >= 0) {
            ok = H5Dclose(r->dataset[c]) >= 0 && ok;
            r->dataset[c] = -1;
        }
    }
    if (r->file >= 0) {
        ok = H5Fclose(r->file) >= 0 && ok;
        r->file = -1;
    }
    if (r->driver >= 0) {
        (void)H5FDunregister(r->driver);
        r->driver = -1;
    }
    return ok && r->trouble.error == 0;
}

/* Writes header, columns and first frame; from then on a killed process leaves a valid file. */
static perp_status begin(perp_recorder* r, const perp_scene* scene, const perp_sim* sim)
{
    int64_t *offset = NULL, *joint_offset = NULL;
    char *name = NULL, *joint_name = NULL;
    const perp_model* model = perp_sim_model(sim);
    const perpi_state_shape shape = perpi_state_shape_of(sim);
    const char* text = perp_scene_text(scene);
    perp_status status = text != NULL
                             ? gather_names(r->context, model, perp_model_body_count(model),
                                            perp_model_body_name, &offset, &name)
                             : PERP_ERROR_MEMORY;
    if (status == PERP_OK) {
        status = gather_names(r->context, model, perp_model_joint_count(model),
                              perp_model_joint_name, &joint_offset, &joint_name);
    }
    if (status != PERP_OK) {
        perpi_free(r->context, offset);
        perpi_free(r->context, name);
        return status;
    }
    const int64_t step = perp_sim_step_count(sim);
    const perpi_edit_marks marks = perpi_sim_edit_marks(sim);
    const bool resumed = step > 0 || marks.since_start;
    r->states = marks.states;
    r->changes = marks.changes;
    char user_code[PERPI_USER_CODE_SIZE] = {0};
    perpi_header header = {
        .format_version = PERPI_RECORD_FORMAT_VERSION,
        .perp_version = PERP_VERSION_STRING,
        .dimension = perp_model_dimension(model),
        .resumed_from_step = resumed ? step : -1,
        .resumed_from_time = resumed ? perp_sim_time(sim) : 0.0,
        .scene_size = strlen(text),
        .scene = text,
        .body_count = (size_t)perp_model_body_count(model),
        .body_offset = offset,
        .body_name = name,
        .joint_count = (size_t)perp_model_joint_count(model),
        .joint_offset = joint_offset,
        .joint_name = joint_name,
        .v_solved = shape.v_solved ? 1 : 0,
        .grouped = shape.grouped ? 1 : 0,
        .layered = shape.layered,
        .bounces = shape.timed ? 2 : (int32_t)shape.bounces,
        .adaptive = shape.adaptive ? 1 : 0,
        .falls_back = shape.falls_back ? 1 : 0,
        .memory_size = shape.memory_size,
        .measure_size = shape.measure_size,
        .user_code = user_code,
    };
    (void)snprintf(user_code, sizeof user_code, "%s", perp_sim_user_code(sim));
    status = create_file(r);
    if (status == PERP_OK &&
        !(write_header(r, &header) && create_columns(r) && H5Fstart_swmr_write(r->file) >= 0 &&
          open_columns(r) && begin_offsets(r))) {
        status = disk_failure(r);
    }
    perpi_free(r->context, offset);
    perpi_free(r->context, name);
    perpi_free(r->context, joint_offset);
    perpi_free(r->context, joint_name);
    if (status == PERP_OK) {
        status = keep_frame(r, sim, 0.0);
    }
    if (status == PERP_OK) {
        status = flush_pending(r);
    }
    struct stat st;
    if (status == PERP_OK && (stat(r->temporary, &st) != 0 || rename(r->temporary, r->path) != 0)) {
        r->trouble.error = errno;
        status = disk_failure(r);
    }
    if (status == PERP_OK) {
        r->in_place = true;
        r->device = st.st_dev;
        r->inode = st.st_ino;
    }
    return status;
}

/* The final path: links are followed; an existing file that is not an older recording is
 * refused, because it would be lost. */
static perp_status choose_names(perp_recorder* r, const char* path)
{
    struct stat st;
    char* real = NULL;
    if (stat(path, &st) == 0) {
        if (!S_ISREG(st.st_mode)) {
            return perpi_fail(r->context, PERP_ERROR_INPUT,
                              "%s: exists and is not a plain file: give another name", path);
        }
        if (!perpi_is_recording(path)) {
            return perpi_fail(r->context, PERP_ERROR_INPUT,
                              "%s: exists and is not a perp recording, and will not be replaced: "
                              "give another name, or remove it first",
                              path);
        }
        real = realpath(path, NULL);
    }
    const char* target = real != NULL ? real : path;
    const size_t length = strlen(target);
    perp_status status = perpi_strndup(r->context, target, length, &r->path);
    if (status == PERP_OK) {
        status = perpi_alloc(r->context, length + 32, 1, &r->temporary);
    }
    if (status == PERP_OK) {
        (void)snprintf(r->temporary, length + 32, "%s.part%ld", target, (long)getpid());
        (void)unlink(r->temporary); /* left by a killed process with the same process id */
    }
    free(real);
    return status;
}

perp_status perp_recorder_create(perp_context* context, const char* path, const perp_scene* scene,
                                 const perp_sim* sim, perp_recorder** recorder)
{
    perp_recorder* r = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *r, &r);
    if (status != PERP_OK) {
        return status;
    }
    r->context = context;
    r->file = r->driver = -1;
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        r->dataset[c] = -1;
    }
    const perpi_state_shape shape = perpi_state_shape_of(sim);
    perpi_block_init(&r->pending, context, &shape);

    const perpi_quiet quiet = perpi_quiet_begin();
    perp_scene* own = NULL; /* the scene of a model that was built in C */
    status = choose_names(r, path);
    if (status == PERP_OK && scene == NULL) {
        status = perp_scene_from_sim(context, sim, 1, &own);
        scene = own;
    }
    if (status == PERP_OK) {
        r->every = perp_scene_record_every(scene);
        status = begin(r, scene, sim);
    }
    perp_scene_destroy(own);
    perpi_quiet_end(quiet);
    if (status != PERP_OK) {
        perp_recorder_destroy(r);
        return status;
    }
    *recorder = r;
    return PERP_OK;
}

static bool was_set(const perp_recorder* r, const perp_sim* sim)
{
    return perpi_sim_edit_marks(sim).states != r->states;
}

/* Steps must be recorded in ascending order. */
static perp_status check_forwards(const perp_recorder* r, const perp_sim* sim)
{
    if (perp_sim_step_count(sim) >= r->last_step && perp_sim_step_count(sim) >= r->tallied_step) {
        return PERP_OK;
    }
    return perpi_fail(r->context, PERP_ERROR_INPUT,
                      "%s: the simulation is at step %lld, before the last one that was "
                      "recorded (%lld): it was reset or restored; begin another recording",
                      r->path, (long long)perp_sim_step_count(sim), (long long)r->last_step);
}

perp_status perp_recorder_step(perp_recorder* r, const perp_sim* sim, double seconds)
{
    if (r->failed != PERP_OK) {
        return disk_failure(r);
    }
    PERP_ASSERT(!r->finished);
    perp_status status = check_forwards(r, sim);
    if (status != PERP_OK) {
        return status;
    }
    r->seconds += seconds;
    if (perp_sim_step_count(sim) != r->last_step) { /* else the state was set without a step */
        perpi_tally_step(&r->tally, sim);
    }
    r->tallied_step = perp_sim_step_count(sim);
    if (perp_sim_step_count(sim) - r->last_step >= r->every || was_set(r, sim)) {
        status = keep_frame(r, sim, r->seconds);
    }
    /* Writes now, because a slow next step would delay it: the duration of the last step is
     * added. */
    const bool due = wall_clock() - r->last_flush + seconds >= FLUSH_SECONDS;
    const bool full = r->pending.rows[PERPI_AXIS_FRAME] >= FLUSH_FRAMES ||
                      perpi_block_bytes(&r->pending) >= FLUSH_BYTES;
    if (status == PERP_OK && (due || full)) {
        const perpi_quiet quiet = perpi_quiet_begin();
        status = flush_pending(r);
        perpi_quiet_end(quiet);
    }
    return status;
}

static perp_status write_summary(perp_recorder* r, const perp_sim* sim)
{
    char text[PERPI_SUMMARY_SIZE];
    perpi_summary summary = {.frames = r->written[PERPI_AXIS_FRAME],
                             .last_hash = r->frame_hash,
                             .step = perp_sim_step_count(sim),
                             .time = perp_sim_time(sim),
                             .contacts = r->contact_total,
                             .finished = perp_sim_finished(sim)};
    memcpy(summary.note, r->note, sizeof summary.note);
    const size_t length = perpi_summary_write(text, &summary);
    const hid_t dataset = H5Dopen2(r->file, "/summary", H5P_DEFAULT);
    bool ok = dataset >= 0 && append_rows(dataset, H5T_NATIVE_UINT8, true, 1, 0, length, text) &&
              H5Dflush(dataset) >= 0;
    if (dataset >= 0) {
        (void)H5Dclose(dataset);
    }
    ok = ok && r->trouble.error == 0;
    return ok ? PERP_OK : disk_failure(r);
}

/* Length of the UTF-8 character at s, 0 if there is none. */
static size_t utf8_length(const unsigned char* s)
{
    const size_t n = s[0] < 0x80                   ? 1
                     : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                     : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                     : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                   : 0;
    for (size_t i = 1; i < n; ++i) {
        if ((s[i] & 0xc0u) != 0x80u) {
            return 0;
        }
    }
    return n;
}

/* The summary is JSON, so invalid bytes of the note are replaced to make it UTF-8. */
void perp_recorder_note(perp_recorder* r, const char* text)
{
    size_t n = 0;
    while (*text != '\0') {
        const size_t length = utf8_length((const unsigned char*)text);
        const size_t take = length > 0 ? length : 1;
        if (n + take >= sizeof r->note) {
            break;
        }
        if (length > 0) {
            memcpy(r->note + n, text, length);
        } else {
            r->note[n] = '?';
        }
        n += take;
        text += take;
    }
    r->note[n] = '\0';
}

/* Checked while the file is open, when its inode cannot have been reused. */
static perp_status check_place(perp_recorder* r)
{
    struct stat st;
    if (stat(r->path, &st) == 0 && st.st_dev == r->device && st.st_ino == r->inode) {
        return PERP_OK;
    }
    r->failed = PERP_ERROR_IO;
    return perpi_fail(r->context, PERP_ERROR_IO,
                      "%s: was replaced by another program while this run was writing: what this "
                      "run recorded is lost",
                      r->path);
}

/* The frames in memory, of a recording that comes to no regular end. What the disk has refused is
 * not tried again. */
static perp_status write_kept(perp_recorder* r)
{
    if (!r->in_place || r->finished || r->failed != PERP_OK) {
        return r->failed;
    }
    const perpi_quiet quiet = perpi_quiet_begin();
    const perp_status status = flush_pending(r);
    perpi_quiet_end(quiet);
    return status;
}

perp_status perp_recorder_finish(perp_recorder* r, const perp_sim* sim)
{
    if (r->failed != PERP_OK) {
        return disk_failure(r);
    }
    if (r->finished) {
        return PERP_OK;
    }
    perp_status status = check_forwards(r, sim);
    if (status != PERP_OK) {
        const perp_status written = write_kept(r);
        return written == PERP_OK ? status : written;
    }
    if (perp_sim_step_count(sim) != r->last_step || was_set(r, sim)) {
        if (perp_sim_step_count(sim) != r->tallied_step &&
            perp_sim_step_count(sim) != r->last_step) { /* the caller does not own it */
            perpi_tally_step(&r->tally, sim);
        }
        status = keep_frame(r, sim, r->seconds);
    }
    const perpi_quiet quiet = perpi_quiet_begin();
    if (status == PERP_OK) {
        status = flush_pending(r);
    }
    if (status == PERP_OK) {
        status = write_summary(r, sim);
    }
    if (status == PERP_OK) {
        r->finished = true;
        status = check_place(r);
        if (!close_file(r) && status == PERP_OK) {
            status = disk_failure(r);
        }
    }
    perpi_quiet_end(quiet);
    return status;
}

void perp_recorder_destroy(perp_recorder* r)
{
    if (r == NULL) {
        return;
    }
    perp_context* context = r->context;
    (void)write_kept(r);
    const perpi_quiet quiet = perpi_quiet_begin();
    (void)close_file(r);
    perpi_quiet_end(quiet);
    if (!r->in_place && r->temporary != NULL) {
        (void)unlink(r->temporary);
    }
    perpi_block_free(&r->pending);
    perpi_free(context, r->path);
    perpi_free(context, r->temporary);
    perpi_free(context, r);
}
