package tree

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is what the tree should do, without the tree.
type model struct {
	*Tree
	sources  map[string]Source // as the members were told
	passesOn map[string]bool   // may be a parent: nobody has said that it failed
	failures map[string]int    // parents that failed a member
	noStore  map[string]bool   // the member does not read the store
}

func newModel() *model {
	return &model{
		Tree: New(), sources: map[string]Source{}, passesOn: map[string]bool{}, failures: map[string]int{},
		noStore: map[string]bool{},
	}
}

// maxChanges is how many members one event may give another source, however many members there are: two that leave the
// tree, and for each of them the member that takes its place and the children of that place.
const maxChanges = 2 * (1 + 1 + FanOut)

// check compares what the members were told with what is so, and returns how many were told something.
func (m *model) check(t rapid.TB) int {
	t.Helper()
	changed := m.Changed()
	slices.Sort(changed)
	changed = slices.Compact(changed)
	for _, name := range changed {
		m.sources[name] = m.Source(name)
	}
	children := map[string]int{}
	inTree := 0
	for name, told := range m.sources {
		source := m.Source(name)
		if source != told {
			t.Fatalf("%s reads from %v and was told %v", name, source, told)
		}
		if m.members[name].place != outside {
			inTree++
			children[source.Parent]++
		}
		m.checkSource(t, name, source)
	}
	for parent, count := range children {
		if count > FanOut {
			t.Fatalf("%d members read from %q", count, parent)
		}
	}
	depth := 0
	for reach := FanOut; reach < inTree; reach = FanOut*reach + FanOut {
		depth++
	}
	for name := range m.sources {
		m.checkDepth(t, name, depth)
	}
	return len(changed)
}

func (m *model) checkSource(t rapid.TB, name string, source Source) {
	t.Helper()
	switch source.Kind {
	case Store:
		if m.noStore[name] {
			t.Fatalf("%s cannot read the store", name)
		}
	case Parent:
		if !m.passesOn[source.Parent] || source.Parent == name {
			t.Fatalf("%s reads from %s", name, source.Parent)
		}
		if m.failures[name] >= maxFailures {
			t.Fatalf("%s still has a parent after %d failures", name, m.failures[name])
		}
	}
}

// checkDepth checks that a member is connected with the coordinator through few others.
func (m *model) checkDepth(t rapid.TB, name string, most int) {
	t.Helper()
	depth := 0
	for at := m.Source(name); at.Kind == Parent; at = m.Source(at.Parent) {
		if depth++; depth > most {
			t.Fatalf("%s is %d or more steps from the coordinator, and %d are enough", name, depth, most)
		}
	}
}

func (m *model) join(name string, passesOn, store bool) {
	m.Join(name, passesOn, store)
	m.passesOn[name], m.failures[name], m.noStore[name] = passesOn, 0, !store
	m.sources[name] = Source{}
}

func (m *model) fail(name string) {
	source := m.Source(name)
	m.Failed(name)
	switch source.Kind {
	case Store:
		m.noStore[name] = true
	case Parent:
		m.passesOn[source.Parent] = false
		if m.failures[name]++; m.failures[name] == maxFailures {
			m.passesOn[name] = false
		}
	}
}

func (m *model) leave(name string) {
	m.Leave(name)
	delete(m.sources, name)
	delete(m.passesOn, name)
}

// Whatever happens, everybody is connected with the coordinator through few others that may pass the data set on, hears
// of every change that concerns it, and few have to.
func TestAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		name := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprint("w", rapid.IntRange(0, 40).Draw(t, "worker"))
		})
		for range rapid.IntRange(1, 120).Draw(t, "events") {
			who := name.Draw(t, "who")
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0, 1, 2:
				m.join(who, rapid.IntRange(0, 3).Draw(t, "serves") > 0, rapid.IntRange(0, 5).Draw(t, "store") == 0)
			case 3:
				m.leave(who)
			default:
				m.fail(who)
			}
			if told := m.check(t); told > maxChanges {
				t.Fatalf("%d members were told something", told)
			}
		}
	})
}

// A member that passes nothing on reads from the coordinator, and nobody reads from it.
func TestWhoPassesNothingOn(t *testing.T) {
	m := newModel()
	for at := range 20 {
		m.join(fmt.Sprint("w", at), at%2 == 0, false)
		m.check(t)
	}
	for at := range 20 {
		name := fmt.Sprint("w", at)
		if direct := m.Source(name).Kind == Coordinator; direct != (at%2 == 1 || at/2 < FanOut) {
			t.Errorf("%s reads from %v", name, m.Source(name))
		}
	}
}

// A member whose parent is lost gets another one, and after the second failure the coordinator.
func TestLostParents(t *testing.T) {
	m := newModel()
	for at := range 7 {
		m.join(fmt.Sprint("w", at), true, false)
	}
	for failures, want := range []Source{{Parent, "w1"}, {Parent, "w6"}, {Kind: Coordinator}} {
		if got := m.Source("w4"); got != want {
			t.Errorf("after %d failures w4 reads from %v instead of %v", failures, got, want)
		}
		m.fail("w4")
		m.check(t)
	}
	if m.Source("w1").Kind != Coordinator {
		t.Errorf("the lost parent reads from %v", m.Source("w1"))
	}
}

// A member that cannot read the object store has a parent.
func TestAStoreThatRefuses(t *testing.T) {
	m := newModel()
	for at := range 7 {
		m.join(fmt.Sprint("w", at), true, true)
		m.check(t)
	}
	for at := range 7 {
		m.fail(fmt.Sprint("w", at))
		m.check(t)
	}
	if got := m.Source("w6"); got != (Source{Parent, "w2"}) {
		t.Errorf("the last one reads from %v", got)
	}
}

// An event takes as long with 1,000 members as with 10.
func BenchmarkEvents(b *testing.B) {
	for _, members := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			t := New()
			names := make([]string, members)
			for at := range names {
				names[at] = fmt.Sprint("w", at)
				t.Join(names[at], true, false)
			}
			t.Changed()
			at := 0
			for b.Loop() {
				at = (at + 7919) % members
				t.Failed(names[at])
				t.Leave(names[at])
				t.Join(names[at], true, false)
				for _, name := range t.Changed() {
					t.Source(name)
				}
			}
		})
	}
}
