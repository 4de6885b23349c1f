import { expect, it } from 'vitest';
import { waitFor } from '@runledger/testing/wait-for';
import { historiesOf } from '../fixtures/log-of.ts';
import { runApi, type RunShown } from '../fixtures/run-api.ts';
import { startStandalone } from '../fixtures/start-standalone.ts';

const RUNS = 14;
const END_WITHIN_MS = 90_000;

it(
  'a stop by SIGTERM during runs is orderly, ends subscriptions, and loses nothing',
  { timeout: 240_000 },
  async () => {
    await using standalone = await startStandalone({ env: { EXECUTOR_GPUS: 'A10G:4' } });
    const api = runApi(standalone);
    const queue = (): Promise<string> => api.queue({ seconds: 2, size: 16 });
    const others = await Promise.all(Array.from({ length: RUNS - 1 }, queue));
    // Queued when all the others are in the log, so it is executed last.
    const last = await queue();
    const runs = [...others, last];
    const stream = await fetch(`${standalone.url}/run/${last}/events`, {
      headers: { authorization: `Bearer ${standalone.api_key}` },
    });
    const events = stream.text();
    await waitFor('some to run', async () =>
      (await Promise.all(runs.map((run) => api.get(run)))).some(({ status }) => status === 'running'),
    );

    standalone.signal('SIGTERM');
    expect(await standalone.ended()).toBe(0);
    expect(standalone.output()).not.toContain('SIGKILL');
    // Closed in order, before the end of the run: an EventSource reconnects after its last event.
    expect(await events).toMatch(/^retry: \d+$/m);
    expect(await events).not.toContain('"finished":true');

    await standalone.restart();
    const again = runApi(standalone);
    const shown: RunShown[] = [];
    for (const run of runs) shown.push(await again.ended(run, END_WITHIN_MS));
    expect(shown.map(({ status }) => status)).toEqual(runs.map(() => 'success'));
    for (const { facts } of await historiesOf(standalone.dataFolder, shown)) {
      expect(facts.filter(({ event }) => event.type === 'RunSucceeded')).toHaveLength(1);
    }
  },
);
