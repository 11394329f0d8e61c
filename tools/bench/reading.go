package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
)

const (
	readingBlocks    = 20
	readingInside    = 18  // neighbors of a vertex in its block, and
	readingOutside   = 4   // beyond
	readingGoal      = 100 // MB/s
	startedGoal      = 1   // second from a file to the first iteration
	readingBlockSize = 1 << 20
)

// edgeFile is a list of edges as a file, plain and compressed, and true labels as another.
type edgeFile struct {
	plain, zipped, labels string
	vertices, edges       int
	bytes, labelBytes     float64
}

// measureReading reads a list of edges, beside a plain read of the file and a bare scan of its bytes.
func measureReading(ctx context.Context, b *benchmark) error {
	f, err := b.writeEdgeFile()
	if err != nil {
		return err
	}
	var plain, scan, ours, zipped, labels, started times
	measurements := []measurement{
		{func() (float64, error) { return stopwatch(func() error { return readBytes(f.plain, func([]byte) {}) }) },
			&plain},
		{func() (float64, error) { return stopwatch(f.scan) }, &scan},
		{func() (float64, error) { return stopwatch(func() error { return f.load(f.plain) }) }, &ours},
		{func() (float64, error) { return stopwatch(func() error { return f.load(f.zipped) }) }, &zipped},
		{func() (float64, error) {
			return stopwatch(func() error {
				_, _, err := format.LoadTable(f.labels, table.Labels, f.vertices)
				return err
			})
		}, &labels},
	}
	if b.Cleave != "" {
		measurements = append(measurements, measurement{func() (float64, error) {
			return b.startCleave(ctx, f.plain)
		}, &started})
	}
	if err := b.interleave(b.rounds, measurements...); err != nil {
		return err
	}
	megabytes := f.bytes / 1e6
	b.report.add(Row{What: "a plain read of the file", Ours: rate(megabytes, plain, "MB/s")})
	b.report.add(Row{What: "a scan of its bytes by one core", Ours: rate(megabytes, scan, "MB/s")})
	what := fmt.Sprintf("edge list, %d vertices, %d edges, %.0f MB", f.vertices, f.edges, megabytes)
	b.report.add(Row{
		What: what + ": file to graph", Ours: rate(megabytes, ours, "MB/s"),
		Peer:  "the scan: " + rate(megabytes, scan, "MB/s"),
		Ratio: fmt.Sprintf("%.2fx (%.2fx) the time", ours.best()/scan.best(), ours.median()/scan.median()),
		Goal:  fmt.Sprintf(">= %d MB/s", readingGoal), Verdict: b.report.verdict(megabytes/ours.best() >= readingGoal),
	})
	b.report.add(Row{What: what + ", compressed: file to graph", Ours: rate(megabytes, zipped, "MB/s")})
	b.report.add(Row{What: fmt.Sprintf("labels of %d points: file to memory", f.vertices),
		Ours: rate(f.labelBytes/1e6, labels, "MB/s")})
	row := Row{What: what + ": file to the first iteration and its labels", Ours: started.String(),
		Goal: fmt.Sprintf("<= %d s", startedGoal), Verdict: Missing}
	if len(started) > 0 {
		row.Verdict = b.report.verdict(started.best() <= startedGoal)
	}
	b.report.add(row)
	b.report.note("the file is in the page cache, so no disk is measured; megabytes of compressed files are those of " +
		"the text. The last row is the program, from its start to its end, with one iteration of kernel k-means.")
	return nil
}

// writeEdgeFile draws a graph of the stochastic block model and writes it to files.
func (b *benchmark) writeEdgeFile() (*edgeFile, error) {
	b.Say("drawing a graph of %d vertices", b.readingVertices)
	edges, truth, err := synth.Blocks(b.readingVertices, readingBlocks, readingInside, readingOutside,
		rand.New(rand.NewPCG(5, 5)))
	if err != nil {
		return nil, err
	}
	f := &edgeFile{
		plain: filepath.Join(b.temp, "edges.csv"), zipped: filepath.Join(b.temp, "edges.csv.gz"),
		labels:   filepath.Join(b.temp, "truth.csv"),
		vertices: b.readingVertices, edges: len(edges),
	}
	text := &bytes.Buffer{}
	if err := format.WriteEdges(text, edges); err != nil {
		return nil, err
	}
	f.bytes = float64(text.Len())
	err = errors.Join(
		os.WriteFile(f.plain, text.Bytes(), 0o600),
		format.WriteFile(f.zipped, func(w io.Writer) error {
			z := gzip.NewWriter(w)
			_, err := z.Write(text.Bytes())
			return errors.Join(err, z.Close())
		}),
		format.WriteFile(f.labels, func(w io.Writer) error { return format.WriteLabels(w, truth) }),
	)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(f.labels)
	if err != nil {
		return nil, err
	}
	f.labelBytes = float64(info.Size())
	return f, nil
}

// readBytes reads a file in blocks.
func readBytes(path string, take func([]byte)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	buffer := make([]byte, readingBlockSize)
	for {
		n, err := file.Read(buffer)
		take(buffer[:n])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// scan looks at every byte of the file: it counts the lines.
func (f *edgeFile) scan() error {
	lines := 0
	err := readBytes(f.plain, func(text []byte) {
		for _, c := range text {
			if c == '\n' {
				lines++
			}
		}
	})
	if err == nil && lines != f.edges+1 {
		err = fmt.Errorf("%d lines of %d edges and a header", lines, f.edges)
	}
	return err
}

// load reads the graph.
func (f *edgeFile) load(path string) error {
	graph, err := format.LoadGraph(path, 0)
	if err != nil {
		return err
	}
	if graph.N != f.vertices || len(graph.Column) != 2*f.edges {
		return fmt.Errorf("%s: %d vertices and %d entries of %d and %d", path, graph.N, len(graph.Column),
			f.vertices, 2*f.edges)
	}
	return nil
}

// startCleave times a run of the program that ends after one iteration.
func (b *benchmark) startCleave(ctx context.Context, file string) (float64, error) {
	return b.cleave(ctx, "run", "--graph", file, "--k", fmt.Sprint(readingBlocks), "--algorithm", "kernel-kmeans",
		"--init", "random", "--restarts", "1", "--max-iterations", "1", "--quiet")
}
