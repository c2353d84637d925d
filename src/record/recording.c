/* src/record/recording.c - reads a recording, complete or interrupted.
 *
 * The file is not trusted: shapes and types are checked on opening, offsets before they are used,
 * and each frame's hash when the frame is read. Frames are read in blocks.
 */
#include "record/recording.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/disk.h"
#include "record/hash.h"
#include "scene/json_text.h"
#include "sim/sim.h"

#define READ_ATTEMPTS 27 /* 2^27 ns: an eighth of a second */
#define BLOCK_FRAMES 256
#define BLOCK_CONTACTS 16384
#define TEXT_LIMIT ((hsize_t)256 << 20) /* of the scene text and of all names */
#define MEMORY_LIMIT (1 << 24)
#define BODY_LIMIT ((hsize_t)1 << 28)

static perp_status no_recording(const perp_recording* r, const char* why)
{
    return perpi_fail(r->context, PERP_ERROR_INPUT, "%s: not a perp recording: %s", r->path, why);
}

/* ---- opening ----------------------------------------------------------------------------------*/

static hid_t open_with(const char* path, unsigned flags)
{
    const hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 10, 7)
    (void)H5Pset_file_locking(fapl, false, true); /* read only; some file systems cannot lock */
#endif
    if ((flags & H5F_ACC_SWMR_READ) != 0) {
        /* A block that is being written is read again, after a pause that doubles from 1 ns each
         * time. HDF5's default of 100 attempts would not end in any practical time. */
        (void)H5Pset_metadata_read_attempts(fapl, READ_ATTEMPTS);
    }
    const hid_t file = H5Fopen(path, flags, fapl);
    (void)H5Pclose(fapl);
    return file;
}

/* A file whose writer was killed, or is still running, is marked as being written. */
static perp_status open_file(perp_recording* r)
{
    if (access(r->path, F_OK) != 0 && errno == ENOENT) {
        return perpi_fail(r->context, PERP_ERROR_IO,
                          "%s: cannot read: there is no such file; 'perp run SCENE --out FILE' "
                          "makes a recording",
                          r->path);
    }
    if (access(r->path, R_OK) != 0) {
        return perpi_fail(r->context, PERP_ERROR_IO, "%s: cannot read: %s", r->path,
                          strerror(errno));
    }
    r->file = open_with(r->path, H5F_ACC_RDONLY);
    if (r->file < 0) {
        r->file = open_with(r->path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ);
    }
    return r->file >= 0
               ? PERP_OK
               : no_recording(r, "HDF5 cannot open it; 'perp run SCENE --out FILE' makes one");
}

static bool read_attribute(hid_t file, const char* name, hid_t type, void* value)
{
    if (H5Aexists(file, name) <= 0) {
        return false;
    }
    const hid_t attribute = H5Aopen(file, name, H5P_DEFAULT);
    if (attribute < 0) {
        return false;
    }
    const hid_t stored = H5Aget_type(attribute);
    const hid_t space = H5Aget_space(attribute);
    const bool ok = H5Tget_class(stored) == H5Tget_class(type) &&
                    H5Tget_size(stored) == H5Tget_size(type) &&
                    H5Sget_simple_extent_npoints(space) == 1 && H5Tis_variable_str(stored) <= 0 &&
                    H5Aread(attribute, type, value) >= 0;
    (void)H5Sclose(space);
    (void)H5Tclose(stored);
    (void)H5Aclose(attribute);
    return ok;
}

static bool read_text_attribute(hid_t file, const char* name, char* value, size_t size)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    (void)H5Tset_size(type, size);
    (void)H5Tset_strpad(type, H5T_STR_NULLPAD);
    const bool ok = read_attribute(file, name, type, value);
    (void)H5Tclose(type);
    return ok;
}

