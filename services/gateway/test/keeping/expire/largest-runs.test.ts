import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import { isDeleted, isEnded, type Run, type RunState } from '@runledger/contracts/fold/run';
import { MAX_FACT_BYTES } from '@runledger/contracts/fold/log-capacity';
import type { RunEvent, RunEventOf } from '@runledger/contracts/events/run-event';
import { executorId, newUuid } from '@runledger/contracts/ids';
import { jsonBytes, type JsonObject } from '@runledger/contracts/json';
import { gpuModel } from '@runledger/contracts/gpu';
import { MAX_GPUS, MAX_REQUIRED_LABELS, MAX_TAGS } from '@runledger/contracts/run-options';
import { MAX_FILE_INPUTS_BYTES, MAX_RUNNER_URL, MAX_WEBHOOK_URL } from '@runledger/contracts/limits';
import { RETRY_KINDS } from '@runledger/contracts/events/run-error';
import { NewMachine } from '@runledger/contracts/http/catalogue/machines';
import { aRun, assigned, cancelRequested, runRequest } from '@runledger/testing/run-events';
import { callbackPolicy, checkCallbackUrl } from '@runledger/webhooks/callback-policy';
import { casesOf } from '@runledger/testing/random/cases';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { expect, it } from 'vitest';
import { newMachine } from '../../../src/records/catalogue/machines.ts';
import { maxInlineInputs, runQueued } from '../../../src/runs/facts/queue-run.decide.ts';
import { runExpired } from '../../../src/runs/facts/expiring.decide.ts';
import { timeOf } from '../../fixtures/runs/folded-runs.ts';

const UNITS = ['x', '"', '\\', '\u0001', 'é', '語', '😀', '\u2028'];
const text = (most: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constantFrom(...UNITS).map((unit) => unit.repeat(most)),
    fc.string({ unit: fc.constantFrom(...UNITS), minLength: 1, maxLength: most }),
  );
const url = (most: number): fc.Arbitrary<string> =>
  text(most).map((rest) => {
    const begin = `https://a.example/${rest}`;
    return begin.padEnd(most, 'x').slice(0, most);
  });

const LONGEST_GPU = gpuModel('X'.repeat(40));

const isMachine = Compile(NewMachine);
const machine = fc
  .record({
    name: text(128),
    gpu: fc.constant('A100-80GB' as const),
    type: text(128),
    runner: fc.oneof(
      text(128).map((program) => ({ kind: 'program' as const, program })),
      url(MAX_RUNNER_URL).map((address) => ({ kind: 'comfyui' as const, url: address })),
    ),
  })
  .filter((given) => isMachine.Check(given));

const policy = callbackPolicy({ allow: [], ports: [443], ownServices: [] });
const callback = fc
  .oneof(
    url(MAX_WEBHOOK_URL),
    fc.constant('https://a.example/'.padEnd(MAX_WEBHOOK_URL, 'x')),
    fc.constant('https://a.example/'.padEnd(1_000, '"').padEnd(1_066, 'x')),
  )
  .filter((given) => checkCallbackUrl(given, policy).ok);

const inputs: fc.Arbitrary<JsonObject> = fc.oneof(
  text(4_000).map((prompt) => ({ prompt })),
  fc.nat(4_096).map((length) => ({ prompt: 'x'.repeat(length) })),
);

const key = aRun();
const executor = executorId(`${'b'.repeat(51)}.${'f'.repeat(12)}`);
const writer = { service: 'gateway', instance: `gateway-${'f'.repeat(12)}` };
const envelope = {
  event_id: newUuid(),
  ...key,
  time: timeOf(0),
  writer,
  correlation_id: '"'.repeat(128),
  traceparent: `00-${'f'.repeat(32)}-${'f'.repeat(16)}-01`,
};

type Request = RunEventOf<'RunQueued'>['data'];

/** As the gateway decides where the inputs are. */
const firstFact = (request: Request, given: JsonObject): RunEventOf<'RunQueued'> => {
  const idempotency = { request_sha256: 'f'.repeat(64) };
  const fact = (kept: Pick<Request, 'inputs' | 'inputs_blob'>): RunEventOf<'RunQueued'> =>
    runQueued({ ...request, ...kept }, Number.MAX_SAFE_INTEGER, idempotency, envelope);
  const room = maxInlineInputs(fact({ inputs: null, inputs_blob: null }));
  expect(room).toBeGreaterThan(0);
  return jsonBytes(given) <= room
    ? fact({ inputs: given, inputs_blob: null })
    : fact({ inputs: null, inputs_blob: { sha256: 'f'.repeat(64), bytes: 262_144 } });
};

const folded = (events: readonly RunEvent[]): Run => {
  let run: RunState | undefined;
  for (const event of events) {
    const next = evolveRun(run, { event, sequence: Number.MAX_SAFE_INTEGER, time: timeOf(0) });
    if ('impossible' in next) throw new Error(next.impossible);
    run = next;
  }
  if (!run || isDeleted(run)) throw new Error('a run needs an event');
  return run;
};

it('no run that the API accepts has a first fact, or an end as expired, that is too large', () => {
  fc.assert(
    fc.property(machine, callback, inputs, fc.boolean(), (given, webhook, prompt, isGone) => {
      const made = newMachine(given, { id: newUuid(), org_id: key.org_id, created_at: timeOf(0) });
      const request = runRequest({
        origin: 'manual',
        machine_name: made.name,
        machine_type: made.type,
        runner: made.runner,
        gpu: made.gpu,
        gpu_fallbacks: Array.from({ length: MAX_GPUS - 1 }, () => ({
          gpu: LONGEST_GPU,
          after_s: 31_535_999.999,
        })),
        labels: Array.from({ length: MAX_REQUIRED_LABELS }, () => 'x'.repeat(63)),
        webhook,
        start_deadline_s: 518_400.123_456_789,
        run_timeout_s: 518_400.123_456_789,
        concurrency_limit: 100_000,
        weight: 999.123456789012,
        priority: -100,
        concurrency_key: '"'.repeat(64),
        start_at: timeOf(0),
        tags: Array.from({ length: MAX_TAGS }, () => 'x'.repeat(64)),
        file_inputs: ['x'.repeat(MAX_FILE_INPUTS_BYTES)],
        if_no_output: 'ignore',
        has_log_masks: true,
        has_input_targets: true,
        retry_on: [...RETRY_KINDS],
        max_attempts: 100,
        rerun_of: newUuid(),
      });
      const first = firstFact(request, prompt);
      expect(jsonBytes(JSON.parse(JSON.stringify(first)))).toBeLessThanOrEqual(MAX_FACT_BYTES.RunQueued);

      const attempt = assigned(key, { executor, publicKey: 'x'.repeat(256) });
      const run = folded([first, attempt, cancelRequested(key, 1, executor)]);
      if (isEnded(run)) throw new Error('it has ended');
      const log = { now: 0, maxAgeMs: 604_800_000 / 7.3, beginsAt: isGone ? Infinity : 0 };
      const end = runExpired(run, log, { event_id: newUuid(), ...key, time: timeOf(0), writer });
      expect(jsonBytes(JSON.parse(JSON.stringify(end)))).toBeLessThanOrEqual(MAX_FACT_BYTES.RunExpired);
    }),
    { numRuns: casesOf(60) },
  );
});
