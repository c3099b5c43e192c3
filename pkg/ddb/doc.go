// Package ddb is the one place that talks the SDK's dialect: one-method client interfaces, the classes that its errors fall into, the
// conversion of values between stream records, the SDK and plain JSON, batches that hand back what was left over, and a meter for
// requests and capacity. Other packages build SDK requests but leave SDK errors and value conversion to it.
package ddb
