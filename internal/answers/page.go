package answers

import ("io";"time")

type Page struct { Subject, Version string; Answers []Answer }
func (p Page) Write(w io.Writer, now time.Time) error { return nil }
