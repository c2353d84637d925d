/* src/solve/plan.c - "auto": methods that fit the problem, in order.
 *
 * Order: first the method that is accurate to rounding and cheap from a warm start; then robust
 * methods; last those that converge slowly. A dense pivoting method is not tried first where its
 * cubic cost would dominate (LARGE unknowns). A Newton method is first given a small part of the
 * tolerance and a few steps: near the solution one more step squares the error, and a warm start
 * just within the tolerance would otherwise be returned unimproved, step after step.
 */
#include "solve/plan.h"

#include <string.h>

enum {
    LARGE = 2000,
    LARGE_ISLAND = 150,
    SMALL_GROUPS = 16,
    FEW_DOFS = 120,
    LARGE_NEWTON = 600, /* rows */
    LARGE_PILE = 1000,  /* rows */
    MANY_ROWS = 1500,   /* up to this 800 iterations of newton-bodies take half a second */
    PILE = 90,
    /* rows: below it newton takes milliseconds, and its answers are accurate to rounding */
    LAYERS = 300,
    LEAN = 3, /* rows per velocity */
    CROWD = 4,
};

/* ---- the forms with one vector of unknowns -----------------------------------------------------------*/

static const perpi_entry lcp_plan[] = {{"lemke", 0},          {"pivot", 0},          {"path", 0},
                                       {"interior-point", 0}, {"fischer-newton", 0}, {0}};
static const perpi_entry lcp_large_plan[] = {
    {"path", 0}, {"pivot", 0}, {"lemke", 0}, {"interior-point", 0}, {"fischer-newton", 0}, {0}};
const perpi_entry perpi_plan_mlcp[] = {{"pivot", 0},          {"path", 0},           {"lemke", 0},
                                       {"interior-point", 0}, {"fischer-newton", 0}, {0}};
const perpi_entry perpi_plan_ncp[] = {
    {"path", 0}, {"fischer-newton", 0}, {"minmap-newton", 0}, {0}};
const perpi_entry perpi_plan_friction[] = {
    {"newton", PERPI_TIGHT}, {"newton", 0}, {"nsgs", 0}, {"admm", 0}, {"fixed-point", 0}, {0}};

const perpi_entry* perpi_plan_lcp(const perp_lcp* problem)
{
    return problem->n <= LARGE ? lcp_plan : lcp_large_plan;
}

/* ---- the contact problem -----------------------------------------------------------------------------*/

/* One block takes part in more than half of all constraints (a body on a bed of springs): then
 * nearly every pair of them shares a block, and W is dense. A sample of constraints finds such a
 * block. */
static bool has_common_block(const perp_contact_problem* P)
{
    enum { SAMPLES = 4 };
    for (int32_t k = 0; k < 2 * SAMPLES; ++k) {
        const int64_t at = (int64_t)P->constraint_count * (k / 2) / SAMPLES;
        const int32_t block = P->constraint[at].block[k % 2];
        int32_t met = 0;
        for (int32_t i = 0; block >= 0 && i < P->constraint_count; ++i) {
            const int32_t* b = P->constraint[i].block;
            met += b[0] == block || b[1] == block;
        }
        if (2 * met > P->constraint_count) {
            return true;
        }
    }
    return false;
}

typedef enum kind {
    FEW_GROUP_ROWS,
    SOME_GROUP_ROWS,
    MANY_GROUP_ROWS,
    ROWS_LEAN,
    ROWS_PILE,
    ROWS_LAYERS,
    ROWS_MEDIUM_PILE,
    ROWS_LARGE_PILE,
    ROWS_CROWD,
    ROWS_FEW_BODIES_LARGE,
    ROWS_FEW_BODIES_MANY,
    ROWS_FEW_BODIES,
    ROWS_FEW_BODIES_SMALL,
    ROWS_FEW_BODIES_LAYERS,
    ROUND_CONES,
    JOINTS,
    SMALL_POLYGON,
    LARGE_POLYGON,
} kind;

