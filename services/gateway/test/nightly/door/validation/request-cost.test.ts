import { DeploymentRunRequest } from '@runledger/contracts/http/runs/queue-run';
import { relativeCost } from '@runledger/testing/measuring';
import { expect, it } from 'vitest';
import { problemsOf } from '../../../../src/door/problems.ts';

/** What it cost when it was measured last: see `relativeCost`. */
const COST = 0.4;

it('checking the body of a queue request costs less than twice what it did', () => {
  const body = {
    deployment_id: '01920000-0000-7000-8000-000000000001',
    inputs: { prompt: 'a lighthouse on a cliff at dusk', seed: 1_234_567, steps: 30, cfg: 7.5, width: 1_024 },
    webhook: 'https://example.com/hook',
    tags: ['nightly', 'team-a'],
  };
  expect(problemsOf(DeploymentRunRequest, body, 'body')).toEqual([]);
  expect(relativeCost(() => problemsOf(DeploymentRunRequest, body, 'body'))).toBeLessThan(2 * COST);
});
