// What can be plotted. Each entry: { id, group, title, log?, available(run), series(run, target) },
// where series gives [{ label, values }], one value per frame of the run, or [] for nothing.
// group: scene, body (target { body }) or contact (target { key }).
// stacked: series of kind "area" are stacked, those of kind "line" drawn over them; of kind "number" only
// the value is shown. With two runs all but the last are lines.

import { cleanName } from "./data.js";

const scalars = (...parts) => ({
    available: (run) => parts.some(([, column]) => run.scalar(column)),
    series: (run) => parts.filter(([, column]) => run.scalar(column)).map(([label, column]) => ({ label, values: run.scalar(column) })),
});

const axes = (run) => (run.planar ? ["x", "y"] : ["x", "y", "z"]);

const body = (what) => (run, { body: b }) =>
    run.bodySeries(b, what).slice(0, axes(run).length).map((values, i) => ({ label: axes(run)[i], values }));

const norm = (columns) => columns[0].map((_, k) => Math.hypot(...columns.map((c) => c[k])));

// One number per contact, gathered per frame by `fold`; NaN where there is no contact.
function overContacts(run, value, fold, start) {
    const out = new Float64Array(run.frames);
    const { offset } = run.contacts;
    for (let k = 0; k < run.frames; ++k) {
        const j = run.contactFrame(k);
        let sum = start;
        for (let i = offset[j]; i < offset[j + 1]; ++i) sum = fold(sum, value(i));
        out[k] = Number.isFinite(sum) ? sum : NaN;
    }
    return out;
}

// One number of the contact with this key per frame; NaN while there is none.
function alongContact(run, key, value) {
    const out = new Float64Array(run.frames).fill(NaN);
    for (let k = 0; k < run.frames; ++k) {
        const i = run.findContact(k, key);
        if (i >= 0) out[k] = value(i);
    }
    return out;
}

const normalForce = (run) => (i) => run.contacts.impulse[4 * i] / run.step;
const frictionForce = (run) => (i) => Math.hypot(run.contacts.impulse[4 * i + 1], run.contacts.impulse[4 * i + 2]) / run.step;
const slipSpeed = (run) => (i) => Math.hypot(run.contacts.slip[2 * i], run.contacts.slip[2 * i + 1]);
const gap = (run) => (i) => run.contacts.gap[i];
const sum = (a, b) => a + b;

// Terms of the energy ledger, in the order in which they are stacked: what the laws give and take, then
// what the scheme does. One that is 0 throughout has no column, or is left out here.
const TERMS = [
    ["forces", "applied forces"], ["motors", "motors"], ["prescribed", "driven bodies"],
    ["friction", "friction"], ["impacts", "impacts"], ["joints", "joint friction"],
    ["springs", "spring damping"], ["drag", "drag"],
    ["scheme.step_loss", "step: loss"], ["scheme.gap", "step: gaps"], ["scheme.joints", "step: joint errors"],
    ["scheme.gyroscopic", "step: rotation"], ["scheme.springs", "step: springs"],
    ["scheme.projection", "step: corrections"], ["scheme.extrapolation", "step: extrapolation"],
];

const anything = (run, values) => {
    for (let k = 0; k < run.frames; ++k) if (Number.isFinite(values?.[k]) && values[k] !== 0) return true;
    return false;
};

const ledger = {
    available: (run) => (run.live ? Boolean(run.scalar("ledger.change")) : TERMS.some(([term]) => anything(run, run.scalar(`ledger.${term}`)))),
    series: (run) => {
        const of = (term, label, kind) => ({ label, kind, term, values: run.scalar(`ledger.${term}`) });
        const areas = TERMS.map(([term, label]) => of(term, label, "area")).filter((s) => anything(run, s.values));
        const rest = [of("change", "change of energy", "line"), of("unexplained", "unexplained", "number")];
        return run.scalar("ledger.change") ? [...areas, ...rest] : [];
    },
};

// Coordinates, rates and efforts of joints, those that turn and those that slide apart: radians and metres have no axis
// in common.
const ofJoints = (type, what) => {
    const parts = (run) => run.joints
        .map((joint, i) => ({ joint, label: cleanName(joint.name, `joint ${i}`), values: run.scalar(`joint.${i}.${what}`) }))
        .filter(({ joint, values }) => joint.type === type && values);
    return { available: (run) => parts(run).length > 0, series: (run) => parts(run).map(({ label, values }) => ({ label, values })) };
};

const touching = { available: (run) => run.contacts !== null };

