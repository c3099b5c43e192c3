// Package account keeps users whose nickname and e-mail belong to nobody else: sign up, rename, release, withdraw, look up.
//
// Every value that must be unique is a claim of package unique, written in one transaction with its user; nothing is ever decided by reading an index.
// A sign-up has an incarnation, random, kept in the user and in its claims, and every later step conditions on it: a step that was stalled cannot touch what
// the same user id claimed after it signed up again.
//
// Guarantees: of those who race for one nickname exactly one wins, and who won is never told that it is taken, however often answers are lost. A repeated call
// ends in the state that one call ends in. A withdrawal may be killed at any point and is finished by repeating it; what hangs on a user ([Dependent]) goes
// before the user does. Another owner's claim is never touched. A nickname's claim is on its mapped form, so that spellings of one name are one name.
//
// Not guaranteed: anything about users that are written past this package, apart from tolerating them (a user without incarnation or claims can be renamed,
// released and withdrawn), and that two names look different: confusable names in one script (UTS 39, section 4) are two names.
package account
