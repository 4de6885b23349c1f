import { execFile } from 'node:child_process';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseJson } from '@runledger/contracts/json';
import { writeSlice } from '@runledger/testing/slices/write-slice';
import { expect, it } from 'vitest';
import { notifiedSlice } from '../fixtures/notified-slice.ts';

const CORE = 'services/notifier/src/core';
const SHADOW_MUTANT = join(import.meta.dirname, 'shadow-mutant.ts');

const differencesOf = async (file: string, text: string, instead: string): Promise<number> => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-mutant-'));
  const slice = join(folder.path, 'slice.ndjson.zst');
  await writeSlice(slice, notifiedSlice().lines);
  const args = [SHADOW_MUTANT, file, text, instead, slice];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return Number(Object(parseJson(stdout)).differences);
};

it.each([
  {
    defect: 'attempts that are counted from zero',
    file: `${CORE}/delivery/conclusion.ts`,
    text: 'const attempts = progress.attempts + 1;',
    instead: 'const attempts = progress.attempts;',
  },
  {
    defect: 'retries that wait ten times as long',
    file: `${CORE}/delivery/retry-schedule.ts`,
    text: '5 * SECOND,',
    instead: '50 * SECOND,',
  },
  {
    defect: 'a receiver that is asked again although it wants no more',
    file: `${CORE}/delivery/verdict.ts`,
    text: "gone: ['gone', ANSWERED]",
    instead: "gone: ['failed', ANSWERED]",
  },
  {
    defect: 'a breaker that opens later',
    file: `${CORE}/breakers/breaker-settings.ts`,
    text: 'inARow: 5,',
    instead: 'inARow: 9,',
  },
  {
    defect: 'a breaker that stays open twice as long',
    file: `${CORE}/breakers/breaker-settings.ts`,
    text: 'firstOpenMs: 30_000,',
    instead: 'firstOpenMs: 60_000,',
  },
  {
    defect: 'redeliveries that are not sent',
    file: `${CORE}/decide/take.ts`,
    text: 'return runEnded(state, input, { round: input.round });',
    instead: 'return;',
  },
  {
    defect: 'an end of a run that nobody notices',
    file: 'services/notifier/src/subscription/run-notice.ts',
    text: "const ended = life.fact === 'ended' || ",
    instead: 'const ended = ',
  },
])('the slice shows $defect', async ({ file, text, instead }) => {
  expect(await differencesOf(file, text, instead)).toBeGreaterThan(0);
});
