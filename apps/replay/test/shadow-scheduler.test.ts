import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SliceFact } from '@runledger/contracts/slices/slice';
import { parseLifecycleSubject } from '@runledger/contracts/events/subjects';
import { TERMS } from '@runledger/contracts/events/leader-terms';
import { readSliceFile } from '@runledger/event-log/slices/read-slice-file';
import { someOf } from '@runledger/testing/random/cases';
import { writeSlice } from '@runledger/testing/write-slice';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { placeOf, surveySlice } from '../src/slice.ts';
import { SAMPLE } from './sample/sample.ts';
import { sampleLines, sampleOptions, shadowed, type Line } from './fixtures/sample-slice.ts';

const opened = new AsyncDisposableStack();
let folder: string;
let lines: Line[];
beforeAll(async () => {
  folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'runledger-shadow-'))).path;
  lines = await sampleLines();
});
afterAll(() => opened.disposeAsync());

const isFact = (line: Line): line is SliceFact => line.kind === 'fact';
const typeOf = ({ event }: SliceFact): string => String(Object(event).type);
const isOfScheduler = (line: Line): line is SliceFact =>
  isFact(line) && parseLifecycleSubject(line.subject)?.writer === 'scheduler';

/** What the shadow finds in the sample with each line as `change` makes it; undefined leaves it out. */
const findIn = async (change: (line: Line) => Line | undefined) => {
  const file = join(folder, 'changed.ndjson.zst');
  await writeSlice(
    file,
    lines.flatMap((line) => change(line) ?? []),
  );
  return shadowed(await sampleOptions(file));
};

const withData = (line: SliceFact, data: object): SliceFact => {
  const event = Object(line.event);
  return { ...line, event: { ...event, data: { ...event.data, ...data } } };
};

describe('the sample of real services', () => {
  it('has all that a scheduler decides, and another scheduler that begins to lead', () => {
    const facts = lines.filter(isFact);
    const types = new Set(facts.filter(({ stream }) => stream !== 'DELIVERY_ATTEMPTS').map(typeOf));
    const decided =
      'ExecutorDrainRequested ExecutorDraining ExecutorLeft ExecutorLost ExecutorRegistered ExecutorResumeRequested ' +
      'RunAssigned RunAttemptFailed RunCancelEnforced RunCancelRequested RunCancelled RunFailed RunGivenUp RunQueued ' +
      'RunRequeued RunStarted RunSucceeded RunTimedOut';
    expect(decided.split(' ').filter((type) => !types.has(type))).toEqual([]);
    expect(facts.filter(({ subject }) => subject === TERMS)).toHaveLength(2);
  });

  it('has no decision that the scheduler of today makes in another way', async () => {
    const { compared, differences } = await shadowed(await sampleOptions());
    expect(differences).toEqual([]);
    expect(compared.compared).toBeGreaterThan(50);
    expect([...compared.notCompared]).toEqual([]);
  });
});

describe('a shadow of the scheduler', () => {
  it('finds each recorded decision that is not the one of the code', async () => {
    const assigned = lines.filter(isOfScheduler).filter((one) => typeOf(one) === 'RunAssigned');
    for (const fact of someOf(assigned, (_, at) => at % 5 === 0)) {
      const changed = withData(fact, { slot: 7 });
      const { differences } = await findIn((line) => (line === fact ? changed : line));
      expect(differences).toContainEqual(
        expect.objectContaining({ recorded: expect.objectContaining({ position: fact.sequence }) }),
      );
    }
  });

  it('finds each decision that was not recorded', async () => {
    const { lastOfTerms } = await surveySlice(readSliceFile(SAMPLE.slice));
    const ended = lines
      .filter(isOfScheduler)
      // Without the last one of a term its leader may have ended before.
      .filter((one) => typeOf(one) === 'RunTimedOut' && !lastOfTerms.has(placeOf(one)));
    expect(ended.length).toBeGreaterThan(1);
    for (const fact of ended) {
      const { differences } = await findIn((line) => (line === fact ? undefined : line));
      const { run_id } = Object(fact.event);
      expect(differences).toContainEqual(expect.objectContaining({ kind: 'not_recorded', run_id }));
    }
  });

  it('finds each decision that the code does not make', async () => {
    // Nothing says that its time is over.
    const fact = lines.filter(isOfScheduler).find((one) => typeOf(one) === 'RunTimedOut');
    const { run_id } = Object(fact?.event);
    const { differences } = await findIn((line) =>
      isFact(line) && typeOf(line) === 'RunQueued' && Object(line.event).run_id === run_id
        ? withData(line, { run_timeout_s: 3_600, start_deadline_s: 3_600 })
        : line,
    );
    expect(differences).toContainEqual(
      expect.objectContaining({ kind: 'not_decided', run_id, why: expect.any(String) }),
    );
  });

  it('depends on the weights and limits of the scheduler', async () => {
    const options = await sampleOptions();
    const settings = { ...options.settings, RUNLEDGER_ORG_LIMITS: [] };
    const { differences } = await shadowed({ ...options, settings });
    expect(differences.length).toBeGreaterThan(0);
  });

  it('compares nothing before the time of the slice', async () => {
    const [header] = lines;
    if (header?.kind !== 'header') throw new Error('the sample has no header');
    const { compared } = await findIn((line) => (line === header ? { ...header, from: header.to } : line));
    expect(compared).toMatchObject({ compared: 0, differences: 0, from: header.to });
  });

  it.each(['organisations', 'deployments', 'runs'])(
    'refuses the slice of some %s: others held slots',
    async (of) => {
      const ids = ['01920000-0000-7000-8000-00000000000a'];
      await expect(
        findIn((line) => (line.kind === 'header' ? { ...line, [of]: ids } : line)),
      ).rejects.toThrow('has some runs only');
    },
  );
});