static const perpi_entry contact_plan[][PERPI_PLAN_MOST] = {
    /* Groups: where switching finds no answer there may be none, and the general methods then
     * search for long: path 0.3 to 4 s on 40 rows. So each is tried only up to a size at which its
     * search takes milliseconds (not by a time limit, which would make runs differ). The simulation
     * falls back to simpler contact models; a saved problem can be solved with `perp solve --solver
     * path`. */
    [FEW_GROUP_ROWS] = {{"switching", 0}, {"lemke", 0}, {"pivot", 0}, {"path", 0}},
    [SOME_GROUP_ROWS] = {{"switching", 0}, {"lemke", 0}, {"pivot", 0}},
    [MANY_GROUP_ROWS] = {{"switching", 0}},
    /* Warm starts with few contacts per body, of moderate number (a row of dominoes that fall).
     * newton-bodies is the fastest where little changes. Where it does not converge soon, newton
     * from the same guess takes a tenth of the steps and is more accurate. Only without joints: a
     * gripper that holds a can by two pads has many solutions, and in that of newton the can
     * slips. */
    [ROWS_LEAN] = {{"newton-bodies", PERPI_PROBE},
                   {"newton", PERPI_TIGHT},
                   {"newton-bodies", PERPI_TIGHT},
                   {"newton-bodies", 0},
                   {"newton-bodies", PERPI_COLD},
                   {"newton", PERPI_SEARCH},
                   {"nsgs", 0},
                   {"admm", 0}},
    /* Where newton-bodies stalls after its first PERPI_FEW iterations (soft layers whose ties are equality
     * rows: 4000 more iterations, 4 s on 792 rows), newton mostly needs fewer than ten from there. Not in
     * large piles, where one iteration of it can take a second. */
    [ROWS_PILE] = {{"newton-bodies", PERPI_TIGHT},
                   {"newton", PERPI_BRIEF},
                   {"newton-bodies", 0},
                   {"newton-bodies", PERPI_COLD},
                   {"newton", PERPI_SEARCH},
                   {"nsgs", 0},
                   {"admm", 0}},
    /* The same with more than LAYERS rows, where an iteration of newton takes milliseconds: what the first
     * attempts do not solve mostly has no solution (soft layers between bodies that are pressed together: 5000
     * iterations of newton, 17 s on 887 rows), and the stepper then has simpler contacts. */
    [ROWS_LAYERS] = {{"newton-bodies", PERPI_TIGHT},
                     {"newton", PERPI_BRIEF},
                     {"newton-bodies", 0},
                     {"newton-bodies", PERPI_COLD},
                     {"newton", PERPI_SHORT},
                     {"nsgs", PERPI_SHORT}},
    /* Where newton-bodies stalls (heaps of 50 to 80 spheres that come to rest: residuals of 1e-7 after 2000
     * iterations, a second), newton from zero needs 55 to 1100 iterations of half a millisecond. */
    [ROWS_MEDIUM_PILE] = {{"newton-bodies", PERPI_TIGHT | PERPI_LONG},
                          {"nsgs", PERPI_SHORT},
                          {"newton", PERPI_BRIEF | PERPI_WHOLE},
                          {"newton", PERPI_COLD | PERPI_MANY | PERPI_WHOLE}},
    /* No method with a dense matrix: one of its iterations would take longer than all of these. */
    [ROWS_LARGE_PILE] = {{"newton-bodies", PERPI_TIGHT | PERPI_LONG}, {"nsgs", PERPI_SHORT}},
    /* Very many contacts: W is dense and has the rank of the velocities. Its basis is small, so
     * pivoting takes milliseconds where newton-bodies stalls (planar and polygon cones); newton and
     * nsgs search for seconds. */
    [ROWS_CROWD] = {{"newton-bodies", PERPI_TIGHT},
                    {"pivot", PERPI_SHORT},
                    {"newton-bodies", 0},
                    {"newton-bodies", PERPI_COLD}},
    /* Few bodies with very many contacts: a problem that these do not solve mostly has no solution
     * (of 122 such problems of random planar scenes a search of 2000 iterations of newton-bodies
     * solved 7), and a step may solve several. Up to MANY_ROWS the last attempts are what a cold start would
     * begin with, and a longer one. */
    [ROWS_FEW_BODIES_LARGE] = {{"newton-bodies", PERPI_TIGHT},
                               {"pivot", PERPI_SHORT},
                               {"newton-bodies", PERPI_COLD | PERPI_SHORT},
                               {"newton-bodies", PERPI_SHORT}},
    [ROWS_FEW_BODIES_MANY] = {{"newton-bodies", PERPI_TIGHT},
                              {"pivot", PERPI_SHORT},
                              {"newton-bodies", PERPI_COLD | PERPI_SHORT},
                              {"newton-bodies", PERPI_SHORT},
                              {"newton-bodies", PERPI_TIGHT | PERPI_COLD},
                              {"newton-bodies", PERPI_COLD | PERPI_MEDIUM}},
    [ROWS_FEW_BODIES] = {{"newton-bodies", PERPI_TIGHT},
                         {"pivot", PERPI_SHORT},
                         {"newton", PERPI_BRIEF},
                         {"newton-bodies", PERPI_COLD | PERPI_SHORT},
                         {"newton-bodies", PERPI_SHORT},
                         {"newton-bodies", PERPI_TIGHT | PERPI_COLD},
                         {"newton-bodies", PERPI_COLD | PERPI_MEDIUM}},
    /* Up to PERPI_DENSE rows newton and pivot cost little more, and solve some that the others do not (72 polygons
     * between five bodies: newton from zero 58 steps, pivot 380, newton-bodies none). */
    [ROWS_FEW_BODIES_SMALL] = {{"newton-bodies", PERPI_TIGHT},
                               {"pivot", PERPI_SHORT},
                               {"newton", PERPI_BRIEF},
                               {"newton-bodies", PERPI_COLD | PERPI_SHORT},
                               {"newton-bodies", PERPI_SHORT},
                               {"newton-bodies", PERPI_TIGHT | PERPI_COLD},
                               {"newton-bodies", PERPI_COLD | PERPI_MEDIUM},
                               {"newton", PERPI_COLD | PERPI_SHORT | PERPI_WHOLE},
                               {"pivot", PERPI_MEDIUM | PERPI_WHOLE}},
    /* Few bodies on very many soft layers (2000 rows, 100 velocities of bodies): an iteration takes
     * milliseconds, and one of nsgs ten times that. */
    [ROWS_FEW_BODIES_LAYERS] = {{"newton-bodies", PERPI_TIGHT | PERPI_LONG | PERPI_BOUNDED}},
    /* Contacts and joints that repeat each other: newton-bodies solves in a few hundred iterations what newton
     * does not, and where nsgs and admm take 10,000 and more. */
    [ROUND_CONES] = {{"newton", PERPI_TIGHT},
                     {"newton", PERPI_SEARCH},
                     {"newton", PERPI_COLD | PERPI_SEARCH},
                     {"newton-bodies", PERPI_COLD | PERPI_MEDIUM},
                     {"nsgs", 0},
                     {"admm", 0},
                     {"fixed-point", 0}},
    /* Joints with limits or motors and no contact: piecewise linear, solved in a few Newton steps,
     * while pivoting works on a dense LCP. Equality rows alone use lemke: one direct solve. */
    [JOINTS] = {{"newton", PERPI_TIGHT},
                {"newton", PERPI_COLD | PERPI_SHORT},
                {"newton", PERPI_SEARCH},
                {"lemke", 0},
                {"nsgs", 0}},
    /* From impulses of a last step that were 1e6 times those of this one (a jammed link that came free) newton
     * does not return; from zero it takes a few steps. */
    [SMALL_POLYGON] = {{"lemke", 0},
                       {"newton", PERPI_TIGHT},
                       {"newton", PERPI_COLD | PERPI_SHORT},
                       {"pivot", 0},
                       {"newton", PERPI_SEARCH},
                       {"nsgs", 0}},
    [LARGE_POLYGON] = {{"newton", PERPI_TIGHT},
                       {"newton", PERPI_COLD | PERPI_SHORT},
                       {"newton", PERPI_SEARCH},
                       {"nsgs", 0},
                       {"lemke", 0}},
};

