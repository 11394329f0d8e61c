package imports

import (
	"context"
	"sync/atomic"
	"time"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// progressInterval is the time between two reports of progress.
const progressInterval = time.Second

// Stream imports a table and calls send with the progress, about once a second, and with the table at the end.
func (i *Importer) Stream(ctx context.Context, request *cleavev1.ImportTableRequest, send func(*cleavev1.ImportTableResponse) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var latest atomic.Pointer[cleavev1.ImportProgress]
	var imported *cleavev1.ImportedTable
	ended := make(chan error, 1)
	go func() {
		var err error
		imported, err = i.Import(ctx, request, latest.Store)
		ended <- err
	}()
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				return err
			}
			return send(&cleavev1.ImportTableResponse{What: &cleavev1.ImportTableResponse_Imported{Imported: imported}})
		case <-tick.C:
			now := latest.Load()
			if now == nil {
				now = &cleavev1.ImportProgress{}
			}
			if err := send(&cleavev1.ImportTableResponse{What: &cleavev1.ImportTableResponse_Progress{Progress: now}}); err != nil {
				cancel()
				<-ended
				return err
			}
		}
	}
}
