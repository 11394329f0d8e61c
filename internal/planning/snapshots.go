package planning

import "github.com/cleave-project/cleave/internal/numeric/eigen"

// minSnapshotBytes is the least memory for the states of one job.
const minSnapshotBytes = 1 << 20

// MaxSnapshotBytes is the most memory that the coordinator reserves for the states of one job.
const MaxSnapshotBytes = 1 << 30

// restartSnapshotBytes is what a restart takes in a snapshot in addition to its labels and model: the reports of its
// iterations.
const restartSnapshotBytes = 4 << 10

// SnapshotBytes returns the coordinator's memory for the states of all parts of a job, from which another process
// could resume (package snapshot). Two states exist at a time, because a new one is made before the old one is
// dropped.
func SnapshotBytes(parts []Workload) int64 {
	bytes := 0.0
	for _, part := range parts {
		bytes += part.stateBytes()
	}
	return int64(min(max(2*bytes, minSnapshotBytes), MaxSnapshotBytes))
}

// stateBytes returns the size of the states of a part once all of it is done or in progress.
func (w Workload) stateBytes() float64 {
	labels := float64(w.Rows()) * labelBytes(w.K)
	restarts := float64(max(1, w.Restarts))
	if w.Eigen != nil {
		restarts += float64(w.Eigen.Restarts)
	}
	bytes := float64(max(1, w.Times)) * restarts * (labels + restartSnapshotBytes)
	running := float64(w.lanes()) + 1 // plus the best finished one, which keeps its whole state
	bytes += running*labels + w.kind().snapshotBytes()
	if e := w.Eigen; e != nil && !e.Dense {
		bytes += 8 * float64(w.Rows()) * float64(eigen.StateColumns(e.Pairs, e.Generalized)) * float64(max(1, e.Searches))
	}
	if l := w.Levels; l != nil {
		bytes += float64(max(1, l.Fits)) * float64(l.Vertices) * labelBytes(l.K)
	}
	if w.Search != nil {
		bytes += w.Search.stateBytes()
	}
	return bytes
}

// labelBytes returns the size of a label in a snapshot.
func labelBytes(k int) float64 {
	switch {
	case k < 1<<8:
		return 1
	case k < 1<<16:
		return 2
	}
	return 4
}
