package eventapi

import (
	"context"
	"net/http"

	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/ingest"
)

// Uploads is what the routes of batches need: *ingest.Uploads. It is safe for concurrent use.
type Uploads interface {
	Create(context.Context) (*ingest.Created, error)
	Status(ctx context.Context, batchID string) (*ingest.Status, error)
}

var _ Uploads = (*ingest.Uploads)(nil)

// createdBatch is where a batch is to be put.
type createdBatch struct {
	BatchID   string `json:"batchId"`
	UploadURL string `json:"uploadUrl"`
}

// batchStatus is how a batch is.
type batchStatus struct {
	BatchID       string         `json:"batchId"`
	Status        ingest.State   `json:"status"`
	Accepted      int            `json:"accepted"`
	RejectedCount int            `json:"rejectedCount"`
	Rejected      []rejectedLine `json:"rejected"`
	Reason        string         `json:"reason,omitempty"`
}

type rejectedLine struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

func (a *API) createBatch(w http.ResponseWriter, r *http.Request, _ edge.Parameters) error {
	if _, err := edge.DecodeBody[struct{}](r); err != nil {
		return err
	}
	batch, err := a.options.Uploads.Create(r.Context())
	if err != nil {
		return err
	}
	return edge.WriteJSON(w, http.StatusCreated, createdBatch{BatchID: batch.BatchID, UploadURL: batch.URL})
}

func (a *API) getBatch(w http.ResponseWriter, r *http.Request, _ edge.Parameters) error {
	status, err := a.options.Uploads.Status(r.Context(), r.PathValue("batchId"))
	if err != nil {
		return err
	}
	answer := batchStatus{
		BatchID: status.BatchID, Status: status.State, Accepted: status.Accepted, RejectedCount: status.Rejected, Rejected: []rejectedLine{}, Reason: status.Reason,
	}
	for _, fault := range status.Faults {
		answer.Rejected = append(answer.Rejected, rejectedLine(fault))
	}
	return edge.WriteJSON(w, http.StatusOK, answer)
}
