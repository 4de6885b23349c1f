import type { RunEvent } from '@runledger/contracts/events/run-event';
import { attemptFilter, serviceFilters, type RunKey } from '@runledger/contracts/events/subjects';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import {
  EMPTY_HISTORY,
  type Chain,
  type Gap,
  type NewerEvent,
  type StoredMessage,
} from '@runledger/contracts/fold/chain';
import { readChain, type ReadChain, type WholeChain } from '@runledger/contracts/fold/read-chain';
import type { RunState } from '@runledger/contracts/fold/run';
import {
  assignedAttempts,
  isStray,
  RUN_CHAIN,
  type AssignedAttempt,
} from '@runledger/contracts/fold/run-chain';
import { WEBHOOK_CHAIN, type Webhook } from '@runledger/contracts/fold/webhook';
import { LogUnavailable } from '../connect/event-log.ts';
import type { RunMessages } from './run-messages.ts';

/** Some facts of a run are missing, or its own executors have stored more messages under its subjects than a run can have. */
export interface DamagedRun extends Omit<Gap, 'kind'> {
  readonly kind: 'damaged';
  readonly why: string;
}

/** A run has 5 to 7 messages, with 100 attempts some hundreds. More messages are forged. */
export const MAX_OF_RUN = 2_000;
/** A round has at most four facts. More messages are forged. */
export const MAX_OF_WEBHOOK = 500;

const NOTHING = { kind: 'whole', history: EMPTY_HISTORY, facts: [], refused: [] } as const;

/**
 * What can be facts of the run's lifecycle, including hidden ones: what services stored, and what the executors did that the run was
 * assigned to. What others stored under it is neither read nor counted, however much it is. It is read from the leader, one by one.
 * `handed`: a message that the caller wants to know about.
 */
export const readWholeRun = async (
  messages: RunMessages,
  key: RunKey,
  known: readonly StoredMessage[],
  handed?: StoredMessage,
): Promise<WholeChain<RunEvent, RunState> | NewerEvent | DamagedRun> => {
  const last = await messages.last(RUN_CHAIN.filterOf(key));
  if (!last) return NOTHING;
  const { sequence: upTo } = last;
  const services = await ofServices(messages, key, known, upTo);
  const attempts = services && assignedAttempts(key, services);
  const executors =
    attempts && (await ofExecutors(messages, key, attempts, MAX_OF_RUN - services.length, upTo));
  if (!executors) {
    const why = `run ${key.run_id} has more than ${MAX_OF_RUN} messages of its own executors, so most of them are forged`;
    return { kind: 'damaged', why, after: 0, expected: 0, sequence: upTo };
  }
  const own = [...services, ...executors];
  const read = await foldBehindStrays(messages, key, { own, last, attempts, handed });
  return read.kind === 'gap' ? { ...read, kind: 'damaged', why: damage(key, read) } : read;
};

/** Undefined for more than a run can have. */
const ofServices = async (
  messages: RunMessages,
  key: RunKey,
  known: readonly StoredMessage[],
  upTo: number,
): Promise<readonly StoredMessage[] | undefined> => {
  const fence = RUN_CHAIN.filterOf(key);
  const filters = serviceFilters(key);
  const queued = await queuedOf(messages, key);
  // Too many messages for one response may be of executors.
  const newest =
    known.length > 0
      ? known
      : (await Promise.all(filters.map((filter) => messages.lastOfEachSubject(filter)))).flat();
  const from = earliest([...newest, ...(queued ? [queued] : [])], fence, upTo);
  const found: StoredMessage[] = [];
  for (const filter of filters) {
    const some = await readAllUnder(messages, filter, { from, fence, upTo, most: MAX_OF_RUN - found.length });
    if (!some) return undefined;
    found.push(...some);
  }
  return found;
};

/** Nothing of an attempt is before its assignment. */
const NO_FENCE = '';

/** Undefined for more than `most`. */
const ofExecutors = async (
  messages: RunMessages,
  key: RunKey,
  attempts: readonly AssignedAttempt[],
  most: number,
  upTo: number,
): Promise<readonly StoredMessage[] | undefined> => {
  const found: StoredMessage[] = [];
  for (const attempt of attempts) {
    const some = await readAllUnder(messages, attemptFilter(key, attempt), {
      from: attempt.after + 1,
      fence: NO_FENCE,
      upTo: Math.min(attempt.before - 1, upTo),
      most: most - found.length,
    });
    if (!some) return undefined;
    found.push(...some);
  }
  return found;
};
interface OwnMessages {
  readonly own: readonly StoredMessage[];
  /** Of the whole chain. */
  readonly last: StoredMessage;
  readonly attempts: readonly AssignedAttempt[];
  readonly handed: StoredMessage | undefined;
}

/** Farther back nobody looks for what a stray was stored behind. An attempt has five facts at most. */
const MAX_LOOKED_UP = 16;

/**
 * Facts may be fenced on strays, which are read too, and those on others. What they were stored behind is looked up: where the log has lost
 * an assignment, the facts of its attempt look like strays, and the run is damaged.
 */
