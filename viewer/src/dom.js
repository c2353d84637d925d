// Elements without markup: text from a recording only ever becomes a text node.

export function el(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(properties)) {
        if (value === undefined || value === null || value === false) continue;
        if (key === "class") element.className = value;
        else if (key === "text") element.textContent = value;
        else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
        else element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.filter((c) => c !== null && c !== undefined));
    return element;
}

// A button that gives the keyboard back when it was clicked with a pointer, so that the space bar
// goes on meaning play and pause.
export function button(label, action, properties = {}) {
    return el("button", {
        type: "button",
        ...properties,
        text: properties.icon ? undefined : label,
        "aria-label": properties["aria-label"] ?? (properties.icon ? label : undefined),
        title: properties.title ?? (properties.icon ? label : undefined),
        icon: undefined,
        onclick: (event) => {
            action(event);
            if (event.detail > 0) event.currentTarget?.blur();
        },
    }, properties.icon ? icon(properties.icon) : null);
}

const SVG = "http://www.w3.org/2000/svg";

const ICONS = {
    play: ["M7 4.5v15l13-7.5z"],
    pause: ["M6 4.5h4v15H6z", "M14 4.5h4v15h-4z"],
    back: ["M17 5v14L8 12z", "M5 5h2v14H5z"],
    forward: ["M7 5v14l9-7z", "M17 5h2v14h-2z"],
    first: ["M19 5v14l-7-7z", "M12 5v14l-7-7z", "M3 5h2v14H3z"],
    last: ["M5 5v14l7-7z", "M12 5v14l7-7z", "M19 5h2v14h-2z"],
    loop: ["M17 2l4 4-4 4V7H7a3 3 0 0 0-3 3v2H2v-2a5 5 0 0 1 5-5h10z", "M7 22l-4-4 4-4v3h10a3 3 0 0 0 3-3v-2h2v2a5 5 0 0 1-5 5H7z"],
    theme: ["M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2v14a7 7 0 0 1 0-14z"],
    close: ["M5.6 4.2 12 10.600l6.400-6.400 1.400 1.400L13.400 12l6.400 6.400-1.400 1.400L12 13.400l-6.400 6.400-1.400-1.400L10.600 12 4.200 5.600z"],
    home: ["M12 3 2 12h3v8h5v-6h4v6h5v-8h3z"],
    camera: ["M9 4 7.500 6H4v14h16V6h-3.500L15 4zm3 4.500a4.500 4.500 0 1 1 0 9 4.500 4.500 0 0 1 0-9z"],
};

export function icon(name) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    svg.setAttribute("class", "icon");
    for (const d of ICONS[name]) {
        const path = document.createElementNS(SVG, "path");
        path.setAttribute("d", d);
        svg.append(path);
    }
    return svg;
}

// At most n characters, cut between code points.
export function shorten(text, n) {
    if (text.length <= n) return text;
    return `${Array.from(text.slice(0, 2 * n)).slice(0, n - 1).join("")}…`;
}

export function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

// Four digits, plain where that is short.
export function format(x) {
    if (x === null || x === undefined || Number.isNaN(x)) return "–";
    if (x === 0) return "0";
    const a = Math.abs(x);
    if (a >= 1e-3 && a < 1e5) return String(Number(x.toPrecision(4)));
    return x.toExponential(2).replace("e+", "e");
}

export function save(name, blob) {
    const link = el("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// A file name that every system takes.
export function fileName(text, suffix) {
    const plain = shorten(text, 60).replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^-+|-+$/g, "");
    return `${plain || "perp"}${suffix}`;
}
