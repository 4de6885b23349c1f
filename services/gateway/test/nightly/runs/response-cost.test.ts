import { relativeCost } from '@runledger/testing/measuring';
import { assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { expect, it } from 'vitest';
import { runResponse } from '../../../src/runs/run-response.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { folded } from '../../fixtures/runs/folded-runs.ts';
import { key } from '../../fixtures/runs/run-situations.ts';

/** What it cost when it was measured last: see `relativeCost`. */
const COST = 5;

it('the response with an ended run, as text, costs less than twice what it did', () => {
  const run = folded(queued(key), assigned(key), started(key), succeeded(key, [anOutput]));
  const shown = {
    webhook: undefined,
    report: undefined,
    position: undefined,
    included: { workflow_inputs: null, workflow_api: null, missing: [] },
    outputUrl: () => 'https://files.example/image.png',
    showCallback: (url: string) => url,
  };
  const respond = (): string => JSON.stringify(runResponse(run, shown));
  expect(respond()).toContain('"status":"success"');
  expect(relativeCost(respond)).toBeLessThan(2 * COST);
});
