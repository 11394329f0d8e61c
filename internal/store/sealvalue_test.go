package store

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// Every bit that flips in a sealed value is noticed, also in its mark.
func TestFlippedBitsAreNoticed(t *testing.T) {
	value, err := proto.Marshal(structpb.NewStringValue("an objective of 12.5"))
	if err != nil {
		t.Fatal(err)
	}
	sealed := sealValue("jobs/1", value)
	if got, err := unsealValue("jobs/1", sealed); err != nil || !bytes.Equal(got, value) {
		t.Fatalf("%q, %v", got, err)
	}
	_, err = unsealValue("jobs/2", sealed)
	wantReason(t, err, ValueDamaged)
	for bit := range 8 * len(sealed) {
		flipped := bytes.Clone(sealed)
		flipped[bit/8] ^= 1 << (bit % 8)
		if got, err := unsealValue("jobs/1", flipped); err == nil || got != nil {
			t.Errorf("bit %d: %q, %v", bit, got, err)
		}
	}
	for short := range len(sealed) {
		if got, _ := unsealValue("jobs/1", sealed[:short]); len(got) > 0 {
			t.Errorf("the first %d bytes: %q", short, got)
		}
	}
}

// Empty values need no seal; others without one are damaged.
func TestValuesWithoutASeal(t *testing.T) {
	value, err := proto.Marshal(structpb.NewStringValue("bare"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = unsealValue("jobs/1", value)
	wantReason(t, err, ValueDamaged)
	if got, err := unsealValue("unfinished/1", nil); err != nil || len(got) != 0 {
		t.Errorf("an empty value: %q, %v", got, err)
	}
	if sealed := sealValue("unfinished/1", nil); len(sealed) != 0 {
		t.Errorf("an empty value is sealed as %q", sealed)
	}
}
