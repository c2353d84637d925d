/* experiments/w14-sizes - sizes of the problem with the standard model and with PEG [W14 4.7].
 *
 * Polygons poured into a box (5.2.3, mu = 0.25, h = 0.01) under PEG. At every tenth step the standard model
 * builds its problem at the same configuration. Printed beside each other: the rows of the MLCP
 * by the formulas (4.52) to (4.55), with 3 velocities a body instead of 6, and as they are here:
 *   (4.52)  3 n_B + n_b + n_u (n_d + 2)                                     standard
 *   (4.53)  the same for the contacts that stand alone, + n_s + floor(n_s / 2) (n_d + 1)
 *   (4.55)  all contacts in I-constraints
 * Ours differ on purpose: every member of a group has friction and a slack of its own, since any of
 * them may get an impulse ((4.10)-(4.13) instead of (4.14)); and `switching` never builds that
 * problem but one without groups, of the contacts that stand alone and one member of each group
 * that pushes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/pour.h"
#include "common/report.h"

enum { SEEDS = 3, DIRECTIONS = 2, EVERY = 10, PAIRS = 4096 };

typedef struct sizes {
    double bodies, joints, contacts, grouped, groups, pairs, mlcp, acting;
    double pair_max, group_max; /* contacts of a pair of bodies; members of a group */
} sizes;

static void fail(const scene_run* run)
{
    fprintf(stderr, "w14-sizes: %s\n", perp_context_error(run->context));
    exit(3);
}

/* Of the problem of the last step. */
static sizes count(const scene_run* run, perp_reformulation* reformulation)
{
    const perp_contact_problem* P = perp_sim_problem(run->sim);
    sizes s = {0};
    perp_mlcp mlcp;
    if (perp_contact_to_mlcp(reformulation, P, &mlcp) != PERP_OK) {
        fail(run);
    }
    s.mlcp = mlcp.M.cols;
    s.bodies = P->block_count;
    int32_t contacts = 0;
    const perp_contact* c = perp_sim_contacts(run->sim, &contacts);
    int32_t pair = 0;
    for (int32_t i = 0; i < P->constraint_count; ++i) {
        s.joints += P->constraint[i].kind == PERP_CONSTRAINT_EQUALITY ? P->constraint[i].rows : 0;
    }
    for (int32_t i = 0; i < contacts; ++i) {
        const bool same = i > 0 && c[i].body_a == c[i - 1].body_a && c[i].body_b == c[i - 1].body_b;
        pair = same ? pair + 1 : 1;
        s.pairs += !same;
        s.pair_max = fmax(s.pair_max, pair);
        s.acting += c[i].group == 0 || c[i].impulse[0] > 0.0;
    }
    s.contacts = contacts;
    s.groups = P->group_count;
    for (int32_t g = 0; g < P->group_count; ++g) {
        s.grouped += P->group[g].count;
        s.group_max = fmax(s.group_max, P->group[g].count);
    }
    return s;
}

static double formula_452(const sizes* s)
{
    return 3 * s->bodies + s->joints + s->contacts * (DIRECTIONS + 2);
}

static double formula_453(const sizes* s, double grouped)
{
    return 3 * s->bodies + s->joints + (s->contacts - grouped) * (DIRECTIONS + 2) + grouped +
           floor(grouped / 2) * (DIRECTIONS + 1);
}

