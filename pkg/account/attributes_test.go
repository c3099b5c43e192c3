package account_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

func TestAttributesThatAreRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	null := &types.AttributeValueMemberNULL{Value: true}
	for _, test := range []struct {
		attributes ddb.Item
		want       string
	}{
		{ddb.Item{"": s("x")}, "attributes: has an empty name"},
		{ddb.Item{"userId": s("x")}, "attributes.userId: is a name of its own: give it beside attributes"},
		{ddb.Item{"nickname": s("x")}, "attributes.nickname: is a name of its own: give it beside attributes"},
		{ddb.Item{"email": s("x")}, "attributes.email: is a name of its own: give it beside attributes"},
		{ddb.Item{"SK": s("x")}, "attributes.SK: is reserved for index rows"},
		{ddb.Item{"_deleted": s("x")}, "attributes._deleted: is reserved for index rows"},
		{ddb.Item{"_ttl": s("x")}, "attributes._ttl: is reserved for index rows"},
		{ddb.Item{"_v": s("x")}, "attributes._v: is reserved for index rows"},
		{ddb.Item{"_incarnation": s("x")}, "attributes._incarnation: is reserved"},
		{ddb.Item{"_nickname_key": s("x")}, "attributes._nickname_key: is reserved"},
		{ddb.Item{"_email_key": s("x")}, "attributes._email_key: is reserved"},
		{ddb.Item{"_withdrawing": s("x")}, "attributes._withdrawing: is reserved"},
		{ddb.Item{"_request": s("x")}, "attributes._request: is reserved"},
		{ddb.Item{"ID": num("1")}, "attributes.ID: must be a string, as the key of an index, or absent"},
		{ddb.Item{"ID": null}, "attributes.ID: must be a string, as the key of an index, or absent"},
		{ddb.Item{"ID": s("")}, "attributes.ID: must not be empty, as the key of an index, or absent"},
		{ddb.Item{"ID": s(strings.Repeat("x", 2049))}, "attributes.ID: is too long for the key of an index: at most 2048 bytes in all, is 2049"},
		{ddb.Item{"managedKey": s("1699900000000")}, "attributes.managedKey: must be a number, as the key of an index, or absent"},
		{ddb.Item{"managedKey": null}, "attributes.managedKey: must be a number, as the key of an index, or absent"},
		{ddb.Item{"managedKey": num("10000000000000")}, "attributes.managedKey: must have at most 13 digits, as the key of an index, has 14"},
		{ddb.Item{"managedKey": num("-1")}, "attributes.managedKey: must not be negative, as the key of an index"},
		{ddb.Item{"managedKey": num("1.5")}, "attributes.managedKey: must be a whole number, as the key of an index"},
		{ddb.Item{"status": s("")}, "attributes.status: must not be empty, as the key of an index, or absent"},
		{ddb.Item{"status": s(strings.Repeat("x", 1025))}, "attributes.status: is too long for the key of an index: at most 1024 bytes in all, is 1025"},
		{ddb.Item{"status": s(strings.Repeat("x", 900)), "joinedOn": s(strings.Repeat("y", 200))}, "attributes.status: is too long for the key of an index: at most 1024 bytes in all, is 1104"},
		{ddb.Item{"n": num("1E126")}, ""},
		{ddb.Item{"deep": nested(40)}, ""},
		{ddb.Item{"big": s(strings.Repeat("x", 410_000))}, ""},
	} {
		a := application("u1", "alice", "")
		a.Attributes = test.attributes
		_, err := k.service.SignUp(t.Context(), a)
		bad, ok := errors.AsType[*account.FieldError](err)
		if !ok || test.want != "" && bad.Error() != test.want || !strings.HasPrefix(bad.Field, "attributes") {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	if n := k.faults.Count(""); n != 0 {
		t.Errorf("%d requests for what is refused", n)
	}
}

func nested(levels int) types.AttributeValue {
	value := types.AttributeValue(s("x"))
	for range levels {
		value = &types.AttributeValueMemberL{Value: []types.AttributeValue{value}}
	}
	return value
}

func TestAttributesAtTheirBorders(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for id, attributes := range map[string]ddb.Item{
		"none":       nil,
		"widest":     {"ID": s(strings.Repeat("x", 2048)), "managedKey": num("9999999999999")},
		"zero":       {"ID": s("t"), "managedKey": num("0")},
		"text":       {"ID": s("z"), "managedKey": num("0e999"), "l": &types.AttributeValueMemberL{Value: []types.AttributeValue{num("-0E-500")}}},
		"half-keyed": {"managedKey": num("1")},
		"anything":   {"a": &types.AttributeValueMemberNULL{Value: true}, "b": s(""), "c": &types.AttributeValueMemberBOOL{Value: true}, "d": nested(31), "_mine": s("x")},
	} {
		a := application(id, "", "")
		a.Attributes = attributes
		if _, err := k.service.SignUp(t.Context(), a); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	// The largest user goes in, and can still be renamed.
	a := application("largest", "a", "")
	fill := func(n int) error {
		a.Attributes = ddb.Item{"fill": s(strings.Repeat("x", n))}
		_, err := k.service.SignUp(t.Context(), a)
		return err
	}
	bad, ok := errors.AsType[*account.FieldError](fill(account.MaxUserBytes))
	if !ok || bad.Reason != account.ReasonTooLong || bad.Field != "attributes" || bad.Limit != account.MaxUserBytes {
		t.Fatalf("%v", bad)
	}
	if err := fill(account.MaxUserBytes - (bad.Got - bad.Limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.service.Rename(t.Context(), "largest", strings.Repeat("\u00AD", 94)+strings.Repeat("b", 63)); err != nil {
		t.Error(err)
	}
	k.whole()
}

func TestIdsAndKeysAreChecked(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for id, want := range map[string]string{
		"": "userId: is empty", ".": "userId: must not be . or ..", "..": "userId: must not be . or ..",
		"a/b":                    "userId: has a character that is not allowed, at position 2 (allowed: A-Z a-z 0-9 - _ . ~)",
		"é":                      "userId: has a character that is not allowed, at position 1 (allowed: A-Z a-z 0-9 - _ . ~)",
		"a\n":                    "userId: has a character that is not allowed, at position 2 (allowed: A-Z a-z 0-9 - _ . ~)",
		strings.Repeat("a", 129): "userId: is too long: at most 128 bytes, is 129",
	} {
		for what, err := range map[string]error{
			"sign up":  second(k.service.SignUp(t.Context(), application(id, "", ""))),
			"get":      second(k.service.Get(t.Context(), id)),
			"rename":   second(k.service.Rename(t.Context(), id, "alice")),
			"release":  k.service.ReleaseNickname(t.Context(), id),
			"withdraw": k.service.Withdraw(t.Context(), id),
		} {
			if err == nil || err.Error() != want {
				t.Errorf("%s %q: %v, want %s", what, id, err, want)
			}
		}
	}
	for _, id := range []string{"...", "~", "-", strings.Repeat("a", 128)} {
		k.signUp(id, "", "")
	}
	for key, want := range map[string]string{
		"a b": "Idempotency-Key: has a character that is not allowed, at position 2 (allowed: A-Z a-z 0-9 - _ . ~)", strings.Repeat("k", 65): "Idempotency-Key: is too long: at most 64 bytes, is 65",
	} {
		a := application("u1", "", "")
		a.IdempotencyKey = key
		if _, err := k.service.SignUp(t.Context(), a); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", key, err, want)
		}
	}
}
