/* cli/summary.c - the result of `perp run`: a JSON object and a short table. */
#include <string.h>

#include "measures.h"
#include "summary.h"

#include <math.h>
#include <stdio.h>

static double mean(double sum, int64_t count)
{
    return count > 0 ? sum / (double)count : 0.0;
}

static json_t* body_json(const perp_sim* sim, int32_t body, bool planar)
{
    const perp_body_state s = perp_sim_body(sim, body);
    const int n = planar ? 2 : 3;
    json_t* object = json_object();
    json_object_set_new(object, "position", cli_numbers(s.position, n));
    if (planar) {
        json_object_set_new(object, "angle", cli_number(s.angle));
    } else {
        json_object_set_new(object, "orientation", cli_numbers(s.orientation, 4));
    }
    json_object_set_new(object, "velocity", cli_numbers(s.velocity, n));
    json_object_set_new(object, "angular_velocity",
                        planar ? cli_number(s.angular_velocity[2])
                               : cli_numbers(s.angular_velocity, 3));
    return object;
}

static json_t* momentum_json(const perp_sim* sim, bool planar)
{
    double linear[3], angular[3];
    perp_sim_momentum(sim, linear, angular);
    json_t* object = json_object();
    json_object_set_new(object, "linear", cli_numbers(linear, planar ? 2 : 3));
    json_object_set_new(object, "angular",
                        planar ? cli_number(angular[2]) : cli_numbers(angular, 3));
    return object;
}

static json_t* step_times_json(cli_stats* stats)
{
    json_t* object = json_object();
    json_object_set_new(object, "mean", cli_number(1e6 * mean(stats->step_sum, stats->steps)));
    json_object_set_new(object, "p50", cli_number(1e6 * cli_stats_percentile(stats, 0.5)));
    json_object_set_new(object, "p99", cli_number(1e6 * cli_stats_percentile(stats, 0.99)));
    json_object_set_new(object, "max", cli_number(1e6 * stats->step_max));
    json_object_set_new(object, "max_cpu", cli_number(1e6 * stats->step_max_cpu));
    return object;
}

static json_t* ledger_json(const perp_sim* sim, const cli_stats* stats)
{
    const perp_ledger total = perp_sim_ledger_total(sim);
    static const char scheme_of[] = "scheme.";
    json_t *object = json_object(), *scheme = json_object();
    for (int32_t i = 0; i < PERP_LEDGER_COUNT; ++i) {
        const char* name = perp_ledger_name(i);
        json_t* value = cli_number(perp_ledger_entry(&total, i));
        if (strncmp(name, scheme_of, sizeof scheme_of - 1) == 0) {
            json_object_set_new(scheme, name + sizeof scheme_of - 1, value);
        } else {
            json_object_set_new(object, name, value);
        }
    }
    json_object_del(object, "magnitude"); /* it only grows over a run */
    json_object_set_new(object, "scheme", scheme);
    json_object_set_new(object, "worst",
                        json_pack("{s:o, s:I}", "unexplained", cli_number(stats->ledger_worst),
                                  "step", (json_int_t)stats->ledger_step));
    return object;
}