/* Opens a dataset of the given class, cell size, rank and width; its rows go to *rows. */
static hid_t open_dataset(hid_t file, const char* path, H5T_class_t class, size_t cell, int rank,
                          hsize_t width, hsize_t* rows)
{
    const hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    if (dataset < 0) {
        return -1;
    }
    const hid_t type = H5Dget_type(dataset);
    const hid_t space = H5Dget_space(dataset);
    hsize_t extent[2] = {0, 1};
    const bool ok = H5Tget_class(type) == class && H5Tget_size(type) == cell &&
                    H5Tis_variable_str(type) <= 0 && H5Sget_simple_extent_ndims(space) == rank &&
                    H5Sget_simple_extent_dims(space, extent, NULL) == rank && extent[1] == width;
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    if (!ok) {
        (void)H5Dclose(dataset);
        return -1;
    }
    *rows = extent[0];
    return dataset;
}

static H5T_class_t cell_class(perpi_cell cell)
{
    return cell == PERPI_CELL_F64 ? H5T_FLOAT : cell == PERPI_CELL_NAME ? H5T_STRING : H5T_INTEGER;
}

/* A whole dataset of bytes or int64, zero-terminated. */
static perp_status read_whole(perp_recording* r, const char* path, hid_t type, size_t cell,
                              hsize_t limit, void* data, size_t* count)
{
    hsize_t rows = 0;
    const hid_t dataset = open_dataset(r->file, path, H5T_INTEGER, cell, 1, 1, &rows);
    if (dataset < 0 || rows > limit) {
        if (dataset >= 0) {
            (void)H5Dclose(dataset);
        }
        char why[64];
        (void)snprintf(why, sizeof why, "no %s in it", path);
        return no_recording(r, why);
    }
    void* copy = NULL;
    perp_status status = perpi_alloc(r->context, (size_t)rows + 1, cell, &copy);
    if (status == PERP_OK && rows > 0 &&
        H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, copy) < 0) {
        perpi_free(r->context, copy);
        status = perpi_fail(r->context, PERP_ERROR_IO, "%s: %s: cannot read", r->path, path);
    }
    (void)H5Dclose(dataset);
    if (status == PERP_OK) {
        memcpy(data, &copy, sizeof copy);
        *count = (size_t)rows;
    }
    return status;
}

static bool has_signature(const char* path)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char head[sizeof signature];
    FILE* file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    const bool found = fread(head, 1, sizeof head, file) == sizeof head &&
                       memcmp(head, signature, sizeof head) == 0;
    (void)fclose(file);
    return found;
}

static bool has_format(hid_t file)
{
    char format[sizeof PERPI_RECORD_FORMAT];
    return read_text_attribute(file, "format", format, sizeof format) &&
           memcmp(format, PERPI_RECORD_FORMAT, sizeof format) == 0;
}

bool perpi_is_recording(const char* path)
{
    if (!has_signature(path)) { /* without calling HDF5 */
        return false;
    }
    hid_t file = open_with(path, H5F_ACC_RDONLY);
    if (file < 0) {
        file = open_with(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ);
    }
    const bool is = file >= 0 && has_format(file);
    if (file >= 0) {
        (void)H5Fclose(file);
    }
    return is;
}

static void note_damage(perp_recording* r, const char* what)
{
    if (r->damage[0] == '\0') {
        (void)snprintf(r->damage, sizeof r->damage, "%s", what);
    }
}

