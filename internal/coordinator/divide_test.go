package coordinator

import (
	"testing"

	"pgregory.net/rapid"
)

// The parts of the memory are all of it, at least a quarter for jobs, and those that a coordinator makes of the
// configuration.
func TestMemoryIsDivided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(2, 1<<45).Draw(t, "total")
		uploads := rapid.Int64Range(0, 1<<45).Draw(t, "uploads")
		cfg := DefaultConfig()
		cfg.CacheBytes = rapid.Int64Range(0, 1<<45).Draw(t, "cache")
		p := divide(total, uploads, cfg.CacheBytes)
		if p.total() != total || p.jobs < total/4 || p.uploads < 1 || p.uploads > total/2 {
			t.Fatalf("%d bytes are divided into %+v", total, p)
		}
		cfg.SetMemory(total, uploads)
		cfg.DataDir = "unused"
		cfg, err := cfg.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if made := newMemory(cfg).parts; made != p {
			t.Fatalf("the parts are %+v, and the coordinator makes %+v", p, made)
		}
	})
}
