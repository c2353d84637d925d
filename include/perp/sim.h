/* perp/sim.h - the simulation loop: collide, formulate, solve, check, advance.
 *
 *     perp_sim* sim;
 *     perp_sim_create(context, model, &def, &sim);
 *     while (perp_sim_time(sim) < 1.0)
 *         if (perp_sim_step(sim) != PERP_OK) ...
 *
 * A step that fails leaves the state as it was before the step.
 */
#ifndef PERP_SIM_H
#define PERP_SIM_H

#include "perp/contact.h"
#include "perp/ledger.h"
#include "perp/measure.h"
#include "perp/model.h"
#include "perp/solve.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_sim perp_sim;

typedef struct perp_sim_def {
    size_t struct_size; /* set by ..._default(): docs/api.md; 0: not known */
    double step;        /* h > 0; of an adaptive step the first; NaN then: duration / 1000 */
    double error; /* adaptive step: its error, in sizes of the scene and radians; 0: fixed steps */
    double step_min, step_max; /* of an adaptive step; NaN: 1e-9 step_max, duration / 10 */
    /* > 0; if h does not divide it (1e-9), a rest below h/20 lengthens the last step, a larger one is
     * shared by the last two */
    double duration;
    const char* stepper;
    const perp_option* stepper_option; /* settings of the stepper by name */
    int32_t stepper_option_count;
    const char* contact;
    bool
        single_primary; /* lnc, peg: one member of a group may push, the most open one [W14 (4.14)] */
    const char* solver;
    const perp_option* solver_option; /* settings of the solver by name */
    int32_t solver_option_count;
    const char* cone;      /* "none", "polygon", "quadratic", "ellipsoid" */
    int32_t directions;    /* polygon: >= 3 (spatial); planar contacts always have 2 */
    double e[3];           /* ellipsoid: e_t, e_o (no unit), e_r (a length), > 0 */
    double margin;         /* contact margin per pair; NaN: from h and the motion */
    double tolerance;      /* largest residual that is accepted; default 1e-8 */
    bool allow_overlap;    /* accept bodies that overlap at the start and move them apart */
    bool joint_correction; /* close the joints at the end of each step [W14 algorithm 1] */
    bool joint_middle;     /* directions of joints at the middle of the step, not at its start */
    bool joint_choice;     /* unless joint_middle: at the middle where perp_joint_choose says so */
    bool rolling_middle;   /* contacts of rolling bodies at the middle of the step, likewise */
    bool rolling_choice;   /* unless rolling_middle: where perp_rolling_choose says so */
    bool linear_rotation; /* q + h G nu, normalised, as in the papers, instead of the exponential */
    bool keep_going;      /* take the best iterate when a solve fails, and count it */
    const perp_parameter*
        parameter; /* names that measures and stops may use; copied, as these are */
    int32_t parameter_count;
    const perp_measure_def* measure;
    int32_t measure_count;
    const perp_stop_def* stop;
    int32_t stop_count;
} perp_sim_def;

/* h 0.01, duration 1, stewart-trinkle, contact and solver auto, quadratic cone (a polygon has 8 directions). */
PERP_API perp_sim_def perp_sim_def_default(void);

/* The contact model that a simulation uses: what 'auto' stands for with this model, stepper and step, or the
 * model that def names. The reason is a phrase for messages. Both strings are constants or def's own. */
typedef struct perp_contact_choice {
    const char* name;
    const char* reason;
} perp_contact_choice;
PERP_API perp_contact_choice perp_contact_choose(const perp_model* model, const perp_sim_def* def);

/* Where in the step a simulation takes the directions of joints: what the 'auto' of a scene
 * (joint_choice) stands for with this model, stepper and step, or what def says. The reason is a
 * phrase for messages, a constant. */
typedef struct perp_joint_choice {
    bool middle;
    const char* reason;
} perp_joint_choice;
PERP_API perp_joint_choice perp_joint_choose(const perp_model* model, const perp_sim_def* def);

/* The same for the contacts of bodies that roll (scene: contact_direction). Where def asks for the middle and
 * a scene does not admit it, the reason says why; perp_sim_create then fails. */
PERP_API perp_joint_choice perp_rolling_choose(const perp_model* model, const perp_sim_def* def);

