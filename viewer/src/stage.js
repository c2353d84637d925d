// The picture: one or two runs on one canvas, the overlays, and what lies under the pointer.
import {
    BoxGeometry, Color, EdgesGeometry, LineBasicMaterial, LineSegments, Matrix4, PCFShadowMap,
    Raycaster, Vector2, Vector3, WebGLRenderer,
} from "three";
import { el } from "./dom.js";
import { RunView, motionBounds } from "./scene.js";
import { Eye } from "./camera.js";
import { Dots } from "./arrows.js";
import { OVERLAYS } from "./overlays/index.js";

export const MODES = ["side", "ghost"]; // of two runs

function isSoftware(gl) {
    const extension = gl.getExtension("WEBGL_debug_renderer_info");
    const name = extension ? gl.getParameter(extension.UNMASKED_RENDERER_WEBGL) : "";
    return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(String(name));
}

export class Stage {
    constructor(host, runs, theme, { onChange, onPick, shadows }) {
        this.host = host;
        this.runs = runs;
        this.theme = theme;
        this.onPick = onPick;
        this.canvas = el("canvas", {
            class: "picture", tabindex: "0", role: "img",
            "aria-label": "Picture of the scene. Drag to orbit, or use the keys w a s d; plus and minus zoom.",
        });
        this.flat = el("canvas", { class: "flat", "aria-hidden": "true" });
        this.pen = this.flat.getContext("2d");
        this.renderer = new WebGLRenderer({ canvas: this.canvas, antialias: true });
        this.renderer.autoClear = false;
        // Where the processor has to draw, shadows cost more than all the rest.
        shadows ??= !isSoftware(this.renderer.getContext());
        this.renderer.shadowMap.enabled = shadows;
        this.renderer.shadowMap.type = PCFShadowMap;
        host.append(this.canvas, this.flat);

        this.views = runs.map((run) => new RunView(run, { shadows }));
        this.joinBounds();
        for (const view of this.views) view.build();
        this.eye = new Eye(this.views[0], this.canvas, onChange);
        this.mode = runs.length > 1 ? "side" : "single";
        this.on = new Set();
        this.overlays = this.views.map(() => []); // per run: { name, made }
        this.marks = this.views.map((view) => this.createMark(view));
        this.dots = this.views.map((view) => {
            const dot = new Dots(1);
            view.scene.add(dot.object);
            return dot;
        });
        this.selection = null;
        this.follow = null; // { run, body }
        this.followed = new Vector3();
        this.pose = new Matrix4();
        this.point = new Vector3();
        this.raycaster = new Raycaster();
        this.width = this.height = 1;
        this.at = { x: 0, y: 0, visible: false };
        this.viewport = { x: 0, width: 1 };
        this.project = this.project.bind(this);
        this.paint();
        this.resize();
        this.eye.look("iso");
        this.watchPointer();
    }

    // Two runs of one scene are looked at from one place: it frames both.
    joinBounds() {
        const [first, ...others] = this.views.map((v) => v.bounds);
        for (const other of others) {
            this.views[1].bounds = first;
            first.low.min(other.low);
            first.high.max(other.high);
        }
        first.center.copy(first.low).add(first.high).multiplyScalar(0.5);
        first.radius = Math.max(first.radius, 0.5 * first.high.distanceTo(first.low));
    }

    createMark(view) {
        const mark = new LineSegments(new EdgesGeometry(new BoxGeometry(1, 1, 1)), new LineBasicMaterial({ depthTest: false, transparent: true }));
        mark.matrixAutoUpdate = false;
        mark.frustumCulled = false;
        mark.renderOrder = 20;
        mark.visible = false;
        view.scene.add(mark);
        return mark;
    }

    paint() {
        this.renderer.setClearColor(new Color(this.theme.picture.background), 1);
        for (const view of this.views) view.paint(this.theme);
        for (const mark of this.marks) mark.material.color.set(this.theme.picture.selected);
        for (const list of this.overlays) for (const { made } of list) made.paint?.();
    }

    resize() {
        const width = Math.max(1, this.host.clientWidth);
        const height = Math.max(1, this.host.clientHeight);
        const ratio = Math.min(window.devicePixelRatio || 1, 2);
        this.width = width;
        this.height = height;
        this.renderer.setPixelRatio(ratio);
        this.renderer.setSize(width, height, false);
        this.flat.width = width * ratio;
        this.flat.height = height * ratio;
        this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.eye.resize((this.mode === "side" ? width / 2 : width) / height, height);
    }

