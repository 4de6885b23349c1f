import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseJson } from '@runledger/contracts/json';
import { expect, it } from 'vitest';

const SCHEDULER = 'services/scheduler/src/core';
const NOTIFIER = 'services/notifier/src/core';
const ATTEMPT = 'services/gpu-executor/src/attempt';
const GATEWAY = 'services/gateway/src';
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
  {
    defect: 'a retry that begins before its time',
    file: `${SCHEDULER}/runs/live-runs.ts`,
    text: 'if (known.run.not_before === null && seconds === 0) return -Infinity;',
    instead: 'if (seconds === 0) return -Infinity;',
  },
])('the sample shows $defect', async (mutant) => {
  const { differences, notCompared } = await shadowOf(mutant);
  expect(differences + notCompared).toBeGreaterThan(0);
});

it.each([
  {
    defect: 'attempts that are counted from zero',
    file: `${NOTIFIER}/conclusion.ts`,
    text: 'const attempts = progress.attempts + 1;',
    instead: 'const attempts = progress.attempts;',
  },
  {
    defect: 'retries that wait ten times as long',
    file: `${NOTIFIER}/conclusion.ts`,
    text: '5 * SECOND,',
    instead: '50 * SECOND,',
  },
  {
    defect: 'a receiver that is asked again although it wants no more',
    file: `${NOTIFIER}/conclusion.ts`,
    text: "gone: ['gone', ANSWERED]",
    instead: "gone: ['failed', ANSWERED]",
  },
  {
    defect: 'a breaker that opens later',
    file: `${NOTIFIER}/breaker.ts`,
    text: 'inARow: 5,',
    instead: 'inARow: 9,',
  },
  {
    defect: 'a breaker that stays open twice as long',
    file: `${NOTIFIER}/breaker.ts`,
    text: 'firstOpenMs: 30_000,',
    instead: 'firstOpenMs: 60_000,',
  },
  {
    defect: 'redeliveries that are not sent',
    file: `${NOTIFIER}/take.ts`,
    text: 'return runEnded(state, input, { round: input.round });',
    instead: 'return;',
  },
  {
    defect: 'an end of a run that nobody notices',
    file: 'services/notifier/src/webhook-targets.ts',
    text: "const ended = life.fact === 'ended' || ",
    instead: 'const ended = ',
  },
  {
    defect: 'an end that a cancel request does not change',
    file: `${ATTEMPT}/end-of-attempt.decide.ts`,
    text: 'if (attempt.cancel !== null) {',
    instead: "if (attempt.cancel !== null && attempt.status === 'started') {",
  },
  {
    defect: 'another attempt that nobody asked for',
    file: 'packages/contracts/src/events/run-error.ts',
    text: 'if (!retryable || !retry_on.includes(kind)) return null;',
    instead: 'if (!retryable) return null;',
  },
  {
    defect: 'another attempt that comes too late',
    file: 'packages/contracts/src/events/run-error.ts',
    text: 'const FIRST_WAIT_S = 2;',
    instead: 'const FIRST_WAIT_S = 20;',
  },
  {
    defect: 'assignments that are void in their own term',
    file: `${ATTEMPT}/assignment.decide.ts`,
    text: 'term < this.#registered',
    instead: 'term <= this.#registered',
  },
  {
    defect: 'a cancel request that no executor gets',
    file: `${GATEWAY}/runs/facts/cancel.decide.ts`,
    text: 'cancelRequested(run, number, executor_id, by, envelope)',
    instead: 'cancelRequested(run, number, null, by, envelope)',
  },
  {
    defect: 'a redelivery that leaves out a round',
    file: `${GATEWAY}/runs/redeliver.decide.ts`,
    text: 'roundOf(webhook) + 1',
    instead: 'roundOf(webhook) + 2',
  },
  {
    defect: 'a run that is queued again with other settings',
    file: `${GATEWAY}/runs/rerun.decide.ts`,
    text: 'delay_s: _delay,',
    instead: 'delay_s: _delay, priority: _priority,',
  },
])('the sample shows $defect', async (mutant) => {
  expect((await shadowOf(mutant)).differences).toBeGreaterThan(0);
});
