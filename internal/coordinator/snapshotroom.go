package coordinator

import (
	"io"
	"math"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
)

// roomForSnapshots is how many bytes a snapshot may take on the disk. A job can do without snapshots, but not without its events and its
// result: if its own snapshots filled the disk, it would wait for ever for room that they have.
func (c *Coordinator) roomForSnapshots() int64 {
	free, known := c.blobs.Free()
	if !known {
		return math.MaxInt64
	}
	return free - max(c.cfg.Limits.FreeDisk, 2*store.ReservedSpace)
}

// roomyWriter writes as long as there is room.
type roomyWriter struct {
	to   io.Writer
	room int64
}

func (w *roomyWriter) Write(part []byte) (int, error) {
	if w.room -= int64(len(part)); w.room < 0 {
		return 0, fault.New(fault.ResourceExhausted, store.DiskFull, "a snapshot would leave less than %s on the disk for results and the state store",
			text.Bytes(int64(2*store.ReservedSpace)))
	}
	return w.to.Write(part)
}
