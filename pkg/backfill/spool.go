package backfill

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// Sides of a row.
const (
	sideUser  = 'U'
	sideClaim = 'C'
)

// row says that a user or a claim has the name with this hash. The name itself is not kept: what is of interest is read again anyway.
type row struct {
	hash uint64
	side byte
	// print is of the owner and its incarnation, so that a claim and its user can be matched.
	print uint64
	// id is the user's, or the claim's key.
	id string
}

// fingerprint is 64 bits that nobody can aim at. Two names with one are told apart when they are read again.
func fingerprint(parts ...string) uint64 {
	h := sha256.New()
	for _, part := range parts {
		_, _ = io.WriteString(h, strconv.Itoa(len(part))+":"+part)
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

const (
	spoolBits    = 7 // 128 files at first
	splitBits    = 4 // and each in 16 where one holds too many names
	bufferBytes  = 16 << 10
	groupMembers = 1000 // rows of one name that are looked at; more of them are counted
)

// maxNames is how many different names of one file are in memory at once: about 40 bytes each.
const maxNames = 1 << 20

// spool keeps rows in files, by hash, so that all rows of one name are in one file. Its memory is the buffers and then the names of one file.
type spool struct {
	dir      string
	shift    int // of the hash: the bits above have chosen this spool
	bits     int
	files    []*spoolFile
	maxNames int
}

type spoolFile struct {
	mu   sync.Mutex
	file *os.File
	to   *bufio.Writer
	rows int64
}

// newSpool makes a folder of its own in dir, which only this user may read; close removes it.
func newSpool(dir string, names int) (*spool, error) {
	made, err := os.MkdirTemp(dir, "heatsink-names-*")
	if err != nil {
		return nil, fmt.Errorf("make a folder for names: %w", err)
	}
	return openSpool(made, 64, spoolBits, names)
}

func openSpool(dir string, shift, bits, names int) (*spool, error) {
	s := &spool{dir: dir, shift: shift - bits, bits: bits, maxNames: names}
	for n := range 1 << bits {
		file, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(n)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // a name of our own
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make a file for names: %w", err), s.close())
		}
		s.files = append(s.files, &spoolFile{file: file, to: bufio.NewWriterSize(file, bufferBytes)})
	}
	return s, nil
}

func (s *spool) close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.file.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// add is safe for concurrent use.
func (s *spool) add(r row) error {
	f := s.files[(r.hash>>s.shift)&(1<<s.bits-1)]
	var head [17 + binary.MaxVarintLen64]byte
	binary.BigEndian.PutUint64(head[:], r.hash)
	head[8] = r.side
	binary.BigEndian.PutUint64(head[9:], r.print)
	n := 17 + binary.PutUvarint(head[17:], uint64(len(r.id)))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows++
	if _, err := f.to.Write(head[:n]); err != nil {
		return fmt.Errorf("keep a name: %w", err)
	}
	if _, err := f.to.WriteString(r.id); err != nil {
		return fmt.Errorf("keep a name: %w", err)
	}
	return nil
}

// rows reads a file from its beginning.
func (f *spoolFile) each(visit func(row) error) error {
	if err := f.to.Flush(); err != nil {
		return fmt.Errorf("keep names: %w", err)
	}
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read names: %w", err)
	}
	from := bufio.NewReaderSize(f.file, bufferBytes)
	for range f.rows {
		var head [17]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return fmt.Errorf("read a name: %w", err)
		}
		size, err := binary.ReadUvarint(from)
		if err != nil {
			return fmt.Errorf("read a name: %w", err)
		}
		id := make([]byte, size)
		if _, err := io.ReadFull(from, id); err != nil {
			return fmt.Errorf("read a name: %w", err)
		}
		r := row{hash: binary.BigEndian.Uint64(head[:]), side: head[8], print: binary.BigEndian.Uint64(head[9:]), id: string(id)}
		if err := visit(r); err != nil {
			return err
		}
	}
	return nil
}

// tally is what one name's rows come to.
type tally struct {
	users, claims uint32
	user, claim   uint64 // prints of the last one
}

// group is the rows of one name that is of interest, and how many more there are.
type group struct {
	hash uint64
	rows []row
	more int
}

// groups gives every name whose tally is of interest, file by file; done is told each file. A file with too many names is first split, by further bits of the hash.
func (s *spool) groups(ctx context.Context, interesting func(tally) bool, visit func([]group) error, done func(files int)) error {
	for n, f := range s.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.file(ctx, n, f, interesting, visit); err != nil {
			return err
		}
		if done != nil {
			done(n + 1)
		}
	}
	return nil
}

var errTooMany = errors.New("too many names in one file")

func (s *spool) file(ctx context.Context, n int, f *spoolFile, interesting func(tally) bool, visit func([]group) error) error {
	tallies := map[uint64]tally{}
	err := f.each(func(r row) error {
		t, known := tallies[r.hash]
		if !known && len(tallies) >= s.maxNames && s.shift >= splitBits {
			return errTooMany
		}
		if r.side == sideUser {
			t.users, t.user = t.users+1, r.print
		} else {
			t.claims, t.claim = t.claims+1, r.print
		}
		tallies[r.hash] = t
		return nil
	})
	if errors.Is(err, errTooMany) {
		return s.split(ctx, n, f, interesting, visit)
	}
	if err != nil {
		return err
	}
	for hash, t := range tallies {
		if !interesting(t) {
			delete(tallies, hash)
		}
	}
	if len(tallies) == 0 {
		return nil
	}
	places, found := map[uint64]int{}, []group{}
	err = f.each(func(r row) error {
		if _, of := tallies[r.hash]; !of {
			return nil
		}
		place, known := places[r.hash]
		if !known {
			place = len(found)
			places[r.hash], found = place, append(found, group{hash: r.hash})
		}
		if g := &found[place]; len(g.rows) < groupMembers {
			g.rows = append(g.rows, r)
		} else {
			g.more++
		}
		return nil
	})
	if err != nil {
		return err
	}
	return visit(found)
}

// split spreads a file over files of its own.
func (s *spool) split(ctx context.Context, n int, f *spoolFile, interesting func(tally) bool, visit func([]group) error) (err error) {
	dir := filepath.Join(s.dir, strconv.Itoa(n)+"-split")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("split a file of names: %w", err)
	}
	inner, err := openSpool(dir, s.shift, splitBits, s.maxNames)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, inner.close()) }()
	if err := f.each(inner.add); err != nil {
		return err
	}
	return inner.groups(ctx, interesting, visit, nil)
}
