package stacks_test

import (
	"fmt"
	"testing"
)

// claim is something that the templates must say. It is checked on the synthesized template, and then on one spoiled copy for each of its ways to be
// wrong, where it must fail: an assertion that cannot fail asserts nothing.
type claim struct {
	variant *variant
	stack   string
	name    string
	check   func(template) error
	spoil   map[string]func(template)
}

func (c claim) test(t *testing.T) {
	t.Helper()
	t.Run(c.variant.name+"/"+c.stack+"/"+c.name, func(t *testing.T) {
		t.Parallel()
		a := c.variant.get(t)
		if err := c.check(a.stack(t, c.stack)); err != nil {
			t.Fatal(err)
		}
		if len(c.spoil) == 0 {
			t.Error("nothing shows that this can fail")
		}
		for how, spoil := range c.spoil {
			spoiled := a.stack(t, c.stack)
			spoil(spoiled)
			if c.check(spoiled) == nil {
				t.Errorf("still holds after: %s", how)
			}
		}
	})
}

// says claims that a resource has a value at a path, and fails without the value and without the resource.
func says(v *variant, stack, resource, path string, want any) claim {
	full := "Resources." + resource + "." + path
	return claim{
		variant: v, stack: stack, name: resource + "." + path,
		check: func(t template) error {
			got, ok := at(map[string]any(t), full)
			if !ok {
				return fmt.Errorf("%s is missing, want %s", full, text(want))
			}
			if text(got) != text(want) {
				return fmt.Errorf("%s is %s, want %s", full, text(got), text(want))
			}
			return nil
		},
		spoil: map[string]func(template){
			"the value removed":    func(t template) { remove(t, full) },
			"the resource removed": func(t template) { remove(t, "Resources."+resource) },
		},
	}
}

// saysNot claims that a resource exists and has nothing at a path, and fails with something there.
func saysNot(v *variant, stack, resource, path string) claim {
	return claim{
		variant: v, stack: stack, name: "no " + resource + "." + path,
		check: func(t template) error {
			properties, ok := at(map[string]any(t), "Resources."+resource+".Properties")
			if !ok {
				return fmt.Errorf("no resource %s", resource)
			}
			if got, there := properties.(map[string]any)[path]; there {
				return fmt.Errorf("%s has %s: %s", resource, path, text(got))
			}
			return nil
		},
		spoil: map[string]func(template){
			"the value added": func(t template) {
				t["Resources"].(map[string]any)[resource].(map[string]any)["Properties"].(map[string]any)[path] = "x"
			},
			"the resource removed": func(t template) { remove(t, "Resources."+resource) },
		},
	}
}

// outputs claims an output's value, and fails without it.
func outputs(v *variant, stack, name, want string) claim {
	return claim{
		variant: v, stack: stack, name: "output " + name,
		check: func(t template) error {
			if got, _ := at(map[string]any(t), "Outputs."+name+".Value"); got != want {
				return fmt.Errorf("output %s is %v, want %s", name, got, want)
			}
			return nil
		},
		spoil: map[string]func(template){"the output removed": func(t template) { remove(t, "Outputs."+name) }},
	}
}

type object = map[string]any

type list = []any
