package shell

// Size is Bytes in a signed number.
type Size int64

// String implements pflag.Value.
func (s *Size) String() string {
	bytes := Bytes(*s)
	return bytes.String()
}

// Set implements pflag.Value.
func (s *Size) Set(text string) error {
	bytes, err := ParseBytes(text)
	*s = Size(bytes)
	return err
}

// Type implements pflag.Value.
func (s *Size) Type() string { return "SIZE" }
