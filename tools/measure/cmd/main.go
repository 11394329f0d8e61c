// Command measure runs one of our suites of measurements and writes its page of the documentation. `make bench`,
// `make answers`, `make experiments`, `make load`, `make links` and `make simulate` call it.
package main

import (
	"github.com/cleave-project/cleave/tools/answers"
	"github.com/cleave-project/cleave/tools/bench"
	"github.com/cleave-project/cleave/tools/experiments"
	"github.com/cleave-project/cleave/tools/links"
	"github.com/cleave-project/cleave/tools/loadtest"
	"github.com/cleave-project/cleave/tools/measure"
	"github.com/cleave-project/cleave/tools/simulate"
)

func main() {
	measure.Main(bench.Suite(), answers.Suite(), experiments.Suite(), loadtest.Suite(), links.Suite(), simulate.Suite(),
		simulate.WorkersSuite())
}
