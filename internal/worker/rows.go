package worker

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/worker/exchange"
)

// A worker of a job by rows builds tiles from the pieces of the data set that contain their rows. It holds the pieces of a
// few tiles at a time, while those of the next ones arrive, and none when all are built.

// rowPieces holds the pieces that tiles are being built from. Only load and release change it, while nobody reads it.
type rowPieces struct {
	columns int
	units   *dataset.Units
	whole   *dataset.Points // the data set, if it is in memory for other reasons; pieces are not needed then
	held    map[int]heldPiece
}

type heldPiece struct {
	data    []byte
	release func()
}

// buildByRows builds tiles of a job by rows.
func (j *job) buildByRows(tiles []int, stored bool) error {
	if release := j.useWhole(); release != nil {
		defer release()
		return j.shard.build(j.ctx, tiles, stored)
	}
	defer j.rowPieces.releaseExcept(nil)
	j.joinByRows()
	batches := j.batchesByPieces(tiles)
	if j.worker.exchange.Keeps() { // there is room for all of them, so they may come in any order
		j.want(tiles)
	} else if len(batches) > 0 {
		j.want(batches[0])
	}
	for at, batch := range batches {
		if at+1 < len(batches) {
			j.want(batches[at+1])
		}
		if err := j.loadPieces(batch); err != nil {
			return err
		}
		if err := j.shard.build(j.ctx, batch, stored); err != nil {
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
	points, dense := whole.data.(*dataset.Points)
	if !dense || points.N != j.rows || points.D != j.rowPieces.columns {
		whole.release()
		return nil
	}
	j.rowPieces.whole = points
	return func() {
		j.rowPieces.whole = nil
		whole.release()
	}
}

// batchesByPieces divides tiles into batches, each of which is built from as many pieces as there is memory for.
func (j *job) batchesByPieces(tiles []int) [][]int {
	most := int(j.need.BuildPieces(j.worker.cfg.Threads))
	var batches [][]int
	var pieces map[int]bool
	for _, t := range tiles {
		first, end := j.piecesOf(t)
		fresh := 0
		for p := first; p < end; p++ {
			if !pieces[p] {
				fresh++
			}
		}
		if pieces == nil || len(pieces)+fresh > most {
			batches, pieces = append(batches, nil), map[int]bool{}
		}
		for p := first; p < end; p++ {
			pieces[p] = true
		}
		last := len(batches) - 1
		batches[last] = append(batches[last], t)
	}
	return batches
}

// piecesOf returns the pieces with the rows of a tile.
func (j *job) piecesOf(tile int) (first, end int) {
	rows := partition.Tile(j.rows, tile)
	return exchange.Pieces(dataset.RowRange(j.rowPieces.columns, rows.From, rows.To))
}

// want asks for the pieces of tiles.
func (j *job) want(tiles []int) {
	for _, t := range tiles {
		j.share.Want(j.piecesOf(t))
	}
}

// loadPieces waits for the pieces of tiles, and releases all others.
func (j *job) loadPieces(tiles []int) error {
	needed := map[int]bool{}
	for _, t := range tiles {
		first, end := j.piecesOf(t)
		for p := first; p < end; p++ {
			needed[p] = true
		}
	}
	held := &j.rowPieces
	held.releaseExcept(needed)
	for _, t := range tiles {
		first, end := j.piecesOf(t)
		for p := first; p < end; p++ {
			if _, here := held.held[p]; here {
				continue
			}
			data, release, err := j.fetchPiece(p)
			if err != nil {
				return err
			}
			held.held[p] = heldPiece{data, release}
		}
	}
	return nil
}

// releaseExcept releases all pieces but the given ones.
func (r *rowPieces) releaseExcept(needed map[int]bool) {
	for p, piece := range r.held {
		if !needed[p] {
			piece.release()
			delete(r.held, p)
		}
	}
}

// rowsOf returns rows of the data set, in the units of the job.
func (r *rowPieces) rowsOf(_ context.Context, from, to int) (*dataset.Points, error) {
	if r.whole != nil {
		rows := &dataset.Points{N: to - from, D: r.columns, Values: slices.Clip(r.whole.Values[from*r.columns : to*r.columns])}
		return r.units.ApplyToRows(rows, from)
	}
	values := make([]float64, (to-from)*r.columns)
	offset, _ := dataset.RowRange(r.columns, from, to)
	for at := 0; at < len(values); {
		begin := offset + 8*int64(at)
		p, _ := exchange.Pieces(begin, 1)
		skip := exchange.Within(begin)
		data := r.held[p].data
		if skip >= len(data) {
			return nil, fmt.Errorf("worker: piece %d with rows %d to %d is not here", p, from, to)
		}
		at += dataset.UnpackRows(values[at:], data[skip:])
	}
	rows, err := dataset.NewPoints(to-from, r.columns, values)
	if err != nil {
		return nil, err
	}
	return r.units.ApplyToRows(rows, from)
}
