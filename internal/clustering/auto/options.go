package auto

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// Options are the algorithm's options. Fields of 0 take the defaults.
type Options struct {
	Neighbors int // of each row in the graph of nearest neighbors
	Folds     int // that the constraints are divided into
	Enforce   Enforcement
	// Brief cuts graphs briefly: see multilevel.Options. It is no option of users.
	Brief bool
}

// NewOptions are what a request asks for, which the catalog has accepted.
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
