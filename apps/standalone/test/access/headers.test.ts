import { headers, TimeoutError } from '@nats-io/transport-node';
import { ALL_STREAMS } from '@runledger/event-log/provision/provision';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aGuardedBroker, type GuardedBroker } from './a-guarded-broker.ts';
import { ALLOWED } from './allowed.ts';

/**
 * Permissions cannot refuse a header: it is on a message under an allowed subject. So each user sends every header that the broker acts
 * on to each of its subjects, and nothing of another writer may change. Written by hand, like the table of subjects.
 */
interface Row {
  readonly headers: Readonly<Record<string, string>>;
  /** What the broker does in all streams that have no line of their own. */
  readonly elsewhere: Outcome;
  readonly in?: Readonly<Record<string, Outcome>>;
}
/** `dropped`: before any stream got it, and without a response. */
type Outcome = 'stored' | 'refused' | 'duplicate' | 'dropped';

/** The driver of object stores rolls up, and so do a schedule and a record that replaces the one before. */
const WRITERS_OF = {
  KV_ACCOUNTS: ['gateway'],
  KV_ARCHIVE: ['gateway'],
  KV_CATALOGUE: ['gateway'],
  KV_FILES: ['gateway'],
  KV_KEYS: ['gateway'],
  KV_RATES: ['gateway'],
  KV_SCHEDULES: ['gateway'],
  KV_WEBHOOK_SECRETS: ['gateway', 'notifier'],
  OBJ_ARCHIVE: ['gateway'],
  OBJ_MODELS: ['gateway'],
  OBJ_OUTPUTS: ['gateway'],
  OBJ_SNAPSHOTS: ['scheduler'],
  TIMERS: ['notifier'],
};
const ROLLED_UP = Object.keys(WRITERS_OF);
const each = (streams: readonly string[], outcome: Outcome): Record<string, Outcome> =>
  Object.fromEntries(streams.map((stream) => [stream, outcome]));

const ID = 'the-id-of-a-message-of-another-writer';
const ELSEWHERE = '$KV.KEYS.forged';
const TABLE: readonly Row[] = [
  { headers: { 'Nats-Rollup': 'sub' }, elsewhere: 'refused', in: each(ROLLED_UP, 'stored') },
  { headers: { 'Nats-TTL': '1s' }, elsewhere: 'refused', in: each(['KV_EXECUTORS', 'LOGS'], 'stored') },
  { headers: { 'Nats-TTL': 'never' }, elsewhere: 'refused', in: each(['KV_EXECUTORS', 'LOGS'], 'stored') },
  { headers: { 'Nats-Incr': '+1' }, elsewhere: 'refused' },
  // A target outside the stream.
  {
    headers: { 'Nats-Schedule': '@at 2020-01-01T00:00:00Z', 'Nats-Schedule-Target': ELSEWHERE },
    elsewhere: 'refused',
  },
  { headers: { 'Nats-Scheduler': ELSEWHERE }, elsewhere: 'refused' },
  {
    headers: { 'Nats-Schedule-Next': 'purge', 'Nats-Scheduler': ELSEWHERE },
    elsewhere: 'refused',
    // Nothing of TIMERS has that subject.
    in: { TIMERS: 'stored' },
  },
  { headers: { 'Nats-Stream-Source': 'RUNS 1 > > runs.forged' }, elsewhere: 'refused' },
  { headers: { 'Nats-Expected-Stream': 'ANOTHER' }, elsewhere: 'refused' },
  { headers: { 'Nats-Expected-Last-Sequence': '999999' }, elsewhere: 'refused' },
  { headers: { 'Nats-Expected-Last-Msg-Id': 'another' }, elsewhere: 'refused' },
  { headers: { 'Nats-Expected-Last-Subject-Sequence': '999999' }, elsewhere: 'refused' },
  { headers: { 'Nats-Required-Api-Level': '99' }, elsewhere: 'stored' },
  {
    headers: { 'Nats-Batch-Id': 'a-batch', 'Nats-Batch-Sequence': '1', 'Nats-Batch-Commit': '1' },
    elsewhere: 'refused',
    in: { RUNS: 'stored' },
  },
  // So no message of ours may have an id that another can predict.
  { headers: { 'Nats-Msg-Id': ID }, elsewhere: 'duplicate' },
  { headers: { 'Nats-Marker-Reason': 'Purge' }, elsewhere: 'stored' },
  { headers: { 'KV-Operation': 'PURGE' }, elsewhere: 'stored' },
  // The sender may not write there.
  { headers: { 'Nats-Trace-Dest': ELSEWHERE }, elsewhere: 'dropped' },
];
const ALL: Row = { headers: { 'Nats-Rollup': 'all' }, elsewhere: 'refused', in: each(ROLLED_UP, 'stored') };

const ANSWERED_WITHIN_MS = 5_000;
const DROPPED_AFTER_MS = 150;

const USERS = ['gateway', 'scheduler', 'notifier', 'executor-a'] as const;

