/* experiments/b09-feeder - [B09 4.3.1]: the design of a device that turns a part.
 *
 * A cup falls through a vertical chute, lying, its closed end to the left or to the right. Its
 * centre of gravity is 2.4 mm from the middle, towards the closed end. It has to leave through the
 * lower chute with the closed end down, whatever the friction. The thesis prints neither the part
 * nor the 12 parameters of the cavity: ours are a post under the upper chute, on which the part
 * lands with its middle and tips to the heavier side, two passages beside the post, and a funnel
 * into the lower chute.
 *
 * Verification of a design as in the thesis, each level for those that passed the one before:
 *   1. geometric: is there a way at all? (planner.h)
 *   2. rigid bodies without restitution, `stewart-trinkle`; unknown: orientation, tilt and place in
 *      the chute, friction
 *   3. soft contacts, `compliant`; unknown as well: stiffness and damping. A layer of one spring and damper a
 *      contact: the patches of springs are for half-planes only.
 *
 * --full: 600 designs instead of 60, with more draws. Lengths in mm, masses in kg.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/report.h"
#include "common/study.h"
#include "planner.h"

enum { DESIGN = 12 };

static const struct {
    const char* name;
    double low, high;
} parameter[DESIGN] = {
    {"chute_w", 28, 33}, {"post_x", -6, 6},  {"post_y", -40, -10}, {"post_w", 2, 10},
    {"post_h", 10, 60},  {"tip", 1, 8},      {"left_x", 20, 45},   {"right_x", 20, 45},
    {"roof", 2, 15},     {"out_x", -15, 15}, {"out_w", 19, 30},    {"funnel_h", 10, 60},
};

static const char scene_format[] =
    "{\"name\":\"b09-feeder%s\",\"dimension\":2,\"gravity\":[0,-9810],\"step\":%g,\"duration\":1.5,"
    "\"stepper\":\"%s\",\"parameters\":{\"chute_w\":30,\"post_x\":0,\"post_y\":-20,\"post_w\":4,"
    "\"post_h\":50,\"tip\":3,\"left_x\":27,\"right_x\":27,\"roof\":6,\"out_x\":0,\"out_w\":23,"
    "\"funnel_h\":45,\"closed\":1,\"dx\":0,\"tilt\":0,\"mu\":0.2,%s\"c\":\"chute_w/2\",\"l\":"
    "\"-left_x\",\"r\":\"right_x\",\"bottom\":\"post_y-post_h\",\"mouth\":\"bottom-funnel_h\","
    "\"o1\":\"out_x-out_w/2\",\"o2\":\"out_x+out_w/2\",\"p1\":\"post_x-post_w/2\",\"p2\":"
    "\"post_x+post_w/2\"},\"friction\":{\"default\":\"mu\"},\"bodies\":[{\"name\":\"device\","
    "\"type\":\"static\",\"color\":\"#868e96\",\"shapes\":["
    "{\"type\":\"polygon\",\"vertices\":[[\"-c-8\",0],[\"-c\",0],[\"-c\",40],[\"-c-8\",40]]},"
    "{\"type\":\"polygon\",\"vertices\":[[\"c\",0],[\"c+8\",0],[\"c+8\",40],[\"c\",40]]},"
    "{\"type\":\"polygon\",\"vertices\":[[\"l-8\",\"-roof\"],[\"l\",\"-roof\"],[\"-c\",0],[\"-c-"
    "8\","
    "0]]},"
    "{\"type\":\"polygon\",\"vertices\":[[\"r\",\"-roof\"],[\"r+8\",\"-roof\"],[\"c+8\",0],[\"c\","
    "0]]},"
    "{\"type\":\"polygon\",\"vertices\":[[\"l-8\",\"bottom\"],[\"l\",\"bottom\"],[\"l\",\"-roof\"],"
    "["
    "\"l-8\",\"-roof\"]]},"
    "{\"type\":\"polygon\",\"vertices\":[[\"r\",\"bottom\"],[\"r+8\",\"bottom\"],[\"r+8\","
    "\"-roof\"],[\"r\",\"-roof\"]]},"
    "{\"type\":\"polygon\",\"vertices\":[[\"o1-8\",\"mouth\"],[\"o1\",\"mouth\"],[\"l\",\"bottom\"]"
    ","
    "[\"l-8\",\"bottom\"]]},"
    "{\"type\":\"polygon\",\"vertices\":[[\"o2\",\"mouth\"],[\"o2+8\",\"mouth\"],[\"r+8\","
    "\"bottom\"],[\"r\",\"bottom\"]]},"
    "{\"type\":\"polygon\",\"vertices\":[[\"o1-8\",\"mouth-60\"],[\"o1\",\"mouth-60\"],[\"o1\","
    "\"mouth\"],[\"o1-8\",\"mouth\"]]},"
    "{\"type\":\"polygon\",\"vertices\":[[\"o2\",\"mouth-60\"],[\"o2+8\",\"mouth-60\"],[\"o2+8\","
    "\"mouth\"],[\"o2\",\"mouth\"]]},"
    "{\"type\":\"polygon\",\"vertices\":[[\"p1\",\"bottom\"],[\"p2\",\"bottom\"],[\"p2\","
    "\"post_y-tip\"],[\"post_x\",\"post_y\"],[\"p1\",\"post_y-tip\"]]}]},"
    "{\"name\":\"cup\",\"density\":2e-5,\"color\":\"#c2255c\",\"position\":[\"dx\",20],\"angle\":"
    "\"-closed*pi/2+tilt\",%s\"shapes\":["
    "{\"type\":\"box\",\"size\":[20,3],\"position\":[0,-11.5]},"
    "{\"type\":\"box\",\"size\":[3,23],\"position\":[-8.5,1.5]},"
    "{\"type\":\"box\",\"size\":[3,23],\"position\":[8.5,1.5]}]}],"
    "\"measures\":{\"time\":{\"first_time\":\"cup.position.y<mouth-35\"},\"turn\":\"cup.angle+"
    "closed*pi/2\"},\"stop\":["
    "{\"name\":\"right\",\"when\":\"cup.position.y<mouth-35 and cos(cup.angle)>0.8\"},"
    "{\"name\":\"wrong\",\"when\":\"cup.position.y<mouth-35\"},"
    "{\"name\":\"stuck\",\"when\":\"t>0.3 and cup.speed<0.1\"}]}\n";

static const char unknown[] = "\"closed\":{\"choice\":[-1,1]},\"tilt\":{\"uniform\":[-0.05,0.05]},"
                              "\"dx\":{\"uniform\":[-0.5,0.5]},\"mu\":{\"uniform\":[0.1,0.3]}";
static const char unknown_soft[] =
    ",\"stiffness\":{\"uniform\":[2e4,8e4]},\"damping\":{\"uniform\":[8,24]}";

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void set_design(perp_context* context, perp_scene* scene, const double design[DESIGN])
{
    for (int i = 0; i < DESIGN; ++i) {
        study_require(context, perp_scene_set_number(scene, parameter[i].name, design[i]));
    }
}

/* ---- level 1 ----------------------------------------------------------------------------------------- */

