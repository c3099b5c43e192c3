package stacks_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
)

// routeLines lists the routes of a template: "GET /v1/users/{userId} -> NicknameFunction, AWS_IAM", and says where the function may not be invoked.
func routeLines(t template) []string {
	var lines []string
	permitted := map[string]bool{} // functions that this API may invoke, by any route
	for _, permission := range t.resources("AWS::Lambda::Permission") {
		name, _ := at(permission, "Properties.FunctionName")
		source, _ := at(permission, "Properties.SourceArn")
		principal, _ := at(permission, "Properties.Principal")
		for api := range t.resources("AWS::ApiGatewayV2::Api") {
			if principal == "apigateway.amazonaws.com" && source == "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${"+api+"}/*/*/*" {
				permitted[strings.TrimSuffix(trim(name), ".Arn")] = true
			}
		}
	}
	for _, route := range t.resources("AWS::ApiGatewayV2::Route") {
		p := route["Properties"].(map[string]any)
		target, _ := p["Target"].(string)
		integration := t.resources("")[trim(strings.TrimPrefix(target, "integrations/"))]
		uri, _ := at(integration, "Properties.IntegrationUri")
		function := strings.TrimSuffix(trim(uri), ".Arn")
		line := fmt.Sprintf("%v -> %s, %v", p["RouteKey"], function, p["AuthorizationType"])
		if version, _ := at(integration, "Properties.PayloadFormatVersion"); version != "2.0" {
			line += fmt.Sprintf(", payload %v", version)
		}
		if authorizer, ok := p["AuthorizerId"].(string); ok {
			kind, _ := at(t.resources("")[trim(authorizer)], "Properties.AuthorizerType")
			line += fmt.Sprintf(" %v", kind)
		}
		if !permitted[function] {
			line += ", NOT PERMITTED"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// Each route of the application goes to the function that answers it, under the authorization asked for, and no other route exists.
func TestRoutes(t *testing.T) {
	t.Parallel()
	for v, authorization := range map[*variant]string{dev: "AWS_IAM", prod: "AWS_IAM", token: "JWT JWT", local: "NONE"} {
		var want []string
		for _, name := range routes.Functions() {
			if slices.Contains(v.functions, name) {
				for _, route := range routes.Of(name) {
					want = append(want, route+" -> "+functionID(name)+", "+authorization)
				}
			}
		}
		slices.Sort(want)
		spoil := map[string]func(template){}
		for kind, path := range map[string]string{
			"AWS::ApiGatewayV2::Route": ".Properties.AuthorizationType", "AWS::ApiGatewayV2::Integration": ".Properties.PayloadFormatVersion",
			"AWS::Lambda::Permission": ".Properties.SourceArn",
		} {
			for id := range v.get(t).stack(t, apiStack).resources(kind) {
				spoil[id+" removed"] = func(t template) { remove(t, "Resources."+id) }
				spoil[id+path+" removed"] = func(t template) { remove(t, "Resources."+id+path) }
			}
		}
		claim{
			variant: v, stack: apiStack, name: "routes", spoil: spoil,
			check: func(t template) error {
				if diff := cmp.Diff(want, routeLines(t)); diff != "" {
					return fmt.Errorf("(-want +got):\n%s", diff)
				}
				return nil
			},
		}.test(t)
	}
}

func TestTheStageIsLimitedLoggedAndMeasured(t *testing.T) {
	t.Parallel()
	for _, v := range []*variant{dev, prod, token, local} {
		stages := v.get(t).stack(t, apiStack).resources("AWS::ApiGatewayV2::Stage")
		if len(stages) != 1 {
			t.Fatalf("%s: stages are %v", v.name, slices.Sorted(maps.Keys(stages)))
		}
		for id := range stages {
			for _, c := range []claim{
				says(v, apiStack, id, "Properties.StageName", "$default"),
				says(v, apiStack, id, "Properties.AutoDeploy", true),
				says(v, apiStack, id, "Properties.DefaultRouteSettings", object{
					"ThrottlingRateLimit": 2000.0, "ThrottlingBurstLimit": 1000.0, "DetailedMetricsEnabled": true,
				}),
				accessLog(v, id),
			} {
				c.test(t)
			}
		}
	}
}

// accessLog claims a JSON line a request that says enough and not too much: no path and no query, which hold key values.
func accessLog(v *variant, stage string) claim {
	path := "Resources." + stage + ".Properties.AccessLogSettings"
	return claim{
		variant: v, stack: apiStack, name: "access log",
		check: func(t template) error {
			settings, _ := at(map[string]any(t), path)
			format, _ := at(settings, "Format")
			var fields map[string]string
			if err := json.Unmarshal([]byte(fmt.Sprint(format)), &fields); err != nil {
				return fmt.Errorf("the format is no JSON object: %w", err)
			}
			values := slices.Collect(maps.Values(fields))
			for _, want := range []string{"$context.requestId", "$context.routeKey", "$context.status", "$context.responseLatency", "$context.integrationErrorMessage"} {
				if !slices.Contains(values, want) {
					return fmt.Errorf("the format lacks %s", want)
				}
			}
			for _, secret := range []string{"$context.path", "queryString", "$context.authorizer", "$context.identity.user"} {
				if strings.Contains(fmt.Sprint(format), secret) {
					return fmt.Errorf("the format has %s", secret)
				}
			}
			group, _ := at(settings, "DestinationArn")
			if t.resources("AWS::Logs::LogGroup")[strings.TrimSuffix(trim(group), ".Arn")] == nil {
				return fmt.Errorf("the log goes to %v", group)
			}
			return nil
		},
		spoil: map[string]func(template){
			"the settings removed": func(t template) { remove(t, path) },
			"the target removed":   func(t template) { remove(t, path+".DestinationArn") },
			"the path added": func(t template) {
				settings, _ := at(map[string]any(t), path)
				settings.(map[string]any)["Format"] = strings.Replace(settings.(map[string]any)["Format"].(string), "$context.status", "$context.path", 1)
			},
		},
	}
}

func TestTheTokenIsOfTheIssuerForTheAudiences(t *testing.T) {
	t.Parallel()
	authorizers := token.get(t).stack(t, apiStack).resources("AWS::ApiGatewayV2::Authorizer")
	if len(authorizers) != 1 {
		t.Fatalf("authorizers are %v", slices.Sorted(maps.Keys(authorizers)))
	}
	for id := range authorizers {
		says(token, apiStack, id, "Properties.JwtConfiguration", object{"Issuer": "https://issuer.example/", "Audience": list{"web", "app"}}).test(t)
		says(token, apiStack, id, "Properties.IdentitySource", list{"$request.header.Authorization"}).test(t)
	}
}

// Also the access log's, which no function names.
func TestNoLogIsKeptForEver(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		for stack, template := range v.get(t).templates {
			for id := range template.resources("AWS::Logs::LogGroup") {
				says(v, stack, id, "Properties.RetentionInDays", map[bool]float64{true: 90, false: 14}[v.context["stage"] == "prod"]).test(t)
			}
		}
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for id := range dev.get(t).stack(t, apiStack).resources("AWS::ApiGatewayV2::Api") {
		outputs(dev, apiStack, "Url", "https://${"+id+"}.execute-api.${AWS::Region}.${AWS::URLSuffix}").test(t)
		outputs(local, apiStack, "LocalUrl", "http://127.0.0.1:4566/_aws/execute-api/${"+id+"}/$default").test(t)
	}
	if _, there := outputsOf(dev.get(t).stack(t, apiStack))["LocalUrl"]; there {
		t.Error("LocalUrl without a local cloud")
	}
}
