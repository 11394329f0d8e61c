package worker

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/worker/exchange"
)

// A worker of a job by rows builds tiles from the pieces of the data set that contain their rows. It holds the pieces
// of a few tiles at a time, while those of the next ones arrive, and none when all are built.

// rowPieces holds the pieces that tiles are being built from. Only load and release change it, while nobody reads it.
type rowPieces struct {
	rows, columns int // of the data set
	// of sparse points: the first entry of each tile, followed by the number of all; nil for dense points
	entries []int64
	units   *dataset.Units
	whole   dataset.Dataset // the data set, if it is in memory for other reasons; pieces are not needed then
	held    map[int]heldPiece
}

type heldPiece struct {
	data    []byte
	release func()
}

// newRowPieces returns what the rows of a data set of this many bytes are taken from. tileEntries has the number of
// entries of each tile of sparse points, and is nil for dense points.
func newRowPieces(bytes int64, rows, columns int, tileEntries []int64, units *dataset.Units) (*rowPieces, error) {
	r := &rowPieces{rows: rows, columns: columns, units: units, held: map[int]heldPiece{}}
	if tileEntries != nil {
		wrong := fmt.Errorf("worker: the entries of %d tiles of %d rows of sparse points of %d bytes", len(tileEntries),
			rows, bytes)
		if len(tileEntries) != partition.TileCount(rows) || units != nil {
			return nil, wrong
		}
		r.entries = make([]int64, len(tileEntries)+1)
		for tile, count := range tileEntries {
			if r.entries[tile+1] = r.entries[tile] + count; count < 0 || count > bytes || r.entries[tile+1] > bytes {
				return nil, wrong
			}
		}
	}
	if got := r.part(partition.Tile(rows, 0)).Bytes(); got != bytes {
		return nil, fmt.Errorf("worker: a data set of %d bytes instead of %d with %d rows of %d columns", bytes, got,
			rows, columns)
	}
	return r, nil
}

// part returns the rows of a tile as a part of the data set.
func (r *rowPieces) part(rows partition.Range) dataset.Part {
	p := dataset.Part{N: r.rows, D: r.columns, From: rows.From, To: rows.To}
	if r.entries != nil {
		tile := partition.TileOf(r.rows, rows.From)
		p.Entries = &dataset.Entries{From: r.entries[tile], To: r.entries[tile+1], All: r.entries[len(r.entries)-1]}
	}
	return p
}

// piecesOf returns the pieces with the rows of a tile, ascending.
func (r *rowPieces) piecesOf(tile int) (pieces []int) {
	for _, span := range r.part(partition.Tile(r.rows, tile)).Spans() {
		first, end := exchange.Pieces(span.Offset, span.Length)
		for p := first; p < end; p++ {
			pieces = append(pieces, p)
		}
	}
	return slices.Compact(pieces)
}

// buildByRows builds tiles of a job by rows.
func (j *job) buildByRows(tiles []int, stored bool) error {
	if release := j.useWhole(); release != nil {
		defer release()
		return j.shard.build(j.ctx, tiles, stored)
	}
	defer j.rowPieces.releaseExcept(nil)
	j.joinByRows()
	batches := j.rowPieces.batches(tiles, int(j.need.BuildPieces(j.worker.cfg.Threads)))
	for at, b := range batches {
		if at == 0 || j.worker.exchange.Keeps() { // there is room for all of them, so they may come in any order
			j.want(b.pieces)
		}
	}
	for at, b := range batches {
		if next := at + 1; next < len(batches) {
			j.want(batches[next].pieces) // again if there turned out to be no room
		}
		if err := j.loadPieces(b.pieces); err != nil {
			return err
		}
		if err := j.shard.build(j.ctx, b.tiles, stored); err != nil {
			return err
		}
	}
	return nil
}

// useWhole uses the whole data set if it is in memory, until release is called. It returns nil if it is not.
func (j *job) useWhole() (release func()) {
	whole := j.worker.datasets.present(j.datasetID)
	if whole == nil {
		return nil
	}
	if whole.data.Rows() != j.rows || dataset.EncodedSize(whole.data) != j.need.DatasetBytes {
		whole.release()
		return nil
	}
	j.rowPieces.whole = whole.data
	return func() {
		j.rowPieces.whole = nil
		whole.release()
	}
}

// batch is tiles that are built together, and the pieces with their rows, ascending.
type batch struct{ tiles, pieces []int }

// batches divides tiles into batches of at most this many pieces, or of one tile.
func (r *rowPieces) batches(tiles []int, most int) (batches []batch) {
	for _, t := range tiles {
		own := r.piecesOf(t)
		if last := len(batches) - 1; last >= 0 {
			all := slices.Concat(batches[last].pieces, own)
			slices.Sort(all)
			if all = slices.Compact(all); len(all) <= most {
				batches[last] = batch{append(batches[last].tiles, t), all}
				continue
			}
		}
		batches = append(batches, batch{[]int{t}, own})
	}
	return batches
}

// want asks for pieces.
func (j *job) want(pieces []int) {
	for len(pieces) > 0 {
		run := 1
		for run < len(pieces) && pieces[run] == pieces[0]+run {
			run++
		}
		j.share.Want(pieces[0], pieces[0]+run)
		pieces = pieces[run:]
	}
}

// loadPieces waits for pieces, and releases all others.
func (j *job) loadPieces(pieces []int) error {
	held := j.rowPieces
	held.releaseExcept(pieces)
	for _, p := range pieces {
		if _, here := held.held[p]; here {
			continue
		}
		data, release, err := j.share.Piece(j.ctx, p)
		if err != nil {
			return err
		}
		held.held[p] = heldPiece{data, release}
	}
	return nil
}

// releaseExcept releases all pieces but the given ones, which ascend.
func (r *rowPieces) releaseExcept(needed []int) {
	for p, piece := range r.held {
		if _, is := slices.BinarySearch(needed, p); !is {
			piece.release()
			delete(r.held, p)
		}
	}
}

// rowsOf returns the rows of a tile, in the units of the job.
func (r *rowPieces) rowsOf(_ context.Context, rows partition.Range) (dataset.Dataset, error) {
	data, err := r.part(rows).Read(r.from)
	if points, dense := data.(*dataset.Points); dense && err == nil {
		return r.units.ApplyToRows(points, rows.From)
	}
	return data, err
}

// from returns a reader of the data set that starts at an offset. It must not read pieces that are not held.
func (r *rowPieces) from(offset int64) io.Reader {
	if r.whole != nil {
		return dataset.NewReader(r.whole, offset)
	}
	return &pieceReader{held: r.held, offset: offset}
}

// pieceReader reads the data set from pieces.
type pieceReader struct {
	held   map[int]heldPiece
	offset int64 // of the next byte
}

func (r *pieceReader) Read(p []byte) (int, error) {
	piece, _ := exchange.Pieces(r.offset, 1)
	data, skip := r.held[piece].data, exchange.Within(r.offset)
	if skip >= len(data) {
		return 0, fmt.Errorf("worker: piece %d is not here", piece)
	}
	n := copy(p, data[skip:])
	r.offset += int64(n)
	return n, nil
}
