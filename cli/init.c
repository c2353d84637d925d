/* cli/init.c - `perp init`: a first scene, with comments, that runs as it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init.h"
#include "page.h"

/* The text is split where a compiler may stop reading a literal (4095 letters in C17). */
static const char* const spatial[] = {
    "// A first scene: a box slides over the ground and stops; a ball rolls after it.\n"
    "//   perp check THIS           what will be simulated, and with which friction\n"
    "//   perp run THIS --out r.h5  simulate and record\n"
    "// Every key is described in docs/scene.md. Units are yours, as long as they fit together.\n"
    "{\n"
    "  \"dimension\": 3,\n"
    "  \"gravity\": [0, 0, -9.81],      // z points up\n"
    "  \"step\": 0.01,                  // seconds\n"
    "  \"duration\": 2,\n"
    "\n"
    "  // Coulomb friction. A body without its own \"friction\" has the default; the coefficient "
    "of a\n"
    "  // pair is the geometric mean of its two bodies', unless \"pairs\" says otherwise.\n"
    "  \"friction\": {\n"
    "    \"default\": 0.5,\n"
    "    \"pairs\": [ { \"a\": \"box\", \"b\": \"ground\", \"mu\": 0.3 } ]\n"
    "  },\n"
    "\n",
    "  \"bodies\": [\n"
    "    // static: never moves. A plane is solid below its normal.\n"
    "    { \"name\": \"ground\", \"type\": \"static\",\n"
    "      \"shapes\": [ { \"type\": \"plane\", \"normal\": [0, 0, 1], \"offset\": 0 } ] },\n"
    "\n"
    "    // dynamic (the default): moves under forces. Inertia comes from the shapes unless "
    "given;\n"
    "    // \"density\" instead of \"mass\" gives both.\n"
    "    { \"name\": \"box\", \"mass\": 1, \"position\": [0, 0, 0.1], \"velocity\": [1.5, 0, 0],\n"
    "      \"color\": \"#1971c2\",\n"
    "      \"shapes\": [ { \"type\": \"box\", \"size\": [0.3, 0.2, 0.2] } ] },\n"
    "\n"
    "    { \"name\": \"ball\", \"mass\": 0.5, \"position\": [-0.6, 0, 0.3], \"velocity\": [1, 0, "
    "0],\n"
    "      \"color\": \"#d9480f\",\n"
    "      \"shapes\": [ { \"type\": \"sphere\", \"radius\": 0.1 } ] }\n"
    "\n"
    "    // kinematic: moves as told. Any number that may vary takes an expression in t. Try:\n"
    "    // , { \"name\": \"pusher\", \"type\": \"kinematic\", \"position\": [2, 0, 0.2],\n"
    "    //     \"motion\": { \"position\": [\"2 - 0.8*t\", 0, 0.2] },\n"
    "    //     \"shapes\": [ { \"type\": \"box\", \"size\": [0.1, 0.6, 0.4] } ] }\n"
    "  ],\n"
    "\n",
    "  // A force that grows and fades; \"at\" (left out: the centre of mass) is in the body's "
    "frame.\n"
    "  \"forces\": [ { \"type\": \"wrench\", \"body\": \"ball\", \"force\": [0, \"0.2*sin(pi*t)\", "
    "0] } ],\n"
    "\n"
    "  // How it is computed; these are the defaults. 'perp list solvers' names the others.\n"
    "  \"stepper\": \"stewart-trinkle\",\n"
    "  \"contact\": \"standard\",\n"
    "  \"solver\": \"auto\"\n"
    "}\n",
    NULL,
};

