import { expect, it } from 'vitest';
import { readToEnd } from '../../src/follow/read-to-end.ts';
import { queueRuns, numbers } from '../fixtures/queued-runs.ts';
import { aLog } from '../fixtures/test-log.ts';

const RUNS = { stream: 'RUNS', subjects: ['runs.>'], withinMs: 15_000 };
/** More than are pulled at once. */
const MANY = 600;

it('every message is read once and in order, also after the consumer was lost', async () => {
  await using test = await aLog();
  await queueRuns(test.log, MANY);
  const seen: number[] = [];
  for await (const { sequence } of readToEnd(test.log, RUNS)) {
    if (seen.push(sequence) !== 10) continue;
    const [consumer] = await test.log.jsm.consumers.list('RUNS').next();
    await test.log.jsm.consumers.delete('RUNS', consumer?.name ?? '');
  }
  expect(seen).toEqual(numbers(1, MANY));
});

it('reading ends at once with its reader, behind any position, and in an empty stream', async () => {
  await using test = await aLog();
  await queueRuns(test.log, MANY);
  for await (const { sequence } of readToEnd(test.log, { ...RUNS, behind: 7 })) {
    expect(sequence).toBe(8);
    break;
  }
  for await (const message of readToEnd(test.log, { ...RUNS, stream: 'FLEET', subjects: ['fleet.>'] }))
    expect(message).toBeUndefined();
});

it('only the last message of each subject is read when that is asked for', async () => {
  await using test = await aLog();
  for (const text of ['a', 'b', 'a']) await test.log.js.publish(`fleet.${text}.b.registered`, text);
  const seen: number[] = [];
  const options = { ...RUNS, stream: 'FLEET', subjects: ['fleet.>'], lastPerSubject: true };
  for await (const { sequence } of readToEnd(test.log, options)) seen.push(sequence);
  expect(seen).toEqual([2, 3]);
});

it('reading ends behind what is left, when messages are removed before they are read', async () => {
  await using test = await aLog();
  const { js, jsm } = test.log;
  await Promise.all(numbers(1, MANY).map((n) => js.publish(`$KV.CATALOGUE.a.${n}`, 'text')));
  const began = performance.now();
  const seen: number[] = [];
  const options = { stream: 'KV_CATALOGUE', subjects: ['$KV.CATALOGUE.>'], withinMs: 15_000 };
  for await (const { sequence } of readToEnd(test.log, options))
    if (seen.push(sequence) === 1) await jsm.streams.purge('KV_CATALOGUE');
  expect(seen.length).toBeLessThan(MANY);
  expect(performance.now() - began).toBeLessThan(10_000);
});
