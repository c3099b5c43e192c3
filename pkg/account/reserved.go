package account

// Reserved lists the nicknames that nobody can take: edit it for your deployment. They are compared in mapped form, so write them so: lower case, composed
// letters (a test says where one is not). Taking a name out frees it; putting one in does not take it from whoever has it.
func Reserved() []string {
	return []string{
		// What runs under the domain itself.
		"www", "www1", "www2", "web", "api", "app", "apps", "cdn", "static", "assets", "media", "images", "img", "files", "download", "downloads",
		"mail", "email", "smtp", "imap", "pop", "pop3", "mx", "mta-sts", "autoconfig", "autodiscover", "webmail", "newsletter",
		"ns", "ns1", "ns2", "ns3", "ns4", "dns", "ntp", "ftp", "sftp", "ssh", "vpn", "proxy", "gateway", "wpad", "isatap", "localhost", "localdomain",
		"broadcasthost", "internal", "intranet", "dev", "test", "testing", "stage", "staging", "prod", "production", "preview", "beta", "demo", "sandbox",
		"status", "monitor", "metrics", "grafana", "git", "ci", "db", "database", "backup", "cache", "queue",
		// Who speaks for the operator (RFC 2142, and what certificate authorities write to).
		"admin", "administrator", "root", "system", "sysadmin", "operator", "owner", "staff", "team", "official", "moderator", "mod",
		"abuse", "noc", "security", "postmaster", "hostmaster", "webmaster", "ssladmin", "ssladministrator", "sslwebmaster", "usenet", "uucp", "news",
		"support", "help", "helpdesk", "info", "contact", "sales", "marketing", "press", "jobs", "careers", "billing", "payment", "payments", "legal",
		"privacy", "terms", "tos", "policy", "noreply", "no-reply", "mailer-daemon", "nobody", "daemon", "everyone", "all", "anonymous", "guest",
		// What the product says itself.
		"about", "account", "accounts", "auth", "blog", "community", "dashboard", "docs", "event", "events", "faq", "feed", "forum", "home", "index",
		"login", "logout", "me", "my", "new", "nickname", "null", "oauth", "pricing", "profile", "register", "search", "settings", "shop", "signin",
		"signout", "signup", "sso", "store", "undefined", "user", "users", "well-known", "wiki", "you",
	}
}