    // A live run has moved beyond what the camera was set for.
    refit() {
        const view = this.views[0];
        const seen = motionBounds(view.run, view);
        const { low, high, center } = view.bounds;
        const span = seen.high.distanceTo(seen.low);
        const beyond = Math.max(low.distanceTo(seen.low), high.distanceTo(seen.high));
        if (this.eye.touched || this.follow || !(beyond > 0.15 * span)) return;
        low.copy(seen.low);
        high.copy(seen.high);
        center.copy(seen.center);
        view.bounds.radius = seen.radius;
        this.eye.look(this.eye.view);
    }

    setMode(mode) {
        this.mode = mode;
        this.views[1]?.setGhost(mode === "ghost");
        this.resize();
    }

    // --- overlays ----------------------------------------------------------------------------

    available(overlay) {
        return this.runs.some((run) => overlay.available(run));
    }

    setOverlay(name, on) {
        const overlay = OVERLAYS.find((o) => o.name === name);
        if (!overlay || !this.available(overlay)) return false;
        if (on) this.on.add(name);
        else this.on.delete(name);
        this.views.forEach((view, i) => {
            let made = this.overlay(i, name);
            if (on && !made && overlay.available(view.run)) {
                made = overlay.create({ run: view.run, view, eye: this.eye, theme: this.theme, colors: () => this.theme.picture });
                this.overlays[i].push({ name, made });
                if (made.object) view.scene.add(made.object);
            }
            if (made?.object) made.object.visible = on;
        });
        return true;
    }

    overlay(run, name) {
        return this.overlays[run].find((o) => o.name === name)?.made;
    }

    // --- drawing -----------------------------------------------------------------------------

    // The runs have been sampled; draw them. Allocates nothing.
    draw() {
        this.carryFollowed();
        const camera = this.eye.camera;
        camera.updateMatrixWorld();
        this.pen.clearRect(0, 0, this.width, this.height);
        this.renderer.setScissorTest(false);
        this.renderer.setViewport(0, 0, this.width, this.height);
        this.renderer.clear();
        for (let i = 0; i < this.views.length; ++i) {
            const view = this.views[i];
            const ghost = this.mode === "ghost" && i === 1;
            this.viewport.x = this.mode === "side" ? (i * this.width) / 2 : 0;
            this.viewport.width = this.mode === "side" ? this.width / 2 : this.width;
            view.update();
            this.updateMark(i);
            this.updateDot(i);
            this.updateOverlays(i, ghost);
            this.renderer.setViewport(this.viewport.x, 0, this.viewport.width, this.height);
            this.renderer.setScissor(this.viewport.x, 0, this.viewport.width, this.height);
            this.renderer.setScissorTest(true);
            this.renderer.render(view.scene, camera);
        }
    }

    updateOverlays(i, ghost) {
        const list = this.overlays[i];
        for (let k = 0; k < list.length; ++k) {
            const { name, made } = list[k];
            const on = this.on.has(name) && !ghost;
            if (made.object) made.object.visible = on;
            if (!on) continue;
            made.update();
            if (made.draw) {
                this.pen.save();
                this.pen.beginPath();
                this.pen.rect(this.viewport.x, 0, this.viewport.width, this.height);
                this.pen.clip();
                made.draw(this.pen, this.project);
                this.pen.restore();
            }
        }
    }

    updateMark(i) {
        const mark = this.marks[i];
        const view = this.views[i];
        const chosen = this.selection;
        mark.visible = chosen?.kind === "body" && (chosen.run === i || this.views.length > 1)
            && chosen.body < view.radius.length && view.radius[chosen.body] > 0;
        if (!mark.visible) return;
        const a = 3 * chosen.body;
        const { boxLow: l, boxHigh: h } = view;
        const pad = 0.06 * view.radius[chosen.body];
        mark.matrix.makeScale(h[a] - l[a] + pad, h[a + 1] - l[a + 1] + pad, h[a + 2] - l[a + 2] + pad)
            .setPosition(0.5 * (h[a] + l[a]), 0.5 * (h[a + 1] + l[a + 1]), 0.5 * (h[a + 2] + l[a + 2]))
            .premultiply(view.poseOf(chosen.body, this.pose));
    }

