/* src/sim/gradient_run.h - a run that is being differentiated, shared by the files of gradients. */
#ifndef PERPI_GRADIENT_RUN_H
#define PERPI_GRADIENT_RUN_H

#include "sim/gradient.h"
#include "sim/quantity.h"
#include "sim/tape.h"
#include "step/linear_step.h"

/* The adjoint with the other case of the rule where contacts roll exactly, carried beside the own one
 * (gradient_rolling.c). */
typedef struct perpi_roll_other {
    bool begun, failed;
    double* room;
    double *y, *y_next;
    double* memory[2];
    size_t memory_capacity[2];
    perpi_linear_light light;
    double* light_room;
    double* off; /* per parameter: by how much the gradient is larger */
} perpi_roll_other;

typedef struct perpi_gradient_work {
    perp_sim* sim;
    perp_context* context;
    const perp_model* model;
    const perpi_gradient_input* in;
    perp_measure_kind kind;
    const perpi_expr* expr;
    const perp_quantity* quantity;
    int32_t quantity_count;
    int32_t slot_base; /* of the quantities in expressions */
    perpi_tape tape;
    perpi_tape without; /* steps without the contacts of the impacts before them */
    perpi_taken_step step_without;
    perpi_linear_step* linear;
    perpi_linear_size size;
    double* time; /* per state of the run */
    size_t time_capacity;
    int64_t count;             /* states */
    struct perpi_uses* uses;   /* backwards: measures that the measure is one of; NULL: none */
    int64_t extreme, crossing; /* states at which the measure takes its value */
    double* room;              /* of the vectors below */
    double *y, *y_next, *other, *slot, *q, *v;
    /* displacements of the impulses of a step's contacts (linear_step.h, perpi_linear_step_memory),
     * before and after it: forward those of each parameter; and contacts whose impulses are not
     * unique */
    double *memory[2], *memory_other;
    bool* loose;
    size_t memory_capacity[2], memory_other_capacity, loose_capacity;
    double*
        forward; /* displacements, one after the other for each parameter, before and after a step */
    double* parameter; /* of a step */
    size_t parameter_capacity;
    perpi_joint_input* joint; /* of a step, then of the one without an impact */
    double* gradient;
    perp_gradient_flags* flags;
    /* steps that are flagged only because a contact rolls exactly; the first time of the others */
    int64_t rolls;
    double first_other;
    perpi_linear_light light;
    double* light_room;
    struct perpi_motions* motions; /* NULL: no parameter has any */
    perpi_roll_other roll;         /* of the adjoint with fixed steps */
    /* checkpoints */
    unsigned char* snapshot;
    size_t snapshot_capacity, snapshot_used;
    size_t* snapshot_at; /* of each: where it begins, its size */
    size_t snapshot_at_capacity;
    int64_t stride, kept;
    double* before; /* per snapshot: the poses of the state before it */
    size_t before_capacity;
    const double* q_before; /* of the state before the first on the tape; NULL: none */
    bool rolled_before; /* the step from it is one of a rolling body; of each snapshot: rolled */
    bool* rolled;
    size_t rolled_capacity;
} perpi_gradient_work;

/* Room for a run; NULL expr: of no measure. */
PERP_NODISCARD perp_status perpi_gradient_allocate(perpi_gradient_work* g);
void perpi_gradient_free(perpi_gradient_work* g);
/* The state of a frame of the tape. */
perpi_view perpi_gradient_view(const perpi_gradient_work* g, size_t frame);
/* What a quantity of the state has of each parameter itself, times weight, into gradient. */
void perpi_gradient_add_quantity(const perpi_gradient_work* g, const perpi_view* view,
                                 const perp_quantity* quantity, double weight, double* gradient);

/* Values of the quantities of an expression at a state, into g->slot. */
void perpi_gradient_read_slots(const perpi_gradient_work* g, const perpi_expr* expr,
                               const perpi_view* view);
/* d expression of a measure / d slot, of g->slot; of a condition, of its margin. */
double perpi_gradient_by_slot(const perpi_gradient_work* g, int32_t measure, double t,
                              int32_t slot);
/* y += weight times d expression of a measure / d state k; and g->gradient by what it has of parameters itself. */
void perpi_gradient_add_sample(perpi_gradient_work* g, int32_t measure, int64_t k, size_t frame,
                               double weight, double* y);
/* Weight of state k in window number `window` of a measure. */
double perpi_gradient_window_weight(const perpi_gradient_work* g, int64_t k,
                                    const perp_measure_def* def, double window);

