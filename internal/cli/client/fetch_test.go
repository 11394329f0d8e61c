package client

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/client"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// A prediction has distances for all rows or for none.
func TestIncompletePredictions(t *testing.T) {
	first := &cleavev1.PredictJobResponse{Labels: []uint32{0, 1}, Distances: []float64{1, 2}, Margins: []float64{3, 4}}
	for _, c := range []struct {
		second    *cleavev1.PredictJobResponse
		ok, score bool
	}{
		{&cleavev1.PredictJobResponse{FirstIndex: 2, Labels: []uint32{1}, Distances: []float64{3},
			Margins: []float64{5}}, true, true},
		{&cleavev1.PredictJobResponse{FirstIndex: 2, Labels: []uint32{1}}, false, false},
		{&cleavev1.PredictJobResponse{FirstIndex: 2, Labels: []uint32{1}, Distances: []float64{3},
			Margins: []float64{5}, Confidences: []float64{1}}, false, false},
		{&cleavev1.PredictJobResponse{FirstIndex: 1, Labels: []uint32{1}}, false, false},
	} {
		parts := []*cleavev1.PredictJobResponse{first, c.second}
		p, err := joinPrediction(func() (*cleavev1.PredictJobResponse, error) {
			if len(parts) == 0 {
				return nil, io.EOF
			}
			part := parts[0]
			parts = parts[1:]
			return part, nil
		})
		if (err == nil) != c.ok || !c.ok && !fault.Is(err, client.BadAnswer) ||
			c.ok && (len(p.Labels) != 3 || (p.Rows != nil) != c.score) {
			t.Errorf("%v: got %+v, %v", c.second, p, err)
		}
	}
}

// A stream whose reader gives up is ended, not left open.
func TestReceiveEndsTheStream(t *testing.T) {
	var during context.Context
	call := func(ctx context.Context, _ *cleavev1.GetModelRequest,
		_ ...grpc.CallOption) (grpc.ServerStreamingClient[cleavev1.GetModelResponse], error) {
		during = ctx
		return &grpc.GenericClientStream[cleavev1.GetModelRequest, cleavev1.GetModelResponse]{}, nil
	}
	bad := errors.New("bad message")
	read := func(func() (*cleavev1.GetModelResponse, error)) (int, error) { return 0, bad }
	dialed, err := client.Dial("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()
	if _, err := receive(t.Context(), &Client{Client: dialed}, call, &cleavev1.GetModelRequest{},
		read); !errors.Is(err, bad) || during.Err() == nil {
		t.Errorf("got %v; the stream ended with %v", err, during.Err())
	}
}

// brokenTable streams the rows 0 to 5 in parts, differently in each call, and breaks off the first ones.
type brokenTable struct {
	cleavev1.TableServiceClient
	calls [][][]int64
}

type tableStream struct {
	grpc.ClientStream
	parts [][]int64
	end   error
}

func (b *brokenTable) GetTableRows(context.Context, *cleavev1.GetTableRowsRequest,
	...grpc.CallOption) (grpc.ServerStreamingClient[cleavev1.GetTableRowsResponse], error) {
	s := &tableStream{parts: b.calls[0], end: status.Error(codes.Unavailable, "broken")}
	if b.calls = b.calls[1:]; len(b.calls) == 0 {
		s.end = io.EOF
	}
	return s, nil
}

func (s *tableStream) Recv() (*cleavev1.GetTableRowsResponse, error) {
	if len(s.parts) == 0 {
		return nil, s.end
	}
	cells := &cleavev1.Column_Integers{Integers: &cleavev1.IntegerCells{Values: s.parts[0]}}
	s.parts = s.parts[1:]
	return &cleavev1.GetTableRowsResponse{
		Rows: &cleavev1.TableRows{Columns: []*cleavev1.Column{{Name: "x", Cells: cells}}}}, nil
}

// Rows of a table come once each, however the stream breaks and the parts are cut.
func TestEachTableRowsAcrossBrokenStreams(t *testing.T) {
	dialed, err := client.Dial("127.0.0.1:1", client.WithoutEncryption())
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()
	dialed.Tables = &brokenTable{calls: [][][]int64{{{0, 1}, {2}}, {{0}, {1, 2, 3, 4}}, {{0, 1, 2, 3, 4}, {5}}}}
	var got []int64
	err = (&Client{Client: dialed}).EachTableRows(t.Context(), "t", func(part *table.Table) error {
		got = append(got, part.Columns[0].Integers...)
		return nil
	})
	if err != nil || !slices.Equal(got, []int64{0, 1, 2, 3, 4, 5}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// A long table arrives however often its stream breaks, as long as each stream gets further.
func TestEachTableRowsIsNotGivenUpWhileItGetsFurther(t *testing.T) {
	dialed, err := client.Dial("127.0.0.1:1", client.WithoutEncryption())
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()
	const rows = 9
	broken := &brokenTable{}
	var all []int64
	for row := range int64(rows) {
		all = append(all, row)
		broken.calls = append(broken.calls, [][]int64{slices.Clone(all)})
	}
	dialed.Tables = broken
	var got []int64
	err = (&Client{Client: dialed}).EachTableRows(t.Context(), "t", func(part *table.Table) error {
		got = append(got, part.Columns[0].Integers...)
		return nil
	})
	if err != nil || !slices.Equal(got, all) {
		t.Errorf("got %v, %v", got, err)
	}
}

// An error of the caller ends the rows, even one for which the stream would be opened again.
func TestEachTableRowsEndsWithItsCallersError(t *testing.T) {
	dialed, err := client.Dial("127.0.0.1:1", client.WithoutEncryption())
	if err != nil {
		t.Fatal(err)
	}
	defer dialed.Close()
	dialed.Tables = &brokenTable{calls: [][][]int64{{{0, 1}, {2}}, {{0, 1}, {2}}, {{0, 1}, {2}}}}
	calls := 0
	full := status.Error(codes.Unavailable, "another coordinator is full")
	err = (&Client{Client: dialed}).EachTableRows(t.Context(), "t", func(*table.Table) error {
		calls++
		return full
	})
	if err != full || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}