static const char* const planar[] = {
    "// A first planar scene: a box slides over the ground and stops; a disc rolls after it.\n"
    "//   perp check THIS           what will be simulated, and with which friction\n"
    "//   perp run THIS --out r.h5  simulate and record\n"
    "// Every key is described in docs/scene.md. Units are yours, as long as they fit together.\n"
    "{\n"
    "  \"dimension\": 2,                // vectors have two numbers, angles are plain numbers\n"
    "  \"gravity\": [0, -9.81],         // y points up\n"
    "  \"step\": 0.01,                  // seconds\n"
    "  \"duration\": 2,\n"
    "\n"
    "  // Coulomb friction. A body without its own \"friction\" has the default; the coefficient "
    "of a\n"
    "  // pair is the geometric mean of its two bodies', unless \"pairs\" says otherwise.\n"
    "  \"friction\": {\n"
    "    \"default\": 0.5,\n"
    "    \"pairs\": [ { \"a\": \"box\", \"b\": \"ground\", \"mu\": 0.3 } ]\n"
    "  },\n"
    "\n",
    "  \"bodies\": [\n"
    "    // static: never moves. A half-plane is solid below its normal.\n"
    "    { \"name\": \"ground\", \"type\": \"static\",\n"
    "      \"shapes\": [ { \"type\": \"halfplane\", \"normal\": [0, 1], \"offset\": 0 } ] },\n"
    "\n"
    "    // dynamic (the default): moves under forces. Inertia comes from the shapes unless "
    "given;\n"
    "    // \"density\" (per area) instead of \"mass\" gives both.\n"
    "    { \"name\": \"box\", \"mass\": 1, \"position\": [0, 0.1], \"velocity\": [1.5, 0],\n"
    "      \"color\": \"#1971c2\",\n"
    "      \"shapes\": [ { \"type\": \"box\", \"size\": [0.3, 0.2] } ] },\n"
    "\n"
    "    { \"name\": \"disc\", \"mass\": 0.5, \"position\": [-0.6, 0.3], \"velocity\": [1, 0],\n"
    "      \"color\": \"#d9480f\",\n"
    "      \"shapes\": [ { \"type\": \"circle\", \"radius\": 0.1 } ] }\n"
    "\n"
    "    // kinematic: moves as told. Any number that may vary takes an expression in t. Try:\n"
    "    // , { \"name\": \"pusher\", \"type\": \"kinematic\", \"position\": [2, 0.2],\n"
    "    //     \"motion\": { \"position\": [\"2 - 0.8*t\", 0.2] },\n"
    "    //     \"shapes\": [ { \"type\": \"box\", \"size\": [0.1, 0.4] } ] }\n"
    "  ],\n"
    "\n",
    "  // A force that grows and fades; \"at\" (left out: the centre of mass) is in the body's "
    "frame.\n"
    "  \"forces\": [ { \"type\": \"wrench\", \"body\": \"disc\", \"force\": [\"0.2*sin(pi*t)\", 0] "
    "} ],\n"
    "\n"
    "  // How it is computed; these are the defaults. 'perp list solvers' names the others.\n"
    "  \"stepper\": \"stewart-trinkle\",\n"
    "  \"contact\": \"standard\",\n"
    "  \"solver\": \"auto\"\n"
    "}\n",
    NULL,
};

static const char* const study_scene[] = {
    "// The scene of a first study: a box slides over the ground. Does it come past 0.6 m?\n"
    "//   perp run THIS --param mu=0.2\n"
    "{\n"
    "  \"dimension\": 2,\n"
    "  \"gravity\": [0, -9.81],\n"
    "  \"step\": 0.01,\n"
    "  \"duration\": 2,\n"
    "\n"
    "  // Numbers with names. Any number of the scene may be an expression of them.\n"
    "  \"parameters\": { \"mu\": 0.3, \"v\": 2 },\n"
    "\n"
    "  \"friction\": { \"default\": \"mu\" },\n"
    "  \"bodies\": [\n"
    "    { \"name\": \"ground\", \"type\": \"static\",\n"
    "      \"shapes\": [ { \"type\": \"halfplane\", \"normal\": [0, 1], \"offset\": 0 } ] },\n"
    "    { \"name\": \"box\", \"mass\": 1, \"position\": [0, 0.1], \"velocity\": [\"v\", 0],\n"
    "      \"shapes\": [ { \"type\": \"box\", \"size\": [0.3, 0.2] } ] }\n"
    "  ],\n"
    "\n"
    "  // What a run gives: values at its end, or their max, min, mean, integral, first_time.\n"
    "  \"measures\": { \"distance\": \"box.position.x\", \"fastest\": { \"max\": "
    "\"box.velocity.x\" } "
    "},\n"
    "  // It ends at the first of these that holds, else at its duration.\n"
    "  \"stop\": [ { \"name\": \"passed\", \"when\": \"box.position.x > 0.6\" },\n"
    "            { \"name\": \"stopped\", \"when\": \"box.velocity.x < 1e-6\" } ]\n"
    "}\n",
    NULL,
};