static bool is_pair_contact(const perp_constraint* c)
{
    return c->kind == PERP_CONSTRAINT_CONTACT && c->block[0] >= 0 && c->block[1] >= 0;
}

/* Velocities without those of soft layers, which are blocks of one contact each, with the rows that tie
 * it to its other body and that of its core. Newton in the space of velocities eliminates them one by
 * one at no cost; W has a dense block for all contacts of a body. met: 2 a block: its contacts, its other
 * constraints. */
int32_t perpi_shared_dofs(const perp_contact_problem* P, int32_t* met)
{
    enum { TIE_AND_CORE = 2 };
    int32_t shared = P->dof_count;
    memset(met, 0, 2 * (size_t)P->block_count * sizeof *met);
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int k = 0; k < 2; ++k) {
            if (c->block[k] >= 0) {
                met[2 * c->block[k] + !is_pair_contact(c)] += 1;
            }
        }
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        for (int k = 0; k < 2 && is_pair_contact(c); ++k) {
            const int32_t b = c->block[k];
            const int32_t dofs = b >= 0 ? P->dof[b + 1] - P->dof[b] : 0;
            const bool layer = b >= 0 && met[2 * b] == 1 && met[2 * b + 1] <= TIE_AND_CORE &&
                               (met[2 * b + 1] > 0 ? dofs <= 2 * c->rows : dofs <= c->rows);
            shared -= layer ? dofs : 0;
        }
    }
    return shared;
}

