package planning

import "github.com/cleave-project/cleave/internal/numeric/vector"

// raceBytes returns the coordinator's memory for the sample that starts race on: its rows in the data set, in tiles
// and as they are exchanged, and what each lane keeps of them.
func (p Workload) raceBytes() int64 {
	v := p.Vectors
	if v == nil || v.RaceRows == 0 {
		return 0
	}
	rows := int64(v.RaceRows)
	values := 3 * 8 * rows * int64(v.Width)
	if v.isSparse() {
		values = int64(2 * 12 * float64(v.entries()) * float64(rows) / float64(v.Rows))
	}
	return gcFactor * (values + vector.MaxLanes*(vector.LaneBytes(v.RaceRows)+rows*rowOperationBytes))
}

// raceStarts is how many starts race, including the exchanges of the best.
const raceStarts = 10 + 8

// raceWork returns the coordinator's time for the race in nanoseconds.
func (p Workload) raceWork() float64 {
	v := p.Vectors
	if v == nil || v.RaceRows == 0 {
		return 0
	}
	of := *v
	of.RaceRows, of.Features = 0, nil
	run := Workload{Vectors: &of, K: p.K, Restarts: raceStarts}
	return run.vectorWork(float64(v.RaceRows))
}
