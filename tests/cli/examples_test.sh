#!/usr/bin/env bash
# The programs of examples/, compiled against an installed perp through pkg-config, and run.
# Then the same through the CMake package. Uses nothing of the build tree but the install.
set -u
passed=0 failed=0
say() { # say NAME STATUS
    if [[ $2 == 0 ]]; then echo "ok $1"; passed=$((passed + 1)); else echo "FAIL $1"; failed=$((failed + 1)); fi
}
prefix=$PWD/prefix
rm -rf "$prefix" cmake-user
cmake --install "$PERP_BUILD" --prefix "$prefix" >install.log 2>&1
say "the_library_installs" $?
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name perp.pc | head -1)")
libdir=$(pkg-config --variable=libdir perp)

# shellcheck disable=SC2086
for name in hello force_callback own_solver what_if; do
    ${PERP_CC:-cc} ${PERP_CFLAGS:-} -std=c17 -Wall -Wextra -Werror "$PERP_SOURCE/examples/$name.c" \
        $(pkg-config --cflags --libs perp) -lm -o "$name"
    say "${name}_compiles_through_pkg_config" $?
    LD_LIBRARY_PATH=$libdir "./$name" "$prefix/share/perp/scenes/hello.json"
    say "${name}_runs" $?
done

# The solver of one's own is checked like any other: with two sweeps it must be found out.
sed 's/->sweeps = 2000/->sweeps = 2/' "$PERP_SOURCE/examples/own_solver.c" >lazy.c
# shellcheck disable=SC2086
${PERP_CC:-cc} ${PERP_CFLAGS:-} -std=c17 lazy.c $(pkg-config --cflags --libs perp) -lm -o lazy
LD_LIBRARY_PATH=$libdir ./lazy >lazy.out 2>&1
[[ $? != 0 ]] && grep -q "residual check" lazy.out
say "a_solver_that_claims_too_much_is_found_out" $?

mkdir -p cmake-user
cat >cmake-user/CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.20)
project(user C)
set(CMAKE_C_STANDARD 17)
find_package(perp REQUIRED)
add_executable(user "$PERP_SOURCE/examples/hello.c")
target_link_libraries(user PRIVATE perp::perp)
EOF
cmake -S cmake-user -B cmake-user/build -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="${PERP_CC:-cc}" -DCMAKE_C_FLAGS="${PERP_CFLAGS:-}" >cmake.log 2>&1 &&
    cmake --build cmake-user/build >>cmake.log 2>&1 &&
    LD_LIBRARY_PATH=$libdir cmake-user/build/user "$prefix/share/perp/scenes/hello.json"
say "find_package_finds_it" $?
"$prefix/bin/perp" list scenes >/dev/null
say "the_installed_program_finds_its_scenes" $?

# One version everywhere.
version=$("$prefix/bin/perp" --version | cut -d' ' -f2)
[[ $version == "$(pkg-config --modversion perp)" && -e $libdir/libperp.so.$version ]] &&
    grep -qF "\"$version\"" "$libdir/cmake/perp/perpConfigVersion.cmake"
say "program_and_packages_have_one_version" $?

# A project that takes perp in gets its library and nothing else. (Only configured: a build takes long.)
mkdir -p subproject
cat >subproject/CMakeLists.txt <<EOF
cmake_minimum_required(VERSION 3.25)
project(user C)
add_subdirectory("$PERP_SOURCE" perp)
add_executable(user "$PERP_SOURCE/examples/hello.c")
target_link_libraries(user PRIVATE perp::perp)
EOF
cmake -G Ninja -S subproject -B subproject/build -DCMAKE_C_COMPILER="${PERP_CC:-cc}" >subproject.log 2>&1 &&
    ninja -C subproject/build -t targets all >subproject.targets && grep -q '^user:' subproject.targets &&
    grep -q 'libperp\.so' subproject.targets && ! grep -qE '^(test_|bench|experiment|perp_cli)' subproject.targets &&
    [[ -z $(cd subproject/build && ctest -N 2>/dev/null | grep 'Test *#') ]]
say "as_a_subproject_perp_is_its_library" $?

# What a user's shell and man look for.
share=$prefix/share
for file in man/man1/perp.1 bash-completion/completions/perp zsh/site-functions/_perp \
    fish/vendor_completions.d/perp.fish; do
    [[ -s $share/$file ]]
    say "installs_$file" $?
done
diff <("$prefix/bin/perp" help --man) "$share/man/man1/perp.1" >/dev/null
say "the_man_page_is_that_of_the_program" $?

echo "examples_test: $passed passed, $failed failed"
[[ $failed == 0 ]]
