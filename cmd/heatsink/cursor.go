package main

import (
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/deployment"
	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

type cursorCommand struct {
	Rotate cursorRotateCommand `cmd:"" help:"Put a new key; cursors that are out stay valid."`
}

type cursorRotateCommand struct {
	Secret  string `help:"ARN or name of the secret. Default: the environment variable HEATSINK_CURSOR_SECRET, or the outputs file."`
	Outputs string `help:"CDK outputs file to find the secret in." type:"path" placeholder:"FILE"`
	JSON    bool   `help:"Print JSON."`
}

// Help shows examples.
func (cursorRotateCommand) Help() string {
	return `The new key seals, the one before still opens. Rotating again before the last cursors of that one have expired would end them, so it is refused
with the time from which it is allowed.

Examples:

    heatsink cursor rotate --secret arn:aws:secretsmanager:eu-central-1:123456789012:secret:CursorSecret-AbCdEf
    heatsink cursor rotate --outputs .local/outputs.json --json`
}

// Run rotates.
func (c *cursorRotateCommand) Run(console *console) error {
	secret := c.Secret
	if secret == "" {
		secret = console.env(schema.EnvCursorSecret)
	}
	if secret == "" && c.Outputs != "" {
		if err := readable(c.Outputs); err != nil {
			return err
		}
		deployed, err := deployment.Load(c.Outputs)
		if err != nil {
			return err
		}
		secret, _ = deployed.Environment(schema.EnvCursorSecret)
	}
	if secret == "" {
		return usage("which secret? Give --secret, or --outputs with a CDK outputs file, or set %s", schema.EnvCursorSecret)
	}
	aws, err := console.aws()
	if err != nil {
		return err
	}
	done, err := cursor.Rotate(console.ctx, secretsmanager.NewFromConfig(aws), secret, cursor.RotateOptions{})
	if errors.Is(err, cursor.ErrRotating) {
		console.printf("someone else has just rotated it: nothing left to do\n")
		return nil
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return console.json(map[string]string{"versionId": done.VersionID, "nextAllowed": done.NextAllowed.Format(time.RFC3339)})
	}
	console.printf("rotated: version %s seals, the one before still opens\nnext rotation from %s\n", done.VersionID, done.NextAllowed.Format(time.RFC3339))
	return nil
}
