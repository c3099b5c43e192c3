// Package unique makes values unique without locks: a claim is an item whose key is the value, so that of two who want it DynamoDB lets exactly one have it.
//
// A query of an index that is followed by a put lets both through, since the index lags. A claim is taken, moved and released in one transaction with the
// item that it belongs to, which a [Writer] sends: an ordered list of labelled operations, a client request token, and an answer that says of which
// label it speaks.
//
// Guarantees: a refused condition is reported by the label of its operation, whatever the order of the list, and by rank where there are several. A conflict or
// a throttle is never reported as a refusal: it is tried again until the time ends, and is then [ErrTryAgain]. A lost answer is settled by sending the same
// token again and, where no answer comes at all, by a strongly consistent read; what cannot be settled is [ErrUnknown], never a guess. A claim is
// released by its owner alone. Nothing here reads a secondary index.
//
// Not guaranteed: fairness between those who race for one value, and the outcome behind ErrUnknown. DynamoDB remembers a token for 10 minutes, so a Writer
// never sends one for longer than [TokenLife].
package unique
