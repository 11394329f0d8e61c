//go:build !amd64.v3

package clustering

import "runtime"

const architecture = runtime.GOARCH
