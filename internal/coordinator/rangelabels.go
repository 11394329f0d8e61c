package coordinator

import (
	"context"
	"encoding/binary"
	"io"

	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
)

// writeAll writes the labels for every k of a range.
func writeAll(w io.Writer, all [][]int32) error {
	for _, labels := range all {
		if err := binary.Write(w, binary.LittleEndian, labels); err != nil {
			return err
		}
	}
	return nil
}

// readLabelsOf calls yield with one portion after the other of the labels that a job with a range of k has for one of them.
func (c *Coordinator) readLabelsOf(ctx context.Context, id string, k uint32, yield func(first uint64, labels []int32) error) error {
	record, err := c.resultRecord(ctx, id)
	if err != nil {
		return err
	}
	outcome, err := c.readOutcome(ctx, record)
	if err != nil {
		return err
	}
	result := outcome.GetResult()
	if record.GetKLabelsBlob() == "" {
		if k == result.GetK() {
			return c.readLabels(ctx, id, yield)
		}
		return noSuchK(id, "job %s has labels for k = %d alone", id, result.GetK())
	}
	first, count := record.GetKMin(), uint32(len(result.GetHowMany().GetScores()))
	if k < first || k-first >= count {
		return noSuchK(id, "job %s has labels for k = %d to %d, not for %d", id, first, first+count-1, k)
	}
	r, err := c.openPart(ctx, id, record.GetKLabelsBlob(), records.PartLabels)
	if err != nil {
		return err
	}
	defer r.Close()
	length := 4 * int64(result.GetRows())
	if _, err := io.CopyN(io.Discard, r, int64(k-first)*length); err != nil {
		return err
	}
	return readLabels(io.LimitReader(r, length), id, yield)
}

func noSuchK(id, format string, args ...any) error {
	return fault.Invalid("NO_SUCH_K", format, args...).OnField("k").With("job_id", id)
}
