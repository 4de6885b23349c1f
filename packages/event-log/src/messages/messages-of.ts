import { jetStreamMessages } from './jetstream-messages.ts';
import type { RunLog, RunMessages } from './run-messages.ts';

/** The messages of RUNS in this log, wherever it keeps them. */
export const messagesOf = (log: RunLog): RunMessages =>
  'messages' in log ? log.messages : jetStreamMessages(log);
