// Package redact removes secrets from text that people keep, such as logs and messages. Nothing is supposed to write
// secrets there; this catches what a user put in the wrong place, such as a token as the name of a job, or a password
// in a URL.
package redact

import (
	"errors"
	"io"
	"net/url"
	"regexp"
)

// secrets matches what grants access by itself: Cleave tokens, web tokens in three parts, and private keys. In URLs
// it matches the user with the password, and parameters whose names suggest secrets. The rest of a URL stays, so that
// it can be recognized.
var secrets = regexp.MustCompile(`cleave_[A-Za-z0-9_-]{20,}` +
	`|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?` +
	`|-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z ]*PRIVATE KEY-----)?` +
	`|(?P<scheme>://)(?:[^\s"'/?]*|[^\s"'/?]*:[^\s"']*)(?P<at>@)` +
	// A backslash may begin a quote or an & in JSON.
	`|(?P<parameter>(?:[?&]|\\u0026)` +
	`(?i:[\w.-]*(?:secret|token|passw|pwd|credential|signature)[\w.-]*|[\w.-]*key)=)[^&\s"'\\]+`)

const blot = "${scheme}${parameter}[redacted]${at}"

// Text returns text with all secrets replaced by "[redacted]".
func Text(text string) string { return secrets.ReplaceAllString(text, blot) }

// Writer returns a writer that writes to w without secrets. Each Write is examined on its own, so write whole lines.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ to io.Writer }

func (w writer) Write(text []byte) (int, error) {
	if !secrets.Match(text) {
		return w.to.Write(text)
	}
	if _, err := w.to.Write(secrets.ReplaceAll(text, []byte(blot))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// WithoutURL returns an error of net/http without the URL, which may contain a secret or a signature.
func WithoutURL(err error) error {
	if wrapped, is := errors.AsType[*url.Error](err); is {
		return wrapped.Err
	}
	return err
}
