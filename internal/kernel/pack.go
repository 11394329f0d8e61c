package kernel

// featuresPerPass is how many features are multiplied at most before going on to the next rows. A group of
// packed rows takes 32 KiB for that many features, and stays in the first-level cache.
const featuresPerPass = 128

// pointsPerPack is how many points the routine pack takes at a time.
const pointsPerPack = 8

// packed is points laid out for multiplyBlock: for each pass of features and each group of `lanes` points,
// the values of the group feature by feature. Points that are missing from the last group are zeros.
type packed struct {
	lanes, groups, features int
	perPass                 int // features of a pass
	values                  []float64
	zeros                   []float32 // stands for a missing point
	points                  [pointsPerPack][]float32
}

// pack lays out count points in groups of lanes. It reuses its buffer.
func (k *packed) pack(r *routines, p *pointSet, lanes, count int, point func(at int) int) {
	k.lanes, k.groups, k.features = lanes, (count+lanes-1)/lanes, p.d
	passes := max(1, (p.d+featuresPerPass-1)/featuresPerPass)
	k.perPass = padded((p.d + passes - 1) / passes) // passes of about equal length, in whole SIMD vectors
	// The routine may write beyond the lanes of a feature, where the next feature's values will be. After the
	// last feature there must be room for that too.
	size := k.groups * lanes * p.d
	k.values = resized(k.values, size+pointsPerPack)[:size]
	if len(k.zeros) < p.d {
		k.zeros = make([]float32, p.d)
	}
	for from := 0; from < p.d; from += k.perPass {
		to := min(from+k.perPass, p.d)
		for group := range k.groups {
			for lane := 0; lane < lanes; lane += pointsPerPack {
				for i := range k.points {
					k.points[i] = k.zeros[from:to]
					if at := group*lanes + lane + i; lane+i < lanes && at < count {
						k.points[i] = p.row(point(at))[from:to]
					}
				}
				r.pack(k.group(from, group)[lane:], lanes, &k.points)
			}
		}
	}
}

// group returns the values of one group in the pass of features that begins at from.
func (k *packed) group(from, group int) []float64 {
	width := min(k.perPass, k.features-from)
	start := from*k.groups*k.lanes + group*width*k.lanes
	return k.values[start : start+width*k.lanes]
}

// packPortable writes value f of point i to dst[f*lanes+i], for as many points as there are lanes.
func packPortable(dst []float64, lanes int, points *[pointsPerPack][]float32) {
	for i := range min(lanes, pointsPerPack) {
		for f, v := range points[i] {
			dst[f*lanes+i] = float64(v)
		}
	}
}
