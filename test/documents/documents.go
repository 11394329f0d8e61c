// Package documents checks that the documents tell the truth: the examples of docs/HOWTO-ADD.md are applied to a copy of
// the repository and run, and every algorithm has a complete reference page.
package documents