static perp_status read_attributes(perp_recording* r)
{
    perpi_header* h = &r->header;
    if (!has_format(r->file)) {
        return no_recording(r, "it lacks the attribute format = \"" PERPI_RECORD_FORMAT "\"");
    }
    if (!read_attribute(r->file, "format_version", H5T_NATIVE_INT32, &h->format_version) ||
        !read_text_attribute(r->file, "perp_version", h->perp_version, sizeof h->perp_version) ||
        !read_attribute(r->file, "dimension", H5T_NATIVE_INT32, &h->dimension) ||
        !read_attribute(r->file, "resumed_from_step", H5T_NATIVE_INT64, &h->resumed_from_step) ||
        !read_attribute(r->file, "resumed_from_time", H5T_NATIVE_DOUBLE, &h->resumed_from_time) ||
        !read_attribute(r->file, "header_hash", H5T_NATIVE_UINT64, &r->header_hash)) {
        return no_recording(r, "an attribute of the header is missing");
    }
    if (h->format_version < PERPI_RECORD_FORMAT_OLDEST ||
        h->format_version > PERPI_RECORD_FORMAT_VERSION) {
        return perpi_fail(r->context, PERP_ERROR_UNSUPPORTED,
                          "%s: format version %d; this perp reads versions %d to %d", r->path,
                          (int)h->format_version, PERPI_RECORD_FORMAT_OLDEST,
                          PERPI_RECORD_FORMAT_VERSION);
    }
    /* version 2 recorded them where joints were corrected, which the attribute says */
    const char* v_solved = h->format_version == 2 ? "joint_correction" : "v_solved";
    if (!read_attribute(r->file, v_solved, H5T_NATIVE_INT32, &h->v_solved) ||
        !read_attribute(r->file, "contact_groups", H5T_NATIVE_INT32, &h->grouped) ||
        !read_attribute(r->file, "memory_size", H5T_NATIVE_INT32, &h->memory_size) ||
        h->memory_size < 0 || h->memory_size > MEMORY_LIMIT) {
        return no_recording(r, "an attribute of the header is missing");
    }
    if (!read_attribute(r->file, "soft_contacts", H5T_NATIVE_INT32, &h->layered)) {
        h->layered = 0; /* only where contacts are soft */
    }
    if (h->layered < 0 || h->layered > 2) {
        return no_recording(r, "the attribute soft_contacts is none of 0, 1, 2");
    }
    /* these may be absent */
    (void)read_attribute(r->file, "impacts", H5T_NATIVE_INT32, &h->bounces);
    (void)read_attribute(r->file, "adaptive", H5T_NATIVE_INT32, &h->adaptive);
    (void)read_attribute(r->file, "step_fallbacks", H5T_NATIVE_INT32, &h->falls_back);
    (void)read_attribute(r->file, "measure_size", H5T_NATIVE_INT32, &h->measure_size);
    if (h->measure_size < 0 || h->measure_size > MEMORY_LIMIT) {
        return no_recording(r, "an attribute of the header is damaged");
    }
    memcpy(r->version, h->perp_version, sizeof h->perp_version);
    (void)read_text_attribute(r->file, "user_code", r->user_code, PERPI_USER_CODE_SIZE);
    h->user_code = r->user_code;
    return PERP_OK;
}

