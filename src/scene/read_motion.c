/* src/scene/read_motion.c - bodies[].motion of a kinematic body. */
#include "scene/reader.h"

static const char* const known[] = {"position",     "orientation", "axis_angle",
                                    "angle",        "velocity",    "angular_velocity",
                                    "acceleration", "table",       NULL};

perp_status perpi_read_motion(perpi_reader* r, const json_t* body, perp_motion_def* motion)
{
    const json_t* value = json_object_get(body, "motion");
    if (value == NULL) {
        return PERP_OK;
    }
    const size_t mark = perpi_reader_enter(r, "motion");
    PERPI_TRY(perpi_read_object(r, value, known));
    PERPI_TRY(perpi_refuse(r, value, "acceleration", "motion 'acceleration' does not exist yet"));
    PERPI_TRY(perpi_refuse(r, value, "table", "motion 'table' does not exist yet"));
    PERPI_TRY(perpi_check_rotation_keys(r, value));

    perp_motion_def def = {.type = PERP_MOTION_NONE};
    bool pose = false, velocity = false;
    PERPI_TRY(perpi_read_values(r, value, "position", r->dimension, NULL, def.position, &pose));
    PERPI_TRY(perpi_read_values(r, value, "orientation", 4, NULL, def.orientation, &pose));
    PERPI_TRY(perpi_read_values(r, value, "axis_angle", 4, NULL, def.axis_angle, &pose));
    PERPI_TRY(perpi_read_value(r, value, "angle", NULL, &def.angle, &pose));
    PERPI_TRY(perpi_read_values(r, value, "velocity", r->dimension, NULL, def.velocity, &velocity));
    PERPI_TRY(
        perpi_read_axial(r, value, "angular_velocity", NULL, def.angular_velocity, &velocity));
    if (pose == velocity) {
        return perpi_reader_fail(r, PERP_ERROR_INPUT,
                                 "must give a pose (position, %s) or a velocity (velocity, "
                                 "angular_velocity)%s",
                                 r->dimension == 2 ? "angle" : "orientation or axis_angle",
                                 pose ? ", not both" : "");
    }
    def.type = pose ? PERP_MOTION_POSE : PERP_MOTION_VELOCITY;
    perpi_reader_leave(r, mark);
    *motion = def;
    return PERP_OK;
}
