/** Inputs of a run, and the list of its outputs, as JSON: so that every event fits NATS's default payload of 1 MiB. */
export const MAX_INPUTS_BYTES = 256 * 1024;
export const MAX_OUTPUTS_BYTES = 256 * 1024;
/** A workflow version as JSON; RunAssigned carries it beside the inputs. */
export const MAX_WORKFLOW_BYTES = 512 * 1024;
/**
 * All attempts of a run together, waiting and running, in seconds: less than the 7 days for which the hot log keeps its
 * events, since a run whose first event has expired takes no append and would never end.
 */
export const MAX_RUN_LIFETIME_S = 6 * 24 * 3600;
/** Arrays and objects within each other in an event; inputs may nest 32 levels, and stand two deep. */
export const MAX_EVENT_NESTING = 64;
/** What a failing program or service may say in an event, in characters. */
export const MAX_ERROR_MESSAGE = 8 * 1024;
export const MAX_LIVE_STATUS = 200;
/** A file of a run has a name and, within the run's output folder, a path. */
export const MAX_FILENAME = 255;
export const MAX_WEBHOOK_URL = 2048;
