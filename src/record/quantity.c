/* src/record/quantity.c - quantities of recorded frames, by the functions that a simulation uses. */
#include <string.h>

#include "record/recording.h"
#include "sim/quantity.h"
#include "sim/sim.h"

typedef struct perpi_recorded_view {
    perp_scene* scene;
    perp_sim* sim; /* for distances; NULL: not made, or impossible */
    bool sim_tried;
    int64_t summed; /* frames that the ledger includes */
    perp_ledger ledger;
} perpi_recorded_view;

static perp_status open_view(perp_recording* r)
{
    if (r->view != NULL) {
        return PERP_OK;
    }
    perp_status status = perpi_alloc(r->context, 1, sizeof *r->view, &r->view);
    if (status == PERP_OK) {
        const char* text = perp_recording_scene_text(r);
        status =
            perp_scene_parse(r->context, text, strlen(text), r->path, NULL, 0, &r->view->scene);
    }
    if (status != PERP_OK) {
        perpi_recording_view_free(r);
    }
    return status;
}

void perpi_recording_view_free(perp_recording* r)
{
    if (r->view != NULL) {
        perp_sim_destroy(r->view->sim);
        perp_scene_destroy(r->view->scene);
        perpi_free(r->context, r->view);
        r->view = NULL;
    }
}

/* Sums the ledgers of all frames up to this one. */
static perp_status sum_ledger(perp_recording* r, int64_t index)
{
    perpi_recorded_view* x = r->view;
    if (index + 1 < x->summed) {
        x->ledger = (perp_ledger){0};
        x->summed = 0;
    }
    for (; x->summed <= index; ++x->summed) {
        perp_frame frame;
        const perp_status status = perp_recording_frame(r, x->summed, &frame);
        if (status != PERP_OK) {
            return status;
        }
        perp_ledger_add(&x->ledger, &frame.info.ledger);
    }
    return PERP_OK;
}

/* A simulation that gives distances at any state. A scene that this program cannot simulate has none. */
static perp_status make_sim(perp_recording* r)
{
    perpi_recorded_view* x = r->view;
    if (x->sim_tried) {
        return PERP_OK;
    }
    const perp_status status = perp_sim_create_from_scene(r->context, x->scene, &x->sim);
    x->sim_tried = status != PERP_ERROR_MEMORY;
    return status == PERP_ERROR_MEMORY ? status : PERP_OK;
}

static double impulse_time(const perp_recording* r, const perp_frame* frame)
{
    const perp_sim_def def = perp_sim_def_from_scene(r->view->scene);
    if (frame->step == 0 || frame->info.kind != PERP_STEP_TIME) {
        return 0.0;
    }
    return frame->adaptive_step > 0.0 ? 0.5 * frame->adaptive_step
                                      : perpi_step_ending_at(def.duration, def.step, frame->time);
}

perp_status perp_recording_quantities(perp_recording* r, int64_t index,
                                      const perp_quantity* quantity, int32_t count, double* value)
{
    bool ledger = false, distance = false;
    for (int32_t i = 0; i < count; ++i) {
        ledger = ledger || quantity[i].kind == PERP_QUANTITY_LEDGER;
        distance = distance || quantity[i].kind == PERP_QUANTITY_DISTANCE;
    }
    perp_frame frame;
    perp_status status = open_view(r);
    if (status == PERP_OK && ledger) {
        status = sum_ledger(r, index);
    }
    if (status == PERP_OK && distance) {
        status = make_sim(r);
    }
    if (status == PERP_OK) {
        status = perp_recording_frame(r, index, &frame);
    }
    if (status != PERP_OK) {
        return status;
    }
    const double time = impulse_time(r, &frame);
    const perpi_view view = {.model = perp_scene_model(r->view->scene),
                             .sim = r->view->sim,
                             .q = frame.q,
                             .v = frame.v,
                             .memory = frame.rest->memory,
                             .contact = frame.contacts,
                             .contact_count = frame.contact_count,
                             .joint = frame.joints,
                             .info = &frame.info,
                             .ledger = &r->view->ledger,
                             .energy = &frame.energy,
                             .contact_time = time,
                             .joint_time = time};
    for (int32_t i = 0; i < count; ++i) {
        value[i] = perpi_quantity_value(&view, &quantity[i]);
    }
    return PERP_OK;
}
