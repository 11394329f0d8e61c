package records

import (
	"context"
	"encoding/base64"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

const (
	defaultPageSize = 100
	maxPageSize     = 1000
	// maxPortion is how many entries are read at once. The record of an imported table may have more than 1 MiB.
	maxPortion = 64
)

// PageRequest is a request for one page of a list.
type PageRequest interface {
	GetPageSize() int32
	GetPageToken() string
}

// Page returns the requested page of a list and the token of the next page, "" if this is the last one. visit calls
// add with the items after a key, in the order of their keys, until add returns false. portion is the number of items
// of a page plus one, which shows whether there is another page.
func Page[T any](request PageRequest, prefix string, visit func(after string, portion int,
	add func(key string, item T) bool) error) (items []T, next string, err error) {
	size, err := pageSize(request.GetPageSize())
	if err != nil {
		return nil, "", err
	}
	after, err := pageStart(request.GetPageToken(), prefix)
	if err != nil {
		return nil, "", err
	}
	err = visit(after, size+1, func(key string, item T) bool {
		if len(items) == size {
			next = PageToken(after)
			return false
		}
		items = append(items, item)
		after = key
		return true
	})
	return items, next, err
}

// Order is the direction in which a list visits keys.
type Order bool

// The orders of lists.
const (
	Ascending  Order = false
	Descending Order = true
)

// readers is how many entries of a page are read at once.
const readers = 16

// PageOf returns a page of the entries under a prefix in the given order. read turns an entry into an item and reports
// whether it is wanted. It is called concurrently, because it may read from the store what an entry refers to.
func PageOf[T any](ctx context.Context, state store.State, prefix string, order Order, request PageRequest,
	read func(store.Entry) (item T, wanted bool, err error)) ([]T, string, error) {
	list := state.List
	if order == Descending {
		list = state.ListBackward
	}
	return Page(request, prefix, func(after string, portion int, add func(string, T) bool) error {
		return visit(ctx, list, prefix, after, portion, func(entries []store.Entry) (more bool, err error) {
			items := make([]T, len(entries))
			wanted := make([]bool, len(entries))
			var group errgroup.Group
			group.SetLimit(readers)
			for at, entry := range entries {
				group.Go(func() error {
					return fault.Guard(func(string, ...any) {}, func() (err error) {
						items[at], wanted[at], err = read(entry)
						return err
					})
				})
			}
			if err := group.Wait(); err != nil {
				return false, err
			}
			for at, entry := range entries {
				if wanted[at] && !add(entry.Key, items[at]) {
					return false, nil
				}
			}
			return true, nil
		})
	})
}

// visit calls do with the entries under a prefix that list returns after a key, several at a time, until do returns
// false or an error. It reads portion of them, then more.
func visit(ctx context.Context, list func(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error),
	prefix, after string, portion int, do func([]store.Entry) (more bool, err error),
) error {
	for left := portion; ; {
		entries, err := list(ctx, prefix, after, min(left, maxPortion))
		if err != nil {
			return err
		}
		if more, err := do(entries); err != nil || !more {
			return err
		}
		if len(entries) < min(left, maxPortion) {
			return nil
		}
		after = entries[len(entries)-1].Key
		if left -= len(entries); left == 0 {
			portion = min(2*portion, maxPageSize) // few are wanted
			left = portion
		}
	}
}

func pageSize(requested int32) (int, error) {
	switch {
	case requested < 0:
		return 0, fault.Invalid("INVALID_PAGE_SIZE", "page_size is %d; it must not be negative", requested).OnField(
			"page_size")
	case requested == 0:
		return defaultPageSize, nil
	}
	return min(int(requested), maxPageSize), nil
}

// PageToken makes a token of the last key that a page has covered.
func PageToken(lastKey string) string { return base64.RawURLEncoding.EncodeToString([]byte(lastKey)) }

// pageStart returns the key after which the page of a token starts, or "" for the first page.
func pageStart(token, prefix string) (after string, err error) {
	if token == "" {
		return "", nil
	}
	key, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || !strings.HasPrefix(string(key), prefix) {
		return "",
			fault.Invalid("INVALID_PAGE_TOKEN", "page_token was not returned by this list; start again without one").
				OnField("page_token")
	}
	return string(key), nil
}

// Each calls do with every entry under a prefix, in the order of keys.
func Each(ctx context.Context, state store.State, prefix string, do func(store.Entry) error) error {
	return visit(ctx, state.List, prefix, "", maxPageSize, func(entries []store.Entry) (bool, error) {
		for _, entry := range entries {
			if err := do(entry); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}
