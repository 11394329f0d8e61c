package jobflags

import (
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// cutRange divides a range of k, 2..10 or 2-10; last is empty where there is one number.
func cutRange(text string) (first, last string) {
	for _, between := range []string{"..", "-"} {
		if first, last, found := strings.Cut(text, between); found && first != "" && last != "" {
			return first, last
		}
	}
	return text, ""
}

// applyK makes a range of --k that of the spec. One number was set with the other options.
func (f *Flags) applyK(spec *cleavev1.JobSpec) error {
	if flag := f.options["k"]; f.Given("k") {
		if flag.last != "" {
			last, _ := strconv.ParseUint(flag.last, 10, 32) // Set has checked it
			spec.Clusters = &cleavev1.JobSpec_KRange{KRange: &cleavev1.KRange{Min: uint32(flag.Uint64()), Max: uint32(last)}}
		}
	}
	switch {
	case spec.GetK() == 0 && spec.GetKRange() == nil:
		return shell.Usage("how many clusters? Say it with --k, at least 1, or let a range such as --k 2..10 find out")
	case spec.GetKRange() != nil && f.options["init"].path != "":
		return shell.Usage("--init %s has one number of clusters; it does not go with a range of --k", f.options["init"].text)
	}
	return nil
}

// beginRange begins a range of k at the number of classes, if that is in it: each class needs a cluster.
func (j *Job) beginRange(classes int) {
	j.Notices = append(j.Notices, wire.BeginRange(j.Spec, classes)...)
}

// checkClasses refuses more classes than clusters, after the range of k has begun where there are enough.
func (j *Job) checkClasses() error {
	j.beginRange(len(j.classes.Names))
	return j.classes.Check(int(max(j.Spec.GetK(), j.Spec.GetKRange().GetMax())))
}

// FirstK is the number of clusters that a spec asks for, or the first of its range.
func FirstK(spec *cleavev1.JobSpec) uint32 {
	if r := spec.GetKRange(); r != nil {
		return r.GetMin()
	}
	return spec.GetK()
}
