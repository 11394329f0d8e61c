// Package tree decides where each worker reads a data set: from the object store if it can, otherwise from its parent
// in a tree whose root is the coordinator. It sends nothing and knows no clock: the delivery reports what happens, and
// tells workers what has changed.
//
// The tree is a complete tree of fan-out 2 in an array. The parent of a member follows from its place, a new member
// gets the last place, and the last member takes the place of one that leaves. So an event changes the sources of a few
// members at most, however many there are, and nobody is farther from the coordinator than the logarithm of their
// number.
package tree

import "slices"

// FanOut is the number of workers that read from one worker, and of those in the tree that read from the coordinator.
const FanOut = 2

// Kind says where a member reads.
type Kind int

// The kinds of sources.
const (
	Coordinator Kind = iota
	Store            // the object store
	Parent           // another member
)

// Source is where a member reads.
type Source struct {
	Kind   Kind
	Parent string // the member, for Parent
}

// maxFailures is the number of parents that may fail a member. After that its own link may be at fault, so it reads
// from the coordinator and nobody reads from it.
const maxFailures = 2

// Tree is where the members read one data set. The zero value is not ready to use. It is not safe for concurrent use.
type Tree struct {
	members map[string]*member
	places  []*member // those in the tree, in the order of their places
	changed []string  // members whose source has changed since Changed was called
}

// member is a worker that reads the data set.
type member struct {
	name     string
	readsURL bool // reads the object store
	passesOn bool // others may read from it
	place    int  // in the tree; outside if it is not in it
	failures int  // parents that failed it
}

const outside = -1

// New returns a tree without members.
func New() *Tree { return &Tree{members: map[string]*member{}} }

// Len returns the number of members.
func (t *Tree) Len() int { return len(t.members) }

// Join adds a member. passesOn says that others may read from it, and store that it may read the object store. A member
// of the same name leaves first.
func (t *Tree) Join(name string, passesOn, store bool) {
	t.Leave(name)
	m := &member{name: name, readsURL: store, passesOn: passesOn, place: outside}
	t.members[name] = m
	t.noteChange(m)
	if !store {
		t.enter(m)
	}
}

// Leave removes a member.
func (t *Tree) Leave(name string) {
	if m := t.members[name]; m != nil {
		t.exclude(m)
		delete(t.members, name)
	}
}

// Failed says that the source of a member failed. The member gets another one. A parent that failed is the parent of
// nobody from then on, and neither is a member that two parents have failed: both read from the coordinator.
func (t *Tree) Failed(name string) {
	m := t.members[name]
	if m == nil {
		return
	}
	source := t.Source(name)
	switch source.Kind {
	case Store:
		m.readsURL = false
		t.noteChange(m)
		t.enter(m)
	case Parent:
		t.exclude(t.members[source.Parent])
		m.failures++
		if m.failures == maxFailures {
			t.exclude(m)
		}
	}
}

// Source returns where a member reads.
func (t *Tree) Source(name string) Source {
	m := t.members[name]
	switch {
	case m == nil:
		return Source{}
	case m.readsURL:
		return Source{Kind: Store}
	case m.place < FanOut: // or outside
		return Source{}
	}
	return Source{Kind: Parent, Parent: t.places[parentOf(m.place)].name}
}

// Changed returns the members that joined or whose source has changed since it was called last. A member may be there
// twice.
func (t *Tree) Changed() []string {
	changed := slices.DeleteFunc(t.changed, func(name string) bool { return t.members[name] == nil })
	t.changed = nil
	return changed
}

func (t *Tree) noteChange(m *member) { t.changed = append(t.changed, m.name) }

// parentOf returns the place of the parent. The first places have none: they are the children of the coordinator.
func parentOf(place int) int { return place/FanOut - 1 }

// firstChildOf returns the place of the first child. Its siblings follow.
func firstChildOf(place int) int { return FanOut * (place + 1) }

// enter gives a member that passes pieces on the last place.
func (t *Tree) enter(m *member) {
	if m.passesOn {
		m.place = len(t.places)
		t.places = append(t.places, m)
	}
}

// exclude takes a member out of the tree for good. The last member takes its place.
func (t *Tree) exclude(m *member) {
	place, last := m.place, len(t.places)-1
	m.place, m.passesOn = outside, false
	if place == outside {
		return
	}
	t.noteChange(m)
	successor := t.places[last]
	t.places = t.places[:last]
	if place == last {
		return
	}
	t.places[place] = successor
	successor.place = place
	t.noteChange(successor)
	first := firstChildOf(place)
	for child := first; child < min(first+FanOut, last); child++ {
		t.noteChange(t.places[child])
	}
}
