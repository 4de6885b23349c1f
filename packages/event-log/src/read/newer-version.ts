import { parseFleetEvent } from '@runledger/contracts/events/fleet-event';
import { parseRunEvent } from '@runledger/contracts/events/run-event';
import { TERMS } from '@runledger/contracts/events/leader-terms';
import {
  assignmentSubject,
  executorWriterOf,
  parseLifecycleSubject,
} from '@runledger/contracts/events/subjects';
import { fenceOf, type Chain, type StoredMessage } from '@runledger/contracts/fold/chain';
import { latestVersionUnder, RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook';
import type { EventLog } from '../connect/event-log.ts';
import { CannotContinue, messagesOf } from './run-messages.ts';

/** The log holds a fact that only a later release can read. A reader that skipped it would be wrong. */
export class NewerVersion extends CannotContinue {
  override readonly name = 'NewerVersion';
  readonly code = 'newer_version';
  readonly type: string;
  readonly version: number;
  readonly sequence: number;

  constructor({ type, version, sequence }: { type: string; version: number; sequence: number }) {
    super(
      `The event at sequence ${sequence} is ${type} in version ${version}, which this release cannot read. ` +
        'Nothing was skipped. Start a release that can read it.',
    );
    this.type = type;
    this.version = version;
    this.sequence = sequence;
  }
}

/**
 * That the message is a fact which only a later release can read: under the run's own fence, and of a service. No message of an executor
 * alone stops a reader: see `newerOfExecutor`.
 */
export const newerVersionOf = (stream: string, stored: StoredMessage): NewerVersion | undefined => {
  const { sequence } = stored;
  const newer = stream === 'FLEET' ? newerOfFleet(stored) : newerOfRuns(stream, stored);
  return newer?.isOfService ? new NewerVersion({ ...newer, sequence }) : undefined;
};

/** What an executor wrote in RUNS that this release cannot read. It is no fact unless the assignment of its attempt names its type with that version. */
const newerOfExecutor = (stored: StoredMessage): NewerType | undefined => {
  const newer = newerOfRuns('RUNS', stored);
  return newer?.isOfService === false ? newer : undefined;
};

interface NewerType {
  readonly type: string;
  readonly version: number;
}

interface NewerMessage extends NewerType {
  readonly isOfService: boolean;
}

const newerOfFleet = ({ subject, body }: StoredMessage): NewerMessage | undefined => {
  const parsed = subject === TERMS ? undefined : parseFleetEvent(body);
  return parsed?.kind === 'newer_version'
    ? { ...parsed, isOfService: executorWriterOf(subject) === undefined }
    : undefined;
};

const newerOfRuns = (stream: string, { subject, fence, body }: StoredMessage): NewerMessage | undefined => {
  if (stream !== 'RUNS') return undefined;
  return newerOf(RUN_CHAIN, subject, fence, body) ?? newerOf(WEBHOOK_CHAIN, subject, fence, body);
};

const newerOf = <Type extends string, Event, State>(
  chain: Chain<Type, Event, State>,
  subject: string,
  fence: string | null,
  body: unknown,
): NewerMessage | undefined => {
  if (fence === null || fenceOf(chain, subject) !== fence) return undefined;
  const newer = chain.newerVersionOf(body);
  if (!newer || !chain.belongsUnder(newer.type, subject)) return undefined;
  return { ...newer, isOfService: newer.version <= chain.latestVersion(undefined, subject, newer.type) };
};

/**
 * That an executor wrote a fact which only a later release can read, for a reader of RUNS that does not fold runs. Only the scheduler
 * writes assignments, so this is one request, whatever an executor wrote about the run. @throws {LogUnavailable}
 */
export const newerVersionOfExecutor = async (
  log: EventLog,
  stored: StoredMessage,
): Promise<NewerVersion | undefined> => {
  const newer = newerOfExecutor(stored);
  const about = newer && parseLifecycleSubject(stored.subject);
  if (!newer || !about?.executor_id) return undefined;
  const { executor_id } = about;
  const assignment = await messagesOf(log).last(assignmentSubject({ ...about, executor_id }));
  if (!assignment) return undefined;
  const parsed = parseRunEvent(assignment.body);
  if (parsed.kind !== 'event') return newerVersionOf('RUNS', assignment);
  const { event } = parsed;
  const named = event.type === 'RunAssigned' ? event.data.fact_versions : undefined;
  return newer.version <= latestVersionUnder(stored.subject, newer.type, named)
    ? new NewerVersion({ ...newer, sequence: stored.sequence })
    : undefined;
};
