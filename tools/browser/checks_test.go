package browser

import (
	"bytes"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// readable checks what a screen reader and a keyboard need.
func (p *tab) readable() {
	p.Helper()
	levels := eval[[]int](p, `[...document.querySelectorAll("h1,h2,h3,h4,h5,h6")].map(h => +h.tagName[1])`)
	if len(levels) < 4 || levels[0] != 1 {
		p.Errorf("headings of the levels %v", levels)
	}
	for at := 1; at < len(levels); at++ {
		if levels[at] == 1 || levels[at] > levels[at-1]+1 {
			p.Errorf("heading %d of level %d follows one of level %d", at, levels[at], levels[at-1])
		}
	}
	for what, expression := range map[string]string{
		"sections without a heading": `[...document.querySelectorAll("section")].filter(s => ` +
			`!document.getElementById(s.getAttribute("aria-labelledby"))).length`,
		"tables without a caption": `[...document.querySelectorAll("table")].filter(t => ` +
			`!t.caption?.textContent).length`,
		"headings of tables without a scope": `[...document.querySelectorAll("th")].filter(h => !h.scope).length`,
		"pictures without a description": `[...document.querySelectorAll("svg.drawing")].filter(s => ` +
			`s.getAttribute("role") !== "img" || !s.getAttribute("aria-label")).length`,
		"other pictures that are not hidden": `[...document.querySelectorAll("svg:not(.drawing)")].filter(s => ` +
			`s.getAttribute("aria-hidden") !== "true").length`,
		"buttons without a name": `[...document.querySelectorAll("button")].filter(b => !b.textContent.trim() ` +
			`&& !b.getAttribute("aria-label")).length`,
		"ids that occur twice": `(all => all.length - new ` +
			`Set(all).size)([...document.querySelectorAll("[id]")].map(e => e.id))`,
		"links that lead nowhere": `[...document.querySelectorAll("a")].filter(a => ` +
			`!document.getElementById(a.hash.slice(1))).length`,
		"landmarks that are missing": `["header", "nav", "main"].filter(l => document.querySelectorAll(l).length ` +
			`!== 1).length`,
		"styles that are not allowed": `document.querySelectorAll("[style*='url'], link[rel=stylesheet], iframe, ` +
			`object, img").length`,
	} {
		if n := eval[int](p, expression); n != 0 {
			p.Errorf("%d %s", n, what)
		}
	}
}

// contrast is the smallest contrast of a text with what it stands on (WCAG 2), and the text.
const contrast = `(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (color) => { if (!known.has(color)) known.set(color, paint(color)); return known.get(color); };
  const paint = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = (c) => { const [r, g, b] = c.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = (e) => { const list = []; for (; e; e = e.parentElement) list.push(rgba(getComputedStyle(e).backgroundColor)); return list.reverse().reduce((below, c) => over(c, below), [255, 255, 255, 1]); };
  let worst = [99, ""];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.closest("script,style,[hidden],title")) continue;
    const svg = e.closest("svg"), style = getComputedStyle(e), behind = ground(svg ? svg.parentElement : e);
    const a = light(over(rgba(svg ? style.fill : style.color), behind)), b = light(behind);
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < worst[0]) worst = [ratio, e.className + ": " + e.textContent.slice(0, 40)];
  }
  return worst;
})()`

// legible checks the contrast of all texts, in both color schemes.
func (p *tab) legible() {
	p.Helper()
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		background := eval[string](p, `getComputedStyle(document.body).backgroundColor`)
		if dark := strings.HasPrefix(background, "rgb(18"); dark != (scheme == "dark") {
			p.Errorf("the %s page stands on %s", scheme, background)
		}
		worst := eval[[]any](p, contrast)
		if ratio := worst[0].(float64); ratio < 4.5 {
			p.Errorf("%s: a contrast of %.2f: %v", scheme, ratio, worst[1])
		}
	}
	p.scheme("light")
}