/* model must outlive the simulation and not change. */
PERP_API PERP_NODISCARD perp_status perp_sim_create(perp_context* context, const perp_model* model,
                                                    const perp_sim_def* def, perp_sim** sim);
PERP_API void perp_sim_destroy(perp_sim* sim);

PERP_API PERP_NODISCARD perp_status perp_sim_step(perp_sim* sim);
/* Steps until the duration is reached. */
PERP_API PERP_NODISCARD perp_status perp_sim_run(perp_sim* sim);
/* The duration is reached, or a stop held (perp/measure.h). */
PERP_API bool perp_sim_finished(const perp_sim* sim);
/* Number of steps that the whole duration takes, impacts so far included; 0 if that is not known: the
 * step is adaptive. */
PERP_API int64_t perp_sim_step_total(const perp_sim* sim);

PERP_API double perp_sim_time(const perp_sim* sim);
PERP_API double perp_sim_duration(const perp_sim* sim);
/* Length of the last step in time; 1 before the first. */
PERP_API double perp_sim_last_step(const perp_sim* sim);
/* Calls of perp_sim_step that succeeded, and how many of these were impacts. */
PERP_API int64_t perp_sim_step_count(const perp_sim* sim);
PERP_API int64_t perp_sim_impact_count(const perp_sim* sim);
PERP_API const perp_model* perp_sim_model(const perp_sim* sim);
/* Pairs of bodies that may collide, but cannot meet as long as the joints between them are within
 * their limits: they are not searched for contacts then. Contacts are the same with and without. */
PERP_API int32_t perp_sim_pairs_out_of_reach(const perp_sim* sim);

/* ---- state -------------------------------------------------------------------------------------*/

typedef struct perp_body_state {
    double position[3];
    double orientation[4];
    double angle; /* planar, unwrapped */
    double velocity[3];
    double angular_velocity[3];
} perp_body_state;
PERP_API perp_body_state perp_sim_body(const perp_sim* sim, int32_t body);

typedef struct perp_joint_state {
    double coordinate[3]; /* of b relative to a, angles unwrapped; perp_joint_type says which */
    double rate[3];
    double error[2];   /* how far the frames are apart: length, angle; a rope: its excess length */
    double impulse[6]; /* of the last step, the equality rows in order: force on b along world axes
                          (lines and planes: along the frame of a), then torque; a rope: [0] */
    double effort;     /* of the last step, along the axis: motor + friction + damping + limits */
} perp_joint_state;
PERP_API perp_joint_state perp_sim_joint(const perp_sim* sim, int32_t joint);
/* All joints as the last step left them; valid until the next. */
PERP_API const perp_joint_record* perp_sim_joint_records(const perp_sim* sim, int32_t* count);
/* Largest error of all joints in the present state: length, angle. */
PERP_API void perp_sim_joint_error(const perp_sim* sim, double error[2]);

typedef struct perp_controller_state {
    double effort;   /* mean over the last step; 0 before the first */
    double integral; /* of the error */
} perp_controller_state;
PERP_API perp_controller_state perp_sim_controller(const perp_sim* sim, int32_t controller);

/* The support points of a body of a 2.5-D scene, and their impulses in the last step. */
typedef struct perp_support_state {
    int32_t points;       /* 0: it lies on nothing */
    double point[3][2];   /* world, now */
    double impulse[3][3]; /* across the plane (h times the known normal force), along x, along y */
} perp_support_state;
PERP_API perp_support_state perp_sim_support(const perp_sim* sim, int32_t body);

/* The flat arrays that a recording keeps. Spatial: 7 and 6 numbers a body (position, quaternion;
 * velocity, angular velocity); planar: 3 and 3 (x, y, angle; and rates). */
PERP_API int32_t perp_sim_q_size(const perp_sim* sim);
PERP_API int32_t perp_sim_v_size(const perp_sim* sim);
PERP_API const double* perp_sim_q(const perp_sim* sim);
PERP_API const double* perp_sim_v(const perp_sim* sim);

/* Everything a continuation needs, warm start included. Call with buffer NULL to learn the size.
 * A simulation restored from it continues with the same bits. */
PERP_API PERP_NODISCARD perp_status perp_sim_save(const perp_sim* sim, void* buffer, size_t* size);
/* A buffer from another model or version is refused and changes nothing. */
PERP_API PERP_NODISCARD perp_status perp_sim_restore(perp_sim* sim, const void* buffer,
                                                     size_t size);

