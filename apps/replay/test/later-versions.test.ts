import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunEvent, RunEventOf } from '@runledger/contracts/events/run-event';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { SliceFact } from '@runledger/contracts/slices/slice';
import { aRun, assigned, failed, queued, started, succeeded } from '@runledger/testing/run-events';
import { writeSlice } from '@runledger/testing/write-slice';
import { describe, expect, it } from 'vitest';
import { NewerFact } from '../src/slice.ts';
import { readSchedulerSettings } from '../src/settings.ts';
import { shadowed } from './fixtures/sample-slice.ts';
import { headerOf } from './fixtures/simulated-slice.ts';

type Versions = RunEventOf<'RunAssigned'>['data']['fact_versions'];

/** What a shadow finds in a run of which the executor wrote an end in version 9, and then another end. */
const shadowOf = async (fact_versions?: Versions): ReturnType<typeof shadowed> => {
  const run = aRun();
  const events = [
    queued(run),
    assigned(run, { data: fact_versions ? { fact_versions } : {} }),
    started(run),
    { ...succeeded(run), version: 9 },
    failed(run),
  ];
  const facts = events.map(factOf(RUN_CHAIN.filterOf(run)));
  await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-later-'));
  const path = join(folder.path, 'slice.ndjson.zst');
  await writeSlice(path, [headerOf(facts), ...facts]);
  return await shadowed({ path, settings: readSchedulerSettings({}), toleranceMs: 2_000 });
};

const factOf =
  (fence: string) =>
  (event: RunEvent, at: number): SliceFact => ({
    kind: 'fact',
    stream: 'RUNS',
    sequence: at + 1,
    time: new Date(Date.parse('2026-05-01T12:00:00.000Z') + at * 1_000).toISOString(),
    subject: RUN_CHAIN.subjectOf(event),
    fence,
    expected_sequence: at,
    event,
  });

describe('what an executor wrote in a later version', () => {
  it('is no fact, and what follows is played', async () => {
    await expect(shadowOf()).resolves.toBeDefined();
  });

  it('ends the replay when its assignment names that version', async () => {
    await expect(shadowOf({ RunSucceeded: 9 })).rejects.toThrow(NewerFact);
  });
});
