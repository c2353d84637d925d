// Two runs on one clock: which body is which, and how far they are apart.

// For each body of A, the body of B with the same name, or -1.
export function matchBodies(a, b) {
    const byName = new Map();
    b.names.forEach((name, i) => byName.has(name) || byName.set(name, i));
    return a.names.map((name) => byName.get(name) ?? -1);
}

// Distance of the centres at every frame of A, as far as both runs go: the largest, the root mean
// square over all bodies that move, and that of one body.
export function distances(a, b, body = -1) {
    const match = matchBodies(a, b);
    const pairs = match.map((other, i) => [i, other]).filter(([i, other]) => other >= 0 && a.bodies[i].type !== "static");
    const largest = new Float64Array(a.frames).fill(NaN);
    const rms = new Float64Array(a.frames).fill(NaN);
    const single = new Float64Array(a.frames).fill(NaN);
    const atA = a.now.f;
    const atB = b.now.f;
    for (let k = 0; k < a.frames; ++k) {
        if (a.time[k] > b.duration * (1 + 1e-12) + 1e-15) break;
        a.sample(k);
        b.sample(b.frameAt(a.time[k]));
        let square = 0;
        let worst = 0;
        for (const [i, j] of pairs) {
            const p = a.now.position, q = b.now.position;
            const d = Math.hypot(p[3 * i] - q[3 * j], p[3 * i + 1] - q[3 * j + 1], p[3 * i + 2] - q[3 * j + 2]);
            square += d * d;
            worst = Math.max(worst, d);
            if (i === body) single[k] = d;
        }
        largest[k] = worst;
        rms[k] = pairs.length ? Math.sqrt(square / pairs.length) : 0;
    }
    a.sample(atA);
    b.sample(atB);
    return { largest, rms, single };
}

// The plot that only a page with two runs has.
export const DISTANCE = {
    id: "distance", group: "both", title: "Distance between the runs",
    series: (a, b, body) => {
        const d = distances(a, b, body);
        const series = [{ label: "largest", values: d.largest }, { label: "root mean square", values: d.rms }];
        if (body >= 0) series.push({ label: a.names[body], values: d.single });
        return series;
    },
};