static perp_status read_header(perp_recording* r)
{
    perpi_header* h = &r->header;
    size_t name_size = 0, offsets = 0, joint_size = 0, joint_offsets = 0;
    perp_status status = read_attributes(r);
    if (status == PERP_OK) {
        status =
            read_whole(r, "/scene", H5T_NATIVE_UINT8, 1, TEXT_LIMIT, &r->scene, &h->scene_size);
    }
    if (status == PERP_OK) {
        status = read_whole(r, "/bodies/name", H5T_NATIVE_UINT8, 1, TEXT_LIMIT, &r->body_name,
                            &name_size);
    }
    if (status == PERP_OK) {
        status = read_whole(r, "/bodies/offset", H5T_NATIVE_INT64, 8, BODY_LIMIT, &r->body_offset,
                            &offsets);
    }
    if (status == PERP_OK) {
        status = read_whole(r, "/joints/name", H5T_NATIVE_UINT8, 1, TEXT_LIMIT, &r->joint_name,
                            &joint_size);
    }
    if (status == PERP_OK) {
        status = read_whole(r, "/joints/offset", H5T_NATIVE_INT64, 8, BODY_LIMIT, &r->joint_offset,
                            &joint_offsets);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (offsets == 0 || joint_offsets == 0) {
        return no_recording(r, "/bodies/offset or /joints/offset is empty");
    }
    h->joint_name = r->joint_name;
    h->joint_offset = r->joint_offset;
    h->joint_count = joint_offsets - 1;
    h->scene = r->scene;
    status = perpi_json_name_defaults(r->context, r->scene, h->scene_size, PERPI_OLD_CONTACT,
                                      PERPI_OLD_DIRECTION, &r->named_scene);
    if (status != PERP_OK) {
        return status;
    }
    h->body_name = r->body_name;
    h->body_offset = r->body_offset;
    h->body_count = offsets - 1;
    r->header_fits = r->body_offset[h->body_count] == (int64_t)name_size &&
                     r->joint_offset[h->joint_count] == (int64_t)joint_size &&
                     perpi_header_hash(h) == r->header_hash;
    if (!r->header_fits) {
        note_damage(r, "the header is damaged (its hash does not fit)");
    }
    return PERP_OK;
}

/* Refuses a ledger with other columns, which would be misread; no hash covers their names. */
static bool ledger_named(hid_t dataset)
{
    perpi_ledger_names expected, found;
    perpi_ledger_names_fill(expected);
    if (H5Aexists(dataset, PERPI_LEDGER_COLUMNS) <= 0) {
        return false;
    }
    const hid_t attribute = H5Aopen(dataset, PERPI_LEDGER_COLUMNS, H5P_DEFAULT);
    const hid_t type = perpi_name_type();
    const hid_t stored = H5Aget_type(attribute);
    const hid_t space = H5Aget_space(attribute);
    const bool ok = H5Tget_class(stored) == H5T_STRING && H5Tis_variable_str(stored) <= 0 &&
                    H5Tget_size(stored) == PERPI_RECORD_NAME_SIZE &&
                    H5Sget_simple_extent_npoints(space) == PERP_LEDGER_COUNT &&
                    H5Aread(attribute, type, found) >= 0 &&
                    memcmp(expected, found, sizeof expected) == 0;
    (void)H5Sclose(space);
    (void)H5Tclose(stored);
    (void)H5Tclose(type);
    (void)H5Aclose(attribute);
    return ok;
}

perpi_state_shape perpi_recording_shape(const perp_recording* r)
{
    const int32_t n = (int32_t)r->header.body_count;
    const bool planar = r->header.dimension == 2;
    return (perpi_state_shape){.format_version = r->header.format_version,
                               .q_size = n * (planar ? 3 : 7),
                               .v_size = n * (planar ? 3 : 6),
                               .joint_count = (int32_t)r->header.joint_count,
                               .memory_size = r->header.memory_size,
                               .v_solved = r->header.v_solved != 0,
                               .grouped = r->header.grouped != 0,
                               .layered = r->header.layered,
                               .bounces = r->header.bounces != 0,
                               .timed = r->header.bounces == 2,
                               .adaptive = r->header.adaptive != 0,
                               .falls_back = r->header.falls_back != 0,
                               .parts = r->parts,
                               .marked = r->marked,
                               .measure_size = r->header.measure_size};
}

static perp_status open_columns(perp_recording* r)
{
    r->parts = H5Lexists(r->file, "/contacts", H5P_DEFAULT) > 0 &&
               H5Lexists(r->file, perpi_columns[PERPI_COLUMN_CONTACT_MIDDLE].path, H5P_DEFAULT) > 0;
    r->marked = H5Lexists(r->file, "/state", H5P_DEFAULT) > 0 &&
                H5Lexists(r->file, perpi_columns[PERPI_COLUMN_EDITED].path, H5P_DEFAULT) > 0;
    const perpi_state_shape shape = perpi_recording_shape(r);
    perpi_block_init(&r->block, r->context, &shape);
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        const perpi_column_def* def = &perpi_columns[c];
        if (!perpi_column_exists(&r->block, c)) {
            continue;
        }
        const hsize_t width = r->block.width[c] > 0 ? (hsize_t)r->block.width[c] : 1;
        hsize_t rows = 0;
        r->dataset[c] =
            open_dataset(r->file, def->path, cell_class(def->cell), perpi_cell_size(def->cell),
                         def->width == 1 ? 1 : 2, width, &rows);
        if (r->dataset[c] < 0) {
            char why[96];
            (void)snprintf(why, sizeof why, "%s is missing or of another shape", def->path);
            return no_recording(r, why);
        }
        r->extent[c] = (int64_t)rows;
    }
    if (perp_recording_has_ledger(r) && !ledger_named(r->dataset[PERPI_COLUMN_LEDGER])) {
        return no_recording(r, "/energy/ledger has other columns than this perp knows");
    }
    return PERP_OK;
}

