import { fenceOf, type Chain, type StoredMessage } from '@runledger/contracts/fold/chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook-chain';
import { parseFleetEvent } from '@runledger/contracts/events/fleet-event';
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

/** Only under the run's own fence: a forged message must not stop a reader. */
export const newerVersionOf = (stream: string, stored: StoredMessage): NewerVersion | undefined => {
  const parsed = stream === 'FLEET' ? parseFleetEvent(stored.body) : newerFact(stream, stored);
  return parsed?.kind === 'newer_version'
    ? new NewerVersion({ type: parsed.type, version: parsed.version, sequence: stored.sequence })
    : undefined;
};

const newerFact = (stream: string, { subject, fence, body }: StoredMessage): NewerFact | undefined => {
  if (stream !== 'RUNS') return undefined;
  return newerOf(RUN_CHAIN, subject, fence, body) ?? newerOf(WEBHOOK_CHAIN, subject, fence, body);
};

interface NewerFact {
  readonly kind: 'newer_version';
  readonly type: string;
  readonly version: number;
}

const newerOf = <Type extends string, Event, State>(
  chain: Chain<Type, Event, State>,
  subject: string,
  fence: string | null,
  body: unknown,
): NewerFact | undefined => {
  if (fence === null || fenceOf(chain, subject) !== fence) return undefined;
  const newer = chain.newerVersionOf(body);
  return newer && chain.belongsUnder(newer.type, subject) ? newer : undefined;
};
