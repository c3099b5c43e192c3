package racelab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// errTaken is how the naive way refuses a name.
var errTaken = errors.New("the name is taken")

// lagging hides from the reader of an index what was written less than the delay ago, as an index does that is behind.
type lagging struct {
	delay time.Duration
	now   func() time.Time

	mu      sync.Mutex
	written map[string]writing
}

// writing is when a user was written; under way until then.
type writing struct {
	done bool
	at   time.Time
}

func (l *lagging) begin(userID string) { l.note(userID, writing{}) }
func (l *lagging) end(userID string)   { l.note(userID, writing{done: true, at: l.now()}) }

func (l *lagging) note(userID string, w writing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written[userID] = w
}

// shows reports whether the index is said to have a user already.
func (l *lagging) shows(userID string) bool {
	if l.delay <= 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w, known := l.written[userID]
	return !known || w.done && !l.now().Before(w.at.Add(l.delay))
}

// naiveSignUp looks in the index whether the name is free, and then writes.
func (e *experiments) naiveSignUp(ctx context.Context, userID, nickname string) error {
	n, err := account.ParseNickname(nickname)
	if err != nil {
		return err
	}
	taken, err := e.lookUp(ctx, n.Form)
	if err != nil {
		return err
	}
	if taken {
		return errTaken
	}
	e.index.begin(userID)
	defer e.index.end(userID)
	_, err = e.config.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &e.tables.naive, Item: ddb.Item{
		account.UserIDAttribute: text(userID), account.NicknameAttribute: text(n.Spelling), formAttribute: text(n.Form),
	}})
	return err
}

func (e *experiments) lookUp(ctx context.Context, form string) (bool, error) {
	out, err := e.config.Client.Query(ctx, &dynamodb.QueryInput{
		TableName: &e.tables.naive, IndexName: aws.String(nicknameIndex), KeyConditionExpression: aws.String("#form = :form"),
		ExpressionAttributeNames: map[string]string{"#form": formAttribute}, ExpressionAttributeValues: ddb.Item{":form": text(form)},
	})
	if err != nil {
		return false, err
	}
	for _, item := range out.Items {
		if e.index.shows(textOf(item, account.UserIDAttribute)) {
			return true, nil
		}
	}
	return false, nil
}

// naiveDelete deletes a user and its claim in one transaction, once, and takes every refusal for "somebody else has done it".
func (e *experiments) naiveDelete(ctx context.Context, userID, form string) error {
	claim := unique.Claim{Constraint: account.NicknameConstraint, Value: form}
	_, err := e.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Delete: &types.Delete{
			TableName: &e.tables.users, Key: ddb.Item{account.UserIDAttribute: text(userID)},
			ConditionExpression: aws.String("attribute_exists(#id)"), ExpressionAttributeNames: map[string]string{"#id": account.UserIDAttribute},
		}},
		{Delete: &types.Delete{TableName: &e.tables.claims, Key: ddb.Item{unique.KeyAttribute: text(claim.Key())}}},
	}})
	return err
}

// naiveOutcome sorts an answer as the naive way does.
func (r *Row) naiveOutcome(err error) error {
	r.Calls++
	switch class := ddb.Classify(err).Class; {
	case err == nil:
		r.Wins++
	case errors.Is(err, errTaken), class == ddb.ConditionFailed:
		r.Refused++
	case class == ddb.Conflict, class == ddb.Throttled:
		r.Refused++
		r.TryAgains++
	default:
		return fmt.Errorf("%s, %s: %w", r.Experiment, r.Way, err)
	}
	return nil
}

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func textOf(item ddb.Item, name string) string {
	if value, ok := item[name].(*types.AttributeValueMemberS); ok {
		return value.Value
	}
	return ""
}
