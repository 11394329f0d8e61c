package pace

import "slices"

// ranks holds the times of workers for one kind of command.
type ranks struct {
	perUnit, took ranking // seconds
	steady        bool    // times stay from one operation to the next
}

// ranking holds one value of each of some workers, in ascending order, so that the median of the others is found
// without looking at all of them: thousands of workers ask for it in every operation. Its zero value is empty.
type ranking struct {
	of     map[string]float64
	sorted []float64
}

// remove removes the value of a worker, if it has one.
func (r *ranking) remove(worker string) {
	if old, there := r.of[worker]; there {
		at, _ := slices.BinarySearch(r.sorted, old)
		r.sorted = slices.Delete(r.sorted, at, at+1)
		delete(r.of, worker)
	}
}

// set sets the value of a worker.
func (r *ranking) set(worker string, value float64) {
	r.remove(worker)
	at, _ := slices.BinarySearch(r.sorted, value)
	r.sorted = slices.Insert(r.sorted, at, value)
	if r.of == nil {
		r.of = map[string]float64{}
	}
	r.of[worker] = value
}

// others returns how many other workers have a value.
func (r *ranking) others(worker string) int {
	if _, there := r.of[worker]; there {
		return len(r.sorted) - 1
	}
	return len(r.sorted)
}

// at returns the value of rank i, counted from 0, among the other workers. There must be more than i of them.
func (r *ranking) at(worker string, i int) float64 {
	if own, there := r.of[worker]; there {
		if at, _ := slices.BinarySearch(r.sorted, own); i >= at {
			i++
		}
	}
	return r.sorted[i]
}
