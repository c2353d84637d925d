/* python/src/sim_state.c - what a simulation shows and takes: state, last step, forces, queries.
 *
 * Methods have an underscore and plain numbers; the Python layer gives them names and units. They are
 * in a table of their own (functions of the module with the simulation as first argument), so that
 * sim.c holds what concerns threads.
 */
#include <math.h>
#include <string.h>

#include "core.h"

/* The simulation of a call (sim, ...); NULL: exception. */
static core_sim* sim_of(PyObject* object)
{
    if (!PyObject_TypeCheck(object, core_sim_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a simulation");
        return NULL;
    }
    return core_sim_ready(object);
}

static PyObject* finish(core_sim* s, perp_status status)
{
    if (status != PERP_OK) {
        return core_raise(status, perp_context_error(s->context), NULL);
    }
    Py_RETURN_NONE;
}

/* ---- buffers --------------------------------------------------------------------------------------*/

static Py_ssize_t body_count(const core_sim* s)
{
    return perp_model_body_count(perp_sim_model(s->sim));
}

/* Views of q and v need no check of threads: the memory stays where it is. */
static PyObject* state_view(PyObject* object, bool velocity)
{
    core_sim* s = (core_sim*)object;
    if (!PyObject_TypeCheck(object, core_sim_type) || s->sim == NULL) {
        PyErr_SetString(PyExc_TypeError, "expected a simulation");
        return NULL;
    }
    const Py_ssize_t bodies = body_count(s);
    const Py_ssize_t size = velocity ? perp_sim_v_size(s->sim) : perp_sim_q_size(s->sim);
    return core_view(object, velocity ? perp_sim_v(s->sim) : perp_sim_q(s->sim), 'd', bodies,
                     bodies > 0 ? size / bodies : 0, NULL, NULL);
}

static PyObject* view_q(PyObject* module, PyObject* object)
{
    (void)module;
    return state_view(object, false);
}

static PyObject* view_v(PyObject* module, PyObject* object)
{
    (void)module;
    return state_view(object, true);
}

static PyObject* view_contacts(PyObject* module, PyObject* object)
{
    core_sim* s = sim_of(object);
    (void)module;
    if (s == NULL) {
        return NULL;
    }
    int32_t count = 0;
    const perp_contact* contacts = perp_sim_contacts(s->sim, &count);
    void* block = count > 0 ? (void*)(uintptr_t)contacts : NULL;
    if (block != NULL && !core_memory_pin(&s->memory, block)) {
        return PyErr_NoMemory();
    }
    PyObject* view =
        core_view(object, block, 'B', -1, count * (Py_ssize_t)sizeof *contacts, &s->memory, block);
    if (view == NULL && block != NULL) {
        core_memory_unpin(&s->memory, block);
    }
    return view;
}

/* Members of perp_contact: (name, format, offset, count), and its size. */
PyObject* core_contact_layout(PyObject* module, PyObject* unused)
{
    static const struct {
        const char *name, *format;
        size_t offset;
        int count;
    } member[] = {
#define MEMBER(name, format, of, count) {name, format, offsetof(perp_contact, of), count}
        MEMBER("body_a", "i4", body_a, 1),   MEMBER("body_b", "i4", body_b, 1),
        MEMBER("key", "u8", key, 1),         MEMBER("point", "f8", point, 3),
        MEMBER("normal", "f8", normal, 3),   MEMBER("tangent", "f8", tangent, 3),
        MEMBER("gap", "f8", gap, 1),         MEMBER("mu", "f8", mu, 1),
        MEMBER("cone", "i4", cone, 1),       MEMBER("directions", "i4", directions, 1),
        MEMBER("group", "i4", group, 1),     MEMBER("e", "f8", e, 3),
        MEMBER("impulse", "f8", impulse, 4), MEMBER("drift", "f8", drift, 3),
#undef MEMBER
    };
    (void)module;
    (void)unused;
    _Static_assert(sizeof(perp_cone) == 4, "a cone is an int32");
    const Py_ssize_t n = (Py_ssize_t)(sizeof member / sizeof member[0]);
    PyObject* list = PyList_New(n);
    for (Py_ssize_t i = 0; list != NULL && i < n; ++i) {
        PyObject* entry = Py_BuildValue("ssni", member[i].name, member[i].format,
                                        (Py_ssize_t)member[i].offset, member[i].count);
        if (entry == NULL || PyList_SetItem(list, i, entry) != 0) {
            Py_CLEAR(list);
        }
    }
    return list != NULL ? Py_BuildValue("Nn", list, (Py_ssize_t)sizeof(perp_contact)) : NULL;
}

/* ---- numbers --------------------------------------------------------------------------------------*/

static PyObject* get_status(PyObject* module, PyObject* object)
{
    core_sim* s = sim_of(object);
    (void)module;
    if (s == NULL) {
        return NULL;
    }
    PyObject* dict = PyDict_New();
    const bool good = dict != NULL && core_put_number(dict, "time", perp_sim_time(s->sim)) &&
                      core_put_number(dict, "duration", perp_sim_duration(s->sim)) &&
                      core_put_number(dict, "last_step", perp_sim_last_step(s->sim)) &&
                      core_put_integer(dict, "steps", perp_sim_step_count(s->sim)) &&
                      core_put_integer(dict, "impacts", perp_sim_impact_count(s->sim)) &&
                      core_put(dict, "finished", PyBool_FromLong(perp_sim_finished(s->sim))) &&
                      core_put_text(dict, "outcome", perp_sim_outcome(s->sim));
    if (!good) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject* get_time(PyObject* module, PyObject* object)
{
    core_sim* s = sim_of(object);
    (void)module;
    return s != NULL ? PyFloat_FromDouble(perp_sim_time(s->sim)) : NULL;
}

static PyObject* get_finished(PyObject* module, PyObject* object)
{
    core_sim* s = sim_of(object);
    (void)module;
    return s != NULL ? PyBool_FromLong(perp_sim_finished(s->sim)) : NULL;
}

/* body(sim, index): position, orientation, angle, velocity, angular velocity */
static PyObject* get_body(PyObject* module, PyObject* args)
{
    PyObject* object;
    int index;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oi", &object, &index)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    if (s == NULL) {
        return NULL;
    }
    if (index < 0 || index >= body_count(s)) {
        return PyErr_Format(PyExc_IndexError, "no body %d", index);
    }
    const perp_body_state b = perp_sim_body(s->sim, index);
    return Py_BuildValue("NNdNN", core_tuple(b.position, 3), core_tuple(b.orientation, 4), b.angle,
                         core_tuple(b.velocity, 3), core_tuple(b.angular_velocity, 3));
}

/* joint(sim, index): coordinate, rate, error, impulse, effort */
static PyObject* get_joint(PyObject* module, PyObject* args)
{
    PyObject* object;
    int index;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oi", &object, &index)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    if (s == NULL) {
        return NULL;
    }
    const perp_model* model = perp_sim_model(s->sim);
    if (index < 0 || index >= perp_model_joint_count(model)) {
        return PyErr_Format(PyExc_IndexError, "no joint %d", index);
    }
    const perp_joint_state j = perp_sim_joint(s->sim, index);
    const int32_t n = perp_model_joint_info(model, index).coordinates;
    return Py_BuildValue("NNNNd", core_tuple(j.coordinate, n), core_tuple(j.rate, n),
                         core_tuple(j.error, 2), core_tuple(j.impulse, 6), j.effort);
}

