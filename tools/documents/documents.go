// Package documents checks that the documents tell the truth: the examples of docs/HOWTO-ADD.md are applied to a copy
// of the repository and run, every algorithm has a complete reference page, and files and messages that pages name
// exist.
package documents
