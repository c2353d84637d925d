// Areas stacked on each other: what is positive upwards from zero, what is negative downwards. A term may
// change its side on the way.

const at = (values, k) => (Number.isFinite(values[k]) ? values[k] : 0);

// The outlines of the whole stack over n frames.
export function outlines(areas, n) {
    const top = new Array(n).fill(0);
    const bottom = new Array(n).fill(0);
    for (const { values } of areas) {
        for (let k = 0; k < n; ++k) {
            const v = at(values, k);
            if (v > 0) top[k] += v;
            else bottom[k] += v;
        }
    }
    return { top, bottom };
}

// Frames to draw between two, not many more than there are pixels.
function framesBetween(first, last, pixels) {
    const step = Math.max(1, Math.floor((last - first) / Math.max(1, 2 * pixels)));
    const frames = [];
    for (let k = first; k < last; k += step) frames.push(k);
    frames.push(last);
    return frames;
}

// Paints the stack into a uPlot between its axes and its lines. areas: [{ values, color }].
export function paintStack(u, areas) {
    const [first, last] = u.series[0].idxs ?? [0, u.data[0].length - 1];
    if (!(last > first)) return;
    const { ctx: pen, bbox } = u;
    const frames = framesBetween(first, last, bbox.width);
    const x = frames.map((k) => u.valToPos(u.data[0][k], "x", true));
    const y = (value) => u.valToPos(value, "y", true);
    pen.save();
    pen.beginPath();
    pen.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    pen.clip();
    for (const side of [1, -1]) {
        const inner = new Array(frames.length).fill(0);
        for (const { values, color } of areas) {
            const outer = frames.map((k, i) => inner[i] + (side * at(values, k) > 0 ? at(values, k) : 0));
            if (outer.every((v, i) => v === inner[i])) continue;
            pen.beginPath();
            frames.forEach((_, i) => pen.lineTo(x[i], y(outer[i])));
            for (let i = frames.length - 1; i >= 0; --i) pen.lineTo(x[i], y(inner[i]));
            pen.closePath();
            pen.globalAlpha = 0.82;
            pen.fillStyle = color;
            pen.fill();
            pen.globalAlpha = 1;
            pen.beginPath();
            frames.forEach((_, i) => pen.lineTo(x[i], y(outer[i])));
            pen.strokeStyle = color;
            pen.lineWidth = devicePixelRatio;
            pen.stroke();
            outer.forEach((v, i) => (inner[i] = v));
        }
    }
    pen.restore();
}