/* ---- the last step --------------------------------------------------------------------------- */

/* The contact candidates of the last step, those without an impulse included. */
PERP_API const perp_contact* perp_sim_contacts(const perp_sim* sim, int32_t* count);

/* Kind of a step. Impacts have no duration: velocities jump where bodies with restitution meet
 * (docs/steppers.md). */
typedef enum perp_step_kind {
    PERP_STEP_TIME = 0,
    PERP_STEP_IMPACT,      /* by Newton's law */
    PERP_STEP_COMPRESSION, /* the two phases of Poisson's, one after the other */
    PERP_STEP_DECOMPRESSION,
} perp_step_kind;

typedef struct perp_step_info {
    perp_contact_residual certificate; /* of the last step */
    perp_report report;                /* of its solve */
    int32_t candidates;                /* contacts that entered the problem */
    int32_t contacts;                  /* of these, with an impulse */
    double penetration;                /* largest overlap found at the start of the step, >= 0 */
    int32_t
        rounds; /* collide-solve rounds (more than 1 if a body moved further than its margin); adaptive: lengths tried; impacts:
                                          evaluations of the law */
    int32_t looks;          /* outer iterations of steppers whose laws hold at the end
                                          of the step */
    int32_t corrections;    /* solves of the joint correction besides the first; -1 (closed
                               loops), -3 (all joints): joint errors are closed slowly, because
                               closing them at once would gain energy;
                               -2: a middle step (perp_sim_def.joint_middle);
                               -4: one with contacts (rolling_middle), whose points, normals and
                               gaps are those of the middle of the step;
                               -5: of some of several bodies (perp_contact.middle) */
    int32_t moves;          /* solves that moved poses onto the joints, where the step's own
                               impulses could not close them */
    double joint_error[2];  /* largest at the end of the step: length, angle */
    int32_t fallbacks;      /* pairs of shapes with a simpler contact model, because their groups
                               had no solution or overflowed */
    int32_t freedom;        /* quasistatic: dimension of the indeterminacy of the motion (the
                               least motion is chosen); -1: not counted */
    bool accepted_unsolved; /* keep_going accepted an iterate that failed the residual check */
    perp_step_kind kind;
    int32_t impacts_in_a_row; /* successive impacts without a step in time, this one included;
                                 else 0 */
    double restitution_kept;  /* of an impact: the factor of the coefficients of restitution with
                                which energy does not grow; 1: unchanged */
    perp_ledger ledger;
    double momentum_error[2]; /* linear, angular: largest change that no external impulse
                                 explains, over the islands without contact to prescribed bodies;
                                 relative to the island's sum of |m v| + |p| (angular: of the
                                 moments' sizes) */
    int32_t crossings;        /* solves repeated because a body would have passed through another */
    int32_t semi_implicit;    /* 1: the laws of the scene's stepper, which hold at the end of the
                              step, had no solution, and the step is one of stewart-trinkle */
    int32_t joints_kept; /* 1: closing the errors of the joints contradicted the contacts, and the
                                 step keeps them as they are */
    int32_t
        unsolved_impact; /* 1: bodies should have rebounded, but the problem of their impact had no
                                solution, and they met in this step without restitution */
} perp_step_info;
PERP_API perp_step_info perp_sim_step_info(const perp_sim* sim);

/* Sum of the ledgers of all steps since the simulation was created, or its state restored: it is
 * not part of the state. */
PERP_API perp_ledger perp_sim_ledger_total(const perp_sim* sim);
/* An energy to compare rounding errors of the ledger with: kinetic energy, and of each body its weight
 * times its size and its distance from the origin. */
PERP_API double perp_sim_energy_scale(const perp_sim* sim);

typedef struct perp_energy {
    double kinetic, potential, total;
} perp_energy;
PERP_API perp_energy perp_sim_energy(const perp_sim* sim);
/* Of all dynamic bodies; angular about the world origin (planar: [2]). */
PERP_API void perp_sim_momentum(const perp_sim* sim, double linear[3], double angular[3]);
/* Largest overlap in the present state (a collision query; not free). */
PERP_API PERP_NODISCARD perp_status perp_sim_penetration(perp_sim* sim, double* depth);

