package round

import "slices"

// How often one worker may fail within one operation before the job continues without it.
const (
	MaxInternalFailures = 3
	maxNotReady         = 10
	maxNoMemory         = 10
)

// Problem is why a worker has not answered for all tiles of its group.
type Problem int

// The problems of workers.
const (
	NoProblem Problem = iota
	Overtaken         // others were faster
	Lost              // its session has ended, or it yields its tiles
	Joined            // another worker joined, which can build some of its tiles
	Wrong             // its answer cannot be right
	Stalled           // it makes no progress
	Invalid           // it says that the job is invalid
	NotReady          // it lacks something that it should have
	NoMemory          // it has no memory left
	Internal          // anything else that a worker reports
	Fatal             // not of a worker: the operation was canceled, or the coordinator failed
)

// Verdict is what the fleet does about a problem before the next round. Tiles without an answer are always part of that
// round, wherever they are then.
type Verdict int

// The verdicts. All of them but End let the operation go on.
const (
	Continue     Verdict = iota // nothing
	MoveUnbuilt                 // take the tiles of the group that are not built off the worker
	PrepareAgain                // give the worker all that it needs once more
	Relieve                     // make the worker hold less
	Distrust                    // take the tiles of the group off the worker, and prefer others from now on
	Confirm                     // end the operation if another worker has said the same; otherwise exclude this one
	Exclude                     // take all tiles of the job off the worker, for as long as the job runs
	ExcludeWrong                // the same in all executors of the job
	End                         // end the operation with the error
)

// Operation is what an operation still has to do, and how often workers have failed in it.
type Operation struct {
	tiles    []int  // that need an answer
	answered []bool // by tile
	left     int    // tiles without an answer
	failures map[failure]int
}

// failure is a kind of failure of a worker.
type failure struct {
	worker  string
	problem Problem
}

// NewOperation begins an operation that needs an answer for each of some tiles, which must be different.
func NewOperation(tiles []int) *Operation {
	most := -1
	for _, t := range tiles {
		most = max(most, t)
	}
	return &Operation{
		tiles: slices.Clone(tiles), answered: make([]bool, most+1), left: len(tiles), failures: map[failure]int{},
	}
}

// Done reports whether there is an answer for every tile.
func (o *Operation) Done() bool { return o.left == 0 }

// Pending returns the tiles without an answer, in the order of the operation.
func (o *Operation) Pending() []int {
	o.tiles = o.Without(o.tiles)
	return slices.Clone(o.tiles)
}

// Answered says that there are answers for some tiles.
func (o *Operation) Answered(tiles []int) {
	for _, t := range tiles {
		if !o.answered[t] {
			o.answered[t] = true
			o.left--
		}
	}
}

// Without returns those of some tiles of the operation that have no answer.
func (o *Operation) Without(tiles []int) []int {
	return slices.DeleteFunc(slices.Clone(tiles), func(t int) bool { return o.answered[t] })
}

// Judge says what follows from the problem of a worker in a round. It counts problems that may go away when they are
// dealt with, and gives a worker up that has had too many of a kind.
func (o *Operation) Judge(worker string, problem Problem) Verdict {
	switch problem {
	case NoProblem, Overtaken, Lost:
		return Continue
	case Joined:
		return MoveUnbuilt
	case Wrong:
		return ExcludeWrong
	case Stalled:
		return Exclude
	case Invalid:
		return Confirm
	case NotReady:
		if o.count(worker, problem) > maxNotReady {
			return Exclude
		}
		return PrepareAgain
	case NoMemory:
		if o.count(worker, problem) > maxNoMemory { // it already holds as little as possible
			return Exclude
		}
		return Relieve
	case Internal:
		if o.count(worker, problem) >= MaxInternalFailures {
			return Exclude
		}
		return Distrust
	}
	return End
}

// count adds a failure and returns how many there are now.
func (o *Operation) count(worker string, problem Problem) int {
	f := failure{worker, problem}
	o.failures[f]++
	return o.failures[f]
}