static bool contacts_alone(const perp_contact_problem* P)
{
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        if (P->constraint[i].kind != PERP_CONSTRAINT_CONTACT) {
            return false;
        }
    }
    return true;
}

/* Which plan: by groups, by how dense W is, by the cones, by the size that a dense LCP would have. */
static kind kind_of(const perp_contact_problem* P, bool warm, int32_t* work)
{
    int64_t unknowns = 0;
    bool contacts = false, bounds = false;
    if (P->group_count > 0) {
        return P->row_count <= SMALL_GROUPS   ? FEW_GROUP_ROWS
               : P->row_count <= LARGE_ISLAND ? SOME_GROUP_ROWS
                                              : MANY_GROUP_ROWS;
    }
    const bool alone = P->row_count >= PILE && contacts_alone(P);
    if (P->row_count >= PILE &&
        (P->row_count > P->dof_count || has_common_block(P) ||
         (P->row_count > LAYERS && (alone || P->row_count > perpi_shared_dofs(P, work))))) {
        const bool lean =
            warm && P->row_count <= LAYERS && P->row_count <= LEAN * P->dof_count && alone;
        const kind pile = P->row_count <= LAYERS                 ? ROWS_PILE
                          : !alone && P->row_count <= LARGE_PILE ? ROWS_LAYERS
                          : !alone && perpi_shared_dofs(P, work) <= FEW_DOFS
                              ? ROWS_FEW_BODIES_LAYERS
                          : alone && P->row_count <= LARGE_PILE ? ROWS_MEDIUM_PILE
                                                                : ROWS_LARGE_PILE;
        return lean                                   ? ROWS_LEAN
               : P->row_count <= CROWD * P->dof_count ? pile
               : P->dof_count > FEW_DOFS              ? ROWS_CROWD
               : P->row_count > MANY_ROWS             ? ROWS_FEW_BODIES_LARGE
               : P->row_count > LARGE_NEWTON          ? ROWS_FEW_BODIES_MANY
               : P->row_count > PERPI_DENSE           ? ROWS_FEW_BODIES
                                                      : ROWS_FEW_BODIES_SMALL;
    }
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        const perp_constraint* c = &P->constraint[i];
        contacts = contacts || c->kind == PERP_CONSTRAINT_CONTACT;
        bounds = bounds || c->kind == PERP_CONSTRAINT_BOUNDED;
        if (c->kind != PERP_CONSTRAINT_CONTACT) {
            unknowns += c->rows;
        } else if (c->cone == PERP_CONE_QUADRATIC || c->cone == PERP_CONE_ELLIPSOID) {
            return ROUND_CONES;
        } else {
            unknowns += c->cone == PERP_CONE_NONE ? 1 : 2 + c->directions;
        }
    }
    return bounds && !contacts ? JOINTS : unknowns <= LARGE_ISLAND ? SMALL_POLYGON : LARGE_POLYGON;
}

const perpi_entry* perpi_plan_contact(const perp_contact_problem* problem, bool warm, int32_t* work)
{
    return contact_plan[kind_of(problem, warm, work)];
}