/* ---- reading rows -----------------------------------------------------------------------------*/

static perp_status read_rows(perp_recording* r, perpi_column c, int64_t at, int64_t count,
                             void* data)
{
    const perpi_column_def* def = &perpi_columns[c];
    const int32_t width = r->block.width[c];
    if (count == 0 || width == 0) {
        return PERP_OK;
    }
    const hsize_t start[2] = {(hsize_t)at, 0}, size[2] = {(hsize_t)count, (hsize_t)width};
    const hid_t type = perpi_cell_memory_type(def->cell);
    const hid_t space = H5Dget_space(r->dataset[c]);
    const hid_t memory = H5Screate_simple(def->width == 1 ? 1 : 2, size, NULL);
    const bool ok = at >= 0 && at + count <= r->extent[c] && space >= 0 && memory >= 0 &&
                    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL) >= 0 &&
                    H5Dread(r->dataset[c], type, memory, space, H5P_DEFAULT, data) >= 0;
    (void)H5Sclose(memory);
    (void)H5Sclose(space);
    perpi_cell_type_close(def->cell, type);
    if (!ok) {
        return perpi_fail(r->context, PERP_ERROR_IO, "%s: %s: rows %lld to %lld cannot be read",
                          r->path, def->path, (long long)at, (long long)(at + count - 1));
    }
    return PERP_OK;
}

perp_status perpi_recording_hash(perp_recording* r, perpi_column column, int64_t index,
                                 uint64_t* hash)
{
    if (index < 0) {
        *hash = column == PERPI_COLUMN_HASH_WALL ? perpi_wall_seed(r->header_hash) : r->header_hash;
        return PERP_OK;
    }
    return read_rows(r, column, index, 1, hash);
}

/* Rows of a ragged column that belong to the frames [first, first + *count). *count is reduced
 * to valid offsets and to a block's size; row `first` of the offsets must be valid. */
static perp_status plan_contacts(perp_recording* r, int64_t first, int64_t* count, int64_t* begin)
{
    perp_status status = perpi_grow(r->context, &r->contact_end, &r->contact_end_capacity,
                                    (size_t)*count + 1, sizeof *r->contact_end);
    if (status == PERP_OK) {
        status = read_rows(r, PERPI_COLUMN_CONTACT_OFFSET, first, *count + 1, r->contact_end);
    }
    if (status != PERP_OK) {
        return status;
    }
    const int64_t limit = r->extent[PERPI_COLUMN_CONTACT_BODY];
    int64_t* end = r->contact_end;
    *begin = end[0];
    int64_t good = 0;
    while (good < *count && end[0] >= 0 && end[good + 1] >= end[good] && end[good + 1] <= limit &&
           end[good + 1] - end[good] <= INT32_MAX &&
           (good == 0 || end[good + 1] - end[0] <= BLOCK_CONTACTS)) {
        ++good;
    }
    if (good == 0) {
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "%s: frame %lld is damaged: /contacts/offset is not ascending", r->path,
                          (long long)first);
    }
    for (int64_t i = good; i >= 0; --i) {
        end[i] -= *begin;
    }
    *count = good;
    return PERP_OK;
}

static perp_status load_block(perp_recording* r, int64_t first, int64_t limit)
{
    int64_t count = limit - first < BLOCK_FRAMES ? limit - first : BLOCK_FRAMES;
    int64_t begin = 0;
    r->count = 0;
    perp_status status = plan_contacts(r, first, &count, &begin);
    if (status != PERP_OK) {
        return status;
    }
    const int64_t contacts = r->contact_end[count];
    const int64_t at[PERPI_AXIS_COUNT] = {first, begin};
    const int64_t rows[PERPI_AXIS_COUNT] = {count, contacts};
    for (int a = 0; status == PERP_OK && a < PERPI_AXIS_COUNT; ++a) {
        status = perpi_block_reserve(&r->block, (perpi_axis)a, (size_t)rows[a]);
        r->block.rows[a] = (size_t)rows[a];
    }
    for (int c = 0; status == PERP_OK && c < PERPI_COLUMN_COUNT; ++c) {
        const perpi_column_def* def = &perpi_columns[c];
        status = read_rows(r, (perpi_column)c, at[def->axis] + def->first, rows[def->axis],
                           r->block.data[c]);
    }
    if (status == PERP_OK) {
        r->first = first;
        r->count = count;
    }
    return status;
}

