#!/usr/bin/env bash
# The replay page in a real browser: Debian's chromium, driven by playwright-core.
# Exit status 77: skipped, because something it needs is not here.
set -u
here=$PERP_SOURCE/tests/viewer
skip() {
    echo "skipped: $1"
    exit 77
}

[[ ${PERP_CFLAGS-} == *sanitize* ]] && skip 'the page does not depend on sanitizers; the plain build tests it'
command -v node >/dev/null || skip 'node is not installed'
for name in "${PERP_CHROMIUM-}" chromium chromium-browser google-chrome; do
    [[ -n $name ]] && browser=$(command -v "$name") && break
done
[[ -n ${browser-} ]] || skip 'chromium is not installed'
"$PERP" replay --help >/dev/null 2>&1 || skip 'this perp has no replay'

# playwright-core: from the sources' node_modules, or fetched once into the build folder.
modules=$PERP_SOURCE/viewer/node_modules
if [[ ! -d $modules/playwright-core ]]; then
    work=$PERP_BUILD/tests/viewer-modules
    modules=$work/node_modules
    if ! cmp -s "$PERP_SOURCE/viewer/package-lock.json" "$modules/.perp-lock"; then
        command -v npm >/dev/null || skip 'npm is not installed'
        mkdir -p "$work"
        cp "$PERP_SOURCE/viewer/package.json" "$PERP_SOURCE/viewer/package-lock.json" \
            "$PERP_SOURCE/viewer/.npmrc" "$work/"
        (cd "$work" && timeout 120 npm ci --ignore-scripts --prefer-offline --fetch-retries=1) \
            >"$work/npm.log" 2>&1 </dev/null || skip "npm could not fetch playwright-core (log: $work/npm.log)"
        cp "$work/package-lock.json" "$modules/.perp-lock"
    fi
fi
export PERP_BROWSER=$browser PERP_NODE_MODULES=$modules
exec node "$here/${PERP_VIEWER_TEST-page}_test.mjs"
