"""The build backend of the package: setuptools, found without a network.

pip builds in an environment of its own that hides installed packages and would fetch setuptools.
This backend asks for nothing and looks for setuptools where the base Python keeps its packages.
"""
import os
import site
import sys
import sysconfig

try:
    import setuptools  # noqa: F401
except ImportError:
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    places = [sysconfig.get_path("purelib"), *site.getsitepackages([sys.base_prefix]),
              os.path.join(sys.base_prefix, "lib", version, "site-packages"),
              os.path.join(sys.base_prefix, "lib", "python3", "dist-packages")]
    sys.path += [place for place in dict.fromkeys(places)
                 if os.path.isdir(os.path.join(place, "setuptools"))]

try:
    from setuptools.build_meta import (build_sdist, build_wheel,  # noqa: F401
                                       prepare_metadata_for_build_wheel)
except ImportError as error:
    raise ImportError(f"{error}: building perp needs setuptools and wheel (Debian: "
                      "python3-setuptools python3-wheel; or pip install setuptools wheel)") from error


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []
