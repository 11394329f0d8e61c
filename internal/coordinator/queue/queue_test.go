package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// memory is a budget that jobs have for themselves.
func memory(bytes int64) *Share { return NewBudget(bytes).JobsShare() }

// A job that has to wait for memory lets no other pass, and one that takes more than all of it runs alone.
func TestMemory(t *testing.T) {
	q := NewQueue[string](Limits{Running: 3, Memory: memory(100)}, nil)
	enter := func(key string, memory int64) { q.Enter(key, Job{Memory: memory}) }
	for _, step := range []struct {
		do   func()
		runs string
	}{
		{func() { enter("small", 10) }, "small"},
		{func() { enter("large", 95) }, ""},
		{func() { enter("other", 10) }, ""}, // there is room, but the large one is first
		{func() { q.Leave("small") }, "large"},
		{func() { enter("huge", 1000) }, ""},
		{func() { q.Leave("large") }, "other"},
		{func() { q.Leave("other") }, "huge"},
		{func() { q.Leave("huge") }, ""},
	} {
		step.do()
		if got := strings.Join(q.Advance(), " "); got != step.runs {
			t.Fatalf("%q begins to run, want %q", got, step.runs)
		}
	}
	if q.limits.Memory.Held() != 0 || len(q.owners) != 0 || len(q.places) != 0 {
		t.Errorf("the empty queue is %+v", q)
	}
}

// fill adds jobs named by their owner, with a priority each.
func fill(q *Queue[string], jobs string) {
	for at, job := range strings.Fields(jobs) {
		owner, priority := job[:1], 0
		if len(job) > 1 {
			priority = map[byte]int{'+': 1, '-': -1}[job[1]]
		}
		q.Enter(fmt.Sprintf("%s%d", owner, at), Job{Owner: owner, Priority: priority})
	}
}

func TestOrder(t *testing.T) {
	for _, test := range []struct{ name, jobs, want string }{
		{"one owner: the oldest first", "a a a", "a0 a1 a2"},
		{"owners take turns", "a a a b b c", "a0 b3 c5 a1 b4 a2"},
		{"priorities within an owner", "a- a a- a", "a1 a3 a0 a2"},
		{"a low priority costs no turn", "a- b b", "a0 b1 b2"},
		{"above normal comes before everybody's turn", "a a b c+ c+", "c3 c4 a0 b2 a1"},
	} {
		q := NewQueue[string](Limits{Running: 1}, nil)
		fill(q, test.jobs)
		var order []string
		for next := q.Advance(); len(next) > 0; next = q.Advance() {
			order = append(order, next...)
			q.Leave(next[0])
		}
		if got := strings.Join(order, " "); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// Who has fewer jobs running is next, even if others have waited for longer.
func TestFewestRunning(t *testing.T) {
	q := NewQueue[string](Limits{Running: 4}, nil)
	fill(q, "a a a a a a")
	q.Advance()
	q.Enter("b", Job{Owner: "b"})
	q.Enter("b2", Job{Owner: "b"})
	for _, want := range []string{"b", "b2", "a4"} {
		for _, key := range []string{"a0", "a1", "a2"} {
			if q.Runs(key) {
				q.Leave(key)
				break
			}
		}
		if got := q.Advance(); !slices.Equal(got, []string{want}) {
			t.Errorf("%v begins to run, want %s", got, want)
		}
	}
}

func TestWhy(t *testing.T) {
	q := NewQueue[string](Limits{Running: 2, RunningPerOwner: 1, Memory: memory(100)}, nil)
	q.Enter("a0", Job{Owner: "a", Memory: 60})
	q.Enter("a1", Job{Owner: "a"})
	q.Enter("b0", Job{Owner: "b", Memory: 60})
	q.Enter("b1", Job{Owner: "b"})
	q.Enter("c0", Job{Owner: "c"})
	q.Advance()
	for key, want := range map[string]string{
		"a0": "",
		"a1": "the limit is 1 job of one owner at a time",
		"b0": "it needs 60 B of the coordinator's memory, but running jobs leave only 40 B of 100 B",
		"b1": "1 job ahead of it",
		"c0": "a job of another owner is ahead of it",
	} {
		if got := q.Why(key); got != want {
			t.Errorf("%s waits: %q, want %q", key, got, want)
		}
	}
	if all, own := q.Waiting("b"); all != 4 || own != 2 || q.running != 1 {
		t.Errorf("%d wait, %d of them b's, and %d run", all, own, q.running)
	}
}

// Whatever comes and goes, limits hold, jobs run alone that have to, and the same history gives the same order.
func TestLimitsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{Running: rapid.IntRange(1, 4).Draw(t, "running"),
			RunningPerOwner: rapid.IntRange(0, 2).Draw(t, "per owner")}
		most := rapid.Int64Range(0, 10).Draw(t, "memory")
		newQueue := func() *Queue[int] {
			if most > 0 {
				limits.Memory = memory(most)
			}
			return NewQueue[int](limits, nil)
		}
		q := newQueue()
		same := newQueue()
		jobs := map[int]Job{}
		for key := range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(jobs) > 0 && rapid.Bool().Draw(t, "leaves") {
				gone := rapid.IntRange(0, key).Draw(t, "who")
				q.Leave(gone)
				same.Leave(gone)
				delete(jobs, gone)
			} else {
				jobs[key] = draw(t)
				q.Enter(key, jobs[key])
				same.Enter(key, jobs[key])
			}
			if started := q.Advance(); !slices.Equal(started, same.Advance()) {
				t.Fatal("the same history gave another order")
			}
			check(t, q, most, jobs)
		}
	})
}

func draw(t *rapid.T) Job {
	return Job{
		Owner:    rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "owner"),
		Priority: rapid.IntRange(-1, 1).Draw(t, "priority"),
		Memory:   rapid.Int64Range(0, 12).Draw(t, "memory"), Alone: rapid.IntRange(0, 9).Draw(t, "alone") == 0,
	}
}

// check compares the queue with its limits; most is that of the memory, 0 for none.
func check(t *rapid.T, q *Queue[int], most int64, jobs map[int]Job) {
	limits := q.limits
	running, memory, alone, own := 0, int64(0), false, map[string]int{}
	for key, job := range jobs {
		if !q.Runs(key) {
			if q.Why(key) == "" {
				t.Fatalf("%d waits and does not know why", key)
			}
			continue
		}
		running, memory, alone = running+1, memory+min(job.Memory, most), alone || job.Alone
		own[job.Owner]++
	}
	switch {
	case running > limits.Running, alone && running > 1, running == 0 && len(jobs) > 0,
		most > 0 && memory > most:
		t.Fatalf("%d jobs run with %d bytes, alone %v", running, memory, alone)
	case running != q.running, most > 0 && memory != limits.Memory.Held():
		t.Fatalf("%d run with %d of %d, but %d are counted", running, memory, most, q.running)
	}
	for owner, running := range own {
		if limits.RunningPerOwner > 0 && running > limits.RunningPerOwner {
			t.Fatalf("%s has %d jobs running", owner, running)
		}
	}
}

// A job of normal priority runs before too long, whatever it takes and whoever keeps coming: new owners, other jobs of
// small size, jobs of its owner. Every running job ends after some rounds.
func TestNobodyWaitsForever(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := NewQueue[int](Limits{Running: 3, RunningPerOwner: rapid.IntRange(0, 2).Draw(t, "per owner"),
			Memory: memory(10)}, nil)
		ends := map[int]int{} // the round in which a job that runs ends
		key := 1
		ahead := rapid.IntRange(0, 10).Draw(t, "ahead")
		enter := func(job Job) { q.Enter(key, job); key++ }
		for range ahead {
			enter(Job{Owner: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "owner"), Memory: 3})
		}
		const ours = 0
		q.Enter(ours, Job{Owner: "a", Memory: 10})
		for round := range 500 {
			enter(Job{Owner: "a", Memory: 1})
			enter(Job{Owner: "b", Memory: 1})
			enter(Job{Owner: fmt.Sprintf("new%d", round), Memory: 1})
			for started, end := range ends {
				if end == round {
					q.Leave(started)
					delete(ends, started)
				}
			}
			for _, started := range q.Advance() {
				if started == ours {
					return
				}
				ends[started] = round + rapid.IntRange(1, 5).Draw(t, "rounds")
			}
		}
		t.Fatal("the large job still waits")
	})
}

// Memory that others hold is not available to jobs. The job whose turn it is waits for it and is woken when there is
// enough; meanwhile others may take what is free, but claims of theirs wait behind it.
func TestMemoryIsShared(t *testing.T) {
	shared := NewBudget(100)
	others := shared.Share(10)
	woken := 0
	var q *Queue[string]
	q = NewQueue[string](Limits{Running: 3, Memory: shared.JobsShare()}, func() {
		woken++
		q.Why("first") // the queue is not locked
	})
	q.Enter("first", Job{Memory: 60})
	held, free := others.ReserveNow(50)
	last, more := others.ReserveNow(10)
	if !free || !more || len(q.Advance()) != 0 || !strings.Contains(q.Why("first"), "leave only 50 B") {
		t.Errorf("while others hold 50: %q", q.Why("first"))
	}
	later := claim(others, 10, func() {})
	urgent, free := others.ReserveNow(10)
	if isHeld(later) || !free {
		t.Error("a claim passes the job, or what cannot wait does not")
	}
	urgent.Release()
	if later.Release(); woken != 0 || len(q.Advance()) != 0 {
		t.Errorf("with too little memory, the job is woken %d times", woken)
	}
	if last.Release(); woken != 1 || !slices.Equal(q.Advance(), []string{"first"}) {
		t.Errorf("with enough memory, the job is woken %d times", woken)
	}
	held.Release()
}

// A job that is no longer the first gives back what it claimed, so that the one that is can have it.
func TestAJobThatIsPassedGivesItsClaimBack(t *testing.T) {
	shared := NewBudget(100)
	others := shared.Share(0)
	q := NewQueue[string](Limits{Memory: shared.JobsShare()}, nil)
	held, _ := others.ReserveNow(50)
	q.Enter("first", Job{Memory: 100})
	if len(q.Advance()) != 0 {
		t.Fatal("a job runs without memory")
	}
	held.Release() // the first job has the memory, and does not run yet
	q.Enter("urgent", Job{Memory: 80, Priority: 1})
	if started := q.Advance(); !slices.Equal(started, []string{"urgent"}) {
		t.Errorf("%v run", started)
	}
	q.Leave("urgent")
	if started := q.Advance(); !slices.Equal(started, []string{"first"}) {
		t.Errorf("%v run after it", started)
	}
}
