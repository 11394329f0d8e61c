package wire

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// LargestBytes is the most that PackLargest takes for a value, with what it takes for a list.
const LargestBytes = 24

// PackLargest packs the largest values of each list, at most this many, and no -Inf or NaN. Among equal values it
// takes the first. A list is the varint number of values, then for each of them, in the order of the list, the varint
// number of values since the one before and the little-endian float64.
func PackLargest(lists [][]float64, most int) []byte {
	var packed []byte
	for _, list := range lists {
		places := largest(list, most)
		packed = binary.AppendUvarint(packed, uint64(len(places)))
		next := 0
		for _, at := range places {
			packed = binary.AppendUvarint(packed, uint64(at-next))
			packed = binary.LittleEndian.AppendUint64(packed, math.Float64bits(list[at]))
			next = at + 1
		}
	}
	return packed
}

// largest returns the places of the largest values, ascending.
func largest(list []float64, most int) []int {
	var places []int
	keep := func() {
		slices.SortFunc(places, func(a, b int) int { return cmp.Or(cmp.Compare(list[b], list[a]), cmp.Compare(a, b)) })
		places = places[:min(len(places), most)]
	}
	limit := math.Inf(-1) // smaller ones, and equal ones that come later, cannot be among the largest
	for at, v := range list {
		if !(v > limit) {
			continue
		}
		if places = append(places, at); len(places) >= 2*most {
			keep()
			limit = list[places[most-1]]
		}
	}
	keep()
	slices.Sort(places)
	return places
}

// UnpackLargest is the inverse of PackLargest for a number of lists of this length. Values that were not packed are
// -Inf.
func UnpackLargest(packed []byte, lists, length, most int) ([][]float64, error) {
	r := varintReader{left: packed}
	all := make([][]float64, lists)
	for l := range all {
		all[l] = slices.Repeat([]float64{math.Inf(-1)}, length)
		next := uint64(0)
		for count := r.next(uint64(min(most, length))); count > 0 && r.err == nil; count-- {
			at := next + r.next(uint64(length))
			if r.err != nil {
				break
			}
			if at >= uint64(length) || len(r.left) < 8 {
				return nil, fmt.Errorf("wire: a value at place %d of %d, with %d bytes left", at, length, len(r.left))
			}
			v := math.Float64frombits(binary.LittleEndian.Uint64(r.left))
			if !(v > math.Inf(-1)) {
				return nil, fmt.Errorf("wire: %v among the largest values", v)
			}
			all[l][at], r.left, next = v, r.left[8:], at+1
		}
	}
	if r.err == nil && len(r.left) > 0 {
		r.err = errors.New("wire: more bytes than the largest values take")
	}
	if r.err != nil {
		return nil, r.err
	}
	return all, nil
}
