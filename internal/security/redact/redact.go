// Package redact blots secrets out of text that people keep: logs and messages. Nothing is meant to write a secret there;
// this is for what a user put in the wrong place, such as a token as the name of a job, or a password in a URL.
package redact

import (
	"io"
	"regexp"
)

// secrets match what grants access by itself: tokens of Cleave, web tokens in three parts, private keys; and of URLs the user with
// the password, and parameters that are secret by their names. What is around those stays: it says which URL it is.
var secrets = regexp.MustCompile(`cleave_[A-Za-z0-9_-]{20,}` +
	`|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?` +
	`|-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\s\\]*(?:-----END [A-Z ]*PRIVATE KEY-----)?` +
	`|(?P<scheme>://)(?:[^\s"'/?]*|[^\s"'/?]*:[^\s"']*)(?P<at>@)` +
	`|(?P<parameter>(?:[?&]|\\u0026)(?i:[\w.-]*(?:secret|token|passw|pwd|credential|signature)[\w.-]*|[\w.-]*key)=)[^&\s"'\\]+`) // \ may be of a quote or an & in JSON

const blot = "${scheme}${parameter}[redacted]${at}"

// Text is text without secrets.
func Text(text string) string { return secrets.ReplaceAllString(text, blot) }

// Writer writes to w without secrets. Each Write is looked at by itself: write whole lines.
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
