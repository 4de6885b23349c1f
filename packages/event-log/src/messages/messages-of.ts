import { jetStreamMessages } from './jetstream-messages.ts';
import type { RunLog, RunMessages } from './run-messages.ts';

/** The messages of RUNS in this log: on JetStream or in memory. */
export const messagesOf = (log: RunLog): RunMessages =>
  'messages' in log ? log.messages : jetStreamMessages(log);
