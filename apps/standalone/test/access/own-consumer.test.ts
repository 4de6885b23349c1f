import { lifecycleFilter } from '@runledger/contracts/subjects/run-subjects';
import { redriveSubject } from '@runledger/contracts/requests/redrive';
import { respondToRedrives, requestRedrive, taken } from '@runledger/request-reply/redrive';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GuardedBroker } from './a-guarded-broker.ts';
import { API, B, OWN_FACT, aHostileExecutor, key, settled } from './a-hostile-executor.ts';
import type { HostileExecutor } from './a-hostile-executor.ts';

let hostile: HostileExecutor;
let broker: GuardedBroker;
let executor: EventLog;
beforeAll(async () => {
  hostile = await aHostileExecutor();
  ({ broker, executor } = hostile);
});
afterAll(() => hostile[Symbol.asyncDispose]());

describe("an executor's own consumer", () => {
  const subject = `${API}.CONSUMER.CREATE.RUNS.executor-a.runs.*.*.*.*.*.*.a.*`;
  const own = { durable_name: 'executor-a', name: 'executor-a', ack_policy: 'explicit' };
  it.each([
    ['another filter', { ...own, filter_subject: 'runs.>' }],
    ['several filters', { ...own, filter_subjects: ['runs.>'] }],
    ['no filter', own],
    [
      'another name',
      { ...own, durable_name: 'executor-b', name: 'executor-b', filter_subject: 'runs.*.*.*.*.*.*.a.*' },
    ],
  ])('cannot be created with %s, which its subject contradicts', async (_what, config) => {
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
    'logs.o.r.1.b.b.0',
  ])('pushes nothing to %s', async (deliver_subject) => {
    const gateway = await broker.open('gateway');
    gateway.nc.subscribe('activity.o.r.*.*.*.progress', { callback: () => undefined });
    gateway.nc.subscribe('logs.o.r.*.*.*.*', { callback: () => undefined });
    await gateway.nc.flush();
    const before = await hostile.held();
    const filter_subject = 'runs.*.*.*.*.*.*.a.*';
    await executor.jsm.consumers.add('RUNS', { durable_name: 'executor-a', filter_subject, deliver_subject });
    await settled(broker, executor);
    const { delivered } = await executor.jsm.consumers.info('RUNS', 'executor-a');
    expect(delivered.consumer_seq).toBe(0);
    expect(await hostile.held()).toEqual(before);
    await executor.jsm.consumers.delete('RUNS', 'executor-a');
  });

  it.each(['scheduler', 'gateway', 'executor.b'] as const)(
    'sends no request to %s by push delivery',
    async (who) => {
      const requests: unknown[] = [];
      const responding = await broker.open(who === 'executor.b' ? 'executor-b' : who);
      using open = new DisposableStack();
      open.use(
        respondToRedrives(responding, who, async (question) => {
          requests.push(question);
          return taken('it is');
        }),
      );
      await responding.nc.flush();
      const filter_subject = 'runs.*.*.*.*.*.*.a.*';
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
        await waitFor('the delivery', async () => (await pushed()) > 0);
        await executor.jsm.consumers.delete('RUNS', 'executor-a');
      }
      const question = { stream: 'RUNS', sequence: 2 } as const;
      expect(await requestRedrive(broker.operator, who, question, 10_000)).toEqual(taken('it is'));
      expect(requests).toEqual([question]);
    },
  );

  it('can only delay a message of another executor', async () => {
    const other = await broker.open('executor-b');
    const scheduler = await broker.open('scheduler');
    const addressed = `runs.*.*.*.*.*.*.${B}`;
    const ack = { ack_policy: 'explicit', ack_wait: 300_000_000 } as const;
    await other.jsm.consumers.add('RUNS', { durable_name: 'executor-b', filter_subject: addressed, ...ack });
    await scheduler.js.publish(`runs.${key.org_id}.${key.run_id}.life.assigned.scheduler.1.${B}`, '{}');
    await executor.js.publish(OWN_FACT, '{"batch":1,"no_wait":true}');
    await executor.jsm.consumers.add('RUNS', {
      durable_name: 'executor-a',
      filter_subject: 'runs.*.*.*.*.*.*.a.*',
      deliver_policy: 'last',
      deliver_subject: '$JS.API.CONSUMER.MSG.NEXT.RUNS.executor-b',
      ...ack,
    });
    const delivered = async () =>
      (await other.jsm.consumers.info('RUNS', 'executor-b')).delivered.consumer_seq;
    await waitFor('the delivery of the message', async () => (await delivered()) === 1);
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
