import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseJson } from '@runledger/contracts/json';
import { expect, it } from 'vitest';

const SCHEDULER = 'services/scheduler/src/core';
const SHADOW_MUTANT = join(import.meta.dirname, 'shadow-mutant.ts');

interface Mutant {
  readonly file: string;
  readonly text: string;
  readonly instead: string;
}

/** How many decisions in the sample the mutant makes in another way, and how many cannot be compared. */
const shadowOf = async ({ file, text, instead }: Mutant) => {
  const { stdout } = await promisify(execFile)(process.execPath, [SHADOW_MUTANT, file, text, instead]);
  const { differences, notCompared } = Object(parseJson(stdout));
  return { differences: Number(differences), notCompared: Number(notCompared) };
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
    file: `${SCHEDULER}/runs/deadlines.ts`,
    text: 'timeOf(run.started_at) + run_timeout_s * 1_000 + cancelEnforceMs',
    instead: 'timeOf(run.started_at) + run_timeout_s * 100',
  },
  {
    defect: 'warm slots that nobody prefers',
    file: `${SCHEDULER}/free-slots.ts`,
    text: 'if (canServe(slot.executor.capabilities, requirements)) return slot;',
    instead: '',
  },
  {
    defect: 'runs of an executor that left which are given up at once',
    file: `${SCHEDULER}/decide.ts`,
    text: 'if (mayHaveAnother(run, run.attempt.number)) {',
    instead: 'if (run.attempt.number === 0) {',
  },
  {
    defect: 'an executor that comes first although it became free last',
    file: `${SCHEDULER}/free-slots.ts`,
    text: 'for (const executor of this.#executors.get(requirements.gpu) ?? []) {\n      if (!canServe(',
    instead:
      'for (const executor of [...(this.#executors.get(requirements.gpu) ?? [])].toReversed()) {\n      if (!canServe(',
  },
])('the sample shows $defect', async (mutant) => {
  const { differences, notCompared } = await shadowOf(mutant);
  expect(differences + notCompared).toBeGreaterThan(0);
});
