/* tests/fuzz/ccp_fuzz.c - libFuzzer entry for problem files.
 *
 *     tests/fuzz/ccp_fuzz -max_len=4096 CORPUS
 * Whatever is accepted must be a sound problem: the checks that a solver relies on hold.
 */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "problem/io/ccp.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    perp_context* context = NULL;
    char* text = malloc(size + 1);
    if (text == NULL || perp_context_create(NULL, &context) != PERP_OK) {
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    perpi_ccp ccp;
    if (perpi_ccp_parse(context, text, size, "fuzz", &ccp) == PERP_OK) {
        const perp_status sound = perpi_ccp_check(context, "fuzz", &ccp);
        const perpi_ccp_matrix* M = &ccp.matrix[PERPI_CCP_M];
        if (sound == PERP_OK && ccp.kind == PERP_PROBLEM_BLCP) {
            const perp_mlcp mlcp = {.M = {M->rows, M->cols, M->start, M->row, M->value},
                                    .q = ccp.vector[PERPI_CCP_q].at,
                                    .lower = ccp.vector[PERPI_CCP_lb].at,
                                    .upper = ccp.vector[PERPI_CCP_ub].at};
            if (perp_mlcp_check(context, &mlcp) != PERP_OK) {
                abort();
            }
        }
        perpi_ccp_free(context, &ccp);
    }
    perp_context_destroy(context);
    free(text);
    return 0;
}
