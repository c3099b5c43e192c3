// Command bare is the least that a Lambda function in Go can be: what a function costs before it does anything.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.StartHandlerFunc(func(context.Context, any) (any, error) { return nil, nil })
}
