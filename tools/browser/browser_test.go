package browser

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// cleave runs the program that CLEAVE names, in a folder.
func cleave(t *testing.T, folder, args string) string {
	t.Helper()
	program := os.Getenv("CLEAVE")
	if program == "" {
		program = "../../bin/cleave"
	}
	program, err := filepath.Abs(program)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, strings.Fields(args)...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("cleave %s: %v\n%s", args, err, out)
	}
	return string(out)
}

// browser is one Chromium for all tests of a run.
func browser(t *testing.T) context.Context {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1300, 900),
		chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("hide-scrollbars", true))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	return ctx
}

// tab is a page in the browser, and what it complained about.
type tab struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

// open loads a file, and fails the test if the page writes to the console, opens a dialog, or asks for anything else.
func open(t *testing.T, browser context.Context, file string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &tab{T: t, ctx: ctx}
	var reading sync.WaitGroup
	listen(p, &reading, chromedp.Console(ctx), func(m chromedp.ConsoleMessage) string {
		return "console: " + m.String()
	})
	listen(p, &reading, chromedp.Events(ctx, page.JavascriptDialogOpening),
		func(e page.EventJavascriptDialogOpening) string { return "dialog: " + e.Message })
	listen(p, &reading, chromedp.Events(ctx, network.RequestWillBeSent), func(e network.EventRequestWillBeSent) string {
		if url := e.Request.URL; url != "file://"+path && !strings.HasPrefix(url, "data:") {
			return "request: " + url
		}
		return ""
	})
	t.Cleanup(func() {
		cancel()
		reading.Wait()
		for _, problem := range p.problems {
			t.Error(problem)
		}
	})
	call(p, network.Enable, network.EnableParams{})
	p.do(chromedp.Navigate("file://" + path))
	return p
}

// listen keeps what is said of events, until the tab is closed.
func listen[E any](p *tab, reading *sync.WaitGroup, events iter.Seq2[E, error], says func(E) string) {
	reading.Go(func() {
		for event, err := range events {
			if err != nil {
				return
			}
			if problem := says(event); problem != "" {
				p.mu.Lock()
				p.problems = append(p.problems, problem)
				p.mu.Unlock()
			}
		}
	})
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

// call sends a command to the browser.
func call[P, R any](p *tab, command cdp.Command[P, R], params P) {
	p.Helper()
	if _, err := chromedp.Call(p.ctx, command, params); err != nil {
		p.Fatal(err)
	}
}

// get is what an action finds.
func get[T any](p *tab, action chromedp.Action[T]) T {
	p.Helper()
	value, err := chromedp.Run(p.ctx, action)
	if err != nil {
		p.Fatal(err)
	}
	return value
}

// eval is the value of an expression on the page.
func eval[T any](p *tab, expression string) T {
	p.Helper()
	return get(p, chromedp.Evaluate[T](expression))
}

// until waits for an expression to be true.
func (p *tab) until(expression string) {
	p.Helper()
	if _, err := chromedp.Run(p.ctx, chromedp.Poll[chromedp.Void](expression,
		chromedp.WithPollingTimeout(10*time.Second))); err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
}

// scheme chooses light or dark.
func (p *tab) scheme(name string) {
	call(p, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
}

// width makes the window so wide.
func (p *tab) width(pixels int64) { p.do(chromedp.EmulateViewport(pixels, 900)) }

// shoot saves a picture of the whole page in the folder that SCREENSHOTS names, if it names one.
func (p *tab) shoot(name string) {
	p.Helper()
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		return
	}
	wide := eval[int64](p, `innerWidth`)
	p.do(chromedp.EmulateViewport(wide, eval[int64](p, `document.documentElement.scrollHeight`)))
	p.save(name+".png", get(p, chromedp.CaptureScreenshot()))
	p.width(wide)
}

func (p *tab) save(name string, content []byte) {
	p.Helper()
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		return
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o666); err != nil {
		p.Fatal(err)
	}
}
