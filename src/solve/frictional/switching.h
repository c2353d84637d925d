/* src/solve/frictional/switching.h - what the files of the method `switching` share: the choices of the groups'
 * acting members (group_choice.c), and the problem that they leave (chosen_problem.c). */
#ifndef PERPI_SWITCHING_H
#define PERPI_SWITCHING_H

#include "perp/solve.h"
#include "solve/frictional/fixed_push.h"

/* Relative opening of a partner that counts as zero; more where the solves are less accurate. */
#define PERPI_CLOSED 1e-13

/* A large problem is solved to PERPI_COARSE only until no choice changes; violations below PERPI_COARSE_SLACK
 * are then left to the accurate solves that follow. */
#define PERPI_COARSE 1e-4
#define PERPI_COARSE_SLACK 1e-2

enum {
    PERPI_REPLACEMENTS = 6, /* of one group; then its last two members stay closed together */
    PERPI_PLANAR = 2,       /* rows of a contact with one tangential row, or none */
};

/* The search for the impulse s of a group's partner; f: its opening, > 0 at low, < 0 at high. */
typedef struct perpi_share {
    double s, low, high, f_low, f_high;
    double first;   /* high at the start: shares are known to rounding of this */
    int32_t side;   /* which end moved last: 1 low, -1 high, 0 none */
    bool lone;      /* the only primary: f is minus the opening of the most open member */
    int32_t before; /* the choice before the present one, -1: none */
    bool refused;   /* together they did not converge */
    double impulse; /* that it had */
    double gap;     /* the opening for which it was replaced */
    double slope;   /* df/ds, a guess */
    double last;    /* f at the last point, NaN: none with this s */
} perpi_share;

enum { PERPI_JOINT = 8 }; /* partners whose impulses are found together */

/* Broyden's method for the impulses of several partners. */
typedef struct perpi_joint {
    int32_t count; /* 0: to begin */
    int32_t group[PERPI_JOINT];
    double s[PERPI_JOINT], f[PERPI_JOINT], H[PERPI_JOINT * PERPI_JOINT]; /* H: inverse of df/ds */
} perpi_joint;

typedef struct perpi_switching_settings {
    int32_t predicted, inside, inside_part;
} perpi_switching_settings;

typedef struct perpi_switching {
    perp_context* context;
    perpi_switching_settings set;
    const perp_inner_solve* inner; /* of the running solve */
    int32_t* group_of;             /* per constraint, -1: in none */
    int32_t* choice;               /* per group: constraint, -1: none */
    int32_t* partner; /* per group: the member that is closed beside the choice, -1: none */
    int32_t* second;  /* per group: the member that acts beside the choice, both closed, -1: none */
    int32_t* handed;  /* per group: how often */
    double* given; /* per constraint of the smaller problem: the impulse of a partner, else NaN */
    bool* closed_row;   /* per constraint of the smaller problem: chosen beside another member */
    void* newton;       /* for these: newton-bodies */
    perpi_share* share; /* per group */
    perpi_joint joint;
    int32_t moves; /* of shares since choices changed */
    double fine,
        slack;     /* of the accurate solves; of those at hand, PERPI_COARSE_SLACK of coarse ones */
    double closed; /* PERPI_CLOSED, or the residual of the last solve */
    bool direct;   /* the first choices are predicted, and replaced by the most open member */
    bool go_on;    /* the search begins with the choices at hand */
    bool
        pairs; /* choices are made while the problem that they leave is solved: two members of a group act */
    perp_contact_problem chosen; /* the same: the problem that the choices leave */
    bool stuck; /* choices made in one solve: all groups hold, but what they leave is not solved */
    const perp_contact_problem* whole;
    double* p_whole; /* of the caller */
    double tolerance;
    bool tight;           /* the same: the answer is to be more accurate than that */
    bool one_by_one;      /* groups change one at a time */
    int32_t last;         /* then: the group that changed last */
    int32_t* from;        /* per constraint of the smaller problem */
    size_t* M_at;         /* per block: where its mass block starts */
    double *guess, *near; /* v and p: of the caller; from which the search goes on */
    double* work;         /* of the residual check */
    perp_constraint* constraint;
    double *b, *lower, *upper, *compliance, *b_error, *p;
    perpi_fixed_push push; /* partners in space */
    size_t given_capacity;
    size_t group_of_capacity, choice_capacity, partner_capacity, handed_capacity, from_capacity;
    size_t constraint_capacity, share_capacity, M_at_capacity, guess_capacity, second_capacity,
        closed_capacity;
    size_t b_capacity, lower_capacity, upper_capacity, compliance_capacity, b_error_capacity,
        p_capacity;
} perpi_switching;

