import type { EventLog } from '@runledger/event-log/connect/event-log';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { USERS, type GuardedBroker, type UserName } from './a-guarded-broker.ts';
import { API, B, OWN_FACT, A, aHostileExecutor, key, settled } from './a-hostile-executor.ts';
import type { HostileExecutor } from './a-hostile-executor.ts';

/** Reply subjects where a response would do harm if the broker published it. */
const REPLIES = [
  `runs.${key.org_id}.${key.run_id}.life.ended.scheduler.1.none`,
  'runs.o.r.life.queued.gateway.0.none',
  `fleet.${B}.left`,
  `$KV.KEYS.forged`,
  '$KV.EXECUTORS.forged',
  'timers.1.forged',
  'dead_letters.RUNS.forged.message.1',
  '$JS.API.STREAM.PURGE.KV_CATALOGUE',
  '$JS.API.STREAM.DELETE.KV_CATALOGUE',
  `${API}.STREAM.PURGE.KV_KEYS`,
];

/** A request that only reads. */
const isQuestion = (subject: string): boolean =>
  subject.startsWith('$SYS.REQ.') ||
  (subject.startsWith(API) && /\.(MSG\.GET|DIRECT\.GET|INFO|NAMES)\b/.test(subject));

let hostile: HostileExecutor;
let broker: GuardedBroker;
let executor: EventLog;
beforeAll(async () => {
  hostile = await aHostileExecutor();
  ({ broker, executor } = hostile);
});
afterAll(() => hostile[Symbol.asyncDispose]());

describe('a reply subject that is not an inbox', () => {
  it.each((Object.keys(USERS) as UserName[]).filter((name) => name !== 'operator'))(
    'stays in the account of %s, and allows no more than its own permissions',
    async (name) => {
      const log = await broker.open(name);
      const questions = USERS[name].permissions.publish.allow.filter(isQuestion);
      expect(questions).not.toEqual([]);
      // Its own permissions hold here too.
      const replies = REPLIES.filter((reply) => !USERS[name].permissions.publish.allow.includes(reply));
      const before = await hostile.held();
      for (const question of questions) {
        const subject = question.replace(
          /^.*DIRECT\.GET\.RUNS\.runs\..*$/,
          `${API}.DIRECT.GET.RUNS.${OWN_FACT}`,
        );
        for (const reply of replies) log.nc.publish(subject, '{"seq":1}', { reply });
        for (const reply of replies) log.nc.publish(subject, '', { reply });
      }
      await settled(broker, log);
      expect(await hostile.held()).toEqual(before);
    },
  );

  it('stores no acknowledgement of a fact', async () => {
    const before = await hostile.held();
    for (const reply of REPLIES) executor.nc.publish(OWN_FACT, '{}', { reply });
    await settled(broker, executor);
    const after = await hostile.held();
    expect({ ...after, RUNS: before['RUNS'] }).toEqual(before);
    const stored = Object.keys(
      (await broker.operator.jsm.streams.info('RUNS', { subjects_filter: '>' })).state.subjects ?? {},
    );
    expect(stored.filter((subject) => subject !== OWN_FACT)).toHaveLength(1);
  });

  it('stores nothing that its own consumer delivers', async () => {
    await executor.js.publish(OWN_FACT, '');
    const filter = `runs.*.*.*.*.*.*.${A}`;
    await broker.operator.jsm.consumers.add('RUNS', { durable_name: 'executor-a', filter_subject: filter });
    const before = await hostile.held();
    for (const reply of REPLIES) {
      executor.nc.publish(`${API}.CONSUMER.MSG.NEXT.RUNS.executor-a`, '{"batch":1,"no_wait":true}', {
        reply,
      });
    }
    await settled(broker, executor);
    expect(await hostile.held()).toEqual(before);
    await executor.jsm.consumers.delete('RUNS', 'executor-a');
  });

  it('delivers nothing to the inbox of another user', async () => {
    const other = await broker.open('executor-b');
    const inbox = `_INBOX_${broker.keys['executor-b'].publicKey}.forged`;
    const got: string[] = [];
    other.nc.subscribe(inbox, { callback: (_error, { subject }) => void got.push(subject) });
    await other.nc.flush();
    executor.nc.publish(`${API}.DIRECT.GET.RUNS.${OWN_FACT}`, '', { reply: inbox });
    await settled(broker, executor);
    await other.nc.flush();
    expect(got).toEqual([]);
  });
});