/* Area of overlap of all pairs of bodies whose convex polygons and boxes may collide, exact up to
 * rounding; planar models only, 0 for others. Round shapes and half-planes are not counted. */
PERP_API double perp_sim_overlap_area(perp_sim* sim);

/* Likewise in space: the volume of overlap of all pairs of bodies whose convex polyhedra, boxes and
 * planes may collide; 0 in the plane. The pieces of a mesh that is not convex overlap each other and
 * count one by one. */
PERP_API PERP_NODISCARD perp_status perp_sim_overlap_volume(perp_sim* sim, double* volume);

/* The problem of the last step, for saving; NULL before the first. */
PERP_API const perp_contact_problem* perp_sim_problem(const perp_sim* sim);

/* ---- user code -----------------------------------------------------------------------------------*/

/* Called at the start of every step, before forces are gathered. Returning anything but PERP_OK
 * stops the step with that status. */
typedef perp_status (*perp_step_fn)(void* user, perp_sim* sim);
PERP_API void perp_sim_on_step(perp_sim* sim, perp_step_fn fn, void* user);
/* One more, called after those before it. perp_sim_on_step replaces only its own. */
PERP_API PERP_NODISCARD perp_status perp_sim_add_on_step(perp_sim* sim, perp_step_fn fn,
                                                         void* user);
/* Name of the user's code (a plugin's name) in recordings: its effect on the simulation is not
 * recorded, so a recording names it. NULL or "": there is none. */
PERP_API PERP_NODISCARD perp_status perp_sim_set_user_code(perp_sim* sim, const char* name);
PERP_API const char* perp_sim_user_code(const perp_sim* sim); /* never NULL */
/* Polled inside the solvers, several times a millisecond: returning true ends the step with
 * PERP_ERROR_CANCELLED, the state as it was before it. NULL: never. */
PERP_API void perp_sim_on_cancel(perp_sim* sim, bool (*cancel)(void* user), void* user);
/* Called with the problem of a step that could not be solved before a pair of shapes falls back to a
 * simpler contact model, for saving it. body_a, body_b: the pair, by body; -1 where the whole step falls
 * back to another stepper (perp_step_info.semi_implicit). simpler: the name of the contact model or stepper.
 * NULL: nobody is told. */
typedef void (*perp_fallback_fn)(void* user, const perp_contact_problem* problem, int32_t body_a,
                                 int32_t body_b, const char* simpler);
PERP_API void perp_sim_on_fallback(perp_sim* sim, perp_fallback_fn fn, void* user);
/* Adds a force and torque (world frame, at the centre of mass) for the coming step. */
PERP_API PERP_NODISCARD perp_status perp_sim_apply_wrench(perp_sim* sim, int32_t body,
                                                          const double force[3],
                                                          const double torque[3]);

/* Adds an effort (force or torque on b along the axis, its reaction on a) for the coming step.
 * Revolute and prismatic joints only. */
PERP_API PERP_NODISCARD perp_status perp_sim_apply_joint_effort(perp_sim* sim, int32_t joint,
                                                                double effort);
/* Replaces the target of the joint's motor from now on: part of the state, kept by a snapshot.
 * NaN gives the scene's target back. */
PERP_API PERP_NODISCARD perp_status perp_sim_set_joint_target(perp_sim* sim, int32_t joint,
                                                              double target);

/* Names of 0.1, to be removed in 0.3. */
PERP_DEPRECATED("perp_sim_apply_joint_effort")
PERP_API PERP_NODISCARD perp_status perp_sim_joint_effort(perp_sim* sim, int32_t joint,
                                                          double effort);
PERP_DEPRECATED("perp_sim_set_joint_target")
PERP_API PERP_NODISCARD perp_status perp_sim_joint_target(perp_sim* sim, int32_t joint,
                                                          double target);

/* ---- listing -------------------------------------------------------------------------------------*/

typedef struct perp_piece_info {
    const char* name;
    const char* summary;
    bool built; /* false: a name that no simulation takes; the summary says what to use instead */
} perp_piece_info;
PERP_API bool perp_stepper_list(const perp_context* context, int32_t index, perp_piece_info* info);
PERP_API bool perp_contact_list(const perp_context* context, int32_t index, perp_piece_info* info);

#ifdef __cplusplus
}
#endif
#endif
