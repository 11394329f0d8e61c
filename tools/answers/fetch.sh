#!/bin/sh
# Fetch ordinary tables whose classes are known into a folder, as NAME/data.csv and NAME/labels.csv: fetch.sh FOLDER.
# vega-datasets comes from npm, and MASS with R (Debian's r-cran-mass); what is not installed is left out.
set -eu
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder"

# split TABLE NAME CLASS... takes a table in JSON or CSV apart: its columns of classes, and all others.
split() {
	python3 - "$@" "$folder" <<'PYTHON'
import csv, json, os, sys
path, name, *classes, folder = sys.argv[1:]
with open(path, newline="") as f:
    rows = json.load(f) if path.endswith(".json") else list(csv.DictReader(f))
columns = [c for c in rows[0] if c not in classes]
rows = [r for r in rows if all(r[c] not in (None, "") for c in classes)]
kinds = sorted({tuple(r[c] for c in classes) for r in rows})
os.makedirs(os.path.join(folder, name), exist_ok=True)
with open(os.path.join(folder, name, "data.csv"), "w", newline="") as f:
    w = csv.writer(f, lineterminator="\n")
    w.writerow(columns)
    w.writerows(["" if r[c] is None else r[c] for c in columns] for r in rows)
with open(os.path.join(folder, name, "labels.csv"), "w") as f:
    f.write("label\n" + "".join(f"{kinds.index(tuple(r[c] for c in classes))}\n" for r in rows))
print(f"{name}: {len(rows)} rows, {len(kinds)} classes")
PYTHON
}

if command -v npm >/dev/null; then
	(cd "$work" && npm pack --silent vega-datasets@3 >/dev/null && tar xzf vega-datasets-3*.tgz package/data/penguins.json package/data/cars.json)
	split "$work/package/data/penguins.json" penguins Species
	split "$work/package/data/cars.json" cars Origin
else
	echo "no npm: penguins and cars are left out"
fi

if command -v Rscript >/dev/null && Rscript -e 'library(MASS)' 2>/dev/null; then
	Rscript -e 'library(MASS); for (name in c("crabs", "biopsy", "Pima.tr2", "fgl", "Cars93")) write.csv(get(name), file.path(commandArgs(TRUE)[1], paste0(name, ".csv")), row.names = FALSE, na = "")' "$work"
	split "$work/crabs.csv" crabs sp sex
	split "$work/biopsy.csv" biopsy class
	split "$work/Pima.tr2.csv" pima type
	split "$work/fgl.csv" fgl type
	split "$work/Cars93.csv" cars93 Type
else
	echo "no R with MASS: crabs, biopsy, pima, fgl and cars93 are left out"
fi
