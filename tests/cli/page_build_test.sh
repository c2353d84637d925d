#!/usr/bin/env bash
# scripts/build-page: a build without node or without a network goes on, without the page.
set -u
source_folder=${PERP_SOURCE:?}
passed=0 failed=0
check() { # description, command...
    local what=$1
    shift
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL: $what"; fi
}
[[ -e $source_folder/viewer/build.mjs ]] || { echo 'skipped: viewer/ is missing'; exit 77; }
here=$(mktemp -d "$PWD/XXXXXX") && cd "$here" || exit 1
trap 'rm -rf "$here"' EXIT

mkdir bin bare
for tool in bash mkdir dirname rm cp cmp cat env sh; do
    ln -s "$(command -v "$tool")" bare/
done
build() { # PATH, viewer
    PATH=$1 "$source_folder/scripts/build-page" "$2" "$here/work" "$here/out/page.html" 2>err
}

# neither node nor npm
check 'without node the build goes on' build "$here/bare" "$source_folder/viewer"
check 'the template is there, and empty' test -e out/page.html -a ! -s out/page.html
check 'one line says so' grep -q 'built without the replay page: node and npm are not installed' err
check 'only one' test "$(wc -l <err)" = 1
PERP_PAGE_REQUIRED=1
export PERP_PAGE_REQUIRED
check 'unless the page is required' test "$(build "$here/bare" "$source_folder/viewer"; echo $?)" = 1
unset PERP_PAGE_REQUIRED

# npm cannot reach its registry
printf '#!/bin/sh\necho "network is unreachable" >&2\nexit 1\n' >bin/npm
printf '#!/bin/sh\nexit 0\n' >bin/node
chmod +x bin/npm bin/node
check 'without a network the build goes on' build "$here/bin:$here/bare" "$source_folder/viewer"
check 'and says so' grep -q 'npm could not fetch its packages' err
check 'the template is empty' test ! -s out/page.html

# npm works, the bundler makes a page; the second time npm is not asked
cat >bin/npm <<'END'
#!/bin/sh
echo "$@" >>"$HERE/npm-calls"
mkdir -p node_modules
END
printf '#!/bin/sh\necho "<!doctype html>" >"$2"\n' >bin/node
export HERE=$here
before=$(ls -A "$source_folder/viewer")
check 'the page is built' build "$here/bin:$here/bare" "$source_folder/viewer"
check 'the page is there' test -s out/page.html
check 'and again' build "$here/bin:$here/bare" "$source_folder/viewer"
check 'packages are fetched once' test "$(wc -l <npm-calls)" = 1
check 'with the lock file, without scripts' grep -q '^ci .*--ignore-scripts' npm-calls
check 'the sources are left alone' test "$before" = "$(ls -A "$source_folder/viewer")"
printf '#!/bin/sh\necho "syntax error" >&2\nexit 1\n' >bin/node
check 'a bundle that fails is no reason to stop' build "$here/bin:$here/bare" "$source_folder/viewer"
check 'but is told' grep -q 'syntax error' err

echo "page_build_test: $passed passed, $failed failed"
((failed == 0 && passed > 0))
