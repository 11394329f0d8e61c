//go:build small

package buckets

import "gocloud.dev/blob"

func versionOf(*blob.Attributes) string { return "" }

func selectVersion(func(any) bool, string) {}

// answerOf explains every error of a small program, which can open no bucket.
func answerOf(error) string {
	return "this program was built without object stores (-tags small); build it without the tag, as make build does"
}
