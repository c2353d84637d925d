/* src/record/verify_ledger.h - checks the recorded ledger against the recorded energies. */
#ifndef PERPI_RECORD_VERIFY_LEDGER_H
#define PERPI_RECORD_VERIFY_LEDGER_H

#include "record/recording.h"

#define PERPI_LEDGER_MESSAGE_SIZE 200

/* The frame before. */
typedef struct perpi_ledger_start {
    perp_energy energy;
    int64_t step;
    double time;
} perpi_ledger_start;

/* Whether the ledger of a frame is correct; if not, `why` is the reason. quasistatic: the ledger
 * is that of the potential energy. */
bool perpi_ledger_holds(const perp_model* model, bool quasistatic, const perpi_ledger_start* before,
                        const perp_frame* frame, char why[PERPI_LEDGER_MESSAGE_SIZE]);

/* Checks the ledgers of all frames with the recorded numbers alone. checked: number of frames; 0
 * if the recording has no ledger, or one that is 0 throughout. bad: the first frame with a wrong
 * ledger, -1 if none. */
PERP_NODISCARD perp_status perpi_ledger_check(perp_recording* recording, const perp_model* model,
                                              bool quasistatic, int64_t* checked, int64_t* bad,
                                              char why[PERPI_LEDGER_MESSAGE_SIZE]);

#endif
