import type { components } from '../generated/api-types.ts';

/** The schemas of the OpenAPI document by their names. */
export type Schemas = components['schemas'];

export type Run = Schemas['WorkflowRun'];
export type RunStatus = Schemas['RunStatus'];
export type RunFact = Schemas['RunFactEvent'];
export type RunProgress = Schemas['RunProgressEvent'];
export type LogLine = Schemas['RunLogLine'];
export type LogCut = Schemas['RunLogCut'];
export type LogNotice = Schemas['RunLogNotice'];
/** A line, `cut` where lines are missing, or a `notice` about an attempt. */
export type LogItem = LogLine | LogCut | LogNotice;
export type UploadedFile = Schemas['UploadedFile'];
/** The body of a webhook. */
export type Notification = Schemas['WebhookPayload'];
/** What is wrong with a request, and where. */
export type Problem = Schemas['ValidationError'];
