// Package auto chooses by the data and the constraints how points are compared and how constraints enter.
package auto

import (
	"github.com/cleave-project/cleave/internal/catalog"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
)

// Options are the options of auto: there are none.
type Options struct{}

// NewOptions are what a request asks for, which the catalog has accepted.
func NewOptions(catalog.Request) *Options { return &Options{} }

// Name implements clustering.Algorithm.
func (o *Options) Name() string { return "auto" }

// Validate implements clustering.Algorithm.
func (o *Options) Validate(_ int, spec clustering.Spec) error {
	for at, s := range spec.Seeds {
		if s.Probability != 0 {
			return fault.Invalid("OPTION_DOES_NOT_APPLY", "seed %d has a probability, which only seeded-kmeans, constrained-kmeans and constrained-spectral understand", at).OnField("spec.supervision.seeds")
		}
	}
	return nil
}
