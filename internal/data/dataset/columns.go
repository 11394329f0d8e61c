package dataset

import (
	"context"
	"runtime"

	"github.com/cleave-project/cleave/internal/numeric/parallel"
)

// columnsAtOnce are the columns that one thread works on: a row's values of them are a line of the cache.
const columnsAtOnce = 8

// EachColumns calls do with ranges of columns [from, to) that cover all, on several threads where the points are many. What do
// computes of a column is the same for any number of threads, because no column is divided.
func (p *Points) EachColumns(do func(from, to int)) {
	const least = 1 << 16 // values that are worth a thread
	threads := min(runtime.GOMAXPROCS(0), 1+len(p.Values)/least)
	groups := (p.D + columnsAtOnce - 1) / columnsAtOnce
	err := parallel.NewPool(threads).Run(context.Background(), threads, groups, func(group int) error {
		do(group*columnsAtOnce, min((group+1)*columnsAtOnce, p.D))
		return nil
	})
	if err != nil {
		panic(err) // do panicked
	}
}
