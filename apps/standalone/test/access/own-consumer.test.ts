import { lifecycleFilter } from '@runledger/contracts/events/subjects';
import { executorConsumerSubject } from '@runledger/contracts/requests/executors';
import { redriveSubject } from '@runledger/contracts/requests/operator-requests';
import { createExecutorConsumers, requestConsumer } from '@runledger/request-reply/executor-consumers';
import { respondToRedrives, requestRedrive, taken } from '@runledger/request-reply/redrive';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GuardedBroker } from './a-guarded-broker.ts';
import { A, API, B, OWN_FACT, aHostileExecutor, key, type HostileExecutor } from './a-hostile-executor.ts';

let hostile: HostileExecutor;
let broker: GuardedBroker;
let executor: EventLog;
let scheduler: EventLog;
let consumers: Disposable;
beforeAll(async () => {
  hostile = await aHostileExecutor();
  ({ broker, executor } = hostile);
  scheduler = await broker.open('scheduler');
  consumers = createExecutorConsumers(scheduler);
  await scheduler.nc.flush();
});
afterAll(async () => {
  consumers[Symbol.dispose]();
  await hostile[Symbol.asyncDispose]();
});

const WITHIN_MS = 5_000;
const FILTER = 'runs.*.*.*.*.*.*.a.*';
const names = async (): Promise<string[]> =>
  (await broker.operator.jsm.consumers.list('RUNS').next()).map(({ name }) => name).toSorted();

describe("an executor's own consumer", () => {
  const own = {
    durable_name: 'executor-a',
    name: 'executor-a',
    ack_policy: 'explicit',
    filter_subject: FILTER,
  };
  it.each([
    `CONSUMER.CREATE.RUNS.executor-a.${FILTER}`,
    'CONSUMER.CREATE.RUNS.executor-a',
    'CONSUMER.CREATE.RUNS',
    'CONSUMER.DURABLE.CREATE.RUNS.executor-a',
  ])(
    'is not created by the executor, at %s, to push its messages anywhere or to pull them',
    async (request) => {
      for (const config of [own, { ...own, deliver_subject: redriveSubject('scheduler') }]) {
        const body = JSON.stringify({ stream_name: 'RUNS', config, action: '' });
        await expect(executor.nc.request(`${API}.${request}`, body)).rejects.toThrow(
          /permissions violation/i,
        );
      }
      expect(await names()).toEqual([]);
    },
  );

  it('is created by a scheduler on its request, as it is to be, whatever else the request says', async () => {
    const asked = { executor_id: A, deliver_subject: '$KV.KEYS.pushed', filter_subject: 'runs.>' };
    const sent = await executor.nc.request(executorConsumerSubject('a'), JSON.stringify(asked));
    expect(sent.json()).toEqual({ exists: true });
    const { config } = await executor.jsm.consumers.info('RUNS', 'executor-a');
    expect(config.deliver_subject).toBeUndefined();
    expect(config).toMatchObject({ filter_subject: `runs.*.*.*.*.*.*.${A}`, deliver_policy: 'new' });
    expect(config.metadata).toMatchObject({ owner: A });
    await executor.jsm.consumers.delete('RUNS', 'executor-a');
  });

  it('is the only one that it gets', async () => {
    const ofAnother = JSON.stringify({ executor_id: B });
    await expect(executor.nc.request(executorConsumerSubject('b'), ofAnother)).rejects.toThrow(/violation/i);
    await expect(
      executor.nc.request(executorConsumerSubject('a'), ofAnother, { timeout: 500 }),
    ).rejects.toThrow(/timeout/);
    expect(await names()).toEqual([]);
  });

  it('is created for another executor while this one requests its own as often as it can', async () => {
    const other = await broker.open('executor-b');
    const flooding = new AbortController();
    const flood = async (): Promise<void> => {
      while (!flooding.signal.aborted) {
        for (let n = 0; n < 1_000; n += 1)
          executor.nc.publish(executorConsumerSubject('a'), JSON.stringify({ executor_id: A }), {
            reply: `_INBOX_${broker.keys['executor-a'].publicKey}.${n}`,
          });
        await executor.nc.flush();
      }
    };
    const flooded = flood();
    await waitFor('the consumer of the one that floods', async () => (await names()).includes('executor-a'));
    expect(await requestConsumer(other, B, WITHIN_MS)).toBe(true);
    flooding.abort();
    await flooded;
    expect(await names()).toEqual(['executor-a', 'executor-b']);
    await other.jsm.consumers.delete('RUNS', 'executor-b');
    await executor.jsm.consumers.delete('RUNS', 'executor-a');
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

/** Of those that may create consumers, one that was broken into. */
describe('a consumer of the notifier', () => {
  const pushed = async (notifier: EventLog, deliver_subject: string, ack_policy: string) => {
    const config = {
      name: 'pushed',
      filter_subject: OWN_FACT,
      ack_policy,
      deliver_policy: 'all',
      deliver_subject,
    };
    const body = JSON.stringify({ stream_name: 'RUNS', config, action: '' });
    const answer = await notifier.nc.request(`${API}.CONSUMER.CREATE.RUNS`, body);
    expect(answer.json()).toMatchObject({ name: 'pushed' });
    return async () => (await notifier.jsm.consumers.info('RUNS', 'pushed')).delivered.consumer_seq;
  };

  it.each(['scheduler', 'gateway', 'executor.b'] as const)(
    'pushes to the requests of %s, which takes none of it',
    async (who) => {
      const requests: unknown[] = [];
      const notifier = await broker.open('notifier');
      const responding = await broker.open(who === 'executor.b' ? 'executor-b' : who);
      using open = new DisposableStack();
      open.use(
        respondToRedrives(responding, who, async (question) => {
          requests.push(question);
          return taken('it is');
        }),
      );
      await responding.nc.flush();
      await executor.js.publish(OWN_FACT, JSON.stringify({ stream: 'RUNS', sequence: 1 }));
      for (const ack_policy of ['explicit', 'none']) {
        const delivered = await pushed(notifier, redriveSubject(who), ack_policy);
        await waitFor('the delivery', async () => (await delivered()) > 0);
        await broker.operator.jsm.consumers.delete('RUNS', 'pushed');
      }
      const question = { stream: 'RUNS', sequence: 2 } as const;
      expect(await requestRedrive(broker.operator, who, question, 10_000)).toEqual(taken('it is'));
      expect(requests).toEqual([question]);
    },
  );

  it.each(['$KV.KEYS.pushed', `fleet.${B}.left`, '$JS.API.STREAM.PURGE.KV_CATALOGUE'])(
    'pushes nothing to %s',
    async (subject) => {
      const notifier = await broker.open('notifier');
      const before = await hostile.held();
      const delivered = await pushed(notifier, subject, 'none');
      // What is stored after it comes behind what it would have pushed.
      for (let n = 0; n < 10; n += 1) await hostile.held();
      expect(await delivered()).toBe(0);
      expect(await hostile.held()).toEqual(before);
      await broker.operator.jsm.consumers.delete('RUNS', 'pushed');
    },
  );
});