static perp_status need_frame(perp_recording* r, int64_t index)
{
    if (index >= r->first && index < r->first + r->count) {
        return PERP_OK;
    }
    return load_block(r, index, r->committed);
}

static perpi_span contacts_of(const perp_recording* r, int64_t index)
{
    const int64_t f = index - r->first;
    return (perpi_span){(size_t)r->contact_end[f], (size_t)r->contact_end[f + 1]};
}

static perp_status hash_fits(perp_recording* r, perpi_column column, perpi_cover cover,
                             int64_t index, bool* fits)
{
    uint64_t seed, recorded;
    const size_t f = (size_t)(index - r->first);
    perp_status status = PERP_OK;
    if (index > r->first) {
        memcpy(&seed, r->block.data[column] + 8 * (f - 1), 8);
    } else {
        status = perpi_recording_hash(r, column, index - 1, &seed);
    }
    if (status == PERP_OK) {
        memcpy(&recorded, r->block.data[column] + 8 * f, 8);
        *fits = perpi_block_hash(&r->block, cover, seed, f, contacts_of(r, index)) == recorded;
    }
    return status;
}

perp_status perpi_recording_frame_fits(perp_recording* r, int64_t index, bool* fits)
{
    bool frame = false, wall = false;
    const perpi_quiet quiet = perpi_quiet_begin();
    perp_status status = need_frame(r, index);
    if (status == PERP_OK) {
        status = hash_fits(r, PERPI_COLUMN_HASH_FRAME, PERPI_COVER_FRAME, index, &frame);
    }
    if (status == PERP_OK) {
        status = hash_fits(r, PERPI_COLUMN_HASH_WALL, PERPI_COVER_WALL, index, &wall);
    }
    perpi_quiet_end(quiet);
    if (status == PERP_OK) {
        *fits = frame && wall;
    }
    return status;
}

/* ---- number of frames ------------------------------------------------------------------------ */

/* A summary that was being written when the run was killed may read as zeros and counts as
 * missing. */
static perp_status read_summary(perp_recording* r)
{
    char* text = NULL;
    size_t size = 0;
    const perp_status status =
        read_whole(r, "/summary", H5T_NATIVE_UINT8, 1, TEXT_LIMIT, &text, &size);
    if (status != PERP_OK) {
        return status;
    }
    r->complete = size > 0 && strlen(text) == size && perpi_summary_read(text, &r->summary);
    bool blank = true;
    for (size_t i = 0; i < size; ++i) {
        blank = blank && text[i] == '\0';
    }
    if (!r->complete && !blank) {
        note_damage(r, "the summary is damaged");
    }
    perpi_free(r->context, text);
    return PERP_OK;
}

/* Number of frames by the hashes, bounded by the shortest column; zeros at the end of
 * /hash/frame are rows that were being appended. */
static perp_status count_committed(perp_recording* r)
{
    int64_t n = r->extent[PERPI_COLUMN_HASH_FRAME];
    uint64_t hash = 0;
    while (n > 0) {
        const perp_status status = read_rows(r, PERPI_COLUMN_HASH_FRAME, n - 1, 1, &hash);
        if (status != PERP_OK) {
            return status;
        }
        if (hash != 0) {
            break;
        }
        --n;
    }
    const int64_t claimed = n;
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        const perpi_column_def* def = &perpi_columns[c];
        if (def->axis == PERPI_AXIS_FRAME && r->block.width[c] > 0 &&
            r->extent[c] - def->first < n) {
            n = r->extent[c] - def->first;
        }
    }
    if (n < claimed) {
        note_damage(r, "a dataset is shorter than /hash/frame");
    }
    r->committed = n;
    return PERP_OK;
}

