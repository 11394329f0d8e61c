// Package model predicts the time of an iteration from what the coordinator does, what a worker computes, and their
// links.
package model

// Cost is what a thread of a worker takes for its part of an iteration, in seconds, as measured by the functions that
// return one.
type Cost struct {
	Row     float64 // for each of the worker's rows
	Entry   float64 // for each of its rows and each point that moves anywhere: entries of a dense matrix
	Move    float64 // for each point that moves anywhere
	OwnMove float64 // for each point that moves, if the worker had all rows; with some of them, that share of it
}

// Compute returns the time that a worker with some of all rows takes to compute its part of an iteration.
func (c Cost) Compute(rows, all, moves float64, threads int) float64 {
	return (rows*(c.Row+c.Entry*moves) + moves*(c.Move+c.OwnMove*rows/all)) / float64(threads)
}

// Links describes the network.
type Links struct {
	BytesPerSecond float64 // of each link, in each direction
	RoundTrip      float64 // seconds of latency, for each operation
}

// Iteration is what an iteration takes.
type Iteration struct {
	CPU        float64 // seconds of the coordinator's processors
	Out, In    float64 // bytes that the coordinator sends and receives
	WorkerOut  float64 // bytes that the busiest worker sends
	WorkerIn   float64 // bytes that it receives
	Compute    float64 // seconds of the slowest worker
	Operations float64 // each waits for all workers
}

// Seconds returns the time of an iteration. Nothing overlaps: operations wait for each other, and within one the
// coordinator sends, workers compute, and the coordinator receives.
func (i Iteration) Seconds(l Links) float64 {
	return i.CPU + i.Link(l) + i.Compute + (i.WorkerIn+i.WorkerOut)/l.BytesPerSecond + i.Operations*l.RoundTrip
}

// Link returns the time that the coordinator's link takes.
func (i Iteration) Link(l Links) float64 { return (i.Out + i.In) / l.BytesPerSecond }
