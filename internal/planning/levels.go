package planning

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering/multilevel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/text"
)

// Levels describes a graph that the coordinator clusters by merging vertices, level after level (package multilevel).
type Levels struct {
	Vertices int
	Entries  int64 // entries of the matrix: two per edge
	K        int
	Fits     int  // number of fits; they run concurrently only on small graphs
	Copied   bool // the graph is copied because constraints add entries to it
}

// Assumptions about levels. Vertices are merged in pairs, or in larger groups if there are many entries. In a graph
// without structure, the number of entries stays the same until it is limited by the number of pairs of vertices.
const (
	pairShrinking   = 1.9
	groupShrinking  = 5.0
	entryBytes      = 12 // a column and a weight
	levelRowBytes   = 24 // a row's position, weight and diagonal
	workRowBytes    = 48 // labels, matching and marks
	levelEntry      = 50 // nanoseconds per entry of a level
	coarseEntry     = 20 // nanoseconds per entry for one start on the last level
	levelGarbage    = 1.25
	fitsAtOnce      = 2
	manyLevelStarts = 10
)

// each calls level with the size of every level, the graph itself first.
func (l *Levels) each(level func(vertices, entries float64)) {
	vertices, entries := float64(l.Vertices), float64(l.Entries)
	for {
		level(vertices, entries)
		if vertices <= max(multilevel.MinVertices, multilevel.CoarseVertices*float64(l.K)) {
			return
		}
		vertices /= pairShrinking
		if entries > multilevel.ManyEntries {
			vertices /= groupShrinking / pairShrinking
		}
		entries = min(entries, vertices*vertices)
	}
}

// coordinatorBytes returns the memory of all levels but the first, which belongs to the data set, and of contracting
// the first, whose rows exist twice for a while.
func (l *Levels) coordinatorBytes() int64 {
	if l == nil {
		return 0
	}
	bytes, first := 0.0, true
	l.each(func(vertices, entries float64) {
		if !first || l.Copied {
			bytes += entries*entryBytes + vertices*levelRowBytes
		}
		first = false
	})
	bytes += float64(l.Entries)*entryBytes + float64(l.Vertices)*workRowBytes
	if l.Entries <= multilevel.SideBySideEntries {
		bytes *= float64(min(fitsAtOnce, max(1, l.Fits)))
	}
	return int64(levelGarbage * bytes)
}

// work returns the coordinator's time in nanoseconds.
func (l *Levels) work() float64 {
	if l == nil {
		return 0
	}
	work, last := 0.0, 0.0
	l.each(func(_, entries float64) {
		work += entries * levelEntry
		last = entries
	})
	return float64(max(1, l.Fits)) * (work + manyLevelStarts*coarseEntry*min(last, 1<<22))
}

// tilelessJob is a job without tiles, which needs no workers: one on levels, or, if levels is nil, an empty workload.
type tilelessJob struct{ levels *Levels }

func (w tilelessJob) rows() int {
	if w.levels == nil {
		return 0
	}
	return w.levels.Vertices
}

func (tilelessJob) partName() string                   { return "the graph" }
func (tilelessJob) storageName(bool, bool) string      { return "sparse" }
func (tilelessJob) tiles() int                         { return 0 }
func (tilelessJob) tileSize(int) partition.Size        { return partition.Size{} }
func (tilelessJob) fixedBytes(int) int64               { return 0 }
func (tilelessJob) snapshotBytes() float64             { return 0 }
func (tilelessJob) passes() float64                    { return 0 }
func (tilelessJob) rounds() float64                    { return 0 }
func (tilelessJob) work(*Plan, Share, float64) float64 { return 0 }
func (tilelessJob) pieceWork(float64) float64          { return 0 }
func (tilelessJob) coordinator() (int64, float64)      { return 0, 0 }

func (w tilelessJob) explain(*Plan, string) string {
	if w.levels == nil {
		return "nothing is to be done"
	}
	return fmt.Sprintf("the coordinator partitions the graph itself, coarse to fine: "+
		"its %s fit into one process, and sending them between workers would take longer",
		text.Plural(int(w.levels.Entries/2), "edge"))
}
