/* src/record/without_hdf5.c - recordings and FCLIB files in a library built with PERP_HDF5=OFF:
 * each call that would create or open one returns an error with the reason. */
#include "perp/record.h"

#include "base/context.h"
#include "problem/io/ccp.h"

static perp_status refuse(perp_context* context, const char* path)
{
    return perpi_fail(context, PERP_ERROR_UNSUPPORTED,
                      "%.400s: this perp was built without HDF5 (PERP_HDF5=OFF) and neither "
                      "writes nor reads recordings and FCLIB files",
                      path);
}

perp_status perpi_fclib_read(perp_context* context, const char* path, perpi_ccp* ccp)
{
    (void)ccp;
    return refuse(context, path);
}

/* ---- writing -------------------------------------------------------------------------------------*/

perp_status perp_recorder_create(perp_context* context, const char* path, const perp_scene* scene,
                                 const perp_sim* sim, perp_recorder** recorder)
{
    (void)scene, (void)sim, (void)recorder;
    return refuse(context, path);
}

/* No recorder can exist, so these are never called. */
perp_status perp_recorder_step(perp_recorder* recorder, const perp_sim* sim, double seconds)
{
    (void)recorder, (void)sim, (void)seconds;
    return PERP_ERROR_UNSUPPORTED;
}

void perp_recorder_note(perp_recorder* recorder, const char* text)
{
    (void)recorder, (void)text;
}

perp_status perp_recorder_finish(perp_recorder* recorder, const perp_sim* sim)
{
    (void)recorder, (void)sim;
    return PERP_ERROR_UNSUPPORTED;
}

void perp_recorder_destroy(perp_recorder* recorder)
{
    (void)recorder;
}

/* ---- reading -------------------------------------------------------------------------------------*/

perp_status perp_recording_open(perp_context* context, const char* path, perp_recording** recording)
{
    (void)recording;
    return refuse(context, path);
}

void perp_recording_close(perp_recording* recording)
{
    (void)recording;
}

bool perp_recording_complete(const perp_recording* recording)
{
    (void)recording;
    return false;
}

bool perp_recording_finished(const perp_recording* recording)
{
    (void)recording;
    return false;
}

const char* perp_recording_note(const perp_recording* recording)
{
    (void)recording;
    return "";
}

const char* perp_recording_scene_text(const perp_recording* recording)
{
    (void)recording;
    return "";
}

const char* perp_recording_version(const perp_recording* recording)
{
    (void)recording;
    return "";
}

const char* perp_recording_user_code(const perp_recording* recording)
{
    (void)recording;
    return "";
}

bool perp_recording_has_ledger(const perp_recording* recording)
{
    (void)recording;
    return false;
}

int64_t perp_recording_frame_count(const perp_recording* recording)
{
    (void)recording;
    return 0;
}

perp_status perp_recording_frame(perp_recording* recording, int64_t index, perp_frame* frame)
{
    (void)recording, (void)index, (void)frame;
    return PERP_ERROR_UNSUPPORTED;
}

perp_status perp_recording_quantities(perp_recording* recording, int64_t index,
                                      const perp_quantity* quantity, int32_t count, double* value)
{
    (void)recording, (void)index, (void)quantity, (void)count, (void)value;
    return PERP_ERROR_UNSUPPORTED;
}

perp_status perp_recording_restore(perp_recording* recording, int64_t index, perp_sim* sim)
{
    (void)recording, (void)index, (void)sim;
    return PERP_ERROR_UNSUPPORTED;
}

perp_status perp_recording_verify(perp_context* context, const char* path,
                                  perp_verification* verification)
{
    (void)verification;
    return refuse(context, path);
}

perp_status perp_recording_verify_with(perp_context* context, const char* path,
                                       perp_status (*prepare)(void* user, perp_sim* sim),
                                       void* user, perp_verification* verification)
{
    (void)prepare, (void)user, (void)verification;
    return refuse(context, path);
}