    // The chosen contact, as long as it exists.
    updateDot(i) {
        const dot = this.dots[i];
        const chosen = this.selection;
        dot.begin();
        if (chosen?.kind === "contact" && chosen.run === i) {
            const run = this.runs[i];
            const k = run.findContact(run.now.frame, chosen.key);
            if (k >= 0) {
                const p = run.contacts.point;
                const x = p[3 * k], y = p[3 * k + 1], z = p[3 * k + 2];
                dot.add(x, y, z, 7 * this.eye.perPixelAt(x, y, z), this.theme.picture.selected);
            }
        }
        dot.end();
    }

    setFollow(target) {
        this.follow = target;
        if (!target) return;
        const p = this.runs[target.run].now.position;
        this.followed.fromArray(p, 3 * target.body);
        const t = this.eye.controls.target;
        this.eye.touched = true;
        this.eye.carry(this.followed.x - t.x, this.followed.y - t.y, this.followed.z - t.z);
        this.eye.controls.update();
    }

    carryFollowed() {
        if (!this.follow) return;
        const p = this.runs[this.follow.run].now.position;
        const a = 3 * this.follow.body;
        const f = this.followed;
        if (p[a] === f.x && p[a + 1] === f.y && p[a + 2] === f.z) return;
        this.eye.carry(p[a] - f.x, p[a + 1] - f.y, p[a + 2] - f.z);
        f.set(p[a], p[a + 1], p[a + 2]);
    }

    // A point of the scene in pixels of the viewport at hand.
    project(x, y, z, out) {
        const p = this.point.set(x, y, z).project(this.eye.camera);
        out.visible = p.z > -1 && p.z < 1 && Math.abs(p.x) < 1.1 && Math.abs(p.y) < 1.1;
        out.x = this.viewport.x + (0.5 + 0.5 * p.x) * this.viewport.width;
        out.y = (0.5 - 0.5 * p.y) * this.height;
    }

    // --- picking -----------------------------------------------------------------------------

    watchPointer() {
        let downX = 0;
        let downY = 0;
        this.canvas.addEventListener("pointerdown", (event) => {
            downX = event.clientX;
            downY = event.clientY;
        });
        this.canvas.addEventListener("click", (event) => {
            if (Math.hypot(event.clientX - downX, event.clientY - downY) > 4) return;
            const box = this.canvas.getBoundingClientRect();
            this.onPick(this.pick(event.clientX - box.left, event.clientY - box.top));
        });
    }

    // What lies at a pixel: a contact (while contacts are shown), else a body, else null.
    pick(x, y) {
        const run = this.mode === "side" && x > this.width / 2 ? 1 : 0;
        this.viewport.width = this.mode === "side" ? this.width / 2 : this.width;
        this.viewport.x = this.mode === "side" ? run * this.viewport.width : 0;
        const contact = this.pickContact(run, x, y);
        if (contact >= 0) return { kind: "contact", run, key: this.runs[run].contacts.key[contact] };
        this.raycaster.setFromCamera(
            new Vector2((2 * (x - this.viewport.x)) / this.viewport.width - 1, 1 - (2 * y) / this.height), this.eye.camera);
        const body = this.views[run].pick(this.raycaster);
        return body >= 0 ? { kind: "body", run, body } : null;
    }

    pickContact(index, x, y) {
        if (!["contacts", "forces", "cones"].some((name) => this.on.has(name))) return -1;
        const run = this.runs[index];
        if (!run.contacts) return -1;
        let best = 9; // pixels
        let found = -1;
        for (let i = run.c0; i < run.c1; ++i) {
            const p = run.contacts.point;
            this.project(p[3 * i], p[3 * i + 1], p[3 * i + 2], this.at);
            const distance = Math.hypot(this.at.x - x, this.at.y - y);
            if (this.at.visible && distance < best) {
                best = distance;
                found = i;
            }
        }
        return found;
    }

    // Both layers as one picture.
    snapshot() {
        this.draw();
        const canvas = el("canvas", { width: this.canvas.width, height: this.canvas.height });
        const pen = canvas.getContext("2d");
        pen.drawImage(this.canvas, 0, 0);
        pen.drawImage(this.flat, 0, 0);
        return canvas;
    }
}
