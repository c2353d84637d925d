/* src/step/anitescu_potra.c - the semi-implicit step without a gap term.
 *
 * Source     [W14 2.4.1]: (2.34) with psi_n/h + dpsi_n/dt replaced by 0
 * Departure  dpsi/dt, the motion of prescribed bodies and belts, is kept: with 0 in its place a
 *            moving
 *            plate would pass through bodies that lie on it. A contact enters when it closes: its
 *            gap
 *            is at most `touch` times the size of the smaller body. Before that there is no
 *            constraint, so a body penetrates by up to h times its speed before the contact enters.
 *            Nothing corrects the overlap: it adds no energy, and only overlap deeper than half a
 *            thickness is reduced (perpi_sim_part_deep).
 */
#include "step/step.h"

#include <stddef.h>

static perp_status anitescu_potra_formulate(perpi_formulation* f, const perpi_step_input* in)
{
    perpi_step_settings settings = *in->settings;
    perpi_step_input without = *in;
    settings.no_gap = true;
    without.settings = &settings;
    return perpi_formulate(f, &without);
}

static const perp_setting setting[] = {
    {.name = "touch",
     .type = PERP_SETTING_DOUBLE,
     .offset = offsetof(perpi_step_settings, closed_gap),
     .minimum = 0.0,
     .maximum = 1.0,
     .text = "gap that counts as touching, in sizes of the smaller body"},
};

const perpi_stepper_ops perpi_stepper_anitescu_potra = {
    .name = "anitescu-potra",
    .summary = "semi-implicit Euler without a gap term: contacts act once they touch, first order",
    .setting = setting,
    .setting_count = sizeof setting / sizeof setting[0],
    .touching = true,
    .bounces = true,
    .formulate = anitescu_potra_formulate,
    .solve = perpi_solve_semi_implicit,
    .advance = perpi_advance,
};
