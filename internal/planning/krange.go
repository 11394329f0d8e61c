package planning

// Range describes a job that runs for several k: what the coordinator keeps of each until one is proposed.
type Range struct {
	Numbers   int   // number of k
	Columns   int   // maximum number of coordinates in a result; 0 if there are none
	Labelings int   // restarts of each k, whose labels show how certain a row's label is
	PartBytes int64 // bytes of the parts of the data that are clustered in addition
}

// resultRowBytes is the size of a row of a result: its label, its distance and its margin.
const resultRowBytes = 4 + 8 + 8

// coordinatorBytes returns the memory for n rows. The coordinates exist once more as the eigenvectors that all k
// share.
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
