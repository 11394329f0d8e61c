package cli

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A renewed certificate is for the same party, and lets it do neither more nor less, unless a flag says so.
func TestRenewedCertificates(t *testing.T) {
	dir := t.TempDir()
	in := " --dir " + dir
	names := func(folder string) (all []string) {
		t.Helper()
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, folder, "cert.pem"), filepath.Join(dir, folder, "key.pem"))
		if err != nil {
			t.Fatal(err)
		}
		for _, uri := range pair.Leaf.URIs {
			all = append(all, uri.String())
		}
		for _, ip := range pair.Leaf.IPAddresses {
			all = append(all, ip.String())
		}
		return append(all, pair.Leaf.DNSNames...)
	}
	succeed(t, "certs init --host c1.example,10.0.0.7"+in)
	if r := invoke(t, "certs init"+in); r.code == 0 ||
		!strings.Contains(r.stderr,
			"choose another --dir or --name, or renew a certificate: cleave certs coordinator --renew") {
		t.Errorf("a second authority: %d, %s", r.code, r.stderr)
	}
	authority, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca", "ca.pem"), filepath.Join(dir, "ca", "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if said := succeed(t, "certs client --name late --days 36500"+in); !strings.Contains(said,
		"valid until "+authority.Leaf.NotAfter.Format(time.DateOnly)) {
		t.Errorf("the end of the authority is not said: %s", said)
	}
	succeed(t, "certs client --name rita --role reader"+in)
	succeed(t, "certs etcd --host e1.example"+in)
	for _, c := range []struct{ command, folder string }{
		{"certs coordinator --renew", "coordinator"},
		{"certs worker --renew", "worker"},
		{"certs client --name admin --renew", "admin"},
		{"certs client --name rita --renew", "rita"},
		{"certs etcd --renew", "etcd/member"},
	} {
		before := names(c.folder)
		if said := succeed(t, c.command+in); strings.Contains(said, "authority") {
			t.Errorf("%s says that it made an authority:\n%s", c.command, said)
		}
		if after := names(c.folder); !slices.Equal(after, before) {
			t.Errorf("%s: it was for %v and is for %v", c.command, before, after)
		}
	}

	succeed(t, "certs client --name rita --renew --role admin"+in)
	if got := names("rita"); !slices.Equal(got, []string{"cleave://admin/rita"}) {
		t.Errorf("with another role it is for %v", got)
	}
	succeed(t, "certs coordinator --renew --host c2.example"+in)
	if got := names("coordinator"); !slices.Contains(got, "c2.example") || slices.Contains(got, "c1.example") {
		t.Errorf("with another host it is for %v", got)
	}
	if r := invoke(t, "certs client --name worker --renew"+in); r.code == 0 ||
		!strings.Contains(r.stderr, "cleave certs worker --name worker --renew") {
		t.Errorf("a worker as a client: %d, %s", r.code, r.stderr)
	}

	// A damaged certificate tells nothing: the flags have to.
	for _, c := range []struct{ folder, command, flag string }{
		{"coordinator", "certs coordinator --renew", "--host c1.example"},
		{"rita", "certs client --name rita --renew", "--role reader"},
		{"etcd/member", "certs etcd --renew", "--host e1.example"},
		{"worker", "certs worker --renew", ""},
	} {
		if err := os.WriteFile(filepath.Join(dir, c.folder, "cert.pem"), []byte("no certificate"), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.flag != "" {
			needed, _, _ := strings.Cut(c.flag, " ")
			if r := invoke(t, c.command+in); r.code == 0 || !strings.Contains(r.stderr, "give the "+needed) {
				t.Errorf("%s of a damaged certificate: %d, %s", c.command, r.code, r.stderr)
			}
		}
		succeed(t, c.command+" "+c.flag+in)
		names(c.folder)
	}
}

// The commands that are proposed can be pasted, even if the host is an IPv6 address.
func TestCertificatesOfAnIPv6Host(t *testing.T) {
	t.Chdir(t.TempDir())
	for args, want := range map[string][]string{
		"certs init --host fd00::1": {"worker --coordinator [fd00::1]:7400 --tls",
			"login --server [fd00::1]:7400 --tls"},
		"certs etcd --host fd00::1": {"--advertise-client-urls https://[fd00::1]:2379 ",
			"--store etcd://[fd00::1]:2379 "},
	} {
		out := succeed(t, args)
		for _, command := range want {
			if !strings.Contains(out, command) {
				t.Errorf("%s does not propose %q:\n%s", args, command, out)
			}
		}
	}
}
