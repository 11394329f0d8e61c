// Package browser tests report.html as people see it: pages that cleave wrote, in Chromium. `make test-browser` runs
// it.
package browser
