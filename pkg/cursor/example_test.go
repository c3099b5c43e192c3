package cursor_test

import (
	"context"
	"fmt"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// A walk over the index managed stops behind a row; the cursor carries it to the next request, and to no other question.
func Example() {
	ctx := context.Background()
	key, err := cursor.DeriveKey([]byte("at least thirty-two bytes of secret"), "version-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	sealer := cursor.New(cursor.NewStaticKeyring(key), cursor.Options{})

	stopped := cursor.Position{
		Form:  schema.Table,
		Parts: []sortkey.Value{sortkey.Number("1699900000000")},
		Base:  []sortkey.Value{sortkey.Text("user-aaa")},
	}
	payload, err := stopped.MarshalBinary()
	if err != nil {
		fmt.Println(err)
		return
	}
	question := cursor.Binding{Scope: "index:managed", Partition: sortkey.Text("team-1")}
	token, err := sealer.Seal(ctx, question, payload)
	if err != nil {
		fmt.Println(err)
		return
	}

	opened, err := sealer.Open(ctx, question, token)
	if err != nil {
		fmt.Println(err)
		return
	}
	var next cursor.Position
	if err := next.UnmarshalBinary(opened); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("continue", next.Form, "after", next.Parts, next.Base)

	question.Partition = sortkey.Text("team-2")
	_, err = sealer.Open(ctx, question, token)
	fmt.Println(err)
	// Output:
	// continue TABLE after [1699900000000] [user-aaa]
	// cursor: invalid cursor
}

// A key prints as its id, which is public anyway.
func ExampleKey() {
	key, err := cursor.DeriveKey([]byte("at least thirty-two bytes of secret"), "version-1")
	fmt.Printf("%v %x %v\n", key, key, err)
	// Output: cursor.Key(12ddae32c9fd0c69) cursor.Key(12ddae32c9fd0c69) <nil>
}
