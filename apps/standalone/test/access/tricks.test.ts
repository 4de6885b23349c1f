import { executorId } from '@runledger/contracts/ids';
import { lifecycleFilter } from '@runledger/contracts/subjects/run-subjects';
import { redriveSubject } from '@runledger/contracts/requests/redrive';
import { append } from '@runledger/event-log/append/append';
import { respondToRedrives, requestRedrive, taken } from '@runledger/request-reply/redrive';
import { openBucket } from '@runledger/event-log/streams/bucket';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { ALL_STREAMS } from '@runledger/event-log/provision/provision';
import { aRun, queued } from '@runledger/testing/events/run-events';
import { Type } from 'typebox';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aGuardedBroker, USERS, type GuardedBroker, type UserName } from './a-guarded-broker.ts';

const A = executorId('a.000000000001');
const B = executorId('b.000000000001');
const key = aRun();
const OWN_FACT = `runs.${key.org_id}.${key.run_id}.life.started.executor.1.${A}`;
const API = '$JS.RUNLEDGER.API';

/** Reply subjects at which an answer would do harm, if the broker published it there. */
const REPLIES = [
  `runs.${key.org_id}.${key.run_id}.life.ended.scheduler.1.none`,
  'runs.o.r.life.queued.gateway.0.none',
  `fleet.${B}.left`,
  `$KV.KEYS.forged`,
  '$KV.EXECUTORS.forged',
  'timers.1.forged',
  'dead_letters.RUNS.forged',
  '$JS.API.STREAM.PURGE.KV_CATALOGUE',
  '$JS.API.STREAM.DELETE.KV_CATALOGUE',
  `${API}.STREAM.PURGE.KV_KEYS`,
];

let broker: GuardedBroker;
let executor: EventLog;
beforeAll(async () => {
  broker = await aGuardedBroker();
  executor = await broker.open('executor-a');
  const gateway = await broker.open('gateway');
  await openBucket(gateway, 'CATALOGUE', Type.String()).put('kept', 'kept');
  await openBucket(gateway, 'KEYS', Type.String()).put('kept', 'kept');
  await append(gateway, queued(key), 0);
  await executor.js.publish(OWN_FACT, '');
});
afterAll(() => broker[Symbol.asyncDispose]());

/** The last sequence and the number of messages of every stream. */
const held = async (): Promise<Record<string, string>> => {
  const entries = await Promise.all(
    ALL_STREAMS.map(async (name) => {
      const { state } = await broker.operator.jsm.streams.info(name);
      return [name, `${state.messages} up to ${state.last_seq}`] as const;
    }),
  );
  return Object.fromEntries(entries);
};
/** Waits until the broker has handled all requests of this connection. */
const settled = async (log: EventLog): Promise<void> => {
  await log.nc.flush();
  await broker.operator.nc.flush();
};

describe('a reply subject that is not an inbox', () => {
  it.each((Object.keys(USERS) as UserName[]).filter((name) => name !== 'operator'))(
    'stays in the account of %s, and allows no more than its own permissions',
    async (name) => {
      const log = await broker.open(name);
      const questions = USERS[name].permissions.publish.allow.filter(
        (subject) => subject.startsWith(API) && /\.(MSG\.GET|DIRECT\.GET|INFO|NAMES)\b/.test(subject),
      );
      expect(questions).not.toEqual([]);
      // Its own permissions hold here too.
      const replies = REPLIES.filter((reply) => !USERS[name].permissions.publish.allow.includes(reply));
      const before = await held();
      for (const question of questions) {
        const subject = question.replace(
          /^.*DIRECT\.GET\.RUNS\.runs\..*$/,
          `${API}.DIRECT.GET.RUNS.${OWN_FACT}`,
        );
        for (const reply of replies) log.nc.publish(subject, '{"seq":1}', { reply });
        for (const reply of replies) log.nc.publish(subject, '', { reply });
      }
      await settled(log);
      expect(await held()).toEqual(before);
    },
  );

  it('stores no acknowledgement of a fact', async () => {
    const before = await held();
    for (const reply of REPLIES) executor.nc.publish(OWN_FACT, '{}', { reply });
    await settled(executor);
    const after = await held();
    expect({ ...after, RUNS: before['RUNS'] }).toEqual(before);
    const stored = Object.keys(
      (await broker.operator.jsm.streams.info('RUNS', { subjects_filter: '>' })).state.subjects ?? {},
    );
    expect(stored.filter((subject) => subject !== OWN_FACT)).toHaveLength(1);
  });

  it('stores nothing that its own consumer delivers', async () => {
    await executor.js.publish(OWN_FACT, '');
    const filter = `runs.*.*.life.*.*.*.${A}`;
    await executor.jsm.consumers.add('RUNS', { durable_name: 'executor-a', filter_subject: filter });
    const before = await held();
    for (const reply of REPLIES) {
      executor.nc.publish(`${API}.CONSUMER.MSG.NEXT.RUNS.executor-a`, '{"batch":1,"no_wait":true}', {
        reply,
      });
    }
    await settled(executor);
    expect(await held()).toEqual(before);
    await executor.jsm.consumers.delete('RUNS', 'executor-a');
  });

  it('delivers nothing to the inbox of another user', async () => {
    const other = await broker.open('executor-b');
    const inbox = `_INBOX_${broker.keys['executor-b'].publicKey}.forged`;
    const got: string[] = [];
    other.nc.subscribe(inbox, { callback: (_error, { subject }) => void got.push(subject) });
    await other.nc.flush();
    executor.nc.publish(`${API}.DIRECT.GET.RUNS.${OWN_FACT}`, '', { reply: inbox });
    await settled(executor);
    await other.nc.flush();
    expect(got).toEqual([]);
  });
});