int main(int argc, char** argv)
{
    report r;
    report_begin(&r, "w14-sizes", argc, argv);
    FILE* table = report_file(&r, "sizes.dat");
    fprintf(table, "# time, standard: contacts (4.52) rows; peg: contacts n_s groups (4.52) (4.53) "
                   "(4.55) rows, rows that switching solves\n");
    double steps = 0, mean[12] = {0}, group_max = 0, off_452 = 0, off_own = 0, order = 0;
    double pair_max[2] = {0};
    for (unsigned seed = 0; seed < SEEDS; ++seed) {
        pour how = {.contact = "peg", .seed = seed, .h = 0.01, .mu = 0.25};
        scene_run peg = pour_open(&how);
        how.contact = "standard";
        scene_run standard = pour_open(&how);
        perp_reformulation* reformulation = NULL;
        size_t room = 1 << 20, size = 0;
        void* bytes = malloc(room);
        if (bytes == NULL || perp_reformulation_create(peg.context, &reformulation) != PERP_OK) {
            return 3;
        }
        for (int step = 0; !perp_sim_finished(peg.sim); ++step) {
            const bool look = step % EVERY == 0;
            size = room;
            if (look && (perp_sim_save(peg.sim, bytes, &size) != PERP_OK ||
                         perp_sim_restore(standard.sim, bytes, size) != PERP_OK)) {
                fail(&peg);
            }
            scene_run_step(&peg, NULL);
            if (!look) {
                continue;
            }
            const char* error = NULL;
            (void)!scene_run_step(&standard, &error); /* solved or not: its problem is there */
            const sizes p = count(&peg, reformulation), s = count(&standard, reformulation);
            const double rows_switching = 3 * p.bodies + p.joints + p.acting * (DIRECTIONS + 2);
            const double value[] = {s.contacts,
                                    formula_452(&s),
                                    s.mlcp,
                                    p.contacts,
                                    p.grouped,
                                    p.groups,
                                    formula_452(&p),
                                    formula_453(&p, p.grouped),
                                    formula_453(&p, p.contacts),
                                    p.mlcp,
                                    rows_switching,
                                    p.pairs};
            fprintf(table, "%g", perp_sim_time(peg.sim));
            for (int k = 0; k < 12; ++k) {
                mean[k] += value[k];
                fprintf(table, " %g", value[k]);
            }
            fprintf(table, "\n");
            steps += 1;
            group_max = fmax(group_max, p.group_max);
            pair_max[0] = fmax(pair_max[0], s.pair_max);
            pair_max[1] = fmax(pair_max[1], p.pair_max);
            off_452 = fmax(off_452, fabs(s.mlcp - formula_452(&s)));
            /* per group of n members n - 1 c, n d and y */
            off_own = fmax(off_own, fabs(p.mlcp - formula_452(&p) - 2 * p.grouped));
            order = fmax(order, formula_453(&p, p.grouped) - formula_452(&p));
        }
        fprintf(table, "\n\n");
        free(bytes);
        perp_reformulation_destroy(reformulation);
        scene_run_close(&peg);
        scene_run_close(&standard);
    }
    fclose(table);
    static const char* const name[] = {"standard: contacts in the problem",
                                       "standard: rows by (4.52)",
                                       "standard: rows of our MLCP",
                                       "peg: contacts in the problem, n_u",
                                       "peg: of these in groups, n_s",
                                       "peg: groups",
                                       "peg: rows if all stood alone, (4.52)",
                                       "peg: rows by (4.53)",
                                       "peg: rows if all were in groups, (4.55)",
                                       "peg: rows of our MLCP, every member with friction",
                                       "peg: rows of the problem that switching ends with",
                                       "pairs of bodies in the problem with PEG"};
    for (int k = 0; k < 12; ++k) {
        char text[96];
        snprintf(text, sizeof text, "%s, mean", name[k]);
        report_note(&r, text, mean[k] / steps);
    }
    report_note(&r, "standard: most contacts of a pair of bodies", pair_max[0]);
    report_note(&r, "peg: most contacts of a pair of bodies", pair_max[1]);
    report_note(&r, "peg: most members of a group", group_max);
    report_add(&r, "standard: our rows minus (4.52), largest", 0.0, 0.0, off_452, 0.0);
    report_add(&r, "peg: our rows minus (4.52) minus 2 n_s, largest", NAN, 0.0, off_own, 0.0);
    report_add(&r, "peg: (4.53) minus (4.52), largest (the thesis: never above 0)", 0.0, -1e9,
               order, 1e9);
    return report_end(&r);
}
