#!/usr/bin/env bash
# The page of an estimate in a real browser. Exit status 77: skipped.
PERP_VIEWER_TEST=estimate exec bash "$PERP_SOURCE/tests/viewer/page_test.sh"
