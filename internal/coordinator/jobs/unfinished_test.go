package jobs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestAdmission(t *testing.T) {
	for _, c := range []struct {
		name  string
		first func(admission, context.Context) (func(), error)
		next  func(admission, context.Context) (func(), error)
		waits bool
	}{
		{"two jobs", admission.create, admission.create, false},
		{"a job while creation is excluded", admission.exclude, admission.create, true},
		{"an exclusion while a job is created", admission.create, admission.exclude, true},
		{"two exclusions", admission.exclude, admission.exclude, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAdmission()
				leave, err := c.first(a, t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				next := make(chan error, 1)
				go func() {
					leave, err := c.next(a, ctx)
					if err == nil {
						leave()
					}
					next <- err
				}()
				synctest.Wait()
				if waits := len(next) == 0; waits != c.waits {
					t.Errorf("the second waits: %v", waits)
				}
				cancel()
				if err := <-next; c.waits != errors.Is(err, context.Canceled) {
					t.Errorf("the second one gets %v", err)
				}
				leave()
				leave, err = c.next(a, t.Context())
				if err != nil {
					t.Fatal(err)
				}
				leave()
			})
		})
	}
}

// Whoever excludes the creation of jobs waits for those before, and new ones wait behind.
func TestNewJobsDoNotHoldUpAnExclusion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission()
		created, err := a.create(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		enter := func(name string, verb func(context.Context) (func(), error)) {
			go func() {
				leave, err := verb(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, name)
				leave()
			}()
			synctest.Wait()
		}
		enter("exclusion", a.exclude)
		enter("job", a.create)
		if len(order) > 0 {
			t.Errorf("%v did not wait", order)
		}
		created()
		synctest.Wait()
		if len(order) != 2 || order[0] != "exclusion" {
			t.Errorf("the order is %v", order)
		}
	})
}
