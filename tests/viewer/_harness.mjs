// Test cases in order, and the line that scripts/run-tests reads.
import assert from "node:assert/strict";

const cases = [];
export function test(name, body) {
    cases.push({ name, body });
}

export async function runAll(cleanUp) {
    const only = process.env.ONLY;
    let passed = 0;
    let failed = 0;
    for (const { name, body } of cases) {
        if (only && !name.includes(only)) continue;
        const begin = Date.now();
        try {
            await body();
            passed += 1;
            console.log(`ok    ${name} (${Date.now() - begin} ms)`);
        } catch (error) {
            failed += 1;
            console.log(`FAIL  ${name}\n${error?.stack ?? error}`);
        }
    }
    await cleanUp();
    console.log(`viewer: ${passed} passed, ${failed} failed`);
    process.exitCode = failed ? 1 : 0;
}

export { assert };
export const near = (a, b, tolerance, what) =>
    assert.ok(Math.abs(a - b) <= tolerance, `${what}: ${a} and ${b} differ by more than ${tolerance}`);
