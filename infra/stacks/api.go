package stacks

import (
	"encoding/json"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// stageProps bounds what callers can ask of the HTTP API. HTTP APIs have no WAF, and all APIs of an account share 10,000 requests a second
// (https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html), so this one takes a fifth of them at most.
type stageProps struct {
	// RequestsPerSecond is the steady rate, Burst what may come at once on top of a quiet second.
	RequestsPerSecond, Burst float64
}

var apiStage = stageProps{RequestsPerSecond: 2000, Burst: 1000}

// APIStack is the HTTP API and the functions behind it.
type APIStack struct {
	Stack awscdk.Stack
	API   awsapigatewayv2.HttpApi
	// Functions by name.
	Functions map[string]*function
}

func newAPIStack(b *builder, data *DataStack) *APIStack {
	a := &APIStack{Stack: b.stack(schema.APIStack, "the HTTP API and its functions", false), Functions: map[string]*function{}}
	a.Functions[routes.API] = a.addAPI(b, data)
	if b.options.Has(routes.Nickname) {
		a.Functions[routes.Nickname] = a.addNickname(b, data)
	}
	if b.options.Has(routes.Events) {
		a.Functions[routes.Events] = a.addEvents(b, data)
	}
	a.addHTTP(b)
	return a
}

// addHTTP makes the API with one route for each pattern that its functions know, and its only stage.
func (a *APIStack) addHTTP(b *builder) {
	a.API = awsapigatewayv2.NewHttpApi(a.Stack, jsii.String("HttpApi"), &awsapigatewayv2.HttpApiProps{
		ApiName:            jsii.String("heatsink-" + string(b.options.Stage)),
		Description:        jsii.String("heatsink: index reads, users and nicknames, the event buffer"),
		CreateDefaultStage: jsii.Bool(false), // ours has limits, a log and metrics
		DefaultAuthorizer:  authorizer(b.options),
	})
	awscdk.CrossStackReferences_Of(a.API).Produce(awscdk.ReferenceStrength_WEAK)
	for _, name := range routes.Functions() {
		target, deployed := a.Functions[name]
		if !deployed {
			continue
		}
		integration := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String(name), target.lambda, &awsapigatewayv2integrations.HttpLambdaIntegrationProps{
			PayloadFormatVersion:   awsapigatewayv2.PayloadFormatVersion_VERSION_2_0(),
			ScopePermissionToRoute: jsii.Bool(false), // one permission for this API, not one for each of its routes
		})
		for _, route := range routes.Of(name) {
			method, path := routes.Split(route)
			added := a.API.AddRoutes(&awsapigatewayv2.AddRoutesOptions{
				Path: jsii.String(path), Methods: &[]awsapigatewayv2.HttpMethod{awsapigatewayv2.HttpMethod(method)}, Integration: integration,
			})
			if b.options.Auth == None {
				for _, one := range *added {
					exempt(one, exemption{rule: "AwsSolutions-APIG4", reason: "auth=none is asked for by the one who deploys, and refused for prod."})
				}
			}
		}
	}
	a.addStage(b)
	output(a.Stack, schema.OutputURL, jsii.String("https://"+*a.API.HttpApiId()+".execute-api."+*a.Stack.Region()+"."+*a.Stack.UrlSuffix()))
	if b.options.Local {
		output(a.Stack, schema.OutputLocalURL, jsii.String(b.options.LocalEndpoint+"/_aws/execute-api/"+*a.API.HttpApiId()+"/$default"))
	}
}

func authorizer(options Options) awsapigatewayv2.IHttpRouteAuthorizer {
	switch options.Auth {
	case IAM:
		return awsapigatewayv2authorizers.NewHttpIamAuthorizer()
	case JWT:
		return awsapigatewayv2authorizers.NewHttpJwtAuthorizer(jsii.String("Jwt"), jsii.String(options.JWTIssuer),
			&awsapigatewayv2authorizers.HttpJwtAuthorizerProps{JwtAudience: jsii.Strings(options.JWTAudience...)})
	default:
		return nil
	}
}

// addStage makes the $default stage, so that paths carry no stage name. The access log names the route, never the path or the query: these hold
// user ids and key values.
func (a *APIStack) addStage(b *builder) {
	logs := b.logGroup(a.Stack, "AccessLogs")
	stage := awsapigatewayv2.NewHttpStage(a.Stack, jsii.String("DefaultStage"), &awsapigatewayv2.HttpStageProps{
		HttpApi: a.API, StageName: jsii.String("$default"), AutoDeploy: jsii.Bool(true),
		DetailedMetricsEnabled: jsii.Bool(true), // latency and errors by route
		Throttle: &awsapigatewayv2.ThrottleSettings{
			RateLimit: jsii.Number(apiStage.RequestsPerSecond), BurstLimit: jsii.Number(apiStage.Burst),
		},
	})
	stage.Node().DefaultChild().(awsapigatewayv2.CfnStage).SetAccessLogSettings(&awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
		DestinationArn: logs.LogGroupArn(), Format: jsii.String(accessLogFormat()),
	})
}

// accessLogFormat is one JSON line a request (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging-variables.html).
func accessLogFormat() string {
	format, err := json.Marshal(map[string]string{
		"requestId":          "$context.requestId",
		"requestTime":        "$context.requestTime",
		"ip":                 "$context.identity.sourceIp",
		"httpMethod":         "$context.httpMethod",
		"routeKey":           "$context.routeKey",
		"status":             "$context.status",
		"protocol":           "$context.protocol",
		"responseLength":     "$context.responseLength",
		"responseLatency":    "$context.responseLatency",
		"integrationLatency": "$context.integrationLatency",
		"integrationError":   "$context.integrationErrorMessage",
		"gatewayError":       "$context.error.message",
	})
	if err != nil {
		panic(err) // a map of strings always encodes
	}
	return string(format)
}
