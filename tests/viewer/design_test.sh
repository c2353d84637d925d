#!/usr/bin/env bash
# The page of a design in a real browser. Exit status 77: skipped.
PERP_VIEWER_TEST=design exec bash "$PERP_SOURCE/tests/viewer/page_test.sh"
