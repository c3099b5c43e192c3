package racelab

import (
	"math/rand/v2"

	"github.com/heatsink-dev/heatsink/pkg/account"
)

// NewContention is a client that lets transactions meet.
func NewContention(client account.Client, keys map[string]string, mutual float64) account.Client {
	return &contention{Client: client, keys: keys, mutual: mutual, random: rand.New(rand.NewPCG(1, 1)), flying: map[string]*flight{}}
}
