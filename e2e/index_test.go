package e2e_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// at is the managedKey of the n-th user as a parameter.
func at(n int) string { return strconv.Itoa(firstTime + n) }

func TestTheStreamFillsTheIndexAndHTTPReadsIt(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	for n := range 12 {
		s.user(n, int64(n), nil)
	}
	s.settled(12, 0)

	var got []string
	var sizes []int
	for parameters := []string{"limit", "5"}; ; {
		answer := s.get("managed/items", parameters...)
		got, sizes = append(got, answer.ids()...), append(sizes, len(answer.Items))
		if answer.Cursor == "" {
			break
		}
		parameters = []string{"limit", "5", "cursor", answer.Cursor}
	}
	if diff := cmp.Diff(s.users(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{5, 5, 2}, sizes); diff != "" {
		t.Error(diff)
	}
	for _, test := range []struct {
		parameters []string
		want       []string
	}{
		{[]string{"order", "desc", "limit", "2"}, s.users(11, 10)},
		{[]string{"eq", at(3)}, s.users(3)},
		{[]string{"gt", at(9)}, s.users(10, 11)},
		{[]string{"gte", at(2), "lt", at(4)}, s.users(2, 3)},
		{[]string{"lte", at(1), "consistent", "true"}, s.users(0, 1)},
		{[]string{"gte", at(4), "lte", at(2)}, s.users()},
	} {
		if diff := cmp.Diff(test.want, s.get("managed/items", test.parameters...).ids()); diff != "" {
			t.Errorf("%v: %s", test.parameters, diff)
		}
	}
	if exists := s.get("managed/exists", "gt", at(11)); exists.Exists == nil || *exists.Exists || exists.Cursor != "" {
		t.Errorf("exists past the end: %+v", exists)
	}
	if exists := s.get("managed/exists", "gte", at(11)); exists.Exists == nil || !*exists.Exists {
		t.Errorf("exists at the end: %+v", exists)
	}
	if count := s.get("managed/count", "lt", at(7)); count.Count == nil || *count.Count != 7 || count.Cursor != "" {
		t.Errorf("count: %+v", count)
	}
	for operation, body := range map[string]string{
		"items":  `{"partition":` + strconv.Quote(s.partition) + `,"gte":` + at(2) + `,"lt":"` + at(4) + `","order":"asc","limit":9}`,
		"exists": `{"partition":` + strconv.Quote(s.partition) + `}`,
		"count":  `{"partition":` + strconv.Quote(s.partition) + `}`,
	} {
		answer, err := s.http.Do(t.Context(), "POST", "/v1/indexes/managed/"+operation, "", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got := s.page(answer, 200)
		if operation == "items" && !slices.Equal(got.ids(), s.users(2, 3)) || operation == "exists" && !*got.Exists || operation == "count" && *got.Count != 12 {
			t.Errorf("POST %s: %s", operation, answer.Body)
		}
	}
}

func TestMovesAndDeletesLeaveTombstonesThatNoReaderSees(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	for n := range 6 {
		s.user(n, int64(n), ddb.Item{"note": text("first")})
	}
	s.settled(6, 0)
	s.user(0, 0, ddb.Item{"note": text("second")}) // an update in place
	s.user(1, 100, nil)                            // a move
	s.remove(2)
	s.remove(3)
	s.put(ddb.Item{"userId": text(s.id(4)), "ID": text(s.partition)}) // leaves the index: no sort key any more
	s.settled(3, 4)
	s.user(3, 3, nil) // signs up again: the row sheds its mark
	s.settled(4, 3)
	answer := s.get("managed/items", "limit", "3")
	if diff := cmp.Diff(s.users(0, 3, 5), answer.ids()); diff != "" {
		t.Error(diff)
	}
	if string(answer.Items[0]["note"]) != `"second"` {
		t.Errorf("the update does not show: %s", answer.Items[0])
	}
	if diff := cmp.Diff(s.users(1), s.get("managed/items", "limit", "3", "cursor", answer.Cursor).ids()); diff != "" {
		t.Error(diff)
	}
	_, dead := s.rows()
	for _, row := range dead {
		version, versioned := row[schema.VersionAttribute].(*types.AttributeValueMemberS)
		_, expires := row[schema.TTLAttribute].(*types.AttributeValueMemberN)
		if len(row) != 5 || !versioned || version.Value == "" || !expires {
			t.Errorf("a tombstone is key, mark, version and expiry, and nothing else: %v", row)
		}
	}
}

func TestRowsHaveTheKeyOfTheContract(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	s.put(ddb.Item{"userId": text(s.id(0)), "ID": text(s.partition), "managedKey": number(7)})
	s.settled(1, 0)
	live, _ := s.rows()
	if key, ok := live[0][schema.SortKeyAttribute].(*types.AttributeValueMemberS); !ok || key.Value != "0000000000007#"+s.id(0) {
		t.Errorf("SK is %v", live[0][schema.SortKeyAttribute])
	}
}

// The switch moves readers between forms that both are kept: whatever the form, the same answer, also in the middle of a walk.
func TestBothFormsAnswerTheSame(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	for n := range 20 {
		s.user(n, int64(n/3), nil) // ties
	}
	s.remove(4)
	s.settled(19, 1)
	index := s.index("managed")
	key, err := cursor.DeriveKey([]byte(strings.Repeat("k", 32)), "v1")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := query.New(index, query.Config{
		Client: s.dynamo, BaseTable: s.table(index.Source.Name), IndexTable: s.table(index.TableName()), Cursors: cursor.New(cursor.NewStaticKeyring(key), cursor.Options{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func(forms ...schema.Form) (ids []string) {
		request := query.Request{Partition: sortkey.Text(s.partition), Limit: 4}
		for n := 0; ; n++ {
			request.Form = forms[n%len(forms)]
			page, err := reader.Query(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Items {
				id := item["userId"].(*types.AttributeValueMemberS).Value
				if !slices.Contains(ids, id) || len(forms) == 1 { // a walk that changes the form may repeat ties, once
					ids = append(ids, id)
				}
			}
			if request.Cursor = page.Cursor; page.Cursor == "" {
				slices.Sort(ids)
				return ids
			}
		}
	}
	var want []string
	for n := range 20 {
		if n != 4 {
			want = append(want, s.id(n))
		}
	}
	for name, forms := range map[string][]schema.Form{"GSI": {schema.GSI}, "TABLE": {schema.Table}, "both in turn": {schema.GSI, schema.Table}} {
		if diff := cmp.Diff(want, read(forms...)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheSecondIndexIsSparseAndProjectsWhatItSays(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	for n, user := range []ddb.Item{
		{"status": text("active"), "joinedOn": text("2026-02-01"), "nickname": text("a"), "email": text("a@example.com")},
		{"status": text("active"), "joinedOn": text("2026-01-01")},
		{"status": text("left"), "joinedOn": text("2026-01-01")},
		{"status": text("active")}, // not in the index
	} {
		user["userId"], user["teamId"] = text(s.id(n)), text(s.partition)
		s.put(user)
	}
	s.eventually("the second index follows", func() (bool, any) {
		got := s.get("team-status/items").ids()
		return slices.Equal(got, s.users(1, 0, 2)), got
	})
	if diff := cmp.Diff(s.users(1, 0), s.get("team-status/items", "under", "active", "gte", "2026-01-01").ids()); diff != "" {
		t.Error(diff)
	}
	want := map[string]json.RawMessage{
		"userId": json.RawMessage(strconv.Quote(s.id(0))), "teamId": json.RawMessage(strconv.Quote(s.partition)),
		"status": json.RawMessage(`"active"`), "joinedOn": json.RawMessage(`"2026-02-01"`), "nickname": json.RawMessage(`"a"`),
	}
	if diff := cmp.Diff(want, s.get("team-status/items", "under", "active", "gt", "2026-01-01").Items[0]); diff != "" {
		t.Error(diff)
	}
}
