#!/usr/bin/env bash
# side-by-side.sh LEFT.svg RIGHT.svg: one picture of two that cleave drew, of the same height, on standard output.
set -euo pipefail
size() { sed -n "s/^<svg .*$2=\"\([0-9.]*\)pt\".*/\1/p" "$1" | head -n 1; } # size FILE width|height
body() { sed '1,/^<svg /d' "$1" | sed '0,/>$/d'; } # without the first tag, which has several lines, and its end
width=$(size "$1" width)
height=$(size "$1" height)
cat <<EOF
<?xml version="1.0"?>
<svg width="$((2 * width))pt" height="${height}pt" viewBox="0 0 $((2 * width)) $height" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">
<svg x="0" width="$width" height="$height">
$(body "$1")
<svg x="$width" width="$width" height="$height">
$(body "$2")
</svg>
EOF
