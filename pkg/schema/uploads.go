package schema

// UploadPrefix is where presigned uploads go in the upload bucket: UploadPrefix and the batch's id are an object's key.
const UploadPrefix = "uploads/"