const foldBehindStrays = async (
  messages: RunMessages,
  key: RunKey,
  { own, last, attempts, handed }: OwnMessages,
): Promise<ReadChain<RunEvent, RunState>> => {
  const stray = (message: StoredMessage): boolean => isStray(attempts, message);
  const straysAt = async (sequences: readonly number[]): Promise<StoredMessage[]> => {
    const found = await Promise.all(sequences.map((sequence) => messages.at(sequence)));
    const stored = found.filter((message) => message !== undefined);
    return partOf(RUN_CHAIN, key, stored).filter(stray);
  };
  const isRead = new Set(own.map(({ sequence }) => sequence));
  const beside = partOf(RUN_CHAIN, key, handed ? [last, handed] : [last]);
  const fencedOn = new Set(own.map(({ expectedSequence }) => expectedSequence ?? 0));
  const read = [
    ...own,
    ...beside.filter(({ sequence }) => sequence <= last.sequence && !isRead.has(sequence)),
    ...(await straysAt([...fencedOn].filter((sequence) => sequence > 0 && !isRead.has(sequence)))),
  ];
  for (let lookedUp = 0; lookedUp < MAX_LOOKED_UP; lookedUp += 1) {
    const folded = readChain(RUN_CHAIN, read);
    if (folded.kind !== 'gap') return folded;
    const before = await straysAt([folded.expected]);
    if (before.length === 0) return folded;
    read.push(...before);
  }
  return readChain(RUN_CHAIN, read, stray);
};

/** The first fact of a run, which alone has its subject. */
export const queuedOf = (messages: RunMessages, key: RunKey): Promise<StoredMessage | undefined> =>
  messages.next(`${RUN_CHAIN.filterOf(key).slice(0, -1)}queued.gateway.0.none`, 1);

/** Every webhook fact of a run, including hidden ones. No genuine one is older than the run. A gap for too many messages. */
export const readWholeWebhook = async (
  messages: RunMessages,
  key: RunKey,
  { history }: WholeChain<RunEvent, RunState>,
  known: readonly StoredMessage[],
): Promise<ReadChain<WebhookEvent, Webhook>> => {
  if (history.state === undefined) return NOTHING;
  const from = earliest(known, WEBHOOK_CHAIN.filterOf(key), history.state.number);
  const read = await readFrom(messages, WEBHOOK_CHAIN, key, { from, most: MAX_OF_WEBHOOK });
  return read ?? { kind: 'gap', after: 0, expected: 0, sequence: from };
};

/** Undefined for more than `most` messages. */
const readFrom = async <Type extends string, Event, State>(
  messages: RunMessages,
  chain: Chain<Type, Event, State>,
  key: RunKey,
  span: { readonly from: number; readonly most: number },
): Promise<ReadChain<Event, State> | undefined> => {
  const found = await readAllUnder(messages, chain.filterOf(key), span);
  return found && readChain(chain, found);
};

const damage = (run: RunKey, { sequence, expected, after }: Gap): string =>
  `the history of run ${run.run_id} is damaged: the event at sequence ${sequence} is fenced on ${expected}, ` +
  (after === 0 ? 'and the log has no event before it' : `but the event before it is ${after}`);

/** The messages that are in this chain. */
export const partOf = (
  chain: Pick<Chain<never, never, never>, 'filterOf'>,
  key: RunKey,
  messages: readonly StoredMessage[],
): StoredMessage[] => {
  const prefix = chain.filterOf(key).slice(0, -1);
  return messages.filter(({ subject }) => subject.startsWith(prefix));
};

const MAX_ROUNDS = 5;

interface Span {
  readonly from: number;
  /** Of the chain that the messages under the filter are in; the filter itself if it is left out. */
  readonly fence?: string;
  /** The last sequence that matters; the last one under the filter if it is left out. */
  readonly upTo?: number;
  readonly most: number;
}

/**
 * Every message of RUNS under a filter, including hidden ones, from the stream's leader, one by one: slow and correct. It begins
 * at the first message that the caller knows, never at the beginning of the log, because a search through the log would
 * delay its writers. Undefined for more than `most` messages.
 */
export const readAllUnder = async (
  messages: RunMessages,
  filter: string,
  { from, fence = filter, upTo = Infinity, most }: Span,
): Promise<StoredMessage[] | undefined> => {
  const last = (await messages.last(filter))?.sequence ?? 0;
  const head = Math.min(last, upTo);
  let start = from;
  for (let round = 1; ; round += 1) {
    const found = await walk(messages, filter, { start, head, most });
    if (found === undefined) return undefined;
    const before = earliest(found, fence, start);
    if (before >= start || round === MAX_ROUNDS) return found;
    // A message is fenced on an earlier one that was hidden until now.
    start = before;
  }
};

/** The first sequence among the messages and those they are fenced on. The broker checked only the run's own fence. */
export const earliest = (messages: readonly StoredMessage[], filter: string, otherwise: number): number =>
  messages.reduce((first, { sequence, fence, expectedSequence }) => {
    const fencedOn = fence === filter && expectedSequence !== null ? expectedSequence : 0;
    return Math.min(first, sequence, fencedOn > 0 ? fencedOn : sequence);
  }, otherwise);

const walk = async (
  messages: RunMessages,
  filter: string,
  { start, head, most }: { readonly start: number; readonly head: number; readonly most: number },
): Promise<StoredMessage[] | undefined> => {
  const found: StoredMessage[] = [];
  for (let at = start; at <= head;) {
    const message = await messages.next(filter, at);
    // Another leader gave the head, or the run has expired meanwhile.
    if (!message) throw new LogUnavailable(`reading ${filter}: the leader does not have message ${head}`);
    if (message.sequence > head) break;
    if (found.push(message) > most) return undefined;
    at = message.sequence + 1;
  }
  return found;
};
