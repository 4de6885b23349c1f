/** What `@runledger/client` exports. It uses what Node, Bun, Deno and browsers have in common. */
export type {
  Bytes,
  LogCut,
  LogItem,
  LogLine,
  LogNotice,
  Notification,
  Problem,
  Run,
  RunFact,
  RunProgress,
  RunStatus,
  Schemas,
  UploadedFile,
} from './operations.ts';
export {
  ApiError,
  ConnectionFailed,
  NotFound,
  RateLimited,
  RunFailed,
  RunledgerError,
  Unavailable,
  ValidationError,
  WebhookInvalid,
} from './errors.ts';
export type { Inputs, InputValue, UploadOptions } from './runs/files.ts';
export type { RunledgerOptions } from './http/settings.ts';
export { Runledger } from './runledger.ts';
export type { LogsOptions, RunEvent, SubscribeOptions } from './runs/run-events.ts';
export type { Progress, RunOptions } from './runs/run-to-end.ts';
export type {
  CallOptions,
  GetOptions,
  QueueOptions,
  RerunOptions,
  RunFilter,
  Runs,
  RunSettings,
} from './runs/runs.ts';
export { EventParser, type ServerSentEvent } from './http/server-sent-events.ts';
export { verifyWebhook, type WebhookRequest } from './verify-webhook.ts';
