// Light and dark: the system's choice, unless the reader has chosen.

// Okabe and Ito's palette, which stays distinct for colour-blind eyes; beyond it the same hues
// lighter and darker.
const HUES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800"];

export function bodyColor(index) {
    const hue = HUES[index % HUES.length];
    const round = Math.floor(index / HUES.length) % 3;
    return round === 0 ? hue : mix(hue, round === 1 ? "#ffffff" : "#000000", 0.3);
}

function mix(a, b, s) {
    const part = (c, i) => parseInt(c.slice(1 + 2 * i, 3 + 2 * i), 16);
    const hex = [0, 1, 2].map((i) => Math.round(part(a, i) * (1 - s) + part(b, i) * s));
    return `#${hex.map((v) => v.toString(16).padStart(2, "0")).join("")}`;
}

// How light a colour looks, 0 to 1 (WCAG 2's relative luminance).
function luminance(color) {
    const part = (i) => {
        const v = parseInt(color.slice(1 + 2 * i, 3 + 2 * i), 16) / 255;
        return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2);
}

// A scene's own colour, on a dark background lightened as far as it takes to see it: tyres are
// black, and so is the night. By day edges and shade tell a white body from the sky.
const VISIBLE = 2.2; // contrast, before light and shade take their part
export function seen(color, background) {
    const behind = luminance(cssColor(background));
    if (behind > 0.18) return color;
    let moved = color;
    for (let s = 0.05; s < 1 && (luminance(moved) + 0.05) / (behind + 0.05) < VISIBLE; s += 0.05) moved = mix(color, "#ffffff", s);
    return moved;
}

const PICTURES = {
    light: {
        background: 0xf4f6f8, grid: 0x8b97a5, ground: 0xe6eaee, shadow: 0.3, edge: 0x1c2530,
        edgeAlpha: 0.55, fixed: 0xaab4be, driven: 0x6b7c93, text: "#1b2430", halo: "#f4f6f8",
        stick: 0x1f5fbf, slip: 0xc24e00, separating: 0x7b8794, velocity: 0x00795a,
        box: 0x8593a3, touching: 0xd01c2a, path: 0x41505f, joint: 0x8a2bb0, axis: 0x8a2bb0,
        tripod: 0x9a6700, selected: 0xd6006c, ghost: 0x5a6b7d,
    },
    dark: {
        background: 0x14181d, grid: 0x667383, ground: 0x1d232a, shadow: 0.45, edge: 0x05070a,
        edgeAlpha: 0.6, fixed: 0x6d7885, driven: 0x8ea1bb, text: "#eef2f6", halo: "#14181d",
        stick: 0x6aa8ff, slip: 0xff9a4d, separating: 0x98a5b3, velocity: 0x4fd6ac,
        box: 0x71808f, touching: 0xff5a64, path: 0xb4c1cf, joint: 0xd58cf2, axis: 0xd58cf2,
        tripod: 0xe8b64c, selected: 0xff6cb5, ghost: 0xa9b8c8,
    },
};

const SERIES = {
    light: ["#0b62b8", "#b04a00", "#00704f", "#9c2f74", "#5b5f66"],
    dark: ["#6fb1ff", "#ffa45e", "#4fd6ac", "#f29ad0", "#b9c2cc"],
};

// Of the terms of the energy ledger, the same in every page; each has contrast 3 or more with the panel.
const LEDGER = {
    light: {
        forces: "#0b62b8", motors: "#3c8fd0", prescribed: "#7b4fc9", friction: "#c24e00", impacts: "#b37f00",
        joints: "#8c5a2b", springs: "#5c9410", drag: "#00877a", "scheme.step_loss": "#6f8ea8", "scheme.gap": "#5b6570",
        "scheme.joints": "#7f8a96", "scheme.gyroscopic": "#8f6fb8", "scheme.springs": "#7d8a1e",
        "scheme.projection": "#5f8a7f", "scheme.extrapolation": "#a8718c", change: "#1b2430", unexplained: "#52606d",
    },
    dark: {
        forces: "#6fb1ff", motors: "#3f8fd6", prescribed: "#b592ff", friction: "#ff8a45", impacts: "#e8b64c",
        joints: "#c99668", springs: "#9ccf4e", drag: "#3cc7b5", "scheme.step_loss": "#8fb0cc", "scheme.gap": "#a9b5c1",
        "scheme.joints": "#7d8b99", "scheme.gyroscopic": "#b79bdb", "scheme.springs": "#bcc85c",
        "scheme.projection": "#86b8ab", "scheme.extrapolation": "#d79ab8", change: "#ffffff", unexplained: "#a9b5c1",
    },
};

export function createTheme(forced) {
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const listeners = [];
    let chosen = forced === "light" || forced === "dark" ? forced : null;
    const theme = {
        name: "light",
        picture: PICTURES.light,
        series: SERIES.light,
        ledger: LEDGER.light,
        onChange: (listener) => listeners.push(listener),
        set(name) {
            chosen = name;
            apply();
        },
        toggle() {
            theme.set(theme.name === "dark" ? "light" : "dark");
        },
    };
    function apply() {
        theme.name = chosen ?? (system.matches ? "dark" : "light");
        theme.picture = PICTURES[theme.name];
        theme.series = SERIES[theme.name];
        theme.ledger = LEDGER[theme.name];
        document.documentElement.dataset.theme = theme.name;
        for (const listener of listeners) listener(theme);
    }
    system.addEventListener("change", apply);
    apply();
    return theme;
}

export const cssColor = (number) => `#${number.toString(16).padStart(6, "0")}`;
