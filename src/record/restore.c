/* src/record/restore.c - sets a simulation to a recorded frame, so that it continues with the bits of an
 * uninterrupted run. */
#include <math.h>
#include <string.h>

#include "record/recording.h"
#include "sim/sim.h"

/* The simulation must have the bodies that were recorded. */
static perp_status check_bodies(const perp_recording* r, const perp_sim* sim)
{
    const perp_model* model = perp_sim_model(sim);
    const perpi_header* h = &r->header;
    bool same = perp_model_dimension(model) == h->dimension &&
                perp_model_body_count(model) == (int32_t)h->body_count;
    for (size_t i = 0; same && i < h->body_count; ++i) {
        const char* name = perp_model_body_name(model, (int32_t)i);
        const size_t length = (size_t)(h->body_offset[i + 1] - h->body_offset[i]);
        same =
            strlen(name) == length && memcmp(name, h->body_name + h->body_offset[i], length) == 0;
    }
    bool joined = perp_model_joint_count(model) == (int32_t)h->joint_count;
    for (size_t i = 0; joined && i < h->joint_count; ++i) {
        const char* name = perp_model_joint_name(model, (int32_t)i);
        const size_t length = (size_t)(h->joint_offset[i + 1] - h->joint_offset[i]);
        joined =
            strlen(name) == length && memcmp(name, h->joint_name + h->joint_offset[i], length) == 0;
    }
    if (same && !joined) {
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "%s: its joints are not those of the scene: it can only continue a scene "
                          "with the same joints in the same order",
                          r->path);
    }
    if (!same) {
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "%s: its bodies are not those of the scene: it can only continue a scene "
                          "with the same bodies in the same order",
                          r->path);
    }
    if (perpi_sim_adaptive(sim) != (h->adaptive != 0)) {
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "%s: made with %s: continue it with the step it was made with", r->path,
                          h->adaptive != 0 ? "an adaptive step, which the scene does not have"
                                           : "fixed steps, but the scene's step is adaptive");
    }
    if (perpi_sim_s_size(sim) != h->memory_size) {
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "%s: its springs and controllers are not those of the scene: it can only "
                          "continue a scene with the same ones",
                          r->path);
    }
    return PERP_OK;
}

/* The number of the frame's step without impacts. The two differ only if there may be impacts;
 * then it follows from the time. */
static int64_t tick_of(const perp_sim* sim, const perp_frame* frame)
{
    return perpi_sim_bounces(sim) ? perpi_sim_tick_at(sim, frame->time) : frame->step;
}

static bool same_moment(const perp_sim* sim, const perp_frame* frame)
{
    if (perpi_sim_adaptive(sim)) {
        return frame->time <= perp_sim_duration(sim);
    }
    const double time = perpi_sim_tick_time(sim, tick_of(sim, frame));
    return fabs(time - frame->time) <= 1e-9 * fabs(frame->time);
}

/* Frames that may lie within the last two steps of a run, with the impacts between them. */
enum { MAX_UNEVEN = 100 };

/* The simulation has no step at the time of frame `index`. */
static perp_status wrong_clock(perp_recording* r, int64_t index, const perp_sim* sim)
{
    perp_frame frame, before;
    perp_status status = PERP_OK;
    /* The last two steps before a duration may have another length (schedule.c), in the recorded
     * run or in this one: one of the frames before them is common to both. */
    for (int64_t k = index - 1; !perpi_sim_adaptive(sim) && k >= 0 && k >= index - MAX_UNEVEN;
         --k) {
        status = perp_recording_frame(r, k, &before);
        if (status != PERP_OK) {
            return status;
        }
        if (before.step > 0 && same_moment(sim, &before)) {
            const double common = before.time;
            status = perp_recording_frame(r, index, &frame);
            return status != PERP_OK
                       ? status
                       : perpi_fail(r->context, PERP_ERROR_INPUT,
                                    "%s: has a frame at t = %.12g, where a run to t = %.12g has no "
                                    "step (the last two steps of a run are fitted to its "
                                    "duration): resume from @%.12g",
                                    r->path, frame.time, perp_sim_duration(sim), common);
        }
    }
    if (status == PERP_OK) {
        status = perp_recording_frame(r, index, &frame);
    }
    if (status != PERP_OK) {
        return status;
    }
    if (perpi_sim_adaptive(sim)) {
        return perpi_fail(r->context, PERP_ERROR_INPUT,
                          "%s: the frame is at t = %.9g, beyond the scene's duration %.9g", r->path,
                          frame.time, perp_sim_duration(sim));
    }
    return perpi_fail(r->context, PERP_ERROR_INPUT,
                      "%s: its step %lld is at t = %.9g, but the scene's step and duration put it "
                      "at t = %.9g: continue with the step it was made with, and a duration that "
                      "reaches beyond",
                      r->path, (long long)frame.step, frame.time,
                      perpi_sim_tick_time(sim, tick_of(sim, &frame)));
}

perp_status perp_recording_restore(perp_recording* r, int64_t index, perp_sim* sim)
{
    perp_frame frame;
    perp_status status = perp_recording_frame(r, index < 0 ? r->frames - 1 : index, &frame);
    if (status == PERP_OK && (frame.edited & PERP_EDITED_PARAMETERS) != 0) {
        perpi_log(
            r->context, PERP_LOG_WARNING,
            "%s: at t = %.9g the program had other parameters than the recorded scene: they are "
            "not in the recording, and have to be set again",
            r->path, frame.time);
    }
    return status == PERP_OK ? perpi_recording_restore(r, index, sim) : status;
}

perp_status perpi_recording_restore(perp_recording* r, int64_t index, perp_sim* sim)
{
    perp_frame frame;
    const int64_t at = index < 0 ? r->frames - 1 : index;
    perp_status status = check_bodies(r, sim);
    if (status == PERP_OK) {
        status = perp_recording_frame(r, at, &frame);
    }
    if (status != PERP_OK) {
        return status;
    }
    /* The time is a product, step number times h. It replaces the recorded one, so that the
     * continuation has the bits of an uninterrupted run; but both must agree up to rounding. */
    if (!same_moment(sim, &frame)) {
        return wrong_clock(r, at, sim);
    }
    const double time =
        perpi_sim_adaptive(sim) ? frame.time : perpi_sim_tick_time(sim, tick_of(sim, &frame));
    const perpi_saved saved = {.time = time,
                               .step = frame.step,
                               .kind = frame.info.kind,
                               .impacts_in_a_row = frame.info.impacts_in_a_row,
                               .clock = frame.rest->clock,
                               .q = frame.q,
                               .v = frame.v,
                               .memory = frame.rest->memory,
                               .contact = frame.contacts,
                               .contact_count = frame.contact_count,
                               .joint = frame.joints,
                               .measure = frame.rest->measure,
                               .measure_size = frame.rest->measure_size};
    status = perpi_sim_set_state(sim, &saved);
    return status == PERP_OK ? PERP_OK : perpi_fail_prefix(r->context, status, r->path);
}
