package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/wire"
)

const (
	csvGoal     = 100 // MB/s from a file to the start of a job
	parquetGoal = 5   // times as fast as CSV
	streamGoal  = 2   // times a bare parse
)

// measureTables times what happens to the same numbers in an ordinary table: from a CSV file to the start of a job, the
// reading of Parquet, and the way of a CSV to a coordinator, as it is read, on one core.
func (b *benchmark) measureTables(points *dataset.Points) error {
	csv := filepath.Join(b.temp, "table.csv")
	parquet := filepath.Join(b.temp, "table.parquet")
	if err := writeTables(points, csv, parquet); err != nil {
		return err
	}
	info, err := os.Stat(csv)
	if err != nil {
		return err
	}
	sink, err := startSink()
	if err != nil {
		return err
	}
	defer sink.stop()
	var started, text, binary, parsed, sent times
	err = b.interleave(b.rounds,
		measurement{func() (float64, error) { return stopwatch(func() error { return startJobOnTable(csv) }) },
			&started},
		measurement{func() (float64, error) { return stopwatch(func() error { _, err := readTable(csv); return err }) },
			&text},
		measurement{func() (float64, error) {
			return stopwatch(func() error { _, err := readTable(parquet); return err })
		}, &binary},
		measurement{func() (float64, error) { return onOneCore(func() error { return eachBatch(csv, skipBatches) }) },
			&parsed},
		measurement{func() (float64, error) { return onOneCore(func() error { return eachBatch(csv, sink.send) }) },
			&sent},
	)
	if err != nil {
		return err
	}
	megabytes := float64(info.Size()) / 1e6
	what := fmt.Sprintf("CSV, %d x %d numbers, %.0f MB", points.N, points.D, megabytes)
	b.report.add(Row{
		What: what + ": file to the start of a job", Ours: rate(megabytes, started, "MB/s"),
		Goal: fmt.Sprintf(">= %d MB/s", csvGoal), Verdict: b.report.verdict(megabytes/started.best() >= csvGoal),
	})
	b.report.compare("the same numbers from Parquet, against CSV: file to table", binary, text, binary.String(),
		"CSV: "+text.String(), parquetGoal)
	b.report.add(Row{
		What: what + ": sent as it is read, on one core", Ours: sent.String(), Peer: "read alone: " + parsed.String(),
		Ratio: fmt.Sprintf("%.2fx (%.2fx) the time", sent.best()/parsed.best(), sent.median()/parsed.median()),
		Goal:  fmt.Sprintf("<= %dx", streamGoal), Verdict: b.report.verdict(sent.best() <= streamGoal*parsed.best()),
	})
	b.report.note("to the start of a job: the file is read, points are made of it, hashed and prepared for k-means. " +
		"Tables are sent over a socket to a receiver in the same process, which reads their bytes and nothing more, " +
		"on the same core.")
	return nil
}

// writeTables writes points as tables, with 6 digits after the point in the text.
func writeTables(points *dataset.Points, csv, parquet string) error {
	columns := make([]table.Column, points.D)
	for at := range columns {
		columns[at] = table.Column{Name: "x" + strconv.Itoa(at), Type: table.Number, Numbers: make([]float64, points.N)}
		for row := range columns[at].Numbers {
			rounded, err := strconv.ParseFloat(strconv.FormatFloat(points.Row(row)[at], 'f', 6, 64), 64)
			if err != nil {
				return err
			}
			columns[at].Numbers[row] = rounded
		}
	}
	t, err := table.New(columns)
	if err != nil {
		return err
	}
	return errors.Join(
		format.WriteFile(csv, func(w io.Writer) error { return format.WriteTable(w, "csv", t) }),
		format.WriteFile(parquet, func(w io.Writer) error { return format.WriteTable(w, "parquet", t) }),
	)
}

func readTable(path string) (*table.Table, error) {
	r, err := format.OpenTable([]string{path}, format.TableOptions{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.ReadAll()
}

// startJobOnTable does what is done with a table until a job on it begins.
func startJobOnTable(path string) error {
	t, err := readTable(path)
	if err != nil {
		return err
	}
	made, _, err := recipe.Fit(context.Background(), t, recipe.Options{})
	if err != nil {
		return err
	}
	prepared, err := made.Apply(context.Background(), t)
	if err != nil {
		return err
	}
	return prepareJob(prepared.Points)
}

// eachBatch reads a table, some rows at a time.
func eachBatch(path string, use func(next func() (*table.Table, error)) error) error {
	r, err := format.OpenTable([]string{path}, format.TableOptions{})
	if err != nil {
		return err
	}
	defer r.Close()
	return use(r.Next)
}

func skipBatches(next func() (*table.Table, error)) error {
	for {
		if _, err := next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// onOneCore times something on one thread.
func onOneCore(do func() error) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	return stopwatch(do)
}

// sink takes tables and keeps nothing.
type sink struct {
	server *grpc.Server
	conn   *grpc.ClientConn
}

// unread is the codec of messages that are not looked at.
type unread struct{}

func (unread) Name() string                         { return "proto" }
func (unread) Marshal(any) (mem.BufferSlice, error) { return nil, nil }
func (unread) Unmarshal(mem.BufferSlice, any) error { return nil }

func startSink() (*sink, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(unread{}), grpc.MaxRecvMsgSize(64<<20),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			for {
				if err := stream.RecvMsg(nil); errors.Is(err, io.EOF) {
					return stream.SendMsg(nil)
				} else if err != nil {
					return err
				}
			}
		}))
	go server.Serve(listener) //nolint:errcheck // it ends with Stop
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	return &sink{server, conn}, err
}

// send sends a table.
func (s *sink) send(next func() (*table.Table, error)) error {
	_, err := wire.SendBatches(context.Background(), cleavev1.NewTableServiceClient(s.conn), "table", next)
	return err
}

func (s *sink) stop() {
	s.conn.Close()
	s.server.Stop()
}
