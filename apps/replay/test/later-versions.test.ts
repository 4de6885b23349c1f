import type { RunEventOf } from '@runledger/contracts/events/run-event';
import { aRun, assigned, failed, queued, started, succeeded } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { SERVICE_NAMES } from '../src/play-slice.ts';
import { NewerFact } from '../src/slice.ts';
import { RecordedLog, shadowOfLines } from './fixtures/recorded-log.ts';

type Versions = RunEventOf<'RunAssigned'>['data']['fact_versions'];

/** A run of which the executor wrote an end in version 9, as a slice has it, and then another end. */
const aLog = (fact_versions?: Versions): RecordedLog => {
  const log = new RecordedLog();
  const run = aRun();
  const events = [
    queued(run, { webhook: 'https://receiver.invalid/' }),
    assigned(run, { data: fact_versions ? { fact_versions } : {} }),
    started(run),
  ];
  for (const [n, event] of events.entries()) log.fact(1 + n, event);
  log.fact(5, { ...succeeded(run), version: 9 });
  log.fact(6, failed(run));
  return log;
};

describe.each(SERVICE_NAMES)(
  'what an executor wrote in a later version, played by the shadow of the %s',
  (name) => {
    it('is no fact, and what follows is played', async () => {
      await expect(shadowOfLines(aLog().lines(), name)).resolves.toBeDefined();
    });

    it('ends the replay when its assignment names that version', async () => {
      const lines = aLog({ RunSucceeded: 9 }).lines();
      await expect(shadowOfLines(lines, name)).rejects.toThrow(NewerFact);
    });
  },
);

it('an executor decides the same behind it', async () => {
  const { differences, compared } = await shadowOfLines(aLog().lines(), 'gpu-executor');
  expect(differences).toEqual([]);
  expect(compared.compared).toBe(2);
});
