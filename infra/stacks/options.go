package stacks

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
)

// Stage says how much a deployment's data is worth.
type Stage string

// The stages. Prod retains and protects data, and refuses an API without authorization.
const (
	Dev  Stage = "dev"
	Prod Stage = "prod"
)

// Auth says who may call the HTTP API.
type Auth string

// The kinds of authorization.
const (
	IAM  Auth = "iam"  // requests signed with AWS credentials that may execute-api:Invoke
	JWT  Auth = "jwt"  // a bearer token of one issuer, for one of the audiences
	None Auth = "none" // everyone who knows the address; never in prod
)

// Options of a deployment, checked by [ReadOptions].
type Options struct {
	Stage Stage
	Auth  Auth
	// JWTIssuer and JWTAudience go with JWT alone.
	JWTIssuer   string
	JWTAudience []string
	// Local builds for the local cloud: this machine's architecture, no data kept, and the few things left out that cannot work there. Each
	// place that asks for it says why.
	Local bool
	// LocalEndpoint is the local cloud's address, such as http://127.0.0.1:4566, for the output LocalUrl.
	LocalEndpoint string
	// Dist is the folder that holds one folder with a bootstrap per function.
	Dist string
	// Functions to deploy: names of package routes.
	Functions []string
}

// Has reports whether the function is deployed.
func (o Options) Has(function string) bool { return slices.Contains(o.Functions, function) }

// required functions make the application; each of the optional ones is deployed where its folder exists, so a team may delete what it
// does not use.
var (
	required = []string{routes.Indexer, routes.API}
	optional = []string{routes.Redrive, routes.Nickname, routes.Events, routes.Ingest}
)

// ReadOptions checks the CDK context (-c key=value) and the folders below root, the repository: functions/<name> says what to deploy, dist
// must hold its build. An error is one line that names the key and the values it takes.
func ReadOptions(context map[string]string, root string) (Options, error) {
	o := Options{
		Stage: Stage(cmp.Or(context["stage"], string(Dev))), Auth: Auth(cmp.Or(context["auth"], string(IAM))),
		LocalEndpoint: context["localEndpoint"], JWTIssuer: context["jwtIssuer"],
	}
	switch context["local"] {
	case "", "false":
	case "true":
		o.Local = true
	default:
		return o, fmt.Errorf("context local must be true or false, is %q", context["local"])
	}
	if o.Stage != Dev && o.Stage != Prod {
		return o, fmt.Errorf("context stage must be dev or prod, is %q", o.Stage)
	}
	if o.Local && o.Stage == Prod {
		return o, fmt.Errorf("context stage=prod with local=true: the local cloud keeps nothing, so it takes stage=dev alone")
	}
	if err := o.readLocalEndpoint(); err != nil {
		return o, err
	}
	if err := o.readAuth(context["jwtAudience"]); err != nil {
		return o, err
	}
	for _, name := range slices.Concat(required, optional) {
		if exists(filepath.Join(root, "functions", name, "main.go")) {
			o.Functions = append(o.Functions, name)
		} else if slices.Contains(required, name) {
			return o, fmt.Errorf("functions/%s/main.go does not exist below %s: run the CDK from the repository's root", name, absolute(root))
		}
	}
	architecture := "arm64"
	if o.Local {
		architecture = "local"
	}
	o.Dist = cmp.Or(context["dist"], filepath.Join(root, "dist", architecture))
	for _, name := range o.Functions {
		if file := filepath.Join(o.Dist, name, "bootstrap"); !exists(file) {
			return o, fmt.Errorf("%s does not exist: build the functions first (make synth, make deploy and make up do)", file)
		}
	}
	return o, nil
}

func (o *Options) readLocalEndpoint() error {
	if !o.Local && o.LocalEndpoint != "" {
		return fmt.Errorf("context localEndpoint goes with local=true alone")
	}
	if !o.Local {
		return nil
	}
	endpoint, err := url.Parse(o.LocalEndpoint)
	if err != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" || strings.Trim(endpoint.Path, "/") != "" {
		return fmt.Errorf("context localEndpoint must be the local cloud's address, such as http://127.0.0.1:4566, is %q", o.LocalEndpoint)
	}
	o.LocalEndpoint = endpoint.Scheme + "://" + endpoint.Host
	return nil
}

func (o *Options) readAuth(audience string) error {
	switch o.Auth {
	case IAM, None:
		if o.JWTIssuer != "" || audience != "" {
			return fmt.Errorf("context jwtIssuer and jwtAudience go with auth=jwt alone, auth is %q", o.Auth)
		}
		if o.Auth == None && o.Stage == Prod {
			return fmt.Errorf("context auth=none is refused for stage=prod: use iam or jwt")
		}
		return nil
	case JWT:
	default:
		return fmt.Errorf("context auth must be iam, jwt or none, is %q", o.Auth)
	}
	issuer, err := url.Parse(o.JWTIssuer)
	if err != nil || issuer.Scheme != "https" || issuer.Host == "" {
		return fmt.Errorf("context auth=jwt needs jwtIssuer, an https address, is %q", o.JWTIssuer)
	}
	for name := range strings.SplitSeq(audience, ",") {
		if name = strings.TrimSpace(name); name != "" {
			o.JWTAudience = append(o.JWTAudience, name)
		}
	}
	if len(o.JWTAudience) == 0 {
		return fmt.Errorf("context auth=jwt needs jwtAudience, one or more names separated by commas")
	}
	return nil
}

// hostArchitecture is GOARCH of the machine that synthesizes, where the local cloud runs functions as plain processes.
const hostArchitecture = runtime.GOARCH

func exists(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular()
}

func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
