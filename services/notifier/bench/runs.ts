import { newUuid } from '@runledger/contracts/ids';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { append } from '@runledger/event-log/append/append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { range } from './at-once.ts';

/** A run in the log, and its last fact. */
export interface Prepared {
  readonly key: RunKey;
  readonly head: number;
}

const ORGANISATIONS = range(20).map(() => newUuid());

/** A host belongs to one organisation, so it is one receiver. */
export const runOfHost = (host: number): RunKey => aRun(ORGANISATIONS[host % ORGANISATIONS.length]);

/** @returns the sequence of the last one */
export const appendAll = async (log: EventLog, events: readonly RunEvent[], head = 0): Promise<number> => {
  let last = head;
  for (const event of events) {
    const appended = await append(log, event, last);
    if (appended.kind === 'conflict') throw new Error(`conflict at ${appended.head}`);
    last = appended.sequence;
  }
  return last;
};

/** A run that executes: one more fact ends it. */
export const prepareRunning = async (log: EventLog, key: RunKey, webhook: string): Promise<Prepared> => ({
  key,
  head: await appendAll(log, [queued(key, { webhook }), assigned(key), started(key)]),
});

const OUTPUT = {
  id: newUuid(),
  output_id: '9',
  node_id: '9',
  node_meta: null,
  type: 'text',
  data: { text: ['A notification is seldom much longer than this one.'] },
};

export const end = (log: EventLog, { key, head }: Prepared): Promise<number> =>
  appendAll(log, [succeeded(key, [OUTPUT])], head);
