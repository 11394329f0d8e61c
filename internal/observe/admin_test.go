package observe

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A page of another host that resolves to this machine cannot read the admin port.
func TestTheAdminPortIsForThisMachine(t *testing.T) {
	handler := localOnly(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
	}))
	for host, want := range map[string]int{
		"localhost": http.StatusOK, "localhost:9090": http.StatusOK, "127.0.0.1:9090": http.StatusOK,
		"[::1]:9090": http.StatusOK, "[::1]": http.StatusOK,
		"evil.example": http.StatusForbidden, "evil.example:9090": http.StatusForbidden,
		"10.0.0.1": http.StatusForbidden, "": http.StatusForbidden,
	} {
		request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.Host = host
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != want {
			t.Errorf("%q: %d, want %d", host, answer.Code, want)
		}
	}
}
