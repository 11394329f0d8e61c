package explain

import (
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// WayText names a way for people: "rows, no constraints".
func WayText(w *cleavev1.Method) string {
	use := wire.EnumWord(w.GetConstraintUse())
	if w.GetConstraintUse() == cleavev1.ConstraintUse_CONSTRAINT_USE_NONE {
		use = "no constraints"
	}
	return wire.EnumWord(w.GetSpace()) + ", " + use
}

// MethodText says what a way does, in the words of the field: "spectral clustering of the nearest-neighbor graph".
func MethodText(w *cleavev1.Method) string {
	of := map[cleavev1.Space]string{
		cleavev1.Space_SPACE_ROWS:                   "the rows",
		cleavev1.Space_SPACE_STANDARDIZED:           "standardized columns",
		cleavev1.Space_SPACE_NEIGHBORS:              "the nearest-neighbor graph",
		cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS: "the nearest-neighbor graph of standardized columns",
		cleavev1.Space_SPACE_GRAPH:                  "the graph",
		cleavev1.Space_SPACE_LEVELS:                 "the graph",
	}[w.GetSpace()]
	method := "spectral clustering of " + of
	switch w.GetSpace() {
	case cleavev1.Space_SPACE_ROWS, cleavev1.Space_SPACE_STANDARDIZED:
		method = "k-means of " + of
	case cleavev1.Space_SPACE_LEVELS:
		method = "multilevel normalized cut of " + of
	}
	switch w.GetConstraintUse() {
	case cleavev1.ConstraintUse_CONSTRAINT_USE_SOFT:
		return method + " with soft constraints"
	case cleavev1.ConstraintUse_CONSTRAINT_USE_HARD:
		return method + " with hard constraints"
	case cleavev1.ConstraintUse_CONSTRAINT_USE_METRIC:
		return method + " with a learned metric"
	case cleavev1.ConstraintUse_CONSTRAINT_USE_CUTS:
		return "constrained cuts of " + of
	case cleavev1.ConstraintUse_CONSTRAINT_USE_DISCRIMINANT:
		return "classifier fitted to the known rows, on " + of
	case cleavev1.ConstraintUse_CONSTRAINT_USE_SPREAD:
		return "known labels spread along " + of
	case cleavev1.ConstraintUse_CONSTRAINT_USE_WHITENED:
		return method + " whitened by must-links, with hard constraints"
	}
	return method
}

// quotedWay is its name within a sentence.
func quotedWay(w *cleavev1.Method) string { return strconv.Quote(WayText(w)) }

// wayWords say what a way is, and how it uses what is known about points, if anything is.
func (e *explainer) wayWords(w *cleavev1.Method) string {
	words := map[cleavev1.Space]string{
		cleavev1.Space_SPACE_ROWS:                   "points were compared by their columns as they are",
		cleavev1.Space_SPACE_STANDARDIZED:           "points were compared by their columns, all with the same variance",
		cleavev1.Space_SPACE_NEIGHBORS:              "points were compared by their nearest neighbors, which finds clusters of any shape",
		cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS: "points were compared by their nearest neighbors, in columns of the same variance",
		cleavev1.Space_SPACE_GRAPH:                  "vertices were compared by eigenvectors of the graph",
		cleavev1.Space_SPACE_LEVELS:                 "the graph was cut where its edges are few",
	}[w.GetSpace()]
	if w.GetSpace() == cleavev1.Space_SPACE_ROWS && OfKernelMatrix(e.r) {
		words = "points were compared by the leading components of the kernel matrix"
	}
	use := map[cleavev1.ConstraintUse]string{
		cleavev1.ConstraintUse_CONSTRAINT_USE_NONE:         "constraints were not looked at",
		cleavev1.ConstraintUse_CONSTRAINT_USE_SOFT:         "a violated constraint has a price",
		cleavev1.ConstraintUse_CONSTRAINT_USE_HARD:         "constraints were taken for certain",
		cleavev1.ConstraintUse_CONSTRAINT_USE_METRIC:       "constraints were taken for certain, and told how much each column counts",
		cleavev1.ConstraintUse_CONSTRAINT_USE_CUTS:         "constraints chose which eigenvectors count",
		cleavev1.ConstraintUse_CONSTRAINT_USE_DISCRIMINANT: "a classifier fitted to the known rows predicted the others",
		cleavev1.ConstraintUse_CONSTRAINT_USE_SPREAD:       "known groups spread along the edges of the graph",
		cleavev1.ConstraintUse_CONSTRAINT_USE_WHITENED:     "constraints were taken for certain, and columns count less the more must-linked rows differ in them",
	}[w.GetConstraintUse()]
	if words == "" || use == "" || !e.supervised() {
		return words
	}
	return words + "; " + use
}

// OfKernelMatrix tells whether a run was of a kernel matrix, which has no columns.
func OfKernelMatrix(r *cleavev1.Result) bool {
	return slices.ContainsFunc(r.GetOrigin().GetInputs(), func(in *cleavev1.InputFile) bool { return in.GetFlag() == "kernel-matrix" })
}

// ReasonText returns the reason for a choice as a sentence.
func ReasonText(reason string) string { return sentence(reason) }