static PyObject* get_controller(PyObject* module, PyObject* args)
{
    PyObject* object;
    int index;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oi", &object, &index)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    if (s == NULL) {
        return NULL;
    }
    if (index < 0 || index >= perp_model_controller_count(perp_sim_model(s->sim))) {
        return PyErr_Format(PyExc_IndexError, "no controller %d", index);
    }
    const perp_controller_state c = perp_sim_controller(s->sim, index);
    return Py_BuildValue("dd", c.effort, c.integral);
}

static PyObject* get_certificate(PyObject* module, PyObject* object)
{
    core_sim* s = sim_of(object);
    (void)module;
    if (s == NULL) {
        return NULL;
    }
    const perp_contact_residual c = perp_sim_step_info(s->sim).certificate;
    return Py_BuildValue("ddddd", c.dynamics, c.normal, c.friction, c.joints, c.worst);
}

static PyObject* get_energy(PyObject* module, PyObject* object)
{
    core_sim* s = sim_of(object);
    (void)module;
    if (s == NULL) {
        return NULL;
    }
    const perp_energy e = perp_sim_energy(s->sim);
    return Py_BuildValue("ddd", e.kinetic, e.potential, e.total);
}

static PyObject* get_momentum(PyObject* module, PyObject* object)
{
    double linear[3], angular[3];
    core_sim* s = sim_of(object);
    (void)module;
    if (s == NULL) {
        return NULL;
    }
    perp_sim_momentum(s->sim, linear, angular);
    return Py_BuildValue("NN", core_tuple(linear, 3), core_tuple(angular, 3));
}

