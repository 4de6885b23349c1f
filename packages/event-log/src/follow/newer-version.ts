import { fenceOf, type Chain, type StoredMessage } from '@runledger/contracts/fold/chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook-chain';
import { parseFleetEvent } from '@runledger/contracts/events/fleet-event';
import { isOfControlPlane } from '@runledger/contracts/subjects/fleet-subjects';
import { CannotContinue } from '../messages/following.ts';

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

/** What an executor wrote in RUNS in a version that this release cannot read. It is no fact unless the assignment of its attempt names that version. */
export const newerOfExecutor = (stored: StoredMessage): NewerType | undefined => {
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
  const parsed = parseFleetEvent(body);
  return parsed.kind === 'newer_version' ? { ...parsed, isOfService: isOfControlPlane(subject) } : undefined;
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
