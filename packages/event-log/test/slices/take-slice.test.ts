import { newUuid } from '@runledger/contracts/ids';
import type { SliceLine } from '@runledger/contracts/slices/slice';
import { aRun, assigned, queued, started } from '@runledger/testing/events/run-events';
import { waitFor } from '@runledger/testing/time/wait-for';
import { webhookStarted } from '@runledger/testing/events/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import { appendFleet } from '../../src/messages/fleet.ts';
import { head } from '../../src/read/read-run.ts';
import { takeSlice, type SliceRequest } from '../../src/slices/take-slice.ts';
import { aLog, forge, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const ALL: SliceRequest = {
  from: '2000-01-01T00:00:00.000Z',
  to: '2100-01-01T00:00:00.000Z',
  lead_in_from: '2000-01-01T00:00:00.000Z',
  organisation: null,
  pseudonym: (text) => text,
  pace: async () => undefined,
};

const linesOf = async (changes: Partial<SliceRequest> = {}): Promise<SliceLine[]> => {
  const lines: SliceLine[] = [];
  for await (const page of takeSlice(test.log, { ...ALL, ...changes })) lines.push(...page);
  return lines;
};

const namesOf = (lines: readonly SliceLine[]): string[] =>
  lines.map((line) => {
    if (line.kind === 'gap') return `gap ${line.stream} ${line.first_sequence}-${line.last_sequence}`;
    if (line.kind !== 'fact') return line.kind;
    const type = line.event && 'type' in line.event ? String(line.event.type) : 'nothing';
    return `${line.stream} ${line.sequence} ${type}`;
  });

const timeOf = (lines: readonly SliceLine[], sequence: number): string => {
  const found = lines.find(
    (line) => line.kind === 'fact' && line.stream === 'RUNS' && line.sequence === sequence,
  );
  return found?.kind === 'fact' ? found.time : 'none';
};

describe('a slice of the log', () => {
  const [one, other] = [aRun(), aRun()];
  beforeAll(async () => {
    const { log } = test;
    const left = (executor_id: string) =>
      appendFleet(log, {
        type: 'ExecutorLeft',
        version: 1,
        event_id: newUuid(),
        executor_id,
        time: ALL.from,
      });
    const stored = [
      () => left('a.1'),
      () => append(log, queued(one, { inputs: { prompt: 'a cat' } }), 0),
      () => append(log, queued(other), 0),
      () => append(log, webhookStarted(one), 0),
      () => left('b.1'),
      async () => append(log, assigned(one), await head(log, one)),
      () => forge(log, `runs.${one.org_id}.${one.run_id}.life.started.executor.1.a.1`, { prompt: 'a dog' }),
      () => left('c.1'),
    ];
    for (const store of stored) {
      // Times of the log have milliseconds; then the order of the two streams is known.
      const now = Date.now();
      await waitFor('the next millisecond', () => Date.now() > now);
      await store();
    }
  });

  it('has the lifecycle facts and those of the fleet in the order in which they were stored', async () => {
    expect(namesOf(await linesOf())).toEqual([
      'header',
      'FLEET 1 ExecutorLeft',
      'RUNS 1 RunQueued',
      'RUNS 2 RunQueued',
      'FLEET 2 ExecutorLeft',
      'RUNS 4 RunAssigned',
      'RUNS 5 nothing',
      'FLEET 3 ExecutorLeft',
      'end',
    ]);
  });

  it('has no inputs, and nothing of a message that is no event', async () => {
    expect(JSON.stringify(await linesOf())).not.toMatch(/a cat|a dog/);
  });

  it('begins with the lead-in and ends before the given time; of the fleet it has all before', async () => {
    const all = await linesOf();
    const part = { lead_in_from: timeOf(all, 2), from: timeOf(all, 4), to: timeOf(all, 5) };
    expect(namesOf(await linesOf(part))).toEqual([
      'header',
      'FLEET 1 ExecutorLeft',
      'RUNS 2 RunQueued',
      'FLEET 2 ExecutorLeft',
      'RUNS 4 RunAssigned',
      'end',
    ]);
    expect((await linesOf(part))[0]).toMatchObject({
      ...part,
      streams: { RUNS: { first_sequence: 1, last_sequence: 5 }, FLEET: { last_sequence: 3 } },
    });
  });

  it('has the runs of one organisation, if it is asked for them', async () => {
    const names = namesOf(await linesOf({ organisation: other.org_id }));
    expect(names.filter((name) => name.startsWith('RUNS'))).toEqual(['RUNS 2 RunQueued']);
  });

  it('is empty for a time in which nothing was stored', async () => {
    const never = { lead_in_from: '2099-01-01T00:00:00.000Z', from: '2099-01-01T00:00:00.000Z' };
    expect(namesOf(await linesOf(never)).filter((name) => name.startsWith('RUNS'))).toEqual([]);
    expect(namesOf(await linesOf({ to: ALL.from, from: ALL.from }))).toEqual(['header', 'end']);
  });

  it('reads over pages, and is paced by each', async () => {
    const org = newUuid();
    for (let n = 0; n < 12; n += 1)
      await Promise.all(Array.from({ length: 100 }, () => append(test.log, queued(aRun(org)), 0)));
    const paced: number[] = [];
    const names = namesOf(await linesOf({ pace: async (messages) => void paced.push(messages) }));
    expect(names.filter((name) => name.startsWith('RUNS'))).toHaveLength(1_204);
    expect(paced.reduce((sum, messages) => sum + messages, 0)).toBeGreaterThanOrEqual(1_024);
  });
});

describe('a log that has lost its beginning', () => {
  it('shows the gap', async () => {
    await using short = await aLog();
    const run = aRun();
    await append(short.log, queued(run), 0);
    await append(short.log, assigned(run), 1);
    await append(short.log, started(run), 2);
    // As the age of facts does.
    const info = await short.log.jsm.streams.info('RUNS');
    await short.log.jsm.streams.update('RUNS', { ...info.config, discard: 'old', max_msgs: 1 });
    const lines: SliceLine[] = [];
    for await (const page of takeSlice(short.log, ALL)) lines.push(...page);
    expect(namesOf(lines)).toEqual(['header', 'gap RUNS 1-2', 'RUNS 3 RunStarted', 'end']);
  });
});