/* In place of %s: the scene's file. */
static const char* const study_head =
    "// A first study: a scene, what varies in it, and how often.\n"
    "//   perp sweep THIS --out r.db --page r.html    all runs, and a page that shows them\n"
    "//   perp sweep rerun r.db 17 --out 17.h5        the recording of run 17\n"
    "// Every key is described in docs/studies.md.\n"
    "{\n"
    "  \"scene\": \"%s\",\n";
static const char* const study_rest =
    "  \"vary\": {\n"
    "    \"v\":  { \"grid\": [0.5, 3, 11] },       // 11 values from 0.5 to 3; axes multiply\n"
    "    \"mu\": { \"grid\": [0.1, 0.6, 6] },\n"
    "    // drawn at random; also {\"normal\": [mean, deviation]}, {\"choice\": [...]}. A name "
    "that\n"
    "    // begins with / is a place of the scene.\n"
    "    \"/bodies/1/mass\": { \"uniform\": [0.8, 1.2] }\n"
    "  },\n"
    "  // random, sobol or latin-hypercube; so many draws at each point of the grid\n"
    "  \"sample\": { \"method\": \"latin-hypercube\", \"trials\": 5, \"seed\": 1 },\n"
    "  \"limit\": { \"seconds\": 10 },            // of CPU, for one run\n"
    "  \"keep\": \"failed\"                      // recordings: none, failed, all\n"
    "}\n";

static const char* const design_scene[] = {
    "// The scene of a first design: a ball is thrown at a mark on the ground.\n"
    "//   perp run THIS --param speed=5\n"
    "{\n"
    "  \"dimension\": 2,\n"
    "  \"gravity\": [0, -9.81],\n"
    "  \"step\": 0.005,\n"
    "  \"duration\": 3,\n"
    "\n"
    "  // Numbers with names, some of which a design chooses.\n"
    "  \"parameters\": { \"speed\": 4, \"angle\": 0.6, \"mu\": 0.4 },\n"
    "\n"
    "  \"friction\": { \"default\": \"mu\" },\n"
    "  \"restitution\": 0.5,\n"
    "  \"bodies\": [\n"
    "    { \"name\": \"ground\", \"type\": \"static\",\n"
    "      \"shapes\": [ { \"type\": \"halfplane\", \"normal\": [0, 1], \"offset\": 0 } ] },\n"
    "    { \"name\": \"ball\", \"mass\": 0.2, \"position\": [0, 1],\n"
    "      \"velocity\": [\"speed*cos(angle)\", \"speed*sin(angle)\"],\n"
    "      \"shapes\": [ { \"type\": \"circle\", \"radius\": 0.05 } ] }\n"
    "  ],\n"
    "\n"
    "  // What the design compares: how far from the mark it ends, how high it came.\n"
    "  \"measures\": { \"miss\": \"abs(ball.position.x - 5)\", \"height\": { \"max\": "
    "\"ball.position.y\" } }\n"
    "}\n",
    NULL,
};

