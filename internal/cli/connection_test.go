package cli

import "testing"

func TestAddressesWithoutAPort(t *testing.T) {
	for servers, want := range map[string]string{
		"":                     "",
		"localhost":            "localhost:7400",
		"a, b:1":               "a:7400,b:1",
		"10.0.0.1,[::1]:7":     "10.0.0.1:7400,[::1]:7",
		"unix:///run/cleave":   "unix:///run/cleave",
		"dns:///cleave.svc:70": "dns:///cleave.svc:70",
	} {
		if got := withPorts(servers); got != want {
			t.Errorf("%q becomes %q, want %q", servers, got, want)
		}
	}
}
