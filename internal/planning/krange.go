package planning

// Range is a job that is run for several k: what the coordinator keeps of all of them until one is proposed.
type Range struct {
	Numbers   int   // how many k there are
	Columns   int   // of the coordinates that a result has at most; 0: there are none
	Labelings int   // restarts of each, whose labels tell how sure a row's is
	PartBytes int64 // the parts of the data that are clustered beside all of them
}

// resultRowBytes is a row of a result: its label, its distance and its margin.
const resultRowBytes = 4 + 8 + 8

// coordinatorBytes is the memory for n rows, of which the coordinates are there once more, as eigenvectors that all k share.
func (r *Range) coordinatorBytes(n int64) int64 {
	if r == nil {
		return 0
	}
	perRow := int64(r.Numbers)*(resultRowBytes+int64(r.Labelings)) + int64(r.Numbers+1)*8*int64(r.Columns)
	if float64(n)*float64(perRow) > Unlimited/gcFactor {
		return Unlimited
	}
	return addSaturated(gcFactor*n*perRow, r.PartBytes)
}
