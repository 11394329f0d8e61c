package auto

import (
	"github.com/cleave-project/cleave/internal/catalog"
	"github.com/cleave-project/cleave/internal/clustering"
)

// Options are the options of auto: there are none.
type Options struct{}

// NewOptions are what a request asks for, which the catalog has accepted.
func NewOptions(catalog.Request) *Options { return &Options{} }

// Name implements clustering.Algorithm.
func (*Options) Name() string { return "auto" }

// Validate implements clustering.Algorithm.
func (*Options) Validate(int, clustering.Spec) error { return nil }
