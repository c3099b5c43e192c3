package e2e_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func TestBadInputHasTheCodesOfTheContract(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	big := `{"partition":"` + strings.Repeat("p", 2_500_000) + `"}`
	for _, test := range []struct {
		method, path, query, body string
		status                    int
		code, detail              string
	}{
		{"GET", "managed/items", "", "", 400, "invalid_parameter", "partition"},
		{"GET", "managed/items", "partition=", "", 400, "invalid_parameter", "partition"},
		{"GET", "managed/items", "partition=" + strings.Repeat("p", 2049), "", 400, "invalid_parameter", "partition"},
		{"GET", "managed/items", "partition=p&partition=p", "", 400, "invalid_parameter", "partition"},
		{"GET", "managed/items", "partition=p&nobody=1", "", 400, "invalid_parameter", "nobody"},
		{"GET", "managed/items", "partition=p&eq=1&gt=2", "", 400, "invalid_parameter", "eq"},
		{"GET", "managed/items", "partition=p&gt=1&gte=2", "", 400, "invalid_parameter", "gt"},
		{"GET", "managed/items", "partition=p&prefix=1", "", 400, "invalid_parameter", "prefix"},
		{"GET", "managed/items", "partition=p&lt=x", "", 400, "invalid_parameter", "lt"},
		{"GET", "managed/items", "partition=p&limit=1001", "", 400, "invalid_parameter", "limit"},
		{"GET", "managed/items", "partition=p&limit=0", "", 400, "invalid_parameter", "limit"},
		{"GET", "managed/items", "partition=p&order=down", "", 400, "invalid_parameter", "order"},
		{"GET", "managed/items", "partition=p&consistent=yes", "", 400, "invalid_parameter", "consistent"},
		{"GET", "managed/items", "partition=p&cursor=forged", "", 400, "invalid_cursor", ""},
		{"GET", "nobody/items", "partition=p", "", 404, "unknown_index", ""},
		{"GET", "pending-index/items", "partition=p", "", 404, "unknown_index", ""},
		{"POST", "managed/items", "", "", 400, "invalid_parameter", "body"},
		{"POST", "managed/items", "", `{"partition":"p"`, 400, "invalid_parameter", "body"},
		{"POST", "managed/items", "", `{"partition":"p","nobody":1}`, 400, "invalid_parameter", "nobody"},
		{"POST", "managed/items", "", `{"partition":"p","partition":"p"}`, 400, "invalid_parameter", "partition"},
		{"POST", "managed/items", "", `{"partition":"p","limit":"5"}`, 400, "invalid_parameter", "limit"},
		{"POST", "managed/items", "", `{"partition":"p"} {}`, 400, "invalid_parameter", "body"},
		{"POST", "managed/items", "", big, 413, "too_large", "2,500,000"},
		{"POST", "managed/count", "", `{"partition":"p","cursor":"forged"}`, 400, "invalid_cursor", ""},
	} {
		var body []byte
		if test.method == "POST" {
			body = []byte(test.body)
		}
		answer, err := s.http.Do(t.Context(), test.method, "/v1/indexes/"+test.path, test.query, body)
		if err != nil {
			t.Fatal(err)
		}
		got := s.page(answer, test.status)
		if got.Code != test.code || !strings.Contains(got.Detail, test.detail) || answer.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s %.60s %.60s: %s", test.method, test.path, test.query, test.body, answer.Body)
		}
	}
}

func TestAnyTextIsAPartition(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	for n, partition := range []string{"a b+c%20?&=#/..", "a%b", "ümläut 😀", "\x00\x1f\"\\", strings.Repeat("ß", 900), `{"json":1}`} {
		s.partition = s.prefix + partition
		s.user(n, 0, nil)
		s.settled(1, 0)
		want := s.users(n)
		if diff := cmp.Diff(want, s.get("managed/items").ids()); diff != "" {
			t.Errorf("GET %q: %s", partition, diff)
		}
		answer, err := s.http.Send(t.Context(), "POST", "/v1/indexes/managed/items", map[string]string{"partition": s.partition})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.page(answer, 200).ids()); diff != "" {
			t.Errorf("POST %q: %s", partition, diff)
		}
	}
}