json_t* cli_summary_json(const perp_scene* scene, const perp_sim* sim, cli_stats* stats,
                         const char* status, const char* message, const char* problem)
{
    const perp_model* model = perp_sim_model(sim);
    const bool planar = perp_model_dimension(model) == 2;
    const perp_scene_run run = perp_scene_run_settings(scene);
    const char* contact = cli_contact(scene).name;
    const perp_energy energy = perp_sim_energy(sim);
    const perp_contact_residual* c = &stats->certificate;
    json_t* o = json_object();
    json_object_set_new(o, "status", json_string(status));
    if (message != NULL) {
        json_object_set_new(o, "message", cli_text(message));
    }
    if (problem != NULL) {
        json_object_set_new(o, "problem", cli_text(problem));
    }
    json_object_set_new(o, "scene", json_string(perp_scene_name(scene)));
    json_object_set_new(o, "steps",
                        json_integer(perp_sim_step_count(sim) - perp_sim_impact_count(sim)));
    if (perp_model_bounces(model) || run.error > 0.0) {
        json_object_set_new(o, "impacts",
                            json_pack("{s:I, s:I, s:I}", "count",
                                      (json_int_t)perp_sim_impact_count(sim), "reduced",
                                      (json_int_t)stats->impacts_reduced, "unsolved",
                                      (json_int_t)stats->impacts_unsolved));
    }
    json_object_set_new(o, "time", cli_number(perp_sim_time(sim)));
    json_object_set_new(o, "stepper", json_string(run.stepper));
    json_object_set_new(o, "contact", json_string(contact));
    json_object_set_new(o, "friction", json_string(run.cone));
    json_object_set_new(o, "solver", json_string(run.solver));
    json_object_set_new(o, "wall_seconds", cli_number(stats->wall_seconds));
    json_object_set_new(o, "step_microseconds", step_times_json(stats));
    json_object_set_new(o, "certificate",
                        json_pack("{s:o, s:o, s:o, s:o, s:I}", "dynamics", cli_number(c->dynamics),
                                  "normal", cli_number(c->normal), "friction",
                                  cli_number(c->friction), "joints", cli_number(c->joints),
                                  "worst_step", (json_int_t)stats->worst_step));
    json_object_set_new(o, "penetration",
                        json_pack("{s:o, s:o}", "max", cli_number(stats->penetration_max), "final",
                                  cli_number(stats->penetration_final)));
    json_object_set_new(o, "joint_error",
                        json_pack("{s:o, s:o}", "max", cli_number(stats->joint_error[0]), "angle",
                                  cli_number(stats->joint_error[1])));
    json_object_set_new(o, "energy",
                        json_pack("{s:o, s:o, s:o, s:o}", "kinetic", cli_number(energy.kinetic),
                                  "potential", cli_number(energy.potential), "total",
                                  cli_number(energy.total), "initial_total",
                                  cli_number(stats->initial_total)));
    json_object_set_new(o, "energy_ledger", ledger_json(sim, stats));
    json_object_set_new(o, "momentum", momentum_json(sim, planar));
    json_object_set_new(o, "momentum_error",
                        json_pack("{s:o, s:o}", "linear", cli_number(stats->momentum_error[0]),
                                  "angular", cli_number(stats->momentum_error[1])));
    json_object_set_new(o, "crossings", json_integer(stats->crossings));
    json_object_set_new(o, "contacts",
                        json_pack("{s:i, s:i}", "max", (int)stats->contacts_max, "final",
                                  (int)stats->contacts_final));
    json_object_set_new(o, "solver_iterations",
                        json_pack("{s:o, s:i}", "mean",
                                  cli_number(mean(stats->iterations_sum, stats->steps)), "max",
                                  (int)stats->iterations_max));
    json_object_set_new(o, "solver_failures", json_integer(stats->failures));
    if (strcmp(contact, "peg") == 0 || strcmp(contact, "lnc") == 0 ||
        strcmp(contact, "disjunctive") == 0 || stats->fallbacks > 0) {
        json_object_set_new(o, "contact_fallbacks", json_integer(stats->fallbacks));
    }
    if (strcmp(run.stepper, "implicit") == 0 || strcmp(run.stepper, "geometric-implicit") == 0) {
        json_object_set_new(o, "semi_implicit_steps", json_integer(stats->semi_implicit));
    }
    if (stats->joints_kept > 0) {
        json_object_set_new(o, "joints_kept_steps", json_integer(stats->joints_kept));
    }
    if (strcmp(run.stepper, "quasistatic") == 0) {
        json_object_set_new(o, "undetermined",
                            json_pack("{s:I, s:i}", "steps", (json_int_t)stats->undetermined,
                                      "directions", (int)stats->freedom));
    }
    json_object_set_new(o, "parameters", cli_parameters_json(scene));
    json_object_set_new(o, "measures", cli_measures_json(sim));
    if (perp_sim_measure_begin(sim) > 0.0) {
        json_object_set_new(o, "measures_from", cli_number(perp_sim_measure_begin(sim)));
    }
    const char* outcome = perp_sim_outcome(sim);
    json_object_set_new(o, "outcome", outcome[0] != '\0' ? cli_text(outcome) : json_null());
    json_t* bodies = json_object();
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        json_object_set_new(bodies, perp_model_body_name(model, i), body_json(sim, i, planar));
    }
    json_object_set_new(o, "bodies", bodies);
    return o;
}

/* ---- for people -------------------------------------------------------------------------------*/

#define BODIES_SHOWN 12

static void print_body(const perp_sim* sim, int32_t body, bool planar)
{
    const perp_body_state s = perp_sim_body(sim, body);
    printf("  ");
    cli_put_name(perp_model_body_name(perp_sim_model(sim), body), 14);
    if (planar) {
        printf(" (%.6g, %.6g) angle %.6g, velocity (%.4g, %.4g)\n", s.position[0], s.position[1],
               s.angle, s.velocity[0], s.velocity[1]);
    } else {
        printf(" (%.6g, %.6g, %.6g), velocity (%.4g, %.4g, %.4g)\n", s.position[0], s.position[1],
               s.position[2], s.velocity[0], s.velocity[1], s.velocity[2]);
    }
}

static void print_bodies(const perp_sim* sim)
{
    const perp_model* model = perp_sim_model(sim);
    int32_t shown = 0, more = 0;
    printf("%sbodies%s\n", cli_bold(), cli_plain());
    for (int32_t i = 0; i < perp_model_body_count(model); ++i) {
        if (perp_model_body_info(model, i).type == PERP_BODY_STATIC) {
            continue;
        }
        if (shown < BODIES_SHOWN) {
            print_body(sim, i, perp_model_dimension(model) == 2);
            ++shown;
        } else {
            ++more;
        }
    }
    if (more > 0) {
        printf("  ... and %d more (--json lists all)\n", (int)more);
    }
}

/* Where the change of energy came from: "-0.12: friction -0.1, impacts -0.02; unexplained 1e-15". Terms
 * of the scheme as one; a term that is 0 is left out. */
