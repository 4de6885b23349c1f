/** Inputs and lists of outputs, as JSON: larger ones are blobs, so that every event of a run is small. */
export const MAX_INLINE_BYTES = 4 * 1024;
/** The first fact of a run. When the other members leave no room for its inputs, these are a blob, however small. */
export const MAX_FIRST_FACT_BYTES = 9.25 * 1024;
/** What RunExpired has beside the data of the first fact. */
export const MAX_EXPIRY_BYTES = 1.625 * 1024;
/** Inputs of a run, and the list of its outputs, as JSON. */
export const MAX_INPUTS_BYTES = 256 * 1024;
export const MAX_OUTPUTS_BYTES = 256 * 1024;
/** Output files of a run. Each takes a few hundred bytes in the list of its outputs. */
export const MAX_OUTPUT_FILES = 500;
/** Seconds in which an attempt has to store its output files of so many bytes together: an hour, and another one for each GiB. */
export const uploadTimeoutS = (bytes: number): number => Math.round(3_600 * (1 + bytes / 1024 ** 3));
/** Files that the inputs of a run name, those of lists each for itself. */
export const MAX_INPUT_FILES = 256;
/** The names of a run's inputs that are files, and of those that are secret, together, as JSON. */
export const MAX_FILE_INPUTS_BYTES = 320;
/** Of these, for the member `secret_inputs` when there are any. */
export const SECRET_INPUTS_BYTES = 20;
/** Characters of the value of a secret input. A shorter one could not be masked in logs without masking everything. */
export const MIN_SECRET_LENGTH = 4;
export const MAX_SECRET_LENGTH = 4096;
/** A workflow version as JSON. */
export const MAX_WORKFLOW_BYTES = 512 * 1024;
/**
 * An assignment document. As texts in JSON the workflow and the inputs have at most twice their bytes; each character of a secret has at
 * most six.
 */
export const MAX_ASSIGNMENT_BYTES = 12 * 1024 * 1024;
/** The logs of a run, compressed: what one blob has room for. */
export const MAX_LOGS_BYTES = 1000 * 1024;
/** The largest blob. With its headers it fits NATS's default payload of 1 MiB. */
export const MAX_BLOB_BYTES = Math.max(
  MAX_WORKFLOW_BYTES,
  MAX_INPUTS_BYTES,
  MAX_OUTPUTS_BYTES,
  MAX_LOGS_BYTES,
);
/** Seconds of a start deadline or a run timeout: a year. The age of the log limits a run further. */
export const MAX_DEADLINE_S = 365 * 24 * 3600;
/** Seconds that a run may wait for a slot that has its workflow version loaded, while others are free. */
export const MAX_WARM_WAIT_S = 3_600;
/** Nested arrays and objects in an event; inputs may nest 32 levels, two levels deep in the event. */
export const MAX_EVENT_NESTING = 64;
/** Nested arrays and objects in an output of a program. */
export const MAX_OUTPUT_NESTING = 32;
/** Bytes of an error message of a program or service, as JSON in UTF-8. A character has at least one. */
export const MAX_ERROR_MESSAGE = 2 * 1024;
/** The same of the error of an attempt that another one followed: a run may have a hundred of them. */
export const MAX_EARLIER_ERROR_MESSAGE = 512;
/** Warnings about a run that has succeeded, and bytes of the message of each, as JSON in UTF-8. */
export const MAX_WARNINGS = 3;
export const MAX_WARNING_MESSAGE = 512;
/** Of all of them, with the nodes that they name. */
export const MAX_WARNINGS_BYTES = 4 * 1024;
/** Characters of a name in an error, such as that of a node. */
export const MAX_ERROR_NAME = 128;
export const MAX_LIVE_STATUS = 200;
/** Characters of the name of an output file. */
export const MAX_FILENAME = 255;
/** Characters of a callback, and its bytes as JSON in UTF-8. */
export const MAX_WEBHOOK_URL = 2048;
/** Characters of the address of a runner, which are ASCII. */
export const MAX_RUNNER_URL = 1024;
/** Of a schedule: characters of why no run was queued. */
export const MAX_SCHEDULE_MESSAGE = 512;
/** The inputs of a schedule as JSON: its record is written at each of its times. */
export const MAX_SCHEDULE_INPUTS_BYTES = 16 * 1024;
/** Of RunExpired: bytes of the gateway's own sentence. */
export const MAX_EXPIRY_MESSAGE = 512;