let broker: GuardedBroker;
/** The subjects of each stream. */
const subjectsOf = new Map<string, readonly string[]>();
beforeAll(async () => {
  broker = await aGuardedBroker();
  for (const stream of ALL_STREAMS)
    subjectsOf.set(stream, (await broker.operator.jsm.streams.info(stream)).config.subjects);
  for (const stream of ALL_STREAMS)
    await broker.operator.js.publish(witnessOf(stream), 'of another writer', { msgID: ID });
});
afterAll(() => broker[Symbol.asyncDispose]());

const filled = (pattern: string, token: string): string =>
  pattern.replaceAll('*', token).replace('>', `${token}.${token}`);
const witnessOf = (stream: string): string => filled(subjectsOf.get(stream)?.[0] ?? '', 'witness');

const isIn = (subject: string, pattern: string): boolean => {
  const wanted = pattern.split('.');
  const tokens = subject.split('.');
  return (
    (wanted.at(-1) === '>' || wanted.length === tokens.length) &&
    wanted.every((token, at) => token === '>' || token === '*' || token === tokens[at])
  );
};

/** One subject for each line of the table of subjects that goes to a stream. */
const written = (user: (typeof USERS)[number]): { readonly subject: string; readonly stream: string }[] =>
  ALLOWED[user].publish.flatMap((pattern) => {
    const subject = filled(pattern, 'x');
    // The driver writes the keys of buckets under its own prefix.
    const own = subject.replace(/^\$JS\.RUNLEDGER\.API\.(?=\$KV\.)/, '');
    const [stream] = [...subjectsOf].find(([, subjects]) => subjects.some((one) => isIn(own, one))) ?? [];
    return stream === undefined ? [] : [{ subject, stream }];
  });

const send = async (log: EventLog, subject: string, row: Row): Promise<Outcome> => {
  const sent = headers();
  for (const [name, value] of Object.entries(row.headers)) sent.set(name, value);
  const timeout = row.elsewhere === 'dropped' ? DROPPED_AFTER_MS : ANSWERED_WITHIN_MS;
  const response = await log.nc.request(subject, '', { headers: sent, timeout }).catch((error: unknown) => {
    if (error instanceof TimeoutError) return undefined;
    throw error;
  });
  if (response === undefined) return 'dropped';
  const answer: unknown = response.json();
  if (typeof answer !== 'object' || answer === null) throw new Error(`no answer for ${subject}`);
  if ('error' in answer) return 'refused';
  return 'duplicate' in answer ? 'duplicate' : 'stored';
};

const gone = async (): Promise<string[]> => {
  const found = await Promise.all(
    ALL_STREAMS.map(async (stream) => {
      const message = await broker.operator.jsm.streams.getMessage(stream, {
        last_by_subj: witnessOf(stream),
      });
      return message === null ? [stream] : [];
    }),
  );
  return found.flat();
};

const outcomes = async (user: (typeof USERS)[number], rows: readonly Row[], except: readonly string[]) => {
  const log = await broker.open(user);
  const [got, wanted]: string[][] = [[], []];
  for (const { subject, stream } of written(user)) {
    if (except.includes(stream)) continue;
    for (const row of rows) {
      const what = `${subject} ${JSON.stringify(row.headers)}: `;
      got?.push(what + (await send(log, subject, row)));
      wanted?.push(what + (row.in?.[stream] ?? row.elsewhere));
    }
  }
  return { got, wanted };
};

describe.each(USERS)('a header on a message of %s', (user) => {
  it('does what the table says, and removes and stores nothing of another writer', async () => {
    const { got, wanted } = await outcomes(user, TABLE, []);
    expect(got).toEqual(wanted);
    expect(got?.length).toBeGreaterThan(TABLE.length);
    expect(await gone()).toEqual([]);
    const keys = await broker.operator.jsm.streams.info('KV_KEYS', { subjects_filter: ELSEWHERE });
    expect(keys.state.subjects).toBeUndefined();
  });

  it('cannot roll up a stream, but for a store that no executor writes', async () => {
    const { got, wanted } = await outcomes(user, [ALL], ROLLED_UP);
    expect(got).toEqual(wanted);
    expect(await gone()).toEqual([]);
  });
});

describe('the streams that one message can empty', () => {
  it('are those of the table, which no executor writes', async () => {
    const configs = await Promise.all(ALL_STREAMS.map((name) => broker.operator.jsm.streams.info(name)));
    const open = configs.filter(({ config }) => config.allow_rollup_hdrs).map(({ config }) => config.name);
    expect(open.toSorted()).toEqual(ROLLED_UP);
    const writers = open.map((stream) => [
      stream,
      USERS.filter((user) => written(user).some((one) => one.stream === stream)),
    ]);
    expect(Object.fromEntries(writers)).toEqual(WRITERS_OF);
  });

  it('do not include the heartbeats, which not even the operator can purge', async () => {
    await expect(broker.operator.jsm.streams.purge('KV_EXECUTORS')).rejects.toThrow(/purge/);
  });
});