static void print_ledger(const perp_sim* sim)
{
    const perp_ledger l = perp_sim_ledger_total(sim);
    const struct {
        const char* name;
        double value;
    } terms[] = {
        {"forces", l.forces},
        {"drag", l.drag},
        {"springs", l.springs},
        {"motors", l.motors},
        {"prescribed motion", l.prescribed},
        {"friction", l.friction},
        {"impacts", l.impacts},
        {"joints", l.joints},
        {"scheme", l.gap + l.joint_error + l.gyroscopic + l.spring_error + l.step_loss +
                       l.projection + l.extrapolation},
    };
    printf("  energy account %.6g", l.change);
    const char* between = ": ";
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; ++i) {
        if (terms[i].value != 0.0) {
            printf("%s%s %.4g", between, terms[i].name, terms[i].value);
            between = ", ";
        }
    }
    printf("; unexplained %.1e\n", l.unexplained);
}

void cli_summary_print(const perp_scene* scene, const perp_sim* sim, cli_stats* stats,
                       const char* status, const char* out)
{
    const perp_scene_run run = perp_scene_run_settings(scene);
    const perp_energy energy = perp_sim_energy(sim);
    const perp_contact_residual* c = &stats->certificate;
    printf("%s", cli_bold());
    cli_put_name(perp_scene_name(scene), 0);
    const long long impacts = (long long)perp_sim_impact_count(sim);
    printf("%s: %s, t = %.9g after %lld steps", cli_plain(), status, perp_sim_time(sim),
           (long long)perp_sim_step_count(sim) - impacts);
    if (impacts > 0) {
        printf(" and %lld impacts", impacts);
    }
    if (stats->impacts_reduced > 0) {
        printf(" (%lld with less restitution, so that energy does not grow)",
               (long long)stats->impacts_reduced);
    }
    if (stats->impacts_unsolved > 0) {
        printf(", %lld step%s without restitution, where the impact had no solution",
               (long long)stats->impacts_unsolved, stats->impacts_unsolved == 1 ? "" : "s");
    }
    printf("\n");
    printf("  method         %s, %s, %s friction, solver %s\n", run.stepper,
           cli_contact(scene).name, run.cone, run.solver);
    printf("  wall time      %.4g s; a step %.4g us (p50 %.4g, p99 %.4g, max %.4g)\n",
           stats->wall_seconds, 1e6 * mean(stats->step_sum, stats->steps),
           1e6 * cli_stats_percentile(stats, 0.5), 1e6 * cli_stats_percentile(stats, 0.99),
           1e6 * stats->step_max);
    printf("  certificate    dynamics %.1e, normal %.1e, friction %.1e", c->dynamics, c->normal,
           c->friction);
    if (perp_model_joint_count(perp_sim_model(sim)) > 0) {
        printf(", joints %.1e", c->joints);
    }
    if (stats->worst_step > 0) {
        printf(" (worst at step %lld)", (long long)stats->worst_step);
    }
    printf("\n  energy         %.9g (kinetic %.6g, potential %.6g; %.9g at the start)\n",
           energy.total, energy.kinetic, energy.potential, stats->initial_total);
    print_ledger(sim);
    printf("  contacts       %d at the end, %d at most; penetration %.3g, %.3g at most\n",
           (int)stats->contacts_final, (int)stats->contacts_max, stats->penetration_final,
           stats->penetration_max);
    if (stats->crossings > 0) {
        printf(
            "  crossings      %lld prevented: bodies that would have passed through each other\n",
            (long long)stats->crossings);
    }
    if (perp_model_joint_count(perp_sim_model(sim)) > 0) {
        printf("  joints         %d; error %.3g, angle %.3g at most\n",
               (int)perp_model_joint_count(perp_sim_model(sim)), stats->joint_error[0],
               stats->joint_error[1]);
    }
    printf("  solver         %.4g iterations a step, %d at most; %lld failures\n",
           mean(stats->iterations_sum, stats->steps), (int)stats->iterations_max,
           (long long)stats->failures);
    if (stats->semi_implicit > 0) {
        printf("  fell back      %lld step%s of stewart-trinkle, where the laws of %s had no "
               "answer\n",
               (long long)stats->semi_implicit, stats->semi_implicit == 1 ? "" : "s", run.stepper);
    }
    if (stats->joints_kept > 0) {
        printf("  joints kept    %lld step%s left joints apart, where closing them contradicts the "
               "contacts\n",
               (long long)stats->joints_kept, stats->joints_kept == 1 ? "" : "s");
    }
    if (stats->undetermined > 0) {
        printf(
            "  undetermined   %lld steps have many solutions (%d direction%s at most): the least "
            "motion was taken\n",
            (long long)stats->undetermined, (int)stats->freedom, stats->freedom == 1 ? "" : "s");
    }
    if (perp_sim_stopped(sim) >= 0) {
        printf("  outcome        ");
        cli_put(perp_sim_outcome(sim));
        printf(" at t = %.9g\n", perp_sim_time(sim));
    }
    cli_parameters_print(scene);
    if (out != NULL) {
        printf("  recording      ");
        cli_put(out);
        printf("\n");
    }
    print_bodies(sim);
    cli_measures_print(sim);
}
