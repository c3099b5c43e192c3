// Package racelab shows why a nickname needs a claim: it lets callers race for names, once the naive way and once with claims, on tables of its own, and then reads
// what is there.
//
// # Problem
//
// "Look whether the name is free, then write" looks right and passes tests. It leaks, since between the look and the write others look too, and since a global secondary
// index shows the past. And a test that counts errors only does not see it: what counts is the state that is left.
//
// # Guarantees
//
//   - What it says of the final state comes from strongly consistent reads of the base tables, after all callers have ended.
//   - Whether claims held, and whether everything was cleaned up, are two answers. Cleaning up happens also when the run is interrupted or fails.
//   - It touches no table but its own, which have random names and the tag heatsink:lab.
//
// # Non-guarantees
//
// How often the naive way leaks depends on the lag of the index. The local cloud's index is never behind, and its transactions never conflict: both are injected there, as
// [Config] says, and every report names what was.
package racelab
