package shell

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/credentials"
)

// Declare declares flags and returns the group of them, in the order of their declaration.
func Declare(set *pflag.FlagSet, title string, declare func(*pflag.FlagSet)) Group {
	own := pflag.NewFlagSet(title, pflag.ContinueOnError)
	own.SortFlags = false
	declare(own)
	group := Group{Title: title}
	own.VisitAll(func(f *pflag.Flag) {
		set.AddFlag(f)
		group.Names = append(group.Names, f.Name)
	})
	return group
}

// The flags that several programs have follow.

// CertificateFlags declares the flags that name the files of one side, with a prefix.
func CertificateFlags(set *pflag.FlagSet, prefix string, f *credentials.Files) {
	set.StringVar(&f.Dir, prefix+"tls", "", "`DIR` with "+credentials.CAFile+", "+credentials.CertFile+" and "+
		credentials.KeyFile+", as cleave certs makes them")
	set.StringVar(&f.CA, prefix+"tls-ca", "",
		"`FILE` of CA certificates; the other side's certificate must be signed by one of them")
	set.StringVar(&f.Cert, prefix+"tls-cert", "",
		"`FILE` with our certificate, in PEM; it is read again when it changes")
	set.StringVar(&f.Key, prefix+"tls-key", "", "`FILE` with the private key of --"+prefix+"tls-cert")
}

// DialFlags declares the flags of a connection to a coordinator. A token is never a flag, because everyone on the
// machine can see those.
func DialFlags(set *pflag.FlagSet, d *credentials.Dial) {
	CertificateFlags(set, "", &d.Files)
	set.StringVar(&d.ServerName, "tls-server-name", "",
		"`NAME` that the coordinator's certificate must have (default: the host that is called)")
	set.BoolVar(&d.Insecure, "insecure", false,
		"connect to other machines without encryption: anyone on the network path can read and change everything")
}

// HTTPFlags declares the flags that say which web pages may call a coordinator, and by which names.
func HTTPFlags(set *pflag.FlagSet, origins, hosts *[]string) {
	set.StringSliceVar(origins, "cors-origin", nil,
		"`ORIGIN` whose web pages may call the coordinator, such as https://app.example, or * for all; may be "+
			"repeated (default: no other pages)")
	set.StringSliceVar(hosts, "http-host", nil,
		"`NAME` by which clients may call the coordinator in URLs, besides its addresses, its host name and the "+
			"names of its certificate; may be repeated")
}

// ImportFlag declares the flag that says who may import what.
func ImportFlag(set *pflag.FlagSet, allow *[]string) {
	set.StringSliceVar(allow, "import-allow", nil,
		"objects that callers may import tables from: `WHO=PREFIX`, such as submitter=s3://bucket/shared/, "+
			"admin=gs://bucket/ or user:ann=s3://bucket/ann/, with options of the store after a ?; may be repeated "+
			"(default: nothing)")
}

// ObserveFlags declares the flags of metrics and traces. The default of --traces is OpenTelemetry's usual environment
// variable, as returned by getenv.
func ObserveFlags(set *pflag.FlagSet, o *observe.Options, getenv func(string) string) {
	set.StringVar(&o.Admin, "admin", o.Admin,
		"`HOST:PORT` of metrics, health and profiles over HTTP; port 0 picks a free one (default: none)")
	set.BoolVar(&o.AdminInsecure, "admin-insecure", o.AdminInsecure,
		"let --admin be reached from other machines, without encryption or authentication")
	set.StringVar(&o.Traces, "traces", getenv("OTEL_EXPORTER_OTLP_ENDPOINT"),
		"`URL` that OpenTelemetry traces are sent to by OTLP over gRPC, http:// or https://, "+
			"such as http://127.0.0.1:4317 (default: none, or OTEL_EXPORTER_OTLP_ENDPOINT)")
}
