//go:build !unix

package store

func freeBytes(string) (int64, bool) { return 0, false }
