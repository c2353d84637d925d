"""The Python package: CMake builds the extension, setuptools packs it.

Environment: PERP_PYTHON_STATIC=1 links the libraries that perp uses into the extension (make wheel);
CMAKE_ARGS: further arguments for CMake; PERP_BUILD_JOBS: processes at a time.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCE = pathlib.Path(__file__).resolve().parent


def version():
    text = (SOURCE / "include/perp/version.h").read_text(encoding="utf-8")
    return ".".join(re.findall(r"^#define PERP_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", text, re.M))


class CMakeBuild(build_ext):
    """One target of CMake instead of a compiler's call."""

    def build_extension(self, ext):
        target = pathlib.Path(self.get_ext_fullpath(ext.name)).resolve()
        folder = pathlib.Path(self.build_temp).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        cmake = shutil.which("cmake")
        if cmake is None:
            sys.exit("perp: building the package needs CMake (Debian: scripts/install-deps --python)")
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        static = "ON" if os.environ.get("PERP_PYTHON_STATIC") == "1" else "OFF"
        page = next((place for place in (SOURCE / "python/page.html",
                                         SOURCE / "build/release/page/template.html")
                     if place.exists() and place.stat().st_size > 0), None)
        # distributions have no static NLopt or Ipopt: designs of a wheel use cma-es, estimates not mpec
        nlopt = ["-DPERP_DESIGN=OFF", "-DPERP_IPOPT=OFF"] if static == "ON" else []
        bundled = [f"-DPERP_PAGE_FILE={page}"] if page else []  # else node makes it, or there is none
        subprocess.run(
            [cmake, "-S", str(SOURCE), "-B", str(folder), *generator, *launcher, *bundled, *nlopt,
             "--log-level=NOTICE", "-DCMAKE_BUILD_TYPE=Release", "-DPERP_PYTHON_PACKAGE=ON",
             f"-DPERP_PYTHON_STATIC={static}", f"-DPERP_PYTHON_EXECUTABLE={sys.executable}",
             f"-DPERP_PYTHON_OUTPUT={folder / 'package'}", "-DPERP_CLI=OFF", "-DPERP_TESTS=OFF",
             "-DPERP_BENCH=OFF", "-DPERP_INSTALL=OFF", "-DPERP_MPI=OFF",
             *shlex.split(os.environ.get("CMAKE_ARGS", ""))], check=True)
        subprocess.run([cmake, "--build", str(folder), "--target", "perp_python",
                        "--parallel", os.environ.get("PERP_BUILD_JOBS", str(os.cpu_count() or 1))],
                       check=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / "package/perp/_core.abi3.so", target)
        if static == "ON":
            subprocess.run(["strip", "--strip-unneeded", str(target)], check=True)


setup(
    name="perp",
    version=version(),
    description="Rigid bodies in contact: a laboratory for complementarity methods",
    long_description=(SOURCE / "docs/python.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    packages=["perp"],
    package_dir={"": "python"},
    package_data={"perp": ["py.typed", "*.pyi"]},
    ext_modules=[Extension("perp._core", sources=[], py_limited_api=True)],
    cmdclass={"build_ext": CMakeBuild},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    extras_require={"arrays": ["numpy"], "figures": ["matplotlib"], "tables": ["pandas"],
                    "gym": ["gymnasium"]},
    zip_safe=False,
    classifiers=["License :: OSI Approved :: Apache Software License",
                 "Programming Language :: C", "Programming Language :: Python :: 3",
                 "Topic :: Scientific/Engineering :: Physics"],
)
