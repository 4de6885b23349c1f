import { mayBeOf, type StoredMessage } from '@runledger/contracts/history';
import { parseRunEvent } from '@runledger/contracts/run-event';
import { lifecycleOf, parseLifecycleSubject } from '@runledger/contracts/subjects';
import { parseFleetEvent } from './fleet.ts';

/** The log holds a fact that only a later release can read: to skip it would make a wrong view. */
export class NewerVersion extends Error {
  override readonly name = 'NewerVersion';
  readonly code = 'newer_version';
  readonly type: string;
  readonly version: number;
  readonly sequence: number;

  constructor({ type, version, sequence }: { type: string; version: number; sequence: number }) {
    super(
      `The event at sequence ${sequence} is ${type} in version ${version}, which this release cannot read. ` +
        'Nothing was skipped; start a release that knows it.',
    );
    this.type = type;
    this.version = version;
    this.sequence = sequence;
  }
}

/** Only under the run's own fence: a forged message may not stop a reader. */
export const newerVersionOf = (stream: string, stored: StoredMessage): NewerVersion | undefined => {
  const parsed = stream === 'FLEET' ? parseFleetEvent(stored.body) : parseLifecycle(stream, stored);
  return parsed?.kind === 'newer_version'
    ? new NewerVersion({ type: parsed.type, version: parsed.version, sequence: stored.sequence })
    : undefined;
};

const parseLifecycle = (
  stream: string,
  { subject, fence, body }: StoredMessage,
): ReturnType<typeof parseRunEvent> | undefined => {
  const run = stream === 'RUNS' ? parseLifecycleSubject(subject) : undefined;
  if (!run || fence !== lifecycleOf(run)) return undefined;
  const parsed = parseRunEvent(body);
  return parsed.kind === 'newer_version' && !mayBeOf(parsed.type, run) ? undefined : parsed;
};
