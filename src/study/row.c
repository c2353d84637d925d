/* src/study/row.c - rows as bytes: a fixed head, the measures, the strings; a multiple of eight bytes. */
#include <string.h>

#include "perp/study.h"

typedef struct row_head {
    uint64_t size; /* of all, this head included */
    int64_t id, steps;
    int32_t status, measure_count;
    double certificate, energy_error, seconds;
    uint32_t outcome, recording, message, gradient; /* lengths with their zero bytes */
} row_head;

static char* put_text(char* at, const char* text, uint32_t length)
{
    memcpy(at, text, length);
    return at + length;
}

size_t perp_run_row_pack(const perp_run_row* row, void* buffer, size_t size)
{
    row_head head = {
        .id = row->id,
        .steps = row->steps,
        .status = (int32_t)row->status,
        .measure_count = row->measure_count,
        .certificate = row->certificate,
        .energy_error = row->energy_error,
        .seconds = row->seconds,
        .outcome = (uint32_t)strlen(row->outcome) + 1,
        .recording = (uint32_t)strlen(row->recording) + 1,
        .message = (uint32_t)strlen(row->message) + 1,
        .gradient = row->gradient != NULL ? (uint32_t)strlen(row->gradient) + 1 : 0,
    };
    const size_t numbers = (size_t)row->measure_count * sizeof(double);
    const size_t used =
        sizeof head + numbers + head.outcome + head.recording + head.message + head.gradient;
    head.size = (used + 7) / 8 * 8;
    if (head.size <= size) {
        char* at = buffer;
        memset(at, 0, head.size);
        memcpy(at, &head, sizeof head);
        if (numbers > 0) {
            memcpy(at + sizeof head, row->measure, numbers);
        }
        at = put_text(at + sizeof head + numbers, row->outcome, head.outcome);
        at = put_text(at, row->recording, head.recording);
        at = put_text(at, row->message, head.message);
        if (head.gradient > 0) {
            (void)put_text(at, row->gradient, head.gradient);
        }
    }
    return head.size;
}

size_t perp_run_row_unpack(const void* buffer, size_t size, perp_run_row* row)
{
    row_head head;
    if (size < sizeof head) {
        return 0;
    }
    memcpy(&head, buffer, sizeof head);
    if (head.size > size) {
        return 0;
    }
    const char* at = (const char*)buffer + sizeof head;
    *row = (perp_run_row){
        .id = head.id,
        .steps = head.steps,
        .status = (perp_run_status)head.status,
        .measure = (const double*)(const void*)at,
        .measure_count = head.measure_count,
        .certificate = head.certificate,
        .energy_error = head.energy_error,
        .seconds = head.seconds,
    };
    at += (size_t)head.measure_count * sizeof(double);
    row->outcome = at;
    row->recording = at + head.outcome;
    row->message = row->recording + head.recording;
    row->gradient = head.gradient > 0 ? row->message + head.message : NULL;
    return (size_t)head.size;
}