/* ledger(sim, total): of the last step, or of all */
static PyObject* get_ledger(PyObject* module, PyObject* args)
{
    PyObject* object;
    int total;
    (void)module;
    if (!PyArg_ParseTuple(args, "Op", &object, &total)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    PyObject* dict = s != NULL ? PyDict_New() : NULL;
    if (dict == NULL) {
        return NULL;
    }
    const perp_ledger ledger =
        total ? perp_sim_ledger_total(s->sim) : perp_sim_step_info(s->sim).ledger;
    for (int32_t i = 0; i < PERP_LEDGER_COUNT; ++i) {
        if (!core_put_number(dict, perp_ledger_name(i), perp_ledger_entry(&ledger, i))) {
            Py_DECREF(dict);
            return NULL;
        }
    }
    return dict;
}

static PyObject* get_info(PyObject* module, PyObject* object)
{
    static const char* const kinds[] = {"time", "impact", "compression", "decompression"};
    core_sim* s = sim_of(object);
    (void)module;
    PyObject* dict = s != NULL ? PyDict_New() : NULL;
    if (dict == NULL) {
        return NULL;
    }
    const perp_step_info info = perp_sim_step_info(s->sim);
    const char* solver = info.report.solver != NULL ? info.report.solver : "";
    const bool good = core_put_text(dict, "kind", kinds[info.kind]) &&
                      core_put_text(dict, "solver", solver) &&
                      core_put_text(dict, "outcome", perp_outcome_name(info.report.outcome)) &&
                      core_put_integer(dict, "iterations", info.report.iterations) &&
                      core_put_number(dict, "residual", info.report.residual) &&
                      core_put_number(dict, "seconds", info.report.seconds) &&
                      core_put_integer(dict, "candidates", info.candidates) &&
                      core_put_integer(dict, "contacts", info.contacts) &&
                      core_put_number(dict, "penetration", info.penetration) &&
                      core_put_integer(dict, "rounds", info.rounds) &&
                      core_put_integer(dict, "fallbacks", info.fallbacks) &&
                      core_put_integer(dict, "crossings", info.crossings) &&
                      core_put(dict, "joint_error", core_tuple(info.joint_error, 2)) &&
                      core_put(dict, "momentum_error", core_tuple(info.momentum_error, 2)) &&
                      core_put(dict, "accepted_unsolved", PyBool_FromLong(info.accepted_unsolved));
    if (!good) {
        Py_CLEAR(dict);
    }
    return dict;
}

static PyObject* get_measures(PyObject* module, PyObject* object)
{
    core_sim* s = sim_of(object);
    (void)module;
    PyObject* dict = s != NULL ? PyDict_New() : NULL;
    for (int32_t i = 0; dict != NULL && i < perp_sim_measure_count(s->sim); ++i) {
        if (!core_put_number(dict, perp_sim_measure_name(s->sim, i), perp_sim_measure(s->sim, i))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

/* quantity(sim, name): one number, or a tuple of those that the name stands for */
static PyObject* get_quantity(PyObject* module, PyObject* args)
{
    enum { ROOM = 32 };
    PyObject* object;
    const char* name;
    (void)module;
    if (!PyArg_ParseTuple(args, "Os", &object, &name)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    if (s == NULL) {
        return NULL;
    }
    perp_quantity found[ROOM];
    int32_t count = 0;
    const perp_status status =
        perp_quantity_find(s->context, perp_sim_model(s->sim), name, found, ROOM, &count);
    if (status != PERP_OK) {
        return core_raise(status, perp_context_error(s->context), NULL);
    }
    double value[ROOM];
    count = count < ROOM ? count : ROOM;
    for (int32_t i = 0; i < count; ++i) {
        value[i] = perp_sim_quantity(s->sim, &found[i]);
    }
    return count == 1 ? PyFloat_FromDouble(value[0]) : core_tuple(value, count);
}

/* ---- forces and states ----------------------------------------------------------------------------*/

/* apply_wrench(sim, body, force, torque) */
static PyObject* apply_wrench(PyObject* module, PyObject* args)
{
    PyObject *object, *force, *torque;
    int body;
    double f[3], t[3];
    (void)module;
    if (!PyArg_ParseTuple(args, "OiOO", &object, &body, &force, &torque)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    if (s == NULL || !core_numbers(force, f, 3, "force") || !core_numbers(torque, t, 3, "torque")) {
        return NULL;
    }
    return finish(s, perp_sim_apply_wrench(s->sim, body, f, t));
}

/* apply_effort(sim, joint, effort) */
static PyObject* apply_effort(PyObject* module, PyObject* args)
{
    PyObject* object;
    int joint;
    double effort;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oid", &object, &joint, &effort)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    return s != NULL ? finish(s, perp_sim_apply_joint_effort(s->sim, joint, effort)) : NULL;
}

/* set_body(sim, body, position, orientation, angle, velocity, angular_velocity): None: as it is */
static PyObject* set_body(PyObject* module, PyObject* args)
{
    PyObject *object, *position, *orientation, *angle, *velocity, *spin;
    int body;
    (void)module;
    if (!PyArg_ParseTuple(args, "OiOOOOO", &object, &body, &position, &orientation, &angle,
                          &velocity, &spin)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    if (s == NULL) {
        return NULL;
    }
    if (body < 0 || body >= body_count(s)) {
        return PyErr_Format(PyExc_IndexError, "no body %d", body);
    }
    perp_body_state state = perp_sim_body(s->sim, body);
    if ((position != Py_None && !core_numbers(position, state.position, 3, "position")) ||
        (orientation != Py_None &&
         !core_numbers(orientation, state.orientation, 4, "orientation")) ||
        (velocity != Py_None && !core_numbers(velocity, state.velocity, 3, "velocity")) ||
        (spin != Py_None && !core_numbers(spin, state.angular_velocity, 3, "angular_velocity"))) {
        return NULL;
    }
    if (angle != Py_None) {
        state.angle = PyFloat_AsDouble(angle);
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    return finish(s, perp_sim_set_body(s->sim, body, &state));
}

/* set_state(sim, q, v): None: as it is */
static PyObject* set_state(PyObject* module, PyObject* args)
{
    PyObject *object, *given[2];
    (void)module;
    if (!PyArg_ParseTuple(args, "OOO", &object, &given[0], &given[1])) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    if (s == NULL) {
        return NULL;
    }
    static const char* const name[2] = {"q", "v"};
    const int32_t size[2] = {perp_sim_q_size(s->sim), perp_sim_v_size(s->sim)};
    Py_buffer buffer[2];
    const double* value[2] = {NULL, NULL};
    bool good = true;
    for (int i = 0; good && i < 2; ++i) {
        Py_ssize_t count;
        if (given[i] != Py_None) {
            good = core_buffer(given[i], 'd', name[i], &buffer[i], &count);
            value[i] = good ? buffer[i].buf : NULL;
            if (good && count != size[i]) {
                PyErr_Format(PyExc_ValueError, "%s: expected %d numbers, got %zd", name[i],
                             (int)size[i], count);
                good = false;
            }
        }
    }
    PyObject* result = good ? finish(s, perp_sim_set_state(s->sim, value[0], value[1])) : NULL;
    for (int i = 0; i < 2; ++i) {
        if (value[i] != NULL) {
            PyBuffer_Release(&buffer[i]);
        }
    }
    return result;
}

/* set_joint(sim, joint, coordinate, rate): NaN: as it is */
static PyObject* set_joint(PyObject* module, PyObject* args)
{
    PyObject* object;
    int joint;
    double coordinate, rate;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oidd", &object, &joint, &coordinate, &rate)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    return s != NULL ? finish(s, perp_sim_set_joint(s->sim, joint, coordinate, rate)) : NULL;
}

/* set_parameter(sim, what, index, a, b, c): a parameter of this simulation alone */
static PyObject* set_parameter(PyObject* module, PyObject* args)
{
    PyObject* object;
    const char* what;
    int i;
    double a, b, c;
    (void)module;
    if (!PyArg_ParseTuple(args, "Osiddd", &object, &what, &i, &a, &b, &c)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    if (s == NULL) {
        return NULL;
    }
    if (strcmp(what, "friction") == 0) {
        return finish(s, perp_sim_set_friction(s->sim, i, a));
    }
    if (strcmp(what, "pair_friction") == 0) {
        return finish(s, perp_sim_set_pair_friction(s->sim, i, (int32_t)b, a));
    }
    if (strcmp(what, "joint_target") == 0) {
        return finish(s, perp_sim_set_joint_target(s->sim, i, a));
    }
    if (strcmp(what, "joint_friction") == 0) {
        return finish(s, perp_sim_set_joint_friction(s->sim, i, a));
    }
    if (strcmp(what, "joint_damping") == 0) {
        return finish(s, perp_sim_set_joint_damping(s->sim, i, a));
    }
    if (strcmp(what, "max_effort") == 0) {
        return finish(s, perp_sim_set_motor_max_effort(s->sim, i, a));
    }
    if (strcmp(what, "spring") == 0) {
        return finish(s, perp_sim_set_spring(s->sim, i, a, b, c));
    }
    if (strcmp(what, "drag") == 0) {
        return finish(s, perp_sim_set_drag(s->sim, i, a, b));
    }
    if (strcmp(what, "gains") == 0) {
        return finish(s, perp_sim_set_controller_gains(s->sim, i, a, b, c));
    }
    if (strcmp(what, "target") == 0) {
        return finish(s, perp_sim_set_controller_target(s->sim, i, a));
    }
    return PyErr_Format(PyExc_ValueError, "no parameter '%s'", what);
}

/* ---- queries --------------------------------------------------------------------------------------*/

/* ray(sim, origin, direction, max_distance, ignore): None, or body, distance, point, normal */
static PyObject* query_ray(PyObject* module, PyObject* args)
{
    PyObject *object, *from, *along;
    double origin[3], direction[3], farthest;
    int ignore;
    (void)module;
    if (!PyArg_ParseTuple(args, "OOOdi", &object, &from, &along, &farthest, &ignore)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    if (s == NULL || !core_numbers(from, origin, 3, "origin") ||
        !core_numbers(along, direction, 3, "direction")) {
        return NULL;
    }
    perp_ray_hit hit;
    const perp_status status = perp_sim_ray(s->sim, origin, direction, farthest, ignore, &hit);
    if (status != PERP_OK || hit.body < 0) {
        return finish(s, status);
    }
    return Py_BuildValue("idNN", (int)hit.body, hit.distance, core_tuple(hit.point, 3),
                         core_tuple(hit.normal, 3));
}

/* distance(sim, a, b): distance, point on a, point on b, normal */
static PyObject* query_distance(PyObject* module, PyObject* args)
{
    PyObject* object;
    int a, b;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oii", &object, &a, &b)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    if (s == NULL) {
        return NULL;
    }
    perp_distance d;
    const perp_status status = perp_sim_distance(s->sim, a, b, &d);
    return status == PERP_OK ? Py_BuildValue("dNNN", d.distance, core_tuple(d.point_a, 3),
                                             core_tuple(d.point_b, 3), core_tuple(d.normal, 3))
                             : finish(s, status);
}

/* contact_sum(sim, body, other): contacts, impulse, force, moment */
static PyObject* query_contact_sum(PyObject* module, PyObject* args)
{
    PyObject* object;
    int body, other;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oii", &object, &body, &other)) {
        return NULL;
    }
    core_sim* s = sim_of(object);
    if (s == NULL) {
        return NULL;
    }
    perp_contact_sum sum;
    const perp_status status = perp_sim_contact_sum(s->sim, body, other, NULL, &sum);
    return status == PERP_OK ? Py_BuildValue("iNNN", (int)sum.contacts, core_tuple(sum.impulse, 3),
                                             core_tuple(sum.force, 3), core_tuple(sum.moment, 3))
                             : finish(s, status);
}

PyMethodDef core_sim_state_methods[] = {
    {"view_q", view_q, METH_O, "Poses of all bodies as a buffer."},
    {"view_v", view_v, METH_O, "Velocities of all bodies as a buffer."},
    {"view_contacts", view_contacts, METH_O, "Contacts of the last step as a buffer."},
    {"contact_layout", core_contact_layout, METH_NOARGS, "Members of a contact and its size."},
    {"get_status", get_status, METH_O, "Time, steps, outcome."},
    {"get_time", get_time, METH_O, "Time of the state."},
    {"get_finished", get_finished, METH_O, "Whether the run is over."},
    {"get_body", get_body, METH_VARARGS, "State of a body."},
    {"get_joint", get_joint, METH_VARARGS, "State of a joint."},
    {"get_controller", get_controller, METH_VARARGS, "Effort and integral of a controller."},
    {"get_certificate", get_certificate, METH_O, "Residuals of the last step."},
    {"get_energy", get_energy, METH_O, "Kinetic, potential, total energy."},
    {"get_momentum", get_momentum, METH_O, "Linear and angular momentum."},
    {"get_ledger", get_ledger, METH_VARARGS, "The energy ledger."},
    {"get_info", get_info, METH_O, "What the last step did."},
    {"get_measures", get_measures, METH_O, "Measures of the run so far."},
    {"get_quantity", get_quantity, METH_VARARGS, "A quantity by name."},
    {"apply_wrench", apply_wrench, METH_VARARGS, "Force and torque for the coming step."},
    {"apply_effort", apply_effort, METH_VARARGS, "Effort of a joint for the coming step."},
    {"set_body", set_body, METH_VARARGS, "Set the state of a body."},
    {"set_state", set_state, METH_VARARGS, "Set the state of all bodies."},
    {"set_joint", set_joint, METH_VARARGS, "Set coordinate and rate of a joint."},
    {"set_parameter", set_parameter, METH_VARARGS, "Set a parameter of a simulation."},
    {"query_ray", query_ray, METH_VARARGS, "The first surface on a ray."},
    {"query_distance", query_distance, METH_VARARGS, "Distance of two bodies."},
    {"query_contact_sum", query_contact_sum, METH_VARARGS, "Contact force on a body."},
    {NULL, NULL, 0, NULL},
};
