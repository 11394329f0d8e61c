package imports

import (
	"sync"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// progress counts what has been read. It is safe for concurrent use.
type progress struct {
	mu  sync.Mutex
	now cleavev1.ImportProgress
}

// change changes the counts.
func (p *progress) change(by func(now *cleavev1.ImportProgress)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	by(&p.now)
}

// current returns a copy of the counts.
func (p *progress) current() *cleavev1.ImportProgress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return proto.CloneOf(&p.now)
}