// fits checks that nothing but tables is wider than a window.
func (p *tab) fits(pixels int64) {
	p.Helper()
	p.width(pixels)
	if wide := eval[int64](p, `document.documentElement.scrollWidth`); wide > pixels {
		p.Errorf("the page is %d wide in a window of %d: %s", wide, pixels,
			eval[string](p, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > `+
				`innerWidth + 1 && !e.closest(".scroll")).map(e => e.tagName + "." + e.className).slice(0, `+
				`5).join(" ")`))
	}
}

// small checks that a phone shows words, texts in charts and the differences of clusters whole.
func (p *tab) small() {
	p.Helper()
	p.fits(390)
	for what, expression := range map[string]string{
		"short words of tables that are broken": `(() => {
			const broken = new Set();
			for (const cell of document.querySelectorAll("td, th")) {
				const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
				while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/(?<![^\s–-])[^\s–-]{1,8}[–-]?(?=\s|$|(?<=[–-]))/g)) {
					const range = document.createRange();
					range.setStart(texts.currentNode, word.index);
					range.setEnd(texts.currentNode, word.index + word[0].length);
					if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) broken.add(word[0]);
				}
			}
			return [...broken];
		})()`,
		"texts of charts that are cut off": `[...document.querySelectorAll("figure:not(.map) .drawing text")].filter(text => {
			const shown = text.ownerSVGElement, a = text.getBoundingClientRect();
			const b = (getComputedStyle(shown).overflow === "visible" ? shown.closest("section") : shown).getBoundingClientRect();
			return a.width > 0 && (a.left < b.left - 1 || a.right > b.right + 1);
		}).map(text => text.textContent)`,
		"differences that are out of sight": `[...document.querySelectorAll(".cards .scroll")].filter(e => ` +
			`e.scrollWidth > e.clientWidth).map(e => e.textContent.slice(0, 40))`,
	} {
		if found := eval[[]string](p, expression); len(found) > 0 {
			p.Errorf("%d %s, such as %q", len(found), what, found[0])
		}
	}
}

// prints makes a PDF.
func (p *tab) prints(name string) {
	p.Helper()
	pdf := get(p, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
	if len(pdf) < 10_000 || !bytes.HasPrefix(pdf, []byte("%PDF")) {
		p.Errorf("a PDF of %d bytes", len(pdf))
	}
	p.save(name+".pdf", pdf)
}

// explore points at a marker, walks by keys, zooms and picks a cluster.
func (p *tab) explore(wantTip string) {
	p.Helper()
	p.do(chromedp.ScrollIntoView(chromedp.CSS("#map-plot")))
	at := eval[[]float64](p, `(b => [b.x + b.width / 2, b.y + b.height / 2])([...document.querySelectorAll("#map `+
		`.view use:not(.center), #map .view circle")].pop().getBoundingClientRect())`)
	p.do(chromedp.MouseEvent("mouseMoved", at[0], at[1]))
	p.until(`!document.getElementById("tip").hidden`)
	if tip := eval[string](p, `document.getElementById("tip").textContent`); !strings.Contains(tip, wantTip) {
		p.Errorf("a marker is called %q, without %q", tip, wantTip)
	}
	p.do(chromedp.Focus(chromedp.CSS("#map-plot")), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowLeft))
	p.until(`document.getElementById("announce").textContent.includes("cluster")`)

	ticks := eval[string](p, `document.querySelector("#map .ticks").textContent`)
	p.do(chromedp.Click(chromedp.CSS(`[data-zoom="in"]`)), chromedp.Click(chromedp.CSS(`[data-zoom="in"]`)))
	p.until(`+getComputedStyle(document.getElementById("map")).getPropertyValue("--z") < 0.5`)
	if ticks != "" && eval[string](p, `document.querySelector("#map .ticks").textContent`) == ticks {
		p.Errorf("the ticks are still %s", ticks)
	}
	p.do(chromedp.Click(chromedp.CSS(`[data-zoom="reset"]`)))
	p.until(`document.querySelector("#map .view").getAttribute("transform") === "translate(0 0) scale(1)"`)

	p.do(chromedp.Click(chromedp.CSS(`.legend button[data-k="1"]`)))
	p.until(`document.getElementById("map").classList.contains("picked")`)
	if wrong := eval[int](p,
		`[...document.querySelectorAll("#map .view use:not(.center), #map .view circle")].filter(e => `+
			`e.classList.contains("on") !== (e.dataset.k === "1")).length`); wrong != 0 {
		p.Errorf("%d markers are wrong about the cluster that was picked", wrong)
	}
	p.do(chromedp.Click(chromedp.CSS(`.legend button[data-k="1"]`)), chromedp.MouseEvent("mouseMoved", 1, 1),
		chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	p.until(`!document.getElementById("map").classList.contains("picked")`)
}
