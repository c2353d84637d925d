#include "common/push.h"

#include <math.h>

const char* const push_names[PUSH_UNKNOWNS] = {"y1", "a", "k", "d", "T"};

void push_set(perp_context* context, perp_scene* scene, const double value[PUSH_UNKNOWNS])
{
    for (int i = 0; i < PUSH_UNKNOWNS; ++i) {
        design_set(context, scene, push_names[i], value[i]);
    }
}

/* mm */
static void draw_part(FILE* f, double x, double y, double angle)
{
    static const double corner[5][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}, {-1, -1}};
    const double c = cos(angle), s = sin(angle);
    for (int i = 0; i < 5; ++i) {
        const double a = 0.08 * corner[i][0], b = 0.04 * corner[i][1];
        fprintf(f, "%.6g %.6g\n", 1000 * (x + c * a - s * b), 1000 * (y + s * a + c * b));
    }
    fprintf(f, "\n");
}

void push_draw_goal(const report* r)
{
    FILE* f = report_file(r, "goal.dat");
    draw_part(f, 0.25, 0.08, 0.6);
    fclose(f);
}

void push_draw(perp_context* context, perp_scene* scene, const report* r, const char* name)
{
    static const char* const file_of[3] = {"part", "pusher", "path"};
    FILE* f[3];
    perp_sim* sim = NULL;
    study_require(context, perp_scene_rebuild(scene));
    study_require(context, perp_sim_create_from_scene(context, scene, &sim));
    for (int i = 0; i < 3; ++i) {
        char file[96];
        (void)snprintf(file, sizeof file, "%s-%s.dat", name, file_of[i]);
        f[i] = report_file(r, file);
    }
    for (long step = 0;; ++step) {
        const perp_body_state pusher = perp_sim_body(sim, 0), part = perp_sim_body(sim, 1);
        const bool last = perp_sim_finished(sim);
        if (step % 125 == 0 || last) {
            draw_part(f[0], part.position[0], part.position[1], part.angle);
        }
        fprintf(f[1], "%.6g %.6g\n", 1000 * pusher.position[0], 1000 * pusher.position[1]);
        fprintf(f[2], "%.6g %.6g\n", 1000 * part.position[0], 1000 * part.position[1]);
        if (last) {
            break;
        }
        study_require(context, perp_sim_step(sim));
    }
    for (int i = 0; i < 3; ++i) {
        fclose(f[i]);
    }
    perp_sim_destroy(sim);
}