/* The shapes of a body about the origin that the scene's shapes refer to; boxes are made smaller on all sides. */
static int body_polygons(const perp_model* model, const char* name, double smaller,
                         planner_polygon* polygon)
{
    const int32_t body = perp_model_body_find(model, name);
    const perp_body_info info = perp_model_body_info(model, body);
    for (int32_t s = 0; s < info.shape_count; ++s) {
        const perp_shape_def shape = perp_model_body_shape(model, body, s);
        planner_polygon* p = &polygon[s];
        const double half[2] = {0.5 * shape.size[0] - smaller, 0.5 * shape.size[1] - smaller};
        const double box[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
        p->corners = shape.vertices != NULL ? shape.vertex_count : 4;
        for (int i = 0; i < p->corners; ++i) {
            for (int k = 0; k < 2; ++k) {
                p->corner[i][k] =
                    shape.position[k] + info.offset[k] +
                    (shape.vertices != NULL ? shape.vertices[2 * i + k] : half[k] * box[i][k]);
            }
        }
    }
    return info.shape_count;
}

/* For the closed end to the right (0) and to the left (1). The part is made smaller by half a cell
 * on all sides, so that fewer ways fall between the poses of the grid; whether one did is counted
 * (contradictions). */
static void find_ways(const perp_scene* scene, double mouth, bool way[2], long* cells)
{
    static planner_task task;
    const perp_model* model = perp_scene_model(scene);
    const double quarter = acos(-1.0) / 2.0;
    long checked = 0;
    task = (planner_task){.low = {-60, -204},
                          .high = {60, 24},
                          .cell = {1, 1},
                          .angles = 72,
                          .goal_y = mouth - 35,
                          .goal_cosine = 0.8};
    task.walls = body_polygons(model, "device", 0.0, task.wall);
    task.parts = body_polygons(model, "cup", 0.5, task.part);
    way[1] = false;
    for (int side = 0; side < 2 && (side == 0 || way[0]); ++side) {
        task.start[1] = 20.0;
        task.start[2] = side == 0 ? quarter : -quarter;
        way[side] = planner_finds_way(&task, &checked);
        *cells += checked;
    }
}

/* ---- pictures ---------------------------------------------------------------------------------------- */

static void draw_polygon(FILE* f, const planner_polygon* p, double x, double y, double angle)
{
    const double c = cos(angle), s = sin(angle);
    for (int i = 0; i <= p->corners; ++i) {
        const double* v = p->corner[i % p->corners];
        fprintf(f, "%.6g %.6g\n", x + c * v[0] - s * v[1], y + s * v[0] + c * v[1]);
    }
    fprintf(f, "\n");
}

/* The walls, and the part every 20 ms. Coordinates of the part's state are those of its centre of mass. */
static void draw_run(perp_context* context, perp_scene* scene, const report* r, const char* name)
{
    char file[64];
    perp_sim* sim = NULL;
    planner_polygon wall[PLANNER_POLYGONS], part[PLANNER_POLYGONS];
    study_require(context, perp_scene_rebuild(scene));
    const perp_model* model = perp_scene_model(scene);
    const int walls = body_polygons(model, "device", 0.0, wall);
    const int parts = body_polygons(model, "cup", 0.0, part);
    const int32_t cup = perp_model_body_find(model, "cup");
    const perp_body_info info = perp_model_body_info(model, cup);
    (void)snprintf(file, sizeof file, "%s-walls.dat", name);
    FILE* f = report_file(r, file);
    for (int i = 0; i < walls; ++i) {
        draw_polygon(f, &wall[i], 0.0, 0.0, 0.0);
    }
    fclose(f);
    (void)snprintf(file, sizeof file, "%s-part.dat", name);
    f = report_file(r, file);
    (void)snprintf(file, sizeof file, "%s-path.dat", name);
    FILE* path = report_file(r, file);
    study_require(context, perp_sim_create_from_scene(context, scene, &sim));
    for (long step = 0;; ++step) {
        const perp_body_state b = perp_sim_body(sim, cup);
        fprintf(path, "%.6g %.6g %.6g\n", b.position[0], b.position[1], b.angle);
        const bool last = perp_sim_finished(sim);
        if (step % 20 == 0 || last) {
            const double c = cos(b.angle), s = sin(b.angle);
            const double x = b.position[0] - c * info.offset[0] + s * info.offset[1];
            const double y = b.position[1] - s * info.offset[0] - c * info.offset[1];
            for (int i = 0; i < parts; ++i) {
                draw_polygon(f, &part[i], x, y, b.angle);
            }
        }
        if (last) {
            break;
        }
        study_require(context, perp_sim_step(sim));
    }
    fclose(f);
    fclose(path);
    perp_sim_destroy(sim);
}

/* ---- the search -------------------------------------------------------------------------------------- */

typedef struct candidate {
    double value[DESIGN];
    bool way; /* for both orientations */
    int right, right_of[2], failed;
    double planner, all,
        first; /* seconds: level 1; level 2, all draws; until the first that fails */
} candidate;

static void values_of(const perp_study* study, int64_t run, double* value)
{
    for (int i = 0; i < perp_study_vary_count(study); ++i) {
        value[i] = perp_study_value(study, run, i).number;
    }
}

/* Level 2 for one design: every draw of the study of unknowns. */
static void simulate(perp_context* context, perp_runner* runner, perp_scene* scene,
                     const perp_study* samples, const report* r, candidate* c)
{
    const perp_run_options options = perp_run_options_default();
    bool failed = false;
    for (int64_t run = 1; run <= perp_study_run_count(samples); ++run) {
        perp_run_row row;
        for (int i = 0; i < perp_study_vary_count(samples); ++i) {
            study_require(context, perp_scene_set_number(scene, perp_study_vary(samples, i).name,
                                                         perp_study_value(samples, run, i).number));
        }
        study_require(context, perp_runner_run(runner, scene, &options, &row));
        if (row.status != PERP_RUN_OK) {
            fprintf(stderr, "draw %lld: %s\n", (long long)run, row.message);
            study_write(r, "failed.json", "%s", perp_scene_text(scene));
            c->failed += 1;
        }
        const bool right = row.status == PERP_RUN_OK && strcmp(row.outcome, "right") == 0;
        c->right += right;
        c->right_of[perp_study_value(samples, run, 0).number > 0.0] +=
            right; /* "closed" is the first */
        c->all += row.seconds;
        c->first += failed ? 0.0 : row.seconds;
        failed = failed || !right;
    }
}

/* A study of one design. */
static void write_verification(const report* r, const char* name, const char* scene,
                               const double value[DESIGN], bool soft, int trials, int seed)
{
    char file[64];
    (void)snprintf(file, sizeof file, "%s.json", name);
    FILE* f = report_file(r, file);
    fprintf(f, "{\"name\":\"%s\",\"scene\":\"%s\",\"vary\":{", name, scene);
    for (int i = 0; i < DESIGN; ++i) {
        fprintf(f, "\"%s\":{\"values\":[%.17g]},", parameter[i].name, value[i]);
    }
    fprintf(f,
            "%s%s},\"sample\":{\"method\":\"sobol\",\"trials\":%d,\"seed\":%d},\"limit\":{"
            "\"seconds\":20}}\n",
            unknown, soft ? unknown_soft : "", trials, seed);
    fclose(f);
}

static perp_study* load_study(perp_context* context, const report* r, const char* file)
{
    perp_study* study = NULL;
    char* path = study_path(r, file);
    study_require(context, perp_study_load(context, path, &study));
    free(path);
    return study;
}

static void write_studies(const report* r, int designs, int draws)
{
    study_write(r, "feeder.json", scene_format, "", 1e-3, "stewart-trinkle", "", "");
    study_write(r, "feeder-soft.json", scene_format, "-soft", 2.5e-4, "compliant",
                "\"stiffness\":4e4,\"damping\":16,",
                "\"compliance\":{\"stiffness\":\"stiffness\",\"damping\":\"damping\"},");
    study_write(r, "samples.json",
                "{\"name\":\"samples\",\"scene\":\"feeder.json\",\"vary\":{%s},\"sample\":{"
                "\"method\":\"sobol\",\"trials\":%d,\"seed\":1}}\n",
                unknown, draws);
    FILE* f = report_file(r, "designs.json");
    fprintf(f, "{\"name\":\"designs\",\"scene\":\"feeder.json\",\"vary\":{");
    for (int i = 0; i < DESIGN; ++i) {
        fprintf(f, "%s\"%s\":{\"uniform\":[%g,%g]}", i > 0 ? "," : "", parameter[i].name,
                parameter[i].low, parameter[i].high);
    }
    fprintf(f, "},\"sample\":{\"method\":\"sobol\",\"trials\":%d,\"seed\":2}}\n", designs);
    fclose(f);
}

/* One parameter is changed by 0.2 and 0.4 of its range (no farther than to its end) until a draw
 * fails: how many of the 24 ways do, and of those the worst design. */
static int neighbours(perp_context* context, perp_runner* runner, perp_scene* scene,
                      const perp_study* samples, const report* r, const candidate* best,
                      candidate* worst)
{
    static const double part[2] = {0.2, 0.4};
    const int draws = (int)perp_study_run_count(samples);
    int failing = 0;
    FILE* f = report_file(r, "neighbours.dat");
    *worst = *best;
    for (int i = 0; i < 2 * DESIGN; ++i) {
        const int p = i / 2;
        candidate c = {.right = draws};
        for (int k = 0; k < 2 && c.right == draws; ++k) {
            const double step = part[k] * (parameter[p].high - parameter[p].low);
            c = *best;
            c.right = c.failed = 0;
            c.value[p] = i % 2 == 0 ? fmax(c.value[p] - step, parameter[p].low)
                                    : fmin(c.value[p] + step, parameter[p].high);
            set_design(context, scene, c.value);
            simulate(context, runner, scene, samples, r, &c);
        }
        failing += c.right + c.failed < draws;
        fprintf(f, "\"%s %+.1f\" %d %d\n", parameter[p].name, c.value[p] - best->value[p], c.right,
                draws);
        if (c.right + c.failed < worst->right) {
            *worst = c;
        }
    }
    fclose(f);
    return failing;
}

int main(int argc, char** argv)
{
    const bool full = study_option(&argc, argv, "--full");
    const int designs = full ? 600 : 60, draws = full ? 64 : 32;
    report r;
    report_begin(&r, "b09-feeder", argc, argv);
    perp_context* context = NULL;
    perp_runner* runner = NULL;
    if (perp_context_create(NULL, &context) != PERP_OK) {
        return 3;
    }
    study_require(context, perp_runner_create(context, &runner));
    write_studies(&r, designs, draws);
    perp_study* space = load_study(context, &r, "designs.json");
    perp_study* samples = load_study(context, &r, "samples.json");
    perp_scene* scene = perp_study_scene(samples);

    candidate best = {.right = -1};
    int ways = 0, passed = 0, contradictions = 0, verified = 0, failed = 0;
    long cells = 0;
    double planner = 0.0, naive = 0.0, naive_first = 0.0, rest = 0.0, rest_first = 0.0;
    study_result rigid = {0};
    FILE* table = report_file(&r, "designs.dat");
    for (int d = 1; d <= designs; ++d) {
        candidate c = {0};
        values_of(space, d, c.value);
        set_design(context, scene, c.value);
        const double from = cpu_seconds();
        study_require(context, perp_scene_rebuild(scene));
        const int32_t mouth = perp_scene_parameter_find(scene, "mouth");
        bool way[2];
        find_ways(scene, perp_scene_parameter(scene, mouth).value, way, &cells);
        c.way = way[0] && way[1];
        c.planner = cpu_seconds() - from;
        simulate(context, runner, scene, samples, &r, &c);
        fprintf(table, "%d %d %d %d %.6f %.6f %.6f\n", d, c.way, c.right, draws, c.planner, c.all,
                c.first);
        ways += c.way;
        failed += c.failed;
        /* the search ends with the first orientation that has no way */
        contradictions += c.way ? 0 : c.right_of[way[0] ? 1 : 0];
        planner += c.planner;
        naive += c.all;
        naive_first += c.first;
        rest += c.way ? c.all : 0.0;
        rest_first += c.way ? c.first : 0.0;
        if (c.way && c.right == draws) {
            passed += 1;
            if (verified < 1) { /* thoroughly, by a sweep, until one passes */
                write_verification(&r, "verify-rigid", "feeder.json", c.value, false,
                                   full ? 2000 : 200, 3);
                rigid = study_sweep(context, &r, "verify-rigid", "right", NULL, NULL);
                verified += rigid.hits == rigid.runs;
                best = c;
            }
        }
    }
    fclose(table);
    report_note(&r, "designs drawn", designs);
    report_note(&r, "designs with a way for the part (level 1)", ways);
    report_note(&r, "poses checked by the planner", (double)cells);
    report_note(&r, "designs right for every draw (level 2)", passed);
    report_note(&r, "runs of the search that failed (the last one: failed.json)", failed);
    report_add(&r, "draws that end right where the planner found no way", NAN, 0.0, contradictions,
               0.0);
    report_add(&r, "a design was found that is right for every draw of the sweep", NAN, 1.0,
               verified, 0.0);
    /* The seconds of table 4.1 belong to other designs, draws and machines: shown, not checked. */
    report_note(&r, "naive: all designs, all draws (s of CPU; paper: 5000)", naive);
    report_note(&r, "hierarchical: planner (s of CPU; paper: 603)", planner);
    report_note(&r, "hierarchical: designs with a way, all draws (s of CPU; paper: 2935)", rest);
    report_note(&r, "hierarchical: total (s of CPU; paper: 3538)", planner + rest);
    report_add(&r, "hierarchical over naive, below 1", 3538.0 / 5000.0, 0.5,
               (planner + rest) / naive, 0.5);
    report_note(&r, "stopping at the first draw that fails: naive (s of CPU)", naive_first);
    report_note(&r, "stopping at the first draw that fails: hierarchical (s of CPU)",
                planner + rest_first);
    if (best.right < 0) {
        return report_end(&r);
    }
    for (int i = 0; i < DESIGN; ++i) {
        report_note(&r, parameter[i].name, best.value[i]);
    }
    report_add(&r, "level 2, sweep of the design: share right", NAN, 1.0,
               (double)rigid.hits / (double)rigid.runs, 0.0);
    report_note(&r, "level 2: draws", (double)rigid.runs);
    report_add(&r, "level 2: certificate", NAN, 0.0, rigid.certificate, 1e-6);
    write_verification(&r, "verify-soft", "feeder-soft.json", best.value, true, full ? 400 : 40, 4);
    const study_result soft = study_sweep(context, &r, "verify-soft", "right", NULL, NULL);
    report_add(&r, "level 3 (soft contacts), sweep of the design: share right", NAN, 1.0,
               (double)soft.hits / (double)soft.runs, 0.0);
    report_note(&r, "level 3: draws", (double)soft.runs);
    report_note(&r, "seconds of CPU a run: level 2", rigid.seconds / (double)rigid.runs);
    report_note(&r, "seconds of CPU a run: level 3", soft.seconds / (double)soft.runs);

    candidate worst = {0};
    const int failing = neighbours(context, runner, scene, samples, &r, &best, &worst);
    report_note(&r, "neighbours (one parameter changed by up to 0.4 of its range) that fail, of 24",
                failing);
    report_add(&r, "there are neighbours that fail", NAN, 1.0, failing > 0, 0.0);
    for (int side = -1; side <= 1; side += 2) {
        set_design(context, scene, best.value);
        study_require(context, perp_scene_set_number(scene, "closed", side));
        study_require(context, perp_scene_set_number(scene, "dx", 0.0));
        study_require(context, perp_scene_set_number(scene, "tilt", 0.0));
        study_require(context, perp_scene_set_number(scene, "mu", 0.2));
        draw_run(context, scene, &r, side < 0 ? "right" : "left");
    }
    /* a draw at which the worst neighbour fails */
    set_design(context, scene, worst.value);
    for (int64_t run = 1; run <= draws; ++run) {
        perp_run_row row;
        const perp_run_options options = perp_run_options_default();
        for (int i = 0; i < perp_study_vary_count(samples); ++i) {
            study_require(context, perp_scene_set_number(scene, perp_study_vary(samples, i).name,
                                                         perp_study_value(samples, run, i).number));
        }
        study_require(context, perp_runner_run(runner, scene, &options, &row));
        if (failing > 0 && strcmp(row.outcome, "right") != 0) {
            break;
        }
    }
    draw_run(context, scene, &r, "neighbour");
    perp_runner_destroy(runner);
    perp_study_destroy(space);
    perp_study_destroy(samples);
    perp_context_destroy(context);
    return report_end(&r);
}
