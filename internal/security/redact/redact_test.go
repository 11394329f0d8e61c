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
		{"unknown store \"etc://user:hush@host:2379\"; use", "unknown store \"etc://[redacted]@host:2379\"; use"},
		{"store=etcd://a:hu/sh@h1:2379,b:hush@h2:2379 x", "store=etcd://[redacted]@h2:2379 x"},
		{"https://hush@host/path", "https://[redacted]@host/path"},
		{"s3://b?region=x&endpoint=http://u:hush@h:1&Secret_Access_Key=hush&use_path_style=true.",
			"s3://b?region=x&endpoint=http://[redacted]@h:1&Secret_Access_Key=[redacted]&use_path_style=true."},
		{`{"error":"Get \"http://h/b?max-keys=9\u0026session_token=hush\": refused"}`,
			`{"error":"Get \"http://h/b?max-keys=9\u0026session_token=[redacted]\": refused"}`},
		{"127.0.0.1:2379?password=hush", "127.0.0.1:2379?password=[redacted]"},
		{"s3://bucket?region=eu&prefix=a/ and cleave://submitter/al@example.org",
			"s3://bucket?region=eu&prefix=a/ and cleave://submitter/al@example.org"},
		{"the folder cleave_data and job 0193-af", "the folder cleave_data and job 0193-af"},
	} {
		if got := Text(c.text); got != c.want {
			t.Errorf("%q became %q", c.text, got)
		}
		var written strings.Builder
		if n, err := Writer(&written).Write([]byte(c.text)); n != len(c.text) || err != nil ||
			written.String() != c.want {
			t.Errorf("%q was written as %q (%d, %v)", c.text, written.String(), n, err)
		}
	}
}
