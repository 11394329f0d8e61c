package clustertest

import (
	"strings"
	"testing"
)

// TestClustersOnOneBucket starts clusters on the same empty bucket at the same moment, each with a state of its own.
// One gets the bucket, also after a restart. The others end with a sentence, and start with a prefix of their own.
func TestClustersOnOneBucket(t *testing.T) {
	t.Parallel()
	options := StartObjectStore(t).Options()
	begin := func(dir, prefix string) *Process {
		p := newProcess(t, "coordinator", Build(t).Coordinator, "--listen", "127.0.0.1:0", "--data-dir", dir, "--blobs",
			options.Args[1]+prefix)
		p.cmd.Env = append(p.cmd.Env, options.Env...)
		p.start()
		return p
	}
	listens := func(p *Process) bool {
		Eventually(t, "a coordinator listens or ends", func() (bool, string) {
			return listening.Match(p.stdout.bytes()) || !p.Running(), "it does neither"
		})
		return p.Running()
	}
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	var all []*Process
	for _, dir := range dirs {
		all = append(all, begin(dir, ""))
	}
	var owners []string
	for i, p := range all {
		if listens(p) {
			owners = append(owners, dirs[i])
			continue
		}
		if p.ExitCode() == 0 || !strings.Contains(p.Stderr(), "belongs to another cluster (") ||
			!strings.Contains(p.Stderr(), "Use a different --blobs location") {
			t.Errorf("a cluster that did not get the bucket ended with %d", p.ExitCode())
		}
		if own := "&prefix=" + string(rune('a'+i)) + "/"; !listens(begin(dirs[i], own)) {
			t.Error("it does not start with a prefix of its own")
		}
	}
	if len(owners) != 1 {
		t.Fatalf("%d clusters got the bucket", len(owners))
	}
	for i, p := range all {
		if dirs[i] == owners[0] {
			p.Kill()
		}
	}
	if !listens(begin(owners[0], "")) {
		t.Error("the owner does not start again")
	}
}
