#!/usr/bin/env bash
# The replay page inside a notebook's cell, in a real browser. Exit status 77: skipped.
export PYTHONPATH=$PERP_BUILD/python
if ! "$PERP_PYTHON" -c 'import perp, numpy' 2>/dev/null; then
    echo 'skipped: the Python package was not built'
    exit 77
fi
PERP_VIEWER_TEST=notebook exec bash "$PERP_SOURCE/tests/viewer/page_test.sh"
