/* src/scene/read_motion.c - bodies[].motion of a kinematic body. */
#include "scene/reader.h"

static const char* const known[] = {
    "position",      "orientation",      "axis_angle",        "angle",
    "velocity",      "angular_velocity", "acceleration",      "table",
    "interpolation", "max_speed",        "max_angular_speed", NULL};

perp_status perpi_read_rows(perpi_reader* r, const json_t* object, const double** out,
                            int32_t* row_count, int32_t* column_count)
{
    const json_t* table = json_object_get(object, "table");
    const size_t mark = perpi_reader_enter(r, "table");
    PERPI_TRY(perpi_read_array(r, table));
    const size_t rows = json_array_size(table);
    if (rows == 0 || rows > 1000000) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must have 1 to 1000000 rows, got %zu", rows);
    }
    const size_t columns = json_array_size(json_array_get(table, 0));
    double* number = NULL;
    PERPI_TRY(
        perpi_arena_take(&r->arena, rows * (columns > 0 ? columns : 1), sizeof *number, &number));
    for (size_t i = 0; i < rows; ++i) {
        const json_t* row = json_array_get(table, i);
        const size_t item = perpi_reader_enter_item(r, i);
        PERPI_TRY(perpi_read_array(r, row));
        if (json_array_size(row) != columns) {
            return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                     "must have %zu numbers like the first row, got %zu", columns,
                                     json_array_size(row));
        }
        for (size_t k = 0; k < columns; ++k) {
            const json_t* value = json_array_get(row, k);
            PERPI_TRY(perpi_read_item(r, value, "must be numbers", &number[i * columns + k]));
        }
        perpi_reader_leave(r, item);
    }
    perpi_reader_leave(r, mark);
    *out = number;
    *row_count = (int32_t)rows;
    *column_count = (int32_t)columns;
    return PERP_OK;
}

static perp_status read_table(perpi_reader* r, const json_t* motion, perp_motion_def* def)
{
    if (json_object_get(motion, "table") == NULL) {
        return json_object_get(motion, "interpolation") == NULL
                   ? PERP_OK
                   : perpi_reader_fail_key(r, "interpolation", PERP_ERROR_INPUT,
                                           "is for a table; an expression may use cubic(t, ...)");
    }
    PERPI_TRY(perpi_read_rows(r, motion, &def->table, &def->table_rows, &def->table_columns));
    return perpi_read_string(r, motion, "interpolation", &def->interpolation);
}

/* ---- sinusoidal accelerations ----------------------------------------------------------------------*/

static perp_status read_wave(perpi_reader* r, const json_t* value, perp_sinusoid* wave)
{
    static const char* const keys[] = {"amplitude", "frequency", "phase", NULL};
    PERPI_TRY(perpi_read_object(r, value, keys));
    PERPI_TRY(perpi_require(r, value, "amplitude"));
    PERPI_TRY(perpi_require(r, value, "frequency"));
    PERPI_TRY(perpi_read_number(r, value, "amplitude", &wave->amplitude));
    PERPI_TRY(perpi_read_number(r, value, "frequency", &wave->frequency));
    PERPI_TRY(perpi_read_number(r, value, "phase", &wave->phase));
    return wave->frequency > 0.0
               ? PERP_OK
               : perpi_reader_fail_key(r, "frequency", PERP_ERROR_INPUT,
                                       "must be > 0 (cycles per unit of time), got %g",
                                       wave->frequency);
}

/* The acceleration along one axis: a sinusoid, a list of them (their sum), or 0. */
static perp_status read_axis(perpi_reader* r, const json_t* value, const perp_sinusoid** waves,
                             int32_t* count)
{
    if (json_is_number(value) && json_number_value(value) == 0.0) {
        return PERP_OK;
    }
    if (!json_is_object(value) && !json_is_array(value)) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must be {amplitude, frequency, phase}, a list of these, or 0");
    }
    const size_t n = json_is_array(value) ? json_array_size(value) : 1;
    if (n > 1000) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must have at most 1000 terms, got %zu", n);
    }
    perp_sinusoid* list = NULL;
    PERPI_TRY(perpi_arena_take(&r->arena, n > 0 ? n : 1, sizeof *list, &list));
    for (size_t i = 0; i < n; ++i) {
        list[i] = (perp_sinusoid){0};
        if (json_is_object(value)) {
            PERPI_TRY(read_wave(r, value, &list[i]));
            continue;
        }
        const size_t mark = perpi_reader_enter_item(r, i);
        PERPI_TRY(read_wave(r, json_array_get(value, i), &list[i]));
        perpi_reader_leave(r, mark);
    }
    *waves = list;
    *count = (int32_t)n;
    return PERP_OK;
}

/* One entry for each axis; planar `angular`: the one about z. */
static perp_status read_axes(perpi_reader* r, const json_t* object, const char* key, int32_t first,
                             int32_t axes, perp_motion_def* def)
{
    const json_t* value = json_object_get(object, key);
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, key);
    if (axes == 1) {
        PERPI_TRY(read_axis(r, value, &def->acceleration[first], &def->acceleration_count[first]));
        perpi_reader_leave(r, mark);
        return PERP_OK;
    }
    PERPI_TRY(perpi_read_array(r, value));
    if (json_array_size(value) != (size_t)axes) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must have %d entries, one per axis, got %zu",
                                 (int)axes, json_array_size(value));
    }
    for (int32_t i = 0; i < axes; ++i) {
        const size_t item = perpi_reader_enter_item(r, (size_t)i);
        PERPI_TRY(read_axis(r, json_array_get(value, (size_t)i), &def->acceleration[first + i],
                            &def->acceleration_count[first + i]));
        perpi_reader_leave(r, item);
    }
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static perp_status read_acceleration(perpi_reader* r, const json_t* motion, perp_motion_def* def)
{
    static const char* const keys[] = {"linear", "angular", "periodic", "symmetric", NULL};
    static const char* const others[] = {"position", "orientation", "axis_angle",
                                         "angle",    "velocity",    "angular_velocity",
                                         "table",    "max_speed",   "max_angular_speed"};
    const json_t* value = json_object_get(motion, "acceleration");
    if (value == NULL) {
        return PERP_OK;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; ++i) {
        if (json_object_get(motion, others[i]) != NULL) {
            return perpi_reader_fail_key(r, others[i], PERP_ERROR_INPUT,
                                         "not beside acceleration: the pose to swing about and the "
                                         "mean velocities are the body's own");
        }
    }
    const size_t mark = perpi_reader_enter(r, "acceleration");
    PERPI_TRY(perpi_read_object(r, value, keys));
    if (json_object_get(value, "linear") == NULL && json_object_get(value, "angular") == NULL) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT, "must have 'linear', 'angular', or both");
    }
    PERPI_TRY(read_axes(r, value, "linear", 0, r->dimension, def));
    PERPI_TRY(
        read_axes(r, value, "angular", r->dimension == 2 ? 5 : 3, r->dimension == 2 ? 1 : 3, def));
    bool symmetric = true;
    PERPI_TRY(perpi_read_bool(r, value, "periodic", &def->periodic));
    PERPI_TRY(perpi_read_bool(r, value, "symmetric", &symmetric));
    def->from_pose = !symmetric;
    def->type = PERP_MOTION_ACCELERATION;
    perpi_reader_leave(r, mark);
    return PERP_OK;
}

static perp_status read_speed(perpi_reader* r, const json_t* motion, const char* key, double* speed)
{
    PERPI_TRY(perpi_read_number(r, motion, key, speed));
    return json_object_get(motion, key) == NULL || *speed > 0.0
               ? PERP_OK
               : perpi_reader_fail_key(r, key, PERP_ERROR_INPUT, "must be > 0, got %g", *speed);
}

perp_status perpi_read_motion(perpi_reader* r, const json_t* body, perp_motion_def* motion)
{
    const json_t* value = json_object_get(body, "motion");
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "motion");
    PERPI_TRY(perpi_read_object(r, value, known));
    PERPI_TRY(perpi_check_rotation_keys(r, value));

    perp_motion_def def = {.type = PERP_MOTION_NONE};
    bool pose = false, velocity = false;
    PERPI_TRY(read_acceleration(r, value, &def));
    if (def.type == PERP_MOTION_ACCELERATION) {
        perpi_reader_leave(r, mark);
        *motion = def;
        return PERP_OK;
    }
    PERPI_TRY(perpi_read_values(r, value, "position", r->dimension, NULL, def.position, &pose));
    PERPI_TRY(perpi_read_values(r, value, "orientation", 4, NULL, def.orientation, &pose));
    PERPI_TRY(perpi_read_values(r, value, "axis_angle", 4, NULL, def.axis_angle, &pose));
    PERPI_TRY(perpi_read_value(r, value, "angle", NULL, &def.angle, &pose));
    PERPI_TRY(perpi_read_values(r, value, "velocity", r->dimension, NULL, def.velocity, &velocity));
    PERPI_TRY(
        perpi_read_axial(r, value, "angular_velocity", NULL, def.angular_velocity, &velocity));
    PERPI_TRY(read_table(r, value, &def));
    PERPI_TRY(read_speed(r, value, "max_speed", &def.max_speed));
    PERPI_TRY(read_speed(r, value, "max_angular_speed", &def.max_angular_speed));
    if (def.table != NULL && (pose || velocity)) {
        return perpi_reader_fail_key(r, "table", PERP_ERROR_INPUT,
                                     "gives the whole pose: leave out position, orientation and "
                                     "velocity");
    }
    pose = pose || def.table != NULL;
    if (pose == velocity) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must give a pose (position, %s, or a table), a velocity "
                                 "(velocity, angular_velocity) or an acceleration%s",
                                 r->dimension == 2 ? "angle" : "orientation or axis_angle",
                                 pose ? ", not both" : "");
    }
    def.type = pose ? PERP_MOTION_POSE : PERP_MOTION_VELOCITY;
    perpi_reader_leave(r, mark);
    *motion = def;
    return PERP_OK;
}
