// Package partition is the arithmetic of DynamoDB's capacity: what a request costs, how many partitions and shards a load needs, what a
// month costs, and which keys become hot. Package main shows it as `heatsink plan`.
//
// # Problem
//
// A team that sizes an event buffer by hand goes wrong in known places: storage of an index 1,000 times too high, updates forgotten, reads
// rounded once instead of once per shard, shards counted as if keys spread evenly. [Make] computes such a plan twice: by the rules of the
// story that heatsink is built from, flaws included, and by DynamoDB's own, with each difference as an amount and a sentence.
//
// # Guarantees
//
//   - Exact: sizes, units and rows are integers, half read units are counted in halves ([ReadHalves]), money is rational ([Money]) and the
//     risk of an overloaded partition is a fraction of two integers ([OverloadRisk]). Nothing passes through a float; rounding happens when
//     a number is printed, half to even.
//   - Every input is checked: a [*InputError] names the field and its limit.
//   - Prices carry their region, date and source ([Prices]); they stand in one file, prices.json.
//   - Pure: no I/O, no clock, no randomness. The same inputs give the same plan.
//
// # Non-guarantees
//
//   - Rows are taken to spread evenly over shards, and events over the day; only [OverloadRisk] models uneven keys.
//   - The bill holds storage, writes and reads of an on-demand table of the Standard class. Backups, streams, functions, metrics, data
//     transfer, taxes and the free tier are not in it.
//   - AWS publishes neither when a partition splits for heat nor how many partitions a table has; where the model assumes, it says so.
package partition
