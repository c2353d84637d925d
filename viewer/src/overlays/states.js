import { STATE } from "../data.js";

export function stateColor(colors, state) {
    if (state === STATE.STICK) return colors.stick;
    return state === STATE.SLIP ? colors.slip : colors.separating;
}

// A value that 95 of 100 positive samples stay below: what an arrow of normal length stands for.
// Impacts are rare and large; they are drawn longer, up to a limit.
export function typical(count, valueAt) {
    const stride = Math.max(1, Math.floor(count / 20000));
    const values = [];
    for (let i = 0; i < count; i += stride) {
        const v = valueAt(i);
        if (v > 0 && Number.isFinite(v)) values.push(v);
    }
    if (values.length === 0) return 1;
    values.sort((a, b) => a - b);
    return values[Math.floor(0.95 * (values.length - 1))];
}

// Arrows of many neighbours are shorter, so that they do not cover each other.
export const crowd = (count) => Math.max(1, Math.cbrt(count / 30));
