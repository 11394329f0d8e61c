package vector

import "github.com/cleave-project/cleave/internal/metric"

// quad is how many rows of a group are worked on together where each has a cluster of its own: their
// chains of dependent additions overlap.
const quad = 4

// addDense adds the rows of a dense tile to the sums of their clusters, width values each.
func (t *tile) addDense(sums []float64, labels []int32) {
	for r := 0; r < len(labels); r += quad {
		group := t.group(r / groupRows)[r%groupRows:]
		places, all := quadPlaces(labels[r:], t.width)
		if !all {
			for l, place := range places {
				if place >= 0 {
					for f := range t.width {
						sums[place+f] += group[f*groupRows+l]
					}
				}
			}
			continue
		}
		s0, s1, s2, s3 := sums[places[0]:][:t.width], sums[places[1]:][:t.width], sums[places[2]:][:t.width], sums[places[3]:][:t.width]
		for f := range s0 {
			x := (*[quad]float64)(group[f*groupRows:])
			s0[f] += x[0]
			s1[f] += x[1]
			s2[f] += x[2]
			s3[f] += x[3]
		}
	}
}

// quadPlaces is where the clusters of the next rows begin when each has some values; -1 for no cluster
// or no row. all: every one has a place.
func quadPlaces(labels []int32, width int) (places [quad]int, all bool) {
	all = true
	for l := range places {
		if l < len(labels) && labels[l] >= 0 {
			places[l] = int(labels[l]) * width
		} else {
			places[l], all = -1, false
		}
	}
	return places, all
}

// eachOwn calls do with the distance of each labelled row of a tile to its own centroid, in row order.
func (s *Shard) eachOwn(t *tile, w *workspace, do func(r int, distance float64)) {
	labels, terms := s.labelsOf(t), &s.terms
	quick := t.packed != nil && terms.model.Distortion == metric.SquaredEuclidean && terms.form != metric.Full
	for r := 0; r < len(labels); {
		if quick && r%quad == 0 {
			if places, all := quadPlaces(labels[r:], s.source.spec.Columns); all && terms.allPresent(labels[r:r+quad]) {
				for l, distance := range terms.quadDistances(t.group(r / groupRows)[r%groupRows:], &places) {
					do(r+l, distance)
				}
				r += quad
				continue
			}
		}
		if c := labels[r]; c >= 0 && terms.place[c] >= 0 {
			do(r, terms.distance(int(c), w.row(r), w))
		}
		r++
	}
}

func (t *terms) allPresent(labels []int32) bool {
	for _, c := range labels {
		if t.place[c] < 0 {
			return false
		}
	}
	return true
}

// quadDistances are the distances of four rows of a group to the centroids that begin at places: the
// same operations as those of distance.
func (t *terms) quadDistances(group []float64, places *[quad]int) (distances [quad]float64) {
	d, all := len(t.model.Centroids)/t.model.Clusters, t.model.Centroids
	m0, m1, m2, m3 := all[places[0]:][:d], all[places[1]:][:d], all[places[2]:][:d], all[places[3]:][:d]
	var sum0, sum1, sum2, sum3 float64
	if t.form == metric.Diagonal {
		for f, a := range t.model.Metric {
			x := (*[quad]float64)(group[f*groupRows:])
			d0, d1, d2, d3 := x[0]-m0[f], x[1]-m1[f], x[2]-m2[f], x[3]-m3[f]
			sum0 += float64(a * float64(d0*d0))
			sum1 += float64(a * float64(d1*d1))
			sum2 += float64(a * float64(d2*d2))
			sum3 += float64(a * float64(d3*d3))
		}
		return [quad]float64{sum0, sum1, sum2, sum3}
	}
	for f := range m0 {
		x := (*[quad]float64)(group[f*groupRows:])
		d0, d1, d2, d3 := x[0]-m0[f], x[1]-m1[f], x[2]-m2[f], x[3]-m3[f]
		sum0 += float64(d0 * d0)
		sum1 += float64(d1 * d1)
		sum2 += float64(d2 * d2)
		sum3 += float64(d3 * d3)
	}
	return [quad]float64{sum0, sum1, sum2, sum3}
}
