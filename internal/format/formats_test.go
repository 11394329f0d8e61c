package format

import (
	"slices"
	"strings"
	"testing"
)

func TestEverySuffixHasAReader(t *testing.T) {
	for what, c := range map[string]struct {
		suffixes []string
		promised string
		read     func(name string) error
	}{
		"points": {denseFormats.suffixes(), ".csv .tsv .npy .npz .mtx", func(name string) error {
			_, _, err := ReadPoints(strings.NewReader(""), name)
			return err
		}},
		"sparse points": {SparseSuffixes(), ".svm .svmlight .libsvm", func(name string) error {
			_, err := ReadSparsePoints(strings.NewReader(""), name, 0)
			return err
		}},
		"graph": {GraphSuffixes(), ".csv .tsv .txt .edges .mtx .graph .metis .graphml .gml", func(name string) error {
			_, err := ReadGraph(strings.NewReader(""), name, 0)
			return err
		}},
		"kernel": {KernelSuffixes(), ".csv .tsv .npy .mtx", func(name string) error {
			_, err := ReadKernel(strings.NewReader(""), name)
			return err
		}},
	} {
		for _, suffix := range strings.Fields(c.promised) {
			if !slices.Contains(c.suffixes, suffix) {
				t.Errorf("%s: %s is not among %v", what, suffix, c.suffixes)
			}
		}
		for _, suffix := range c.suffixes { // an empty file is refused by the format's own reader
			if err := c.read("f" + suffix); err == nil || strings.Contains(err.Error(), "names no format") {
				t.Errorf("%s: f%s gives %v", what, suffix, err)
			}
		}
		last := len(c.suffixes) - 1
		list := strings.Join(c.suffixes[:last], ", ") + " or " + c.suffixes[last]
		wantFault(t, what, c.read("f.xyz"), "UNKNOWN_FORMAT", `f.xyz: the suffix ".xyz" is not supported; use `+list+
			", optionally compressed (.gz, .zst)")
	}
}
