package fleet

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
)

// These benchmarks time what the coordinator does for each operation of a job with many workers. With ten times as many
// workers and rows it should take about ten times as long.

// scaled are numbers of workers, with about ten tiles each.
var scaled = []int{100, 1000, 10_000}

func manySessions(count int) []*session {
	sessions := make([]*session, count)
	for at := range sessions {
		sessions[at] = &session{id: fmt.Sprint(at), threads: 1}
	}
	return sessions
}

// spreadTiles returns a job of about ten tiles for each worker, and its groups.
func spreadTiles(sessions []*session) (*job, []*group) {
	rows := 10 * 1024 * len(sessions)
	j := &job{fleet: New(Config{}), rows: rows, tiles: make([]tile, partition.TileCount(rows)), members: map[*session]*membership{}}
	for t := range j.tiles {
		j.tiles[t] = tile{worker: sessions[t%len(sessions)], wantStored: true, state: builtStored}
	}
	j.pace = newPace(time.Second)
	return j, j.groups(&operation{}, partition.AllTiles(rows))
}

func BenchmarkPace(b *testing.B) {
	for _, workers := range scaled {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			sessions, p := manySessions(workers), newPace(time.Hour)
			command := &workerv1.Command{Operation: &workerv1.Command_Update{}}
			for b.Loop() {
				p.begin(true)
				p.ask(sessions)
				for _, s := range sessions {
					p.finish(p.start(&group{session: s}, command, 1, 1), true)
				}
			}
		})
	}
}

func BenchmarkGroups(b *testing.B) {
	for _, workers := range scaled {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			j, _ := spreadTiles(manySessions(workers))
			all := partition.AllTiles(j.rows)
			for b.Loop() {
				groups := j.groups(&operation{}, all)
				chainsOf(groups)
				for _, g := range groups {
					if len(j.tilesToUnstore(g)) > 0 {
						b.Fatal("a tile that should be stored is not")
					}
				}
			}
		})
	}
}

func BenchmarkCheckChanges(b *testing.B) {
	for _, workers := range scaled[:2] {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			const k, width = 10, 8
			j, groups := spreadTiles(manySessions(workers))
			j.k, j.lanes = k, 1
			e := &KMeansExecutor{job: j, spec: &vector.RowSpec{Rows: j.rows, Columns: width, Grids: make([]int32, width), Preparation: vector.Plain}}
			var moves []labeling.Move
			for i := 0; i < j.rows; i += 10 {
				moves = append(moves, labeling.Move{Point: int32(i), From: 0, To: 1})
			}
			changes := make([]float64, k*width)
			for b.Loop() {
				for _, g := range groups {
					if err := e.checkChanges(g.tiles, moves, changes); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// allowedFrom is the naive definition of pace.allowed: by the medians of the others, where those that are not done yet
// take infinitely long.
func (p *pace) allowedFrom(t *timed) (time.Duration, bool) {
	var perUnit, took []float64
	if t.steady {
		for s, m := range p.last[t.kind] {
			if s != t.session {
				perUnit, took = append(perUnit, m.perUnit), append(took, 0)
			}
		}
	} else {
		for s := range p.asked {
			switch m, there := p.last[t.kind][s]; {
			case s == t.session:
			case there && m.op == p.op:
				perUnit, took = append(perUnit, m.perUnit), append(took, m.took.Seconds())
			default:
				perUnit, took = append(perUnit, math.Inf(1)), append(took, math.Inf(1))
			}
		}
	}
	if len(perUnit) == 0 {
		return 0, false
	}
	slices.Sort(perUnit)
	slices.Sort(took)
	middle := (len(perUnit) - 1) / 2
	if math.IsInf(perUnit[middle], 1) {
		return 0, false
	}
	return time.Duration(tolerated * max(perUnit[middle]*t.units, took[middle]) * float64(time.Second)), true
}

// Whatever workers do in whatever order, the ranking gives the median of the definition.
func TestPaceRanksWorkersLikeTheDefinition(t *testing.T) {
	kinds := []*workerv1.Command{
		{Operation: &workerv1.Command_Update{}}, {Operation: &workerv1.Command_MatrixAssign{}}, {Operation: &workerv1.Command_Build{}}, {Operation: &workerv1.Command_Prepare{}},
	}
	rapid.Check(t, func(t *rapid.T) {
		sessions, p := manySessions(rapid.IntRange(1, 6).Draw(t, "workers")), newPace(time.Hour)
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				p.begin(true)
			case 1:
				p.ask(rapid.SliceOfDistinct(rapid.SampledFrom(sessions), func(s *session) string { return s.id }).Draw(t, "asked"))
			default:
				g := &group{session: rapid.SampledFrom(sessions).Draw(t, "worker")}
				if rapid.Bool().Draw(t, "copy") {
					g.copies = map[int]*tile{}
				}
				timed := p.start(g, rapid.SampledFrom(kinds).Draw(t, "command"), 1, rapid.IntRange(0, 3).Draw(t, "rows"))
				timed.began = time.Now().Add(-time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second)
				p.finish(timed, rapid.Bool().Draw(t, "done"))
			}
			for _, s := range sessions {
				for _, c := range kinds {
					asking := p.start(&group{session: s}, c, 1, 1)
					got, known := p.allowed(asking)
					want, wanted := p.allowedFrom(asking)
					if got != want || known != wanted {
						t.Fatalf("allowed are %v, %v; by the definition %v, %v", got, known, want, wanted)
					}
				}
			}
		}
	})
}
