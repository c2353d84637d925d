/* cli/page.h - the replay page: how a run is represented and packed in it.
 *
 * The format is described in docs/replay.md. A page is the template (built from viewer/, embedded in
 * the program) in which one marker line is replaced by a header and a blob per run. The live page
 * (watch.h) uses the same header and the same view of contacts.
 */
#ifndef PERP_CLI_PAGE_H
#define PERP_CLI_PAGE_H

#include <stdio.h>

#include "cli.h"

/* ---- bytes that grow --------------------------------------------------------------------------*/

/* Zero-initialised is empty. A failed allocation is remembered: test `failed` once, at the end. */
typedef struct page_bytes {
    unsigned char* data;
    size_t size, capacity;
    bool failed;
} page_bytes;

/* Room for `count` more bytes, zeroed and counted; NULL: no memory. */
unsigned char* page_bytes_extend(page_bytes* bytes, size_t count);
void page_bytes_add(page_bytes* bytes, const void* data, size_t count);
void page_bytes_text(page_bytes* bytes, const char* text);
void page_bytes_printf(page_bytes* bytes, const char* format, ...) PERP_PRINTF(2, 3);
void page_bytes_free(page_bytes* bytes);

/* ---- the header (page_header.c) ---------------------------------------------------------------*/

/* A JSON string; bytes that are not UTF-8 become U+FFFD. */
json_t* page_text(const char* s);
/* What is known of a run before its first frame. file: name of the recording, or NULL. */
json_t* page_header(const perp_scene* scene, const char* file);
/* As text that can stand inside a script element whatever the names hold: ASCII only, and `<`, `>`
 * and `&` as escapes. Malloced; NULL: no memory. */
char* page_dump(const json_t* value);
/* How far the body's shapes reach from its centre of mass; 0 if they have no end (a plane). */
double page_reach(const perp_model* model, int32_t body);

/* Momentum, and angular momentum about the world's origin (planar: [5]), of the dynamic bodies. */
void page_momentum(const perp_model* model, const perp_frame* frame, double out[6]);

/* ---- contacts in the page (page_contact.c) ------------------------------------------------------*/

typedef enum page_contact_state {
    PAGE_SEPARATING = 0, /* no impulse */
    PAGE_STICK = 1,
    PAGE_SLIP = 2,
} page_contact_state;

typedef struct page_touch {
    double slip[2]; /* velocity of B against A at the contact along t and o */
    page_contact_state state;
} page_touch;

/* h: step; gravity: its magnitude, for the scale of what counts as standing still; q, v: state at
 * the end of the step. */
page_touch page_contact_motion(bool planar, double h, double gravity, const double* q,
                               const double* v, const perp_contact* contact);

/* Names feature pairs by small integers, in the order of their first appearance. */
typedef struct page_keys {
    uint64_t* key;
    int32_t* name; /* 0: free */
    size_t capacity;
    int32_t count;
} page_keys;
int32_t page_keys_name(page_keys* keys, uint64_t key); /* -1: no memory */
void page_keys_free(page_keys* keys);

/* ---- which frames of a body are kept (page_track.c) ---------------------------------------------*/

typedef struct page_sample {
    int32_t frame;
    double x[3]; /* planar: x, y, angle */
    double q[4]; /* spatial */
} page_sample;

/* The swinging-door algorithm selects keys so that interpolation between them, linear in x and
 * along the great arc in q, stays near every sample, with the memory of one segment. */
typedef struct page_door {
    bool planar;
    double near_x, near_turn; /* per component; length, radians */
    page_sample key, last;
    double low[6], high[6]; /* slopes that the samples since the key allow */
} page_door;

void page_door_begin(page_door* door, bool planar, double near_x, double near_turn,
                     const page_sample* first);
/* True: the sample before this one must become a key (it is in door->key then). */
bool page_door_step(page_door* door, const page_sample* sample);

/* ---- joints in the page (page_joints.c) ---------------------------------------------------------*/

/* Coordinate, rate and effort of each revolute and prismatic joint, one number a frame of the page. */
enum { PAGE_JOINT_NUMBERS = 3 };
typedef struct page_joints {
    int32_t count;
    int64_t frames;
    int32_t* joint; /* of the model */
    perp_quantity* quantity;
    double* now;
    float* value; /* column after column */
} page_joints;

/* False: no memory. As many joints as a page has room for, the first ones. */
bool page_joints_begin(page_joints* joints, perp_context* context, const perp_model* model,
                       int64_t frames);
/* The numbers of a recorded frame, as those of a frame of the page. */
perp_status page_joints_note(page_joints* joints, perp_recording* recording, int64_t index,
                             int64_t frame);
/* Name and values of a column; NULL: there is none of that index. */
const float* page_joints_column(const page_joints* joints, int32_t column, char* name, size_t size);
size_t page_joints_bytes(const page_joints* joints);
void page_joints_end(page_joints* joints);

/* ---- a recording as header and blob (page_pack.c) -----------------------------------------------*/

typedef struct page_run {
    json_t* header;
    char* scene;       /* its text */
    page_bytes blob;   /* deflated */
    size_t plain;      /* bytes before that */
    int64_t frames;    /* in the page */
    double accuracy;   /* length */
    int32_t key_count; /* of all bodies */
    double begin, end; /* time */
} page_run;

#define PAGE_BUDGET ((size_t)24 << 20) /* of a run, before deflating */

/* The context holds the message. A run that is not PERP_OK holds nothing. */
typedef enum page_status { PAGE_OK, PAGE_FAILED, PAGE_NO_MEMORY } page_status;
page_status page_pack(perp_context* context, const char* path, page_run* run, perp_status* status);
void page_run_free(page_run* run);

/* ---- the template (page_template.c) -------------------------------------------------------------*/

/* The first place of a text in `size` bytes, or NULL. */
const char* page_find_text(const char* text, size_t size, const char* what);
/* The template was embedded when this program was built. */
bool page_available(void);
/* The template around its marker. */
void page_template(const char** head, size_t* head_size, const char** tail, size_t* tail_size);

/* ---- the file (page_file.c) ---------------------------------------------------------------------*/

/* Says how to get a perp with the page; returns CLI_BAD_INPUT. */
int page_complain_missing(bool json);

/* A page under a temporary name while it is written, and its final name. */
typedef struct page_file {
    const char* path;
    char* part;
    FILE* file;
    bool json;
} page_file;
/* Refuses a file that is there and no page, unless forced. */
int page_file_begin(page_file* out, const char* path, bool force, bool json);
/* `count` runs, one after another. Ends the file, well or not. */
int page_file_write(page_file* out, const page_run* run, int count, long long* size);
/* Removes a file that was begun. */
void page_file_abandon(page_file* out);

/* ---- pages of studies (page_kind.c) -------------------------------------------------------------*/

/* Whether --page can be written: nothing is there, or a page that has `format` within its first
 * `head` bytes and a few more. what: "a design". */
int page_check_kind(const cli_args* args, const char* format, size_t head, const char* what);

#endif