/* Normal velocity of a contact, its largest term, and about the diagonal of W. */
typedef struct perpi_opening {
    double u, size, w;
} perpi_opening;

/* The state of the members of a group at a solution. */
typedef struct perpi_outlook {
    int32_t widest, cheapest; /* primaries: most open; closed at the least energy */
    double most;              /* opening of the most open member, relative */
    bool open;                /* a member other than the choice is the most open */
} perpi_outlook;

/* ---- group_choice.c -------------------------------------------------------------------------------------*/

/* Of constraint i, a contact. */
perpi_opening perpi_group_opening(const perpi_switching* s, const perp_contact_problem* P,
                                  int32_t i, const double* v);

/* Of group g. */
perpi_outlook perpi_group_outlook(const perpi_switching* s, const perp_contact_problem* P,
                                  int32_t g, const double* v);

/* The relative opening that the share of a group's partner must make zero. */
double perpi_partner_off(const perpi_switching* s, const perp_contact_problem* P, int32_t g,
                         const double* v);

/* Whether the partners are just closed; if not, their shares are changed. */
bool perpi_partners_are_closed(perpi_switching* s, const perp_contact_problem* P, const double* v);

/* The next impulse of a partner whose opening is f, between bounds. */
void perpi_share_move(perpi_share* x, double f);

/* Where Newton's method does not close members together: the impulse of one is sought by solves. False:
 * there are none. */
bool perpi_seek_shares(perpi_switching* s, const perp_contact_problem* P);

/* Whether the answer violates a group, for which another choice is made. */
bool perpi_choose_again(perpi_switching* s, const perp_contact_problem* P, const double* v,
                        double* p);

/* As perpi_choose_again, one group at a time. A group that changes back to its previous member while all
 * others stay needs both. A pair that is no longer closed, because another group has changed, is
 * dissolved. */
bool perpi_choose_one(perpi_switching* s, const perp_contact_problem* P, const double* v,
                      const double* p);

/* Choices of several groups that change at once can cycle: from here on one group at a time. */
void perpi_start_one_by_one(perpi_switching* s, const perp_contact_problem* P);

/* The first choices. s->direct: a group without one takes the member that is the most open at the
 * velocities of the guess, or of the free motion if there is none; it has no impulse unless it closes. Else
 * only groups that the free motion violates. v is overwritten if it is no guess. */
void perpi_choose_first(perpi_switching* s, const perp_contact_problem* P, bool warm, double* v,
                        double* p);

/* Choices while the problem is solved, at a point near the answer: other members where one is open while the
 * choice pushes, by more than that one is off itself. A choice that comes back is closed together with the
 * one that it would replace. solved: the point is the answer of the problem at hand. Whether any changed. */
bool perpi_choose_inside(perpi_switching* s, const perp_contact_problem* P, bool solved,
                         const double* v, double* p);

/* Members that act together, and do not converge so: one of them acts. False: there are none. */
bool perpi_refuse_inside(perpi_switching* s, const perp_contact_problem* P, const double* p);

/* Whether every group obeys its law. */
bool perpi_groups_hold(const perpi_switching* s, const perp_contact_problem* P, const double* v,
                       const double* p);

/* ---- share_search.c -------------------------------------------------------------------------------------*/

/* While the problem is solved: other impulses of the partners, once their openings have settled; one member acts where
 * that leads to no answer. changed: other choices have changed at this point. Whether any impulse or choice
 * changed. */
bool perpi_shares_revise(perpi_switching* s, const perp_contact_problem* P, bool changed,
                         const double* v, double* p);

/* ---- chosen_problem.c -----------------------------------------------------------------------------------*/

/* Solves the problem that the choices leave; v and p are those of the whole. */
perp_status perpi_chosen_solve(perpi_switching* s, const perp_contact_problem* problem,
                               const perp_solve_options* options, bool warm, double* v, double* p,
                               perp_report* report, perp_outcome* outcome);

/* Chooses and solves at once. SOLVED: no choice changes at the answer. */
perp_status perpi_chosen_solve_inside(perpi_switching* s, const perp_contact_problem* problem,
                                      const perp_solve_options* options, bool warm, double* v,
                                      double* p, perp_report* report);

#endif