/* In place of %s: the scene's file. */
static const char* const design_head =
    "// A first design: which throw comes to the mark?\n"
    "//   perp design THIS --out r.db --page r.html   the search, and a page that shows it\n"
    "//   perp run r.best.json --out best.h5          the best scene\n"
    "// Every key is described in docs/studies.md.\n"
    "{\n"
    "  \"scene\": \"%s\",\n";
static const char* const design_rest =
    "  // What is searched: parameters of the scene, or places in it that begin with /.\n"
    "  \"unknown\": {\n"
    "    \"speed\": { \"start\": 4, \"bounds\": [2, 9] },\n"
    "    \"angle\": { \"start\": 0.6, \"bounds\": [0.1, 1.4] }\n"
    "  },\n"
    "  // An expression of measures, parameters and unknowns.\n"
    "  \"minimise\": \"miss + 0.01*speed\",\n"
    "  // Several situations, for all of which it is to be good; also \"max\" and \"mean\".\n"
    "  \"cases\": [ { \"mu\": 0.3 }, { \"mu\": 0.5 } ],\n"
    "  \"combine\": \"sum\",\n"
    "  // \"subject_to\": [ \"height <= 3\" ],\n"
    "  \"method\": \"auto\",           // nelder-mead, bobyqa, sbplx, cma-es, gradient\n"
    "  \"stop\": { \"evaluations\": 200, \"tolerance\": 1e-3 }\n"
    "}\n";

static bool write_text(FILE* file, const char* const* text)
{
    bool good = true;
    for (; *text != NULL; ++text) {
        good = good && fputs(*text, file) >= 0;
    }
    return good;
}

/* A name for the recording: the file's with .h5 for .json. */
static void print_next(const char* path)
{
    const size_t length = strlen(path);
    const bool json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    char* recording = strndup(path, json ? length - 5 : length);
    printf("wrote ");
    cli_put(path);
    printf("; it runs as it is:\n  perp check ");
    cli_put(path);
    printf("\n  perp run ");
    cli_put(path);
    printf(" --out ");
    cli_put(recording != NULL ? recording : "r");
    printf(".h5\n");
    if (page_available()) {
        printf("  perp replay ");
        cli_put(recording != NULL ? recording : "r");
        printf(".h5\n");
    }
    free(recording);
}

int init_create_file(const cli_args* args, const char* path, const char* const* text)
{
    /* O_EXCL: an existing file stays, also one created concurrently. */
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "init: %s is there already and is left alone: give another name", path);
    }
    FILE* file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL) {
        return cli_fail(args->json, CLI_BAD_INPUT, "init: %s: %s", path, strerror(errno));
    }
    const bool written = write_text(file, text);
    if (fclose(file) != 0 || !written) {
        const int reason = errno;
        (void)unlink(path); /* remove the partial file */
        return cli_fail(args->json, CLI_FAILED, "init: cannot write %s: %s", path,
                        strerror(reason));
    }
    return CLI_DONE;
}

static int write_file(const cli_args* args, const char* path, const char* const* text)
{
    const int exit_status = init_create_file(args, path, text);
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    if (args->json) {
        json_t* object = json_pack("{s:s}", "status", "ok");
        json_object_set_new(object, "file", cli_text(path));
        cli_print_json(object);
    } else {
        print_next(path);
    }
    return CLI_DONE;
}

