// The clock and its controls.
import { button, el, format, icon, setText } from "./dom.js";

export const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16];

// At speed 1 a second of the scene takes a second; a scene that would be over in a blink, or take
// minutes, starts at a speed that shows it in about five seconds.
function fittingSpeed(duration) {
    if (!(duration > 0) || (duration >= 1 && duration <= 60)) return 1;
    const wanted = duration / 5;
    return SPEEDS.reduce((a, b) => (Math.abs(Math.log(b / wanted)) < Math.abs(Math.log(a / wanted)) ? b : a));
}

export class Player {
    constructor(host, runs, { onChange, announce }) {
        this.runs = runs;
        this.onChange = onChange;
        this.announce = announce;
        this.time = this.begin;
        this.playing = false;
        this.loop = false;
        this.speed = fittingSpeed(this.end - this.begin);
        this.build(host);
        this.show();
    }

    get begin() {
        return Math.min(...this.runs.map((r) => r.start));
    }

    get end() {
        return Math.max(...this.runs.map((r) => r.duration));
    }

    // The run with the most frames gives the steps.
    get lead() {
        return this.runs.length > 1 && this.runs[1].frames > this.runs[0].frames ? this.runs[1] : this.runs[0];
    }

    build(host) {
        const make = (label, name, action) => button(label, action, { class: "icon-button", icon: name });
        this.playButton = make("Play", "play", () => this.toggle());
        this.playButton.classList.add("primary");
        this.slider = el("input", {
            type: "range", class: "slider", min: "0", max: "1", step: "any", value: "0", "aria-label": "Time",
            oninput: () => this.seek(this.begin + Number(this.slider.value) * (this.end - this.begin)),
        });
        this.speedBox = el("select", {
            "aria-label": "Speed", class: "speed",
            onchange: () => this.setSpeed(Number(this.speedBox.value)),
        }, ...SPEEDS.map((s) => el("option", { value: s, text: `${s}×` })));
        this.loopButton = make("Loop", "loop", () => this.setLoop(!this.loop));
        this.loopButton.setAttribute("aria-pressed", "false");
        this.readout = el("output", { class: "readout" });
        host.append(
            el("div", { class: "buttons", role: "group", "aria-label": "Playback" },
                make("To the start", "first", () => this.seek(this.begin)),
                make("One frame back", "back", () => this.stepFrames(-1)),
                this.playButton,
                make("One frame on", "forward", () => this.stepFrames(1)),
                make("To the end", "last", () => this.seek(this.end))),
            this.slider, this.readout,
            el("div", { class: "buttons" }, this.speedBox, this.loopButton));
        this.speedBox.value = String(this.speed);
    }

    toggle() {
        if (this.playing) this.pause();
        else this.play();
    }

    play() {
        if (this.playing || !(this.end > this.begin)) return;
        if (this.time >= this.end) this.time = this.begin;
        this.playing = true;
        this.last = null;
        this.showPlaying();
        this.announce("Playing");
        this.onChange();
    }

    pause() {
        if (!this.playing) return;
        this.playing = false;
        this.showPlaying();
        this.announce(`Paused at time ${format(this.time)}`);
        this.onChange();
    }

    showPlaying() {
        const label = this.playing ? "Pause" : "Play";
        this.playButton.replaceChildren(icon(this.playing ? "pause" : "play"));
        this.playButton.setAttribute("aria-label", label);
        this.playButton.title = `${label} (space)`;
    }

    setSpeed(speed) {
        this.speed = speed;
        this.speedBox.value = String(speed);
    }

    changeSpeed(by) {
        const at = SPEEDS.indexOf(this.speed);
        this.setSpeed(SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at + by))]);
        this.announce(`Speed ${this.speed}`);
    }

    setLoop(on) {
        this.loop = on;
        this.loopButton.setAttribute("aria-pressed", String(on));
    }

    seek(time) {
        this.time = Math.max(this.begin, Math.min(this.end, time));
        if (this.playing && this.last !== null) this.last = null;
        this.onChange();
    }

    stepFrames(by) {
        this.pause();
        const run = this.lead;
        const f = run.frameAt(this.time);
        // From between two frames, a step goes to the next whole one.
        const near = Math.abs(f - Math.round(f)) < 1e-6 ? Math.round(f) : by > 0 ? Math.floor(f) : Math.ceil(f);
        this.seek(run.timeAt(near + by));
    }

    // now: milliseconds of the display's clock.
    advance(now) {
        if (!this.playing) return;
        if (this.last !== null) {
            this.time += (Math.min(now - this.last, 200) / 1000) * this.speed;
            if (this.time >= this.end) {
                if (this.loop) this.time = this.begin;
                else {
                    this.time = this.end;
                    this.pause();
                }
            }
        }
        this.last = now;
    }

    show() {
        const span = this.end - this.begin;
        const run = this.lead;
        const frame = Math.round(run.frameAt(this.time));
        this.slider.value = span > 0 ? String((this.time - this.begin) / span) : "0";
        this.slider.style.setProperty("--done", `${span > 0 ? (100 * (this.time - this.begin)) / span : 0}%`);
        const digits = Math.max(0, Math.min(9, 3 - Math.floor(Math.log10(span > 0 ? span : 1))));
        const text = `t = ${this.time.toFixed(digits)}`;
        setText(this.readout, `${text}   frame ${frame + 1} / ${run.frames}`);
        this.slider.setAttribute("aria-valuetext", `${text}, frame ${frame + 1} of ${run.frames}`);
    }
}
