package tour

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/deployment"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
)

// accountTour is the state of the chapter: users that race for one nickname.
type accountTour struct {
	*Tour
	ctx      context.Context //nolint:containedctx // one chapter is one call
	claims   string
	nickname string
	winner   string
	loser    string
}

// owner is an answer of /v1/nicknames, and what the chapter looks at in a user.
type owner struct {
	Nickname string `json:"nickname"`
	UserID   string `json:"userId"`
}

// racers sign up at once for one nickname.
const racers = 3

func accounts(ctx context.Context, t *Tour) error {
	// A nickname is one DNS label in one script: the run's name serves, with a letter that has an upper case outside of ASCII.
	c := &accountTour{Tour: t, ctx: ctx, nickname: "bü-" + strings.TrimPrefix(t.run, "tour-")}
	var err error
	if c.claims, err = t.Deployment.Table(catalog.ClaimTable); err != nil {
		return err
	}
	walked := t.steps(c.race, c.spellings, c.rename, c.badNames, c.withdraw)
	return errorsFirst(walked, c.clean())
}

func (c *accountTour) user(n int) string { return fmt.Sprintf("%s-a%d", c.run, n) }

// race lets several users sign up at once for spellings of one nickname.
func (c *accountTour) race() error {
	return c.step(fmt.Sprintf("%d users sign up at once for one nickname", racers), func() (string, error) {
		type outcome struct {
			answer *deployment.Answer
			err    error
		}
		answers := make([]outcome, racers)
		done := make(chan int)
		for n := range racers {
			go func() {
				nickname := []string{c.nickname, strings.ToUpper(c.nickname), strings.Replace(c.nickname, "ü", "u\u0308", 1)}[n%3]
				answers[n].answer, answers[n].err = c.http.Send(c.ctx, "POST", "/v1/users", map[string]any{"userId": c.user(n), "nickname": nickname})
				done <- n
			}()
		}
		for range racers {
			<-done
		}
		won, taken := 0, 0
		for n, got := range answers {
			switch {
			case got.err != nil:
				return "", got.err
			case got.answer.Status == 201:
				won++
				c.winner = c.user(n)
			case got.answer.Status == 409 && got.answer.Code() == "nickname_taken":
				taken++
				c.loser = c.user(n)
			default:
				return "", fmt.Errorf("HTTP %d %s", got.answer.Status, got.answer.Code())
			}
		}
		if won != 1 || taken != racers-1 {
			return "", fmt.Errorf("%d won and %d were told that it is taken", won, taken)
		}
		holder, err := c.claim("NICKNAME#" + c.nickname)
		if err != nil {
			return "", err
		}
		if holder != c.winner {
			return "", fmt.Errorf("the claim belongs to another than the winner")
		}
		return fmt.Sprintf("1 of %d won, read strongly from %s; the others got nickname_taken and no user", racers, c.claims), nil
	})
}

// claim reads the owner of a claim, strongly consistent. Empty: nobody.
func (c *accountTour) claim(key string) (string, error) {
	out, err := c.dynamo.GetItem(c.ctx, &dynamodb.GetItemInput{
		TableName: &c.claims, Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return "", fmt.Errorf("read claim: %w", err)
	}
	if id, ok := out.Item["owner"].(*types.AttributeValueMemberS); ok {
		return id.Value, nil
	}
	return "", nil
}

// ask calls and checks the status and, of a refusal, the code.
func (c *accountTour) ask(method, path string, body any, status int, code string) (owner, error) {
	var answer *deployment.Answer
	var err error
	if body == nil {
		answer, err = c.http.Do(c.ctx, method, path, "", nil)
	} else {
		answer, err = c.http.Send(c.ctx, method, path, body)
	}
	if err != nil {
		return owner{}, err
	}
	if answer.Status != status || answer.Code() != code {
		return owner{}, fmt.Errorf("%s: HTTP %d %s, want %d %s", method, answer.Status, answer.Code(), status, code)
	}
	var got owner
	if status >= 300 || status == 204 {
		return got, nil
	}
	return got, answer.Decode(&got)
}

func (c *accountTour) owner(nickname string) (*deployment.Answer, owner, error) {
	answer, err := c.http.Get(c.ctx, "/v1/nicknames", url.Values{"nickname": {nickname}})
	if err != nil {
		return nil, owner{}, err
	}
	var got owner
	return answer, got, answer.Decode(&got)
}

func (c *accountTour) spellings() error {
	return c.step("every spelling finds the one owner", func() (string, error) {
		for _, spelling := range []string{c.nickname, strings.ToUpper(c.nickname), strings.Replace(c.nickname, "ü", "u\u0308", 1), strings.Replace(c.nickname, "b", "ｂ", 1)} {
			answer, got, err := c.owner(spelling)
			if err != nil {
				return "", err
			}
			if answer.Status != 200 || got.UserID != c.winner {
				return "", fmt.Errorf("HTTP %d %s", answer.Status, answer.Code())
			}
		}
		return "upper case, decomposed, full width: one name, answered in its owner's own spelling", nil
	})
}

func (c *accountTour) rename() error {
	return c.step("the winner takes another name, a loser takes the one that is free now", func() (string, error) {
		if _, err := c.ask("PUT", "/v1/users/"+c.winner+"/nickname", map[string]string{"nickname": c.nickname + "-2"}, 200, ""); err != nil {
			return "", err
		}
		if _, err := c.ask("POST", "/v1/users", map[string]string{"userId": c.loser, "nickname": c.nickname}, 201, ""); err != nil {
			return "", err
		}
		if _, err := c.ask("PUT", "/v1/users/"+c.winner+"/nickname", map[string]string{"nickname": c.nickname}, 409, "nickname_taken"); err != nil {
			return "", err
		}
		return "old name freed and new one taken in one transaction; the way back is closed", nil
	})
}

func (c *accountTour) badNames() error {
	return c.step("bad nicknames", func() (string, error) {
		bad := []string{"", "www", "two words", "аdmin", strings.Repeat("x", 64), "-edge"}
		for _, nickname := range bad {
			if _, err := c.ask("PUT", "/v1/users/"+c.winner+"/nickname", map[string]string{"nickname": nickname}, 400, "invalid_parameter"); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("%d nicknames refused, each with its one reason (empty, reserved, a character, mixed scripts, too long, a hyphen)", len(bad)), nil
	})
}

func (c *accountTour) withdraw() error {
	return c.step("a withdrawal, twice", func() (string, error) {
		for range 2 {
			if _, err := c.ask("DELETE", "/v1/users/"+c.loser, nil, 204, ""); err != nil {
				return "", err
			}
		}
		if _, err := c.ask("GET", "/v1/users/"+c.loser, nil, 404, "user_not_found"); err != nil {
			return "", err
		}
		holder, err := c.claim("NICKNAME#" + c.nickname)
		if err != nil {
			return "", err
		}
		if holder != "" {
			return "", fmt.Errorf("the claim is still there")
		}
		return "user and claim are gone, and the repeat changed nothing", nil
	})
}

func (c *accountTour) clean() error {
	return c.step("tidy up", func() (string, error) {
		for n := range racers {
			if _, err := c.ask("DELETE", "/v1/users/"+c.user(n), nil, 204, ""); err != nil {
				return "", err
			}
		}
		return "every user of this chapter withdrawn; no claim is left", nil
	})
}
