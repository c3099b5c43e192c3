package cursor_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
)

var errDown = errors.New("secrets manager is down")

// version of the secret in a vault: the last one is AWSCURRENT, the one before AWSPREVIOUS.
type version struct {
	id      string
	secret  []byte
	text    bool
	created time.Time
}

// vault scripts what the real Secrets Manager does only by chance: failures, slowness, a rotation between two calls. What it does in
// normal running is tested against the engine in TestRotationWalk.
type vault struct {
	mu       sync.Mutex
	versions []version
	fail     map[string]error // by stage
	hold     chan struct{}    // calls wait for it if set
	between  func()           // called after AWSCURRENT was read
	fetches  int              // calls for AWSCURRENT
	calls    []string
}

func (v *vault) rotate(next version) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.versions = append(v.versions, next)
}

func (v *vault) setFail(stage string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.fail == nil {
		v.fail = map[string]error{}
	}
	v.fail[stage] = err
}

func (v *vault) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.fetches
}

func (v *vault) GetSecretValue(ctx context.Context, in *secretsmanager.GetSecretValueInput, _ ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error) {
	stage := aws.ToString(in.VersionStage)
	v.mu.Lock()
	v.calls = append(v.calls, stage)
	if stage == "AWSCURRENT" {
		v.fetches++
	}
	hold := v.hold
	v.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.fail[stage]; err != nil {
		return nil, err
	}
	at := len(v.versions) - 1
	if stage == "AWSPREVIOUS" {
		at--
	}
	if at < 0 {
		return nil, &types.ResourceNotFoundException{Message: aws.String("Secrets Manager can't find the specified secret value for staging label: " + stage)}
	}
	found := v.versions[at]
	out := &secretsmanager.GetSecretValueOutput{VersionId: &found.id, CreatedDate: &found.created}
	if found.text {
		out.SecretString = aws.String(string(found.secret))
	} else {
		out.SecretBinary = found.secret
	}
	if stage == "AWSCURRENT" && v.between != nil {
		between := v.between
		v.between = nil
		v.mu.Unlock()
		between()
		v.mu.Lock()
	}
	return out, nil
}
