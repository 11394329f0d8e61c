package kernel

// featuresPerPass is how many features are multiplied before going on to the next columns: the packed
// rows of a tile for that many features stay in the second-level cache.
const featuresPerPass = 128

// packed is some points laid out for multiplyBlock: for each pass of features, for each group of
// `lanes` points, feature by feature the values of the group. Missing points are zeros.
type packed struct {
	lanes, groups, features int
	values                  []float64
}

// pack lays out count points in groups of lanes, into the values it has if they suffice.
func (k *packed) pack(p *pointSet, lanes, count int, point func(at int) int) {
	k.lanes, k.groups, k.features = lanes, (count+lanes-1)/lanes, p.d
	size := k.groups * lanes * p.d
	if cap(k.values) < size {
		k.values = make([]float64, size)
	}
	k.values = k.values[:size]
	for from := 0; from < p.d; from += featuresPerPass {
		to := min(from+featuresPerPass, p.d)
		for group := range k.groups {
			part := k.group(from, group)
			for lane := range lanes {
				at := group*lanes + lane
				if at >= count {
					for f := range to - from {
						part[f*lanes+lane] = 0
					}
					continue
				}
				for f, v := range p.row(point(at))[from:to] {
					part[f*lanes+lane] = float64(v)
				}
			}
		}
	}
}

// group is the values of one group for the pass of features that begins at from.
func (k *packed) group(from, group int) []float64 {
	width := min(featuresPerPass, k.features-from)
	start := from*k.groups*k.lanes + group*width*k.lanes
	return k.values[start : start+width*k.lanes]
}
