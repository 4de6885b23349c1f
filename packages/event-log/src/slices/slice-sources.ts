import { deliveryAttemptsOfRun } from '@runledger/contracts/deliveries/delivery-attempts';
import { runOfSubject, type RunKey } from '@runledger/contracts/events/subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunId } from '@runledger/contracts/ids';
import type { SlicedStream, SliceHeader } from '@runledger/contracts/slices/slice';
import type { EventLog } from '../connect/event-log.ts';
import { readDirect } from '../read/direct-read.ts';
import { lastMessage } from '../read/leader-read.ts';
import { readAllOfRun } from '../read/read-all-of-run.ts';
import { readPages } from '../read/read-pages.ts';
import { fromStored } from '../read/stored-message.ts';

/** Times are the broker's, ISO 8601 in UTC with milliseconds. */
export type SliceSpan = Pick<SliceHeader, 'from' | 'to' | 'warm_up_from'>;

interface ReadOptions {
  readonly span: SliceSpan;
  readonly extents: SliceHeader['streams'];
  readonly pace: (messages: number) => Promise<void>;
}

/** Each stream in a pass over it: FLEET from its beginning, the others from the warm-up on. */
export const passOver = (log: EventLog, options: ReadOptions): StreamPages[] => [
  fleetOf(log, options),
  pagesOf(log, 'RUNS', options),
  pagesOf(log, 'DELIVERY_ATTEMPTS', options),
];

/** What was read of single runs, beside FLEET. */
export const besideFleet = (
  log: EventLog,
  { runs, attempts }: MessagesOfRuns,
  options: ReadOptions,
): StreamPages[] => {
  const { warm_up_from, to } = options.span;
  const inTime = ({ time }: StoredMessage): boolean => time >= warm_up_from && time < to;
  return [
    fleetOf(log, options),
    { stream: 'RUNS', pages: onePage(runs.filter(inTime)) },
    { stream: 'DELIVERY_ATTEMPTS', pages: onePage(attempts.filter(inTime)) },
  ];
};

const fleetOf = (log: EventLog, { span: { to }, extents, pace }: ReadOptions): StreamPages => {
  const upTo = extents.FLEET.last_sequence;
  return { stream: 'FLEET', pages: before(to, readPages(log, 'FLEET', { upTo, pace })) };
};

const pagesOf = (
  log: EventLog,
  stream: Exclude<SlicedStream, 'FLEET'>,
  { span: { warm_up_from, to }, extents, pace }: ReadOptions,
): StreamPages => {
  const upTo = extents[stream].last_sequence;
  return { stream, pages: before(to, readPages(log, stream, { since: warm_up_from, upTo, pace })) };
};

async function* onePage(messages: readonly StoredMessage[]): AsyncGenerator<readonly StoredMessage[]> {
  yield messages;
}

/** Up to the first page that is later altogether: another leading broker's clock may be a little behind. */
async function* before(
  to: string,
  pages: AsyncIterable<readonly StoredMessage[]>,
): AsyncGenerator<readonly StoredMessage[]> {
  for await (const page of pages) {
    const earlier = page.filter(({ time }) => time < to);
    if (earlier.length === 0) return;
    yield earlier;
  }
}

/** In the order of their positions. */
export interface MessagesOfRuns {
  readonly runs: readonly StoredMessage[];
  readonly attempts: readonly StoredMessage[];
}

/** All that the log holds of these runs, by their subjects: some requests for each. @throws {SliceRefused} @throws {LogUnavailable} */
export const readMessagesOfRuns = async (
  log: EventLog,
  { runs, organisations }: Pick<SliceHeader, 'organisations'> & { readonly runs: readonly RunId[] },
  pace: (messages: number) => Promise<void>,
): Promise<MessagesOfRuns> => {
  const found: { runs: StoredMessage[]; attempts: StoredMessage[] } = { runs: [], attempts: [] };
  for (const id of runs) {
    const key = await keyOf(log, id, organisations);
    const messages = await readAllOfRun(log, key);
    if (!messages)
      throw new SliceRefused(
        `The log has more messages of run ${id} than a run can have, so most of them are forged. runledger verify --run ${id} says more.`,
      );
    const query = { multi_last: [deliveryAttemptsOfRun(key)] };
    const attempts = await readDirect(log, 'DELIVERY_ATTEMPTS', query, `reading the deliveries of run ${id}`);
    found.runs.push(...messages.life, ...messages.webhook);
    found.attempts.push(...attempts.messages.map(fromStored));
    await pace(messages.life.length + messages.webhook.length + attempts.messages.length);
  }
  return { runs: found.runs.toSorted(byPosition), attempts: found.attempts.toSorted(byPosition) };
};

const byPosition = (a: StoredMessage, b: StoredMessage): number => a.sequence - b.sequence;

/** The last message is found without a search through the log. */
const keyOf = async (log: EventLog, id: RunId, organisations: readonly string[]): Promise<RunKey> => {
  const last = await lastMessage(log, 'RUNS', `runs.*.${id}.>`);
  const key = last && runOfSubject(last.subject);
  if (key && (organisations.length === 0 || organisations.includes(key.org_id))) return key;
  const where = organisations.length === 0 ? '' : ' of these organisations';
  throw new SliceRefused(
    `The log has no run ${id}${where}. Check the id. It keeps facts for a limited time, 7 days by default.`,
  );
};

/** Messages of one stream in their order, some at a time. */
export interface StreamPages {
  readonly stream: SlicedStream;
  readonly pages: AsyncIterable<readonly StoredMessage[]>;
}

export interface Sliced {
  readonly stream: SlicedStream;
  readonly message: StoredMessage;
}

interface Head {
  readonly stream: SlicedStream;
  readonly pages: AsyncIterator<readonly StoredMessage[]>;
  page: readonly StoredMessage[];
  next: number;
}

const BATCH = 512;

/**
 * The messages of several streams by time, each stream in its own order; of the same millisecond, those of the first stream come first. It
 * keeps a page of each.
 */
export async function* mergedByTime(streams: readonly StreamPages[]): AsyncGenerator<readonly Sliced[]> {
  const heads = await Promise.all(streams.map(opened));
  try {
    let batch: Sliced[] = [];
    for (let head = earliest(heads); head; head = earliest(heads)) {
      const message = head.page[head.next];
      if (message) batch.push({ stream: head.stream, message });
      head.next += 1;
      if (head.next >= head.page.length) await turn(head);
      if (batch.length < BATCH) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  } finally {
    await Promise.all(heads.map(async ({ pages }) => pages.return?.()));
  }
}

const opened = async ({ stream, pages }: StreamPages): Promise<Head> => {
  const head: Head = { stream, pages: pages[Symbol.asyncIterator](), page: [], next: 0 };
  await turn(head);
  return head;
};

/** To the next page with messages; to an empty one at the end. */
const turn = async (head: Head): Promise<void> => {
  for (;;) {
    const { value, done } = await head.pages.next();
    Object.assign(head, { page: done ? [] : value, next: 0 });
    if (done || head.page.length > 0) return;
  }
};

const earliest = (heads: readonly Head[]): Head | undefined => {
  let found: { readonly head: Head; readonly time: string } | undefined;
  for (const head of heads) {
    const time = head.page[head.next]?.time;
    if (time !== undefined && (!found || time < found.time)) found = { head, time };
  }
  return found?.head;
};

/** Such a slice cannot be taken: the message says why, and what to do. */
export class SliceRefused extends Error {
  override readonly name = 'SliceRefused';
}
