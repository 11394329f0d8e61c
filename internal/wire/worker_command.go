package wire

import workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"

// CommandName is what a command does, as its field is named; "none" if it is unknown.
func CommandName(c *workerv1.Command) string {
	m := c.ProtoReflect()
	if field := m.WhichOneof(m.Descriptor().Oneofs().ByName("operation")); field != nil {
		return string(field.Name())
	}
	return "none"
}