/* Checks that ragged columns are as long as the offsets say, and that these begin with 0: no
 * frame's hash covers this. */
static perp_status check_ragged(perp_recording* r)
{
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        if (perpi_columns[c].first == 0) {
            continue;
        }
        int64_t begin = 0, end = 0;
        perp_status status = PERP_OK;
        if (r->extent[c] > 0) {
            status = read_rows(r, (perpi_column)c, 0, 1, &begin);
        }
        if (status == PERP_OK && r->committed > 0) {
            status = read_rows(r, (perpi_column)c, r->committed, 1, &end);
        }
        if (status != PERP_OK) {
            return status;
        }
        bool fits = begin == 0;
        for (int k = 0; r->complete && k < PERPI_COLUMN_COUNT; ++k) {
            fits = fits && (perpi_columns[k].axis != PERPI_AXIS_CONTACT ||
                            r->extent[k] == (r->block.width[k] > 0 ? end : 0));
        }
        if (!fits) {
            note_damage(r, "the offsets of contacts are damaged");
        }
    }
    return PERP_OK;
}

/* All columns of contacts are read up to the length of the shortest. */
static void shorten_ragged(perp_recording* r)
{
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        if (perpi_columns[c].axis == PERPI_AXIS_CONTACT && r->block.width[c] > 0 &&
            r->extent[c] < r->extent[PERPI_COLUMN_CONTACT_BODY]) {
            r->extent[PERPI_COLUMN_CONTACT_BODY] = r->extent[c];
        }
    }
}

