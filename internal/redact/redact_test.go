package redact

import (
	"strings"
	"testing"
)

func TestSecretsAreBlottedOut(t *testing.T) {
	token := "cleave_" + strings.Repeat("aB3-_", 9)
	web := "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl_-"
	key := "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIB+/=\n-----END EC PRIVATE KEY-----"
	for _, c := range []struct{ text, want string }{
		{"request_id \"" + token + "\" is not a UUID", "request_id \"[redacted]\" is not a UUID"},
		{"authorization: Bearer " + web + " x", "authorization: Bearer [redacted] x"},
		{"key=" + key + ".", "key=[redacted]."},
		{strings.ReplaceAll(key, "\n", `\n`), "[redacted]"},
		{"the folder cleave_data and job 0193-af", "the folder cleave_data and job 0193-af"},
	} {
		if got := Text(c.text); got != c.want {
			t.Errorf("%q became %q", c.text, got)
		}
		var written strings.Builder
		if n, err := Writer(&written).Write([]byte(c.text)); n != len(c.text) || err != nil || written.String() != c.want {
			t.Errorf("%q was written as %q (%d, %v)", c.text, written.String(), n, err)
		}
	}
}
