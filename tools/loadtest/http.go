package loadtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// httpRate is how many jobs a second are looked at, by gRPC and by REST.
const httpRate = 500

// overHTTP looks at jobs by gRPC and by REST, in turns and at the same rate, over connections that are kept.
func overHTTP(ctx context.Context, cfg *Config) ([]row, error) {
	b, err := cfg.startBench(ctx, "http")
	if err != nil {
		return nil, err
	}
	defer b.close()
	jobs, err := b.submitMany(ctx)
	if err != nil {
		return nil, err
	}
	client, scheme, err := cfg.httpClient()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	byREST := func(ctx context.Context, at int) (verdict, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+b.address+"/v1/jobs/"+jobs[at%len(jobs)],
			nil)
		if err != nil {
			return failed, err
		}
		response, err := client.Do(request)
		if err != nil {
			return failed, err
		}
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		switch {
		case err != nil:
			return failed, err
		case response.StatusCode == http.StatusTooManyRequests:
			return refused, nil
		case response.StatusCode != http.StatusOK:
			return failed, fmt.Errorf("%s", response.Status)
		}
		return accepted, nil
	}
	var outcomes [2]outcome
	var used [2]time.Duration
	const rounds = 3
	for range rounds {
		for at, call := range []func(context.Context, int) (verdict, error){b.look(jobs), byREST} {
			before := b.processor()
			o := openLoop(ctx, httpRate, cfg.Seconds, call)
			used[at] += b.processor() - before
			outcomes[at].accepted = append(outcomes[at].accepted, o.accepted...)
			outcomes[at].refused = append(outcomes[at].refused, o.refused...)
			outcomes[at].others, outcomes[at].took = outcomes[at].others+o.others, outcomes[at].took+o.took
			if o.lastError != nil {
				outcomes[at].lastError = o.lastError
			}
		}
	}
	grpc, rest := &outcomes[0], &outcomes[1]
	return []row{
		{fmt.Sprintf("%d GetJob a second by gRPC, their latency", httpRate), grpc.accepted.String(), ""},
		{fmt.Sprintf("%d a second by REST, their latency", httpRate), rest.accepted.String(), ""},
		{"p99 of REST, in that of gRPC",
			fmt.Sprintf("%.1f", float64(rest.accepted.at(99))/float64(grpc.accepted.at(99))), "at most 2"},
		{"processor time of the coordinator for REST, in that for gRPC", fmt.Sprintf("%.1f (%.2f and %.2f processors)",
			used[1].Seconds()/used[0].Seconds(), used[1].Seconds()/rest.took.Seconds(),
			used[0].Seconds()/grpc.took.Seconds()), "at most 3"},
		{"refused, failed", fmt.Sprintf("%d, %d", len(grpc.refused)+len(rest.refused), grpc.others+rest.others),
			"none"},
	}, errorOf(grpc, rest)
}

// httpClient returns a client with as many connections as those of gRPC.
func (cfg *Config) httpClient() (client *http.Client, scheme string, err error) {
	transport := &http.Transport{MaxIdleConnsPerHost: callConnections, MaxConnsPerHost: callConnections}
	if cfg.Plain {
		return &http.Client{Transport: transport}, "http://", nil
	}
	ca, err := os.ReadFile(filepath.Join(cfg.client.Dir, "ca.pem"))
	if err != nil {
		return nil, "", err
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(cfg.client.Dir, "cert.pem"),
		filepath.Join(cfg.client.Dir, "key.pem"))
	if err != nil {
		return nil, "", err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair},
		ServerName: "localhost", MinVersion: tls.VersionTLS13}
	return &http.Client{Transport: transport}, "https://", nil
}
