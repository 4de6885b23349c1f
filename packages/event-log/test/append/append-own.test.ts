import { executorName } from '@runledger/contracts/ids';
import { executorFilter, runEventSubject, attemptSubjects } from '@runledger/contracts/events/subjects';
import {
  aRun,
  assigned,
  cancelRequested,
  EXECUTOR,
  OTHER_EXECUTOR,
  queued,
  started,
} from '@runledger/testing/run-events';
import { testNats } from '@runledger/testing/servers/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append, appendOwn } from '../../src/append/append.ts';
import { consume, done } from '../../src/follow/consume.ts';
import type { OwnedConsumer } from '../../src/follow/consumer-owner.ts';
import { createOwnedConsumer } from '../../src/follow/open-consumer.ts';
import { lastOfSubjects } from '../../src/read/direct-read.ts';
import { openEventLog, type EventLog } from '../../src/connect/event-log.ts';
import { silentLogger } from '../../src/connect/observability.ts';
import { provision } from '../../src/provision/provision.ts';

const NAME = executorName(EXECUTOR);
const DURABLE = `executor-${NAME}`;
/** All that an executor may ask of RUNS. */
const allowed = [
  `runs.*.*.life.*.executor.*.${NAME}.*`,
  `$JS.API.CONSUMER.INFO.RUNS.${DURABLE}`,
  `$JS.API.CONSUMER.DELETE.RUNS.${DURABLE}`,
  `$JS.API.CONSUMER.RESET.RUNS.${DURABLE}`,
  `$JS.API.CONSUMER.MSG.NEXT.RUNS.${DURABLE}`,
  `$JS.ACK.RUNS.${DURABLE}.>`,
  `$JS.API.DIRECT.GET.RUNS.runs.*.*.*.*.*.*.${NAME}.*`,
];
const authorization = `authorization { users: [
  { user: operator, password: operator },
  { user: executor, password: executor, permissions: {
    publish: { allow: ${JSON.stringify(allowed)} }, subscribe: { allow: ["_INBOX.>"] } } }
] }`;

const opened = new AsyncDisposableStack();
let operator: EventLog;
let executor: EventLog;
beforeAll(async () => {
  const { url } = opened.use(await testNats({ authorization }));
  const open = async (user: string) =>
    opened.use(await openEventLog({ url, name: user, user, password: user }, silentLogger));
  operator = await open('operator');
  executor = await open('executor');
  await provision(operator);
});
afterAll(() => opened.disposeAsync());

const anAssignedRun = async () => {
  const key = aRun();
  const first = await append(operator, queued(key), 0);
  if (first.kind !== 'appended') throw new Error(first.kind);
  const second = await append(operator, assigned(key), first.sequence);
  if (second.kind !== 'appended') throw new Error(second.kind);
  return { key, head: second.sequence };
};

describe('an executor with access to its own messages only', () => {
  it('appends a fact, and recognises it when it is appended again', async () => {
    const { key, head } = await anAssignedRun();
    const event = started(key);
    const appended = await appendOwn(executor, event, head);
    expect(appended).toEqual({ kind: 'appended', sequence: expect.any(Number) });
    expect(await appendOwn(executor, event, head)).toEqual(appended);
  });

  it('gets the head in a conflict, and recognises its own fact there', async () => {
    const { key, head } = await anAssignedRun();
    const request = cancelRequested(key, 1, EXECUTOR);
    const before = await append(operator, request, head);
    expect(await appendOwn(executor, started(key), head)).toEqual({
      kind: 'conflict',
      head: before.kind === 'appended' ? before.sequence : undefined,
    });
    const subjects = attemptSubjects({ ...key, attempt: 1, executor_id: EXECUTOR });
    expect(await lastOfSubjects(executor, subjects)).toMatchObject([{ body: request }]);
  });

  it('receives messages addressed to it, and replaces its consumer after a restart', async () => {
    const received: string[] = [];
    const options = {
      name: DURABLE,
      stream: 'RUNS',
      subjects: [executorFilter(EXECUTOR)],
      deliver: 'new',
      owner: {
        id: EXECUTOR,
        owns: () => true,
        create: (wanted: OwnedConsumer) => createOwnedConsumer(operator, wanted),
      },
    } as const;
    const handle = async ({ subject }: { subject: string }) => {
      received.push(subject);
      return done;
    };
    const earlier = await consume(
      executor,
      { ...options, owner: { ...options.owner, id: 'earlier' } },
      handle,
    );
    await earlier[Symbol.asyncDispose]();
    await using consumption = await consume(executor, options, handle);
    const { key } = await anAssignedRun();
    await waitFor('the assignment', () => received.includes(runEventSubject(assigned(key))));
    await waitFor('the acknowledgement', async () => {
      const { ack_floor, num_ack_pending } = await operator.jsm.consumers.info('RUNS', DURABLE);
      return num_ack_pending === 0 && ack_floor.stream_seq > 0;
    });
    expect(consumption.state()).toEqual({ ok: true });
  });

  it('may access nothing of another executor', async () => {
    const { key } = await anAssignedRun();
    const refused = /permissions violation|does not allow/i;
    const stranger = attemptSubjects({ ...key, attempt: 1, executor_id: OTHER_EXECUTOR }).map((subject) =>
      subject.replace(`.${NAME}.`, '.stranger.'),
    );
    await expect(lastOfSubjects(executor, stranger.slice(0, 1))).rejects.toThrow(refused);
    await expect(executor.jsm.streams.getMessage('RUNS', { seq: 1 })).rejects.toThrow(refused);
    await expect(executor.jsm.streams.info('RUNS')).rejects.toThrow(refused);
    const filter_subject = 'runs.>';
    await expect(
      executor.jsm.consumers.add('RUNS', { durable_name: DURABLE, filter_subject }),
    ).rejects.toThrow(refused);
  });
});
