package auto

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// Options holds the options of the algorithm. Zero values mean the defaults.
type Options struct {
	Neighbors int // neighbors of each row in the nearest-neighbor graph
	Folds     int // number of folds of the constraints
	Enforce   Enforcement
	// Brief makes cuts of graphs brief; see multilevel.Options. Users cannot set it.
	Brief bool
}

// NewOptions returns the options of a request that the catalog has accepted.
func NewOptions(r catalog.Request) *Options {
	return &Options{Neighbors: int(r.WholeOr("neighbors", 0)), Folds: int(r.WholeOr("folds", 0)), Enforce: catalog.Named(r.Values["enforce"], EnforceNever)}
}

// Name implements clustering.Algorithm.
func (*Options) Name() string { return "auto" }

// Validate implements clustering.Algorithm.
func (*Options) Validate(int, clustering.Spec) error { return nil }

// The defaults of the options.
const (
	DefaultNeighbors = 10
	DefaultFolds     = 3
)
