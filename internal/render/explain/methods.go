package explain

import (
	"slices"

	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// MethodName returns the short name of a method: "rows, no constraints".
func MethodName(m *cleavev1.Method) string {
	use := wire.EnumWord(m.GetConstraintUse())
	if m.GetConstraintUse() == cleavev1.ConstraintUse_CONSTRAINT_USE_NONE {
		use = "no constraints"
	}
	return wire.EnumWord(m.GetSpace()) + ", " + use
}

// SameMethod reports whether two methods compare rows and use constraints in the same way.
func SameMethod(a, b *cleavev1.Method) bool {
	return a.GetSpace() == b.GetSpace() && a.GetConstraintUse() == b.GetConstraintUse()
}

// MethodText describes a method in the words of the field: "spectral clustering of the nearest-neighbor graph".
func MethodText(m *cleavev1.Method) string {
	of := map[cleavev1.Space]string{
		cleavev1.Space_SPACE_ROWS:                   "the rows",
		cleavev1.Space_SPACE_STANDARDIZED:           "standardized columns",
		cleavev1.Space_SPACE_NEIGHBORS:              "the nearest-neighbor graph",
		cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS: "the nearest-neighbor graph of standardized columns",
		cleavev1.Space_SPACE_GRAPH:                  "the graph",
		cleavev1.Space_SPACE_LEVELS:                 "the graph",
		cleavev1.Space_SPACE_MIXTURE:                "the rows",
	}[m.GetSpace()]
	method := "spectral clustering of " + of
	switch m.GetSpace() {
	case cleavev1.Space_SPACE_ROWS, cleavev1.Space_SPACE_STANDARDIZED:
		method = "k-means of " + of
	case cleavev1.Space_SPACE_LEVELS:
		method = "multilevel normalized cut of " + of
	case cleavev1.Space_SPACE_MIXTURE:
		method = "mixture of Gaussians fitted to " + of
	}
	switch m.GetConstraintUse() {
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
		return method + ", whitened by must-links, with hard constraints"
	}
	return method
}

// ComparedBy says what rows are compared by in a space: "their nearest neighbors". A space of rows means something
// else for a kernel matrix, which has no columns.
func ComparedBy(space cleavev1.Space, kernelMatrix bool) string {
	switch space {
	case cleavev1.Space_SPACE_ROWS:
		if kernelMatrix {
			return "the leading components of the kernel matrix"
		}
		return "their columns as they are"
	case cleavev1.Space_SPACE_STANDARDIZED:
		return "columns of equal variance"
	case cleavev1.Space_SPACE_NEIGHBORS:
		return "their nearest neighbors"
	case cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS:
		return "their nearest neighbors, in columns of equal variance"
	case cleavev1.Space_SPACE_GRAPH:
		return "eigenvectors of the graph"
	case cleavev1.Space_SPACE_LEVELS:
		return "the edges of the graph"
	case cleavev1.Space_SPACE_MIXTURE:
		return "how likely they are in each cluster, a Gaussian with its own covariance"
	}
	return wire.EnumWord(space)
}

// methodSentence says how a method compares points, and how it uses constraints if there are any; "" without a method.
func (e *explainer) methodSentence(m *cleavev1.Method) string {
	if m.GetSpace() == cleavev1.Space_SPACE_UNSPECIFIED {
		return ""
	}
	noun := "points"
	if m.GetSpace() == cleavev1.Space_SPACE_GRAPH || m.GetSpace() == cleavev1.Space_SPACE_LEVELS {
		noun = "vertices"
	}
	words := noun + " were compared by " + ComparedBy(m.GetSpace(), OfKernelMatrix(e.Run))
	given := e.given + "s"
	use := map[cleavev1.ConstraintUse]string{
		cleavev1.ConstraintUse_CONSTRAINT_USE_NONE:         given + " were ignored",
		cleavev1.ConstraintUse_CONSTRAINT_USE_SOFT:         "violated " + given + " were penalized",
		cleavev1.ConstraintUse_CONSTRAINT_USE_HARD:         given + " were enforced",
		cleavev1.ConstraintUse_CONSTRAINT_USE_METRIC:       given + " were enforced, and set how much each column counts",
		cleavev1.ConstraintUse_CONSTRAINT_USE_CUTS:         given + " chose which eigenvectors count",
		cleavev1.ConstraintUse_CONSTRAINT_USE_DISCRIMINANT: "a classifier fitted to the known rows predicted the others",
		cleavev1.ConstraintUse_CONSTRAINT_USE_SPREAD:       "known groups spread along the edges of the graph",
		cleavev1.ConstraintUse_CONSTRAINT_USE_WHITENED:     given + " were enforced, and columns count less the more must-linked rows differ in them",
	}[m.GetConstraintUse()]
	if use != "" && e.supervised() {
		words += "; " + use
	}
	return Sentence(words)
}

// OfKernelMatrix reports whether a run clustered a kernel matrix, which has no columns.
func OfKernelMatrix(r *cleavev1.RunRecord) bool {
	return slices.ContainsFunc(r.GetOrigin().GetInputs(), func(in *cleavev1.InputFile) bool { return in.GetFlag() == "kernel-matrix" })
}
