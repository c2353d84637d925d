// What the address asks for: ?time=1.5&view=top&ui=none or the same behind #, which also works for
// pages opened from disk. `perp render` makes its pictures this way.

export function readParams(location) {
    const all = new URLSearchParams(location.search.slice(1));
    for (const [key, value] of new URLSearchParams(location.hash.slice(1))) all.set(key, value);
    const number = (key) => (all.has(key) && Number.isFinite(Number(all.get(key))) ? Number(all.get(key)) : null);
    return {
        time: number("time"),
        frame: number("frame"),
        speed: number("speed"),
        view: all.get("view"),
        ui: all.get("ui"),
        theme: all.get("theme"),
        mode: all.get("mode"),
        overlays: all.has("overlays") ? all.get("overlays").split(",").filter(Boolean) : null,
        follow: all.get("follow"),
        projection: all.get("projection"),
        shadows: all.has("shadows") ? all.get("shadows") !== "0" : all.get("ui") === "none" ? true : null,
        play: all.get("play") === "1",
    };
}
