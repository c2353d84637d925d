"""Types: mypy accepts the package, and its stubs are those of the compiled module."""
from _helper import SOURCE, main, test

import os
import subprocess
import sys

try:
    import mypy  # noqa: F401
except ImportError:
    print("skipped: python3-mypy is not installed")
    sys.exit(77)


def run(*command):
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@test
def the_stubs_are_those_of_the_module():
    # perp.gym needs a package that is not Debian's; names of typing are no part of the package
    with open("allow", "w") as f:
        f.write("perp\\.gym.*\nperp\\._\\w+\\.(Sequence|Mapping|Iterator|NamedTuple|field)(\\..*)?\n")
    run("mypy.stubtest", "perp", "--ignore-missing-stub", "--allowlist", "allow",
        "--ignore-unused-allowlist")


@test
def the_package_is_typed_strictly():
    run("mypy", "--strict", "--no-error-summary", "--cache-dir", os.devnull,
        os.path.join(SOURCE, "python", "perp"))


main("types_test")
