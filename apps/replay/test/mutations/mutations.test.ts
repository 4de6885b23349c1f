import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseJson } from '@runledger/contracts/json';
import { expect, it } from 'vitest';

const CORE = 'services/scheduler/src/core';
const SHADOW_MUTANT = join(import.meta.dirname, 'shadow-mutant.ts');

const notEqual = async (file: string, text: string, instead: string): Promise<number> => {
  const { stdout } = await promisify(execFile)(process.execPath, [SHADOW_MUTANT, file, text, instead]);
  const { differences, notCompared } = Object(parseJson(stdout));
  return Number(differences) + Number(notCompared);
};

it.each([
  {
    defect: 'a limit of an organisation that is one too high',
    file: 'services/scheduler/src/config.ts',
    text: 'limit: limits.get(org_id)',
    instead: 'limit: limits.has(org_id) ? Infinity : undefined',
  },
  {
    defect: 'a time limit that ends runs too early',
    file: `${CORE}/runs/deadline.ts`,
    text: 'timeOf(run.started_at) + run_timeout_s * 1_000',
    instead: 'timeOf(run.started_at) + run_timeout_s * 100',
  },
  {
    defect: 'warm slots that nobody prefers',
    file: `${CORE}/fleet/loaded-slots.ts`,
    text: 'if (canServe(slot.executor.capabilities, requirements)) return slot;',
    instead: '',
  },
  {
    defect: 'runs of an executor that left which are given up at once',
    file: `${CORE}/decide/recovery.ts`,
    text: 'if (mayHaveAnother(run, run.attempt.number)) {',
    instead: 'if (run.attempt.number === 0) {',
  },
  {
    defect: 'an executor that comes first although it became free last',
    file: `${CORE}/fleet/free-slots.ts`,
    text: 'for (const executor of this.#executors.get(requirements.gpu) ?? []) {\n      if (!canServe(',
    instead:
      'for (const executor of [...(this.#executors.get(requirements.gpu) ?? [])].toReversed()) {\n      if (!canServe(',
  },
  {
    defect: 'a retry that begins before its time',
    file: `${CORE}/runs/live-runs.ts`,
    text: 'if (known.run.not_before === null && seconds === 0) return -Infinity;',
    instead: 'if (seconds === 0) return -Infinity;',
  },
])('the sample shows $defect', async ({ file, text, instead }) => {
  expect(await notEqual(file, text, instead)).toBeGreaterThan(0);
});
