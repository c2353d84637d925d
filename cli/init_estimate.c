/* cli/init_estimate.c - `perp init --estimate`: a first estimate, its scene and its data. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "init.h"

static const char* const scene_text[] = {
    "// The scene of a first estimate: a box slides over the floor until it rests.\n"
    "{\n"
    "  \"dimension\": 2,\n"
    "  \"gravity\": [0, -9.81],\n"
    "  \"step\": 0.01,\n"
    "  \"duration\": 1,\n"
    "\n"
    "  // What is not known has a name.\n"
    "  \"parameters\": { \"mu\": 0.5 },\n"
    "\n"
    "  \"friction\": { \"default\": \"mu\" },\n"
    "  \"bodies\": [\n"
    "    { \"name\": \"floor\", \"type\": \"static\",\n"
    "      \"shapes\": [ { \"type\": \"halfplane\", \"normal\": [0, 1], \"offset\": 0 } ] },\n"
    "    { \"name\": \"box\", \"mass\": 1, \"position\": [0, 0.05],\n"
    "      \"shapes\": [ { \"type\": \"box\", \"size\": [0.2, 0.1] } ] }\n"
    "  ]\n"
    "}\n",
    NULL,
};

static const char* const head =
    "// A first estimate: how rough is the floor, from two measured slides?\n"
    "//   perp estimate THIS --page r.html               friction with its interval, and a page\n"
    "//   perp estimate FITTED.json --predict DATA.csv   errors of predictions of other data\n"
    "// Every key is described in docs/studies.md.\n"
    "{\n";
static const char* const rest =
    "  \"time\": \"t\",                  // the column of times; or \"rate\": 100\n"
    "  \"trajectory\": \"slide\",        // the column that numbers the motions\n"
    "  // What columns are measurements of, and how exact they are (estimated if not given).\n"
    "  \"observe\": { \"x\": \"box.position.x\", \"v\": \"box.velocity.x\" },\n"
    "  \"noise\": { \"x\": 0.001, \"v\": 0.01 },\n"
    "  // What is searched. Each slide starts as its first row says, up to the noise; 0: known.\n"
    "  \"unknown\": {\n"
    "    \"mu\": { \"start\": 0.5, \"bounds\": [0, 2] },\n"
    "    \"initial\": { \"box\": { \"position\": [0.001, 0], \"velocity\": [0.01, 0],\n"
    "                           \"rotation\": 0, \"angular_velocity\": 0 } }\n"
    "  },\n"
    "  \"method\": \"shooting\",         // mpec, particle-filter, moving-window, laws\n"
    "  \"loss\": \"squares\"             // huber, cauchy: for data with outliers\n"
    "}\n";

/* About normal, the same on every machine. */
static double draw(unsigned* state)
{
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) {
        *state = *state * 1664525u + 1013904223u;
        sum += (double)(*state >> 8) / 16777216.0;
    }
    return sum;
}

/* Two slides with a friction of 0.3, measured fifty times a second. */
static void make_data(char* text, size_t size)
{
    static const double speed[] = {2.0, 1.2}, MU = 0.3, G = 9.81, STEP = 0.01;
    unsigned state = 7;
    size_t used = (size_t)snprintf(text, size, "slide,t,x,v\n");
    for (int k = 0; k < 2; ++k) {
        double x = 0.0, v = speed[k];
        for (int i = 0; i <= 80 && used < size; ++i) {
            if (i % 2 == 0) {
                used +=
                    (size_t)snprintf(text + used, size - used, "%d,%.2f,%.5f,%.4f\n", k + 1,
                                     STEP * i, x + 0.001 * draw(&state), v + 0.01 * draw(&state));
            }
            v = v > STEP * MU * G ? v - STEP * MU * G : 0.0;
            x += STEP * v;
        }
    }
}

int init_write_estimate(const cli_args* args, const char* path)
{
    const size_t length = strlen(path);
    const bool json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    const int stem = (int)(json ? length - 5 : length);
    char scene[4200], data[4200], names[9000], numbers[8000];
    (void)snprintf(scene, sizeof scene, "%.*s-scene.json", stem < 4000 ? stem : 4000, path);
    (void)snprintf(data, sizeof data, "%.*s-data.csv", stem < 4000 ? stem : 4000, path);
    const char* slash = strrchr(scene, '/');
    const size_t folder = slash != NULL ? (size_t)(slash + 1 - scene) : 0;
    if (strpbrk(scene + folder, "\"\\") != NULL) {
        return cli_fail(args->json, CLI_BAD_INPUT,
                        "init: %s: a name without quotes and backslashes, please", path);
    }
    (void)snprintf(names, sizeof names, "  \"scene\": \"%s\",\n  \"data\": \"%s\",\n",
                   scene + folder, data + folder);
    make_data(numbers, sizeof numbers);
    const char* const study[] = {head, names, rest, NULL};
    const char* const rows[] = {numbers, NULL};
    int exit_status = init_create_file(args, scene, scene_text);
    if (exit_status == CLI_DONE) {
        exit_status = init_create_file(args, data, rows);
        if (exit_status == CLI_DONE) {
            exit_status = init_create_file(args, path, study);
            if (exit_status != CLI_DONE) {
                (void)unlink(data); /* all, or none */
            }
        }
        if (exit_status != CLI_DONE) {
            (void)unlink(scene);
        }
    }
    if (exit_status != CLI_DONE) {
        return exit_status;
    }
    if (args->json) {
        json_t* object = json_pack("{s:s}", "status", "ok");
        json_object_set_new(object, "file", cli_text(path));
        json_object_set_new(object, "scene", cli_text(scene));
        json_object_set_new(object, "data", cli_text(data));
        cli_print_json(object);
        return CLI_DONE;
    }
    printf("wrote ");
    cli_put(path);
    printf(", its scene ");
    cli_put(scene);
    printf(" and its data ");
    cli_put(data);
    printf("; it runs as it is:\n  perp estimate ");
    cli_put(path);
    printf(" --page r.html\n");
    return CLI_DONE;
}
