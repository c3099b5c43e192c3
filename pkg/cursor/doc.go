// Package cursor seals page cursors: a client gets text that it can only hand back, for the same question, for a limited time.
//
// # Problem
//
// A page cursor is DynamoDB's start key. In the open it shows keys of items to the client, lets it steer the read to any row of the partition or, put
// beside another question, continue a walk where that question never was (some engines then silently start again). And a start key
// belongs to one physical index: whoever moves readers to another form of the index breaks every walk under way.
//
// # Token
//
// base64url without padding of
//
//	version  1 byte   1
//	key id   8 bytes  of SHA-256(VersionId of the secret)
//	nonce   12 bytes  random
//	sealed   n bytes  AES-256-GCM of: expiry (8 bytes, epoch milliseconds), payload
//	tag     16 bytes
//
// The additional data are version, key id and the canonical encoding of the [Binding]: index scope, hash of the partition, condition, order and tenant, each
// with its length, so that no two bindings have one encoding. The payload of a walk over an index is a [Position]: the logical position, which every form
// of the index can resume from.
//
// # Guarantees
//
//   - [Sealer.Open] returns exactly a payload that a [Sealer] with the same key sealed for an equal binding, before its expiry. Everything else that is
//     the token's fault is the one value [ErrInvalid]: no detail, nothing wrapped.
//   - A token has one spelling: another text never opens, not even with a line break or other trailing bits.
//   - Failing to get keys is [ErrUnavailable], never [ErrInvalid]: an honest client can try again.
//   - Tokens longer than [MaxTokenBytes] are refused before any work.
//   - A forged key id costs at most one refresh of the keys each [RefreshInterval], for all callers together. See [SecretKeyring].
//   - A key's bytes appear in no output of fmt, log/slog or encoding/json, wherever the key stands.
//
// # Non-guarantees
//
//   - A cursor is not proof of a permission: authorise the request as if it had none.
//   - A cursor may be used again until it expires. It starts a page, it changes nothing.
//   - Random nonces bear 2^32 tokens of one key (NIST SP 800-38D, section 8.3: https://doi.org/10.6028/NIST.SP.800-38D): at 100 tokens a second
//     that is 16 months. Rotate the secret before; see [Rotate].
package cursor
