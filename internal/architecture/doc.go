// Package architecture holds no code, only tests that keep the shape of the project: which
// package may import which, how long a file may grow, and what must not be left in the text.
//
// Start with the table in arrows_test.go; a new package needs one line there.
package architecture