export const QUANTITIES = [
    { id: "energy", group: "scene", title: "Energy", ...scalars(["kinetic", "energy.kinetic"], ["potential", "energy.potential"], ["total", "energy.total"]) },
    { id: "ledger", group: "scene", title: "Energy account", stacked: true, ...ledger },
    { id: "momentum", group: "scene", title: "Momentum", ...scalars(["x", "momentum.x"], ["y", "momentum.y"], ["z", "momentum.z"]) },
    { id: "angular", group: "scene", title: "Angular momentum", ...scalars(["x", "angular.x"], ["y", "angular.y"], ["z", "angular.z"], ["about z", "angular"]) },
    {
        id: "momentum_error", group: "scene", title: "Momentum error", log: true,
        ...scalars(["linear", "momentum_error.linear"], ["angular", "momentum_error.angular"]),
    },
    {
        id: "forces", group: "scene", title: "Contact forces, all", ...touching,
        series: (run) => [
            { label: "sum of normal", values: overContacts(run, normalForce(run), sum, 0) },
            { label: "largest", values: overContacts(run, normalForce(run), Math.max, 0) },
        ],
    },
    {
        id: "slips", group: "scene", title: "Largest slip speed", ...touching,
        series: (run) => [{
            label: "of contacts with force",
            values: overContacts(run, (i) => (run.contacts.state[i] === 2 ? slipSpeed(run)(i) : 0), Math.max, 0),
        }],
    },
    {
        id: "gaps", group: "scene", title: "Smallest gap", ...touching,
        series: (run) => [{ label: "gap", values: overContacts(run, gap(run), Math.min, Infinity) }],
    },
    { id: "penetration", group: "scene", title: "Penetration", ...scalars(["largest", "solver.penetration"]) },
    { id: "contacts", group: "scene", title: "Contacts", ...scalars(["with an impulse", "solver.contacts"]) },
    { id: "joint_angle", group: "scene", title: "Joint angles (rad)", ...ofJoints("revolute", "coordinate") },
    { id: "joint_travel", group: "scene", title: "Joint travels (m)", ...ofJoints("prismatic", "coordinate") },
    { id: "joint_turning", group: "scene", title: "Joint rates (rad/s)", ...ofJoints("revolute", "rate") },
    { id: "joint_sliding", group: "scene", title: "Joint rates (m/s)", ...ofJoints("prismatic", "rate") },
    { id: "joint_torque", group: "scene", title: "Joint efforts (N m)", ...ofJoints("revolute", "effort") },
    { id: "joint_force", group: "scene", title: "Joint efforts (N)", ...ofJoints("prismatic", "effort") },
    { id: "joint_error", group: "scene", title: "Joint error", log: true, ...scalars(["largest", "joint_error"]) },
    { id: "iterations", group: "scene", title: "Solver iterations", ...scalars(["iterations", "solver.iterations"]) },
    { id: "residual", group: "scene", title: "Solver residual", log: true, ...scalars(["residual", "solver.residual"]) },
    {
        id: "certificate", group: "scene", title: "Certificate", log: true,
        ...scalars(["dynamics", "certificate.dynamics"], ["normal", "certificate.normal"], ["friction", "certificate.friction"], ["joints", "certificate.joints"]),
    },
    { id: "position", group: "body", title: "Position", available: () => true, series: body("position") },
    {
        id: "orientation", group: "body", title: "Orientation", available: () => true,
        series: (run, { body: b }) => run.bodySeries(b, "orientation").map((values, i) => ({ label: run.planar ? "angle" : "wxyz"[i], values })),
    },
    { id: "velocity", group: "body", title: "Velocity", available: () => true, series: body("velocity") },
    {
        id: "speed", group: "body", title: "Speed", available: () => true,
        series: (run, { body: b }) => [{ label: "speed", values: norm(run.bodySeries(b, "velocity")) }],
    },
    {
        id: "spin", group: "body", title: "Angular velocity", available: () => true,
        series: (run, { body: b }) => {
            const columns = run.bodySeries(b, "spin");
            return run.planar ? [{ label: "about z", values: columns[2] }] : columns.map((values, i) => ({ label: "xyz"[i], values }));
        },
    },
    {
        id: "force", group: "contact", title: "Contact force", ...touching,
        series: (run, { key }) => [
            { label: "normal", values: alongContact(run, key, normalForce(run)) },
            { label: "friction", values: alongContact(run, key, frictionForce(run)) },
        ],
    },
    {
        id: "slip", group: "contact", title: "Slip speed", ...touching,
        series: (run, { key }) => [{ label: "slip", values: alongContact(run, key, slipSpeed(run)) }],
    },
    {
        id: "gap", group: "contact", title: "Gap", ...touching,
        series: (run, { key }) => [{ label: "gap", values: alongContact(run, key, gap(run)) }],
    },
];