/* Room for the impulses of the contacts of the frames, `sets` of them; those before stay. */
PERP_NODISCARD perp_status perpi_gradient_memory_room(perpi_gradient_work* g, int32_t before,
                                                      int32_t after, size_t sets);
/* After a step: memory[1] becomes memory[0]. */
void perpi_gradient_memory_next(perpi_gradient_work* g);

/* What may leave the derivative as it is. */
enum { PERPI_GRADIENT_DOUBTS = PERPI_LINEAR_WEAK | PERPI_LINEAR_UNDETERMINED };
/* gradient_forward.c: whether two vectors of derivatives are the same. */
bool perpi_gradient_same(const double* a, const double* b, int32_t n);
double perpi_gradient_dot(int32_t n, const double* a, const double* b);
/* Displacements at the start, into g->forward; through the step that led to a frame; of a measure
 * along the run. */
void perpi_gradient_begin_forward(perpi_gradient_work* g);
PERP_NODISCARD perp_status perpi_gradient_step_forward(perpi_gradient_work* g, size_t frame);
PERP_NODISCARD perp_status perpi_gradient_run_forward(perpi_gradient_work* g);

/* y += what the sample of state k, at `frame` of the tape, adds to the derivatives by that state.
 * crossing: the frames between which a condition becomes true, read if k is one of them. */
void perpi_gradient_sample(perpi_gradient_work* g, int64_t k, size_t frame,
                           const size_t crossing[2], double* y);
/* d measure / d (time of state k) at fixed states; frame: of each state of the run. */
double perpi_gradient_sample_time(perpi_gradient_work* g, int64_t k, const size_t* frame);
/* The step from one frame of the tape to another. */
perpi_taken_step perpi_gradient_step(perpi_gradient_work* g, size_t from, size_t frame);
/* gradient_kinks.c: whether an expression of time has a kink at a parameter's value, at time t. */
bool perpi_gradient_kinks(const perpi_gradient_work* g, double t);
void perpi_gradient_count(perpi_gradient_work* g, const perpi_tape_frame* frame, bool immaterial);
/* What a parameter changes of the step of g->linear, into g->parameter, for which there must be
 * room: by models at other values. */
PERP_NODISCARD perp_status perpi_gradient_vary(perpi_gradient_work* g,
                                               const perpi_gradient_parameter* p);
/* Likewise of parameter i of a forward gradient, by the numbers that it changes where these are
 * known; perpi_motions_step was called for the step. */
PERP_NODISCARD perp_status perpi_gradient_change(perpi_gradient_work* g, int32_t parameter);
/* Backwards: what the step adds to the derivative by parameter i, light numbers apart.
 * perpi_motions_contract was called. */
PERP_NODISCARD perp_status perpi_gradient_product(perpi_gradient_work* g, int32_t parameter,
                                                  const double* multiplier, double* product);
/* Whether a parameter changes the step of g->linear. */
bool perpi_gradient_enters(const perpi_gradient_work* g, const perpi_gradient_parameter* p);
PERP_NODISCARD perp_status perpi_gradient_room(perpi_gradient_work* g);

/* gradient.c: places of the light numbers in `room`, and how many there are. */
perpi_linear_light perpi_gradient_light(const perp_model* model, double* room);
size_t perpi_gradient_light_size(const perp_model* model);
double perpi_gradient_light_at(const perpi_linear_light* light, const perpi_light_number* x);

/* gradient_rolling.c. Before the adjoint of the step of g->linear, to the state of a frame before
 * it: begins, if a contact rolls exactly. */
PERP_NODISCARD perp_status perpi_roll_begin(perpi_gradient_work* g, int32_t contacts,
                                            int32_t contacts_before);
/* Carries the other adjoint through the step. */
void perpi_roll_back(perpi_gradient_work* g, double* multiplier);
/* Around a sample, which adds to the own adjoint alone; sign -1 before it, 1 after it. */
void perpi_roll_sample(perpi_gradient_work* g, double sign);
/* At the end: flags of exact rolling are taken back if both gradients are the same. */
void perpi_roll_finish(perpi_gradient_work* g);
void perpi_roll_free(perpi_gradient_work* g);

/* gradient_direction.c: forwards along one direction, one-sided. */
PERP_NODISCARD perp_status perpi_gradient_run_direction(perpi_gradient_work* g);

/* gradient_adaptive.c: backwards through adaptive steps and impacts. */
PERP_NODISCARD perp_status perpi_gradient_back_adaptive(perpi_gradient_work* g);

#endif
