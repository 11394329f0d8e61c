package store

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// After a failed write it is not known what is on the disk, so an embedded store cannot continue. It therefore rejects
// transactions while there is still some room on its disk: for its file, in which a change needs free pages before the
// old ones become free, and for transactions that end or delete something.
const (
	// ReservedSpace is how many bytes must be free for transactions that store something and are not urgent.
	ReservedSpace = 64 << 20
	// neededSpace applies to the others. They make room, or end a job that would otherwise write more, so they may
	// use some of the reserve.
	neededSpace = 24 << 20
)

// checkSpace rejects a transaction if the disk of a directory is nearly full.
func checkSpace(dir string, txn Txn) error {
	need := int64(ReservedSpace)
	if txn.Urgent || len(txn.Put) == 0 {
		need = neededSpace
	}
	free, known := FreeBytes(dir)
	if !known || free >= need {
		return nil
	}
	return fault.New(fault.ResourceExhausted, DiskFull,
		"the disk of the state store has %s free and needs %s; free some space and try again",
		text.Bytes(free), text.Bytes(need)).
		Because(fmt.Errorf("the disk of %s has %d bytes", dir, free))
}
