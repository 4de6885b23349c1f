import { parseLifecycleSubject } from '@runledger/contracts/events/subjects';
import { fenceOf, type Chain, type StoredMessage } from '@runledger/contracts/fold/chain';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook';
import { isJsonObject } from '@runledger/contracts/json';
import { hashOf } from '@runledger/event-log/append/previous-hash';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';

/** A message of RUNS as an archive has it. `withheld`: the hash of what the log had, when outputs were taken out. */
export interface ArchivedMessage extends StoredMessage {
  readonly withheld?: string;
}

/** Of what the log had, in base64url; undefined when nobody knows. */
export const hashOfArchived = ({ withheld, data }: ArchivedMessage): string | undefined =>
  withheld ?? (data && hashOf(data));

/** Then the log has all of it. */
export const beginsWithRun = ({ life: [first] }: MessagesOfRun): boolean =>
  first !== undefined && parseLifecycleSubject(first.subject)?.fact === 'queued';

/**
 * What log and archive together have of a run. The log is the arbiter: a log that was restored from an older copy went on otherwise than the
 * archive says. So of the archive counts what the log's own first message follows, and all only of a chain of which the log has nothing.
 */
export const joinRun = (log: MessagesOfRun, archived: MessagesOfRun): MessagesOfRun =>
  beginsWithRun(log)
    ? log
    : eachChain(log, archived, (chain, own, older) => [...before(chain, own, older), ...own]);

/**
 * What the archive is to have of it: the same, and behind it what the archive has beyond the log's end, if it follows that. So an end that
 * only the archive has is not lost when a log that was restored from an older copy is archived again.
 */
export const runToArchive = (log: MessagesOfRun, archived: MessagesOfRun): MessagesOfRun =>
  eachChain(log, archived, (chain, own, older) => [
    ...before(chain, own, older),
    ...own,
    ...behind(chain, own, older),
  ]);

type Messages = MessagesOfRun['life'];
/** As much of a chain as this needs, whatever its events are. */
type AnyChain = Pick<Chain<never, never, never>, 'filterOf' | 'keyOf'> & {
  readonly isFirst: (message: StoredMessage) => boolean;
};

const eachChain = (
  log: MessagesOfRun,
  archived: MessagesOfRun,
  join: (chain: AnyChain, own: Messages, older: Messages) => Messages,
): MessagesOfRun => ({
  life: join(LIFE, log.life, archived.life),
  webhook: join(WEBHOOK, log.webhook, archived.webhook),
});

/** Behind no message, it begins its chain, or it follows a chain that the log had forgotten. */
const beginner =
  <Event>(chain: Pick<Chain<string, Event, unknown>, 'parse' | 'needs'>) =>
  ({ body }: StoredMessage): boolean => {
    const parsed = chain.parse(body);
    return parsed.kind === 'event' && chain.needs(parsed.event) === 'fact_before';
  };

const LIFE: AnyChain = { ...RUN_CHAIN, isFirst: beginner(RUN_CHAIN) };
const WEBHOOK: AnyChain = { ...WEBHOOK_CHAIN, isFirst: beginner(WEBHOOK_CHAIN) };

/** All where the log has nothing. */
const before = (chain: AnyChain, [first]: Messages, older: Messages): Messages => {
  if (!first) return older;
  const follows = followed(chain, first);
  if (follows === 0 && chain.isFirst(first)) return [];
  const earlier = older.filter(({ sequence }) => sequence <= (follows || first.sequence - 1));
  const last = earlier.at(-1);
  return follows && last?.sequence === follows && !isLinked(last, first) ? [] : earlier;
};

const behind = (chain: AnyChain, own: Messages, older: Messages): Messages => {
  const last = own.at(-1);
  const at = older.findIndex(
    (message) =>
      last !== undefined &&
      message.sequence > last.sequence &&
      followed(chain, message) === last.sequence &&
      isLinked(last, message),
  );
  return at === -1 ? [] : older.slice(at);
};

/** The message that it was appended behind; 0 for none; undefined for one that somebody stored without the fence of its chain. */
const followed = (chain: AnyChain, { subject, fence, expectedSequence }: StoredMessage): number | undefined =>
  fence !== null && fence === fenceOf(chain, subject) ? (expectedSequence ?? undefined) : undefined;

/** Notifications have no hash, and a fact has none when its writer could not read the one before. */
const isLinked = (one: StoredMessage, next: StoredMessage): boolean => {
  const said = isJsonObject(next.body) ? next.body['previous_sha256'] : undefined;
  const hash = hashOfArchived(one);
  return said === undefined || hash === undefined || said === hash;
};
