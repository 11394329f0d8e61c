package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// SameMethod reports whether two methods compare rows and use constraints in the same way.
func SameMethod(a, b *cleavev1.Method) bool {
	return a.GetSpace() == b.GetSpace() && a.GetConstraintUse() == b.GetConstraintUse()
}

// spaces describes the spaces: the method that clusters in one, of what, and by what that compares points.
var spaces = map[cleavev1.Space]struct{ method, of, by string }{
	cleavev1.Space_SPACE_ROWS:         {"k-means of ", "the rows", "their columns as they are"},
	cleavev1.Space_SPACE_STANDARDIZED: {"k-means of ", "standardized columns", "columns of equal variance"},
	cleavev1.Space_SPACE_NEIGHBORS: {"spectral clustering of ", "the nearest-neighbor graph",
		"their nearest neighbors"},
	cleavev1.Space_SPACE_STANDARDIZED_NEIGHBORS: {"spectral clustering of ",
		"the nearest-neighbor graph of standardized columns", "their nearest neighbors, in columns of equal variance"},
	cleavev1.Space_SPACE_GRAPH:  {"spectral clustering of ", "the graph", "eigenvectors of the graph"},
	cleavev1.Space_SPACE_LEVELS: {"multilevel normalized cut of ", "the graph", "the edges of the graph"},
	cleavev1.Space_SPACE_MIXTURE: {"mixture of Gaussians fitted to ", "the rows",
		"how likely they are in each cluster, a Gaussian with its own covariance"},
}

// uses describes the uses of constraints: the method that replaces that of the space, or what is added to it, and a
// clause in which %s are the constraints.
var uses = map[cleavev1.ConstraintUse]struct{ method, with, clause string }{
	cleavev1.ConstraintUse_CONSTRAINT_USE_NONE: {clause: "%s were ignored"},
	cleavev1.ConstraintUse_CONSTRAINT_USE_SOFT: {with: " with soft constraints",
		clause: "violated %s were penalized"},
	cleavev1.ConstraintUse_CONSTRAINT_USE_HARD: {with: " with hard constraints", clause: "%s were enforced"},
	cleavev1.ConstraintUse_CONSTRAINT_USE_METRIC: {with: " with a learned metric",
		clause: "%s were enforced, and set how much each column counts"},
	cleavev1.ConstraintUse_CONSTRAINT_USE_CUTS: {method: "constrained cuts of ",
		clause: "%s chose which eigenvectors count"},
	cleavev1.ConstraintUse_CONSTRAINT_USE_DISCRIMINANT: {method: "classifier fitted to the known rows, on ",
		clause: "a classifier fitted to the known rows predicted the others"},
	cleavev1.ConstraintUse_CONSTRAINT_USE_SPREAD: {method: "known labels spread along ",
		clause: "known groups spread along the edges of the graph"},
	cleavev1.ConstraintUse_CONSTRAINT_USE_WHITENED: {
		with:   ", whitened by must-links, with hard constraints",
		clause: "%s were enforced, and columns count less the more must-linked rows differ in them",
	},
}

// MethodText describes a method in the words of the field: "spectral clustering of the nearest-neighbor graph".
func MethodText(m *cleavev1.Method) string {
	space, use := spaces[m.GetSpace()], uses[m.GetConstraintUse()]
	return cmp.Or(use.method, space.method) + space.of + use.with
}

// ComparedBy says what rows are compared by in a space: "their nearest neighbors". A space of rows means something
// else for a kernel matrix, which has no columns.
func ComparedBy(space cleavev1.Space, kernelMatrix bool) string {
	if space == cleavev1.Space_SPACE_ROWS && kernelMatrix {
		return "the leading components of the kernel matrix"
	}
	return cmp.Or(spaces[space].by, wire.EnumWord(space))
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
	if clause := uses[m.GetConstraintUse()].clause; clause != "" && e.supervised() {
		words += "; " + strings.ReplaceAll(clause, "%s", e.given+"s")
	}
	return Sentence(words)
}

// OfKernelMatrix reports whether a run clustered a kernel matrix, which has no columns.
func OfKernelMatrix(r *cleavev1.RunRecord) bool {
	return slices.ContainsFunc(r.GetOrigin().GetInputs(), func(in *cleavev1.InputFile) bool {
		return in.GetFlag() == "kernel-matrix"
	})
}
