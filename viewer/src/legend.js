// What the colours in the picture mean, for the overlays that are on.
import { el, format, setText } from "./dom.js";
import { OVERLAYS } from "./overlays/index.js";
import { cssColor } from "./theme.js";
import { niceNumber } from "./ground.js";

export class Legend {
    constructor(host, app) {
        this.app = app;
        this.element = el("div", { class: "legend" });
        this.letters = el("div", { class: "letters" });
        host.append(this.element, this.letters);
    }

    rebuild() {
        const { stage, theme } = this.app;
        const wanted = new Set(OVERLAYS.filter((o) => stage?.on.has(o.name)).map((o) => o.legend).filter(Boolean));
        const colors = theme.picture;
        const item = (color, text) => {
            const swatch = el("span", { class: "swatch" });
            swatch.style.setProperty("--swatch", cssColor(color));
            return el("li", {}, swatch, el("span", { text }));
        };
        const items = [];
        if (wanted.has("states")) {
            items.push(item(colors.stick, "stick"), item(colors.slip, "slip"), item(colors.separating, "separating"));
        }
        if (wanted.has("boxes")) items.push(item(colors.touching, "touching"), item(colors.box, "free"));
        if (stage?.on.has("velocities")) items.push(item(colors.velocity, "velocity"));
        this.scale = stage?.on.has("forces") ? el("li", { class: "scale" }, el("span", { class: "bar" }), el("span")) : null;
        if (this.scale) items.push(this.scale);
        this.element.replaceChildren(items.length ? el("ul", { "aria-label": "Legend" }, ...items) : "");
        this.letters.replaceChildren(...(stage?.mode === "side" ? this.app.runs.map((r) => el("span", { text: r.letter })) : []));
        this.letters.hidden = stage?.mode !== "side";
        this.show();
    }

    // How long an arrow of a certain force is here, in the middle of the picture.
    show() {
        const made = this.app.stage?.overlay(0, "forces");
        if (!this.scale || !made) return;
        const { force, length } = made.scale();
        const { eye } = this.app.stage;
        const perForce = length / force / eye.perPixel(eye.controls.target); // pixels
        const shown = niceNumber(60 / perForce);
        this.scale.firstChild.style.width = `${(shown * perForce).toFixed(0)}px`;
        setText(this.scale.lastChild, `force ${format(shown)}`);
    }
}
