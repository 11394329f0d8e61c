package dataset

import (
	"encoding/binary"
	"math"
)

// The functions in this file convert whole blocks of numbers, so that no call is made for a single one.

func putFloats(b []byte, values []float64) {
	for at, v := range values {
		binary.LittleEndian.PutUint64(b[8*at:], math.Float64bits(v))
	}
}

func putLongs(b []byte, values []int64) {
	for _, v := range values {
		binary.LittleEndian.PutUint64(b, uint64(v))
		b = b[8:]
	}
}

func putInts(b []byte, values []int32) {
	for _, v := range values {
		binary.LittleEndian.PutUint32(b, uint32(v))
		b = b[4:]
	}
}

func getFloats(values []float64, b []byte) {
	for at := range values {
		values[at] = math.Float64frombits(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
}

func getLongs(values []int64, b []byte) {
	for at := range values {
		values[at] = int64(binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
}

func getInts(values []int32, b []byte) {
	for at := range values {
		values[at] = int32(binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
}
