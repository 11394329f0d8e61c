package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// WayText names a way for people: "rows, no constraints".
func WayText(w *cleavev1.Way) string {
	use := wire.EnumWord(w.GetUse())
	if w.GetUse() == cleavev1.Use_USE_NONE {
		use = "no constraints"
	}
	return wire.EnumWord(w.GetSpace()) + ", " + use
}

// quotedWay is its name within a sentence.
func quotedWay(w *cleavev1.Way) string { return strconv.Quote(WayText(w)) }

// wayWords say what a way is, and how it uses what is known about points, if anything is.
func (e *explainer) wayWords(w *cleavev1.Way) string {
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
	use := map[cleavev1.Use]string{
		cleavev1.Use_USE_NONE:         "constraints were not looked at",
		cleavev1.Use_USE_SOFT:         "a violated constraint has a price",
		cleavev1.Use_USE_HARD:         "constraints were taken for certain",
		cleavev1.Use_USE_METRIC:       "constraints were taken for certain, and told how much each column counts",
		cleavev1.Use_USE_CUTS:         "constraints chose which eigenvectors count",
		cleavev1.Use_USE_DISCRIMINANT: "a classifier fitted to the known rows predicted the others",
		cleavev1.Use_USE_SPREAD:       "known groups spread along the edges of the graph",
	}[w.GetUse()]
	if words == "" || use == "" || !e.supervised() {
		return words
	}
	return words + "; " + use
}

// OfKernelMatrix tells whether a run was of a kernel matrix, which has no columns.
func OfKernelMatrix(r *cleavev1.Result) bool {
	return slices.ContainsFunc(r.GetOrigin().GetInputs(), func(in *cleavev1.InputFile) bool { return in.GetFlag() == "kernel-matrix" })
}

// ReasonText is why a way was taken, as a sentence. Some reasons only say by what the answer is.
func ReasonText(reason string) string {
	for _, manner := range []string{"k-means", "eigenvectors", "the normalized cut"} {
		if strings.HasPrefix(reason, manner) {
			return sentence("the answer is by " + reason)
		}
	}
	return sentence(reason)
}
