package identity

import (
	"strings"
	"testing"
)

func TestRoles(t *testing.T) {
	all := []Role{Worker, Reader, Submitter, Admin}
	for _, have := range all {
		if parsed, err := ParseRole(have.String()); parsed != have || err != nil {
			t.Errorf("%v is parsed as %v, %v", have, parsed, err)
		}
		for _, need := range all {
			want := have == need || have > need && have != Worker && need != Worker
			if have.May(need) != want {
				t.Errorf("%v may what needs %v: %v", have, need, !want)
			}
		}
		if Role(0).May(have) {
			t.Errorf("nobody may what needs %v", have)
		}
	}
	for _, bad := range []string{"", "nobody", "root", "Admin"} {
		if _, err := ParseRole(bad); err == nil {
			t.Errorf("%q is a role", bad)
		}
	}
}

func TestSees(t *testing.T) {
	for _, c := range []struct {
		caller Caller
		owner  string
		want   bool
	}{
		{Caller{"alice", Reader}, "alice", true},
		{Caller{"alice", Submitter}, "bob", false},
		{Caller{"alice", Submitter}, "", false}, // what was there before callers had names
		{Caller{"ada", Admin}, "alice", true},
		{Caller{}, "", false},
		{Local(), "alice", true},
	} {
		if c.caller.Sees(c.owner) != c.want {
			t.Errorf("%v sees what %q has: %v", c.caller, c.owner, !c.want)
		}
	}
	if FromContext(t.Context()) != Local() || FromContext(NewContext(t.Context(), Caller{})) != (Caller{}) {
		t.Error("contexts do not keep the caller")
	}
}

func TestNames(t *testing.T) {
	for _, good := range []string{"alice", "a.b@example.com", "auth0|17", "Zoë"} {
		if err := CheckName(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "a b", "a\n", "\x00", "ren\xe9", strings.Repeat("a", 257)} {
		if CheckName(bad) == nil {
			t.Errorf("%q is a name", bad)
		}
	}
}
