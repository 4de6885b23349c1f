import { hash } from 'node:crypto';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { attemptSubjects, assignmentSubject, runOfSubject } from '@runledger/contracts/events/subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { isExecutorId, orgId, runId } from '@runledger/contracts/ids';
import { atMost } from '@runledger/resilience/at-most';
import { LRUCache } from 'lru-cache';
import type { EventLog } from '../connect/event-log.ts';
import { lastOfSubjects } from '../read/direct-read.ts';
import { messagesOf } from '../read/run-messages.ts';

/** Of the bytes of a message, in base64url. */
export const hashOf = (data: Uint8Array): string => hash('sha256', data, 'base64url');

/** As many appends rest on a message that was stored or delivered a moment ago. Some megabytes. */
const REMEMBERED = 32_768;

const hashes = new WeakMap<EventLog, LRUCache<string, string>>();

/** By run and sequence: a log that was restored from a copy gives the same sequence to a message of another run. */
const nameOf = (run_id: string, sequence: number): string => `${run_id} ${sequence}`;

const remembered = (log: EventLog): LRUCache<string, string> => {
  const known = hashes.get(log) ?? new LRUCache<string, string>(atMost(REMEMBERED));
  hashes.set(log, known);
  return known;
};

/** For a reader whose next append rests on this message: then nothing is read for its hash. */
export const rememberMessage = (
  log: EventLog,
  { subject, sequence, data }: Pick<StoredMessage, 'subject' | 'sequence' | 'data'>,
): void => {
  const run = runOfSubject(subject);
  if (run && data) remembered(log).set(nameOf(run.run_id, sequence), hashOf(data));
};

/** At once as a rule: an append is sent in the turn in which it is asked for. */
type Hash = string | undefined;

/** The hash of the message that an append rests on; undefined when nobody can read it. @throws {LogUnavailable} */
export const previousHash = (
  log: EventLog,
  { run_id }: Pick<RunEvent, 'run_id'>,
  expected: number,
): Hash | Promise<Hash> =>
  remembered(log).get(nameOf(run_id, expected)) ?? messagesOf(log).at(expected).then(hashIn);

/** The same for an executor, which may read its own subjects only. @throws {LogUnavailable} */
export const previousOwnHash = (
  log: EventLog,
  { org_id, run_id, attempt, executor_id }: RunEvent,
  expected: number,
): Hash | Promise<Hash> => {
  const known = remembered(log).get(nameOf(run_id, expected));
  if (known !== undefined || executor_id === null || !isExecutorId(executor_id)) return known;
  const about = { org_id: orgId(org_id), run_id: runId(run_id), attempt, executor_id };
  return lastOfSubjects(log, [assignmentSubject(about), ...attemptSubjects(about)]).then((found) =>
    hashIn(found.find(({ sequence }) => sequence === expected)),
  );
};

const hashIn = (message: StoredMessage | undefined): Hash => message?.data && hashOf(message.data);
