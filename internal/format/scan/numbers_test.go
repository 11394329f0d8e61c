package scan

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// ShortDecimal agrees with strconv to the last bit, and reads every number of a few digits.
func TestShortDecimalsAreThoseOfStrconv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		point := rapid.SampledFrom([]byte(".,")).Draw(t, "point")
		number := rapid.StringMatching(`-?[0-9]{0,10}([.,][0-9]{0,10})?`).Draw(t, "number")
		before := rapid.SampledFrom([]string{"", "x", "1;"}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"\n", "e5\n", ".1\n", ";2\n"}).Draw(t, "after")
		text := []byte(before + number + after)
		value, end := ShortDecimal(text, len(before), point)
		read := text[len(before):end]
		if len(read) == 0 {
			if digits := strings.TrimPrefix(number, "-"); digits != "" && digits[0]-'0' <= 9 && len(number) <= 13 {
				t.Fatalf("%q is not read", text)
			}
			return
		}
		want, err := strconv.ParseFloat(string(bytes.Replace(read, []byte{point}, []byte("."), 1)), 64)
		if err != nil || math.Float64bits(value) != math.Float64bits(want) || text[end]-'0' <= 9 {
			t.Fatalf("%q is %v up to %q, want %v, %v", text, value, text[end:], want, err)
		}
	})
}

// Each half-precision number is the single-precision one with the same sign, exponent and fraction.
func TestHalvesAreSingles(t *testing.T) {
	for bits := range uint32(1 << 16) {
		sign, exponent, fraction := bits>>15, bits>>10&0x1F, bits&0x3FF
		var want float64
		switch exponent {
		case 0:
			want = math.Copysign(float64(fraction)*0x1p-24, 1-2*float64(sign))
		case 0x1F:
			want = float64(math.Float32frombits(sign<<31 | 0xFF<<23 | fraction<<13))
		default:
			want = float64(math.Float32frombits(sign<<31 | (exponent-15+127)<<23 | fraction<<13))
		}
		if got := Half(uint16(bits)); math.Float64bits(got) != math.Float64bits(want) &&
			!(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("%#04x is %v, want %v", bits, got, want)
		}
	}
}

func TestIntegersMayBeWrittenAsFloats(t *testing.T) {
	for cell, want := range map[string]int64{"3": 3, "-7": -7, "3.0": 3, "1e3": 1000,
		"9223372036854775807": math.MaxInt64, "9007199254740992.0": 1 << 53} {
		if got, ok := ParseInteger([]byte(cell)); !ok || got != want {
			t.Errorf("%q is %d, %v", cell, got, ok)
		}
	}
	for _, cell := range []string{"", "x", "1.5", "1e19", "9223372036854775808", "nan", "inf"} {
		if got, ok := ParseInteger([]byte(cell)); ok {
			t.Errorf("%q is %d", cell, got)
		}
	}
}