func TestItemsKeepEveryDigitAndByte(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	s.user(0, 0, ddb.Item{
		"digits": &types.AttributeValueMemberN{Value: "12345678901234567890123456789012345678"}, "bytes": &types.AttributeValueMemberB{Value: []byte{0, 255, 16}},
		"text": text("<&>\u2028 \"\\ 😀"), "flags": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberBOOL{Value: true}}},
		"_incarnation": text("private"), "_v": text("the item's own"), "SK": text("the item's own"),
	})
	s.settled(1, 0)
	want := map[string]json.RawMessage{
		"userId": json.RawMessage(strconv.Quote(s.id(0))), "ID": json.RawMessage(strconv.Quote(s.partition)), "managedKey": json.RawMessage(at(0)),
		"digits": json.RawMessage("12345678901234567890123456789012345678"), "bytes": json.RawMessage(`"AP8Q"`), "flags": json.RawMessage("[true]"),
	}
	got := s.get("managed/items").Items[0]
	var read string
	if err := json.Unmarshal(got["text"], &read); err != nil || read != "<&>\u2028 \"\\ 😀" {
		t.Errorf("text %s", got["text"])
	}
	delete(got, "text")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// An answer of 4 MB of characters that JSON escapes is more than Lambda takes, unless it travels in base64.
func TestALongPageTravelsWhole(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	long := strings.Repeat(`"`, 350_000)
	for n := range 6 {
		s.user(n, int64(n), ddb.Item{"text": text(long)})
	}
	s.settled(6, 0)
	var got []string
	for parameters := []string{"limit", "1000"}; ; {
		answer := s.get("managed/items", parameters...)
		for _, item := range answer.Items {
			var read string
			if err := json.Unmarshal(item["text"], &read); err != nil || read != long {
				t.Fatalf("text of %d bytes, %v", len(read), err)
			}
		}
		got = append(got, answer.ids()...)
		if answer.Cursor == "" {
			break
		}
		parameters = []string{"limit", "1000", "cursor", answer.Cursor}
	}
	if diff := cmp.Diff(s.users(0, 1, 2, 3, 4, 5), got); diff != "" {
		t.Error(diff)
	}
}

func TestACursorBelongsToItsQuestionAndSurvivesARotation(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	for n := range 3 {
		s.user(n, int64(n), nil)
	}
	s.settled(3, 0)
	token := s.get("managed/items", "limit", "1").Cursor
	for name, query := range map[string]url.Values{
		"another partition": {"partition": {s.partition + "x"}, "cursor": {token}},
		"another order":     {"partition": {s.partition}, "order": {"desc"}, "cursor": {token}},
		"another condition": {"partition": {s.partition}, "gt": {"1"}, "cursor": {token}},
		"cut":               {"partition": {s.partition}, "cursor": {token[:len(token)-4]}},
	} {
		answer, err := s.http.Get(t.Context(), "/v1/indexes/managed/items", query)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.page(answer, 400); got.Code != "invalid_cursor" {
			t.Errorf("%s: %s", name, answer.Body)
		}
	}
	_, err := cursor.Rotate(t.Context(), secretsmanager.NewFromConfig(s.config), s.output(schema.OutputCursorSecret), cursor.RotateOptions{})
	if _, rotated := errors.AsType[*cursor.TooSoonError](err); err != nil && !rotated { // an earlier run on this deployment has rotated it
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.users(1, 2), s.get("managed/items", "limit", "2", "cursor", token).ids()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatNoRouteServesIsNotFound(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	for _, path := range []string{"/", "/v1", "/v1/indexes/managed", "/v2/indexes/managed/items"} {
		answer, err := s.http.Get(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Status != 404 {
			t.Errorf("%s: HTTP %d %s", path, answer.Status, answer.Body)
		}
	}
}
