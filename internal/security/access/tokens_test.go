package access

import (
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
)

var (
	alice = identity.Caller{Name: "alice", Role: identity.Submitter}
	noon  = time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
)

func line(t *testing.T, token string, caller identity.Caller, expires time.Time) string {
	t.Helper()
	text, err := TokenLine(token, caller, expires)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, token) {
		t.Errorf("the line %q has the token", text)
	}
	return text
}

func TestTokens(t *testing.T) {
	token := NewToken()
	temporary := NewToken()
	if token == temporary || len(token) != len(tokenPrefix)+43 {
		t.Errorf("tokens are %q and %q", token, temporary)
	}
	file := "# who has tokens\n\n" + line(t, token, alice, time.Time{}) + "\n" + line(t, temporary, alice, noon) + "\n"
	found, err := parseTokens([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		token string
		now   time.Time
		why   string // of the refusal
	}{
		{token, noon, ""},
		{temporary, noon.Add(-time.Second), ""},
		{temporary, noon, "TOKEN_EXPIRED"},
		{NewToken(), noon, "UNKNOWN_TOKEN"},
		{token[:len(token)-1], noon, "UNKNOWN_TOKEN"},
	} {
		caller, err := found.find(c.token, c.now)
		if c.why == "" && (err != nil || caller != alice) || c.why != "" && !fault.Is(err, c.why) {
			t.Errorf("%v: %v, want %q", caller, err, c.why)
		}
	}
}

func TestBadTokenFiles(t *testing.T) {
	token := NewToken()
	good := line(t, token, alice, time.Time{})
	for text, says := range map[string]string{
		"alice submitter":                               "line 1: a line has the form NAME ROLE",
		good + "\n" + good:                              "line 2 has the hash of an earlier line",
		"alice submitter " + token:                      "line 1: the third part must be sha256:",
		"alice submitter sha256:1234":                   "line 1: the third part must be sha256:",
		"alice king sha256:1234":                        `the role "king" is unknown`,
		strings.Replace(good, "submitter", "worker", 1): "workers authenticate with certificates, not tokens",
		good + " tomorrow":                              `"tomorrow" is not a time such as`,
	} {
		_, err := parseTokens([]byte(text))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), token) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	if _, err := TokenLine(token, identity.Caller{Name: "w", Role: identity.Worker}, time.Time{}); !fault.Is(err,
		"WORKER_TOKEN") {
		t.Errorf("a token for a worker: %v", err)
	}
}

func FuzzTokenFile(f *testing.F) {
	f.Add([]byte("# comment\nalice submitter sha256:" + strings.Repeat("0f", 32) + " 2027-01-31T00:00:00Z\n"))
	f.Add([]byte("bob reader sha256:\xff"))
	f.Fuzz(func(t *testing.T, content []byte) {
		found, err := parseTokens(content)
		if err != nil {
			return
		}
		for _, owner := range found {
			if owner.Role == identity.Worker || owner.Role == 0 || identity.CheckName(owner.Name) != nil {
				t.Errorf("%q has the owner %v", content, owner)
			}
		}
	})
}
