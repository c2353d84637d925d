// Keys of the whole page. A key that a field or button needs for itself stays with it.
import { OVERLAYS } from "./overlays/index.js";

export function listenToKeys(app) {
    const { player } = app;
    const eye = () => app.stage?.eye;
    const actions = {
        " ": () => player.toggle(),
        ArrowLeft: (e) => player.stepFrames(e.shiftKey ? -10 : -1),
        ArrowRight: (e) => player.stepFrames(e.shiftKey ? 10 : 1),
        Home: () => player.seek(player.begin),
        End: () => player.seek(player.end),
        "[": () => player.changeSpeed(-1),
        "]": () => player.changeSpeed(1),
        l: () => player.setLoop(!player.loop),
        r: () => app.look("iso"),
        v: () => app.nextView(),
        o: () => eye()?.toggleProjection(),
        f: () => app.toggleFollow(),
        t: () => app.theme.toggle(),
        p: () => app.togglePanel(),
        c: () => app.nextMode(),
        ",": () => app.chooseNext(-1),
        ".": () => app.chooseNext(1),
        "?": () => app.help.toggle(),
        Escape: () => app.select(null),
        "+": () => eye()?.zoom(1.2),
        "=": () => eye()?.zoom(1.2),
        "-": () => eye()?.zoom(1 / 1.2),
    };
    const turns = { a: [-1, 0], d: [1, 0], w: [0, -1], s: [0, 1] };

    document.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || app.help.isOpen()) return;
        const { target, key } = event;
        const slider = target === player.slider;
        if (target.closest?.("select, textarea") || (target.closest?.("input") && !slider)) return;
        if (key === " " && target.closest?.("button, a, summary")) return;
        const turn = turns[key.toLowerCase()];
        if (turn) {
            if (event.shiftKey) eye()?.pan(0.05 * turn[0], -0.05 * turn[1]);
            else eye()?.orbit(0.1 * turn[0], 0.1 * turn[1]);
        } else if (/^[1-9]$/.test(key)) {
            const overlay = OVERLAYS.find((o) => o.key === key);
            if (overlay) app.toggleOverlay(overlay.name);
        } else if (actions[key]) {
            actions[key](event);
        } else {
            return;
        }
        event.preventDefault();
    });
}
