package api

import (
	"errors"
	"testing"
	"time"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
)

// countedParts counts the parts of an upload.
type countedParts struct{ parts *int }

func (c countedParts) Add(*cleavev1.CreateDatasetRequest) error { *c.parts++; return nil }

// A part that is rejected is not added.
func TestARejectedPartIsNotAdded(t *testing.T) {
	uploads := datasets.NewUploads(datasets.UploadLimits{Memory: queue.NewBudget(1 << 40).Share(1 << 20),
		MessageBytes: 1 << 10, Stall: time.Minute})
	held, err := uploads.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.End()
	parts := 0
	rejected := errors.New("rejected")
	_, err = receiveUpload(held, func() (*cleavev1.CreateDatasetRequest, error) {
		return &cleavev1.CreateDatasetRequest{}, nil
	},
		countedParts{&parts}, (*cleavev1.CreateDatasetRequest).GetHeader, func(*cleavev1.CreateDatasetRequest) error {
			return rejected
		})
	if !errors.Is(err, rejected) || parts != 0 {
		t.Errorf("%d parts were added: %v", parts, err)
	}
}
