// Package architecture has only tests, which check the structure of the project: which package may import
// which, how long a file may be, that every dependency is explained, and that no markers such as "to do"
// are left in the text.
//
// Start with the table in arrows_test.go: a new package needs a line there.
package architecture
