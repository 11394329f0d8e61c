package store

import (
	"strings"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// zapLogger returns a zap logger for etcd that writes to log. Since etcd logs a lot, its info entries become debug
// entries. The caller chooses the level of its warnings, and what happens after a fatal entry, which must not return.
func zapLogger(log hclog.Logger, warnings hclog.Level, fatal zapcore.CheckWriteHook) *zap.Logger {
	return zap.New(zapCore{log: log, warnings: warnings}, zap.WithFatalHook(fatal))
}

// ignorable reports whether a message is irrelevant here. One is about ports, which an embedded server does not open.
// Two appear when a new server reads its storage version before it has written one; it retries after some seconds. One
// appears if a server is closed while it starts something in the background. The last one appears on a busy machine, if
// the only member wants to lead before it has read from the log that it is one; it tries again.
func ignorable(message string) bool {
	switch message {
	case "Running http and grpc server on single port. This is not recommended for production.",
		"Failed to detect schema version",
		"failed to update storage version",
		"server has stopped; skipping GoAttach":
		return true
	}
	return strings.HasSuffix(message, "since there are still pending configuration changes to apply")
}

// zapCore writes zap entries to an hclog.Logger.
type zapCore struct {
	log      hclog.Logger
	warnings hclog.Level
	fields   []zapcore.Field
}

func (c zapCore) level(level zapcore.Level) hclog.Level {
	switch {
	case level >= zapcore.ErrorLevel:
		return hclog.Error
	case level == zapcore.WarnLevel:
		return c.warnings
	case level == zapcore.InfoLevel:
		return hclog.Debug
	}
	return hclog.Trace
}

func (c zapCore) Enabled(level zapcore.Level) bool { return c.level(level) >= c.log.GetLevel() }

func (c zapCore) With(fields []zapcore.Field) zapcore.Core {
	c.fields = c.withFields(fields)
	return c
}

func (c zapCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) && !ignorable(entry.Message) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c zapCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	encoder := zapcore.NewMapObjectEncoder()
	var pairs []any
	for _, f := range c.withFields(fields) {
		f.AddTo(encoder)
		if value, ok := encoder.Fields[f.Key]; ok {
			pairs = append(pairs, f.Key, value)
		}
	}
	c.log.Log(c.level(entry.Level), entry.Message, pairs...)
	return nil
}

func (c zapCore) Sync() error { return nil }

func (c zapCore) withFields(fields []zapcore.Field) []zapcore.Field {
	return append(c.fields[:len(c.fields):len(c.fields)], fields...)
}
