package partition

// What one partition holds and serves (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html). Reads and
// writes are counted apart, and no setting of the table lifts either.
const (
	PartitionWrites     WriteUnits = 1000           // write units a second
	PartitionReads      int64      = 3000           // read units a second
	PartitionBytes      Bytes      = 10_000_000_000 // about 10 GB; decimal here, the careful reading
	NewOnDemandTable    int64      = 4              // partitions of a new on-demand table or GSI: 4,000 WU/s and 12,000 RU/s; inferred from both
	DefaultTableQuota   WriteUnits = 40_000         // write units a second of a table, until AWS raises the quota
	OnDemandGrowthLimit int64      = 2              // an on-demand table takes twice its former peak at once; beyond, it may throttle for 30 minutes
)

// PartitionsBySize is how many partitions the bytes need, at least one.
func PartitionsBySize(stored Bytes) int64 {
	return max(1, ceilDiv(int64(stored), int64(PartitionBytes)))
}

// PartitionsByThroughput is how many partitions the load of a second needs, if it spreads evenly: the larger of what writes and what reads need, at
// least one.
func PartitionsByThroughput(writes WriteUnits, reads ReadHalves) int64 {
	return max(1, ceilDiv(int64(writes), int64(PartitionWrites)), ceilDiv(int64(reads), 2*PartitionReads))
}

// Provisioned is a table with provisioned writes. DynamoDB divides the throughput evenly and never merges partitions.
type Provisioned struct {
	Partitions   int64
	PerPartition WriteUnits // a second, rounded down
}

// Provision is how a new table is laid out for the write units a second.
func Provision(writes WriteUnits) Provisioned {
	partitions := PartitionsByThroughput(writes, 0)
	return Provisioned{partitions, writes / WriteUnits(partitions)}
}

// Resize changes the table's write units a second: partitions double until each stays within its limit, and stay when it is lowered
// (https://www.usenix.org/conference/atc22/presentation/elhemali, section 4: 3,200 are 4 x 800, raised to 6,000 they are 8 x 750).
func (p Provisioned) Resize(writes WriteUnits) Provisioned {
	partitions := max(1, p.Partitions)
	for ceilDiv(int64(writes), partitions) > int64(PartitionWrites) {
		partitions *= 2
	}
	return Provisioned{partitions, writes / WriteUnits(partitions)}
}
