package stacks_test

import (
	"fmt"
	"strings"
)

// resolver writes CloudFormation's references out as text, also through an output of another stack, so that an expectation reads as what is meant:
// ${UserTable.Arn}/index/managed.
type resolver struct {
	raw   map[string]map[string]any
	stack string
}

func (r *resolver) plain(value any) any {
	switch value := value.(type) {
	case []any:
		list := make([]any, len(value))
		for n, element := range value {
			list[n] = r.plain(element)
		}
		return list
	case map[string]any:
		if len(value) == 1 {
			for function, argument := range value {
				if text, ok := r.function(function, argument); ok {
					return text
				}
			}
		}
		object := map[string]any{}
		for name, member := range value {
			object[name] = r.plain(member)
		}
		return object
	default:
		return value
	}
}

func (r *resolver) function(name string, argument any) (string, bool) {
	switch name {
	case "Ref":
		return "${" + argument.(string) + "}", true
	case "Fn::GetAtt":
		parts := argument.([]any)
		return "${" + parts[0].(string) + "." + parts[1].(string) + "}", true
	case "Fn::Sub":
		text, plain := argument.(string)
		return text, plain
	case "Fn::Join":
		parts := argument.([]any)
		var texts []string
		for _, part := range r.plain(parts[1]).([]any) {
			texts = append(texts, fmt.Sprint(part))
		}
		return strings.Join(texts, parts[0].(string)), true
	case "Fn::ImportValue":
		for stack, parsed := range r.raw {
			for _, output := range outputsOf(parsed) {
				if export, ok := output["Export"].(map[string]any); ok && export["Name"] == argument {
					return fmt.Sprint((&resolver{r.raw, stack}).plain(output["Value"])), true
				}
			}
		}
	case "Fn::GetStackOutput":
		spec := argument.(map[string]any)
		stack := spec["StackName"].(string)
		if output, ok := outputsOf(r.raw[stack])[spec["OutputName"].(string)]; ok {
			return fmt.Sprint((&resolver{r.raw, stack}).plain(output["Value"])), true
		}
	}
	return "", false
}
