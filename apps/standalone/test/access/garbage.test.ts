import { append } from '@runledger/event-log/append/append';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { readStored } from '@runledger/event-log/read/run-messages';
import { listDeadLetters, storeDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { aRun, queued } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aHostileExecutor, OWN_FACT, type HostileExecutor } from './a-hostile-executor.ts';

const MANY = 1_000;
const KEPT = 100;

let hostile: HostileExecutor;
let executor: EventLog;
let gateway: EventLog;
beforeAll(async () => {
  hostile = await aHostileExecutor();
  executor = hostile.executor;
  gateway = await hostile.broker.open('gateway');
});
afterAll(() => hostile[Symbol.asyncDispose]());

const letters = (consumer: string) => listDeadLetters(gateway, { consumer, limit: 2 * MANY });
const storedAt = async (sequence: number) => {
  const stored = await readStored(gateway, sequence);
  if (!stored) throw new Error(`nothing is stored at ${sequence}`);
  return stored;
};
/** A log whose lines about errors the test sees, and what its metrics count of each executor. */
const withLines = (log: EventLog) => {
  const lines: object[] = [];
  const counted: string[] = [];
  const observer = {
    ...log.observer,
    deadLettered: (_consumer: string, executor = 'none') => void counted.push(executor),
  };
  return {
    lines,
    counted,
    log: { ...log, observer, logger: { ...log.logger, error: (fields: object) => void lines.push(fields) } },
  };
};

describe('what an executor writes that nobody can read', () => {
  it('becomes a hundred dead letters of one consumer and one line, and displaces none of others', async () => {
    const { lines, counted, log } = withLines(await hostile.broker.open('scheduler'));
    const other = await append(gateway, queued(aRun()), 0);
    const fromGateway = await storedAt(other.kind === 'appended' ? other.sequence : 0);
    await storeDeadLetter(log, { consumer: 'scheduler', stored: fromGateway, reason: 'as a test' });
    const garbage = Array.from({ length: MANY }, () => executor.js.publish(OWN_FACT, 'no { json'));
    for (const { seq } of await Promise.all(garbage)) {
      await storeDeadLetter(log, {
        consumer: 'scheduler',
        stored: await storedAt(seq),
        reason: 'it is no JSON',
      });
    }
    const listed = await letters('scheduler');
    expect(listed.filter(({ subject }) => subject === OWN_FACT)).toHaveLength(KEPT);
    expect(listed[0]).toMatchObject({ subject: fromGateway.subject, sequence: fromGateway.sequence });
    // So the alert names it, however many of them are stored.
    expect(counted).toEqual(['none', ...Array.from({ length: MANY }, () => 'a')]);
    expect(lines).toEqual([
      expect.objectContaining({ subject: fromGateway.subject }),
      expect.objectContaining({ subject: OWN_FACT, reason: 'it is no JSON' }),
    ]);
  });

  it('are no more dead letters when it stores them itself, and none is large', async () => {
    const before = await letters('scheduler');
    const subject = 'dead_letters.RUNS.executor-a.executor.a';
    const own = Array.from({ length: 3 * KEPT }, () =>
      executor.js.publish(subject, new Uint8Array(60 * 1024)),
    );
    await Promise.all(own);
    await expect(executor.js.publish(subject, new Uint8Array(65 * 1024))).rejects.toThrow(/message size/);
    const { state } = await hostile.broker.operator.jsm.streams.info('DEAD_LETTERS', {
      subjects_filter: subject,
    });
    expect(state.subjects).toEqual({ [subject]: KEPT });
    expect(await letters('scheduler')).toEqual(before);
  });
});