/* STUDY.json, and its scene STUDY-scene.json beside it. */
static int write_study(const cli_args* args, const char* path, bool design)
{
    const size_t length = strlen(path);
    const bool json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    const int stem = (int)(json ? length - 5 : length);
    char scene[4200], head[5000];
    (void)snprintf(scene, sizeof scene, "%.*s-scene.json", stem < 4000 ? stem : 4000, path);
    const char* slash = strrchr(scene, '/');
    const char* name = slash != NULL ? slash + 1 : scene;
    if (strpbrk(name, "\"\\") != NULL) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "init: %s: a name without quotes and backslashes, please", path);
    }
    const char* at = strstr(design ? design_head : study_head, "%s");
    (void)snprintf(head, sizeof head, "%.*s%s%s", (int)(at - (design ? design_head : study_head)),
                   design ? design_head : study_head, name, at + 2);
    const char* const text[] = {head, design ? design_rest : study_rest, NULL};
    int exit_status = init_create_file(args, scene, design ? design_scene : study_scene);
    if (exit_status == CLI_DONE) {
        exit_status = init_create_file(args, path, text);
        if (exit_status != CLI_DONE) {
            (void)unlink(scene); /* both, or none */
        }
    }
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    if (args->json) {
        json_t* object = json_pack("{s:s}", "status", "ok");
        json_object_set_new(object, "file", cli_text(path));
        json_object_set_new(object, "scene", cli_text(scene));
        cli_print_json(object);
        return CLI_DONE;
    }
    printf("wrote ");
    cli_put(path);
    printf(" and its scene ");
    cli_put(scene);
    printf("; it runs as it is:\n  perp %s ", design ? "design" : "sweep");
    cli_put(path);
    printf(" --out r.db --page r.html\n  perp %s\n",
           design ? "run r.best.json --out best.h5" : "sweep show r.db");
    return CLI_DONE;
}

static int verb_init(const cli_args* args)
{
    const bool design = cli_flag(args, "--design"), study = design || cli_flag(args, "--study");
    const bool estimate = cli_flag(args, "--estimate");
    const char* path = args->word_count > 0 ? args->word[0]
                       : estimate           ? "estimate.json"
                       : design             ? "design.json"
                       : study              ? "study.json"
                                            : "scene.json";
    const char* dimension = cli_value(args, "--dimension");
    if (dimension != NULL && strcmp(dimension, "2") != 0 && strcmp(dimension, "3") != 0) {
        return cli_fail(args->json, CLI_BAD_INPUT, "init: --dimension must be 2 or 3, got '%.60s'",
                        dimension);
    }
    if (path[0] == '\0') {
        return cli_fail(args->json, CLI_BAD_INPUT, "init: the name is empty: give a file name");
    }
    if (estimate + design + cli_flag(args, "--study") > 1) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "init: one of --study, --design and --estimate, not both or all");
    }
    if (estimate && (dimension != NULL || strcmp(path, "-") == 0)) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "init: --estimate writes three files: give a file name, and no "
                        "--dimension");
    }
    if (estimate) {
        return init_write_estimate(args, path);
    }
    if (study && (dimension != NULL || strcmp(path, "-") == 0)) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "init: --%s writes two files: give a file name, and no --dimension",
                        design ? "design" : "study");
    }
    if (study) {
        return write_study(args, path, design);
    }
    const char* const* text = dimension != NULL && dimension[0] == '2' ? planar : spatial;
    if (strcmp(path, "-") == 0) {
        if (args->json) {
            return cli_fail(true, CLI_BAD_INPUT,
                            "init: - and --json both write to standard output");
        }
        (void)write_text(stdout, text); /* main reports a failure */
        return CLI_DONE;
    }
    return write_file(args, path, text);
}

static const cli_option options[] = {
    {"--dimension", "2|3", "a planar or a spatial scene (3)"},
    {"--study", NULL, "a first study (perp sweep) and its scene instead"},
    {"--design", NULL, "a first design (perp design) and its scene instead"},
    {"--estimate", NULL, "a first estimate (perp estimate), its scene and its data instead"},
    {"--json", NULL, "print one JSON object"},
    {0},
};

const cli_verb cli_verb_init = {
    .name = "init",
    .usage = "[FILE] [--dimension 2|3] [--study|--design|--estimate]",
    .summary = "write a first scene, with comments, that runs as it is",
    .text = "FILE is scene.json (of a study study.json, of a design design.json, of an estimate "
            "estimate.json) if not given, and "
            "- for standard output. A "
            "file that is there "
            "already is left\nalone.",
    .words_max = 1,
    .option = options,
    .run = verb_init,
};