describe("an executor's own consumer", () => {
  const subject = `${API}.CONSUMER.CREATE.RUNS.executor-a.runs.*.*.life.*.*.*.a.*`;
  const own = { durable_name: 'executor-a', name: 'executor-a', ack_policy: 'explicit' };
  it.each([
    ['another filter', { ...own, filter_subject: 'runs.>' }],
    ['several filters', { ...own, filter_subjects: ['runs.>'] }],
    ['no filter', own],
    [
      'another name',
      { ...own, durable_name: 'executor-b', name: 'executor-b', filter_subject: 'runs.*.*.life.*.*.*.a.*' },
    ],
  ])('cannot be made with %s, against what its subject says', async (_what, config) => {
    const answer = await executor.nc.request(
      subject,
      JSON.stringify({ stream_name: 'RUNS', config, action: '' }),
    );
    expect(answer.json()).toMatchObject({ error: { code: 400 } });
  });

  it.each([
    '$KV.KEYS.pushed',
    `fleet.${B}.left`,
    '$JS.API.STREAM.PURGE.KV_CATALOGUE',
    'activity.o.r.1.b.b.progress',
  ])('pushes nothing to %s', async (deliver_subject) => {
    const gateway = await broker.open('gateway');
    gateway.nc.subscribe('activity.o.r.*.*.*.progress', { callback: () => undefined });
    await gateway.nc.flush();
    const before = await held();
    const filter_subject = 'runs.*.*.life.*.*.*.a.*';
    await executor.jsm.consumers.add('RUNS', { durable_name: 'executor-a', filter_subject, deliver_subject });
    await settled(executor);
    const { delivered } = await executor.jsm.consumers.info('RUNS', 'executor-a');
    expect(delivered.consumer_seq).toBe(0);
    expect(await held()).toEqual(before);
    await executor.jsm.consumers.delete('RUNS', 'executor-a');
  });

  it.each(['scheduler', 'gateway', 'executor.b'] as const)(
    'sends no request to %s by push delivery',
    async (who) => {
      const asked: unknown[] = [];
      const asking = await broker.open(who === 'executor.b' ? 'executor-b' : who);
      using open = new DisposableStack();
      open.use(
        respondToRedrives(asking, who, async (question) => {
          asked.push(question);
          return taken('it is');
        }),
      );
      await asking.nc.flush();
      const filter_subject = 'runs.*.*.life.*.*.*.a.*';
      await executor.js.publish(OWN_FACT, JSON.stringify({ stream: 'RUNS', sequence: 1 }));
      for (const ack_policy of ['explicit', 'none'] as const) {
        await executor.jsm.consumers.add('RUNS', {
          durable_name: 'executor-a',
          filter_subject,
          ack_policy,
          deliver_policy: 'last',
          deliver_subject: redriveSubject(who),
        });
        const pushed = async () =>
          (await executor.jsm.consumers.info('RUNS', 'executor-a')).delivered.consumer_seq;
        await waitFor('it to be pushed', async () => (await pushed()) > 0);
        await executor.jsm.consumers.delete('RUNS', 'executor-a');
      }
      const question = { stream: 'RUNS', sequence: 2 } as const;
      expect(await requestRedrive(broker.operator, who, question, 10_000)).toEqual(taken('it is'));
      expect(asked).toEqual([question]);
    },
  );

  it('can only delay a message of another executor', async () => {
    const other = await broker.open('executor-b');
    const scheduler = await broker.open('scheduler');
    const addressed = `runs.*.*.life.*.*.*.${B}`;
    const ack = { ack_policy: 'explicit', ack_wait: 300_000_000 } as const;
    await other.jsm.consumers.add('RUNS', { durable_name: 'executor-b', filter_subject: addressed, ...ack });
    await scheduler.js.publish(`runs.${key.org_id}.${key.run_id}.life.assigned.scheduler.1.${B}`, '{}');
    await executor.js.publish(OWN_FACT, '{"batch":1,"no_wait":true}');
    await executor.jsm.consumers.add('RUNS', {
      durable_name: 'executor-a',
      filter_subject: 'runs.*.*.life.*.*.*.a.*',
      deliver_policy: 'last',
      deliver_subject: '$JS.API.CONSUMER.MSG.NEXT.RUNS.executor-b',
      ...ack,
    });
    const handed = async () => (await other.jsm.consumers.info('RUNS', 'executor-b')).delivered.consumer_seq;
    await waitFor('the message to be taken away', async () => (await handed()) === 1);
    await executor.jsm.consumers.delete('RUNS', 'executor-a');
    const message = await (await other.js.consumers.get('RUNS', 'executor-b')).next({ expires: 5_000 });
    expect(message).toMatchObject({ redelivered: true, subject: expect.stringMatching(/assigned/) });
  });

  it('reads single facts only under its own name, for any request', async () => {
    const direct = (payload: string) => executor.nc.request(`${API}.DIRECT.GET.RUNS.${OWN_FACT}`, payload);
    expect((await direct('')).headers?.get('Nats-Subject')).toBe(OWN_FACT);
    for (const query of [
      { seq: 1 },
      { multi_last: ['runs.>'] },
      { last_by_subj: lifecycleFilter(key) },
      { seq: 1, batch: 9 },
    ]) {
      expect((await direct(JSON.stringify(query))).headers?.code).toBe(408);
    }
  });
});
