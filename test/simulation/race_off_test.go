//go:build !race

package simulation

import "github.com/cleave-project/cleave/test/testscale"

// ciSeeds is how many simulations run; -seeds has more.
var ciSeeds = uint64(testscale.Count(120, 2000))
