package racelab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// Client is what a [Lab] calls. *dynamodb.Client implements it.
type Client interface {
	account.Client
	ddb.Querier
	ddb.Putter
	ddb.Scanner
	dynamodb.DescribeTableAPIClient
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
	DeleteTable(context.Context, *dynamodb.DeleteTableInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteTableOutput, error)
}

var _ Client = (*dynamodb.Client)(nil)

// The story's experiments.
const (
	atOnce  = 3  // callers who want one name at the same time
	pairs   = 20 // of callers who want one name, one right after the other
	deletes = 20 // rounds of two callers who delete one target at the same time
)

// Config of [New]. Client and Users are needed.
type Config struct {
	Client Client
	// Users is the user table in the catalog, for package account.
	Users *schema.BaseTable
	// Lag is how late the naive way sees what was written, beside what the index is late by itself. Zero: nothing is injected.
	Lag time.Duration
	// Conflicts refuses a transaction that meets another one under way at one of its items, and now and then both, as DynamoDB may. For engines that never do.
	Conflicts bool
	// Mutual is how often an injected conflict refuses both, 0 to 1. Zero: 0.25. AWS documents that it happens, not how often.
	Mutual float64
	// Retry says how the callers wait before they try again.
	Retry ddb.Policy
	// Patience bounds the making and the deleting of tables, each. Zero: 2 minutes.
	Patience time.Duration
	// Now is the clock. Nil: the system's.
	Now func() time.Time
	// Seed rules which conflicts refuse both transactions.
	Seed uint64
}

// Lab runs the experiments once.
type Lab struct {
	config Config
	tables tables
}

// tables are deployed names.
type tables struct{ naive, users, claims string }

// New gives the tables their names; it makes no request.
func New(config Config) (*Lab, error) {
	if config.Client == nil || config.Users == nil {
		return nil, errors.New("racelab: needs a client and the user table's schema")
	}
	if config.Patience <= 0 {
		config.Patience = 2 * time.Minute
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Mutual <= 0 {
		config.Mutual = 0.25
	}
	prefix := "heatsink-lab-race-" + rand.Text()[:12]
	return &Lab{config: config, tables: tables{naive: prefix + "-naive", users: prefix + "-user", claims: prefix + "-claim"}}, nil
}

// Tables are the names of the tables that Run makes and deletes.
func (l *Lab) Tables() []string { return []string{l.tables.naive, l.tables.users, l.tables.claims} }

// Requests is about how many requests Run makes at most, where nothing has to be tried again more than a few times.
func (l *Lab) Requests() int {
	signUps := atOnce + 2*pairs
	naive := 2*signUps + 2*deletes                  // query and put; a transaction each
	claims := signUps + deletes*2*(3*3)             // a transaction; two withdrawals of three requests, three times over
	targets := 2 * deletes                          // that are there to be deleted
	control := len(l.Tables())*(1+1+10+10) + 3 + 10 // make, delete, wait; read; try again
	return naive + claims + targets + control
}

// Row is one experiment done one way.
type Row struct {
	Experiment string `json:"experiment"`
	// Way is naive or claims.
	Way    string `json:"way"`
	Rounds int    `json:"rounds"`
	// Calls by callers, those that they made again included.
	Calls int `json:"calls"`
	// Wins are calls that ended in success, Refused those that ended in a refusal.
	Wins    int `json:"wins"`
	Refused int `json:"refused"`
	// TryAgains are answers that said neither: a conflict, a throttle, no answer. With claims the caller tries again; the naive way takes them for a refusal.
	TryAgains int `json:"tryAgains"`
	// Undecided callers had no answer to the end.
	Undecided int `json:"undecided"`
	// Leaks: owners too many of a name, or targets that nobody deleted.
	Leaks int `json:"leaks"`
	// Final is what was there at the end, read strongly consistent from the base tables.
	Final string `json:"final"`
	// Whole: the final state is what it must be.
	Whole bool `json:"whole"`
}

// Ways of a [Row].
const (
	Naive  = "naive"
	Claims = "claims"
)

// Report of a run.
type Report struct {
	Rows []Row `json:"rows"`
	// Lag and Conflicts that were injected.
	InjectedLag       string `json:"injectedLag"`
	InjectedConflicts bool   `json:"injectedConflicts"`
	// Passed: with claims, every name had exactly one owner at the end and every target was gone, and no caller was left without an answer.
	Passed bool `json:"passed"`
	// CleanedUp: all tables are gone. Otherwise LeftBehind names those that may not be.
	CleanedUp  bool     `json:"cleanedUp"`
	LeftBehind []string `json:"leftBehind,omitempty"`
}

// Run makes the tables, lets the callers race, reads what is left, and deletes the tables, whatever happened and even where the context has ended. The report is valid
// beside an error, which says why the experiments could not be done to the end.
func (l *Lab) Run(ctx context.Context) (report Report, err error) {
	report.InjectedLag, report.InjectedConflicts = l.config.Lag.String(), l.config.Conflicts
	defer func() {
		report.LeftBehind = l.cleanUp(context.WithoutCancel(ctx))
		report.CleanedUp = len(report.LeftBehind) == 0
	}()
	if err := l.create(ctx); err != nil {
		return report, err
	}
	e, err := l.experiments()
	if err != nil {
		return report, err
	}
	for _, experiment := range []func(context.Context) (Row, error){
		e.naiveAtOnce, e.claimAtOnce, e.naivePairs, e.claimPairs, e.naiveDeletes, e.claimDeletes,
	} {
		row, err := experiment(ctx)
		if err != nil {
			return report, err
		}
		report.Rows = append(report.Rows, row)
	}
	report.Passed = true
	for _, row := range report.Rows {
		if row.Way == Claims && (!row.Whole || row.Leaks > 0 || row.Undecided > 0) {
			report.Passed = false
		}
	}
	return report, nil
}

func (l *Lab) experiments() (*experiments, error) {
	var client account.Client = l.config.Client
	if l.config.Conflicts {
		client = &contention{
			Client: client, keys: map[string]string{l.tables.users: account.UserIDAttribute, l.tables.claims: unique.KeyAttribute},
			mutual: l.config.Mutual, random: mathrand.New(mathrand.NewPCG(l.config.Seed, l.config.Seed)), flying: map[string]*flight{}, //nolint:gosec // an experiment's chance
		}
	}
	// One try each: whether to try again is the caller's, which the experiment is about.
	retry := l.config.Retry
	retry.Attempts = 1
	service, err := account.New(account.Config{
		Client: client, Users: l.config.Users, UserTable: l.tables.users, ClaimTable: l.tables.claims, Retry: retry, Reserved: []string{},
	})
	if err != nil {
		return nil, fmt.Errorf("racelab: %w", err)
	}
	return &experiments{Lab: l, client: client, service: service, index: &lagging{delay: l.config.Lag, now: l.config.Now, written: map[string]writing{}}}, nil
}