static perp_status count_frames(perp_recording* r)
{
    perp_status status = read_summary(r);
    if (status == PERP_OK) {
        status = count_committed(r);
    }
    if (status == PERP_OK) {
        status = check_ragged(r);
    }
    if (status == PERP_OK) {
        shorten_ragged(r);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (r->complete) {
        const int64_t frames = r->summary.frames;
        uint64_t hash = 0;
        bool fits = r->committed == frames && frames > 0;
        if (fits) {
            status = perpi_recording_hash(r, PERPI_COLUMN_HASH_FRAME, frames - 1, &hash);
            fits = hash == r->summary.last_hash;
        }
        /* Rows beyond the summary, in any column, were not written by the recorder. */
        for (int c = 0; status == PERP_OK && c < PERPI_COLUMN_COUNT; ++c) {
            const perpi_column_def* def = &perpi_columns[c];
            fits = fits && (def->axis != PERPI_AXIS_FRAME || r->block.width[c] == 0 ||
                            r->extent[c] == frames + def->first);
        }
        if (status != PERP_OK || !fits) {
            note_damage(r, "the frames do not agree with the summary");
        }
    }
    /* Searches backwards for the last complete frame. */
    int64_t n = r->committed;
    while (n > 0) {
        bool fits = false;
        status = perpi_recording_frame_fits(r, n - 1, &fits);
        if (status == PERP_ERROR_MEMORY) {
            return status;
        }
        if (status == PERP_OK && fits) {
            break;
        }
        --n;
        note_damage(r, "the last frames are damaged");
        if (r->committed - n > 100000) {
            n = 0; /* give up: too much damage */
        }
    }
    r->frames = n;
    if (n == 0) {
        note_damage(r, "no whole frame in it");
    }
    return PERP_OK;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static perp_status load(perp_recording* r, bool lenient)
{
    perp_status status = open_file(r);
    if (status == PERP_OK) {
        status = read_header(r);
    }
    if (status == PERP_OK) {
        status = open_columns(r);
    }
    if (status == PERP_OK) {
        status = count_frames(r);
    }
    if (status != PERP_OK || lenient || r->damage[0] == '\0') {
        return status;
    }
    if (r->frames == 0 || !r->header_fits) {
        return perpi_fail(r->context, PERP_ERROR_INPUT, "%s: %s", r->path, r->damage);
    }
    perpi_log(r->context, PERP_LOG_WARNING, "%s: %s; using its first %lld of %lld frames", r->path,
              r->damage, (long long)r->frames, (long long)r->committed);
    return PERP_OK;
}

perp_status perpi_recording_load(perp_context* context, const char* path, bool lenient,
                                 perp_recording** recording)
{
    perp_recording* r = NULL;
    perp_status status = perpi_alloc(context, 1, sizeof *r, &r);
    if (status != PERP_OK) {
        return status;
    }
    r->context = context;
    r->file = -1;
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        r->dataset[c] = -1;
    }
    r->block.context = context;
    status = perpi_strndup(context, path, strlen(path), &r->path);
    if (status == PERP_OK) {
        const perpi_quiet quiet = perpi_quiet_begin();
        status = load(r, lenient);
        perpi_quiet_end(quiet);
    }
    if (status != PERP_OK) {
        perp_recording_close(r);
        return status;
    }
    *recording = r;
    return PERP_OK;
}

perp_status perp_recording_open(perp_context* context, const char* path, perp_recording** recording)
{
    return perpi_recording_load(context, path, false, recording);
}

void perp_recording_close(perp_recording* r)
{
    if (r == NULL) {
        return;
    }
    perp_context* context = r->context;
    perpi_recording_view_free(r);
    const perpi_quiet quiet = perpi_quiet_begin();
    for (int c = 0; c < PERPI_COLUMN_COUNT; ++c) {
        if (r->dataset[c] >= 0) {
            (void)H5Dclose(r->dataset[c]);
        }
    }
    if (r->file >= 0) {
        (void)H5Fclose(r->file);
    }
    perpi_quiet_end(quiet);
    perpi_block_free(&r->block);
    perpi_free(context, r->path);
    perpi_free(context, r->scene);
    perpi_free(context, r->named_scene);
    perpi_free(context, r->body_offset);
    perpi_free(context, r->body_name);
    perpi_free(context, r->joint_offset);
    perpi_free(context, r->joint_name);
    perpi_free(context, r->joint);
    perpi_free(context, r->contact_end);
    perpi_free(context, r->contact);
    perpi_free(context, r);
}

/* ---- contents -------------------------------------------------------------------------------- */

bool perp_recording_complete(const perp_recording* r)
{
    return r->complete;
}

bool perp_recording_finished(const perp_recording* r)
{
    return r->complete && r->summary.finished;
}

const char* perp_recording_note(const perp_recording* r)
{
    return r->complete ? r->summary.note : "";
}

const char* perp_recording_scene_text(const perp_recording* r)
{
    return r->named_scene != NULL ? r->named_scene : r->scene;
}

const char* perp_recording_user_code(const perp_recording* r)
{
    return r->user_code;
}

const char* perp_recording_version(const perp_recording* r)
{
    return r->version;
}

bool perp_recording_has_ledger(const perp_recording* r)
{
    return r->header.format_version >= 3;
}

int64_t perp_recording_frame_count(const perp_recording* r)
{
    return r->frames;
}

perp_status perp_recording_frame(perp_recording* r, int64_t index, perp_frame* frame)
{
    if (index < 0 || index >= r->frames) {
        return perpi_fail(r->context, PERP_ERROR_INPUT, "%s: no frame %lld: it has %lld", r->path,
                          (long long)index, (long long)r->frames);
    }
    bool fits = false;
    perp_status status = perpi_recording_frame_fits(r, index, &fits);
    if (status != PERP_OK) {
        return status;
    }
    if (!fits) {
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "%s: frame %lld is damaged (its hash does not fit)", r->path,
                          (long long)index);
    }
    const perpi_span contacts = contacts_of(r, index);
    status = perpi_grow(r->context, &r->contact, &r->contact_capacity,
                        contacts.end - contacts.begin, sizeof *r->contact);
    if (status == PERP_OK) {
        status = perpi_grow(r->context, &r->joint, &r->joint_capacity, r->header.joint_count,
                            sizeof *r->joint);
    }
    if (status == PERP_OK) {
        perpi_block_frame(&r->block, (size_t)(index - r->first), contacts, r->contact, r->joint,
                          r->name, &r->rest, frame);
    }
    return status;
}
