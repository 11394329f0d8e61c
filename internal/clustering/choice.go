package clustering

// Space is a representation of the data that points are clustered in.
type Space uint8

// The spaces.
const (
	SpaceRows                  Space = iota + 1 // the rows as they are
	SpaceStandardized                           // the rows with columns of mean 0 and variance 1
	SpaceNeighbors                              // eigenvectors of the graph of nearest neighbors of the rows
	SpaceStandardizedNeighbors                  // and of the standardized rows
	SpaceGraph                                  // eigenvectors of a given graph
	SpaceLevels                                 // a given graph itself, cut from the coarse to the fine
)

// String is the name of a space in the catalog.
func (s Space) String() string {
	return [...]string{"", "rows", "standardized", "neighbors", "standardized-neighbors", "graph", "levels"}[s]
}

// Use is how constraints enter.
type Use uint8

// The uses of constraints.
const (
	UseNone   Use = iota + 1 // not at all
	UseSoft                  // a violated constraint costs its weight
	UseHard                  // must-linked points are one, and what follows from cannot-links holds too
	UseMetric                // hard, and a metric is learned
	UseCuts                  // they choose coordinates in the span of more eigenvectors: see package span

	// A classifier is fitted to the rows whose group they tell, and predicts that of the others: see package discriminant.
	UseDiscriminant
	UseSpread // the groups that they tell spread along the edges of the graph
)

// String is the name of a use in the catalog.
func (u Use) String() string {
	return [...]string{"", "none", "soft", "hard", "metric", "cuts", "discriminant", "spread"}[u]
}

// Way is one way to an answer: a space and how constraints enter.
type Way struct {
	Space Space
	Use   Use
}

// Trial is what a way has right of constraints that it was not shown.
type Trial struct {
	Way
	// Fold counts from 1; of a way that looks at no constraints, and of the sum over folds, it is 0.
	Fold, Folds int
	// How many constraints were held out, and how many of them the answer satisfies.
	MustLinks, MustLinksRight     int
	CannotLinks, CannotLinksRight int
}

// Agreement is how well the answer agrees with the held-out constraints beyond chance: the adjusted Rand index over
// these pairs. 1: all are right; 0: as many as chance has right.
func (t Trial) Agreement() float64 {
	return PairAgreement(t.MustLinksRight, t.MustLinks-t.MustLinksRight, t.CannotLinks-t.CannotLinksRight, t.CannotLinksRight)
}

// PairAgreement is the adjusted Rand index over some pairs, by how many of those that belong together are together or
// apart, and how many of those that belong apart are together or apart: with a, b, c and d of them,
//
//	2 (a d - b c) / ((a + b) (b + d) + (a + c) (c + d))
func PairAgreement(together, parted, joined, apart int) float64 {
	a, b, c, d := float64(together), float64(parted), float64(joined), float64(apart)
	scale := float64((a+b)*(b+d)) + float64((a+c)*(c+d))
	if scale == 0 { // all belong together and are, or all apart
		return 1
	}
	return 2 * (float64(a*d) - float64(b*c)) / scale
}

// Choice is how an algorithm that tries several ways chose one.
type Choice struct {
	Chosen Way
	// Trials are the ways that were tried, summed over the folds; empty where there were no constraints to compare by.
	Trials []TriedWay
	// Reason is why, for people.
	Reason string
}

// TriedWay is a way with its score.
type TriedWay struct {
	Trial
	// Advantage is by how many standard errors it agrees better with the held-out constraints than the way that is taken
	// without constraints.
	Advantage float64
}
