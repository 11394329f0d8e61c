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
	if got, intact := unsealValue("jobs/1", sealed); !intact || !bytes.Equal(got, value) {
		t.Fatalf("%q, %v", got, intact)
	}
	if _, intact := unsealValue("jobs/2", sealed); intact {
		t.Error("the value of another key is taken")
	}
	for bit := range 8 * len(sealed) {
		flipped := bytes.Clone(sealed)
		flipped[bit/8] ^= 1 << (bit % 8)
		if got, intact := unsealValue("jobs/1", flipped); intact {
			t.Errorf("bit %d: %q", bit, got)
		}
	}
	for short := range len(sealed) {
		if got, intact := unsealValue("jobs/1", sealed[:short]); intact && len(got) > 0 {
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
	if got, intact := unsealValue("jobs/1", value); intact {
		t.Errorf("%q", got)
	}
	if got, intact := unsealValue("unfinished/1", nil); !intact || len(got) != 0 {
		t.Errorf("an empty value: %q, %v", got, intact)
	}
	if sealed := sealValue("unfinished/1", nil); len(sealed) != 0 {
		t.Errorf("an empty value is sealed as %q", sealed)
	}
	if proto.Unmarshal(damagedValue, &structpb.Value{}) == nil {
		t.Error("what stands for damaged values decodes")
	}
}
