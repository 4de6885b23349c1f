import { expect, it } from 'vitest';
import type { StoredPlan } from '../src/plan/plan.ts';
import { storyOf } from '../src/simulation/find-violation.ts';

const PLAN: StoredPlan = {
  seed: 1,
  heartbeatPeriodMs: 6_000,
  cancelEnforceMs: 5_000,
  delayMs: 1,
  schedulers: [{}],
  executors: [{ slots: ['L4'], labels: ['nvlink'] }],
  organisations: [{ weight: 1 }],
  deployments: [
    {
      organisation: 0,
      gpu: 'A10G',
      gpu_fallbacks: [{ gpu: 'L4', after_s: 2 }],
      labels: ['nvlink'],
      version: 1,
      warm_wait_s: 10,
      max_attempts: 1,
      start_deadline_s: 600,
      run_timeout_s: 60,
    },
  ],
  runs: [
    { id: 1, atMs: 5_000, deployment: 0, durationMs: 1_000, loadMs: 2_000 },
    { id: 2, atMs: 5_000, deployment: 0, durationMs: 1_000, loadMs: 2_000, delay_s: 30 },
  ],
  faults: [],
};

it('a story says what runs ask for, and where they went', () => {
  const story = storyOf(PLAN).join('\n');
  expect(story).toContain('executors with L4 (nvlink)');
  const request = 'deployment 0 on A10G, L4 after 2 s, with nvlink, waits 10 s for a slot with its version';
  expect(story).toContain(`run 1: RunQueued, ${request}`);
  expect(story).toContain(`run 2: RunQueued, ${request}, not before 30 s`);
  expect(story).toMatch(/ 7\.\d{3} s  run 1 is assigned to executor-0\.\w+ slot 0 \(L4\), attempt 1/);
  expect(story).toMatch(/ 37\.\d{3} s  run 2 is assigned to executor-0\.\w+ slot 0 \(L4, warm\), attempt 1/);
  expect(story).not.toContain('VIOLATED');
});
