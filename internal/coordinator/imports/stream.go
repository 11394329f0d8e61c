package imports

import (
	"context"
	"sync"
	"time"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// progressInterval is the time between two reports of progress.
const progressInterval = time.Second

// Stream imports a table and calls send with the progress, about once a second, and with the table at the end. It
// imports in the caller's goroutine, so that a panic about what the objects contain ends the call and not the
// coordinator.
func (i *Importer) Stream(ctx context.Context, request *cleavev1.ImportTableRequest,
	send func(*cleavev1.ImportTableResponse) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done progress
	stop := make(chan struct{})
	var reporting sync.WaitGroup
	reporting.Go(func() {
		tick := time.NewTicker(progressInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-stop:
				return
			}
			if err := send(&cleavev1.ImportTableResponse{
				What: &cleavev1.ImportTableResponse_Progress{Progress: done.current()}}); err != nil {
				cancel(err)
				return
			}
		}
	})
	endReporting := sync.OnceFunc(func() {
		close(stop)
		reporting.Wait()
	})
	defer endReporting()
	imported, err := i.read(ctx, request, &done)
	endReporting()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return send(&cleavev1.ImportTableResponse{What: &cleavev1.ImportTableResponse_Imported{Imported: imported}})
}
