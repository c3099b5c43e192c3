package cursor

// Additional is the additional data of a binding behind an empty header.
func (b Binding) Additional() []byte { return b.additional(nil) }

// The lengths of the parts of a token, for tests that cut it.
const (
	HeaderBytes = headerBytes
	NonceBytes  = nonceBytes
	MinRawBytes = minRawBytes
	SettleTime  = settleTime
)
