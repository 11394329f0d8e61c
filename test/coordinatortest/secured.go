package coordinatortest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/certs"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"
)

// Secured is a coordinator that asks who calls, and those who do.
type Secured struct {
	*Harness
	Files  certs.Folder
	Tokens map[string]string // by name
}

// People are those who have tokens of a secured coordinator.
var People = []identity.Caller{{Name: "alice", Role: identity.Submitter}, {Name: "bob", Role: identity.Submitter},
	{Name: "rita", Role: identity.Reader}, {Name: "ada", Role: identity.Admin}}

// StartSecured starts a coordinator that asks who calls. Its own clients have no credentials.
func StartSecured(t *testing.T, cfg coordinator.Config, run Script) *Secured {
	t.Helper()
	return StartSecuredFor(t, cfg, run, People)
}

// StartSecuredFor is StartSecured for other people.
func StartSecuredFor(t *testing.T, cfg coordinator.Config, run Script, people []identity.Caller) *Secured {
	t.Helper()
	s := &Secured{Files: certs.Folder{Dir: t.TempDir(), Now: time.Now}, Tokens: map[string]string{}}
	if err := s.Files.Init(); err != nil {
		t.Fatal(err)
	}
	s.Issue(t, "coordinator", certs.Party{Hosts: []string{"localhost"}})
	s.Issue(t, "worker", certs.Party{Caller: &identity.Caller{Name: "w", Role: identity.Worker}})
	s.Issue(t, "alice", certs.Party{Caller: &People[0]})
	var lines []string
	for _, p := range people {
		s.Tokens[p.Name] = access.NewToken()
		line, err := access.TokenLine(s.Tokens[p.Name], p, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	cfg.Security.Access.TokenFile = filepath.Join(s.Files.Dir, "tokens")
	if err := os.WriteFile(cfg.Security.Access.TokenFile, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Security.Serve.Dir = filepath.Join(s.Files.Dir, "coordinator")
	s.Harness = StartScripted(t, cfg, run)
	return s
}

// Issue makes a certificate.
func (s *Secured) Issue(t *testing.T, name string, p certs.Party) {
	t.Helper()
	p.Life = time.Hour
	if _, err := s.Files.Issue(name, p); err != nil {
		t.Fatal(err)
	}
}

// As returns the clients of a caller with some credentials.
func (s *Secured) As(dial credentials.Dial) *Clients {
	s.T.Helper()
	dial.ServerName = "localhost"
	options, err := dial.Options(nil, "passthrough:///test")
	if err != nil {
		s.T.Fatal(err)
	}
	clients := s.connect(s.T, options...)
	return &clients
}

// Caller returns the clients of one of the people.
func (s *Secured) Caller(name string) *Clients { return s.WithToken(s.Tokens[name]) }

// WithToken returns the clients of whoever has a token.
func (s *Secured) WithToken(token string) *Clients {
	return s.As(credentials.Dial{Files: credentials.Files{CA: filepath.Join(s.Files.Dir, "ca", "ca.pem")},
		Token: token})
}

// WithCertificate returns the clients of whoever has a certificate.
func (s *Secured) WithCertificate(name string) *Clients {
	return s.As(credentials.Dial{Files: credentials.Files{Dir: filepath.Join(s.Files.Dir, name)}})
}
