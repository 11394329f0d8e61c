package imports

import (
	"sync"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// progress counts what has been read.
type progress struct {
	report func(*cleavev1.ImportProgress)

	mu  sync.Mutex
	now *cleavev1.ImportProgress
}

func newProgress(sources []source, report func(*cleavev1.ImportProgress)) *progress {
	p := &progress{report: report, now: &cleavev1.ImportProgress{Objects: uint32(len(sources))}}
	for _, s := range sources {
		p.now.Bytes += uint64(s.Bytes)
	}
	return p
}

// change changes the counts and reports them.
func (p *progress) change(by func(now *cleavev1.ImportProgress)) {
	p.mu.Lock()
	by(p.now)
	now := proto.CloneOf(p.now)
	p.mu.Unlock()
	p.report(now)
}

// workers sets the number of workers that read.
func (p *progress) workers(count int) {
	p.change(func(now *cleavev1.ImportProgress) { now.Workers = uint32(count) })
}

// restart counts from 0 again.
func (p *progress) restart() {
	p.change(func(now *cleavev1.ImportProgress) { now.ObjectsRead, now.Rows = 0, 0 })
}

// took counts rows. If a unit is done, last counts it and reports whether it was the last one of its object.
func (p *progress) took(rows *workerv1.ObjectRows, last func() bool, done bool) {
	p.change(func(now *cleavev1.ImportProgress) {
		for _, part := range rows.GetRows() {
			now.Rows += uint64(wire.RowsIn(part))
		}
		if done && last() {
			now.ObjectsRead++
		}
	})
}
