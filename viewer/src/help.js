// The panel behind `?`.
import { button, el } from "./dom.js";

export const SHORTCUTS = [
    ["Playback", [
        ["Space", "play or pause"], ["← →", "one frame back or on"], ["Shift ← →", "ten frames"],
        ["Home End", "to the start, to the end"], ["[ ]", "slower, faster"], ["l", "loop"],
    ]],
    ["Camera", [
        ["drag, w a s d", "orbit (planar: move)"], ["right drag, Shift w a s d", "move"], ["wheel, + −", "zoom"],
        ["v", "next view"], ["r", "back to the first view"], ["o", "perspective or parallel"], ["f", "follow the chosen body"],
    ]],
    ["Show", [
        ["1 … 9", "overlays, in the order of the buttons"], [", .", "previous or next body"], ["click", "choose a body or a contact"],
        ["p", "panel with plots"], ["c", "two runs: side by side or ghost"], ["t", "light or dark"], ["Esc", "choose nothing; close this"],
    ]],
    ["Plots", [["click", "go to that time"], ["drag", "zoom"], ["double click", "whole time"]]],
];

export function createHelp(host) {
    const close = () => dialog.close();
    const dialog = el("dialog", { class: "help", "aria-labelledby": "help-title" },
        el("header", {}, el("h2", { id: "help-title", text: "Keys and pointer" }), button("Close help", close, { class: "icon-button", icon: "close" })),
        el("div", { class: "help-columns" }, ...SHORTCUTS.map(([title, rows]) => el("section", {}, el("h3", { text: title }),
            el("dl", { class: "keys" }, ...rows.flatMap(([keys, text]) => [el("dt", {}, ...kbd(keys)), el("dd", { text })]))))));
    dialog.addEventListener("click", (event) => event.target === dialog && close());
    host.append(dialog);
    return { toggle: () => (dialog.open ? dialog.close() : dialog.showModal()), isOpen: () => dialog.open };
}

function kbd(keys) {
    return keys.split(" ").flatMap((k, i) => [i ? " " : "", /^(drag|drag,|click|wheel,|right|double|…)$/.test(k) ? k : el("kbd", { text: k })]);
}
