/** Inputs of a run, and the list of its outputs, as JSON: so that every event fits NATS's default payload of 1 MiB. */
export const MAX_INPUTS_BYTES = 256 * 1024;
export const MAX_OUTPUTS_BYTES = 256 * 1024;
/** A workflow version as JSON; RunAssigned carries it beside the inputs. */
export const MAX_WORKFLOW_BYTES = 512 * 1024;
/** What a failing program or service may say in an event, in characters. */
export const MAX_ERROR_MESSAGE = 8 * 1024;
export const MAX_LIVE_STATUS = 200;
/** A file of a run has a name and, within the run's output folder, a path. */
export const MAX_FILENAME = 255;
export const MAX_WEBHOOK_URL = 2048;
