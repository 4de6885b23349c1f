/** What `@runledger/client` exports. It uses what Node, Bun, Deno and browsers have in common. */
export type { Bytes } from './api/operation-types.ts';
export type {
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
} from './api/schemas.ts';
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
} from './errors/errors.ts';
export type { Inputs, InputValue } from './files/input-files.ts';
export type { UploadOptions } from './files/upload-file.ts';
export type { RunledgerOptions } from './http/settings.ts';
export { Runledger } from './runledger.ts';
export type { RunEvent, SubscribeOptions } from './runs/run-events.ts';
export type { LogsOptions } from './runs/run-logs.ts';
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
export { EventParser, type ServerSentEvent } from './streams/server-sent-events.ts';
export { verifyWebhook, type WebhookRequest } from './webhooks/verify-webhook.ts';
