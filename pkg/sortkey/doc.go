// Package sortkey turns a tuple of typed values into one text that DynamoDB
// sorts exactly as the tuple sorts, and turns conditions on a part of the tuple
// into one key condition on that text.
//
// # Problem
//
// An index table has one string sort key, but an index sorts by one or more
// attributes (text, number or binary) and needs the base table's key at the
// end so that rows stay unique. Joining the parts with a separator goes wrong
// in known ways: ("a#", "b") and ("a", "#b") become one key, a search for "a"
// also finds "a#x", "a!" sorts before "a", and 10 sorts before 9.
//
// # Format
//
// The text is part#part#...#part. Within a part each byte 0x00-0x24 becomes `$`
// and the byte plus 0x30; every other byte stays. So `#` (0x23) stands only
// between parts and is lower than every byte inside one, and plain values stay
// readable:
//
//	1699900000000#user-aaa
//
// A value is written by its part:
//
//   - Text is its UTF-8 bytes.
//   - Binary is lower-case hex.
//   - Number with a width is a non-negative integer, zero-padded.
//   - Number without a width is sign, exponent plus 500 and significant digits,
//     for a negative number the nines' complement of both, closed by `~`:
//     42 is p501.42, -42 is -498.57~, 0 is 0.
//
// # Guarantees
//
//   - Injective: two tuples have one text only if their values are equal
//     (numbers by value: "1.0" and "1" are one number).
//   - The byte order of texts is the order of tuples: texts and binaries by
//     bytes, as DynamoDB sorts them, numbers by value.
//   - The text of a value with its `#` is a prefix of that value's rows alone.
//   - [Codec.Decode] accepts exactly what [Codec.Encode] writes, and inverts it.
//   - [Codec.Range] selects exactly the rows that satisfy the condition, with one
//     begins_with or one BETWEEN whose operands are valid key values: not empty,
//     at most [MaxSortKeyBytes], valid UTF-8, lower bound not above the upper.
//   - A value that cannot be represented is refused with an [*Error]; nothing is
//     ever cut, rounded, lower-cased or mis-sorted. Numbers never become floats.
//   - Errors name the part and the limit, never the value.
//
// # Non-guarantees
//
//   - Text order is byte order, not the order of any language.
//   - The format carries no types: a text is decoded by the codec that wrote it.
//     Changing the parts, their kinds or widths of a filled index means to
//     rebuild it.
package sortkey
