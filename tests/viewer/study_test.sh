#!/usr/bin/env bash
# The page of a study's results in a real browser. Exit status 77: skipped.
PERP_VIEWER_TEST=study exec bash "$PERP_SOURCE/tests/viewer/page_test.sh"
